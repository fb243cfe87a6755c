"""Sentences about how a wrong formula differs from the right one.

They name only what the student wrote, and claim no more than what was proven: that with one thing changed
the formula would be right. A key is ``diagnosis.<code>``, followed by what may be named: ``.term`` and
``.part`` for a term and another part of the student's formula, ``.symbol``, ``.number``, ``.name`` for a
function, ``.first`` for two swapped symbols.
"""

from __future__ import annotations

from autograder.records import Text

_FORMULAS: dict[str, Text] = {
    "sign": {
        "en": "The sign is not right.",
        "de": "Das Vorzeichen stimmt nicht.",
    },
    "factor-too-large": {
        "en": "Your formula is too large by a constant factor. Did you count something too often?",
        "de": "Ihre Formel ist um einen festen Faktor zu groß. Haben Sie etwas zu oft gezählt?",
    },
    "factor-too-large.besides": {
        "en": "Your formula is too large by a constant factor, and its sign is not right.",
        "de": "Ihre Formel ist um einen festen Faktor zu groß, und ihr Vorzeichen stimmt nicht.",
    },
    "factor-too-small": {
        "en": "Your formula is too small by a constant factor. Is everything counted as often as it occurs?",
        "de": "Ihre Formel ist um einen festen Faktor zu klein. Ist alles so oft gezählt, wie es vorkommt?",
    },
    "factor-too-small.besides": {
        "en": "Your formula is too small by a constant factor, and its sign is not right.",
        "de": "Ihre Formel ist um einen festen Faktor zu klein, und ihr Vorzeichen stimmt nicht.",
    },
    "reciprocal": {
        "en": "Your formula is upside down: what is above the fraction line belongs below it, and "
        "the other way round.",
        "de": "Ihre Formel steht auf dem Kopf: Was über dem Bruchstrich steht, gehört darunter, "
        "und umgekehrt.",
    },
    "reciprocal.part": {
        "en": "The fraction {part} is upside down.",
        "de": "Der Bruch {part} steht auf dem Kopf.",
    },
    "power-too-large": {
        "en": "A symbol is multiplied too often.",
        "de": "Ein Symbol steht zu oft als Faktor.",
    },
    "power-too-large.symbol": {
        "en": "The power of {symbol} is too large.",
        "de": "Die Potenz von {symbol} ist zu groß.",
    },
    "power-too-small.symbol": {
        "en": "The power of {symbol} is too small.",
        "de": "Die Potenz von {symbol} ist zu klein.",
    },
    "power-of-part.part": {
        "en": "The exponent of {part} is not right.",
        "de": "Der Exponent von {part} stimmt nicht.",
    },
    "factor-forgotten": {
        "en": "A factor is missing.",
        "de": "Ein Faktor fehlt.",
    },
    "factor-forgotten.absent": {
        "en": "A factor is missing. Does your formula depend on everything that it should depend on?",
        "de": "Ein Faktor fehlt. Hängt Ihre Formel von allem ab, wovon sie abhängen sollte?",
    },
    "factor-forgotten.besides": {
        "en": "More than one thing is not right; among others, a factor is missing.",
        "de": "Mehr als eines stimmt nicht; unter anderem fehlt ein Faktor.",
    },
    "factor-forgotten.part": {
        "en": "{part} still has to be multiplied by something.",
        "de": "{part} ist noch mit etwas zu multiplizieren.",
    },
    "divisor-forgotten": {
        "en": "Your formula still has to be divided by something.",
        "de": "Ihre Formel ist noch durch etwas zu teilen.",
    },
    "divisor-forgotten.part": {
        "en": "{part} still has to be divided by something.",
        "de": "{part} ist noch durch etwas zu teilen.",
    },
    "extra-factor": {
        "en": "Your formula has a factor too many.",
        "de": "Ihre Formel hat einen Faktor zu viel.",
    },
    "extra-factor.symbol": {
        "en": "{symbol} should not stand there as a factor.",
        "de": "{symbol} sollte dort nicht als Faktor stehen.",
    },
    "extra-factor.part": {
        "en": "{part} should not stand there as a factor.",
        "de": "{part} sollte dort nicht als Faktor stehen.",
    },
    "extra-divisor.part": {
        "en": "You divide by {part}, where nothing is to be divided by.",
        "de": "Sie teilen durch {part}, wo durch nichts zu teilen ist.",
    },
    "divided.symbol": {
        "en": "{symbol} stands on the wrong side of the fraction line.",
        "de": "{symbol} steht auf der falschen Seite des Bruchstrichs.",
    },
    "divided.part": {
        "en": "{part} stands on the wrong side of the fraction line.",
        "de": "{part} steht auf der falschen Seite des Bruchstrichs.",
    },
    "several-factors": {
        "en": "More than one of the factors is not right.",
        "de": "Mehr als einer der Faktoren stimmt nicht.",
    },
    "missing-term": {
        "en": "A term of the sum is missing.",
        "de": "Ein Summand fehlt.",
    },
    "missing-terms": {
        "en": "What you have is right, but several terms of the sum are missing.",
        "de": "Was da steht, stimmt, aber mehrere Summanden fehlen.",
    },
    "term-forgotten.part": {
        "en": "Something still has to be added to {part}, or subtracted from it.",
        "de": "Zu {part} ist noch etwas zu addieren, oder etwas davon abzuziehen.",
    },
    "extra-term": {
        "en": "Multiplied out, your formula has a term that does not belong to it.",
        "de": "Ausmultipliziert hat Ihre Formel einen Summanden, der nicht dazugehört.",
    },
    "extra-term.term": {
        "en": "Look at the term {term} again: does it belong there?",
        "de": "Sehen Sie sich den Summanden {term} noch einmal an: Gehört er dorthin?",
    },
    "coefficient": {
        "en": "In one of the parts that have to be added up, the number in front is not right.",
        "de": "In einem der Teile, die zu addieren sind, stimmt die Zahl davor nicht.",
    },
    "wrong-term": {
        "en": "One of the parts that have to be added up is not right.",
        "de": "Einer der Teile, die zu addieren sind, stimmt nicht.",
    },
    "wrong-term.term": {
        "en": "Look at the term {term} again: with another one in its place, the sum would be right.",
        "de": "Sehen Sie sich den Summanden {term} noch einmal an: Mit einem anderen stimmte die Summe.",
    },
    "number.number": {
        "en": "The number {number} is not right.",
        "de": "Die Zahl {number} stimmt nicht.",
    },
    "number-forgotten.part": {
        "en": "{part} still has to be multiplied by a number, or divided by one.",
        "de": "{part} ist noch mit einer Zahl zu multiplizieren oder durch eine zu teilen.",
    },
    "sign-of-part.part": {
        "en": "The sign before {part} is not right.",
        "de": "Das Vorzeichen vor {part} stimmt nicht.",
    },
    "sign-outside.part": {
        "en": "The minus inside of {part} belongs outside.",
        "de": "Das Minus in {part} gehört nach außen.",
    },
    "sign-inside.part": {
        "en": "The minus before {part} belongs inside of its brackets.",
        "de": "Das Minus vor {part} gehört in dessen Klammern.",
    },
    "swapped-symbols": {
        "en": "It looks as if two symbols were swapped.",
        "de": "Es sieht so aus, als wären zwei Symbole vertauscht.",
    },
    "swapped-symbols.first": {
        "en": "It looks as if {first} and {second} were swapped.",
        "de": "Es sieht so aus, als wären {first} und {second} vertauscht.",
    },
    "symbol-replaced": {
        "en": "A symbol stands where something else belongs.",
        "de": "Ein Symbol steht, wo etwas anderes hingehört.",
    },
    "symbol-replaced.symbol": {
        "en": "{symbol} stands where something else belongs.",
        "de": "{symbol} steht, wo etwas anderes hingehört.",
    },
    "part-replaced.part": {
        "en": "{part} stands where something else belongs.",
        "de": "{part} steht, wo etwas anderes hingehört.",
    },
    "sum-for-product": {
        "en": "You added what has to be multiplied.",
        "de": "Sie haben addiert, was multipliziert werden muss.",
    },
    "product-for-sum": {
        "en": "You multiplied what has to be added.",
        "de": "Sie haben multipliziert, was addiert werden muss.",
    },
    "sum-for-extreme": {
        "en": "You added values of which only one counts.",
        "de": "Sie haben Werte addiert, von denen nur einer zählt.",
    },
    "brackets": {
        "en": "A factor or divisor belongs to everything that is added, not to one term only. Are "
        "brackets missing?",
        "de": "Ein Faktor oder Teiler gehört zu allem, was addiert wird, nicht nur zu einem "
        "Summanden. Fehlen Klammern?",
    },
    "brackets-too-wide": {
        "en": "A factor or divisor belongs to one term only, not to everything in the brackets.",
        "de": "Ein Faktor oder Teiler gehört nur zu einem Summanden, nicht zu allem in der Klammer.",
    },
    "power-too-wide.part": {
        "en": "The exponent belongs to {part} alone, not to everything in the brackets.",
        "de": "Der Exponent gehört nur zu {part}, nicht zu allem in der Klammer.",
    },
    "power-too-narrow.part": {
        "en": "The exponent belongs to everything that is added, not to {part} alone. Are brackets missing?",
        "de": "Der Exponent gehört zu allem, was addiert wird, nicht nur zu {part}. Fehlen Klammern?",
    },
    "belongs-inside.part": {
        "en": "{part} stands outside, but belongs inside of the function, the power or the "
        "fraction beside it.",
        "de": "{part} steht außerhalb, gehört aber in die Funktion, die Potenz oder den Bruch daneben.",
    },
    "belongs-outside.part": {
        "en": "{part} stands inside of a function, a power or a fraction, and belongs outside.",
        "de": "{part} steht in einer Funktion, einer Potenz oder einem Bruch und gehört nach außen.",
    },
    "product-for-power": {
        "en": "You multiplied by what belongs into the exponent.",
        "de": "Sie haben mit etwas multipliziert, das in den Exponenten gehört.",
    },
    "sum-for-power": {
        "en": "You added what belongs into the exponent.",
        "de": "Sie haben etwas addiert, das in den Exponenten gehört.",
    },
    "product-for-quotient": {
        "en": "You multiplied by what has to be divided by.",
        "de": "Sie haben mit dem multipliziert, wodurch geteilt werden muss.",
    },
    "quotient-for-product": {
        "en": "You divided by what has to be multiplied by.",
        "de": "Sie haben durch das geteilt, womit multipliziert werden muss.",
    },
    "product-for-difference": {
        "en": "You multiplied where a difference belongs.",
        "de": "Sie haben multipliziert, wo eine Differenz hingehört.",
    },
    "quotient-for-difference": {
        "en": "You divided where a difference belongs.",
        "de": "Sie haben geteilt, wo eine Differenz hingehört.",
    },
    "difference-for-quotient": {
        "en": "You subtracted where a quotient belongs.",
        "de": "Sie haben abgezogen, wo ein Quotient hingehört.",
    },
    "base-and-exponent": {
        "en": "Base and exponent of a power are swapped.",
        "de": "Basis und Exponent einer Potenz sind vertauscht.",
    },
    "extra-exponent.part": {
        "en": "{part} should not stand there as an exponent.",
        "de": "{part} sollte dort nicht als Exponent stehen.",
    },
    "function-forgotten": {
        "en": "Your formula is right but for a function that still has to be applied to all of it.",
        "de": "Ihre Formel stimmt bis auf eine Funktion, die noch auf das Ganze anzuwenden ist.",
    },
    "function-forgotten.all": {
        "en": "A function is missing: your formula uses something as it stands that has to be put into it.",
        "de": "Eine Funktion fehlt: Ihre Formel verwendet etwas unverändert, das in sie einzusetzen ist.",
    },
    "function-forgotten.part": {
        "en": "{part} cannot be used as it stands: a function or a power is missing there.",
        "de": "{part} kann so nicht verwendet werden: Dort fehlt eine Funktion oder eine Potenz.",
    },
    "function-too-much.name": {
        "en": "Look at {name} again: does the question call for it?",
        "de": "Sehen Sie sich {name} noch einmal an: Verlangt die Frage danach?",
    },
    "function-replaced.name": {
        "en": "Look at {name} again: another function belongs there.",
        "de": "Sehen Sie sich {name} noch einmal an: Dorthin gehört eine andere Funktion.",
    },
    "log-base": {
        "en": "The base of the logarithm is not right.",
        "de": "Die Basis des Logarithmus stimmt nicht.",
    },
    "power-base": {
        "en": "The base of the power is not right.",
        "de": "Die Basis der Potenz stimmt nicht.",
    },
    "rounding": {
        "en": "You rounded in the wrong direction.",
        "de": "Sie haben in die falsche Richtung gerundet.",
    },
    "rounding-forgotten": {
        "en": "The result still has to be rounded.",
        "de": "Das Ergebnis ist noch zu runden.",
    },
    "rounding-forgotten.all": {
        "en": "Something in your formula still has to be rounded.",
        "de": "Etwas in Ihrer Formel ist noch zu runden.",
    },
    "rounding-forgotten.part": {
        "en": "{part} still has to be rounded.",
        "de": "{part} ist noch zu runden.",
    },
    "arguments-swapped.name": {
        "en": "The arguments of {name} stand in the wrong order.",
        "de": "Die Argumente von {name} stehen in der falschen Reihenfolge.",
    },
    "extra-argument.part": {
        "en": "{part} should not be one of the values that are compared there.",
        "de": "{part} sollte nicht zu den Werten gehören, die dort verglichen werden.",
    },
    "argument-forgotten.name": {
        "en": "In {name} a value is missing that has to be compared as well.",
        "de": "In {name} fehlt ein Wert, der mit verglichen werden muss.",
    },
    "comparison-forgotten": {
        "en": "Your formula uses one value where several are to be compared: the largest or smallest counts.",
        "de": "Ihre Formel verwendet einen Wert, wo mehrere zu vergleichen sind und der größte oder kleinste "
        "zählt.",
    },
    "power-for-product": {
        "en": "You wrote a power where a product belongs.",
        "de": "Sie haben eine Potenz geschrieben, wo ein Produkt hingehört.",
    },
    "off-by-one": {
        "en": "The result is off by one.",
        "de": "Das Ergebnis liegt um eins daneben.",
    },
    "off-by-one.symbol": {
        "en": "{symbol} is off by one somewhere.",
        "de": "{symbol} liegt irgendwo um eins daneben.",
    },
    "off-by-one.part": {
        "en": "{part} is off by one.",
        "de": "{part} liegt um eins daneben.",
    },
    "relation-misread": {
        "en": "It looks as if a relation between the symbols was used otherwise than it is stated.",
        "de": "Es sieht so aus, als wäre ein Zusammenhang zwischen den Symbolen anders benutzt "
        "worden, als er angegeben ist.",
    },
    "relation-misread.symbol": {
        "en": "It looks as if the relation for {symbol} was used otherwise than it is stated.",
        "de": "Es sieht so aus, als wäre der Zusammenhang für {symbol} anders benutzt worden, als "
        "er angegeben ist.",
    },
    "symbol-one": {
        "en": "Your formula is right where a symbol that it lacks is 1, but not in general.",
        "de": "Ihre Formel stimmt, wo ein Symbol, das in ihr fehlt, 1 ist, aber nicht allgemein.",
    },
    "symbol-zero": {
        "en": "Your formula is right where a symbol that it lacks is 0, but not in general.",
        "de": "Ihre Formel stimmt, wo ein Symbol, das in ihr fehlt, 0 ist, aber nicht allgemein.",
    },
    "symbol-missing": {
        "en": "Your formula does not depend on everything that it should depend on.",
        "de": "Ihre Formel hängt nicht von allem ab, wovon sie abhängen sollte.",
    },
    "symbol-foreign.symbol": {
        "en": "Your formula depends on {symbol}. Should it?",
        "de": "Ihre Formel hängt von {symbol} ab. Sollte sie das?",
    },
}  # fmt: skip

