"""Submitting from a notebook: ``submit()`` of a released ``coursecheck.py`` against the service."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import http.server
import io
import json
import re
import shutil
import socket
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from autograder.notebook.student import submission, transport
from tests.service import course
from tests.web.people import Small

READ = 'mlp_parameters = "8 d^2"'


class Notebook:
    """A student's folder with the release, and the kernel of its open notebook.

    Args:
        folder: an empty folder.
        release: folder of the release.
        patch: restores the environment of the process.
    """

    def __init__(self, folder: Path, release: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.home, self.patch = folder / "work", folder / "home", patch
        shutil.copytree(release, self.folder)
        self.home.mkdir()
        patch.chdir(self.folder)
        patch.setenv("HOME", str(self.home))
        for name in (submission.VARIABLE, "JPY_SESSION_NAME"):
            patch.delenv(name, raising=False)
        self.asked: list[str] = []
        self.replies: list[str] = []
        patch.setattr("getpass.getpass", self._reply)
        self.variables: dict[str, Any] = {}
        self.module: dict[str, Any] = {"__file__": str(self.folder / "coursecheck.py")}
        exec(compile((self.folder / "coursecheck.py").read_text(), "coursecheck.py", "exec"), self.module)
        self.module["_module"]("autograder.notebook.student.transport").PAUSE = 0.0

    def _reply(self, prompt: str) -> str:
        self.asked.append(prompt)
        if not self.replies:
            raise EOFError
        return self.replies.pop(0)

    @property
    def key_file(self) -> Path:
        """Return the path of the stored API key."""
        return self.home / ".config/autograder/key"

    def write_answers(self, folder: Path, **answers: str) -> None:
        """Save the notebooks with answers."""
        for name, data in course.answered(folder, **answers).items():
            (self.folder / name).write_bytes(data)

    def run_cells(self, *sources: str) -> None:
        """Set the history of the kernel to these cells."""
        shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=["", *sources]))
        self.variables["get_ipython"] = lambda: shell

    def submit(self, *arguments: str) -> str:
        """Run a cell that submits, and return its output."""
        printed = io.StringIO()
        cell = {"submit": self.module["submit"], "arguments": arguments, **self.variables}
        with contextlib.redirect_stdout(printed):
            exec("submit(*arguments)", cell)
        return printed.getvalue()


@pytest.fixture
def notebook(at: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """Return the folder of a student of the small course."""
    return Notebook(tmp_path, at.folder / "release" / at.offer.assignment, monkeypatch)


@pytest.fixture
def secret(at: Small) -> str:
    """Return a student's API key."""
    return make_key(at)


@pytest.fixture
def key(address: str, secret: str) -> str:
    """Return the key as the account page shows it, with the address."""
    return f"{address}#{secret}"


def make_key(at: Small, student: str = "ada") -> str:
    """Create a key on the account page."""
    page = str(
        at.client(student=student)
        .post("/app/keys/", {"label": "notebook", "scopes": ["read", "submit"]})
        .content.decode()
    )
    return page.partition("<code>")[2].partition("</code>")[0].partition("#")[2]


def test_submit_shows_receipt_and_readings(at: Small, notebook: Notebook, key: str) -> None:
    """The key is requested once, stored with permissions for its owner only, and never displayed."""
    notebook.write_answers(at.folder, mlp_answer=READ)
    notebook.replies = [key]
    first = notebook.submit()
    attempt = at.offer.attempts.get()
    assert f"SHA-256 of the submission: {attempt.digest}" in first
    assert "✓ small: No deadline" in first
    assert "✓ mlp: mlp_parameters is read as 8*d_model^2" in first
    assert "○ layers: " in first
    assert "✗ small:" not in first
    assert (key + "\n", 0o600) == (
        notebook.key_file.read_text(),
        stat.S_IMODE(notebook.key_file.stat().st_mode),
    )
    second = notebook.submit("", "de")
    assert "Versuch 2 eingegangen: " in second
    assert "mlp_parameters wird gelesen als" in second
    assert 1 == len(notebook.asked)
    assert [1, 2] == sorted(at.offer.attempts.values_list("number", flat=True))
    secret = key.partition("#")[2]
    written = [path.read_text() for path in notebook.folder.rglob("*") if path.is_file()]
    assert not [text for text in (first, second, *notebook.asked, *written) if secret in text]


