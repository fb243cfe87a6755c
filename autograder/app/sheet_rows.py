"""Rows of a marking sheet: answers that need manual grading, individually or in groups.

Rows and states are named by digests derived from the course's secret: they reveal nothing about a student,
and are valid only for this assignment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.app.sheet_files import FLAGGED, MOST_COMMENT, normalise_comment, to_plain_text
from autograder.core.records import GradingResult
from autograder.core.stream import derive_key
from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from autograder.grading.store import Store
from autograder.marking.points import collect_verdicts, compute_cell_points, is_within, list_items
from autograder.pages.feedback.answers import MarkedCell
from autograder.rubric import Item, Question, Rubric

_SEEN, _OWN, _VALUES = 8, 4, 4
"""Lengths in bytes of the parts of a state: the content that a grader saw, the identity of the row, and its
values."""


class SheetSubject(Struct, frozen=True, eq=False):
    """A class with answers on a sheet."""

    assignment: Assignment
    store: Store
    results: Mapping[str, GradingResult]
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

    def get_points(self, item: Item) -> Decimal | None:
        """Return the points that a grader gave an item, if they are known and valid."""
        if self.mark.again:
            return None
        if self.mark.items or self.mark.points is None:
            return self.mark.items.get(item.id)
        if len(self.asked) > 1:
            return None
        # A mark of the whole cell determines the points of its only manual item.
        item_points = self.mark.points - sum(
            (verdict for verdict in self.verdicts.values() if verdict is not None), Decimal(0)
        )
        alone = compute_cell_points(self.question, self.cell, self.verdicts, {item.id: item_points})
        return item_points if is_within(item_points, item) and alone == self.mark.points else None


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

    def format_item_points(self, item: Item) -> str:
        """Return an item's points for a sheet; empty if there are none, or different ones."""
        distinct = {answer.get_points(item) for answer in self.answers}
        return format_number(distinct.pop()) if len(distinct) == 1 else ""

    @property
    def comment(self) -> str:
        """The comment for a sheet; empty if there are different ones."""
        distinct = {
            normalise_comment(to_plain_text(answer.mark.comment)[:MOST_COMMENT]) for answer in self.answers
        }
        return distinct.pop() if len(distinct) == 1 else ""

    def get_remark(self, item: Item) -> str:
        """Return the remark on an item for a sheet; empty if there are different ones."""
        distinct = {
            normalise_comment(to_plain_text(answer.mark.remarks.get(item.id, ""))[:MOST_COMMENT])
            for answer in self.answers
        }
        return distinct.pop() if len(distinct) == 1 else ""

    def get_reason(self, item: Item) -> str:
        """Return the reason for an item's manual review; all reasons if there are several."""
        return "; ".join(
            dict.fromkeys(filter(None, (answer.reasons.get(item.id) for answer in self.answers)))
        )

    @property
    def flag(self) -> str:
        """The flag for a sheet; empty if an answer has none."""
        return FLAGGED if all(answer.mark.flagged for answer in self.answers) else ""

    @property
    def students(self) -> str:
        """The students with these answers."""
        return to_plain_text(", ".join(answer.student for answer in self.answers))

    def hash_seen(self, secret: bytes) -> str:
        """Return a digest of everything that a grader sees: texts, marks, and possible points."""
        shown = [
            [
                answer.student,
                answer.text,
                format_number(answer.mark.points),
                format_number(answer.mark.extra),
                answer.mark.again,
                answer.mark.comment,
                *([FLAGGED] if answer.mark.flagged else []),
                *([sorted(answer.mark.remarks.items())] if answer.mark.remarks else []),
                sorted((name, format_number(points)) for name, points in answer.mark.items.items()),
                [(item.id, format_number(item.points)) for item in answer.asked],
                sorted((name, format_number(points)) for name, points in answer.verdicts.items()),
            ]
            for answer in self.answers
        ]
        # The label separates digests by purpose, so that none can be passed off as another.
        return derive_key(secret, "sheet seen", json.dumps(shown))[:_SEEN].hex()

    def make_row_name(self, secret: bytes, item: Item) -> str:
        """Return the name of an item's row."""
        digest = derive_key(secret, "sheet row", self.key, self.first.question.id, self.first.cell, item.id)
        return f"r{digest[:8].hex()}"


