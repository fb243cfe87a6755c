"""Sampling of tokens with temperature, top-k and top-p."""

import torch


class Sampler:
    """Chooses tokens by given random numbers, so that equal numbers choose equal tokens."""

    def __init__(self, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> None:
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """(…, token): what is left of the distribution; without top-k where that is 0."""
        scaled = logits / self.temperature
        if self.top_k:
            smallest = scaled.topk(self.top_k).values[..., -1:]
            scaled = scaled.masked_fill(scaled < smallest, float("-inf"))
        ordered, tokens = scaled.softmax(dim=-1).sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= self.top_p, 0.0)
        kept = torch.zeros_like(ordered).scatter(-1, tokens, ordered)
        return kept / kept.sum(dim=-1, keepdim=True)

    def sample(self, logits: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """(…,): for each number between 0 and 1 the first token up to which the probabilities exceed it."""
        reached = self.probabilities(logits).cumsum(dim=-1)
        return (reached <= numbers[..., None]).sum(dim=-1)
