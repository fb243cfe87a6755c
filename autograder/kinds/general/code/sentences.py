"""Sentences about checks in Python. None says what a check asks."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "code.failed": "{what}: not as asked.",
    "code.told": "Not as asked.",
    "code.mistake": "A mistake that the check knows.",
    "code.review": "This needs manual review.",
}
