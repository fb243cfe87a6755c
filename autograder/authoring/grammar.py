"""The documentation page about formulas, generated from the tables of the formula parser.

Regenerate it with ``make docs``; a test fails if it is stale, or if an example is read differently.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from autograder.formulas import Unreadable, Vocabulary, to_text
from autograder.formulas.greek import GREEK
from autograder.formulas.mistakes.diagnose import CODES
from autograder.formulas.nodes import FUNCTIONS
from autograder.formulas.notation import descent, parse, tokens
from autograder.formulas.notation.characters import rewrite_characters
from autograder.formulas.notation.several import parse_single
from autograder.formulas.notation.vocabulary import COMMANDS, CONSTANTS, FUNCTION_SPELLINGS, SIGNS
from autograder.formulas.values import evaluate
from autograder.messages import fill_placeholders, get_template, load_sentences
from autograder.messages.reading import describe_unreadable
from autograder.pages.feedback.typeset import render_caret
from autograder.rubric import RubricSymbol

SYMBOLS: Mapping[str, RubricSymbol] = {
    "n_layers": RubricSymbol(aliases=("L",)),
    "n_heads": RubricSymbol(aliases=("h",)),
    "d_model": RubricSymbol(aliases=("d",)),
    "d_head": RubricSymbol(aliases=("d_k",)),
    "n": RubricSymbol(),
}
"""Symbols of the examples."""
READ: Sequence[str] = (
    "12*n_layers*d_model^2", "12 L d²", "12·n_layers·d_model**2", r"12 n_{layers} d_{\text{model}}^2",
    r"$12\,L\cdot d_{model}^{2}$", "12Ldd", "1,024*d", "1 024 000 d", "1_024*d", "1{,}024 d",
    r"1,\!024 d", r"1\;024 d", "0.5*d",
    "2.5e3 n",
    r"\frac{d^2}{2}", r"\frac12 n", "n(n-1)/2", "½n²", "[d + h]*n", r"\left(d+h\right) n",
    "sqrt(d)", "√d", r"\sqrt[3]{n}", "log_2(n)", "log(n, 2)", "ln n", "lg(n)", "exp(-n)", "max(n, d)", "n!",
    r"\binom{n}{2}", r"{n \choose 2}", r"{d \over 2}", "10% n", "binomial(n, 2)", "dₖ", "d·h + -d", "1/2 d",
    "d⁻⁰·⁵", "|d|",
    "sigmoid(n)", "σ(n)", "8*dmodel^2", "exp(-0,5*n)", "sqrt(n)*0,5",
)  # fmt: skip
"""Examples of accepted formulas."""
REFUSED: Sequence[str] = (
    "8*dmodell^2", "8*width^2", "dh", "d/h n", "1/2d", "d^1/2", "log n/2",
    "n[0]", "n != 3", "d*E", r"1\frac12", "max(1,024)", "d 2", "4 128", "log n d", "8*(d", "8*d)",
    "8*", "d^2000", "n = 1 = ",
    "d.head", "lambda d: d", "", "1,5*d,", r"\sum_{i=1}^{n} i",
)  # fmt: skip
"""Examples of refused formulas."""
RELATIONS: Sequence[str] = (
    "d = h*d_k", "d_k == d/h", "Eq(d, h*d_k)", r"d &= h \cdot d_{k}", "d ≡ h d_k", "n < d", r"n \lt d",
    "d > n", "n <= d/2", "n ≤ d/2", r"n \leqslant \frac{d}{2}", "d => 2n", r"d \geq 2n", "Le(n, d/2)",
)  # fmt: skip
"""Examples of equations and inequalities."""
MEANINGS: Mapping[str, str] = {
    "*": "times", "×": "times; between the entries of a shape in a tuple",
    "/": "divided by", "//": "divided by, rounded down", "frac": "fraction", "binom": "binomial coefficient",
    "over": "divided by, all of its group", "choose": "binomial coefficient of its group",
    "^": "to the power of", "+": "plus", "-": "minus", "!": "factorial", "=": "equals",
    "(": "opens", ")": "closes", "[": "opens", "]": "closes", "{": "opens", "}": "closes",
    "|": "stand around an absolute value, or around a set for its size",
    "≠": "is refused with a question", "≈": "may stand before a formula",
    "⌈": "opens what is rounded up", "⌉": "closes it", "⌊": "opens what is rounded down", "⌋": "closes it",
    ",": "separates values",
}  # fmt: skip
"""Meaning of each kind of token."""
LIMITS: Sequence[tuple[int, str]] = (
    (tokens.MAX_CHARS, "characters of a formula"),
    (tokens.MAX_TOKENS, "signs, names and numbers in it"),
    (tokens.MAX_DIGITS, "digits of a number"),
    (descent.MAX_DEPTH, "brackets, functions and exponents inside one another"),
    (descent.MAX_DIVISIONS, "divisions in one product"),
    (evaluate.MAX_EXPONENT, "the largest constant exponent, and the largest number before `!`"),
    (parse.MAX_ELEMENTS, "entries of a tuple, sides of an equation"),
)
"""Limits of the parser, each with a description for the page."""

HEAD = """\
# Formulas

