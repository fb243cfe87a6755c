"""Works of students, piece by piece, and the features that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.marking.similarity import code, prose
from autograder.marking.similarity.code import CodeForm, Digest, OwnNames
from autograder.records import Cell, Markdown

_SHORTEST_NAME = 4
"""Minimum length of a name that indicates its author."""


class WorkPiece(Struct, frozen=True):
    """A cell or a file."""

    place: str
    """Name for the comparison with pieces of others: notebook and ``grade_id``, or a file's name. Empty: it
    has no counterpart, as in the case of additional cells."""
    source: str
    is_code: bool
    label: str
    """Display name on a page."""


class Work(Struct, frozen=True):
    """The comparable parts of one student's submission."""

    student: str
    pieces: tuple[WorkPiece, ...]
    given: tuple[WorkPiece, ...] = ()
    """Content released to this student, which does not count as their work."""


class ComparedPiece(Struct, frozen=True):
    """A piece with its digests, without those of released content."""

    piece: WorkPiece
    features: frozenset[Digest]
    form: CodeForm | None = None
    """None for text."""


class ComparedWork(Struct, frozen=True):
    """The features of one student's work."""

    student: str
    pieces: tuple[ComparedPiece, ...]
    given: frozenset[Digest] = frozenset()
    words: frozenset[str] = frozenset()
    """The student's names and comments, in lower case."""
    whole: bool = True
    """Whether all of it was compared."""


def pieces_of(
    notebook: str,
    cells: Sequence[Cell | Markdown],
    answer_cells: Mapping[str, Sequence[int]] = {},
) -> tuple[WorkPiece, ...]:
    """Return the cells of a notebook that may contain a student's work: all except unchanged released ones.

    Args:
        notebook: its name.
        cells: in the order of execution.
        answer_cells: as in `records.Submission`; the cells of one answer are one piece.
    """
    answers = {name: positions for name, positions in answer_cells.items() if len(positions) > 1}
    first_of = {positions[0]: name for name, positions in answers.items()}
    joined = {position for positions in answers.values() for position in positions}
    found = []
    for position, cell in enumerate(cells):
        name = first_of.get(position, cell.grade_id)
        if (isinstance(cell, Cell) and cell.locked) or (position in joined and position not in first_of):
            continue
        source = "\n\n".join(cells[one].source for one in answers.get(name, (position,)))
        if source.strip():
            place = f"{notebook}/{name}" if name else ""
            found.append(WorkPiece(place, source, isinstance(cell, Cell), name or f"cell {position + 1}"))
    return tuple(found)


class Comparing:
    """Extracts the features of works. Released content is parsed once, however many students received it."""

    def __init__(self) -> None:
        self._given: dict[tuple[WorkPiece, ...], tuple[frozenset[Digest], OwnNames, frozenset[str]]] = {}

    def compared(self, work: Work) -> ComparedWork:
        """Return the features of a work. Time and memory are bounded, and no content raises an error."""
        given, given_names, given_words = self._of_given(work.given)
        # A released cell that a student only copied to another position is not the student's work.
        handed = {one.source.strip() for one in work.given}
        read, whole = _read(one for one in work.pieces if one.source.strip() not in handed)
        own = _names(read)
        names = given_names | own
        room, found, remarks = code.MOST_NODES, [], set[str]()
        for piece, blocks in read:
            if piece.is_code:
                form = code.code_form(blocks, names, room)
                whole = whole and form.whole
                # One limit for all pieces together: many small cells must not exceed it.
                room -= form.nodes
                remarks |= code.comments(piece.source)
                found.append(ComparedPiece(piece, form.features - given, form))
            else:
                digests = frozenset(one.digest for one in prose.shingles(piece.source))
                found.append(ComparedPiece(piece, digests - given))
        words = {one.casefold() for one in own.names if len(one) >= _SHORTEST_NAME} | remarks
        return ComparedWork(work.student, tuple(found), given, frozenset(words - given_words), whole)

    def _of_given(self, pieces: tuple[WorkPiece, ...]) -> tuple[frozenset[Digest], OwnNames, frozenset[str]]:
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
    pieces: Iterable[WorkPiece],
) -> tuple[list[tuple[WorkPiece, tuple[code.CodeUnit, ...]]], bool]:
    """Return the pieces with their trees within the limits of size, and whether all were within them."""
    left = {True: code.MOST_CHARACTERS, False: prose.MOST_CHARACTERS}
    found, whole = [], True
    for piece in pieces:
        if len(piece.source) > left[piece.is_code]:
            whole = False
            continue
        left[piece.is_code] -= len(piece.source)
        found.append((piece, code.blocks(piece.source) if piece.is_code else ()))
    return found, whole


def _names(read: Iterable[tuple[WorkPiece, Sequence[code.CodeUnit]]]) -> OwnNames:
    return code.own_names(one.tree for _, blocks in read for one in blocks if one.tree is not None)
