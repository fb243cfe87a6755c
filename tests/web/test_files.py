"""Other files than notebooks in the service: released, submitted, graded and exported."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.app import open_course
from autograder.course import Course
from autograder.grading.release_generation import generate_release
from tests.service import course
from tests.support.files_course import LM, STARTER, written
from tests.web.people import Small

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

NAMES = ("captions", "model")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a course with two released assignments."""
    course_folder = written(tmp_path_factory.mktemp("files"))
    for name in NAMES:
        generate_release(course_folder, name)
    return course_folder.root


@pytest.fixture
def offered(service_course: CourseRecord, folder: Path) -> dict[str, Small]:
    """Offer both assignments in the service, and return them by name."""
    from autograder.service import versions

    service_course.secret = Course.from_folder(folder).load_secret()
    service_course.save()
    assignments = {}
    for name in NAMES:
        offer = versions.create_or_update_offer(service_course, open_course(folder), name)
        offer.visible = True
        offer.save()
        assignments[name] = Small(service_course, offer, folder)
    return assignments


def test_a_package_is_given_out_and_its_module_taken(offered: dict[str, Small], folder: Path) -> None:
    """Packages keep their folders, and an uploaded module without its folder is stored in it."""
    at = offered["captions"]
    client, page = at.client(), f"{at.base}a/captions/"
    content = client.get(page).content.decode()
    wanted = "captions.ipynb, captioning/rnn.py, predictions.npy"
    assert wanted in content
    release = folder / "release/captions"
    packed = zipfile.ZipFile(io.BytesIO(client.get(f"{page}files.zip").getvalue()))
    release_files = {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*.*")}
    assert release_files == {name.removeprefix("captions/"): packed.read(name) for name in packed.namelist()}
    module = client.get(f"{page}files/captioning/rnn.py")
    assert release_files["captioning/rnn.py"] == module.getvalue()
    assert 'attachment; filename="rnn.py"' == module.headers["Content-Disposition"]

    sent = [SimpleUploadedFile("rnn.py", STARTER.encode()), SimpleUploadedFile("other.txt", b"x")]
    answer = client.post(page, {"files": sent}, follow=True)
    assert 200 == answer.status_code
    attempt = at.offer.attempts.get()
    assert {"captioning/rnn.py", "other.txt"} == set(attempt.files.values_list("name", flat=True))
    assert STARTER.encode() == client.get(f"{page}1/files/captioning/rnn.py").getvalue()
    assert 404 == client.get(f"{page}files/../../rubrics/captions.toml").status_code


def test_no_page_reads_the_data_of_an_assignment(
    offered: dict[str, Small], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large data files are not read to deliver other files or show an attempt."""
    from autograder.service import blobs

    at = offered["captions"]
    client, page = at.client(), f"{at.base}a/captions/"
    client.post(page, {"files": [SimpleUploadedFile("rnn.py", STARTER.encode())]})
    data = (folder / "release/captions/features.npy").read_bytes()
    read: list[bytes] = []

    def noted(digests: Iterable[str]) -> dict[str, bytes]:
        contents = get(digests)
        read.extend(contents.values())
        return contents

    def noted_parts(digest: str) -> Iterator[bytes]:
        for part in parts(digest):
            read.append(part)
            yield part

    get, parts = blobs.load_blobs, blobs.iterate_parts
    monkeypatch.setattr(blobs, "load_blobs", noted)
    monkeypatch.setattr(blobs, "iterate_parts", noted_parts)
    for place in ("", "1/", "files/captions.ipynb", "1/files/captioning/rnn.py"):
        answer = client.get(f"{page}{place}")
        assert answer.getvalue() if answer.streaming else answer.content
    assert read
    assert data not in read
    assert data == client.get(f"{page}files/features.npy").getvalue()
    assert data in read


def test_a_worker_gets_what_the_rubric_wants(offered: dict[str, Small], tmp_path: Path) -> None:
    """Grading gets the submitted files, data and files of the answer key from the database.

    Too large ones are refused.
    """
    from autograder.core.errors import NotebookError
    from autograder.grading import assignment as assignments
    from autograder.service import attempts, versions

    at = offered["captions"]
    sent = {"captioning/rnn.py": STARTER.encode(), "predictions.npy": b"0" * 20_000, "other.txt": b"x"}
    attempt = attempts.submit_files(at.offer, "ada", sent, course.SIGNER)
    laid_out = versions.lay_out(attempt.version, tmp_path)
    assignment = assignments.load_assignment(laid_out, "captions")
    assert (
        assignment.compute_digest()
        == assignments.load_assignment(open_course(at.folder), "captions").compute_digest()
    )
    assert {"captioning/rnn.py", "predictions.npy"} == set(assignment.key_files)
    files = attempts.select_files_to_grade(attempt, assignment.rubric).files
    assert STARTER.encode() == files["captioning/rnn.py"]
    refused = files["predictions.npy"]
    assert isinstance(refused, NotebookError)
    assert "too-large" == refused.code
    assert files.keys() == {"captioning/rnn.py", "predictions.npy"}


def test_files_are_told_of_without_a_notebook(offered: dict[str, Small]) -> None:
    """The preview lists each question answered by a file, and a missing file once."""
    from autograder.web import assignment_details

    at = offered["model"]
    attempt = course.handed_in(at.offer, "ada", {"lm.py": LM.encode()})
    seen = assignment_details.check_attempt(attempt, "en")
    assert ["Your files"] == [group.name for group in seen]
    states = {answer.question: [line.state for line in answer.lines] for answer in seen[0].answers}
    assert "ready" in states["count"]
    assert ["missing"] == states["report"]
    assert 1 == str(seen).count("report.md")
    page = at.client().get(f"{at.base}a/model/{attempt.number}/").content.decode()
    assert "lm.py is there" in page

    captions = offered["captions"]
    attempt = course.handed_in(captions.offer, "bob", {"captioning/rnn.py": b"def stop(): pass\n"})
    seen = assignment_details.check_attempt(attempt, "en")
    assert ["Your files", "captions.ipynb"] == [group.name for group in seen]
    assert {"step", "predictions"} == {answer.question for answer in seen[0].answers}
    assert "missing" in {line.state for line in seen[0].answers[0].lines}


def test_staff_are_warned_of_files_that_the_service_does_not_take(
    offered: dict[str, Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Staff see a warning if a rubric allows larger files than the service."""
    from autograder.service import attempts

    at = offered["captions"]
    page, message = f"{at.base}staff/a/captions/", "the service accepts"
    assert message not in at.client("instructor").get(page).content.decode()
    monkeypatch.setattr(attempts, "MOST_BYTES", 5_000)
    assert message in at.client("instructor").get(page).content.decode()


def test_modules_alone_come_back_as_they_were(offered: dict[str, Small], tmp_path: Path) -> None:
    """Modules without a notebook survive export and import."""
    from autograder.service import attempts, course_transfer

    sent = {"lm.py": LM.encode(), "report.md": b"Two.\n"}
    for name, files in {"model": sent, "captions": {"captioning/rnn.py": STARTER.encode()}}.items():
        attempts.submit_files(offered[name].offer, "ada", files, course.SIGNER)
    left = course_transfer.export_course(offered["model"].record, tmp_path / "left")
    submitted = left.root / "submitted/ada"
    assert STARTER.encode() == (submitted / "captions/captioning/rnn.py").read_bytes()
    (submitted / "captions/captioning/own-notes.txt").write_text("not asked for")
    course_transfer.import_course(left, "again", course.SIGNER)
    for name, count in {"model": 2, "captions": 1}.items():
        (attempt,) = offered[name].offer.attempts.all()
        assert count == attempt.files.count()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a//b", "a/.hidden", "a/../b"])
def test_a_path_that_leads_elsewhere_is_refused(offered: dict[str, Small], path: str) -> None:
    """Invalid paths are rejected, and nothing is stored."""
    from autograder.core.errors import ServiceError
    from autograder.service import attempts

    with pytest.raises(ServiceError, match="is not a valid file name"):
        attempts.submit_files(offered["model"].offer, "ada", {path: b"x"}, course.SIGNER)
    assert not offered["model"].offer.attempts.exists()
