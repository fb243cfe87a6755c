"""The same class graded here and by nbgrader or otter: where the marks differ, and why."""

from __future__ import annotations

import ast
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from autograder import assignment as assignments
from autograder import atomic
from autograder.adopting import otter, peers
from autograder.app import SILENT, Isolation, Listener
from autograder.app.classes import grade
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.checks.values.quoting import quote
from autograder.course import Course, Handin
from autograder.errors import CourseError
from autograder.feedback.comparison import ComparisonRow, ComparisonView, render_comparison
from autograder.grading.batch import collect
from autograder.records import Cell, ItemResult, Score, Status
from autograder.rubric import Question
from autograder.syntax import UNREADABLE, parsed
from autograder.wording import written_number

_LONGEST_EXCEPTION = 300
_SAME = Decimal("0.001")
"""Points: others divide them as floats."""


_LESS_STRICT = {
    "nbgrader": "Less strict here: no test failed. nbgrader gives nothing where a test leaves anything on "
    "standard error, a warning included.",
    "otter": "Less strict here: no test failed, as this program runs them.",
}


class PeerSource(Struct, frozen=True):
    """Where the other marks come from: exactly one of these."""

    nbgrader: Path | None = None
    """nbgrader's command, which grades a copy of the course."""
    otter: Path | None = None
    """otter's command, which grades notebook by notebook."""
    gradebook: Path | None = None
    """A gradebook that nbgrader filled."""
    results: Path | None = None
    """A folder with ``<student>/results.json``, as otter writes them."""


class MarkDifference(Struct, frozen=True):
    """One answer with two results."""

    student: str
    question: str
    ours: Decimal
    theirs: Decimal | None
    """None: the other program gave no mark."""
    reason: str
    """A sentence."""
    told: str
    """What this program found, for staff."""
    answer: str
    test: str


class PeerComparison(Struct, frozen=True):
    """Two results of one class."""

    assignment: str
    peer: str
    compared: int
    """Answers of questions with tests, one for each student."""
    differences: tuple[MarkDifference, ...]
    remarks: tuple[str, ...]

    @property
    def same(self) -> int:
        """Answers with the same points."""
        return self.compared - len(self.differences)


def compare_marks(
    course: Course,
    name: str,
    source: PeerSource,
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> PeerComparison:
    """Grade what lies in submitted/ and hold the marks against those of another program.

    The other program, where it is called, runs students' code without a sandbox.

    Args:
        course: whose class.
        name: of the assignment, which was adopted.
        source: of the other marks.
        workers: submissions at the same time; 0: by the number of cores.
        isolation: how student code is confined here.
        watch: hears of each submission.
        store: opens the course's.

    Raises:
        CourseError: none or several sources are named, the assignment was not adopted, or the other program
            could not do its work.
        RubricError: the rubric is not valid.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store refused.
    """
    assignment = assignments.load(course, name)
    if not assignment.rubric.assignment.adopted:
        raise CourseError(f"{name} was not adopted, so no other program grades it; see autograder adopt")
    handins = course.handins(name)
    peer, theirs, exceptions = _theirs(assignment, handins, source)
    graded = grade(course, name, workers=workers, isolation=isolation, watch=watch, store=store)
    scores = {one.student: one.graded.score for one in graded.outcomes}
    return held_against(assignment, handins, scores, peer, theirs, exceptions=exceptions)


def held_against(
    assignment: Assignment,
    handins: Sequence[Handin],
    scores: Mapping[str, Score],
    peer: str,
    theirs: peers.PeerMarks,
    *,
    exceptions: Mapping[str, str] = MappingProxyType({}),
) -> PeerComparison:
    """Two results of a class, question by question.

    Args:
        assignment: loaded.
        handins: what was handed in.
        scores: ours, of each of them.
        peer: the other program's name.
        theirs: its marks, by student and grade cell.
        exceptions: at which it stopped, by student.
    """
    compared, found, remarks = 0, list[MarkDifference](), list[str]()
    for handin in handins:
        marks = theirs.get(handin.student)
        if marks is None:
            raised = exceptions.get(handin.student)
            said = f"; it stopped with {quote(raised, _LONGEST_EXCEPTION)}" if raised else ""
            remarks.append(f"{handin.student}: {peer} has no marks at all; not compared{said}")
            continue
        pair = _Pair(assignment, handin, scores[handin.student], peer, marks)
        compared += len(pair.questions)
        found += pair.differences()
    return PeerComparison(assignment.name, peer, compared, tuple(found), tuple(remarks))


def write_page(course: Course, found: PeerComparison) -> Path:
    """Write the page for staff, ``staff/NAME-compared.html``; where it lies."""
    path = course.root / "staff" / f"{found.assignment}-compared.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = tuple(
        ComparisonRow(
            one.student,
            one.question,
            written_number(one.ours, "en"),
            "no mark" if one.theirs is None else written_number(one.theirs, "en"),
            one.reason,
            one.told,
            one.answer,
            one.test,
        )
        for one in found.differences
    )
    view = ComparisonView(found.assignment, found.peer, found.compared, found.same, rows, found.remarks)
    atomic.write(path, render_comparison(view).encode())
    return path


