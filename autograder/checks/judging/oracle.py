"""What a reference that is an oracle replies, and how a mistake is named that it knows.

An oracle is called with the ``config`` of the question. It replies in this form, and may add facts::

    {"right": …, "mistakes": [{"code": "no-gate", "family": "less", "values": …}, …]}

``values`` is what the mistake makes of what is right, in the same form; of a dictionary by entry (of a table:
by row, then by column) it holds only what the mistake changes. The codes are those of sentences
``counting.<code>``; a ``family`` is the code of a sentence about all mistakes of its sort.
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


class MistakeValue(Struct, frozen=True):
    """What one known mistake makes of a value."""

    code: str
    family: str
    value: Any


class OracleReply(Struct, frozen=True):
    """What the reference says about one value; ``right`` is None where it says nothing."""

    right: Any = None
    wrong: tuple[MistakeValue, ...] = ()


class KnownValues(Struct, frozen=True):
    """What is known about one value before the answer is read."""

    rights: tuple[Any, ...] = ()
    """Every right value, as the rubric or the reference has it."""
    wrongs: tuple[MistakeValue, ...] = ()
    """What known mistakes lead to."""
    fault: Finding | None = None
    """Why nothing is known; never the student's fault."""
    read: tuple[Any, ...] = ()
    """Further right values, in the form that is compared."""


def read_reply(reply: Any, path: Sequence[str | int] = ()) -> OracleReply:
    """What a reply says about one entry; anything else than such a dictionary says nothing.

    Args:
        reply: what the reference returned.
        path: the keys that lead to the entry; empty: the whole value.
    """
    if not isinstance(reply, Mapping):
        return OracleReply()
    mistakes = reply.get("mistakes")
    found = mistakes[:MOST_MISTAKES] if isinstance(mistakes, list | tuple) else ()
    wrong = (
        MistakeValue(one["code"], str(one.get("family", "")), value)
        for one in found
        if isinstance(one, Mapping) and isinstance(one.get("code"), str)
        if (value := _entry(one.get("values"), path)) is not None
    )
    return OracleReply(_entry(reply.get("right"), path), tuple(wrong))


def mistake_finding(
    fitting: Iterable[MistakeValue],
    staff: str,
    params: Mapping[str, Phrase],
    *,
    others: bool,
) -> Finding | None:
    """The sentence about the mistakes that all lead to the number a student gave.

    One mistake is named. Where several lead to the same number, only what they have in common is said: their
    family, or that there is more than one way to it. None when none fits that has a sentence.

    Args:
        fitting: the mistakes whose number was given.
        staff: what staff reads besides the codes.
        params: of the sentence.
        others: something else explains the number as well, such as a unit.
    """
    found = {one.code: one.family for one in fitting if _has_sentences(one)}
    if not found:
        return None
    families = set(found.values())
    code = "several"
    if not others and len(families) == 1:
        code = next(iter(found)) if len(found) == 1 else families.pop()
    return failed(f"{COUNTING}.{code}", f"{staff}; fits: {', '.join(sorted(found))}", **params)


def _has_sentences(one: MistakeValue) -> bool:
    return all(f"{COUNTING}.{code}" in sentences() for code in (one.code, one.family))


def _entry(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
