"""Formulas in comments about answers."""

from __future__ import annotations

import re

import pytest

from autograder.pages.feedback.typeset import with_formulas


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain & simple.", "Plain &amp; simple."),
        ("It costs $5.", "It costs $5."),
        ("<b>no</b> $\\frac{$", "&lt;b&gt;no&lt;/b&gt; $\\frac{$"),
    ],
)
def test_what_is_no_formula_stays_text(text: str, expected: str) -> None:
    """Text without formulas is escaped, and a single dollar stays."""
    assert with_formulas(text, 1000) == expected


def test_formulas_are_typeset() -> None:
    """Each formula between dollars is typeset; the surrounding text is unchanged."""
    page = with_formulas("Here $d_k$ and $\\sqrt{x}$, so.", 1000)
    assert page.count("<math") == 2
    assert "<msqrt>" in page
    assert page.startswith("Here <math")
    assert page.endswith("</math>, so.")


@pytest.mark.parametrize(
    "text", ["$\\text{<script>alert(1)</script>}$", "$\\href{javascript:x}{y}$", "$" + "{" * 5000 + "$"]
)
def test_nothing_hostile_gets_through(text: str) -> None:
    """The result contains only tags of formulas and no active attributes."""
    tags = re.findall(r"<(\w+)([^>]*)>", with_formulas(text, 10_000))
    assert {name for name, _ in tags} <= {"math", "mrow", "mtext", "mi", "mo"}
    assert {attributes.strip() for _, attributes in tags} <= {"", 'display="inline"'}
