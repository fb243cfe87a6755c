"""Sentences about formulas that were read: what is wrong with them."""

from __future__ import annotations

from autograder.messages import diagnoses, reading
from autograder.records import Text

_JUDGED: dict[str, Text] = {
    "formula.carried-forward": {
        "en": "Right, given your own earlier result; that result is judged there.",
        "de": "Richtig auf der Grundlage Ihres eigenen früheren Ergebnisses; dieses wird dort bewertet.",
    },
    "formula.wrong": {
        "en": "This is not the expected formula. Check that it was read as you meant it.",
        "de": "Das ist nicht die erwartete Formel. Prüfen Sie, ob sie so gelesen wurde, wie Sie sie meinten.",
    },
    "formula.relation-wrong": {
        "en": "This is not the relation that was asked for.",
        "de": "Das ist nicht der Zusammenhang, nach dem gefragt ist.",
    },
    "formula.tuple-wrong": {
        "en": "At least one of the entries is not right.",
        "de": "Mindestens einer der Einträge stimmt nicht.",
    },
    "formula.tuple-entries": {
        "en": "Not right: {entries}.",
        "de": "Nicht richtig: {entries}.",
    },
    "formula.tuple-product": {
        "en": "{entry} is one entry, the product of several. Write them one by one, with commas.",
        "de": "{entry} ist ein einziger Eintrag, das Produkt mehrerer. Schreiben Sie sie mit Kommas.",
    },
    "formula.tuple-length": {
        "en": "The number of entries in your answer, {count}, is not right.",
        "de": "Die Anzahl der Einträge Ihrer Antwort, {count}, stimmt nicht.",
    },
    "formula.tuple-order": {
        "en": "The entries are right, but their order is not.",
        "de": "Die Einträge stimmen, aber ihre Reihenfolge nicht.",
    },
    "formula.sides-differ": {
        "en": "The two sides of your equation are not equal: {left} is not {right}.",
        "de": "Die beiden Seiten Ihrer Gleichung sind nicht gleich: {left} ist nicht {right}.",
    },
    "formula.early": {
        "en": "This is right only under a relation between the symbols that this question does not assume.",
        "de": "Das stimmt nur unter einem Zusammenhang zwischen den Symbolen, den diese Frage nicht annimmt.",
    },
    "formula.undecided": {
        "en": "A person will look at this formula; it could not be compared automatically.",
        "de": "Ein Mensch sieht sich diese Formel an; sie ließ sich nicht automatisch vergleichen.",
    },
    "formula.not-a-formula": {
        "en": '{name} should be a formula as text, e.g. "2*n"; it is of type {type}.',
        "de": '{name} soll eine Formel als Text sein, z. B. "2*n"; es ist vom Typ {type}.',
    },
}

SENTENCES: dict[str, Text] = {**reading.SENTENCES, **_JUDGED, **diagnoses.SENTENCES}
