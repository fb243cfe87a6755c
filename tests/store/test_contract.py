"""The contract of stores (`tests.store.contract`), run on each of our stores, and its size."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.grading.grades import CellName, PersonMark
from autograder.store.gradebook import Gradebook
from autograder.store.memory import MemoryStore
from tests.store.contract import Give, OpenedStore, StoreContract

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord  # its tables need Django's settings


def in_formgrader(path: Path) -> Give:
    """Return a function that gives marks as formgrader does, with no further review needed."""

    def give(student: str, cell: CellName, mark: PersonMark) -> None:
        place = (
            "notebook_id IN (SELECT n.id FROM submitted_notebook n "
            "JOIN submitted_assignment a ON a.id = n.assignment_id WHERE a.student_id = ?) "
            "AND cell_id IN (SELECT id FROM base_cell WHERE name = ?)"
        )
        points = None if mark.points is None else float(mark.points)
        values = (points, float(mark.extra) or None, student, cell[1])
        with sqlite3.connect(path) as database:
            grades = (
                f"UPDATE grade SET manual_score = ?, extra_credit = ?, needs_manual_grade = 0 WHERE {place}"
            )
            assert 1 == database.execute(grades, values).rowcount
            comments = f"UPDATE comment SET manual_comment = ? WHERE {place}"
            written = database.execute(comments, (mark.comment, student, cell[1])).rowcount
            assert written or not mark.comment  # a cell without feedback to students has no comment
        database.close()

    return give


class TestNbgrader(StoreContract):
    """nbgrader's database with our additional tables."""

    @pytest.fixture
    def unprepared(self, tmp_path: Path) -> Iterator[OpenedStore]:
        """Return an empty database in which graders use formgrader."""
        path = tmp_path / "gradebook.db"
        with Gradebook(path) as book:
            yield OpenedStore(book, in_formgrader(path), lambda: Gradebook(path))


class TestMemory(StoreContract):
    """The store in memory, which is not persistent."""

    @pytest.fixture
    def unprepared(self) -> Iterator[OpenedStore]:
        """Return an empty store, in which marks can be given only by its own method."""
        with MemoryStore() as memory:
            yield OpenedStore(
                memory, lambda student, cell, mark: memory.give_mark("exam", student, cell, mark)
            )


class TestPostgreSQL(StoreContract):
    """The tables of the service."""

    @pytest.fixture
    def unprepared(self, service_course: CourseRecord) -> OpenedStore:
        """Return an empty course, in which a second store acts as the web pages."""
        from autograder.service.store import DatabaseStore

        beside = DatabaseStore(service_course)
        return OpenedStore(
            DatabaseStore(service_course),
            lambda student, cell, mark: beside.give_mark("exam", student, cell, mark),
            lambda: DatabaseStore(service_course),
        )