def format_number(points: Decimal | None) -> str:
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
    def from_row(
        cls, secret: bytes, assignment: str, row: str, seen: str, values: tuple[str, ...] = ("", "")
    ) -> SheetState:
        """Return the state of a row with these points, this comment, and an optional flag and remark."""
        # Only this course can compute it, so that a foreign or forged row is recognised.
        row_digest = derive_key(secret, "sheet state", assignment, row, seen)[:_OWN].hex()
        return cls(seen, row_digest, derive_key(secret, "sheet values", row, *values)[:_VALUES].hex())

    @classmethod
    def from_text(cls, written: str) -> SheetState:
        """Parse the state in a sheet; other input gives a state that matches no row."""
        seen_end, identity_end = 1 + 2 * _SEEN, 1 + 2 * (_SEEN + _OWN)
        return cls(written[1:seen_end], written[seen_end:identity_end], written[identity_end:])

    def __str__(self) -> str:
        """Format it for a sheet; the leading letter keeps programs from taking it for a number."""
        return f"v{self.seen}{self.own}{self.values}"


def collect_answers(subject: SheetSubject) -> tuple[list[SheetAnswer], list[str]]:
    """Return every answer that needs manual grading, and the students with outdated results.

    Raises:
        GradebookError: the store reported an error.
    """
    assignment, secret = subject.assignment, subject.assignment.course.load_secret()
    marks = subject.store.load_marks(assignment.name)
    answers: list[SheetAnswer] = []
    outdated = []
    for student, graded in subject.results.items():
        rubric = assignment.get_rubric(student)
        if _is_outdated(graded, rubric):
            outdated.append(student)
            continue
        student_marks = marks.get(student, {})
        for question in rubric.questions:
            for cell in question.list_cells():
                items = list_items(question, cell)
                verdicts = collect_verdicts(question, cell, graded.score)
                manual_items = tuple(item for item in items if verdicts[item.id] is None)
                if not manual_items:
                    continue
                # Students with different variants answered different questions, so they are not grouped.
                whole = all(item.manual for item in items) and rubric.draws is None
                marked = MarkedCell(
                    question, cell, manual_items, whole and len(manual_items) == len(items), secret
                )
                text = marked.collect_answers([graded]).get(student, "")
                mark = student_marks.get((question.notebook, cell), PersonMark())
                group = marked.name_group(text)
                why = {
                    result.item: result.staff
                    for result in graded.score.items
                    if result.question == question.id and result.code != "review.person"
                }
                answers.append(
                    SheetAnswer(student, question, cell, manual_items, verdicts, mark, text, group, why)
                )
    return answers, outdated


def _is_outdated(graded: GradingResult, rubric: Rubric) -> bool:
    """Decide whether a result has other points than the rubric, so that new marks would not fit it."""
    possible_points = {(result.question, result.item): result.possible for result in graded.score.items}
    return graded.score.rubric_version != rubric.version or any(
        possible_points.get((question.id, item.id)) != max(item.points, Decimal(0))
        for question in rubric.questions
        for item in question.items
    )


def make_bundles(subject: SheetSubject, answers: Iterable[SheetAnswer], *, groups: bool) -> list[SheetBundle]:
    """Return the bundles behind rows in the rubric's order, and within a cell in a pseudonymous order."""
    name, secret = subject.assignment.name, subject.assignment.course.load_secret()
    order = {question.id: position for position, question in enumerate(subject.assignment.rubric.questions)}
    members: dict[tuple[str, str, str], list[SheetAnswer]] = {}
    for answer in answers:
        kind, key = ("group", answer.group) if groups and answer.group else ("student", answer.student)
        members.setdefault((answer.cell, kind, key), []).append(answer)
    bundles = []
    for (_, kind, key), together in members.items():
        digest = derive_key(secret, f"sheet {kind}", name, key)[:6].hex()
        sorted_answers = tuple(sorted(together, key=lambda answer: answer.student))
        bundles.append(SheetBundle(f"{kind} {name} {key}", f"{kind[0]}{digest}", sorted_answers))
    return sorted(
        bundles, key=lambda answer: (order[answer.first.question.id], answer.first.cell, answer.label)
    )
