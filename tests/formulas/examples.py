"""The symbols of the exam, its formulas in many notations, and random trees."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary

VOCABULARY = Vocabulary(
    {
        "n_layers": Symbol(aliases=("L",)),
        "n_heads": Symbol(aliases=("h", "H")),
        "d_model": Symbol(aliases=("d", "D")),
        "d_head": Symbol(aliases=("d_k", "d_h")),
        "d_ff": Symbol(),
        "n_voc": Symbol(aliases=("V",)),
        "n": Symbol(aliases=("N",)),
    }
)

NOTATIONS = {
    "d_model*d_head": (
        "d_model*d_head", "d_head*d_model", "d_model d_head", "d_model · d_head", "d_model × d_head",
        "d_model⋅d_head", "d_{model} d_{head}", r"d_{model}\cdot d_{head}", r"d_{model}\times d_{head}",
        r"$d_{\text{model}} \cdot d_{\text{head}}$", r"\(d_{\mathrm{model}}\,d_{\mathrm{head}}\)",
        r"d_\text{model} d_\text{head}", r"d\_model \cdot d\_head", "d d_k", "d*d_k", "d·dₖ", "D*d_h",
        "(d_model)(d_head)", "[d_model]*[d_head]", r"\left(d_{model}\right)\left(d_{head}\right)",
        "d_model*d_head*1", "d_model*d_head/1", "0+d_model*d_head", "+d_model*d_head", "--d_model*d_head",
        "d_model^1*d_head", "d_model**1 * d_head", "2*d_model*d_head/2", r"\frac{2 d_{model} d_{head}}{2}",
        "d_model*d_head*n/n", "sqrt(d_model^2)*d_head", "d_model\n*d_head", "\td_model * d_head ",
        "d_model\u00a0*\u00a0d_head", "d_model∗d_head", "𝑑_model*d_head", "d_model^{1} d_head",
        r"d_{model} \! d_{head}", r"\displaystyle d_{model}d_{head}", "$$d_{model}d_{head}$$",
        r"\mathrm{d_model}\cdot\mathrm{d_head}",
    ),
    "8*d_model^2": (
        "8*d_model^2", "8*d_model**2", "8 d_model²", "8d²", "8·d²", "8d^2", "8 d d", "8*d*d", "8dd",
        "2*4*d_model*d_model", "4*d_model*d_model + 4*d_model*d_model", "4d² + 4d²", "2·(4d·d)",
        "d_model*4*d_model + 4*d_model*d_model", "(d*4d)+(4d*d)", "(4d)d+d(4d)", "2d(4d)", "2d*4d",
        "2(2d)²", "(2d)^2*2", "2*(2*d_model)**2", r"8 d_{model}^2", r"8d_{\text{model}}^{2}",
        r"$8\cdot d_{\text{model}}^2$", r"8\,d_{model}^{2}", r"8 \times d_{model}^2", "8×d_model²",
        "16*d_model^2/2", r"\frac{16 d^2}{2}", r"\dfrac{16}{2}d^2", "d_model^2*8", "d²8".replace("8", "·8"),
        "10*d^2 - 2*d^2", "8.0*d_model^2", "8e0*d_model^2", "0.8e1 d²", "½·16d²", "(16/2) d²", "8(d^2)",
        "8{d}^{2}", "8*(d_model^(1+1))", "8*d^3/d", "8*d^4*d^-2", "2^3*d^2", "8 * d ^ 2", "8\u2009d²",
    ),
    "n_heads*d_head*d_model": (
        "n_heads*d_head*d_model", "h*d_k*d", "(n_heads*d_head)*d_model", "h d_k d", "d·h·dₖ", "d(h d_k)",
        r"n_{heads} d_{head} d_{model}", r"n_{\text{heads}}\cdot d_{\text{head}}\cdot d_{\text{model}}",
    ),
    "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2": (
        "4*n_heads*d_model*d_head + 8*d_model^2", "4 h d d_k + 8 d²", "h(3 d d_k) + h d_k d + 8d²",
        "3h·d·d_k + h·d_k·d + 2·4·d²", "n_heads*(d_model*d_head*3) + (n_heads*d_head)*d_model + 8*d_model**2",
        "4*(h*d*d_k + 2*d^2)", "4d(h d_k + 2d)", r"4 n_{heads} d_{model} d_{head} + 8 d_{model}^{2}",
        r"3 n_{\text{heads}} \cdot d_{\text{model}} \cdot d_{\text{head}} + n_{\text{heads}} d_{\text{head}} "
        r"d_{\text{model}} + 8 d_{\text{model}}^2",
    ),
    "12*n_layers*d_model^2": (
        "12*n_layers*d_model^2", "12·n_layers·d_model²", r"12 n_{layers} d_{\text{model}}^2", "12Ld²",
        "12 L d^2", "L*(4d²+8d²)", "n_layers*12*d_model*d_model", "(4+8)*L*d**2", "L(12d^2)", "6L(2d²)",
    ),
    "16*d_model^2": ("16d²", "3d*4d + 4d*d", "12d²+4d²", "(4d)²", "(3*d)*(4*d)+(4*d)*d", "2^4 d^2"),
    "20*n_layers*d_model^2": (
        "20Ld²", "L*(4*d^2+16*d^2)", "20·L·d²",
        "n_layers*(4*d_model**2 + 16*d_model**2)",
    ),
}  # fmt: skip
"""Right formula → other notations of it."""

NAMES = tuple(VOCABULARY.domains)


def _leaves() -> st.SearchStrategy[Node]:
    numbers = st.integers(1, 30).map(Num) | st.sampled_from([Fraction(1, 2), Fraction(5, 4)]).map(Num)
    return numbers | st.sampled_from(NAMES).map(Sym)


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(Add),
        several.map(Mul),
        inner.map(Neg),
        st.builds(Div, inner, inner),
        st.builds(Pow, inner, st.integers(1, 3).map(Num)),
    )


polynomials = st.recursive(_leaves(), _larger, max_leaves=10)
"""Random rational formulas; divisors may happen to be zero."""

ONE_ARGUMENT = ("sqrt", "exp", "log", "ln", "lg", "factorial", "ceil", "floor")
functions = st.recursive(
    _leaves(),
    lambda inner: st.one_of(
        _larger(inner),
        st.builds(lambda name, node: Fn(name, (node,)), st.sampled_from(ONE_ARGUMENT), inner),
        st.sampled_from([Const("pi"), Const("e")]),
        st.builds(lambda first, second: Fn("binomial", (first, second)), inner, inner),
        inner.map(lambda node: Fn("log", (node, Num(2)))),
        st.builds(
            lambda name, nodes: Fn(name, tuple(nodes)),
            st.sampled_from(["max", "min"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.sampled_from(NAMES).map(lambda name: Fn("factorial", (Sym(name),))),
        st.builds(Pow, inner, inner),
    ),
    max_leaves=8,
)
"""Random formulas of every kind."""
