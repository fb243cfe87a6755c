"""Outcomes of a check, and the student's values that it has observed so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Wrong(AssertionError):
    """The answer is wrong. The message is for staff; students read the check's title, or its ``told=``."""

    def __init__(self, message: str = "", *, share: float = 0.0, told: str | Mapping[str, str] = "") -> None:
        """Describe the mistake.

        Args:
            message: for staff; may contain hidden values.
            share: of the check's points that the answer still earns, from 0 to below 1.
            told: the text for students instead of the check's ``told=``, in every language of the assignment.
                Everything in it is shown to them, hidden values included.

        Raises:
            TypeError: `told` is neither a text nor a dictionary of texts.
        """
        super().__init__(message)
        self.share = share
        texts = {"en": told} if isinstance(told, str) else dict(told)
        if not all(isinstance(part, str) for pair in texts.items() for part in pair):
            raise TypeError(f"Wrong: told: expected a text, or {{'en': …, 'de': …}}, got {told!r}")
        self.told: dict[str, str] = {language: text for language, text in texts.items() if text}


class Unclear(Exception):
    """The check cannot decide: the item needs manual review."""


class MissingName(AttributeError):
    """The student's notebook does not define a name that a check uses."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the notebook does not define {name!r}")
        self.missing = name


class UnreadableFile(Exception):
    """A file of the student's is not what its name says. Students read its path, and the line in a table."""

    def __init__(self, path: str, reason: str) -> None:
        """Describe the problem.

        Args:
            path: of the file; ``path:line`` if one line is wrong.
            reason: for staff; may contain contents of the file.
        """
        super().__init__(f"{path} cannot be read: {reason}")
        self.path = path


class MissingFile(UnreadableFile):
    """There is no such file next to the student's notebook."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such file")


# A BaseException, so that a check that catches exceptions of the student's code does not catch it.
class DiffersFromStudent(BaseException):
    """A mutant has compared another value than the student's code: it is not the student's mistake."""


class Observations:
    """The student's values that a check has compared, in their order."""

    def __init__(self, is_next: Callable[[int, Any], bool] | None) -> None:
        self.values: list[Any] = []
        self.expected: list[Any] = []
        """The values that they were compared with; `NOTHING` if there was none."""
        self._is_next = is_next

    def add(self, value: Any, expected: Any) -> None:
        """Record a value.

        Raises:
            DiffersFromStudent: it may not be the next one.
        """
        if self._is_next is not None and not self._is_next(len(self.values), value):
            raise DiffersFromStudent
        self.values.append(value)
        self.expected.append(expected)


NOTHING: Any = object()
_current: ContextVar[Observations | None] = ContextVar("observations", default=None)


@contextmanager
def collect_observations(is_next: Callable[[int, Any], bool] | None = None) -> Iterator[Observations]:
    """Collect the student's values that are compared in the block; they identify mutants.

    Args:
        is_next: decides whether a value may be observed at an index; None: any.

    Raises:
        DiffersFromStudent: one may not.
    """
    observations = Observations(is_next)
    token = _current.set(observations)
    try:
        yield observations
    finally:
        _current.reset(token)


def observe_value(value: Any, expected: Any = NOTHING) -> None:
    """Record a value of the student's that a check compares, and the expected one."""
    observations = _current.get()
    if observations is not None:
        observations.add(value, expected)