def test_submit_takes_the_key_of_the_environment(at: Small, notebook: Notebook, key: str) -> None:
    """A key in the environment, as on JupyterHub, is used without a prompt and not stored."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    assert "✓ small: Attempt" in notebook.submit()
    assert ([], False) == (notebook.asked, notebook.key_file.exists())
    notebook.patch.setenv("NBEXAM_TOKEN", f"{key}x")
    assert "does not know this API key" in notebook.submit()
    assert 1 == at.offer.attempts.count()


def test_submit_asks_again_when_the_stored_key_was_removed(at: Small, notebook: Notebook, key: str) -> None:
    """The prompt appears again, and a wrong key is not stored."""
    notebook.key_file.parent.mkdir(parents=True)
    notebook.key_file.write_text(f"{key}x\n")
    notebook.replies = [f"{key}y"]
    refused = notebook.submit()
    assert "does not know this API key" in refused
    assert f"{key}y" not in refused
    assert f"{key}x\n" == notebook.key_file.read_text()
    notebook.replies = [key]
    assert "✓ small: Attempt" in notebook.submit()
    assert f"{key}\n" == notebook.key_file.read_text()


def test_submit_says_when_nobody_can_be_asked(at: Small, notebook: Notebook) -> None:
    """Report a missing key if there is no prompt, as when a notebook is run by a program."""
    assert "there is no API key" in notebook.submit()


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("just-a-key-without-address", "this is not an API key"),
        ("https://exams.example.org#two words", "this is not an API key"),
        ("ftp://exams.example.org#0123456789", "this is not an API key"),
        ("http://exams.example.org#0123456789", "http://exams.example.org is not encrypted"),
        ("http://localhost.example.org#0123456789", "http://localhost.example.org is not encrypted"),
        ("http://127.0.0.1@example.org#0123456789", "is not encrypted"),
    ],
)
def test_submit_refuses_what_is_no_key(notebook: Notebook, typed: str, sentence: str) -> None:
    """A malformed key is rejected before anything is sent, and is not repeated in the message."""
    notebook.replies = [typed]
    said = notebook.submit()
    assert sentence in said
    assert typed.partition("#")[2] not in said or "#" not in typed
    assert not notebook.key_file.exists()


def test_submit_says_that_it_is_late(at: Small, notebook: Notebook, key: str) -> None:
    """A late attempt is stored, and the message states how it counts; one in time shows the deadline."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    for end, sentences in (
        (1, ["✓ small: On time. Deadline: "]),
        (
            -1,
            [
                "✗ small: Submitted 1 h",
                "✗ small: Submissions are too late now. They are stored, but",
            ],
        ),
    ):
        moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=end)
        times = {"end": moment.isoformat(), "late": "refuse"}
        type(at.offer).objects.filter(pk=at.offer.pk).update(times=times)
        said = notebook.submit()
        assert [] == [sentence for sentence in sentences if sentence not in said], said
    assert 2 == at.offer.attempts.count()


