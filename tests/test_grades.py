"""The standing of a student: exact sums, manual marks by cell, and a range of grades for open items."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.app.class_lists import read_bonus
from autograder.core.errors import CourseError
from autograder.core.records import Deduction, ItemResult, Message, Note, Score, Status
from autograder.grading.grades import CellName, PersonMark, Standing, compute_standing
from autograder.rubric import Rubric
from autograder.rubric.scales import Grade
from autograder.store.gradebook import Gradebook
from tests.pages.examples import FAULTS, RIGHT, TOML, good, item, middling, release
from tests.store.examples import keep

GRADING = "[assignment.grading]\n"
WHY = ("exam", "task3-b-why")


def rubric(grading: str = GRADING, *, toml: str = TOML) -> Rubric:
    """Return the example rubric with a grading table."""
    return rubrics.parse_rubric(
        toml.replace("[assignment.symbols]", f"{grading}[assignment.symbols]").encode()
    )


BONUS = rubric(
    GRADING + 'bonus = "when-passed"\n',
    toml=TOML.replace("points = 17", "points = 11").replace('id = "mha"\n', 'id = "mha"\nbonus = true\n'),
)
"""The rubric with multi-head attention as a bonus question: 11 points are possible, 5.5 pass."""
EXAM = rubric()


def passing(*right: tuple[str, str]) -> Score:
    """Return a score with full points for some items, none for the others, and no open items."""
    lines = [(question.id, line.id) for question in EXAM.questions for line in question.items]
    return Score(
        "ada",
        "exam",
        3,
        tuple(item(*line, Status.PASSED if line in right else Status.FAILED, RIGHT) for line in lines),
    )


def grades(one: Standing) -> tuple[str, str]:
    """Return the worst and best possible grade."""
    assert one.worst
    assert one.best
    return one.worst.name, one.best.name


def test_an_open_item_makes_a_range() -> None:
    """With 8.5 of 17 points and one open, the grade is a pass and may improve by one step."""
    one = compute_standing(middling().score, EXAM)
    assert (Decimal("8.5"), Decimal(1), False) == (one.points, one.pending, one.final)
    assert ("4.0", "3.7") == grades(one)


COMMENTS = f"""{TOML}
[[question]]
id = "comments"
kind = "written"
points = 0
[[question.item]]
id = "any"
points = 0
manual = true
text = {{ en = "What you want to tell us", de = "Was Sie uns sagen wollen" }}
"""
"""The example rubric with a question worth no points."""
COMMENT = ItemResult(
    "comments", "any", Status.NEEDS_REVIEW, Decimal(0), Decimal(0), Message("review.person"), "for staff"
)


@pytest.mark.parametrize(
    ("marks", "final"),
    [
        pytest.param({}, True, id="nobody has looked at it"),
        pytest.param({("exam", "comments"): PersonMark(Decimal(0))}, True, id="marked"),
        pytest.param({("exam", "comments"): PersonMark(Decimal(0), again=True)}, True, id="handed in again"),
        pytest.param({("exam", "comments"): PersonMark(comment="Thanks!")}, True, id="commented"),
        pytest.param({("exam", "comments"): PersonMark(Decimal(1), again=True)}, False, id="given a point"),
    ],
)
def test_an_item_worth_nothing_holds_nothing_back(marks: dict[CellName, PersonMark], final: bool) -> None:
    """An open item worth nothing keeps the grade final, unless a mark in its cell needs another review."""
    course = rubric(toml=COMMENTS)
    score = middling().score
    score = replace(score, items=(*score.items, COMMENT))
    stands = compute_standing(score, course, {WHY: PersonMark(Decimal("0.5")), **marks})
    assert final is stands.final
    assert final is (stands.worst == stands.best)
    assert not compute_standing(score, course, marks).final


def test_an_item_worth_nothing_in_a_cell_with_others_leaves_them_open() -> None:
    """The grade remains open for the other item of the cell."""
    course = rubric(
        toml=TOML.replace(
            'cell = "task3-b-why"\n',
            'cell = "task3-b-why"\ntext = { en = "A", de = "A" }\n'
            '[[question.item]]\nid = "comment"\npoints = 0\nmanual = true\ncell = "task3-b-why"\n',
        )
    )
    stands = compute_standing(middling().score, course)
    assert (Decimal(1), False) == (stands.pending, stands.final)
    assert compute_standing(middling().score, course, {WHY: PersonMark(Decimal(1))}).final


def test_without_open_items_the_grade_is_final() -> None:
    """A manual mark closes the cell; worst and best grade are then equal."""
    one = compute_standing(middling().score, EXAM, {WHY: PersonMark(Decimal("0.5"))})
    assert (Decimal(9), Decimal(0), True) == (one.points, one.pending, one.final)
    assert Grade("4.0", passed=True) == one.worst == one.best


def test_a_persons_mark_stands_for_the_whole_cell() -> None:
    """A manual mark replaces the automatic points of its cell, even beyond the possible points."""
    marks = {("exam", "task5-a"): PersonMark(Decimal("9.5")), WHY: PersonMark(Decimal(0))}
    one = compute_standing(middling().score, EXAM, marks)
    assert {
        "task3-b": Decimal("0.5"),
        "task3-f": Decimal(0),
        "task5-a": Decimal("9.5"),
        "mha": Decimal(3),
    } == {question.id: question.points for question in one.questions}


def test_a_mark_to_be_looked_at_again_is_open() -> None:
    """A mark that must be reviewed again counts provisionally, and its whole cell is open."""
    one = compute_standing(middling().score, EXAM, {WHY: PersonMark(Decimal("0.5"), again=True)})
    assert (Decimal(9), Decimal(1), False) == (one.points, one.pending, one.final)
    assert ("4.0", "3.7") == grades(one)


def test_extra_credit_is_bonus_and_below_zero_taken_away() -> None:
    """Extra credit counts as bonus points; negative extra credit is deducted."""
    marks = {WHY: PersonMark(Decimal(1), Decimal("1.5")), ("exam", "mha"): PersonMark(None, Decimal(-2))}
    one = compute_standing(middling().score, EXAM, marks, bonus=Decimal(1))
    assert (Decimal("7.5"), Decimal("2.5"), Decimal(10)) == (one.points, one.bonus, one.total)


def test_no_more_is_taken_away_than_there_is() -> None:
    """Deductions do not reduce points below zero or touch bonus points."""
    marks = {("exam", "mha"): PersonMark(None, Decimal(-100))}
    one = compute_standing(middling().score, EXAM, marks, bonus=Decimal(1))
    assert (Decimal(0), Decimal(100)) == (one.points, one.taken)
    assert one.total >= 0


@pytest.mark.parametrize("code", ["late", "time-not-known"])
def test_what_is_late_is_not_final_until_somebody_decides(code: str) -> None:
    """A late pass stays open until staff accept it; points and a fail are unaffected."""
    score = passing(*[("task5-a", name) for name, _, _ in FAULTS], ("mha", "plain"))
    late, accepted = (replace(score, notes=(Note(one, "…"),)) for one in (code, "late-accepted"))
    one = compute_standing(late, EXAM)
    assert (False, None, compute_standing(score, EXAM).points) == (one.final, one.passed, one.points)
    assert (True, True) == (compute_standing(accepted, EXAM).final, compute_standing(accepted, EXAM).passed)
    failed = compute_standing(replace(passing(), notes=late.notes), EXAM)
    assert (False, False) == (failed.final, failed.passed)


@pytest.mark.parametrize(
    ("right", "total", "grade"),
    [
        ([("task5-a", name) for name, _, _ in FAULTS[:5]], 5, "5.0"),
        ([("task5-a", name) for name, _, _ in FAULTS[:6]], 9, "2.0"),
    ],
)
def test_bonus_questions_count_when_passed(right: list[tuple[str, str]], total: int, grade: str) -> None:
    """With 5 of 11 points a bonus question changes nothing; with 6 its 3 points do."""
    one = compute_standing(passing(*right, ("mha", "plain")), BONUS)
    assert (Decimal(total), Decimal(3)) == (one.total, one.bonus)
    assert (grade, grade) == grades(one)


def test_another_version_of_the_rubric_is_never_final() -> None:
    """A result of an earlier rubric version is provisional, and an item without a result is open."""
    score = replace(passing(), rubric_version=2)
    assert compute_standing(score, EXAM).outdated
    assert not compute_standing(score, EXAM).final
    shorter = compute_standing(replace(score, rubric_version=3, items=score.items[:-1]), EXAM)
    assert (False, Decimal(3)) == (shorter.final, shorter.pending)


def late(deduction: Deduction, score: Score | None = None) -> Standing:
    """Return the standing of a late submission; 17 points are possible."""
    return compute_standing(replace(score or good().score, deduction=deduction), EXAM)


def test_what_being_late_costs_is_taken_off_exactly() -> None:
    """The penalty is in points or in percent of possible or earned points, up to the earned points."""
    half = middling().score
    earned = compute_standing(half, EXAM).earned
    for amount, unit, taken in (
        (Decimal("33.3"), "percent", Decimal("5.661")),
        (Decimal("33.3"), "percent-of-earned", earned * Decimal("0.333")),
        (Decimal("0.1"), "points", Decimal("0.1")),
        (Decimal(100), "percent", earned),
        (Decimal(50), "points", earned),
    ):
        one = late(Deduction(amount, unit), half)
        assert (min(taken, earned), earned - min(taken, earned)) == (one.late, one.points)
    assert (Decimal("1.7"), 0) == (late(Deduction(Decimal(10))).late, late(Deduction(Decimal(100))).total)


def test_a_floor_leaves_what_it_says() -> None:
    """A late penalty never reduces points below the floor, a share of the earned points."""
    floored = Deduction(Decimal(100), "percent", Decimal(50))
    assert (
        Decimal("8.5")
        == late(floored).total
        == compute_standing(good().score, EXAM).total - late(floored).late
    )
    half = passing(*[(question.id, question.items[0].id) for question in EXAM.questions[:1]])
    earned = compute_standing(half, EXAM).earned
    assert earned < Decimal("8.5")
    assert (0, earned) == (late(floored, half).late, late(floored, half).total)


def test_a_late_one_with_open_items_has_a_range() -> None:
    """The late penalty applies to both ends of the range, but not to bonus points."""
    score = replace(middling().score, deduction=Deduction(Decimal(20), "percent-of-earned"))
    before, after = (
        compute_standing(middling().score, EXAM, bonus=Decimal(2)),
        compute_standing(score, EXAM, bonus=Decimal(2)),
    )
    assert before.pending == after.pending > 0
    assert (before.total - 2) * Decimal("0.8") + 2 == after.total
    assert after.worst
    assert before.worst
    assert float(after.worst.name) >= float(before.worst.name)


def test_without_a_scale_there_are_points_and_no_grade() -> None:
    """An assignment without a grading table has no grades."""
    one = compute_standing(good().score, rubric(""))
    assert (Decimal(16), None, None) == (one.total, one.worst, one.best)


STATUSES = st.sampled_from([Status.PASSED, Status.FAILED, Status.NEEDS_REVIEW])
LINES = [(question.id, line.id) for question in EXAM.questions for line in question.items]


@given(st.lists(STATUSES, min_size=len(LINES), max_size=len(LINES)), st.data())
def test_whatever_people_decide_the_grade_lies_in_the_range(
    statuses: list[Status], data: st.DataObject
) -> None:
    """Every decision on open items gives a final grade between the worst and the best one."""
    items = tuple(item(*line, status, RIGHT) for line, status in zip(LINES, statuses, strict=True))
    for exam in (EXAM, BONUS):
        before = compute_standing(Score("ada", "exam", 3, items), exam)
        marks = {
            ("exam", cell.name): PersonMark(
                data.draw(st.integers(int(2 * cell.least), int(2 * cell.most))) / Decimal(2)
            )
            for question in before.questions
            for cell in question.cells
            if cell.pending
        }
        after = compute_standing(Score("ada", "exam", 3, items), exam, marks)
        assert before.final is (not marks)
        assert after.final
        assert grades(before)[0] >= grades(after)[0] >= grades(before)[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a gradebook with two students."""
    found = tmp_path / "gradebook.db"
    with Gradebook(found) as book:
        book.prepare_assignment(EXAM, {"exam": release()})
        for one in (good(), middling()):
            keep(book, one, EXAM, datetime.datetime(2031, 2, 3, tzinfo=datetime.UTC))
    return found


