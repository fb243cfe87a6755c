"""Units of measurement: parameters, tokens, bytes and bits, floating point operations, seconds, ratios.

SI prefixes (k = 1000) and binary prefixes (Ki = 1024) are distinguished, and so are bits and bytes. A
spelling with two usual meanings (``mb``, ``FLOPS``, ``Billion``) gives both readings; the code that parses a
quantity knows which of them can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from msgspec import Struct

from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.vocabulary import is_typo

MAX_CHARS = 80
MAX_WORDS = 8
"""Limit on words and signs in one unit."""

Dimension = tuple[tuple[str, int], ...]
"""Base quantities with their exponents, sorted: ``(("flop", 1), ("second", -1))``. Empty: a pure number."""

_SMALLEST: Mapping[str, int] = {"parameter": 1, "token": 1, "flop": 1, "byte": 8}
"""Countable base quantity → number of indivisible parts (a byte has bits)."""
_BASE_TEXTS: Mapping[str, str] = {
    "byte": "B", "flop": "FLOP", "parameter": "parameters", "second": "s", "token": "tokens",
}  # fmt: skip


class Unit(Struct, frozen=True):
    """A unit, exact.

    Attributes:
        text: the unit as it is printed, e.g. ``"MB"``.
        factor: number of base quantities; that of information is the byte.
        dimension: the measured dimension.
    """

    text: str
    factor: Fraction
    dimension: Dimension = ()


class UnitReading(Struct, frozen=True):
    """One interpretation of the text after a number.

    Attributes:
        unit: None if there is only a word such as "million", a bare prefix, or no text at all.
        scale: the number that such a word or prefix denotes.
        scale_text: that word.
    """

    unit: Unit | None = None
    scale: int = 1
    scale_text: str = ""


_BYTE: Dimension = (("byte", 1),)
_FLOP: Dimension = (("flop", 1),)
_RATE: Dimension = (("flop", 1), ("second", -1))

PREFIXES: Mapping[str, int] = {
    **{prefix: 1000**power for power, prefix in enumerate("kMGTPE", start=1)},
    **{prefix: 1024**power for power, prefix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}
_LONG_PREFIXES: Mapping[str, str] = {
    "kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E",
    "kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti", "pebi": "Pi", "exbi": "Ei",
}  # fmt: skip
_SMALL_PREFIXES: Mapping[str, int] = {"m": 10**3, "µ": 10**6, "u": 10**6, "n": 10**9}
_LONG_SMALL_PREFIXES: Mapping[str, str] = {"milli": "m", "micro": "µ", "mikro": "µ", "nano": "n"}

_PARAMETERS = (Unit("parameters", Fraction(1), (("parameter", 1),)),)
_TOKENS = (Unit("tokens", Fraction(1), (("token", 1),)),)
_BYTES = (Unit("B", Fraction(1), _BYTE),)
_BITS = (Unit("bit", Fraction(1, 8), _BYTE),)
_OPERATIONS = (Unit("FLOP", Fraction(1), _FLOP),)
# FLOPS are operations in one convention and operations per second in another: the question decides.
_FLOPS = (*_OPERATIONS, Unit("FLOP/s", Fraction(1), _RATE))

_BASES: tuple[tuple[tuple[str, ...], tuple[Unit, ...]], ...] = (
    (("parameters", "parameter", "parametern", "params", "param", "weights", "gewichte"), _PARAMETERS),
    (("tokens", "token", "tok"), _TOKENS),
    (("bytes", "byte"), _BYTES),
    (("bits", "bit"), _BITS),
    (("flops", "flop"), _FLOPS),
    (("operations", "operation", "operationen", "ops"), _OPERATIONS),
)
"""Words, written in any case."""
_SYMBOLS = (("B", _BYTES), ("b", _BITS), ("F", _FLOPS))
"""Letters; ``F`` occurs in PF-days."""
_TIMES: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("s", 1, ("s", "sec", "secs", "second", "seconds", "sekunde", "sekunden", "sek")),
    ("min", 60, ("min", "mins", "minute", "minutes", "minuten")),
    ("h", 3600, ("h", "hr", "hrs", "hour", "hours", "stunde", "stunden", "std")),
    ("days", 86400, ("d", "day", "days", "tag", "tage", "tagen")),
)
_RATIOS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("%", 100, ("%", "percent", "percentage", "prozent", "pct")),
    ("‰", 1000, ("‰",)),
)

SCALES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("thousand", "tausend", "tsd"), (10**3,)),
    **dict.fromkeys(("million", "millions", "millionen", "mio", "mln"), (10**6,)),
    **dict.fromkeys(("billion", "billions", "bn", "milliarde", "milliarden", "mrd"), (10**9,)),
    **dict.fromkeys(("trillion", "trillions", "billionen"), (10**12,)),
}
"""Words for large numbers, in any case, in English and German."""
_GERMAN_BILLION = ("Billion", (10**9, 10**12))
_INFORMAL: Mapping[str, int] = {"B": 10**9, "b": 10**9, "m": 10**6}
"""Letters for large numbers of counted things: ``1.5B parameters``."""

_PHRASES = (
    (re.compile(r"floating[ -]?point[ -]?operations?|gleitkomma-?operation(en)?", re.IGNORECASE), " FLOP "),
    (re.compile(r"\bper[ -]cent\b", re.IGNORECASE), " % "),
)
_WORD = re.compile(r"[^\W\d_]+|[/%‰*·⋅×-]")
_OVER = frozenset(("/", "per", "pro", "je"))
_TIMES_SIGNS = frozenset(("*", "·", "⋅", "×", "-"))


def read_unit(text: str) -> tuple[UnitReading, ...]:
    """Parse the text after a number, or a unit in a rubric.

    Returns:
        Every interpretation, at least one, the most literal first.

    Raises:
        Unreadable: ``unknown-unit`` with ``name`` and ``suggestion``.
    """
    words = _split_words(text)
    if not words:
        return (UnitReading(),)
    readings = [UnitReading(unit) for unit in _find_units(words)]
    remaining = words[2:] if words[1:2] == ["-"] else words[1:]
    for scale in _find_scales(words[0]):
        if not remaining:
            readings.append(UnitReading(None, scale, words[0]))
        readings.extend(UnitReading(unit, scale, words[0]) for unit in _find_units(remaining))
    if not readings:
        name = next((word for word in words if not _is_known(word)), words[0])
        raise Unreadable("unknown-unit", max(text.find(name), 0), name=name, suggestion=_suggest_word(name))
    return tuple(readings)


def read_single_unit(text: str) -> Unit:
    """Parse the unit in a rubric, which must have one meaning; ``"million parameters"`` is a unit, too.

    Raises:
        Unreadable: ``unknown-unit``, or ``two-units`` with the ``first`` and ``second`` meaning.
    """
    readings = read_unit(text)
    units = []
    for reading in readings:
        unit = reading.unit or Unit("", Fraction(1))
        name = f"{reading.scale_text} {unit.text}".strip()
        units.append(Unit(name, unit.factor * reading.scale, unit.dimension))
    # A reading with a unit takes precedence over a bare scale.
    named = [unit for unit, origin in zip(units, readings, strict=True) if origin.unit is not None] or units
    same = [unit for unit in named if unit.dimension == named[0].dimension]
    if any(unit.factor != same[0].factor for unit in same):
        raise Unreadable("two-units", 0, name=text, first=same[0].text, second=same[1].text)
    return same[0]


def format_base_unit(dimension: Dimension) -> str:
    """Format the unit of a dimension in which every factor is 1."""
    above = "·".join(_BASE_TEXTS[base] for base, power in dimension if power > 0)
    return "/".join((above, *(_to_singular(_BASE_TEXTS[base]) for base, power in dimension if power < 0)))


def is_possible(amount: Fraction, dimension: Dimension) -> bool:
    """Return whether an amount is possible: countable things have no fractions."""
    # Rates and durations may have fractions.
    bases = dict(dimension)
    if "second" in bases:
        return True
    return all((amount * parts).denominator == 1 for base, parts in _SMALLEST.items() if bases.get(base) == 1)


def _split_words(text: str) -> list[str]:
    if len(text) > MAX_CHARS:
        raise Unreadable("unknown-unit", 0, name=text[:40], suggestion="")
    plain = text.replace("\u03bc", "µ")
    for pattern, replacement in _PHRASES:
        plain = pattern.sub(replacement, plain)
    words = _WORD.findall(plain)
    unread = _WORD.sub("", plain).strip(" .\t\r\n")
    # Any character that is not part of a word or sign makes the unit unknown.
    if unread or len(words) > MAX_WORDS:
        raise Unreadable("unknown-unit", 0, name=text.strip()[:40], suggestion="")
    return words[1:] if words[:1] == ["-"] else words  # 7-B, 124-million


def _find_scales(word: str) -> tuple[int, ...]:
    if word == _GERMAN_BILLION[0]:
        return _GERMAN_BILLION[1]
    if word.lower() in SCALES:
        return SCALES[word.lower()]
    if word in _INFORMAL:
        return (_INFORMAL[word],)
    prefix = "k" if word == "K" else word
    return (PREFIXES[prefix],) if prefix in PREFIXES else ()


def _find_units(words: list[str]) -> list[Unit]:
    """Return every unit that a sequence of words may mean: factors joined by a sign, ``per`` or nothing."""
    factors: list[tuple[Unit, ...]] = []
    signs: list[int] = []
    sign, complete = 1, False
    for word in words:
        if word in _OVER or word in _TIMES_SIGNS:
            if not complete:
                return []
            sign, complete = -1 if word in _OVER else 1, False
            continue
        atoms = _find_atoms(word)
        if not atoms:
            return []
        factors.append(atoms)
        signs.append(sign)
        sign, complete = 1, True
    if not complete:
        return []
    joined = dict.fromkeys(_join_units(chosen, signs) for chosen in product(*factors))
    return [unit for unit in joined if _is_sensible(unit.dimension)]


def _to_singular(text: str) -> str:
    """Return the singular: ``B/token``."""
    return text.removesuffix("s") if len(text) > 4 else text


def _is_sensible(dimension: Dimension) -> bool:
    """Return whether a dimension is one quantity, alone or per another: no products of quantities."""
    return all(abs(power) == 1 for _, power in dimension) and sum(power > 0 for _, power in dimension) < 2


def _join_units(units: tuple[Unit, ...], signs: list[int]) -> Unit:
    factor, text = Fraction(1), ""
    powers: dict[str, int] = {}
    for unit, sign in zip(units, signs, strict=True):
        factor *= unit.factor**sign
        text += f"/{_to_singular(unit.text)}" if sign < 0 else f"{'·' if text else ''}{unit.text}"
        for base, power in unit.dimension:
            powers[base] = powers.get(base, 0) + sign * power
    return Unit(text, factor, tuple(sorted((base, power) for base, power in powers.items() if power)))


def _find_atoms(word: str) -> tuple[Unit, ...]:
    """Return the units that one word may denote, the most literal first."""
    exact = _EXACT.get(word)
    if exact is not None:
        return exact
    units = _FOLDED.get(word.lower(), ())
    return tuple(unit for unit in units if unit.text[-1] == "B") if word[-1] == "B" else units  # GIB


def _is_known(word: str) -> bool:
    return bool(_find_atoms(word) or _find_scales(word) or word in _OVER or word in _TIMES_SIGNS)


def _suggest_word(word: str) -> str:
    """Return the most similar known word; empty if none is close."""
    return next((candidate for candidate in _generate_suggestions() if is_typo(word.lower(), candidate)), "")


def _generate_suggestions() -> Iterator[str]:
    """Yield words that are written out; abbreviations resemble too many other words."""
    for names, _ in _BASES:
        yield from names
        yield from (prefix + name for prefix in _LONG_PREFIXES for name in names)
    for _, _, words in (*_TIMES, *_RATIOS):
        yield from words
    yield from SCALES


def _with_prefix(prefix: str, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    between = " " if units in (_PARAMETERS, _TOKENS) else ""
    return tuple(
        Unit(f"{prefix}{between}{unit.text}", PREFIXES[prefix] * unit.factor, unit.dimension)
        for unit in units
    )


def _generate_symbols() -> Iterator[tuple[str, tuple[Unit, ...]]]:
    """Yield spellings in which the case of letters matters."""
    for symbol, units in _SYMBOLS:
        if symbol != "F":
            yield symbol, units
        for prefix in PREFIXES:
            prefixed = _with_prefix(prefix, units)
            yield prefix + symbol, prefixed
            if prefix == "k":
                yield f"K{symbol}", prefixed
    for prefix, divisor in _SMALL_PREFIXES.items():
        # Both u and µ are printed as µ.
        text = "µs" if prefix == "u" else f"{prefix}s"
        yield f"{prefix}s", (Unit(text, Fraction(1, divisor), (("second", 1),)),)


def _generate_words() -> Iterator[tuple[str, tuple[Unit, ...]]]:
    """Yield spellings in any case."""
    for names, units in _BASES:
        for name in names:
            yield name, units
            for spelling, prefix in (*_LONG_PREFIXES.items(), *((prefix, prefix) for prefix in PREFIXES)):
                yield (spelling + name).lower(), _with_prefix(prefix, units)
    for text, seconds, names in _TIMES:
        for name in names:
            yield name, (Unit(text, Fraction(seconds), (("second", 1),)),)
    for spelling, prefix in _LONG_SMALL_PREFIXES.items():
        unit = Unit(f"{prefix}s", Fraction(1, _SMALL_PREFIXES[prefix]), (("second", 1),))
        # All spellings of the second except "s": millis is not a unit.
        for name in _TIMES[0][2][1:]:
            yield spelling + name, (unit,)
    for text, parts, names in _RATIOS:
        for name in names:
            yield name, (Unit(text, Fraction(1, parts)),)


def _build_folded() -> dict[str, tuple[Unit, ...]]:
    """Return lower-case spellings; ``mb`` may be a megabyte or a megabit."""
    table: dict[str, tuple[Unit, ...]] = {}
    for spelling, units in _generate_words():
        table.setdefault(spelling, units)
    for spelling, units in _generate_symbols():
        if units[0].dimension != (("second", 1),):
            table[spelling.lower()] = tuple(dict.fromkeys((*table.get(spelling.lower(), ()), *units)))
    return table


_EXACT: Mapping[str, tuple[Unit, ...]] = {
    # In lower case, b and B are often confused, so kb may be either.
    spelling: units
    for spelling, units in _generate_symbols()
    if not (spelling.islower() and units[0].dimension == _BYTE)
}
_FOLDED: Mapping[str, tuple[Unit, ...]] = _build_folded()
