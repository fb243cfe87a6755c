"""Grade a whole class: every submission once, recorded immediately, resumable after an interruption."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime
from functools import cache, partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import GradebookError, NotebookError, describe_error
from autograder.core.records import GradingResult, Limits
from autograder.core.wording import format_size
from autograder.course import COUNTING_NOTES, Handin
from autograder.course.submission_folder import is_absent, read_folder
from autograder.grading.assignment import Assignment
from autograder.grading.grades import FAULTS, LATE, refuse_questions
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.store import GradedEntry, OutlineReader, ResultKey, Store
from autograder.messages import build_localised_text
from autograder.rubric import Rubric, timestamps
from autograder.rubric.timestamps import Timing
from autograder.sandbox.levels import Isolation, compute_environment_digest, list_levels_at_least
from autograder.sandbox.outside import cgroups
from autograder.sandbox.pool import Pool
from autograder.sandbox.timeouts import NewTimeout, SubmissionTimeouts

MOST_TOGETHER = 50
"""Maximum number of results that are recorded in one transaction."""
GATHERED_SECONDS = 0.5
"""Time that a result waits for others to be recorded with it; a kill loses the waiting ones."""
AHEAD = 2
"""Number of submissions per worker that are being graded or queued at a time."""
_MORE = 3
"""Workers in addition to the cores if memory allows; on two cores a class takes 6 % less time than with
one."""
MOST_REFUSED = 5
"""After this many students in a row with marks that could not be recorded, the run is aborted."""


class Outcome(Struct, frozen=True):
    """The result of one submission of a batch."""

    student: str
    graded: GradingResult
    """Without the contents of notebooks and files (`store.OutlineReader`); the store has them."""
    submitted_at: datetime | None
    fresh: bool
    """False if the store already held the result."""
    timing: Timing | None = None
    """Submission time in relation to the deadline, if there is one."""
    problem: str = ""
    """Why something of it was not recorded, for staff; the next run tries again."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Errors of ours, for staff: while it was graded, and while it was recorded."""
        notes = (note for note in self.graded.score.notes if note.code in FAULTS)
        texts = (f"{note.place}: {note.text}" if note.place else note.text for note in notes)
        return (*texts, self.problem) if self.problem else tuple(texts)


def grade_class(
    assignment: Assignment,
    handins: Iterable[Handin],
    store: Store,
    pool: Pool,
    *,
    workers: int = 0,
    again: bool = False,
) -> Iterator[Outcome]:
    """Grade submissions and record each as soon as it is done; yield the outcomes in order of completion.

    A stored result for the same bytes, rubric and environment is reused if it was computed at the pool's
    level of isolation or a stronger one, and without a fault of ours.

    Unexpected errors are reported per student in `Outcome.faults` and do not abort the run.

    Args:
        assignment: loaded.
        handins: the students' submissions.
        store: for results and marks; prepared here.
        pool: provides the sandboxes; started only if something is left to grade.
        workers: number of parallel workers; 0: enough to keep the cores busy.
        again: grade even submissions with stored results, and rerun cells and calls that timed out.

    Raises:
        CourseError: the reference solutions are not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store refused, before the first student or for several of them in a row.
    """
    # Boxes of an earlier run that was killed would still use processors and memory.
    cgroups.sweep_groups()
    recorder, environment = _Recorder(assignment, store), assignment.compute_digest()
    together = _group_by_submission(assignment.rubric, handins)
    stored_results = _KnownResults(assignment, store, environment, pool.isolation)
    lookups = [(members, None if again else stored_results.find_shared(members)) for members in together]
    waiting = [members[0] for members, result in lookups if result is None]
    known_results = [(members, *result) for members, result in lookups if result is not None]
    # Start the sandboxes before writing the first row: if they do not hold here, nothing is recorded.
    grader = Grader(assignment, pool) if waiting else None
    if known_results or not waiting:
        store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    for start in range(0, len(known_results), MOST_TOGETHER):
        yield from recorder.record_known(known_results[start : start + MOST_TOGETHER], waiting)
    if not waiting:
        return
    # Recording known results may have added to `waiting`, if the store lost one.
    grader = grader or Grader(assignment, pool)
    environment = compute_environment_digest(environment, pool.isolation)
    members_of = {members[0].student: members for members in together}
    begin = partial(recorder.begin_run, environment, pool.isolation.value, prepare=not known_results)
    workers = workers or _count_workers(assignment.rubric.assignment.limits)
    timeouts = stored_results.timeouts if not again else {}
    for done in _grade_in_parallel(grader, waiting, workers, begin, timeouts):
        shared = [(result, graded) for first, graded in done for result in members_of[first.student]]
        yield from recorder.record_group(_add_keys(assignment.rubric, environment, shared))
    recorder.finish_run()


