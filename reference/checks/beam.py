"""Task 1 (g): beam search."""

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.searches import assert_all_found, copy_model, make_model
from reference.outcomes import beam_outcomes

solution("decoding.py")

ROUNDS = 6
"""On one model alone, a wrong search finds the right text in up to half of the cases."""


@check(
    points=2,
    title={"en": "The best of all beams is found", "de": "Der beste aller Beams wird gefunden"},
)
def beams(student, reference, draw):
    """Four beams, and two."""
    compare(student, reference, draw, [(10, 4, 1.0, -1, 0), (8, 2, 1.0, -1, 0)] * ROUNDS)


@check(
    points=2,
    title={
        "en": "Hypotheses end, and those of different lengths are compared by their score",
        "de": "Hypothesen enden, und verschieden lange werden nach ihrer Wertung verglichen",
    },
)
def endings(student, reference, draw):
    """Two tokens that end a text."""
    compare(student, reference, draw, [(10, 3, 2.0, 1, 0), (10, 3, 1.5, 2, 0)] * ROUNDS)


@check(
    points=2,
    title={"en": "No n-gram occurs twice", "de": "Kein n-Gramm kommt zweimal vor"},
)
def ngrams(student, reference, draw):
    """No bigram twice, after a text in which some occur."""
    compare(student, reference, draw, [(8, 3, 1.0, -1, 2)] * 2 * ROUNDS, length=6, highest=3)


def compare(student, reference, draw, cases, *, length=4, highest=7):
    """Compare the results for hidden models and texts; a case is what follows them in the signature."""

    def search(case):
        tokens = draw.integers(0, highest, 1, length)
        model = make_model(draw.seed(), 7, 0.5)
        names = ("n_new", "n_beams", "length_penalty", "eos", "no_repeat")
        rows = call(
            student.beam_search,
            model=copy_model(student, model),
            tokens=tokens.clone(),
            **dict(zip(names, case, strict=True)),
        )
        expected = reference.beam_search(model, tokens, *case).tolist()
        return rows, expected, lambda: [beam_outcomes(model, tokens, *case)]

    assert_all_found(search, cases)


mutant(
    "one beam",
    old="beams = going_on[:n_beams]",
    new="beams = going_on[:1]",
    title={
        "en": "beam_search goes on with the best beam only: that is greedy search.",
        "de": "beam_search verfolgt nur den besten Beam weiter: Das ist Greedy-Suche.",
    },
    loses=["beams", "endings", "ngrams"],
)
mutant(
    "sums forgotten",
    old="sums = scores + torch.tensor([total for total, _ in beams])[:, None]",
    new="sums = scores",
    title={
        "en": "beam_search ranks by the last token's probability, not by that of the whole sequence.",
        "de": "beam_search ordnet nach der Wahrscheinlichkeit des letzten Tokens statt der ganzen Folge.",
    },
    loses=["beams", "endings", "ngrams"],
)
mutant(
    "logits summed",
    old="scores = model(past)[:, -1].log_softmax(-1)",
    new="scores = model(past)[:, -1]",
    title={
        "en": "beam_search adds up logits. Logits of different steps can be compared only after a "
        "log-softmax.",
        "de": "beam_search summiert Logits. Logits verschiedener Schritte sind erst nach einem Log-Softmax "
        "vergleichbar.",
    },
    loses=["beams", "endings", "ngrams"],
)
mutant(
    "penalty forgotten",
    old="total / length**length_penalty",
    new="total",
    title={
        "en": "beam_search compares hypotheses of different lengths without the length penalty.",
        "de": "beam_search vergleicht Hypothesen verschiedener Länge ohne die Length-Penalty.",
    },
    loses=["endings"],
)
mutant(
    "end ignored",
    old="if beam[-1] == eos or length == n_new:",
    new="if length == n_new:",
    title={
        "en": "beam_search goes on after the token that ends a hypothesis.",
        "de": "beam_search geht hinter dem Token weiter, das eine Hypothese beendet.",
    },
    loses=["endings"],
)
mutant(
    "first finished",
    old="max(hypotheses)[1]",
    new="hypotheses[0][1]",
    title={
        "en": "beam_search returns the hypothesis that ended first. A later one can have a better score.",
        "de": "beam_search gibt die Hypothese zurück, die zuerst endete. Eine spätere kann besser sein.",
    },
    loses=["endings"],
)
mutant(
    "ban forgotten",
    old="range(n_vocab if no_repeat else 0)",
    new="range(0)",
    title={
        "en": "beam_search lets n-grams repeat that are banned.",
        "de": "beam_search lässt n-Gramme sich wiederholen, die verboten sind.",
    },
    loses=["ngrams"],
)
mutant(
    "prompt missing",
    old="return torch.tensor([max(hypotheses)[1]])",
    new="return torch.tensor([max(hypotheses)[1][tokens.size(1) :]])",
    title={
        "en": "beam_search: the new tokens are right, but the text they continue is missing in front of "
        "them.",
        "de": "beam_search: Die neuen Token stimmen, aber vor ihnen fehlt der Text, den sie fortsetzen.",
    },
    loses=["beams", "endings", "ngrams"],
)

planted(
    "a list of all candidates, sorted",
    source="""
import torch
def beam_search(model, tokens, n_new, n_beams, length_penalty, eos, no_repeat):
    start = tokens[0].tolist()
    beams, done = [(0.0, start)], []
    for length in range(1, n_new + 1):
        candidates = []
        for total, beam in beams:
            log_probabilities = model(torch.tensor([beam]))[0, -1].log_softmax(-1).tolist()
            for token, value in enumerate(log_probabilities):
                text = [*beam, token]
                pieces = [text[i : i + no_repeat] for i in range(len(text) - no_repeat + 1)]
                if not no_repeat or pieces.count(pieces[-1]) == 1:
                    candidates.append((total + value, text))
        candidates = sorted(candidates, reverse=True)[: 2 * n_beams]
        over = [text[-1] == eos or length == n_new for _, text in candidates]
        done += [
            (total / length**length_penalty, text)
            for (total, text), ended in list(zip(candidates, over))[:n_beams]
            if ended
        ]
        beams = [one for one, ended in zip(candidates, over) if not ended][:n_beams]
    return torch.tensor([max(done)[1]])
""",
)
