"""Tables of the documentation page about formulas, generated from the tables of the formula parser.

``make docs`` writes them into docs/formulas.md; a test fails if they are stale, or if an example is read
differently.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence

from autograder.formulas import Unreadable, Vocabulary, to_text
from autograder.formulas.greek import GREEK
from autograder.formulas.nodes import FUNCTIONS
from autograder.formulas.notation import descent_parser, parse, tokens
from autograder.formulas.notation.characters import rewrite_characters
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.vocabulary import COMMANDS, CONSTANTS, FUNCTION_SPELLINGS, SIGNS
from autograder.formulas.values import evaluate
from autograder.messages import fill_placeholders, get_template
from autograder.messages.parse_errors import describe_unreadable
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
    "12*n_layers*d_model^2", "12 L d²", r"12 n_{layers} d_{\text{model}}^2",
    r"$12\,L\cdot d_{model}^{2}$", "12Ldd", "1,024*d", "1 024 000 d", "1_024*d", "1{,}024 d",
    "2.5e3 n",
    r"\frac{d^2}{2}", r"\frac12 n", "n(n-1)/2", "½n²", r"\left(d+h\right) n",
    "sqrt(d)", "√d", r"\sqrt[3]{n}", "log_2(n)", "ln n", "lg(n)", "exp(-n)", "max(n, d)", "n!",
    r"\binom{n}{2}", r"{n \choose 2}", r"\sum_{l=1}^{L} (d^2 + l)",
    "10% n", "binomial(n, 2)", "dₖ", "d·h + -d", "1/2 d",
    "d⁻⁰·⁵", "|d|",
    "sigmoid(n)", "σ(n)", "8*dmodel^2", "exp(-0,5*n)",
)  # fmt: skip
"""Examples of accepted formulas."""
REFUSED: Sequence[str] = (
    "8*dmodell^2", "8*width^2", "dh", "d/h n", "1/2d", "d^1/2", "log n/2",
    "n[0]", "n != 3", "d*E", r"1\frac12", "max(1,024)", "d 2", "4 128", "log n d", "8*(d",
    "8*", "d^2000",
    "d.head", "", "1,5*d,", r"\sum_{i=1}^{n} 2^i",
)  # fmt: skip
"""Examples of refused formulas."""
RELATIONS: Sequence[str] = (
    "d = h*d_k", "Eq(d, h*d_k)", r"d &= h \cdot d_{k}", "d ≡ h d_k", "n < d",
    "n <= d/2", "n ≤ d/2", r"n \leqslant \frac{d}{2}", "d => 2n", r"d \geq 2n", "Le(n, d/2)",
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
    (descent_parser.MAX_DEPTH, "brackets, functions and exponents inside one another"),
    (descent_parser.MAX_DIVISIONS, "divisions in one product"),
    (evaluate.MAX_EXPONENT, "the largest constant exponent, and the largest number before `!`"),
    (parse.MAX_ELEMENTS, "entries of a tuple, sides of an equation"),
)
"""Limits of the parser, each with a description for the page."""


def render_sections() -> dict[str, str]:
    """Return the generated parts of the page by name, as Markdown."""
    return {
        "grammar": _extract_grammar(),
        "signs": _format_table(("meaning", "signs", "LaTeX"), _list_signs()),
        "functions": _format_table(("function", "spellings", "values"), _list_functions()),
        "greek": f"Greek letters: {', '.join(f'{letter} `{name}`' for name, letter in GREEK.items())}.",
        "examples": f"With the symbols {_describe_symbols()}.\n\n"
        + _format_table(("written", "read as"), _list_examples()),
        "relations": _format_table(("written", "read as"), _list_relations()),
        "refusals": _format_table(("written", "the student reads"), _list_refusals()),
        "limits": _format_table(
            ("at most", "what"), ((str(most), description) for most, description in LIMITS)
        ),
    }


def make_vocabulary() -> Vocabulary:
    """Return the vocabulary of the examples."""
    return Vocabulary(SYMBOLS)


def _extract_grammar() -> str:
    """Return the indented block of the parser's docstring as a code block."""
    lines = inspect.cleandoc(parse.__doc__ or "").splitlines()
    block = [line.removeprefix("    ") for line in lines if line.startswith("    ")]
    return "\n".join(("```text", *block, "```"))


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