def test_submit_repeats_why_the_service_refused(at: Small, notebook: Notebook, key: str) -> None:
    """The message of the service is shown for damaged files and too many attempts."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    (notebook.folder / "code.ipynb").write_bytes(b"not a notebook")
    assert "✗ small: Not submitted: code.ipynb" in notebook.submit()
    assert 0 == at.offer.attempts.count()
    notebook.write_answers(at.folder)
    type(at.offer).objects.filter(pk=at.offer.pk).update(most_attempts=0)
    assert "Not submitted: there are already 0 attempts" in notebook.submit()


def test_submit_sends_nothing_too_large(at: Small, notebook: Notebook, key: str) -> None:
    """The size limit is that of the service."""
    from autograder.service import attempts

    assert attempts.MOST_BYTES == submission.MOST_BYTES
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    with (notebook.folder / "code.ipynb").open("r+b") as file:
        file.truncate(submission.MOST_BYTES + 1)
    assert "Not submitted: code.ipynb has 64.0 MB; at most 64.0 MB are accepted." in notebook.submit()
    assert 0 == at.offer.attempts.count()


def test_submit_names_the_missing_notebook(notebook: Notebook, key: str) -> None:
    """The message names the expected file if it is missing or was renamed."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    copy = notebook.folder / "code-Copy1.ipynb"
    shutil.copy(notebook.folder / "code.ipynb", copy)
    notebook.patch.setenv("JPY_SESSION_NAME", str(copy))
    assert (
        "this notebook is called code-Copy1.ipynb; expected formulas.ipynb, code.ipynb" in notebook.submit()
    )
    copy.unlink()  # after a rename, the session still has the old name
    assert "✓ small: Attempt" in notebook.submit()
    notebook.patch.chdir(notebook.home)
    notebook.variables["__vsc_ipynb_file__"] = str(notebook.folder / "code.ipynb")
    assert "✓ small: Attempt" in notebook.submit()
    notebook.variables.clear()
    notebook.patch.delenv("JPY_SESSION_NAME")
    assert f"formulas.ipynb, code.ipynb is not in the folder {notebook.home}" in notebook.submit()
    notebook.patch.setitem(__import__("sys").modules, "google.colab", SimpleNamespace())
    assert "Download the notebook as .ipynb" in notebook.submit()


def test_submit_warns_of_what_is_not_saved(at: Small, notebook: Notebook, key: str) -> None:
    """A warning is shown, and the notebook is submitted.

    Near the deadline an old answer is better than none.
    """
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    notebook.write_answers(at.folder, mlp_answer=READ, layers_answer="submit()")
    notebook.run_cells("mlp_parameters = 'old'", READ, "submit()")
    assert "Save the notebook" not in notebook.submit()
    notebook.run_cells(READ, "mlp_parameters = 'new'", "submit()")
    assert "as you ran them last (mlp_parameters). Save the notebook" in notebook.submit()
    notebook.run_cells(READ, "submit(  )")
    assert "as you ran them last. Save the notebook" in notebook.submit()
    assert 3 == at.offer.attempts.count()


