"""Answers of the demo class, read from ``data/``: automatic answers with their points, and free texts."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

DATA = Path(__file__).with_name("data")


class Sample(Struct, frozen=True):
    """One possible content of an answer cell."""

    source: str
    """The cell's code."""
    points: Mapping[str, Decimal]
    """Points earned, by automatic item. A missing item has no known result."""
    portrait: str = ""
    """Short description of the mistake; empty if the answer is right."""

    @property
    def earned(self) -> Decimal:
        """Total points of the automatic items."""
        return sum(self.points.values(), Decimal(0))


Samples = Mapping[str, tuple[Sample, ...]]
"""Samples by question, in the order of the notebook."""


class Answers(Struct, frozen=True):
    """Possible answers to one assignment."""

    right: Samples
    wrong: Samples
    hostile: Samples
    """Malicious code, which earns no points."""
    written: Mapping[str, tuple[str, ...]]
    """Texts for manually graded cells, by cell."""


@functools.cache
def load_table(name: str) -> dict[str, Any]:
    """Load a TOML file of ``data/`` with exact decimals."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"), parse_float=Decimal)


def load_answers(name: str) -> Answers:
    """Load the answers to one assignment.

    Raises:
        ValueError: the old text of an edit does not occur exactly once in the answer that it changes.
    """
    content = load_table(name)
    questions = {question: entry for question, entry in content.items() if "right" in entry}
    hostile = {question: entry for question, entry in questions.items() if "hostile" in entry}
    return Answers(
        {
            question: tuple(Sample(source, _parse_points(entry["points"])) for source in entry["right"])
            for question, entry in questions.items()
        },
        {
            question: tuple(_make_wrong(entry, each) for each in entry["wrong"])
            for question, entry in questions.items()
        },
        {
            question: _make_hostile(entry, content["hostile"][entry["hostile"]])
            for question, entry in hostile.items()
        },
        {cell: tuple(texts) for cell, texts in content["written"].items()},
    )


def _make_wrong(question: Mapping[str, Any], entry: Mapping[str, Any]) -> Sample:
    # A wrong answer is written out in full, or derived by edits from the right answer number "of".
    source = entry.get("source") or _apply_edits(question["right"][entry.get("of", 1) - 1], entry["edits"])
    return Sample(source, _parse_points(entry["points"]), entry["portrait"])


def _make_hostile(question: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[Sample, ...]:
    nothing = dict.fromkeys(question["points"], Decimal(0))
    return tuple(
        # Not str.format: the code contains braces.
        Sample(source.replace("{name}", question["name"]), nothing, portrait)
        for portrait, source in sources.items()
    )


def _parse_points(entries: Mapping[str, Any]) -> dict[str, Decimal]:
    return {item: Decimal(points) for item, points in entries.items()}


def _apply_edits(plain: str, changes: list[list[str]]) -> str:
    for old, new in changes:
        # An ambiguous or outdated edit would silently leave the answer right.
        if plain.count(old) != 1:
            raise ValueError(f"{old!r} does not stand exactly once in the answer")
        plain = plain.replace(old, new)
    return plain


def format_assignment(name: str, text: str) -> str:
    """Format the Python line that assigns a text to a name; a raw string if the text has backslashes."""
    return f'{name} = r"{text}"' if "\\" in text else f'{name} = "{text}"'