This page is generated from the program (`make docs`); do not edit it. It says how formulas are read in
answers and in rubrics, what the errors mean, and which mistakes are recognised. How a question asks for a
formula stands on [the page about the kind `formula`](kinds/formula.md).

`autograder formula` reads a formula as an answer would be read, and compares it:

```
autograder formula "12 L d²" --symbols n_layers:L,d_model:d --equals "12*n_layers*d_model^2"
```

Exit code 0: equal (or read, where there is nothing to compare with); 1: not equal; 2: not readable, a name
that is not known, or not decided."""

NAMES = """\
Only the symbols that a rubric declares are known, by their names and their other spellings. Markup does
not count: `d_{{\\text{{model}}}}`, `d\\_model` and `d_model` are one name. Single letters may stand side
by side (`Ld` is `L*d`) unless they may as well be another name run together. An unknown name is refused,
with the nearest known one if it is that one with a typo; it is never taken apart into
letters that were not declared. Capitals and underscores may differ where one symbol alone fits (`dmodel`,
`d_Model`).

What stands before an equals sign and is no symbol is the name of the result, and is dropped; so is a
single letter that the rest does not mention, even where it is declared: `N = 12 L d²`. `=` and `≈` alone
are dropped, too, and words behind a formula for what it counts, such as `parameters`, `FLOPs` or `bytes`;
so is a remark in brackets at its end, of words none of which is a symbol: `4*d^2 (one for each row)`.
Any other remark makes a formula unreadable, as `check()` says. Grading reads it too: where the formula
is right, and the remark agrees, as in `4*d^2 (4 matrices)`, `12*d^2 (= 12*h^2*d_k^2)` and
`d = h*d_k, so d_k = d/h`, it earns full points; otherwise it needs manual review. Words that stand for
another factor, such as `MACs`, `bits` or `MB`, are not.

Greek letters may be declared, and then be written as a letter, a name or a command: {greek}."""

AMBIGUOUS = """\
Where mathematicians disagree (`a/b c`, `1/2d`, `log a b`, `log n/2`, `d^1/2`, `2^2n`, `d 2`), a formula
is refused with a question instead of being read in one of the two ways. `1/2 d`, with a blank behind a
fraction of two numbers, is half of `d`. `E` is no number.

Whether a mark between digits separates thousands or stands before decimals is asked where the languages
of the course leave it open: with German among them, `1,500` and `50.257` are refused with the question;
`1500`, `1.5` and `50.2570` are not. In English alone `1,500` is 1500. A comma between digits is asked
about where it may separate two values: in `max(0,5)` (graded as two values if that is right), in the tuple
`(1,024, n)`, in the set `{1,5; 2}`.
A narrow or no-break space, `~`, `\\,`, `\\:` and `\\;` group digits if all groups have three digits; an
ordinary blank does so if there are two groups or more, because a sign may be missing in `4 128`."""

EXACT = """\
Numbers are exact. `0.1*d + 0.2*d` equals `0.3*d`, but `0.333*d` does not equal `d/3`: where rounded numbers
are to be handed in, ask for a number with a tolerance. `10%` is `10/100`; `10%n` and `10 % n`
may as well be a remainder and are refused. A minus before `//`
belongs to what is divided, as in Python: `-(-n//2)` is `n/2` rounded up.

