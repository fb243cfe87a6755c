"""Show two works side by side, with the lines and words that both have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from autograder.checks.values.prose import apart
from autograder.feedback.sanitise import printable_text
from autograder.marking.similarity import prose
from autograder.marking.similarity.code import Digest
from autograder.marking.similarity.pairs import Weights
from autograder.marking.similarity.works import ComparedPiece, ComparedWork

COLOURS = 6
_LEAST_NODES = 4
"""Minimum size of a marked statement, in nodes."""
_MOST_BLOCKS = 200
_MOST_LINES = 400
_MOST_CHARACTERS = 20_000
"""Maximum length of a displayed piece."""
_LONGEST_LINE = 400


class ShownPiece(Struct, frozen=True):
    """A piece with its common parts marked, as safe markup."""

    label: str
    text: Markup
    blocks: tuple[int, ...]
    """Numbers of the marked blocks in it."""


class BesideRow(Struct, frozen=True):
    """Pieces to show side by side; one of them may be missing."""

    first: ShownPiece | None
    second: ShownPiece | None


class _Stretch(Struct, frozen=True):
    """Lines of a piece that also occur, possibly modified, in the other work."""

    piece: int
    first: int
    last: int
    number: int
    common: bool
    """Whether many of the class have it."""


def beside(one: ComparedWork, other: ComparedWork, weights: Weights) -> tuple[BesideRow, ...]:
    """Return the pieces in which two works are similar.

    Equal statements have the same number on both sides, the largest first; a statement inside a marked one is
    not marked again. In texts, all words in a shingle of both works are marked.

    Args:
        one: the work on the left.
        other: the work on the right.
        weights: of the class, to recognise common features.
    """
    left, right = _stretches(one, other, weights)
    shared = _shared(one, other)
    shown = [
        {
            at: _shown(piece, [stretch for stretch in found if stretch.piece == at], shared, weights)
            for at, piece in enumerate(work.pieces)
        }
        for work, found in ((one, left), (other, right))
    ]
    return tuple(_rows(one.pieces, other.pieces, *shown))


def _rows(
    first: Sequence[ComparedPiece],
    second: Sequence[ComparedPiece],
    left: Mapping[int, ShownPiece | None],
    right: Mapping[int, ShownPiece | None],
) -> Iterable[BesideRow]:
    """Pair pieces of the same place; those without a counterpart follow."""
    places = {piece.piece.place: at for at, piece in enumerate(second) if piece.piece.place}
    used = set[int]()
    for at, piece in enumerate(first):
        # -1 is no index of a piece, so it matches no work on the right.
        partner = places.get(piece.piece.place, -1)
        used.add(partner)
        if left[at] is not None or right.get(partner) is not None:
            yield BesideRow(left[at], right.get(partner))
    rest = [right[at] for at in range(len(second)) if at not in used and right[at] is not None]
    yield from (BesideRow(None, one) for one in rest)


def _stretches(
    one: ComparedWork, other: ComparedWork, weights: Weights
) -> tuple[list[_Stretch], list[_Stretch]]:
    places = [_places(work) for work in (one, other)]
    shared = places[0].keys() & places[1].keys()
    sizes = {digest: places[0][digest][0][3] for digest in shared}
    chosen: tuple[list[_Stretch], list[_Stretch]] = ([], [])
    taken: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
    number = 0
    # Largest first: their lines are then taken, so that nested statements are not marked again.
    for digest in sorted(shared, key=lambda name: (-sizes[name], places[0][name][0])):
        free = [
            [place for place in side[digest] if (place[0], place[1]) not in lines]
            for side, lines in zip(places, taken, strict=True)
        ]
        if not free[0] or not free[1] or number >= _MOST_BLOCKS:
            continue
        number += 1
        for found, kept, lines in zip(free, chosen, taken, strict=True):
            for piece, first, last, _ in found:
                kept.append(_Stretch(piece, first, last, number, weights.is_common(digest)))
                lines |= {(piece, line) for line in range(first, last + 1)}
    return chosen


def _places(work: ComparedWork) -> dict[Digest, list[tuple[int, int, int, int]]]:
    """Map digests of statements to piece, first and last line, and size; without released content."""
    found: dict[Digest, list[tuple[int, int, int, int]]] = {}
    for at, piece in enumerate(work.pieces):
        for one in piece.form.statements if piece.form else ():
            if one.nodes >= _LEAST_NODES and one.digest not in work.given and one.last <= _MOST_LINES:
                found.setdefault(one.digest, []).append((at, one.first, one.last, one.nodes))
    return found


def _shared(one: ComparedWork, other: ComparedWork) -> frozenset[Digest]:
    """Return the shingles of both works."""
    digests = [
        set().union(*(piece.features for piece in work.pieces if piece.form is None)) for work in (one, other)
    ]
    return frozenset(digests[0] & digests[1])


def _shown(
    piece: ComparedPiece, stretches: Sequence[_Stretch], shared: frozenset[Digest], weights: Weights
) -> ShownPiece | None:
    """Mark a piece; None if it has nothing in common."""
    if piece.form is None:
        return _shown_text(piece, shared, weights)
    if not stretches:
        return None
    lines = piece.piece.source[:_MOST_CHARACTERS].split("\n")[:_MOST_LINES]
    of = {line: one for one in stretches for line in range(one.first, one.last + 1)}
    parts = [_line(line, of.get(at), at) for at, line in enumerate(lines, 1)]
    return ShownPiece(
        printable_text(piece.piece.label, 200),
        Markup("\n").join([*parts, *_cut(piece, sum(map(len, lines)) + len(lines) - 1)]),
        tuple(sorted({one.number for one in stretches})),
    )


def _line(line: str, stretch: _Stretch | None, at: int) -> Markup:
    # printable_text spells out control characters, escape neutralises markup: both are needed.
    text = escape(printable_text(line, _LONGEST_LINE))
    if stretch is None:
        return text
    colour = "common" if stretch.common else f"c{stretch.number % COLOURS}"
    name = Markup("<sup>{}</sup>").format(stretch.number) if at == stretch.first else ""
    return Markup('<mark class="{}">{}{}</mark>').format(colour, name, text)


def _shown_text(piece: ComparedPiece, shared: frozenset[Digest], weights: Weights) -> ShownPiece | None:
    text = piece.piece.source[:_MOST_CHARACTERS]
    found = [one for one in prose.shingles(text) if one.digest in shared]
    rare = [(one.start, one.end) for one in found if not weights.is_common(one.digest)]
    if not found:
        return None
    spans = [(*span, "c0") for span in apart(rare)]
    parts, end = [], 0
    for start, stop, colour in spans:
        parts += [
            escape(printable_text(text[end:start], _MOST_CHARACTERS)),
            Markup('<mark class="{}">{}</mark>').format(colour, printable_text(text[start:stop])),
        ]
        end = stop
    parts.append(escape(printable_text(text[end:], _MOST_CHARACTERS)))
    shown = Markup("").join([*parts, *_cut(piece, len(text))])
    return ShownPiece(printable_text(piece.piece.label, 200), shown, ())


def _cut(piece: ComparedPiece, shown: int) -> list[Markup]:
    left = len(piece.piece.source) - shown
    return [Markup("… ({} more characters)").format(left)] if left > 0 else []
