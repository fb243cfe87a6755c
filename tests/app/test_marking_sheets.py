"""Marking sheets: their contents, the changes that an import makes, and the rows that it refuses."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from autograder.app import marking_sheets
from autograder.app.marking_sheet_rows import (
    COLUMNS,
    SheetSubject,
    guard_value,
    parse_points,
    read_sheet,
    strip_guard,
    write_sheet,
)
from autograder.app.marking_sheets import SheetChoice, SheetEntry, SheetPlan
from autograder.core.errors import CourseError
from autograder.core.records import (
    Cell,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Message,
    Status,
)
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import grades
from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from autograder.grading.release_generation import generate_release
from autograder.grading.store import Store
from autograder.store.memory import MemoryStore
from tests.store.examples import keep
from tests.support import small_course

WHY, THOUGHTS, MLP, SOFTMAX = "mlp-why", "thoughts", "mlp", "softmax"
HOSTILE = (
    '=HYPERLINK("http://evil.example";"marks")\n\'; DROP TABLE grade; --\n"quoted",and;separated\r\n'
    "\x00\x1b[31m\u202etxt.exe\ud800 @SUM(1) \t+1 \x85"
)


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """Return the small course's assignment, released."""
    course = small_course.small_course(tmp_path_factory.mktemp("sheets"))
    generate_release(course, small_course.NAME)
    return assignments.load_assignment(course, small_course.NAME)


def result(assignment: Assignment, student: str, **texts: str) -> GradingResult:
    """Return a result in which these written answers need manual review; formulas and code are right.

    ``_`` in a cell's name stands for ``-``; a question in ``open`` needs review as a whole.
    """
    waiting = texts.pop("open", "").split()
    texts = {name.replace("_", "-"): text for name, text in texts.items()}
    items = []
    for question in assignment.rubric.questions:
        for item in question.items:
            possible = max(item.points, Decimal(0))
            cell = item.cell or question.answer_cell
            status = Status.NEEDS_REVIEW if cell in texts else Status.NO_ANSWER
            if not item.manual:
                status = Status.NEEDS_REVIEW if question.id in waiting else Status.PASSED
            points = possible if status is Status.PASSED else Decimal(0)
            items.append(ItemResult(question.id, item.id, status, points, possible, Message("passed"), ""))
    open_score = grades.leave_open(student, assignment.rubric, "", (), "namespaces")
    cells: dict[str, list[Cell | Markdown]] = {"formulas": [], "code": []}
    for name, text in texts.items():
        cells["formulas" if name == WHY else "code"].append(Markdown(text, name))
    notebooks = tuple(
        ExecutedNotebook(name, tuple(parts), (None,) * len(parts)) for name, parts in cells.items()
    )
    return GradingResult(
        replace(open_score, items=tuple(items)), notebooks, digest=student.encode().hex().ljust(64, "0")[:64]
    )


class Class(Struct, frozen=True, eq=False):
    """A class of the small course in a store."""

    assignment: Assignment
    store: Store

    def subject(self) -> SheetSubject:
        """Return the subject of a sheet with the current results."""
        return SheetSubject(self.assignment, self.store, self.store.load_results(small_course.NAME))

    def sheet(self, **choice: object) -> list[dict[str, str]]:
        """Export a sheet and return it as a list of rows."""
        return [dict(row) for row in marking_sheets.make_sheet(self.subject(), SheetChoice(**choice)).rows]  # type: ignore[arg-type]

    def plan(self, rows: list[dict[str, str]]) -> SheetPlan:
        """Plan the import of a sheet with these rows."""
        return marking_sheets.plan_sheet(self.subject(), read_sheet(write_sheet(rows)))

    def enter(self, rows: list[dict[str, str]]) -> SheetEntry:
        """Import a sheet with these rows."""
        return marking_sheets.enter_sheet(self.subject(), self.plan(rows))

    def mark(self, student: str, notebook: str, cell: str) -> PersonMark:
        """Return the manual mark of a cell."""
        return self.store.load_marks(small_course.NAME).get(student, {}).get((notebook, cell), PersonMark())


