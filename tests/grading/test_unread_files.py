"""Files that nobody read: a notebook that earned nothing beside them is no final zero."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.course import Course, Handin
from autograder.grading.batch import collect
from autograder.grading.pipeline import Grader
from autograder.records import Graded, Status
from autograder.sandbox.pool import Pool
from tests.grading.test_batch import CONTROL, FAULTS, FULL, NAME, hand_in, make_course, points
from tests.notebook.test_document import LFS_POINTER

pytestmark = pytest.mark.sandbox

UNTOUCHED = (FAULTS / "control-untouched" / "submission.ipynb").read_bytes()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The small exam."""
    return make_course(tmp_path_factory.mktemp("unread"))


@pytest.fixture(scope="module")
def grader(course: Course, pool: Pool) -> Grader:
    """Of it."""
    return Grader(assignments.load(course, NAME), pool)


def graded(grader: Grader, course: Course, student: str, files: dict[str, bytes]) -> Graded:
    """What comes of a folder with these files."""
    folder: Path = hand_in(course, student, b"").parent
    (folder / f"{NAME}.ipynb").unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return grader.grade(collect(grader.assignment, Handin(student, folder)))


def automatic(found: Graded) -> set[Status]:
    """The statuses of the items that no person has to mark anyway."""
    manual = {"formula.why", "essay.text"}
    return {one.status for one in found.score.items if f"{one.question}.{one.item}" not in manual}


def test_an_untouched_notebook_beside_another_one_needs_review(grader: Grader, course: Course) -> None:
    """The work may be in the other one; students and staff read its name."""
    found = graded(grader, course, "ada", {f"{NAME}.ipynb": UNTOUCHED, f"{NAME}_final.ipynb": CONTROL})
    assert {Status.NEEDS_REVIEW} == {item.status for item in found.score.items}
    assert f"{NAME}_final.ipynb" in str(found.score.items[0].student.params)
    assert "unread-files" in {note.code for note in found.score.notes}


def test_an_untouched_notebook_alone_is_no_answer(grader: Grader, course: Course) -> None:
    """There is nothing else to look at."""
    found = graded(grader, course, "bob", {f"{NAME}.ipynb": UNTOUCHED, "plot.png": b"x"})
    assert {Status.NO_ANSWER} == automatic(found)


def test_an_answered_notebook_keeps_its_marks_beside_another_one(grader: Grader, course: Course) -> None:
    """The other file is named, and nothing waits for it."""
    found = graded(grader, course, "cleo", {f"{NAME}.ipynb": CONTROL, "scratch.ipynb": UNTOUCHED})
    assert FULL == points(found)
    assert {Status.PASSED} == automatic(found)
    assert "scratch.ipynb" in "".join(note.text for note in found.score.notes)


def test_a_notebook_of_another_name_is_graded_and_said(grader: Grader, course: Course) -> None:
    """It earns what it would earn under its own name."""
    found = graded(grader, course, "dora", {"WMS hw.ipynb.txt": CONTROL})
    assert FULL == points(found)
    assert ["taken-as"] == [note.code for note in found.score.notes if note.code == "taken-as"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param({}, "no-notebook", id="an-empty-folder"),
        pytest.param({f"{NAME}.html": b"<html>"}, "unread-files", id="an-export"),
        pytest.param({f"{NAME}.ipynb": LFS_POINTER}, "git-lfs-pointer", id="a-git-lfs-pointer"),
    ],
)
def test_what_cannot_be_graded_waits_for_a_person(
    grader: Grader, course: Course, files: dict[str, bytes], code: str
) -> None:
    """With the cause in every item and in one note."""
    found = graded(grader, course, f"x-{code}", files)
    assert {(Status.NEEDS_REVIEW, code)} == {(item.status, item.code) for item in found.score.items}
    assert Decimal(0) == found.score.points
    assert [code] == [note.code for note in found.score.notes]


def test_unread_files_are_part_of_what_a_result_depends_on(grader: Grader, course: Course) -> None:
    """Once the other file is gone the zero is final, and the result is computed again."""
    graded(grader, course, "eve", {f"{NAME}.ipynb": UNTOUCHED})
    folder = course.root / "submitted" / "eve" / NAME
    alone = collect(grader.assignment, Handin("eve", folder)).digest()
    (folder / "other.ipynb").write_bytes(CONTROL)
    assert alone != collect(grader.assignment, Handin("eve", folder)).digest()
