"""The store of a course and its rehearsal: the only module that names an implementation."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import msgspec

from autograder.core import atomic
from autograder.core.errors import StoreMissing
from autograder.core.limits import compute_budgets
from autograder.core.records import GradingResult
from autograder.grading.assignment import Assignment
from autograder.grading.grades import CellName, PersonMark
from autograder.grading.store import AnswerName, GradedEntry, ResultKey, Store, decode_result, encode_bounded
from autograder.rubric import Rubric
from autograder.store.memory import MemoryStore


class OpenStore(Protocol):
    """Opens the store of an assignment's course."""

    def __call__(self, assignment: Assignment, *, new: bool) -> Store:
        """Open the store.

        Args:
            assignment: an assignment of the course.
            new: create the store if there is none yet.
        """


def open_store(assignment: Assignment, *, new: bool) -> Store:
    """Open nbgrader's gradebook in the course folder.

    Raises:
        NothingKept: there is none yet, and ``new`` is false.
        GradebookError: it cannot be opened.
    """
    course = assignment.course
    if not new and not course.gradebook.is_file():
        raise StoreMissing(
            f"{course.gradebook}: there is no gradebook yet; run: autograder grade {assignment.name}"
        )
    from autograder.store.gradebook import Gradebook  # imports nbgrader, which takes a third of a second

    return Gradebook(course.gradebook)


class RehearsalStore(MemoryStore):
    """The state of a class after a regrade: starts as a copy of the course's store, which is only read.

    Computed results are kept in a folder, so that they need not be computed again after a kill, or when they
    are entered.

    Args:
        course: the store of the course.
        kept: the folder, readable only by its owner; created if it does not exist.
    """

    def __init__(self, course: Store, kept: Path) -> None:
        super().__init__()
        self._course = course
        self._folder = kept
        self.entries: dict[str, GradedEntry] = {}
        """Entries recorded since `begin_rehearsal`, by student."""

    def begin_rehearsal(
        self,
        rubric: Rubric,
        releases: Mapping[str, bytes],
        current_entries: Iterable[GradedEntry],
        marks: Mapping[str, Mapping[CellName, PersonMark]],
        decided: Mapping[AnswerName, Decimal],
    ) -> None:
        """Copy the current state of the class.

        Args:
            rubric: the current one.
            releases: as in `Store.prepare_assignment`.
            current_entries: the results that count, each with the rubric that it was graded by.
            marks: manual marks, by student.
            decided: as in `Store.load_decided_points`.

        Raises:
            GradebookError: as in `Store.prepare_assignment`.
        """
        # Prepared first: marks can only be given in cells that the store knows.
        self.prepare_assignment(rubric, releases)
        super().record_results(list(current_entries))
        name = rubric.assignment.name
        for student, cells in marks.items():
            for cell, mark in cells.items():
                if student in self.list_students(name):
                    self.give_mark(name, student, cell, mark, decided.get((student, *cell)))

    def find_result(self, key: ResultKey) -> GradingResult | None:
        """Return a result that was computed before, or that the course's store has."""
        try:
            computed = decode_result(atomic.read_bytes(self._get_path(key)))
        except OSError:
            computed = None
        return computed or self._course.find_result(key)

    def record_results(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """Record results as `Store.record_results`; new ones are kept in the folder first."""
        if run is not None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for entry in entries if run is not None else ():
            stored = encode_bounded(entry.graded, compute_budgets(entry.rubric.assignment.limits).stored_mb)
            atomic.write_bytes(self._get_path(entry.key), stored, mode=0o600)
        self.entries |= {entry.key.student: entry for entry in entries}
        return super().record_results(entries, run=run, language=language)

    def remove_unused(self) -> None:
        """Remove computed results that were not recorded."""
        used = {self._get_path(entry.key).name for entry in self.entries.values()}
        for path in self._folder.glob("*.json") if self._folder.is_dir() else ():
            if path.name not in used:
                path.unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all computed results."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _get_path(self, key: ResultKey) -> Path:
        # A hash is a valid file name, whatever characters the ids in the key contain.
        return self._folder / f"{hashlib.sha256(msgspec.json.encode(key)).hexdigest()}.json"
