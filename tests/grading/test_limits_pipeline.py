"""Test each limit from the box to the page: outcome, message and note; honest answers keep their marks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import nbformat
import pytest

from autograder.core.limits import OF_ENDING, OF_MET, format_limit
from autograder.core.records import CellRun, Ending, GradingResult, LimitKind, Limits, Status
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.messages import get_template
from autograder.pages.feedback.student_page import render_student_page
from autograder.questions import make_check
from autograder.sandbox.base import Environment
from autograder.sandbox.limit_notes import SHARED_USER
from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.pool import Pool
from autograder.store.gradebook.book import format_comments
from tests.conftest import start_sandbox
from tests.pages.test_render import Page

pytestmark = pytest.mark.sandbox

RUBRIC = """
version = 1
[assignment]
name = "limits"
points = 4
languages = ["en", "de"]
[assignment.limits]
processor_seconds = 60
memory_mb = 192
processes = 16
output_kb = 16
reply_mb = 2
scratch_mb = 8
scratch_files = 64
descriptors = 40
[[question]]
id = "work"
kind = "code"
points = 2
answer = "work"
[[question]]
id = "later"
kind = "number"
points = 2
answer = "later"
[[question.item]]
id = "number"
points = 2
text = { en = "The number", de = "The number" }
value = 42
"""
CHECKS = """
from autograder.checking import assert_equal, check, solution

solution(source="work = lambda x: x + 1")


@check(points=2, title={"en": "One more", "de": "Eins mehr"}, seconds=2)
def result(student, reference, draw):
    assert_equal(student.work(1), 2)
"""
HOSTILE_CELL = 3
"""Number of the cell that exceeds the limit, counted from 1."""
SETUP = """
import os, threading, time
import numpy as np

def fork_many(most=100):
    for _ in range(most):
        if os.fork() == 0:
            time.sleep(9)

def write_much():
    with open('/tmp/large', 'wb') as file:
        for _ in range(20):
            file.write(bytes(1 << 20))

def make_files():
    for number in range(200):
        open(f'/w/{number}', 'x').close()

def keep_open(most=100):
    return [open('/dev/null') for _ in range(most)]

def spin_in_children():
    for _ in range(4):
        if os.fork() == 0:
            while True:
                pass
    time.sleep(20)

def end_again():
    os._exit(0)
"""


@dataclass(frozen=True)
class Case:
    """One limit: a statement that exceeds it, and the outcome with and without control groups."""

    statement: str
    grouped: Ending | LimitKind
    alone: Ending | LimitKind
    in_call: Ending | LimitKind | None = None
    """The outcome in a call with control groups; None: the same."""
    limits: Mapping[str, float] = field(default_factory=dict)


CASES = {
    "cell time": Case(
        "while True: pass",
        Ending.CELL_TIME,
        Ending.CELL_TIME,
        Ending.CALL_TIME,
        {"cell_seconds": 0.5, "call_seconds": 0.5},
    ),
    "processor time of one": Case(
        "while True: pass", Ending.PROCESSOR_TIME, Ending.PROCESSOR_TIME, limits={"processor_seconds": 1}
    ),
    "processor time of several": Case(
        "spin_in_children()", Ending.PROCESSOR_TIME, Ending.PROCESSOR_TIME, limits={"processor_seconds": 1}
    ),
    "memory": Case("bytearray(b'x') * (400 << 20)", Ending.MEMORY, LimitKind.MEMORY),
    "memory that cannot be": Case("np.zeros(1 << 50)", LimitKind.MEMORY, LimitKind.MEMORY),
    "processes": Case("fork_many()", LimitKind.PROCESSES, LimitKind.PROCESSES),
    "threads": Case(
        "for _ in range(99): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        LimitKind.PROCESSES,
        LimitKind.PROCESSES,
    ),
    "output": Case("while True: print('x' * 1000)", Ending.OUTPUT, Ending.OUTPUT),
    "disk": Case("write_much()", LimitKind.DISK, LimitKind.DISK),
    "one file too large": Case(
        "os.truncate(os.open('/w/sparse', 66), 1 << 40)", LimitKind.DISK, LimitKind.DISK
    ),
    "inodes": Case("make_files()", LimitKind.FILES, LimitKind.FILES),
    "descriptors": Case("keep_open()", LimitKind.DESCRIPTORS, LimitKind.DESCRIPTORS),
}


def notebook() -> nbformat.NotebookNode:
    """Return the source of the release, with two questions."""
    flags = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}

    def cell(grade_id: str, source: str, **changed: Any) -> nbformat.NotebookNode:
        metadata = {"nbgrader": {**flags, "grade_id": grade_id, **changed}}
        return nbformat.v4.new_code_cell(source, metadata=metadata, id=grade_id)

    cells = []
    for question, solution in (("work", "work = lambda x: x + 1"), ("later", "later = 42")):
        marked = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
        check = f'from coursecheck import check\n\ncheck("{question}")'
        cells.append(cell(f"{question}-answer", marked, solution=True, locked=False))
        cells.append(cell(question, check, grade=True, points=2))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """Return an assignment with small limits."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("assignments/limits", "rubrics", "reference/checks"):
        (root / folder).mkdir(parents=True)
    (root / "rubrics/limits.toml").write_text(RUBRIC, encoding="utf-8")
    (root / "reference/checks/work.py").write_text(CHECKS, encoding="utf-8")
    nbformat.write(notebook(), root / "assignments/limits/limits.ipynb")
    course = Course.from_folder(root)
    generate_release(course, "limits")
    return assignments.load_assignment(course, "limits")


