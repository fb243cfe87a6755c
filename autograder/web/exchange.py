"""nbgrader's exchange on top of the service: JupyterLab's Assignment List works without a shared disk.

A private folder replaces the shared disk. Before each action, releases and feedback in it are updated from
the service. Submissions are sent to the service first, and then stored in the folder as nbgrader does it.
Everything students see and do is nbgrader's own code. In ``nbgrader_config.py``::

    c.ExchangeFactory.exchange = "autograder.web.exchange.ServiceExchange"
    c.ExchangeFactory.list = "autograder.web.exchange.ServiceList"
    c.ExchangeFactory.fetch_assignment = "autograder.web.exchange.ServiceFetchAssignment"
    c.ExchangeFactory.fetch_feedback = "autograder.web.exchange.ServiceFetchFeedback"
    c.ExchangeFactory.submit = "autograder.web.exchange.ServiceSubmit"
    c.ServiceExchange.address = "https://exams.example.org"
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jupyter_core.paths import jupyter_data_dir
from nbgrader.exchange import default
from nbgrader.utils import notebook_hash
from traitlets import Unicode
from traitlets import default as default_of

from autograder.core import atomic
from autograder.core.errors import ServiceError
from autograder.core.paths import find_path_fault, list_files_below
from autograder.notebook.student.submission import KEY_FILE
from autograder.web import api_client

_SECRET = "submission_secret.txt"  # noqa: S105 - the name of nbgrader's file
_PAGE = 500
"""Items of a list that one request asks for."""
_BESIDE = {"timestamp.txt", _SECRET, "receipt.json", "coursecheck.py"}


class ServiceExchange(default.Exchange):
    """Base of all exchange actions: the service's address, and the folder that mirrors it."""

    address = Unicode("", help="Of the service, such as https://exams.example.org").tag(config=True)
    key_file = Unicode(KEY_FILE, help="Holds the API key that was created on the account page.").tag(
        config=True
    )

    @default_of("root")
    def _root_default(self) -> str:
        host = quote(urlsplit(self.address).netloc, safe="") or "nowhere"
        return str(Path(jupyter_data_dir()) / "autograder_exchange" / host)

    def start(self) -> Any:
        """Update the folder from the service, then run nbgrader's action.

        Raises:
            ExchangeError: the service cannot be reached, or refused.
        """
        Path(self.root).mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._update_folder()
            return super().start()
        except ServiceError as error:
            return self.fail(str(error))

    def ensure_root(self) -> None:
        """Skip nbgrader's check: only the owner has to be able to write to the folder."""

    def _fetch_path(self, path: str) -> bytes:
        return api_client.fetch_reply(
            f"{self.address.rstrip('/')}/api/courses{path}", Path(self.key_file).expanduser()
        )

    def _fetch_items(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page by page."""
        offset, count = 0, 1
        while offset < count:
            page = json.loads(self._fetch_path(f"{path}?limit={_PAGE}&offset={offset}"))
            yield from page["items"]
            offset, count = offset + _PAGE, page["count"]

    def _fetch_assignments(self, slug: str) -> dict[str, Any]:
        """Return the assignments that have begun, by name."""
        assignments = self._fetch_items(f"/{quote(slug)}/assignments")
        return {assignment["name"]: assignment for assignment in assignments if assignment["open"]}

    def _update_folder(self) -> None:
        courses = {
            course["slug"]: self._fetch_assignments(course["slug"])
            for course in self._fetch_items("")
            if course["student"]
        }
        for slug in (
            course_folder.name
            for course_folder in Path(self.root).iterdir()
            if course_folder.name not in courses
        ):
            shutil.rmtree(Path(self.root) / slug)
        for slug, assignments in courses.items():
            folder = Path(self.root) / slug
            for name in ("inbound", "outbound", "feedback"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            for old in (folder / "outbound").iterdir():
                if old.name not in assignments:
                    shutil.rmtree(old)
            for name, facts in assignments.items():
                url_path = f"/{quote(slug)}/assignments/{quote(name)}"
                # Only a changed release is downloaded again: this runs before every action.
                if _hash_files(folder / "outbound" / name) != facts["files"]:
                    self._unpack_release(f"{url_path}/files.zip", folder / "outbound", name)
                if facts["feedback"]:
                    self._keep_feedback(url_path, slug, name)

    def _unpack_release(self, path: str, outbound: Path, name: str) -> None:
        """Replace a release in the folder by the current one."""
        shutil.rmtree(outbound / name, ignore_errors=True)
        with zipfile.ZipFile(io.BytesIO(self._fetch_path(path))) as packed:
            for member in packed.namelist():
                below, _, file = member.partition("/")
                # Member names come over the network: none may lead out of the release's folder.
                if below != name or find_path_fault(file):
                    raise ServiceError(f"{member!a}: not a file of the release")
                target = outbound / name / file
                target.parent.mkdir(parents=True, exist_ok=True)
                atomic.write_bytes(target, packed.read(member))

    def _keep_feedback(self, url_path: str, slug: str, name: str) -> None:
        """Store the feedback page where nbgrader looks for that of each notebook of the latest submission."""
        submissions = sorted(
            (Path(self.cache) / slug).glob(f"*+{name}+*"),
            key=lambda submission: submission.name.rpartition("+")[2],  # the time
        )
        if not submissions or not (submissions[-1] / _SECRET).is_file():
            return
        secret, page = (submissions[-1] / _SECRET).read_text(), self._fetch_path(f"{url_path}/feedback")
        for notebook in submissions[-1].glob("*.ipynb"):
            # nbgrader derives the file name from a secret, so that classmates cannot guess it.
            hashed_name = notebook_hash(secret=secret, notebook_id=notebook.stem)
            atomic.write_bytes(Path(self.root) / slug / "feedback" / f"{hashed_name}.html", page)


class ServiceList(ServiceExchange, default.ExchangeList):
    """Lists released and submitted assignments."""


class ServiceFetchAssignment(ServiceExchange, default.ExchangeFetchAssignment):
    """Fetches a release."""


class ServiceFetchFeedback(ServiceExchange, default.ExchangeFetchFeedback):
    """Fetches the feedback for the latest submission."""


class ServiceSubmit(ServiceExchange, default.ExchangeSubmit):
    """Submits to the service, which signs a receipt, and then to nbgrader's folder.

    The receipt is stored next to nbgrader's copy.
    """

    def copy_files(self) -> None:
        """Submit to the service, and keep nbgrader's copies.

        Raises:
            ServiceError: it was refused; then nothing appears as submitted.
        """
        course, name = self.coursedir.course_id, self.coursedir.assignment_id
        released_hashes = _hash_files(Path(self.root) / course / "outbound" / name)
        # Data files that are unchanged since the release are not sent; notebooks always are.
        files = [
            path
            for relative_path, path in list_files_below(Path(self.src_path))
            if not path.name.startswith(".")
            and path.name not in _BESIDE
            and (path.suffix == ".ipynb" or released_hashes.get(relative_path) != _hash_file(path))
        ]
        page = f"{self.address.rstrip('/')}/app/c/{course}/a/{name}/"
        receipt = Path(self.root) / course / "receipt.json"
        self.log.info(api_client.submit_files(files, page, Path(self.key_file).expanduser(), receipt))
        super().copy_files()
        copies = (Path(self.cache) / course).glob(f"*+{self.timestamp}")
        for copy in copies:
            shutil.copyfile(receipt, copy / receipt.name)
        receipt.unlink()


def _hash_files(folder: Path) -> Mapping[str, str]:
    if not folder.is_dir():
        return {}
    return {relative_path: _hash_file(path) for relative_path, path in list_files_below(folder)}


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
