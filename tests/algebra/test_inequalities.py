"""Equations and inequalities: every spelling, turned round, solved for another symbol, and not mistaken."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.nodes import Relation
from autograder.algebra.notation.several import parse_chain, parse_single
from autograder.algebra.values.points import Points
from autograder.errors import Undecided, Unreadable
from tests.algebra.examples import VOCABULARY
from tests.support.cases import each

COMPARER = Comparer(Points(VOCABULARY.domains, b"a test"))
SPELLINGS = {
    "=": ("=", "==", "＝", ":=", "≔", "≙", "≡", r"\equiv ", "&="),
    "<": ("<", "&lt;", r"\lt ", "＜"),
    ">": (">", "&gt;", r"\gt ", "＞"),
    "≤": ("≤", "<=", "=<", "⩽", "≦", r"\le ", r"\leq ", r"\leqq ", r"\leqslant ", "&le;"),
    "≥": ("≥", ">=", "=>", "⩾", "≧", r"\ge ", r"\geq ", r"\geqq ", r"\geqslant ", "&ge;"),
}


def said(text: str, right: str) -> bool | None:
    """Whether a relation says the same as the right one; None for undecided."""
    try:
        return COMPARER.equal(parse_single(text, VOCABULARY), parse_single(right, VOCABULARY))
    except Undecided:
        return None


@each(("sign", "spelling"), [(sign, one) for sign in SPELLINGS for one in SPELLINGS[sign]])
def test_spellings_of_signs(sign: str, spelling: str) -> None:
    """A sign means the same from a keyboard, as Unicode, in HTML and in LaTeX."""
    written = parse_single(f"n {spelling} 2 d", VOCABULARY)
    assert sign == written.sign
    assert written == parse_single(f"n {sign} 2*d_model", VOCABULARY)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("n < d <= h", "<≤"),
        (r"n \leq d = h", "≤="),
        ("0 < n ≤ d ≤ n*h", "<≤≤"),
    ],
)
def test_chains_are_neighbours_in_pairs(text: str, signs: str) -> None:
    """Each sign of a chain stands between what is on either side of it."""
    links = parse_chain(text, VOCABULARY)
    assert signs == "".join(link.sign for link in links)
    assert all(first.right == second.left for first, second in pairwise(links))
    with pytest.raises(Unreadable, match="relation-expected"):
        parse_single(text, VOCABULARY)


@each(
    "text",
    ["h*d_k > d", "d < h d_k", "d - h d_k < 0", "0 < h d_k - d", "-d > -h d_k", "2d < 2h d_k", "d/h < d_k",
     r"d_k > \frac{d}{h}", "d/(h d_k) < 1", "1 < h d_k/d", "d + 1 <= h d_k", "d ≤ h d_k - 1", "h d_k - d ≥ 1",
     "Lt(d, h*d_k)", "sympy.Gt(h*d_k, d)", "d n < h d_k n", "d - n < h d_k - n"],
)  # fmt: skip
def test_an_inequality_in_every_arrangement(text: str) -> None:
    """Turned round, solved for another symbol, multiplied through; for whole symbols also with ≤."""
    assert said(text, "d < h*d_k") is True


@each(
    "text",
    ["d > h d_k", "d ≤ h d_k", "d < h d_k + 1", "d < h d_k - 1", "-d < -h d_k", "0 < 1", "d < d + 1",
     "d*0 < h", "d = h d_k", "d < d_k", "d*(n-1) < h d_k (n-1)", "d/(n-2) < h d_k/(n-2)"],
)  # fmt: skip
def test_another_inequality_is_wrong(text: str) -> None:
    """The other direction, equality, a weaker or a stronger one, and a factor that may be negative."""
    assert said(text, "d < h*d_k") is False


@pytest.mark.parametrize(
    "text",
    ["0 = 0", "d = d", "(d - h d_k)*0 = 0", "d = h + d_k", "d/h = h/d", "d < h d_k", "d_k = h/d"],
)
def test_another_equation_is_wrong(text: str) -> None:
    """What always holds, and what holds elsewhere, is no arrangement of d = h*d_k."""
    assert said(text, "d = h*d_k") is False


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("d^2 < h^2 d_k^2", "d < h*d_k"),
        ("min(d, n) < h d_k", "d < h*d_k"),
        ("d < h d_k + 0/0", "d < h*d_k"),
        ("(d - h d_k)*(n - 5) = 0", "d = h*d_k"),
        ("d = h d_k + floor(1/(n+1))", "d = h*d_k"),
        ("n ≤ d/2 + 1/10^300", "n ≤ d/2"),
        (f"n + {'+'.join(['e'] * 190)} < d", "n < d"),
    ],
)
def test_what_is_not_proven_is_left_to_a_human(text: str, right: str) -> None:
    """Neither accepted nor refused: other steps than those that are known, and values nobody can take."""
    assert said(text, right) is None


def test_relations_keep_their_places() -> None:
    """An error in a side points into the whole text."""
    with pytest.raises(Unreadable) as caught:
        parse_single("d ＝ h*width", VOCABULARY)
    assert ("unknown-name", 6) == (caught.value.code, caught.value.offset)


def test_an_equation_is_no_inequality() -> None:
    """`=` and `≤` between the same sides are two things."""
    left, right = parse_single("d = n", VOCABULARY), parse_single("d ≤ n", VOCABULARY)
    assert isinstance(left, Relation)
    assert COMPARER.equal(left, right) is False
