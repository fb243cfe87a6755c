"""Task 1 (e): sampling, judged by the distribution of many draws and not by chance."""

import numpy as np
import torch

from autograder.checking import Wrong, assert_close, assert_equal, check, mutant, planted, solution
from reference.checks.arrays import read_array
from reference.checks.logits import draw_logits

solution("decoding.py")

ROWS, CALLS = 2500, 8
"""Equal rows of one call, and calls: enough to find a probability that is 5 percentage points off."""
FALSE_ALARM = 1e-9
"""Probability that a right function is refused; the question promises less than one in a billion."""
COMPARISONS = 2 * 3 * 8 * 2
"""Rounds, cases, tokens and tails of an item that share it (Bonferroni)."""


@check(
    points=1,
    title={
        "en": "Tokens are drawn at random, and none that was removed",
        "de": "Token werden zufällig gezogen, und keines, das entfernt wurde",
    },
)
def support(student, reference, draw):
    """Draw from logits with removed tokens."""
    for _ in range(2):
        logits = draw_row(draw, removed=3)
        found = draw_distribution(student, logits, 0.7)
        is_removed = logits[0].isinf().numpy()
        assert_close(np.where(is_removed, found, 0.0), np.zeros(8), atol=0)


@check(
    points=3,
    title={
        "en": "Each token is drawn as often as its probability says",
        "de": "Jedes Token wird so oft gezogen, wie seine Wahrscheinlichkeit sagt",
    },
)
def distribution(student, reference, draw):
    """Draw with removed tokens first, which tells two mistakes apart; then cold and hot."""
    for _ in range(2):
        for temperature, removed in ((0.7, 3), (0.5, 0), (2.0, 0)):
            logits = draw_row(draw, removed=removed)
            found = draw_distribution(student, logits, temperature)
            assert_close(found, (logits / temperature).softmax(-1)[0].numpy())


def draw_row(draw, *, removed):
    """Return hidden logits (1, 8), so many of them removed."""
    logits = draw_logits(draw, 1, 8)
    logits[0, draw.permutation(8)[:removed]] = -torch.inf
    return logits


def draw_distribution(student, logits, temperature):
    """Draw many tokens; return the known distribution (n_vocab,) that they follow, otherwise the frequencies.

    Raises:
        Wrong: these are no draws, or all rows of a call are the same.
    """
    rows = logits.repeat(ROWS, 1)
    calls = np.stack([read_tokens(student.sample(rows, temperature), logits.size(-1)) for _ in range(CALLS)])
    differ = [bool((calls != calls[:, :1]).any()), bool((calls != calls[:1]).any())]  # rows, calls
    assert_equal(differ, [True, True])
    counts = np.bincount(calls.ravel(), minlength=logits.size(-1))
    kept = logits.isfinite().double()
    known = (
        (logits / temperature).softmax(-1),
        logits.softmax(-1),
        (logits * temperature).softmax(-1),
        kept / kept.sum(),
        torch.full_like(logits, 1 / logits.size(-1)),
    )
    followed = (chances[0].numpy() for chances in known if is_drawn_from(counts, chances[0].numpy()))
    return next(followed, counts / counts.sum())


def read_tokens(value, n_vocab):
    """Return the drawn tokens (ROWS,).

    Raises:
        Wrong: they are none.
    """
    tokens = read_array(value, "iu")
    if tokens is None or tokens.shape not in ((ROWS,), (ROWS, 1)):
        raise Wrong(f"{ROWS} tokens are asked for")
    if tokens.min() < 0 or tokens.max() >= n_vocab:
        raise Wrong(f"tokens from {tokens.min()} to {tokens.max()}")
    return tokens.reshape(ROWS)


