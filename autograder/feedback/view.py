"""What the page says about the marks: every text chosen, every number formatted, losses first."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct

from autograder.feedback.cells import CellView, NotebookView, notebook_view
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import quoting_sentence, sentence, visible
from autograder.feedback.tasks import TaskView, task_views
from autograder.feedback.typeset import Typesetter, caret
from autograder.records import Graded, ItemResult, Status
from autograder.rubric import Question, Rubric

_NOTHING = Decimal(0)
_SILENT = "passed"
"""The message that says no more than the status."""
_MOST_REASON = 160


class ItemView(Struct, frozen=True):
    """One line of the rubric with its verdict."""

    anchor: str
    text: str
    status: str
    worth: str
    """What stands in the points column: earned and possible, or what is still open."""
    lost: str
    """Empty when nothing was lost."""
    message: str
    """Empty where the status says it all."""
    said: Markup
    """The same, with the student's own formulas set as code."""
    caret: str
    """Two lines that point into an unreadable formula; empty otherwise."""
    reading: Markup | None
    plain: str
    """The reading as plain text, beside one that is typeset; empty otherwise."""

    @property
    def reason(self) -> str:
        """The message's beginning, for the summary of losses."""
        first = " ".join(self.message.split())
        return first if len(first) <= _MOST_REASON else first[:_MOST_REASON].rsplit(" ", 1)[0] + " …"


class QuestionView(Struct, frozen=True):
    """One question with its items."""

    anchor: str
    title: str
    name: str
    status: str
    points: str
    possible: str
    pending: str
    lost: str
    earned_percent: int
    pending_percent: int
    table: bool
    """Shown as a fault-by-fault table."""
    items: tuple[ItemView, ...]
    cell: CellView | None
    """Where the student's answer stands in the executed notebook."""

    @property
    def losses(self) -> tuple[ItemView, ...]:
        """The items that lost points."""
        return tuple(item for item in self.items if item.lost)

    @property
    def unanswered(self) -> bool:
        """Nothing was answered: one line says all."""
        return self.status == "no-answer"


class SubmittedView(Struct, frozen=True):
    """When it was handed in."""

    moment: str
    """Empty where it is not known."""
    said: str
    """What that means; empty where it was in time, or no time is stated."""


class PageView(Struct, frozen=True):
    """The whole page."""

    title: str
    student: str
    stated: str
    """What the student wrote about themselves; nothing follows from it."""
    submitted: SubmittedView
    total: str
    possible: str
    pending: str
    earned_percent: int
    pending_percent: int
    isolation: str
    """The stamp's sentence; empty for full isolation."""
    refusal: str
    """Why nothing could be graded; empty when something was."""
    tasks: tuple[TaskView, ...]
    """Empty where the rubric states none."""
    questions: tuple[QuestionView, ...]
    notebooks: tuple[NotebookView, ...]

    @property
    def losses(self) -> tuple[QuestionView, ...]:
        """The questions that lost points."""
        return tuple(question for question in self.questions if question.lost)


def page_view(graded: Graded, rubric: Rubric, labels: Labels, submitted: SubmittedView) -> PageView:
    """Everything the page shows; only students' texts, never staff's."""
    score, assignment = graded.score, rubric.assignment
    notebooks = tuple(
        notebook_view(notebook, position, labels, assignment.limits)
        for position, notebook in enumerate(graded.notebooks, start=1)
    )
    results = {(result.question, result.item): result for result in score.items}
    common = Typesetter(assignment.symbols)
    questions = tuple(
        _question_view(
            question,
            [results[question.id, item.id] for item in question.items if (question.id, item.id) in results],
            labels,
            Typesetter(rubric.symbols(question)) if question.symbols else common,
            notebooks,
        )
        for question in rubric.questions
    )
    stamp = (
        "" if score.isolation == "namespaces" else labels("isolation", isolation=visible(score.isolation, 40))
    )
    return PageView(
        title=labels.pick(assignment.title, assignment.name),
        student=visible(score.student, 200),
        stated=visible(", ".join(graded.stated.values()), 500),
        submitted=submitted,
        total=labels.number(score.points),
        possible=labels.number(assignment.points),
        pending=labels.pending(score.pending) if score.pending else "",
        earned_percent=_percent(score.points, assignment.points),
        pending_percent=_percent(score.pending, assignment.points),
        isolation=stamp,
        refusal=_refusal(graded, labels),
        tasks=task_views(assignment.tasks, rubric.questions, _by_question(score.items), labels),
        questions=questions,
        notebooks=notebooks,
    )