_IN_THIS_TERM: Text = {"en": "In the term {term} ", "de": "Im Summanden {term} "}
_IN_TERMS: dict[str, Text] = {
    "coefficient": {"en": "the number in front is not right.", "de": "stimmt die Zahl davor nicht."},
    "sign-in-term": {"en": "the sign is not right.", "de": "stimmt das Vorzeichen nicht."},
    "power-in-term": {
        "en": "a factor is missing.",
        "de": "fehlt ein Faktor.",
    },
    "power-in-term.symbol": {
        "en": "the power of {symbol} is not right.",
        "de": "stimmt die Potenz von {symbol} nicht.",
    },
    "extra-factor-in-term": {"en": "there is a factor too many.", "de": "steht ein Faktor zu viel."},
    "extra-factor-in-term.symbol": {
        "en": "there is a factor too many: does {symbol} belong there?",
        "de": "steht ein Faktor zu viel: Gehört {symbol} dorthin?",
    },
    "swapped-in-term": {"en": "two symbols are swapped.", "de": "sind zwei Symbole vertauscht."},
    "swapped-in-term.first": {
        "en": "the symbols {first} and {second} are swapped.",
        "de": "sind {first} und {second} vertauscht.",
    },
    "symbol-replaced": {
        "en": "a symbol stands where something else belongs.",
        "de": "steht ein Symbol, wo etwas anderes hingehört.",
    },
    "symbol-replaced.symbol": {
        "en": "the symbol {symbol} stands where something else belongs.",
        "de": "steht {symbol}, wo etwas anderes hingehört.",
    },
}  # fmt: skip


