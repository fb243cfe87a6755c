"""Parse an answer in the form that a question asks for; the check for students uses the same code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autograder.formulas.nodes import Node, Tree, Tuple
from autograder.formulas.notation.decoration import extract_sizes, remove_name, remove_remark, remove_unit
from autograder.formulas.notation.formula_lists import parse_chain, parse_list
from autograder.formulas.notation.landau import parse_statements
from autograder.formulas.notation.parse import parse_sides, parse_tuple
from autograder.formulas.notation.vocabulary import Vocabulary


def read_formula(text: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
    """Parse one formula, or the sides of a chain of equations.

    The name of the result before it is dropped, such as ``N =``, and so are words after it for the counted
    quantity, such as ``parameters``.

    Raises:
        Unreadable: it is not in the grammar.
    """
    # The unit is removed last, because a remark in brackets may follow it.
    bare = remove_remark(remove_name(text, vocabulary), vocabulary)
    return parse_sides(remove_unit(bare, vocabulary), vocabulary)


def read_tuple(text: str, vocabulary: Vocabulary) -> Tuple:
    """Parse a tuple, also as the exponent of a space: ``ℝ^{n×d}``.

    Raises:
        Unreadable: it is not in the grammar.
    """
    return parse_tuple(extract_sizes(remove_name(text, vocabulary), vocabulary), vocabulary)


_READERS: Mapping[str, Callable[[str, Vocabulary], tuple[Tree, ...]]] = {
    "formula": read_formula,
    "relation": parse_chain,
    "tuple": lambda text, vocabulary: (read_tuple(text, vocabulary),),
    "set": lambda text, vocabulary: (parse_list(text, vocabulary),),
    "asymptotic": parse_statements,
}


def read_text(text: str, form: str, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Parse an answer.

    Args:
        text: the answer as it was written.
        form: formula, relation, tuple, set or asymptotic.
        vocabulary: the symbols.

    Returns:
        One tree; for a chain of equations its sides; for a chain of relations those between neighbours.

    Raises:
        Unreadable: it is not in the grammar.
    """
    return _READERS[form](text, vocabulary)
