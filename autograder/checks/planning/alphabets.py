"""Alphabets of drawn texts, by their names: each is a tuple of pieces that are put together."""

from __future__ import annotations

import string
from collections.abc import Mapping

_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
_UNICODE = (
    *("a", "Z", "7", " ", "-"),
    *("\u00e9", "e\u0301", "a\u0323\u0308", "\u00df", "\u0130", "\u0131", "\ufb01", "\u01c5"),
    *("\u03a3", "\u03c2", "\u0416", "\u6f22", "\uac00", "\u0e01\u0e33", "\u0663", "\u00b2", "\u00a0"),
    *("\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", _FAMILY),
    *("\u05d0", "\u05e9\u05c1", "\u0639", "\u0645\u064e"),
)
"""Letters of one and of several code points (with and without composed forms), letters whose other case has
another length or depends on the place, digits and blanks beyond ASCII, emoji, letters from right to left."""

ALPHABETS: Mapping[str, tuple[str, ...]] = {
    "ascii": tuple(f"{string.ascii_letters}{string.digits}{string.punctuation} \t\n"),
    "letters": tuple(string.ascii_letters),
    "digits": tuple(string.digits),
    "unicode": _UNICODE,
}
