"""One question on the page: the prompt, the answer, and each item with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.core.records import ItemResult, Message, Status
from autograder.grading.grades import NOTHING, QuestionPoints
from autograder.notebook.release import Release
from autograder.pages.feedback.cells import CellView, FileView, NotebookView
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.lines import RubricLine, find_shared_cells, sum_lost_points
from autograder.pages.feedback.released_texts import find_released_cell, list_prompts
from autograder.pages.feedback.sanitise import render_quoting_sentence, render_sentence, to_printable_text
from autograder.pages.feedback.typeset import Typesetter, render_caret, with_formulas
from autograder.questions import load_kind
from autograder.rubric import AssignmentSettings, Question, RubricSymbol

_MOST_REASON = 160
_MOST_COMMENT = 4_000
_WHAT = "what"
"""Placeholder for the subject of a sentence within an answer: a name, a case."""
_MOST_NAMED = 3
"""Most subjects in one sentence that several items share."""


class ItemView(Struct, frozen=True):
    """One line of the rubric with its verdict."""

    anchor: str
    text: str
    status: str
    worth: str
    """Text of the points column: earned and possible, or the open points."""
    lost: str
    """Empty if no points were lost."""
    message: str
    """Empty if the status needs no sentence."""
    said: Markup
    """The same, with the student's own formulas set as code."""
    caret: str
    """Two lines that point into an unreadable formula; empty otherwise."""
    reading: Markup | None
    plain: str
    """The reading as plain text, in addition to a typeset one; empty otherwise."""
    comments: tuple[Markup, ...] = ()
    """Comments of markers on it, with formulas."""

    @property
    def waits(self) -> bool:
        """Whether it needs manual review."""
        return self.status == "needs-review"

    @property
    def reason(self) -> str:
        """Start of the message, for the summary of losses."""
        first = " ".join(self.message.split())
        return first if len(first) <= _MOST_REASON else first[:_MOST_REASON].rsplit(" ", 1)[0] + " …"


class ReasonView(Struct, frozen=True):
    """Items of one question with a common reason, which is stated once."""

    items: tuple[ItemView, ...]
    lost: str
    """Sum; empty if no points were lost."""
    brief: str
    """For the summary of losses."""

    @property
    def shared(self) -> int:
        """Number of items that lost points for this reason together; 0 if there is only one, or no loss."""
        lost = len(self.items) > 1 and self.stating_item.status in {"failed", "partly", "marked"}
        return len(self.items) if lost else 0

    @property
    def stating_item(self) -> ItemView:
        """The item that states the reason for all of them."""
        return self.items[0]


class LineComment(Struct, frozen=True):
    """A marker's comment on some lines of an answer, as it is stored."""

    question: str
    first: int
    """Counted from 1."""
    last: int
    quote: str
    """The lines."""
    text: str


class LineCommentView(Struct, frozen=True):
    """A comment on lines, for the page."""

    title: str
    quote: str
    text: Markup


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
    prompts: tuple[Markup, ...]
    """Text of the question."""
    answers: tuple[CellView, ...]
    """The student's answer, unless an earlier question shows it."""
    elsewhere: tuple[CellView, ...]
    """Parts of the student's answer that an earlier question shows."""
    file: FileView | None
    """The file that is the answer."""
    bonus: bool
    marked: tuple[str, ...]
    """Points that markers gave for several lines together, a sentence for each cell."""
    extra: str
    """Points that markers added or deducted in addition; empty for none."""
    comments: tuple[Markup, ...]
    """Comments of markers on more than one of its items, with formulas."""
    line_comments: tuple[LineCommentView, ...]
    """Comments of markers on lines of its answers."""

    @property
    def items(self) -> tuple[ItemView, ...]:
        """Its items in the order of display."""
        return tuple(item for reason in self.reasons for item in reason.items)

    @property
    def losses(self) -> tuple[ReasonView, ...]:
        """Reasons that cost points."""
        return tuple(reason for reason in self.reasons if reason.lost)

    @property
    def unanswered(self) -> bool:
        """Whether no item was answered: one line is enough."""
        return self.status == "no-answer"

    @property
    def unfolded(self) -> bool:
        """Whether there is something to read: a loss with its reason, a faulty cell, or a comment.

        Unread or missing answers, like correct ones, are one line.
        """
        spoken = (
            self.comments or self.line_comments or self.extra or any(item.comments for item in self.items)
        )
        wrong = any(cell.has_problem for cell in self.answers)
        return bool(spoken) or wrong or (bool(self.lost) and not self.unanswered)


