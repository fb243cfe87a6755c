"""Sentences about numbers: how one was read, and its faults, without the right number."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "number.bool": "{what} is {value}; a number is asked for.",
    "number.form": '{what} is a “{form}”; a number is asked for, or a text such as "1234" or "4.5 MB".',
    "number.comma": (
        "{what}: in Python, a comma makes a “{form}” of two numbers. Write a point before decimals."
    ),
    "number.not-finite": "{what} is not a finite number.",
    "number.contradiction": (
        "{what}: the numbers in “{value}” are not the same. Write one number, or only what is equal to it."
    ),
    "number.whole": "{what} is {value}; a whole number is asked for.",
    "number.no-number": "{what}: there is no number in “{value}”. Write it as in 1234567 or 4.5 MB.",
    "number.not-a-number": (
        "{what}: “{value}” cannot be read as one number. Write it as in 1234567, 4.5 MB or 1.2e9 FLOPs."
    ),
    "number.too-large": "{what} is far too large a number.",
    "number.too-long": "{what} is longer than {limit} characters; write one number with its unit.",
    "number.unknown-unit": (
        "{what}: the unit “{name}” is not known. Known are, for example, M parameters, tokens, MB, MiB, "
        "GFLOPs, s and %."
    ),
    "number.unknown-unit-near": "{what}: the unit “{name}” is not known. Did you mean “{suggestion}”?",
    "number.ambiguous": (
        "{what}: is “{value}” {first} or {second}? Write it so that it can only be read in one way."
    ),
    "number.dimension": "{what}: {value} measures something else than what is asked for.",
    "number.unit-missing": "{what}: {number} lacks its unit; without one the number can mean anything.",
    "number.unit-forbidden": (
        "{what}: the number alone is asked for, in the unit that the question names; {value} has one."
    ),
    "number.sign": "{what}: {value} has the wrong sign.",
    "number.percent": (
        "{what}: {value} is off by the factor 100: was a percentage taken for a ratio, or a ratio for a "
        "percentage?"
    ),
    "number.binary-prefix": (
        "{what}: {value} mixes up two kinds of prefixes: 1 kB = 1000 bytes, 1 KiB = 1024 bytes, and so on."
    ),
    "number.bits-for-bytes": (
        "{what}: {value} is off by the factor 8: were bits taken for bytes (b is a bit, B a byte)?"
    ),
    "number.thousand": (
        "{what}: {value} is off by one prefix or several, such as mega for giga. Check it, and any marks "
        "between digits."
    ),
    "number.power-of-ten": "{what}: {value} has the right digits, but is off by a power of ten.",
    "number.inverse": "{what}: {value} is the wrong way round: which number is divided by which?",
    "number.digits": "{what}: {value} is right as far as it goes, but more digits are asked for.",
    "number.rounding": "{what}: {value} is nearly right: check how the last digit was rounded.",
    "number.wrong": "{what}: {value} is not right.",
}