An answer is equal to the right one if both have equal values for all values of the symbols, each from its
domain. Isolated points without a value do not count: `(d^2-n^2)/(d-n)` equals `d+n`. Otherwise an answer must
have a value wherever the right answer has one: for a real `x`, neither `sqrt(x)^2` nor `exp(ln(x))` equals
`x`, and for a whole `n`, `n*sqrt(n-5)/sqrt(n-5)` does not equal `n`; for a positive `d`, `sqrt(d)^2` equals
`d`. The answer may have values where the right one has none. A formula that is defined nowhere, such as
`d + 0/0`, equals nothing. If an answer can be proven neither equal nor different, or if it may lack values,
it needs manual review; so do odd roots of what may be negative, because some define them and some do not."""

COMPARED = """\
Where a relation is asked for (`form = "relation"`), it may be turned round and solved for any symbol. An
equation may be multiplied through with numbers and symbols, an inequality with what is positive; for whole
symbols `n < d` and `n + 1 <= d` are the same. In a chain such as `0 < n <= d` the links that always hold say
nothing. What is right after other steps, such as squaring, is left to a human."""

DIAGNOSES = """\
A formula that is wrong by one of these mistakes gets a sentence that names only what the student wrote. Each
statement is exactly true of the answer. An item may give points for one:
`diagnosis_points = { CODE = 0.5 }`."""


def render_page() -> str:
    """Return the whole page as Markdown."""
    greek = ", ".join(f"{letter} `{name}`" for name, letter in GREEK.items())
    sections = (
        HEAD,
        "## Grammar",
        _extract_grammar(),
        AMBIGUOUS,
        "## Signs",
        _format_table(("meaning", "signs", "LaTeX"), _list_signs()),
        "## Functions and constants",
        _format_table(("function", "spellings", "values"), _list_functions()),
        "## Names",
        NAMES.format(greek=greek),
        "## Examples",
        f"With the symbols {_describe_symbols()}.",
        _format_table(("written", "read as"), _list_examples()),
        EXACT,
        "## Equations and inequalities",
        COMPARED,
        _format_table(("written", "read as"), _list_relations()),
        "## Errors",
        "Each points at its place. The formulas on the left of this table are refused:",
        _format_table(("written", "the student reads"), _list_refusals()),
        "All errors:",
        _format_table(("code", "sentence"), _list_errors()),
        "## Limits",
        _format_table(("at most", "what"), ((str(most), description) for most, description in LIMITS)),
        "## Diagnoses",
        DIAGNOSES,
        _format_table(("code", "sentence"), _list_diagnoses()),
    )
    return "\n\n".join(sections) + "\n"


def make_vocabulary() -> Vocabulary:
    """Return the vocabulary of the examples."""
    return Vocabulary(SYMBOLS)


def _extract_grammar() -> str:
    """Return the indented block of the parser's docstring as a code block."""
    lines = inspect.cleandoc(parse.__doc__ or "").splitlines()
    block = [line.removeprefix("    ") for line in lines if line.startswith("    ")]
    return "\n".join(("```", *block, "```"))


def _list_signs() -> Iterator[tuple[str, ...]]:
    unicode = _collect_unicode_signs()
    for kind, meaning in MEANINGS.items():
        signs = [sign for sign, token_kind in SIGNS.items() if token_kind == kind]
        signs += [sign for sign in unicode.get(kind, ()) if sign not in signs]
        commands = [f"\\{name}" for name, token_kind in COMMANDS.items() if token_kind == kind]
        if signs or commands:
            yield meaning, _format_code(signs), _format_code(commands)


