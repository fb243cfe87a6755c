"""How a check ends, and what it has seen of the student's values so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Wrong(AssertionError):
    """The answer is wrong. The message is for staff; students read the check's title, or its ``told=``."""

    def __init__(self, message: str = "", *, share: float = 0.0) -> None:
        """Describe what is wrong.

        Args:
            message: for staff; may contain hidden values.
            share: of the check's points that the answer still earns, from 0 to below 1.
        """
        super().__init__(message)
        self.share = share


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
        """Describe what is wrong.

        Args:
            path: of the file; ``path:line`` if one line is wrong.
            reason: for staff; may contain what stands in the file.
        """
        super().__init__(f"{path} cannot be read: {reason}")
        self.path = path


class MissingFile(UnreadableFile):
    """There is no such file beside the student's notebook."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such file")


class DiffersFromStudent(BaseException):
    """A mutant has compared another value than the student's code: it is not the student's mistake."""


class _Observations:
    def __init__(self, is_next: Callable[[int, Any], bool] | None) -> None:
        self.values: list[Any] = []
        self._is_next = is_next

    def add(self, value: Any) -> None:
        if self._is_next is not None and not self._is_next(len(self.values), value):
            raise DiffersFromStudent
        self.values.append(value)


_current: ContextVar[_Observations | None] = ContextVar("observations", default=None)


@contextmanager
def observing(is_next: Callable[[int, Any], bool] | None = None) -> Iterator[list[Any]]:
    """Collect the student's values that are compared meanwhile; mutants are recognised by them.

    Args:
        is_next: says whether a value may be observed at an index; None: any.

    Raises:
        DiffersFromStudent: one may not.
    """
    observations = _Observations(is_next)
    token = _current.set(observations)
    try:
        yield observations.values
    finally:
        _current.reset(token)


def observe(value: Any) -> None:
    """Note a value of the student's that a check compares."""
    observations = _current.get()
    if observations is not None:
        observations.add(value)
