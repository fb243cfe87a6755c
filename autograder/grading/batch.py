"""A whole class: every submission graded once, recorded at once, resumed after an interruption."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import timestamps
from autograder.assignment import Assignment
from autograder.course import Handin
from autograder.errors import NotebookError
from autograder.gradebook import Gradebook, write_autograded
from autograder.gradebook.ledger import Key, Ledger
from autograder.grading.pipeline import Grader, Handed
from autograder.grading.scoring import LATE
from autograder.notebook.files import read_file
from autograder.records import Graded
from autograder.sandbox.levels import Isolation, at_least, environment_digest
from autograder.sandbox.outside import leftovers
from autograder.sandbox.pool import Pool
from autograder.timestamps import Timing


class Outcome(Struct, frozen=True):
    """One submission of a batch."""

    student: str
    graded: Graded
    submitted_at: datetime | None
    fresh: bool
    """False when the ledger already held the result."""
    timing: Timing | None = None
    """How it stands to the time allowed, where there is one."""


def grade_class(
    assignment: Assignment,
    handins: Iterable[Handin],
    gradebook: Gradebook,
    pool: Pool,
    *,
    workers: int | None = None,
    again: bool = False,
) -> Iterator[Outcome]:
    """Grade submissions and record each as soon as it is done; yields them in the order they finish.

    A result that the ledger holds for the same bytes, rubric and environment is not computed again, if it
    was computed at the pool's level of isolation or a stronger one.

    Args:
        assignment: loaded.
        handins: whose submissions.
        gradebook: where marks go; prepared here.
        pool: gives the sandboxes; started only when something is left to grade.
        workers: how many at the same time; default: one per core.
        again: grade even what the ledger holds.

    Raises:
        CourseError: the reference solutions are not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the database refused.
    """
    leftovers.sweep_groups()
    ledger = Ledger(gradebook.engine)
    records = _Records(assignment, gradebook, ledger, assignment.language)
    environment = assignment.digest()
    waiting: list[Handin] = []
    known: list[tuple[Handin, Key, Graded]] = []
    for handin in handins:
        digest = collect(assignment, handin).digest()
        key = Key.of(handin.student, digest, assignment.rubric, environment)
        found = None if again else _known(ledger, key, pool.isolation)
        if found is None:
            waiting.append(handin)
        else:
            known.append((handin, *found))
    # Before the first row is written: on a machine whose sandbox does not hold, nothing is.
    grader = Grader(assignment, pool) if waiting else None
    gradebook.prepare(assignment.rubric, assignment.release_bytes)
    for handin, key, result in known:
        yield records.keep(key, result, handin)
    if grader is None:
        return
    environment = environment_digest(environment, pool.isolation)
    run = ledger.begin(assignment.rubric, environment, pool.isolation.value)
    workers = workers or os.cpu_count() or 1
    for handin, graded in _in_parallel(grader, waiting, workers):
        key = Key.of(handin.student, graded.digest, assignment.rubric, environment)
        yield records.keep(key, graded, handin, run)
    ledger.finish(run)


def _known(ledger: Ledger, key: Key, isolation: Isolation) -> tuple[Key, Graded] | None:
    """The result of the strongest level that is no weaker than the wanted one, and its key."""
    for level in at_least(isolation):
        at_level = replace(key, environment=environment_digest(key.environment, level))
        found = ledger.find(at_level)
        if found is not None:
            return at_level, found
    return None


def _in_parallel(grader: Grader, waiting: list[Handin], workers: int) -> Iterator[tuple[Handin, Graded]]:
    """Grade with several threads; files are read again now, so that only a few are in memory at a time."""

    def grade(handin: Handin) -> Graded:
        return grader.grade(collect(grader.assignment, handin))

    queue = iter(waiting)
    with ThreadPoolExecutor(workers) as threads:
        running: dict[Future[Graded], Handin] = {}
        try:
            while True:
                for handin in queue:
                    running[threads.submit(grade, handin)] = handin
                    if len(running) >= 2 * workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            threads.shutdown(cancel_futures=True)


class _Records(Struct, frozen=True):
    """Where results go."""

    assignment: Assignment
    gradebook: Gradebook
    ledger: Ledger
    language: str
    """Of the comments."""

    def keep(self, key: Key, graded: Graded, handin: Handin, run: int | None = None) -> Outcome:
        """Gradebook and ledger in one transaction; nbgrader's copy of the notebook after it.

        Args:
            key: of the result.
            graded: the result; what is said of the time is not part of what the ledger is asked for, and new.
            handin: whose it is.
            run: that computed it; None: the ledger held it.
        """
        submitted_at = handin.submitted_at
        graded = _timed(graded, handin.timing)
        rubric = self.assignment.rubric_of(graded.score.student)
        with self.gradebook.transaction() as within:
            self.gradebook.record(graded, rubric, submitted_at, language=self.language, within=within)
            self.ledger.record(key, graded, run=run, submitted_at=submitted_at, within=within)
        write_autograded(self.assignment.course.root, graded, self.assignment.release_bytes)
        return Outcome(handin.student, graded, submitted_at, fresh=run is not None, timing=handin.timing)


def _timed(graded: Graded, timing: Timing | None) -> Graded:
    """The result with the remarks about its time, in the place of older ones."""
    others = [note for note in graded.score.notes if note.code not in timestamps.NOTES]
    notes = (*(timing.notes() if timing else ()), *others)
    return replace(graded, score=replace(graded.score, notes=notes))


def collect(assignment: Assignment, handin: Handin) -> Handed:
    """Read what one student handed in; what cannot be read, or is not graded, is kept as the reason why."""
    if handin.timing and handin.timing.refused:
        late = NotebookError(LATE, "handed in after the end")
        return Handed(handin.student, {one.name: late for one in assignment.rubric.assignment.notebooks})
    notebooks: dict[str, bytes | NotebookError] = {}
    files: dict[str, bytes] = {}
    for notebook in assignment.rubric.assignment.notebooks:
        notebooks[notebook.name] = _content(handin.folder, f"{notebook.name}.ipynb")
        for name in notebook.take_along:
            content = _content(handin.folder, name)
            if not isinstance(content, NotebookError):
                files[name] = content
    return Handed(handin.student, notebooks, files)


def _content(folder: Path, name: str) -> bytes | NotebookError:
    if folder.is_symlink():
        return NotebookError("symlink", f"{folder.name} is a link, not a folder; hand in the folder itself")
    try:
        return read_file(folder / name, only_name=True)
    except NotebookError as error:
        return error
