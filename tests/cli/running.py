"""Run the command line as users do: as a separate program with separate streams."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cli.warm import Warm
from tests.support.secrecy import python_path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
ASSIGNMENT = "dl4nlp-exam"
STUDENTS = 6


def environment(**more: str) -> dict[str, str]:
    """Return this environment, with the virtual environment's programs first on PATH, in English."""
    path = f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"
    fixed = {"PATH": path, "LANG": "C.UTF-8", "COLUMNS": "100", "PYTHONWARNINGS": ""}
    return {**os.environ, **fixed, "PYTHONPATH": python_path(), **more}


@functools.cache
def _warm(system: str = "") -> Warm:
    program = Warm(environment(PYTHONPATH=python_path(str(ROOT))), system)
    atexit.register(program.close)
    return program


def run(
    *words: str, cwd: Path = ROOT, system: str = "", killed_after: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and wait for it; it only starts faster than a new program, see `Warm`.

    Args:
        words: the command's arguments.
        cwd: the working folder.
        system: an operating system to simulate, without the modules that it lacks.
        killed_after: kill the command after these seconds; its exit code is negative then.
    """
    command = [str(PROGRAMS / "autograder"), *words]
    with tempfile.TemporaryDirectory(prefix="autograder-run-") as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        output.touch()
        errors.touch()
        request = {
            "words": command,
            "folder": str(cwd),
            "environment": environment(),
            "output": str(output),
            "errors": str(errors),
        }
        try:
            code = _warm(system).run(request, killed_after)
        except TimeoutError:
            _warm.cache_clear()  # the next test starts a new program
            raise
        texts = output.read_text("utf-8"), errors.read_text("utf-8")
    return subprocess.CompletedProcess(command, code, *texts)


def run_cold(*words: str, cwd: Path = ROOT, program: str = "autograder") -> subprocess.CompletedProcess[str]:
    """Start one of the environment's programs afresh and wait for it."""
    return subprocess.run(
        [str(PROGRAMS / program), *words],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )


def only_object(output: str) -> dict[str, Any]:
    """Return the only JSON object of the output."""
    lines = output.splitlines()
    assert 1 == len(lines), output
    content = json.loads(lines[0])
    assert isinstance(content, dict)
    return content
