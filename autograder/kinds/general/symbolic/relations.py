"""Chains of relations, and what is wrong with the sign between two sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autograder.algebra.equality.cases import always
from autograder.algebra.equality.inequalities import turned, with_sign
from autograder.algebra.nodes import Relation, Tree
from autograder.algebra.printing.text import to_text
from autograder.checks.judging import results
from autograder.checks.judging.results import Finding
from autograder.errors import Undecided
from autograder.kinds.general.symbolic.key import PreparedItem


def asserted(sides: Sequence[Tree], item: PreparedItem) -> Tree:
    """What is judged: the last side, or of a chain of relations the first that says something.

    A link such as ``2*d = d + d`` in a chain holds always and says nothing, and so does ``0 < n`` for a
    positive ``n``; unless that is what is asked for.
    """
    links = [side for side in sides if isinstance(side, Relation)]
    if item.form != "relation" or not links:
        return sides[-1]
    telling = (link for link in links if not _holds_always(link, item))
    asked = (link for link in links if any(_equal(link, right, item) for right in item.accept))
    return next(telling, next(asked, links[0]))


def chain_trouble(sides: Sequence[Tree], item: PreparedItem) -> Finding | None:
    """Two links of a chain that say different things."""
    links = [side for side in sides if isinstance(side, Relation) and not _holds_always(side, item)]
    for left, right in pairwise(links):
        try:
            if not any(comparer.equal(left, right) for comparer in item.readings):
                return results.failed("formula.chain", left=to_text(left), right=to_text(right))
        except Undecided as error:
            return results.review(f"a chain of relations: {error}", "formula.undecided")
    return None


def sign_trouble(answer: Tree, item: PreparedItem, reading: str) -> Finding | None:
    """A wrong relation that is right with another sign."""
    if not isinstance(answer, Relation):
        return None
    ways = {
        "direction": (turned(answer),),
        "strictness": (with_sign(answer, "≤"), with_sign(answer, "<")),
        "sign": tuple(Relation(answer.left, answer.right, sign) for sign in ("=", "<", "≤", ">", "≥")),
    }
    if answer.sign == "=":
        del ways["direction"], ways["strictness"]
    for code, tried in ways.items():
        if any(_equal(relation, right, item) for relation in tried for right in item.accept):
            staff = f"read as {reading}; right with another sign"
            return results.failed(f"formula.relation-{code}", staff)
    return None


def _equal(first: Tree, second: Tree, item: PreparedItem) -> bool:
    try:
        return any(comparer.equal(first, second) for comparer in item.readings)
    except Undecided:
        return False


def _holds_always(link: Relation, item: PreparedItem) -> bool:
    comparer = item.readings[0]
    if link.sign != "=":
        return always(link, comparer.points.domains)
    try:
        return comparer.equal(link.left, link.right)
    except Undecided:
        return False