@pytest.fixture
def class_(assignment: Assignment) -> Class:
    """Make a class: Ada and Alan gave the same answer, Kurt a different one, Eve none.

    Grace's code needs review.
    """
    store = MemoryStore()
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    for graded in (
        result(assignment, "ada", mlp_why="Up and back."),
        result(assignment, "alan", mlp_why="up and  back"),
        result(assignment, "eve"),
        result(assignment, "grace", open="softmax"),
        result(assignment, "kurt", mlp_why="Because.", thoughts="None."),
    ):
        keep(store, graded, assignment.rubric)
    return Class(assignment, store)


def rows_of(rows: list[dict[str, str]], cell: str, text: str = "") -> list[dict[str, str]]:
    """Return the rows of a cell that start with this answer."""
    return [row for row in rows if row["cell"] == cell and row["answer"].startswith(text)]


def fill(rows: list[dict[str, str]], cell: str, points: str, comment: str = "", text: str = "") -> None:
    """Fill in points and a comment, as a marker does."""
    for row in rows_of(rows, cell, text):
        row |= {"points": points, "comment": comment or row["comment"]}


# ---------------------------------------------------------------- contents of a sheet


def test_a_row_for_each_answer_and_item_that_a_person_decides(class_: Class) -> None:
    """A sheet has a row for each written answer and each item that needs manual review, and no others."""
    rows = class_.sheet(names=True)
    assert [
        ("mlp-why", "why", "1", "ada"),
        ("mlp-why", "why", "1", "alan"),
        ("mlp-why", "why", "1", "kurt"),
        ("softmax", "batch", "1", "grace"),
        ("softmax", "overflow", "-0.5", "grace"),
        ("softmax", "rows", "2", "grace"),
        ("thoughts", "any", "1", "kurt"),
    ] == sorted((row["cell"], row["item"], row["possible"], row["who"]) for row in rows)
    assert {"small"} == {row["assignment"] for row in rows}
    assert len(rows) == len({row["row"] for row in rows})
    assert set(COLUMNS) == set(rows[0])


def test_nobody_is_named_without_names(class_: Class) -> None:
    """Pseudonyms depend on the course's secret and are the same in every cell and sheet."""
    rows = class_.sheet()
    text = write_sheet(rows).decode("utf-8-sig")
    assert [] == [name for name in ("ada", "alan", "kurt", "grace", "eve") if name in text]
    kurt = {row["who"] for row in rows if row["answer"] in ("Because.", "None.")}
    assert 1 == len(kurt)
    assert 4 == len({row["who"] for row in rows})
    other = Assignment.with_variant(class_.assignment, class_.assignment.rubric.variant, {})
    assert rows == Class(other, class_.store).sheet()
    assert not any(row["who"][0].isdigit() or row["state"][0].isdigit() for row in rows)


def test_what_the_program_could_not_decide_says_why(class_: Class, assignment: Assignment) -> None:
    """The reason is given for items that could not be graded automatically, not for manually marked ones."""
    graded = result(assignment, "zoe", formulas_why="Two.", open="softmax")
    by_hand = {item.id for question in assignment.rubric.questions for item in question.items if item.manual}
    items = tuple(
        replace(
            item_result,
            staff=f"odd: {item_result.item}",
            code="review.person" if item_result.item in by_hand else item_result.code,
        )
        for item_result in graded.score.items
    )
    results = {"zoe": replace(graded, score=replace(graded.score, items=items))}
    subject = SheetSubject(assignment, class_.store, results)
    rows = marking_sheets.make_sheet(subject).rows
    manual = {item.id for question in assignment.rubric.questions for item in question.items if item.manual}
    assert {row["reason"] for row in rows if row["item"] in manual} <= {""}
    assert {row["item"] for row in rows} - manual
    assert all(f"odd: {row['item']}" == row["reason"] for row in rows if row["item"] not in manual)


def test_items_marked_by_hand_say_why_their_notebook_could_not_be_read(
    class_: Class, assignment: Assignment
) -> None:
    """Without the reason, a marker would see an empty answer and give no points."""
    graded = result(assignment, "zoe", formulas_why="Two.")
    items = tuple(
        replace(item, status=Status.NEEDS_REVIEW, staff="refused: a Git LFS pointer", code="refused.review")
        for item in graded.score.items
    )
    results = {"zoe": replace(graded, score=replace(graded.score, items=items))}
    rows = marking_sheets.make_sheet(SheetSubject(assignment, class_.store, results)).rows
    assert {row["reason"] for row in rows} == {"refused: a Git LFS pointer"}