def test_submit_refuses_a_notebook_with_the_key(at: Small, notebook: Notebook, key: str) -> None:
    """A submission that contains the API key is rejected, because markers could read it."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    notebook.write_answers(at.folder, layers_answer=f"key = '{key}'")
    said = notebook.submit()
    assert "your API key is written in formulas.ipynb" in said
    assert key.partition("#")[2] not in said
    assert 0 == at.offer.attempts.count()


def test_submit_takes_pictures_along(at: Small, notebook: Notebook, key: str) -> None:
    """Pictures that a text shows are included; other files are not."""
    notebook.patch.setenv("NBEXAM_TOKEN", key)
    notebook.write_answers(at.folder, mlp_why="![plot](plot.png)")
    for name in ("plot.png", "private.png"):
        (notebook.folder / name).write_bytes(b"\x89PNG")
    assert "received: " in notebook.submit()
    names = set(at.offer.attempts.get().files.values_list("name", flat=True))
    assert {"code.ipynb", "formulas.ipynb", "plot.png"} == names


def test_submit_finds_the_course(at: Small, notebook: Notebook, key: str, tmp_path: Path) -> None:
    """If two courses have an assignment of the same name, the release determines the course."""
    from autograder.app import open_course
    from autograder.grading.release_generation import generate_release
    from autograder.service.models import CourseRecord, Member
    from autograder.service.versions import create_or_update_offer

    notebook.patch.setenv("NBEXAM_TOKEN", key)
    type(at.offer).objects.filter(pk=at.offer.pk).update(visible=False)
    assert "has no open assignment small for you" in notebook.submit()
    type(at.offer).objects.filter(pk=at.offer.pk).update(visible=True)
    slug = f"{at.record.slug}-b"
    record = CourseRecord.objects.create(slug=slug, title=slug, secret=at.record.secret)
    Member.objects.create(course=record, student="ada", account=at.account("student", "ada"), role="student")
    other_folder = course.small(tmp_path)
    offer = course.offered(record, other_folder)
    said = notebook.submit()
    assert f'have an assignment small: {at.record.slug}, {slug}. Write submit("{at.record.slug}")' in said
    assert "received: " in notebook.submit(slug)
    assert [0, 1] == [at.offer.attempts.count(), offer.attempts.count()]
    rubric = other_folder / "rubrics" / "small.toml"
    rubric.write_text(rubric.read_text().replace('aliases = ["d"]', 'aliases = ["d", "width"]'))
    generate_release(open_course(other_folder), "small")
    create_or_update_offer(record, open_course(other_folder), "small")
    assert "received: " in notebook.submit()
    assert [1, 1] == [at.offer.attempts.count(), offer.attempts.count()]


# ---------------------------------------------------------------- networks


@contextlib.contextmanager
def serve(
    handler: Callable[[http.server.BaseHTTPRequestHandler], None], context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve requests with a function and yield the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            handler(self)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None: ...

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None: ...

    with Server(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def pass_on(request: http.server.BaseHTTPRequestHandler, address: str) -> tuple[int, bytes]:
    """Forward a request to the service and return status and body of its response."""
    body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request(request.command, request.path, body, {**request.headers, "Host": "127.0.0.1"})
    response = connection.getresponse()
    return response.status, response.read()


@pytest.mark.parametrize("failure", ["busy", "lost", "nothing"])
def test_submit_repeats_once_and_submits_once(
    at: Small, notebook: Notebook, address: str, secret: str, failure: str
) -> None:
    """A request is repeated once, and creates one attempt even if the first response was lost."""
    posts: list[str] = []

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        if request.command == "POST":
            posts.append(request.headers["Idempotency-Key"])
        fails = request.command == "POST" and len(posts) == 1
        status, reply = (503, b"busy") if fails and failure == "busy" else pass_on(request, address)
        if fails and failure == "lost":
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        request.send_response(status)
        request.end_headers()
        request.wfile.write(reply)

    with serve(answer) as proxy:
        notebook.patch.setenv("NBEXAM_TOKEN", f"{proxy}#{secret}")
        said = notebook.submit()
    assert "✓ small: Attempt 1 received: " in said
    assert f"SHA-256 of the submission: {at.offer.attempts.get().digest}" in said
    assert (1 if failure == "nothing" else 2) == len(posts)
    assert 1 == len(set(posts))


def test_submit_gives_up_after_one_repetition(at: Small, notebook: Notebook, secret: str) -> None:
    """Report that the service is busy or cannot be reached."""
    requests: list[str] = []

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        requests.append(request.path)
        request.send_error(503)

    with serve(answer) as busy:
        notebook.patch.setenv("NBEXAM_TOKEN", f"{busy}#{secret}")
        assert "is busy (status 503)" in notebook.submit()
    assert 2 == len(requests)
    assert f"{busy} cannot be reached: " in notebook.submit()


def test_submit_follows_no_redirect(notebook: Notebook, secret: str) -> None:
    """Redirects are not followed, because the key would be sent to the other server."""
    seen: list[str] = []

    def take(request: http.server.BaseHTTPRequestHandler) -> None:
        seen.append(request.path)

    with serve(take) as elsewhere:

        def redirect(request: http.server.BaseHTTPRequestHandler) -> None:
            request.send_response(302)
            request.send_header("Location", f"{elsewhere}/login?next=x")
            request.end_headers()

        with serve(redirect) as address:
            notebook.patch.setenv("NBEXAM_TOKEN", f"{address}#{secret}")
            assert f"{address} redirects to {elsewhere}, which is not followed" in notebook.submit()
    assert [] == seen


def test_submit_says_that_something_else_answers(notebook: Notebook, secret: str) -> None:
    """Report that another server responds, such as the sign-in page of a network."""

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(b"<html>Please sign in</html>")

    with serve(answer) as address:
        notebook.patch.setenv("NBEXAM_TOKEN", f"{address}#{secret}")
        assert "does not respond as the service does (status 200)" in notebook.submit()


def test_submit_verifies_the_certificate(notebook: Notebook, secret: str, tmp_path: Path) -> None:
    """The certificate is verified even if the notebook has turned verification off; nothing is sent."""
    seen: list[str] = []
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")]),
    )
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    certificate = builder.not_valid_after(now + datetime.timedelta(days=1)).sign(key, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "pem").write_bytes(private + certificate.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    notebook.patch.setattr(ssl, "_create_default_https_context", ssl._create_unverified_context)
    with serve(lambda request: seen.append(request.path), context) as address:
        notebook.patch.setenv("NBEXAM_TOKEN", f"{address}#{secret}")
        assert f"the certificate of {address} cannot be verified" in notebook.submit()
    assert [] == seen


def test_submit_displays_no_foreign_html(notebook: Notebook) -> None:
    """Only MathML of the service is displayed as HTML."""
    line = {"state": "ready", "text": "x is read as ", "reading": "d<1"}
    ours = '<math aria-label="d"><semantics><mi>d</mi></semantics></math>'
    assert ours == submission._read_line({**line, "mathml": ours}).mathml
    for foreign in ("<script>1</script>", '<mi onclick="1">d</mi>', '<mi\nhref="javascript:1">d</mi>', "<mi"):
        read = submission._read_line({**line, "mathml": foreign})
        assert ("", "x is read as d<1") == (read.mathml, read.text)


def test_service_receives_a_repetition_once(at: Small) -> None:
    """A repeated request returns the same attempt even at the limit; another student's creates a new one."""
    from autograder.service import attempts

    files = course.released(at.folder)
    type(at.offer).objects.filter(pk=at.offer.pk).update(most_attempts=1)
    at.offer.refresh_from_db()
    handed_in = [
        attempts.submit_files(at.offer, student, files, course.SIGNER, once="x")
        for student in ("ada", "ada", "bob")
    ]
    assert handed_in[0].pk == handed_in[1].pk != handed_in[2].pk
    assert handed_in[0].receipt == handed_in[1].receipt


