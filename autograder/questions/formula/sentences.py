"""Sentences about formulas that were read: faults, form, growth, and sets of formulas."""

from __future__ import annotations

_READ: dict[str, str] = {
    "formula.carried-forward": "Right, based on your own earlier result, which is graded separately.",
    "formula.wrong": "This is not the expected formula. Check that it was read as you meant it.",
    "formula.relation-wrong": "This is not the relation that was asked for.",
    "formula.tuple-wrong": "At least one of the entries is not right.",
    "formula.tuple-entries": "Not right: {entries}.",
    "formula.tuple-product": (
        "{entry} is a single entry, the product of several. Write the entries one by one, separated by "
        "commas."
    ),
    "formula.tuple-length": "Your answer has the wrong number of entries ({count}).",
    "formula.tuple-order": "The entries are right, but their order is not.",
    "formula.sides-differ": "The two sides of your equation are not equal: {left} is not {right}.",
    "formula.undefined": (
        "This is right only where {part} has a value. It must also hold for the other values of the symbols."
    ),
    "formula.early": (
        "This is right only under a relation between the symbols that this question does not assume."
    ),
    "formula.float-noise": "Right. Read as {text}: the further digits are rounding errors of floats.",
    "formula.undecided": "This formula could not be compared automatically. It needs manual review.",
    "formula.not-a-formula": '{name} should be a formula as text, e.g. "2*n"; it is of type {type}.',
}

_FORMS: dict[str, str] = {
    "like-terms": "{first} and {second} can still be collected into one term.",
    "product-of-sums": "{part} still has to be multiplied out.",
    "power-of-sum": "{part} still has to be multiplied out.",
    "fraction-of-sum": "the sum above the fraction line in {part} still has to be divided term by term.",
    "common-factor": "the factor {factor} can still be taken out of {part}.",
    "factorable": "{part} can still be factored.",
    "nested-fraction": "{part} has fractions inside or beside one another.",
    "cancels": "something in {part} can still be cancelled.",
    "arithmetic": "the numbers in {part} can still be calculated.",
    "neutral": "{part} has a part that changes nothing, or makes everything zero.",
    "double-sign": "{part} has two signs in a row.",
    "powers-apart": "the powers in {part} can still be combined.",
    "no-sum": "a sum is expected.",
    "no-product": "a product is expected.",
    "without": "write it without {name}.",
    "with": "write it with {name}.",
}

_RIGHT_BUT = "Your formula is right, but not in the form that was asked for: "

_GROWTH: dict[str, str] = {
    "asymptotic.sign": (
        "The order of growth is right, but {sign}(…) does not state what the question asks for."
    ),
    "asymptotic.not-tight": "That is true, but there is a tighter bound.",
    "asymptotic.not-tight-in": (
        "That is true, but there is a tighter bound. How strong is the dependence on {symbol}?"
    ),
    "asymptotic.too-small": "Your answer grows too slowly.",
    "asymptotic.too-small-in": "Your answer grows too slowly in {symbol}.",
    "asymptotic.too-large": "Your answer grows too fast.",
    "asymptotic.too-large-in": "Your answer grows too fast in {symbol}.",
    "asymptotic.different": "Your answer grows too fast in some cases and too slowly in others.",
}

_COLLECTIONS: dict[str, str] = {
    "set.missing": "Everything that you wrote is right, but entries are missing ({missing}).",
    "set.extra": "Not part of the answer: {entries}.",
    "set.both": "Not part of the answer: {entries}. Number of missing entries: {missing}.",
    "formula.chain": "Your chain states two different relations: {left} and {right}.",
    "formula.relation-direction": "The two sides are right, but the inequality points the wrong way.",
    "formula.relation-strictness": "Almost: can both sides be equal?",
    "formula.relation-sign": "The two sides are right, but the sign between them is not.",
}

SENTENCES: dict[str, str] = {
    **_READ,
    **{f"form.{code}": _RIGHT_BUT + text for code, text in _FORMS.items()},
    **_GROWTH,
    **_COLLECTIONS,
}
