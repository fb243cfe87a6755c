"""Test that the tiny GPT-2 of the questions computes the same as transformers' GPT-2."""

from __future__ import annotations

import pytest
import torch

from tests.reference.gpt2_twin import tiny, twin

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_logits_equal_those_of_transformers(seed: int) -> None:
    """With the same weights the logits agree at every position, for any sizes."""
    model = tiny(seed)
    tokens = torch.randint(0, model.tokens.num_embeddings, (3, 7))
    assert torch.allclose(twin(model)(tokens).logits, model(tokens), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_on_the_left_changes_nothing(seed: int) -> None:
    """With its mask, a row padded on the left has the logits of the row without padding."""
    model = tiny(seed)
    tokens = torch.randint(0, model.tokens.num_embeddings, (1, 5))
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.int64), tokens], 1)
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
    assert torch.allclose(model(tokens), model(padded, mask)[:, 3:], rtol=1e-9, atol=1e-9)
    assert not torch.allclose(model(tokens), model(padded)[:, 3:], rtol=1e-3, atol=1e-3)


def test_the_loss_equals_that_of_transformers() -> None:
    """The shifted loss without padding equals the one that transformers computes from labels."""
    model = tiny(1)
    tokens = torch.randint(1, model.tokens.num_embeddings, (4, 8))
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3, [1] * 7 + [0], [1] * 2 + [0] * 6])
    labels = tokens.masked_fill(mask == 0, -100)
    theirs = twin(model)(tokens, attention_mask=mask, labels=labels).loss
    logits = model(tokens, mask)[:, :-1].flatten(0, 1)
    ours = torch.nn.functional.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=-100)
    assert torch.allclose(theirs.double(), ours, rtol=1e-6, atol=0)