def test_a_choice_of_rows(class_: Class) -> None:
    """Rows can be limited to some cells or open answers.

    An unknown cell is reported with the closest name.
    """
    assert {"thoughts"} == {row["cell"] for row in class_.sheet(cells=("thoughts",))}
    class_.store.give_mark("small", "kurt", ("code", THOUGHTS), PersonMark(Decimal(1)))
    assert THOUGHTS in {row["cell"] for row in class_.sheet()}
    assert THOUGHTS not in {row["cell"] for row in class_.sheet(waiting=True)}
    with pytest.raises(CourseError, match="no grade cell 'thought'; did you mean 'thoughts'"):
        class_.sheet(cells=("thought",))


def test_equal_answers_are_one_row(class_: Class) -> None:
    """Equal answers share one row that gives their number; other answers have a row each."""
    rows = {row["answer"]: row["count"] for row in class_.sheet(groups=True) if row["cell"] == WHY}
    assert {"Up and back.": "2", "Because.": "1"} == rows


def test_results_by_other_points_are_left_out(class_: Class) -> None:
    """Results of an older rubric version are left out with a remark.

    Their points may have a different maximum.
    """
    old = result(class_.assignment, "ada", mlp_why="Up and back.")
    keep(class_.store, replace(old, score=replace(old.score, rubric_version=0)), class_.assignment.rubric)
    sheet = marking_sheets.make_sheet(class_.subject())
    assert (
        "left out: 1 students, whose results are by another version of the rubric; grade them again",
    ) == (sheet.remarks)
    assert 2 == len([row for row in sheet.rows if row["cell"] == WHY])


# ---------------------------------------------------------------- imported marks


@pytest.mark.parametrize("choice", [{}, {"names": True}, {"groups": True}, {"waiting": True}])
def test_a_round_trip_changes_nothing(class_: Class, choice: dict[str, bool]) -> None:
    """An unchanged sheet changes nothing, with marks, comments and marks that must be confirmed."""
    class_.store.give_mark(
        "small", "kurt", ("formulas", WHY), PersonMark(Decimal("0.5"), comment=f"=1+1\n{HOSTILE}")
    )
    class_.store.give_mark(
        "small", "ada", ("formulas", WHY), PersonMark(Decimal(1), again=True, comment="x" * 40_000)
    )
    class_.store.give_mark("small", "grace", ("code", SOFTMAX), PersonMark(Decimal("2.5")))
    before = class_.store.load_marks("small")
    done = class_.enter(class_.sheet(**choice))
    assert ((), (), ()) == (done.plan.errors, done.refused, done.entered)
    assert before == class_.store.load_marks("small")


def test_points_and_comments_are_entered(class_: Class) -> None:
    """Points and comments are stored exactly; importing the same sheet again changes nothing."""
    rows = class_.sheet()
    fill(rows, WHY, "0,75", "Which two?", "Because.")
    done = class_.enter(rows)
    assert [("mlp-why", (None,), Decimal("0.75"), True)] == [
        (change.cell, change.before, change.points, change.comment) for change in done.entered
    ]
    items, worth = {"why": Decimal("0.75")}, {"why": Decimal(1)}
    mark = PersonMark(Decimal("0.75"), comment="Which two?", items=items, worth=worth)
    assert mark == class_.mark("kurt", "formulas", WHY)
    again = class_.enter(rows)
    assert ((), (), ()) == (again.plan.errors, again.refused, again.entered)
    (row,) = rows_of(class_.sheet(), WHY, "Because.")
    assert ("0.75", "Which two?", "0.75") == (row["points"], row["comment"], row["cell_points"])


