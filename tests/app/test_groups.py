"""Group submissions: graded and marked once, with marks and a page for every member."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from autograder.app.classes import collect_standings, grade_class, write_feedback
from autograder.app.course_totals import TotalPart, mark_dropped
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading.grades import PersonMark
from autograder.store.memory import MemoryStore
from tests.app.test_classes import Heard, opening
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course

pytestmark = pytest.mark.sandbox
WRONG = CONTROL.replace(b"return 2 * x", b"return 3 * x")
WHY = (NAME, "formula-why")
EXAMS = f"""
[{NAME}]
end = 2026-05-04T12:00:00Z
late = "penalty"
penalty = {{ per_day = 10, cap = 50 }}
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Make a course with two groups and a single student: ada's submission is late, dan's is wrong."""
    course = make_course(tmp_path_factory.mktemp("groups") / "course")
    course.groups.write_text("group,student\nred,ada\nred,bob\nred,cleo\nblue,dan\nblue,eve\n")
    course.exams.write_text(EXAMS)
    for student, data, moment in (
        ("ada", CONTROL, "2026-05-05 13:00:00 UTC"),
        ("bob", WRONG, "2026-05-04 09:00:00 UTC"),
        ("dan", WRONG, "2026-05-04 09:00:00 UTC"),
        ("zoe", CONTROL, "2026-05-04 09:00:00 UTC"),
    ):
        hand_in(course, student, data).with_name("timestamp.txt").write_text(moment)
    return course


@pytest.fixture(scope="module")
def graded(course: Course) -> Iterator[tuple[Course, MemoryStore]]:
    """Return the class, graded in memory."""
    with MemoryStore() as store:
        outcomes = grade_class(course, NAME, store=opening(store)).outcomes
        assert ["ada", "bob", "cleo", "dan", "eve", "zoe"] == sorted(outcome.student for outcome in outcomes)
        yield course, store


def points(course: Course, store: MemoryStore) -> dict[str, Decimal]:
    """Return everyone's total."""
    return {who: row.total for who, row in collect_standings(course, NAME, store=opening(store)).rows.items()}


def test_all_members_have_the_marks_of_their_submission(graded: tuple[Course, MemoryStore]) -> None:
    """A group's submission is graded once and its late penalty applies to all members.

    Regrading reuses the result.
    """
    course, store = graded
    full, wrong = points(course, store)["zoe"], points(course, store)["dan"]
    late = Decimal(9) * 20 / 100
    expected = dict.fromkeys(("ada", "bob", "cleo"), full - late) | {"dan": wrong, "eve": wrong, "zoe": full}
    assert expected == points(course, store)
    results = store.load_results(NAME)
    assert {"": ["ada", "dan", "zoe"], "ada": ["bob", "cleo"], "dan": ["eve"]} == {
        by: [who for who, result in results.items() if result.score.by == by] for by in ("", "ada", "dan")
    }
    again = grade_class(course, NAME, store=opening(store)).outcomes
    assert (6, False) == (len(again), any(outcome.fresh for outcome in again))
    assert results == store.load_results(NAME)


def test_pages_name_the_group(graded: tuple[Course, MemoryStore]) -> None:
    """Every member's page shows the group, the submitter, and the late penalty on a separate line."""
    course, store = graded
    written = write_feedback(course, NAME, store=opening(store))
    assert [] == [page.problem for page in written.pages if page.problem]
    page = (course.locate_feedback("cleo", NAME) / f"{NAME}.html").read_text()
    assert "red (ada, bob, cleo), submitted by ada" in page
    assert "Late penalty: 1.8 (6 − 1.8 = 4.2)." in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "Late penalty: 20 percent of the possible points." in page
    summary = (course.root / "staff" / f"{NAME}.html").read_text()
    assert "group red (ada, bob, cleo)" in summary
    assert "late: −1.8" in summary


def test_a_person_marks_a_group_once(graded: tuple[Course, MemoryStore]) -> None:
    """A mark applies to all members and can be changed; a member's individual mark takes precedence."""
    course, store = graded
    before = points(course, store)
    store.give_mark(NAME, "bob", WHY, PersonMark(Decimal(1), comment="Good."))
    assert {"ada": 1, "bob": 1, "cleo": 1, "dan": 0, "eve": 0, "zoe": 0} == {
        who: total - before[who] for who, total in points(course, store).items()
    }
    assert "Good." == store.load_marks(NAME)["cleo"][WHY].comment
    store.give_mark(NAME, "bob", WHY, PersonMark(Decimal("0.5")))
    assert Decimal("0.5") == points(course, store)["cleo"] - before["cleo"]
    store.give_mark(NAME, "cleo", WHY, PersonMark(Decimal("0.25")))
    remarks = collect_standings(course, NAME, store=opening(store)).roll.remarks
    assert [f"bob, cleo share {WHY[1]}, but people gave each of them another mark"] == [
        remark for remark in remarks if "share" in remark
    ]
    assert Decimal("0.25") == points(course, store)["cleo"] - before["cleo"]


def test_times_that_change_hold_at_once(graded: tuple[Course, MemoryStore]) -> None:
    """A new extension applies immediately, without grading again."""
    course, store = graded
    before = points(course, store)
    course.exams.write_text(EXAMS + f"[{NAME}.groups.red]\nextra_minutes = 1440\n")
    assert Decimal("0.9") == points(course, store)["bob"] - before["bob"]
    course.exams.write_text(EXAMS.replace('late = "penalty"', 'late = "refuse"'))
    roll = collect_standings(course, NAME, store=opening(store)).roll
    course.exams.write_text(EXAMS)
    assert ["graded before times or groups changed: ada, bob, cleo; run: autograder grade small-exam"] == [
        remark for remark in roll.remarks if "graded before" in remark
    ]


def test_grade_names_group_lines_that_cannot_be_meant(course: Course) -> None:
    """A student in two groups is refused with both lines; an unknown member is reported."""
    before = course.groups.read_text()
    course.groups.write_text(f"{before}blue,ada\n")
    with pytest.raises(CourseError, match=r"'ada' stands twice .*: 2 \('red'\), 7 \('blue'\)"):
        grade_class(course, NAME, store=opening(MemoryStore()))
    course.groups.write_text(f"{before}green,zoi\n")
    heard = Heard()
    grade_class(course, NAME, store=opening(MemoryStore()), watch=heard)
    course.groups.write_text(before)
    assert any(
        "'zoi' of 'green' is nobody in the class; did you mean 'zoe'?" in message for message in heard.told
    )


@pytest.mark.parametrize(
    ("shares", "drop", "lowest"),
    [
        ([(5, 10), (9, 10), (1, 2)], 1, [2]),
        ([(5, 10), (9, 10), (1, 3)], 1, [2]),
        ([(5, 10), (9, 10), (0, 3)], 2, [0, 2]),
        ([(5, 10), (9, 10)], 0, []),
        ([(0, 10), (9, 10)], 5, [0, 1]),
    ],
)
def test_the_lowest_shares_are_dropped(shares: list[tuple[int, int]], drop: int, lowest: list[int]) -> None:
    """The lowest shares of the possible points are dropped; if two are equal, the later assignment is."""
    parts = [
        TotalPart(str(at), Decimal(earned), Decimal(of), True, True) for at, (earned, of) in enumerate(shares)
    ]
    assert lowest == [at for at, part in enumerate(mark_dropped(parts, drop)) if part.dropped]
