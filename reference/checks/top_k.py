"""Task 1 (a): the k largest logits of each row."""

import numpy as np

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.logits import REMOVED, assert_filtered, draw_logits, read_numbers

solution("decoding.py")


@check(
    points=2,
    title={
        "en": "The k largest logits of each row stay, everything else is removed",
        "de": "Die k größten Logits jeder Zeile bleiben, alles andere fällt weg",
    },
)
def exact(student, reference, draw):
    """Compare with the solution; of logits that tie for the last places, any that make k may stay."""
    for _ in range(3):
        for logits, k in (
            (draw_logits(draw, 3, 12), 4),
            (draw.integers(0, 4, 4, 12).double(), 5),  # ties
            (draw_logits(draw, 2, 6), 9),  # k above the vocabulary
        ):
            expected = reference.top_k(logits, k)
            actual = call(student.top_k, logits=logits.clone(), k=k)
            assert_filtered(complete_tie(actual, logits, k), expected)


def complete_tie(actual, logits, k):
    """Return a result in which the rest of a tie is kept, too, where at least k tokens are."""
    kept = read_numbers(actual)
    if not isinstance(kept, np.ndarray) or kept.shape != logits.shape:
        return actual
    rows = logits.numpy()
    smallest = np.sort(rows)[:, -min(k, rows.shape[1])][:, None]  # (rows, 1)
    is_enough = (kept > REMOVED).sum(-1, keepdims=True) >= k
    return np.where(is_enough & (rows == smallest) & (kept <= REMOVED), rows, kept)


LAST = "return logits.masked_fill(logits < smallest, -torch.inf)"

mutant(
    "one too many",
    old=LAST,
    new="return logits.masked_fill(\n"
    "        logits < logits.topk(min(k + 1, logits.size(-1))).values[:, -1:], -torch.inf)",
    title={"en": "top_k keeps one token more than k.", "de": "top_k behält ein Token mehr als k."},
    points={"exact": 1},
)
mutant(
    "least kept",
    old=LAST,
    new="return logits.masked_fill(logits > smallest, -torch.inf)",
    title={
        "en": "top_k keeps the least likely tokens instead of the most likely ones.",
        "de": "top_k behält die unwahrscheinlichsten Token statt der wahrscheinlichsten.",
    },
)
mutant(
    "not removed",
    old=LAST,
    new="return logits.masked_fill(logits < smallest, 0.0)",
    title={
        "en": "top_k: a token whose logit is set to 0 is not removed: softmax still gives it a probability.",
        "de": "top_k: Ein Token, dessen Logit 0 wird, ist nicht entfernt: Softmax gibt ihm trotzdem eine "
        "Wahrscheinlichkeit.",
    },
)
mutant(
    "whole batch",
    old=LAST,
    new="return logits.masked_fill(\n"
    "        logits < logits.flatten().topk(min(k, logits.size(-1))).values[-1], -torch.inf)",
    title={
        "en": "top_k treats all rows as one. Each row is a text of its own.",
        "de": "top_k behandelt alle Zeilen wie eine. Jede Zeile ist ein eigener Text.",
    },
)
mutant(
    "probabilities",
    old=LAST,
    new=LAST + ".softmax(-1)",
    title={
        "en": "top_k returns probabilities; logits are asked for.",
        "de": "top_k gibt Wahrscheinlichkeiten zurück; gefragt sind Logits.",
    },
)

planted(
    "exactly k of a tie",
    source="""
import torch
def top_k(logits, k):
    best = logits.topk(min(k, logits.size(-1)))
    return torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
""",
)
planted(
    "lists, and a large negative number",
    source="""
def top_k(logits, k):
    return [[v if v >= sorted(row)[-min(k, len(row))] else -1e9 for v in row] for row in logits.tolist()]
""",
)
planted("everything is kept", source="def top_k(logits, k): return logits", loses=["exact"])
