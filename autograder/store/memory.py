"""A store in memory, for tests and for runs that must leave no trace."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Self

from msgspec.structs import replace

from autograder.core.errors import GradebookError
from autograder.core.limits import compute_budgets
from autograder.core.records import GradingResult
from autograder.grading.grades import CellName, PersonMark, compute_automatic_points
from autograder.grading.store import (
    AnswerName,
    FrontEnd,
    GradedEntry,
    OutlineReader,
    ResultKey,
    Student,
    collect_graded_cells,
    decode_result,
    encode_bounded,
)
from autograder.rubric import Rubric

_Automatic = tuple[Decimal | None, bool]
"""Points, None while no item of the cell is decided; and whether an item waits for manual review."""
_EMPTY: _Automatic = (None, True)


class _AssignmentState:
    def __init__(self) -> None:
        self.cells: frozenset[CellName] = frozenset()
        self.automatic: dict[str, dict[CellName, _Automatic]] = {}
        self.given: dict[str, dict[CellName, PersonMark]] = {}
        self.decided: dict[AnswerName, Decimal] = {}
        self.current: dict[str, ResultKey] = {}


class MemoryStore:
    """Implements `autograder.grading.store.Store`; people enter their marks through `give_mark`."""

    front_end = FrontEnd("this run", "this run", "the next run forgets them")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, _AssignmentState] = {}
        self._results: dict[ResultKey, bytes] = {}
        self.runs: list[bool] = []
        """One entry for each run: whether it finished."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no resources are held open."""

    def prepare_assignment(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        wanted = collect_graded_cells(rubric, releases)
        with self._lock:
            kept = self._kept.get(rubric.assignment.name) or _AssignmentState()
            for marks in kept.given.values():
                for _, cell in marks.keys() - wanted:
                    raise GradebookError(f"cell {cell!r} is no longer in the release, but a person marked it")
            kept.cells = wanted
            for student, cells in kept.automatic.items():
                # Obsolete cells lose their automatic marks; new ones start undecided.
                kept.automatic[student] = {name: cells.get(name, _EMPTY) for name in wanted}
            self._kept[rubric.assignment.name] = kept

    def enroll_students(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`; names are not shown here."""
        del students

    def start_run(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        del rubric, environment, isolation
        with self._lock:
            self.runs.append(False)
            return len(self.runs)

    def finish_run(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._lock:
            if 0 < run <= len(self.runs):
                self.runs[run - 1] = True

    def find_result(self, key: ResultKey) -> GradingResult | None:
        """See `Store.find_result`."""
        with self._lock:
            return decode_result(self._results[key]) if key in self._results else None

    def record_results(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`."""
        del run, language
        with self._lock:
            # Check all entries before the first one is written: the method is all or none.
            for entry in entries:
                if entry.key.assignment not in self._kept:
                    raise GradebookError(
                        f"assignment {entry.key.assignment!r} is not known; prepare it first"
                    )
            stored = [
                encode_bounded(entry.graded, compute_budgets(entry.rubric.assignment.limits).stored_mb)
                for entry in entries
            ]
            for entry, result in zip(entries, stored, strict=True):
                self._write_marks(self._kept[entry.key.assignment], entry)
                self._results[entry.key] = result
        return {}

    def _write_marks(self, kept: _AssignmentState, entry: GradedEntry) -> None:
        student = entry.key.student
        before, cells = kept.current.get(student), compute_automatic_points(entry.graded.score, entry.rubric)
        resubmitted = before is not None and before.submission != entry.key.submission
        row = kept.automatic.setdefault(student, dict.fromkeys(kept.cells, _EMPTY))
        marks = kept.given.setdefault(student, {})
        for name in kept.cells & cells.keys():
            points = cells[name].points if cells[name].settled else None
            mark = marks.get(name)
            if mark is not None and mark.points is not None and (resubmitted or row[name][0] != points):
                # The person marked another answer or saw another automatic mark: ask for another look.
                marks[name] = replace(mark, again=True)
            row[name] = (points, cells[name].pending)
        kept.current[student] = entry.key

    def load_results(
        self, assignment: str, rubric: str = "", *, whole: bool = True
    ) -> dict[str, GradingResult]:
        """See `Store.load_results`."""
        read = decode_result if whole else OutlineReader().read_outline
        with self._lock:
            current = self._kept.get(assignment, _AssignmentState()).current
            keys = [key for _, key in sorted(current.items()) if rubric in ("", key.rubric)]
            graded_by_student = {key.student: read(self._results[key]) for key in keys}
        return {student: graded for student, graded in graded_by_student.items() if graded is not None}

    def find_unchanged_students(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`; recording is so cheap here that none are reported."""
        del entries, language
        return frozenset()

    def load_keys(self, assignment: str) -> dict[str, ResultKey]:
        """See `Store.load_keys`."""
        with self._lock:
            return dict(self._kept.get(assignment, _AssignmentState()).current)

    def list_students(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`."""
        with self._lock:
            return frozenset(self._kept.get(assignment, _AssignmentState()).automatic)

    def load_marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`."""
        with self._lock:
            marks_by_student = self._kept.get(assignment, _AssignmentState()).given
            return {student: dict(cells) for student, cells in marks_by_student.items() if cells}

    def load_decided_points(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._lock:
            return dict(self._kept.get(assignment, _AssignmentState()).decided)

    def give_mark(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`."""
        with self._lock:
            kept = self._kept.get(assignment, _AssignmentState())
            if cell not in kept.automatic.get(student, {}):
                raise GradebookError(f"{student!r} has no cell {cell[1]!r} in {assignment!r} for a grade")
            kept.given[student][cell] = mark
            # An empty mark means that the person removed everything.
            if mark == PersonMark():
                del kept.given[student][cell]
            if decided is not None:
                kept.decided[student, *cell] = decided

    def record_deductions(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`; totals are not shown here."""
        del assignment, taken

    def restore_marks(
        self,
        results: Mapping[str, GradingResult],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`; no other program writes here."""
        del results, rubrics, releases, language
        return ()
