"""Test a machine with an insecure sandbox: nothing is graded or written to the gradebook."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from autograder.cli import app
from autograder.core.errors import SandboxUnavailable
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.proof.selftest import FILE_NAME
from autograder.store.gradebook import Gradebook
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course
from tests.support.broken_sandbox import BrokenSandbox

pytestmark = pytest.mark.sandbox

UNFILTERED = {"jail.py": {"    linux.load_filter(program)": "    pass"}}


def rows(database: Path) -> dict[str, int]:
    """Return the number of rows of each table."""
    with sqlite3.connect(database) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    connection.close()
    return counts


def test_a_sandbox_with_a_hole_grades_nobody(tmp_path: Path) -> None:
    """The error names the layer, and no rows, notebooks or proofs are written."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    broken = BrokenSandbox(tmp_path / "broken", UNFILTERED)
    assignment = assignments.load_assignment(course, NAME)
    with Gradebook(course.gradebook) as gradebook, Pool(broken.start) as pool:
        before = rows(course.gradebook)
        with pytest.raises(SandboxUnavailable, match="system call filter: reached: "):
            list(batch.grade_class(assignment, course.list_handins(NAME), gradebook, pool))
    assert before == rows(course.gradebook)
    assert not (course.root / "autograded").exists()
    assert not (course.private / FILE_NAME).exists()


def test_the_command_exits_with_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``autograder grade`` names the layer in one sentence and exits with 4."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    broken = BrokenSandbox(tmp_path / "broken", UNFILTERED)
    original = NamespaceSandbox.__init__

    def broken_init(self: NamespaceSandbox, environment: Environment) -> None:
        original(self, environment, broken.runtime)

    monkeypatch.setattr(NamespaceSandbox, "__init__", broken_init)
    monkeypatch.setattr("sys.argv", ["autograder", "grade", NAME, "--course", str(course.root)])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert app.EXIT_NO_SANDBOX == ended.value.code
    said = capsys.readouterr().err
    assert "the self-test of the sandbox failed, and nothing was graded. " in said
    assert "system call filter: reached: " in said


def test_a_proof_is_kept_in_the_course(tmp_path: Path) -> None:
    """The proof of the sandbox is stored in the course, readable only by its owner."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    assignment = assignments.load_assignment(course, NAME)
    with Gradebook(course.gradebook) as gradebook, Pool() as pool:
        graded = list(batch.grade_class(assignment, course.list_handins(NAME), gradebook, pool))
    assert ["ada"] == [outcome.student for outcome in graded]
    assert 0o600 == (course.private / FILE_NAME).stat().st_mode & 0o777
