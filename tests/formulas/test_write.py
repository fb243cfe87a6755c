"""Writing formulas as text and as MathML."""

from __future__ import annotations

from html import escape
from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Node, Num, Pow, Relation, Sym, Tuple, walk_tree
from autograder.formulas.notation.parse import ORDERS, parse, parse_canonical, parse_tuple
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from tests.formulas.examples import NOTATIONS, VOCABULARY, functions, polynomials

ALL = sorted({notation for notations in NOTATIONS.values() for notation in notations})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("12·n_layers·d_model²", "12*n_layers*d_model^2"),
        (r"\frac{d}{2h}", "d_model/(2*n_heads)"),
        ("-(d+h)-(n-d)", "-(d_model + n_heads) - (n - d_model)"),
        ("d^(h^n)", "d_model^n_heads^n"),
        ("(d^h)^n", "(d_model^n_heads)^n"),
        ("0.125d", "0.125*d_model"),
        ("log_2 n", "log(n, 2)"),
        ("n!", "factorial(n)"),
        ("1,000 d", "1000*d_model"),
    ],
)
def test_canonical_text(text: str, written: str) -> None:
    """One way of writing for all notations."""
    assert written == to_text(parse(text, VOCABULARY))


@pytest.mark.parametrize("text", ALL)
def test_notations_survive_writing(text: str) -> None:
    """Reading what was written gives the same tree."""
    tree = parse(text, VOCABULARY)
    assert tree == parse_canonical(to_text(tree), VOCABULARY)


def _readable(tree: Node) -> bool:
    """Whether random trees stay within what the reader takes."""
    try:
        parse(to_text(tree), VOCABULARY)
    except Unreadable as error:
        if error.code in ("exponent-too-large", "number-too-large", "too-many-parts", "too-deep", "too-long"):
            return False
        raise
    return True


@given(polynomials | functions)
def test_random_trees_survive_writing(tree: Node) -> None:
    """parse → print → parse is the identity."""
    assume(_readable(tree))
    once = parse(to_text(tree), VOCABULARY)
    assert once == parse(to_text(once), VOCABULARY)
    assert to_text(tree) == to_text(once)


@given(polynomials)
def test_relations_and_tuples_survive_writing(tree: Node) -> None:
    """The same for equations, inequalities and tuples, also of one element."""
    assume(_readable(tree))
    node = parse(to_text(tree), VOCABULARY)
    relations = [Relation(node, Sym("n"), sign) for sign in ("=", *ORDERS)]
    for whole in (*relations, Tuple((node, Num(2))), Tuple((node, node, Sym("d_ff")))):
        assert whole == parse_canonical(to_text(whole), VOCABULARY)
    assert Tuple((node,)) == parse_tuple(to_text(Tuple((node,))), VOCABULARY)


@given(polynomials | functions)
def test_mathml_is_well_formed(tree: Node) -> None:
    """The typeset formula is XML whose annotation is the plain text."""
    root = ET.fromstring(to_mathml(tree))
    namespace = "{http://www.w3.org/1998/Math/MathML}"
    assert to_text(tree) == root.attrib["aria-label"]
    assert to_text(tree) == root.findtext(f"{namespace}semantics/{namespace}annotation")
    symbols = [node for node in walk_tree(tree) if isinstance(node, Sym)]
    assert len(symbols) <= len(list(root.iter(f"{namespace}mi")))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("d_model", "<msub><mi>d</mi><mtext>model</mtext></msub>"),
        ("n^2", "<msup><mrow><mi>n</mi></mrow><mrow><mn>2</mn></mrow></msup>"),
        ("n/2", "<mfrac><mrow><mi>n</mi></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        ("sqrt(n)", "<msqrt><mi>n</mi></msqrt>"),
        ("n!", "<mi>n</mi><mo>!</mo>"),
        ("pi", "<mi>π</mi>"),
        ("-n", "<mo>&#x2212;</mo><mi>n</mi>"),
        ("log_2 n", "<msub><mi>log</mi><mrow><mn>2</mn></mrow></msub>"),
    ],
)
def test_mathml_parts(text: str, part: str) -> None:
    """Subscripts, powers, fractions and roots are typeset as such."""
    assert part in to_mathml(parse(text, VOCABULARY))


def test_relations_and_tuples_are_typeset() -> None:
    """An equation or inequality has its sign between its sides, a tuple its commas."""
    for sign in ("=", *ORDERS):
        shown = to_mathml(Relation(Sym("n"), Num(2), sign))
        assert f"<mi>n</mi><mo>{escape(sign)}</mo><mn>2</mn>" in shown
        assert f"n {sign} 2" == ET.fromstring(shown).attrib["aria-label"]
    assert "<mi>n</mi><mo>,</mo><mn>2</mn>" in to_mathml(Tuple((Sym("n"), Num(2))))


def test_nothing_passes_unescaped() -> None:
    """Even a tree with markup for a name, which no reader makes, cannot break out."""
    assert "<script" not in to_mathml(Pow(Sym('<script>"&'), Sym("a_<b>")))


def test_greek_symbols() -> None:
    """A symbol may have a Greek spelling."""
    vocabulary = Vocabulary({"alpha": Symbol(aliases=("α",))})
    assert to_text(parse("2α", vocabulary)) == "2*alpha"
    assert to_text(parse(r"2\alpha", vocabulary)) == "2*alpha"
    assert "<mi>α</mi>" in to_mathml(Sym("alpha"))
