"""What a sheet for marking elsewhere has rows of: answers that people decide on, by themselves or in groups.

Rows and states are named by digests that follow from the course's secret: they tell nothing of a student, and
are those of just this assignment.
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
"""Bytes of a state: what a marker saw, that the row was written for it, and what stood in the row."""


class SheetSubject(Struct, frozen=True, eq=False):
    """A class whose answers are on a sheet."""

    assignment: Assignment
    store: Store
    results: Mapping[str, Graded]
    """Of those who belong to the class."""


class SheetAnswer(Struct, frozen=True):
    """One student's answer in a cell, and what is known of it."""

    student: str
    question: Question
    cell: str
    asked: tuple[Item, ...]
    """The items that a person decides on."""
    verdicts: Mapping[str, Decimal | None]
    mark: PersonMark
    text: str
    group: str
    """Of equal answers; empty: it stands by itself."""
    reasons: Mapping[str, str] = {}
    """Item → why it waits, for staff; nothing for what people mark anyway."""

    @property
    def open(self) -> bool:
        """It waits for a person."""
        return self.mark.points is None or self.mark.again

    def points(self, item: Item) -> Decimal | None:
        """What a person gave an item, where that is known and stands."""
        if self.mark.again:
            return None
        if self.mark.items or self.mark.points is None:
            return self.mark.items.get(item.id)
        if len(self.asked) > 1:
            return None
        found = self.mark.points - sum((one for one in self.verdicts.values() if one is not None), Decimal(0))
        alone = cell_points(self.question, self.cell, self.verdicts, {item.id: found})
        return found if lies_within(found, item) and alone == self.mark.points else None


class SheetBundle(Struct, frozen=True):
    """The answers that one row of each item is about: one, or all equal ones."""

    key: str
    """Under which its rows are known."""
    label: str
    """How it is named where nobody is."""
    answers: tuple[SheetAnswer, ...]

    @property
    def first(self) -> SheetAnswer:
        """Any of them: question, items and verdicts are the same for all."""
        return self.answers[0]

    def points(self, item: Item) -> str:
        """An item's points as a sheet shows them; empty where there are none, or different ones."""
        found = {one.points(item) for one in self.answers}
        return number(found.pop()) if len(found) == 1 else ""

    @property
    def comment(self) -> str:
        """The comment as a sheet shows it; empty where there are different ones."""
        found = {comment_of(plain(one.mark.comment)[:MOST_COMMENT]) for one in self.answers}
        return found.pop() if len(found) == 1 else ""

    def remark(self, item: Item) -> str:
        """The remark on an item as a sheet shows it; empty where there are different ones."""
        found = {comment_of(plain(one.mark.remarks.get(item.id, ""))[:MOST_COMMENT]) for one in self.answers}
        return found.pop() if len(found) == 1 else ""

    def reason(self, item: Item) -> str:
        """Why an item waits; where there are different reasons, all of them."""
        return "; ".join(dict.fromkeys(filter(None, (one.reasons.get(item.id) for one in self.answers))))

    @property
    def flag(self) -> str:
        """The flag as a sheet shows it; empty where some have none."""
        return FLAGGED if all(one.mark.flagged for one in self.answers) else ""

    @property
    def students(self) -> str:
        """Whose answers they are."""
        return plain(", ".join(one.student for one in self.answers))

    def seen(self, secret: bytes) -> str:
        """A digest of what a marker sees: texts, marks, and what the items are worth."""
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
        return derived(secret, "sheet seen", json.dumps(shown))[:_SEEN].hex()

    def row(self, secret: bytes, item: Item) -> str:
        """The name of an item's row."""
        digest = derived(secret, "sheet row", self.key, self.first.question.id, self.first.cell, item.id)
        return f"r{digest[:8].hex()}"


def number(points: Decimal | None) -> str:
    """Points as a sheet writes them; empty for none."""
    return "" if points is None else f"{points.normalize():f}"


class SheetState(Struct, frozen=True):
    """What a row says of the moment when it was written, as three digests in hexadecimal."""

    seen: str
    """Of what its marker saw (`SheetBundle.seen`)."""
    own: str
    """That the row was written for it, in this assignment of this course."""
    values: str
    """Of points, comment, remark and flag that stood in it."""

    @classmethod
    def of(
        cls, secret: bytes, assignment: str, row: str, seen: str, values: tuple[str, ...] = ("", "")
    ) -> SheetState:
        """The state of a row that holds these points and this comment, and a flag and remark if there are."""
        own = derived(secret, "sheet state", assignment, row, seen)[:_OWN].hex()
        return cls(seen, own, derived(secret, "sheet values", row, *values)[:_VALUES].hex())

    @classmethod
    def read(cls, written: str) -> SheetState:
        """The state in a sheet; of something else, one that no row has."""
        seen, own = 1 + 2 * _SEEN, 1 + 2 * (_SEEN + _OWN)
        return cls(written[1:seen], written[seen:own], written[own:])

    def __str__(self) -> str:
        """As it stands in a sheet: no program takes it for a number."""
        return f"v{self.seen}{self.own}{self.values}"


def answers_of(subject: SheetSubject) -> tuple[list[SheetAnswer], list[str]]:
    """Every answer that people decide on, and the students whose result is by other points.

    Raises:
        GradebookError: the store refused.
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
    """Whether a result is by other points than the rubric's: what is given now would be of another number."""
    known = {(one.question, one.item): one.possible for one in graded.score.items}
    return graded.score.rubric_version != rubric.version or any(
        known.get((question.id, item.id)) != max(item.points, Decimal(0))
        for question in rubric.questions
        for item in question.items
    )


def bundles_of(subject: SheetSubject, answers: Iterable[SheetAnswer], *, groups: bool) -> list[SheetBundle]:
    """What rows are about, in the rubric's order, and there in an order that tells nothing of students."""
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
