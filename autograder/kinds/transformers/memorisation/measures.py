"""The measures themselves, on the trusted side. Pure and total for lists of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.checks.values.arrays import numbers

Text = Sequence[int]


def longest_overlap(generated: Text, corpus: Sequence[Text]) -> int:
    """Tokens in the longest piece of the generated text that occurs in one text; 0 when none occurs."""
    longest = 0
    for text in corpus:
        ending: dict[int, int] = {}  # place in the text → length of the common piece that ends there
        places: dict[int, list[int]] = {}
        for place, token in enumerate(text):
            places.setdefault(token, []).append(place)
        for token in generated:
            ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(token, ())}
            longest = max([longest, *ending.values()])
    return longest


def memorised_share(generated: Text, corpus: Sequence[Text], n: int) -> float:
    """Share of the generated text's n-grams, each counted as often as it stands there, that occur."""
    known = {tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}
    total = len(generated) - n + 1
    if total < 1:
        return 0.0
    return sum(tuple(generated[start : start + n]) in known for start in range(total)) / total


def tokens_of(value: Any) -> list[int] | None:
    """Token ids, from a list or an array with one axis; None for anything else."""
    if isinstance(value, list | tuple) and not value:
        return []
    found = numbers(value)
    if found is None or found.kind != "int" or found.array.ndim != 1:
        return None
    tokens: list[int] = found.array.tolist()
    return tokens
