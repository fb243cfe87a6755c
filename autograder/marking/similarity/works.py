"""Works of students, piece by piece, and the features that are compared."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.core.records import Cell, Markdown
from autograder.marking.similarity import code_features, text_features
from autograder.marking.similarity.code_features import CodeForm, Digest, OwnNames

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
    released: tuple[WorkPiece, ...] = ()
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
    released: frozenset[Digest] = frozenset()
    words: frozenset[str] = frozenset()
    """The student's names and comments, in lower case."""
    whole: bool = True
    """Whether all of it was compared."""


def list_pieces(
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
    pieces = []
    for position, cell in enumerate(cells):
        name = first_of.get(position, cell.grade_id)
        if (isinstance(cell, Cell) and cell.locked) or (position in joined and position not in first_of):
            continue
        source = "\n\n".join(
            cells[answer_position].source for answer_position in answers.get(name, (position,))
        )
        if source.strip():
            piece_name = f"{notebook}/{name}" if name else ""
            pieces.append(
                WorkPiece(piece_name, source, isinstance(cell, Cell), name or f"cell {position + 1}")
            )
    return tuple(pieces)


class FeatureExtractor:
    """Extracts the features of works. Released content is parsed once, however many students received it."""

    def __init__(self) -> None:
        self._given: dict[tuple[WorkPiece, ...], tuple[frozenset[Digest], OwnNames, frozenset[str]]] = {}

    def extract_features(self, work: Work) -> ComparedWork:
        """Return the features of a work. Time and memory are bounded, and no content raises an error."""
        released_digests, given_names, given_words = self._read_released(work.released)
        # A released cell that a student only copied to another position is not the student's work.
        handed = {item.source.strip() for item in work.released}
        read, whole = _parse_pieces(item for item in work.pieces if item.source.strip() not in handed)
        student_names = _collect_names(read)
        names = given_names | student_names
        room, compared_pieces, remarks = code_features.MOST_NODES, [], set[str]()
        for piece, tree in read:
            if piece.is_code:
                form = code_features.extract_form(piece.source, tree, names, room)
                whole = whole and form.whole
                # One limit for all pieces together: many small cells must not exceed it.
                room -= form.nodes
                remarks |= code_features.extract_comments(piece.source)
                compared_pieces.append(ComparedPiece(piece, form.features - released_digests, form))
            else:
                digests = frozenset(item.digest for item in text_features.make_shingles(piece.source))
                compared_pieces.append(ComparedPiece(piece, digests - released_digests))
        words = {item.casefold() for item in student_names.names if len(item) >= _SHORTEST_NAME} | remarks
        return ComparedWork(
            work.student, tuple(compared_pieces), released_digests, frozenset(words - given_words), whole
        )

    def _read_released(
        self, pieces: tuple[WorkPiece, ...]
    ) -> tuple[frozenset[Digest], OwnNames, frozenset[str]]:
        if pieces not in self._given:
            read, _ = _parse_pieces(pieces)
            names, digests, words = _collect_names(read), set[Digest](), set[str]()
            for piece, tree in read:
                if piece.is_code:
                    digests |= code_features.extract_form(piece.source, tree, names).features
                    words |= code_features.extract_comments(piece.source)
                digests |= {item.digest for item in text_features.make_shingles(piece.source)}
            words |= {item.casefold() for item in names.names | names.attributes}
            self._given[pieces] = (frozenset(digests), names, frozenset(words))
        return self._given[pieces]


def _parse_pieces(
    pieces: Iterable[WorkPiece],
) -> tuple[list[tuple[WorkPiece, ast.Module | None]], bool]:
    """Return the pieces with their trees within the limits of size, and whether all were within them."""
    left = {True: code_features.MOST_CHARACTERS, False: text_features.MOST_CHARACTERS}
    parsed, whole = [], True
    for piece in pieces:
        if len(piece.source) > left[piece.is_code]:
            whole = False
            continue
        left[piece.is_code] -= len(piece.source)
        parsed.append((piece, code_features.parse_cell(piece.source) if piece.is_code else None))
    return parsed, whole


def _collect_names(read: Iterable[tuple[WorkPiece, ast.Module | None]]) -> OwnNames:
    return code_features.collect_names(tree for _, tree in read if tree is not None)
