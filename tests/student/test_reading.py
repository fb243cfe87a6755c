"""What a saved notebook holds in place of a formula or a shape is looked at without an exception."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.student.report import MISSING, PROBLEM, READY, examine

HUGE = 0xF**6000
"""An integer that Python does not print; in a cell it can stand as a hexadecimal number."""


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("kind", "form", "value", "state"),
    [
        ("symbolic", "", HUGE, PROBLEM),
        ("symbolic", "tuple", (-HUGE,), PROBLEM),
        ("symbolic", "any", (), READY),
        ("symbolic", "any", [], READY),
        ("symbolic", "any", "", MISSING),
        ("shape", "", (2, HUGE), PROBLEM),
        ("count", "", HUGE, READY),
        ("quantity", "", HUGE, READY),
    ],
    ids=["huge", "huge-in-tuple", "empty-tuple", "empty-list", "empty", "huge-size", "count", "quantity"],
)
def test_values_that_are_odd_are_told(kind: str, form: str, value: Any, state: str, language: str) -> None:
    """Numbers that are too long and tuples without entries end as a sentence, in each language."""
    symbols = {"d": {"aliases": [], "domain": "positive integer"}}
    entry = {"kind": kind, "names": {"x": form}, "answer": "x", "symbols": symbols, "visible": []}
    report = examine("q", entry, {"x": value}, language)
    assert state == report.state
    if state == PROBLEM:
        assert "400" in report.lines[0].text