def test_a_cell_of_several_items_needs_all_of_them(class_: Class) -> None:
    """The sum of the items is stored as the cell's mark.

    If one item is empty, nothing is stored for the cell.
    """
    rows = class_.sheet()
    fill(rows, THOUGHTS, "1")
    for row in rows_of(rows, SOFTMAX):
        row["points"] = {"rows": "1.5", "batch": "", "overflow": "-0.25"}[row["item"]]
    done = class_.enter(rows)
    assert ["thoughts"] == [change.cell for change in done.entered]
    assert 1 == len(done.refused)
    assert "without points: batch" in str(done.refused[0])
    assert PersonMark() == class_.mark("grace", "code", SOFTMAX)
    rows = class_.sheet()
    for row in rows_of(rows, SOFTMAX):
        row["points"] = {"rows": "1.5", "batch": "1", "overflow": "-0.25"}[row["item"]]
    assert () == class_.enter(rows).refused
    items = {"rows": Decimal("1.5"), "batch": Decimal(1), "overflow": Decimal("-0.25")}
    worth = {"rows": Decimal(2), "batch": Decimal(1), "overflow": Decimal("-0.5")}
    assert PersonMark(Decimal("2.25"), items=items, worth=worth) == class_.mark("grace", "code", SOFTMAX)


def test_what_grading_decided_beside_an_item_counts(class_: Class) -> None:
    """If one item of a cell needs review, the mark is the sum, and the sheet shows that item's part."""
    graded = result(class_.assignment, "grace", open="softmax")
    items = tuple(
        replace(item, status=Status.FAILED, points=Decimal("0.5")) if item.item == "rows" else item
        for item in graded.score.items
    )
    items = tuple(replace(item, status=Status.FAILED) if item.item == "overflow" else item for item in items)
    keep(class_.store, replace(graded, score=replace(graded.score, items=items)), class_.assignment.rubric)
    rows = class_.sheet()
    assert ["batch"] == [row["item"] for row in rows_of(rows, SOFTMAX)]
    fill(rows, SOFTMAX, "1")
    class_.enter(rows)
    assert Decimal("1.5") == class_.mark("grace", "code", SOFTMAX).points
    class_.store.give_mark(
        "small", "grace", ("code", SOFTMAX), PersonMark(Decimal("1.25"))
    )  # as formgrader gives it
    assert "0.75" == rows_of(class_.sheet(), SOFTMAX)[0]["points"]
    class_.store.give_mark("small", "grace", ("code", SOFTMAX), PersonMark(Decimal(9)))
    (row,) = rows_of(class_.sheet(), SOFTMAX)
    assert ("", "9") == (row["points"], row["cell_points"])


def test_a_group_is_entered_for_all_of_it(class_: Class) -> None:
    """One row marks every student with that answer.

    Students keep individual comments if no new one is given.
    """
    class_.store.give_mark("small", "ada", ("formulas", WHY), PersonMark(comment="Ada's own"))
    rows = class_.sheet(groups=True)
    fill(rows, WHY, "1", text="Up")
    (change,) = class_.enter(rows).entered
    assert 2 == len(change.marks)
    assert (Decimal(1), "Ada's own") == (
        class_.mark("ada", "formulas", WHY).points,
        class_.mark("ada", "formulas", WHY).comment,
    )
    assert (Decimal(1), "") == (
        class_.mark("alan", "formulas", WHY).points,
        class_.mark("alan", "formulas", WHY).comment,
    )


def test_different_marks_of_a_group_are_shown_and_left(class_: Class) -> None:
    """Editing only the comment of a group with different marks changes no points."""
    for student, points in (("ada", "1"), ("alan", "0.5")):
        class_.store.give_mark("small", student, ("formulas", WHY), PersonMark(Decimal(points)))
    rows = class_.sheet(groups=True)
    (row,) = rows_of(rows, WHY, "Up")
    assert ("", "1 / 0.5") == (row["points"], row["cell_points"])
    row["comment"] = "Both of you."
    (change,) = class_.enter(rows).entered
    assert (None, True) == (change.points, change.comment)
    assert [(Decimal(1), "Both of you."), (Decimal("0.5"), "Both of you.")] == [
        (mark.points, mark.comment)
        for mark in (class_.mark(student, "formulas", WHY) for student in ("ada", "alan"))
    ]


def test_a_mark_that_is_to_be_looked_at_again_is_confirmed_by_its_points(class_: Class) -> None:
    """Points that must be confirmed are not filled in, so an untouched row confirms nothing."""
    class_.store.give_mark("small", "kurt", ("formulas", WHY), PersonMark(Decimal(1), again=True))
    rows = class_.sheet(waiting=True)
    (row,) = rows_of(rows, WHY, "Because.")
    assert ("", "1 (look again)") == (row["points"], row["cell_points"])
    row["points"] = "1"
    class_.enter(rows)
    assert (Decimal(1), False) == (
        class_.mark("kurt", "formulas", WHY).points,
        class_.mark("kurt", "formulas", WHY).again,
    )


