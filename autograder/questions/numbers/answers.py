"""Parse a number with the usual text around it: ``497.8 MB (475 MiB)``, ``0 (tied)``, ``768*3+3 = 2307``.

An answer is split at equals signs, between sentences, and before a bracket after a number. Its parts must
agree: one of them is the answer, and every other one is the same number or a rounding of it. Words without a
number are ignored, unless they are the unit or change the number.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.decoration import remove_unit
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.questions.numbers.numerals import compute_half_unit, count_significant_digits
from autograder.questions.numbers.quantities import (
    ABOUT,
    MAX_CHARS,
    DecimalMark,
    Quantity,
    ReadQuantity,
    clean_text,
    find_opening,
    keep_whole,
    read_quantity,
)
from autograder.questions.numbers.units import Unit

MAX_PARTS = 8
_NO_SYMBOLS = Vocabulary({})
_BETWEEN = re.compile(
    r"[≈∼≃≅]|\\(?:approx|simeq|sim|cong)(?![A-Za-z])|=+|;|[,.:](?=\s)|(?<=\s)[-–—]\s(?=[^\W\d_])"
)
_NUMERAL = re.compile(r"(?<!\w)(?<![^\W\d_]-)[0-9]|[½¼¾]")
"""A digit, but not one of ``float32`` or ``GPT-2``."""
_BEFORE_REMARK = re.compile(r"(?:[0-9]|[\w%)\]]\s)\Z")
_ANOTHER = re.compile(r"\b(?:or|oder|bzw|plus|minus|times|mal)\b", re.IGNORECASE)
"""Words that change the number."""


def read_number(text: str, expected_unit: Unit, mark: DecimalMark = "either") -> ReadQuantity:
    """Parse a number with or without a unit, and the text around it.

    Args:
        text: the answer as it was written.
        expected_unit: the expected unit; a number without a unit counts in it.
        mark: the convention for decimals.

    Raises:
        Unreadable: see `read_quantity`; ``contradiction`` if two parts disagree.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    pieces = list(_split_parts(clean_text(text), is_rough=_is_about(text.strip(" $`*_"))))
    # The usual case: no text around the number.
    if len(pieces) == 1:
        return _read_part(text, expected_unit, mark)
    try:
        parts = list(_read_parts(pieces, expected_unit, mark))
        agreed = _find_agreeing(parts, expected_unit)
    except Unreadable as error:
        with contextlib.suppress(Unreadable):  # 3 (768 + 1) is probably a product
            whole = read_quantity(text, expected_unit, mark)
            doubt = "contradiction" if error.code == "contradiction" else whole.doubt
            return ReadQuantity(whole.readings, whole.settled, text, whole.rough, doubt)
        raise
    if len(parts) == 1:
        return ReadQuantity(parts[0].readings, parts[0].settled, text, parts[0].rough, parts[0].doubt)
    return ReadQuantity(agreed, settled=len(agreed) == 1, text=text)


def _split_parts(text: str, *, is_rough: bool) -> Iterator[tuple[str, bool]]:
    """Yield the parts of an answer, each with a flag for a rounded number."""
    depth, start = 0, 0
    depths = []
    # Signs inside brackets do not split an answer.
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        depths.append(depth)
    for match in _BETWEEN.finditer(text):
        if depths[match.start()] == 0:
            yield from _split_remark(text[start : match.start()], is_rough)
            start, is_rough = match.end(), match.group()[0] in "≈∼≃≅\\"
    yield from _split_remark(text[start:], is_rough)


def _split_remark(text: str, is_rough: bool) -> Iterator[tuple[str, bool]]:  # noqa: FBT001 - as above
    """Yield a part and the text in brackets after it."""
    text = text.strip(" .")
    opening = find_opening(text)
    before = text[: max(opening, 0)]
    if _BEFORE_REMARK.search(before) and _NUMERAL.search(before):
        yield from _split_remark(before, is_rough)
        inside = text[opening + 1 : -1]
        yield from _split_parts(inside, is_rough=_is_about(inside))
    elif text:
        yield text, is_rough


