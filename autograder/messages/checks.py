"""Sentences about answers of every kind but formulas."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {}
