"""Sentences about how a wrong formula differs from the right one.

They name only what the student wrote. A key is ``diagnosis.<code>``, followed by what may be named:
``.term`` and ``.symbol`` for a term and a symbol of the student's, ``.first`` for two swapped symbols.
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
    "factor-too-small": {
        "en": "Your formula is too small by a constant factor. Is everything counted as often as it occurs?",
        "de": "Ihre Formel ist um einen festen Faktor zu klein. Ist alles so oft gezählt, wie es vorkommt?",
    },
    "reciprocal": {
        "en": "Your fraction is upside down.",
        "de": "Ihr Bruch steht auf dem Kopf.",
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
    "factor-forgotten": {
        "en": "A factor is missing. Does your formula depend on everything that it should depend on?",
        "de": "Ein Faktor fehlt. Hängt Ihre Formel von allem ab, wovon sie abhängen sollte?",
    },
    "extra-factor": {
        "en": "Your formula has a factor too many.",
        "de": "Ihre Formel hat einen Faktor zu viel.",
    },
    "extra-factor.symbol": {
        "en": "Your formula has a factor too many: does it depend on {symbol}?",
        "de": "Ihre Formel hat einen Faktor zu viel: Hängt sie von {symbol} ab?",
    },
    "divided.symbol": {
        "en": "{symbol} stands on the wrong side of the fraction line.",
        "de": "{symbol} steht auf der falschen Seite des Bruchstrichs.",
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
    "extra-term": {
        "en": "Your sum counts something that does not belong to it.",
        "de": "Ihre Summe zählt etwas mit, das nicht dazugehört.",
    },
    "extra-term.term": {
        "en": "Look at the term {term} again: does it belong to what is counted here?",
        "de": "Sehen Sie sich den Summanden {term} noch einmal an: Gehört er zu dem, was hier gezählt wird?",
    },
    "wrong-term": {
        "en": "One of the terms is not right: with another one in its place, the sum would be right.",
        "de": "Einer der Summanden stimmt nicht: Mit einem anderen stimmte die Summe.",
    },
    "wrong-term.term": {
        "en": "Look at the term {term} again: with another one in its place, the sum would be right.",
        "de": "Sehen Sie sich den Summanden {term} noch einmal an: Mit einem anderen stimmte die Summe.",
    },
    "swapped-symbols": {
        "en": "It looks as if two symbols were swapped.",
        "de": "Es sieht so aus, als wären zwei Symbole vertauscht.",
    },
    "swapped-symbols.first": {
        "en": "It looks as if {first} and {second} were swapped.",
        "de": "Es sieht so aus, als wären {first} und {second} vertauscht.",
    },
    "sum-for-product": {
        "en": "You added what has to be multiplied.",
        "de": "Sie haben addiert, was multipliziert werden muss.",
    },
    "product-for-sum": {
        "en": "You multiplied what has to be added.",
        "de": "Sie haben multipliziert, was addiert werden muss.",
    },
    "brackets": {
        "en": "A factor belongs to everything that is added, not to one term only. Are brackets missing?",
        "de": "Ein Faktor gehört zu allem, was addiert wird, nicht nur zu einem Summanden. Fehlen Klammern?",
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
    "base-and-exponent": {
        "en": "Base and exponent of a power are swapped.",
        "de": "Basis und Exponent einer Potenz sind vertauscht.",
    },
    "function-forgotten": {
        "en": "Something has to be done to one of the parts before it is used as it stands.",
        "de": "Mit einem der Teile muss noch etwas geschehen, bevor er so verwendet werden kann.",
    },
    "function-too-much": {
        "en": "Look at {name} again: does the question call for it?",
        "de": "Sehen Sie sich {name} noch einmal an: Verlangt die Frage danach?",
    },
    "power-for-product": {
        "en": "You wrote a power where a product belongs.",
        "de": "Sie haben eine Potenz geschrieben, wo ein Produkt hingehört.",
    },
    "off-by-one": {
        "en": "One of the sizes is off by one.",
        "de": "Eine der Größen liegt um eins daneben.",
    },
    "off-by-one.symbol": {
        "en": "{symbol} is off by one somewhere.",
        "de": "{symbol} liegt irgendwo um eins daneben.",
    },
    "relation-misread": {
        "en": "A relation between the symbols was used otherwise than it is stated.",
        "de": "Ein Zusammenhang zwischen den Symbolen wurde anders benutzt, als er angegeben ist.",
    },
    "relation-misread.symbol": {
        "en": "The relation for {symbol} was used otherwise than it is stated.",
        "de": "Der Zusammenhang für {symbol} wurde anders benutzt, als er angegeben ist.",
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

_ANYWHERE: Text = {"en": "In one place ", "de": "An einer Stelle "}
_IN_A_TERM: Text = {"en": "In one of the terms ", "de": "In einem der Summanden "}
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
        "en": "{first} and {second} are swapped.",
        "de": "sind {first} und {second} vertauscht.",
    },
    "symbol-replaced": {
        "en": "a symbol stands where something else belongs.",
        "de": "steht ein Symbol, wo etwas anderes hingehört.",
    },
    "symbol-replaced.symbol": {
        "en": "{symbol} stands where something else belongs.",
        "de": "steht {symbol}, wo etwas anderes hingehört.",
    },
}  # fmt: skip


def _placed(key: str, clause: Text) -> dict[str, Text]:
    """A clause about one term: with the term, and without it."""
    code, _, named = key.partition(".")
    anywhere = _ANYWHERE if code == "symbol-replaced" else _IN_A_TERM
    within = ".".join(filter(None, (code, "term", named)))
    return {
        key: {language: anywhere[language] + text for language, text in clause.items()},
        within: {language: _IN_THIS_TERM[language] + text for language, text in clause.items()},
    }


SENTENCES: dict[str, Text] = {
    f"diagnosis.{key}": text
    for key, text in (
        *(pair for key, clause in _IN_TERMS.items() for pair in _placed(key, clause).items()),
        *_FORMULAS.items(),
    )
}
