"""Test that verdicts do not depend on the secret."""

from __future__ import annotations

import os

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points

SECRETS = int(os.environ.get("SECRETS", "12"))
"""The test also passed with a thousand secrets when it was written."""
WHOLE, POSITIVE, REAL, SHARE, UNIT = "positive integer", "positive", "real", "probability", "unit"


def verdicts(domains: dict[str, str], first: str, second: str) -> set[bool | None]:
    """Return the verdicts on two formulas with many secrets; None if undecided."""
    vocabulary = Vocabulary({name: Symbol(domain) for name, domain in domains.items()})
    left, right = parse(first, vocabulary), parse(second, vocabulary)
    found: set[bool | None] = set()
    for number in range(SECRETS):
        try:
            found.add(Comparer(Points(domains, b"secret %d" % number)).is_equal(left, right))
        except Undecided:
            found.add(None)
    return found


ENTROPY = "-(p*ln(p) + (1-p)*ln(1-p))"
ADAM = {"b": SHARE, "t": WHOLE, "m": REAL, "v": POSITIVE, "l": POSITIVE, "e": POSITIVE}


@pytest.mark.parametrize(
    ("domains", "first", "second", "equal"),
    [
        # entropy and cross-entropy, for any declared domain
        *(({"p": one}, ENTROPY, "-p*ln(p) - (1-p)*ln(1-p)", True) for one in (SHARE, UNIT, WHOLE, REAL)),
        ({"p": SHARE}, ENTROPY, "p*ln(1/p) + (1-p)*ln(1/(1-p))", True),
        ({"p": SHARE}, ENTROPY, "-p*ln(p) + (1-p)*ln(1-p)", False),
        ({"p": SHARE, "q": SHARE}, "-p*ln(q) - (1-p)*ln(1-q)", "-ln(q^p*(1-q)^(1-p))", True),
        ({"p": SHARE, "q": SHARE}, "-p*ln(q) - (1-p)*ln(1-q)", "-q*ln(p) - (1-q)*ln(1-p)", False),
        # the logit
        *(({"p": one}, "ln(p/(1-p))", "ln(p) - ln(1-p)", True) for one in (SHARE, UNIT, WHOLE, POSITIVE)),
        *(({"p": one}, "ln(p/(1-p))", "ln(p) - ln(1+p)", False) for one in (SHARE, UNIT, WHOLE, POSITIVE)),
        # dropout keeps the expectation
        ({"x": REAL, "p": SHARE}, "x/(1-p)", "x*(1-p)^(-1)", True),
        ({"x": REAL, "p": SHARE}, "x/(1-p)", "x/p", False),
        ({"x": POSITIVE, "p": SHARE}, "sqrt(x/(1-p))", "sqrt(x)/sqrt(1-p)", True),
        # Adam's correction of the bias
        (ADAM, "l*m/(1-b^t)/(sqrt(v/(1-b^t)) + e)", "l*m/(sqrt(v*(1-b^t)) + e*(1-b^t))", True),
        (ADAM, "sqrt(v/(1-b^t))", "sqrt(v)/(1-b^t)", False),
        (ADAM, "m/(1-b^t)", "m/(1-b)^t", False),
        # domains that differ between the formulas
        ({"x": REAL}, "sqrt(x)", "x^(1/2)", True),
        ({"a": REAL, "b": REAL}, "log(a^2*b)", "2*log(a) + log(b)", True),
        ({"a": REAL, "b": REAL, "c": REAL}, "log(a*b*c)", "log(a) + log(b) + log(c)", True),
        ({"x": REAL}, "sqrt(x^2)", "x", False),
        ({"x": REAL}, "exp(log(x^2)/2)", "x", False),
        ({"n": WHOLE}, "sqrt(n^2)", "n", True),
        ({"n": WHOLE}, "n", "n + 0*log(-n)", False),
        ({"n": WHOLE}, "sqrt(-n)", "n", False),
        # values only for whole numbers, or only for small ones
        ({"n": WHOLE}, "(-1)^n", "(-1)^(n+2)", True),
        ({"n": WHOLE}, "(-1)^n", "1", False),
        ({"n": WHOLE}, "n!", "n*(n-1)!", True),
        ({"n": WHOLE, "d": WHOLE}, "exp(-n)/(1+exp(-n)) + d", "1/(1+exp(n)) + d", True),
        # terms that vanish
        ({"p": SHARE}, "p*ln(p/p) + p", "p", True),
        # the ends of an interval
        ({"p": UNIT}, "0^p", "0", False),
        ({"p": SHARE}, "0^p", "0", True),
        ({"p": UNIT}, "floor(p)", "0", False),
    ],
)  # fmt: skip
def test_every_secret_gives_the_same_verdict(
    domains: dict[str, str], first: str, second: str, equal: bool
) -> None:
    """Many secrets give the same verdict, and none is undecided."""
    assert {equal} == verdicts(domains, first, second)


def test_order_decides_about_nothing() -> None:
    """The verdict does not depend on earlier comparisons or on the number of points."""
    domains = {"p": SHARE, "n": WHOLE}
    vocabulary = Vocabulary({name: Symbol(domain) for name, domain in domains.items()})
    pairs = [
        tuple(parse(text, vocabulary) for text in texts)
        for texts in (("p*ln(p)", "ln(p^p)"), ("max(n, 2)", "n"), ("ceil(n/2)", "(n+1)//2"), ("n^p", "p^n"))
    ]
    first, second = (Comparer(Points(domains, b"one")) for _ in range(2))
    forward = [first.is_equal(*pair) for pair in pairs]
    assert forward == [second.is_equal(*pair) for pair in reversed(pairs)][::-1]
    assert [True, False, True, False] == forward
