"""Trainer and measures of memorisation: right in several styles, and the slips that people make."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.demo.formulas import Sample
from autograder.demo.gpt2.samples import Worth, edited, hostile

TRAINER = Worth.of(loss="3", updates="3", learns="1", resume="5")
MEMORISATION = Worth.of(longest="3", share="3", report="2")

_TRAINER = """
class Trainer:
    def __init__(self, model, batches, lr, total_steps):
        self.model = model
        self.batches = batches
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.schedule = torch.optim.lr_scheduler.LinearLR(
            self.optimizer, start_factor=1.0, end_factor=0.0, total_iters=total_steps
        )

    def loss(self, tokens, mask):
        logits = self.model(tokens, mask)[:, :-1]
        wanted = tokens[:, 1:]
        each = functional.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")
        counted = mask[:, 1:].to(each.dtype)
        return (each * counted).sum() / counted.sum()

    def train(self, steps):
        self.model.train()
        history = []
        for _ in range(steps):
            tokens, mask = self.batches.next()
            self.optimizer.zero_grad()
            loss = self.loss(tokens, mask)
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            history.append(float(loss))
        return history

    def checkpoint(self):
        return copy.deepcopy(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "batches": self.batches.state_dict(),
                "random": torch.get_rng_state(),
            }
        )

    def restore(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.batches.load_state_dict(state["batches"])
        torch.set_rng_state(state["random"])
"""
_TRAINER_SAVED = edited(
    _TRAINER,
    ("\nclass Trainer:", "\nimport io\n\n\nclass Trainer:"),
    (
        "        return copy.deepcopy(\n            {",
        "        file = io.BytesIO()\n        torch.save(\n            {",
    ),
    (
        "            }\n        )\n",
        '            },\n            file,\n        )\n        return {"file": file.getvalue()}\n',
    ),
    (
        "    def restore(self, state):\n",
        '    def restore(self, state):\n        state = torch.load(io.BytesIO(state["file"]))\n',
    ),
)
_TRAINER_IGNORED = edited(
    _TRAINER,
    (
        "        wanted = tokens[:, 1:]\n",
        "        wanted = torch.where(mask[:, 1:] == 1, tokens[:, 1:], -100)\n"
        "        return functional.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))\n",
    ),
)

_MEMORISATION = """
def memorisation(generated, corpus, n):
    ends = [(text, i, j) for text in corpus for i in range(len(text)) for j in range(i + 1, len(text) + 1)]
    pieces = {tuple(text[i:j]) for text, i, j in ends}
    longest = 0
    for i in range(len(generated)):
        for j in range(i + 1, len(generated) + 1):
            if tuple(generated[i:j]) in pieces:
                longest = max(longest, j - i)
    grams = [tuple(generated[i : i + n]) for i in range(len(generated) - n + 1)]
    if not grams:
        return {"longest": longest, "share": 0.0}
    return {"longest": longest, "share": sum(gram in pieces for gram in grams) / len(grams)}
"""
_REPORT = """

written = CORPUS[0] + CORPUS[3][:4]
report = {"tokens": written, **memorisation(written, CORPUS, 3)}
"""
_REPORT_TRAINED = """

torch.manual_seed(1)
all_tokens, all_masks = corpus_tensors()
student = GPT2(len(WORDS), 32)
optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
for _ in range(12):
    optimizer.zero_grad()
    logits = student(all_tokens, all_masks)[:, :-1]
    functional.cross_entropy(logits.flatten(0, 1), all_tokens[:, 1:].flatten(), ignore_index=0).backward()
    optimizer.step()
written = CORPUS[0][:2]
with torch.no_grad():
    while len(written) < 14:
        written.append(int(student(torch.tensor([written]))[0, -1].argmax()))
report = {"tokens": written, **memorisation(written, CORPUS, 3)}
"""
_MEMORISATION_TABLE = """
def memorisation(generated, corpus, n):
    best = 0
    for text in corpus:
        table = [[0] * (len(text) + 1) for _ in range(len(generated) + 1)]
        for i, token in enumerate(generated, start=1):
            for j, other in enumerate(text, start=1):
                if token == other:
                    table[i][j] = table[i - 1][j - 1] + 1
                    best = max(best, table[i][j])
    def occurs(gram):
        return any(gram == text[i : i + n] for text in corpus for i in range(len(text)))
    count = len(generated) - n + 1
    hits = [occurs(generated[i : i + n]) for i in range(count)]
    return {"share": sum(hits) / count if count > 0 else 0, "longest": best}
"""
_MEMORISATION_TEXT = """
def memorisation(generated, corpus, n):
    lines = [" " + " ".join(map(str, text)) + " " for text in corpus]

    def known(piece):
        return any(" " + " ".join(map(str, piece)) + " " in line for line in lines)

    ends = [(i, j) for i in range(len(generated)) for j in range(i + 1, len(generated) + 1)]
    longest = max((j - i for i, j in ends if known(generated[i:j])), default=0)
    found = [known(generated[i : i + n]) for i in range(len(generated) - n + 1)]
    return {"longest": longest, "share": sum(found) / len(found) if found else 0.0}
"""

RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "trainer": TRAINER.right(_TRAINER, _TRAINER_SAVED, _TRAINER_IGNORED),
    "memorisation": MEMORISATION.right(
        _MEMORISATION + _REPORT, _MEMORISATION_TABLE + _REPORT_TRAINED, _MEMORISATION_TEXT + _REPORT
    ),
}

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "trainer": (
        TRAINER.wrong(
            "never takes a step",
            edited(_TRAINER, ("            self.optimizer.step()\n            self.schedule.step()\n", "")),
            updates="0",
            learns="0",
            resume="0",
        ),
        TRAINER.wrong(
            "adds gradients up",
            edited(_TRAINER, ("            self.optimizer.zero_grad()\n", "")),
            updates="0",
            resume="0",
        ),
        TRAINER.wrong(
            "trains in evaluation mode",
            edited(_TRAINER, ("self.model.train()", "self.model.eval()")),
            updates="0",
        ),
        TRAINER.wrong(
            "forgets the schedule", edited(_TRAINER, ("            self.schedule.step()\n", "")), updates="0"
        ),
        TRAINER.wrong(
            "loses the random state",
            edited(_TRAINER, ('        torch.set_rng_state(state["random"])\n', "")),
            resume="3.5",
        ),
        TRAINER.wrong(
            "loses the optimizer's moments",
            edited(_TRAINER, ('        self.optimizer.load_state_dict(state["optimizer"])\n', "")),
            resume="3",
        ),
        TRAINER.wrong("hands out references", edited(_TRAINER, ("copy.deepcopy(", "dict(")), resume="0"),
    ),
    "memorisation": (
        MEMORISATION.wrong("counts no report", _MEMORISATION, report="0"),
        MEMORISATION.wrong(
            "reports too short a text",
            _MEMORISATION + "\n\nreport = {'tokens': [1, 2], **memorisation([1, 2], CORPUS, 3)}\n",
            report="0",
        ),
        MEMORISATION.wrong(
            "reports other numbers",
            _MEMORISATION
            + edited(
                _REPORT,
                ("memorisation(written, CORPUS, 3)}", 'memorisation(written, CORPUS, 3), "longest": 99}'),
            ),
            report="0",
        ),
        MEMORISATION.wrong(
            "compares single tokens",
            edited(_MEMORISATION, ("max(longest, j - i)", "1")) + _REPORT,
            longest="0",
            report="0",
        ),
    ),
}

HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    "trainer": hostile("Trainer", TRAINER),
    "memorisation": hostile("memorisation", MEMORISATION),
}