def _theirs(
    assignment: Assignment, handins: Sequence[Handin], source: PeerSource
) -> tuple[str, peers.PeerMarks, Mapping[str, str]]:
    """The other program's name, its marks by student and question's cell, and its exceptions by student."""
    given = [one for one in (source.nbgrader, source.otter, source.gradebook, source.results) if one]
    if len(given) != 1:
        raise CourseError(
            "one source of other marks is needed: --nbgrader, --otter, --gradebook or --results; "
            f"{len(given)} are named"
        )
    name, course = assignment.name, assignment.course
    folders = {one.student: one.folder for one in handins}
    if source.gradebook:
        return "nbgrader", peers.gradebook_marks(source.gradebook, name), {}
    if source.nbgrader:
        folder = course.source(name)
        marks, exceptions = peers.nbgrader_marks(source.nbgrader, course.root, folder, name, folders)
        return "nbgrader", marks, exceptions
    if source.results:
        found = {one: source.results / one / "results.json" for one in folders}
        read = {one: peers.results_marks(path) for one, path in found.items() if path.is_file()}
        return "otter", _by_grade_id(read), {}
    return "otter", _by_grade_id(_run_otter(assignment, folders, given[0])), {}


def _run_otter(assignment: Assignment, folders: Mapping[str, Path], program: Path) -> peers.PeerMarks:
    marks: dict[str, dict[str, float]] = {}
    source = assignment.course.source(assignment.name)
    for notebook in assignment.rubric.assignment.notebooks:
        file = f"{notebook.name}.ipynb"
        handed = {student: folder / file for student, folder in folders.items() if (folder / file).is_file()}
        with tempfile.TemporaryDirectory(prefix="compare-") as scratch:
            if (source / file).is_file():
                archive = peers.otter_archive(program, source / file, Path(scratch))
            else:
                archive = otter.archive(source, notebook.name)
            for student, found in peers.otter_marks(program, archive, handed).items():
                marks.setdefault(student, {}).update(found)
    return marks


def _by_grade_id(marks: peers.PeerMarks) -> peers.PeerMarks:
    return {
        student: {otter.grade_id(question): points for question, points in one.items()}
        for student, one in marks.items()
    }


class _Pair(Struct, frozen=True):
    """One student's two results."""

    assignment: Assignment
    handin: Handin
    score: Score
    peer: str
    marks: Mapping[str, float]

    @property
    def questions(self) -> tuple[Question, ...]:
        """Those with tests."""
        return tuple(one for one in self.assignment.rubric.questions if one.kind == "cells")

    def differences(self) -> Iterator[MarkDifference]:
        """Questions with other points, in the rubric's order."""
        for question in self.questions:
            items = [one for one in self.score.items if one.question == question.id]
            ours, theirs = sum((one.points for one in items), Decimal(0)), self._theirs(question)
            if theirs is not None and abs(ours - theirs) < _SAME:
                continue
            test = "\n\n".join(str(one.options.get("code", "")) for one in question.items)
            found, cells = self._work(question)
            yield MarkDifference(
                self.handin.student,
                question.id,
                ours,
                theirs,
                self._reason(items, ours, theirs) or _judgement(self.peer, ours, theirs, cells, test),
                "; ".join(dict.fromkeys(one.staff for one in items if one.staff)),
                found,
                test,
            )

    def _theirs(self, question: Question) -> Decimal | None:
        found = [self.marks[cell] for cell in question.cells() if cell in self.marks]
        return Decimal(str(sum(found))) if found else None

    def _work(self, question: Question) -> tuple[str, list[str]]:
        """The answer, and the code cells of its notebook that are the student's."""
        handed = collect(self.assignment, self.handin).notebooks.get(question.notebook)
        if not isinstance(handed, bytes):
            return "", []
        submission = self.assignment.read_submission(question.notebook, handed, self.handin.student)
        answer = self.assignment.answer(question, submission)
        code = [one.source for one in submission.cells if isinstance(one, Cell) and not one.locked]
        return answer.source if answer else "", code

    def _reason(self, items: Sequence[ItemResult], ours: Decimal, theirs: Decimal | None) -> str:
        """Why the results differ, where one of both says so; empty: both judged the same run."""
        if theirs is None:
            return f"{self.peer} gave no mark: it stopped before, or does not know the cell."
        if any(one.status is Status.NEEDS_REVIEW for one in items):
            return (
                "A person decides here: the test is not judged outside, or its result is not to be trusted."
            )
        if any(one.student.code.startswith("ending.") for one in items):
            return "The code met a limit here: time, memory or output."
        if ours and not any(self._theirs(one) for one in self.questions):
            return f"{self.peer} gave nothing for the whole work: it crashed there, or did not end."
        return ""


def _judgement(peer: str, ours: Decimal, theirs: Decimal | None, cells: Sequence[str], test: str) -> str:
    if names := _assigned_again(cells, test):
        return f"Order or state: several cells of the notebook assign {', '.join(names)}."
    if theirs is not None and ours > theirs:
        return _LESS_STRICT[peer]
    return "Stricter here: a test failed that passed there."


def _assigned_again(cells: Sequence[str], test: str) -> list[str]:
    """Names of a test that several cells of a notebook assign or define."""
    counts: Counter[str] = Counter()
    for source in cells:
        counts.update(_bound(source))
    try:
        used = {node.id for node in ast.walk(parsed(test)) if isinstance(node, ast.Name)}
    except UNREADABLE:
        return []
    return sorted(name for name in used if counts[name] > 1)


def _bound(source: str) -> set[str]:
    try:
        tree = parsed(source)
    except UNREADABLE:
        return set()
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return defined | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
