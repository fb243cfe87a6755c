"""All exceptions that this package raises on purpose.

    AutograderError
    ├── CourseError            a folder, file, secret or setting of the course is missing or unusable
    │   ├── StoreMissing       no submission was graded yet, so there is no store to read from
    │   └── SourceError        one archive or folder cannot be read; the others still can
    ├── RubricError            a rubric is not readable, or disagrees with its assignment
    ├── NotebookError          the submitted bytes are not a notebook that can be graded
    ├── GradebookError         the store refused an operation, or disagrees with the rubric
    └── SandboxError
        ├── SandboxUnavailable this machine lacks a layer of confinement; the message names the remedies
        │   └── PreloadMissing a module that the rubric preloads is not installed: the rubric's error
        ├── SandboxFault       our own infrastructure failed; never the student's fault
        │   ├── BoxLost        one box was ended, apparently from outside; no other process of ours was
        │   └── RepeatedBoxLoss one submission lost boxes repeatedly, perhaps on purpose
        └── BoxEnded           student code ended its box (exit, crash or limit); carries the Ending

Errors about formulas have a separate tree: `autograder.formulas.errors`.

A message names the object, the expected value, the actual value and the remedy. One that people can meet on
a page comes from the catalogue, in every language: ``CourseError(build_localised_text("fault.…"))``. Then
``str(error)`` is English, for logs and the command line, and `AutograderError.text` has all languages.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Self

from autograder.core.wording import LocalisedText, Phrase, join_phrases

if TYPE_CHECKING:
    from autograder.core.records import Ending

# Characters of an error's text that the line for staff keeps.
_MOST_TOLD = 300


class AutograderError(Exception):
    """Base class of all expected errors; the command line prints them without a traceback."""

    @property
    def text(self) -> Phrase:
        """The message for pages: in every language if it comes from the catalogue, otherwise in English."""
        first = self.args[0] if self.args else ""
        return first if isinstance(first, LocalisedText) else str(self)


class CourseError(AutograderError):
    """A folder, file, secret or setting of the course is missing or unusable."""


class StoreMissing(CourseError):
    """No submission of the course was graded yet, so there is no store to read from."""


class SourceError(CourseError):
    """One archive or folder cannot be read; the others still can."""


TomlStep = str | int
"""One step into a TOML file: a key of a table, or an entry of a list by its index or its name."""


# A str subclass, so that functions which only need the text accept either.
class Place(str):
    """A position in a TOML file: its description for messages, and the keys that lead to it.

    Attributes:
        path: keys from the top of the file.
    """

    __slots__ = ("path",)
    path: tuple[TomlStep, ...]

    def __new__(cls, description: str, *path: TomlStep) -> Self:
        """Create a place from its description and its keys."""
        place = super().__new__(cls, description)
        place.path = path
        return place

    def extend(self, description: str, *keys: TomlStep) -> Place:
        """Return a place below this one, with both descriptions joined."""
        return Place(f"{self}{description}", *self.path, *keys)


def extend_place(place: str, description: str, *keys: TomlStep) -> Place:
    """Return a place below another one, which may be a plain description without keys."""
    return (place if isinstance(place, Place) else Place(place)).extend(description, *keys)


class RubricError(AutograderError):
    """A rubric is not readable, or disagrees with its assignment.

    Attributes:
        path: the keys that lead to the error, as far as they are known.
        message: the error without its place, for forms, which show the field.
    """

    def __init__(self, message: Phrase, place: str = "", *keys: TomlStep) -> None:
        """Put the place in front of the message.

        Args:
            message: the error.
            place: its position; a `Place` contributes its keys.
            keys: further keys below that place; the message shows them as well.
        """
        super().__init__(join_phrases([*filter(None, [place]), *map(str, keys), message], ": "))
        self.message = message
        self.path: tuple[TomlStep, ...] = (*(place.path if isinstance(place, Place) else ()), *keys)


class NotebookError(AutograderError):
    """The submitted bytes are not a notebook that can be graded.

    Attributes:
        code: stable name of the fault, e.g. ``"not-json"``; the folder names of tests/submissions.
    """

    def __init__(self, code: str, message: Phrase) -> None:
        super().__init__(message)
        self.code = code


class GradebookError(AutograderError):
    """The store of a course refused an operation, or disagrees with the rubric."""


class ServiceError(AutograderError):
    """The service cannot do it, because of its database, its configuration or the request."""


class SandboxError(AutograderError):
    """Base class of the errors of the sandbox."""


class SandboxUnavailable(SandboxError):
    """This machine lacks a layer of confinement; the message names the remedies."""


class PreloadMissing(SandboxUnavailable):
    """A module that a rubric preloads is not installed. Another isolation would not help."""


class SandboxFault(SandboxError):
    """Our own infrastructure failed. The caller retries once, then reports NEEDS_REVIEW."""


class BoxLost(SandboxFault):
    """One box was ended, apparently from outside, and no other process of ours.

    These losses are counted for each submission: student code that can fake them must not gain by it.
    """


class RepeatedBoxLoss(SandboxFault):
    """One submission lost so many boxes that it may be on purpose: all of it needs manual review."""


class BoxEnded(SandboxError):
    """Student code ended its box: it exited, crashed, broke the protocol or met a limit."""

    def __init__(self, ending: Ending, detail: str = "") -> None:
        super().__init__(f"{ending.value}{': ' + detail if detail else ''}")
        self.ending = ending
        self.detail = detail


def describe_error(error: BaseException) -> str:
    """Describe an error for staff on one line.

    An expected error gives its text; any other its type, text and the position in our code. Never raises,
    whatever the error is.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a foreign class may have any __str__; only its text is lost
        text = "(its text cannot be read)"
    # One line without control characters: the text may come from student code and ends up in logs and
    # terminals.
    text = "".join(char if char.isprintable() else " " for char in text[:_MOST_TOLD]).strip()
    if isinstance(error, AutograderError):
        return text
    frame_positions = [
        (frame.f_globals.get("__name__", "?"), line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    # The innermost frame of ours is more useful than one deep inside a library.
    ours = [
        frame_position
        for frame_position in frame_positions
        if str(frame_position[0]).startswith("autograder.")
    ] or frame_positions
    location = " (in {}, line {})".format(*ours[-1]) if ours else ""
    return f"{type(error).__name__}: {text}{location}" if text else f"{type(error).__name__}{location}"
