"""Batches of examples of different lengths, for training a language model on answers."""

import torch

IGNORED = -100


class Collator:
    """Pads examples on the right, and makes masks, positions and labels."""

    def __init__(self, pad: int, max_len: int) -> None:
        self.pad = pad
        self.max_len = max_len

    def __call__(self, examples: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        """Examples with the tokens of a prompt and an answer → tensors of (example, position)."""
        rows = [(one["prompt"] + one["answer"])[: self.max_len] for one in examples]
        longest = max(len(row) for row in rows)
        tokens = torch.full((len(rows), longest), self.pad)
        mask = torch.zeros(len(rows), longest, dtype=torch.long)
        labels = torch.full((len(rows), longest), IGNORED)
        for place, row in enumerate(rows):
            begin = len(examples[place]["prompt"])
            tokens[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
            labels[place, begin : len(row)] = torch.tensor(row[begin:])
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        return {"tokens": tokens, "mask": mask, "labels": labels, "positions": positions}
