"""Written answers of a class, cell by cell: the author of each, and groups of equal answers.

A group is identified by its cell and its text alone, up to trivial differences: its name is the same on every
page and after every run, even if students join or leave the group. Marks are stored by this name, so it also
depends on the course's secret: without the secret it is impossible to look for another text with the same
name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from autograder.core.records import (
    Cell,
    CellRun,
    ExecutedNotebook,
    GradingResult,
    Markdown,
    PastedPicture,
    Status,
)
from autograder.core.stream import derive_key
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question

_BYTES = 16
"""Length of a group's name."""


class MarkedCell(Struct, frozen=True):
    """Cell with items that are marked by hand."""

    question: Question
    name: str
    """Its ``grade_id``."""
    items: tuple[Item, ...]
    whole: bool
    """The complete cell is marked by hand, so that equal answers can share one mark."""
    secret: bytes = b""
    """The course's secret; without it groups have no names."""

    def collect_answers(self, results: Sequence[GradingResult]) -> dict[str, str]:
        """Return the written answers by student, without students who wrote nothing."""
        item_cell = self.items[0].cell
        names = (item_cell,) if item_cell else (self.question.answer_cell, self.question.id)
        return {
            graded.score.student: _read_source(graded, self.question, names)
            for graded in results
            if self._has_written(graded)
        }

    def name_group(self, text: str) -> str:
        """Return the name of the group of answers that a text belongs to.

        Empty if no mark can be given to a group: pictures are not part of the text, markers read only so much
        of one, and an answer that is also judged by checks, or asked of each student differently, may earn
        other points for the same text.
        """
        if not (self.secret and self._is_nameable(text)):
            return ""
        # The notebook's and cell's names keep equal short answers to different questions apart.
        form = prose.to_canonical(text).encode("utf-8", "surrogatepass")
        purpose = ("equal answers", self.question.notebook, self.name)
        return derive_key(self.secret, *purpose, form)[:_BYTES].hex()

    def _is_nameable(self, text: str) -> bool:
        """Decide whether equal texts can have one mark."""
        # A picture is not part of the text, and of a very long text markers see only the beginning.
        return self.whole and bool(text.strip()) and "attachment:" not in text and len(text) <= prose.MOST

    def _has_written(self, graded: GradingResult) -> bool:
        """Decide whether there is something to mark: an item that grading left to manual review."""
        names = {item.id for item in self.items}
        relevant = (
            result
            for result in graded.score.items
            if result.question == self.question.id and result.item in names
        )
        return any(result.status is not Status.NO_ANSWER for result in relevant)


def get_answer_text(graded: GradingResult, question: Question, item: Item) -> str:
    """Return the text that an item judges; empty if there is none."""
    item_cell = item.cell if item.manual else ""
    return _read_source(graded, question, (item_cell,) if item_cell else (question.answer_cell, question.id))


def find_cells_about(notebook: ExecutedNotebook, names: Collection[str]) -> range:
    """Return the positions of an answer's cells, from first to last, and of the code cells around them.

    The student's own cells have no name; they contain the plots and output for an answer.

    Args:
        notebook: notebook as it was run.
        names: names of the answer's cells.
    """
    positions = {position for name in names for position in notebook.find_positions(name)}
    if not positions:
        return range(0)
    first, last = min(positions), max(positions)
    while first > 0 and _is_unnamed(notebook.cells[first - 1]):
        first -= 1
    while last + 1 < len(notebook.cells) and _is_unnamed(notebook.cells[last + 1]):
        last += 1
    return range(first, last + 1)


def _is_unnamed(cell: Cell | Markdown) -> bool:
    """Decide whether a cell is the student's own code."""
    return isinstance(cell, Cell) and not cell.grade_id


def list_runs_about(notebook: ExecutedNotebook, names: Collection[str]) -> Iterator[CellRun]:
    """Yield the results of the cells of `find_cells_about` that were run."""
    places = find_cells_about(notebook, names)
    yield from (run for run in notebook.runs[places.start : places.stop] if run is not None)


def find_pictures(graded: GradingResult, question: Question, cell: str) -> tuple[PastedPicture, ...]:
    """Return the pictures that a student attached to an answer or pasted into it.

    Args:
        graded: result of grading.
        question: question that is answered.
        cell: cell that contains the answer; empty, or the question's id: its answer cell.
    """
    names = (question.answer_cell, question.id) if cell in {"", question.id} else (cell,)
    notebooks = [notebook for notebook in graded.notebooks if notebook.name == question.notebook]
    candidates = (
        (*notebook.get_pictures(name), *_list_further_pictures(notebook, name))
        for name in names
        for notebook in notebooks
    )
    # The first name with pictures: both names may denote the same cell.
    return tuple(next(filter(None, candidates), ()))


def _list_further_pictures(notebook: ExecutedNotebook, name: str) -> Iterator[PastedPicture]:
    """Yield the pictures in further texts of an answer."""
    for position in notebook.further.get(name, ()):
        cell = notebook.cells[position]
        yield from cell.pictures if isinstance(cell, Markdown) else ()


def _read_source(graded: GradingResult, question: Question, names: Sequence[str]) -> str:
    """Return a student's text for the first of these answers, with further texts; empty if there is none."""
    for name in names:
        for notebook in graded.notebooks:
            cells = [notebook.cells[position] for position in notebook.find_positions(name)]
            if question.file:  # a locked cell carries its points, not an answer
                cells = [cell for cell in cells if not (isinstance(cell, Cell) and cell.locked)]
            if cells and notebook.name == question.notebook:
                further = (
                    f"[Further text of the student, cell {position + 1}, which belongs to no answer:]\n\n"
                    f"{notebook.cells[position].source}"
                    for position in notebook.further.get(name, ())
                )
                return "\n\n".join((*(cell.source for cell in cells), *further))
    return next((file.text for file in graded.files if question.file and file.path == question.file), "")


def highlight_spans(text: str, spans: Iterable[tuple[int, int]]) -> Markup:
    """Return a text with some spans highlighted; all of it is escaped."""
    parts: list[Markup] = []
    end = 0
    # Overlapping spans are merged first, because marks cannot overlap in HTML.
    for start, stop in prose.merge_spans(spans):
        parts += [escape(text[end:start]), Markup("<mark>{}</mark>").format(text[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])
