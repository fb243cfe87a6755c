"""The command line starts at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.cli import app
from tests.cli.running import ROOT

SMALLEST = """
import typer
app = typer.Typer()
@app.command()
def one() -> None: "One."
@app.command()
def two() -> None: "Two."
app()
"""


LOADED = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr))
"""


def loaded(program: str) -> set[str]:
    """The libraries that a program has imported when it has shown its help page."""
    command = [sys.executable, "-c", LOADED + program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    return {*done.stderr.split()}


def test_help_imports_nothing_heavy() -> None:
    """Beside what the page itself needs: only ours, records, and what Python brings along."""
    own = loaded("from autograder.cli import main\nmain()") - loaded(SMALLEST)
    assert set() == own - sys.stdlib_module_names - {"autograder", "msgspec", "typing_extensions"}


def test_of_the_commands_only_the_one_that_was_typed_is_built() -> None:
    """To build all takes longer than most need to begin; what is no command of one word gets all of them."""
    for words in (["grade", "exam"], ["algebra", "--help"]):
        assert words[:1] == [one.name for one in app._asked(words).registered_commands]
        assert not app._asked(words).registered_groups
    for words in ([], ["--help"], ["grad"], ["mark", "export"]):
        assert app._asked(words) is app.app
    assert len(app.app.registered_commands) > 20


EARLY = """
import sys
import autograder.app
real = autograder.app.launched
def launched(isolation):
    print("typer" in sys.modules)
    return real(isolation)
autograder.app.launched = launched
from autograder.cli import main
main()
"""


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (("grade", "exam"), ["False", "True"], 3),
        (("grade", "exam", "--course", "nowhere"), ["False", "True"], 3),
        (("grade", "exam", "--again"), ["True"], 3),
        (("grade", "--help"), [], 0),
        (("grade", "exam", "--isolation", "none"), ["True"], 3),
        (("grade", "exam", "other"), [], 2),
        (("grade",), [], 2),
        (("grades", "exam"), [], 3),
    ],
)
def test_a_sandbox_starts_before_the_commands_are_imported(
    tmp_path: Path, words: tuple[str, ...], told: list[str], code: int
) -> None:
    """A class waits for it more than for anything else. What cannot be begun is met again, and told once."""
    package = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", EARLY, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=package, check=False)
    assert told == [line for line in done.stdout.split() if line in {"False", "True"}]
    assert code == done.returncode
    if code == 3:
        assert 1 == done.stderr.count("autograder: ")


def test_a_class_is_begun_before_the_rest_is_imported() -> None:
    """What a sandbox starts with is known without the gradebook, and what else grades."""
    asked = "import sys, autograder.app.beginning; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    late = {"sqlalchemy", "nbgrader", "rich", "autograder.app.classes", "autograder.grading.batch"}
    assert set() == late & {*told.stdout.split()}
