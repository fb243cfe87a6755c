"""Checks of a table: who sees whom in an encoder with padding."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

position = torch.arange(6)
seen = (position < 4) | (position == position[:, None])
padded = seen.int().tolist()
"""
)


@check(
    points=2,
    title={
        "en": "Who sees whom when the last two tokens are padding",
        "de": "Wer wen sieht, wenn die letzten beiden Token Padding sind",
    },
)
def matrix(student, reference, draw):
    assert_matrix(student.padded, reference.padded)


mutant(
    "empty rows",
    "seen.int()",
    "(seen & (position[:, None] < 4)).int()",
    title={
        "en": "Nobody attends to padding, but the outputs at padded positions are computed like all others.",
        "de": "Niemand achtet auf Padding, aber die Ausgaben an gepaddeten Positionen werden wie alle "
        "anderen berechnet.",
    },
    points={"matrix": 1},
)
mutant(
    "padding ignored",
    "position < 4",
    "position < 6",
    title={
        "en": "Padding is seen as if it were text.",
        "de": "Padding wird gesehen, als wäre es Text.",
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
planted("with truth values", "padded = [[key < 4 or key == query for key in range(6)] for query in range(6)]")
