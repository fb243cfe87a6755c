"""The staff page of similar pairs: where to look, with both works side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.feedback.render import filled
from autograder.feedback.sanitise import printable_text
from autograder.feedback.sorting import POLICY_WITH_SORTING, SCRIPT
from autograder.marking.similarity.beside import COLOURS, BesideRow, beside
from autograder.marking.similarity.pairs import AlikePair, Weights, to_percent
from autograder.marking.similarity.works import ComparedWork
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
    rows: tuple[BesideRow, ...]


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
    shown = [_shown(name, pair, works, weights) for pair in pairs]
    return filled(
        "similar.html",
        title=Labels("en").pick(rubric.assignment.title, name),
        students=len(works),
        pairs=shown,
        remarks=[printable_text(remark, 2_000) for remark in remarks],
        colours=range(COLOURS),
        policy=POLICY_WITH_SORTING,
        script=SCRIPT,
    )


def _shown(
    name: str,
    pair: AlikePair,
    works: Mapping[str, ComparedWork],
    weights: Weights,
) -> _ShownPair:
    first, second = pair.students
    return _ShownPair(
        _side(name, first),
        _side(name, second),
        *pair.percents,
        tuple(
            f"{printable_text(_KINDS.get(part.name, part.name), 200)} {to_percent(part.share)} %"
            for part in pair.parts[:_MOST_PARTS]
        ),
        tuple(printable_text(word, 200) for word in pair.words),
        beside(works[first], works[second], weights),
    )


def _side(name: str, student: str) -> _WorkOfPair:
    """Return a student, with a link to the student's page."""
    link = f"../feedback/{quote(student)}/{quote(name)}/{quote(name)}.html"
    return _WorkOfPair(printable_text(student, 200), link)
