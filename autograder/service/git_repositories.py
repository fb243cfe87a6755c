"""Fetches an assignment from a Git repository into an archive like an uploaded one.

The repository and its server are hostile. Nothing is checked out: files are read from Git's objects, so
hooks, filters, attributes, links and submodules have no effect. Git gets no configuration, credentials or
environment of this machine, and limits of time, memory and disk. Links and submodules keep their modes in the
archive, whose checks refuse them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from msgspec import Struct

from autograder.core.paths import find_path_fault
from autograder.core.tables import escape_name
from autograder.core.wording import format_size
from autograder.course.archives import MOST_FILES, MOST_PATH
from autograder.service import outgoing
from autograder.service.models_results import MOST_ADDRESS
from autograder.service.refusals import RequestRefused

FOLDERS = "AUTOGRADER_GIT_FOLDERS"
"""Environment variable: folders with repositories of this machine, separated by colons."""
MOST_BYTES = 256 << 20
"""Maximum size of what Git transfers, and of the files that are read from it."""
MOST_MEMORY = 2 << 30
"""Address space of each process of Git: it maps the whole pack, and inflates objects in memory."""
SECONDS = 120.0
"""Time limit of everything."""
MOST_REF = 200
_LEAST_VERSION = (2, 37)
"""The first version with ``http.curloptResolve``: earlier ones ignore it, and look the name up again."""
# Strict, so that Python and Git cannot read different hosts from it.
_HTTPS = re.compile(r"https://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/[A-Za-z0-9._~%+/-]+")
_FILE = re.compile(r"file:///[^\x00-\x1f\x7f]*")
_CREDENTIALS = re.compile(r"https?://[^/]*@", re.IGNORECASE)
# What git-check-ref-format(1) allows, without signs that mean something in a refspec.
_REF = re.compile(r"\w[\w./#@+-]*")
_OF_GIT = frozenset({".gitattributes", ".gitignore", ".gitkeep"})
"""Files that no assignment needs."""
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""How a file begins whose content is in Git LFS."""
_MOST_LISTED = MOST_FILES * (MOST_PATH + 100)
"""Maximum size of a list of files. Trees can contain each other many times: a small one may list billions."""
_MOST_TEXT = 1 << 16
_CONFIGURATION = """\
[safe]
    directory = *
[core]
    hooksPath = /dev/null
    bigFileThreshold = 1m
[fetch]
    unpackLimit = 1
[gc]
    auto = 0
[maintenance]
    auto = false
[pack]
    threads = 1
[transfer]
    bundleURI = false
[http]
    followRedirects = false
    lowSpeedLimit = 1000
    lowSpeedTime = 30
"""
"""`unpackLimit`: everything is one file of limited size. Repositories in `FOLDERS` may belong to others."""
_REASONS = (
    ("couldn't find remote ref", "git-no-ref"),
    ("terminal prompts disabled", "git-no-repository"),
    ("not found", "git-no-repository"),
    ("does not appear to be a git repository", "git-no-repository"),
    ("requested URL returned error: 30", "git-redirect"),
)
"""Git's errors in English, and our sentences."""


class GitSource(Struct, frozen=True):
    """Where an assignment is in a repository."""

    address: str
    ref: str = ""
    """A branch or tag; empty: the repository's default branch."""
    folder: str = ""
    """The course folder in the repository; empty: its top."""


def check_source(source: GitSource) -> GitSource:
    """Return the source as it is stored, without a look at the network.

    Raises:
        RequestRefused: the address, the branch or the folder cannot be used.
    """
    address, ref, folder = source.address.strip(), source.ref.strip(), source.folder.strip().strip("/")
    if _CREDENTIALS.match(address):
        raise RequestRefused("git-credentials")
    try:
        urlsplit(address).port  # noqa: B018 - raises ValueError if it is none
    except ValueError as error:
        raise RequestRefused("git-expected") from error
    if len(address) > MOST_ADDRESS or not (_HTTPS.fullmatch(address) or _FILE.fullmatch(address)):
        raise RequestRefused("git-expected")
    if ref and (len(ref) > MOST_REF or ".." in ref or "@{" in ref or not _REF.fullmatch(ref)):
        raise RequestRefused("git-bad-ref", ref=escape_name(ref))
    if folder and find_path_fault(folder):
        raise RequestRefused("git-bad-folder", folder=escape_name(folder))
    return GitSource(address, ref, folder)