def _count_workers(limits: Limits) -> int:
    """Return the number of workers: one and a half per core, because boxes also sleep, start and end.

    Machines with few cores get some more, if memory has room for all their boxes.
    """
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(cores + cores // 2, min(cores + _MORE, memory // (limits.memory_mb << 20)))


_Known = tuple[Sequence[Handin], ResultKey, GradingResult]
"""All students that share a submission, the key of its result, and the result's outline."""


def _list_member_results(
    members: Iterable[Handin], key: ResultKey, graded: GradingResult
) -> list[tuple[Handin, ResultKey, GradingResult]]:
    """Return a known result once for every student that shares the submission."""
    return [(handin, replace(key, student=handin.student), as_member(graded, handin)) for handin in members]


def _add_keys(
    rubric: Rubric, environment: str, shared: Iterable[tuple[Handin, GradingResult]]
) -> list[tuple[Handin, ResultKey, GradingResult]]:
    """Return results with their keys, each converted to that of its student."""
    return [
        (
            handin,
            ResultKey.from_submission(handin.student, graded.digest, rubric, environment),
            as_member(graded, handin),
        )
        for handin, graded in shared
    ]


def _group_by_submission(rubric: Rubric, handins: Iterable[Handin]) -> list[list[Handin]]:
    """Group the students by submission.

    Members of a group share one submission, unless it is too late for some of them, or the assignment has
    individual notebooks.
    """
    apart = bool(rubric.assignment.individual)
    groups: dict[tuple[object, ...], list[Handin]] = {}
    for handin in handins:
        shared = handin.group is not None and not apart and not (handin.timing and handin.timing.refused)
        groups.setdefault((handin.owner, handin.folder) if shared else (handin.student,), []).append(handin)
    return list(groups.values())


def as_member(graded: GradingResult, handin: Handin) -> GradingResult:
    """Return the result of a shared submission as that of one student."""
    score = replace(graded.score, student=handin.student, group=handin.group, by=handin.by)
    return replace(graded, score=score)


class _KnownResults:
    """The stored results of an assignment."""

    def __init__(self, assignment: Assignment, store: Store, environment: str, isolation: Isolation) -> None:
        self._assignment = assignment
        self._store = store
        # A result from a stronger isolation is as good as one from the wanted level.
        self._environments = [
            compute_environment_digest(environment, level) for level in list_levels_at_least(isolation)
        ]
        self._keys = store.load_keys(assignment.name)
        # Outlines are enough here, and keep the memory of a large class small.
        self._current = store.load_results(assignment.name, whole=False)
        self._outlines = OutlineReader()

    @property
    def timeouts(self) -> Mapping[str, Mapping[str, int]]:
        """By student, the time-outs of the current result; see `GradingResult.timeouts`."""
        return {student: graded.timeouts for student, graded in self._current.items() if graded.timeouts}

    def find_shared(self, members: Sequence[Handin]) -> tuple[ResultKey, GradingResult] | None:
        """Return the known result of a submission, from any of its students who got the same questions."""
        for handin in members:
            match = self._find_current(handin)
            if match is not None and match[1].score.asked == handin.owner:
                return match
        return None

    def _find_current(self, handin: Handin) -> tuple[ResultKey, GradingResult] | None:
        """Return the result of the strongest level of isolation that suffices, and its key.

        None if a fault of ours left something open, or if the submission cannot be read: then it is graded.
        """
        try:
            digest = read_handin(self._assignment, handin).compute_digest()
            for environment in self._environments:
                key = ResultKey.from_submission(handin.student, digest, self._assignment.rubric, environment)
                result = self._find_by_key(key)
                if result is not None and not any(note.code in FAULTS for note in result.score.notes):
                    return key, result
        except Exception:  # noqa: BLE001 - grading it meets the same, and says it
            return None
        return None

    def _find_by_key(self, key: ResultKey) -> GradingResult | None:
        """Return a stored result; most are the current ones, which were read all at once."""
        if key == self._keys.get(key.student):
            return self._current.get(key.student)
        result = self._store.find_result(key)
        return None if result is None else self._outlines.make_outline(result)


class _BatchGrader:
    """Grade the submissions of a batch from several threads.

    There may be more submissions with endless loops than workers. Each is therefore stopped at its first new
    time-out and graded at the end, with this time-out known: no student waits for more than one time-out of
    another's.
    """

    def __init__(
        self, grader: Grader, timeouts: Mapping[str, Mapping[str, int]], *, stop_at_timeouts: bool
    ) -> None:
        self._grader = grader
        self._known = dict(timeouts)
        self._stop_at_timeouts = stop_at_timeouts
        self._stopped: set[str] = set()

    def grade(self, handin: Handin) -> GradingResult | None:
        """Return a result; None if the submission was stopped and has to be graded again."""
        try:
            submitted = read_handin(self._grader.assignment, handin)
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            return self._grader.leave_open(handin.owner, error)
        stop = self._stop_at_timeouts and handin.student not in self._stopped
        timeouts = SubmissionTimeouts(self._known.get(handin.student), stop_at_new=stop)
        try:
            return self._grader.grade(submitted, timeouts=timeouts)
        except NewTimeout:
            self._stopped.add(handin.student)
            self._known[handin.student] = {**timeouts.known, **timeouts.met}
            return None


def _grade_in_parallel(
    grader: Grader,
    waiting: Sequence[Handin],
    workers: int,
    begin: Callable[[], None],
    timeouts: Mapping[str, Mapping[str, int]],
) -> Iterator[list[tuple[Handin, GradingResult]]]:
    """Grade with several threads and yield all finished results in groups.

    ``begin`` is called once while the first ones run. Files are read again here, so that only a few are in
    memory at a time. The next group is graded while one is recorded: slower recording makes larger groups.
    """
    # With a worker for each submission, none waits for the time-outs of another.
    batch = _BatchGrader(grader, timeouts, stop_at_timeouts=len(waiting) > workers)
    queue, stopped = iter(waiting), deque[Handin]()
    with ThreadPoolExecutor(workers) as threads:
        running: dict[Future[GradingResult | None], Handin] = {}
        graded: list[tuple[Handin, GradingResult]] = []
        until = 0.0
        begun = False
        try:
            while True:
                for handin in chain(queue, _drain_queue(stopped)):
                    running[threads.submit(batch.grade, handin)] = handin
                    # Enough that no worker idles, few enough that only their files are in memory.
                    if len(running) >= AHEAD * workers:
                        break
                if not begun:
                    begin()
                    begun = True
                if not running and not graded:
                    return
                # None waits without limit: with nothing gathered there is nothing to record.
                timeout = max(0.0, until - time.monotonic()) if graded else None
                done, _ = wait(running, timeout, FIRST_COMPLETED)
                if not graded:
                    until = time.monotonic() + GATHERED_SECONDS
                for future in done:
                    handin, result = running.pop(future), future.result()
                    if result is None:
                        stopped.append(handin)
                    else:
                        graded.append((handin, result))
                if graded and (len(graded) >= MOST_TOGETHER or not running or time.monotonic() >= until):
                    yield graded
                    graded = []
        finally:
            # Also runs if the caller stops the generator: queued submissions are not started any more.
            threads.shutdown(cancel_futures=True)


def _drain_queue(queue: deque[Handin]) -> Iterator[Handin]:
    while queue:
        yield queue.popleft()


class _Recorder:
    """Record results in groups. A kill loses the group that is not recorded yet; it is graded again."""

    def __init__(self, assignment: Assignment, store: Store) -> None:
        self._assignment = assignment
        self._store = store
        self._language = assignment.language
        self._refused = 0
        self._outlines = OutlineReader()
        self.run: int | None = None
        """The run that computes the current results; None for results that were known."""

    def begin_run(self, environment: str, isolation: str, *, prepare: bool) -> None:
        """Begin the run; with ``prepare``, prepare the store for the assignment first."""
        if prepare:
            self._store.prepare_assignment(self._assignment.rubric, self._assignment.release_bytes)
        self.run = self._store.start_run(self._assignment.rubric, environment, isolation)

    def finish_run(self) -> None:
        """End the run, if one began."""
        if self.run is not None:
            self._store.finish_run(self.run)

    def record_known(self, known_results: Sequence[_Known], waiting: list[Handin]) -> Iterator[Outcome]:
        """Record stored results again if something about them has changed; see `record_group`.

        Args:
            known_results: the stored results.
            waiting: receives submissions that the store no longer has in full.
        """
        listed = [
            member
            for members, key, outline in known_results
            for member in _list_member_results(members, key, outline)
        ]
        entries = self._build_entries(
            [(member, key, with_handin(graded, member)) for member, key, graded in listed]
        )
        standing = self._store.find_unchanged_students(entries, self._language)
        unchanged_results = {
            entry.key.student: entry.graded for entry in entries if entry.key.student in standing
        }
        changed: list[tuple[Handin, ResultKey, GradingResult]] = []
        for members, key, _ in known_results:
            if all(member.student in unchanged_results for member in members):
                yield from (
                    self._build_outcome(member, unchanged_results[member.student]) for member in members
                )
            elif (result := self._store.find_result(key)) is not None:
                changed += _list_member_results(members, key, result)
            else:
                waiting.append(members[0])
        if changed:
            yield from self.record_group(changed)

    def record_group(self, group: Sequence[tuple[Handin, ResultKey, GradingResult]]) -> Iterator[Outcome]:
        """Record results together; if that fails, one by one, so that one's error does not affect the others.

        Remarks about the submission time are not part of the key of a result, and are written anew.

        Raises:
            GradebookError: none of the last `MOST_REFUSED` could be recorded.
        """
        group = [(handin, key, with_handin(graded, handin)) for handin, key, graded in group]
        try:
            entries = self._build_entries(group)
            problems = self._store.record_results(entries, run=self.run, language=self._language)
        except Exception as error:
            # Find the one result that the store refuses.
            if len(group) > 1:
                for result in group:
                    yield from self.record_group([result])
                return
            self._refused += 1
            if self._refused == MOST_REFUSED:  # each may have waited a minute: the store itself fails
                text = f"the marks of {MOST_REFUSED} in a row could not be recorded"
                raise GradebookError(f"{text}: {describe_error(error)}") from error
            problems = {group[0][0].student: f"the marks could not be recorded: {describe_error(error)}"}
        else:
            self._refused = 0
        for handin, _, graded in group:
            yield self._build_outcome(
                handin, self._outlines.make_outline(graded), problems.get(handin.student, "")
            )

    def _build_entries(self, group: Iterable[tuple[Handin, ResultKey, GradingResult]]) -> list[GradedEntry]:
        rubrics = self._assignment.get_rubric
        return [
            GradedEntry(key, graded, rubrics(handin.owner), handin.submitted_at)
            for handin, key, graded in group
        ]

    def _build_outcome(self, handin: Handin, outline: GradingResult, problem: str = "") -> Outcome:
        fresh = self.run is not None
        return Outcome(handin.student, outline, handin.submitted_at, fresh, handin.timing, problem)


def with_handin(graded: GradingResult, handin: Handin) -> GradingResult:
    """Return the result with remarks about the attempt that counts, its time, and the late penalty.

    They replace the previous remarks of this kind.
    """
    timing = handin.timing
    remaining = [note for note in graded.score.notes if note.code not in timestamps.NOTES | COUNTING_NOTES]
    notes = (*(timing.list_notes() if timing else ()), *handin.list_notes(), *remaining)
    deduction = timing.deduction if timing else None
    return replace(graded, score=replace(graded.score, notes=notes, deduction=deduction))


def was_refused(graded: GradingResult) -> bool:
    """Decide whether a submission was too late and therefore not graded."""
    return bool(graded.score.items) and all(item.code == LATE for item in graded.score.items)


def refresh_result(graded: GradingResult, handin: Handin) -> GradingResult | None:
    """Return a result with the current submission time, course rules and groups applied.

    None if that requires grading: it was refused and is not any more, or vice versa, or another student's
    submission counts now.
    """
    now_refused = bool(handin.timing and handin.timing.refused)
    if was_refused(graded) is not now_refused or graded.score.asked != handin.owner:
        return None
    return with_handin(as_member(graded, handin), handin)


def read_handin(assignment: Assignment, handin: Handin) -> SubmittedFiles:
    """Read one student's submission; for files that cannot be read, or are not graded, keep the reason."""
    if handin.timing and handin.timing.refused:
        return refuse_files(handin.owner, assignment.rubric)
    notebooks: dict[str, bytes | NotebookError] = {}
    files: dict[str, bytes | NotebookError] = {}
    # Several notebooks may share a folder, which is read only once.
    read = cache(partial(read_folder, rubric=assignment.rubric))
    folders = []
    for notebook in assignment.rubric.assignment.notebooks:
        folder = handin.own if notebook.individual and handin.group else handin.folder
        if folder is None:
            notebooks[notebook.name] = report_missing_individual(notebook.name, handin.student)
            continue
        folders.append(folder)
        contents = read(folder).contents
        notebooks[notebook.name] = contents[f"{notebook.name}.ipynb"]
        files |= {path: contents[path] for path in notebook.own if not is_absent(contents[path])}
    unread = dict.fromkeys(name for folder in folders for name in read(folder).unread)
    minor_files = dict.fromkeys(name for folder in folders for name in read(folder).beside)
    copies = {name: data for folder in folders for name, data in read(folder).copies.items()}
    original_paths = {
        path: source
        for folder in folders
        for path, source in read(folder).taken.items()
        if path in files or path.removesuffix(".ipynb") in notebooks
    }
    return SubmittedFiles(
        handin.owner, notebooks, files, tuple(unread), original_paths, tuple(minor_files), copies
    )


def report_missing_individual(notebook: str, student: str) -> NotebookError:
    """Return the error that replaces the individual notebook of a group member who submitted none."""
    fault = build_localised_text("fault.individual-missing", file=f"{notebook}.ipynb", student=student)
    return NotebookError("missing", fault)


def remove_individual_work(graded: GradingResult, rubric: Rubric, student: str, digest: str) -> GradingResult:
    """Return a group's result for a member without individual work; no other member's work replaces it.

    Args:
        graded: of the group's current attempt, with the individual parts of the member who submitted it.
        rubric: of the assignment.
        student: the member.
        digest: of the submission that counts for the member.
    """
    alone = rubric.assignment.individual
    labels = alone | {
        label
        for question in rubric.questions
        if question.notebook in alone
        for label in (question.id, *question.list_cells())
    }
    missing_items = {
        (item.question, item.item): item
        for name in alone
        for items in refuse_questions(
            rubric, report_missing_individual(name, student), notebook=name
        ).values()
        for item in items
    }
    items = tuple(
        replace(missing_items.get((item.question, item.item), item), possible=item.possible)
        for item in graded.score.items
    )
    notes = tuple(note for note in graded.score.notes if note.place not in labels)
    return replace(
        graded,
        score=replace(graded.score, items=items, notes=notes),
        digest=digest,
        notebooks=tuple(question for question in graded.notebooks if question.name not in alone),
        files=tuple(question for question in graded.files if question.notebook not in alone),
        stated={},
    )


def refuse_files(student: str, rubric: Rubric) -> SubmittedFiles:
    """Return the replacement for a submission that came too late and is refused."""
    late = _report_too_late()
    return SubmittedFiles(student, {notebook.name: late for notebook in rubric.assignment.notebooks})


def _report_too_late() -> NotebookError:
    return NotebookError(LATE, build_localised_text("fault.too-late"))


def refuse_result(graded: GradingResult, rubric: Rubric) -> GradingResult:
    """Return the result of a submission that came too late for the student and is not graded."""
    results = refuse_questions(rubric, _report_too_late())
    items = tuple(item for question in rubric.questions for item in results[question.id])
    return replace(graded, score=replace(graded.score, items=items), notebooks=())


def check_size(content: bytes, path: str, most: int) -> bytes | NotebookError:
    """Return a submitted file, or an error if it is too large."""
    if len(content) <= most:
        return content
    sizes = {"size": format_size(len(content)), "most": format_size(most)}
    return NotebookError("too-large", build_localised_text("fault.file-larger", file=path, **sizes))
