"""The public functions of the library, which `autograder.formulas` exports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.diagnose import Diagnosis, Difference
from autograder.formulas.mistakes.relations import RelationDiagnosis
from autograder.formulas.nodes import Relation, Tree, Tuple
from autograder.formulas.notation.formula_lists import parse_list, parse_single
from autograder.formulas.notation.landau import parse_landau
from autograder.formulas.notation.parse import parse as parse_formula
from autograder.formulas.notation.parse import parse_tuple
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.formulas.values.points import Points

# Unlike `read_text`, these do not remove a name or unit around a formula or tuple.
_PARSERS: Mapping[str, Callable[[str, Vocabulary], Tree]] = {
    "formula": parse_formula,
    "relation": parse_single,
    "tuple": parse_tuple,
    "set": parse_list,
    "asymptotic": parse_landau,
}


def parse(text: str, vocabulary: Vocabulary, form: str = "formula") -> Tree:
    r"""Read a formula in plain text, Unicode or LaTeX.

    >>> from autograder.formulas import Symbol, Vocabulary, parse, to_text
    >>> vocabulary = Vocabulary({"d_model": Symbol(aliases=("d",)), "n_layers": Symbol(aliases=("L",))})
    >>> to_text(parse(r"12 L d_{\text{model}}^2", vocabulary))
    '12*n_layers*d_model^2'
    >>> to_text(parse("d >= 2L", vocabulary, "relation"))
    'd_model ≥ 2*n_layers'
    >>> to_text(parse("O(L d²)", vocabulary, "asymptotic"))
    'O(n_layers*d_model^2)'

    Args:
        text: the formula.
        vocabulary: the symbols that it may use.
        form: ``"formula"``, ``"relation"`` (one equation or inequality), ``"tuple"``, ``"set"`` or
            ``"asymptotic"`` (an order of growth).

    Raises:
        Unreadable: it is not in the grammar, or it is ambiguous.
    """
    return _PARSERS[form](text, vocabulary)


def equal(
    answer: Tree, right: Tree, vocabulary: Vocabulary, assume: Iterable[Relation] = (), *, secret: bytes = b""
) -> bool:
    """Decide whether an answer equals the expected formula and has a value wherever that one has a value.

    >>> from autograder.formulas import Symbol, Vocabulary, equal, parse
    >>> vocabulary = Vocabulary(["d_model", "n_heads", "d_head"])
    >>> answer, right = parse("4*d_model^2", vocabulary), parse("4*d_model*n_heads*d_head", vocabulary)
    >>> equal(answer, right, vocabulary)
    False
    >>> equal(answer, right, vocabulary, assume=[parse("d_model = n_heads*d_head", vocabulary, "relation")])
    True

    Args:
        answer: a formula, relation or tuple.
        right: the expected formula, relation or tuple.
        vocabulary: the symbols of both.
        assume: equations of the form ``symbol = formula`` that hold. They do not apply to relations.
        secret: determines the points; with it one could construct unequal formulas that pass as equal.

    Raises:
        Undecided: it could be neither proven nor refuted.
    """
    return _make_comparer(vocabulary, assume, secret).is_accepted(answer, right)


def diagnose(
    answer: Tree, right: Tree, vocabulary: Vocabulary, assume: Iterable[Relation] = (), *, secret: bytes = b""
) -> Difference | None:
    """Return the one mistake that explains a wrong formula, or None if there is no such explanation.

    The result mentions only parts of the answer, so it can be shown to students.

    >>> from autograder.formulas import Vocabulary, diagnose, parse
    >>> vocabulary = Vocabulary(["n", "d"])
    >>> difference = diagnose(parse("n*d + d", vocabulary), parse("n*d + n", vocabulary), vocabulary)
    >>> difference.code, difference.params
    ('symbol-replaced', {'term': 'd', 'symbol': 'd'})

    Args:
        answer: a wrong formula or equation.
        right: the correct one.
        vocabulary: the symbols of both.
        assume: equations that hold, as for `equal`.
        secret: see `equal`.
    """
    # The reading without assumptions comes first: its explanations hold unconditionally.
    readings = [_make_comparer(vocabulary, (), secret)]
    if assumptions := list(assume):
        readings.append(readings[0].with_assumptions(assumptions))
    if isinstance(right, Relation) or isinstance(answer, Relation):
        if not (isinstance(right, Relation) and isinstance(answer, Relation)):
            return None
        return RelationDiagnosis(right, readings[0]).find_difference(answer)
    if isinstance(right, Tuple) or isinstance(answer, Tuple):
        return None
    return Diagnosis([right], readings).find_difference(answer)


def _make_comparer(vocabulary: Vocabulary, assume: Iterable[Relation], secret: bytes) -> Comparer:
    return Comparer(Points(vocabulary.domains, secret), assume)
