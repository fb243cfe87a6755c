"""What the page says about one question: what was asked, what was answered, and each item with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.feedback.cells import CellView, NotebookView
from autograder.feedback.files import FileView
from autograder.feedback.handout import asked, released_answer
from autograder.feedback.labels import Labels
from autograder.feedback.lines import RubricLine, lost_points, marked_together
from autograder.feedback.sanitise import printable_text, quoting_sentence, sentence
from autograder.feedback.typeset import Typesetter, caret, with_formulas
from autograder.grades import NOTHING, QuestionPoints
from autograder.kinds import kind
from autograder.notebook.release import Release
from autograder.records import ItemResult, Message, Status
from autograder.rubric import AssignmentSettings, Question, RubricSymbol

_MOST_REASON = 160
_MOST_COMMENT = 4_000
_WHAT = "what"
"""The placeholder of sentences that say what of an answer they are about: a name, a case."""
_MOST_NAMED = 3
"""Of these in one sentence that several items share."""


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
    comments: tuple[Markup, ...] = ()
    """What people wrote about it, with formulas."""

    @property
    def waits(self) -> bool:
        """A person has yet to look at it."""
        return self.status == "needs-review"

    @property
    def reason(self) -> str:
        """The message's beginning, for the summary of losses."""
        first = " ".join(self.message.split())
        return first if len(first) <= _MOST_REASON else first[:_MOST_REASON].rsplit(" ", 1)[0] + " …"


class ReasonView(Struct, frozen=True):
    """Items of one question with one reason, which is told once."""

    items: tuple[ItemView, ...]
    lost: str
    """Together; empty when nothing was lost."""
    brief: str
    """For the summary of losses."""

    @property
    def shared(self) -> int:
        """How many items lost points for it together; 0 where it is one, or no reason for a loss."""
        lost = len(self.items) > 1 and self.told.status in {"failed", "partly", "marked"}
        return len(self.items) if lost else 0

    @property
    def told(self) -> ItemView:
        """The item whose reason stands for all of them."""
        return self.items[0]


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
    reasons: tuple[ReasonView, ...]
    asked: tuple[Markup, ...]
    """The text of the question."""
    answers: tuple[CellView, ...]
    """What the student wrote, where no question before shows it."""
    elsewhere: tuple[CellView, ...]
    """What the student wrote, and a question before shows."""
    file: FileView | None
    """The file that is the answer."""
    bonus: bool
    marked: tuple[str, ...]
    """What people gave several lines together, a sentence for each cell."""
    extra: str
    """What people added to it or took away for it besides; empty for nothing."""
    comments: tuple[Markup, ...]
    """What people wrote about more than one of its items, with formulas."""

    @property
    def items(self) -> tuple[ItemView, ...]:
        """Its items as they are shown."""
        return tuple(item for reason in self.reasons for item in reason.items)

    @property
    def losses(self) -> tuple[ReasonView, ...]:
        """What lost points, and why."""
        return tuple(reason for reason in self.reasons if reason.lost)

    @property
    def unanswered(self) -> bool:
        """Nothing was answered: one line says all."""
        return self.status == "no-answer"

    @property
    def unfolded(self) -> bool:
        """There is something to read: a loss with its reason, a cell that went wrong, what a person wrote.

        What nobody has read yet, or nobody wrote, is one line, like what is right.
        """
        spoken = self.comments or self.extra or any(item.comments for item in self.items)
        wrong = any(cell.has_problem for cell in self.answers)
        return bool(spoken) or wrong or (bool(self.lost) and not self.unanswered)


