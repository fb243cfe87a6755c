"""Compare the marks of a class with those given by nbgrader or otter, and explain the differences."""

from __future__ import annotations

import ast
import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.records import Cell, ItemResult, Score, Status
from autograder.core.syntax import UNREADABLE, collect_bound_names, parse_module
from autograder.core.wording import format_number
from autograder.course import Course, Handin
from autograder.exchange.adoption import otter
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.batch import read_handin
from autograder.pages.feedback.template_rendering import fill_template
from autograder.rubric import Question

_SAME = Decimal("0.001")
"""Tolerance in points, because other programs divide points as floats."""


_LESS_STRICT = {
    "nbgrader": "Less strict here: no test failed. nbgrader gives nothing where a test leaves anything on "
    "standard error, a warning included.",
    "otter": "Less strict here: no test failed, as this program runs them.",
}


PeerMarks = Mapping[str, Mapping[str, float]]
"""By student and by grade cell (nbgrader) or question (otter). Answers without a mark are missing."""


class PeerClass(Struct, frozen=True):
    """Marks of a class given by another program."""

    peer: str
    """``"nbgrader"`` or ``"otter"``."""
    marks: PeerMarks


class MarkDifference(Struct, frozen=True):
    """One answer with different results."""

    student: str
    question: str
    ours: Decimal
    theirs: Decimal | None
    """None: the other program gave no mark."""
    reason: str
    """A sentence."""
    told: str
    """Findings of this program, for staff."""
    answer: str
    test: str


class PeerComparison(Struct, frozen=True):
    """Comparison of two results of a class."""

    assignment: str
    peer: str
    compared: int
    """Number of compared answers: one for each student and question with tests."""
    differences: tuple[MarkDifference, ...]
    remarks: tuple[str, ...]
    page: Path
    """Path of the page for staff."""

    @property
    def same(self) -> int:
        """Number of answers with the same points."""
        return self.compared - len(self.differences)


def read_peer_marks(course: Course, name: str, path: Path) -> PeerClass:
    """Read the marks that nbgrader or otter gave for an adopted assignment.

    Args:
        course: the course.
        name: of the assignment.
        path: a gradebook that nbgrader filled, or a folder with otter's ``<student>/results.json``.

    Raises:
        CourseError: the assignment was not adopted, or the marks cannot be read.
        RubricError: the rubric is not valid.
    """
    if not rubrics.load_rubric(course.locate_rubric(name)).assignment.adopted:
        raise CourseError(f"{name} was not adopted, so no other program grades it; see autograder adopt")
    if not path.is_dir():
        return PeerClass("nbgrader", read_gradebook_marks(path, name))
    files = {handin.student: path / handin.student / "results.json" for handin in course.list_handins(name)}
    read = {student: read_results_marks(file) for student, file in files.items() if file.is_file()}
    if not read:
        raise CourseError(f"{path}: expected STUDENT/results.json, as otter writes them; there is none")
    marks = {
        student: {otter.to_grade_id(question): points for question, points in of_student.items()}
        for student, of_student in read.items()
    }
    return PeerClass("otter", marks)


def read_gradebook_marks(gradebook: Path, assignment: str) -> PeerMarks:
    """Read the automatic marks from a gradebook of nbgrader.

    Raises:
        CourseError: it is not one.
    """
    query = (
        "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
        " join base_cell on base_cell.id = grade.cell_id"
        " join submitted_notebook on submitted_notebook.id = grade.notebook_id"
        " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " join assignment on assignment.id = submitted_assignment.assignment_id"
        " where assignment.name = ? and grade.auto_score is not null"
    )
    marks: dict[str, dict[str, float]] = {}
    try:
        with contextlib.closing(sqlite3.connect(f"{gradebook.resolve().as_uri()}?mode=ro", uri=True)) as book:
            for student, cell, score in book.execute(query, (assignment,)):
                marks.setdefault(student, {})[cell] = float(score)
    except sqlite3.Error as error:
        raise CourseError(
            f"{gradebook}: expected a gradebook of nbgrader's (SQLite), got: {error}"
        ) from error
    return marks


