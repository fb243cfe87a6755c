"""Test that our decoding strategies equal those of transformers on random logits and tiny models."""

from __future__ import annotations

import math
from types import ModuleType

import pytest
import torch
from torch import Tensor

from reference import decoding
from reference.outcomes import beam_outcomes, greedy_outcomes
from tests.reference.gpt2_twin import tiny, twin

SEEDS = range(60)


@pytest.fixture(scope="module")
def processors() -> ModuleType:
    """Return the logits processors of transformers."""
    from transformers.generation import logits_process

    return logits_process


def drawn(seed: int) -> tuple[Tensor, Tensor]:
    """Return logits (3, 17) and tokens (3, 9) in which n-grams repeat."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 17, generator=generator, dtype=torch.float64) * 2
    return logits, torch.randint(0, 4, (3, 9), generator=generator)


def same(ours: Tensor, theirs: Tensor) -> bool:
    """Return whether the same tokens are excluded and the other logits agree."""
    kept = torch.isfinite(ours)
    return bool((kept == torch.isfinite(theirs)).all()) and torch.allclose(ours[kept], theirs[kept])


@pytest.mark.parametrize("seed", SEEDS)
def test_filters_equal_the_processors_of_transformers(seed: int, processors: ModuleType) -> None:
    """Top-k, top-p and the n-gram ban keep the same tokens with the same logits."""
    logits, tokens = drawn(seed)
    for k in (1, 3, 16, 17, 40):
        assert same(decoding.top_k(logits, k), processors.TopKLogitsWarper(k)(tokens, logits))
    for p in (0.05, 0.5, 0.9, 0.999):
        assert same(decoding.top_p(logits, p), processors.TopPLogitsWarper(p)(tokens, logits.clone()))
    for n in (1, 2, 3, 4, 9, 10, 12):
        theirs = processors.NoRepeatNGramLogitsProcessor(n)(tokens, logits.clone())
        assert same(decoding.no_repeat_ngram(logits, tokens, n), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_equal_the_chain_of_transformers(seed: int, processors: ModuleType) -> None:
    """Temperature, top-k and top-p are applied one after the other, then softmax."""
    logits, tokens = drawn(seed)
    for temperature, k, p in ((0.7, 5, 0.8), (1.6, 17, 0.6), (1.0, 3, 1.0)):
        theirs = logits.clone()
        for step in (
            processors.TemperatureLogitsWarper(temperature),
            processors.TopKLogitsWarper(k),
            processors.TopPLogitsWarper(p),
        ):
            theirs = step(tokens, theirs)
        ours = decoding.next_token_probabilities(logits, temperature, k, p)
        assert torch.allclose(theirs.softmax(-1), ours, rtol=1e-12, atol=0)


def test_ties_at_the_edge_are_kept_by_top_k(processors: ModuleType) -> None:
    """All logits that equal the k-th largest are kept, as in transformers."""
    logits = torch.tensor([[3.0, 1.0, 1.0, 1.0, 0.0]])
    ours = decoding.top_k(logits, 2)
    assert [[3.0, 1.0, 1.0, 1.0, -math.inf]] == ours.tolist()
    assert torch.equal(processors.TopKLogitsWarper(2)(torch.zeros(1, 1), logits), ours)


def test_filters_leave_their_arguments_alone() -> None:
    """The filters do not modify their arguments."""
    logits, tokens = drawn(0)
    before = logits.clone()
    decoding.top_k(logits, 3), decoding.top_p(logits, 0.5), decoding.no_repeat_ngram(logits, tokens, 2)
    assert torch.equal(before, logits)


def padded(rows: list[Tensor], pad: int) -> tuple[Tensor, Tensor]:
    """Return rows padded on the left, and their mask."""
    length = max(len(row) for row in rows)
    tokens = torch.stack([torch.nn.functional.pad(row, (length - len(row), 0), value=pad) for row in rows])
    mask = torch.stack([torch.arange(length) >= length - len(row) for row in rows]).long()
    return tokens, mask


@pytest.mark.parametrize("seed", range(20))
def test_greedy_equals_generate(seed: int) -> None:
    """A batch padded on the left, with rows that end at different times, gets the same continuation."""
    from transformers import GenerationConfig

    model = tiny(seed)
    n_vocab = model.tokens.num_embeddings
    rows = [torch.randint(1, n_vocab, (length,)) for length in (5, 3, 4)]
    tokens, mask = padded(rows, 0)
    free = decoding.greedy(model, tokens, 8, mask, -1, 0)
    eos = int(free[0, 7])
    ours = decoding.greedy(model, tokens, 8, mask, eos, 0)
    config = GenerationConfig(max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=eos)
    theirs = twin(model).generate(tokens, attention_mask=mask, generation_config=config)
    assert torch.equal(theirs, ours[:, : theirs.size(1)])
    assert bool((ours[:, theirs.size(1) :] == 0).all())
    outcomes = greedy_outcomes(model, tokens, 8, mask, eos, 0)
    assert [[row] for row in ours.tolist()] == outcomes


@pytest.mark.parametrize("seed", range(40))
def test_beam_search_equals_generate(seed: int) -> None:
    """With and without an end, penalties and banned n-grams, the best hypothesis is that of transformers."""
    from transformers import GenerationConfig

    model = tiny(3 * seed + 5)
    n_vocab, n_beams = model.tokens.num_embeddings, 2 + seed % 3
    tokens = torch.randint(1, n_vocab, (1, 4))
    eos = (int(decoding.greedy(model, tokens, 3, torch.ones_like(tokens), -1, 0)[0, -1]), -1)[seed % 2]
    penalty, no_repeat = (0.5, 1.0, 2.0)[seed % 3], (0, 2)[seed // 2 % 2]
    ours = decoding.beam_search(model, tokens, 7, n_beams, penalty, eos, no_repeat)
    config = GenerationConfig(
        max_new_tokens=7,
        do_sample=False,
        num_beams=n_beams,
        length_penalty=penalty,
        early_stopping="never",
        no_repeat_ngram_size=no_repeat,
        eos_token_id=None if eos < 0 else eos,
        pad_token_id=0,
    )
    mask = torch.ones_like(tokens)
    theirs = twin(model).generate(tokens, attention_mask=mask, generation_config=config)
    assert theirs.tolist() == ours.tolist()
    assert [ours[0].tolist()] == beam_outcomes(model, tokens, 7, n_beams, penalty, eos, no_repeat)


def test_every_outcome_of_a_tie_is_found() -> None:
    """If two tokens have equal vectors, both are outcomes, and there are no others."""
    model = tiny(8)
    tokens = torch.randint(1, 13, (1, 4))
    first = int(decoding.greedy(model, tokens, 1, torch.ones_like(tokens), -1, 0)[0, -1])
    other = (first + 1) % 13
    model.tokens.weight[other] = model.tokens.weight[first]
    (ways,) = greedy_outcomes(model, tokens, 1, torch.ones_like(tokens), -1, 0)
    assert sorted([[*tokens[0].tolist(), first], [*tokens[0].tolist(), other]]) == sorted(ways)
    ways = beam_outcomes(model, tokens, 3, 2, 1.0, -1, 0)
    swapped = [[other if token == first else token for token in way[4:]] for way in ways]
    assert len(ways) > 1
    assert all(len({tuple(way) for way in swapped}) < len(ways) for _ in ways)
    assert decoding.beam_search(model, tokens, 3, 2, 1.0, -1, 0)[0].tolist() in ways


def test_too_many_ties_are_refused() -> None:
    """A model with equal scores for all tokens has too many outcomes to list."""
    model = tiny(8)
    model.tokens.weight.zero_()
    with pytest.raises(ValueError, match="ties"):
        beam_outcomes(model, torch.ones(1, 2, dtype=torch.int64), 5, 3, 1.0, -1, 0)
