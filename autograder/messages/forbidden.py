"""Sentences about names that a question forbids."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "forbidden.used": "{what} uses {names}, which this question does not allow.",
    "forbidden.look": "A person will look at how this was written.",
}
"""Code → language → sentence."""
