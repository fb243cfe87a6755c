"""Sentences about numbers with units: how one was read, and what is wrong, without the right number."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "quantity.bool": "{what} is {value}; a number is asked for.",
    "quantity.form": '{what} is a “{form}”; a number is asked for, or a text such as "4.5 MB".',
    "quantity.comma": (
        "{what}: in Python, a comma makes a “{form}” of two numbers. Write a point before decimals."
    ),
    "quantity.not-finite": "{what} is not a finite number.",
    "quantity.no-number": "{what}: there is no number in “{value}”. Write it as in 4.5 MB.",
    "quantity.not-a-number": (
        "{what}: “{value}” cannot be read as one number with a unit. Write it as in 1234567, 4.5 MB or 1.2e9 "
        "FLOPs."
    ),
    "quantity.too-large": "{what} is far too large a number.",
    "quantity.too-long": "{what} is longer than {limit} characters; write one number with its unit.",
    "quantity.unknown-unit": (
        "{what}: the unit “{name}” is not known. Known are, for example, M parameters, tokens, MB, MiB, "
        "GFLOPs, s and %."
    ),
    "quantity.unknown-unit-near": "{what}: the unit “{name}” is not known. Did you mean “{suggestion}”?",
    "quantity.ambiguous": (
        "{what}: is “{value}” {first} or {second}? Write it so that it can only be read in one way."
    ),
    "quantity.dimension": "{what}: {value} measures something else than what is asked for.",
    "quantity.unit-missing": "{what}: {number} lacks its unit; without one the number can mean anything.",
    "quantity.unit-forbidden": (
        "{what}: the number alone is asked for, in the unit that the question names; {value} has one."
    ),
    "quantity.sign": "{what}: {value} has the wrong sign.",
    "quantity.percent": (
        "{what}: {value} is off by the factor 100: was a percentage taken for a ratio, or a ratio for a "
        "percentage?"
    ),
    "quantity.binary-prefix": (
        "{what}: {value} mixes up two kinds of prefixes: 1 kB = 1000 bytes, 1 KiB = 1024 bytes, and so on."
    ),
    "quantity.bits-for-bytes": (
        "{what}: {value} is off by the factor 8: were bits taken for bytes (b is a bit, B a byte)?"
    ),
    "quantity.thousand": (
        "{what}: {value} is off by one prefix or several, such as mega for giga. Check it, and any marks "
        "between digits."
    ),
    "quantity.power-of-ten": "{what}: {value} has the right digits, but is off by a power of ten.",
    "quantity.inverse": "{what}: {value} is the wrong way round: which number is divided by which?",
    "quantity.digits": "{what}: {value} is right as far as it goes, but more digits are asked for.",
    "quantity.rounding": "{what}: {value} is nearly right: check how the last digit was rounded.",
    "quantity.wrong": "{what}: {value} is not right.",
}
