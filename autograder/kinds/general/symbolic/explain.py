"""Why an answer is not right, in the most telling words there are."""

from __future__ import annotations

from decimal import Decimal

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.key import Facts
from autograder.algebra.nodes import Relation, Tree, Tuple
from autograder.algebra.printing.text import to_text
from autograder.algebra.sizes import shapes
from autograder.algebra.sizes.shapes import Roles
from autograder.checks.judging.results import Finding
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
    """What is wrong with a tuple, beside the right one that it is nearest to."""
    right = [tree.elements for tree in accept if isinstance(tree, Tuple)]
    try:
        found = [shapes.differ(answer.elements, elements, comparer.equal, Roles()) for elements in right]
    except Undecided:
        return Message("formula.tuple-wrong")
    differences = [one for one in found if one is not None]
    if any(one.code in shapes.FAMILIES["permuted"] for one in differences):
        return Message("formula.tuple-order")
    in_place = [one.axes for one in differences if one.code in ("axis", "axes")]
    if in_place:
        wrong = (to_text(answer.elements[axis]) for axis in min(in_place, key=len))
        return Message("formula.tuple-entries", {"entries": ", ".join(wrong)})
    if any(one.code == "product" for one in differences):
        return Message("formula.tuple-product", {"entry": to_text(answer.elements[0])})
    return Message("formula.tuple-length", {"count": str(len(answer.elements))})
