"""Sentences about formulas: why one cannot be read, and how a wrong one differs from the right one.

The check that students run uses the first kind as well. The second kind only names parts that the student
wrote, and claims no more than was proven: with this one change the formula would be right. Their codes are
``diagnosis.<code>``, followed by what may be named: ``.term`` and ``.part`` for a term and another part of
the student's formula, ``.symbol``, ``.number``, ``.name`` for a function, ``.first`` for two swapped symbols.
"""

from __future__ import annotations

from autograder.formulas import Unreadable
from autograder.messages.parse_errors import get_code

_AT = "Your formula could not be read at {mark} in “{excerpt}”: "

_UNREADABLE: dict[str, str] = {
    "empty": "there is no formula.",
    "too-long": "it is too long (limit: {limit} characters).",
    "too-many-parts": "it has too many parts (limit: {limit}). Write it more briefly.",
    "too-deep": "more than {limit} brackets or powers are nested in one another.",
    "number-too-long": "a number may have at most {limit} digits.",
    "number-too-large": "this number is too large.",
    "exponent-too-large": "a constant exponent may be at most {limit}.",
    "unknown-character": "the character “{character}” has no meaning in a formula.",
    "invisible-character": "there is an invisible character here, {number} ({name}). Delete it.",
    "unknown-letter": (
        "the letter “{character}” is {number} ({name}), which has no meaning in a formula. Was it copied "
        "from another alphabet?"
    ),
    "capital-e": "is “E” Euler's number? Then write e; otherwise use the symbols that the question names.",
    "unknown-command": "the command {name} is not known.",
    "summation": (
        "this sum or product over an index ({name}) cannot be read. Put its terms in brackets, or write its "
        "value as a formula without an index."
    ),
    "unknown-name": "the name “{name}” is not known. Use the symbols that the question names.",
    "unknown-name-near": "the name “{name}” is not known. Did you mean “{suggestion}”?",
    "ambiguous-name": (
        "is “{name}” the product {product} or the symbol {symbol}? Write the one that you mean."
    ),
    "two-numbers": (
        "two numbers are next to each other. Write the operator between them, or one number without spaces."
    ),
    "number-after-name": "is this number a factor or an exponent? Write * or ^ before it.",
    "ambiguous-division": "does this factor belong below the fraction line? Write * or brackets.",
    "ambiguous-exponent": (
        "does this belong to the exponent? Write brackets around the whole exponent, or around the power."
    ),
    "ambiguous-power": (
        "is “{number}” one number with a power of ten, or is e a factor? Write * between factors."
    ),
    "index": (
        "are these square brackets an index or a factor? Write * before a factor, and a name without "
        "brackets for an entry."
    ),
    "ambiguous-function": "what belongs to {name}? Write brackets after {name}.",
    "ambiguous-comma": (
        "is “{number}” one number, or does the comma separate two? Write {joined} for one number, or "
        "“{apart}” for two."
    ),
    "ambiguous-comma-thousands": (
        "is “{number}” one number, or does the comma separate two? Write {grouped} or {decimals} for one "
        "number, or “{apart}” for two."
    ),
    "ambiguous-mark": "does “{number}” mean {grouped} or {decimals}? Write the one that you mean.",
    "comma": "a comma does not belong here. Decimals are written with a point.",
    "argument-count": "{name} has the wrong number of arguments: {count}.",
    "ends-early": "the formula ends too early: something is missing.",
    "unexpected": "“{sign}” does not belong here.",
    "not-equal": (
        "does “{sign}” mean “is not equal to”? That is not a formula. Write a space between a factorial and "
        "an equals sign."
    ),
    "unclosed": "this bracket is never closed; “{bracket}” is missing.",
    "unopened": "“{bracket}” closes a bracket that was never opened.",
    "unexpected-relation": "an equals sign does not belong here.",
    "relation-expected": "one equation or inequality with exactly one relation sign is expected.",
    "landau-brackets": "write the growing expression in brackets: {sign}(…).",
    "landau-outside": (
        "only further terms of the same kind may be added to {sign}(…). Write everything into the brackets."
    ),
    "landau-mixed": "the answer mixes two different growth signs. Use one of them.",
    "several-formulas": "the answer contains several formulas between dollar signs; exactly one is expected.",
}