def test_a_mark_is_not_taken_away(class_: Class) -> None:
    """Deleted points are reported and change nothing; extra credit is kept."""
    class_.store.give_mark("small", "kurt", ("formulas", WHY), PersonMark(Decimal(1), Decimal(2)))
    rows = class_.sheet()
    fill(rows, WHY, "", text="Because.")
    done = class_.enter(rows)
    assert "without points: why" in str(done.refused[0])
    fill(rows, WHY, "0", text="Because.")
    class_.enter(rows)
    assert (Decimal(0), Decimal(2)) == (
        class_.mark("kurt", "formulas", WHY).points,
        class_.mark("kurt", "formulas", WHY).extra,
    )


# ---------------------------------------------------------------- refused rows


def test_two_people_import_the_same_sheet(class_: Class) -> None:
    """Two markers can import halves of one sheet.

    If both marked the same answer, the second import is refused.
    """
    first, second = class_.sheet(), class_.sheet()
    fill(first, WHY, "1")
    fill(second, THOUGHTS, "1")
    fill(second, WHY, "0.5", text="Because.")
    assert 3 == len(class_.enter(first).entered)
    done = class_.enter(second)
    assert ["thoughts"] == [change.cell for change in done.entered]
    assert 1 == len(done.refused)
    assert "has changed since the sheet was written" in str(done.refused[0])
    assert Decimal(1) == class_.mark("kurt", "formulas", WHY).points


def test_an_answer_that_changed_is_not_marked_by_what_was_said_of_the_old_one(class_: Class) -> None:
    """A row is stale if the answer, the automatic mark or the group of students changed."""
    rows, grouped = class_.sheet(), class_.sheet(groups=True)
    fill(rows, WHY, "1")
    fill(grouped, WHY, "0.5", text="Up")
    keep(
        class_.store,
        replace(result(class_.assignment, "kurt", mlp_why="Other."), digest="f" * 64),
        class_.assignment.rubric,
    )
    keep(class_.store, replace(result(class_.assignment, "ada"), digest="f" * 64), class_.assignment.rubric)
    done = class_.enter(rows)
    assert 2 == len(done.refused)
    assert (PersonMark(), PersonMark()) == (
        class_.mark("kurt", "formulas", WHY),
        class_.mark("ada", "formulas", WHY),
    )
    assert Decimal(1) == class_.mark("alan", "formulas", WHY).points
    done = class_.enter(grouped)
    assert (1, ()) == (len(done.refused), done.entered)


def test_a_sheet_of_another_assignment_or_course_is_refused(class_: Class, assignment: Assignment) -> None:
    """Every row of another assignment or course is reported and nothing is stored.

    Row and state must match, too.
    """
    rows = class_.sheet()
    fill(rows, WHY, "1")
    for change in (
        {"assignment": "exam"},
        {"row": "r" + "0" * 16},
        {"state": "v" + "0" * 32},
        {"state": ""},
        {"state": rows[-1]["state"]},
    ):
        wrong = [{**rows[0], **change}, *rows[1:]]
        plan = class_.plan(wrong)
        assert (1, (), ()) == (len(plan.errors), plan.refused, plan.changes)
    assert "is of 'exam', not of 'small'" in str(class_.plan([{**rows[0], "assignment": "exam"}]).errors[0])
    assert {} == class_.store.load_marks("small")


@pytest.mark.parametrize(
    "points", ["1.01", "-0.5", "1e2", "one", "1.5.2", "01. Mai", "NaN", "∞", "1/2", "=1", "１"]
)
def test_points_that_cannot_be_are_refused(class_: Class, points: str) -> None:
    """Reject points above the maximum, negative points, text, and values that a spreadsheet converted."""
    rows = class_.sheet()
    fill(rows, THOUGHTS, "1")
    fill(rows, WHY, points, text="Because.")
    plan = class_.plan(rows)
    assert (1, ()) == (len(plan.errors), plan.changes)
    assert str(plan.errors[0]).startswith("row ")
    assert {} == class_.store.load_marks("small")


