"""Checks of a table: who sees whom after two layers with a window."""

from __future__ import annotations

from autograder.checking import check, mutant, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

back = torch.arange(7)[:, None] - torch.arange(7)
layer = ((back >= 0) & (back < 3)).float()
seen = layer @ layer > 0
windowed = seen.int().tolist()
"""
)


@check(
    points=2,
    title={
        "en": "Who sees whom after two layers with a window of three",
        "de": "Wer wen nach zwei Schichten mit einem Fenster von drei sieht",
    },
)
def matrix(student, reference, draw):
    assert_matrix(student.windowed, reference.windowed)


mutant(
    "one layer",
    "layer @ layer",
    "layer",
    title={
        "en": "That is right for one layer; the second one passes on what the first one saw.",
        "de": "Das stimmt für eine Schicht; die zweite reicht weiter, was die erste gesehen hat.",
    },
    points={"matrix": 1},
)
mutant(
    "windows added",
    edits=[("layer @ layer", "layer"), ("back < 3", "back < 6")],
    title={
        "en": "The window is multiplied by the number of layers; the last position of one layer's window is "
        "the first of the next one's.",
        "de": "Das Fenster wird mit der Anzahl der Schichten multipliziert; die letzte Position im Fenster "
        "einer Schicht ist die erste in dem der nächsten.",
    },
)
mutant(
    "window too wide",
    "back < 3",
    "back < 4",
    title={
        "en": "The window is one position too wide; it includes the position itself.",
        "de": "Das Fenster ist eine Position zu breit; die Position selbst zählt mit.",
    },
)
mutant(
    "window too narrow",
    "back < 3",
    "back < 2",
    title={
        "en": "The window is one position too narrow.",
        "de": "Das Fenster ist eine Position zu schmal.",
    },
)
mutant(
    "transposed",
    "seen.int()",
    "seen.T.int()",
    title={
        "en": "It is transposed: rows are the positions that see, columns those that are seen.",
        "de": "Sie ist transponiert: Zeilen sind die Positionen, die sehen, Spalten die, die gesehen werden.",
    },
)
