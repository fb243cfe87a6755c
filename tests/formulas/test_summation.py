"""Test sums and products over an index: closed forms have the values of the expanded sums."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Num, substitute_symbol
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.evaluate import evaluate_constant

VOCABULARY = Vocabulary({"n": Symbol(), "m": Symbol(), "d": Symbol()})
VALUES = {"n": 5, "m": 3, "d": 7}


def evaluate(text: str) -> Fraction:
    """Return the value of a formula at `VALUES`."""
    node = parse(text, VOCABULARY)
    for name, value in VALUES.items():
        node = substitute_symbol(node, name, Num(value))
    result = evaluate_constant(node)
    assert result is not None
    return Fraction(result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\sum_{i=1}^{n} d", 35),
        (r"\sum_{i=0}^{n-1} 2 d", 70),
        (r"\sum_{i=m}^{n} d", 21),
        (r"\sum_{i=1}^{n} i", 15),
        (r"\sum_{i=m}^{n} i d", 7 * (3 + 4 + 5)),
        (r"\sum_{i=1}^{n} i^2", 55),
        (r"\sum_{i=1}^{n} i^2 (i)", 225),
        (r"\sum_{i=2}^{n} i^3", 8 + 27 + 64 + 125),
        (r"\sum_{i=1}^{n} (i + 1)(d - i)", sum((i + 1) * (7 - i) for i in range(1, 6))),
        (r"\sum_{i=1}^{n} \frac{i (i + 1)}{2}", sum(i * (i + 1) // 2 for i in range(1, 6))),
        (r"\sum_{i=1}^{n} \sum_{j=1}^{i} j", sum(j for i in range(1, 6) for j in range(1, i + 1))),
        (r"\sum_{i=1}^{n} \sum_{j=1}^{m} i j", 15 * 6),
        (r"d + \sum_{i=1}^{n} (d + i)", 7 + 35 + 15),
        (r"\sum_{i=1}^{n} (d + i) + d", 7 + 35 + 15),
        (r"\left(\sum_{i=1}^{n} i\right)^2", 225),
        (r"2\sum_{i=1}^{n} i", 30),
        (r"∑\limits_{i=1}^n i", 15),
        (r"\prod_{i=1}^{m} d", 343),
        (r"\prod_{i=1}^{n} i", math.factorial(5)),
        (r"∏_{i=0}^{m} 2", 16),
    ],
)
def test_sum_over_an_index_has_the_value_of_the_terms_written_out(text: str, expected: int) -> None:
    """The body of the sum is the product that follows."""
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        r"\sum_{i=1}^{n} d + m",
        r"\sum_{i=1}^{n} d - 1",
        r"\sum_{i=1}^{n} 2^i",
        r"\sum_{i=1}^{n} i^4",
        r"\sum_{i=1}^{n} \frac{1}{i}",
        r"\sum_{d=1}^{n} m",
        r"\sum_{i=1}^{n} \sum_{i=1}^{m} i",
        r"\sum_i^n d",
        r"\sum d",
        r"\prod_{i=1}^{n} 2 i",
        r"\prod_{i=2}^{n} i",
        "".join(r"\sum_{i=1}^{" for _ in range(12)) + "n" + "} i" * 12,
    ],
)
def test_sum_without_a_clear_closed_form_is_unreadable(text: str) -> None:
    """Sums are rejected if a later term may belong to the body, the index is declared, or bounds nest."""
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    assert caught.value.code == "summation"


@pytest.mark.parametrize("text", [r"i \sum_{i=1}^{n} d", r"(\sum_{i=1}^{n} d) i", r"\sum_{i=i}^{n} d"])
def test_index_has_no_meaning_outside_of_the_body(text: str) -> None:
    """The index is an unknown name outside of the body."""
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    assert caught.value.code == "unknown-name"
