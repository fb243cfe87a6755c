"""Signs that a question looks for in written answers: what graders are told beforehand, never points.

A sign is a regular expression of the rubric, so that a slip in it can make a search endless. Every search has
a limited text and a limited time: what is not found in time is not told, and a person looks anyway.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from autograder.checks.options import check_text, place
from autograder.checks.values.prose import MOST
from autograder.errors import RubricError
from autograder.rubric import Question
from autograder.tables import convert

SECONDS = 0.1
"""Processor time for one search, so that a busy machine does not cut it short."""
_MOST_FOUND = 100
"""A sign that occurs more often is not counted further."""
_LATE, _NO_HEADING = "it took too long", "no heading of its own in the answer"

Wanted = Annotated[int, msgspec.Meta(ge=0, le=99)] | Literal["some"]
Span = tuple[int, int]


class Sign(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that graders look for in a text."""

    id: str
    text: dict[str, str]
    """What graders read: what it is, in a few words."""
    pattern: str
    """A regular expression. Capitals do not matter; ``^`` and ``$`` are the ends of lines."""


class Sought(Struct, frozen=True):
    """What one item looks for, and where."""

    signs: Mapping[str, Wanted] = {}
    """How often each sign must occur in the item's part."""
    order: tuple[str, ...] = ()
    """Signs that must occur in this order."""
    part: str = ""
    """The pattern of the part's heading; empty: the whole text."""
    others: tuple[str, ...] = ()
    """The headings of other items' parts of the same text."""


class Sighting(Struct, frozen=True):
    """What is told of one sign, or of the order of several."""

    signs: tuple[Sign, ...]
    """None where nothing can be told of any."""
    holds: bool | None
    """None: it was not told in time, or the item has no part in the text."""
    note: str = ""
    """In English, as everything for staff that is no text of the rubric."""
    spans: tuple[Span, ...] = ()
    """Where it stands in the text."""

    def said(self, pick: Callable[[Mapping[str, str]], str]) -> str:
        """What it is about, in words.

        Args:
            pick: chooses the language of a sign's text.
        """
        texts = " → ".join(pick(sign.text) for sign in self.signs) or "nothing is told"
        return f"in this order: {texts}" if len(self.signs) > 1 else texts


def signs_of(question: Question) -> dict[str, Sign]:
    """The signs that a question states, by id.

    Raises:
        RubricError: a table is not as it must be, two signs have one id, or a pattern cannot be used.
    """
    tables = question.options.get("sign", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RubricError("expected tables, each below [[question.sign]]", place(question), "sign")
    signs: dict[str, Sign] = {}
    for number, table in enumerate(tables):
        where = place(question).at(f", sign {number + 1}", "sign", number)
        sign = convert(table, Sign, where)
        check_text(sign.text, where)
        if sign.id in signs:
            raise RubricError(f"{sign.id!r} stands twice", where, "id")
        check_pattern(sign.pattern, where.at(": pattern", "pattern"))
        signs[sign.id] = sign
    return signs


def check_pattern(pattern: str, where: str) -> None:
    """Refuse what is no regular expression, or is found where nothing stands.

    Raises:
        RubricError: names the place.
    """
    import regex

    try:
        empty = next(_matches(pattern, "", SECONDS), None)
    except regex.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise RubricError(f"expected a regular expression: {error.msg}{at}", where) from error
    except (RecursionError, TimeoutError) as error:
        raise RubricError("this regular expression is too deep or too slow", where) from error
    if empty:
        raise RubricError("it is found in an empty text as well, so it tells nothing", where)


def look(text: str, sought: Sought, signs: Mapping[str, Sign]) -> tuple[Sighting, ...]:
    """What an answer shows of the signs that an item asks for.

    Args:
        text: the whole answer; looked at up to `prose.MOST` characters.
        sought: what is looked for, all of it stated in ``signs``.
        signs: the question's.
    """
    text = text[:MOST]
    own = _part(text, sought)
    if not own:
        return (Sighting((), None, _NO_HEADING if own == [] else _LATE),)
    spans = {name: _found(signs[name].pattern, text, own) for name in sought.signs}
    told = [_counted(signs[name], wanted, spans[name]) for name, wanted in sought.signs.items()]
    if sought.order:
        in_order = [spans[name] for name in sought.order]
        late = None in in_order
        holds = None if late else _ordered([found or () for found in in_order])
        told.append(Sighting(tuple(signs[name] for name in sought.order), holds, _LATE if late else ""))
    return tuple(told)


def _counted(sign: Sign, wanted: Wanted, spans: Sequence[Span] | None) -> Sighting:
    if spans is None:
        return Sighting((sign,), None, _LATE)
    number = len(spans)
    if wanted == "some":
        return Sighting((sign,), number > 0, "", tuple(spans))
    right = f"exactly {wanted}" if wanted else "none, as it should be"
    note = right if number == wanted else f"{number} found, expected {wanted or 'none'}"
    return Sighting((sign,), number == wanted, note, tuple(spans))


def _ordered(found: Iterable[Sequence[Span]]) -> bool:
    """Whether one of each stands behind one of the one before it."""
    last = -1
    for spans in found:
        behind = [start for start, _ in spans if start > last]
        if not behind:
            return False
        last = min(behind)
    return True


def _part(text: str, sought: Sought) -> list[Span] | None:
    """Where an item's part of a text stands: from its heading to the next one, as often as there is one.

    Nothing where it has no heading in the text; None where that could not be told in time.
    """
    if not sought.part:
        return [(0, len(text))]
    headings: list[tuple[Span, bool]] = []
    for pattern in (sought.part, *sought.others):
        found = _found(pattern, text, [(0, len(text))])
        if found is None:
            return None
        headings += [(span, pattern == sought.part) for span in found]
    headings.sort()
    starts = [*(start for (start, _), _ in headings), len(text)]
    return [
        (stop, end) for ((_, stop), own), end in zip(headings, starts[1:], strict=True) if own and stop < end
    ]


def _found(pattern: str, text: str, places: Sequence[Span]) -> tuple[Span, ...] | None:
    """Where a pattern stands inside some places of a text; None where time runs out."""
    found: list[Span] = []
    ends = time.process_time() + SECONDS
    try:
        for start, end in places:
            left = max(ends - time.process_time(), SECONDS / 100)
            matches = itertools.islice(_matches(pattern, text[start:end], left), _MOST_FOUND - len(found))
            found += [(start + match.start(), start + match.end()) for match in matches]
    except TimeoutError:
        return None
    return tuple(found)


def _matches(pattern: str, text: str, seconds: float) -> Iterator[Any]:
    # Python's own module knows no limit of time. Loaded where it is needed, to keep commands fast.
    import regex

    found: Iterator[Any] = regex.finditer(pattern, text, regex.IGNORECASE | regex.MULTILINE, timeout=seconds)
    return found