def is_drawn_from(counts, chances):
    """Return whether no count is too rare for its binomial distribution, whose tails are summed exactly."""
    if counts[chances == 0].any():
        return False
    total = int(counts.sum())
    number = np.arange(total + 1)
    choices = np.concatenate([[0.0], np.log((total - number[:-1]) / number[1:]).cumsum()])  # log of binomials
    for count, chance in zip(counts[chances > 0], chances[chances > 0], strict=True):
        terms = np.exp(choices + number * np.log(chance) + (total - number) * np.log1p(-chance))
        if min(terms[: count + 1].sum(), terms[count:].sum()) < FALSE_ALARM / COMPARISONS:
            return False
    return True


DRAW = "torch.multinomial(probabilities, 1).squeeze(-1)"

mutant(
    "not drawn",
    old=DRAW,
    new="probabilities.argmax(-1)",
    title={
        "en": "sample takes the most likely token. Sampling draws one at random.",
        "de": "sample nimmt das wahrscheinlichste Token. Beim Sampling wird eines zufällig gezogen.",
    },
    loses=["support", "distribution"],
)
mutant(
    "one draw",
    old=DRAW,
    new="torch.multinomial(probabilities[:1], 1).squeeze(-1).expand(logits.size(0))",
    title={
        "en": "sample: all rows of a call got the same token. Each row needs a draw of its own.",
        "de": "sample: Alle Zeilen eines Aufrufs bekamen dasselbe Token. Jede Zeile braucht eine eigene "
        "Ziehung.",
    },
    loses=["support", "distribution"],
)
mutant(
    "uniform over all",
    old=DRAW,
    new="torch.multinomial(torch.ones_like(probabilities), 1).squeeze(-1)",
    title={
        "en": "sample draws every token equally often, whatever its logit.",
        "de": "sample zieht jedes Token gleich oft, egal welchen Logit es hat.",
    },
    loses=["support", "distribution"],
)
mutant(
    "uniform",
    old=DRAW,
    new="torch.multinomial((probabilities > 0).double(), 1).squeeze(-1)",
    title={
        "en": "sample draws all tokens that are kept equally often, whatever their probability.",
        "de": "sample zieht alle behaltenen Token gleich oft, egal wie wahrscheinlich sie sind.",
    },
    loses=["distribution"],
)
mutant(
    "temperature forgotten",
    old="(logits / temperature).softmax(-1)\n    return torch.multinomial",
    new="logits.softmax(-1)\n    return torch.multinomial",
    title={
        "en": "sample does not depend on the temperature.",
        "de": "sample hängt nicht von der Temperatur ab.",
    },
    loses=["distribution"],
)
mutant(
    "temperature multiplied",
    old="(logits / temperature).softmax(-1)\n    return torch.multinomial",
    new="(logits * temperature).softmax(-1)\n    return torch.multinomial",
    title={
        "en": "sample multiplies with the temperature: a high one then makes the choice more certain.",
        "de": "sample multipliziert mit der Temperatur: Eine hohe macht die Wahl so sicherer.",
    },
    loses=["distribution"],
)

planted(
    "the Gumbel trick",
    source="""
import torch
def sample(logits, temperature):
    noise = torch.empty_like(logits).exponential_().log()
    return (logits / temperature - noise).argmax(-1)
""",
)
planted(
    "the inverse of the cumulated probabilities, with NumPy",
    source="""
import numpy
def sample(logits, temperature):
    cumulated = (logits / temperature).softmax(-1).numpy().cumsum(-1)
    return (cumulated <= numpy.random.random((len(logits), 1))).sum(-1)
""",
)
planted(
    "five percentage points off",
    source="""
import torch
def sample(logits, temperature):
    probabilities = 0.95 * (logits / temperature).softmax(-1)
    probabilities[:, logits[0].nan_to_num(neginf=torch.inf).argmin()] += 0.05
    return torch.multinomial(probabilities, 1)[:, 0]
""",
    loses=["distribution"],
)
planted(
    "one removed token among many",
    source="""
import torch
def sample(logits, temperature):
    drawn = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]
    drawn[17] = logits[0].argmin()
    return drawn
""",
    loses=["support", "distribution"],
)
