"""Test several notebooks, data files, additional files and internal errors in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import nbformat
import pytest

from autograder.core.errors import BoxLost, NotebookError, SandboxFault
from autograder.core.records import GradingResult, Limits, Status
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.grades import ENDED_ITSELF, FAULTS
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.messages import render_message
from autograder.questions.number import NumberCheck
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import MAX_LOST_BOXES

pytestmark = pytest.mark.sandbox

RUBRIC = """
version = 1
[assignment]
name = "pair"
points = 4
[assignment.limits]
cell_seconds = 5
[[assignment.notebooks]]
name = "first"
data = ["corpus.txt"]
[[assignment.notebooks]]
name = "second"
take_along = ["own.py"]
[[question]]
id = "words"
kind = "number"
notebook = "first"
points = 2
answer = "words"
[[question.item]]
id = "number"
points = 2
text = { en = "The words of the corpus" }
value = 4
[[question]]
id = "own"
kind = "number"
notebook = "second"
points = 2
answer = "own"
[[question.item]]
id = "number"
points = 2
text = { en = "What the module says" }
value = 42
"""
ANSWERS = {
    "first": 'words = len(open("corpus.txt").read().split())',
    "second": "import own as module\nown = module.ANSWER",
}


def notebook(question: str, solution: str) -> nbformat.NotebookNode:
    """Return a source notebook with one question."""
    flags = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}

    def cell(grade_id: str, source: str, **changed: Any) -> nbformat.NotebookNode:
        metadata = {"nbgrader": {**flags, "grade_id": grade_id, **changed}}
        return nbformat.v4.new_code_cell(source, metadata=metadata, id=grade_id)

    marked = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
    check = f'from coursecheck import check\n\ncheck("{question}")'
    cells = [
        cell(f"{question}-answer", marked, solution=True, locked=False),
        cell(question, check, grade=True, points=2),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return the grader of an assignment with two notebooks."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("assignments/pair", "rubrics", "reference"):
        (root / folder).mkdir(parents=True)
    (root / "rubrics/pair.toml").write_text(RUBRIC, encoding="utf-8")
    (root / "assignments/pair/corpus.txt").write_text("one two three four", encoding="utf-8")
    nbformat.write(notebook("words", ANSWERS["first"]), root / "assignments/pair/first.ipynb")
    nbformat.write(notebook("own", ANSWERS["second"]), root / "assignments/pair/second.ipynb")
    course = Course.from_folder(root)
    generate_release(course, "pair")
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, "pair"), pool)


def answered(grader: Grader, name: str, source: str) -> bytes:
    """Return the released notebook with an answer."""
    paper = nbformat.reads(grader.assignment.release_bytes[name].decode(), as_version=4)
    paper.cells[0].source = source
    return nbformat.writes(paper).encode()


def papers(grader: Grader) -> dict[str, bytes | NotebookError]:
    """Return both notebooks with right answers."""
    return {name: answered(grader, name, source) for name, source in ANSWERS.items()}


OWN = {"own.py": b"ANSWER = 42\n"}


def points(graded: GradingResult) -> dict[str, Decimal]:
    """Return points by question."""
    return {item.question: item.points for item in graded.score.items}


def test_each_notebook_runs_with_its_own_files(grader: Grader) -> None:
    """Each notebook runs with its data files and the additional files that the rubric allows."""
    graded = grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    assert {"words": Decimal(2), "own": Decimal(2)} == points(graded)
    assert ["first", "second"] == [executed.name for executed in graded.notebooks]
    errors = [run.error for executed in graded.notebooks for run in executed.runs if run]
    assert [""] * 4 == errors


def test_other_files_are_not_taken_along(grader: Grader) -> None:
    """Files that the rubric does not list for this notebook are not available."""
    source = "import stray\nwords = 4"
    handed = {**papers(grader), "first": answered(grader, "first", source)}
    graded = grader.grade(SubmittedFiles("ada", handed, {**OWN, "stray.py": b""}))
    assert "ModuleNotFoundError" == graded.notebooks[0].runs[0].error  # type: ignore[union-attr]


def test_data_files_cannot_be_changed(grader: Grader) -> None:
    """Data files are read-only, so the next student reads the same corpus."""
    source = 'open("corpus.txt", "w").write("x")\nwords = 4'
    handed = {**papers(grader), "first": answered(grader, "first", source)}
    run = grader.grade(SubmittedFiles("mallory", handed, OWN)).notebooks[0].runs[0]
    assert run is not None
    assert run.error in {"OSError", "PermissionError"}
    assert Decimal(2) == points(grader.grade(SubmittedFiles("ada", papers(grader), OWN)))["words"]


def test_a_missing_notebook_costs_its_own_questions_only(grader: Grader) -> None:
    """A missing notebook costs only its own questions, and is named in a note."""
    handed = {**papers(grader), "first": NotebookError("missing", "first.ipynb was not handed in")}
    graded = grader.grade(SubmittedFiles("ada", handed, OWN))
    assert {"words": Decimal(0), "own": Decimal(2)} == points(graded)
    assert ["missing"] == [note.code for note in graded.score.notes]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("words = 4 *", "Line 1: invalid syntax."),
        ("%time pass\nwords = 4 *", "Line 2: invalid syntax."),
        ("%time pass\nwrods = 4", "“words” is not defined after your notebook ran."),
        ("wrods = 4  #" + 70_000 * "x", "“words” is not defined after your notebook ran."),
        ("words = (", "Line 1: '(' was never closed."),
        ("words = 4\0", "Your answer is not valid Python"),
    ],
    ids=["syntax", "after a magic", "misspelt", "long", "open bracket", "null"],
)
def test_a_cell_that_is_not_python_is_told_so(grader: Grader, source: str, said: str) -> None:
    """A syntax error is reported with its line, as in `autograder check`, and needs manual review.

    A misspelt name is reported as such.
    """
    handed = {**papers(grader), "first": answered(grader, "first", source)}
    (result,) = [
        item_result
        for item_result in grader.grade(SubmittedFiles("ada", handed, OWN)).score.items
        if item_result.question == "words"
    ]
    assert said in render_message(result.student, "en")
    expected = Status.NO_ANSWER if "not defined" in said else Status.NEEDS_REVIEW
    assert (expected, Decimal(0)) == (result.status, result.points)


def test_our_own_failure_never_costs_points(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a check raises, its question needs manual review and the other one is graded."""

    def broken(self: NumberCheck, evidence: Any) -> Any:
        if evidence.answer.grade_id == "words-answer":
            raise ZeroDivisionError("an error of ours")
        return original(self, evidence)

    original = NumberCheck.judge
    monkeypatch.setattr(NumberCheck, "judge", broken)
    graded = grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    statuses = {item.question: item.status for item in graded.score.items}
    assert {"words": Status.NEEDS_REVIEW, "own": Status.PASSED} == statuses
    assert any("an error of ours" in note.text for note in graded.score.notes)


