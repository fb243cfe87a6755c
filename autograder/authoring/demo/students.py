"""The demo class: its assignments, and one notebook per student and assignment in nbgrader's layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct

from autograder.authoring.demo import bad_notebooks, papers
from autograder.authoring.demo.bad_notebooks import Attack, Damage, Notebook, get_grade_id
from autograder.authoring.demo.papers import (
    ABSENT,
    EXCELLENT,
    GOOD,
    MIDDLING,
    WEAK,
    DemoPaper,
    Level,
    load_table,
)
from autograder.core.errors import NotebookError

PROGRAMMES = ("Computational Linguistics", "Computer Science", "Data Science")

Write = Callable[[Level, str, Mapping[str, str], np.random.Generator], DemoPaper]
"""Draws one student's paper from a level, a kind (see `DemoStudent`), and the released cells by grade_id."""

FIRST, LAST = load_table("names")["first"], load_table("names")["last"]
MAX_STUDENTS = len(FIRST) * len(LAST)
"""The number of different full names."""
MINUTES = 90
START = datetime(2026, 2, 12, 10, 0, tzinfo=ZoneInfo("Europe/Berlin"))
LATE, EXTRA = 4, 6
"""Numbers of the student who submits late, and of the one who has an extension and uses it."""
AFTER: Mapping[int, timedelta] = {
    LATE: timedelta(minutes=MINUTES, seconds=247),
    EXTRA: timedelta(minutes=MINUTES + 12),
}
"""Submission times of those two, after the start; all others submit in time."""


class Person(Struct, frozen=True):
    """One line of the roster."""

    id: str
    first_name: str
    last_name: str

    @property
    def email(self) -> str:
        """An undeliverable address."""
        return f"{self.id}@example.org"


def format_student_id(number: int) -> str:
    """Format the id of a student; students are counted from 1."""
    return f"s{1000 + number}"


