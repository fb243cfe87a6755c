"""The faults that can be planted in the decoder of the repair question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference.listings import FAULT_IDS
from reference.listings import listing as with_repairs

_DESCRIBED = {
    "self_mask": (
        2,
        "Self-attention keeps to what the target allows",
        "Die Self-Attention hält sich an das, was das Ziel erlaubt",
    ),
    "residual": (
        1,
        "Self-attention adds to the state instead of replacing it",
        "Die Self-Attention ergänzt den Zustand, statt ihn zu ersetzen",
    ),
    "cross_mask": (
        2,
        "Cross-attention keeps to what the memory allows",
        "Die Cross-Attention hält sich an das, was das Memory erlaubt",
    ),
    "position_table": (
        2,
        "There is a position for every length that is allowed",
        "Es gibt eine Position für jede erlaubte Länge",
    ),
    "shape_order": (
        2,
        "Positions count along the text, for every batch size",
        "Positionen zählen entlang des Textes, bei jeder Batchgröße",
    ),
    "embedding_dropout": (
        3,
        "Dropout acts on the embedded tokens while training",
        "Beim Training wirkt Dropout auf die eingebetteten Tokens",
    ),
    "cross_value": (
        2,
        "Cross-attention fetches its content from the memory",
        "Die Cross-Attention holt ihren Inhalt aus dem Memory",
    ),
    "output_head": (
        1,
        "The result is a score for every word",
        "Das Ergebnis ist eine Bewertung für jedes Wort",
    ),
}


def catalogue() -> list[dict[str, Any]]:
    """Every fault as plain data: id, difficulty from 1 to 3, text by language, and what it excludes."""
    return [
        {"id": fault, "difficulty": difficulty, "text": {"en": english, "de": german}, "excludes": []}
        for fault, (difficulty, english, german) in _DESCRIBED.items()
    ]


def listing(faults: Sequence[str]) -> str:
    """The answer cell with exactly these faults in it.

    Raises:
        ValueError: an id is not in the catalogue.
    """
    unknown = sorted(set(faults) - set(FAULT_IDS))
    if unknown:
        raise ValueError(f"unknown faults {', '.join(unknown)}; known are: {', '.join(FAULT_IDS)}")
    return with_repairs([fault for fault in FAULT_IDS if fault not in faults])
