"""Rows of a marking sheet: answers that need manual grading, individually or in groups.

Rows and states are named by digests derived from the course's secret: they reveal nothing about a student,
and are valid only for this assignment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.app.sheet_files import FLAGGED, MOST_COMMENT, comment_of, plain
from autograder.assignment import Assignment
from autograder.feedback.answers import MarkedCell
from autograder.grades import PersonMark
from autograder.marking.points import cell_points, items_of, lies_within, verdicts_of
from autograder.records import Graded
from autograder.rubric import Item, Question, Rubric
from autograder.store import Store
from autograder.stream import derived

_SEEN, _OWN, _VALUES = 8, 4, 4
"""Lengths in bytes of the parts of a state: the content that a grader saw, the identity of the row, and its
values."""


class SheetSubject(Struct, frozen=True, eq=False):
    """A class with answers on a sheet."""

    assignment: Assignment
    store: Store
    results: Mapping[str, Graded]
    """Results of the members of the class."""


class SheetAnswer(Struct, frozen=True):
    """One student's answer in a cell, with its verdicts and mark."""

    student: str
    question: Question
    cell: str
    asked: tuple[Item, ...]
    """The manually graded items."""
    verdicts: Mapping[str, Decimal | None]
    mark: PersonMark
    text: str
    group: str
    """Group of equal answers; empty: not grouped."""
    reasons: Mapping[str, str] = {}
    """Item → reason for manual review, for staff; nothing for items that are always graded manually."""

    @property
    def open(self) -> bool:
        """Whether it needs manual grading."""
        return self.mark.points is None or self.mark.again

    def points(self, item: Item) -> Decimal | None:
        """Return the points that a grader gave an item, if they are known and valid."""
        if self.mark.again:
            return None
        if self.mark.items or self.mark.points is None:
            return self.mark.items.get(item.id)
        if len(self.asked) > 1:
            return None
        # A mark of the whole cell determines the points of its only manual item.
        found = self.mark.points - sum((one for one in self.verdicts.values() if one is not None), Decimal(0))
        alone = cell_points(self.question, self.cell, self.verdicts, {item.id: found})
        return found if lies_within(found, item) and alone == self.mark.points else None


class SheetBundle(Struct, frozen=True):
    """The answers behind one row of each item: one, or all equal ones."""

    key: str
    """Name from which its rows are derived."""
    label: str
    """Label in sheets without names."""
    answers: tuple[SheetAnswer, ...]

    @property
    def first(self) -> SheetAnswer:
        """Any of them: question, items and verdicts are the same for all."""
        return self.answers[0]

    def points(self, item: Item) -> str:
        """Return an item's points for a sheet; empty if there are none, or different ones."""
        found = {one.points(item) for one in self.answers}
        return number(found.pop()) if len(found) == 1 else ""

    @property
    def comment(self) -> str:
        """The comment for a sheet; empty if there are different ones."""
        found = {comment_of(plain(one.mark.comment)[:MOST_COMMENT]) for one in self.answers}
        return found.pop() if len(found) == 1 else ""

    def remark(self, item: Item) -> str:
        """Return the remark on an item for a sheet; empty if there are different ones."""
        found = {comment_of(plain(one.mark.remarks.get(item.id, ""))[:MOST_COMMENT]) for one in self.answers}
        return found.pop() if len(found) == 1 else ""

    def reason(self, item: Item) -> str:
        """Return the reason for an item's manual review; all reasons if there are several."""
        return "; ".join(dict.fromkeys(filter(None, (one.reasons.get(item.id) for one in self.answers))))

    @property
    def flag(self) -> str:
        """The flag for a sheet; empty if an answer has none."""
        return FLAGGED if all(one.mark.flagged for one in self.answers) else ""

    @property
    def students(self) -> str:
        """The students with these answers."""
        return plain(", ".join(one.student for one in self.answers))

    def seen(self, secret: bytes) -> str:
        """Return a digest of everything that a grader sees: texts, marks, and possible points."""
        shown = [
            [
                one.student,
                one.text,
                number(one.mark.points),
                number(one.mark.extra),
                one.mark.again,
                one.mark.comment,
                *([FLAGGED] if one.mark.flagged else []),
                *([sorted(one.mark.remarks.items())] if one.mark.remarks else []),
                sorted((name, number(points)) for name, points in one.mark.items.items()),
                [(item.id, number(item.points)) for item in one.asked],
                sorted((name, number(points)) for name, points in one.verdicts.items()),
            ]
            for one in self.answers
        ]
        # The label separates digests by purpose, so that none can be passed off as another.
        return derived(secret, "sheet seen", json.dumps(shown))[:_SEEN].hex()

    def row(self, secret: bytes, item: Item) -> str:
        """Return the name of an item's row."""
        digest = derived(secret, "sheet row", self.key, self.first.question.id, self.first.cell, item.id)
        return f"r{digest[:8].hex()}"


