"""Sentences about formulas that were read: what is wrong with them."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "formula.carried-forward": "Right, given your own earlier result; that result is judged there.",
    "formula.wrong": "This is not the expected formula. Check that it was read as you meant it.",
    "formula.relation-wrong": "This is not the relation that was asked for.",
    "formula.tuple-wrong": "At least one of the entries is not right.",
    "formula.tuple-entries": "Not right: {entries}.",
    "formula.tuple-product": (
        "{entry} is one entry, the product of several. Write them one by one, with commas."
    ),
    "formula.tuple-length": "The number of entries in your answer, {count}, is not right.",
    "formula.tuple-order": "The entries are right, but their order is not.",
    "formula.sides-differ": "The two sides of your equation are not equal: {left} is not {right}.",
    "formula.early": (
        "This is right only under a relation between the symbols that this question does not assume."
    ),
    "formula.undecided": "A person will look at this formula; it could not be compared automatically.",
    "formula.not-a-formula": '{name} should be a formula as text, e.g. "2*n"; it is of type {type}.',
}
