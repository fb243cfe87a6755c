"""What students wrote, piece by piece, and what is compared of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.marking.similarity import code, prose
from autograder.marking.similarity.code import CodeForm, Digest, OwnNames
from autograder.records import Cell, Markdown

_SHORTEST_NAME = 4
"""Letters of a name that says something about who wrote it."""


class WorkPiece(Struct, frozen=True):
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
    pieces: tuple[WorkPiece, ...]
    given: tuple[WorkPiece, ...] = ()
    """What this student was handed out: nothing of it counts as theirs."""


class ComparedPiece(Struct, frozen=True):
    """A piece with its digests, without those of what was handed out."""

    piece: WorkPiece
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


def pieces_of(
    notebook: str,
    cells: Sequence[Cell | Markdown],
    answer_cells: Mapping[str, Sequence[int]] = {},
) -> tuple[WorkPiece, ...]:
    """Return the cells of a notebook that may hold a student's work: all but those taken from the release.

    Args:
        notebook: its name.
        cells: as they are run.
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
    """Makes works comparable. What was handed out is read once, however many students got it."""

    def __init__(self) -> None:
        self._given: dict[tuple[WorkPiece, ...], tuple[frozenset[Digest], OwnNames, frozenset[str]]] = {}

    def compared(self, work: Work) -> ComparedWork:
        """What is compared of a work. Time and memory are bounded, and nothing is raised for its content."""
        given, given_names, given_words = self._of_given(work.given)
        handed = {one.source.strip() for one in work.given}
        read, whole = _read(one for one in work.pieces if one.source.strip() not in handed)
        own = _names(read)
        names = given_names | own
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


def _names(read: Iterable[tuple[WorkPiece, Sequence[code.CodeUnit]]]) -> OwnNames:
    return code.own_names(one.tree for _, blocks in read for one in blocks if one.tree is not None)
