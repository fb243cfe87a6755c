"""BLEU of a corpus, with one or more references for each candidate."""

import math
from collections import Counter


class Bleu:
    """Counts n-grams of all sentences before anything is divided."""

    def __init__(self, longest: int = 4) -> None:
        self.longest = longest
        self.found = [0] * longest
        self.counted = [0] * longest
        self.length = 0
        self.reference_length = 0

    def ngrams(self, words: list[str], n: int) -> Counter[tuple[str, ...]]:
        """How often each sequence of n words occurs."""
        return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))

    def add(self, candidate: list[str], references: list[list[str]]) -> None:
        """Count one sentence."""
        self.length += len(candidate)
        nearest = min(references, key=lambda one: (abs(len(one) - len(candidate)), len(one)))
        self.reference_length += len(nearest)
        for n in range(1, self.longest + 1):
            grams = self.ngrams(candidate, n)
            most: Counter[tuple[str, ...]] = Counter()
            for reference in references:
                most |= self.ngrams(reference, n)
            self.found[n - 1] += sum(min(count, most[gram]) for gram, count in grams.items())
            self.counted[n - 1] += sum(grams.values())

    def score(self) -> float:
        """Between 0 and 1; 0 where some length of n-gram is never found."""
        if min(self.found) == 0:
            return 0.0
        logs = [math.log(found / counted) for found, counted in zip(self.found, self.counted, strict=True)]
        penalty = min(0.0, 1 - self.reference_length / self.length)
        return math.exp(sum(logs) / self.longest + penalty)
