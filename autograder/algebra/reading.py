"""Reads a text in the form that a question asks for; the check that students run reads with it as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from autograder.algebra.growth.landau import parse_statements
from autograder.algebra.nodes import Node, Tree
from autograder.algebra.notation.lists import parse_list
from autograder.algebra.notation.parse import parse_sides, parse_tuple
from autograder.algebra.notation.relations import parse_chain
from autograder.algebra.notation.vocabulary import Vocabulary, plain_name

_LEFT_SIDE = re.compile(r"[\s$]*([A-Za-z#][\w{}\\]*(?:\([^=()]*\))?)\s*:?=(?!=)")


def read_formula(text: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
    """One formula, or the sides of a chain of equations; a leading ``name =`` of the answer is dropped.

    Raises:
        Unreadable: it is not in the grammar.
    """
    left = _LEFT_SIDE.match(text)
    if left is not None and plain_name(left.group(1)) not in vocabulary.names:
        text = " " * left.end() + text[left.end() :]  # blanks keep the offsets of errors right
    return parse_sides(text, vocabulary)


_READERS: Mapping[str, Callable[[str, Vocabulary], tuple[Tree, ...]]] = {
    "formula": read_formula,
    "relation": parse_chain,
    "tuple": lambda text, vocabulary: (parse_tuple(text, vocabulary),),
    "list": lambda text, vocabulary: (parse_list(text, vocabulary),),
    "set": lambda text, vocabulary: (parse_list(text, vocabulary),),
    "asymptotic": parse_statements,
}


def read_text(text: str, form: str, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """What a text says.

    Args:
        text: as it was written.
        form: one of a rubric's: formula, relation, tuple, list, set or asymptotic.
        vocabulary: the symbols.

    Returns:
        One tree; for a chain of equations its sides; for a chain of relations those between neighbours.

    Raises:
        Unreadable: it is not in the grammar.
    """
    return _READERS[form](text, vocabulary)
