r"""What stands around a formula and says nothing: ``\[ \]``, ``\begin{align}``, backquotes."""

from __future__ import annotations

import re

_WRAPPING = re.compile(r"`+|\\(?:begin|end)\{[a-z]{1,20}\*?\}|\\[\[\]()]|\\displaystyle(?![A-Za-z])")


def unwrapped(text: str) -> str:
    """The same text with blanks in the place of wrappings, so that offsets stay right."""
    return _WRAPPING.sub(lambda found: " " * len(found.group()), text)
