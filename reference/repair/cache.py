"""Generation with a cache of keys and values, by a small decoder of one head."""

import math

import torch
from torch import nn


class CachedDecoder(nn.Module):
    """One layer of attention; keys and values of earlier tokens are kept, not computed again."""

    def __init__(self, tokens: int, width: int, longest: int) -> None:
        super().__init__()
        self.token = nn.Embedding(tokens, width)
        self.position = nn.Embedding(longest, width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, tokens, bias=False)
        self.reset()

    def reset(self) -> None:
        """Forget all tokens."""
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def step(self, token: int) -> torch.Tensor:
        """(token,): logits of the next token, after one more token."""
        x = self.token.weight[token] + self.position.weight[len(self.keys)]
        self.keys.append(self.key(x))
        self.values.append(self.value(x))
        scores = torch.stack(self.keys) @ self.query(x) / math.sqrt(x.shape[0])
        mixed = scores.softmax(dim=0) @ torch.stack(self.values)
        logits: torch.Tensor = self.output(mixed + x)
        return logits

    def generate(self, prompt: list[int], new: int, end: int) -> list[int]:
        """Up to ``new`` tokens after the prompt, the most probable ones; the one that ends it is the last."""
        self.reset()
        for token in prompt:
            logits = self.step(token)
        tokens: list[int] = []
        while len(tokens) < new:
            tokens.append(int(logits.argmax()))
            if tokens[-1] == end:
                break
            logits = self.step(tokens[-1])
        return tokens
