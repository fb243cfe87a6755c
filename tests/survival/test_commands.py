"""Commands about a class that are killed anywhere and run again end like undisturbed ones.

Each command starts from the undisturbed end of the one before. The command's processes are killed in a small
scripted course: collecting new and replacing attempts, grading, regrading published marks, exporting
worksheet and pages.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from autograder.course import Course
from tests.cli.running import run
from tests.cli.scripted_class import SMALL, ScriptedClass, scripted_class
from tests.cli.scripted_course import ScriptedFiles, make_files
from tests.support.downloads import tree
from tests.support.regraded_class import final
from tests.survival import classroom
from tests.survival.kills import OF_COMMANDS

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]

STUDENTS = 9
FILLED = "filled.csv"
COMMANDS: Mapping[str, Callable[[ScriptedFiles], tuple[str, ...]]] = {
    "collecting": lambda files: files.collect(SMALL, 0),
    "collecting what is new": lambda files: files.collect(SMALL, 1),
    "grading": lambda files: files.grade(SMALL),
    "regrading": lambda files: files.regrade(SMALL),
    "exporting": lambda files: files.export(SMALL, files.course / FILLED),
}


class Undisturbed(Struct, frozen=True):
    """One command that was not killed."""

    before: Path
    """The course before the command. Do not change it."""
    seconds: float
    code: int
    after: Any
    """Everything that the command left (`state`)."""


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Each command is killed equally often, fifteen or fifty times in total.

    Some are killed twice in one run.
    """
    class_ = scripted_class(STUDENTS)
    files = make_files(tmp_path / "made", class_)
    undisturbed = term(files, class_, tmp_path)
    chance = random.Random(17)
    for name, wanted in undisturbed.items():
        kills, begun, seconds = 0, 0, wanted.seconds
        while kills < OF_COMMANDS // len(COMMANDS):
            shutil.copytree(wanted.before, tmp_path / "killed", symlinks=True)
            copy = ScriptedFiles(tmp_path / "killed", files.downloads)
            for _ in range(chance.choice((1, 1, 2))):
                # At first a command only reads; so later moments are drawn more often.
                moment = chance.triangular(0, 1.1 * seconds, seconds)
                killed = command(copy, name, killed_after=moment).returncode
                assert killed in (-signal.SIGKILL, wanted.code), name
                seconds = seconds if killed < 0 else min(seconds, moment)  # it takes less time than the first
                kills += killed < 0
                begun += killed < 0 and tree(copy.course, ".") != tree(wanted.before, ".")
            assert wanted.code == command(copy, name).returncode, name
            found = state(copy)
            for part in wanted.after:
                assert wanted.after[part] == found[part], (name, part)
            shutil.rmtree(copy.course)
        print(f"{name}: {kills} kills, {begun} of them when files had been changed already")


def term(files: ScriptedFiles, class_: ScriptedClass, folder: Path) -> dict[str, Undisturbed]:
    """Run the course without a kill, and keep a copy from before each command."""
    found = {}
    roster = run("roster", str(files.participants), "--course", str(files.course))
    assert 0 == roster.returncode, roster.stderr
    for name in COMMANDS:
        if name == "regrading":  # of published marks with manual parts
            assert 0 == files.mark(run).imported
            assert 0 == run("feedback", SMALL, "--publish", "--course", str(files.course)).returncode
            files.change_rubric()
        if name == "exporting":
            assert 0 == run("feedback", SMALL, "--course", str(files.course)).returncode
        before = folder / "before" / name
        shutil.copytree(files.course, before, symlinks=True)
        started = time.monotonic()
        code = command(files, name).returncode
        found[name] = Undisturbed(before, time.monotonic() - started, code, state(files))
        assert code == (1 if name.startswith("collecting") else 0), name  # files of unlisted students
    return found


def command(
    files: ScriptedFiles, name: str, *, killed_after: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process."""
    return run(*COMMANDS[name](files), "--course", str(files.course), killed_after=killed_after)


def state(files: ScriptedFiles) -> dict[str, Any]:
    """Return all that must be the same after kills, by part."""
    course, root = Course.from_folder(files.course), files.course
    found: dict[str, Any] = {
        "attempts": tree(root, "submitted", "earlier"),
        "exported": {path.name: path.read_bytes() for path in sorted(root.glob("filled.*"))},
        "files": classroom.files(root),
    }
    if course.gradebook.exists():
        kept = classroom.state(root, SMALL)
        found |= {name: getattr(kept, name) for name in kept.__struct_fields__}
        found["marks, the log and what was agreed"] = final(course, SMALL)
    return found
