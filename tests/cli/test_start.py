"""The command line starts quickly."""

from __future__ import annotations

import subprocess
import sys

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
    """Return the libraries that a program has imported when it shows its help page."""
    command = [sys.executable, "-c", LOADED + program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    return {*done.stderr.split()}


def test_help_imports_nothing_heavy() -> None:
    """Apart from the page's libraries, only our modules, msgspec and the standard library are imported."""
    imported = loaded("from autograder.cli import main\nmain()") - loaded(SMALLEST)
    assert set() == imported - sys.stdlib_module_names - {"autograder", "msgspec", "typing_extensions"}
