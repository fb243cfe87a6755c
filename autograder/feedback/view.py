"""What the page says about the marks: every text chosen, every number formatted, losses first.

People's marks stand in the place of automatic results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder import messages
from autograder.feedback.cells import NotebookView, notebook_view
from autograder.feedback.files import FileView, file_views
from autograder.feedback.grade import GradeView, grade_view
from autograder.feedback.labels import Labels
from autograder.feedback.lines import rubric_lines
from autograder.feedback.questions import QuestionView, QuestionWriter, percent
from autograder.feedback.sanitise import printable_text, sentence
from autograder.grades import NOTHING, MarkChange, Standing
from autograder.notebook.release import Release
from autograder.records import Graded, Limits, Score
from autograder.rubric import Question, Rubric
from autograder.rubric.exam import Task

Points = Mapping[str, tuple[Decimal, Decimal]]
"""Points achieved and points still open, by question id."""


_MOST_REASON = 4_000


class TaskView(Struct, frozen=True):
    """One line of the table."""

    name: str
    text: str
    possible: str
    points: str
    pending: str
    """What a person still decides on; empty where nothing is open."""


def _task_views(
    tasks: Sequence[Task], questions: Sequence[Question], standing: Standing, labels: Labels
) -> tuple[TaskView, ...]:
    """A line for each task; none where the rubric states no tasks. Bonus points are told below the sum."""
    points = {one.id: (one.points, one.most - one.least) for one in standing.questions}
    counted = [one for one in questions if not one.bonus]
    return tuple(
        _task_view(task, [one.id for one in counted if one.task == task.id], points, labels) for task in tasks
    )


def _task_view(task: Task, questions: Sequence[str], points: Points, labels: Labels) -> TaskView:
    known = [points[question] for question in questions if question in points]
    pending = sum((waits for _, waits in known), Decimal(0))
    return TaskView(
        name=task.id,
        text=labels.pick(task.text, task.id),
        possible=labels.number(task.points),
        points=labels.number(sum((earned for earned, _ in known), Decimal(0))),
        pending=labels("open", points=labels.number(pending)) if pending else "",
    )


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
    name: str
    """As the class list has it; empty where it has none."""
    stated: str
    """What the student wrote about themselves; nothing follows from it."""
    group: str
    """With whom it was handed in, and who did; empty: alone."""
    submitted: SubmittedView
    total: str
    possible: str
    pending: str
    earned_percent: int
    pending_percent: int
    grade: GradeView | None
    sum_lines: tuple[tuple[str, str], ...]
    """What stands between the tasks and the sum: what it is, and its points."""
    changes: tuple[str, ...]
    """What became of marks that the student was shown before, and why, the newest first."""
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
    files: tuple[FileView, ...]
    """What was handed in beside them, and what is missing."""
    shown_at: Mapping[str, QuestionView]
    """The question in which a cell is shown, by the cell's anchor."""

    def needs_a_look(self, notebook: NotebookView) -> bool:
        """Whether something went wrong in a cell that no question shows."""
        return any(cell.has_problem and cell.anchor not in self.shown_at for cell in notebook.cells)

    @property
    def is_decided(self) -> bool:
        """Whether the points of some answer are known."""
        return self.earned_percent + self.pending_percent < 100 or self.earned_percent > 0

    @property
    def losses(self) -> tuple[QuestionView, ...]:
        """The questions that lost points."""
        return tuple(question for question in self.questions if question.lost)


def page_view(
    graded: Graded,
    rubric: Rubric,
    labels: Labels,
    submitted: SubmittedView,
    standing: Standing,
    *,
    changes: Sequence[MarkChange] = (),
    releases: Mapping[str, Release] | None = None,
    name: str = "",
) -> PageView:
    """Everything the page shows; only students' texts, never staff's.

    Args:
        graded: the result.
        rubric: the one the student was asked by.
        labels: the page's words.
        submitted: when it was handed in.
        standing: the marks, with what people gave.
        changes: of marks that the student was shown, the oldest first.
        releases: the notebooks that the student was given, by name; without them the text of questions, and
            what is new in an answer, is not told.
        name: of the student, as the class list has it.
    """
    score, assignment = graded.score, rubric.assignment
    given, files = releases or {}, file_views(graded.files, labels)
    notebooks = _notebook_views(graded, labels, assignment.limits, given)
    writer = QuestionWriter(
        labels, notebooks, given, files=files, assignment=assignment, final=standing.final
    )
    questions = _questions(writer, score, rubric, standing)
    return PageView(
        title=labels.pick(assignment.title, assignment.name),
        student=printable_text(score.student, 200),
        name=printable_text(name, 200),
        stated=printable_text(", ".join(graded.stated.values()), 500),
        group=_group(score, labels),
        submitted=submitted,
        total=labels.number(standing.total),
        possible=labels.number(assignment.points),
        pending=labels.pending(standing.pending) if standing.pending else "",
        earned_percent=percent(standing.total, assignment.points),
        pending_percent=percent(standing.pending, assignment.points),
        grade=grade_view(standing, labels),
        sum_lines=_sum_lines(standing, labels),
        changes=tuple(change_text(one, labels) for one in reversed(changes)),
        sum_sentences=_sum_sentences(standing, labels),
        isolation=_stamp(score.isolation, labels),
        refusal=_refusal(graded, labels),
        tasks=_task_views(assignment.tasks, rubric.questions, standing, labels),
        questions=questions,
        notebooks=notebooks,
        files=files,
        shown_at={cell.anchor: question for question in questions for cell in question.answers},
    )


