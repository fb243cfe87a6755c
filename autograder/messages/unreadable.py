"""Sentences about formulas that cannot be read. The check that students run says them as well."""

from __future__ import annotations

from autograder.errors import Unreadable
from autograder.messages.reading import code_of

_AT = "Your formula could not be read at {mark} in “{excerpt}”: "

_UNREADABLE: dict[str, str] = {
    "empty": "there is no formula.",
    "too-long": "a formula may have at most {limit} characters.",
    "too-many-parts": "it has more than {limit} parts. Write it more briefly.",
    "too-deep": "more than {limit} brackets or powers are nested in one another.",
    "number-too-long": "a number may have at most {limit} digits.",
    "number-too-large": "this number is too large.",
    "exponent-too-large": "a constant exponent may be at most {limit}.",
    "unknown-character": "the character “{character}” has no meaning in a formula.",
    "invisible-character": "here stands a character that cannot be seen, {number} ({name}). Delete it.",
    "unknown-letter": (
        "the letter “{character}” is {number} ({name}), which has no meaning in a formula. Was another "
        "alphabet's letter copied?"
    ),
    "capital-e": "is “E” Euler's number? Then write e; otherwise use the symbols that the question names.",
    "unknown-command": "the command {name} is not known.",
    "summation": (
        "sums and products over an index, such as {name}, cannot be read. Write the value of the sum as a "
        "formula without an index."
    ),
    "unknown-name": "the name “{name}” is not known. Use the symbols that the question names.",
    "unknown-name-near": "the name “{name}” is not known. Did you mean “{suggestion}”?",
    "ambiguous-name": (
        "is “{name}” the product {product} or the symbol {symbol}? Write the one that you mean."
    ),
    "two-numbers": "two numbers stand side by side. Write the sign that belongs between them.",
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
    "argument-count": "{name} does not take {count} values.",
    "ends-early": "the formula ends where something is still missing.",
    "unexpected": "“{sign}” does not belong here.",
    "not-equal": (
        "does “{sign}” mean “is not equal to”? That is no formula. A factorial before an equals sign is "
        "written with a blank between them."
    ),
    "unclosed": "this bracket is never closed; “{bracket}” is missing.",
    "unopened": "“{bracket}” closes a bracket that was never opened.",
    "unexpected-relation": "an equals sign does not belong here.",
    "relation-expected": "an equation with exactly one equals sign is asked for.",
    "landau-brackets": "write what grows in brackets: {sign}(…).",
    "landau-outside": (
        "nothing but a sum of such terms may stand beside {sign}(…). Write all into the brackets."
    ),
    "landau-mixed": "two different signs of growth stand in one answer. Decide for one.",
    "several-formulas": (
        "the answer contains several formulas between dollar signs; exactly one is asked for."
    ),
}

SENTENCES: dict[str, str] = {f"unreadable.{code}": _AT + text for code, text in _UNREADABLE.items()}


def reason(error: Unreadable) -> str:
    """The same in English without the place, for whoever wrote the formula into a rubric."""
    return _UNREADABLE[code_of(error)].format_map(error.params)