class QuestionWriter:
    """Writes the questions of one page in order; an answer is shown in the first question it belongs to."""

    def __init__(
        self,
        labels: Labels,
        notebooks: Sequence[NotebookView],
        releases: Mapping[str, Release],
        *,
        files: Sequence[FileView],
        assignment: AssignmentSettings,
        final: bool,
        line_comments: Sequence[LineComment] = (),
    ) -> None:
        """Start a page.

        Args:
            labels: words of the page.
            notebooks: notebooks as they are shown.
            releases: released notebooks of the student, by name.
            files: files submitted with the notebooks.
            assignment: settings with symbols and languages.
            final: no points are open any more.
            line_comments: comments on lines of answers.
        """
        self._line_comments = line_comments
        self._languages = assignment.languages
        self._labels = labels
        self._common = Typesetter(assignment.symbols)
        self._notebooks = {notebook.name: notebook for notebook in notebooks}
        self._releases = releases
        self._files = {file.path: file for file in files}
        self._final = final
        self._shown: set[str] = set()

    def write_question(
        self,
        question: Question,
        points: QuestionPoints,
        lines: Sequence[RubricLine],
        symbols: Mapping[str, RubricSymbol] | None = None,
    ) -> QuestionView:
        """Return one question.

        Args:
            question: question of the student's rubric.
            points: its points.
            lines: lines of its items.
            symbols: its own symbols; None: those of the assignment.
        """
        labels = self._labels
        pending = sum((cell.most - cell.least for cell in points.cells), NOTHING)
        missing = sum_lost_points(question, lines, points)
        typesetter = Typesetter(symbols) if symbols is not None else self._common
        items = [self._build_item(question, line, typesetter) for line in lines]
        items, comments = _add_comments(question, points, lines, items)
        cells = self._find_answers(question)
        # One cell may answer several questions; each page shows it once.
        fresh = tuple(cell for cell in cells if cell.anchor not in self._shown)
        self._shown |= {cell.anchor for cell in fresh}
        return QuestionView(
            anchor=f"question-{question.id}",
            title=labels.pick(question.title, question.id),
            name=question.id,
            status=_determine_status(points, lines),
            points=labels.number(points.points),
            possible=labels.number(question.points),
            pending=labels("open", points=labels.number(pending)) if pending else "",
            lost=labels.number(-missing) if missing else "",
            earned_percent=compute_percent(points.points, question.points),
            pending_percent=compute_percent(pending, question.points),
            table=load_kind(question.kind).form == "listing",
            reasons=self._group_reasons(items, lines),
            prompts=self._list_prompts(question),
            answers=fresh,
            elsewhere=tuple(cell for cell in cells if cell not in fresh),
            file=self._files.get(question.file),
            bonus=question.bonus,
            marked=tuple(
                _format_share(cell.points, cell.possible, labels)
                for cell in find_shared_cells(question, lines, points)
            ),
            extra=_describe_extra(points, labels),
            comments=comments,
            line_comments=tuple(
                _build_line_comment(comment, labels)
                for comment in self._line_comments
                if comment.question == question.id
            ),
        )

    def _list_prompts(self, question: Question) -> tuple[Markup, ...]:
        """Return the prompt of a question."""
        release = self._releases.get(question.notebook)
        if release is None:
            return ()
        return list_prompts(
            release, find_released_cell(release, question), self._languages, self._labels.language
        )

    def _find_answers(self, question: Question) -> tuple[CellView, ...]:
        """Return the cells with written answers: the question's own, and those of single items."""
        notebook = self._notebooks.get(question.notebook)
        if notebook is None or question.file:
            return ()
        candidates = [*(notebook.find_cells(question.answer_cell) or notebook.find_cells(question.id))]
        candidates += [
            cell for item in question.items if item.cell for cell in notebook.find_cells(item.cell)
        ]
        # Blank cells and released text are no answer; a cell shared by items appears once.
        written = {cell.anchor: cell for cell in candidates if not (cell.blank or cell.given)}
        return tuple(written.values())

    def _group_reasons(
        self, items: Sequence[ItemView], lines: Sequence[RubricLine]
    ) -> tuple[ReasonView, ...]:
        """Return the items grouped by reason, at the position of the first item."""
        together: dict[object, list[int]] = {}
        for number, (item, line) in enumerate(zip(items, lines, strict=True)):
            # Comments belong to one item, so such an item is never merged.
            alone = not item.message or item.comments
            together.setdefault(number if alone else self._get_cause(item, line.result), []).append(number)
        return tuple(self._build_reason(items, lines, numbers) for numbers in together.values())

    def _get_cause(self, item: ItemView, result: ItemResult) -> object:
        """Return the features that items with a common reason share: all but the case or name it is about."""
        said = render_quoting_sentence(_with_subject(result.student, ""), self._labels.language)
        return said, item.caret, item.reading, item.waits

    def _build_reason(
        self, items: Sequence[ItemView], lines: Sequence[RubricLine], numbers: Sequence[int]
    ) -> ReasonView:
        """Return one reason for some items, with all their subjects."""
        first, *further = (items[number] for number in numbers)
        results = [lines[number].result for number in numbers]
        language, named = self._labels.language, results[0].student.params
        if further and _WHAT in named:
            whats = dict.fromkeys(
                messages.fill_placeholders(result.student, language)[_WHAT] for result in results
            )
            several = ", ".join(itertools.islice(whats, _MOST_NAMED)) + ", …" * (len(whats) > _MOST_NAMED)
            message = _with_subject(results[0].student, several)
            first = replace(
                first,
                message=render_sentence(message, language),
                said=render_quoting_sentence(message, language),
            )
        lost = sum((lines[number].lost for number in numbers), NOTHING)
        shown = self._labels.number(-lost) if lost else ""
        return ReasonView((first, *further), shown, items[numbers[0]].reason)

    def _build_item(self, question: Question, line: RubricLine, typesetter: Typesetter) -> ItemView:
        """Return one item for the page."""
        result, labels = line.result, self._labels
        item = question.get_item(result.item)
        partly = result.status is Status.FAILED and result.points > 0
        reading = typesetter.render_formula(result.reading)
        settled = line.marked and result.status is not Status.NEEDS_REVIEW
        # Until the marks are final, students must not read the text of such an item.
        hidden = bool(item.shown) and not self._final
        # An id may reveal as much as the hidden text.
        anchor = question.items.index(item) + 1 if hidden else result.item
        return ItemView(
            anchor=f"item-{question.id}-{anchor}",
            text=labels.pick(item.get_title(final=self._final), result.item),
            status="marked" if settled else "partly" if partly else result.status.value,
            worth="" if line.shared else _format_worth(result, labels),
            lost=labels.number(-line.lost) if line.lost else "",
            message="" if line.silent else render_sentence(result.student, labels.language),
            said=Markup() if line.silent else render_quoting_sentence(result.student, labels.language),
            caret=render_caret(result.student.params),
            reading=reading,
            plain=to_printable_text(result.reading) if reading is not None and "<math" in reading else "",
        )


