"""Marks on the page: all texts selected, all numbers formatted, losses first.

Manual marks replace automatic results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder import messages
from autograder.core.records import GradingResult, Limits, Score
from autograder.grading.grades import NOTHING, MarkChange, Standing
from autograder.notebook.release import Release
from autograder.pages.feedback.cells import FileView, NotebookView, build_file_views, build_notebook_view
from autograder.pages.feedback.grade import GradeView, build_grade_view
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.lines import list_rubric_lines
from autograder.pages.feedback.questions import LineComment, QuestionView, QuestionWriter, compute_percent
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.rubric import Question, Rubric, Task

Points = Mapping[str, tuple[Decimal, Decimal]]
"""Earned and open points, by question id."""


_MOST_REASON = 4_000


class TaskView(Struct, frozen=True):
    """One line of the table."""

    name: str
    text: str
    possible: str
    points: str
    pending: str
    """Points that are still being graded; empty if there are none."""


def _build_task_views(
    tasks: Sequence[Task], questions: Sequence[Question], standing: Standing, labels: Labels
) -> tuple[TaskView, ...]:
    """Return a line for each task; none if the rubric has no tasks. Bonus points appear below the sum."""
    points = {
        question.id: (question.points, question.most - question.least) for question in standing.questions
    }
    counted = [question for question in questions if not question.bonus]
    return tuple(
        _build_task_view(
            task, [question.id for question in counted if question.task == task.id], points, labels
        )
        for task in tasks
    )


def _build_task_view(task: Task, questions: Sequence[str], points: Points, labels: Labels) -> TaskView:
    """Return the line of one task."""
    # A variant need not contain all questions of a task.
    known_points = [points[question] for question in questions if question in points]
    pending = sum((waits for _, waits in known_points), Decimal(0))
    return TaskView(
        name=task.id,
        text=labels.pick(task.text, task.id),
        possible=labels.number(task.points),
        points=labels.number(sum((earned for earned, _ in known_points), Decimal(0))),
        pending=labels("open", points=labels.number(pending)) if pending else "",
    )


class SubmittedView(Struct, frozen=True):
    """Submission time."""

    moment: str
    """Empty if it is unknown."""
    said: str
    """Consequence; empty if it was in time, or no deadline is stated."""
    bad: bool = False
    """It may cost points."""


class PageView(Struct, frozen=True):
    """The complete page."""

    title: str
    student: str
    name: str
    """Name in the class list; empty if it has none."""
    stated: str
    """Details that the student stated; they have no effect."""
    group: str
    """Members of the group, and who submitted; empty: alone."""
    submitted: SubmittedView
    total: str
    possible: str
    pending: str
    earned_percent: int
    pending_percent: int
    grade: GradeView | None
    sum_lines: tuple[tuple[str, str], ...]
    """Lines between the tasks and the sum: description and points."""
    changes: tuple[str, ...]
    """Changes of marks that the student has seen, and their reasons, the newest first."""
    sum_sentences: tuple[str, ...]
    """Explanation of the sum, if it is not the sum of the questions."""
    isolation: str
    """Sentence about the isolation; empty for full isolation."""
    refusal: str
    """Why grading was impossible; empty if it was possible."""
    tasks: tuple[TaskView, ...]
    """Empty if the rubric states none."""
    questions: tuple[QuestionView, ...]
    notebooks: tuple[NotebookView, ...]
    files: tuple[FileView, ...]
    """Files submitted with them, and missing ones."""
    shown_at: Mapping[str, QuestionView]
    """Question that shows a cell, by the cell's anchor."""

    def needs_a_look(self, notebook: NotebookView) -> bool:
        """Decide whether a problem occurred in a cell that no question shows."""
        return any(cell.has_problem and cell.anchor not in self.shown_at for cell in notebook.cells)

    @property
    def is_decided(self) -> bool:
        """Whether the points of some answer are known."""
        return self.earned_percent + self.pending_percent < 100 or self.earned_percent > 0

    @property
    def losses(self) -> tuple[QuestionView, ...]:
        """The questions that lost points."""
        return tuple(question for question in self.questions if question.lost)


def build_page_view(
    graded: GradingResult,
    rubric: Rubric,
    labels: Labels,
    submitted: SubmittedView,
    standing: Standing,
    *,
    changes: Sequence[MarkChange] = (),
    releases: Mapping[str, Release] | None = None,
    name: str = "",
    line_comments: Sequence[LineComment] = (),
) -> PageView:
    """Return all content of the page; only students' texts, never staff's.

    Args:
        graded: result of grading.
        rubric: rubric of the student's variant.
        labels: words of the page.
        submitted: submission time.
        standing: marks, including manual ones.
        changes: changes of marks that the student has seen, the oldest first.
        releases: released notebooks of the student, by name; without them prompts, and new lines in an
            answer, are not shown.
        name: name of the student in the class list.
        line_comments: comments of markers on lines of answers.
    """
    score, assignment = graded.score, rubric.assignment
    release_by_name, files = releases or {}, build_file_views(graded.files, labels)
    notebooks = _build_notebook_views(graded, labels, assignment.limits, release_by_name)
    writer = QuestionWriter(
        labels,
        notebooks,
        release_by_name,
        files=files,
        assignment=assignment,
        final=standing.final,
        line_comments=line_comments,
    )
    questions = _build_questions(writer, score, rubric, standing)
    return PageView(
        title=labels.pick(assignment.title, assignment.name),
        student=to_printable_text(score.student, 200),
        name=to_printable_text(name, 200),
        stated=to_printable_text(", ".join(graded.stated.values()), 500),
        group=_describe_group(score, labels),
        submitted=submitted,
        total=labels.number(standing.total),
        possible=labels.number(assignment.points),
        pending=labels.describe_pending(standing.pending) if standing.pending else "",
        earned_percent=compute_percent(standing.total, assignment.points),
        pending_percent=compute_percent(standing.pending, assignment.points),
        grade=build_grade_view(standing, labels),
        sum_lines=_list_sum_lines(standing, labels),
        changes=tuple(describe_change(change, labels) for change in reversed(changes)),
        sum_sentences=_list_sum_sentences(standing, labels),
        isolation=_describe_isolation(score.isolation, labels),
        refusal=_describe_refusal(graded, labels),
        tasks=_build_task_views(assignment.tasks, rubric.questions, standing, labels),
        questions=questions,
        notebooks=notebooks,
        files=files,
        shown_at={cell.anchor: question for question in questions for cell in question.answers},
    )


