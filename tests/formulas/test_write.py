"""Test writing formulas as text, MathML and LaTeX."""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Fn, Node, Num, Pow, Relation, Sym, Tuple, walk_tree
from autograder.formulas.notation.formula_lists import parse_list, parse_single
from autograder.formulas.notation.landau import SIGNS, parse_landau
from autograder.formulas.notation.parse import ORDERS, parse, parse_canonical, parse_tuple
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.latex import to_latex
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from tests.formulas.examples import VOCABULARY, functions, polynomials


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
    """All notations of a formula have the same canonical text."""
    assert written == to_text(parse(text, VOCABULARY))


LIMITS = ("exponent-too-large", "number-too-large", "too-many-parts", "too-deep", "too-long")


def read_once(tree: Node) -> Node:
    """Return a random tree as the reader makes it; reject trees beyond the reader's limits."""
    try:
        return parse(to_text(tree), VOCABULARY)
    except Unreadable as error:
        assume(error.code not in LIMITS)
        raise


@given(polynomials | functions)
def test_random_trees_survive_writing(tree: Node) -> None:
    """Parsing written text or LaTeX gives the same tree, also in relations, tuples and lists."""
    node = read_once(tree)
    assert to_text(tree) == to_text(node)
    assert node == parse_canonical(to_text(node), VOCABULARY)
    several = Tuple((node, Num(2), node))
    assert several == parse_canonical(to_text(several), VOCABULARY)
    assert Tuple((node,)) == parse_tuple(to_text(Tuple((node,))), VOCABULARY)
    for write in (to_text, to_latex):
        assert node == parse(write(node), VOCABULARY)
        assert several == parse_tuple(write(several), VOCABULARY) == parse_list(write(several), VOCABULARY)
        for sign in ("=", *ORDERS):
            relation = Relation(node, Sym("n"), sign)
            assert relation == parse_single(write(relation), VOCABULARY)


@given(polynomials | functions)
def test_mathml_is_well_formed(tree: Node) -> None:
    """MathML is well-formed, and its annotation is the plain text."""
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
    """Subscripts, powers, fractions and roots are typeset."""
    assert part in to_mathml(parse(text, VOCABULARY))


def test_relations_and_tuples_are_typeset() -> None:
    """A relation is typeset with its sign, and a tuple with commas."""
    for sign in ("=", *ORDERS):
        shown = to_mathml(Relation(Sym("n"), Num(2), sign))
        assert f"<mi>n</mi><mo>{escape(sign)}</mo><mn>2</mn>" in shown
        assert f"n {sign} 2" == ET.fromstring(shown).attrib["aria-label"]
    assert "<mi>n</mi><mo>,</mo><mn>2</mn>" in to_mathml(Tuple((Sym("n"), Num(2))))


def test_nothing_passes_unescaped() -> None:
    """Markup in names is escaped, although no reader makes such names."""
    assert "<script" not in to_mathml(Pow(Sym('<script>"&'), Sym("a_<b>")))


def test_greek_symbols() -> None:
    """A symbol may have a Greek spelling."""
    vocabulary = Vocabulary({"alpha": Symbol(aliases=("α",))})
    assert to_text(parse("2α", vocabulary)) == "2*alpha"
    assert to_text(parse(r"2\alpha", vocabulary)) == "2*alpha"
    assert "<mi>α</mi>" in to_mathml(Sym("alpha"))


KNOWN_TO_TEX = frozenset(
    ("alpha", "beta", "binom", "cdot", "exp", "frac", "geq", "lceil", "left", "leq", "lfloor", "lg", "ln",
     "log", "max", "min", "omega", "Omega", "operatorname", "pi", "rceil", "rfloor", "right",
     "sqrt", "text", "Theta", "tanh", "sin", "cos", "_")
)  # fmt: skip
NAMES = ("W_q_k", "n'", "x_1", "x_1'", "alpha", "β_2", "beta_x", "seq", "max_len", "d2", "pi_0", "e_1")


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_read_again(name: str) -> None:
    """Names with several letters, subscripts, primes, digits or Greek letters are read again unchanged."""
    vocabulary = Vocabulary({one: Symbol() for one in (*NAMES, "n")})
    symbol = Sym(name)
    for tree in (symbol, Pow(symbol, Num(2)), Fn("log", (symbol, Num(2))), Fn("factorial", (symbol,))):
        assert tree == parse(to_latex(tree), vocabulary)


@pytest.mark.parametrize("sign", SIGNS)
def test_growth_is_read_again(sign: str) -> None:
    """O, Θ, Ω, o and ω keep their sign."""
    statement = Fn(sign, (Sym("n"),))
    assert statement == parse_landau(to_latex(statement), VOCABULARY)


@pytest.mark.parametrize("name", [*FUNCTIONS, *SIGNS])
def test_tex_knows_every_command(name: str) -> None:
    """Ceilings, floors and signs of growth use commands that TeX knows."""
    arguments = (Sym("d_ff"), Sym("β_2_x"))[: FUNCTIONS.get(name, (1, 1))[1]]
    written = to_latex(Relation(Fn(name, arguments), Sym("alpha"), "≤"))
    assert set(re.findall(r"\\([A-Za-z]+|_)", written)) <= KNOWN_TO_TEX
    assert written.isascii()


def test_several_letters_are_one_name() -> None:
    """TeX would set `seq` as a product of three, and a bare underscore in text is an error."""
    assert r"\text{seq}_{\text{len\_max}}" == to_latex(Sym("seq_len_max"))
    assert r"d_{\text{model}}" == to_latex(Sym("d_model"))
    assert r"\alpha_{\text{1}}" == to_latex(Sym("alpha_1")) == to_latex(Sym("α_1"))
