"""Unusual values instead of a formula or shape in a saved notebook cause no exception."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.notebook.student.report import MISSING, PROBLEM, READY, examine

HUGE = 0xF**6000
"""An integer too large to print in decimal, which a cell can contain in hexadecimal."""


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("kind", "form", "value", "state"),
    [
        ("formula", "", HUGE, PROBLEM),
        ("formula", "tuple", (-HUGE,), PROBLEM),
        ("formula", "any", (), READY),
        ("formula", "any", [], READY),
        ("formula", "any", "", MISSING),
        ("shape", "", (2, HUGE), PROBLEM),
        ("number", "whole", HUGE, READY),
        ("number", "", HUGE, READY),
    ],
    ids=["huge", "huge-in-tuple", "empty-tuple", "empty-list", "empty", "huge-size", "whole", "number"],
)
def test_values_that_are_odd_are_told(kind: str, form: str, value: Any, state: str, language: str) -> None:
    """Too long numbers and empty tuples give a sentence in each language."""
    symbols = {"d": {"aliases": [], "domain": "positive integer"}}
    entry = {"kind": kind, "names": {"x": form}, "answer": "x", "symbols": symbols, "visible": []}
    report = examine("q", entry, {"x": value}, language)
    assert state == report.state
    if state == PROBLEM:
        assert "400" in report.lines[0].text


SYMBOLS = {
    "d": {"aliases": ["D"], "domain": "positive integer"},
    "n": {"aliases": ["N"], "domain": "positive integer"},
}


@pytest.mark.parametrize(
    ("kind", "form", "value"),
    [
        ("formula", "formula", "1,500*d"),
        ("formula", "formula", "50.257*d"),
        ("formula", "tuple", "(1.024, n)"),
        ("formula", "tuple", ("1,500*d", "n")),
        ("shape", "", ("1,5*d", "1,500*n")),
    ],
)
def test_the_languages_of_the_course_decide(kind: str, form: str, value: Any) -> None:
    """If the course includes German, the check asks about ambiguous separators, as in grading."""
    entry = {"kind": kind, "names": {"x": form}, "answer": "x", "symbols": SYMBOLS, "visible": []}
    states = [
        examine("q", {**entry, "languages": languages}, {"x": value}, "en").state
        for languages in (["en"], ["de"], ["en", "de"])
    ]
    assert [READY, PROBLEM, PROBLEM] == states
    assert examine("q", entry, {"x": value}, "en").state == READY  # created before languages were stated