def without_groups(environment: Environment) -> NamespaceSandbox:
    """Start a sandbox as on a machine without writable control groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cgroups, "find_driver", lambda: None)
        return start_sandbox(environment)


@pytest.fixture(scope="module", params=["best", "without groups"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """Yield sandboxes with the best isolation of this machine, and with the fallback."""
    with Pool(start_sandbox if request.param == "best" else without_groups) as made:
        yield made


def limited(assignment: Assignment, limits: Mapping[str, float]) -> Assignment:
    """Return the assignment with other limits."""
    changed = msgspec.structs.replace(assignment.rubric.assignment.limits, **limits)
    whole = msgspec.structs.replace(assignment.rubric.assignment, limits=changed)
    rubric = msgspec.structs.replace(assignment.rubric, assignment=whole)
    checks = {question.id: make_check(question, rubric) for question in rubric.questions}
    return msgspec.structs.replace(assignment, rubric=rubric, checks=checks)


def paper(assignment: Assignment, *, work: str, cell: str = "pass", later: str = "later = 6 * 7") -> bytes:
    """Return the released notebook with both answers and a cell of the student between them."""
    node = nbformat.reads(assignment.release_bytes["limits"].decode(), as_version=4)
    node.cells[0].source = SETUP + work
    node.cells[2].source = later
    node.cells.insert(HOSTILE_CELL - 1, nbformat.v4.new_code_cell(cell))
    return nbformat.writes(node).encode()


def grade(assignment: Assignment, pool: Pool, content: bytes) -> GradingResult:
    """Return the result of one submission."""
    return Grader(assignment, pool).grade(SubmittedFiles("ada", {"limits": content}))


def groups_of(assignment: Assignment, pool: Pool) -> bool:
    """Return whether the pool's boxes are limited by control groups."""
    (only,) = assignment.rubric.assignment.notebooks
    sandbox = pool.get_sandbox(assignment.build_environment(only))
    assert isinstance(sandbox, NamespaceSandbox)
    return sandbox.memory_bound.startswith("cgroup")


def words(code: str, limits: Limits, kind: Ending | LimitKind, language: str, **params: str) -> str:
    """Return a message as it must be shown."""
    return get_template(code, language).format(limit=format_limit(kind, limits), **params)


def points(graded: GradingResult) -> dict[str, Decimal]:
    """Return points by question."""
    return {item.question: item.points for item in graded.score.items}