def test_the_same_row_twice_is_refused(class_: Class) -> None:
    """A repeated row is refused, also if an answer is listed both individually and in a group."""
    rows = class_.sheet()
    fill(rows, WHY, "1")
    assert "the same row" in str(class_.plan([*rows, rows[0]]).errors[0])
    grouped = class_.sheet(groups=True)
    fill(grouped, WHY, "0.5", text="Up")
    both = class_.plan([*rows, *rows_of(grouped, WHY, "Up")])
    assert "the answer has another row" in str(both.errors[0])
    assert () == both.changes


def test_different_comments_of_one_answer_are_refused(class_: Class) -> None:
    """The rows of a cell share one comment; if one of them was changed, it applies to all."""
    rows = class_.sheet()
    for number, row in enumerate(rows_of(rows, SOFTMAX)):
        row |= {"points": "0", "comment": f"Comment {number}"}
    assert "different comments" in str(class_.enter(rows).refused[0])
    rows = class_.sheet()
    for number, row in enumerate(rows_of(rows, SOFTMAX)):
        row |= {"points": "0", "comment": "" if number else "Why?"}
    assert () == class_.enter(rows).refused
    assert "Why?" == class_.mark("grace", "code", SOFTMAX).comment


# ---------------------------------------------------------------- files


def saved(rows: list[dict[str, str]], separator: str) -> str:
    """Return the sheet as a spreadsheet program saves it."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([guard_value(row[name]) for name in COLUMNS] for row in rows)
    return text.getvalue()


@pytest.mark.parametrize(
    ("separator", "encoding", "before", "after"),
    [
        (";", "utf-8-sig", "", ""),
        (";", "utf-8", "", ";;;;;;;;;;;;;;;\r\n\r\n"),
        (",", "utf-8", "sep=,\r\n", "\r\n\r\n"),
        (";", "utf-8-sig", "", ";;;;;;;;;;;;;;;;;;;;\r\n"),
        ("\t", "utf-16", "", ""),
    ],
)
def test_what_spreadsheets_save_is_read(
    class_: Class, separator: str, encoding: str, before: str, after: str
) -> None:
    """Read semicolons, tabs, byte order marks, UTF-16, CRLF, and blank rows and columns at the end."""
    rows = class_.sheet()
    fill(rows, WHY, "0,5", "Zwei »Matrizen«;\nwelche?", "Because.")
    lines = read_sheet((before + saved(rows, separator) + after).encode(encoding))
    plan = marking_sheets.plan_sheet(class_.subject(), lines)
    assert ((), ()) == (plan.errors, plan.refused)
    marking_sheets.enter_sheet(class_.subject(), plan)
    assert "Zwei »Matrizen«;\nwelche?" == class_.mark("kurt", "formulas", WHY).comment


def test_only_the_columns_that_are_read_are_needed(class_: Class) -> None:
    """Other columns may be moved, deleted, renamed or added, and rows may be sorted."""
    rows = class_.sheet()
    fill(rows, WHY, "1")
    text = io.StringIO()
    names = ["My notes", "COMMENT", "points", "state", "row", "assignment"]
    writer = csv.writer(text, delimiter=";")
    writer.writerow(names)
    writer.writerows(["?", *(row[name.lower()] for name in names[1:])] for row in reversed(rows))
    plan = marking_sheets.plan_sheet(class_.subject(), read_sheet(text.getvalue().encode()))
    assert (3, ()) == (len(plan.changes), plan.errors)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "columns are missing: assignment, row, points, comment, state"),
        (b"assignment,row,points\n", "columns are missing: comment, state"),
        (b"assignment,row,points,comment,state,points\n", "columns stand twice: points"),
        (b"assignment,row,points,comment,state\na,b,c,d,e,f\n", "row 2: expected 5 values, got 6"),
        (b'assignment,row,points,comment,state\na,b,"c\n', "not a CSV line"),
        ("assignment,row,points,comment,state\na,b,,ä,\n".encode("cp1252"), "CSV UTF-8"),
        (b"assignment,row,points,comment,state\na,b,,\x00,\n", "cannot be kept"),
        (b"assignment,row,points,comment,state\na,b,,%s,\n" % (b"x" * 20_001), "at most 20000"),
        (b"assignment,row,points,comment,state\na,b,,%s,\n" % (b"x" * 200_000), "not a CSV line"),
        (b"x" * ((64 << 20) + 1), "too large; at most 64 MB"),
    ],
)
def test_what_is_no_sheet_is_refused(data: bytes, message: str) -> None:
    """The error for a file that is not a sheet gives the place and the remedy."""
    with pytest.raises(CourseError, match=message):
        read_sheet(data)


BEGINNINGS = st.lists(st.sampled_from(list("'=+-@\t ＝1,")), max_size=4).map("".join)


@given(st.builds(str.__add__, BEGINNINGS, st.text(max_size=5)))
def test_what_is_guarded_is_no_formula_and_comes_back(text: str) -> None:
    """No cell but a number starts with a formula character; each cell is read back unchanged."""
    cell = guard_value(text)
    assert text == strip_guard(cell)
    begins = cell.lstrip()[:1] in ("=", "+", "-", "@") or cell[:1] in ("\t", "\r", "\n")
    assert not begins or cell.lstrip("+-").replace(",", ".").replace(".", "", 1).isdecimal()


@given(st.decimals("0", "999999", places=6) | st.decimals("-99", "0", places=2))
def test_points_are_read_exactly(points: Decimal) -> None:
    """Points may have a decimal point or comma, with spaces around them."""
    for written in (f"{points:f}", f" {points:f}".replace(".", ",") + " ", f"{points:f}".replace("-", "−")):
        assert points == parse_points(written)


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any file content is either read or rejected with our own error."""
    for head in ("", "assignment,row,points,comment,state\n"):
        try:
            lines = read_sheet((head + text).encode("utf-8", "replace"))
        except CourseError:
            continue
        assert len(lines) <= len(text)
        assert len({line.place for line in lines}) == len(lines)


