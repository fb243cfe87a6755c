"""Sentences about numbers with units: how one was read, and what is wrong, without the right number."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {
    "quantity.bool": {
        "en": "{what} is {value}; a number is asked for.",
        "de": "{what} ist {value}; gefragt ist eine Zahl.",
    },
    "quantity.form": {
        "en": '{what} is a “{form}”; a number is asked for, or a text such as "4.5 MB".',
        "de": '{what} ist ein „{form}“; gefragt ist eine Zahl oder ein Text wie "4.5 MB".',
    },
    "quantity.comma": {
        "en": "{what}: in Python, a comma makes a “{form}” of two numbers. Write a point before decimals.",
        "de": "{what}: in Python macht ein Komma aus zwei Zahlen ein „{form}“. Bitte vor Dezimalen einen "
        "Punkt schreiben.",
    },
    "quantity.not-finite": {
        "en": "{what} is not a finite number.",
        "de": "{what} ist keine endliche Zahl.",
    },
    "quantity.no-number": {
        "en": "{what}: there is no number in “{value}”. Write it as in 4.5 MB.",
        "de": "{what}: in „{value}“ steht keine Zahl. Bitte schreiben wie in 4.5 MB.",
    },
    "quantity.not-a-number": {
        "en": "{what}: “{value}” cannot be read as one number with a unit. Write it as in 1234567, "
        "4.5 MB or 1.2e9 FLOPs.",
        "de": "{what}: „{value}“ ist nicht als eine Zahl mit Einheit lesbar. Bitte schreiben wie in 1234567, "
        "4.5 MB oder 1.2e9 FLOPs.",
    },
    "quantity.too-large": {
        "en": "{what} is far too large a number.",
        "de": "{what} ist eine viel zu große Zahl.",
    },
    "quantity.too-long": {
        "en": "{what} is longer than {limit} characters; write one number with its unit.",
        "de": "{what} hat mehr als {limit} Zeichen; gefragt ist eine Zahl mit Einheit.",
    },
    "quantity.unknown-unit": {
        "en": "{what}: the unit “{name}” is not known. Known are, for example, M parameters, tokens, "
        "MB, MiB, GFLOPs, s and %.",
        "de": "{what}: die Einheit „{name}“ ist nicht bekannt. Bekannt sind zum Beispiel Mio. Parameter, "
        "Tokens, MB, MiB, GFLOPs, s und %.",
    },
    "quantity.unknown-unit-near": {
        "en": "{what}: the unit “{name}” is not known. Did you mean “{suggestion}”?",
        "de": "{what}: die Einheit „{name}“ ist nicht bekannt. War „{suggestion}“ gemeint?",
    },
    "quantity.ambiguous": {
        "en": "{what}: is “{value}” {first} or {second}? Write it so that it can only be read in one way.",
        "de": "{what}: ist „{value}“ {first} oder {second}? Bitte so schreiben, dass es nur eine Lesart "
        "gibt.",
    },
    "quantity.dimension": {
        "en": "{what}: {value} measures something else than what is asked for.",
        "de": "{what}: {value} misst etwas anderes, als gefragt ist.",
    },
    "quantity.unit-missing": {
        "en": "{what}: {number} lacks its unit; without one the number can mean anything.",
        "de": "{what}: bei {number} fehlt die Einheit; ohne sie kann die Zahl alles bedeuten.",
    },
    "quantity.unit-forbidden": {
        "en": "{what}: the number alone is asked for, in the unit that the question names; {value} has one.",
        "de": "{what}: gefragt ist nur die Zahl, in der Einheit aus der Frage; bei {value} steht eine.",
    },
    "quantity.sign": {
        "en": "{what}: {value} has the wrong sign.",
        "de": "{what}: {value} hat das falsche Vorzeichen.",
    },
    "quantity.percent": {
        "en": "{what}: {value} is off by the factor 100: was a percentage taken for a ratio, or a "
        "ratio for a percentage?",
        "de": "{what}: {value} liegt um den Faktor 100 daneben: wurde ein Prozentwert für ein Verhältnis "
        "gehalten oder umgekehrt?",
    },
    "quantity.binary-prefix": {
        "en": "{what}: {value} mixes up two kinds of prefixes: 1 kB = 1000 bytes, 1 KiB = 1024 bytes, and so "
        "on.",
        "de": "{what}: {value} verwechselt zwei Arten von Vorsätzen: 1 kB = 1000 Byte, 1 KiB = 1024 Byte, "
        "und so weiter.",
    },
    "quantity.bits-for-bytes": {
        "en": "{what}: {value} is off by the factor 8: were bits taken for bytes (b is a bit, B a byte)?",
        "de": "{what}: {value} liegt um den Faktor 8 daneben: wurden Bit und Byte verwechselt (b ist ein "
        "Bit, B ein Byte)?",
    },
    "quantity.thousand": {
        "en": "{what}: {value} is off by a whole prefix, as from mega to giga. Check it, and any marks "
        "between digits.",
        "de": "{what}: {value} liegt um einen ganzen Vorsatz daneben, wie von Mega zu Giga. Bitte prüfen, "
        "auch die Zeichen zwischen den Ziffern.",
    },
    "quantity.power-of-ten": {
        "en": "{what}: {value} has the right digits, but is off by a power of ten.",
        "de": "{what}: {value} hat die richtigen Ziffern, liegt aber um eine Zehnerpotenz daneben.",
    },
    "quantity.inverse": {
        "en": "{what}: {value} is the wrong way round: which number is divided by which?",
        "de": "{what}: {value} ist verkehrt herum: welche Zahl wird durch welche geteilt?",
    },
    "quantity.digits": {
        "en": "{what}: {value} is right as far as it goes, but more digits are asked for.",
        "de": "{what}: {value} stimmt, so weit es reicht, gefragt sind aber mehr Stellen.",
    },
    "quantity.rounding": {
        "en": "{what}: {value} is nearly right: check how the last digit was rounded.",
        "de": "{what}: {value} stimmt fast: bitte prüfen, wie die letzte Stelle gerundet wurde.",
    },
    "quantity.wrong": {
        "en": "{what}: {value} is not right.",
        "de": "{what}: {value} ist nicht richtig.",
    },
}
