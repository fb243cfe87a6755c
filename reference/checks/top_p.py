"""Task 1 (b): the nucleus."""

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.logits import assert_filtered, draw_logits

solution("decoding.py")


@check(
    points=4,
    title={
        "en": "The smallest set of most likely tokens whose mass reaches p stays",
        "de": "Die kleinste Menge wahrscheinlichster Token, deren Summe p erreicht, bleibt",
    },
)
def exact(student, reference, draw):
    """Compare with the solution for half, most and hardly any of the mass."""
    for _ in range(3):
        for p in (0.5, 0.9, 0.001):
            logits = draw_logits(draw, 4, 12)
            expected = reference.top_p(logits, p)
            assert_filtered(call(student.top_p, logits=logits.clone(), p=p), expected)


SORT = "ordered, order = logits.sort(dim=-1, descending=True)"
BEFORE = "before = probabilities.cumsum(-1) - probabilities"
LAST = "return logits.masked_fill(dropped, -torch.inf)\n"
CROSSING = {
    "en": "top_p leaves out the token with which the mass reaches p. It belongs to the nucleus.",
    "de": "top_p lässt das Token weg, mit dem die Summe p erreicht. Es gehört zum Nucleus.",
}

mutant(
    "crossing excluded",
    old=BEFORE,
    new="before = probabilities.cumsum(-1)",
    title=CROSSING,
    points={"exact": 2},
)
mutant(
    "crossing excluded, but one token is always kept",
    old=BEFORE,
    new="before = probabilities.cumsum(-1)\n    before[:, 0] = 0",
    title=CROSSING,
    points={"exact": 2},
)
mutant(
    "not sorted",
    old=SORT,
    new="ordered, order = logits, torch.arange(logits.size(-1)).expand_as(logits)",
    title={
        "en": "top_p adds up probabilities in the order of the vocabulary, not from the most likely token "
        "on.",
        "de": "top_p summiert in der Reihenfolge des Vokabulars statt vom wahrscheinlichsten Token an.",
    },
)
mutant(
    "least kept",
    old=SORT,
    new="ordered, order = logits.sort(dim=-1)",
    title={
        "en": "top_p keeps the least likely tokens instead of the most likely ones.",
        "de": "top_p behält die unwahrscheinlichsten Token statt der wahrscheinlichsten.",
    },
)
mutant(
    "order lost",
    old=LAST,
    new="return logits.masked_fill(before >= p, -torch.inf)\n",
    title={
        "en": "top_p decides in sorted order, but applies that to the tokens in their own order.",
        "de": "top_p entscheidet in sortierter Reihenfolge, wendet das aber auf die unsortierten Token an.",
    },
)
mutant(
    "single threshold",
    old=LAST,
    new="return logits.masked_fill(logits.softmax(-1) < p, -torch.inf)\n",
    title={
        "en": "top_p compares every single probability with p.",
        "de": "top_p vergleicht jede einzelne Wahrscheinlichkeit mit p.",
    },
)
mutant(
    "not removed",
    old=LAST,
    new="return logits.masked_fill(dropped, 0.0)\n",
    title={
        "en": "top_p: a token whose logit is set to 0 is not removed: softmax still gives it a probability.",
        "de": "top_p: Ein Token, dessen Logit 0 wird, ist nicht entfernt: Softmax gibt ihm trotzdem eine "
        "Wahrscheinlichkeit.",
    },
)
mutant(
    "probabilities",
    old=LAST,
    new="return logits.masked_fill(dropped, -torch.inf).softmax(dim=-1)\n",
    title={
        "en": "top_p returns probabilities; logits are asked for.",
        "de": "top_p gibt Wahrscheinlichkeiten zurück; gefragt sind Logits.",
    },
)

planted(
    "cumulated without sorting back",
    source="""
import torch
def top_p(logits, p):
    ordered = logits.sort(dim=-1, descending=True).values
    mass = ordered.softmax(-1).cumsum(-1)
    last = (mass < p).sum(-1, keepdim=True).clamp(max=logits.size(-1) - 1)
    return torch.where(logits >= ordered.gather(-1, last), logits, -1e9)
""",
)
