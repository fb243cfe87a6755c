"""Statistics of a class: as a whole, by question, and by item. Pure; points are exact."""

from __future__ import annotations

import re
import statistics as numbers
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder.feedback.answers import answer_text
from autograder.grades import NOTHING, Standing
from autograder.marking.agreement import mean
from autograder.marking.boundaries import GradeCurve, grade_curve
from autograder.marking.points import items_of
from autograder.marking.reliability import Reliability, correlation, reliability
from autograder.records import CellRun, Graded, ItemResult, Message, Status
from autograder.rubric import Item, Question, Rubric

_BARS = 10
_MOST_MISTAKES = 5
_MOST_EXAMPLES = 3
_MOST_READ = 40
"""Maximum number of answers with a mistake that are searched for the most frequent ones."""
_LONGEST_EXAMPLE = 1_500
_SHORTEST_NAME = 3
"""Minimum length of a name that is removed from answers; shorter ones occur in too many words."""

Place = tuple[str, str]
"""Question and item."""


class Example(Struct, frozen=True):
    """An answer that shows a mistake."""

    student: str
    """One of its authors; others may have written the same."""
    text: str
    """Without the student's names."""


class NamedMistake(Struct, frozen=True):
    """A mistake with a code, and how often it was made."""

    code: str
    students: int
    said: Message
    """Message to one of the students."""
    examples: tuple[Example, ...]
    """The most frequent answers first."""


class ItemFigures(Struct, frozen=True):
    """Figures of one item in a class."""

    question: Question
    item: Item
    settled: int
    """Number of students with known points."""
    waiting: int
    """Number of other students: their points are open, or the whole cell was graded manually."""
    unanswered: int
    full: int
    none: int
    mean: Decimal
    difficulty: float | None
    """Difficulty index: the share of the possible points that was earned, so 1 is easy. None without data."""
    discrimination: float | None
    """Correlation of the item's points with those of all others; None if undefined."""
    alpha_without: float | None
    """Alpha of all other items."""
    mistakes: tuple[NamedMistake, ...]
    """The most frequent first."""


class Seconds(Struct, frozen=True):
    """Distribution of a duration."""

    measured: int
    """Number of students with a measurement."""
    median: float
    nine_in_ten: float
    """90th percentile."""
    longest: float


class QuestionFigures(Struct, frozen=True):
    """Figures of one question in a class; a manual mark of the whole cell counts."""

    question: Question
    settled: int
    waiting: int
    mean: Decimal
    difficulty: float | None
    discrimination: float | None
    alpha_without: float | None
    """Alpha of all other questions."""
    cells: Seconds | None
    """Wall-clock time of running the question's cells."""


class ClassFigures(Struct, frozen=True):
    """Figures of a whole class. An ungraded answer is not a zero: its student is excluded from all sums."""

    students: int
    settled: int
    """Number of students without open points; mean, median, deviation, totals, bars and grades describe
    them."""
    mean: Decimal
    """0 if ``settled`` is 0, like the median."""
    median: Decimal
    deviation: float | None
    """Standard deviation of the points; None for one student."""
    totals: tuple[Decimal, ...]
    """Total points that count, in ascending order."""
    bars: tuple[int, ...]
    """Students by tenths of the possible points, from none to all."""
    items: tuple[ItemFigures, ...]
    questions: tuple[QuestionFigures, ...]
    by_question: Reliability | None
    """Reliability with questions as parts. Items of a question depend on each other, so alpha of items is too
    high."""
    by_item: Reliability | None
    curve: GradeCurve | None
    """None if there are no grades, or no student has one yet."""
    times: Mapping[str, Seconds]
    """``"grading"`` and ``"sandbox"`` in wall-clock time, and ``"processor"`` of the sandbox, per student."""


def figures(
    rubric: Rubric,
    results: Mapping[str, Graded],
    stands: Mapping[str, Standing],
    names: Mapping[str, Collection[str]] | None = None,
) -> ClassFigures:
    """Compute the figures of a class.

    Args:
        rubric: the common one.
        results: the automatic results, by student.
        stands: standings with manual marks, by student.
        names: names of students in addition to their ids, by student; removed from their answers.
    """
    class_ = {student: stands[student] for student in results}
    settled = [one for one in class_.values() if not _is_open(one)]
    points = sorted(one.total for one in settled)
    told = _Told(rubric, results, class_, names or {})
    parts = {one.id: told.question_points(one) for one in rubric.questions}
    items = {(one.id, item.id): told.item_points(one, item) for one in rubric.questions for item in one.items}
    by_question, by_item = _together(parts, len(class_)), _together(items, len(class_))
    scale = rubric.assignment.grading
    return ClassFigures(
        len(class_),
        len(settled),
        mean(points),
        numbers.median(points) if points else NOTHING,
        numbers.stdev(map(float, points)) if len(points) > 1 else None,
        tuple(points),
        _bars(points, rubric.assignment.points),
        tuple(
            told.item(one, item, items[one.id, item.id], by_item)
            for one in rubric.questions
            for item in one.items
        ),
        tuple(told.question(one, parts[one.id], by_question) for one in rubric.questions),
        by_question,
        by_item,
        grade_curve(settled, scale) if scale and settled else None,
        _times(results.values()),
    )


