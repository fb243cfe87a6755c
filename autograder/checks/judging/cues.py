"""Cues that a question looks for in written answers: what graders are told beforehand, never points.

A cue is a regular expression of the rubric, so that an error in it can make a search endless. Every search
has a limited text and a limited time: what is not found in time is not told, and a person looks anyway.
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
"""A cue that occurs more often is not counted further."""
_LATE, _NO_HEADING = "it took too long", "no heading of its own in the answer"

ExpectedCount = Annotated[int, msgspec.Meta(ge=0, le=99)] | Literal["some"]
Span = tuple[int, int]


class Cue(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that graders look for in a text."""

    id: str
    text: dict[str, str]
    """What graders read: what it is, in a few words."""
    pattern: str
    """A regular expression. Capitals do not matter; ``^`` and ``$`` are the ends of lines."""


class CueSearch(Struct, frozen=True):
    """What one item looks for, and where."""

    cues: Mapping[str, ExpectedCount] = {}
    """How often each cue must occur in the item's part."""
    order: tuple[str, ...] = ()
    """Cues that must occur in this order."""
    part: str = ""
    """The pattern of the part's heading; empty: the whole text."""
    others: tuple[str, ...] = ()
    """The headings of other items' parts of the same text."""


class CueMatch(Struct, frozen=True):
    """What is told of one cue, or of the order of several."""

    cues: tuple[Cue, ...]
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
            pick: chooses the language of a cue's text.
        """
        texts = " → ".join(pick(cue.text) for cue in self.cues) or "nothing is told"
        return f"in this order: {texts}" if len(self.cues) > 1 else texts


def cues_of(question: Question) -> dict[str, Cue]:
    """The cues that a question states, by id.

    Raises:
        RubricError: a table is not as it must be, two cues have one id, or a pattern cannot be used.
    """
    tables = question.options.get("cue", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RubricError("expected tables, each below [[question.cue]]", place(question), "cue")
    cues: dict[str, Cue] = {}
    for number, table in enumerate(tables):
        where = place(question).at(f", cue {number + 1}", "cue", number)
        cue = convert(table, Cue, where)
        check_text(cue.text, where)
        if cue.id in cues:
            raise RubricError(f"{cue.id!r} stands twice", where, "id")
        check_pattern(cue.pattern, where.at(": pattern", "pattern"))
        cues[cue.id] = cue
    return cues


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


def find_cues(text: str, sought: CueSearch, cues: Mapping[str, Cue]) -> tuple[CueMatch, ...]:
    """What an answer shows of the cues that an item asks for.

    Args:
        text: the whole answer; looked at up to `prose.MOST` characters.
        sought: what is looked for, all of it stated in ``cues``.
        cues: the question's.
    """
    text = text[:MOST]
    own = _part(text, sought)
    if not own:
        return (CueMatch((), None, _NO_HEADING if own == [] else _LATE),)
    spans = {name: _found(cues[name].pattern, text, own) for name in sought.cues}
    told = [_counted(cues[name], wanted, spans[name]) for name, wanted in sought.cues.items()]
    if sought.order:
        in_order = [spans[name] for name in sought.order]
        late = None in in_order
        holds = None if late else _ordered([found or () for found in in_order])
        told.append(CueMatch(tuple(cues[name] for name in sought.order), holds, _LATE if late else ""))
    return tuple(told)


def _counted(cue: Cue, wanted: ExpectedCount, spans: Sequence[Span] | None) -> CueMatch:
    if spans is None:
        return CueMatch((cue,), None, _LATE)
    number = len(spans)
    if wanted == "some":
        return CueMatch((cue,), number > 0, "", tuple(spans))
    right = f"exactly {wanted}" if wanted else "none, as it should be"
    note = right if number == wanted else f"{number} found, expected {wanted or 'none'}"
    return CueMatch((cue,), number == wanted, note, tuple(spans))


def _ordered(found: Iterable[Sequence[Span]]) -> bool:
    """Whether one of each stands behind one of the one before it."""
    last = -1
    for spans in found:
        behind = [start for start, _ in spans if start > last]
        if not behind:
            return False
        last = min(behind)
    return True


def _part(text: str, sought: CueSearch) -> list[Span] | None:
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
