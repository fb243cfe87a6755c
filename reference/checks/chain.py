"""Task 1 (d): temperature, top-k and top-p, one after the other."""

from autograder.checking import assert_close, call, check, mutant, planted, solution
from reference.checks.logits import draw_logits, read_numbers

solution("decoding.py")


@check(
    points=3,
    title={
        "en": "Temperature, top-k, top-p, in this order, and a distribution in the end",
        "de": "Temperatur, Top-k, Top-p, in dieser Reihenfolge, und am Ende eine Verteilung",
    },
)
def exact(student, reference, draw):
    """Compare with the solution: cold, hot, and only top-p."""
    for _ in range(3):
        for temperature, k, p in ((0.6, 8, 0.8), (1.8, 5, 0.7), (1.5, 12, 0.6)):
            logits = draw_logits(draw, 4, 12)
            expected = reference.next_token_probabilities(logits, temperature, k, p)
            actual = call(
                student.next_token_probabilities,
                logits=logits.clone(),
                temperature=temperature,
                k=k,
                p=p,
            )
            assert_close(read_numbers(actual), expected.numpy(), rtol=1e-5, atol=1e-9)


SCALE = "logits = logits / temperature"
LAST = "return logits.masked_fill(dropped, -torch.inf).softmax(-1)"

mutant(
    "temperature last",
    edits=[
        (SCALE, ""),
        (LAST, "return (logits.masked_fill(dropped, -torch.inf) / temperature).softmax(-1)"),
    ],
    title={
        "en": "next_token_probabilities divides by the temperature after the filters. Top-p then looks at "
        "other probabilities.",
        "de": "next_token_probabilities teilt erst nach den Filtern durch die Temperatur. Top-p sieht so "
        "andere Wahrscheinlichkeiten.",
    },
    points={"exact": 1.5},
)
mutant(
    "not renormalised",
    edits=[
        (SCALE, "logits = logits / temperature\n    unfiltered = logits.softmax(-1)"),
        (LAST, "return unfiltered.masked_fill(dropped | logits.isinf(), 0.0)"),
    ],
    title={
        "en": "next_token_probabilities: the probabilities of what is kept are those from before the "
        "filters; their sum is below 1.",
        "de": "next_token_probabilities: Die Wahrscheinlichkeiten der behaltenen Token sind die von vor den "
        "Filtern; ihre Summe ist kleiner als 1.",
    },
    points={"exact": 1.5},
)
mutant(
    "temperature multiplied",
    old=SCALE,
    new="logits = logits * temperature",
    title={
        "en": "next_token_probabilities multiplies with the temperature: a high one then makes the choice "
        "more certain.",
        "de": "next_token_probabilities multipliziert mit der Temperatur: Eine hohe macht die Wahl so "
        "sicherer.",
    },
)
mutant(
    "temperature forgotten",
    old=SCALE,
    new="",
    title={
        "en": "next_token_probabilities does not depend on the temperature.",
        "de": "next_token_probabilities hängt nicht von der Temperatur ab.",
    },
)
mutant(
    "top-p first",
    edits=[
        ("    logits = logits.masked_fill(logits < smallest, -torch.inf)\n", ""),
        (LAST, "return logits.masked_fill(dropped | (logits < smallest), -torch.inf).softmax(-1)"),
    ],
    title={
        "en": "next_token_probabilities applies top-p before top-k; the question asks for the other order.",
        "de": "next_token_probabilities wendet Top-p vor Top-k an; gefragt ist die andere Reihenfolge.",
    },
)

planted(
    "probabilities divided by their sum",
    source="""
def next_token_probabilities(logits, temperature, k, p):
    kept, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    kept[:, k:] = 0
    kept = kept / kept.sum(-1, keepdim=True)
    kept[kept.cumsum(-1) - kept >= p] = 0
    return (kept / kept.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))
""",
)
