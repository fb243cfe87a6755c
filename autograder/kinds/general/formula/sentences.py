"""Sentences about formulas that were read: faults, form, growth, and lists and sets of formulas."""

from __future__ import annotations

_READ: dict[str, str] = {
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
    "formula.undefined": (
        "This is right only where {part} has a value. It must hold for the other values of the symbols, too."
    ),
    "formula.early": (
        "This is right only under a relation between the symbols that this question does not assume."
    ),
    "formula.float-noise": "Right. Read as {text}: the further digits are rounding errors of floats.",
    "formula.undecided": "A person will look at this formula; it could not be compared automatically.",
    "formula.not-a-formula": '{name} should be a formula as text, e.g. "2*n"; it is of type {type}.',
}

_FORMS: dict[str, str] = {
    "like-terms": "{first} and {second} can still be collected into one term.",
    "product-of-sums": "{part} is still to be multiplied out.",
    "power-of-sum": "{part} is still to be multiplied out.",
    "fraction-of-sum": "the sum above the fraction line in {part} is still to be divided term by term.",
    "common-factor": "the factor {factor} can still be taken out of {part}.",
    "factorable": "{part} can still be factored.",
    "nested-fraction": "{part} has fractions inside or beside one another.",
    "cancels": "something in {part} can still be cancelled.",
    "arithmetic": "the numbers in {part} can still be worked out.",
    "neutral": "{part} has a part that changes nothing, or makes everything zero.",
    "double-sign": "{part} has two signs in a row.",
    "powers-apart": "the powers in {part} can still be put together.",
    "no-sum": "a sum is asked for.",
    "no-product": "a product is asked for.",
    "without": "it is to be written without {name}.",
    "with": "it is to be written with {name}.",
}

_RIGHT_BUT = "Your formula is right, but not in the form that was asked for: "

_GROWTH: dict[str, str] = {
    "asymptotic.sign": (
        "The order of growth is right, but {sign}(…) states something else than what is asked for."
    ),
    "asymptotic.not-tight": "That is true, but a closer bound holds as well.",
    "asymptotic.not-tight-in": (
        "That is true, but a closer bound holds as well. How much depends on {symbol}?"
    ),
    "asymptotic.too-small": "What is asked about grows faster than that.",
    "asymptotic.too-small-in": "What is asked about grows faster with {symbol} than that.",
    "asymptotic.too-large": "What is asked about does not grow that fast.",
    "asymptotic.too-large-in": "What is asked about does not grow that fast with {symbol}.",
    "asymptotic.different": (
        "What is asked about grows differently: sometimes faster than that, sometimes more slowly."
    ),
}

_COLLECTIONS: dict[str, str] = {
    "list.order": "The entries are right, but their order is not.",
    "list.entries": "Not right: {entries}.",
    "list.too-few": "What you wrote is right as far as it goes; {missing} more would be needed.",
    "list.too-many": "Too many entries: {entries}.",
    "set.missing": "All of these belong here; {missing} more would be needed.",
    "set.extra": "This does not belong here: {entries}.",
    "set.both": "This does not belong here: {entries}. {missing} more would be needed.",
    "formula.chain": "Your chain states two different relations: {left} and {right}.",
    "formula.relation-direction": "The two sides are right, but the inequality points the wrong way.",
    "formula.relation-strictness": "Nearly: can both sides be equal?",
    "formula.relation-sign": "The two sides are right, but the sign between them is not.",
}

SENTENCES: dict[str, str] = {
    **_READ,
    **{f"form.{code}": _RIGHT_BUT + text for code, text in _FORMS.items()},
    **_GROWTH,
    **_COLLECTIONS,
}
