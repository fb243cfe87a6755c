"""Git repositories of tests, on this machine and behind HTTPS."""

from __future__ import annotations

import contextlib
import datetime
import http.server
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

HOST = "git.example.org"
RUBRIC = "rubrics/small.toml"
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{
        f"GIT_{who}_{field}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    },
}


class Repository:
    """A bare repository with commits that a test puts together.

    Args:
        path: where it is made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.run("init", "--bare", "--quiet", "--initial-branch=main")

    def run(self, *arguments: str, content: bytes = b"") -> str:
        """Run Git, and return what it prints."""
        command = ["git", f"--git-dir={self.path}", *arguments]
        environment = {**os.environ, **_ENVIRONMENT}
        done = subprocess.run(command, input=content, env=environment, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def write_blob(self, data: bytes) -> str:
        """Store a content; return its id."""
        return self.run("hash-object", "-w", "--stdin", content=data)

    def write_tree(self, *entries: tuple[int, str, str]) -> str:
        """Store a tree of modes, names and ids, whatever they are; return its id."""
        raw = b"".join(f"{mode:o} {name}\0".encode() + bytes.fromhex(to) for mode, name, to in entries)
        return self.run("hash-object", "-t", "tree", "-w", "--stdin", "--literally", content=raw)

    def commit_tree(self, tree: str, branch: str = "main") -> str:
        """Make a tree the commit of a branch; return the commit's id."""
        commit = self.run("commit-tree", tree, "-m", "x")
        self.run("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Make files the commit of a branch; return the commit's id."""
        return self.commit_tree(self.write_files(files), branch)

    def write_files(self, files: Mapping[str, bytes]) -> str:
        """Store a tree of files; return its id."""
        inside: dict[str, dict[str, bytes]] = {}
        entries = []
        for path, data in files.items():
            name, _, remainder = path.partition("/")
            if remainder:
                inside.setdefault(name, {})[remainder] = data
            else:
                entries.append((0o100644, name, self.write_blob(data)))
        entries += [(0o40000, name, self.write_files(below)) for name, below in inside.items()]
        # Git sorts a folder as if its name ended with a slash.
        return self.write_tree(*sorted(entries, key=lambda entry: entry[1] + "/" * (entry[0] == 0o40000)))


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for `HOST` and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, secret


@contextlib.contextmanager
def serve_repositories(folder: Path, certificate: Path, key: Path) -> Iterator[tuple[int, list[str]]]:
    """Serve the repositories of a folder by HTTPS; yield the port, and the paths that are asked for.

    Below ``/moved/`` everything is redirected to its place, below ``/closed/`` a password is needed.
    """
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            paths.append(self.path)
            if self.path.startswith("/moved/"):
                self.send_response(302)
                self.send_header("Content-Length", "0")
                self.send_header("Location", self.path.removeprefix("/moved"))
                self.end_headers()
                return
            if self.path.startswith("/closed/"):
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            environment = {
                **os.environ,
                **_ENVIRONMENT,
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            }
            request_body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            command = ["git", "-c", "safe.directory=*", "http-backend"]
            done = subprocess.run(
                command, input=request_body, env=environment, capture_output=True, check=False
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(fields.pop("Status", "200").partition(" ")[0]))
            for name, value in {**fields, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield server.server_address[1], paths
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
