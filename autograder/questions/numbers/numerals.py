"""Parse numbers as people write them: grouped digits, both decimal conventions, powers and products."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.formulas.values.evaluate import TooLarge, Undefined, evaluate_constant

MAX_BITS = 4096
"""Size of the numerator and the denominator of a number."""

_NO_SYMBOLS = Vocabulary({})
_NUMERAL = re.compile(r"[.,]?[0-9](?:[0-9.,_']| (?=[0-9]))*")
_GROUPS = r"[1-9][0-9]{{0,2}}(?P<mark>[{group} '_])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
NUMERALS: Mapping[str, re.Pattern[str]] = {
    mark: re.compile(
        rf"(?P<whole>[0-9]+(?:_[0-9]+)*|{_GROUPS.format(group=group)})?(?:[{point}](?P<part>[0-9]*))?",
    )
    for mark, point, group in (("point", ".", ","), ("comma", ",", "."))
}
"""Convention for decimals → pattern of a number."""
_TIMES = re.compile(r"(?<=[0-9)])\s*[xX]\s*(?=[0-9(])")
_TOO_LARGE = frozenset(("number-too-long", "number-too-large", "exponent-too-large", "too-deep"))


def normalise_numerals(text: str, pattern: re.Pattern[str]) -> str | None:
    """Return the text with every numeral in program notation; None if one does not fit the convention."""
    parts: list[str] = []
    end = 0
    for match in _NUMERAL.finditer(text):
        numeral = pattern.fullmatch(match.group())
        if numeral is None:
            return None
        # All grouping marks are removed; the pattern has checked that they are consistent.
        whole = re.sub("[^0-9]", "", numeral["whole"] or "0")
        parts += (text[end : match.start()], whole, f".{numeral['part']}" if numeral["part"] else "")
        end = match.end()
    return _TIMES.sub("*", "".join((*parts, text[end:])))


def parse_value(text: str) -> Fraction:
    """Return the value of a number, or of a formula of numbers.

    Raises:
        Unreadable: ``not-a-number`` or ``number-too-large``.
    """
    try:
        value = evaluate_constant(parse(text, _NO_SYMBOLS))
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


def compute_half_unit(number: Fraction, digits: int) -> Fraction:
    """Return half a unit in the last of the given number of significant digits."""
    return Fraction(10) ** (_find_leading_power(number) - digits + 1) / 2 if number else Fraction(0)


def count_significant_digits(number: Fraction) -> int:
    """Return the number of digits without zeros at either end; 0 if the decimals do not end."""
    numerator, denominator = abs(number.numerator), number.denominator
    # Decimals end if the denominator has no prime factors other than 2 and 5.
    twos = (denominator & -denominator).bit_length() - 1
    odd, fives = denominator >> twos, 0
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    if odd != 1:
        return 0
    shift = max(twos, fives)
    return len(str(numerator * 10**shift // denominator).rstrip("0"))


def _find_leading_power(number: Fraction) -> int:
    """Return the power of ten of the first digit."""
    size = abs(number)
    power = len(str(size.numerator)) - len(str(size.denominator))
    return power if size >= Fraction(10) ** power else power - 1
