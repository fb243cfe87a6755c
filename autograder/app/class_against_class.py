"""The class against the class: tests that students wrote are run on what other students wrote.

A test earns points for real bugs: it passes on the answer key and fails on a solution that the question's own
checks call wrong. Where tests and checks disagree, the rubric may have a hole, which its author is shown.
"""

from __future__ import annotations

import ast
import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Isolation, Listener
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.checks.judging.judgeable import imports_of
from autograder.course import Course, Handin
from autograder.course.counting import everybody
from autograder.errors import CourseError, NotebookError, describe_error
from autograder.feedback.cross_tests import CrossTestsView, HoleRow, TestRow, render_cross_tests
from autograder.grading.batch import collect
from autograder.grading.cross_tests import KEY, CrossRun, Outcomes, PairOutcome
from autograder.notebook.read import read
from autograder.personal.second_round import key_answer, module, own_answer
from autograder.records import Cell, Graded, Status, Submission
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.store import Decision, EnteredMarks
from autograder.syntax import UNREADABLE, needed, parsed
from autograder.wording import written_number

WORKERS = 2
MANY = Decimal("0.1")
"""So many of the right tests, and two at least, must fail on an accepted solution for it to be shown."""
_CENT = Decimal("0.01")


class Solution(Struct, frozen=True):
    """Code that some students handed in alike."""

    students: tuple[str, ...]
    source: str
    bug: str
    """What its checks found, the same for solutions that fail alike; empty: they all passed."""


class StudentTest(Struct, frozen=True):
    """What a student's test is worth."""

    student: str
    bugs: int = 0
    """Different bugs that it found in solutions of others."""
    solutions: int = 0
    """Wrong solutions of others on which it fails."""
    points: Decimal = Decimal(0)
    why: str = ""
    """Why it earns nothing; empty where it is right."""


class Hole(Struct, frozen=True):
    """Where tests and checks disagree."""

    students: tuple[str, ...]
    """Whose solution passes all checks; of a test that fails on the answer key, whose it is."""
    tests: tuple[str, ...]
    """Whose tests fail."""
    words: str
    """What the first of them raised."""
    solution: str = ""
    """The code that passes all checks."""
    test: str = ""
    """The code of the first of the tests."""


class ClassAgainstClass(Struct, frozen=True):
    """What came of it."""

    tests: tuple[StudentTest, ...]
    solutions: int
    """Different ones."""
    wrong: int
    """Of these, those that the checks call wrong."""
    bugs: int
    """Different bugs that any right test found: full points are for all of them."""
    accepted_but_failing: tuple[Hole, ...]
    failing_on_key: tuple[Hole, ...]
    left_out: tuple[str, ...]
    """Sentences about what was not run, for staff."""
    pairs: int
    seconds: float


