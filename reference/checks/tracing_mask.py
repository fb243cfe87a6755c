"""Checks of a function that makes the mask of a sliding window."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.checks.tables import assert_matrix

solution(
    source="""
import torch

def window_mask(length, window):
    back = torch.arange(length)[:, None] - torch.arange(length)[None]
    mask = (back >= 0) & (back < window)
    return mask
"""
)


@check(
    points=2,
    title={"en": "The mask of a sliding window", "de": "Die Maske eines gleitenden Fensters"},
)
def mask(student, reference, draw):
    for length, window in ((7, 3), (4, 1), (5, 9)):
        assert_matrix(student.window_mask(length, window), reference.window_mask(length, window))


mutant(
    "one too wide",
    "back < window",
    "back <= window",
    title={
        "en": "The window is one position too wide; it includes the position itself.",
        "de": "Das Fenster ist eine Position zu breit; die Position selbst zählt mit.",
    },
)
mutant(
    "without itself",
    "back >= 0",
    "back > 0",
    title={
        "en": "Only the diagonal is wrong; does a position see itself?",
        "de": "Nur die Diagonale ist falsch; sieht eine Position sich selbst?",
    },
)
mutant(
    "one ahead",
    "back >= 0",
    "back >= -1",
    title={
        "en": "It reaches one position too far ahead.",
        "de": "Sie reicht eine Position zu weit nach vorn.",
    },
)
mutant(
    "both sides",
    "return mask",
    "return mask | mask.T",
    title={
        "en": "It looks to both sides alike; here before and after are not the same.",
        "de": "Sie blickt nach beiden Seiten gleich; hier sind davor und danach nicht dasselbe.",
    },
)
mutant(
    "the future",
    "return mask",
    "return mask.T",
    title={
        "en": "It is transposed: rows are the positions that see, columns those that are seen.",
        "de": "Sie ist transponiert: Zeilen sind die Positionen, die sehen, Spalten die, die gesehen werden.",
    },
)
mutant(
    "what is blocked",
    "return mask",
    "return ~mask",
    title={
        "en": "It says the opposite throughout: 1 means that a position is seen.",
        "de": "Sie sagt überall das Gegenteil: 1 heißt, dass eine Position gesehen wird.",
    },
)
mutant("no window", " & (back < window)", "")
planted(
    "as numbers",
    """
import torch

def window_mask(length, window):
    return torch.ones(length, length).tril().triu(1 - window)
""",
)
planted(
    "as pairs",
    """
def window_mask(length, window):
    return [(t, s) for t in range(length) for s in range(max(0, t - window + 1), t + 1)]
""",
)
