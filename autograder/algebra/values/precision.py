"""flint's precision, for the time of one computation.

flint keeps one precision for the whole process: a thread that changes it changes it under every other one,
in the middle of what they compute. So whoever computes with balls holds the only lock there is while the
precision is theirs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from flint import ctx

_OWNED = threading.RLock()
"""Guards flint's own variable; it must be one for the process because that variable is."""


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with so many bits. Other threads that want to compute with balls wait."""
    with _OWNED, ctx.workprec(bits):
        yield
