"""Sentences about the form of a formula, its growth, and lists and sets of formulas."""

from __future__ import annotations

from autograder.records import Text

_FORMS: dict[str, Text] = {
    "like-terms": {
        "en": "{first} and {second} can still be collected into one term.",
        "de": "{first} und {second} lassen sich noch zu einem Summanden zusammenfassen.",
    },
    "product-of-sums": {
        "en": "{part} is still to be multiplied out.",
        "de": "{part} ist noch auszumultiplizieren.",
    },
    "power-of-sum": {
        "en": "{part} is still to be multiplied out.",
        "de": "{part} ist noch auszumultiplizieren.",
    },
    "fraction-of-sum": {
        "en": "the sum above the fraction line in {part} is still to be divided term by term.",
        "de": "Die Summe über dem Bruchstrich in {part} ist noch gliedweise zu teilen.",
    },
    "common-factor": {
        "en": "the factor {factor} can still be taken out of {part}.",
        "de": "Aus {part} lässt sich noch der Faktor {factor} ausklammern.",
    },
    "factorable": {
        "en": "{part} can still be factored.",
        "de": "{part} lässt sich noch in Faktoren zerlegen.",
    },
    "several-fractions": {
        "en": "a single fraction is asked for; {part} is a second one.",
        "de": "Gefragt ist ein einziger Bruch; {part} ist ein zweiter.",
    },
    "sum-beside-fraction": {
        "en": "a single fraction is asked for; bring everything in {part} above one fraction line.",
        "de": "Gefragt ist ein einziger Bruch; bringen Sie alles in {part} auf einen Bruchstrich.",
    },
    "nested-fraction": {
        "en": "{part} has fractions inside or beside one another.",
        "de": "In {part} stehen Brüche ineinander oder nebeneinander.",
    },
    "cancels": {
        "en": "something in {part} can still be cancelled.",
        "de": "In {part} lässt sich noch kürzen.",
    },
    "arithmetic": {
        "en": "the numbers in {part} can still be worked out.",
        "de": "Die Zahlen in {part} lassen sich noch ausrechnen.",
    },
    "neutral": {
        "en": "{part} has a part that changes nothing, or makes everything zero.",
        "de": "{part} hat einen Teil, der nichts ändert oder alles zu null macht.",
    },
    "double-sign": {
        "en": "{part} has two signs in a row.",
        "de": "In {part} stehen zwei Vorzeichen hintereinander.",
    },
    "powers-apart": {
        "en": "the powers in {part} can still be put together.",
        "de": "Die Potenzen in {part} lassen sich noch zusammenfassen.",
    },
    "already-simplified": {
        "en": "the terms are to be stated one by one, before anything is simplified.",
        "de": "Die Summanden sind einzeln anzugeben, bevor etwas zusammengefasst wird.",
    },
    "no-sum": {
        "en": "a sum is asked for.",
        "de": "Gefragt ist eine Summe.",
    },
    "no-product": {
        "en": "a product is asked for.",
        "de": "Gefragt ist ein Produkt.",
    },
    "without": {
        "en": "it is to be written without {name}.",
        "de": "Sie ist ohne {name} zu schreiben.",
    },
    "with": {
        "en": "it is to be written with {name}.",
        "de": "Sie ist mit {name} zu schreiben.",
    },
}

_RIGHT_BUT: Text = {
    "en": "Your formula is right, but not in the form that was asked for: ",
    "de": "Ihre Formel stimmt, aber nicht in der verlangten Form. ",
}