class _Told:
    """Computes the figures of the parts of a class."""

    def __init__(
        self,
        rubric: Rubric,
        results: Mapping[str, Graded],
        stands: Mapping[str, Standing],
        names: Mapping[str, Collection[str]],
    ) -> None:
        self._results, self._stands, self._names = results, stands, names
        self._found: dict[str, dict[Place, ItemResult]] = {
            student: {(one.question, one.item): one for one in graded.score.items}
            for student, graded in results.items()
        }
        self._totals = {
            student: sum((one.points for one in stand.questions), NOTHING)
            for student, stand in stands.items()
            if not _is_open(stand)
        }
        self._given = {student: _given(stand, rubric) for student, stand in stands.items()}

    def question_points(self, question: Question) -> dict[str, Decimal]:
        """Return the points of students without open points in the question."""
        return {
            student: one.points
            for student, stand in self._stands.items()
            for one in stand.questions
            if one.id == question.id and not one.pending
        }

    def item_points(self, question: Question, item: Item) -> dict[str, Decimal]:
        """Return the known points of an item, manual ones first."""
        place, points = (question.id, item.id), dict[str, Decimal]()
        for student, found in self._found.items():
            given, result = self._given[student], found.get(place)
            # None means a mark of the whole cell: the points of its items are not known.
            if place in given:
                if (own := given[place]) is not None:
                    points[student] = own
            elif result is not None and result.status is not Status.NEEDS_REVIEW:
                points[student] = result.points
        return points

    def question(
        self, question: Question, points: Mapping[str, Decimal], parts: Reliability | None
    ) -> QuestionFigures:
        """Return the figures of a question from its points."""
        cells = {question.answer_cell, *question.cells()}
        average = mean(list(points.values()))
        return QuestionFigures(
            question,
            len(points),
            len(self._stands) - len(points),
            average,
            _difficulty(points, question.points),
            self._discrimination(points),
            parts.without.get(question.id) if parts else None,
            _seconds(
                [
                    sum(run.seconds for cell, run in runs if cell in cells)
                    for runs in (_runs(graded, question.notebook) for graded in self._results.values())
                    if any(cell in cells for cell, _ in runs)
                ]
            ),
        )

    def item(
        self, question: Question, item: Item, points: Mapping[str, Decimal], parts: Reliability | None
    ) -> ItemFigures:
        """Return the figures of an item from its points."""
        place = (question.id, item.id)
        asked = {student: found[place] for student, found in self._found.items() if place in found}
        return ItemFigures(
            question,
            item,
            len(points),
            len(asked.keys() - points.keys()),
            sum(one.status is Status.NO_ANSWER for one in asked.values()),
            sum(one == item.points for one in points.values()),
            sum(one == 0 for one in points.values()),
            mean(list(points.values())),
            _difficulty(points, item.points),
            self._discrimination(points),
            parts.without.get(_name(place)) if parts else None,
            tuple(self._mistakes(question, item)),
        )

    def _discrimination(self, points: Mapping[str, Decimal]) -> float | None:
        """Return the corrected discrimination of settled students: the total excludes the part itself."""
        known = {student: one for student, one in points.items() if student in self._totals}
        # A part correlates with itself, so a total that included it would overstate discrimination.
        rest = [float(self._totals[student] - one) for student, one in known.items()]
        return correlation([float(one) for one in known.values()], rest)

    def _mistakes(self, question: Question, item: Item) -> Iterable[NamedMistake]:
        made: dict[str, list[str]] = {}
        for student, found in self._found.items():
            result = found.get((question.id, item.id))
            if result is not None and result.status is Status.FAILED and result.code:
                made.setdefault(result.code, []).append(student)
        for code, students in sorted(made.items(), key=lambda one: (-len(one[1]), one[0]))[:_MOST_MISTAKES]:
            said = self._found[students[0]][question.id, item.id].student
            yield NamedMistake(code, len(students), said, self._examples(question, item, students))

    def _examples(self, question: Question, item: Item, students: Sequence[str]) -> tuple[Example, ...]:
        """Return distinct answers of these students, the most frequent first, then the shortest."""
        authors: dict[str, list[str]] = {}
        for student in students[:_MOST_READ]:
            text = answer_text(self._results[student], question, item).strip()
            if text:
                authors.setdefault(text, []).append(student)
        # The text is the last key, so that the choice does not depend on the order of students.
        ordered = sorted(authors, key=lambda text: (-len(authors[text]), len(text), text))
        return tuple(
            Example(authors[text][0], self._anonymous(text, authors[text][0]))
            for text in ordered[:_MOST_EXAMPLES]
        )

    def _anonymous(self, text: str, student: str) -> str:
        stated = self._results[student].stated.values()
        cut = text if len(text) <= _LONGEST_EXAMPLE else text[:_LONGEST_EXAMPLE] + "…"
        return concealed(cut, (student, *stated, *self._names.get(student, ())))


