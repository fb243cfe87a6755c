"""A regrade to be killed: ``python -m tests.survival.regrading folder [step before|after]``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.app import class_regrade, course_log, regrade_journal
from autograder.app.stores import RehearsalStore
from autograder.core import atomic
from autograder.course import Course
from autograder.store.gradebook import Gradebook, marks, results
from tests.support.regraded_class import NAME

STEPS: Mapping[str, tuple[Any, str]] = {
    "keeping what was computed": (RehearsalStore, "record_results"),
    "writing a file": (atomic, "write_bytes"),
    "preparing the gradebook": (Gradebook, "prepare_assignment"),
    "beginning the run": (Gradebook, "start_run"),
    "recording": (Gradebook, "record_results"),
    "writing the marks": (Gradebook, "_write_marks"),
    "writing a result": (results, "keep_results"),
    "giving a mark": (marks, "write_mark"),
    "agreeing to change what was shown": (regrade_journal, "write_published"),
    "writing the log": (course_log, "append_entry"),
    "forgetting the rehearsal": (RehearsalStore, "remove_all"),
}
CHOICE = class_regrade.RegradeChoice(apply=True, published=True, reason="13 was right as well.")


def _arm(step: str, *, after: bool) -> None:
    owner, name = STEPS[step]
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        if after:
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, wrapped)


def main() -> None:
    """Regrade; if a step is given, be killed before or after it."""
    folder, *step = sys.argv[1:]
    if step:
        _arm(step[0], after=step[1] == "after")
    class_regrade.regrade_class(Course.from_folder(Path(folder)), NAME, choice=CHOICE, workers=1)


if __name__ == "__main__":
    main()
