"""Declarations at the top level of a file of checks.

The grader reads these calls from the source (`autograder.checking.check_parser`), so that it never imports a
file of checks itself. At run time they only reject errors that Python itself would not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., None])
Text = str | Mapping[str, str]
"""A sentence, or one for each language: ``{"en": …, "de": …}``."""
Points = int | float
CHECK_SECONDS = 10.0
"""Default processor time of a check. An endless loop uses it up in two checks of a question; right answers to
the shipped assignments take less than a fifth of it."""


def check(
    *,
    points: Points,
    title: Text,
    parts: Sequence[str] | Mapping[str, Any] | None = None,
    needs: str | Sequence[str] = (),
    carry: str | Sequence[str] = (),
    told: Text = "",
    seconds: float = CHECK_SECONDS,
) -> Callable[[F], F]:
    """Make a function an item of the question: ``def name(student, reference, draw)``.

    It passes if it returns, and fails if it raises `Wrong` or an ``AssertionError``. All arguments are
    literals.

    Args:
        points: of the item; a deduction for wrong answers if they are negative.
        title: the item's text for students.
        parts: call the function once for each, with a fourth argument ``part``, and share the points among
            them; a dictionary gives each name its argument.
        needs: checks without which this one earns nothing.
        carry: functions of earlier questions that the answer may call. If the check fails, it is run again
            in a fresh sandbox with the solution's functions instead, and earns its points if it passes.
        told: the text for students if it fails, instead of the title.
        seconds: of processor time, the student's code included.
    """
    del points, title, parts, needs, carry, told, seconds

    def decorate(function: F) -> F:
        return function

    return decorate


def fault(
    old: str = "",
    new: str = "",
    *,
    points: Points,
    title: Text,
    edits: Sequence[tuple[str, str]] = (),
    needs: str | Sequence[str] = (),
    told: Text = "",
    seconds: float = CHECK_SECONDS,
) -> Callable[[F], F]:
    """Plant a fault in the solution, and make a function the check that it is repaired.

    The function checks a property: true of every right answer, however it is written, and false while this
    fault is there, whatever other faults are left. ``python -m autograder.checking`` runs it on all sets of
    faults.

    Args:
        old: occurs exactly once in the solution.
        new: replaces it in the listing that students get.
        points: of the item.
        title: the item's text for students.
        edits: several pairs of old and new text, instead of `old` and `new`.
        needs: see `check`.
        told: see `check`.
        seconds: see `check`.
    """
    del old, new, edits
    return check(points=points, title=title, needs=needs, told=told, seconds=seconds)


def probe(function: F) -> F:
    """Make a function look for defects other than the planted faults: ``def name(student, reference, draw)``.

    It fails if an answer computes another result than the solution. If it fails although all faults are
    repaired, staff read a remark; nothing is deducted.
    """
    return function


def solution(
    file: str = "", *, source: str = "", given: str = "", names: Mapping[str, str] | None = None
) -> None:
    """Declare the right answer: a file next to the folder of checks, or its source.

    Checks get it as ``reference``; mutants are edits of it.

    Args:
        file: such as ``"attention.py"``.
        source: instead of a file.
        given: the source before the answer in the notebook, if the answer needs it.
        names: name that students use → name in the solution, if they differ.
    """
    if bool(file) == bool(source):
        raise TypeError("solution: expected a file or a source")
    del given, names


def mutant(
    name: str,
    old: str = "",
    new: str = "",
    *,
    edits: Sequence[tuple[str, str]] = (),
    title: Text = "",
    points: Mapping[str, Points] | None = None,
    loses: str | Sequence[str] | None = None,
) -> None:
    """Declare a common mistake as an edit of the solution.

    Students with the same values as the mutant read its title and earn its points. ``autograder verify``
    grades it: it must lose at least one item.

    Args:
        name: a short description.
        old: occurs exactly once in the solution.
        new: replaces it.
        edits: several pairs of old and new text, instead of `old` and `new`.
        title: names the mistake for students.
        points: check → points that it still earns with this mistake.
        loses: the checks that it fails, all of them; default: at least one.
    """
    del name, old, new, edits, title, points, loses


def planted(
    name: str, source: str, *, loses: str | Sequence[str] = (), review: str | Sequence[str] = ()
) -> None:
    """Declare an answer for ``autograder verify`` to grade.

    Args:
        name: a short description.
        source: of the answer's cell.
        loses: the checks that it must fail, all of them; none: it is right.
        review: the checks that must not decide, so that the answer needs manual review.
    """
    del name, source, loses, review


def forbid(*names: str) -> None:
    """Forbid functions, classes or modules: an answer that uses one of them loses every item."""
    del names
