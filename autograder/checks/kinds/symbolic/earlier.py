"""The student's own earlier result, on which a later question builds."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from autograder.algebra.nodes import Node, Relation, Tuple, symbols
from autograder.algebra.notation.parse import parse_canonical
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.kinds.symbolic.conditions import Own
from autograder.errors import RubricError, Unreadable
from autograder.records import ItemResult, Status
from autograder.rubric import Question, Rubric

CARRIED = "formula.carried-forward"
"""The code of a result that is right only given one before it."""


class Source(Struct, frozen=True, eq=False):
    """Where an earlier result comes from.

    Attributes:
        name: ``"question.item"``.
        vocabulary: the symbols of that question: the result was printed in them.
    """

    name: str
    vocabulary: Vocabulary


class Earlier(Struct, frozen=True):
    """An earlier result, as far as it can be carried forward.

    Attributes:
        formula: what the student found; None where that is no formula in the symbols known here.
        states: what it is; two while a person has yet to decide whether it is right.
        known: what was found there is known. It is not where we failed to read or run it.
    """

    formula: Node | None = None
    states: tuple[Own, ...] = ("missing",)
    known: bool = True


def earlier_result(result: ItemResult | None, source: Source, names: Collection[str]) -> Earlier:
    """Read an earlier result.

    Args:
        result: of the earlier item; None where there is none.
        source: where it comes from.
        names: the symbols of the question that builds on it.
    """
    if result is None or not result.reading:
        return Earlier(known=result is None or result.status is not Status.NEEDS_REVIEW)
    try:
        formula = parse_canonical(result.reading, source.vocabulary)
    except Unreadable:
        return Earlier()
    if isinstance(formula, Relation | Tuple) or not symbols(formula) <= set(names):
        return Earlier()
    if result.status is Status.NEEDS_REVIEW:
        return Earlier(formula, ("right", "wrong"))
    # What was carried forward itself earned its points, and is another formula than the right one.
    right = result.status is Status.PASSED and result.code != CARRIED
    return Earlier(formula, ("right",) if right else ("wrong",))


def carried_from(name: str, vocabulary: Vocabulary, question: Question, rubric: Rubric, where: str) -> Source:
    """The source of a result that a question builds on.

    Args:
        name: ``"question.item"``.
        vocabulary: the symbols of the question that builds on it.
        question: that question.
        rubric: of both.
        where: how errors name the place.

    Raises:
        RubricError: there is no such formula before the question, or a symbol means something else there.
    """
    before = rubric.questions[: [one.id for one in rubric.questions].index(question.id)]
    formulas = {
        f"{one.id}.{item.id}": one
        for one in before
        for item in one.items
        if one.kind == question.kind and not item.manual and item.options.get("form", "formula") == "formula"
    }
    if name not in formulas:
        known = ", ".join(formulas) or "none"
        raise RubricError(
            f'{where}: from: expected "question.item" of a formula in an earlier question, got {name!r}; '
            f"there are: {known}"
        )
    declared = rubric.symbols(formulas[name])
    for symbol in declared:
        if vocabulary.names.get(symbol, symbol) != symbol:
            meant = vocabulary.names[symbol]
            raise RubricError(f"{where}: from: {symbol!r} is a symbol there, and stands for {meant!r} here")
    return Source(name, Vocabulary(declared))
