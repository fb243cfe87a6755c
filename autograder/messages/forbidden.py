"""Sentences about names that a question forbids."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "forbidden.used": "{what} makes use of {names}, which this question asks to do without.",
    "forbidden.look": "A person will look at how this was written.",
}
"""Code → language → sentence."""
