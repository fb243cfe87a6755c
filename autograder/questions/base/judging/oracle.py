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

from autograder.core.wording import Phrase
from autograder.messages import load_sentences
from autograder.questions.base.judging.results import Finding, make_failure

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
    entries = mistakes[:MOST_MISTAKES] if isinstance(mistakes, list | tuple) else ()
    wrong = (
        MistakeValue(entry["code"], str(entry.get("family", "")), value)
        for entry in entries
        if isinstance(entry, Mapping) and isinstance(entry.get("code"), str)
        if (value := _get_entry(entry.get("values"), path)) is not None
    )
    return OracleReply(_get_entry(reply.get("right"), path), tuple(wrong))


def find_mistake(
    fitting: Iterable[MistakeValue],
    staff: str,
    params: Mapping[str, Phrase],
    *,
    has_other_cause: bool,
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
    families_by_code = {mistake.code: mistake.family for mistake in fitting if _has_sentences(mistake)}
    if not families_by_code:
        return None
    families = set(families_by_code.values())
    code = "several"
    if not has_other_cause and len(families) == 1:
        code = next(iter(families_by_code)) if len(families_by_code) == 1 else families.pop()
    return make_failure(
        f"{COUNTING}.{code}", f"{staff}; fits: {', '.join(sorted(families_by_code))}", **params
    )


def _has_sentences(mistake: MistakeValue) -> bool:
    return all(f"{COUNTING}.{code}" in load_sentences() for code in (mistake.code, mistake.family))


def _get_entry(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
