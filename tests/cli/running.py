"""Runs the command line as people do: a program of its own, its streams apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
ASSIGNMENT = "dl4nlp-exam"
STUDENTS = 8


def environment(**more: str) -> dict[str, str]:
    """This process's environment with the virtual environment's programs first on PATH, in English."""
    path = f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "100", "PYTHONWARNINGS": "", **more}


def run(*words: str, cwd: Path = ROOT, program: str = "autograder") -> subprocess.CompletedProcess[str]:
    """Run one of the environment's programs and wait for it."""
    return subprocess.run(
        [str(PROGRAMS / program), *words],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def run_as(system: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where Python believes to be on another operating system, with what it lacks there."""
    lacking = ("fcntl", "resource") if system == "Windows" else ()
    code = (
        "import platform, sys\n"
        f"platform.system = lambda: {system!r}\n"
        f"sys.modules.update(dict.fromkeys({lacking!r}))\n"
        "from autograder.cli import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=environment(PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def only_object(output: str) -> dict[str, Any]:
    """The one JSON object that must be all of the output."""
    lines = output.splitlines()
    assert 1 == len(lines), output
    found = json.loads(lines[0])
    assert isinstance(found, dict)
    return found
