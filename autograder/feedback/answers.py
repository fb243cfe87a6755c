"""Written answers of a class, cell by cell: who wrote what, and what is the same.

A group is named by its cell and its text alone, up to trivial differences: the name is the same on every page
and after every run, whoever joins or leaves the group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograder.checks.values import prose
from autograder.records import Graded, Status
from autograder.rubric import Item, Question, Rubric

_DIGITS = 10


class MarkedCell(Struct, frozen=True):
    """A cell with items that a person decides on."""

    question: Question
    name: str
    """Its ``grade_id``."""
    items: tuple[Item, ...]
    whole: bool
    """All of the cell is decided by a person, so that equal answers can have one mark."""

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

        Empty where no mark can be given to a group: pictures do not stand in the text, and what is decided
        by checks as well, or asked of each student otherwise, may be worth more or less for the same text.
        """
        if not self.whole or not text.strip() or "attachment:" in text:
            return ""
        form = "\0".join((self.question.notebook, self.name, prose.same_form(text)))
        return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]

    def _written(self, graded: Graded) -> bool:
        """Whether there is something to decide: an item that grading left to a person."""
        names = {item.id for item in self.items}
        found = (one for one in graded.score.items if one.question == self.question.id and one.item in names)
        return any(one.status is not Status.NO_ANSWER for one in found)


def marked_cells(rubric: Rubric) -> Iterator[MarkedCell]:
    """The cells that people mark, in the rubric's order."""
    for question in rubric.questions:
        for cell in question.cells():
            inside = [item for item in question.items if (item.cell or question.id) == cell]
            manual = tuple(item for item in inside if item.manual)
            if manual:
                whole = len(manual) == len(inside) and rubric.draws is None
                yield MarkedCell(question, cell, manual, whole)


def _source(graded: Graded, question: Question, names: Sequence[str]) -> str:
    """What a student wrote into the first of these cells; empty where there is none."""
    cells = {
        cell.grade_id: cell.source
        for notebook in graded.notebooks
        if notebook.name == question.notebook
        for cell in notebook.cells
    }
    return next((cells[name] for name in names if name in cells), "")
