"""What a reference that is an oracle says: what is right, and which numbers known mistakes lead to.

A question with a ``config`` calls its reference with it. The reference then returns a dictionary::

    {"right": …, "mistakes": [{"code": "no-gate", "family": "less", "values": …}, …]}

``right`` and ``values`` have one form: a value, or a dictionary of them by entry (of a table: by row, then by
column). ``values`` holds only what the mistake changes. The codes are sentences ``<area>.<code>``; the area
is that of the kind, for most of them ``counting``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.checks.judging.results import Finding, failed
from autograder.messages import sentences
from autograder.wording import Phrase

MOST_MISTAKES = 200
COUNTING = "counting"
"""The area of the vocabulary with the mistakes of numbers."""


class Wrong(Struct, frozen=True):
    """What one known mistake makes of a value."""

    code: str
    """Of a sentence about this mistake."""
    family: str
    """Of a sentence about all mistakes of its sort."""
    value: Any


class Said(Struct, frozen=True):
    """What the reference says about one value; ``right`` is None where it says nothing."""

    right: Any = None
    wrong: tuple[Wrong, ...] = ()


class Known(Struct, frozen=True):
    """What is known about one value before the answer is read."""

    rights: tuple[Any, ...] = ()
    """Every right value, as the rubric or the reference has it."""
    wrongs: tuple[Wrong, ...] = ()
    """What known mistakes lead to."""
    fault: Finding | None = None
    """Why nothing is known; never the student's fault."""
    read: tuple[Any, ...] = ()
    """Further right values, in the form that is compared."""


def said(answer: Any, path: Sequence[str | int], area: str = COUNTING) -> Said:
    """What an oracle says about one entry.

    Args:
        answer: what the reference returned; anything else than such a dictionary says nothing.
        path: the keys that lead to the entry; empty: the whole value.
        area: of the vocabulary, where mistakes have their sentences.
    """
    if not isinstance(answer, Mapping):
        return Said()
    mistakes = answer.get("mistakes")
    found = mistakes[:MOST_MISTAKES] if isinstance(mistakes, list | tuple) else ()
    wrong = [_wrong(mistake, path, area) for mistake in found if isinstance(mistake, Mapping)]
    return Said(_entry(answer.get("right"), path), tuple(one for one in wrong if one is not None))


def named(
    fitting: Iterable[Wrong],
    staff: str,
    params: Mapping[str, Phrase],
    *,
    others: bool,
    area: str = COUNTING,
) -> Finding | None:
    """The sentence about the mistakes that all lead to the number a student gave.

    One mistake is named. Where several lead to the same number, only what they have in common is said: their
    family, or that there is more than one way to it. None when none fits, or the area has no sentence for it.

    Args:
        fitting: the mistakes whose number was given.
        staff: what staff reads besides the codes.
        params: of the sentence.
        others: something else explains the number as well, such as a unit.
        area: of the vocabulary, where the mistakes have their sentences.
    """
    found = {one.code: one.family for one in fitting}
    if not found:
        return None
    families = set(found.values())
    code = "several"
    if not others and len(families) == 1:
        code = next(iter(found)) if len(found) == 1 else families.pop()
    if f"{area}.{code}" not in sentences():
        return None
    return failed(f"{area}.{code}", f"{staff}; fits: {', '.join(sorted(found))}", **params)


def _wrong(mistake: Mapping[Any, Any], path: Sequence[str | int], area: str) -> Wrong | None:
    """The mistake, where it changes the entry and has its sentences."""
    code, family = mistake.get("code"), mistake.get("family")
    value = _entry(mistake.get("values"), path)
    if value is None or f"{area}.{code}" not in sentences() or f"{area}.{family}" not in sentences():
        return None
    return Wrong(str(code), str(family), value)


def _entry(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
