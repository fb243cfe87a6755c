"""Find a formula of the answer key in texts for students, even if it is rearranged or abbreviated there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from autograder.core.errors import RubricError
from autograder.formulas import FormulaError, Undecided, Unreadable, Vocabulary
from autograder.formulas.answer_parser import read_formula
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Tree, collect_symbols
from autograder.formulas.notation.vocabulary import FUNCTION_SPELLINGS
from autograder.formulas.values.evaluate import TooLarge, Undefined, evaluate_constant
from autograder.formulas.values.points import Points
from autograder.rubric import Question, Rubric

_SEED = b"release"
"""A fixed seed is safe: authors compare their own texts, so knowing it gives no advantage."""
_PIECE = re.compile(r"\d+(?:\.\d+)?|[^\W\d]\w*|\\[A-Za-z]+|\*\*|[-+*/^(){}·×!]|[⁰¹²³⁴-⁹]+")
_LATEX_NAME = re.compile(r"\\(?:text|mathrm|mathit|operatorname)\s*\{(\w+)\}")
_INDEX = re.compile(r"_\{(\w+)\}")
_NO_SYMBOLS = Vocabulary({})
_FORM_OPTIONS = ("must", "with", "without")


def read_vocabularies(rubric: Rubric) -> dict[str, Vocabulary]:
    """Return the symbols of questions that ask for a formula, by the grade_id of the answer cell.

    A question that asks for a form, such as an expanded product, is left out: its prompt may state an equal
    formula.
    """
    return {
        question.answer_cell or f"{question.id}-answer": vocabulary
        for question in rubric.questions
        if question.kind == "formula" and not _has_form_option(question)
        for vocabulary in _read_vocabulary(rubric, question)
    }


def _has_form_option(question: Question) -> bool:
    """Decide whether a question asks for a form of a formula."""
    return any(option in item.options for item in question.items for option in _FORM_OPTIONS)


def _read_vocabulary(rubric: Rubric, question: Question) -> Iterator[Vocabulary]:
    """Yield the question's vocabulary, if it is valid."""
    try:
        yield rubric.make_vocabulary(question)
    except RubricError:
        return  # reported when the question is checked


def find_equal_formula(text: str, keys: Iterable[str], vocabulary: Vocabulary) -> str:
    """Return the passage of a text that is a formula equal to one of the keys; empty if there is none.

    Args:
        text: text for students.
        keys: formulas of the answer key; one that cannot be read is never found.
        vocabulary: vocabulary for reading both.
    """
    trees = [tree for key in keys if (tree := _read_tree(_strip_latex(key), vocabulary)) is not None]
    comparer = Comparer(Points(vocabulary.domains, _SEED)) if trees else None
    for passage in find_formulas(text, vocabulary) if comparer else ():
        passage_tree = _read_tree(passage, vocabulary)
        if passage_tree is not None and any(_is_equal(comparer, passage_tree, tree) for tree in trees):
            return passage
    return ""


def compute_number(text: str) -> int | None:
    """Return the whole number that arithmetic with numbers yields; None for anything else."""
    try:
        (tree,) = read_formula(text, _NO_SYMBOLS)
        value = evaluate_constant(tree)
    except (Unreadable, FormulaError, TooLarge, Undefined, ValueError):
        return None
    return value if isinstance(value, int) else None


def find_formulas(text: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the longest passages of a text that contain only numbers, declared symbols and signs.

    A part of a longer formula is not yielded by itself: other formulas contain it as well.
    """
    bare = _strip_latex(text)
    known_names: Mapping[str, str] = {**FUNCTION_SPELLINGS, **vocabulary.names, **vocabulary.functions}
    since, end = -1, -1
    # The final None ends a passage at the end of the text.
    for piece in (*_PIECE.finditer(bare), None):
        is_word = piece is not None and piece[0][0].isalpha()
        goes_on = piece is not None and not bare[end : piece.start()].strip(" \t") and since >= 0
        is_known = piece is not None and (not is_word or piece[0] in known_names)
        if since >= 0 and not (goes_on and is_known):
            passage = bare[since:end]
            # The second form drops operators at the ends, such as the bullet of a list.
            yield from dict.fromkeys((passage.strip(), passage.strip(" \t-+*/^·×")))
            since = -1
        if piece is not None and is_known:
            since = piece.start() if since < 0 else since
        end = piece.end() if piece is not None else end


def _strip_latex(text: str) -> str:
    """Return a text without LaTeX markup around names and indices."""
    return _INDEX.sub(r"_\1", _LATEX_NAME.sub(r"\1", text))


def _read_tree(passage: str, vocabulary: Vocabulary) -> Tree | None:
    """Return the formula that a passage is; None for a single number or symbol, and for anything else."""
    # A single number or symbol occurs in most texts and proves nothing.
    if len(_PIECE.findall(passage)) < 2:
        return None
    try:
        sides = read_formula(passage, vocabulary)
    except (Unreadable, FormulaError):
        return None
    return sides[0] if len(sides) == 1 and collect_symbols(sides[0]) else None


def _is_equal(comparer: Comparer | None, first: Tree, second: Tree) -> bool:
    """Decide whether two formulas are equal; False if that is undecided."""
    try:
        return comparer is not None and comparer.is_equal(first, second)
    except (Undecided, FormulaError):
        return False
