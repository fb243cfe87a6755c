"""Sentences about numbers: how one was read, and its faults, without the right number."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "number.bool": "{what} is {value}; a number is expected.",
    "number.form": '{what} is a “{form}”; a number is expected, or a text such as "1234" or "4.5 MB".',
    "number.comma": (
        "{what}: in Python, a comma makes a “{form}” of two numbers. Write a point before decimals."
    ),
    "number.not-finite": "{what} is not a finite number.",
    "number.contradiction": "{what}: the numbers in “{value}” are not equal. Write a single number.",
    "number.whole": "{what} is {value}; a whole number is expected.",
    "number.no-number": "{what}: there is no number in “{value}”. Write it as in 1234567 or 4.5 MB.",
    "number.not-a-number": (
        "{what}: “{value}” cannot be read as one number. Write it as in 1234567, 4.5 MB or 1.2e9 FLOPs."
    ),
    "number.too-large": "{what} is too large a number to be read.",
    "number.too-long": "{what} is longer than {limit} characters; write one number with its unit.",
    "number.unknown-unit": (
        "{what}: the unit “{name}” is not known. Known units include M parameters, tokens, MB, MiB, GFLOPs, "
        "s and %."
    ),
    "number.unknown-unit-near": "{what}: the unit “{name}” is not known. Did you mean “{suggestion}”?",
    "number.ambiguous": (
        "{what}: is “{value}” {first} or {second}? Write it in a way that can be read only one way."
    ),
    "number.dimension": "{what}: {value} is not the kind of quantity that is asked for.",
    "number.unit-missing": "{what}: {number} has no unit. Add it, because the number alone is ambiguous.",
    "number.unit-forbidden": (
        "{what}: write the number alone, in the unit that the question names; {value} includes a unit."
    ),
    "number.sign": "{what}: {value} has the wrong sign.",
    "number.percent": "{what}: {value} is off by a factor of 100. Did you confuse a percentage and a ratio?",
    "number.binary-prefix": (
        "{what}: {value} is off by the difference between decimal and binary prefixes: 1 kB = 1000 bytes, 1 "
        "KiB = 1024 bytes, and so on."
    ),
    "number.bits-for-bytes": (
        "{what}: {value} is off by a factor of 8. Did you confuse bits and bytes (b is a bit, B a byte)?"
    ),
    "number.thousand": (
        "{what}: {value} is off by one or more prefixes, such as mega for giga. Check the prefix, and any "
        "separators between digits."
    ),
    "number.power-of-ten": "{what}: {value} has the right digits, but is off by a power of ten.",
    "number.inverse": "{what}: {value} is the wrong way round. Which number is divided by which?",
    "number.digits": "{what}: {value} is right as far as it goes, but more digits are asked for.",
    "number.rounding": "{what}: {value} is nearly right. Check how you rounded the last digit.",
    "number.wrong": "{what}: {value} is not right.",
}