def draw_people(count: int, generator: np.random.Generator) -> tuple[Person, ...]:
    """Draw people with different names and ids, ordered by id.

    Raises:
        ValueError: the count is below 1 or above the number of names.
    """
    if not 1 <= count <= MAX_STUDENTS:
        raise ValueError(f"students: expected a number from 1 to {MAX_STUDENTS}, got {count}")
    # One draw over all pairs of names: no two people can get the same full name.
    drawn = generator.permutation(MAX_STUDENTS)[:count]
    return tuple(
        Person(format_student_id(number), FIRST[int(index) % len(FIRST)], LAST[int(index) // len(FIRST)])
        for number, index in enumerate(drawn, start=1)
    )


def format_roster(listed: Sequence[Person]) -> str:
    """Format the CSV roster that gradebooks read."""
    lines = [f"{person.id},{person.first_name},{person.last_name},{person.email}" for person in listed]
    return "\n".join(("id,first_name,last_name,email", *lines)) + "\n"


def format_exams(assignment: str, students: int) -> str:
    """Format the course's ``exams.toml`` for a class of the given size."""
    lines = [f"[{assignment}]", f"start = {START:%Y-%m-%dT%H:%M:%S}", f'zone = "{START.tzinfo}"']
    # A smaller class does not have the student with the extension.
    if students >= EXTRA:
        lines += ["", f"[{assignment}.students.{format_student_id(EXTRA)}]", "extra_minutes = 15"]
    return "\n".join(lines) + "\n"


class Subject(Struct, frozen=True):
    """One assignment of the demo class, with its possible answers and attacks."""

    assignment: str
    """Name of the assignment and of its only notebook."""
    start: datetime
    """Begin of the exam, with a time zone."""
    minutes: int
    """Duration."""
    write: Write
    damages: tuple[Damage, ...]
    attacks: tuple[Attack, ...]
    after: Mapping[int, timedelta] = {}
    """Submission times of single students, after the start; all others submit in time."""


class DemoStudent(Struct, frozen=True):
    """One student of the class, and the expected result of grading the notebook."""

    id: str
    first_name: str
    last_name: str
    portrait: str
    kind: str
    """``"honest"``, ``"broken"`` or ``"hostile"``."""
    readable: bool = True
    """False if the file cannot be read as a notebook: no answer counts."""
    points: Mapping[str, Decimal] = {}
    """By ``question.item``: points that each automatic item earns; empty if the file is not readable."""

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"


class _Role(Struct, frozen=True):
    """Role of one student: a level, and optionally damage to the file or an attack."""

    level: Level
    damage: Damage | None = None
    attack: Attack | str | None = None

    @property
    def kind(self) -> str:
        """The kind as in `DemoStudent.kind`."""
        return "broken" if self.damage is not None else "hostile" if self.attack is not None else "honest"


def write_class(
    subject: Subject, release: bytes, folder: Path, *, students: int, seed: int
) -> list[DemoStudent]:
    """Write the submissions of a class to one assignment, and its roster.

    Writes ``submitted/{student}/{assignment}/{assignment}.ipynb`` with a ``timestamp.txt`` in the same
    folder, and ``roster.csv``. The same arguments give the same bytes; size and seed alone determine the
    class.

    Args:
        subject: the assignment.
        release: the released notebook, as students receive it.
        folder: the course.
        students: the number of students.
        seed: of all random choices.

    Returns:
        The class, ordered by id.

    Raises:
        NotebookError: the release is not the assignment that this class can answer.
        ValueError: there are fewer than one or too many students.
    """
    generator = np.random.default_rng(seed)
    released = _parse_release(release)
    cells = {get_grade_id(cell): cell["source"] for cell in released["cells"]}
    # The order of draws is part of the result: people, roles, then each paper and its time.
    listed = draw_people(students, generator)
    written = []
    parts = _assign_roles(subject, students, generator)
    for number, (person, part) in enumerate(zip(listed, parts, strict=True), start=1):
        paper = subject.write(part.level, part.kind, cells, generator)
        student, data = _make_submission(person, part, paper, _fill_details(released, person, number))
        target = folder / "submitted" / person.id / subject.assignment
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{subject.assignment}.ipynb").write_bytes(data)
        drawn = timedelta(seconds=int(generator.integers(subject.minutes * 60)))
        # nbgrader's timestamp.txt is in UTC.
        submitted = subject.start.astimezone(UTC) + subject.after.get(number, drawn)
        (target / "timestamp.txt").write_text(f"{submitted:%Y-%m-%d %H:%M:%S} UTC\n", encoding="utf-8")
        written.append(student)
    (folder / "roster.csv").write_text(format_roster(listed), encoding="utf-8")
    return written


def _assign_roles(subject: Subject, count: int, generator: np.random.Generator) -> list[_Role]:
    """Assign roles: about three in four are honest, and a large class has every damage and attack once."""
    broken = [_Role(GOOD, damage=damage) for damage in subject.damages]
    attacks: list[Attack | str] = [*subject.attacks, "tampers with points and flags", "forges outputs"]
    hostile = [_Role(MIDDLING, attack=attack) for attack in attacks]
    odd = [part for pair in _mix_roles(broken, hostile) for part in pair][: count // 3]
    levels = (EXCELLENT, GOOD, GOOD, MIDDLING, MIDDLING, EXCELLENT, GOOD, WEAK, MIDDLING, GOOD)
    honest = [_Role(levels[number % len(levels)]) for number in range(count - len(odd))]
    if len(honest) >= 10:
        honest[-1] = _Role(ABSENT)
    parts = honest + odd
    return [parts[int(index)] for index in generator.permutation(count)]


def _mix_roles(first: list[_Role], second: list[_Role]) -> Iterator[list[_Role]]:
    for number in range(max(len(first), len(second))):
        yield [*first[number : number + 1], *second[number : number + 1]]


def _make_submission(
    person: Person, part: _Role, paper: DemoPaper, released: Notebook
) -> tuple[DemoStudent, bytes]:
    """Return the student's record and the bytes of the file."""
    notebook = fill_answers(released, paper.sources)
    portrait, readable, points = paper.portrait, True, dict(paper.points)
    data = bad_notebooks.dump_notebook(notebook)
    if part.damage is not None:
        data = part.damage.apply(notebook)
        portrait, readable = part.damage.portrait, part.damage.readable
        points = {
            item: Decimal(0) if item.partition(".")[0] in part.damage.lost else mark
            for item, mark in (points if readable else {}).items()
        }
    elif part.attack is not None:
        portrait, data, points = _apply_attack(part.attack, paper, released, points)
    return (
        DemoStudent(person.id, person.first_name, person.last_name, portrait, part.kind, readable, points),
        data,
    )


def _apply_attack(
    attack: Attack | str, paper: DemoPaper, released: Notebook, points: dict[str, Decimal]
) -> tuple[str, bytes, dict[str, Decimal]]:
    if isinstance(attack, str):
        change = (
            bad_notebooks.modify_flags
            if attack.startswith("tampers")
            else bad_notebooks.insert_forged_outputs
        )
        return attack, bad_notebooks.dump_notebook(change(fill_answers(released, paper.sources))), points
    if attack.instead_of:
        sources = {**paper.sources, f"{attack.instead_of}-answer": attack.source}
        earned = {
            item: Decimal(0) if item.startswith(f"{attack.instead_of}.") else mark
            for item, mark in points.items()
        }
        return attack.portrait, bad_notebooks.dump_notebook(fill_answers(released, sources)), earned
    notebook = fill_answers(released, paper.sources)
    extra: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "extra",
        "metadata": {},
        "outputs": [],
        "source": attack.source,
    }
    cells = [*notebook["cells"]]
    # Near the start of the notebook, so that the attack runs before any answer.
    cells.insert(2, extra)
    return attack.portrait, bad_notebooks.dump_notebook({**notebook, "cells": cells}), points


def _fill_details(notebook: Notebook, person: Person, number: int) -> Notebook:
    """Return the notebook with the title page filled in."""
    written = {
        "family_name": person.last_name,
        "first_name": person.first_name,
        "student_number": str(700_000 + 37 * number),
        "programme": PROGRAMMES[number % len(PROGRAMMES)],
    }
    cells = []
    for cell in notebook["cells"]:
        source = cell["source"]
        # The cell for the details carries no grade_id, so that no answer is changed by accident.
        if not get_grade_id(cell):
            for name, text in written.items():
                source = source.replace(f'{name} = ""', f'{name} = "{text}"')
        cells.append({**cell, "source": source})
    return {**notebook, "cells": cells}


def fill_answers(notebook: Notebook, sources: Mapping[str, str]) -> Notebook:
    """Return the notebook with these sources, by grade_id, in its answer cells."""
    cells = [
        {**cell, "source": sources.get(get_grade_id(cell), cell["source"])} for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def _parse_release(release: bytes) -> Notebook:
    """Parse the release as JSON and join the lines of every source.

    Raises:
        NotebookError: it is not a notebook.
    """
    try:
        loaded = json.loads(release)
        cells = [{**cell, "source": "".join(cell["source"])} for cell in loaded["cells"]]
    except (ValueError, TypeError, KeyError) as error:
        raise NotebookError("demo-release", f"the release is not a notebook: {error}") from error
    return {**loaded, "cells": cells}


def _write_exam_paper(
    level: Level, kind: str, cells: Mapping[str, str], generator: np.random.Generator
) -> DemoPaper:
    del kind
    return papers.write_paper(level, papers.extract_listing(cells.get("task5-a-answer", "")), generator)


def _write_gpt2_answers(
    level: Level, kind: str, cells: Mapping[str, str], generator: np.random.Generator
) -> DemoPaper:
    del cells
    return papers.write_gpt2_paper(level, generator, hostile=kind == "hostile")


EXAM = Subject(
    "dl4nlp-exam",
    start=START,
    minutes=MINUTES,
    write=_write_exam_paper,
    damages=bad_notebooks.list_damages("task3-c", copied="task3-b"),
    attacks=(
        *bad_notebooks.ATTACKS,
        bad_notebooks.make_equal_to_everything("task3-a", "query_matrix_parameters", "d_head^2"),
    ),
    after=AFTER,
)
GPT2 = Subject(
    "gpt2",
    start=datetime(2026, 1, 19, 9, 0, tzinfo=UTC),
    minutes=14 * 24 * 60,
    write=_write_gpt2_answers,
    damages=bad_notebooks.list_damages("chain", copied="top-p"),
    attacks=(*bad_notebooks.ATTACKS, bad_notebooks.make_equal_to_everything("facts", "facts", "relu")),
)
SUBJECTS = (EXAM, GPT2)
"""In the order in which they are graded."""
