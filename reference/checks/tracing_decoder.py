"""Checks of a table: who sees whom in a decoder."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

position = torch.arange(5)
seen = position <= position[:, None]
decoder = seen.int().tolist()
"""
)


@check(points=1, title={"en": "Who sees whom in a decoder", "de": "Wer wen in einem Decoder sieht"})
def matrix(student, reference, draw):
    assert_matrix(student.decoder, reference.decoder)


mutant(
    "transposed",
    "seen.int()",
    "seen.T.int()",
    title={
        "en": "Right but for the axes: rows are the positions that see.",
        "de": "Richtig bis auf die Achsen: Zeilen sind die Positionen, die sehen.",
    },
    points={"matrix": 0.5},
)
mutant(
    "without itself",
    "position <= position",
    "position < position",
    title={
        "en": "Only the diagonal is wrong; does a position see itself?",
        "de": "Nur die Diagonale ist falsch; sieht eine Position sich selbst?",
    },
)
mutant(
    "one ahead",
    "position[:, None]",
    "position[:, None] + 1",
    title={
        "en": "It reaches one position too far ahead.",
        "de": "Sie reicht eine Position zu weit nach vorn.",
    },
)
mutant(
    "both sides",
    "seen.int()",
    "(seen | seen.T).int()",
    title={
        "en": "It looks to both sides alike; here before and after are not the same.",
        "de": "Sie blickt nach beiden Seiten gleich; hier sind davor und danach nicht dasselbe.",
    },
)
mutant(
    "inverted",
    "seen.int()",
    "(~seen).int()",
    title={
        "en": "It says the opposite throughout: 1 means that a position is seen.",
        "de": "Sie sagt überall das Gegenteil: 1 heißt, dass eine Position gesehen wird.",
    },
)
mutant(
    "nothing",
    "seen.int()",
    "(0 * seen).int()",
    title={"en": "Here no position sees anything.", "de": "Hier sieht keine Position etwas."},
)
planted("as pairs", "decoder = {(query, key) for query in range(5) for key in range(query + 1)}")
planted("as a dictionary", "decoder = {query: list(range(query + 1)) for query in range(5)}")