def test_hostile_answers_are_harmless_and_shown(class_: Class) -> None:
    """Formulas, NUL, escape codes, quotes, lone surrogates and a megabyte of text are read back unchanged."""
    texts = (HOSTILE, "=1+1", "\t=1+1", "é" * (1 << 20), "𝔸" * 40_000, "'=1", " @x", "＝1")
    for number, text in enumerate(texts):
        keep(class_.store, result(class_.assignment, f"h{number}", mlp_why=text), class_.assignment.rubric)
    rows = class_.sheet()
    data = write_sheet(rows)
    cells = [value for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) for value in row]
    assert [] == [value for value in cells if value.lstrip()[:1] in ("=", "@", "＝") or value[:1] == "\t"]
    assert [] == [value for value in cells if len(value.encode("utf-16-le")) // 2 > 32_767]
    assert not any(sign in data.decode("utf-8-sig") for sign in ("\x00", "\x1b", "\u202e"))
    long = [value for value in cells if "cut here: the whole text has" in value]
    assert 2 == len(long)
    fill(rows, WHY, "1")
    assert ((), ()) == (class_.plan(rows).errors, class_.plan(rows).refused)
    assert len(texts) + 3 == len(class_.enter(rows).entered)


# ---------------------------------------------------------------- a course in a folder


@pytest.fixture
def folder(assignment: Assignment, class_: Class) -> Course:
    """Return a course folder in which every student has submitted."""
    for student in ("ada", "alan", "eve", "grace", "kurt"):
        (assignment.course.root / "submitted" / student / "small").mkdir(parents=True, exist_ok=True)
    return assignment.course


def opener(class_: Class) -> Callable[..., Store]:
    """Return a function that opens the store of the class."""
    return lambda assignment, *, new: class_.store


def test_a_folders_course(folder: Course, class_: Class, tmp_path: Path) -> None:
    """Export, fill in, preview and import a sheet; an existing sheet is not overwritten."""
    path = tmp_path / "marks.csv"
    sheet = marking_sheets.export_sheet(folder, "small", path, store=opener(class_))
    assert 7 == len(sheet.rows)
    assert 0o600 == path.stat().st_mode & 0o777
    with pytest.raises(CourseError, match="is there already, and may hold marks"):
        marking_sheets.export_sheet(folder, "small", path, store=opener(class_))
    rows = [dict(row) for row in sheet.rows]
    fill(rows, WHY, "1")
    path.write_bytes(write_sheet(rows))
    tried = marking_sheets.import_sheet(folder, path, dry_run=True, store=opener(class_))
    assert (3, ()) == (len(tried.plan.changes), tried.entered)
    assert {} == class_.store.load_marks("small")
    assert 3 == len(marking_sheets.import_sheet(folder, path, store=opener(class_)).entered)
    assert {"ada", "alan", "kurt"} == set(class_.store.load_marks("small"))


def test_files_that_cannot_be_read_are_told(folder: Course, class_: Class, tmp_path: Path) -> None:
    """Missing files, wrong types, empty sheets and unknown assignments are reported with the file's name."""
    for name, data, message in (
        ("none.csv", None, "cannot be read"),
        ("marks.xlsx", b"PK", "expected a file that ends in .csv"),
        ("empty.csv", b"assignment,row,points,comment,state\n", "has no rows"),
        ("other.csv", b"assignment,row,points,comment,state\nsmal,r,,,v\n", "did you mean 'small'"),
    ):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(CourseError, match=message):
            marking_sheets.import_sheet(folder, path, store=opener(class_))


def test_remarks_on_items_are_entered(class_: Class) -> None:
    """Remarks are stored per item; a missing column keeps them, an empty cell deletes them."""
    rows = class_.sheet()
    for row in rows_of(rows, SOFTMAX):
        row |= {"points": "0", "remark": {"rows": "Which axis?", "overflow": "=1+1"}.get(row["item"], "")}
    [change] = class_.enter(rows).entered
    assert change.comment
    said = {"rows": "Which axis?", "overflow": "=1+1"}
    assert said == class_.mark("grace", "code", SOFTMAX).remarks
    rows = class_.sheet()
    assert {**said, "batch": ""} == {row["item"]: row["remark"] for row in rows_of(rows, SOFTMAX)}
    assert () == class_.enter(rows).entered
    lines = [replace(line, remark=None) for line in read_sheet(write_sheet(rows))]
    assert () == marking_sheets.plan_sheet(class_.subject(), lines).changes
    for row in rows_of(rows, SOFTMAX):
        row["remark"] = ""
    class_.enter(rows)
    assert {} == class_.mark("grace", "code", SOFTMAX).remarks


# ---------------------------------------------------------------- flags for a second look


def test_a_flag_is_set_and_taken_away(class_: Class) -> None:
    """Any text sets the flag.

    It gives no points, is exported again, and an outdated sheet does not change it.
    """
    before = class_.sheet()
    rows = class_.sheet()
    for row in rows_of(rows, WHY, "Because"):
        row["flag"] = "odd!"
    [change] = class_.enter(rows).entered
    assert (True, False, None) == (change.flag, change.comment, change.points)
    assert PersonMark(flagged=True) == class_.mark("kurt", "formulas", WHY)
    assert [] == list(class_.enter(before).entered)
    assert [("Because.", "yes")] == [(row["answer"], row["flag"]) for row in class_.sheet(flagged=True)]
    rows = class_.sheet()
    assert () == class_.enter(rows).entered
    fill(rows, WHY, "1", text="Because")
    class_.enter(rows)
    mark = class_.mark("kurt", "formulas", WHY)
    assert (Decimal(1), True) == (mark.points, mark.flagged)
    rows = class_.sheet()
    for row in rows_of(rows, WHY, "Because"):
        row["flag"] = " "
    class_.enter(rows)
    assert not class_.mark("kurt", "formulas", WHY).flagged


def test_a_sheet_without_the_column_leaves_flags(class_: Class) -> None:
    """A sheet without the flag column keeps all flags."""
    class_.store.give_mark("small", "kurt", ("formulas", WHY), PersonMark(flagged=True))
    rows = class_.sheet()
    fill(rows, WHY, "1", text="Because")
    lines = [replace(line, flag=None) for line in read_sheet(write_sheet(rows))]
    marking_sheets.enter_sheet(class_.subject(), marking_sheets.plan_sheet(class_.subject(), lines))
    mark = class_.mark("kurt", "formulas", WHY)
    assert (Decimal(1), True, {"why": Decimal(1)}) == (mark.points, mark.flagged, mark.worth)
