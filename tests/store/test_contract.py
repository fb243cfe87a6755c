"""What every store promises, run on each of ours (`tests.store.contract`), and how small that is."""

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
    from autograder.service.models import CourseRecord  # its tables ask for Django's settings


def in_formgrader(path: Path) -> Give:
    """As formgrader writes it: nbgrader's columns of a person, and the cell need not be looked at again."""

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
            assert written or not mark.comment  # what is not handed back to students has no comment
        database.close()

    return give


class TestNbgrader(StoreContract):
    """nbgrader's database with our own tables beside it."""

    @pytest.fixture
    def unprepared(self, tmp_path: Path) -> Iterator[OpenedStore]:
        """An empty database, in which people mark with formgrader."""
        path = tmp_path / "gradebook.db"
        with Gradebook(path) as book:
            yield OpenedStore(book, in_formgrader(path), lambda: Gradebook(path))


class TestMemory(StoreContract):
    """The store that forgets everything."""

    @pytest.fixture
    def unprepared(self) -> Iterator[OpenedStore]:
        """An empty one; people have no other way into it than its own."""
        with MemoryStore() as memory:
            yield OpenedStore(
                memory, lambda student, cell, mark: memory.give_mark("exam", student, cell, mark)
            )


class TestPostgreSQL(StoreContract):
    """The tables of the service."""

    @pytest.fixture
    def unprepared(self, service_course: CourseRecord) -> OpenedStore:
        """An empty course, in which a second one of its stores plays the pages."""
        from autograder.service.store import DatabaseStore

        beside = DatabaseStore(service_course)
        return OpenedStore(
            DatabaseStore(service_course),
            lambda student, cell, mark: beside.give_mark("exam", student, cell, mark),
            lambda: DatabaseStore(service_course),
        )
