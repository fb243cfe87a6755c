"""Sentences about properties of the student's own code: what was changed, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

SENTENCES: Mapping[str, Text] = {
    "property.masked-leaks": {
        "en": "{what}: changing a key that the mask blocks still changed the result.",
        "de": "{what}: ein Schlüssel, den die Maske sperrt, veränderte trotzdem das Ergebnis.",
    },
    "property.batch-leaks": {
        "en": "{what}: changing one sequence of the batch changed the results of the others.",
        "de": "{what}: eine Sequenz des Batches veränderte die Ergebnisse der anderen.",
    },
    "property.order-matters": {
        "en": "{what}: giving the same keys and values in another order changed the result.",
        "de": "{what}: dieselben Schlüssel und Werte in anderer Reihenfolge veränderten das Ergebnis.",
    },
    "property.sees-later": {
        "en": "{what}: changing later positions changed earlier results.",
        "de": "{what}: spätere Positionen veränderten frühere Ergebnisse.",
    },
    "property.no-influence": {
        "en": "{what}: changing an input that must matter did not change the result.",
        "de": "{what}: eine Eingabe, auf die es ankommt, veränderte das Ergebnis nicht.",
    },
    "property.no-batch": {
        "en": "{what}: the result's first axis is not the batch.",
        "de": "{what}: die erste Achse des Ergebnisses ist nicht der Batch.",
    },
    "property.no-positions": {
        "en": "{what}: the result's second axis is not the position.",
        "de": "{what}: die zweite Achse des Ergebnisses ist nicht die Position.",
    },
    "property.no-rows": {
        "en": "{what}: the result has no rows of weights.",
        "de": "{what}: das Ergebnis hat keine Zeilen von Gewichten.",
    },
    "property.negative": {
        "en": "{what}: some of the weights are negative.",
        "de": "{what}: manche Gewichte sind negativ.",
    },
    "property.rows": {
        "en": "{what}: the weights of a row do not sum to one.",
        "de": "{what}: die Gewichte einer Zeile ergeben zusammen nicht eins.",
    },
    "property.no-numbers": {
        "en": "{what}: the result is not an array of finite numbers.",
        "de": "{what}: das Ergebnis ist kein Array endlicher Zahlen.",
    },
    "property.no-gradient": {
        "en": "{what}: after backward there is no gradient on {names}.",
        "de": "{what}: nach backward gibt es keinen Gradienten auf {names}.",
    },
    "property.not-raised": {
        "en": "{what} accepted what it should refuse: expected is {wanted}, or a kind of it.",
        "de": "{what} nahm an, was abzulehnen ist: erwartet wird {wanted} oder eine Unterklasse.",
    },
    "property.other-error": {
        "en": "{what} refused it with {error}: expected is {wanted}, or a kind of it.",
        "de": "{what} lehnte mit {error} ab: erwartet wird {wanted} oder eine Unterklasse.",
    },
}
