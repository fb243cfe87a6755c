"""Sentences about formulas: how they were read, and what is wrong with them."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {}
