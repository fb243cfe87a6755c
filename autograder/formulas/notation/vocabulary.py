"""The vocabulary of formulas: words with a fixed meaning, and declared symbols with their spellings.

The intended name for an unknown one is guessed only if it is too close to mislead.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from autograder.formulas.errors import FormulaError
from autograder.formulas.greek import GREEK
from autograder.formulas.nodes import FUNCTIONS, Const, Sym

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
    "binom": "binom", "dbinom": "binom", "tbinom": "binom", "over": "over", "choose": "choose",
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
    "tanh": "tanh", "Tanh": "tanh", "sin": "sin", "cos": "cos", "tan": "tan",
}  # fmt: skip
"""Spelling → function.

Functions without a node (``cbrt``, ``log2``, ``pow``, ``tan``) are expressed by the others when they are
parsed."""

CONSTANTS: Mapping[str, Const] = {"pi": Const("pi"), "e": Const("e")}

SIGMOIDS = frozenset(("σ", "sigma"))
"""Names of the sigmoid function if brackets follow and no symbol of that name is declared."""

SUMMATIONS = frozenset(("sum", "Sum", "prod", "Prod", "Product", "Σ", "Π"))
"""Sums and products over an index, which are not supported; a symbol of such a name may be declared."""


_SHORTEST = 4
"""Least length of a word in which a letter may be wrong; in shorter ones it makes another word."""
_SHORTENED: Mapping[str, str] = {"num": "n", "number": "n"}


def is_typo(written: str, meant: str) -> bool:
    """Return whether a name is another one with a typo in some of its parts.

    Names that merely look alike, such as ``vocab_size`` and ``batch_size``, mean different things: a wrong
    guess is worse than none.
    """
    parts, meant_parts = written.split("_"), meant.split("_")
    if len(parts) != len(meant_parts):
        parts, meant_parts = [written.replace("_", "")], [meant.replace("_", "")]
    if [_SHORTENED.get(parts[0], parts[0]), *parts[1:]] == meant_parts and len(meant_parts) > 1:
        return True
    return parts != meant_parts and all(
        written_part == meant_part
        or (min(len(written_part), len(meant_part)) >= _SHORTEST and _has_one_typo(written_part, meant_part))
        for written_part, meant_part in zip(parts, meant_parts, strict=True)
    )


def _has_one_typo(written: str, meant: str) -> bool:
    """Return whether one letter is missing, extra or wrong, or two neighbours are swapped; never the first.

    In short words a wrong letter makes another word (``logs``, ``loss``), and a digit counts things.
    """
    if written[0] != meant[0]:
        return False
    shorter = min(len(written), len(meant))
    start = 0
    while start < min(len(written), len(meant)) and written[start] == meant[start]:
        start += 1
    written, meant = written[start:], meant[start:]
    end = 0
    while end < min(len(written), len(meant)) and written[-1 - end] == meant[-1 - end]:
        end += 1
    written, meant = written[: len(written) - end], meant[: len(meant) - end]
    if not (written + meant).isalpha():
        return False
    if len(written) != len(meant):
        return len(written) + len(meant) == 1
    return (len(written) == 1 and shorter > _SHORTEST) or (len(written) == 2 and written == meant[::-1])


_SPELLING = re.compile(r"[A-Za-z\u0370-\u03ff][A-Za-z0-9\u0370-\u03ff]*(?:_[A-Za-z0-9\u0370-\u03ff]+)*'*")
_MARKUP = re.compile(
    r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|mathnormal|mathcal|boldsymbol|bm|operatorname"
    r"|textit|textrm|textbf|textsf|texttt|textnormal|emph|mbox|rm|bf|it|sf|tt|cal)(?![A-Za-z])"
)
_DOMAINS = ("positive integer", "positive", "probability", "unit", "real", "function")
_MOST_LETTERS = 8
"""Largest number of symbols that may be written without a sign or blank between them."""
_LONGEST_NAME = 64


class Symbol(Struct, frozen=True):
    """A symbol that formulas may use."""

    domain: str = "positive integer"
    """``"positive integer"``, ``"positive"``, ``"probability"`` (between 0 and 1), ``"unit"`` (including 0
    and 1) or ``"real"``; ``"function"`` if the aliases are further spellings of the function of this name."""
    aliases: tuple[str, ...] = ()


def strip_markup(spelling: str) -> str:
    r"""Return a name without markup: ``d_{\text{model}}`` and ``d\_{model}`` become ``d_model``."""
    if spelling.isalnum():
        return spelling
    name = _MARKUP.sub("", spelling).replace("\\_", "_")
    return re.sub(r"_+", "_", re.sub(r"[{}\s\\]", "", name)).strip("_")


class Vocabulary:
    """Declared symbols and their aliases.

    Attributes:
        names: every accepted spelling → the declared name.
        nodes: every accepted spelling → the symbol's tree.
        domains: declared name → ``"positive integer"``, ``"positive"``, ``"probability"`` (between 0 and 1),
            ``"unit"`` (including 0 and 1) or ``"real"``.
        functions: further spellings of functions → the function.
        decimal_comma: whether a comma may precede decimals, and a point separate thousands.
    """

    __slots__ = (
        "_alike", "_declared", "_doubtful", "_run_together", "decimal_comma", "domains", "functions", "names",
        "nodes",
    )  # fmt: skip

    def __init__(self, declared: Mapping[str, Symbol] | Iterable[str]) -> None:
        """Declare symbols; plain names declare positive integers.

        A symbol of the domain ``function`` is named after a function and gives it further spellings.

        Raises:
            FormulaError: a spelling is not a name or is used for two symbols, or a domain is unknown.
        """
        if not isinstance(declared, Mapping):
            declared = dict.fromkeys(declared, Symbol())
        self._declared = dict(declared)
        names, functions = _collect_spellings(declared)
        self.domains: Mapping[str, str] = {
            name: symbol.domain for name, symbol in declared.items() if symbol.domain != "function"
        }
        self.names: Mapping[str, str] = names
        self.functions: Mapping[str, str] = functions
        self.nodes: Mapping[str, Sym] = {spelling: Sym(name) for spelling, name in names.items()}
        self._run_together = {
            form: spelling for spelling in names for form in _generate_abbreviations(spelling)
        }
        # A run such as dk is ambiguous only if all of its letters are symbols themselves.
        self._doubtful = tuple(run for run in self._run_together if all(letter in names for letter in run))
        self._alike: dict[str, set[str]] = {}
        for spelling, name in names.items():
            if len(spelling) > 1:
                self._alike.setdefault(_fold_spelling(spelling), set()).add(name)
        self.decimal_comma = False

    def with_symbol(self, name: str) -> Vocabulary:
        """Return a vocabulary with one more symbol, a positive number."""
        return Vocabulary({**self._declared, name: Symbol("positive")})

    def with_notation(self, *, decimal_comma: bool) -> Vocabulary:
        """Return the vocabulary for a course in which a comma may or may not precede decimals.

        Formulas in a rubric are parsed without this setting: they have decimal points, as in programs.
        """
        # A shallow copy shares the tables, which never change after construction.
        vocabulary = copy.copy(self)
        vocabulary.decimal_comma = decimal_comma
        return vocabulary

    def find_misspelt(self, word: str) -> Sym | None:
        """Return the one symbol that differs only in capitals and underscores: ``dmodel``, ``d_FF``."""
        if word.rstrip("0123456789") in self.names:  # d2 may be d^2, copied without the superscript
            return None
        meant = self._alike.get(_fold_spelling(word), ()) if 1 < len(word) <= _LONGEST_NAME else ()
        return Sym(next(iter(meant))) if len(meant) == 1 else None

    def find_ambiguous(self, word: str) -> tuple[str, str] | None:
        """Return letters that may be a product or a name, with that name: ``dk`` and ``d_k``."""
        if len(word) > _MOST_LETTERS or any(letter not in self.names for letter in word):
            return None
        run = next((run for run in self._doubtful if run in word), "")
        return (run, self._run_together[run]) if run else None

    def split_letters(self, word: str) -> list[str] | None:
        """Split ``nd`` into ``n`` and ``d``: declared letters, multiplied without a sign.

        The last one may have a subscript, as in ``Ld_model``.

        Returns:
            The spellings; None if the word may also be a symbol's name without its underscores, such as
            ``dh`` if there is a symbol ``d_head``.
        """
        letters, below = word, ""
        if "_" in word:
            before = word.partition("_")[0][:-1]
            letters, below = before, word[len(before) :]
        if len(letters) > _MOST_LETTERS or word in self._run_together or (below and below not in self.names):
            return None
        if any(run in letters for run in self._doubtful):
            return None
        if any(letter not in self.names for letter in letters):
            return None
        return [*letters, below] if below else list(letters)

    def suggest_spelling(self, word: str) -> str:
        """Return the declared spelling that was most likely meant; empty if none is close."""
        plain = strip_markup(word)
        # Comparing a long name with every spelling would be slow.
        if len(plain) > _LONGEST_NAME:
            return ""
        if plain in self._run_together:
            return self._run_together[plain]
        spellings = (*self.domains, *self.names, *self.functions, *FUNCTION_SPELLINGS)
        return next((spelling for spelling in spellings if is_typo(plain.lower(), spelling.lower())), "")


def _collect_spellings(declared: Mapping[str, Symbol]) -> tuple[dict[str, str], dict[str, str]]:
    """Return every spelling of symbols and of functions, with the name that it denotes.

    Raises:
        FormulaError: see `Vocabulary`.
    """
    names: dict[str, str] = {}
    functions: dict[str, str] = {}
    for name, symbol in declared.items():
        if symbol.domain not in _DOMAINS:
            raise FormulaError(
                f"symbol {name!r}: domain: expected one of {', '.join(_DOMAINS)}, got {symbol.domain!r}"
            )
        if symbol.domain == "function" and name not in FUNCTIONS:
            raise FormulaError(
                f"symbol {name!r}: only a function can be of the domain 'function': {', '.join(FUNCTIONS)}"
            )
        table = functions if symbol.domain == "function" else names
        for spelling in (name, *symbol.aliases):
            plain = strip_markup(spelling)
            function = plain in FUNCTIONS and symbol.domain != "function"
            # A symbol must not hide a function of the grammar.
            if not _SPELLING.fullmatch(plain) or function:
                raise FormulaError(f"symbol {name!r}: {spelling!r} cannot be the name of a symbol")
            other = names.get(plain) or functions.get(plain)
            if other not in (None, name):
                raise FormulaError(
                    f"symbol {name!r}: {spelling!r} already stands for {other!r}; "
                    "declare one of the two anew without it"
                )
            table[plain] = name
    for spelling, name in tuple(names.items()):
        # setdefault: a declared spelling has precedence over a transliteration.
        for form in _generate_transliterations(spelling):
            names.setdefault(form, name)
    return names, functions


def _fold_spelling(spelling: str) -> str:
    return spelling.replace("_", "").lower()


def _generate_abbreviations(spelling: str) -> Iterable[str]:
    """Yield short forms of a name with underscores: ``d_head`` → ``dhead``, ``dh``."""
    parts = spelling.split("_")
    if len(parts) > 1:
        # A Greek letter behind another letter is a factor: hθ is h*θ, also if h_θ is declared.
        yield from filter(str.isascii, ("".join(parts), "".join(part[:1] for part in parts)))


def _generate_transliterations(spelling: str) -> Iterator[str]:
    """Yield ``alpha_1`` for ``α_1``, ``h_theta`` for ``h_θ``, and the reverse."""
    base, mark, below = spelling.partition("_")
    forms = (
        f"{base_form}{mark}{below_form}"
        for base_form in _list_letter_forms(base)
        for below_form in _list_letter_forms(below)
    )
    yield from (form for form in forms if form != spelling)


def _list_letter_forms(word: str) -> Sequence[str]:
    """Return a Greek letter and its names; for any other word only the word."""
    letter = GREEK.get(word, word)
    return tuple(dict.fromkeys((word, letter, *(name for name, greek in GREEK.items() if greek == letter))))