def test_marks_come_back_from_nbgraders_gradebook(path: Path) -> None:
    """Marks, extra credit and comments are read as typed; untouched cells are omitted."""
    from nbgrader.api import Gradebook as Formgrader

    with Formgrader(f"sqlite:///{path}") as theirs:
        grade = theirs.find_grade("task3-b-why", "exam", "exam", "grace")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 0.1, 0.2, False
        theirs.find_comment("task3-b-why", "exam", "exam", "grace").manual_comment = "Well said."
        theirs.find_grade("mha", "exam", "exam", "ada").manual_score = 2.5
        theirs.db.commit()
        total = theirs.find_submission("exam", "grace").score
    with Gradebook(path) as book:
        marks = book.load_marks("exam")
    assert {
        "grace": {WHY: PersonMark(Decimal("0.1"), Decimal("0.2"), comment="Well said.")},
        "ada": {("exam", "mha"): PersonMark(Decimal("2.5"))},
    } == marks
    assert pytest.approx(total) == float(compute_standing(middling().score, EXAM, marks["grace"]).total)


def test_a_mark_that_is_no_number_is_not_taken(path: Path) -> None:
    """An infinite mark in the database is ignored."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE grade SET manual_score = 9e999")
    connection.close()
    with Gradebook(path) as book:
        marks = book.load_marks("exam")["grace"]
    assert compute_standing(middling().score, EXAM) == compute_standing(middling().score, EXAM, marks)


def test_a_new_submission_opens_the_mark_again(path: Path) -> None:
    """As in nbgrader, a mark given to an earlier submission must be reviewed again."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE grade SET manual_score = 1, needs_manual_grade = 0")
    connection.close()
    with Gradebook(path) as book:
        book.prepare_assignment(EXAM, {"exam": release()})
        assert compute_standing(middling().score, EXAM, book.load_marks("exam")["grace"]).final
        keep(book, replace(middling(), digest="f" * 64), EXAM)
        assert not compute_standing(middling().score, EXAM, book.load_marks("exam")["grace"]).final


