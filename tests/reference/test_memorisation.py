"""Test that the measures of memorisation agree with a slow count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference.memorisation import memorisation

TOKENS = st.lists(st.integers(1, 3), max_size=9)


@given(generated=TOKENS, texts=st.lists(TOKENS, max_size=3), n=st.integers(1, 4))
def test_memorisation_equals_a_slow_count(generated: list[int], texts: list[list[int]], n: int) -> None:
    """Both measures equal those found by trying every piece."""

    def occurs(piece: list[int]) -> bool:
        return any(piece == text[at : at + len(piece)] for text in texts for at in range(len(text)))

    pieces = [generated[a:b] for b in range(len(generated) + 1) for a in range(b)]
    longest = max((len(piece) for piece in pieces if occurs(piece)), default=0)
    ngrams = [piece for piece in pieces if len(piece) == n]
    share = sum(map(occurs, ngrams)) / len(ngrams) if ngrams else 0.0
    assert {"longest": longest, "share": share} == memorisation(generated, texts, n)