def number(points: Decimal | None) -> str:
    """Format points for a sheet; empty for None."""
    return "" if points is None else f"{points.normalize():f}"


class SheetState(Struct, frozen=True):
    """The state of a row at the time of writing, as three digests in hexadecimal."""

    seen: str
    """Digest of the content that the grader saw (`SheetBundle.hash_seen`)."""
    own: str
    """Digest that binds the state to this row, assignment and course."""
    values: str
    """Digest of the points, comment, remark and flag in the row."""

    @classmethod
    def of(
        cls, secret: bytes, assignment: str, row: str, seen: str, values: tuple[str, ...] = ("", "")
    ) -> SheetState:
        """Return the state of a row with these points, this comment, and an optional flag and remark."""
        # Only this course can compute it, so that a foreign or forged row is recognised.
        own = derived(secret, "sheet state", assignment, row, seen)[:_OWN].hex()
        return cls(seen, own, derived(secret, "sheet values", row, *values)[:_VALUES].hex())

    @classmethod
    def read(cls, written: str) -> SheetState:
        """Parse the state in a sheet; other input gives a state that matches no row."""
        seen, own = 1 + 2 * _SEEN, 1 + 2 * (_SEEN + _OWN)
        return cls(written[1:seen], written[seen:own], written[own:])

    def __str__(self) -> str:
        """Format it for a sheet; the leading letter keeps programs from taking it for a number."""
        return f"v{self.seen}{self.own}{self.values}"


def answers_of(subject: SheetSubject) -> tuple[list[SheetAnswer], list[str]]:
    """Return every answer that needs manual grading, and the students with outdated results.

    Raises:
        GradebookError: the store reported an error.
    """
    assignment, secret = subject.assignment, subject.assignment.course.secret()
    marks = subject.store.marks(assignment.name)
    found: list[SheetAnswer] = []
    outdated = []
    for student, graded in subject.results.items():
        rubric = assignment.rubric_of(student)
        if _is_outdated(graded, rubric):
            outdated.append(student)
            continue
        own = marks.get(student, {})
        for question in rubric.questions:
            for cell in question.cells():
                items = items_of(question, cell)
                verdicts = verdicts_of(question, cell, graded.score)
                asked = tuple(item for item in items if verdicts[item.id] is None)
                if not asked:
                    continue
                # Students with different variants answered different questions, so they are not grouped.
                whole = all(item.manual for item in items) and rubric.draws is None
                marked = MarkedCell(question, cell, asked, whole and len(asked) == len(items), secret)
                text = marked.answers([graded]).get(student, "")
                mark = own.get((question.notebook, cell), PersonMark())
                group = marked.group(text)
                why = {
                    one.item: one.staff
                    for one in graded.score.items
                    if one.question == question.id and one.code != "review.person"
                }
                found.append(SheetAnswer(student, question, cell, asked, verdicts, mark, text, group, why))
    return found, outdated


def _is_outdated(graded: Graded, rubric: Rubric) -> bool:
    """Decide whether a result has other points than the rubric, so that new marks would not fit it."""
    known = {(one.question, one.item): one.possible for one in graded.score.items}
    return graded.score.rubric_version != rubric.version or any(
        known.get((question.id, item.id)) != max(item.points, Decimal(0))
        for question in rubric.questions
        for item in question.items
    )


def bundles_of(subject: SheetSubject, answers: Iterable[SheetAnswer], *, groups: bool) -> list[SheetBundle]:
    """Return the bundles behind rows in the rubric's order, and within a cell in a pseudonymous order."""
    name, secret = subject.assignment.name, subject.assignment.course.secret()
    order = {question.id: at for at, question in enumerate(subject.assignment.rubric.questions)}
    members: dict[tuple[str, str, str], list[SheetAnswer]] = {}
    for one in answers:
        kind, key = ("group", one.group) if groups and one.group else ("student", one.student)
        members.setdefault((one.cell, kind, key), []).append(one)
    made = []
    for (_, kind, key), together in members.items():
        digest = derived(secret, f"sheet {kind}", name, key)[:6].hex()
        alike = tuple(sorted(together, key=lambda one: one.student))
        made.append(SheetBundle(f"{kind} {name} {key}", f"{kind[0]}{digest}", alike))
    return sorted(made, key=lambda one: (order[one.first.question.id], one.first.cell, one.label))
