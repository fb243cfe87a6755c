"""Invented people: neutral names for a class, and its roster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from autograder.demo.answers import table

FIRST, LAST = table("names")["first"], table("names")["last"]
MAX_STUDENTS = len(FIRST) * len(LAST)
"""So many different names can be made."""


class Person(Struct, frozen=True):
    """One line of the roster."""

    id: str
    first_name: str
    last_name: str

    @property
    def email(self) -> str:
        """An address that reaches nobody."""
        return f"{self.id}@example.org"


def student_id(number: int) -> str:
    """The id of a student, who are counted from 1."""
    return f"s{1000 + number}"


def people(count: int, generator: np.random.Generator) -> tuple[Person, ...]:
    """So many people with different names and ids, in the order of their ids.

    Raises:
        ValueError: there are not so many names.
    """
    if not 1 <= count <= MAX_STUDENTS:
        raise ValueError(f"students: expected a number from 1 to {MAX_STUDENTS}, got {count}")
    drawn = generator.permutation(MAX_STUDENTS)[:count]
    return tuple(
        Person(student_id(number), FIRST[int(index) % len(FIRST)], LAST[int(index) // len(FIRST)])
        for number, index in enumerate(drawn, start=1)
    )


def roster(listed: Sequence[Person]) -> str:
    """The CSV that gradebooks read."""
    lines = [f"{person.id},{person.first_name},{person.last_name},{person.email}" for person in listed]
    return "\n".join(("id,first_name,last_name,email", *lines)) + "\n"
