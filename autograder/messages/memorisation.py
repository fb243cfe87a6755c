"""Sentences about how much of a text was memorised."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

SENTENCES: Mapping[str, Text] = {
    "memorisation.entry": {
        "en": "{what}: a number is asked for under “{entry}”.",
        "de": "{what}: Unter „{entry}“ ist eine Zahl gefragt.",
    },
    "memorisation.longest": {
        "en": "{what}: the longest verbatim piece has another length.",
        "de": "{what}: Das längste wörtliche Stück hat eine andere Länge.",
    },
    "memorisation.share": {
        "en": "{what}: the share of n-grams that occur is another one.",
        "de": "{what}: Der Anteil der n-Gramme, die vorkommen, ist ein anderer.",
    },
    "memorisation.report": {
        "en": "{what}: a dictionary with the generated token ids under “tokens” is asked for.",
        "de": "{what}: Gefragt ist ein Dictionary mit den erzeugten Token-Nummern unter „tokens“.",
    },
    "memorisation.report-length": {
        "en": "{what}: the generated text has {count} tokens; at least {least} are asked for.",
        "de": "{what}: Der erzeugte Text hat {count} Token; gefragt sind mindestens {least}.",
    },
    "memorisation.report-numbers": {
        "en": "{what}: the numbers are not those of the text that is given with them.",
        "de": "{what}: Die Zahlen sind nicht die des Textes, der dabeisteht.",
    },
    "memorisation.scattered": {
        "en": "{what}: a piece with gaps in it is counted. A verbatim piece has none.",
        "de": "{what}: Ein Stück mit Lücken wird gezählt. Ein wörtliches Stück hat keine.",
    },
    "memorisation.single-tokens": {
        "en": "{what}: only single tokens are compared, never longer pieces.",
        "de": "{what}: Verglichen werden nur einzelne Token, nie längere Stücke.",
    },
    "memorisation.across-texts": {
        "en": "{what}: a piece that goes over the border between two texts of the corpus is counted.",
        "de": "{what}: Ein Stück über die Grenze zweier Texte des Korpus hinweg wird gezählt.",
    },
    "memorisation.distinct-ngrams": {
        "en": "{what}: an n-gram that stands in the generated text several times is counted only once.",
        "de": "{what}: Ein n-Gramm, das im erzeugten Text mehrmals steht, wird nur einmal gezählt.",
    },
    "memorisation.of-the-corpus": {
        "en": "{what}: this is the share of the corpus's n-grams, not of those of the generated text.",
        "de": "{what}: Das ist der Anteil an den n-Grammen des Korpus, nicht an denen des erzeugten Textes.",
    },
    "memorisation.last-ngram-missed": {
        "en": "{what}: the last n-gram of the generated text is left out.",
        "de": "{what}: Das letzte n-Gramm des erzeugten Textes fehlt.",
    },
}
