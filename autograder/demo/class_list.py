"""Invented people: neutral names for a class, and its roster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

_FIRST = (
    "Ada", "Alex", "Amal", "Ari", "Bela", "Bo", "Chris", "Dana", "Deniz", "Eike", "Eli", "Finn",
    "Gabi", "Ida", "Imre", "Jona", "Jule", "Kai", "Kim", "Lea", "Lou", "Luca", "Maja", "Mika",
    "Nika", "Noa", "Ola", "Pat", "Quinn", "Rene", "Robin", "Sascha", "Sam", "Sol", "Tami", "Toni",
    "Uli", "Vanja", "Yuki", "Zoe",
)  # fmt: skip
_LAST = (
    "Ahorn", "Amsel", "Birke", "Brook", "Buche", "Dorn", "Eiche", "Erle", "Fels", "Fink", "Forest",
    "Garten", "Grove", "Hafer", "Hain", "Hazel", "Heide", "Hill", "Kiesel", "Klee", "Lake",
    "Lerche", "Linde", "Meadow", "Moor", "Moss", "Nebel", "Otter", "Quell", "Reed", "Regen",
    "River", "Sand", "Schilf", "Stone", "Tanne", "Ulme", "Wald", "Weide", "Wiese",
)  # fmt: skip

MAX_STUDENTS = len(_FIRST) * len(_LAST)
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
        Person(student_id(number), _FIRST[int(index) % len(_FIRST)], _LAST[int(index) // len(_FIRST)])
        for number, index in enumerate(drawn, start=1)
    )


def roster(listed: Sequence[Person]) -> str:
    """The CSV that gradebooks read."""
    lines = [f"{person.id},{person.first_name},{person.last_name},{person.email}" for person in listed]
    return "\n".join(("id,first_name,last_name,email", *lines)) + "\n"
