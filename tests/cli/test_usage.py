"""Usage of the command line: help, version, and errors."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer

from autograder.app.classes import compute_run_statistics
from autograder.cli import report
from autograder.cli.app import app
from tests.cli.running import ASSIGNMENT, ROOT, run, run_cold

COMMANDS: dict[str, Any] = dict(vars(typer.main.get_command(app))["commands"])
NEED_CONFINEMENT = (
    ("doctor",),
    ("grade", ASSIGNMENT, "--again"),
    ("verify", ASSIGNMENT),
    ("demo", "--students", "1", "--folder", "another"),
)


def test_points_of_a_run_have_no_superfluous_zeros() -> None:
    """Points have no trailing zeros, and whole hundreds are not printed as a power of ten."""
    facts = {
        "points waiting": Decimal("2190.0"),
        "mean": Decimal("61.50"),
        "seconds": 1.5,
        "who": ["a", "b"],
    }
    table = report.make_summary_table(facts, "this run")
    assert ["2190", "61.5", "1.5", "a\nb"] == list(table.columns[1].cells)
    assert Decimal(0) == compute_run_statistics([], 0.0)["mean points"]


@pytest.mark.slow
def test_the_module_is_the_program() -> None:
    """`python -m autograder` behaves the same, including exit codes."""
    for words in (("formula", "2 d", "--symbols", "d"), ("verify", "no-such-assignment")):
        program, module = run(*words), run_cold("-m", "autograder", *words, program="python")
        assert program.stdout + program.stderr
        assert (program.returncode, program.stdout, program.stderr) == (
            module.returncode,
            module.stdout,
            module.stderr,
        )


def test_the_version() -> None:
    """Prints one line with the version of the installed package, and runs nothing."""
    shown = run("--version")
    assert (0, f"autograder {importlib.metadata.version('nbexam')}\n") == (shown.returncode, shown.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_shows_an_example(name: str) -> None:
    """Each command's help ends with an example that its own parser accepts."""
    shown = run(name, "--help")
    example = COMMANDS[name].epilog.removeprefix("Example: ")
    assert 0 == shown.returncode
    assert f"Example: {example}" in re.sub(r"\s+", " ", shown.stdout)
    program, command, *words = shlex.split(example)
    assert ("autograder", name) == (program, command)
    COMMANDS[name].make_context(name, words, resilient_parsing=False)


def test_help_says_what_exit_codes_mean() -> None:
    """The general help names every exit code."""
    shown = re.sub(r"\s+", " ", run("--help").stdout)
    assert [] == [
        code for code in ("0 done", "1 done", "2 wrong", "3 the", "4 student", "130") if code not in shown
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("grade",),
        ("grade", ASSIGNMENT, "--nonsense"),
        ("demo", "--students", "0"),
        ("grades", "--to", "marks.csv"),
        ("grades", ASSIGNMENT, "--to", "marks.csv", "--csv"),
        ("grades", ASSIGNMENT, "--to", "marks.csv", "--format", "blackboard"),
        ("grades", ASSIGNMENT, "--format", "canvas"),
        ("grades", ASSIGNMENT, "--provisional"),
    ],
    ids=" ".join,
)
def test_wrong_usage(words: tuple[str, ...]) -> None:
    """Unknown commands and options, missing arguments and impossible values exit with 2."""
    assert 2 == run(*words).returncode


@pytest.mark.parametrize("command", ["generate", "grade", "verify"])
def test_unknown_assignment(command: str) -> None:
    """An unknown assignment exits with 3 and lists the known ones."""
    done = run(command, "nonsense")
    assert (3, "") == (done.returncode, done.stdout)
    said = done.stderr.partition("there is no such rubric; known assignments: ")[2].strip().split(", ")
    assert ASSIGNMENT in said
    assert sorted(path.stem for path in (ROOT / "rubrics").glob("*.toml")) == said
    assert 1 == done.stderr.count("\n")


@pytest.mark.parametrize("command", ["verify", "feedback"])
def test_not_a_course(command: str, tmp_path: Path) -> None:
    """A folder that is not a course exits with 3 and says what a course contains."""
    done = run(command, ASSIGNMENT, "--course", str(tmp_path))
    assert (3, "") == (done.returncode, done.stdout)
    assert "expected a course folder with assignments/ and rubrics/" in done.stderr


def test_release_not_generated(tmp_path: Path) -> None:
    """Grading an assignment without a release exits with 3 and names the command to run."""
    for folder in ("assignments", "rubrics", "reference"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = run("grade", ASSIGNMENT, "--course", str(tmp_path))
    assert 3 == done.returncode
    assert f"run: autograder generate {ASSIGNMENT}" in done.stderr


def test_demo_leaves_foreign_folders_alone(tmp_path: Path) -> None:
    """A folder with other contents is not overwritten by the demo."""
    (tmp_path / "thesis.txt").write_text("important")
    done = run("demo", "--folder", str(tmp_path))
    assert 3 == done.returncode
    assert "not empty and not a demo" in done.stderr
    assert "important" == (tmp_path / "thesis.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "system"),
    [*((words, "Windows") for words in NEED_CONFINEMENT), (NEED_CONFINEMENT[0], "Darwin")],
    ids=str,
)
def test_other_systems(words: tuple[str, ...], system: str, course: Path) -> None:
    """On systems other than Linux, every command that runs student code exits with 4 and says what to do."""
    done = run(*words, cwd=course, system=system)
    said = re.sub(r"[\s│]+", " ", done.stdout + done.stderr)
    assert 4 == done.returncode, said
    assert f"this is {system}" in said
    assert "Run the grader on Linux" in said


@pytest.mark.slow
@pytest.mark.parametrize("command", ["generate", "grade", "feedback"])
def test_what_works_on_other_systems(command: str, course: Path) -> None:
    """Generating a release, reusing known results and writing pages need no sandbox."""
    assert 0 == run(command, ASSIGNMENT, cwd=course, system="Windows").returncode
