"""Limits that an exception mentions: reading it never raises, whatever the exception does."""

from __future__ import annotations

import errno
import itertools
import socket
from urllib.error import URLError

import pytest

from autograder.core.records import LimitKind
from autograder.sandbox.inside.limit_hints import AGAIN, find_reported_limits


def chained(*errors: BaseException) -> BaseException:
    """Return the first error, raised from the second, and so on."""
    for error, cause in itertools.pairwise(errors):
        error.__cause__ = cause
    return errors[0]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, []),
        (ValueError("No space left on device"), []),
        (OSError(errno.ENOSPC, "x"), ["disk"]),
        (OSError(errno.EDQUOT, "x"), ["disk"]),
        (OSError(errno.EFBIG, "x"), ["disk"]),
        (OSError(errno.EMFILE, "x"), ["descriptors"]),
        (OSError(errno.ENFILE, "the whole machine's, not the box's"), []),
        (OSError(errno.ENOMEM, "x"), ["memory"]),
        (BlockingIOError(errno.EAGAIN, "x"), [AGAIN]),
        (OSError("no number"), []),
        (MemoryError(), ["memory"]),
        (RuntimeError("can't start new thread"), ["processes"]),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), ["memory"]),
        (RuntimeError("unable to write: No space left on device (28)"), ["disk"]),
        (RuntimeError("something else"), []),
        (chained(ValueError("a"), OSError(errno.EMFILE, "b")), ["descriptors"]),
        (chained(MemoryError(), ValueError("a"), OSError(errno.ENOSPC, "b")), ["memory", "disk"]),
        (chained(MemoryError(), MemoryError()), ["memory"]),
        (socket.gaierror(-3, "Temporary failure in name resolution"), ["network"]),
        (URLError("x"), ["network"]),
        (chained(OSError("We couldn't connect"), socket.gaierror(-2, "x")), ["network"]),
        (OSError("We couldn't connect to 'https://huggingface.co' to load the files"), ["network"]),
        (PermissionError(errno.EACCES, "x", "a/file"), []),
        (PermissionError(errno.EACCES, "x"), []),
        (ConnectionError("between processes of the box"), []),
    ],
)
def test_an_exception_in_words(error: BaseException | None, words: list[str]) -> None:
    """The words are its own class and those of its causes."""
    assert words == find_reported_limits(error)
    assert set(words) <= {met.value for met in LimitKind} | {AGAIN}


def test_an_exception_raised_while_another_was_handled_is_followed() -> None:
    """Both exceptions have met a limit."""
    error = MemoryError()
    error.__context__ = OSError(errno.ENOSPC, "x")
    assert ["memory", "disk"] == find_reported_limits(error)


def test_a_ring_of_causes_ends() -> None:
    """A cyclic chain of causes is followed only a few times."""
    first, second = OSError(errno.ENOSPC, "x"), MemoryError()
    first.__cause__, second.__cause__ = second, first
    assert ["disk", "memory"] == find_reported_limits(first)


class Hostile(RuntimeError):
    """An exception that exits when it is inspected."""

    def __str__(self) -> str:
        raise SystemExit

    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise KeyboardInterrupt


class Odd(OSError):
    """An exception with an errno that is not a number."""

    errno = property(lambda self: {}[0])  # type: ignore[assignment]


@pytest.mark.parametrize("error", [Hostile(), Odd()])
def test_a_hostile_exception_says_nothing(error: BaseException) -> None:
    """Errors raised while it is inspected are not passed on."""
    assert [] == find_reported_limits(error)
