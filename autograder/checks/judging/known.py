"""Mistakes that the reference knows: recognised by what they compute, told by the vocabulary.

Shared by the kinds ``decoding``, ``training``, ``memorisation`` and ``gradient``, which ask the reference
with the arguments of each call. It names a mistake by a code without its area; a rubric may say what one is
worth, and put a text of its own in the sentence's place. `oracle` is for references asked about values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.checks.judging.results import Finding
from autograder.checks.options import check_points, check_text
from autograder.errors import RubricError, inside
from autograder.messages import sentences
from autograder.records import Message, Status


class Worth(Struct, frozen=True, forbid_unknown_fields=True):
    """What a known mistake is worth: ``[[question.item.mistake]]`` of these kinds."""

    code: str
    """Without the area."""
    points: Decimal = Decimal(0)
    text: dict[str, str] = {}
    """Instead of the vocabulary's sentence."""


def shared(suspects: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The codes that explain every wrong result, each once, in the order of the reference."""
    first = suspects[0] if suspects else ()
    return tuple(dict.fromkeys(code for code in first if all(code in others for others in suspects)))


def known_mistake(finding: Finding, codes: Sequence[str], area: str, worths: Iterable[Worth]) -> Finding:
    """The finding, told as the known mistake that gives the same results; as it is when there is none.

    Args:
        finding: of an answer that is wrong.
        codes: of the mistakes that give the same results; the first one is told.
        area: of the vocabulary.
        worths: what the rubric says about mistakes; the first one that fits decides.
    """
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


def check_worths(worths: Iterable[Worth], area: str, possible: Decimal, where: str) -> None:
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
