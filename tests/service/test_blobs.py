"""Submitted files are stored in the database or in an object store."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.core.errors import ServiceError
from tests.service import course
from tests.web.people import Small

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

NAMED = "AUTOGRADER_OBJECT_STORE"


class Bucket:
    """A minimal S3 server; closed by ``close``."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        bucket = self

        class Answers(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                bucket.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                self._send(200, b"")

            def do_HEAD(self) -> None:
                self._send(200 if self.path in bucket.objects else 404, b"")

            def do_GET(self) -> None:
                content = bucket.objects.get(self.path)
                self._send(404 if content is None else 200, content or b"")

            def _send(self, status: int, data: bytes) -> None:
                self.send_response(status)
                content = bucket.objects.get(self.path, b"")
                self.send_header("Content-Length", str(len(content) if self.command == "HEAD" else len(data)))
                self.send_header("ETag", '"x"')
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Suppress the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"s3://exams/attempts?endpoint_url=http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Provide a bucket and its credentials."""
    new_bucket = Bucket()
    environment = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    environment |= {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required", "AWS_DEFAULT_REGION": "eu-central-1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield new_bucket
    new_bucket.close()


@pytest.fixture(autouse=True)
def leave_nothing_in_a_store(service_course: CourseRecord, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Move contents back into the database, because other tests need the same release."""
    yield
    from autograder.service import blobs
    from autograder.service.models import Blob

    for blob in Blob.objects.filter(data=None):
        with contextlib.suppress(ServiceError):  # the store of a test that makes it fail
            blob.data = blobs.load_blobs([blob.digest])[blob.digest]
            blob.save(update_fields=["data"])


def digest(data: bytes) -> str:
    """Return the digest of data."""
    return hashlib.sha256(data).hexdigest()


def kept(data: bytes) -> bytes | None:
    """Return the contents stored in the database."""
    from autograder.service.models import Blob

    content = Blob.objects.get(digest=digest(data)).data
    return None if content is None else bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["a folder", "a bucket"])
def test_what_is_new_goes_to_the_store(
    where: str, bucket: Bucket, service_course: CourseRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New contents go to the store, once; older ones stay in the database, and all can be loaded."""
    from autograder.service import blobs

    old, new, other = (f"{where}: {name}: {service_course.slug}".encode() for name in ("old", "new", "other"))
    assert [digest(old)] == blobs.store_blobs([old])
    monkeypatch.setenv(NAMED, f"file://{tmp_path}/blobs" if where == "a folder" else bucket.address)
    assert [digest(content) for content in (old, new, new, other)] == blobs.store_blobs(
        [old, new, new, other]
    )
    assert [old, None, None] == [kept(content) for content in (old, new, other)]
    assert {digest(content): content for content in (old, new)} == blobs.load_blobs(
        [digest(old), digest(new)]
    )
    if where == "a folder":
        files = {path.name: path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
        assert {digest(new): new, digest(other): other} == files
    else:
        places = {f"/exams/attempts/{digest(content)[:2]}/{digest(content)}" for content in (new, other)}
        assert places == bucket.objects.keys()


@pytest.mark.parametrize("where", ["the database", "a folder"])
def test_large_contents_come_in_parts(
    where: str, service_course: CourseRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts have a limited size, empty contents have none, and the digest of stored contents is verified."""
    from autograder.service import blobs

    monkeypatch.setattr(blobs, "LARGE", 1000)
    if where == "a folder":
        monkeypatch.setenv(NAMED, f"file://{tmp_path}/blobs")
    large = f"{where} {service_course.slug} ".encode() * 200
    digests = blobs.store_blobs(iter([large, b"", large[:1000], large]))
    assert [digest(content) for content in (large, b"", large[:1000], large)] == digests
    assert {digest(large): len(large), digest(b""): 0} == blobs.load_sizes([digest(large), digest(b"")])
    for data in (large, b"", large[:1000]):
        parts = list(blobs.iterate_parts(digest(data)))
        assert data == b"".join(parts)
        assert {1000} >= {len(part) for part in parts[:-1]}
    if where == "a folder":
        (tmp_path / "blobs" / digest(large)[:2] / digest(large)).write_bytes(large[:-1])
        with pytest.raises(ServiceError, match="other data"):
            list(blobs.iterate_parts(digest(large)))


def test_a_course_in_a_store(
    service_course: CourseRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Import, submission and download work with an object store, without contents in the database."""
    from autograder.app import open_course
    from autograder.service import attempts, versions
    from autograder.service.models import AttemptFile

    monkeypatch.setenv(NAMED, f"file://{tmp_path}/blobs")
    (tmp_path / "course").mkdir()
    folder = course.small(tmp_path / "course")
    service_course.secret = open_course(folder).load_secret()
    service_course.save()
    offer = course.offered(service_course, folder)
    files = {**course.released(folder), "notes.txt": service_course.slug.encode()}
    attempt = course.handed_in(offer, "ada", files)
    assert files == attempts.load_files(attempt)
    assert course.released(folder).items() <= versions.load_released_files(offer.version, "ada").items()
    assert AttemptFile.objects.get(attempt=attempt, name="notes.txt").blob.data is None
    at = Small(service_course, offer, folder)
    response = at.client().get(f"{at.base}a/{offer.assignment}/1/files/notes.txt")
    assert files["notes.txt"] == response.getvalue()


def test_a_store_that_fails_is_told(
    bucket: Bucket, service_course: CourseRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing setting, changed or lost contents, and a store that cannot be written raise errors."""
    from autograder.service import blobs

    data = f"lost: {service_course.slug}".encode()
    monkeypatch.setenv(NAMED, f"file://{tmp_path}/blobs")
    blobs.store_blobs([data])
    path = tmp_path / "blobs" / digest(data)[:2] / digest(data)
    path.write_bytes(b"another")
    with pytest.raises(ServiceError, match="other data"):
        blobs.load_blobs([digest(data)])
    path.unlink()
    with pytest.raises(ServiceError, match="cannot return"):
        blobs.load_blobs([digest(data)])
    monkeypatch.delenv(NAMED)
    with pytest.raises(ServiceError, match=NAMED):
        blobs.load_blobs([digest(data)])
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(NAMED, f"file://{tmp_path}/file/blobs")
    with pytest.raises(ServiceError, match="cannot store"):
        blobs.store_blobs([b"new: " + data])


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "s3://key:secret@bucket/x",
        "s3://bucket?acl=public",
        "https://bucket",
        "bucket",
        "file://host/x",
        "file:///",
        "file:///x?y=z",
    ],
)
def test_a_wrong_address_is_told(service_course: CourseRecord, address: str) -> None:
    """The error does not repeat the address, which may contain a secret."""
    from autograder.service import blobs

    with pytest.raises(ServiceError, match=r"expected s3://bucket") as error:
        blobs.open_object_store(address)
    assert "secret" not in str(error.value)
