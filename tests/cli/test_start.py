"""The command line starts at once."""

from __future__ import annotations

import os
import resource
import subprocess

import pytest

from tests.cli.running import PROGRAMS, ROOT

pytestmark = pytest.mark.alone

HELP_SECONDS = 0.3


def test_help_answers_at_once() -> None:
    """``autograder --help`` costs less than 300 ms of processor time.

    It is the least of seven: whatever else the machine does only adds to it.
    """
    spent = []
    environment = {**os.environ, "COLUMNS": "100"}
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(PROGRAMS / "autograder"), "--help"]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < HELP_SECONDS