class QuestionWriter:
    """Writes the questions of one page, in order: an answer is shown in the first that it belongs to."""

    def __init__(
        self,
        labels: Labels,
        notebooks: Sequence[NotebookView],
        releases: Mapping[str, Release],
        *,
        files: Sequence[FileView],
        assignment: AssignmentSettings,
        final: bool,
    ) -> None:
        """Begin a page.

        Args:
            labels: its words.
            notebooks: as they are shown.
            releases: the notebooks that the student was given, by name.
            files: what was handed in beside the notebooks.
            assignment: whose symbols and languages it is in.
            final: nothing is open any more.
        """
        self._languages = assignment.languages
        self._labels = labels
        self._common = Typesetter(assignment.symbols)
        self._notebooks = {notebook.name: notebook for notebook in notebooks}
        self._releases = releases
        self._files = {file.path: file for file in files}
        self._final = final
        self._shown: set[str] = set()

    def question(
        self,
        question: Question,
        points: QuestionPoints,
        lines: Sequence[RubricLine],
        symbols: Mapping[str, RubricSymbol] | None = None,
    ) -> QuestionView:
        """One question.

        Args:
            question: of the student's rubric.
            points: that it has.
            lines: of its items.
            symbols: of its own; None: those of the assignment.
        """
        labels = self._labels
        pending = sum((cell.most - cell.least for cell in points.cells), NOTHING)
        missing = lost_points(question, lines, points)
        typesetter = Typesetter(symbols) if symbols is not None else self._common
        items = [self._item(question, line, typesetter) for line in lines]
        items, comments = _with_comments(question, points, lines, items)
        cells = self._answers(question)
        fresh = tuple(cell for cell in cells if cell.anchor not in self._shown)
        self._shown |= {cell.anchor for cell in fresh}
        return QuestionView(
            anchor=f"question-{question.id}",
            title=labels.pick(question.title, question.id),
            name=question.id,
            status=_question_status(points, lines),
            points=labels.number(points.points),
            possible=labels.number(question.points),
            pending=labels("open", points=labels.number(pending)) if pending else "",
            lost=labels.number(-missing) if missing else "",
            earned_percent=percent(points.points, question.points),
            pending_percent=percent(pending, question.points),
            table=kind(question.kind).form == "listing",
            reasons=self._reasons(items, lines),
            asked=self._asked(question),
            answers=fresh,
            elsewhere=tuple(cell for cell in cells if cell not in fresh),
            file=self._files.get(question.file),
            bonus=question.bonus,
            marked=tuple(
                _of(cell.points, cell.possible, labels) for cell in marked_together(question, lines, points)
            ),
            extra=_extra_sentence(points, labels),
            comments=comments,
        )

    def _asked(self, question: Question) -> tuple[Markup, ...]:
        release = self._releases.get(question.notebook)
        if release is None:
            return ()
        return asked(release, released_answer(release, question), self._languages, self._labels.language)

    def _answers(self, question: Question) -> tuple[CellView, ...]:
        """The cells in which something was written: the question's own, and those of single items."""
        notebook = self._notebooks.get(question.notebook)
        if notebook is None or question.file:
            return ()
        found = [*(notebook.find(question.answer_cell) or notebook.find(question.id))]
        found += [cell for item in question.items if item.cell for cell in notebook.find(item.cell)]
        written = {cell.anchor: cell for cell in found if not (cell.blank or cell.given)}
        return tuple(written.values())

    def _reasons(self, items: Sequence[ItemView], lines: Sequence[RubricLine]) -> tuple[ReasonView, ...]:
        """The items, those with the same reason together where the first of them stands."""
        together: dict[object, list[int]] = {}
        for number, (item, line) in enumerate(zip(items, lines, strict=True)):
            alone = not item.message or item.comments
            together.setdefault(number if alone else self._cause(item, line.result), []).append(number)
        return tuple(self._reason(items, lines, numbers) for numbers in together.values())

    def _cause(self, item: ItemView, result: ItemResult) -> object:
        """What is the same for items with one reason: all of it but the case or name that it is told of."""
        said = quoting_sentence(_with_what(result.student, ""), self._labels.language)
        return said, item.caret, item.reading, item.waits

    def _reason(
        self, items: Sequence[ItemView], lines: Sequence[RubricLine], numbers: Sequence[int]
    ) -> ReasonView:
        first, *others = (items[number] for number in numbers)
        results = [lines[number].result for number in numbers]
        language, named = self._labels.language, results[0].student.params
        if others and _WHAT in named:
            whats = dict.fromkeys(messages.filled(one.student, language)[_WHAT] for one in results)
            several = ", ".join(itertools.islice(whats, _MOST_NAMED)) + ", …" * (len(whats) > _MOST_NAMED)
            message = _with_what(results[0].student, several)
            first = replace(
                first, message=sentence(message, language), said=quoting_sentence(message, language)
            )
        lost = sum((lines[number].lost for number in numbers), NOTHING)
        shown = self._labels.number(-lost) if lost else ""
        return ReasonView((first, *others), shown, items[numbers[0]].reason)

    def _item(self, question: Question, line: RubricLine, typesetter: Typesetter) -> ItemView:
        result, labels = line.result, self._labels
        item = question.item(result.item)
        partly = result.status is Status.FAILED and result.points > 0
        reading = typesetter.markup(result.reading)
        settled = line.marked and result.status is not Status.NEEDS_REVIEW
        hidden = bool(item.shown) and not self._final
        # An id may tell what the text would.
        anchor = question.items.index(item) + 1 if hidden else result.item
        return ItemView(
            anchor=f"item-{question.id}-{anchor}",
            text=labels.pick(item.title(final=self._final), result.item),
            status="marked" if settled else "partly" if partly else result.status.value,
            worth="" if line.shared else _worth(result, labels),
            lost=labels.number(-line.lost) if line.lost else "",
            message="" if line.silent else sentence(result.student, labels.language),
            said=Markup() if line.silent else quoting_sentence(result.student, labels.language),
            caret=caret(result.student.params),
            reading=reading,
            plain=printable_text(result.reading) if reading is not None and "<math" in reading else "",
        )


def _with_what(message: Message, what: str) -> Message:
    """Return the message with another subject, if it names any."""
    if _WHAT not in message.params:
        return message
    return replace(message, params={**message.params, _WHAT: what})


def _with_comments(
    question: Question, points: QuestionPoints, lines: Sequence[RubricLine], items: Sequence[ItemView]
) -> tuple[list[ItemView], tuple[Markup, ...]]:
    """What people wrote: at the item where it is about one, and what is left."""
    cells = [question.item(line.result.item).cell or question.id for line in lines]
    left = list(points.comments)
    found = list(items)
    about = {(cell.name, item): text for cell in points.cells for item, text in cell.remarks.items()}
    for at, (cell_name, line) in enumerate(zip(cells, lines, strict=True)):
        if text := about.get((cell_name, line.result.item)):
            found[at] = replace(found[at], comments=(with_formulas(text, _MOST_COMMENT),))
    for cell in points.cells:
        if cell.comment in left and cells.count(cell.name) == 1:
            left.remove(cell.comment)
            at = cells.index(cell.name)
            whole = with_formulas(cell.comment, _MOST_COMMENT)
            found[at] = replace(found[at], comments=(*found[at].comments, whole))
    return found, tuple(with_formulas(comment, _MOST_COMMENT) for comment in left)


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


def percent(part: Decimal, whole: Decimal) -> int:
    """A part as whole percent, from 0 to 100."""
    return 0 if whole <= 0 else max(0, min(100, round(100 * part / whole)))


def _extra_sentence(question: QuestionPoints, labels: Labels) -> str:
    """What a person added to one question or took away for it; empty for nothing."""
    if not question.extra:
        return ""
    key = "extra-given" if question.extra > 0 else "extra-taken"
    return labels(key, points=labels.number(abs(question.extra)))