_FORMULAS: dict[str, str] = {
    "sign": "The sign is not right.",
    "factor-too-large": "Your formula is too large by a constant factor. Did you count something too often?",
    "factor-too-large.besides": "Your formula is too large by a constant factor, and its sign is not right.",
    "factor-too-small": (

        "Your formula is too small by a constant factor. Is everything counted as often as it occurs?"

    ),
    "factor-too-small.besides": "Your formula is too small by a constant factor, and its sign is not right.",
    "reciprocal": (

        "Your formula is upside down: what is above the fraction line belongs below it, and the other way "
        "round."

    ),
    "reciprocal.part": "The fraction {part} is upside down.",
    "power-too-large": "The power of a symbol is too large.",
    "power-too-large.symbol": "The power of {symbol} is too large.",
    "power-too-small.symbol": "The power of {symbol} is too small.",
    "power-of-part.part": "The exponent of {part} is not right.",
    "factor-forgotten": "A factor is missing.",
    "factor-forgotten.absent": (

        "A factor is missing. Does your formula depend on everything that it should depend on?"

    ),
    "factor-forgotten.besides": "Several things are not right; one of them is a missing factor.",
    "factor-forgotten.part": "{part} still has to be multiplied by something.",
    "divisor-forgotten": "Your formula still has to be divided by something.",
    "divisor-forgotten.part": "{part} still has to be divided by something.",
    "extra-factor": "Your formula has one factor too many.",
    "extra-factor.symbol": "{symbol} should not be a factor there.",
    "extra-factor.part": "{part} should not be a factor there.",
    "extra-divisor.part": "You divide by {part}, but this division does not belong there.",
    "divided.symbol": "Check whether to multiply or to divide by {symbol}.",
    "divided.part": "Check whether to multiply or to divide by {part}.",
    "several-factors": "Check every factor and its exponent: at least one is not right.",
    "missing-term": "A term of the sum is missing.",
    "missing-terms": "All your terms are right, but several terms of the sum are missing.",
    "term-forgotten.part": "Something still has to be added to {part}, or subtracted from it.",
    "extra-term": "When multiplied out, your formula has a term that does not belong to it.",
    "extra-term.term": "Look at the term {term} again: does it belong there?",
    "coefficient": "The coefficient of one of the terms is not right.",
    "wrong-term": "One of the terms is not right.",
    "wrong-term.term": (
        "Look at the term {term} again: with a different term in its place, the sum would be right."
    ),
    "number.number": "The number {number} is not right.",
    "number-forgotten.part": "{part} still has to be multiplied by a number, or divided by one.",
    "sign-of-part.part": "The sign before {part} is not right.",
    "swapped-symbols.first": "It looks as if {first} and {second} were swapped.",
    "symbol-replaced.symbol": "{symbol} is where something else belongs.",
    "part-replaced.part": "{part} is where something else belongs.",
    "sum-for-product": "You added where you should multiply.",
    "product-for-sum": "You multiplied where you should add.",
    "brackets": (

        "A factor or divisor belongs to everything that is added, not to one term only. Are brackets missing?"

    ),
    "brackets-too-wide": "A factor or divisor belongs to one term only, not to everything in the brackets.",
    "belongs-inside.part": (
        "{part} is outside, but belongs inside the function, the power or the fraction beside it."
    ),
    "product-for-power": "You multiplied by something that belongs in the exponent.",
    "sum-for-power": "You added something that belongs in the exponent.",
    "product-for-quotient": "You multiplied by something that you should divide by.",
    "base-and-exponent": "Base and exponent of a power are swapped.",
    "function-forgotten": (
        "Your formula is right except for a function that still has to be applied to all of it."
    ),
    "function-forgotten.all": (
        "A function is missing: your formula uses something directly that should be the argument of the "
        "function."
    ),
    "function-forgotten.part": "{part} cannot be used directly: a function or a power is missing there.",
    "function-too-much.name": "Look at {name} again: does the question call for it?",
    "function-replaced.name": "Look at {name} again: another function belongs there.",
    "log-base": "The base of the logarithm is not right.",
    "rounding": "You rounded in the wrong direction.",
    "rounding-forgotten": "The result still has to be rounded.",
    "rounding-forgotten.all": "Something in your formula still has to be rounded.",
    "rounding-forgotten.part": "{part} still has to be rounded.",
    "power-for-product": "You wrote a power where a product belongs.",
    "off-by-one": "The result is off by one.",
    "off-by-one.symbol": "{symbol} is off by one somewhere.",
    "off-by-one.part": "{part} is off by one.",
    "symbol-one": "Your formula is right if a symbol that it lacks is 1, but not in general.",
    "symbol-zero": "Your formula is right if a symbol that it lacks is 0, but not in general.",
    "symbol-missing": "Check whether your formula depends on everything that it should depend on.",
    "symbol-foreign.symbol": "Your formula depends on {symbol}. Should it?",
}  # fmt: skip

_IN_THIS_TERM = "In the term {term} "
_IN_TERMS: dict[str, str] = {
    "coefficient": "the coefficient is not right.",
    "sign-in-term": "the sign is not right.",
    "power-in-term": "a factor is missing.",
    "power-in-term.symbol": "the power of {symbol} is not right.",
    "extra-factor-in-term.symbol": "there is a factor too many: does {symbol} belong there?",
    "symbol-replaced.symbol": "the symbol {symbol} is where something else belongs.",
}  # fmt: skip


def _place_in_term(key: str) -> tuple[str, str]:
    """Return the code and text of a clause about one term, which names the term."""
    code, _, named = key.partition(".")
    within = ".".join(filter(None, (code, "term", named)))
    return within, _IN_THIS_TERM + _IN_TERMS[key]


_SOMEWHERE = " This refers to one of its occurrences."
_OFTEN = (
    "symbol-replaced.symbol", "part-replaced.part", "number.number", "power-too-large.symbol",
    "power-too-small.symbol", "sign-of-part.part", "extra-factor.part", "factor-forgotten.part",
    "divisor-forgotten.part", "number-forgotten.part", "divided.part",
)  # fmt: skip
"""Sentences about a part that may occur several times, only one of which is meant."""


def _add_ambiguity_note(key: str) -> tuple[str, str]:
    """Return the code and text for a part that occurs several times."""
    code, _, named = key.partition(".")
    return f"{code}.some.{named}", _FORMULAS[key] + _SOMEWHERE


SENTENCES: dict[str, str] = {f"unreadable.{code}": _AT + text for code, text in _UNREADABLE.items()} | {
    f"diagnosis.{key}": text
    for key, text in (*map(_place_in_term, _IN_TERMS), *_FORMULAS.items(), *map(_add_ambiguity_note, _OFTEN))
}
"""Sentences about a whole formula precede those about one of its terms."""


def format_reason(error: Unreadable) -> str:
    """Return an English reason without the position, for the author of a rubric."""
    # Without `_AT`: an author sees the whole formula, and there is no mark in it.
    return _UNREADABLE[get_code(error)].format_map(error.params)
