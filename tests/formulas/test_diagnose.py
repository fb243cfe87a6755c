"""Test diagnoses: single mistakes are named without revealing the right answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from autograder.core.records import Message
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.mistakes.diagnose import CODES, Diagnosis, Difference
from autograder.formulas.mistakes.relations import RelationDiagnosis
from autograder.formulas.nodes import Add, Fn, Mul, Node, walk_tree
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.points import Points
from autograder.messages import list_languages, load_sentences, render_message
from tests.formulas.examples import VOCABULARY
from tests.formulas.mutants import FORMULAS, RELATION, Formula, mutants, relation_mutants

RAW = Comparer(Points(VOCABULARY.domains, b"a test"))
GRANTED = [
    (formula, granted) for formula in FORMULAS for granted in (True, False) if granted or formula.assume
]
"""Each formula with and without the relations that its question grants."""
IDS = [f"{formula.name} {'granted' if granted else 'not granted'}" for formula, granted in GRANTED]
LEAST_NAMED = 0.95


class Case:
    """A formula's diagnosis under its readings, and its wrong mutants."""

    def __init__(self, formula: Formula, *, granted: bool) -> None:
        relations = [parse_single(text, VOCABULARY) for text in formula.assume] if granted else []
        self.readings = [RAW, RAW.with_assumptions(relations)] if relations else [RAW]
        written = [parse(text, VOCABULARY) for text in formula.written]
        self.right = [tree for tree in written if self.equal(tree, written[0])]
        self.diagnosis = Diagnosis(self.right[:1], self.readings)
        self.formula = formula

    def equal(self, first: Node, second: Node) -> bool:
        """Return whether formulas are equal under one of the readings; undecided counts as different."""
        try:
            return any(reading.is_equal(first, second) for reading in self.readings)
        except Undecided:
            return False

    def list_wrong(self) -> Iterator[tuple[Node, str, Difference | None]]:
        """Yield every wrong mutant with its kind and its diagnosis."""
        for mutant, kind in mutants(self.formula).items():
            if not self.equal(mutant, self.right[0]):
                yield mutant, kind, self.diagnosis.find_difference(mutant)


@pytest.mark.parametrize(("formula", "granted"), GRANTED, ids=IDS)
def test_single_mistakes_are_named_by_what_the_student_wrote(formula: Formula, granted: bool) -> None:
    """At least 95 % of mistakes are named, each by a change that turns one formula into the other.

    The message contains only symbols and terms of the answer.
    """
    case, unnamed = Case(formula, granted=granted), []
    wrong_answers = list(case.list_wrong())
    for mutant, kind, difference in wrong_answers:
        if difference is None:
            unnamed.append((kind, to_text(mutant)))
            continue
        assert difference.code in CODES
        if difference.repaired is not None:
            assert case.equal(difference.repaired, case.right[0]), difference
        elif difference.misconception is not None:
            assert case.equal(difference.misconception, mutant), difference
        assert all(value in written(mutant) for value in difference.params.values()), difference
        message = Message(difference.sentence, difference.params)
        assert all(render_message(message, language) for language in list_languages())
    assert len(wrong_answers) > 50
    assert len(unnamed) <= (1 - LEAST_NAMED) * len(wrong_answers), unnamed


def written(formula: Node) -> set[str]:
    """Return the parts of a formula as texts: nodes, groups of terms or factors, and functions."""
    texts = set()
    for part in walk_tree(formula):
        texts |= {to_text(part), part.name if isinstance(part, Fn) else ""}
        parts = part.terms if isinstance(part, Add) else part.factors if isinstance(part, Mul) else ()
        for count in range(2, len(parts)):
            texts |= {to_text(type(part)(chosen)) for chosen in combinations(parts, count)}
    return texts


