"""Written answers of a class, cell by cell: who wrote what, and what is the same.

A group is named by its cell and its text alone, up to trivial differences: the name is the same on every page
and after every run, whoever joins or leaves the group. The name decides about marks. So it follows from the
course's secret as well: nobody without it can look for another text that has the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from autograder.checks.values import prose
from autograder.records import Cell, CellRun, ExecutedNotebook, Graded, Markdown, PastedPicture, Status
from autograder.rubric import Item, Question
from autograder.stream import derived

_BYTES = 16
"""Of a group's name."""


class MarkedCell(Struct, frozen=True):
    """A cell with items that a person decides on."""

    question: Question
    name: str
    """Its ``grade_id``."""
    items: tuple[Item, ...]
    whole: bool
    """All of the cell is decided by a person, so that equal answers can have one mark."""
    secret: bytes = b""
    """The course's; without it no group has a name."""

    def answers(self, results: Sequence[Graded]) -> dict[str, str]:
        """What was written, by student; without those who wrote nothing."""
        own = self.items[0].cell
        names = (own,) if own else (self.question.answer_cell, self.question.id)
        return {
            graded.score.student: _source(graded, self.question, names)
            for graded in results
            if self._written(graded)
        }

    def group(self, text: str) -> str:
        """The name of the group of answers that a text belongs to.

        Empty where no mark can be given to a group: pictures do not stand in the text, nobody reads more than
        so much of one, and what is decided by checks as well, or asked of each student otherwise, may be
        worth more or less for the same text.
        """
        if not (self.secret and self._nameable(text)):
            return ""
        form = prose.same_form(text).encode("utf-8", "surrogatepass")
        purpose = ("equal answers", self.question.notebook, self.name)
        return derived(self.secret, *purpose, form)[:_BYTES].hex()

    def _nameable(self, text: str) -> bool:
        return self.whole and bool(text.strip()) and "attachment:" not in text and len(text) <= prose.MOST

    def _written(self, graded: Graded) -> bool:
        """Whether there is something to decide: an item that grading left to a person."""
        names = {item.id for item in self.items}
        found = (one for one in graded.score.items if one.question == self.question.id and one.item in names)
        return any(one.status is not Status.NO_ANSWER for one in found)


def answer_text(graded: Graded, question: Question, item: Item) -> str:
    """What a student wrote that an item judges; empty where there is nothing."""
    own = item.cell if item.manual else ""
    return _source(graded, question, (own,) if own else (question.answer_cell, question.id))


def cells_about(notebook: ExecutedNotebook, names: Collection[str]) -> range:
    """The places of the cells that an answer lies in, from the first to the last, and of code beside them.

    Cells of the student's own have no name; what was plotted or printed for an answer stands there.

    Args:
        notebook: as it was run.
        names: of the answer's cells.
    """
    places = {place for name in names for place in notebook.positions(name)}
    if not places:
        return range(0)
    first, last = min(places), max(places)
    while first > 0 and _is_unnamed(notebook.cells[first - 1]):
        first -= 1
    while last + 1 < len(notebook.cells) and _is_unnamed(notebook.cells[last + 1]):
        last += 1
    return range(first, last + 1)


def _is_unnamed(cell: Cell | Markdown) -> bool:
    return isinstance(cell, Cell) and not cell.grade_id


def runs_about(notebook: ExecutedNotebook, names: Collection[str]) -> Iterator[CellRun]:
    """What came of the cells of `cells_about` that were run."""
    places = cells_about(notebook, names)
    yield from (run for run in notebook.runs[places.start : places.stop] if run is not None)


def pictures_in(graded: Graded, question: Question, cell: str) -> tuple[PastedPicture, ...]:
    """Return the pictures that a student attached to an answer or pasted into it.

    Args:
        graded: the result.
        question: that is answered.
        cell: that holds the answer; empty, or the question's id: its answer cell.
    """
    names = (question.answer_cell, question.id) if cell in {"", question.id} else (cell,)
    notebooks = [notebook for notebook in graded.notebooks if notebook.name == question.notebook]
    found = (
        (*notebook.pictures(name), *_further_pictures(notebook, name))
        for name in names
        for notebook in notebooks
    )
    return tuple(next(filter(None, found), ()))


def _further_pictures(notebook: ExecutedNotebook, name: str) -> Iterator[PastedPicture]:
    for place in notebook.further.get(name, ()):
        cell = notebook.cells[place]
        yield from cell.pictures if isinstance(cell, Markdown) else ()


def _source(graded: Graded, question: Question, names: Sequence[str]) -> str:
    """What a student wrote as the first of these answers, further texts included; empty if there is none."""
    for name in names:
        for notebook in graded.notebooks:
            cells = [notebook.cells[place] for place in notebook.positions(name)]
            if question.file:  # a locked cell carries its points, and no answer
                cells = [cell for cell in cells if not (isinstance(cell, Cell) and cell.locked)]
            if cells and notebook.name == question.notebook:
                further = (
                    f"[Further text of the student, cell {place + 1}, which belongs to no answer:]\n\n"
                    f"{notebook.cells[place].source}"
                    for place in notebook.further.get(name, ())
                )
                return "\n\n".join((*(cell.source for cell in cells), *further))
    return next((one.text for one in graded.files if question.file and one.path == question.file), "")


def highlighted(text: str, found: Iterable[tuple[int, int]]) -> Markup:
    """The text with what was found between marks; everything in it is escaped."""
    parts: list[Markup] = []
    end = 0
    for start, stop in prose.apart(found):
        parts += [escape(text[end:start]), Markup("<mark>{}</mark>").format(text[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])
