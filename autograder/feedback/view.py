"""What the page says about the marks: every text chosen, every number formatted, losses first.

People's marks stand in the place of automatic results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.feedback.cells import CellView, NotebookView, notebook_view
from autograder.feedback.files import FileView, file_views
from autograder.feedback.grade import GradeView, grade_view
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import printable_text, sentence
from autograder.feedback.tex import with_formulas
from autograder.feedback.typeset import Typesetter, caret
from autograder.feedback.wordings import SentenceKey, Wordings, spoken, told
from autograder.grades import NOTHING, CellPoints, MarkChange, QuestionPoints, Standing
from autograder.kinds import kind
from autograder.records import Graded, ItemResult, Limits, Message, Score, Status
from autograder.rubric import Question, Rubric
from autograder.rubric.exam import Task

Points = Mapping[str, tuple[Decimal, Decimal]]
"""Points achieved and points still open, by question id."""
_SILENT = "passed"
"""The message that says no more than the status."""
_MOST_REASON = 160
_MOST_COMMENT = 4_000


class RubricLine(Struct, frozen=True):
    """One item as it stands."""

    result: ItemResult
    marked: bool = False
    """A person's mark stands for it."""
    shared: bool = False
    """That mark is for several lines together, so none of them has points of its own."""

    @property
    def lost(self) -> Decimal:
        """Points that could have been had; a deduction that was made counts, an open item does not."""
        if self.shared or self.result.status is Status.NEEDS_REVIEW:
            return NOTHING
        return max(NOTHING, max(self.result.possible, NOTHING) - self.result.points)

    @property
    def silent(self) -> bool:
        """There is no sentence: the status says all."""
        return self.result.student.code == _SILENT


