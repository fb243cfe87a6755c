"""Task 1 (f): greedy search."""

import torch

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.searches import assert_all_found, copy_model, make_model
from reference.outcomes import greedy_outcomes

solution("decoding.py")

ROUNDS = 8
"""So that a model whose texts hardly ever end is no way through."""


@check(
    points=1,
    title={
        "en": "One text is continued with its most likely tokens",
        "de": "Ein Text wird mit seinen wahrscheinlichsten Token fortgesetzt",
    },
)
def single(student, reference, draw):
    """One text without padding."""
    compare(student, reference, draw, [5], 6, [-1] * 4)


@check(
    points=2,
    title={
        "en": "In a batch that is padded on the left, each text is continued as if it were alone",
        "de": "In einem links aufgefüllten Batch wird jeder Text fortgesetzt, als wäre er allein",
    },
)
def batch(student, reference, draw):
    """Texts of different lengths."""
    compare(student, reference, draw, [6, 4, 2, 5], 6, [-1] * 4)


@check(
    points=1,
    title={
        "en": "A text that has ended goes on as padding, and the others go on",
        "de": "Ein Text, der zu Ende ist, geht als Padding weiter, und die anderen gehen weiter",
    },
)
def endings(student, reference, draw):
    """Texts of which some end."""
    compare(student, reference, draw, [4, 3, 4, 2, 4, 4], 8, [1, 2] * ROUNDS)


def compare(student, reference, draw, lengths, n_new, ends):
    """Compare results for hidden models and texts of these lengths, once for each token that ends a text."""
    width = max(lengths)
    mask = (torch.arange(width) >= width - torch.tensor(lengths)[:, None]).long()  # (batch, width)

    def search(eos):
        tokens = draw.integers(0, 6, len(lengths), width)
        model = make_model(draw.seed(), 6, 0.3)
        rows = call(
            student.greedy,
            model=copy_model(student, model),
            tokens=tokens.clone(),
            n_new=n_new,
            attention_mask=mask.clone(),
            eos=eos,
            pad=0,
        )
        expected = reference.greedy(model, tokens, n_new, mask, eos, 0).tolist()
        return rows, expected, lambda: greedy_outcomes(model, tokens, n_new, mask, eos, 0)

    assert_all_found(search, ends)


CHOOSE = "model(tokens, attention_mask)[:, -1].argmax(-1)"
END = "chosen = chosen.masked_fill(ended, pad)\n        ended = ended | (chosen == eos)"

mutant(
    "first row for all",
    old=CHOOSE,
    new="model(tokens, attention_mask)[:1, -1].argmax(-1).expand(tokens.size(0))",
    title={
        "en": "greedy chooses for the first row and gives the token to all rows.",
        "de": "greedy wählt für die erste Zeile und gibt das Token allen Zeilen.",
    },
    loses=["batch", "endings"],
)
mutant(
    "mask ignored",
    old=CHOOSE,
    new="model(tokens)[:, -1].argmax(-1)",
    title={
        "en": "greedy calls the model without the attention mask, so padding is read as text.",
        "de": "greedy ruft das Modell ohne die Attention-Maske auf; so wird Padding als Text gelesen.",
    },
    loses=["batch", "endings"],
)
mutant(
    "other position",
    old=CHOOSE,
    new="model(tokens, attention_mask)[:, 0].argmax(-1)",
    title={
        "en": "greedy reads the logits of another position than the last one.",
        "de": "greedy liest die Logits einer anderen Position als der letzten.",
    },
    loses=["single", "batch", "endings"],
)
mutant(
    "goes on",
    old="chosen.masked_fill(ended, pad)",
    new="chosen",
    title={
        "en": "greedy: a row that has ended goes on with further tokens.",
        "de": "greedy: Eine Zeile, die zu Ende ist, geht mit weiteren Token weiter.",
    },
    loses=["endings"],
)
mutant(
    "end replaced",
    old=END,
    new="ended = ended | (chosen == eos)\n        chosen = chosen.masked_fill(ended, pad)",
    title={
        "en": "greedy: the token that ends a row is replaced by padding. It still belongs to the row.",
        "de": "greedy: Das Token, das eine Zeile beendet, wird durch Padding ersetzt. Es gehört noch dazu.",
    },
    loses=["endings"],
)
mutant(
    "prompt missing",
    old="torch.ones_like(chosen)[:, None]], 1)\n    return tokens",
    new="torch.ones_like(chosen)[:, None]], 1)\n    return tokens[:, -n_new:]",
    title={
        "en": "greedy: the new tokens are right, but the text they continue is missing in front of them.",
        "de": "greedy: Die neuen Token stimmen, aber vor ihnen fehlt der Text, den sie fortsetzen.",
    },
    loses=["single", "batch", "endings"],
)
mutant(
    "log-probabilities are right, too",
    old=CHOOSE,
    new="model(tokens, attention_mask).log_softmax(-1)[:, -1].argmax(-1)",
    loses=[],
)

planted(
    "row by row, without padding",
    source="""
import torch
def greedy(model, tokens, n_new, attention_mask, eos, pad):
    rows = []
    for row, mask in zip(tokens, attention_mask):
        text, ended = row[mask == 1].tolist(), False
        for _ in range(n_new):
            new = pad if ended else int(model(torch.tensor([text]))[0, -1].argmax())
            ended = ended or new == eos
            text.append(new)
        rows.append(row[mask == 0].tolist() + text)
    return torch.tensor(rows)
""",
)