def _is_open(stand: Standing) -> bool:
    """Decide whether an answer of a student is not graded yet, so that the sum is meaningless."""
    return any(one.pending for one in stand.questions)


def concealed(text: str, names: Iterable[str]) -> str:
    """Replace whole names, and their single words, in a text by an ellipsis."""
    words = {word for name in names for word in (name, *name.split())}
    # Longest first, so that a full name is replaced before its words.
    known = sorted((word for word in words if len(word) >= _SHORTEST_NAME), key=len, reverse=True)
    if not known:
        return text
    # Whole words only: a short name must not blank parts of other words.
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", "…", text, flags=re.IGNORECASE)


def _given(stand: Standing, rubric: Rubric) -> dict[Place, Decimal | None]:
    """Return valid manual points by item; None for items of a cell that only has a mark as a whole."""
    found: dict[Place, Decimal | None] = {}
    questions = {one.id: one for one in rubric.questions}
    for points in stand.questions:
        question = questions[points.id]
        for cell in points.cells:
            if not cell.by_person or cell.pending:
                continue
            inside = items_of(question, cell.name)
            whole = cell.points if len(inside) == 1 else None
            for item in inside:
                found[question.id, item.id] = cell.items.get(item.id, whole)
    return found


def _together(parts: Mapping[Any, Mapping[str, Decimal]], students: int) -> Reliability | None:
    """Compute reliability over the students with known points in every part.

    A part that is open for more than half of the class is left out, because it would exclude too many
    students.
    """
    known = {_name(name): points for name, points in parts.items() if 2 * len(points) >= students}
    everybody = [set(points) for points in known.values()]
    common = sorted(set.intersection(*everybody)) if everybody else []
    return reliability(
        {name: [float(points[student]) for student in common] for name, points in known.items()}
    )


def _name(part: object) -> str:
    return "/".join(part) if isinstance(part, tuple) else str(part)


def _difficulty(points: Mapping[str, Decimal], possible: Decimal) -> float | None:
    if not points or possible <= 0:
        return None
    return float(sum(points.values(), NOTHING) / (len(points) * possible))


def _bars(points: Sequence[Decimal], possible: Decimal) -> tuple[int, ...]:
    # Full marks, and more with bonus points, belong to the last bar.
    found = Counter(min(_BARS - 1, max(0, int(_BARS * one / possible))) for one in points if possible > 0)
    return tuple(found[place] for place in range(_BARS))


def _runs(graded: Graded, notebook: str) -> list[tuple[str, CellRun]]:
    return [
        (cell.grade_id, run)
        for one in graded.notebooks
        if one.name == notebook
        for cell, run in zip(one.cells, one.runs, strict=False)
        if run is not None
    ]


def _times(results: Iterable[Graded]) -> dict[str, Seconds]:
    """Collect the measured durations of submissions; zero means not measured."""
    known = list(results)
    measured = {
        "grading": [one.seconds for one in known],
        "sandbox": [one.sandbox_seconds for one in known],
        "processor": [one.spent.processor_seconds for one in known],
    }
    found = {name: _seconds([one for one in times if one > 0]) for name, times in measured.items()}
    return {name: times for name, times in found.items() if times is not None}


def _seconds(times: Sequence[float]) -> Seconds | None:
    if not times:
        return None
    ordered = sorted(times)
    # Nearest-rank percentile: the ceiling of 0.9 n, computed in integers.
    nine_in_ten = ordered[max(0, -(-9 * len(ordered) // 10) - 1)]
    return Seconds(len(ordered), numbers.median(ordered), nine_in_ten, ordered[-1])
