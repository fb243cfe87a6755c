"""Features of written answers: shingles, short runs of words inside one sentence."""

from __future__ import annotations

import itertools
import re

from msgspec import Struct

from autograder.marking.similarity.code_features import Digest, hash_words

MOST_CHARACTERS = 60_000
"""Maximum length of a student's texts; the rest is not compared, which is reported."""
_WORDS = 3
"""Words of a shingle."""
_WORD = re.compile(r"\$[^$\n]{1,400}\$|\w{1,80}")
_END = re.compile(r"[.!?;:]\s|\n\s*\n|\n\s*(?:[-*+]|\d{1,2}[.)])\s")


class Shingle(Struct, frozen=True):
    """A fixed number of consecutive words, with their position."""

    digest: Digest
    start: int
    end: int


def make_shingles(text: str) -> tuple[Shingle, ...]:
    """Return all shingles of a text. Order of sentences, case and punctuation do not matter."""
    result, text = [], text[:MOST_CHARACTERS]
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    for start, end in itertools.pairwise(ends):
        words = list(_WORD.finditer(text, start, end))
        plain = ["".join(word.group().casefold().split()) for word in words]
        for index in range(len(words) - _WORDS + 1):
            digest = hash_words(("text", *plain[index : index + _WORDS]))
            result.append(Shingle(digest, words[index].start(), words[index + _WORDS - 1].end()))
    return tuple(result)
