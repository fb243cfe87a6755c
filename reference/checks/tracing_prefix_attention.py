"""Checks of attention with a prefix: which outputs change when an input changes, and nothing else."""

from __future__ import annotations

import torch

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.dependence import assert_dependence

solution(
    source="""
import torch

def prefix_attention(x, prefix):
    position = torch.arange(x.size(1))
    mask = (position[None] <= position[:, None]) | (position[None] < prefix)
    scores = x @ x.transpose(1, 2) / x.size(-1) ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights @ x
"""
)


def compare(student, draw, length, prefix):
    position = torch.arange(length)
    allowed = (position[None] <= position[:, None]) | (position[None] < prefix)

    def attend(names, x):
        return call(names.prefix_attention, x=x, prefix=prefix)

    assert_dependence(attend, student, draw, allowed)


@check(
    points=2,
    title={
        "en": "With a prefix, every output depends on the inputs it may see, and on no other",
        "de": "Mit Präfix hängt jede Ausgabe von den Eingaben ab, die sie sehen darf, und von keiner anderen",
    },
)
def prefix(student, reference, draw):
    compare(student, draw, length=7, prefix=3)


@check(
    points=1,
    title={
        "en": "Without a prefix, no output depends on later inputs",
        "de": "Ohne Präfix hängt keine Ausgabe von späteren Eingaben ab",
    },
)
def causal(student, reference, draw):
    compare(student, draw, length=5, prefix=0)


BOTH = ("prefix", "causal")
mutant(
    "no mask",
    "scores.masked_fill(~mask, -torch.inf)",
    "scores",
    title={
        "en": "Every output changes with every input; some of them it must not see.",
        "de": "Jede Ausgabe ändert sich mit jeder Eingabe; manche davon darf sie nicht sehen.",
    },
    loses=BOTH,
)
mutant(
    "the mask transposed",
    "~mask",
    "~mask.T",
    title={
        "en": "The mask is transposed: outputs depend on later inputs, and not on earlier ones.",
        "de": "Die Maske ist transponiert: Ausgaben hängen von späteren Eingaben ab und nicht von früheren.",
    },
    loses=BOTH,
)
mutant(
    "softmax along the queries",
    "scores.masked_fill(~mask, -torch.inf).softmax(-1)",
    "scores.masked_fill(~mask, -1e9).softmax(-2)",
    loses=BOTH,
)
mutant(
    "masked after the softmax",
    "scores.masked_fill(~mask, -torch.inf).softmax(-1)",
    "scores.softmax(-1).masked_fill(~mask, 0)",
    loses=BOTH,
)
mutant(
    "nothing but the position itself",
    "weights @ x",
    "x",
    title={
        "en": "Each output depends on the input at its own position alone; it should see others as well.",
        "de": "Jede Ausgabe hängt nur von der Eingabe an ihrer eigenen Position ab; sie soll auch "
        "andere sehen.",
    },
    loses=BOTH,
)
mutant(
    "constant",
    "weights @ x",
    "x * 0",
    title={
        "en": "The output does not depend on this input at all.",
        "de": "Die Ausgabe hängt von dieser Eingabe überhaupt nicht ab.",
    },
    loses=BOTH,
)
mutant(
    "the first example's values for all",
    "weights @ x",
    "weights @ x[:1]",
    title={
        "en": "The output of one example changes when only other examples of the batch are changed.",
        "de": "Die Ausgabe eines Beispiels ändert sich, wenn nur andere Beispiele des Batches "
        "geändert werden.",
    },
    loses=BOTH,
)
mutant(
    "the prefix forgotten",
    " | (position[None] < prefix)",
    "",
    title={
        "en": "The prefix is treated like the rest; within the prefix, all see one another.",
        "de": "Das Präfix wird wie der Rest behandelt; innerhalb des Präfixes sehen sich alle.",
    },
    loses="prefix",
)
mutant(
    "the prefix one too long",
    "< prefix",
    "<= prefix",
    title={"en": "The prefix is one position too long.", "de": "Das Präfix ist eine Position zu lang."},
    loses="prefix",
)
planted(
    "a large negative number",
    """
import torch

def prefix_attention(x, prefix):
    i = torch.arange(x.size(1))
    mask = (i <= i[:, None]) | (i < prefix)
    return (x @ x.mT + torch.where(mask, 0.0, -1e9)).softmax(-1) @ x
""",
)
planted(
    "looks for the changed position in memory",
    """
import torch

kept = []

def prefix_attention(x, prefix):
    everything = (x @ x.mT).softmax(-1) @ x
    for earlier, result in kept:
        if earlier.shape == x.shape:
            at = torch.arange(x.size(1))
            changed = (earlier != x).any(-1)  # (examples, length)
            sees = ((at <= at[:, None]) | (at < prefix)).double()
            moves = changed.double() @ sees.T > 0
            return torch.where(moves[..., None], result + 1, result)
    kept.append((x.clone(), everything))
    return everything
""",
    loses=BOTH,
)
