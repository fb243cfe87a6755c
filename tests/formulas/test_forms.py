"""Test the forms of formulas against sympy's rewritings."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autograder.formulas.errors import Undecided
from autograder.formulas.forms.flaws import FORMS, collect_names, find_flaw
from autograder.formulas.forms.polynomials import Ring
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from tests.formulas.examples import functions, polynomials

VOCABULARY = Vocabulary({name: Symbol() for name in ("n", "d", "h", "L")})
SYMBOLS = {name: sympy.Symbol(name, positive=True) for name in ("n", "d", "h")}


def code(form: str, text: str) -> str:
    """Return the code of the first flaw; empty if the formula has the form."""
    flaw = find_flaw(parse(text, VOCABULARY), form)
    return "" if flaw is None else flaw.code


CASES = {
    "collected": {
        "12*L*d^2": "", "4*n*d + 8*d^2": "", "4*d^2 + 8*d^2": "like-terms", "n*d + d*n": "like-terms",
        "L*(4*d^2 + 8*d^2)": "like-terms", "3*h*n*d + n*h*d + 8*d^2": "like-terms", "1 + n + 2": "like-terms",
        "(2*d)^2 + d*(8*d)": "like-terms", "n*log(n) + 2*log(n)*n": "like-terms", "n - (d - n)": "like-terms",
        "2*(n + d) + 3*(d + n)": "like-terms", "n/d + 2*n/d": "like-terms", "n/d + d/n": "",
        "sqrt(n) + n^(1/2)": "",
        "n*d + n*d^2": "", "2^n + 2^d": "", "2^n + 3*2^n": "like-terms", "n^2/n + n": "like-terms",
        "n + n^1.5": "",
        "(n + n)^d": "like-terms", "sqrt(n + n)": "",
    },
    "expanded": {
        "n^2 + 2*n*d": "", "n*(n + d)": "product-of-sums", "(n + d)^2": "power-of-sum",
        "-(n + d)": "product-of-sums",
        "n - (d + h)": "product-of-sums", "(n + d)/2": "fraction-of-sum", "n/(n + d)": "",
        "n/(h*(n + d))": "product-of-sums", "sqrt(n + d)": "", "2^(n + d)": "", "1/(n + d)^2": "power-of-sum",
        "(n*d)^2": "",
        "n*-(d + h)": "product-of-sums", "(n + d)*(n - d) + h": "product-of-sums",
    },
    "factored": {
        "4*d*(h*n + 2*d)": "", "n + d": "", "n*(n + d)^2": "", "-(n + d)*n": "", "2*n + 4*d": "common-factor",
        "n*d + n*h": "common-factor", "n^2 - d^2": "factorable", "n^2 + d^2": "",
        "n^2 + 2*n*d + d^2": "factorable",
        "h*(n^2 - 1)": "factorable", "(n - 1)*(n + 1)*h": "", "n/2 + d/2": "common-factor",
        "(n + d)/(2*h + 2)": "common-factor", "n + n": "like-terms", "12*d^2": "", "n - n + d": "like-terms",
        "2^n*n + 2^n": "common-factor",
        "n + (d + h)*n": "common-factor", "n/d + 1/d": "factorable",
    },
    "simplified": {
        "12*L*d^2": "", "12*L*d*d": "", "4*d*(h*n + 2*d)": "", "2*6*d^2": "arithmetic",
        "24*d^2/2": "arithmetic",
        "3/2*d": "", "6/4*d": "arithmetic", "0.5*n": "", "2^10*n": "arithmetic", "2^30*n": "",
        "sqrt(4)*n": "arithmetic",
        "sqrt(2)*n": "", "1*d": "neutral", "d + 0": "neutral", "d^1": "neutral", "d/1": "neutral",
        "0*n + d": "neutral",
        "n*d/d": "cancels", "n^2/n": "cancels", "(n^2 - d^2)/(n - d)": "cancels", "(2*n + 2*d)/2": "cancels",
        "(n + d)/n": "", "n*(d/n)": "cancels", "n/(d/h)": "nested-fraction", "(n/d)/h": "nested-fraction",
        "n - -d": "double-sign", "d^2*d": "powers-apart", "sqrt(n)*sqrt(n)": "powers-apart",
        "d^(1 + 1)": "like-terms",
        "d^(2*3)": "arithmetic", "(2*d)^2*3": "arithmetic", "4*d^2 + 8*d^2": "like-terms",
        "2*(3*d)": "arithmetic",
        "log(2*3)*n": "arithmetic", "5!": "arithmetic", "n!": "", "n/2 + d/3": "",
        "(n + 1)/(2*n + 2)": "cancels",
    },
    "sum": {"n + d": "", "-(n + d)": "", "n*(n + d)": "no-sum", "n": "no-sum"},
    "product": {"n*(n + d)": "", "n": "", "n + d": "no-product", "-(n + d)": "no-product"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [(form, text, expected) for form, cases in CASES.items() for text, expected in cases.items()],
)
def test_forms(form: str, text: str, expected: str) -> None:
    """Each form accepts its examples and names the flaw of the others."""
    assert expected == code(form, text)


def test_every_form_is_tried() -> None:
    """Every form has examples."""
    assert set(FORMS) == set(CASES)


@pytest.mark.parametrize(
    ("form", "text", "params"),
    [
        ("collected", "3*h*n + d + n*h", {"first": "3*h*n", "second": "n*h"}),
        ("collected", "d - 2*d", {"first": "d", "second": "2*d"}),
        ("factored", "8*d^2 + 12*d*n", {"factor": "4*d", "part": "8*d^2 + 12*d*n"}),
        ("factored", "h*(n/2 + d/2)", {"factor": "1/2", "part": "n/2 + d/2"}),
        ("expanded", "h + n*(n + d)", {"part": "n*(n + d)"}),
        ("simplified", "n + 2*3*d", {"part": "2*3*d"}),
    ],
)
def test_the_offending_part_is_quoted(form: str, text: str, params: dict[str, str]) -> None:
    """The quoted part occurs in the formula, and the common factor is named."""
    flaw = find_flaw(parse(text, VOCABULARY), form)
    assert flaw is not None
    assert params == dict(flaw.params)


def test_names_that_occur() -> None:
    """The names are those of declared symbols, functions and constants."""
    assert {"n", "d", "sqrt", "pi"} == collect_names(parse_single("sqrt(n) = pi*d", VOCABULARY))


small_polynomials = st.lists(
    st.tuples(st.integers(-4, 4).filter(bool), *(st.integers(0, 2) for _ in SYMBOLS)), min_size=1, max_size=4
).map(
    lambda rows: sympy.Add(*(
        number * sympy.prod(symbol**power for symbol, power in zip(SYMBOLS.values(), powers, strict=True))
        for number, *powers in rows
    ))
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(small_polynomials, small_polynomials)
def test_what_sympy_factors_and_expands_is_so(first: sympy.Expr, second: sympy.Expr) -> None:
    """sympy's factored form is factored, its expanded form is expanded, collected and simplified."""
    whole = first * second
    assume(not sympy.expand(whole).is_number)
    factored, expanded = sympy.factor(whole), sympy.expand(whole)
    texts = [sympy.sstr(expression).replace("**", "^") for expression in (factored, expanded)]
    assert "" == code("factored", texts[0])
    assert ["", "", ""] == [code(form, texts[1]) for form in ("expanded", "collected", "simplified")]
    irreducible = len(sympy.factor_list(expanded)[1]) == 1 and factored == expanded
    if isinstance(expanded, sympy.Add) and not irreducible:
        assert code("factored", texts[1]) in ("common-factor", "factorable")
    if isinstance(factored, sympy.Mul) and any(isinstance(part, sympy.Add) for part in factored.args):
        assert "" != code("expanded", texts[0])


@settings(max_examples=200, deadline=None)
@given(polynomials | functions)
def test_any_formula_has_a_verdict(tree: object) -> None:
    """Every form decides on any formula or is undecided."""
    for form in FORMS:
        try:
            flaw = find_flaw(tree, form)  # type: ignore[arg-type]
        except Undecided:
            continue
        assert flaw is None or flaw.code


def test_a_ring_has_limits() -> None:
    """Too many symbols, terms or digits, or too high a degree, make the verdict undecided."""
    many = "+".join(f"sqrt({k + 2})" for k in range(12))
    costly = "*".join(["(n + d)"] * 60) + " + h", "(n + d + h + L)^24", "(" * 30 + "n + d" + ")^2" * 30
    for text in (many, "(n + d)^30", "(n + d + h + L)^12", "9" * 300 + "*n", *costly):
        node = parse(text, VOCABULARY)
        with pytest.raises(Undecided):
            Ring((node,)).to_quotient(node)
