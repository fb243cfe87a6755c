"""Test placeholders: the inserted values, and rejected placeholders."""

from __future__ import annotations

import json

import pytest

from autograder.core.errors import NotebookError, RubricError
from autograder.notebook.variant_source import Listing, fill_notebook, label_release, read_label
from autograder.rubric.variants.expressions import fill_table, fill_text

VALUES = {"d_model": 768, "n_heads": 12, "activation": "GELU"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("width ⟦d_model⟧, ⟦activation⟧", "width 768, GELU"),
        ("⟦d_model // n_heads⟧", "64"),
        ("⟦ 2*(d_model + 1) - -3 ⟧", "1541"),
        ("⟦n_heads**2 % 5⟧", "4"),
        ("x = {⟦d_model⟧: f'{y}'}  # $\\frac{a}{b}$ [[1]] <<x>> {{z}} @a ${b} %c", None),
        ("", ""),
    ],
)
def test_values_stand_where_placeholders_were(text: str, filled: str | None) -> None:
    """Names and integer expressions are replaced; Python, LaTeX and Markdown stay unchanged."""
    assert (filled if filled is not None else text.replace("⟦d_model⟧", "768")) == fill_text(
        text, VALUES, "here"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("⟦d_modle⟧", "here: .*'d_modle' is not drawn; did you mean 'd_model'"),
        ("⟦d_model", "not closed"),
        ("d_model⟧", "not closed or not opened"),
        ("⟦a⟦d_model⟧⟧", "not closed"),
        ("⟦⟧", "is not an expression"),
        ("⟦d_model / 2⟧", "expected whole numbers"),
        ("⟦d_model // 0⟧", "divides by zero"),
        ("⟦2**d_model⟧", "an exponent from 0 to 64"),
        ("⟦activation + 1⟧", "is a word"),
        ("⟦__import__('os')⟧", "expected whole numbers"),
        ("⟦d_model.real⟧", "expected whole numbers"),
        ("⟦True⟧", "expected whole numbers"),
        ("⟦d_model == 1⟧", "expected whole numbers"),
        ("⟦lambda: 1⟧", "expected whole numbers"),
    ],
)
def test_what_is_no_placeholder_is_named(text: str, message: str) -> None:
    """Unknown names, fractions and other operations are rejected with the place."""
    with pytest.raises(RubricError, match=message):
        fill_text(text, VALUES, "here")


def test_a_placeholder_alone_is_a_number() -> None:
    """In a table, a text that is only a placeholder becomes the value; keys and numbers stay unchanged."""
    table = {"value": "⟦d_model⟧", "when": ["⟦d_model⟧", "⟦d_model⟧ "], "rtol": 0.5, "flag": True}
    assert {"value": 768, "when": [768, "768 "], "rtol": 0.5, "flag": True} == fill_table(
        table, VALUES, "here"
    )
    with pytest.raises(RubricError, match="a key cannot be drawn"):
        fill_table({"⟦d_model⟧": 1}, VALUES, "here")


def notebook(*sources: str) -> bytes:
    """Return a notebook with code cells called a, b and c."""
    cells = [
        {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": name}}, "source": source}
        for name, source in zip("abc", sources, strict=False)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def filled(source: bytes, **listings: Listing) -> list[str]:
    """Return the sources after inserting values."""
    return [cell["source"] for cell in json.loads(fill_notebook(source, VALUES, "sheet", listings))["cells"]]


def test_a_notebook_is_filled_cell_by_cell() -> None:
    """Placeholders are replaced in every cell; an unknown one names notebook, cell and grade_id."""
    assert ["x = 768", "y"] == filled(notebook("x = ⟦d_model⟧", "y"))
    with pytest.raises(RubricError, match=r"notebook 'sheet', cell 2 \(b\): .*'width' is not drawn"):
        filled(notebook("x", "⟦width⟧"))


def test_a_listing_is_exchanged_where_it_stands() -> None:
    """The common listing is replaced by the variant's; if it does not occur once, the cell is named."""
    assert ["before\nown\nafter"] == filled(notebook("before\ncommon\nafter"), a=Listing("common", "own"))
    for source in ("nothing", "common common"):
        with pytest.raises(NotebookError, match=r"cell 1 \(a\): expected the listing .* found it [02] times"):
            filled(notebook(source), a=Listing("common", "own"))
    with pytest.raises(NotebookError, match="there is no cell 'z'"):
        filled(notebook("x"), z=Listing("common", "own"))


def test_a_label_is_read_back() -> None:
    """A label is read back from the metadata; without one, the label is empty."""
    assert "abc" == read_label(label_release(notebook("x"), "abc"))
    assert "" == read_label(notebook("x")) == read_label(b"not a notebook")
