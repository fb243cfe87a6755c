"""Sentences about shapes line by line. No sentence says what would have been right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "tracing.follows": (
        "{what}: not right, but it follows from your own shapes of the lines before, one of which is not "
        "right."
    ),
    "tracing.impossible": (
        "{what}: not right. With your own shapes of the lines before, this line would stop with an error."
    ),
}
