"""The staff page of similar pairs: where to look, with both works side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct

from autograder.marking.similarity.beside import COLOURS, AlignedRow, arrange_works
from autograder.marking.similarity.pairs import AlikePair, Weights, to_percent
from autograder.marking.similarity.works import ComparedWork
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.pages.rendering import fill_template
from autograder.rubric import Rubric

_KINDS = {"all": "everything", "code": "all code", "text": "all texts"}
_MOST_PARTS = 8


class _WorkOfPair(Struct, frozen=True):
    """One of the two students."""

    name: str
    link: str


class _ShownPair(Struct, frozen=True):
    """A pair on the page."""

    first: _WorkOfPair
    second: _WorkOfPair
    percent: int
    """Position of the pair between the usual similarity and identity, in percent."""
    share: int
    parts: tuple[str, ...]
    words: tuple[str, ...]
    rows: tuple[AlignedRow, ...]


def render_similar(
    rubric: Rubric,
    works: Mapping[str, ComparedWork],
    pairs: Sequence[AlikePair],
    weights: Weights,
    *,
    remarks: Sequence[str] = (),
) -> str:
    """Render the page. Student texts are escaped, and it runs one script, to sort.

    Args:
        rubric: the common one.
        works: by student.
        pairs: to show, the most similar first.
        weights: of the class.
        remarks: about works that were not compared, a sentence each.
    """
    name = rubric.assignment.name
    shown = [_make_shown_pair(name, pair, works, weights) for pair in pairs]
    return fill_template(
        "similar.html",
        title=Labels("en").pick(rubric.assignment.title, name),
        students=len(works),
        pairs=shown,
        remarks=[to_printable_text(remark, 2_000) for remark in remarks],
        colours=range(COLOURS),
        sortable=True,
    )


def _make_shown_pair(
    name: str,
    pair: AlikePair,
    works: Mapping[str, ComparedWork],
    weights: Weights,
) -> _ShownPair:
    first, second = pair.students
    return _ShownPair(
        _make_side(name, first),
        _make_side(name, second),
        *pair.percents,
        tuple(
            f"{to_printable_text(_KINDS.get(part.name, part.name), 200)} {to_percent(part.share)} %"
            for part in pair.parts[:_MOST_PARTS]
        ),
        tuple(to_printable_text(word, 200) for word in pair.words),
        arrange_works(works[first], works[second], weights),
    )


def _make_side(name: str, student: str) -> _WorkOfPair:
    """Return a student, with a link to the student's page."""
    link = f"../feedback/{quote(student)}/{quote(name)}/{quote(name)}.html"
    return _WorkOfPair(to_printable_text(student, 200), link)
