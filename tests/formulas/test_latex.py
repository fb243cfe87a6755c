"""Formulas as LaTeX: what is written can be read again, and TeX knows every command in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Fn, Node, Num, Pow, Relation, Sym, Tuple
from autograder.formulas.notation.landau import SIGNS, parse_landau
from autograder.formulas.notation.parse import parse, parse_tuple
from autograder.formulas.notation.several import parse_list, parse_single
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.latex import to_latex
from autograder.formulas.printing.text import to_text
from tests.formulas.examples import VOCABULARY, functions, polynomials

KNOWN_TO_TEX = frozenset(
    ("alpha", "beta", "binom", "cdot", "exp", "frac", "geq", "lceil", "left", "leq", "lfloor", "lg", "ln",
     "log", "max", "min", "omega", "Omega", "operatorname", "pi", "rceil", "rfloor", "right",
     "sqrt", "text", "Theta", "tanh", "sin", "cos", "_")
)  # fmt: skip
NAMES = ("W_q_k", "n'", "x_1", "x_1'", "alpha", "β_2", "beta_x", "seq", "max_len", "d2", "pi_0", "e_1")
LIMITS = ("exponent-too-large", "number-too-large", "too-many-parts", "too-deep", "too-long")


def _once_read(tree: Node) -> Node:
    """A random tree as the reader makes it; draws one anew where it is beyond the reader's limits."""
    try:
        return parse(to_text(tree), VOCABULARY)
    except Unreadable as error:
        assume(error.code not in LIMITS)
        raise


@given(polynomials | functions)
def test_formulas_are_read_again(tree: Node) -> None:
    """parse → LaTeX → parse is the identity, for functions of every kind."""
    node = _once_read(tree)
    assert node == parse(to_latex(node), VOCABULARY)


@given(polynomials | functions)
def test_relations_tuples_and_lists_are_read_again(tree: Node) -> None:
    """So it is for equations, inequalities in either direction, tuples and lists."""
    node = _once_read(tree)
    for sign in ("=", "<", "≤", ">", "≥"):
        relation = Relation(node, Sym("n"), sign)
        assert relation == parse_single(to_latex(relation), VOCABULARY)
        assert relation == parse_single(to_text(relation), VOCABULARY)
    whole = Tuple((node, Num(2), node))
    for write in (to_latex, to_text):
        assert whole == parse_tuple(write(whole), VOCABULARY)
        assert whole == parse_list(write(whole), VOCABULARY)


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_read_again(name: str) -> None:
    """Names with several letters, several subscripts, primes, digits, or a Greek letter stay themselves."""
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
    """Ceilings, floors and signs of growth are written with commands that TeX has."""
    arguments = (Sym("d_ff"), Sym("β_2_x"))[: FUNCTIONS.get(name, (1, 1))[1]]
    written = to_latex(Relation(Fn(name, arguments), Sym("alpha"), "≤"))
    assert set(re.findall(r"\\([A-Za-z]+|_)", written)) <= KNOWN_TO_TEX
    assert written.isascii()


def test_several_letters_are_one_name() -> None:
    """TeX would set `seq` as a product of three, and a bare underscore in text stops it."""
    assert r"\text{seq}_{\text{len\_max}}" == to_latex(Sym("seq_len_max"))
    assert r"d_{\text{model}}" == to_latex(Sym("d_model"))
    assert r"\alpha_{\text{1}}" == to_latex(Sym("alpha_1")) == to_latex(Sym("α_1"))