def test_key_page_shows_the_cell(at: Small) -> None:
    """The cell is shown in the reader's language."""
    client = at.client()
    for language, sentence in (("en", "Save the notebook first"), ("de", "Zuerst das Notebook speichern")):
        page = client.get("/app/keys/", headers={"accept-language": language}).content.decode()
        assert f"<code># {sentence}\nfrom coursecheck import submit\nsubmit()</code>" in page
    page = client.post("/app/keys/", {"label": "x", "scopes": ["submit"]}).content.decode()
    assert re.search(r"<code>http://testserver#[\w-]{43}</code>", page)


def test_an_attempt_is_told_to_its_owner_alone(at: Small, secret: str) -> None:
    """Students cannot read other students' attempts with their own key."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    place = f"/api/courses/{at.record.slug}/attempts/{at.offer.attempts.get().pk}/readings"
    program, other = at.client("nobody"), make_key(at, "bob")
    statuses = [
        program.get(place, headers={"authorization": f"Bearer {key}"}).status_code
        for key in (secret, other, "x")
    ]
    assert [200, 404, 401] == statuses
    response = json.loads(program.get(place, headers={"authorization": f"Bearer {secret}"}).content)
    assert {"received", "timing", "checked"} == set(response)
    assert transport.ONCE == "Idempotency-Key"
