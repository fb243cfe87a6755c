"""Checks of a table: who sees whom in a dilated window."""

from __future__ import annotations

from autograder.checking import check, mutant, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

back = torch.arange(8)[:, None] - torch.arange(8)
seen = (back >= 0) & (back <= 4) & (back % 2 == 0)
dilated = seen.int().tolist()
"""
)


@check(
    points=1,
    title={"en": "Who sees whom in a dilated window", "de": "Wer wen in einem gedehnten Fenster sieht"},
)
def matrix(student, reference, draw):
    assert_matrix(student.dilated, reference.dilated)


mutant(
    "dilation ignored",
    "(back <= 4) & (back % 2 == 0)",
    "(back <= 2)",
    title={
        "en": "The window has no gaps here; a dilated one leaves positions out.",
        "de": "Das Fenster hat hier keine Lücken; ein gedehntes lässt Positionen aus.",
    },
)
mutant(
    "window too wide",
    "back <= 4",
    "back <= 6",
    title={
        "en": "The window is one position too wide; it includes the position itself.",
        "de": "Das Fenster ist eine Position zu breit; die Position selbst zählt mit.",
    },
)
mutant(
    "window too narrow",
    "back <= 4",
    "back <= 2",
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