def run_of(graded: GradingResult) -> CellRun:
    """Return the run of the student's additional cell."""
    run = graded.notebooks[0].runs[HOSTILE_CELL - 1]
    assert run is not None
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_cell_that_meets_a_limit(assignment: Assignment, pool: Pool, name: str) -> None:
    """The cell names the limit, staff see the place, and both questions keep their marks."""
    case = CASES[name]
    tight = limited(assignment, case.limits)
    kind = case.grouped if groups_of(tight, pool) else case.alone
    graded = grade(tight, pool, paper(tight, work="work = lambda x: x + 1", cell=case.statement))
    run, limits = run_of(graded), tight.rubric.assignment.limits
    assert {"work": 2, "later": 2} == points(graded)
    place, ended = f"cell {HOSTILE_CELL}", isinstance(kind, Ending)
    if isinstance(kind, Ending):
        assert (kind, ()) == (run.ending, run.met)
        note, code = ("cell-ended-box", f"cell.ending.{kind.value}")
    else:
        assert (None, [kind]) == (run.ending, [limit.met for limit in run.met if limit.claimed])
        note, code = ("limit-met", f"cell.limit.{kind.value}")
    field_name = OF_ENDING[kind] if isinstance(kind, Ending) else OF_MET[kind]
    remarks = [remark.text for remark in graded.score.notes if (remark.code, remark.place) == (note, place)]
    assert 1 == len(remarks), graded.score.notes
    assert format_limit(kind, limits) in remarks[0]
    assert (kind.value if ended else field_name) in remarks[0]
    for language in ("en", "de"):
        assert (
            words(code, limits, kind, language)
            in Page(render_student_page(graded, tight.rubric, language=language)).text
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in CASES if name != "output"]
)  # memory limits what calls print
def test_a_call_that_meets_a_limit(assignment: Assignment, pool: Pool, name: str) -> None:
    """The question names the limit on page and in gradebook; the next question keeps its marks."""
    case = CASES[name]
    tight = limited(assignment, case.limits)
    kind = case.in_call or (case.grouped if groups_of(tight, pool) else case.alone)
    graded = grade(tight, pool, paper(tight, work=f"def work(x):\n    {case.statement}\n    return x + 1"))
    (item,) = (result for result in graded.score.items if result.question == "work")
    assert {"work": 0, "later": 2} == points(graded)
    if not isinstance(kind, Ending):
        code = "limit.memory" if kind is LimitKind.MEMORY else "raised"
        assert (Status.FAILED, code) == (item.status, item.code)
        assert ("MemoryError" in item.staff) == (kind is LimitKind.MEMORY)
        return
    code = f"ending.{kind.value}"
    assert (Status.FAILED, code) == (item.status, item.code)
    limit = "2 s" if kind is Ending.CALL_TIME else format_limit(kind, tight.rubric.assignment.limits)
    assert limit == item.student.params["limit"]
    assert kind.value in item.staff
    comments = format_comments(graded.score, tight.rubric, {("limits", "work-answer")})
    for language in ("en", "de"):
        page = Page(render_student_page(graded, tight.rubric, language=language)).text
        subject = "Your code" if language == "en" else "Ihr Code"
        assert get_template(code, language).format(limit=limit, what=subject) in page
    assert limit in comments["limits", "work-answer"]


def test_output_over_what_is_kept(assignment: Assignment, pool: Pool) -> None:
    """Output above the limit is cut, the cell says so with the number, and marks are not affected."""
    content = paper(assignment, work="work = lambda x: x + 1", cell="print('x' * 20_000)")
    graded = grade(assignment, pool, content)
    run = run_of(graded)
    assert ([LimitKind.OUTPUT], True) == ([limit.met for limit in run.met], run.truncated)
    assert {"work": 2, "later": 2} == points(graded)
    shown = Page(render_student_page(graded, assignment.rubric)).text
    assert words("cell.limit.output", assignment.rubric.assignment.limits, LimitKind.OUTPUT, "en") in shown


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("np.zeros(1 << 20)", "limit.reply-size"),
        ("'x' * (20 << 20)", "ending.reply-size"),
    ],
)
def test_an_answer_that_is_too_large(assignment: Assignment, pool: Pool, value: str, code: str) -> None:
    """A slightly too large value is an error, a larger one ends the box; both messages state the limit."""
    graded = grade(
        assignment, pool, paper(assignment, work="work = lambda x: x + 1", later=f"later = {value}")
    )
    (item,) = (result for result in graded.score.items if result.question == "later")
    assert (code, "2 MB") == (item.code, item.student.params["limit"])
    assert {"work": 2, "later": 0} == points(graded)
    assert "2 MB" in Page(render_student_page(graded, assignment.rubric)).text


@pytest.mark.slow
def test_the_time_of_the_whole_submission(assignment: Assignment, pool: Pool) -> None:
    """A call that exceeds the time of the whole submission says so; literal answers keep their marks."""
    tight = limited(assignment, {"submission_seconds": 1.5, "call_seconds": 30})
    content = paper(tight, work="def work(x): time.sleep(20)", later="later = 42")
    graded = grade(tight, pool, content)
    (item,) = (result for result in graded.score.items if result.question == "work")
    assert ("ending.submission-time", "1.5 s") == (item.code, item.student.params["limit"])
    assert {"work": 0, "later": 2} == points(graded)


@pytest.mark.slow
def test_a_cell_in_which_the_time_runs_out(assignment: Assignment, pool: Pool) -> None:
    """If the submission's time runs out in a cell, the message says so and no further box is opened."""
    tight = limited(assignment, {"submission_seconds": 1.5})
    content = paper(tight, work="work = lambda x: x + 1", cell="time.sleep(20)", later="later = 42")
    graded = grade(tight, pool, content)
    assert Ending.SUBMISSION_TIME is run_of(graded).ending
    shown = Page(render_student_page(graded, tight.rubric)).text
    limits = tight.rubric.assignment.limits
    assert words("cell.ending.submission-time", limits, Ending.SUBMISSION_TIME, "en") in shown
    assert {"work": 0, "later": 2} == points(graded)


