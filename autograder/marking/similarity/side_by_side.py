"""Show two works side by side, with the lines and words that both have in common; the staff page of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from markupsafe import Markup, escape
from msgspec import Struct

from autograder.marking.similarity import text_features
from autograder.marking.similarity.code_features import Digest
from autograder.marking.similarity.pairs import AlikePair, Weights, to_percent
from autograder.marking.similarity.works import ComparedPiece, ComparedWork
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.pages.feedback.template_rendering import fill_template
from autograder.questions.base.values.prose import merge_spans
from autograder.rubric import Rubric

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


class AlignedRow(Struct, frozen=True):
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


def arrange_works(
    left_work: ComparedWork, right_work: ComparedWork, weights: Weights
) -> tuple[AlignedRow, ...]:
    """Return the pieces in which two works are similar.

    Equal statements have the same number on both sides, the largest first; a statement inside a marked one is
    not marked again. In texts, all words in a shingle of both works are marked.

    Args:
        left_work: the work on the left.
        right_work: the work on the right.
        weights: of the class, to recognise common features.
    """
    left, right = _find_stretches(left_work, right_work, weights)
    shared = _find_shared_shingles(left_work, right_work)
    shown = [
        {
            index: _mark_piece(
                piece, [stretch for stretch in work_stretches if stretch.piece == index], shared, weights
            )
            for index, piece in enumerate(work.pieces)
        }
        for work, work_stretches in ((left_work, left), (right_work, right))
    ]
    return tuple(_arrange_rows(left_work.pieces, right_work.pieces, *shown))


def _arrange_rows(
    first: Sequence[ComparedPiece],
    second: Sequence[ComparedPiece],
    left: Mapping[int, ShownPiece | None],
    right: Mapping[int, ShownPiece | None],
) -> Iterable[AlignedRow]:
    """Pair pieces of the same place; those without a counterpart follow."""
    places = {piece.piece.place: index for index, piece in enumerate(second) if piece.piece.place}
    used = set[int]()
    for index, piece in enumerate(first):
        # -1 is no index of a piece, so it matches no work on the right.
        partner = places.get(piece.piece.place, -1)
        used.add(partner)
        if left[index] is not None or right.get(partner) is not None:
            yield AlignedRow(left[index], right.get(partner))
    unpaired = [
        right[index] for index in range(len(second)) if index not in used and right[index] is not None
    ]
    yield from (AlignedRow(None, piece_shown) for piece_shown in unpaired)


def _find_stretches(
    left_work: ComparedWork, right_work: ComparedWork, weights: Weights
) -> tuple[list[_Stretch], list[_Stretch]]:
    places = [_locate_statements(work) for work in (left_work, right_work)]
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
        for positions, kept, lines in zip(free, chosen, taken, strict=True):
            for piece, first, last, _ in positions:
                kept.append(_Stretch(piece, first, last, number, weights.is_common(digest)))
                lines |= {(piece, line) for line in range(first, last + 1)}
    return chosen


def _locate_statements(work: ComparedWork) -> dict[Digest, list[tuple[int, int, int, int]]]:
    """Map digests of statements to piece, first and last line, and size; without released content."""
    positions: dict[Digest, list[tuple[int, int, int, int]]] = {}
    for index, piece in enumerate(work.pieces):
        for statement in piece.form.statements if piece.form else ():
            if (
                statement.nodes >= _LEAST_NODES
                and statement.digest not in work.released
                and statement.last <= _MOST_LINES
            ):
                positions.setdefault(statement.digest, []).append(
                    (index, statement.first, statement.last, statement.nodes)
                )
    return positions


def _find_shared_shingles(left_work: ComparedWork, right_work: ComparedWork) -> frozenset[Digest]:
    """Return the shingles of both works."""
    digests = [
        set().union(*(piece.features for piece in work.pieces if piece.form is None))
        for work in (left_work, right_work)
    ]
    return frozenset(digests[0] & digests[1])


def _mark_piece(
    piece: ComparedPiece, stretches: Sequence[_Stretch], shared: frozenset[Digest], weights: Weights
) -> ShownPiece | None:
    """Mark a piece; None if it has nothing in common."""
    if piece.form is None:
        return _mark_text(piece, shared, weights)
    if not stretches:
        return None
    lines = piece.piece.source[:_MOST_CHARACTERS].split("\n")[:_MOST_LINES]
    stretch_by_line = {
        line: stretch_of_line
        for stretch_of_line in stretches
        for line in range(stretch_of_line.first, stretch_of_line.last + 1)
    }
    parts = [
        _mark_line(line, stretch_by_line.get(line_number), line_number)
        for line_number, line in enumerate(lines, 1)
    ]
    return ShownPiece(
        to_printable_text(piece.piece.label, 200),
        Markup("\n").join([*parts, *_describe_cut(piece, sum(map(len, lines)) + len(lines) - 1)]),
        tuple(sorted({stretch_of_line.number for stretch_of_line in stretches})),
    )


def _mark_line(line: str, stretch: _Stretch | None, line_number: int) -> Markup:
    # printable_text spells out control characters, escape neutralises markup: both are needed.
    text = escape(to_printable_text(line, _LONGEST_LINE))
    if stretch is None:
        return text
    colour = "common" if stretch.common else f"c{stretch.number % COLOURS}"
    name = Markup("<sup>{}</sup>").format(stretch.number) if line_number == stretch.first else ""
    return Markup('<mark class="{}">{}{}</mark>').format(colour, name, text)


def _mark_text(piece: ComparedPiece, shared: frozenset[Digest], weights: Weights) -> ShownPiece | None:
    text = piece.piece.source[:_MOST_CHARACTERS]
    shared_shingles = [shingle for shingle in text_features.make_shingles(text) if shingle.digest in shared]
    rare = [
        (shingle.start, shingle.end) for shingle in shared_shingles if not weights.is_common(shingle.digest)
    ]
    if not shared_shingles:
        return None
    spans = [(*span, "c0") for span in merge_spans(rare)]
    parts, end = [], 0
    for start, stop, colour in spans:
        parts += [
            escape(to_printable_text(text[end:start], _MOST_CHARACTERS)),
            Markup('<mark class="{}">{}</mark>').format(colour, to_printable_text(text[start:stop])),
        ]
        end = stop
    parts.append(escape(to_printable_text(text[end:], _MOST_CHARACTERS)))
    shown = Markup("").join([*parts, *_describe_cut(piece, len(text))])
    return ShownPiece(to_printable_text(piece.piece.label, 200), shown, ())


def _describe_cut(piece: ComparedPiece, shown: int) -> list[Markup]:
    left = len(piece.piece.source) - shown
    return [Markup("… ({} more characters)").format(left)] if left > 0 else []


_KINDS = {"all": "everything", "code": "all code", "text": "all texts"}
_MOST_PARTS = 8


class _WorkOfPair(Struct, frozen=True):
    """One of the two students."""

    name: str
    link: str


class _ShownPair(Struct, frozen=True):
    """A pair on the page."""

    first: _WorkOfPair
    second: _WorkOfPair
    percent: int
    """Position of the pair between the usual similarity and identity, in percent."""
    share: int
    parts: tuple[str, ...]
    words: tuple[str, ...]
    rows: tuple[AlignedRow, ...]


def render_similar(
    rubric: Rubric,
    works: Mapping[str, ComparedWork],
    pairs: Sequence[AlikePair],
    weights: Weights,
    *,
    remarks: Sequence[str] = (),
) -> str:
    """Render the page. Student texts are escaped, and it runs one script, to sort.

    Args:
        rubric: the common one.
        works: by student.
        pairs: to show, the most similar first.
        weights: of the class.
        remarks: about works that were not compared, a sentence each.
    """
    name = rubric.assignment.name
    shown = [_make_shown_pair(name, pair, works, weights) for pair in pairs]
    return fill_template(
        "similar.html",
        title=Labels("en").pick(rubric.assignment.title, name),
        students=len(works),
        pairs=shown,
        remarks=[to_printable_text(remark, 2_000) for remark in remarks],
        colours=range(COLOURS),
        sortable=True,
    )


def _make_shown_pair(
    name: str,
    pair: AlikePair,
    works: Mapping[str, ComparedWork],
    weights: Weights,
) -> _ShownPair:
    first, second = pair.students
    return _ShownPair(
        _make_side(name, first),
        _make_side(name, second),
        *pair.percents,
        tuple(
            f"{to_printable_text(_KINDS.get(part.name, part.name), 200)} {to_percent(part.share)} %"
            for part in pair.parts[:_MOST_PARTS]
        ),
        tuple(to_printable_text(word, 200) for word in pair.words),
        arrange_works(works[first], works[second], weights),
    )


def _make_side(name: str, student: str) -> _WorkOfPair:
    """Return a student, with a link to the student's page."""
    link = f"../feedback/{quote(student)}/{quote(name)}/{quote(name)}.html"
    return _WorkOfPair(to_printable_text(student, 200), link)
