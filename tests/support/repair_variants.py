"""The variants of tests/submissions/repair: right, wrong and remarkable repairs of the decoder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from reference.faults.decoder import EXAM
from reference.listings import RIGHT

FILES = ("accepted", "idioms", "wrong", "odd", "noted")
FOLDER = Path(__file__).parent.parent / "submissions" / "repair"


@dataclass(frozen=True)
class Variant:
    """One way to hand in the repair question."""

    name: str
    edits: list[list[str]] = field(default_factory=list)
    """Texts of the right listing and what replaces them; both may begin with a line break for alignment."""
    text: str = ""
    """The whole answer cell, where it stands in no relation to the listing."""
    later: str = ""
    """A cell that is run after it."""
    planted: list[str] = field(default_factory=lambda: list(EXAM))
    """The faults of the question."""
    loses: list[str] = field(default_factory=list)
    review: list[str] = field(default_factory=list)
    """Left to a person."""
    notes: dict[str, str] = field(default_factory=dict)
    """Fault → a part of what staff are told about it."""

    def cells_after(self) -> tuple[str, ...]:
        """The cells that are run after the answer."""
        return (self.later,) if self.later else ()

    def source(self) -> str:
        """The answer cell.

        Raises:
            ValueError: a text does not stand in the listing exactly once.
        """
        if self.text:
            return self.text
        source = RIGHT
        for aligned, new in self.edits:
            old = aligned.lstrip("\n")
            if source.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} stands {source.count(old)} times in the listing")
            source = source.replace(old, new.lstrip("\n"))
        return source


def variants(file: str) -> list[Variant]:
    """All variants of one file, e.g. ``"accepted"``."""
    tables = tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))["variant"]
    return [Variant(**table) for table in tables]
