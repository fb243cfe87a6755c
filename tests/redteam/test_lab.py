"""Attacks on files, carried-forward results and measures earn nothing, and affect no other student."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import Struct

from autograder.core.records import GradingResult, ItemResult, Status
from autograder.grading import batch
from autograder.grading.pipeline import Grader
from autograder.sandbox.pool import Pool
from tests.redteam.attack import load
from tests.redteam.campaign import reached
from tests.redteam.entrants import lab_entrants
from tests.redteam.lab import ATTACKS, ATTEND, CHECKS, ITEMS, NAME, Lab
from tests.redteam.lab_uploads import HANDED_FILES
from tests.support.pace import patient_grader
from tests.support.thorough import rotating

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]

CELLS = {one.name: one for path in sorted(ATTACKS.glob("*.cells")) for one in load(path)}
REACHED = "Reached"
"""The exception by which called code reports what it reached."""


class Class(Struct):
    """Students of the lab, graded one after another."""

    lab: Lab
    grader: Grader
    count: int = 0

    def graded(self, hand_in: Callable[[Path], object]) -> GradingResult:
        """Grade one more student and return the result."""
        self.count += 1
        course = self.lab.assignment.course
        student = f"s{self.count:03}"
        hand_in(course.root / "submitted" / student / NAME)
        (handed,) = [one for one in course.list_handins(NAME) if one.student == student]
        return self.grader.grade(batch.read_handin(self.lab.assignment, handed))

    def key_passes(self) -> None:
        """Check that the answer key still earns full marks."""
        graded = self.graded(lambda folder: self.lab.hand_in(folder, right=True))
        assert {Status.PASSED} == {one.status for one in graded.score.items}, shown(graded)
        assert ITEMS == len(graded.score.items)


@pytest.fixture(scope="module")
def students(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """Return the class, having checked that the attackers' paper earns nothing and the key everything."""
    lab = Lab.made(tmp_path_factory.mktemp("redteam") / "course")
    with patient_grader(), Pool() as pool:
        made = Class(lab, Grader(lab.assignment, pool))
        assert {0} == {one.points for one in made.graded(lab.hand_in).score.items}
        made.key_passes()
        yield made
        made.key_passes()


def shown(graded: GradingResult) -> list[tuple[str, str, str]]:
    """Return the outcome of each item."""
    return [
        (one.question, one.status.value, f"{one.points} {one.code} {one.staff[:200]}")
        for one in graded.score.items
    ]


def gained(item: ItemResult) -> bool:
    """Return whether an item earns points or needs manual review; unreadable values are exempt."""
    is_busy = item.status is Status.NEEDS_REVIEW and item.question not in CHECKS
    return item.points > 0 or item.status is Status.PASSED or is_busy


def assert_in_vain(students: Class, hand_in: Callable[[Path], object]) -> None:
    """Check that the wrong paper with an attack earns and reaches nothing and needs no manual review."""
    graded = students.graded(hand_in)
    # Files that were not graded, with a notebook without points, need manual review: no gain.
    earned = [one for one in graded.score.items if gained(one) and one.code != "review.unread"]
    assert [] == earned, shown(graded)
    assert [] == reached(graded)
    assert [] == [one.staff for one in graded.score.items if REACHED in one.staff]


def test_what_is_reached_or_earned_is_noticed(students: Class) -> None:
    """Attacks that succeed in a cell or in a call, and correct answers, are detected."""
    shows = "class Reached(Exception): pass\ndef attend(scores, values): raise Reached('this')"
    attack = replace(CELLS["carrying: files named in arguments"], cells=("reached.append('that')", shows))
    graded = students.graded(lambda folder: students.lab.hand_in(folder, attack))
    assert ["['that']"] == reached(graded)
    assert [True] == [REACHED in one.staff for one in graded.score.items if one.question == "attend"]
    graded = students.graded(lambda folder: students.lab.hand_in(folder, replace(attack, cells=(ATTEND,))))
    assert ["attend"] == [one.question for one in graded.score.items if gained(one)]


def test_all_of_them_are_in_the_table_of_the_red_team(students: Class) -> None:
    """All attacks are listed by class and title, with answer keys that must keep full marks."""
    everybody = lab_entrants(students.lab)
    attacks = [one.name for one in everybody if one.role == "attack"]
    assert [*CELLS, *(f"files: {title}" for title in HANDED_FILES)] == attacks
    assert ["classmate"] * 3 == [one.role for one in everybody if one.role != "attack"]
    assert len(everybody) == len({one.student for one in everybody})


@pytest.mark.parametrize("name", rotating([*CELLS]))
def test_cells_earn_nothing(students: Class, name: str) -> None:
    """No attack by cells earns points."""
    assert_in_vain(students, lambda folder: students.lab.hand_in(folder, CELLS[name]))


@pytest.mark.parametrize("title", rotating([*HANDED_FILES]))
def test_files_earn_nothing(students: Class, title: str) -> None:
    """No attack by submitted files earns points."""

    def hand_in(folder: Path) -> None:
        students.lab.hand_in(folder)
        HANDED_FILES[title](folder, students.lab)

    assert_in_vain(students, hand_in)