@contextlib.contextmanager
def fetch_assignment(source: GitSource, assignment: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Fetch an assignment; yield the id of the commit, and a zip archive positioned at its start.

    Args:
        source: as `check_source` returned it.
        assignment: its name.

    Raises:
        RequestRefused: it cannot be fetched; gives the reason.
    """
    with tempfile.TemporaryDirectory(prefix="autograder-git-") as folder:
        git = _Git(Path(folder))
        remote = git.configure(source)
        git.run("init", "--bare", "--quiet", "--template=", str(git.repository))
        commit = git.fetch_commit(remote, source.ref or "HEAD")
        top = f"{source.folder}/" if source.folder else ""
        with tempfile.TemporaryFile(dir=folder) as archive:
            _pack_files(git, commit, top, assignment, archive)
            archive.seek(0)
            yield commit, archive


class _Failed(Exception):
    """Git ended with an error.

    Args:
        status: its exit status; negative: the signal that killed it.
        text: what it said.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class _Git:
    """Runs Git in an empty folder, without anything of this machine.

    Args:
        folder: for the repository, the configuration and the output.

    Raises:
        RequestRefused: Git is not installed, or too old.
    """

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "repository.git"
        self._folder = folder
        self._until = time.monotonic() + SECONDS
        self._configuration = folder / "configuration"
        self._configuration.write_text(_CONFIGURATION, encoding="utf-8")
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._configuration),  # a file: options would not reach upload-pack
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_ALLOW_PROTOCOL": "https",
        }
        if authorities := os.environ.get("SSL_CERT_FILE"):
            self._environment["GIT_SSL_CAINFO"] = authorities
        if shutil.which("git") is None or shutil.which("prlimit") is None:
            raise RequestRefused("git-missing")
        version = re.search(rb"([0-9]+)\.([0-9]+)", self.run("version"))
        if version is None or tuple(map(int, version.groups())) < _LEAST_VERSION:
            raise RequestRefused("git-missing")

    def configure(self, source: GitSource) -> str:
        """Allow this source alone, and return what Git fetches from.

        Raises:
            RequestRefused: it leads into a private network, or to a folder that is not allowed.
        """
        if source.address.startswith("file://"):
            self._environment["GIT_ALLOW_PROTOCOL"] = "file"
            return str(find_repository(Path(source.address.removeprefix("file://"))))
        parts = urlsplit(source.address)
        host, port = (parts.hostname or "").lower(), parts.port or 443
        ip = outgoing.resolve_address(f"https://{host}:{port}")
        with self._configuration.open("a", encoding="utf-8") as file:  # the section of http is the last one
            file.write(f'\tcurloptResolve = "{host}:{port}:{f"[{ip}]" if ":" in ip else ip}"\n')
        return f"https://{host}:{port}{parts.path}"

    def fetch_commit(self, remote: str, ref: str) -> str:
        """Fetch a branch or tag without its history, and return the id of its commit.

        Raises:
            RequestRefused: it failed; gives the reason.
        """
        options = ("--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--quiet")
        try:
            self.run("fetch", *options, remote, ref, most=MOST_BYTES)
            return self.run("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode("ascii").strip()
        except _Failed as error:
            # Git does not say so: the limit kills the program that writes, and its file is left.
            if any(file.stat().st_size >= MOST_BYTES for file in self.repository.glob("objects/pack/*")):
                raise RequestRefused("git-large", most=format_size(MOST_BYTES)) from error
            for text, code in _REASONS:
                if text in error.text:
                    raise RequestRefused(code, ref=ref) from error
            said = [line for line in error.text.splitlines() if line.startswith(("fatal:", "error:"))]
            text = escape_name(said[-1].partition(": ")[2]) if said else f"git: {error.status}"
            raise RequestRefused("git-failed", error=text) from error

    def run(self, *arguments: str, most: int = _MOST_TEXT) -> bytes:
        """Run a command, and return its output, or all that it may say.

        Args:
            arguments: of Git; the first one is the command.
            most: number of bytes that any file can have that it writes.

        Raises:
            _Failed: it ended with an error.
            RequestRefused: the time is over.
        """
        with tempfile.TemporaryFile(dir=self._folder) as output:
            self.run_into(output, *arguments, most=most)
            return output.read()

    def run_into(
        self, output: IO[bytes], *arguments: str, most: int, given: IO[bytes] | int = subprocess.DEVNULL
    ) -> None:
        """Run a command as `run`; its output is written into a file, which is then at its start."""
        limits = ("prlimit", f"--fsize={most}", f"--as={MOST_MEMORY}", "--core=0", "--")
        command = [*limits, "git", f"--git-dir={self.repository}", *arguments]
        with tempfile.TemporaryFile(dir=self._folder) as errors:
            process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=given,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # so that its helpers are in one group with it
            )
            try:
                status = process.wait(max(0.0, self._until - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise RequestRefused("git-slow", seconds=int(SECONDS)) from error
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if status != 0:
                errors.seek(0)
                raise _Failed(status, errors.read(_MOST_TEXT).decode("utf-8", "replace"))
        output.seek(0)


def find_repository(path: Path) -> Path:
    """Return the repository at a path of this machine, without links.

    Raises:
        RequestRefused: it is outside of the folders that the operator allows, or it is no repository.
    """
    allowed = [Path(name).resolve() for name in os.environ.get(FOLDERS, "").split(os.pathsep) if name]
    with contextlib.suppress(OSError, RuntimeError):  # a name that is too long, links in a circle
        for place in (path, path / ".git"):
            found = place.resolve()
            # The same answer for everything outside: it must not tell what exists there.
            if not any(found.is_relative_to(folder) for folder in allowed):
                raise RequestRefused("git-outside", variable=FOLDERS)
            # Git looks for `.git` first, also for a file that names a folder elsewhere.
            if (found / "HEAD").is_file() and not (found / ".git").exists():
                return found
    raise RequestRefused("git-no-repository")


def _pack_files(git: _Git, commit: str, top: str, assignment: str, archive: IO[bytes]) -> None:
    """Write the files of an assignment into an archive, with the modes that they have in Git.

    Raises:
        RequestRefused: there is no such assignment, or it is too large.
    """
    rubric = f"rubrics/{assignment}.toml"
    places = [f"{top}{place}" for place in (rubric, f"assignments/{assignment}", "reference")]
    try:
        listed = git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit, *places, most=_MOST_LISTED)
    except _Failed as error:
        if error.status != -signal.SIGXFSZ:
            raise
        raise RequestRefused("git-many", most=MOST_FILES) from error
    files = [_Entry.parse(record, top) for record in listed.split(b"\0") if record]
    files = [entry for entry in files if entry.path.rpartition("/")[2] not in _OF_GIT]
    if not any(entry.path == rubric for entry in files):
        raise RequestRefused("git-no-rubric", place=f"{top}{rubric}", commit=commit[:12])
    if len(files) > MOST_FILES:
        raise RequestRefused("git-many", most=MOST_FILES)
    if sum(entry.size for entry in files) > MOST_BYTES:
        raise RequestRefused("git-large", most=format_size(MOST_BYTES))
    with (
        tempfile.TemporaryFile(dir=git.repository) as names,
        tempfile.TemporaryFile(dir=git.repository) as contents,
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
    ):
        names.writelines(f"{entry.identifier}\n".encode() for entry in files if entry.has_content)
        names.seek(0)
        git.run_into(contents, "cat-file", "--batch", most=MOST_BYTES + _MOST_LISTED, given=names)
        for entry in files:
            info = zipfile.ZipInfo(entry.path)  # without a time: the same files are the same archive
            info.external_attr = entry.mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            data = b""
            if entry.has_content:
                contents.readline()  # id, kind and size again
                data = contents.read(entry.size + 1)[:-1]
            if data.startswith(_POINTER):
                raise RequestRefused("git-pointer", file=escape_name(entry.path))
            packed.writestr(info, data, compresslevel=1)


class _Entry(Struct, frozen=True):
    """An entry of a tree."""

    path: str
    """In the course folder."""
    mode: int
    has_content: bool
    """It is a file or a link, not a submodule."""
    identifier: str
    size: int

    @classmethod
    def parse(cls, record: bytes, top: str) -> _Entry:
        """Parse a record of ``git ls-tree -l -z``."""
        head, _, name = record.partition(b"\t")
        mode, kind, identifier, size = head.decode("ascii").split()
        # A byte that is not UTF-8 becomes a backslash, which no archive may have in a name.
        path = name.decode("utf-8", "backslashreplace").removeprefix(top)
        return cls(path, int(mode, 8), kind == "blob", identifier, int(size) if kind == "blob" else 0)
