"""Decoding strategies: the answer key of the decoding questions.

Tests compare each function with ``transformers``: the filters with its logits processors, the searches with
``generate``. A model is called as ``model(tokens, attention_mask)`` and gives logits (batch, length,
n_vocab); see `reference.gpt2`. Each function stands by itself: the questions are independent, and a mistake
in one answer costs nothing in another.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def top_k(logits: Tensor, k: int) -> Tensor:
    """Keep the k largest logits of each row, and those that equal the smallest of them (Fan et al., 2018).

    Args:
        logits: (rows, n_vocab).
        k: at least 1; from n_vocab on everything is kept.

    Returns:
        (rows, n_vocab), with -inf for what is not kept.
    """
    smallest = logits.topk(min(k, logits.size(-1))).values[:, -1:]  # (rows, 1)
    return logits.masked_fill(logits < smallest, -torch.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the nucleus: the fewest most probable tokens whose mass reaches p (Holtzman et al., 2020).

    Args:
        logits: (rows, n_vocab).
        p: above 0; at least one token is kept.

    Returns:
        (rows, n_vocab), with -inf for what is not kept.
    """
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # mass of the tokens in front of each one
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(dropped, -torch.inf)


def no_repeat_ngram(logits: Tensor, tokens: Tensor, n: int) -> Tensor:
    """Ban every token that would complete an n-gram which occurred before (Paulus et al., 2018).

    Args:
        logits: (rows, n_vocab).
        tokens: (rows, length) int64, what has been written so far.
        n: at least 1.

    Returns:
        (rows, n_vocab), with -inf for what is banned.
    """
    allowed = logits.clone()
    for row, past in enumerate(tokens.tolist()):
        last = past[len(past) - n + 1 :]  # the n - 1 tokens that the next one follows
        for start in range(len(past) - n + 1):
            if past[start : start + n - 1] == last:
                allowed[row, past[start + n - 1]] = -torch.inf
    return allowed


def next_token_probabilities(logits: Tensor, temperature: float, k: int, p: float) -> Tensor:
    """The distribution that sampling draws from: temperature, then top-k, then top-p, in this order.

    Args:
        logits: (rows, n_vocab).
        temperature: above 0.
        k: see `top_k`.
        p: see `top_p`.

    Returns:
        (rows, n_vocab); each row sums to 1.
    """
    logits = logits / temperature
    smallest = logits.topk(min(k, logits.size(-1))).values[:, -1:]  # (rows, 1)
    logits = logits.masked_fill(logits < smallest, -torch.inf)
    ordered, order = logits.softmax(-1).sort(dim=-1, descending=True)
    before = ordered.cumsum(-1) - ordered  # mass of the tokens in front of each one
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(dropped, -torch.inf).softmax(-1)


def sample(logits: Tensor, temperature: float) -> Tensor:
    """One token for each row, drawn from the softmax of the logits divided by the temperature.

    Args:
        logits: (rows, n_vocab); what a filter removed is -inf and is never drawn.
        temperature: above 0.

    Returns:
        (rows,) int64.
    """
    probabilities = (logits / temperature).softmax(-1)
    return torch.multinomial(probabilities, 1).squeeze(-1)


def greedy(
    model: nn.Module,
    tokens: Tensor,
    n_new: int,
    attention_mask: Tensor,
    eos: int,
    pad: int,
) -> Tensor:
    """Continue each row with its most probable token, n_new times; a row that has ended goes on as padding.

    Args:
        model: see above.
        tokens: (batch, length) int64, padded on the left.
        n_new: how many columns are added.
        attention_mask: (batch, length); 0 = padding.
        eos: ends a row, and still belongs to it.
        pad: what follows in a row that has ended.

    Returns:
        (batch, length + n_new) int64.
    """
    ended = torch.zeros(tokens.size(0), dtype=torch.bool)
    for _ in range(n_new):
        chosen = model(tokens, attention_mask)[:, -1].argmax(-1)  # (batch,)
        chosen = chosen.masked_fill(ended, pad)
        ended = ended | (chosen == eos)
        tokens = torch.cat([tokens, chosen[:, None]], 1)
        attention_mask = torch.cat([attention_mask, torch.ones_like(chosen)[:, None]], 1)
    return tokens


def beam_search(
    model: nn.Module,
    tokens: Tensor,
    n_new: int,
    n_beams: int,
    length_penalty: float,
    eos: int,
    no_repeat: int,
) -> Tensor:
    """The best hypothesis of a beam search that does not stop early.

    Each step ranks all continuations of the open beams by the sum of their log-probabilities and looks at
    the first ``2 * n_beams``. Those of the first n_beams that end with eos, or are n_new tokens long, are
    hypotheses; of those that do not end, the first n_beams stay open. A hypothesis scores its sum divided by
    ``number of new tokens ** length_penalty`` (as ``early_stopping="never"`` in transformers).

    Args:
        model: see above.
        tokens: (1, length) int64.
        n_new: most tokens that are added.
        n_beams: how many beams stay open.
        length_penalty: above 0; above 1 favours longer hypotheses.
        eos: ends a hypothesis, and still belongs to it.
        no_repeat: sizes of the n-grams that may not occur twice; 0: all may. Nothing is normalised again.

    Returns:
        (1, length + at most n_new) int64, without padding.
    """
    beams: list[tuple[float, list[int]]] = [(0.0, tokens[0].tolist())]
    hypotheses: list[tuple[float, list[int]]] = []
    for length in range(1, n_new + 1):
        past = torch.tensor([beam for _, beam in beams])
        scores = model(past)[:, -1].log_softmax(-1)  # (beams, n_vocab)
        n_vocab = scores.size(-1)
        for row, (_, beam) in zip(scores, beams, strict=True):
            ngrams = {tuple(beam[start : start + no_repeat]) for start in range(len(beam) - no_repeat + 1)}
            for token in range(n_vocab if no_repeat else 0):
                if (*beam[len(beam) + 1 - no_repeat :], token) in ngrams:
                    row[token] = -torch.inf
        sums = scores + torch.tensor([total for total, _ in beams])[:, None]
        best = sums.flatten().topk(min(2 * n_beams, sums.numel()))
        going_on = []
        for rank, (total, place) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
            beam = [*beams[place // n_vocab][1], place % n_vocab]
            if beam[-1] == eos or length == n_new:
                if rank < n_beams:
                    hypotheses.append((total / length**length_penalty, beam))
            else:
                going_on.append((total, beam))
        beams = going_on[:n_beams]
    return torch.tensor([max(hypotheses)[1]])
