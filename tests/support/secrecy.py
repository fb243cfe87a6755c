"""The secret of every course in tests, so that random choices are the same in every run."""

from __future__ import annotations

import os
from pathlib import Path

SITE = Path(__file__).parent / "site"
"""In PYTHONPATH, this folder also sets the secret in courses of separate programs."""


def fixed(count: int) -> bytes:
    """Return fixed bytes instead of random ones."""
    return bytes(range(count))


def python_path(*more: str) -> str:
    """Return a PYTHONPATH that includes the folder with the fixed secret and the present entries."""
    return os.pathsep.join([str(SITE), *more, *filter(None, [os.environ.get("PYTHONPATH", "")])])