def _build_line_comment(comment: LineComment, labels: Labels) -> LineCommentView:
    key = "note-line" if comment.first == comment.last else "note-lines"
    return LineCommentView(
        labels(key, first=comment.first, last=comment.last),
        to_printable_text(comment.quote, _MOST_COMMENT),
        with_formulas(comment.text, _MOST_COMMENT),
    )


def _with_subject(message: Message, subject: str) -> Message:
    """Return the message with another subject, if it names any."""
    if _WHAT not in message.params:
        return message
    return replace(message, params={**message.params, _WHAT: subject})


def _add_comments(
    question: Question, points: QuestionPoints, lines: Sequence[RubricLine], items: Sequence[ItemView]
) -> tuple[list[ItemView], tuple[Markup, ...]]:
    """Add markers' comments to the items that they are about; return also those that are left."""
    cells = [question.get_item(line.result.item).cell or question.id for line in lines]
    left = list(points.comments)
    commented = list(items)
    about = {(cell.name, item): text for cell in points.cells for item, text in cell.remarks.items()}
    for position, (cell_name, line) in enumerate(zip(cells, lines, strict=True)):
        if text := about.get((cell_name, line.result.item)):
            commented[position] = replace(commented[position], comments=(with_formulas(text, _MOST_COMMENT),))
    for cell in points.cells:
        # A comment on a cell with one line is about this line.
        if cell.comment in left and cells.count(cell.name) == 1:
            left.remove(cell.comment)
            position = cells.index(cell.name)
            whole = with_formulas(cell.comment, _MOST_COMMENT)
            commented[position] = replace(
                commented[position], comments=(*commented[position].comments, whole)
            )
    return commented, tuple(with_formulas(comment, _MOST_COMMENT) for comment in left)


def _format_worth(result: ItemResult, labels: Labels) -> str:
    """Return the text of the points column."""
    if result.status is Status.NEEDS_REVIEW:
        return labels("open", points=labels.number(result.possible))
    if result.possible < 0:
        return labels.number(result.points)
    return _format_share(result.points, result.possible, labels)


def _format_share(points: Decimal, possible: Decimal, labels: Labels) -> str:
    """Return "3 of 5" in the page's language."""
    return f"{labels.number(points)} {labels('of')} {labels.number(possible)}"


def _determine_status(points: QuestionPoints, lines: Sequence[RubricLine]) -> str:
    """Return the status of a question."""
    if points.pending:
        return "needs-review"
    # Before the points are looked at: an unanswered question must not appear as failed.
    if {line.result.status for line in lines} == {Status.NO_ANSWER}:
        return "no-answer"
    if points.points >= points.possible:
        return "passed"
    return "partly" if points.points > 0 else "failed"


def compute_percent(part: Decimal, whole: Decimal) -> int:
    """Return a share in whole percent, from 0 to 100."""
    # A question may have no points, and bonus points may exceed the whole.
    return 0 if whole <= 0 else max(0, min(100, round(100 * part / whole)))


def _describe_extra(question: QuestionPoints, labels: Labels) -> str:
    """Return a sentence about points that a marker added or deducted; empty for none."""
    if not question.extra:
        return ""
    key = "extra-given" if question.extra > 0 else "extra-taken"
    return labels(key, points=labels.number(abs(question.extra)))