def _questions(
    writer: QuestionWriter, score: Score, rubric: Rubric, standing: Standing
) -> tuple[QuestionView, ...]:
    lines = rubric_lines(score, rubric, standing)
    return tuple(
        writer.question(
            question, points, lines[question.id], rubric.symbols(question) if question.symbols else None
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    )


def _notebook_views(
    graded: Graded, labels: Labels, limits: Limits, releases: Mapping[str, Release]
) -> tuple[NotebookView, ...]:
    return tuple(
        notebook_view(notebook, position, labels, limits, releases.get(notebook.name))
        for position, notebook in enumerate(graded.notebooks, start=1)
    )


def change_text(change: MarkChange, labels: Labels) -> str:
    """What a student reads of a mark that they were shown, and that is another one now."""
    moment = messages.sentence("moment.utc", labels.language, moment=change.at)
    points = {"before": labels.number(change.before), "after": labels.number(change.after)}
    code = "changed" if change.before != change.after else "changed-parts"
    said = labels(code, moment=moment, **points)
    reason = printable_text(change.reason, _MOST_REASON)
    return f"{said} {labels('changed-why', reason=reason)}" if reason else said


def _stamp(isolation: str, labels: Labels) -> str:
    if isolation == "namespaces":
        return ""
    return labels("isolation", isolation=printable_text(isolation, 40))


def _group(score: Score, labels: Labels) -> str:
    """The group, its members, and who handed in for it."""
    if score.group is None:
        return ""
    members = ", ".join(score.group.members)
    said = labels("group-of", name=score.group.name, members=members, by=score.asked)
    return printable_text(said, 500)


def _refusal(graded: Graded, labels: Labels) -> str:
    """What was wrong with a submission that could not be read: all its items say the same."""
    items = graded.score.items
    said = {(item.student.code, sentence(item.student, labels.language)) for item in items}
    return "" if graded.notebooks or len(said) != 1 else said.pop()[1]


def _sum_lines(standing: Standing, labels: Labels) -> tuple[tuple[str, str], ...]:
    """What stands between the tasks and the sum, with its points, where anything was added or taken."""
    if not (standing.bonus or standing.taken or standing.late):
        return ()
    found = [(labels("task-points"), labels.number(standing.earned))]
    if standing.taken:
        found.append((labels("taken-line"), labels.number(-min(standing.taken, standing.earned))))
    if standing.late:
        found.append((labels("late-line"), labels.number(-standing.late)))
    if standing.bonus:
        sign = "+" if _counted(standing) else ""
        key = "bonus-line" if _counted(standing) else "bonus-line-out"
        found.append((labels(key), sign + labels.number(standing.bonus)))
    return tuple(found)


def _sum_sentences(standing: Standing, labels: Labels) -> tuple[str, ...]:
    """The same in words, with the reasons; nothing where the sum is what the questions give."""
    said = []
    if standing.taken:
        key = "taken" if standing.taken <= standing.earned else "taken-bounded"
        numbers = {name: labels.number(getattr(standing, name)) for name in ("taken", "earned")}
        left = labels.number(standing.points + standing.late)
        said.append(labels(key, **numbers, points=left))
    if standing.late:
        before, points = standing.points + standing.late, standing.points
        late = {"late": standing.late, "before": before, "points": points}
        said.append(labels("late", **{name: labels.number(value) for name, value in late.items()}))
    if standing.bonus:
        key = "bonus" if _counted(standing) else "bonus-out"
        said.append(labels(key, points=labels.number(standing.bonus), sources=_sources(standing, labels)))
    scale = standing.scale
    possible = sum((one.possible for one in standing.questions if not one.bonus), NOTHING)
    if standing.total > possible:
        said.append(labels("above-possible", possible=labels.number(possible)))
        if scale and scale.steps:
            said.append(labels("best-grade", grade=labels.grade(scale.steps[0].grade)))
    return tuple(said)


def _counted(standing: Standing) -> bool:
    return standing.total == standing.points + standing.bonus


def _sources(standing: Standing, labels: Labels) -> str:
    """Where bonus points come from; with the numbers where there are several sources."""
    sources = {
        "bonus-from.questions": standing.by_bonus_questions,
        "bonus-from.people": standing.extra,
        "bonus-from.course": standing.given,
    }
    found = {key: points for key, points in sources.items() if points}
    if len(found) == 1:
        return labels(next(iter(found)))
    return ", ".join(f"{labels.number(points)} {labels(key)}" for key, points in found.items())
