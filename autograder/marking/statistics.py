"""Statistics of a class: as a whole, by question, and by item. Pure; points are exact."""

from __future__ import annotations

import re
import statistics as numbers
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote

from msgspec import Struct

from autograder.core.records import GradingResult, ItemResult, Message, Status
from autograder.grading.grades import NOTHING, Standing
from autograder.marking.agreement import compute_mean
from autograder.marking.points import list_items
from autograder.pages.feedback.answers import get_answer_text
from autograder.pages.feedback.grade import format_grade_range
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.pages.feedback.template_rendering import fill_template
from autograder.rubric import Item, Question, Rubric

_BARS = 10
_MOST_MISTAKES = 5
_MOST_EXAMPLES = 3
_MOST_READ = 40
"""Maximum number of answers with a mistake that are searched for the most frequent ones."""
_LONGEST_EXAMPLE = 1_500
FEWEST = 10
"""With fewer students, no correlation is reported."""
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
    mistakes: tuple[NamedMistake, ...]
    """The most frequent first."""


class QuestionFigures(Struct, frozen=True):
    """Figures of one question in a class; a manual mark of the whole cell counts."""

    question: Question
    settled: int
    waiting: int
    mean: Decimal
    difficulty: float | None
    discrimination: float | None


class ClassFigures(Struct, frozen=True):
    """Figures of a whole class. An ungraded answer is not a zero: its student is excluded from all sums."""

    students: int
    settled: int
    """Number of students without open points; mean, median, deviation and bars describe them."""
    mean: Decimal
    """0 if ``settled`` is 0, like the median."""
    median: Decimal
    deviation: float | None
    """Standard deviation of the points; None for one student."""
    bars: tuple[int, ...]
    """Students by tenths of the possible points, from none to all."""
    items: tuple[ItemFigures, ...]
    questions: tuple[QuestionFigures, ...]


def compute_figures(
    rubric: Rubric,
    results: Mapping[str, GradingResult],
    standings: Mapping[str, Standing],
    names: Mapping[str, Collection[str]] | None = None,
) -> ClassFigures:
    """Compute the figures of a class.

    Args:
        rubric: the common one.
        results: the automatic results, by student.
        standings: standings with manual marks, by student.
        names: names of students in addition to their ids, by student; removed from their answers.
    """
    class_ = {student: standings[student] for student in results}
    settled = [entry for entry in class_.values() if not _is_open(entry)]
    points = sorted(entry.total for entry in settled)
    calculator = _FigureCalculator(rubric, results, class_, names or {})
    return ClassFigures(
        len(class_),
        len(settled),
        compute_mean(points),
        numbers.median(points) if points else NOTHING,
        numbers.stdev(map(float, points)) if len(points) > 1 else None,
        _count_bars(points, rubric.assignment.points),
        tuple(calculator.compute_item(entry, item) for entry in rubric.questions for item in entry.items),
        tuple(calculator.compute_question(entry) for entry in rubric.questions),
    )