@pytest.mark.parametrize("crowded", [True, False], ids=["crowded", "not crowded"])
@pytest.mark.parametrize(
    "work",
    [
        pytest.param("time.sleep(99)\nwork = lambda x: x + 1", id="its cell waits until its time is over"),
        pytest.param("def work(x): time.sleep(99)", id="a call waits until its time is over"),
        pytest.param("def work(x): raise EOFError", id="a call raises"),
        pytest.param("def fail(): raise EOFError\nwork = fail()", id="its statement raises"),
    ],
)
def test_losses_need_manual_review_when_neighbours_used_up_a_shared_quota(
    assignment: Assignment, pool: Pool, monkeypatch: pytest.MonkeyPatch, work: str, *, crowded: bool
) -> None:
    """If other users exhaust a shared quota, only lost results need review; wrong literals stay wrong."""
    monkeypatch.setattr("autograder.sandbox.outside.watch.Watch.was_crowded", lambda _: crowded)
    tight = limited(assignment, {"cell_seconds": 0.3, "call_seconds": 0.3})
    graded = grade(tight, pool, paper(tight, work=work, later="later = 41"))
    work_item, later_item = graded.score.items
    assert crowded == (work_item.status is Status.NEEDS_REVIEW)
    assert 0 == work_item.points
    assert Status.FAILED is later_item.status
    assert crowded == any(note.code == SHARED_USER for note in graded.score.notes)


def test_right_answers_keep_their_points_when_neighbours_used_up_a_shared_quota(
    assignment: Assignment, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If other users exhaust a shared quota, right answers keep their points; the failed cell gets a note."""
    monkeypatch.setattr("autograder.sandbox.outside.watch.Watch.was_crowded", lambda _: True)
    content = paper(assignment, work="work = lambda x: x + 1", cell="raise EOFError", later="later = 42")
    graded = grade(assignment, pool, content)
    assert [Status.PASSED] * 2 == [item.status for item in graded.score.items]
    assert [SHARED_USER] == [note.code for note in graded.score.notes]


def test_restarts_that_are_used_up(assignment: Assignment, pool: Pool) -> None:
    """If all restarts are used up, the message says so instead of reporting a crash."""
    tight = limited(assignment, {"restarts": 0})
    graded = grade(
        tight, pool, paper(tight, work="def work(x): return x + 1\nend_again()", cell="end_again()")
    )
    (item,) = (result for result in graded.score.items if result.question == "work")
    assert ("ending.restarts", "0") == (item.code, item.student.params["limit"])


def test_an_exception_that_only_looks_like_a_limit_changes_no_mark(
    assignment: Assignment, pool: Pool
) -> None:
    """An exception that only looks like a limit changes no mark, and staff see that none was exceeded."""
    cell = "raise OSError(28, 'No space left on device')"
    graded = grade(assignment, pool, paper(assignment, work="work = lambda x: x + 1", cell=cell))
    assert {"work": 2, "later": 2} == points(graded)
    (remark,) = (note.text for note in graded.score.notes if note.code == "limit-met")
    assert "not seen outside" in remark


def test_a_limit_that_is_caught_is_the_students_own_affair(assignment: Assignment, pool: Pool) -> None:
    """A right answer passes even if its code caught an exceeded limit."""
    work = "def work(x):\n    try: fork_many()\n    except OSError: pass\n    return x + 1"
    graded = grade(assignment, pool, paper(assignment, work=work))
    assert {"work": 2, "later": 2} == points(graded)


def test_results_with_limits_survive_the_ledger(assignment: Assignment, pool: Pool) -> None:
    """Exceeded limits are stored and read back with the result."""
    graded = grade(assignment, pool, paper(assignment, work="pass", cell="keep_open()"))
    assert graded == msgspec.json.decode(msgspec.json.encode(graded), type=GradingResult)
    assert "descriptors" in json.dumps(msgspec.to_builtins(graded), default=str)


@pytest.mark.parametrize("statement", ["os._exit(0)", "while True: pass"])
def test_an_answer_whose_own_cell_ends_python_is_told_so(
    assignment: Assignment, pool: Pool, statement: str
) -> None:
    """If the answer's cell ends Python, the message says so and does not suggest a misspelt name."""
    tight = limited(assignment, {"cell_seconds": 0.5})
    graded = grade(tight, pool, paper(tight, work=f"{statement}\nwork = lambda x: x + 1"))
    item = next(result for result in graded.score.items if result.question == "work")
    assert ("name.lost", 0) == (item.code, item.points)
    assert 2 == points(graded)["later"]
    for language, word in (("en", "spell"), ("de", "Schreibweise")):
        text = get_template(item.student.code, language).format(**item.student.params)
        assert word not in text
        assert "work" in text
