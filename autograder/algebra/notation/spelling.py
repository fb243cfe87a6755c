"""Which known name was meant by one that is not known: only what is close enough not to mislead."""

from __future__ import annotations

from collections.abc import Mapping

_SHORTEST = 4
"""Letters of a word in which one may be wrong; in shorter ones it makes another word."""
_SHORTENED: Mapping[str, str] = {"num": "n", "number": "n"}


def is_typo(written: str, meant: str) -> bool:
    """Whether a name is another one with a typo in some of its parts.

    Names that merely look alike, such as ``vocab_size`` and ``batch_size``, mean different things: a wrong
    guess is worse than none.
    """
    parts, others = written.split("_"), meant.split("_")
    if len(parts) != len(others):
        parts, others = [written.replace("_", "")], [meant.replace("_", "")]
    if [_SHORTENED.get(parts[0], parts[0]), *parts[1:]] == others and len(others) > 1:
        return True
    return parts != others and all(
        one == other or (min(len(one), len(other)) >= _SHORTEST and _one_typo(one, other))
        for one, other in zip(parts, others, strict=True)
    )


def _one_typo(one: str, other: str) -> bool:
    """Whether one letter is missing, too many or wrong, or two neighbours are exchanged; never the first.

    In short words a wrong letter makes another word (``logs``, ``loss``), and a digit counts things.
    """
    if one[0] != other[0]:
        return False
    shorter = min(len(one), len(other))
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one, other = one[start:], other[start:]
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other = one[: len(one) - end], other[: len(other) - end]
    if not (one + other).isalpha():
        return False
    if len(one) != len(other):
        return len(one) + len(other) == 1
    return (len(one) == 1 and shorter > _SHORTEST) or (len(one) == 2 and one == other[::-1])
