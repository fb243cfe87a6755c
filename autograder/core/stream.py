"""Deterministic numbers from a key: HMAC-SHA256 in counter mode.

They are the same on every machine and in every process, and unpredictable without the key.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator

_WORD = 8
_WORDS = 2 ** (8 * _WORD)


def derive_key(key: bytes, *purpose: bytes | str) -> bytes:
    """Derive a separate key for one purpose from another key."""
    # Length prefixes keep ("ab", "c") and ("a", "bc") apart.
    words = [part.encode() if isinstance(part, str) else part for part in purpose]
    return hmac.digest(key, b"".join(len(word).to_bytes(8, "big") + word for word in words), "sha256")


class Stream:
    """Unbiased integers from a key, independent for each purpose."""

    def __init__(self, key: bytes, purpose: str) -> None:
        """Start at the beginning: two streams with one key and purpose give the same numbers."""
        self._key = hmac.digest(key, purpose.encode(), "sha256")
        self._words = self._generate_words()

    def _generate_words(self) -> Iterator[int]:
        counter = 0
        while True:
            block = hmac.digest(self._key, counter.to_bytes(8, "big"), "sha256")
            yield from (
                int.from_bytes(block[start : start + _WORD], "big") for start in range(0, len(block), _WORD)
            )
            counter += 1

    def draw_below(self, bound: int) -> int:
        """Return an element of ``range(bound)``, each equally likely."""
        if bound > _WORDS:
            return self._draw_large(bound)
        # Rejection sampling: words of the incomplete last block would make small numbers more likely.
        limit = _WORDS - _WORDS % bound
        return next(word for word in self._words if word < limit) % bound

    def _draw_large(self, bound: int) -> int:
        """Do the same for a bound of more than 64 bits: draw that many bits until they are below it."""
        length = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(-(-length // (8 * _WORD))):
                value = value * _WORDS + next(self._words)
            # Drop surplus bits, so that at least half of the candidates are accepted.
            value >>= -length % (8 * _WORD)
            if value < bound:
                return value

    def draw_sample(self, count: int, total: int) -> list[int]:
        """Return ``count`` different elements of ``range(total)``, each set equally likely."""
        order = list(range(total))
        # Partial Fisher-Yates shuffle.
        for position in range(count):
            other = position + self.draw_below(total - position)
            order[position], order[other] = order[other], order[position]
        return order[:count]
