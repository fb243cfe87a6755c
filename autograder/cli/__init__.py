"""The command line: what is typed, what is printed, and the exit codes."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from autograder.app.beginning import Begun

__all__ = ["main"]

_LOOKED_AFTER = 100_000
"""Python looks for cycles after so many new objects; by itself after 700."""


def main() -> None:
    """The entry point. A class is begun before the commands are imported, since its sandbox takes longest."""
    # Looking for cycles among the many records of a class takes a fifth of a run, and finds hardly any.
    gc.set_threshold(_LOOKED_AFTER, 20, 20)
    try:
        begun = _begun(sys.argv[1:])
    except KeyboardInterrupt:
        from autograder.cli import app

        app.interrupted()
    from autograder.cli import app

    try:
        app.main(begun)
    except SystemExit as ended:
        if begun is None or not isinstance(ended.code, int):
            raise
        _leave(ended.code)


def _leave(code: int) -> NoReturn:
    """End at once: to take apart all that was imported takes longer than to grade a submission."""
    with contextlib.suppress(OSError):  # whoever read our output has seen enough
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _begun(words: Sequence[str]) -> Begun | None:
    """The class to grade, where no more is said than which; what is wrong with it is told later."""
    if words[:1] != ["grade"] or len(words) not in {2, 4} or words[1].startswith("-"):
        return None
    if words[2:3] not in ([], ["--course"]):
        return None
    from autograder.app import Isolation, launched, open_course
    from autograder.errors import AutograderError

    pool = launched(Isolation.NAMESPACES)
    from autograder.app.beginning import begin_grading

    try:
        return begin_grading(open_course(Path(*words[3:])), words[1], pool=pool)
    except AutograderError:
        pool.close()
        return None