def class_against_class(
    course: Course,
    name: str,
    tests: str,
    solutions: str,
    *,
    points: Decimal | None = None,
    workers: int = WORKERS,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> ClassAgainstClass:
    """Run every student's tests on every student's solution. Nothing is written.

    Args:
        course: whose class.
        name: of the assignment, graded.
        tests: the question whose answer is a test: a function, or a cell.
        solutions: the question whose answers are tested; a name that is defined there.
        points: for a test that finds every bug that any test found; default: what the cell can bring.
        workers: pairs at the same time.
        isolation: how code is confined.
        watch: hears of the pairs.
        store: opens the course's.

    Raises:
        CourseError: a question is not there, nothing was graded, or the answer key has no solution.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    started = time.monotonic()
    first = assignments.load(course, name)
    asked, tested = _question(first, tests), _question(first, solutions)
    with store(first, new=False) as opened:
        graded = opened.results(name)
    gathered = _Gathered(first, asked, tested, graded)
    gathered.read(one for one in everybody(course, first.rubric).handins if one.owner == one.student)
    right = key_answer(first, tested)
    if not right:
        raise CourseError(f"{name}: the answer key does not define {tested.answer!r}, which is tested")
    given = gathered.given()
    sources = {number: one.source for number, one in gathered.solutions.items()} | {KEY: right}
    notebook = next(one for one in first.rubric.assignment.notebooks if one.name == tested.notebook)
    total = len(sources) * len(gathered.tests)
    watch.progress(0, total)
    with Pool(isolation=isolation) as pool:
        run = CrossRun(
            pool.persistent(first.environment(notebook, [*given, *sources.values()])),
            first.rubric.assignment.limits,
            {number: [*given, source] for number, source in sources.items()},
            gathered.tests,
            frozenset({tested.answer}),
            imports_of(given),
            course.secret(),
        )
        pairs = _Counted(watch, total)
        found = run.outcomes(workers, pairs.add)
        watch.progress(total, total)  # tests that fail on the key met nobody else
    if points is None:
        points = sum(asked.cells().values(), Decimal(0))
    return gathered.judged(found, points, pairs.done, time.monotonic() - started)


def enter_marks(
    course: Course, name: str, tests: str, found: ClassAgainstClass, store: OpenStore = open_store
) -> EnteredMarks:
    """Enter what tests are worth as marks of their cell; what a person gave there stays.

    Raises:
        CourseError: the question has several cells, or its cell brings less than a test is worth.
        GradebookError: the store refused.
    """
    first = assignments.load(course, name)
    asked = _question(first, tests)
    if len(asked.cells()) > 1:
        raise CourseError(f"{tests}: has several cells, {', '.join(asked.cells())}; enter the marks by hand")
    ((cell, most),) = asked.cells().items()
    highest = max((one.points for one in found.tests), default=Decimal(0))
    if highest > most:
        raise CourseError(f"{tests}: a test is worth {highest} points, but the cell {most}; lower --points")
    given = {
        (one.student, asked.notebook, cell): Decision(cell, one.student, one.points) for one in found.tests
    }
    with store(first, new=False) as opened:
        return opened.decide(name, given)


def write_page(course: Course, name: str, found: ClassAgainstClass) -> Path:
    """Write the page for staff, ``staff/NAME-tests.html``; where it lies."""
    path = course.root / "staff" / f"{name}-tests.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    view = CrossTestsView(
        name,
        found.pairs,
        found.solutions,
        found.wrong,
        found.bugs,
        tuple(
            HoleRow(
                f"{', '.join(one.students)}: {len(one.tests)} tests fail, of {', '.join(one.tests)}",
                one.words,
                one.solution,
                one.test,
            )
            for one in found.accepted_but_failing
        ),
        tuple(HoleRow(", ".join(one.tests), one.words, "", one.test) for one in found.failing_on_key),
        tuple(
            TestRow(one.student, one.bugs, one.solutions, written_number(one.points, "en"), one.why)
            for one in found.tests
        ),
        found.left_out,
    )
    atomic.write(path, render_cross_tests(view).encode())
    return path


class _Counted:
    def __init__(self, watch: Listener, total: int) -> None:
        self._watch, self._total, self.done = watch, total, 0

    def add(self, pairs: int) -> None:
        self.done += pairs
        self._watch.progress(min(self.done, self._total), self._total)


def _question(first: Assignment, wanted: str) -> Question:
    known = {one.id: one for one in first.rubric.questions}
    if wanted not in known:
        raise CourseError(f"{first.name} has no question {wanted!r}; known are: {', '.join(known)}")
    return known[wanted]


class _Gathered:
    """The tests and solutions of a class."""

    def __init__(
        self, first: Assignment, asked: Question, tested: Question, graded: Mapping[str, Graded]
    ) -> None:
        self._first, self._asked, self._tested, self._graded = first, asked, tested, graded
        self.tests: dict[str, str] = {}
        """Code, by student."""
        self.solutions: dict[str, Solution] = {}
        """By digest."""
        self.left_out: list[str] = []

    def read(self, handins: Iterable[Handin]) -> None:
        """Read what was handed in; what cannot be read is left out, with a sentence."""
        for handin in handins:
            try:
                self._read(handin)
            except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
                self.left_out.append(f"{handin.student}: not read: {describe_error(error)}")

    def _read(self, handin: Handin) -> None:
        student = handin.student
        handed, graded = collect(self._first, handin), self._graded.get(student)
        if graded is not None and handed.digest() != graded.digest:
            self.left_out.append(f"{student}: what lies there now is not what was graded")
            return
        notebooks = handed.notebooks
        submissions: dict[str, Submission] = {}
        for question in (self._asked, self._tested):
            data = notebooks[question.notebook]
            if isinstance(data, NotebookError):
                self.left_out.append(f"{student}: {data}")
                return
            release = self._first.releases_of(student)[question.notebook]
            submissions[question.id] = read(data, release, student=student, assignment=self._first.name)
        if code := _test_code(self._first, self._asked, self._tested, submissions[self._asked.id]):
            self.tests[student] = code
        else:
            self.left_out.append(f"{student}: no test that can be read")
        source = own_answer(submissions[self._tested.id], self._tested.answer)
        bug = _bug(self._tested, graded)
        if bug is None or not source:
            self.left_out.append(f"{student}: no solution that the checks decided about")
            return
        digest = hashlib.sha256(ast.dump(parsed(source)).encode()).hexdigest()[:16]
        # Alike or not, what the checks said of it is another matter where they draw anew for each student.
        known = self.solutions.get(f"{digest} {bug}")
        students = (*(known.students if known else ()), student)
        self.solutions[f"{digest} {bug}"] = Solution(students, source, bug)

    def given(self) -> list[str]:
        """The code cells that everybody was given, up to the solution."""
        release = self._first.releases[self._tested.notebook]
        cells: list[str] = []
        for cell in release.cells:
            if cell.grade_id == release.answer_cell(self._tested):
                break
            if cell.cell_type == "code" and cell.is_locked and cell.points is None:
                cells.append(cell.source)
        return cells

    def judged(self, found: Outcomes, points: Decimal, pairs: int, seconds: float) -> ClassAgainstClass:
        """What the outcomes say."""
        why = {student: _why(outcomes) for student, outcomes in found.on_key.items()}
        valid = [student for student, reason in why.items() if not reason]
        killed = {student: self._wrong(found.on_solutions[student], student) for student in valid}
        bugs = {student: {self.solutions[one].bug for one in some} for student, some in killed.items()}
        every = set().union(*bugs.values())
        verdicts = tuple(
            StudentTest(student, why=why[student])
            if why[student]
            else StudentTest(
                student, len(bugs[student]), len(killed[student]), _share(points, bugs[student], every)
            )
            for student in self.tests
        )
        return ClassAgainstClass(
            verdicts,
            len(self.solutions),
            sum(bool(one.bug) for one in self.solutions.values()),
            len(every),
            tuple(self._holes(found, valid)),
            tuple(self._on_key(found)),
            tuple(self.left_out),
            pairs,
            seconds,
        )

    def _wrong(self, outcomes: Mapping[str, PairOutcome], student: str) -> list[str]:
        """The wrong solutions of others on which a test fails."""
        return [
            name
            for name, outcome in outcomes.items()
            if not outcome.passed
            and not outcome.refused
            and self.solutions[name].bug
            and set(self.solutions[name].students) != {student}
        ]

    def _holes(self, found: Outcomes, valid: Sequence[str]) -> Iterator[Hole]:
        """Solutions that pass all checks, and fail many tests."""
        least = max(Decimal(2), MANY * len(valid))
        for name, solution in self.solutions.items():
            on_it = {one: found.on_solutions[one][name] for one in valid}
            failing = [one for one, outcome in on_it.items() if not outcome.passed and not outcome.refused]
            if not solution.bug and len(failing) >= least:
                words = found.on_solutions[failing[0]][name].words
                test = self.tests[failing[0]]
                yield Hole(solution.students, tuple(failing), words, solution.source, test)

    def _on_key(self, found: Outcomes) -> Iterator[Hole]:
        """Tests that fail on the answer key each time: they, the key or the question's text are wrong."""
        for student, outcomes in found.on_key.items():
            if not any(one.passed or one.refused for one in outcomes):
                yield Hole((), (student,), outcomes[0].words, test=self.tests[student])


def _why(on_key: Sequence[PairOutcome]) -> str:
    """Why a test is not right; empty where it is."""
    refused = next((one.refused for one in on_key if one.refused), "")
    if refused:
        return refused
    failing = [one for one in on_key if not one.passed]
    if len(failing) == len(on_key):
        return f"it fails on the answer key: {failing[0].words}"
    return "it fails on the answer key, though not each time" if failing else ""


def _share(points: Decimal, found: set[str], every: set[str]) -> Decimal:
    return (points * len(found) / len(every)).quantize(_CENT) if every else Decimal(0)


def _bug(question: Question, graded: Graded | None) -> str | None:
    """What the checks found; empty: all passed; None: nothing, or nothing yet."""
    manual = {item.id for item in question.items if item.manual}
    results = [
        one
        for one in (graded.score.items if graded else ())
        if one.question == question.id and one.item not in manual
    ]
    status = {one.status for one in results}
    if not results or Status.NEEDS_REVIEW in status or status == {Status.NO_ANSWER}:
        return None
    return " ".join(f"{one.item}:{one.code}" for one in results if one.status is not Status.PASSED)


def _test_code(first: Assignment, asked: Question, tested: Question, submission: Submission) -> str:
    """A student's test as code that runs by itself; empty: there is none."""
    if not asked.answer:
        answer = first.answer(asked, submission)
        return module([answer.source]) if answer is not None and answer.changed else ""
    own = [cell.source for cell in submission.cells if isinstance(cell, Cell) and not cell.locked]
    try:
        code = needed(module(own), asked.answer, without={tested.answer})
        tree = parsed(code)
    except UNREADABLE:
        return ""
    function = next((one for one in tree.body if getattr(one, "name", "") == asked.answer), None)
    if not isinstance(function, ast.FunctionDef):
        return ""
    needs = len(function.args.posonlyargs) + len(function.args.args) > len(function.args.defaults)
    return f"{code}\n{asked.answer}({tested.answer if needs else ''})\nNone\n"
