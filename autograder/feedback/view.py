"""What the page says about the marks: every text chosen, every number formatted, losses first."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct

from autograder.feedback.cells import CellView, NotebookView, notebook_view
from autograder.feedback.grade import GradeView, grade_view
from autograder.feedback.labels import Labels
from autograder.feedback.lines import RubricLine, lines, lost, together
from autograder.feedback.sanitise import printable_text, quoting_sentence, sentence
from autograder.feedback.sums import extra_sentence, sum_lines, sum_sentences
from autograder.feedback.tasks import TaskView, task_views
from autograder.feedback.typeset import Typesetter, caret
from autograder.grades import NOTHING, QuestionPoints, Standing
from autograder.kinds import kind
from autograder.records import Graded, ItemResult, Status
from autograder.rubric import Question, Rubric

_SILENT = "passed"
"""The message that says no more than the status."""
_MOST_REASON = 160
_MOST_COMMENT = 4_000


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
    bonus: bool
    marked: tuple[str, ...]
    """What people gave several lines together, a sentence for each cell."""
    extra: str
    """What people added to it or took away for it besides; empty for nothing."""
    comments: tuple[str, ...]
    """What people wrote about the answer."""

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
    bad: bool = False
    """It may cost something."""


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
    grade: GradeView | None
    sum_lines: tuple[tuple[str, str], ...]
    """What stands between the tasks and the sum: what it is, and its points."""
    sum_sentences: tuple[str, ...]
    """How the sum came about, where it is not what the questions give."""
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


def page_view(
    graded: Graded, rubric: Rubric, labels: Labels, submitted: SubmittedView, standing: Standing
) -> PageView:
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
            points,
            [results[question.id, item.id] for item in question.items if (question.id, item.id) in results],
            labels=labels,
            typesetter=Typesetter(rubric.symbols(question)) if question.symbols else common,
            notebooks=notebooks,
            final=standing.final,
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    )
    points = {one.id: (one.points, one.most - one.least) for one in standing.questions}
    stamp = (
        ""
        if score.isolation == "namespaces"
        else labels("isolation", isolation=printable_text(score.isolation, 40))
    )
    return PageView(
        title=labels.pick(assignment.title, assignment.name),
        student=printable_text(score.student, 200),
        stated=printable_text(", ".join(graded.stated.values()), 500),
        submitted=submitted,
        total=labels.number(standing.total),
        possible=labels.number(assignment.points),
        pending=labels.pending(standing.pending) if standing.pending else "",
        earned_percent=_percent(standing.total, assignment.points),
        pending_percent=_percent(standing.pending, assignment.points),
        grade=grade_view(standing, labels),
        sum_lines=sum_lines(standing, labels),
        sum_sentences=sum_sentences(standing, labels),
        isolation=stamp,
        refusal=_refusal(graded, labels),
        tasks=task_views(assignment.tasks, rubric.questions, points, labels),
        questions=questions,
        notebooks=notebooks,
    )


def _refusal(graded: Graded, labels: Labels) -> str:
    """What was wrong with a submission that could not be read: all its items say the same."""
    messages = {(item.student.code, sentence(item.student, labels.language)) for item in graded.score.items}
    return messages.pop()[1] if not graded.notebooks and len(messages) == 1 else ""


def _question_view(
    question: Question,
    points: QuestionPoints,
    results: Sequence[ItemResult],
    *,
    labels: Labels,
    typesetter: Typesetter,
    notebooks: Sequence[NotebookView],
    final: bool,
) -> QuestionView:
    pending = sum((cell.most - cell.least for cell in points.cells), NOTHING)
    names = (question.answer_cell, question.id)
    found = (
        notebook.find(name) for name in names for notebook in notebooks if notebook.name == question.notebook
    )
    decided = lines(question, results, points)
    missing = lost(question, decided, points)
    return QuestionView(
        anchor=f"question-{question.id}",
        title=labels.pick(question.title, question.id),
        name=question.id,
        status=_question_status(points, decided),
        points=labels.number(points.points),
        possible=labels.number(question.points),
        pending=labels("open", points=labels.number(pending)) if pending else "",
        lost=labels.number(-missing) if missing else "",
        earned_percent=_percent(points.points, question.points),
        pending_percent=_percent(pending, question.points),
        table=kind(question.kind).form == "listing",
        items=tuple(_item_view(question, line, labels, typesetter, final=final) for line in decided),
        cell=next((cell for cell in found if cell is not None), None),
        bonus=question.bonus,
        marked=tuple(_of(cell.points, cell.possible, labels) for cell in together(question, points)),
        extra=extra_sentence(points, labels),
        comments=tuple(printable_text(comment, _MOST_COMMENT) for comment in points.comments),
    )


def _item_view(
    question: Question, line: RubricLine, labels: Labels, typesetter: Typesetter, *, final: bool
) -> ItemView:
    result = line.result
    item = question.item(result.item)
    partly = result.status is Status.FAILED and result.points > 0
    silent = result.student.code == _SILENT
    reading = typesetter.markup(result.reading)
    settled = line.marked and result.status is not Status.NEEDS_REVIEW
    hidden = bool(item.shown) and not final
    anchor = question.items.index(item) + 1 if hidden else result.item  # an id may tell what the text would
    return ItemView(
        anchor=f"item-{question.id}-{anchor}",
        text=labels.pick(item.title(final=final), result.item),
        status="marked" if settled else "partly" if partly else result.status.value,
        worth="" if line.shared else _worth(result, labels),
        lost=labels.number(-line.lost) if line.lost else "",
        message="" if silent else sentence(result.student, labels.language),
        said=Markup() if silent else quoting_sentence(result.student, labels.language),
        caret=caret(result.student.params),
        reading=reading,
        plain=printable_text(result.reading) if reading is not None and "<math" in reading else "",
    )


def _worth(result: ItemResult, labels: Labels) -> str:
    if result.status is Status.NEEDS_REVIEW:
        return labels("open", points=labels.number(result.possible))
    if result.possible < 0:
        return labels.number(result.points)
    return _of(result.points, result.possible, labels)


def _of(points: Decimal, possible: Decimal, labels: Labels) -> str:
    return f"{labels.number(points)} {labels('of')} {labels.number(possible)}"


def _question_status(points: QuestionPoints, found: Sequence[RubricLine]) -> str:
    if points.pending:
        return "needs-review"
    if {line.result.status for line in found} == {Status.NO_ANSWER}:
        return "no-answer"
    if points.points >= points.possible:
        return "passed"
    return "partly" if points.points > 0 else "failed"


def _percent(part: Decimal, whole: Decimal) -> int:
    return 0 if whole <= 0 else max(0, min(100, round(100 * part / whole)))
