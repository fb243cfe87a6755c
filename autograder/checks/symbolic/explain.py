"""Why an answer is not right, in the most telling words there are."""

from __future__ import annotations

from decimal import Decimal

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.key import Facts
from autograder.algebra.nodes import Relation, Tree, Tuple
from autograder.checks.results import Finding
from autograder.errors import Undecided
from autograder.records import Message, Status


def explained(
    facts: Facts, accept: tuple[Tree, ...], comparer: Comparer, reading: str, points: Decimal
) -> tuple[Finding, str]:
    """The words about a wrong answer that no step of the rubric speaks of, and their stable code.

    Args:
        facts: about the answer.
        accept: the right answers of the rubric.
        comparer: the most lenient reading.
        reading: how the answer was read.
        points: that it earns.
    """
    difference = facts.difference()
    if difference is not None:
        message = Message(difference.sentence, difference.params)
        staff = f"read as {reading}; {difference.staff}"
        return Finding(Status.FAILED, message, staff, points), f"diagnosis.{difference.code}"
    message = Message("formula.wrong")
    if isinstance(facts.answer, Relation):
        message = Message("formula.relation-wrong")
    elif isinstance(facts.answer, Tuple):
        message = _tuple(facts.answer, accept, comparer)
    staff = f"read as {reading}; not equal, and no known mistake"
    return Finding(Status.FAILED, message, staff, points), message.code


def _tuple(answer: Tuple, accept: tuple[Tree, ...], comparer: Comparer) -> Message:
    right = [tree for tree in accept if isinstance(tree, Tuple)]
    if all(len(tree.elements) != len(answer.elements) for tree in right):
        return Message("formula.tuple-length", {"count": str(len(answer.elements))})
    if any(_permuted(answer, tree, comparer) for tree in right):
        return Message("formula.tuple-order")
    return Message("formula.tuple-wrong")


def _permuted(answer: Tuple, right: Tuple, comparer: Comparer) -> bool:
    """Whether two tuples have the same elements in another order."""
    left = list(right.elements)
    for element in answer.elements:
        try:
            match = next((other for other in left if comparer.equal(element, other)), None)
        except Undecided:
            return False
        if match is None:
            return False
        left.remove(match)
    return not left
