"""Replies of a reference that is an oracle, and the naming of the mistakes that it knows.

An oracle is called with the ``config`` of the question. It replies in this form, and may add facts::

    {"right": …, "mistakes": [{"code": "no-gate", "family": "less", "values": …}, …]}

``values`` is the wrong value that the mistake leads to, in the same form; for a dictionary by entry (for a
table: by row, then by column) it contains only the values that the mistake changes. The codes are those of
sentences ``counting.<code>``; a ``family`` is the code of a sentence about all mistakes of the family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.checks.judging.results import Finding, failed
from autograder.messages import sentences
from autograder.wording import Phrase

MOST_MISTAKES = 200
"""Mistakes of one reply that are read."""
COUNTING = "counting"
"""The area of the vocabulary that has the mistakes in numbers."""


class MistakeValue(Struct, frozen=True):
    """The value that one known mistake leads to."""

    code: str
    family: str
    value: Any


class OracleReply(Struct, frozen=True):
    """The reply of the reference about one value; ``right`` is None if it has none."""

    right: Any = None
    wrong: tuple[MistakeValue, ...] = ()


class KnownValues(Struct, frozen=True):
    """Everything that is known about one value before the answer is read."""

    rights: tuple[Any, ...] = ()
    """Every right value, in the form of the rubric or the reference."""
    wrongs: tuple[MistakeValue, ...] = ()
    """Values that known mistakes lead to."""
    fault: Finding | None = None
    """Why nothing is known; never the student's fault."""
    read: tuple[Any, ...] = ()
    """Further right values, in the form that is compared."""


def read_reply(reply: Any, path: Sequence[str | int] = ()) -> OracleReply:
    """Return the part of a reply about one entry; empty for anything but such a dictionary.

    Args:
        reply: the value that the reference returned.
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
    """Return the finding about the mistakes that all lead to the number in a student's answer.

    A single mistake is named. If several lead to the same number, only their common ground is reported: their
    family, or that there is more than one way to the number. None if no fitting mistake has a sentence.

    Args:
        fitting: the mistakes that lead to the number in the answer.
        staff: text for staff in addition to the codes.
        params: of the sentence.
        has_other_cause: there is another explanation of the number as well, such as a unit.
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
