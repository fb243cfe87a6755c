"""Numbers that follow from a key: HMAC-SHA256 in counter mode.

The same on every machine and in every process, and nobody without the key can tell any of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator

_WORD = 8
_WORDS = 2 ** (8 * _WORD)


def derived(key: bytes, *purpose: bytes | str) -> bytes:
    """A key of its own for a purpose, made from another key."""
    words = [part.encode() if isinstance(part, str) else part for part in purpose]
    return hmac.digest(key, b"".join(len(word).to_bytes(8, "big") + word for word in words), "sha256")


class Stream:
    """Unbiased integers from a key, independent for each purpose."""

    def __init__(self, key: bytes, purpose: str) -> None:
        """Start at the beginning: two streams with one key and purpose give the same numbers."""
        self._key = hmac.digest(key, purpose.encode(), "sha256")
        self._words = self._endless()

    def _endless(self) -> Iterator[int]:
        counter = 0
        while True:
            block = hmac.digest(self._key, counter.to_bytes(8, "big"), "sha256")
            yield from (int.from_bytes(block[at : at + _WORD], "big") for at in range(0, len(block), _WORD))
            counter += 1

    def below(self, bound: int) -> int:
        """One of ``range(bound)``, each equally likely."""
        if bound > _WORDS:
            return self._large(bound)
        limit = _WORDS - _WORDS % bound
        return next(word for word in self._words if word < limit) % bound

    def _large(self, bound: int) -> int:
        """The same for a bound of more than 64 bits: so many bits until they are below it."""
        length = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(-(-length // (8 * _WORD))):
                value = value * _WORDS + next(self._words)
            value >>= -length % (8 * _WORD)
            if value < bound:
                return value

    def some(self, count: int, total: int) -> list[int]:
        """So many different ones of ``range(total)``, each set equally likely."""
        order = list(range(total))
        for at in range(count):
            other = at + self.below(total - at)
            order[at], order[other] = order[other], order[at]
        return order[:count]