def test_bonus_points_of_the_course(tmp_path: Path) -> None:
    """Bonus points are read by student and assignment; lines of other assignments are ignored."""
    found = tmp_path / "bonus.csv"
    found.write_text("id,assignment,points\nada,exam,1.5\ngrace,other,x\nalan, exam ,3\n")
    assert {"ada": Decimal("1.5"), "alan": Decimal(3)} == read_bonus(found, "exam", ("exam", "other"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,points\nada,1\n", "expected the columns id, assignment, points"),
        *(
            (f"id,assignment,points\nada,exam,{bad}\n", "line 2: points")
            for bad in ("-1", '"1,5"', "nan", "1e3", "")
        ),
        ("id,assignment,points\nada,exam,1,5\n", "line 2: expected 3 values, got more"),
        ("id,assignment,points\nada,exam,1\nada,exam,2\n", "line 3: 'ada' stands twice"),
        ("id,assignment,points\n,exam,1\n", "line 2: the id is empty"),
        (
            "id,assignment,points\nada,exma,1\n",
            "line 2: assignment: 'exma' is not in the course; did you mean 'exam'",
        ),
        ("id,assignment,points\nada,Exam,1\n", "did you mean 'exam'"),
        ("id,assignment,points\nada,,1\n", "known are: exam, other"),
        ("id;assignment;points\nada;exam;1\n", "separate values with commas, not semicolons"),
    ],
)
def test_errors_in_the_list_of_bonus_points_are_named(tmp_path: Path, text: str, message: str) -> None:
    """The error names the line and what was expected."""
    found = tmp_path / "bonus.csv"
    found.write_text(text)
    with pytest.raises(CourseError, match=message):
        read_bonus(found, "exam", ("exam", "other"))


def test_sums_are_exact() -> None:
    """Five marks that sum to exactly half of the points pass, although the float sum falls short."""
    typed = {"task3-b": "0.1", "task3-b-why": "0.1", "task3-f": "0.5", "task5-a": "7.6", "mha": "0.2"}
    assert sum(float(points) for points in typed.values()) < 8.5
    marks = {("exam", cell): PersonMark(Decimal(points)) for cell, points in typed.items()}
    one = compute_standing(passing(), EXAM, marks)
    assert (Decimal("8.5"), "4.0") == (one.points, grades(one)[0])