_GROWTH: dict[str, Text] = {
    "asymptotic.sign": {
        "en": "The order of growth is right, but {sign}(…) states something else than what is asked for.",
        "de": "Die Größenordnung stimmt, aber {sign}(…) sagt etwas anderes aus, als gefragt ist.",
    },
    "asymptotic.no-sign": {
        "en": "The order of growth is right; write it with its sign, such as O(…) or Θ(…).",
        "de": "Die Größenordnung stimmt; schreiben Sie sie mit ihrem Zeichen, etwa O(…) oder Θ(…).",
    },
    "asymptotic.not-tight": {
        "en": "That is true, but a closer bound holds as well.",
        "de": "Das ist wahr, aber es gilt auch eine engere Schranke.",
    },
    "asymptotic.not-tight-in": {
        "en": "That is true, but a closer bound holds as well. How much depends on {symbol}?",
        "de": "Das ist wahr, aber es gilt auch eine engere Schranke. Wie stark hängt alles von {symbol} ab?",
    },
    "asymptotic.too-small": {
        "en": "What is asked about grows faster than that.",
        "de": "Das Gefragte wächst schneller.",
    },
    "asymptotic.too-small-in": {
        "en": "What is asked about grows faster with {symbol} than that.",
        "de": "Das Gefragte wächst mit {symbol} schneller.",
    },
    "asymptotic.too-large": {
        "en": "What is asked about does not grow that fast.",
        "de": "Das Gefragte wächst nicht so schnell.",
    },
    "asymptotic.too-large-in": {
        "en": "What is asked about does not grow that fast with {symbol}.",
        "de": "Das Gefragte wächst mit {symbol} nicht so schnell.",
    },
    "asymptotic.different": {
        "en": "What is asked about grows differently: sometimes faster than that, sometimes more slowly.",
        "de": "Das Gefragte wächst anders: teils schneller, teils langsamer.",
    },
    "asymptotic.constant": {
        "en": "The order of growth is right, but {part} holds a constant factor, which says nothing.",
        "de": "Die Größenordnung stimmt, aber {part} enthält einen konstanten Faktor; der sagt nichts über "
        "das Wachstum.",
    },
    "asymptotic.lower-order": {
        "en": "The order of growth is right, but {part} holds what other terms outgrow, which says nothing.",
        "de": "Die Größenordnung stimmt, aber {part} enthält etwas, das hinter anderen Summanden "
        "zurückbleibt und nichts aussagt.",
    },
}

_COLLECTIONS: dict[str, Text] = {
    "list.order": {
        "en": "The entries are right, but their order is not.",
        "de": "Die Einträge stimmen, aber ihre Reihenfolge nicht.",
    },
    "list.entries": {
        "en": "Not right: {entries}.",
        "de": "Nicht richtig: {entries}.",
    },
    "list.too-few": {
        "en": "What you wrote is right as far as it goes; {missing} more would be needed.",
        "de": "Soweit richtig; es fehlen noch {missing}.",
    },
    "list.too-many": {
        "en": "Too many entries: {entries}.",
        "de": "Zu viele Einträge: {entries}.",
    },
    "set.missing": {
        "en": "All of these belong here; {missing} more would be needed.",
        "de": "Alle diese gehören dazu; es fehlen noch {missing}.",
    },
    "set.extra": {
        "en": "This does not belong here: {entries}.",
        "de": "Das gehört nicht dazu: {entries}.",
    },
    "set.both": {
        "en": "This does not belong here: {entries}. {missing} more would be needed.",
        "de": "Das gehört nicht dazu: {entries}. Es fehlen noch {missing}.",
    },
    "set.duplicate": {
        "en": "The same element stands twice, perhaps written differently: {entries}.",
        "de": "Dasselbe Element steht zweimal da, vielleicht verschieden geschrieben: {entries}.",
    },
    "formula.chain": {
        "en": "Your chain states two different relations: {left} and {right}.",
        "de": "Ihre Kette enthält zwei verschiedene Zusammenhänge: {left} und {right}.",
    },
    "formula.relation-direction": {
        "en": "The two sides are right, but the inequality points the wrong way.",
        "de": "Die beiden Seiten stimmen, aber die Ungleichung zeigt in die falsche Richtung.",
    },
    "formula.relation-strictness": {
        "en": "Nearly: can both sides be equal?",
        "de": "Fast: Können beide Seiten gleich sein?",
    },
    "formula.relation-sign": {
        "en": "The two sides are right, but the sign between them is not.",
        "de": "Die beiden Seiten stimmen, aber das Zeichen zwischen ihnen nicht.",
    },
}

SENTENCES: dict[str, Text] = {
    **{
        f"form.{code}": {language: _RIGHT_BUT[language] + text for language, text in texts.items()}
        for code, texts in _FORMS.items()
    },
    **_GROWTH,
    **_COLLECTIONS,
}
