"""Checks of a table: who sees whom with a prefix."""

from __future__ import annotations

from autograder.checking import check, mutant, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

position = torch.arange(6)
seen = (position <= position[:, None]) | (position < 3)
prefixed = seen.int().tolist()
"""
)


@check(
    points=1,
    title={
        "en": "Who sees whom with a prefix of three tokens",
        "de": "Wer wen bei einem Präfix aus drei Token sieht",
    },
)
def matrix(student, reference, draw):
    assert_matrix(student.prefixed, reference.prefixed)


mutant(
    "causal throughout",
    " | (position < 3)",
    "",
    title={
        "en": "The prefix is treated like the rest; within the prefix, all see one another.",
        "de": "Das Präfix wird wie der Rest behandelt; innerhalb des Präfixes sehen sich alle.",
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