def _placed(key: str) -> tuple[str, Text]:
    """A clause about one term, with the term."""
    code, _, named = key.partition(".")
    within = ".".join(filter(None, (code, "term", named)))
    return within, {language: _IN_THIS_TERM[language] + text for language, text in _IN_TERMS[key].items()}


_SOMEWHERE: Text = {
    "en": " That is about one of the places where it stands.",
    "de": " Gemeint ist eine der Stellen, an denen es steht.",
}


_OFTEN = (
    "symbol-replaced.symbol", "part-replaced.part", "number.number", "power-too-large.symbol",
    "power-too-small.symbol", "sign-of-part.part", "extra-factor.part", "factor-forgotten.part",
    "divisor-forgotten.part", "number-forgotten.part", "divided.part",
)  # fmt: skip
"""What may stand in several places, of which one is meant."""


def _ambiguous(key: str) -> tuple[str, Text]:
    """The same about something that stands in several places."""
    code, _, named = key.partition(".")
    return f"{code}.some.{named}", {
        language: words + _SOMEWHERE[language] for language, words in _FORMULAS[key].items()
    }


SENTENCES: dict[str, Text] = {
    f"diagnosis.{key}": text
    for key, text in (
        *map(_placed, _IN_TERMS),
        *_FORMULAS.items(),
        *map(_ambiguous, _OFTEN),
    )
}
"""What is said of a whole formula goes before what is said of one of its terms."""
