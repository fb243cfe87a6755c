"""The detectors: the self-test, parts of the red team, and small parts of the test suite."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

LONGEST_SECONDS = 300
"""A detector that takes longer has not noticed: a hanging check proves nothing."""
_NOTHING_RAN = (2, 3, 4, 5)
"""Exit codes of pytest if no test has run, and of commands that could not start."""


_REFUSED = "the self-test of the sandbox failed, and nothing was graded"


class Detector(Struct, frozen=True):
    """A command that succeeds on the unchanged program, and fails if it notices a weakening."""

    words: tuple[str, ...]
    """Arguments after ``python -B -m``."""
    suite: bool = True
    """Run by pytest, for which only exit code 1 means that a test failed."""


class Verdict(Struct, frozen=True):
    """The result of one detector."""

    noticed: bool
    broken: bool
    """It could not decide."""
    seconds: float
    said: str
    """Its last lines."""


def _tests(*words: str) -> Detector:
    return Detector(("pytest", "-x", "-q", "-p", "no:cacheprovider", *words))


def _boxes(kind: str) -> Detector:
    """Return a detector that runs attacks in a box with a classmate's box."""
    return _tests("tests/redteam/test_boxes.py", "-k", f"an_attack_changes_nothing and {kind}")


def _redteam(word: str) -> Detector:
    """Return a detector that runs attacks with the real product, without classmates."""
    return Detector(("tests.redteam", "--attackers", "--no-strain", "--only", word), suite=False)


DETECTORS: Mapping[str, Detector] = {
    "selftest": Detector(("tests.sabotage.selftest",), suite=False),
    "attacks on the kernel": _boxes("kernel"),
    "attacks on the network": _boxes("network"),
    "attacks on neighbours": _boxes("neighbours"),
    "attacks on files": _boxes("files"),
    "attacks on the protocol": _boxes(
        "protocol and (another or ahead or constants or tag or terabyte or shape or observation)"
    ),
    "attacks on the answers": _redteam("answers:"),
    "lies": _redteam("numbers:"),
    "injections": _redteam("injection:"),
    "names": _redteam("names:"),
    "marks of forgeries": _tests("tests/redteam/test_marks.py"),
    "isolation": _tests("tests/sandbox/test_isolation.py"),
    "sessions": _tests("tests/sandbox/test_session.py"),
    "frames": _tests("tests/sandbox/test_wire.py", "tests/sandbox/test_frames.py"),
    "tensors": _tests("tests/sandbox/test_tensors.py"),
    "carried": _tests("tests/questions/general/test_code_carried.py"),
    "draws": _tests("tests/questions/base/test_draw.py", "tests/grading/test_redraw.py"),
    "tests of cells": _tests("tests/sandbox/test_judge_session.py"),
    "students' web pages": _tests("tests/web/test_student.py", "-k", "feedback"),
    "marking pages": _tests("tests/web/test_marking_pages.py", "-k", "frame"),
    "comparing": _tests("tests/checking/test_comparing.py"),
    "scoring": _tests("tests/grading/test_scoring.py"),
    "scales": _tests("tests/rubric/test_scales.py"),
    "pages": _tests("tests/pages/test_render.py", "tests/pages/test_shown.py"),
    "sanitising": _tests("tests/pages/test_sanitise.py"),
    "courses": _tests("tests/course/test_course.py"),
    "gradebook": _tests("tests/store/gradebook/test_gradebook.py"),
    "results": _tests("tests/store/gradebook/test_results.py", "tests/store/test_contract.py"),
    "groups": _tests("tests/app/test_groups.py"),
    "files whole": _tests("tests/test_atomic.py"),
}
"""By name."""


def ask(detector: Detector, folder: Path) -> Verdict:
    """Run a detector in a copy of the program."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "OMP_NUM_THREADS": "1",
        "CI": "1",
        "COLUMNS": "250",
    }
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-B", "-m", *detector.words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            told, _ = process.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()
            return Verdict(
                noticed=False, broken=True, seconds=time.monotonic() - started, said="took too long"
            )
    seconds, code = time.monotonic() - started, process.returncode
    lines = told.decode(errors="replace").strip().splitlines()
    refused = any(_REFUSED in line for line in lines)  # the product's own self-test, before grading
    crashed = not (detector.suite or refused) and any(line.startswith("Traceback") for line in lines)
    silent = detector.suite and code == 1 and all(map(_did_not_start, _failures(lines)))
    broken = code < 0 or code in _NOTHING_RAN or crashed or silent
    return Verdict(code != 0 and not broken, broken, seconds, "\n".join(_last_words(lines)))


def _failures(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.startswith(("FAILED", "ERROR"))]


def _did_not_start(line: str) -> bool:
    """Return whether a test failed only because no sandbox started, which is not a weakness."""
    return "SandboxUnavailable" in line or "SandboxFault: the box could not" in line


def _last_words(lines: Sequence[str]) -> Sequence[str]:
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR", "!!")) or "  !! " in line]
    return (failed or lines)[-3:]
