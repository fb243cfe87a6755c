"""Invented people: neutral names for a class, its roster, and its submission times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct

from autograder.authoring.demo.answers import load_table

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
