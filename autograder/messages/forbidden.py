"""Sentences about names that a question forbids."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

SENTENCES: Mapping[str, Text] = {
    "forbidden.used": {
        "en": "{what} makes use of {names}, which this question asks to do without.",
        "de": "{what} verwendet {names}; die Aufgabe verlangt, ohne das auszukommen.",
    },
    "forbidden.look": {
        "en": "A person will look at how this was written.",
        "de": "Eine Person wird ansehen, wie dies geschrieben ist.",
    },
}
"""Code → language → sentence."""
