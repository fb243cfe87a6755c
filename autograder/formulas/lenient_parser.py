"""Lenient reading as a last resort: spelt operators, remarks, commas between digits, and float noise.

Such readings are not certain. An answer read this way may be accepted if it is right; it must not be called
wrong.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

from autograder.formulas.answer_parser import read_text
from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Tree
from autograder.formulas.notation.decoration import find_spelt_numbers, may_change_value
from autograder.formulas.notation.vocabulary import Vocabulary

_BRACKETED = re.compile(
    r"\s[(\[](?P<remark>(?:[^()\[\]]|[(\[][^()\[\]]{0,80}[)\]]){1,200})[)\]][\s.$]{0,9}\Z"
)
_BEHIND = re.compile(r"(?:[,;:.]\s|\s(?:—|#+|--)\s)\s{0,9}(?=[^\W\d_]|=)")
_AGAIN = re.compile(
    r"\s*(?:(?:so|hence|thus|therefore|then|i\.\s?e\.|that is|e\.\s?g\."
    r"|also|d\.\s?h\.|z\.\s?B\.|somit|daher|folglich)[,:]?\s+)?(?:=\s*)?",
    re.IGNORECASE,
)
"""Words that announce a restatement."""
_WORD = re.compile(r"(?<![\w\\])[^\W\d_]\w*")
_WHOLE = re.compile(r"(?<![\w.,-])[0-9]{1,12}(?![\w.,]*[0-9])")
_EXPONENT = re.compile(r"(?:\^|\*\*)\s*[{(]?\s*[0-9]+|_\{?[0-9]+")
_TIGHT = re.compile(r"(?<=[0-9]),(?=[0-9])")
_OPERATORS = {
    "times": "*", "multiplied by": "*", "mal": "*", "plus": "+", "minus": "-", "divided by": "/",
    "geteilt durch": "/",
}  # fmt: skip
_SPELT = re.compile(rf"(?<=[\w)\]}}!²³$])\s+(?P<word>{'|'.join(_OPERATORS)})\s+(?=[\w(\\{{$√])")
_DECIMALS = re.compile(r"(?<![\w.,])[0-9]+\.[0-9]+(?![\w.,]*[0-9])")
_NOISY, _KEPT, _PLAIN = 15, Context(prec=12), 9
"""Least digits of a noisy float, precision to which it is rounded, and most digits of a plausible result.

A float carries up to 17 digits, the last two of which a computation may get wrong.
"""


def read_leniently(text: str, form: str, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Read a text that `read_text` rejects, as it was most likely meant.

    A comma between digits separates. ``times`` or ``mal`` between operands multiplies. A remark is ignored if
    it has only words, and numbers that are in the formula, or have their sum or product in it. A formula in a
    remark becomes a further side, which must be equal.

    Args:
        text: the answer as it was written.
        form: ``"formula"``, ``"relation"`` or ``"tuple"``.
        vocabulary: the symbols.

    Returns:
        The same as `read_text`, with the formula of the remark first.

    Raises:
        Unreadable: it cannot be read this way either, or the remark may change the meaning.
    """
    # A blank after the comma makes it a separator for the strict rules.
    text = _TIGHT.sub(", ", _SPELT.sub(_write_operator, text))
    try:
        return read_text(text, form, vocabulary)
    except Unreadable as error:
        parts = _split_remark(text)
        if parts is None:
            raise
        head, remark = parts
        trees = read_text(head, form, vocabulary)
        content = _AGAIN.sub("", remark, count=1)
        if _is_harmless(content, head, vocabulary):
            return trees
        if form == "tuple" or (form == "formula" and content == remark):
            # Report the fault of the whole text, not one of its head.
            raise Unreadable(error.code, error.offset, **error.params) from None
        return (*read_text(content, form, vocabulary), *trees)


def _write_operator(match: re.Match[str]) -> str:
    # As long as the words, so that the offset of an error fits the text as it was written.
    return _OPERATORS[match["word"]].center(len(match.group()))


def remove_float_noise(text: str) -> str:
    """Return the text with ``0.3`` for ``0.30000000000000004``, a result of floating-point arithmetic."""
    return _DECIMALS.sub(_round_noise, text)


def _round_noise(match: re.Match[str]) -> str:
    number = Decimal(match.group())
    rounded = _KEPT.create_decimal(number).normalize()
    is_noise = len(number.as_tuple().digits) >= _NOISY and len(rounded.as_tuple().digits) <= _PLAIN
    return f"{rounded:f}" if is_noise else match.group()


def _split_remark(text: str) -> tuple[str, str] | None:
    """Return a formula and the remark behind it; None if there is no remark."""
    match = _BRACKETED.search(text)
    if match is not None and match.start() > 0:
        return text[: match.start()], match["remark"]
    depth, start = 0, 0
    for match in _BEHIND.finditer(text):
        between = text[start : match.start()]
        # A separator inside brackets belongs to the formula, not to a remark.
        depth += sum(map(between.count, "([{")) - sum(map(between.count, ")]}"))
        start = match.start()
        if depth == 0 and text[:start].strip():
            return text[:start], text[match.end() :]
    return None


def _is_harmless(remark: str, head: str, vocabulary: Vocabulary) -> bool:
    """Return whether a remark adds nothing to the formula before it."""
    words = _WORD.findall(remark)
    if not words or may_change_value(remark):
        return False
    # A symbol, a function or a misspelt name may change the meaning.
    if any(word in vocabulary.names or word in FUNCTIONS or vocabulary.find_misspelt(word) for word in words):
        return False
    if re.search(r"[=<>^*/]|\d[.,]\d", remark):
        return False
    numbers = [*map(int, _WHOLE.findall(remark)), *find_spelt_numbers(remark)]
    head_numbers = set(map(int, _WHOLE.findall(re.sub(r"[A-Za-z(]", " ", _EXPONENT.sub(" ", head)))))
    return (
        head_numbers.issuperset(numbers) or sum(numbers) in head_numbers or math.prod(numbers) in head_numbers
    )
