"""A class of essays in the service, ready for marking."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autograder.grading.assignment import Assignment
from tests.support import essays

if TYPE_CHECKING:
    from autograder.service.marking.answers import MarkableCell
    from autograder.service.models import Account, CellMark, CellPlace, CourseRecord, Offer

SAME = "Because the variance of the products is d_k, the softmax saturates."
CLASS = {
    "ada": {"scale": SAME, "masks": "It hides."},
    "ben": {"scale": SAME.upper(), "masks": "It sets scores to minus infinity."},
    "cem": {"scale": "It is faster.", "masks": "Nothing."},
    "dia": {"scale": "They get large.", "masks": "YOUR ANSWER HERE"},
    "eva": {"scale": "I do not know.", "masks": "Zero weight."},
}


class Room(Struct, frozen=True, eq=False):
    """A class with answers to mark."""

    offer: Offer
    assignment: Assignment

    def place(self, cell: str = "scale") -> CellPlace:
        """Return a cell's row."""
        from autograder.service.models import CellPlace

        return CellPlace.objects.get(course=self.offer.course, assignment=essays.NAME, cell=cell)

    def cell(self, cell: str = "scale") -> MarkableCell:
        """Return a cell with its items."""
        from autograder.service.marking import answers

        markable = answers.find_cell(self.assignment.rubric, essays.NAME, cell)
        assert markable is not None
        return markable

    def row(self, student: str, cell: str = "scale") -> CellMark:
        """Return the current mark of an answer."""
        from autograder.service.models import CellMark

        return CellMark.objects.get(place=self.place(cell), student=student)

    def account(self, name: str) -> Account:
        """Return the account of a marker."""
        from autograder.service.models import Account

        user, _ = Account.objects.get_or_create(username=f"{self.offer.course.slug}-{name}")
        return user

    def assign(self, *names: str, cell: str | None = "scale") -> int:
        """Assign the unmarked answers of a cell, or of all cells, to markers."""
        from autograder.service.marking import assignees

        place = self.place(cell) if cell else None
        markers = [self.account(name) for name in names]
        return assignees.assign_answers(self.offer, place, markers, self.account("head"))

    def assigned(self, cell: str = "scale") -> dict[str, str]:
        """Return the assignee of each student's answer, empty if unassigned."""
        from autograder.service.models import CellMark

        rows = CellMark.objects.filter(place=self.place(cell), answered=True)
        names = rows.values_list("student", "assignee__username")
        return {student: (name or "").removeprefix(f"{self.offer.course.slug}-") for student, name in names}

    def save(self, student: str, by: str, cell: str = "scale", **fields: Any) -> CellMark:
        """Save marks for an answer with its current revision."""
        from autograder.service.marking import mark_entry

        row = self.row(student, cell)
        items = {name: Decimal(points) for name, points in fields.pop("items", {}).items()}
        revision = fields.pop("revision", row.revision)
        settles = fields.pop("settles", False)
        (saved,) = mark_entry.save_marks(
            {row.pk: revision},
            self.cell(cell),
            mark_entry.GivenMarks(items, **fields),
            self.account(by),
            settles=settles,
        )
        return saved

    def states(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Return the marks of all answers."""
        from autograder.service.marking import mark_entry
        from autograder.service.models import CellMark

        rows = CellMark.objects.filter(place__course=self.offer.course).select_related("place")
        return {(row.student, row.place.cell): mark_entry.get_state(row) for row in rows}

    def counts(self, by: str = "ta") -> dict[str, tuple[int, ...]]:
        """Return counts of each cell: waiting, suggested, done, flagged, conflicts and total."""
        from autograder.service.marking import queue

        cells = queue.count_answers(self.offer, self.assignment.rubric, self.account(by))
        return {
            cell_counts.place.cell: (
                cell_counts.waiting,
                cell_counts.suggested,
                cell_counts.done,
                cell_counts.flagged,
                cell_counts.conflict,
                cell_counts.total,
            )
            for cell_counts in cells
        }


def room_of(course: CourseRecord, assignment: Assignment) -> Room:
    """Return the class of essays in a course without any marks."""
    from autograder.service import versions

    course.secret = assignment.course.load_secret()
    course.save()
    offer = versions.create_or_update_offer(course, assignment.course, essays.NAME)
    essays.recorded(offer, assignment, CLASS.items())
    return Room(offer, assignment)
