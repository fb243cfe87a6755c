"""Beam search over a table of transitions between tokens."""

import numpy as np


def beam_search(
    scores: np.ndarray, start: int, end: int, width: int, max_len: int, alpha: float
) -> list[tuple[list[int], float]]:
    """The best sequences with their scores, the best one first.

    Args:
        scores: (token, next token), log-probabilities.
        start: the first token; it counts for no length.
        end: the token that ends a sequence.
        width: how many sequences are kept.
        max_len: tokens of the longest sequence, without the first.
        alpha: the sum of log-probabilities is divided by the length to this power.
    """
    beams: list[tuple[list[int], float]] = [([start], 0.0)]
    finished: list[tuple[list[int], float]] = []
    for _ in range(max_len):
        candidates = []
        for tokens, total in beams:
            for token, score in enumerate(scores[tokens[-1]].tolist()):
                candidates += [([*tokens, token], total + score)]
        candidates.sort(key=lambda beam: -beam[1])
        beams = []
        for tokens, total in candidates[:width]:
            if tokens[-1] == end:
                finished.append((tokens, total))
            else:
                beams.append((tokens, total))
        if not beams:
            break
    finished.extend(beams)
    ranked = [(tokens, total / (len(tokens) - 1) ** alpha) for tokens, total in finished]
    ranked.sort(key=lambda beam: -beam[1])
    return ranked[:width]
