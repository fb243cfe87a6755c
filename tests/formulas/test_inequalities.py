"""Test equations and inequalities: spellings, arrangements, and wrong ones."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.nodes import Relation
from autograder.formulas.notation.formula_lists import parse_chain, parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY

COMPARER = Comparer(Points(VOCABULARY.domains, b"a test"))
SPELLINGS = {
    "=": ("=", "==", "＝", ":=", "≔", "≙", "≡", r"\equiv ", "&="),
    "<": ("<", "&lt;", r"\lt ", "＜"),
    ">": (">", "&gt;", r"\gt ", "＞"),
    "≤": ("≤", "<=", "=<", "⩽", "≦", r"\le ", r"\leq ", r"\leqq ", r"\leqslant ", "&le;"),
    "≥": ("≥", ">=", "=>", "⩾", "≧", r"\ge ", r"\geq ", r"\geqq ", r"\geqslant ", "&ge;"),
}


def said(text: str, right: str) -> bool | None:
    """Return whether a relation equals the right one; None if undecided."""
    try:
        return COMPARER.is_equal(parse_single(text, VOCABULARY), parse_single(right, VOCABULARY))
    except Undecided:
        return None


@pytest.mark.parametrize(("sign", "spelling"), [(sign, one) for sign in SPELLINGS for one in SPELLINGS[sign]])
def test_spellings_of_signs(sign: str, spelling: str) -> None:
    """A sign means the same in ASCII, Unicode, HTML and LaTeX."""
    written = parse_single(f"n {spelling} 2 d", VOCABULARY)
    assert sign == written.sign
    assert written == parse_single(f"n {sign} 2*d_model", VOCABULARY)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("n < d <= h", "<≤"),
        (r"n \leq d = h", "≤="),
        (r"\left(n\right) = d < h", "=<"),
        ("0 < n ≤ d ≤ n*h", "<≤≤"),
    ],
)
def test_chains_are_neighbours_in_pairs(text: str, signs: str) -> None:
    """A chain is read as relations between neighbouring sides."""
    links = parse_chain(text, VOCABULARY)
    assert signs == "".join(link.sign for link in links)
    assert all(first.right == second.left for first, second in pairwise(links))
    with pytest.raises(Unreadable, match="relation-expected"):
        parse_single(text, VOCABULARY)


@pytest.mark.parametrize(
    "text",
    ["h*d_k > d", "d < h d_k", "d - h d_k < 0", "0 < h d_k - d", "-d > -h d_k", "2d < 2h d_k", "d/h < d_k",
     r"d_k > \frac{d}{h}", "d/(h d_k) < 1", "1 < h d_k/d", "d + 1 <= h d_k", "d ≤ h d_k - 1", "h d_k - d ≥ 1",
     "Lt(d, h*d_k)", "sympy.Gt(h*d_k, d)", "sp.Ge(h*d_k, d + 1)", "d n < h d_k n", "d - n < h d_k - n"],
)  # fmt: skip
def test_an_inequality_in_every_arrangement(text: str) -> None:
    """An inequality may be reversed, solved for another symbol or scaled; for whole numbers also use ≤."""
    assert said(text, "d < h*d_k") is True


@pytest.mark.parametrize(
    "text",
    ["d > h d_k", "d ≤ h d_k", "d < h d_k + 1", "d < h d_k - 1", "-d < -h d_k", "0 < 1", "d < d + 1",
     "d*0 < h", "d = h d_k", "d < d_k", "d*(n-1) < h d_k (n-1)", "d/(n-2) < h d_k/(n-2)"],
)  # fmt: skip
def test_another_inequality_is_wrong(text: str) -> None:
    """Another direction, an equality, a weaker or stronger bound, and a factor of unknown sign are wrong."""
    assert said(text, "d < h*d_k") is False


@pytest.mark.parametrize(
    "text",
    ["0 = 0", "d = d", "(d - h d_k)*0 = 0", "d = h + d_k", "d/h = h/d", "d < h d_k", "d_k = h/d"],
)
def test_another_equation_is_wrong(text: str) -> None:
    """A relation that always holds, or holds for other values, does not equal d = h*d_k."""
    assert said(text, "d = h*d_k") is False


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("d^2 < h^2 d_k^2", "d < h*d_k"),
        ("min(d, n) < h d_k", "d < h*d_k"),
        ("d < h d_k + 0/0", "d < h*d_k"),
        ("d = h d_k + floor(1/(n+1))", "d = h*d_k"),
        ("n ≤ d/2 + 1/10^300", "n ≤ d/2"),
        (f"n + {'+'.join(['e'] * 190)} < d", "n < d"),
    ],
)
def test_what_is_not_proven_is_left_to_a_human(text: str, right: str) -> None:
    """Relations that need unknown steps, or have no solutions, are undecided."""
    assert said(text, right) is None


def test_relations_keep_their_places() -> None:
    """An error in one side has its offset in the whole text."""
    with pytest.raises(Unreadable) as caught:
        parse_single("d ＝ h*width", VOCABULARY)
    assert ("unknown-name", 6) == (caught.value.code, caught.value.offset)


def test_an_equation_is_no_inequality() -> None:
    """`=` and `≤` between the same sides are different relations."""
    left, right = parse_single("d = n", VOCABULARY), parse_single("d ≤ n", VOCABULARY)
    assert isinstance(left, Relation)
    assert COMPARER.is_equal(left, right) is False


_OVER = {
    domain: Vocabulary({name: Symbol(domain) for name in ("x", "y")})
    for domain in ("real", "positive", "positive integer", "unit")
}


def _said_over(domain: str, text: str, right: str) -> bool | None:
    vocabulary = _OVER[domain]
    comparer = Comparer(Points(vocabulary.domains, b"a test"))
    try:
        return comparer.is_equal(parse_single(text, vocabulary), parse_single(right, vocabulary))
    except Undecided:
        return None


@pytest.mark.parametrize("domain", ["real", "positive", "positive integer"])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param("x < 5", "x <= 5", id="strict"),
        pytest.param("x <= 5", "x < 5", id="not strict"),
        pytest.param("y <= 2*x + 2", "2*x + 1 >= y", id="larger bound"),
        pytest.param("y <= 2*x + 1", "2*x + 2 >= y", id="smaller bound"),
        pytest.param("x <= 7", "x <= 5", id="other number"),
        pytest.param("x + y = 20", "x + y = 21", id="parallel lines"),
        pytest.param("2*x + y = 10", "x + 2*y = 10", id="other coefficients"),
        pytest.param("x*y = 12", "x*y = 6", id="other product"),
        pytest.param("x = 4", "x^2 - 9*x + 20 = (x - 4)*(x - 5)*1 + (x - 5)", id="one solution of another"),
        pytest.param("x = 6", "x + 1 = 6", id="solved wrongly"),
    ],
)
def test_linear_relations_with_other_solutions_are_wrong(domain: str, text: str, right: str) -> None:
    """Linear relations are wrong if only one of them holds at or between points of equality."""
    assert _said_over(domain, text, right) is False


@pytest.mark.parametrize(
    ("domain", "text", "right", "same"),
    [
        pytest.param("real", "y - 1 <= 2*x", "2*x + 1 >= y", True, id="rearranged"),
        pytest.param("real", "2*x + 2*y = 2", "x + y = 1", True, id="doubled"),
        pytest.param("positive integer", "x < 6", "x <= 5", True, id="next whole number"),
        pytest.param("positive", "x < 6", "x <= 5", False, id="no next number"),
        pytest.param("unit", "x < 1", "x <= 1", False, id="end of an interval"),
        pytest.param("real", "x^2 = 25", "x = 5", None, id="squared"),
        pytest.param("real", "x*y = y", "x = 1", None, id="multiplied by what may be zero"),
        pytest.param("real", "x = 1/y", "x*y = 1", None, id="divided by what is not zero"),
        pytest.param("positive", "x^2 = y^2", "x = y", None, id="squared positive numbers"),
    ],
)
def test_other_arrangements_are_not_refused(domain: str, text: str, right: str, same: bool | None) -> None:
    """Arrangements that need unknown steps are undecided, not wrong."""
    assert _said_over(domain, text, right) is same


MIXED = Vocabulary({
    "n": Symbol(), "d": Symbol(), "h": Symbol(), "p": Symbol("positive"), "x": Symbol("real"),
    "y": Symbol("real"), "z": Symbol("real"),
})  # fmt: skip
MIXED_COMPARER = Comparer(Points(MIXED.domains, b"a test"))


@pytest.mark.parametrize(
    "text", ["n", "n != d", "n <", "< n", "n <> d", "Eq(n)", "n = = d", "=" * 2500, "n<" * 30]
)
def test_what_is_no_relation(text: str) -> None:
    """A relation needs a sign between two formulas."""
    with pytest.raises(Unreadable):
        parse_chain(text, MIXED)


def verdict_both_ways(first: str, second: str) -> bool | None:
    """Return whether two relations are equal, in both orders; None if undecided."""
    verdicts = []
    for left, right in ((first, second), (second, first)):
        try:
            verdicts.append(MIXED_COMPARER.is_equal(parse_single(left, MIXED), parse_single(right, MIXED)))
        except Undecided:
            verdicts.append(None)  # type: ignore[arg-type]
    assert verdicts[0] == verdicts[1]
    return verdicts[0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("n < d", "d > n", True),
        ("n < d", "2*n < 2*d", True),
        ("n < d", "n/d < 1", True),
        ("n < d", "-d < -n", True),
        ("n*h <= d", "h <= d/n", True),
        ("n < d", "n + 1 <= d", True),
        ("n < d", "n <= d - 1", True),
        ("n < d", "n > d", False),
        ("n < d", "n <= d", False),
        ("n < d", "n = d", False),
        ("n < d", "n < d + h", False),
        ("n^2 < d^2", "n < d", None),
        ("log(n) < log(d)", "n < d", None),
        ("x < y", "2*x < 2*y", True),
        ("x < y", "x*z < y*z", False),
        ("x < y", "-x < -y", False),
        ("x < y", "-x > -y", True),
        ("x = y", "2*x = 2*y", True),
        ("x*z = y*z", "x = y", None),
        ("n*d = n*h", "d = h", True),
        ("1/x < 1", "x > 1", False),
    ],
)
def test_inequalities(first: str, second: str, expected: bool | None) -> None:
    """Inequalities are equal, different or undecided; factors of unknown sign prove nothing."""
    assert expected is verdict_both_ways(first, second)


def test_numbers_that_are_not_whole_leave_no_gap() -> None:
    """For numbers that are not whole, `<` cannot be replaced by a gap of one."""
    assert verdict_both_ways("p < n", "p + 1 <= n") in (False, None)
    assert verdict_both_ways("x < y", "x + 1 <= y") in (False, None)


def test_the_sign_is_part_of_a_relation() -> None:
    """A relation includes its sign, in text and in MathML."""
    relation = Relation(parse("n", MIXED), parse("d", MIXED), "≤")
    assert relation != Relation(relation.left, relation.right)
    assert "<mo>≤</mo>" in to_mathml(relation)
    assert "<mo>&lt;</mo>" in to_mathml(Relation(relation.left, relation.right, "<"))
