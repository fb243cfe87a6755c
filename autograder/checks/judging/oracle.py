"""What a reference that is an oracle replies, and how a mistake is named that it knows.

An oracle is asked about values, with the ``config`` of the question, or with the arguments of each call of
the student's. Every oracle replies in one form, with further facts of its kind beside these two::

    {"right": …, "mistakes": [{"code": "no-gate", "family": "less", "values": …}, …]}

``values`` is what the mistake makes of what is right, in the same form; of a dictionary by entry (of a table:
by row, then by column) it holds only what the mistake changes. The codes are those of sentences
``<area>.<code>``; a ``family`` is the code of a sentence about all mistakes of its sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.judging.results import Finding, failed
from autograder.checks.options import check_points, check_text
from autograder.errors import RubricError, inside
from autograder.messages import sentences
from autograder.records import Message, Status
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


class MistakeWorth(Struct, frozen=True, forbid_unknown_fields=True):
    """What a known mistake is worth: ``[[question.item.mistake]]`` of kinds that ask about each call."""

    code: str
    """Without the area."""
    points: Decimal = Decimal(0)
    text: dict[str, str] = {}
    """Instead of the vocabulary's sentence."""


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


def matching_mistakes(reply: Any, came: Callable[[Any], bool]) -> list[str]:
    """The codes of the mistakes that give what came from the student, in the order of the reference.

    Args:
        reply: of the oracle, about the same call.
        came: whether a mistake's ``values`` are what came.
    """
    return [wrong.code for wrong in read_reply(reply).wrong if came(wrong.value)]


def known_mistake(
    finding: Finding, found: Sequence[Sequence[str]], area: str, worths: Iterable[MistakeWorth]
) -> Finding:
    """The finding, told as the known mistake that explains every wrong result; as it is when there is none.

    Args:
        finding: of an answer that is wrong.
        found: of each wrong result the codes of the mistakes that give the same; see `matching_mistakes`.
        area: of the vocabulary.
        worths: what the rubric says about mistakes; the first one that fits decides.
    """
    first = found[0] if found else ()
    codes = tuple(dict.fromkeys(code for code in first if all(code in others for others in found)))
    if finding.status is not Status.FAILED:
        return finding
    stated = next((worth for worth in worths if worth.code in codes), None)
    told = [code for code in codes if f"{area}.{code}" in sentences()]
    if stated is None and not told:
        return finding
    code = stated.code if stated is not None else told[0]
    text = dict(stated.text) if stated is not None else {}
    message = Message(f"{area}.{code}", {"what": finding.message.params.get("what", "")}, text)
    also = f"; the same as {', '.join(codes)}"
    points = max(stated.points, finding.points) if stated is not None else finding.points
    return msgspec.structs.replace(finding, message=message, staff=finding.staff + also, points=points)


def check_worths(worths: Iterable[MistakeWorth], area: str, possible: Decimal, where: str) -> None:
    """Refuse mistakes that nobody knows, that are worth too much, or whose text lacks English.

    Raises:
        RubricError: names question, item and mistake.
    """
    known = [code.removeprefix(f"{area}.") for code in sentences() if code.startswith(f"{area}.")]
    for worth in worths:
        at = inside(where, f", mistake {worth.code!r}", "mistake", worth.code)
        if worth.code not in known:
            raise RubricError(f"not known; known are: {', '.join(sorted(known))}", at)
        check_points(worth.points, abs(possible), at.at(": points", "points"))
        if worth.text:
            check_text(worth.text, at, ("what",))


def _has_sentences(one: MistakeValue) -> bool:
    return all(f"{COUNTING}.{code}" in sentences() for code in (one.code, one.family))


def _entry(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
