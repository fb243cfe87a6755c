"""Batches of examples of different lengths with seven planted faults."""

from __future__ import annotations

import torch

from autograder.checking import Wrong, assert_equal, fault, planted, probe, solution

solution("repair/collate.py")

IGNORED = -100
PAD = 3
LEAST = 10
"""Tokens of texts begin here: none is that of the padding, whatever it is filled up with."""


def draw_tokens(draw, count):
    return draw.integers(LEAST, 100, count).tolist()


def collate(student, examples, max_len=20):
    """Return what comes of pairs of a prompt and an answer."""
    return student.Collator(PAD, max_len)([{"prompt": list(p), "answer": list(a)} for p, a in examples])


def collate_short_and_long(student, draw):
    """Return a batch of an example of 4 tokens and one of 7, and the first example."""
    example = draw_tokens(draw, 2), draw_tokens(draw, 2)
    return collate(student, [example, (draw_tokens(draw, 3), draw_tokens(draw, 4))]), example


@fault(
    old="[: self.max_len]",
    new="[-self.max_len :]",
    points=1,
    title={
        "en": "What is too long is cut off at its end",
        "de": "Was zu lang ist, wird am Ende abgeschnitten",
    },
)
def cut(student, reference, draw):
    """Check an example that is cut off in the answer, and one in the prompt."""
    for prompt, answer in ((2, 6), (6, 2)):
        example = draw_tokens(draw, prompt), draw_tokens(draw, answer)
        (row,) = collate(student, [example], max_len=5)["tokens"].tolist()
        assert_equal([token for token in row if token >= LEAST], (example[0] + example[1])[:5])


@fault(
    old="max(len(row) for row in rows)",
    new="self.max_len",
    points=1,
    title={
        "en": "A batch is as long as its longest example",
        "de": "Ein Batch ist so lang wie sein längstes Beispiel",
    },
)
def longest(student, reference, draw):
    """Check all tensors."""
    batch, _ = collate_short_and_long(student, draw)
    for name in ("tokens", "mask", "labels", "positions"):
        if (shape := tuple(batch[name].shape)) != (2, 7):
            raise Wrong(f"{name} has the shape {shape}, expected (2, 7)")


@fault(
    old="longest), self.pad)",
    new="longest), 0)",
    points=1,
    title={
        "en": "Examples are filled up with the token for padding",
        "de": "Beispiele werden mit dem Token für Auffüllung gefüllt",
    },
)
def pad(student, reference, draw):
    """Check that nothing else stands after the shorter example, however long the batch is."""
    batch, _ = collate_short_and_long(student, draw)
    assert_equal(set(batch["tokens"][0, 4:].tolist()), {PAD})


@fault(
    old="mask[place, : len(row)] = 1",
    new="mask[place] = (tokens[place] != self.pad).long()",
    points=1,
    title={
        "en": "Only padding is masked, not a token of the text that is the same",
        "de": "Nur die Auffüllung wird maskiert, nicht ein gleiches Token des Textes",
    },
)
def mask(student, reference, draw):
    """Check an example in which the token of the padding stands twice."""
    first, second = draw_tokens(draw, 2)
    batch = collate(student, [([first, PAD], [second, PAD]), (draw_tokens(draw, 3), draw_tokens(draw, 4))])
    shown = batch["mask"].bool().tolist()
    assert_equal([row[:7] for row in shown], [[True] * 4 + [False] * 3, [True] * 7])


@fault(
    old="longest), IGNORED)",
    new="longest), self.pad)",
    points=1,
    title={"en": "Padding has no label", "de": "Die Auffüllung hat kein Label"},
)
def ignored(student, reference, draw):
    """Check the labels after the shorter example."""
    batch, _ = collate_short_and_long(student, draw)
    assert_equal(set(batch["labels"][0, 4:].tolist()), {IGNORED})


