"""New assignments: each kind has a template that verifies, and existing files are never changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.authoring import list_kinds, start_assignment
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading import assignment, release_generation
from autograder.grading.verify import verify
from autograder.questions import list_registered, make_check
from autograder.sandbox.pool import Pool
from tests.cli.running import run_cold

LIST_SOURCES = (
    "from nbgrader.apps import NbGrader\n"
    "from nbgrader.apps.api import NbGraderAPI\n"
    "app = NbGrader()\n"
    "app.load_config_file()\n"
    "print(NbGraderAPI(config=app.config).get_source_assignments())"
)

SECONDS = 15
"""Limit of processor and waiting time for all kinds, as stated by the command."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_kind_has_a_template() -> None:
    """Each kind of question has a template."""
    assert list(list_registered()) == list(list_kinds())


@pytest.mark.sandbox
@pytest.mark.apart
def test_all_kinds_prove_themselves(tmp_path: Path) -> None:
    """The new assignment verifies without findings: trials cover every automatic item."""
    start_assignment(tmp_path, "every-kind")
    course = Course.from_folder(tmp_path)
    release_generation.generate_release(course, "every-kind")
    loaded = assignment.load_assignment(course, "every-kind")
    assert list(list_registered()) == [question.kind for question in loaded.rubric.questions]
    with Pool() as pool:
        verified = verify(loaded, pool)
    assert () == tuple(verified.findings)


@pytest.mark.parametrize("kind", list_registered())
def test_each_kind_alone(tmp_path: Path, kind: str) -> None:
    """A single kind gives a valid rubric and a release with one question."""
    start_assignment(tmp_path / "course", "one", [kind])
    course = Course.from_folder(tmp_path / "course")
    rubric = rubrics.load_rubric(course.locate_rubric("one"))
    (question,) = rubric.questions
    assert kind == question.kind
    make_check(question, rubric)
    assert release_generation.generate_release(course, "one")


def test_questions_in_the_order_that_was_asked_for(tmp_path: Path) -> None:
    """``--kinds`` determines the questions and their order, without duplicates."""
    start_assignment(tmp_path, "sheet", ["written", "formula", "formula", "code"])
    rubric = rubrics.load_rubric(tmp_path / "rubrics/sheet.toml")
    assert ["written", "formula", "code"] == [question.kind for question in rubric.questions]


def test_a_course_is_begun_in_an_empty_folder(tmp_path: Path) -> None:
    """A missing folder becomes a course; a second assignment does not change the first."""
    folder = tmp_path / "deep" / "course"
    assert start_assignment(folder, "first", ["formula"]).course
    assert "secret" in (folder / "README.md").read_text()
    assert "/.autograder/" in (folder / ".gitignore").read_text()
    before = contents(folder)
    second = start_assignment(folder, "second", ["formula", "code"])
    assert not second.course
    assert before == {name: text for name, text in contents(folder).items() if name in before}
    assert {"rubrics/second.toml", "assignments/second/second.ipynb", "reference/checks/second.py"} == set(
        contents(folder)
    ) - set(before)


def test_what_is_hidden_does_not_make_a_folder_full(tmp_path: Path) -> None:
    """A new repository counts as empty; its README and .gitignore are kept."""
    (tmp_path / ".git").mkdir()
    for name in ("README.md", ".gitignore"):
        (tmp_path / name).write_text("mine\n")
    assert start_assignment(tmp_path, "sheet", ["formula"]).course
    assert ["mine\n"] * 2 == [(tmp_path / name).read_text() for name in ("README.md", ".gitignore")]


@pytest.mark.parametrize(
    "taken",
    ["rubrics/sheet.toml", "assignments/sheet/notes.txt", "reference/checks/sheet.py"],
)
def test_nothing_is_replaced(tmp_path: Path, taken: str) -> None:
    """Existing files of that name are unchanged, and no other files are written."""
    start_assignment(tmp_path, "other", ["formula"])
    (tmp_path / taken).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / taken).write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(CourseError, match="nothing is replaced"):
        start_assignment(tmp_path, "sheet")
    assert before == contents(tmp_path)


@pytest.mark.parametrize("name", ["", "a b", "../x", "1st", "-x", "a/b", "ä", "a.b", "x" * 61, "a\n"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    """An invalid name is refused with the allowed format, before anything is written."""
    with pytest.raises(CourseError, match="expected a letter, then up to 59 letters, digits, '-' or '_'"):
        start_assignment(tmp_path, name)
    assert {} == contents(tmp_path)


def test_a_name_that_python_reserves(tmp_path: Path) -> None:
    """For an assignment called ``class``, the module of checks gets a valid name."""
    start_assignment(tmp_path, "class", ["code"])
    assert 'checks = "class_.py"' in (tmp_path / "rubrics/class.toml").read_text()
    assert (tmp_path / "reference/checks/class_.py").is_file()


def test_a_kind_that_is_not_known(tmp_path: Path) -> None:
    """A misspelt kind is refused with a suggestion."""
    with pytest.raises(CourseError, match="no kind 'formla'; did you mean 'formula'"):
        start_assignment(tmp_path, "sheet", ["formla"])
    assert {} == contents(tmp_path)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """A folder with other files is refused and left unchanged."""
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(CourseError, match="or an empty folder to begin a course in"):
        start_assignment(tmp_path, "sheet")
    assert {"holiday.jpg": b"x"} == contents(tmp_path)


def test_formgrader_finds_the_assignments(tmp_path: Path) -> None:
    """nbgrader is configured with the source folder, so formgrader lists the assignment."""
    start_assignment(tmp_path, "sheet", ["written"])
    done = run_cold("-c", LIST_SOURCES, cwd=tmp_path, program="python")
    assert (0, "{'sheet'}\n") == (done.returncode, done.stdout), done.stderr
