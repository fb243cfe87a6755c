"""Answers to the exam's decoder repair: tests/submissions/repair, and all subsets of its faults."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Protocol

from autograder.checking.check_parser import load_check_file
from autograder.core.records import Status
from reference.listings import RIGHT

ROOT = Path(__file__).parents[2]
FILES = ("accepted", "idioms", "rewritten", "wrong", "odd", "noted")
HELD = ("held", "held-2", "held-3", "held-4", "held-5")
FOLDER = ROOT / "tests" / "submissions" / "repair"
CHECKS = load_check_file(ROOT / "reference", "decoder.py")
EXAM = tuple(fault.id for fault in CHECKS.faults)
"""The exam's faults."""


@dataclass(frozen=True)
class Variant:
    """A variant of the answer to the repair question."""

    name: str
    edits: list[list[str]] = field(default_factory=list)
    """Texts of the right listing and their replacements; both may begin with a line break for alignment."""
    text: str = ""
    """The whole answer cell, if it is not based on the listing."""
    later: str = ""
    """A cell that is run after the answer."""
    loses: list[str] = field(default_factory=list)
    review: list[str] = field(default_factory=list)
    """Items that need manual review."""
    notes: dict[str, str] = field(default_factory=dict)
    """Fault → a part of the message to staff about it."""

    def source(self) -> str:
        """Return the answer cell, and the cell after it.

        Raises:
            ValueError: a text does not occur in the listing exactly once.
        """
        source = self.text or RIGHT
        for aligned, new in self.edits:
            old = aligned.lstrip("\n")
            if source.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} stands {source.count(old)} times in the listing")
            source = source.replace(old, new.lstrip("\n"))
        return "\n\n".join(filter(None, (source, self.later)))


@dataclass(frozen=True)
class Case:
    """An answer with the points that it must lose."""

    group: str
    name: str
    source: str
    loses: frozenset[str]
    open: frozenset[str] = frozenset()
    """Items that do not count."""


class Judged(Protocol):
    """The attributes of an item's result that `rating` uses."""

    @property
    def status(self) -> Status:
        """Return the status."""


def variants(file: str) -> list[Variant]:
    """Return all variants of one file, e.g. ``"accepted"``."""
    tables = tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))["variant"]
    return [Variant(**table) for table in tables]


def subsets() -> Iterator[Case]:
    """Yield every subset of the planted faults."""
    for size in range(len(EXAM) + 1):
        for left in combinations(EXAM, size):
            name = " + ".join(left) or "none"
            yield Case("sets of faults", name, f"{CHECKS.make_listing(left)}# mine\n", frozenset(left))


def catalogue() -> Iterator[Case]:
    """Yield the variants of all files."""
    for file in FILES:
        for variant in variants(file):
            loses, review = frozenset(variant.loses), frozenset(variant.review)
            yield Case(file, variant.name, variant.source(), loses, review)


def held() -> Iterator[Case]:
    """Yield the held-out lists by authors who knew neither checks nor lists; `open`: arguable items."""
    for name in HELD:
        for answer in tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["answer"]:
            loses, arguable = frozenset(answer["faults_left"]), frozenset(answer["arguable"])
            yield Case(f"{name}, {answer['class']}", answer["name"], answer["source"], loses, arguable)


def rating(case: Case, results: Mapping[str, Judged]) -> tuple[str, list[str]]:
    """Return how an answer was judged, and the items that differ from the expectation."""
    counted = [item for item in EXAM if item not in case.open]
    waiting = [item for item in counted if results[item].status is Status.NEEDS_REVIEW]
    decided = (item for item in counted if item not in waiting)
    wrong = [item for item in decided if (results[item].status is not Status.PASSED) != (item in case.loses)]
    return ("wrong", wrong) if wrong else ("manual review", waiting) if waiting else ("exact", [])
