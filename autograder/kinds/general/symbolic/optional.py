"""Terms that a right formula may have besides, all of them or none: biases, for instance."""

from __future__ import annotations

from itertools import combinations

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.nodes import Add, Neg, Node
from autograder.algebra.notation.parse import parse
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.errors import RubricError, Unreadable
from autograder.kinds.general.symbolic.options import OptionalTerms, SymbolicItem
from autograder.kinds.general.symbolic.steps import checked_option
from autograder.messages.reading import reason
from autograder.rubric import Item

MOST_TERMS = 5
"""Their sums are all looked up."""


class Extra(Struct, frozen=True, eq=False):
    """A sum of some of the terms."""

    sum: Node
    whole: bool
    """All of them."""

    def taken_from(self, answer: Node) -> Node:
        """The answer without them."""
        return Add((answer, Neg(self.sum)))


class Optional(Struct, frozen=True, eq=False):
    """The terms of one item."""

    option: OptionalTerms
    extras: tuple[Extra, ...]
    """Every sum of at least one of them, that of all first; equal ones once."""


def optional_terms(
    options: SymbolicItem, item: Item, vocabulary: Vocabulary, comparer: Comparer, where: str
) -> Optional | None:
    """The terms that an item's rubric states.

    Raises:
        RubricError: the item is no formula, has steps, or a term is not readable.
    """
    option = options.optional
    if option is None:
        return None
    at = f"{where}: optional"
    if options.form != "formula" or options.step or options.must:
        raise RubricError(f'{at}: belongs to form = "formula", without steps and without must')
    if not 1 <= len(option.terms) <= MOST_TERMS:
        raise RubricError(f"{at}: terms: from 1 to {MOST_TERMS}, got {len(option.terms)}")
    checked_option(option, item, at)
    terms = [_term(text, vocabulary, at) for text in option.terms]
    chosen = [some for count in range(len(terms), 0, -1) for some in combinations(terms, count)]
    sums = {
        comparer.value(total) or total: Extra(total, whole=len(some) == len(terms))
        for some in reversed(chosen)
        for total in [some[0] if len(some) == 1 else Add(some)]
    }
    return Optional(option, tuple(reversed(sums.values())))


def _term(text: str, vocabulary: Vocabulary, at: str) -> Node:
    try:
        return parse(text, vocabulary)
    except Unreadable as error:
        raise RubricError(f"{at}: the formula {text!r} is not readable: {reason(error)}") from error