def _is_about(text: str) -> bool:
    """Return whether a text begins with a sign or a word for a rounded number."""
    match = ABOUT.match(text)
    return match is not None and match.group().strip(" =") != ""


def _read_parts(
    pieces: Sequence[tuple[str, bool]], expected_unit: Unit, mark: DecimalMark
) -> Iterator[ReadQuantity]:
    """Yield the parsed parts that contain a number.

    Raises:
        Unreadable: a part cannot be parsed, there is none, or words change the number.
    """
    numbers: list[tuple[str, bool]] = []
    for piece, is_rough in pieces:
        if _NUMERAL.search(piece):
            numbers.append((piece, is_rough))
        elif _ANOTHER.search(piece):
            raise Unreadable("not-a-number", 0, text=piece)
        elif numbers:
            last, rough = numbers[-1]
            with contextlib.suppress(Unreadable):
                if not read_quantity(last, expected_unit, mark).readings[0].has_unit:
                    read_quantity(f"{last} {piece}", expected_unit, mark)
                    numbers[-1] = f"{last} {piece}", rough
    if not 0 < len(numbers) <= MAX_PARTS:
        raise Unreadable("not-a-number" if numbers else "no-number", 0)
    for piece, is_rough in numbers:
        read = _read_part(piece, expected_unit, mark)
        yield ReadQuantity(read.readings, read.settled, piece, read.rough or is_rough, read.doubt)


def _read_part(text: str, expected_unit: Unit, mark: DecimalMark) -> ReadQuantity:
    """Parse one number; if none has a unit, words for the counted quantity may follow a whole one."""
    bare = text if expected_unit.text else remove_unit(text, _NO_SYMBOLS)
    if bare != text:
        read = keep_whole(read_quantity(bare, expected_unit, mark))
        if read.readings[0].amount.denominator == 1:
            return ReadQuantity(read.readings, read.settled, text, read.rough, read.doubt)
    return read_quantity(text, expected_unit, mark)


def _find_agreeing(parts: Sequence[ReadQuantity], expected_unit: Unit) -> tuple[Quantity, ...]:
    """Return the readings of any part that all other parts are equal to, or roundings of.

    Raises:
        Unreadable: there is none.
    """
    units = {
        (quantity.factor, quantity.dimension, quantity.unit)
        for part in parts
        for quantity in part.readings
        if quantity.has_unit
    }
    readings = [
        [
            *part.readings,
            # In 124439808*4 = 497759232 bytes the first number has the unit of the second one.
            *(
                Quantity(quantity.number, *unit, has_unit=True)
                for quantity in part.readings
                if quantity.unit == expected_unit.text and not quantity.has_unit
                for unit in units
            ),
        ]
        for part in parts
    ]
    agreeing: dict[object, Quantity] = {}
    for candidates in readings:
        pairs = zip(parts, readings)  # noqa: B905 - also runs on old versions of Python
        other_parts = [(part, theirs) for part, theirs in pairs if theirs is not candidates]
        for quantity in candidates:
            if all(
                any(_is_rounding(other, quantity, is_rough=part.rough) for other in theirs)
                for part, theirs in other_parts
            ):
                chosen = agreeing.setdefault((quantity.amount, quantity.dimension), quantity)
                # Of equal readings, the one with an explicit unit is kept.
                if quantity.has_unit and not chosen.has_unit:
                    agreeing[quantity.amount, quantity.dimension] = quantity
    if not agreeing:
        raise Unreadable("contradiction", 0)
    return tuple(agreeing.values())


def _is_rounding(rounded: Quantity, exact: Quantity, *, is_rough: bool) -> bool:
    """Return whether a quantity is another one, or the same with fewer digits."""
    if rounded.dimension != exact.dimension:
        return False
    off = abs(rounded.number - exact.amount / rounded.factor)
    digits = count_significant_digits(rounded.number) if is_rough or rounded.number.denominator != 1 else 0
    return off <= (compute_half_unit(rounded.number, digits) if digits else 0)
