"""Test unexpected errors in every stage: each affects one student of three."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct

from autograder.cli import app
from autograder.grading import assignment, batch, expected_values, grades, pipeline
from autograder.grading.batch import MOST_REFUSED
from autograder.grading.expected_values import StudentAssignments
from autograder.grading.pipeline import SubmittedFiles
from autograder.notebook import submission_reader as reading
from autograder.pages.feedback import publication
from autograder.questions.code import CodeCheck
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.session import Session
from autograder.store.gradebook import Gradebook, book, results
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course
from tests.survival import classroom

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

MARK = "bob = 12345"
"""A mark in Bob's answer, which identifies him in stages that do not know names."""
BY_HAND = ("essay.text", "formula.why")
DOUBLE = ("double.result", *BY_HAND)
SHAPE = (*BY_HAND, "shape.tuple")
ALL = ("double.result", "essay.text", "formula.value", "formula.why", "shape.tuple")


class Textless(Exception):
    """An error that raises when it is converted to text."""

    def __str__(self) -> str:
        raise RuntimeError("no text either")


def bobs(told: object) -> bool:
    """Return whether the arguments of a stage belong to Bob."""
    text = repr(told._cells if isinstance(told, Session) else told)
    return MARK in text or "'bob'" in text


class Stage(Struct, frozen=True):
    """A place where an error is raised, and Bob's items that need manual review afterwards."""

    owner: Any
    name: str
    error: BaseException
    open: tuple[str, ...] = ALL


GRADING = {
    "collect": Stage(batch, "read_handin", RuntimeError("planted")),
    "digest": Stage(SubmittedFiles, "compute_digest", RuntimeError("planted")),
    "sitting": Stage(StudentAssignments, "get_for_student", KeyError("planted")),
    "read": Stage(assignment, "read_notebook", RecursionError("planted")),
    "match": Stage(reading, "match_cells", RecursionError("planted")),
    "recover": Stage(reading, "recover_answers", IndexError("planted")),
    "open a box": Stage(Session, "_ensure_box", OSError("planted")),
    "run": Stage(Session, "run", MemoryError("planted")),
    "run a cell": Stage(NamespaceBox, "run_cell", ValueError("planted")),
    "ask": Stage(Session, "ask", ValueError("planted"), SHAPE),
    "judge": Stage(CodeCheck, "judge", RecursionError("planted"), DOUBLE),
    "close": Stage(Session, "close", OSError("planted"), BY_HAND),
    "score": Stage(grades, "compute_score", ZeroDivisionError("planted")),
    "an error without a text": Stage(assignment, "read_notebook", Textless()),
}
KEEPING = {
    "record": Stage(Gradebook, "record_results", OSError("planted")),
    "write the marks": Stage(Gradebook, "_write_marks", KeyError("planted")),
    "write the result": Stage(results, "keep_results", TypeError("planted")),
    "write nbgrader's copy": Stage(book, "write_autograded", RecursionError("planted")),
}


def plant(patch: pytest.MonkeyPatch, stage: Stage) -> None:
    """Raise in a stage if its arguments belong to Bob."""
    original = getattr(stage.owner, stage.name)

    def planted(*arguments: Any, **options: Any) -> Any:
        if any(map(bobs, (*arguments, *options.values()))):
            raise stage.error
        return original(*arguments, **options)

    patch.setattr(stage.owner, stage.name, planted)


def command(*words: str) -> int:
    """Run a command as ``autograder`` does, in this process, and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["autograder", *words])
        with pytest.raises(SystemExit) as ended:
            app.main()
    return int(ended.value.code or 0)


def handed_in(source: str) -> bytes:
    """Return the notebook with another function."""
    right = b"def double(x):\\n    return 2 * x"
    assert 1 == CONTROL.count(right)
    return CONTROL.replace(right, source.replace("\n", "\\n").encode())


@pytest.fixture(scope="module")
def class_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an ungraded course with three submissions, and with its secret, proof and expected values."""
    course = make_course(tmp_path_factory.mktemp("stages") / "course")
    hand_in(course, "warm", CONTROL)
    assert 0 == command("grade", NAME, "--course", str(course.root))
    course.gradebook.unlink()
    for folder in ("submitted/warm", "autograded"):
        shutil.rmtree(course.root / folder)
    hand_in(course, "ada", CONTROL)
    literal, computed = b"score_shape = (2, 8, 128, 128)", b"score_shape = tuple([2, 8, 128, 128])"
    paper = handed_in(f"{MARK}\ndef double(x):\n    return 2 * x")
    assert literal in paper
    hand_in(course, "bob", paper.replace(literal, computed))
    hand_in(course, "cleo", handed_in("def double(x):\n    return 3 * x"))
    return course.root


