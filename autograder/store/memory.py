"""A store in memory, for tests and for runs that must leave no trace."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Self

from msgspec.structs import replace

from autograder.errors import CourseError, GradebookError
from autograder.grades import CellName, PersonMark, automatic_points
from autograder.limits import budgets
from autograder.notebook.release import load_release
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import (
    AnswerName,
    Decision,
    EnteredMarks,
    FrontEnd,
    GradedEntry,
    Key,
    Outlines,
    Student,
    bounded,
    decode,
    settle,
)

_Automatic = tuple[Decimal | None, bool]
"""Points, None while no item of the cell is decided; and whether an item waits for manual review."""
_EMPTY: _Automatic = (None, True)


class _Kept:
    def __init__(self) -> None:
        self.cells: frozenset[CellName] = frozenset()
        self.automatic: dict[str, dict[CellName, _Automatic]] = {}
        self.given: dict[str, dict[CellName, PersonMark]] = {}
        self.decided: dict[AnswerName, Decimal] = {}
        self.current: dict[str, Key] = {}


class MemoryStore:
    """Implements `autograder.store.Store`; people enter their marks through `give_mark`."""

    front_end = FrontEnd("this run", "this run", "the next run forgets them")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, _Kept] = {}
        self._results: dict[Key, bytes] = {}
        self.runs: list[bool] = []
        """One entry for each run: whether it finished."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no resources are held open."""

    def prepare(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        wanted = frozenset((one.notebook, cell) for one in rubric.questions for cell in one.cells())
        for notebook in rubric.assignment.notebooks:
            try:
                released = load_release(releases[notebook.name], notebook.name).by_id
            except (KeyError, CourseError) as error:
                raise GradebookError(f"notebook {notebook.name!r} is not released: {error}") from error
            for place, cell in wanted:
                if place == notebook.name and not (cell in released and released[cell].grade):
                    raise GradebookError(f"notebook {place!r} has no cell {cell!r} marked as graded")
        with self._lock:
            kept = self._kept.get(rubric.assignment.name) or _Kept()
            for marks in kept.given.values():
                for _, cell in marks.keys() - wanted:
                    raise GradebookError(f"cell {cell!r} is no longer in the release, but a person marked it")
            kept.cells = wanted
            for student, cells in kept.automatic.items():
                # Obsolete cells lose their automatic marks; new ones start undecided.
                kept.automatic[student] = {name: cells.get(name, _EMPTY) for name in wanted}
            self._kept[rubric.assignment.name] = kept

    def enrol(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`; names are not shown here."""
        del students

    def begin(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        del rubric, environment, isolation
        with self._lock:
            self.runs.append(False)
            return len(self.runs)

    def finish(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._lock:
            if 0 < run <= len(self.runs):
                self.runs[run - 1] = True

    def find(self, key: Key) -> Graded | None:
        """See `Store.find_result`."""
        with self._lock:
            return decode(self._results[key]) if key in self._results else None

    def record(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`."""
        del run, language
        with self._lock:
            # Check all entries before the first one is written: the method is all or none.
            for one in entries:
                if one.key.assignment not in self._kept:
                    raise GradebookError(f"assignment {one.key.assignment!r} is not known; prepare it first")
            stored = [bounded(one.graded, budgets(one.rubric.assignment.limits).stored_mb) for one in entries]
            for one, result in zip(entries, stored, strict=True):
                self._mark(self._kept[one.key.assignment], one)
                self._results[one.key] = result
        return {}

    def _mark(self, kept: _Kept, entry: GradedEntry) -> None:
        student = entry.key.student
        before, cells = kept.current.get(student), automatic_points(entry.graded.score, entry.rubric)
        resubmitted = before is not None and before.submission != entry.key.submission
        row = kept.automatic.setdefault(student, dict.fromkeys(kept.cells, _EMPTY))
        given = kept.given.setdefault(student, {})
        for name in kept.cells & cells.keys():
            points = cells[name].points if cells[name].settled else None
            mark = given.get(name)
            if mark is not None and mark.points is not None and (resubmitted or row[name][0] != points):
                # The person marked another answer or saw another automatic mark: ask for another look.
                given[name] = replace(mark, again=True)
            row[name] = (points, cells[name].pending)
        kept.current[student] = entry.key

    def results(self, assignment: str, rubric: str = "", *, whole: bool = True) -> dict[str, Graded]:
        """See `Store.load_results`."""
        read = decode if whole else Outlines().read
        with self._lock:
            current = self._kept.get(assignment, _Kept()).current
            keys = [key for _, key in sorted(current.items()) if rubric in ("", key.rubric)]
            found = {key.student: read(self._results[key]) for key in keys}
        return {student: graded for student, graded in found.items() if graded is not None}

    def standing(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`; recording is so cheap here that none are reported."""
        del entries, language
        return frozenset()

    def keys(self, assignment: str) -> dict[str, Key]:
        """See `Store.load_keys`."""
        with self._lock:
            return dict(self._kept.get(assignment, _Kept()).current)

    def listed(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`."""
        with self._lock:
            return frozenset(self._kept.get(assignment, _Kept()).automatic)

    def marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`."""
        with self._lock:
            given = self._kept.get(assignment, _Kept()).given
            return {student: dict(cells) for student, cells in given.items() if cells}

    def decided(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._lock:
            return dict(self._kept.get(assignment, _Kept()).decided)

    def give(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`."""
        with self._lock:
            kept = self._kept.get(assignment, _Kept())
            if cell not in kept.automatic.get(student, {}):
                raise GradebookError(f"{student!r} has no cell {cell[1]!r} in {assignment!r} for a grade")
            kept.given[student][cell] = mark
            # An empty mark means that the person removed everything.
            if mark == PersonMark():
                del kept.given[student][cell]
            if decided is not None:
                kept.decided[student, *cell] = decided

    def decide(self, assignment: str, given: Mapping[AnswerName, Decision]) -> EnteredMarks:
        """See `Store.apply_decisions`."""
        written, stays = 0, []
        with self._lock:
            kept = self._kept.get(assignment, _Kept())
            for answer, decision in given.items():
                student, cell = answer[0], answer[1:]
                if cell not in kept.automatic.get(student, {}):
                    continue
                mark = kept.given[student].get(cell, PersonMark())
                found = settle(mark, decision, kept.decided.get(answer))
                stays += [answer] if found.kept else []
                if found.written:
                    written += 1
                    kept.decided[answer] = decision.points
                kept.given[student][cell] = found.mark
        return EnteredMarks(written, tuple(stays))

    def deduct(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`; totals are not shown here."""
        del assignment, taken

    def restore(
        self,
        results: Mapping[str, Graded],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`; no other program writes here."""
        del results, rubrics, releases, language
        return ()