def _build_questions(
    writer: QuestionWriter, score: Score, rubric: Rubric, standing: Standing
) -> tuple[QuestionView, ...]:
    """Return all questions with their points."""
    lines = list_rubric_lines(score, rubric, standing)
    return tuple(
        writer.write_question(
            question, points, lines[question.id], rubric.list_symbols(question) if question.symbols else None
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    )


def _build_notebook_views(
    graded: GradingResult, labels: Labels, limits: Limits, releases: Mapping[str, Release]
) -> tuple[NotebookView, ...]:
    """Return all notebooks with their cells."""
    return tuple(
        build_notebook_view(notebook, position, labels, limits, releases.get(notebook.name))
        for position, notebook in enumerate(graded.notebooks, start=1)
    )


def describe_change(change: MarkChange, labels: Labels) -> str:
    """Return the student's sentence about a mark that has changed since it was shown."""
    moment = messages.format_sentence("moment.utc", labels.language, moment=change.at)
    points = {"before": labels.number(change.before), "after": labels.number(change.after)}
    code = "changed" if change.before != change.after else "changed-parts"
    said = labels(code, moment=moment, **points)
    reason = to_printable_text(change.reason, _MOST_REASON)
    return f"{said} {labels('changed-why', reason=reason)}" if reason else said


def _describe_isolation(isolation: str, labels: Labels) -> str:
    """Return the sentence about the isolation; empty for full isolation."""
    if isolation == "namespaces":
        return ""
    return labels("isolation", isolation=to_printable_text(isolation, 40))


def _describe_group(score: Score, labels: Labels) -> str:
    """Return the group, its members, and who submitted for it."""
    if score.group is None:
        return ""
    members = ", ".join(score.group.members)
    said = labels("group-of", name=score.group.name, members=members, by=score.asked)
    return to_printable_text(said, 500)


def _describe_refusal(graded: GradingResult, labels: Labels) -> str:
    """Return why a submission could not be read: all its items give the same reason."""
    items = graded.score.items
    said = {(item.student.code, render_sentence(item.student, labels.language)) for item in items}
    # Different sentences mean that each item has its own reason.
    return "" if graded.notebooks or len(said) != 1 else said.pop()[1]


def _list_sum_lines(standing: Standing, labels: Labels) -> tuple[tuple[str, str], ...]:
    """Return the lines between the tasks and the sum, with points; none if nothing was added or deducted."""
    if not (standing.bonus or standing.taken or standing.late):
        return ()
    lines = [(labels("task-points"), labels.number(standing.earned))]
    # No more can be deducted than was earned.
    if standing.taken:
        lines.append((labels("taken-line"), labels.number(-min(standing.taken, standing.earned))))
    if standing.late:
        lines.append((labels("late-line"), labels.number(-standing.late)))
    if standing.bonus:
        sign = "+" if _is_bonus_counted(standing) else ""
        key = "bonus-line" if _is_bonus_counted(standing) else "bonus-line-out"
        lines.append((labels(key), sign + labels.number(standing.bonus)))
    return tuple(lines)


def _list_sum_sentences(standing: Standing, labels: Labels) -> tuple[str, ...]:
    """Return the same in words, with the reasons; none if the sum is that of the questions."""
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
        key = "bonus" if _is_bonus_counted(standing) else "bonus-out"
        said.append(
            labels(key, points=labels.number(standing.bonus), sources=_describe_sources(standing, labels))
        )
    scale = standing.scale
    possible = sum((question.possible for question in standing.questions if not question.bonus), NOTHING)
    if standing.total > possible:
        said.append(labels("above-possible", possible=labels.number(possible)))
        if scale and scale.steps:
            said.append(labels("best-grade", grade=labels.grade(scale.steps[0].grade)))
    return tuple(said)


def _is_bonus_counted(standing: Standing) -> bool:
    """Decide whether bonus points count."""
    # Some scales count bonus points only for students who pass without them.
    return standing.total == standing.points + standing.bonus


def _describe_sources(standing: Standing, labels: Labels) -> str:
    """Return the sources of bonus points; with the numbers if there are several."""
    sources = {
        "bonus-from.questions": standing.by_bonus_questions,
        "bonus-from.people": standing.extra,
        "bonus-from.course": standing.given,
    }
    counted_sources = {key: points for key, points in sources.items() if points}
    if len(counted_sources) == 1:
        return labels(next(iter(counted_sources)))
    return ", ".join(f"{labels.number(points)} {labels(key)}" for key, points in counted_sources.items())