def read_results_marks(path: Path) -> Mapping[str, float]:
    """Read the marks of each question from a results.json. Points of a question's cases are added up.

    Raises:
        CourseError: it is not a results.json.
    """
    try:
        tests = json.loads(path.read_bytes())["tests"]
        marks: dict[str, float] = {}
        for test in tests:
            # otter names a case "question - case"; "Public Tests" is a summary.
            name = str(test.get("name", "")).partition(" - ")[0]
            if name != "Public Tests" and test.get("score") is not None:
                marks[name] = marks.get(name, 0.0) + float(test["score"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path}: expected a results.json with a list 'tests': {error!r}") from error
    return marks


def compare_marks(
    course: Course, name: str, scores: Mapping[str, Score], theirs: PeerClass
) -> PeerComparison:
    """Compare a graded class with another program's marks, and write the page for staff.

    Args:
        course: the course.
        name: of the adopted assignment.
        scores: scores of this program, of the students to compare.
        theirs: marks of the other program.
    """
    assignment = assignments.load_assignment(course, name)
    handins = [handin for handin in course.list_handins(name) if handin.student in scores]
    comparison = compare_scores(assignment, handins, scores, theirs)
    _write_page(comparison)
    return comparison


def compare_scores(
    assignment: Assignment, handins: Sequence[Handin], scores: Mapping[str, Score], theirs: PeerClass
) -> PeerComparison:
    """Compare two results of a class, question by question.

    Args:
        assignment: loaded.
        handins: the submissions.
        scores: scores of this program, for each submission.
        theirs: marks of the other program, by student and grade cell.
    """
    compared, differences, remarks = 0, list[MarkDifference](), list[str]()
    for handin in handins:
        marks = theirs.marks.get(handin.student)
        if marks is None:
            remarks.append(f"{handin.student}: {theirs.peer} has no marks at all; not compared")
            continue
        pair = _ResultPair(assignment, handin, scores[handin.student], theirs.peer, marks)
        compared += len(pair.questions)
        differences += pair.list_differences()
    page = assignment.course.root / "staff" / f"{assignment.name}-compared.html"
    return PeerComparison(assignment.name, theirs.peer, compared, tuple(differences), tuple(remarks), page)


def _write_page(comparison: PeerComparison) -> None:
    comparison.page.parent.mkdir(parents=True, exist_ok=True)
    page = fill_template(
        "comparison.html", comparison=comparison, number=lambda points: format_number(points, "en")
    )
    atomic.write_bytes(comparison.page, page.encode())


class _ResultPair(Struct, frozen=True):
    """Both results of one student."""

    assignment: Assignment
    handin: Handin
    score: Score
    peer: str
    marks: Mapping[str, float]

    @property
    def questions(self) -> tuple[Question, ...]:
        """Questions with tests."""
        return tuple(question for question in self.assignment.rubric.questions if question.kind == "tests")

    def list_differences(self) -> Iterator[MarkDifference]:
        """Yield questions with different points, in the order of the rubric."""
        for question in self.questions:
            items = [item for item in self.score.items if item.question == question.id]
            ours, theirs = sum((item.points for item in items), Decimal(0)), self._sum_their_points(question)
            if theirs is not None and abs(ours - theirs) < _SAME:
                continue
            test = "\n\n".join(str(item.options.get("code", "")) for item in question.items)
            answer, cells = self._read_work(question)
            yield MarkDifference(
                self.handin.student,
                question.id,
                ours,
                theirs,
                self._explain_from_results(items, ours, theirs)
                or _explain_judgement(self.peer, ours, theirs, cells, test),
                "; ".join(dict.fromkeys(item.staff for item in items if item.staff)),
                answer,
                test,
            )

    def _sum_their_points(self, question: Question) -> Decimal | None:
        points = [self.marks[cell] for cell in question.list_cells() if cell in self.marks]
        # Through str, because Decimal(float) would keep the binary rounding error.
        return Decimal(str(sum(points))) if points else None

    def _read_work(self, question: Question) -> tuple[str, list[str]]:
        """Return the answer, and the student's code cells of its notebook."""
        data = read_handin(self.assignment, self.handin).notebooks.get(question.notebook)
        if not isinstance(data, bytes):
            return "", []
        submission = self.assignment.read_submission(question.notebook, data, self.handin.student)
        answer = self.assignment.find_answer(question, submission)
        code = [cell.source for cell in submission.cells if isinstance(cell, Cell) and not cell.locked]
        return answer.source if answer else "", code

    def _explain_from_results(
        self, items: Sequence[ItemResult], ours: Decimal, theirs: Decimal | None
    ) -> str:
        """Return the reason for a difference if one result contains it; empty: both judged the same run."""
        if theirs is None:
            return f"{self.peer} gave no mark: it stopped before, or does not know the cell."
        if any(item.status is Status.NEEDS_REVIEW for item in items):
            return (
                "A person decides here: the test is not judged outside, or its result is not to be trusted."
            )
        if any(item.student.code.startswith("ending.") for item in items):
            return "The code met a limit here: time, memory or output."
        # Zero everywhere is no judgement of answers: the other program did not finish.
        if ours and not any(self._sum_their_points(item) for item in self.questions):
            return f"{self.peer} gave nothing for the whole work: it crashed there, or did not end."
        return ""


def _explain_judgement(
    peer: str, ours: Decimal, theirs: Decimal | None, cells: Sequence[str], test: str
) -> str:
    # Checked first: with such names, the programs may have tested different values.
    if names := _find_reassigned_names(cells, test):
        return f"Order or state: several cells of the notebook assign {', '.join(names)}."
    if theirs is not None and ours > theirs:
        return _LESS_STRICT[peer]
    return "Stricter here: a test failed that passed there."


def _find_reassigned_names(cells: Sequence[str], test: str) -> list[str]:
    """Return the names of a test that several cells of a notebook assign or define."""
    counts: Counter[str] = Counter()
    for source in cells:
        counts.update(_find_bound_names(source))
    try:
        used = {node.id for node in ast.walk(parse_module(test)) if isinstance(node, ast.Name)}
    except UNREADABLE:
        return []
    return sorted(name for name in used if counts[name] > 1)


def _find_bound_names(source: str) -> set[str]:
    try:
        return collect_bound_names(parse_module(source))
    except UNREADABLE:
        return set()