def test_a_sandbox_that_fails_twice_leaves_it_to_a_person(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One failure of the sandbox is retried; after two, the submission needs manual review."""
    failures = iter([SandboxFault("once")])
    opened = NamespaceSandbox.open

    def once(self: NamespaceSandbox, limits: Limits, **options: Any) -> Any:
        for failure in failures:
            raise failure
        return opened(self, limits, **options)

    monkeypatch.setattr(NamespaceSandbox, "open", once)
    assert {"words": Decimal(2), "own": Decimal(2)} == points(
        grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    )

    def always(self: NamespaceSandbox, limits: Limits, **options: Any) -> Any:
        raise SandboxFault("always")

    monkeypatch.setattr(NamespaceSandbox, "open", always)
    graded = grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    assert {Status.NEEDS_REVIEW} == {item.status for item in graded.score.items}


def test_a_submission_that_loses_its_boxes_waits_as_a_whole(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission that loses its boxes needs manual review as a whole, and the next run tries again."""
    lost = 0
    original_ask = NamespaceBox.ask

    def losing(self: NamespaceBox, *arguments: Any, **options: Any) -> Any:
        nonlocal lost
        lost += 1
        self.close()
        raise BoxLost("process 1 of the box was killed from outside")

    monkeypatch.setattr(NamespaceBox, "ask", losing)
    graded = grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    monkeypatch.setattr(NamespaceBox, "ask", original_ask)
    notebooks = len(grader.assignment.rubric.assignment.notebooks)
    assert MAX_LOST_BOXES * notebooks == lost
    assert {Status.NEEDS_REVIEW} == {item.status for item in graded.score.items}
    assert {"review.ended"} == {item.student.code for item in graded.score.items}
    texts = [
        render_message(item.student, language) for item in graded.score.items for language in ("en", "de")
    ]
    assert 2 == len(set(texts))
    notes = [note for note in graded.score.notes if note.code == ENDED_ITSELF]
    assert notebooks == len(notes)
    assert "ended itself, perhaps on purpose" in notes[0].text
    assert ENDED_ITSELF in FAULTS
    assert {"words": Decimal(2), "own": Decimal(2)} == points(
        grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    )


def test_a_sandbox_that_does_not_start_again_leaves_it_to_a_person(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no sandbox can be started, all items need manual review."""

    def refuse(environment: Environment) -> NamespaceSandbox:
        raise SandboxFault(f"no zygote for {len(environment.files)} files")

    monkeypatch.setattr(grader.pool, "get_sandbox", refuse)
    graded = grader.grade(SubmittedFiles("ada", papers(grader), OWN))
    assert {Status.NEEDS_REVIEW} == {item.status for item in graded.score.items}


def test_a_dead_zygote_is_replaced(grader: Grader) -> None:
    """A dead zygote between two submissions is replaced."""
    words = next(notebook for notebook in grader.assignment.rubric.assignment.notebooks if notebook.data)
    sandbox = grader.pool.get_sandbox(grader.assignment.build_environment(words))
    sandbox.close()
    assert Decimal(2) == points(grader.grade(SubmittedFiles("ada", papers(grader), OWN)))["words"]
