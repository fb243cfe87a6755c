"""Every exception this package raises on purpose.

    AutograderError
    ├── CourseError            a folder, file, secret or setting of the course is missing or unusable
    │   ├── NothingKept        nobody was graded yet, so there is no store to read from
    │   └── SourceError        one archive or folder cannot be collected from; others can
    ├── RubricError            a rubric is not readable, or disagrees with its assignment
    ├── NotebookError          the bytes handed in are not a notebook we can grade
    ├── GradebookError         the store refused, or disagrees with the rubric
    └── SandboxError
        ├── SandboxUnavailable this machine lacks a layer of confinement; carries the remedies
        │   └── PreloadMissing a module that the rubric preloads is not installed: the rubric's error
        ├── SandboxFault       our own infrastructure failed; never the student's fault
        │   ├── BoxLost        a box was ended, and nothing else of ours, by all signs from outside
        │   └── EndedItself    that happened again and again in one submission, perhaps on purpose
        └── BoxEnded           student code ended its box (exit, crash or limit); carries the Ending

Errors about formulas have a tree of their own: `autograder.formulas.errors`.

Messages name the thing, what was expected, what came and what to do.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from autograder.records import Ending

_MOST_TOLD = 300


class AutograderError(Exception):
    """Base of all errors that are foreseen; the command line prints them without a traceback."""


class CourseError(AutograderError):
    """A folder, file, secret or setting of the course is missing or unusable."""


class NothingKept(CourseError):
    """Nobody of a course was graded yet, so there is no store to read from."""


class SourceError(CourseError):
    """One archive or folder cannot be collected from; others can."""


Key = str | int
"""One step into a TOML file: a key of a table, or an entry of a list by its index or by what it is called."""


class Place(str):
    """Where something stands in a TOML file: in words, for messages, and as the keys that lead there.

    Attributes:
        path: keys from the top of the file.
    """

    __slots__ = ("path",)
    path: tuple[Key, ...]

    def __new__(cls, said: str, *path: Key) -> Self:
        """Join the two."""
        made = super().__new__(cls, said)
        made.path = path
        return made

    def at(self, said: str, *keys: Key) -> Place:
        """A place further inside, called by this one's words and more."""
        return Place(f"{self}{said}", *self.path, *keys)


def inside(place: str, said: str, *keys: Key) -> Place:
    """A place further inside of another one, which may be known in words alone."""
    return (place if isinstance(place, Place) else Place(place)).at(said, *keys)


class RubricError(AutograderError):
    """A rubric is not readable, or disagrees with its assignment.

    Attributes:
        path: the keys that lead to what it is about, as far as they are known.
    """

    def __init__(self, message: str, place: str = "", *keys: Key) -> None:
        """Say what is wrong, after where it is.

        Args:
            message: what is wrong.
            place: where; a `Place` brings its keys.
            keys: further ones, from there, which are told as well.
        """
        super().__init__(": ".join([*filter(None, [place]), *map(str, keys), message]))
        self.path: tuple[Key, ...] = (*(place.path if isinstance(place, Place) else ()), *keys)


class NotebookError(AutograderError):
    """The bytes handed in are not a notebook we can grade.

    Attributes:
        code: stable name of the fault, e.g. ``"not-json"``; the folder names of tests/submissions.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class GradebookError(AutograderError):
    """The store of a course refused, or disagrees with the rubric."""


class ServiceError(AutograderError):
    """The service cannot do it: its database, its configuration, or what it was asked for."""


class SandboxError(AutograderError):
    """Base of the errors of the sandbox."""


class SandboxUnavailable(SandboxError):
    """This machine lacks a layer of confinement; the message carries the remedies."""


class PreloadMissing(SandboxUnavailable):
    """A module that a rubric preloads is not there. Said of no other fault: no other isolation would help."""


class SandboxFault(SandboxError):
    """Our own infrastructure failed. The caller retries once, then reports NEEDS_REVIEW."""


class BoxLost(SandboxFault):
    """One box, and nothing else of ours, was ended, by all signs from outside.

    Whoever finds a way to bring the signs about must gain nothing by it, so these are counted for each
    submission.
    """


class EndedItself(SandboxFault):
    """So many boxes of one submission were lost that it may be on purpose: a person decides on all of it."""


class BoxEnded(SandboxError):
    """Student code ended its box: it exited, crashed, broke the protocol or met a limit."""

    def __init__(self, ending: Ending, detail: str = "") -> None:
        super().__init__(f"{ending.value}{': ' + detail if detail else ''}")
        self.ending = ending
        self.detail = detail


class Unplaced(SandboxError):
    """A limit was met in one of several cells, and nobody can say in which."""


def describe_error(error: BaseException) -> str:
    """What happened, for staff, on one line: a foreseen error's text; another's type, text and place.

    Nothing is raised, whatever the error is.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - not ours, and only its text is missing
        text = "(its text cannot be read)"
    text = "".join(char if char.isprintable() else " " for char in text[:_MOST_TOLD]).strip()
    if isinstance(error, AutograderError):
        return text
    places = [
        (frame.f_globals.get("__name__", "?"), line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    # The innermost of ours tells more than the depths of a library.
    ours = [place for place in places if str(place[0]).startswith("autograder.")] or places
    where = " (in {}, line {})".format(*ours[-1]) if ours else ""
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
