"""Numbers as people write them: digits in groups, decimals by either convention, powers and products.

Whole numbers are read here as well: ``124,439,808``, ``124 439 808``, ``1e6``, ``2^10``, ``= 12 parameters``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.formulas.notation.wrapping import without_name, without_unit
from autograder.formulas.values.evaluate import TooLarge, Undefined, constant_value

MAX_WHOLE = 100
"""Characters of a whole number."""
MAX_BITS = 4096
"""Of the numerator and the denominator of a number."""
MAX_POWER = 60
"""Of ten, in a whole number."""

_NO_SYMBOLS = Vocabulary({})
_NUMERAL = re.compile(r"[.,]?[0-9](?:[0-9.,_']| (?=[0-9]))*")
_GROUPS = r"[1-9][0-9]{{0,2}}(?P<mark>[{group} '_])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
NUMERALS: Mapping[str, re.Pattern[str]] = {
    mark: re.compile(
        rf"(?P<whole>[0-9]+|{_GROUPS.format(group=group)})?(?:[{point}](?P<part>[0-9]*))?",
    )
    for mark, point, group in (("point", ".", ","), ("comma", ",", "."))
}
"""The convention for decimals → a number by it."""
_TIMES = re.compile(r"(?<=[0-9)])\s*[xX]\s*(?=[0-9(])")
_TOO_LARGE = frozenset(("number-too-long", "number-too-large", "exponent-too-large", "too-deep"))
_SPACES = re.compile(r"\s+")
_LATEX_SPACES = re.compile(r"\\[,;: ]|\\thinspace(?![A-Za-z])|~")
_LATEX_MARK = re.compile(r"\{([,.]|\\[,;:])\}")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}([,._'’ ])[0-9]{3}(?:\1[0-9]{3})*", re.ASCII)
_DECIMAL = re.compile(r"[0-9_]{1,60}(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_CALCULATED = re.compile(r"[-+*/^()!·⋅×²³⁰¹⁴-⁹\\]|(?<=[0-9])\s*[xX](?=\s*[0-9])")


def plain_numerals(text: str, pattern: re.Pattern[str]) -> str | None:
    """The text with every numeral as a program writes it; None where one does not fit the convention."""
    parts: list[str] = []
    end = 0
    for found in _NUMERAL.finditer(text):
        numeral = pattern.fullmatch(found.group())
        if numeral is None:
            return None
        whole = re.sub("[^0-9]", "", numeral["whole"] or "0")
        parts += (text[end : found.start()], whole, f".{numeral['part']}" if numeral["part"] else "")
        end = found.end()
    return _TIMES.sub("*", "".join((*parts, text[end:])))


def value_of(text: str) -> Fraction:
    """The value of a number, or of a formula of numbers.

    Raises:
        Unreadable: ``not-a-number`` or ``number-too-large``.
    """
    try:
        value = constant_value(parse(text, _NO_SYMBOLS))
    except Unreadable as error:
        large = error.code in _TOO_LARGE
        raise Unreadable("number-too-large" if large else "not-a-number", 0, text=text) from None
    except TooLarge:
        raise Unreadable("number-too-large") from None
    except Undefined:
        value = None
    if value is None:
        raise Unreadable("not-a-number", 0, text=text)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Unreadable("number-too-large")
    return Fraction(value)


def read_whole(text: str) -> int:
    """Read a whole number, with its name before it and a word behind it for what is counted.

    A mark before three digits separates thousands, because decimals are not asked for.

    Raises:
        Unreadable: ``not-a-number``, ``not-whole``, ``number-too-large``; or ``two-readings`` with ``first``
            and ``second``.
    """
    if len(text) > MAX_WHOLE:
        raise Unreadable("not-a-number")
    bare = without_unit(without_name(text, _NO_SYMBOLS), _NO_SYMBOLS)
    cleaned = _LATEX_SPACES.sub(" ", _LATEX_MARK.sub(r"\1", bare.replace("\\!", "")))
    cleaned = _SPACES.sub(" ", cleaned).strip(" $`.")
    sign, digits = (-1, cleaned[1:].strip()) if cleaned[:1] in ("-", "−") else (1, cleaned.removeprefix("+"))
    grouped = _GROUPED.fullmatch(digits)
    if grouped:
        return sign * int(digits.replace(grouped[1], ""))
    if _DECIMAL.fullmatch(digits) and "__" not in digits and not digits.endswith("_"):
        return sign * _of_decimal(digits)
    if not _CALCULATED.search(digits):
        raise Unreadable("not-a-number")
    return _calculated(cleaned)


def _of_decimal(digits: str) -> int:
    try:
        number = Decimal(digits.replace("_", ""))
    except InvalidOperation:
        raise Unreadable("not-a-number") from None
    if number.is_zero():
        return 0
    if number.adjusted() > MAX_POWER:
        raise Unreadable("number-too-large")
    if number.adjusted() < 0 or number % 1:
        raise Unreadable("not-whole")
    return int(number)


def _calculated(text: str) -> int:
    """The value of powers, products and sums of numbers, by whichever convention makes it a whole number."""
    texts = {plain_numerals(text, pattern) for pattern in NUMERALS.values()} - {None}
    values = sorted({value_of(plain) for plain in texts if plain is not None})
    if not values:
        raise Unreadable("not-a-number")
    whole = [int(value) for value in values if value.denominator == 1]
    if not whole:
        raise Unreadable("not-whole")
    if abs(whole[-1]) >= 10 ** (MAX_POWER + 1):
        raise Unreadable("number-too-large")
    if len(whole) > 1:
        raise Unreadable("two-readings", 0, first=str(whole[0]), second=str(whole[1]))
    return whole[0]
