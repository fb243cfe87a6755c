"""The printed sheets' own words, in English and German."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar

from autograder.feedback.labels import Labels
from autograder.records import Text

WORDS: Mapping[str, Text] = {
    "name": {"en": "Name", "de": "Name"},
    "number": {"en": "Student number", "de": "Matrikelnummer"},
    "page": {"en": "Page", "de": "Seite"},
    "of": {"en": "of", "de": "von"},
    "points": {"en": "points", "de": "Punkte"},
    "point": {"en": "point", "de": "Punkt"},
    "given": {"en": "Given", "de": "Gegeben"},
    "repair": {
        "en": "Correct the listing where it stands, or beside it.",
        "de": "Verbessern Sie das Listing an Ort und Stelle oder daneben.",
    },
    "for-graders": {"en": "Solutions, for graders only", "de": "Lösungen, nur für die Korrektur"},
    "version": {"en": "rubric version", "de": "Bewertungsschema, Version"},
    "variant-of": {"en": "variant of", "de": "Variante von"},
    "no-key": {"en": "The answer key has nothing here.", "de": "Im Lösungsschlüssel steht hier nichts."},
    "by-person": {"en": "A person decides.", "de": "Ein Mensch entscheidet."},
    "by-tests": {
        "en": "Decided by what the answer computes; every right way counts.",
        "de": "Entscheidet sich an dem, was die Antwort berechnet; jeder richtige Weg zählt.",
    },
    "right": {"en": "Right", "de": "Richtig"},
    "also-right": {"en": "Also right", "de": "Auch richtig"},
    "pick": {"en": "{number} of these, each once", "de": "{number} davon, jedes einmal"},
    "worth": {"en": "Worth {points}", "de": "Wert: {points}"},
    "full": {"en": "Full points", "de": "Volle Punkte"},
    "half": {"en": "Half of the points", "de": "Halbe Punkte"},
    "none": {"en": "No points", "de": "Keine Punkte"},
    "guide": {"en": "Guide", "de": "Hinweis"},
    "suggest": {"en": "Words to look for", "de": "Zu beachtende Wörter"},
    "signs": {"en": "What is looked for", "de": "Wonach gesucht wird"},
    "exactly": {"en": "exactly {number}", "de": "genau {number}"},
    "never": {"en": "must not occur", "de": "darf nicht vorkommen"},
    "order": {"en": "In this order", "de": "In dieser Reihenfolge"},
    "bonus": {"en": "bonus", "de": "Bonus"},
    "needs": {"en": "Only with", "de": "Nur mit"},
}


class Words(Labels):
    """The sheets' words in one language; English for a language that is not there."""

    texts: ClassVar[Mapping[str, Text]] = WORDS

    def points(self, value: Decimal) -> str:
        """Points with their unit."""
        return f"{self.number(value)} {self('point' if abs(value) == 1 else 'points')}"
