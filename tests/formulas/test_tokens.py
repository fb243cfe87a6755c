"""Cutting formulas: the quick way says nothing that the thorough way would not say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Node
from autograder.formulas.notation.descent import Reader
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.tokens import Tokens, tokenize, tokenize_quickly
from tests.formulas.examples import NOTATIONS, VOCABULARY
from tests.formulas.test_parse import PIECES

MORE_PIECES = (
    *PIECES, "d_{model}", r"d_{\text{model}}", r"\frac{", r"\frac12", r"\binom", r"\binom{n}{2}", "x", " x ",
    "1 000", "²", "³", "−", "1.234,5", "0,5", "1e3", "e3", "\\,", "{,}", "//", "⌈", "⌉", "pow(", "max(",
    "\\max", "Ld", "Ld_model", "d^2_{model}", "np.", "log_2", "log2", "raised", "E", "pi", "\\pi", "\n",
    "**", "==",
    "\\left", "1_000", "'", "`", "1.5", ". ", r"\(", r"\]",
    r"\bigl(", "\u00a0", "∗", r"d_{\textit{model}}", r"d_{\rm model}", "𝑑", "<sup>2</sup>",
    "<sub>model</sub>", "\times ", "\frac{d}{2}", "&middot;", "½", "₂", "ₖ", "⁻¹", "\u200b",
    r"\mathrm{d\_model}", r"\*",
)  # fmt: skip


def read(tokens: Tokens | None) -> Node | None:
    """The whole of a row of tokens as one sum; None where that cannot be read."""
    if tokens is None:
        return None
    reader = Reader(tokens)
    try:
        node = reader.parse_sum()
        reader.expect_end()
    except Unreadable:
        return None
    return node


def thorough(text: str) -> Node | None:
    """The same from the thorough way alone."""
    try:
        return read(tokenize(text, VOCABULARY))
    except Unreadable:
        return None


@settings(max_examples=400)
@given(st.lists(st.sampled_from(MORE_PIECES), max_size=14).map("".join))
def test_the_quick_way_agrees(text: str) -> None:
    """What the quick way reads, the thorough way reads alike."""
    quick = read(tokenize_quickly(text, VOCABULARY))
    if quick is not None:
        assert thorough(text) == quick


@pytest.mark.parametrize("text", sorted({text for texts in NOTATIONS.values() for text in texts}))
def test_notations_are_read_alike_both_ways(text: str) -> None:
    """The notations of the exam's formulas mean the same whichever way they are cut."""
    assert thorough(text) == parse(text, VOCABULARY)
    assert read(tokenize_quickly(text, VOCABULARY)) in (None, thorough(text))


def test_most_notations_are_cut_quickly() -> None:
    """Plain text, LaTeX and Unicode as students write them need only the table."""
    usual = (
        "8*d_model^2", "8*d_model**2", "8·d_model²", "8 d d", "12 L d^2", "12Ld²", r"8 d_{\text{model}}^2",
        r"\frac{16 d^2}{2}", r"d_{model}\cdot d_{head}", r"d_{\mathrm{model}} \times d_k", "4h·d·d_k + 8d²",
        r"\left(d\right)^{2}", r"d\_model*d\_head", "n*log(n)", "124439808*n", "$8d^2$",
    )  # fmt: skip
    assert [] == [text for text in usual if tokenize_quickly(text, VOCABULARY) is None]