def _collect_unicode_signs() -> dict[str, list[str]]:
    """Map each sign to the characters of other alphabets that are read as it."""
    characters: dict[str, list[str]] = {}
    # Beyond ASCII up to the CJK blocks: all mathematical signs that the tables may rewrite are in this range.
    for character in map(chr, range(0x80, 0x3000)):
        if character.isprintable() and not character.isalnum():
            try:
                plain = rewrite_characters(character)[0]
            except Unreadable:
                continue
            characters.setdefault(plain, []).append(character)
    return characters


def _list_functions() -> Iterator[tuple[str, ...]]:
    for name in dict.fromkeys((*FUNCTIONS, *FUNCTION_SPELLINGS.values())):
        spellings = [spelling for spelling, function in FUNCTION_SPELLINGS.items() if function == name]
        least, most = FUNCTIONS.get(name, (0, 0))
        values = f"{least}" if least == most else f"{least} to {most}"
        yield f"`{name}`", _format_code(spellings), values if most else ""
    for name, constant in CONSTANTS.items():
        yield f"`{constant.name}`", _format_code([name]), "a constant"


def _describe_symbols() -> str:
    return ", ".join(
        f"`{name}`" + "".join(f" (also `{alias}`)" for alias in symbol.aliases)
        for name, symbol in SYMBOLS.items()
    )


def _list_examples() -> Iterator[tuple[str, ...]]:
    example_names = make_vocabulary()
    for text in READ:
        yield _format_code([text]), _format_code([to_text(parse.parse(text, example_names))])


def _list_relations() -> Iterator[tuple[str, ...]]:
    example_names = make_vocabulary()
    for text in RELATIONS:
        yield _format_code([text]), _format_code([to_text(parse_single(text, example_names))])


def _list_refusals() -> Iterator[tuple[str, ...]]:
    example_names = make_vocabulary()
    for text in REFUSED:
        try:
            parse.parse(text, example_names)
        except Unreadable as error:
            message = describe_unreadable(error, text)
            position = render_caret(message.params).partition("\n")[2].find("^")
            shown = f"{text[:position]}▸{text[position:]}" if position >= 0 else text
            yield (
                _format_code([shown or " "]),
                _format_sentence(message.code, fill_placeholders(message, "en")),
            )
        else:
            raise ValueError(f"{text!r} is read, and stands among the examples of what is refused")


def _list_errors() -> Iterator[tuple[str, ...]]:
    for key in load_sentences():
        if key.startswith("unreadable."):
            yield f"`{key}`", _format_sentence(key, {})


def _list_diagnoses() -> Iterator[tuple[str, ...]]:
    for code in CODES:
        variants = [
            get_template(key, "en") for key in load_sentences() if key.split(".")[:2] == ["diagnosis", code]
        ]
        # A diagnosis has several sentences; the one with most parameters is the most informative.
        yield f"`{code}`", _escape_cell(max(variants, key=lambda text: text.count("{")))


def _format_sentence(key: str, params: Mapping[str, str]) -> str:
    """Return the student's sentence without its first half, which gives the position."""
    # The first half quotes the answer, which the left column of the table already shows.
    text = get_template(key, "en").partition("”: ")[2]
    for name, value in params.items():
        text = text.replace(f"{{{name}}}", value)
    return _escape_cell(text[:1].upper() + text[1:])


def _format_code(texts: Iterable[str]) -> str:
    """Format texts as code; a text with a backtick gets a double fence."""
    return " ".join(f"`` {text} ``" if "`" in text else f"`{_escape_cell(text)}`" for text in texts)


def _escape_cell(text: str) -> str:
    # A bar or a newline would break the row of a Markdown table.
    return text.replace("|", "\\|").replace("\n", " ")


def _format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join((*lines, *(f"| {' | '.join(row)} |" for row in rows)))


if __name__ == "__main__":
    sys.stdout.write(render_page())