def test_single_mistakes_in_a_relation_are_named() -> None:
    """At least 95 % of equations with one mistake are named."""
    right = [parse_single(text, VOCABULARY) for text in RELATION.written]
    diagnosis, wrong, unnamed = RelationDiagnosis(right[0], RAW), 0, []
    for mutant, kind in relation_mutants(RELATION).items():
        try:
            if any(RAW.is_equal(mutant, tree) for tree in right):
                continue
        except Undecided:
            continue
        wrong += 1
        if diagnosis.find_difference(mutant) is None:
            unnamed.append((kind, to_text(mutant)))
    assert wrong > 100
    assert len(unnamed) <= (1 - LEAST_NAMED) * wrong, unnamed


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("n*log(n)", "n^2*log(n)", "power-too-large"),
        ("n*log(n)", "2*n*log(n)", "factor-too-large"),
        ("n*log(n) + d", "n*log(n)", "missing-term"),
        ("n*log(n)", "n", "factor-forgotten"),
        ("n*log(n)", "n + log(n)", "sum-for-product"),
        ("sqrt(n)*d", "sqrt(n)/d", "divided"),
        ("2^n", "2^n + n", "extra-term"),
        ("d^2", "2^d", "base-and-exponent"),
        ("d*n", "d^n", "power-for-product"),
        ("d*n", "d!*n", "function-too-much"),
        ("d*n", "log(d)*n", "function-too-much"),
        ("n*d^2", "(n + 1)*d^2", "off-by-one"),
        ("d/h", "h/d", "reciprocal"),
        ("4*d^2", "4*d^2 + 4*d", "extra-term"),
        ("4*d^2", "4*d*(d + 1)", "off-by-one"),
        ("d/h", "d", "divisor-forgotten"),
        ("n*log(n)", "n/log(n)", "divided"),
        ("n*log(n)", "log(n)", "factor-forgotten"),
        ("n*log(n)", "n^2", "function-forgotten"),
        ("2^n", "2*n", "product-for-power"),
        ("2^n", "n^2", "base-and-exponent"),
        ("8*d^2", "10*d", "several-factors"),
        ("8*d^2", "7", "symbol-missing"),
        ("4*h*d*n + 8*d^2", "4*h*d*n + 8*n^2", "symbol-replaced"),
        ("4*h*d + 8*h^2*d", "4*h*d + 8*h*d^2", "symbol-replaced"),
    ],
)
def test_functions_and_quotients(right: str, wrong: str, code: str) -> None:
    """Misconceptions about logarithms, roots and symbolic powers are named as well."""
    difference = Diagnosis([parse(right, VOCABULARY)], [RAW]).find_difference(parse(wrong, VOCABULARY))
    assert difference is not None
    assert code == difference.code
    assert difference.staff
    assert difference.sentence in load_sentences()


@pytest.mark.parametrize("digits", [150, 181, 250, 308, 309, 310, 400])
@pytest.mark.parametrize(
    "text", ["floor({}*n)", "ceil(n/{})", "max({}, n)", "n^2 + {}", "log({}*n)", "(n + {})^d", "n*d/{}"]
)
def test_numbers_beyond_floats_stop_nothing(text: str, digits: int) -> None:
    """A number too large for a float is diagnosed or left unexplained, without an exception."""
    huge, plain = (parse(text.format(number), VOCABULARY) for number in ("9" * digits, "7"))
    for right, wrong in ((huge, plain), (plain, huge)):
        difference = Diagnosis([right], [RAW]).find_difference(wrong)
        assert difference is None or difference.sentence in load_sentences()


def test_a_symbol_of_another_right_formula_is_not_called_foreign() -> None:
    """A symbol that occurs in any right formula is not reported as foreign."""
    answers = ("8*d^2", "8*d^2 + 5*n*d + 7*h")
    wrong = parse("(d + h)*(d + n)*(n + 3*d)*(h + 1)", VOCABULARY)
    alone, both = (
        Diagnosis([parse(text, VOCABULARY) for text in answers[:count]], [RAW]) for count in (1, 2)
    )
    difference = alone.find_difference(wrong)
    assert difference is not None
    assert "symbol-foreign" == difference.code
    assert both.find_difference(wrong) is None


def test_staff_read_the_whole_story() -> None:
    """The message for staff names the missing term, the one for students does not."""
    right = [parse("4*n_heads*d_model*d_head + 8*d_model^2", VOCABULARY)]
    difference = Diagnosis(right, [RAW]).find_difference(parse("8*d_model^2", VOCABULARY))
    assert difference is not None
    assert "4*n_heads*d_model*d_head is missing" == difference.staff
    assert {} == difference.params


def test_every_code_has_a_sentence() -> None:
    """Every code has a message."""
    assert set() == {
        code for code in CODES if not any(key.startswith(f"diagnosis.{code}") for key in load_sentences())
    }
