"""The staff's page for marking by hand: each written answer once, with who wrote it and what graders need.

Answers that are the same up to trivial differences stand together, so that one decision is made for all of
them; where people have given them different marks, that is shown. Words of an item's closed list are
highlighted and suggest the item, and cues that an item asks for are told; they give no points.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct

from autograder.checks.judging.manual import Examples, cue_matches, manual_options
from autograder.checks.values import prose
from autograder.feedback.answers import MarkedCell, highlighted, marked_cells, pictures_about, pictures_in
from autograder.feedback.labels import Labels
from autograder.feedback.prose import lacks_picture
from autograder.feedback.render import filled
from autograder.feedback.sanitise import POLICY, printable_text
from autograder.feedback.waiting import waiting_items
from autograder.grades import CellPoints, Standing
from autograder.records import Graded
from autograder.rubric import Item, Question, Rubric

_MOST_PICTURES = 32 << 20
"""Characters of all pictures on the page."""
_LANGUAGES = {"en": "English", "de": "German", "other": "another language", "unknown": ""}


class _Line(Struct, frozen=True):
    """One item that a person decides on."""

    text: str
    points: str
    guide: str
    examples: Examples | None
    suggest: tuple[str, ...]


class _Author(Struct, frozen=True):
    """Somebody who gave an answer, and the mark it has."""

    student: str
    mark: str
    """Empty while there is none that counts."""
    pictures: tuple[str, ...]
    """Those in the answer, and what their code drew for it, as data URIs."""
    unseen: int
    """Further pictures, for which there is no room on the page."""
    lacks: bool
    """The answer has a picture that cannot be shown."""


class _Cue(Struct, frozen=True):
    """What is told of one cue."""

    text: str
    holds: bool | None
    note: str


class _Group(Struct, frozen=True):
    """One answer, and everybody who gave it."""

    key: str
    """How its line in the list of decisions begins; empty where it cannot stand there."""
    authors: tuple[_Author, ...]
    text: Markup
    words: int
    language: str
    suggested: tuple[str, ...]
    cues: tuple[tuple[str, tuple[_Cue, ...]], ...]
    """By item: what is told of each cue that it asks for."""
    differ: bool
    """They have different marks."""
    done: bool
    """All of them are marked."""


class _Task(Struct, frozen=True):
    """One cell that people mark."""

    anchor: str
    title: str
    cell: str
    points: str
    lines: tuple[_Line, ...]
    groups: tuple[_Group, ...]
    open: int
    """Answers that wait."""
    empty: int
    """Students who wrote nothing."""


class _Gallery:
    """The pictures of a page, as long as there is room for them."""

    def __init__(self, results: Sequence[Graded]) -> None:
        self._results = {graded.score.student: graded for graded in results}
        self._left = _MOST_PICTURES

    def of(self, student: str, question: Question, cell: str, text: str) -> tuple[tuple[str, ...], int, bool]:
        """What there is room for of a student's pictures for an answer, and how many more there are.

        Args:
            student: whose.
            question: that is answered.
            cell: in which the answer stands.
            text: of it.

        Returns:
            Both, and whether the text has a picture that cannot be shown at all.
        """
        shown, unseen = [], 0
        for uri in pictures_about(self._results[student], question, cell):
            if len(uri) <= self._left:
                self._left -= len(uri)
                shown.append(uri)
            else:
                unseen += 1
        lacks = lacks_picture(text, pictures_in(self._results[student], question, cell))
        return tuple(shown), unseen, lacks


def render_marking(
    results: Sequence[Graded],
    rubric: Rubric,
    standings: Mapping[str, Standing],
    language: str = "en",
    *,
    secret: bytes = b"",
    marking: str = "",
) -> str:
    """All answers to marking by hand, for staff, in English, as one HTML file without scripts or requests.

    Args:
        results: of a class.
        rubric: the common one.
        standings: the students' marks with what people gave.
        language: of what the rubric says: titles, items, guides and examples.
        secret: the course's; without it no group has a name for the list of decisions.
        marking: where people give marks, as the store calls it; empty: nowhere but in the list of decisions.
    """
    spoken, gallery = Labels(language), _Gallery(results)
    tasks = [
        _task(rubric, cell, results, standings, spoken=spoken, gallery=gallery)
        for cell in marked_cells(rubric, secret)
    ]
    return filled(
        "marking.html",
        title=spoken.pick(rubric.assignment.title, rubric.assignment.name),
        tasks=tasks,
        waiting=[
            one
            for graded in results
            for one in waiting_items(graded, standings[graded.score.student], rubric)
        ],
        language=spoken.language,
        marking=marking,
        policy=POLICY,
    )


def _task(
    rubric: Rubric,
    cell: MarkedCell,
    results: Sequence[Graded],
    standings: Mapping[str, Standing],
    *,
    spoken: Labels,
    gallery: _Gallery,
) -> _Task:
    question, items, labels = cell.question, cell.items, Labels("en")
    answers = cell.answers(results)
    marks = {student: _cell(standings[student], question, cell.name) for student in answers}
    groups = []
    for students in prose.groups(list(answers.items())):
        text = answers[students[0]]
        group = cell.group(text)
        key = f"{rubric.assignment.name},{cell.name},{group}," if group else ""
        own = {one: marks[one] for one in students}
        drawn = {one: gallery.of(one, question, cell.name, answers[one]) for one in students}
        groups.append(_group(text, own, drawn, question, items, key=key, labels=labels, spoken=spoken))
    return _Task(
        anchor=f"cell-{cell.name}",
        title=spoken.pick(question.title, question.id),
        cell=cell.name,
        points=labels.number(sum((max(item.points, Decimal(0)) for item in items), Decimal(0))),
        lines=tuple(_line(question, item, labels, spoken) for item in items),
        groups=tuple(sorted(groups, key=lambda group: group.done)),
        open=sum(marks[student].pending for student in answers),
        empty=len(results) - len(answers),
    )


def _cell(standing: Standing, question: Question, cell: str) -> CellPoints:
    points = next(one for one in standing.questions if one.id == question.id)
    return next(one for one in points.cells if one.name == cell)


def _group(
    source: str,
    marks: Mapping[str, CellPoints],
    drawn: Mapping[str, tuple[tuple[str, ...], int, bool]],
    question: Question,
    items: Sequence[Item],
    *,
    key: str,
    labels: Labels,
    spoken: Labels,
) -> _Group:
    text = printable_text(source, prose.MOST)
    listed = {item.id: manual_options(question, item).suggest for item in items}
    seen = [(item, cue_matches(question, item, text)) for item in items]
    spans = [span for _, told in seen for one in told for span in one.spans]
    done = [mark for mark in marks.values() if not mark.pending]
    authors = tuple(
        _Author(
            printable_text(student, 200), "" if mark.pending else labels.number(mark.points), *drawn[student]
        )
        for student, mark in marks.items()
    )
    return _Group(
        key=key,
        authors=authors,
        text=highlighted(text, [*prose.spans(text, itertools.chain(*listed.values())), *spans]),
        words=len(prose.words(text)),
        language=_LANGUAGES[prose.language(text)],
        suggested=tuple(
            spoken.pick(item.text, item.id) for item in items if prose.spans(text, listed[item.id])
        ),
        cues=tuple(
            (
                spoken.pick(item.text, item.id),
                tuple(_Cue(one.said(spoken.pick), one.holds, one.note) for one in told),
            )
            for item, told in seen
            if told
        ),
        differ=len({mark.points for mark in done}) > 1,
        done=len(done) == len(marks),
    )


def _line(question: Question, item: Item, labels: Labels, spoken: Labels) -> _Line:
    options = manual_options(question, item)
    shown = options.examples
    return _Line(
        text=spoken.pick(item.text, item.id),
        points=labels.number(item.points),
        guide=spoken.pick(options.guide),
        examples=shown and Examples(*map(spoken.pick, (shown.full, shown.none, shown.half))),
        suggest=options.suggest,
    )
