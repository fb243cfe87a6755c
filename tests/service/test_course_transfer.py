"""Importing a course from a folder into the service and exporting it again loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from autograder.app import open_course
from autograder.app.classes import collect_standings, grade_class
from autograder.app.stores import open_store
from autograder.core.errors import ServiceError
from autograder.course import Course, schedule
from autograder.grading import assignment as assignments
from autograder.grading.grades import PersonMark, Standing
from tests.service import course
from tests.service.test_attempts import CLASS
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

pytestmark = pytest.mark.sandbox
NAME = small_course.NAME
WHY = ("formulas", "mlp-why")
STAMPS = {"ada": "2031-02-03 04:05:06.700000 UTC", "bob": "2031-02-03 05:00:00.000000 UTC"}
LISTS = {
    "roster.csv": "id,first_name,last_name,email\nada,Ada,Byron,ada@example.org\nbob,Bob,,\nzoe,Zoë,Ähm,\n",
    "bonus.csv": "id,assignment,points\nada,small,1.5\n",
    "exams.toml": "[small]\nend = 2031-02-03T05:30:00Z\n\n[small.students.bob]\nextra_minutes = 20\n",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a graded course with manual marks, an earlier attempt, lists and dates."""
    root = course.small(tmp_path_factory.mktemp("folder"))
    for name, text in LISTS.items():
        (root / name).write_text(text, "utf-8")
    for student in ("ada", "bob", "eve"):
        put(root / "submitted" / student / NAME, course.answered(root, **CLASS[student]))
        (root / "submitted" / student / NAME / "notes.txt").write_bytes(b"\xff along")
        if student in STAMPS:
            (root / "submitted" / student / NAME / "timestamp.txt").write_text(STAMPS[student] + "\n")
    put(root / "earlier" / "ada" / NAME / "1", course.answered(root, layers_answer="layers = 1"))
    (root / "earlier" / "ada" / NAME / "1" / "timestamp.txt").write_text("2031-02-03 01:00:00.000000 UTC\n")
    grade_class(open_course(root), NAME)
    with open_store(assignments.load_assignment(open_course(root), NAME), new=False) as book:
        book.give_mark(NAME, "ada", WHY, PersonMark(Decimal("0.5"), comment="half of it"))
        book.give_mark(NAME, "bob", WHY, PersonMark(Decimal(1), comment="as others"), Decimal(1))
    return root


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a new folder."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def handed_in(root: Path) -> dict[str, bytes]:
    """Return the contents of all files below submitted/ and earlier/ by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for below in ("submitted", "earlier")
        for path in sorted((root / below).rglob("*"))
        if path.is_file()
    }


def kept(root: Path) -> tuple[object, ...]:
    """Return the results, marks, decisions and standings in a folder's gradebook."""
    course = open_course(root)
    with open_store(assignments.load_assignment(course, NAME), new=False) as book:
        rows = collect_standings(course, NAME).rows
        return (
            book.load_results(NAME),
            book.load_marks(NAME),
            book.load_decided_points(NAME),
            with_a_time(rows),
        )


def with_a_time(rows: Mapping[str, Standing]) -> dict[str, Standing]:
    """Return the standings without the lateness of eve, whose time of submission only the service knows."""
    return {**rows, "eve": replace(rows["eve"], untimely=False)}


def moved(service_course: CourseRecord, root: Path, to: Path) -> Course:
    """Import a folder into the service, compare the standings, and export it to another folder."""
    from autograder.service import course_transfer
    from autograder.service.standings import load_standings as stands
    from autograder.web import assignment_details

    service_course.secret = open_course(root).load_secret()
    service_course.save()
    record = course_transfer.import_course(open_course(root), service_course.slug, course.SIGNER)
    (offer,) = record.offers.all()
    rows = collect_standings(open_course(root), NAME).rows
    assert with_a_time(rows) == with_a_time(stands(offer, assignment_details.get_assignment(offer)))
    return course_transfer.export_course(record, to)


