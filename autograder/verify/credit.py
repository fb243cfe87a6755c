"""What every way through the partial credit of formulas is worth."""

from __future__ import annotations

from msgspec import Struct

from autograder.checks import make_check
from autograder.checks.kinds.symbolic import SymbolicCheck
from autograder.checks.kinds.symbolic.graph import Way
from autograder.rubric import Rubric


class Ways(Struct, frozen=True):
    """What every way through the partial credit of one item is worth."""

    place: str
    """``question.item``."""
    stated: bool
    """The rubric states the steps; otherwise they follow from its mistakes and remarks."""
    ways: tuple[Way, ...]


def credit(rubric: Rubric) -> tuple[Ways, ...]:
    """Every way through the partial credit of every formula, the conditions left open.

    Raises:
        RubricError: a question's options are not usable.
    """
    found = []
    for question in rubric.questions:
        check = make_check(question, rubric)
        for item, graph in check.graphs.items() if isinstance(check, SymbolicCheck) else ():
            found.append(Ways(f"{question.id}.{item}", graph.stated, tuple(graph.ways())))
    return tuple(found)