def _by_question(results: Sequence[ItemResult]) -> dict[str, tuple[Decimal, Decimal]]:
    """Points earned and points still open, by question."""
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for result in results:
        earned, pending = found.get(result.question, (_NOTHING, _NOTHING))
        waits = result.possible if result.status is Status.NEEDS_REVIEW else _NOTHING
        found[result.question] = earned + result.points, pending + waits
    return found


def _refusal(graded: Graded, labels: Labels) -> str:
    """What was wrong with a submission that could not be read: all its items say the same."""
    messages = {(item.student.code, sentence(item.student, labels.language)) for item in graded.score.items}
    return messages.pop()[1] if not graded.notebooks and len(messages) == 1 else ""


def _question_view(
    question: Question,
    results: Sequence[ItemResult],
    labels: Labels,
    typesetter: Typesetter,
    notebooks: Sequence[NotebookView],
) -> QuestionView:
    points = sum((result.points for result in results), _NOTHING)
    pending = sum((result.possible for result in results if result.status is Status.NEEDS_REVIEW), _NOTHING)
    lost = sum((_lost(result) for result in results), _NOTHING)
    names = (question.answer_cell, question.id)
    found = (
        notebook.find(name) for name in names for notebook in notebooks if notebook.name == question.notebook
    )
    return QuestionView(
        anchor=f"question-{question.id}",
        title=labels.pick(question.title, question.id),
        name=question.id,
        status=_question_status(results, points, question.points),
        points=labels.number(points),
        possible=labels.number(question.points),
        pending=labels("open", points=labels.number(pending)) if pending else "",
        lost=labels.number(-lost) if lost else "",
        earned_percent=_percent(points, question.points),
        pending_percent=_percent(pending, question.points),
        table=question.kind == "repair",
        items=tuple(_item_view(question, result, labels, typesetter) for result in results),
        cell=next((cell for cell in found if cell is not None), None),
    )


def _item_view(question: Question, result: ItemResult, labels: Labels, typesetter: Typesetter) -> ItemView:
    item = question.item(result.item)
    partly = result.status is Status.FAILED and result.points > 0
    lost = _lost(result)
    silent = result.student.code == _SILENT
    reading = typesetter.markup(result.reading)
    return ItemView(
        anchor=f"item-{question.id}-{result.item}",
        text=labels.pick(item.text, result.item),
        status="partly" if partly else result.status.value,
        worth=_worth(result, labels),
        lost=labels.number(-lost) if lost else "",
        message="" if silent else sentence(result.student, labels.language),
        said=Markup() if silent else quoting_sentence(result.student, labels.language),
        caret=caret(result.student.params),
        reading=reading,
        plain=visible(result.reading) if reading is not None and "<math" in reading else "",
    )


def _worth(result: ItemResult, labels: Labels) -> str:
    if result.status is Status.NEEDS_REVIEW:
        return labels("open", points=labels.number(result.possible))
    earned = labels.number(result.points)
    return earned if result.possible < 0 else f"{earned} {labels('of')} {labels.number(result.possible)}"


def _lost(result: ItemResult) -> Decimal:
    """Points that could have been had; a deduction that was made counts, an open item does not."""
    if result.status is Status.NEEDS_REVIEW:
        return _NOTHING
    return max(_NOTHING, max(result.possible, _NOTHING) - result.points)


def _question_status(results: Sequence[ItemResult], points: Decimal, possible: Decimal) -> str:
    statuses = {result.status for result in results}
    if Status.NEEDS_REVIEW in statuses:
        return "needs-review"
    if statuses == {Status.NO_ANSWER}:
        return "no-answer"
    if points >= possible:
        return "passed"
    return "partly" if points > 0 else "failed"


def _percent(part: Decimal, whole: Decimal) -> int:
    return 0 if whole <= 0 else max(0, min(100, round(100 * part / whole)))