def test_a_course_comes_back_as_it_went(graded: Path, service_course: CourseRecord, tmp_path: Path) -> None:
    """Results, marks, comments, decisions, lists, dates, standings and all submitted files are preserved."""
    left = moved(service_course, graded, tmp_path / "left").root
    wanted = handed_in(graded)
    files = handed_in(left)
    stamps = {path: data for path, data in files.items() if path not in wanted}
    assert ["submitted/eve/small/timestamp.txt"] == list(stamps)  # the time of the import
    assert wanted == {path: data for path, data in files.items() if path not in stamps}
    assert kept(graded) == kept(left)
    assert (graded / "bonus.csv").read_bytes() == (left / "bonus.csv").read_bytes()
    everybody = LISTS["roster.csv"].replace("zoe", "eve,,,\nzoe")
    assert everybody == (left / "roster.csv").read_text("utf-8")
    times = [
        schedule.load_schedule(open_course(root), assignments.load_assignment(open_course(root), NAME).rubric)
        for root in (graded, left)
    ]
    assert times[0] == times[1]
    for name in (
        "rubrics/small.toml",
        ".autograder/secret",
        "release/small/code.ipynb",
        "reference/small.py",
    ):
        assert (graded / name).read_bytes() == (left / name).read_bytes(), name
    assert 0o600 == (left / ".autograder/secret").stat().st_mode & 0o777


def test_taking_over_again_changes_nothing(graded: Path, service_course: CourseRecord) -> None:
    """A repeated import adds only new submissions, and does not overwrite manual marks."""
    from autograder.service import course_transfer
    from autograder.service.models import Attempt
    from autograder.service.store import DatabaseStore

    service_course.secret = open_course(graded).load_secret()
    service_course.save()

    def again() -> list[tuple[str, int, str]]:
        course_transfer.import_course(open_course(graded), service_course.slug, course.SIGNER)
        rows = Attempt.objects.filter(offer__course=service_course).order_by("student", "number")
        return list(rows.values_list("student", "number", "state"))

    first, store = again(), DatabaseStore(service_course)
    assert [("ada", 1), ("ada", 2), ("bob", 1), ("eve", 1)] == [row[:2] for row in first]
    assert {"ada": 2, "bob": 1, "eve": 1} == {
        name: number for name, number, state in first if state == "graded"
    }
    store.give_mark(NAME, "ada", WHY, PersonMark(Decimal(1)))
    assert first == again()
    assert Decimal(1) == store.load_marks(NAME)["ada"][WHY].points
    put(graded / "submitted" / "zoe" / NAME, course.answered(graded))
    try:
        assert [*first, ("zoe", 1, "waiting")] == again()
    finally:
        for path in sorted((graded / "submitted" / "zoe").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (graded / "submitted" / "zoe").rmdir()


def test_files_of_another_name_are_taken_over_under_the_name_they_are_graded_by(
    service_course: CourseRecord, tmp_path: Path
) -> None:
    """Submitted files get the names of the notebooks they are graded as."""
    from autograder.service import course_transfer
    from autograder.service.models import AttemptFile

    root = course.small(tmp_path / "folder")
    files = course.answered(root, layers_answer="layers = 1")
    names = {"formulas (1).ipynb": "formulas.ipynb", "code.ipynb.txt": "code.ipynb"}
    put(root / "submitted" / "ada" / NAME, {came: files[expected] for came, expected in names.items()})
    service_course.secret = open_course(root).load_secret()
    service_course.save()
    course_transfer.import_course(open_course(root), service_course.slug, course.SIGNER)
    rows = AttemptFile.objects.filter(attempt__offer__course=service_course)
    assert files == {row.name: bytes(row.blob.data) for row in rows.select_related("blob")}


@pytest.mark.slow
def test_what_the_service_graded_is_not_graded_again(
    service_course: CourseRecord, tmp_path: Path, graded: Path
) -> None:
    """In the exported folder, the command line finds the results by their keys and does not grade again."""
    import threading

    from django.db import connections

    from autograder.service.worker import Worker

    bare = tmp_path / "bare"
    bare.mkdir()
    course.small(bare)
    put(bare / "submitted" / "ada" / NAME, course.answered(bare, **CLASS["ada"]))

    from autograder.service import course_transfer
    from autograder.service.models import Attempt

    service_course.secret = open_course(bare).load_secret()
    service_course.save()
    record = course_transfer.import_course(open_course(bare), service_course.slug, course.SIGNER)

    def work() -> None:
        with Worker() as worker:
            worker.grade_attempt(Attempt.objects.get(offer__course=record).pk)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    left = course_transfer.export_course(record, tmp_path / "left")
    again = grade_class(left, NAME)
    assert [("ada", False)] == [(outcome.student, outcome.fresh) for outcome in again.outcomes]


def test_only_an_empty_folder_is_written(service_course: CourseRecord, tmp_path: Path) -> None:
    """Exporting into a folder that is not empty is rejected."""
    from autograder.service import course_transfer

    (tmp_path / "something").touch()
    with pytest.raises(ServiceError, match="expected an empty folder"):
        course_transfer.export_course(service_course, tmp_path)