@pytest.fixture(scope="module")
def undisturbed(class_of_three: Path, tmp_path_factory: pytest.TempPathFactory) -> classroom.State:
    """Return the state of the class after a run without errors."""
    root = tmp_path_factory.mktemp("undisturbed") / "course"
    shutil.copytree(class_of_three, root)
    assert 0 == command("grade", NAME, "--course", str(root))
    state = classroom.state(root)
    assert ["ada", "bob", "cleo"] == list(state.results)
    return state


@pytest.fixture
def course(class_of_three: Path, tmp_path: Path) -> str:
    """Return the course of one test."""
    shutil.copytree(class_of_three, tmp_path / "course")
    return str(tmp_path / "course")


def others(state: classroom.State) -> tuple[Any, ...]:
    """Return the stored results, marks, comments and nbgrader copies of Ada and Cleo."""
    results = {name: one for name, one in state.results.items() if name != "bob"}
    files = {name: one for name, one in state.files.items() if "autograded/" in name and "/bob/" not in name}
    return results, [row for row in state.marks if row[0] != "bob"], files


def opened(state: classroom.State) -> tuple[str, ...]:
    """Return Bob's items that need manual review."""
    items = state.results["bob"]["score"]["items"]
    return tuple(
        sorted(f"{one['question']}.{one['item']}" for one in items if one["status"] == "needs-review")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", GRADING)
def test_grading_goes_on(
    name: str, course: str, undisturbed: classroom.State, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bob's items without results need manual review with a reason for staff; others are unaffected."""
    stage = GRADING[name]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, stage)
        assert 1 == command("grade", NAME, "--course", course)
    said = capsys.readouterr().err
    state = classroom.state(Path(course))
    assert others(undisturbed) == others(state)
    assert stage.open == opened(state)
    lost = [one for one in state.results["bob"]["score"]["items"] if one["status"] in ("failed", "no-answer")]
    assert [] == lost
    (note,) = [one for one in state.results["bob"]["score"]["notes"] if one["code"] == grades.OUR_FAULT]
    kind = type(stage.error).__name__
    for text in (note["text"], said):
        assert f"our fault: {kind}: " in text
        assert "(in autograder." in text
        assert "planted" in text or isinstance(stage.error, Textless)
    assert "autograder: bob: " in said
    assert "Traceback" not in said
    assert 0 == command("grade", NAME, "--course", course)  # the next run grades only Bob again
    after = classroom.state(Path(course))
    assert undisturbed.results == after.results
    assert undisturbed.marks == after.marks
    assert {"ada": 1, "bob": 2, "cleo": 1} == runs_by_student(course)


def runs_by_student(course: str) -> dict[str, int]:
    """Return the run in which the current result of each student was computed."""
    query = (
        "SELECT c.student, r.run FROM autograder_current c JOIN autograder_result r ON r.id = c.result "
        "ORDER BY c.student"
    )
    with sqlite3.connect(Path(course) / "gradebook.db") as database:
        rows = dict(database.execute(query).fetchall())
    database.close()
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPING)
def test_keeping_goes_on(
    name: str, course: str, undisturbed: classroom.State, capsys: pytest.CaptureFixture[str]
) -> None:
    """A student's result that cannot be stored is reported and stored by the next run.

    The results of other students are stored immediately.
    """
    stage = KEEPING[name]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, stage)
        assert 1 == command("grade", NAME, "--course", course)
    said = capsys.readouterr().err
    state = classroom.state(Path(course))
    assert others(undisturbed) == others(state)
    assert ("bob" in state.results) is (stage.owner is book)
    assert not (Path(course) / "autograded" / "bob" / NAME / f"{NAME}.ipynb").exists()
    assert "autograder: bob: the marks " in said
    assert f"{type(stage.error).__name__}: " in said
    assert "Traceback" not in said
    assert 0 == command("grade", NAME, "--course", course)
    assert undisturbed == classroom.state(Path(course))


