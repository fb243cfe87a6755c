"""Contents of the page about one answer: question, answer, and items with results and marks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct

from autograder.core.records import GradingResult, ItemResult, PastedPicture, Status
from autograder.marking.points import get_bounds
from autograder.notebook.release import Release
from autograder.pages.feedback.answers import find_pictures, highlight_spans
from autograder.pages.feedback.code import Line, build_code_lines
from autograder.pages.feedback.labels import ICONS, Labels
from autograder.pages.feedback.prose import list_picture_faults, map_picture_uris, render_student_prose
from autograder.pages.feedback.released_texts import find_released_cell, list_prompts
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.pages.feedback.typeset import Typesetter
from autograder.questions.base.judging.manual import Examples, read_manual_options
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question, Rubric
from autograder.service.marking.answers import MarkableCell
from autograder.service.models import CellMark

_HALF = Decimal(2)


class Choice(Struct, frozen=True):
    """Points that a marker can give with one click."""

    value: str
    shown: str


class MarkedItem(Struct, frozen=True):
    """An item with its automatic result and the marks given so far."""

    id: str
    text: str
    worth: Decimal
    points: str
    """`worth`, formatted for reading."""
    deduction: bool
    choices: tuple[Choice, ...]
    guide: str
    examples: Examples | None
    words: tuple[str, ...]
    """The item's list of words, if the answer contains one of them."""
    status: str
    icon: str
    found_points: str
    """The automatically graded points; empty if the item needs manual review."""
    student_text: str
    """The text that students see about the item."""
    evidence: str
    """The text for staff, in English."""
    reading: Markup | None


class AnswerView(Struct, frozen=True):
    """The contents of the page about one answer."""

    title: str
    prompts: tuple[Markup, ...]
    text: tuple[Markup, ...]
    """The lines of the answer with the words of the items' lists highlighted."""
    highlighted: bool
    """Whether it contains any of these words."""
    typeset: Markup | None
    """The answer as rendered prose; None for code."""
    lines: tuple[Line, ...]
    """For code: the lines of the answer, compared with the released cell."""
    words: int
    items: tuple[MarkedItem, ...]
    possible: str


def build_answer_view(
    rubric: Rubric,
    release: Release,
    cell: MarkableCell,
    row: CellMark,
    *,
    graded: GradingResult,
    language: str,
) -> AnswerView:
    """Collect everything that the page about an answer shows.

    Args:
        rubric: of the student's variant.
        release: the notebook as the student got it.
        cell: the cell in that rubric.
        row: the answer.
        graded: the current result of the student.
        language: of the reader.
    """
    labels = Labels(language)
    cell_name = next((item.cell for item in cell.items if item.cell), "")
    released = find_released_cell(release, cell.question, cell_name)
    code = released is not None and released.cell_type == "code"
    results = {result.item: result for result in graded.score.items if result.question == cell.question.id}
    listed = [read_manual_options(cell.question, item).suggest for item in cell.manual]
    spans = prose.find_spans(row.text, itertools.chain(*listed))
    facts = _AnswerFacts(results, row, labels, Typesetter(rubric.list_symbols(cell.question)))
    return AnswerView(
        title=labels.pick(cell.question.title, cell.question.id),
        prompts=list_prompts(release, released, rubric.assignment.languages, language),
        text=_split_lines(highlight_spans(row.text, spans)),
        highlighted=bool(spans),
        typeset=None
        if code
        else _render_text(row.text, find_pictures(graded, cell.question, cell_name), labels),
        lines=build_code_lines(row.text, released.source) if code and released else (),
        words=len(prose.list_words(row.text)),
        items=tuple(_describe_item(cell.question, item, facts) for item in cell.items),
        possible=labels.number(cell.possible),
    )


def _split_lines(text: Markup) -> tuple[Markup, ...]:
    """Return the lines of a text; a highlighted passage over several lines is highlighted in each."""
    opening, closing = Markup("<mark>"), Markup("</mark>")
    lines, is_open = [], False
    for line in text.splitlines():
        whole = opening + line if is_open else line
        is_open = whole.count(opening) > whole.count(closing)
        lines.append(whole + closing if is_open else whole)
    return tuple(lines)


def _render_text(text: str, pictures: Sequence[PastedPicture], labels: Labels) -> Markup:
    shown = render_student_prose(text, map_picture_uris(pictures))
    for code, names in list_picture_faults(text, pictures):
        shown += Markup('<p class="soft">{}</p>').format(labels(code, names=names))
    return shown


class _AnswerFacts(Struct, frozen=True, eq=False):
    """Facts about an answer that the descriptions of its items need."""

    results: Mapping[str, ItemResult]
    row: CellMark
    labels: Labels
    typesetter: Typesetter


def _describe_item(question: Question, item: Item, facts: _AnswerFacts) -> MarkedItem:
    labels, row, result = facts.labels, facts.row, facts.results.get(item.id)
    options = read_manual_options(question, item) if item.manual else None
    # Without a result an item is as open as one that needs manual review.
    open_ = result is None or result.status is Status.NEEDS_REVIEW
    said = "" if result is None or item.manual else render_sentence(result.student, labels.language)
    least, most = get_bounds(item)
    shown = options.examples if options else None
    return MarkedItem(
        id=item.id,
        text=labels.pick(item.text, item.id),
        worth=item.points,
        points=labels.number(item.points),
        deduction=item.points < 0,
        choices=tuple(
            Choice(str(value), labels.number(value))
            # For small items the half can equal a bound; each value is offered once.
            for value in dict.fromkeys((least, item.points / _HALF, most))
        ),
        guide=labels.pick(options.guide) if options else "",
        examples=shown and Examples(*map(labels.pick, (shown.full, shown.none, shown.half))),
        words=options.suggest if options and prose.find_spans(row.text, options.suggest) else (),
        status="needs-review" if result is None else result.status.value,
        icon=ICONS["needs-review" if result is None else result.status.value],
        found_points="" if open_ or result is None else labels.number(result.points),
        student_text="" if result is not None and result.student.code == "passed" else said,
        # The staff text can quote long values.
        evidence="" if result is None else to_printable_text(result.staff, 2_000),
        reading=facts.typesetter.render_formula(result.reading) if result is not None else None,
    )
