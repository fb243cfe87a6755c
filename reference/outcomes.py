"""Everything that a search may give: all ways through ties.

A second implementation of greedy and beam search, by sets of states instead of tensors. Candidates within
`TIE` of one another count as equally good, so whoever adds the same numbers in another order, or keeps a
cache, ends in one of the outcomes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

TIE = 1e-5
"""Difference of log-probabilities that is no difference in single precision."""
MOST = 512
"""Outcomes or states at the same time; more ties than that are refused."""
MOST_TIED = 6
"""Candidates that are equally good at the same time."""

State = TypeVar("State")
Beam = tuple[float, tuple[int, ...]]


def greedy_outcomes(
    model: nn.Module, tokens: Tensor, n_new: int, attention_mask: Tensor, eos: int, pad: int
) -> list[list[list[int]]]:
    """For each row all that `reference.decoding.greedy` may give; arguments as there.

    Raises:
        ValueError: there are too many ties.
    """
    rows = []
    for row, mask in zip(tokens, attention_mask, strict=True):
        ways = [row.tolist()]
        for step in range(n_new):
            longer = []
            for way in ways:
                if eos in way[row.numel() :]:
                    longer.append([*way, pad])
                    continue
                shown = torch.cat([mask, mask.new_ones(step)])
                scores = model(torch.tensor([way]), shown[None])[0, -1]
                best = (scores >= scores.max() - TIE).nonzero().flatten().tolist()
                longer += [[*way, token] for token in best]
            ways = _few(longer)
        rows.append(ways)
    return rows


def beam_outcomes(
    model: nn.Module,
    tokens: Tensor,
    n_new: int,
    n_beams: int,
    length_penalty: float,
    eos: int,
    no_repeat: int,
) -> list[list[int]]:
    """All that `reference.decoding.beam_search` may give; arguments as there.

    Raises:
        ValueError: there are too many ties.
    """
    prompt = tuple(tokens[0].tolist())
    states: set[tuple[tuple[Beam, ...], tuple[Beam, ...]]] = {(((0.0, prompt),), ())}
    for length in range(1, n_new + 1):
        following = set()
        for beams, hypotheses in states:
            candidates = _continued(model, beams, no_repeat)
            for ranked in _rankings(candidates, (n_beams, 2 * n_beams)):
                done = [
                    (total / length**length_penalty, beam)
                    for total, beam in ranked[:n_beams]
                    if beam[-1] == eos or length == n_new
                ]
                open_ones = [one for one in ranked if one[1][-1] != eos and length < n_new]
                for chosen in _rankings(open_ones, (n_beams,)):
                    kept = tuple(sorted(chosen[:n_beams]))
                    following.add((kept, tuple(sorted((*hypotheses, *done)))))
            _few(list(following))
        states = following
    found = set()
    for _, hypotheses in states:
        best = max(score for score, _ in hypotheses)
        found |= {beam for score, beam in hypotheses if score >= best - TIE}
    return [list(beam) for beam in sorted(found)]


def _continued(model: nn.Module, beams: Sequence[Beam], no_repeat: int) -> list[Beam]:
    """Every continuation of the beams by a token that is not banned."""
    logits = model(torch.tensor([tokens for _, tokens in beams]))[:, -1]
    found = []
    for (total, tokens), scores in zip(beams, logits.log_softmax(-1).tolist(), strict=True):
        seen = {tokens[start : start + no_repeat] for start in range(len(tokens) - no_repeat + 1)}
        found += [
            (total + score, (*tokens, token))
            for token, score in enumerate(scores)
            if not no_repeat or (*tokens, token)[-no_repeat:] not in seen
        ]
    return found


def _rankings(candidates: Sequence[Beam], edges: Sequence[int]) -> Iterator[list[Beam]]:
    """The best candidates in every order that ties allow, where an edge runs through the tie."""
    ordered = sorted(candidates, key=lambda one: -one[0])
    groups: list[list[list[Beam]]] = []
    place = 0
    while place < len(ordered) and place < edges[-1]:
        end = place
        while end < len(ordered) and ordered[end][0] >= ordered[place][0] - TIE:
            end += 1
        tied = ordered[place:end]
        crossed = [edge - place for edge in edges if place < edge < end]
        groups.append(_splits(tied, crossed) if crossed else [tied])
        place = end
    for ways in itertools.product(*groups):
        yield list(itertools.chain(*ways))[: edges[-1]]


def _splits(tied: Sequence[Beam], edges: Sequence[int]) -> list[list[Beam]]:
    """Orders of tied candidates that differ in who stands before an edge."""
    if len(tied) > MOST_TIED:
        raise ValueError(f"too many ties: {len(tied)} candidates are equally good")
    found = {}
    for order in itertools.permutations(tied):
        cuts = zip((0, *edges), (*edges, len(order)), strict=True)
        found[tuple(frozenset(order[start:end]) for start, end in cuts)] = list(order)
    return list(found.values())


def _few(states: list[State]) -> list[State]:
    if len(states) > MOST:
        raise ValueError(f"too many ties: over {MOST} outcomes")
    return states