@fault(
    old='begin = len(examples[place]["prompt"])',
    new="begin = 0",
    points=1,
    title={"en": "The prompt has no label", "de": "Der Prompt hat kein Label"},
)
def prompt(student, reference, draw):
    """Check that the prompt has the label of the padding, whichever that is, and the answer its tokens."""
    batch, (_, answer) = collate_short_and_long(student, draw)
    labels = batch["labels"][0].tolist()
    assert_equal(labels[:4], [labels[4], labels[4], *answer])


@fault(
    old="(mask.cumsum(dim=1) - 1)",
    new="mask.cumsum(dim=1)",
    points=1,
    title={"en": "Positions count from 0", "de": "Positionen zählen ab 0"},
)
def positions(student, reference, draw):
    """Check the positions of the tokens; those of the padding do not matter."""
    batch, _ = collate_short_and_long(student, draw)
    found = batch["positions"].tolist()
    assert_equal([found[0][:4], found[1][:7]], [[*range(4)], [*range(7)]])


@probe
def same_batches(student, reference, draw):
    """Compare with the solution's batches, where padding is not hidden."""
    for max_len in (20, 6):
        lengths = draw.integers(1, 6, 4, 2).tolist()
        examples = [[draw.integers(1, 6, count).tolist() for count in pair] for pair in lengths]
        mine, right = (collate(names, examples, max_len) for names in (student, reference))
        shown = right["mask"].bool()
        right["positions"] = torch.where(shown, right["positions"], 0)
        mine["positions"] = torch.where(shown, mine["positions"], 0)
        mine["mask"] = mine["mask"].long()
        assert_equal(dict(mine), right)


planted(
    "lists that are filled up",
    source="""
import torch

class Collator:
    def __init__(self, pad, max_len):
        self.pad, self.max_len = pad, max_len

    def __call__(self, examples):
        batch = {"tokens": [], "mask": [], "labels": [], "positions": []}
        width = min(self.max_len, max(len(one["prompt"] + one["answer"]) for one in examples))
        for one in examples:
            tokens = [*one["prompt"], *one["answer"]][:width]
            labels = ([-100] * len(one["prompt"]) + one["answer"])[:width]
            rest = width - len(tokens)
            batch["tokens"].append(tokens + [self.pad] * rest)
            batch["mask"].append([1] * len(tokens) + [0] * rest)
            batch["labels"].append(labels + [-100] * rest)
            batch["positions"].append(list(range(width)))
        return {name: torch.tensor(rows) for name, rows in batch.items()}
""",
)
planted(
    "torch pads, the mask has truth values",
    source="""
import torch
from torch.nn.utils.rnn import pad_sequence

class Collator:
    def __init__(self, pad, max_len):
        self.pad = pad
        self.max_len = max_len

    def __call__(self, examples):
        rows = [torch.tensor(one["prompt"] + one["answer"])[: self.max_len] for one in examples]
        prompts = torch.tensor([len(one["prompt"]) for one in examples])
        lengths = torch.tensor([len(row) for row in rows])
        tokens = pad_sequence(rows, batch_first=True, padding_value=self.pad)
        places = torch.arange(tokens.shape[1]).expand_as(tokens)
        mask = places < lengths[:, None]
        labels = tokens.masked_fill(~mask | (places < prompts[:, None]), -100)
        return dict(tokens=tokens, mask=mask, labels=labels, positions=places * mask)
""",
)
planted(
    "all labels are hidden",
    source="""
import torch

class Collator:
    def __init__(self, pad, max_len):
        self.pad, self.max_len = pad, max_len

    def __call__(self, examples):
        rows = [(one["prompt"] + one["answer"])[: self.max_len] for one in examples]
        width = max(map(len, rows))
        tokens = torch.tensor([row + [self.pad] * (width - len(row)) for row in rows])
        mask = torch.tensor([[int(i < len(row)) for i in range(width)] for row in rows])
        labels = torch.full_like(tokens, -100)
        return {"tokens": tokens, "mask": mask, "labels": labels, "positions": torch.arange(width) * mask}
""",
    loses=["prompt"],
)
