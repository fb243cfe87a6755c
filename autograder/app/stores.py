"""Which store a course has, and in what it is rehearsed: the one place that names an implementation."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import msgspec

from autograder import atomic
from autograder.assignment import Assignment
from autograder.errors import NothingKept
from autograder.grades import CellName, PersonMark
from autograder.limits import budgets
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import AnswerName, GradedEntry, Key, Store, bounded, decode
from autograder.store.memory import MemoryStore


class OpenStore(Protocol):
    """Opens the store of an assignment's course."""

    def __call__(self, assignment: Assignment, *, new: bool) -> Store:
        """The store, opened.

        Args:
            assignment: whose course.
            new: there may be none yet; then it is made.
        """


def open_store(assignment: Assignment, *, new: bool) -> Store:
    """Open nbgrader's gradebook in the course folder.

    Raises:
        NothingKept: there is none yet, and it may not be new.
        GradebookError: it cannot be opened.
    """
    course = assignment.course
    if not new and not course.gradebook.is_file():
        raise NothingKept(
            f"{course.gradebook}: there is no gradebook yet; run: autograder grade {assignment.name}"
        )
    from autograder.gradebook import Gradebook  # imports nbgrader, which takes a third of a second

    return Gradebook(course.gradebook)


class RehearsalStore(MemoryStore):
    """What a class would be if it was graded again: it begins as the course's store, which is only read.

    What is computed is kept in a folder, so that it need not be computed again: neither after a kill, nor to
    be entered.

    Args:
        course: the store of the course.
        kept: the folder, readable by its owner alone; made where it is not there.
    """

    def __init__(self, course: Store, kept: Path) -> None:
        super().__init__()
        self._course = course
        self._folder = kept
        self.entries: dict[str, GradedEntry] = {}
        """What was recorded here since `begun`, by student."""

    def begun(
        self,
        rubric: Rubric,
        releases: Mapping[str, bytes],
        stands: Iterable[GradedEntry],
        marks: Mapping[str, Mapping[CellName, PersonMark]],
        decided: Mapping[AnswerName, Decimal],
    ) -> None:
        """Take over where the class stands.

        Args:
            rubric: as it is now.
            releases: as in `Store.prepare`.
            stands: the results that count, each with the rubric that it was graded by.
            marks: what people gave, by student.
            decided: as `Store.decided`.

        Raises:
            GradebookError: as `Store.prepare`.
        """
        self.prepare(rubric, releases)
        super().record(list(stands))
        name = rubric.assignment.name
        for student, cells in marks.items():
            for cell, mark in cells.items():
                if student in self.listed(name):
                    self.give(name, student, cell, mark, decided.get((student, *cell)))

    def find(self, key: Key) -> Graded | None:
        """What was computed before, or is known to the course."""
        try:
            found = decode(atomic.read(self._path(key)))
        except OSError:
            found = None
        return found or self._course.find(key)

    def record(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record`; what is new is kept in the folder first."""
        if run is not None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in entries if run is not None else ():
            stored = bounded(one.graded, budgets(one.rubric.assignment.limits).stored_mb)
            atomic.write(self._path(one.key), stored, mode=0o600)
        self.entries |= {one.key.student: one for one in entries}
        return super().record(entries, run=run, language=language)

    def tidy(self) -> None:
        """Remove what was computed here and is not what was recorded."""
        used = {self._path(one.key).name for one in self.entries.values()}
        for path in self._folder.glob("*.json") if self._folder.is_dir() else ():
            if path.name not in used:
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove what was computed here."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, key: Key) -> Path:
        return self._folder / f"{hashlib.sha256(msgspec.json.encode(key)).hexdigest()}.json"
