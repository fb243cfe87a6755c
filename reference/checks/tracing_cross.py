"""Checks of a table: who sees whom in cross-attention."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

seen = (torch.arange(5) < 3).expand(3, 5)
crossed = seen.int().tolist()
"""
)


@check(
    points=1,
    title={
        "en": "Who of the target sees whom of the source",
        "de": "Wer vom Ziel wen von der Quelle sieht",
    },
)
def matrix(student, reference, draw):
    assert_matrix(student.crossed, reference.crossed)


mutant(
    "padding ignored",
    "< 3)",
    "< 5)",
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
planted("as pairs", "crossed = [(query, key) for query in range(3) for key in range(3)]")
