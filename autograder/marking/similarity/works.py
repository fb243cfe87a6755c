"""What students wrote, piece by piece, and what is compared of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.marking.similarity import code, prose
from autograder.marking.similarity.code import CodeForm, Digest, OwnNames
from autograder.records import Cell, Markdown

_SHORTEST_NAME = 4
"""Letters of a name that says something about who wrote it."""


class Piece(Struct, frozen=True):
    """A cell or a file."""

    place: str
    """Under which it is compared with those of others: notebook and ``grade_id``, or a file's name. Empty:
    it has no counterpart, as a student's own further cells."""
    source: str
    is_code: bool
    label: str
    """How it is called on a page."""


class Work(Struct, frozen=True):
    """Everything that one student handed in and that can be compared."""

    student: str
    pieces: tuple[Piece, ...]
    given: tuple[Piece, ...] = ()
    """What this student was handed out: nothing of it counts as theirs."""


class ComparedPiece(Struct, frozen=True):
    """A piece with its digests, without those of what was handed out."""

    piece: Piece
    features: frozenset[Digest]
    form: CodeForm | None = None
    """None of text."""


class ComparedWork(Struct, frozen=True):
    """What is compared of one student."""

    student: str
    pieces: tuple[ComparedPiece, ...]
    given: frozenset[Digest] = frozenset()
    words: frozenset[str] = frozenset()
    """Names and comments of one's own, in lower case."""
    whole: bool = True
    """All of it was looked at."""


def pieces_of(notebook: str, cells: Sequence[Cell | Markdown]) -> tuple[Piece, ...]:
    """The cells of a notebook that may hold a student's work: all but those taken from the release."""
    found = []
    for number, cell in enumerate(cells, 1):
        if (isinstance(cell, Cell) and cell.locked) or not cell.source.strip():
            continue
        place = f"{notebook}/{cell.grade_id}" if cell.grade_id else ""
        label = cell.grade_id or f"cell {number}"
        found.append(Piece(place, cell.source, isinstance(cell, Cell), label))
    return tuple(found)


class Comparing:
    """Makes works comparable. What was handed out is read once, however many students got it."""

    def __init__(self) -> None:
        self._given: dict[tuple[Piece, ...], tuple[frozenset[Digest], OwnNames, frozenset[str]]] = {}

    def compared(self, work: Work) -> ComparedWork:
        """What is compared of a work. Time and memory are bounded, and nothing is raised for its content."""
        given, given_names, given_words = self._of_given(work.given)
        read, whole = _read(work.pieces)
        names = given_names | _names(read)
        room, found, remarks = code.MOST_NODES, [], set[str]()
        for piece, blocks in read:
            if piece.is_code:
                form = code.code_form(blocks, names, room)
                whole = whole and form.whole
                room -= form.nodes
                remarks |= code.comments(piece.source)
                found.append(ComparedPiece(piece, form.features - given, form))
            else:
                digests = frozenset(one.digest for one in prose.shingles(piece.source))
                found.append(ComparedPiece(piece, digests - given))
        own = {one.casefold() for one in _names(read).names if len(one) >= _SHORTEST_NAME}
        return ComparedWork(work.student, tuple(found), given, frozenset((own | remarks) - given_words), whole)

    def _of_given(
        self, pieces: tuple[Piece, ...]
    ) -> tuple[frozenset[Digest], OwnNames, frozenset[str]]:
        if pieces not in self._given:
            read, _ = _read(pieces)
            names, digests, words = _names(read), set[Digest](), set[str]()
            for piece, blocks in read:
                if piece.is_code:
                    digests |= code.code_form(blocks, names).features
                    words |= code.comments(piece.source)
                digests |= {one.digest for one in prose.shingles(piece.source)}
            words |= {one.casefold() for one in names.names | names.attributes}
            self._given[pieces] = (frozenset(digests), names, frozenset(words))
        return self._given[pieces]


def _read(
    pieces: Iterable[Piece],
) -> tuple[list[tuple[Piece, tuple[code.CodeBlock, ...]]], bool]:
    """The pieces with their trees, as far as there is room, and whether there was for all of them."""
    left = {True: code.MOST_CHARACTERS, False: prose.MOST_CHARACTERS}
    found, whole = [], True
    for piece in pieces:
        if len(piece.source) > left[piece.is_code]:
            whole = False
            continue
        left[piece.is_code] -= len(piece.source)
        found.append((piece, code.blocks(piece.source) if piece.is_code else ()))
    return found, whole


def _names(read: Iterable[tuple[Piece, Sequence[code.CodeBlock]]]) -> OwnNames:
    return code.own_names(one.tree for _, blocks in read for one in blocks if one.tree is not None)


def features_by_place(work: ComparedWork) -> Mapping[str, frozenset[Digest]]:
    """What is compared of each piece that has a counterpart."""
    return {one.piece.place: one.features for one in work.pieces if one.piece.place and one.features}