def test_a_database_that_refuses_everybody_stops_the_run(
    course: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run stops after several failures in a row, because the database and not a student causes them."""
    for number in range(MOST_REFUSED + 5):
        shutil.copytree(Path(course, "submitted", "ada"), Path(course, "submitted", f"more-{number}"))
    tried = []

    def refuse(self: Gradebook, entries: Any, **_: Any) -> None:
        tried.append([entry.key.student for entry in entries])
        raise OSError("disk full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gradebook, "record_results", refuse)
        assert 3 == command("grade", NAME, "--course", course)
    assert MOST_REFUSED == sum(len(group) == 1 for group in tried)
    assert "the marks of 5 in a row could not be recorded: OSError: disk full" in capsys.readouterr().err


@pytest.fixture
def graded(course: str) -> str:
    """Return the graded course of one test."""
    assert 0 == command("grade", NAME, "--course", course)
    return course


def pages(course: str) -> dict[str, str]:
    """Return every written page by its path in the course."""
    pages = [*Path(course, "feedback").rglob("*.html"), *Path(course, "staff").rglob("*.html")]
    return {str(path.relative_to(course)): path.read_text("utf-8") for path in pages}


@pytest.mark.parametrize("name", ["render_student_page", "_write_page"])
def test_rendering_goes_on(name: str, graded: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that cannot be written is reported and not linked; the next run writes it."""
    original = getattr(publication, name)

    def planted(*arguments: Any, **options: Any) -> Any:
        if bobs(arguments[0]) or "/bob/" in str(arguments[0]):
            raise RecursionError("planted")
        return original(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, name, planted)
        assert 1 == command("feedback", NAME, "--course", graded)
    said = capsys.readouterr().err
    assert "autograder: bob: the page could not be written: RecursionError: planted (in " in said
    first = pages(graded)
    assert 0 == command("feedback", NAME, "--course", graded)
    second = pages(graded)
    assert {f"feedback/bob/{NAME}/{NAME}.html"} == set(second) - set(first)
    assert {f"staff/{NAME}.html"} == {path for path in first if first[path] != second[path]}
    link = f'href="../feedback/bob/{NAME}/{NAME}.html"'
    assert [False, True] == [link in files[f"staff/{NAME}.html"] for files in (first, second)]


def test_staff_summary_is_written_without_a_broken_row(
    graded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary page omits a student whose row cannot be rendered, and says so."""
    original = publication.render_summary

    def planted(results: Any, *arguments: Any, **options: Any) -> Any:
        if any(graded.score.student == "bob" for graded in results):
            raise KeyError("planted")
        return original(results, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "render_summary", planted)
        assert 1 == command("feedback", NAME, "--course", graded)
    said = capsys.readouterr().err
    path = f"{NAME}.html"
    assert f"autograder: {path}: without bob: KeyError: 'planted' (in " in said
    assert f"staff/{path}" in pages(graded)
    assert 3 == sum(path.startswith("feedback/") for path in pages(graded))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_interrupts_is_obeyed(error: type[BaseException]) -> None:
    """`Grader.grade` does not catch interruptions."""

    def interrupt(*_: Any) -> None:
        raise error

    grader: Any = SimpleNamespace(sittings=SimpleNamespace(get_for_student=interrupt))
    with pytest.raises(error):
        pipeline.Grader.grade(grader, SubmittedFiles("ada", {NAME: CONTROL}))


def test_a_variant_that_cannot_be_made_concerns_one_student(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a student's variant cannot be derived, only that student is affected."""

    def variant_of(student: str) -> Any:
        if student == "bob":
            raise ZeroDivisionError("planted")
        return SimpleNamespace(label=student, digest=student)

    given = SimpleNamespace(
        students=["ada", "bob"],
        get_release=lambda student: variant_of(student) and None,
    )
    rubric = SimpleNamespace(assignment=SimpleNamespace(redraw="never"))
    common: Any = SimpleNamespace(
        manifest=given, get_variant=variant_of, apply_variant=lambda variant: variant, rubric=rubric
    )
    monkeypatch.setattr(expected_values, "compute_expected_values", lambda *_: ({}, {}))
    sittings = StudentAssignments(common, cast("Any", None))
    assert sittings.get_for_student("ada", {}).assignment is common
    with pytest.raises(ZeroDivisionError):
        sittings.get_for_student("bob", {})
