"""Writes a whole class: one notebook per student in nbgrader's layout, and the roster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.demo import mischief
from autograder.demo.class_list import Person, people, roster
from autograder.demo.decoders import given_listing
from autograder.demo.mischief import ATTACKS, DAMAGES, Attack, Damage, Notebook
from autograder.demo.papers import (
    ABSENT,
    EXCELLENT,
    GOOD,
    MIDDLING,
    WEAK,
    Level,
    Paper,
    write_paper,
)
from autograder.demo.timetable import AFTER, MINUTES, START
from autograder.errors import NotebookError

ASSIGNMENT = "dl4nlp-exam"
PROGRAMMES = ("Computational Linguistics", "Computer Science", "Data Science")


class DemoStudent(Struct, frozen=True):
    """One student of the class, and what the grader should make of the notebook."""

    id: str
    first_name: str
    last_name: str
    portrait: str
    kind: str
    """``"honest"``, ``"broken"`` or ``"hostile"``."""
    readable: bool = True
    """False when the file cannot be read as a notebook: no answer counts."""
    points: Mapping[str, Decimal] = {}
    """By ``question.item``: what every automatic item earns; empty when the file is not readable."""

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"


class _Part(Struct, frozen=True):
    """What one student does: a level, and perhaps something done to the file."""

    level: Level
    damage: Damage | None = None
    attack: Attack | str | None = None


def write_class(
    release: bytes, folder: Path, *, students: int, seed: int, assignment: str = ASSIGNMENT
) -> list[DemoStudent]:
    """Write the notebooks of a class and its roster.

    Writes ``submitted/{student}/{assignment}/{assignment}.ipynb`` with a ``timestamp.txt`` beside it, and
    ``roster.csv``. The same arguments give the same bytes.

    Args:
        release: the released notebook, as students receive it.
        folder: the course.
        students: how many.
        seed: of everything that is left to chance.
        assignment: the name of the assignment and of its only notebook.

    Returns:
        The class, in the order of the ids.

    Raises:
        NotebookError: the release is not the exam that this class can answer.
        ValueError: there are fewer than one or too many students.
    """
    generator = np.random.default_rng(seed)
    given = _notebook(release)
    listing = given_listing(_sources(given).get("task5-a-answer", ""))
    listed = people(students, generator)
    written = []
    for number, (person, part) in enumerate(zip(listed, _parts(students, generator), strict=True), start=1):
        paper = write_paper(part.level, listing, generator)
        student, data = _handed_in(person, part, paper, _with_details(given, person, number))
        place = folder / "submitted" / person.id / assignment
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{assignment}.ipynb").write_bytes(data)
        minutes = timedelta(seconds=int(generator.integers(MINUTES * 60)))
        handed_in = START.astimezone(UTC) + AFTER.get(number, minutes)
        (place / "timestamp.txt").write_text(f"{handed_in:%Y-%m-%d %H:%M:%S} UTC\n", encoding="utf-8")
        written.append(student)
    (folder / "roster.csv").write_text(roster(listed), encoding="utf-8")
    return written


def _parts(count: int, generator: np.random.Generator) -> list[_Part]:
    """Who does what: about three in four are honest, and a large class has every damage and attack once."""
    broken = [_Part(GOOD, damage=damage) for damage in DAMAGES]
    attacks: list[Attack | str] = [*ATTACKS, "tampers with points and flags", "forges outputs"]
    hostile = [_Part(MIDDLING, attack=attack) for attack in attacks]
    odd = [part for pair in _alternating(broken, hostile) for part in pair][: count // 3]
    levels = (EXCELLENT, GOOD, GOOD, MIDDLING, MIDDLING, EXCELLENT, GOOD, WEAK, MIDDLING, GOOD)
    honest = [_Part(levels[number % len(levels)]) for number in range(count - len(odd))]
    if len(honest) >= 10:
        honest[-1] = _Part(ABSENT)
    parts = honest + odd
    return [parts[int(index)] for index in generator.permutation(count)]


def _alternating(first: list[_Part], second: list[_Part]) -> Iterator[list[_Part]]:
    for number in range(max(len(first), len(second))):
        yield [*first[number : number + 1], *second[number : number + 1]]


def _handed_in(person: Person, part: _Part, paper: Paper, given: Notebook) -> tuple[DemoStudent, bytes]:
    """The student's record, and the bytes of the file."""
    notebook = answered(given, paper.sources)
    portrait, kind, readable, points = paper.portrait, "honest", True, dict(paper.points)
    data = mischief.dumped(notebook)
    if part.damage is not None:
        data = part.damage.apply(notebook)
        portrait, kind, readable = part.damage.portrait, "broken", part.damage.readable
        points = {
            item: Decimal(0) if item.partition(".")[0] in part.damage.lost else mark
            for item, mark in (points if readable else {}).items()
        }
    elif part.attack is not None:
        kind = "hostile"
        portrait, data, points = _attacked(part.attack, paper, given, points)
    return (
        DemoStudent(person.id, person.first_name, person.last_name, portrait, kind, readable, points),
        data,
    )


def _attacked(
    attack: Attack | str, paper: Paper, given: Notebook, points: dict[str, Decimal]
) -> tuple[str, bytes, dict[str, Decimal]]:
    if isinstance(attack, str):
        change = mischief.tampered if attack.startswith("tampers") else mischief.forged_outputs
        return attack, mischief.dumped(change(answered(given, paper.sources))), points
    if attack.instead_of:
        sources = {**paper.sources, f"{attack.instead_of}-answer": attack.source}
        earned = {
            item: Decimal(0) if item.startswith(f"{attack.instead_of}.") else mark
            for item, mark in points.items()
        }
        return attack.portrait, mischief.dumped(answered(given, sources)), earned
    notebook = answered(given, paper.sources)
    extra: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "extra",
        "metadata": {},
        "outputs": [],
        "source": attack.source,
    }
    cells = [*notebook["cells"]]
    cells.insert(2, extra)
    return attack.portrait, mischief.dumped({**notebook, "cells": cells}), points


def _with_details(notebook: Notebook, person: Person, number: int) -> Notebook:
    """The notebook with the title page filled in."""
    written = {
        "family_name": person.last_name,
        "first_name": person.first_name,
        "student_number": str(700_000 + 37 * number),
        "programme": PROGRAMMES[number % len(PROGRAMMES)],
    }
    cells = []
    for cell in notebook["cells"]:
        source = cell["source"]
        if not _grade_id(cell):
            for name, text in written.items():
                source = source.replace(f'{name} = ""', f'{name} = "{text}"')
        cells.append({**cell, "source": source})
    return {**notebook, "cells": cells}


def answered(notebook: Notebook, sources: Mapping[str, str]) -> Notebook:
    """The notebook with these sources in its answer cells, by grade_id."""
    cells = [{**cell, "source": sources.get(_grade_id(cell), cell["source"])} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def _notebook(release: bytes) -> Notebook:
    """The release as JSON, with every source as one text.

    Raises:
        NotebookError: it is not a notebook.
    """
    try:
        loaded = json.loads(release)
        cells = [{**cell, "source": "".join(cell["source"])} for cell in loaded["cells"]]
    except (ValueError, TypeError, KeyError) as error:
        raise NotebookError("demo-release", f"the release is not a notebook: {error}") from error
    return {**loaded, "cells": cells}


def _sources(notebook: Notebook) -> dict[str, str]:
    return {_grade_id(cell): cell["source"] for cell in notebook["cells"]}


def _grade_id(cell: Mapping[str, Any]) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))