class _FigureCalculator:
    """Computes the figures of the parts of a class."""

    def __init__(
        self,
        rubric: Rubric,
        results: Mapping[str, GradingResult],
        stands: Mapping[str, Standing],
        names: Mapping[str, Collection[str]],
    ) -> None:
        self._results, self._stands, self._names = results, stands, names
        self._found: dict[str, dict[Place, ItemResult]] = {
            student: {(entry.question, entry.item): entry for entry in graded.score.items}
            for student, graded in results.items()
        }
        self._totals = {
            student: sum((entry.points for entry in stand.questions), NOTHING)
            for student, stand in stands.items()
            if not _is_open(stand)
        }
        self._given = {student: _collect_manual_points(stand, rubric) for student, stand in stands.items()}

    def _collect_question_points(self, question: Question) -> dict[str, Decimal]:
        """Return the points of students without open points in the question."""
        return {
            student: question_standing.points
            for student, stand in self._stands.items()
            for question_standing in stand.questions
            if question_standing.id == question.id and not question_standing.pending
        }

    def _collect_item_points(self, question: Question, item: Item) -> dict[str, Decimal]:
        """Return the known points of an item, manual ones first."""
        key, points = (question.id, item.id), dict[str, Decimal]()
        for student, student_results in self._found.items():
            manual, result = self._given[student], student_results.get(key)
            # None means a mark of the whole cell: the points of its items are not known.
            if key in manual:
                if (manual_value := manual[key]) is not None:
                    points[student] = manual_value
            elif result is not None and result.status is not Status.NEEDS_REVIEW:
                points[student] = result.points
        return points

    def compute_question(self, question: Question) -> QuestionFigures:
        """Return the figures of a question."""
        points = self._collect_question_points(question)
        return QuestionFigures(
            question,
            len(points),
            len(self._stands) - len(points),
            compute_mean(list(points.values())),
            _compute_difficulty(points, question.points),
            self._compute_discrimination(points),
        )

    def compute_item(self, question: Question, item: Item) -> ItemFigures:
        """Return the figures of an item."""
        key, points = (question.id, item.id), self._collect_item_points(question, item)
        item_results = {
            student: student_results[key]
            for student, student_results in self._found.items()
            if key in student_results
        }
        return ItemFigures(
            question,
            item,
            len(points),
            len(item_results.keys() - points.keys()),
            sum(value.status is Status.NO_ANSWER for value in item_results.values()),
            sum(value == item.points for value in points.values()),
            sum(value == 0 for value in points.values()),
            compute_mean(list(points.values())),
            _compute_difficulty(points, item.points),
            self._compute_discrimination(points),
            tuple(self._list_mistakes(question, item)),
        )

    def _compute_discrimination(self, points: Mapping[str, Decimal]) -> float | None:
        """Return the corrected discrimination of settled students: the total excludes the part itself."""
        settled_points = {student: value for student, value in points.items() if student in self._totals}
        # A part correlates with itself, so a total that included it would overstate discrimination.
        other_points = [float(self._totals[student] - value) for student, value in settled_points.items()]
        # The correlation is undefined if either side is constant, and means little for a few students.
        if len(other_points) < FEWEST or min(len(set(settled_points.values())), len(set(other_points))) == 1:
            return None
        return numbers.correlation([float(value) for value in settled_points.values()], other_points)

    def _list_mistakes(self, question: Question, item: Item) -> Iterable[NamedMistake]:
        students_by_code: dict[str, list[str]] = {}
        for student, student_results in self._found.items():
            result = student_results.get((question.id, item.id))
            if result is not None and result.status is Status.FAILED and result.code:
                students_by_code.setdefault(result.code, []).append(student)
        for code, students in sorted(
            students_by_code.items(),
            key=lambda code_and_students: (-len(code_and_students[1]), code_and_students[0]),
        )[:_MOST_MISTAKES]:
            said = self._found[students[0]][question.id, item.id].student
            yield NamedMistake(code, len(students), said, self._choose_examples(question, item, students))

    def _choose_examples(
        self, question: Question, item: Item, students: Sequence[str]
    ) -> tuple[Example, ...]:
        """Return distinct answers of these students, the most frequent first, then the shortest."""
        authors: dict[str, list[str]] = {}
        for student in students[:_MOST_READ]:
            text = get_answer_text(self._results[student], question, item).strip()
            if text:
                authors.setdefault(text, []).append(student)
        # The text is the last key, so that the choice does not depend on the order of students.
        ordered = sorted(authors, key=lambda text: (-len(authors[text]), len(text), text))
        return tuple(
            Example(authors[text][0], self._redact_example(text, authors[text][0]))
            for text in ordered[:_MOST_EXAMPLES]
        )

    def _redact_example(self, text: str, student: str) -> str:
        stated_names = self._results[student].stated.values()
        cut = text if len(text) <= _LONGEST_EXAMPLE else text[:_LONGEST_EXAMPLE] + "…"
        return redact_names(cut, (student, *stated_names, *self._names.get(student, ())))


def _is_open(stand: Standing) -> bool:
    """Decide whether an answer of a student is not graded yet, so that the sum is meaningless."""
    return any(question_standing.pending for question_standing in stand.questions)