def rubric_lines(score: Score, rubric: Rubric, standing: Standing) -> dict[str, tuple[RubricLine, ...]]:
    """The lines of each question, by its id, as the student's page has them."""
    results = {(result.question, result.item): result for result in score.items}
    return {
        question.id: _lines(
            question,
            [results[question.id, item.id] for item in question.items if (question.id, item.id) in results],
            points,
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    }


def _lines(
    question: Question, results: Sequence[ItemResult], points: QuestionPoints
) -> tuple[RubricLine, ...]:
    """The items that have a result, in the rubric's order."""
    of_item = {item.id: item.cell or question.id for item in question.items}
    found: dict[str, RubricLine] = {}
    for cell in points.cells:
        inside = [result for result in results if of_item[result.item] == cell.name]
        found |= {line.result.item: line for line in _cell_lines(question, cell, inside)}
    return tuple(found[result.item] for result in results)


def _cell_lines(question: Question, cell: CellPoints, results: Sequence[ItemResult]) -> list[RubricLine]:
    """The lines of one cell; those that a person's mark is made of have their own points.

    Where what is known of the items is not what the cell has, the mark is for its lines together.
    """
    if not cell.by_person:
        return _bounded([RubricLine(result) for result in results])
    if not _several(question, cell.name):
        return [_marked(replace(one, points=cell.points, possible=cell.possible), cell) for one in results]
    given = [(one, cell.items.get(one.item)) for one in results]
    lines = _bounded(
        [
            RubricLine(one) if points is None else _marked(replace(one, points=points), cell)
            for one, points in given
        ]
    )
    known = all(points is not None or one.status is not Status.NEEDS_REVIEW for one, points in given)
    if known and _missed(lines) == cell.possible - cell.points:
        return lines
    return [replace(_marked(one, cell, full=cell.points >= cell.possible), shared=True) for one in results]


def _several(question: Question, cell: str) -> bool:
    """Whether a cell has several lines, which a person may have marked together."""
    return sum((item.cell or question.id) == cell for item in question.items) > 1


def _missed(lines: Sequence[RubricLine]) -> Decimal:
    """What lines have not of what they could, whether it is settled or not."""
    return sum((max(line.result.possible, NOTHING) - line.result.points for line in lines), NOTHING)


def _bounded(lines: Sequence[RubricLine]) -> list[RubricLine]:
    """The lines of a cell with deductions that take away what is there, and never more.

    Those of grading come first: what a person takes away is taken from the rest.
    """
    left = sum((line.result.points for line in lines if line.result.points > 0), NOTHING)
    kept = list(lines)
    for at in sorted(range(len(kept)), key=lambda at: kept[at].marked):
        result = kept[at].result
        if result.points < 0:
            taken = max(result.points, -left)
            left += taken
            kept[at] = replace(kept[at], result=replace(result, points=taken))
    return kept


def _marked(result: ItemResult, cell: CellPoints, *, full: bool | None = None) -> RubricLine:
    """A line that a person's mark stands for.

    Args:
        result: with the points it has by that mark.
        cell: that was marked.
        full: nothing is missing; default: as its points say.
    """
    full = result.points >= result.possible if full is None else full
    status = Status.NEEDS_REVIEW if cell.pending else Status.PASSED if full else Status.FAILED
    # What was said of a line that a person has decided on otherwise would only confuse.
    silent = full or result.status is Status.NEEDS_REVIEW
    message = Message(_SILENT) if silent else result.student
    return RubricLine(replace(result, status=status, student=message), marked=True)


def _lost(question: Question, lines: Sequence[RubricLine], points: QuestionPoints) -> Decimal:
    """What the question lost: its lines, and cells whose lines were marked together."""
    together = (
        max(NOTHING, cell.possible - cell.points)
        for cell in _together(question, lines, points)
        if not cell.pending
    )
    return sum((line.lost for line in lines), NOTHING) + sum(together, NOTHING)


def _together(
    question: Question, lines: Sequence[RubricLine], points: QuestionPoints
) -> tuple[CellPoints, ...]:
    """The cells in which a person's mark is for several lines, none of which has points of its own."""
    alone = {line.result.item for line in lines if not line.shared}
    cells = {item.cell or question.id for item in question.items if item.id in alone}
    return tuple(
        cell
        for cell in points.cells
        if cell.by_person and cell.name not in cells and _several(question, cell.name)
    )


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
    file: FileView | None
    """The file that is the answer."""
    bonus: bool
    marked: tuple[str, ...]
    """What people gave several lines together, a sentence for each cell."""
    extra: str
    """What people added to it or took away for it besides; empty for nothing."""
    comments: tuple[Markup, ...]
    """What people wrote about the answer, with formulas."""

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
    wordings: Wordings,
    changes: Sequence[MarkChange] = (),
) -> PageView:
    """Everything the page shows; only students' texts, never staff's.

    Args:
        graded: the result.
        rubric: the one the student was asked by.
        labels: the page's words.
        submitted: when it was handed in.
        standing: the marks, with what people gave.
        wordings: the course's own, for this student, in the place of generated sentences.
        changes: of marks that the student was shown, the oldest first.
    """
    score, assignment = graded.score, rubric.assignment
    own = spoken(wordings, labels.language, assignment.languages)
    notebooks = _notebook_views(graded, labels, assignment.limits)
    files, lines = file_views(graded.files, labels), rubric_lines(score, rubric, standing)
    common = Typesetter(assignment.symbols)
    questions = tuple(
        _question_view(
            question,
            points,
            lines[question.id],
            own,
            labels=labels,
            typesetter=Typesetter(rubric.symbols(question)) if question.symbols else common,
            notebooks=notebooks,
            files=files,
            final=standing.final,
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    )
    return PageView(
        title=labels.pick(assignment.title, assignment.name),
        student=printable_text(score.student, 200),
        stated=printable_text(", ".join(graded.stated.values()), 500),
        group=_group(score, labels),
        submitted=submitted,
        total=labels.number(standing.total),
        possible=labels.number(assignment.points),
        pending=labels.pending(standing.pending) if standing.pending else "",
        earned_percent=_percent(standing.total, assignment.points),
        pending_percent=_percent(standing.pending, assignment.points),
        grade=grade_view(standing, labels),
        sum_lines=_sum_lines(standing, labels),
        changes=tuple(_change(one, labels) for one in reversed(changes)),
        sum_sentences=_sum_sentences(standing, labels),
        isolation=_stamp(score.isolation, labels),
        refusal=_refusal(graded, labels, own),
        tasks=_task_views(assignment.tasks, rubric.questions, standing, labels),
        questions=questions,
        notebooks=notebooks,
        files=files,
    )


def _notebook_views(graded: Graded, labels: Labels, limits: Limits) -> tuple[NotebookView, ...]:
    return tuple(
        notebook_view(one, position, labels, limits) for position, one in enumerate(graded.notebooks, start=1)
    )


def _change(change: MarkChange, labels: Labels) -> str:
    moment = messages.sentence("moment.utc", labels.language, moment=change.at)
    points = {"before": labels.number(change.before), "after": labels.number(change.after)}
    code = "changed" if change.before != change.after else "changed-parts"
    return labels(code, moment=moment, reason=printable_text(change.reason, _MOST_COMMENT), **points)


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


def _refusal(graded: Graded, labels: Labels, own: Mapping[SentenceKey, str]) -> str:
    """What was wrong with a submission that could not be read: all its items say the same."""
    items = graded.score.items
    generated = {(item.student.code, sentence(item.student, labels.language)) for item in items}
    if graded.notebooks or len(generated) != 1:
        return ""
    said = {told(item, labels.language, own)[0] for item in items}
    return said.pop() if len(said) == 1 else generated.pop()[1]


def _question_view(
    question: Question,
    points: QuestionPoints,
    decided: Sequence[RubricLine],
    own: Mapping[SentenceKey, str],
    *,
    labels: Labels,
    typesetter: Typesetter,
    notebooks: Sequence[NotebookView],
    files: Sequence[FileView],
    final: bool,
) -> QuestionView:
    pending = sum((cell.most - cell.least for cell in points.cells), NOTHING)
    names = (question.answer_cell, question.id)
    found = (
        notebook.find(name) for name in names for notebook in notebooks if notebook.name == question.notebook
    )
    missing = _lost(question, decided, points)
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
        items=tuple(_item_view(question, line, own, labels, typesetter, final=final) for line in decided),
        cell=None if question.file else next((cell for cell in found if cell is not None), None),
        file=next((one for one in files if question.file and one.path == question.file), None),
        bonus=question.bonus,
        marked=tuple(
            _of(cell.points, cell.possible, labels) for cell in _together(question, decided, points)
        ),
        extra=_extra_sentence(points, labels),
        comments=tuple(with_formulas(comment, _MOST_COMMENT) for comment in points.comments),
    )


def _item_view(
    question: Question,
    line: RubricLine,
    own: Mapping[SentenceKey, str],
    labels: Labels,
    typesetter: Typesetter,
    *,
    final: bool,
) -> ItemView:
    result = line.result
    item = question.item(result.item)
    partly = result.status is Status.FAILED and result.points > 0
    message, said = ("", Markup()) if line.silent else told(result, labels.language, own)
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
        message=message,
        said=said,
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


def _extra_sentence(question: QuestionPoints, labels: Labels) -> str:
    """What a person added to one question or took away for it; empty for nothing."""
    if not question.extra:
        return ""
    key = "extra-given" if question.extra > 0 else "extra-taken"
    return labels(key, points=labels.number(abs(question.extra)))


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
