"""The secret that every course of the tests has: what is drawn from it does not change from run to run."""

from __future__ import annotations

import os
from pathlib import Path

SITE = Path(__file__).parent / "site"
"""Found on PYTHONPATH, this folder gives the same secret to courses that a program of its own makes."""


def fixed(count: int) -> bytes:
    """Instead of random bytes."""
    return bytes(range(count))


def python_path(*more: str) -> str:
    """PYTHONPATH for a program whose courses shall have the same secret, with what stood in it."""
    return os.pathsep.join([str(SITE), *more, *filter(None, [os.environ.get("PYTHONPATH", "")])])