def redact_names(text: str, names: Iterable[str]) -> str:
    """Replace whole names, and their single words, in a text by an ellipsis."""
    words = {word for name in names for word in (name, *name.split())}
    # Longest first, so that a full name is replaced before its words.
    searched_words = sorted((word for word in words if len(word) >= _SHORTEST_NAME), key=len, reverse=True)
    if not searched_words:
        return text
    # Whole words only: a short name must not blank parts of other words.
    return re.sub(
        rf"(?<!\w)(?:{'|'.join(map(re.escape, searched_words))})(?!\w)", "…", text, flags=re.IGNORECASE
    )


def _collect_manual_points(stand: Standing, rubric: Rubric) -> dict[Place, Decimal | None]:
    """Return valid manual points by item; None for items of a cell that only has a mark as a whole."""
    manual_points: dict[Place, Decimal | None] = {}
    questions = {question_entry.id: question_entry for question_entry in rubric.questions}
    for points in stand.questions:
        question = questions[points.id]
        for cell in points.cells:
            if not cell.by_person or cell.pending:
                continue
            inside = list_items(question, cell.name)
            whole = cell.points if len(inside) == 1 else None
            for item in inside:
                manual_points[question.id, item.id] = cell.items.get(item.id, whole)
    return manual_points


def _compute_difficulty(points: Mapping[str, Decimal], possible: Decimal) -> float | None:
    if not points or possible <= 0:
        return None
    return float(sum(points.values(), NOTHING) / (len(points) * possible))


def _count_bars(points: Sequence[Decimal], possible: Decimal) -> tuple[int, ...]:
    # Full marks, and more with bonus points, belong to the last bar.
    counts = Counter(
        min(_BARS - 1, max(0, int(_BARS * total / possible))) for total in points if possible > 0
    )
    return tuple(counts[index] for index in range(_BARS))


class _Author(Struct, frozen=True):
    """Display name of a student on the page."""

    name: str
    link: str
    """Link to the student's page; empty if students are not named."""


class _Row(Struct, frozen=True):
    """Row of one student."""

    author: _Author
    points: Decimal
    grade: str
    provisional: bool
    questions: tuple[Decimal | None, ...]
    """Points by question; None for a question that is not fully graded."""


def render_statistics(
    rubric: Rubric,
    figures: ClassFigures,
    standings: Mapping[str, Standing],
    called: Mapping[str, str],
    *,
    named: bool,
    remarks: Sequence[str] = (),
) -> str:
    """Render the page. It runs one script, which sorts tables, and works without it.

    Args:
        rubric: the common one.
        figures: of the class.
        standings: standing of each student.
        called: display name by student.
        named: ``called`` are ids: they are linked to the students' pages.
        remarks: about the class as a whole, a sentence each.
    """
    labels, name = Labels("en"), rubric.assignment.name

    def make_author(student: str) -> _Author:
        # Links contain ids, so a page with pseudonyms has none. Ids may contain characters special in URLs.
        link = f"../feedback/{quote(student)}/{quote(name)}/{quote(name)}.html" if named else ""
        return _Author(to_printable_text(called[student], 200), link)

    rows = [_make_row(stand, make_author(student), labels) for student, stand in standings.items()]
    scale = rubric.assignment.grading
    return fill_template(
        "statistics.html",
        title=labels.pick(rubric.assignment.title, name),
        version=rubric.version,
        possible=rubric.assignment.points,
        figures=figures,
        rows=sorted(rows, key=lambda row: (-row.points, row.author.name)),
        named=named,
        scale=scale,
        remarks=[to_printable_text(remark, 2_000) for remark in remarks],
        author=make_author,
        example=lambda example_shown: to_printable_text(example_shown.text, 2_000),
        said=lambda message: render_sentence(message, "en"),
        two=lambda value: "–" if value is None else labels.number(Decimal(f"{value:.2f}")),
        label=labels,
        sortable=True,
    )


def _make_row(stand: Standing, author: _Author, labels: Labels) -> _Row:
    grade = format_grade_range(stand.worst, stand.best, labels) if stand.worst and stand.best else ""
    questions = tuple(
        None if question_standing.pending else question_standing.points
        for question_standing in stand.questions
    )
    return _Row(author, stand.total, grade, not stand.final, questions)
