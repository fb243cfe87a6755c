"""What the signs, commands and names of a formula mean before any symbol is declared."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.algebra.nodes import Const

SIGNS: Mapping[str, str] = {
    "+": "+", "-": "-", "*": "*", "×": "×", "/": "/", "//": "//", "^": "^", "**": "^", "!": "!",
    "(": "(", ")": ")", "[": "[", "]": "]", "{": "{", "}": "}", ",": ",", "=": "=", "==": "=", "_": "_",
    "⌈": "⌈", "⌉": "⌉", "⌊": "⌊", "⌋": "⌋", "\\*": "*",
    "|": "|", "!=": "≠", "≠": "≠", "≈": "≈",
}  # fmt: skip
"""Sign → kind of its token."""

COMMANDS: Mapping[str, str] = {
    "cdot": "*", "cdotp": "*", "centerdot": "*", "ast": "*", "bullet": "*", "times": "×", "div": "/",
    "{": "{", "}": "}", "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]",
    "lparen": "(", "rparen": ")",
    "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋",
    "frac": "frac", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "nicefrac": "frac", "sfrac": "frac",
    "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "ne": "≠", "neq": "≠", "approx": "≈", "simeq": "≈",
    "binom": "binom", "dbinom": "binom", "tbinom": "binom",
}  # fmt: skip
"""LaTeX command → kind of its token."""

FUNCTION_SPELLINGS: Mapping[str, str] = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "pow": "pow", "Pow": "pow",
    "log": "log", "Log": "log", "ln": "ln", "lg": "lg", "log10": "lg",
    "log2": "log2", "lb": "log2", "ld": "log2",
    "max": "max", "Max": "max", "maximum": "max", "min": "min", "Min": "min", "minimum": "min",
    "factorial": "factorial", "binomial": "binomial", "binom": "binomial", "comb": "binomial",
    "ceil": "ceil", "ceiling": "ceil", "floor": "floor",
    "abs": "abs", "Abs": "abs", "fabs": "abs",
    "sigmoid": "sigmoid", "Sigmoid": "sigmoid", "logistic": "sigmoid", "expit": "sigmoid",
    "tanh": "tanh", "Tanh": "tanh", "sin": "sin", "cos": "cos",
}  # fmt: skip
"""Spelling → function. Those that are no node of their own (``cbrt``, ``log2``, ``pow``) are written in
terms of the others when they are read."""

CONSTANTS: Mapping[str, Const] = {"pi": Const("pi"), "e": Const("e")}

SIGMOIDS = frozenset(("σ", "sigma"))
"""Names of the sigmoid where brackets follow and no symbol is declared so."""

SUMMATIONS = frozenset(("sum", "Sum", "prod", "Prod", "Product", "Σ", "Π"))
"""Signs of sums and products over an index, which are not read; a symbol may be declared by such a name."""
