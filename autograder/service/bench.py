"""The marker's bench: evaluates an input in a student's finished notebook, at once.

Boxes in which the cells have run are kept ready. Each answers one input and is then closed, and the next one
is prepared in the background: so every input meets the state after all cells, whatever the previous input
did. A box could also be forked for each input. But its first process belongs to the notebook, which would
notice that it is used again, and shares descriptors and memory with its forks. Separate boxes share nothing,
and need no permission in the sandbox that grading does not have.
"""

from __future__ import annotations

import enum
import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

from django.db import connections
from msgspec import Struct, field

from autograder.core.errors import (
    BoxEnded,
    NotebookError,
    PreloadMissing,
    SandboxFault,
    SandboxUnavailable,
    describe_error,
)
from autograder.core.records import Cell, CellRun, Ending, Limits, Markdown
from autograder.core.wording import Phrase
from autograder.grading.expected_values import derive_box_seed
from autograder.grading.submitted_files import make_missing_error
from autograder.notebook.placeholders import mask_skipped_lines
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.sandbox.base import Box, Environment
from autograder.sandbox.pool import Pool
from autograder.sandbox.proof import selftest
from autograder.sandbox.session import Session
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.refusals import RequestRefused

if TYPE_CHECKING:
    from autograder.service.models import Attempt

LOG = logging.getLogger("autograder.service.bench")
MOST_SOURCE = 2_000
"""Maximum number of characters of one input."""
TRY_SECONDS = 4.0
"""Processor time for one input; less if the rubric allows less for a call."""
WAIT_SECONDS = 2.0
"""Time to wait for a box that is being prepared; after that the page says so, and the user sends the input
again."""
MOST_AT_A_TIME = 3
"""Maximum number of concurrent inputs: each blocks one of the threads that answer requests."""
MOST_SHOWN = 4_000
"""Maximum number of characters of a value and of the printed output."""
MOST_ERROR = 1_000
_LAST_TRIES = 10
_MINUTE = 60.0
_AGAIN_SECONDS = 10.0
"""A failed preparation is repeated after this time, if the notebook is requested again."""
_UNAVAILABLE_SECONDS = 60.0
_LOOK_SECONDS = 5.0
_BREATH_SECONDS = 0.1
"""Pause between an answer and the preparation of the next box, so that the answer gets the processors."""
_IDLE_PROCESSOR_SECONDS = 1.0
"""Processor time that a box may use while it answers no input."""
_Key = tuple[uuid.UUID, str]


class BenchStatus(enum.StrEnum):
    """State of a notebook on the bench, or outcome of an input."""

    READY = "ready"
    """The notebook is ready, or the input was answered."""
    PREPARING = "preparing"
    FAILED = "failed"
    """The notebook has no state in which inputs could run."""
    UNAVAILABLE = "unavailable"
    """Student code cannot be confined on this machine."""
    BUSY = "busy"
    """Too many concurrent inputs, or an internal error: the same input may succeed a moment later."""
    OFTEN = "often"
    """This person sent too many inputs within a minute."""


class NotebookStatus(Struct, frozen=True):
    """State of a notebook on the bench, with the reason if it failed."""

    standing: BenchStatus
    ending: Ending | None = None
    """Why there is no state: the cells, or processes they left running, ended every box."""
    reason: Phrase = ""
    """Why the notebook cannot be read."""


class TryResult(Struct, frozen=True):
    """Outcome of one input. All texts come from the box, are cut, and contain no control characters."""

    source: str
    standing: BenchStatus = BenchStatus.READY
    value: str = ""
    """The value as a notebook shows it; empty for None and if there is none."""
    output: str = ""
    """The printed output."""
    error: Phrase = ""
    """The exception's type and text; for a notebook that failed, why it cannot be read."""
    ending: Ending | None = None
    """How the input, or the notebook's cells before it, ended the box."""
    seconds: float = 0.0
    """Time from sending the input to the box until its answer."""
    cut: bool = False
    """There was more output than the rubric's limits allow."""


class _Program(Struct, frozen=True, eq=False):
    """The code, limits and files of every box of one notebook."""

    environment: Environment
    cells: tuple[Cell | Markdown, ...]
    limits: Limits
    seed: int
    files: Mapping[str, bytes]


class _ReadyBox(Struct, eq=False):
    """A box in which the cells have run and no input has."""

    box: Box
    computed: float
    """Processor seconds used when it became ready."""
    memory: int
    """Bytes in use at the latest measurement."""
    seconds: float
    """Processor time for the input."""


class _OpenNotebook(Struct, eq=False):
    """One notebook of one attempt on the bench. All fields but ``program`` change under the bench's lock."""

    attempt: Attempt
    notebook: str
    used: float
    program: _Program | None = None
    ready: deque[_ReadyBox] = field(default_factory=deque)
    preparing: int = 0
    failed: NotebookStatus | None = None
    failed_at: float = 0.0
    closed: bool = False
    tried: deque[tuple[str, TryResult]] = field(default_factory=lambda: deque(maxlen=_LAST_TRIES * 4))

    @property
    def opened(self) -> NotebookStatus:
        if self.ready:
            return NotebookStatus(BenchStatus.READY)
        return self.failed or NotebookStatus(BenchStatus.PREPARING)


class Bench:
    """Finished notebooks that answer inputs. Thread-safe; a context manager.

    Student code always runs in full isolation here, whatever level the workers may use.

    Args:
        most: maximum number of open notebooks.
        memory_mb: memory for all boxes together; the least recently used notebooks are closed beyond it.
        boxes: number of ready boxes per notebook.
        idle_seconds: a notebook is closed after this time without an input.
        per_minute: maximum number of inputs of one person.
    """

    def __init__(
        self,
        *,
        most: int = 6,
        memory_mb: int = 3072,
        boxes: int = 3,
        idle_seconds: float = 600.0,
        per_minute: int = 30,
    ) -> None:
        self._most, self._memory, self._boxes = most, memory_mb << 20, boxes
        self._idle_seconds, self._per_minute = idle_seconds, per_minute
        self._lock = threading.Condition()
        self._notebooks: OrderedDict[_Key, _OpenNotebook] = OrderedDict()
        self._lately: dict[str, deque[float]] = {}
        self._at_a_time = threading.BoundedSemaphore(MOST_AT_A_TIME)
        self._unavailable_until = 0.0
        self._over = threading.Event()
        self._looking: threading.Thread | None = None
        self._preparing = ThreadPoolExecutor(2, thread_name_prefix="bench")
        self._clearing = ThreadPoolExecutor(1, thread_name_prefix="bench-clearing")
        self._loaded = AssignmentCache()
        self._pool = Pool()
        self._proven = False
        self._private = Path(tempfile.mkdtemp(prefix="autograder-bench-"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything that runs; must be called only once."""
        self._over.set()
        with self._lock:
            gone, self._notebooks = list(self._notebooks.values()), OrderedDict()
            self._lock.notify_all()
        self._close_notebooks(gone)
        self._pool.close()  # also ends the cells that still run there
        for _ in range(MOST_AT_A_TIME):  # waits for inputs in progress; no new ones start
            self._at_a_time.acquire()
        self._clearing.shutdown()
        self._preparing.shutdown(cancel_futures=True)
        if self._looking is not None:
            self._looking.join()
        self._loaded.close()
        shutil.rmtree(self._private, ignore_errors=True)

    def open_notebook(self, attempt: Attempt, notebook: str) -> NotebookStatus:
        """Prepare a notebook in the background if it is not open yet; return its state.

        Args:
            attempt: the attempt with the cells.
            notebook: one of its notebooks; a name of the rubric.
        """
        with self._lock:
            return self._find_notebook(attempt, notebook)[1]

    def _find_notebook(self, attempt: Attempt, notebook: str) -> tuple[_OpenNotebook | None, NotebookStatus]:
        """Return the notebook, opened if necessary, and its state. The caller holds the lock."""
        now = time.monotonic()
        if self._over.is_set() or now < self._unavailable_until:
            return None, NotebookStatus(BenchStatus.UNAVAILABLE)
        key = (attempt.pk, notebook)
        entry = self._notebooks.get(key)
        if entry is None:
            entry = self._notebooks[key] = _OpenNotebook(attempt, notebook, now)
        elif entry.failed and now - entry.failed_at > _AGAIN_SECONDS:
            entry.failed = None
        entry.used = now
        self._notebooks.move_to_end(key)
        self._prepare_more(entry)
        if self._looking is None:
            self._looking = threading.Thread(target=self._watch_boxes, name="bench-looking", daemon=True)
            self._looking.start()
        return entry, entry.opened

    def try_input(self, attempt: Attempt, source: str, *, who: str, notebook: str) -> TryResult:
        """Evaluate an input in a fresh copy of the finished notebook.

        Args:
            attempt: the attempt with the notebook.
            source: an expression, or any code that a cell could hold.
            who: the person; inputs are counted per person.
            notebook: name of the attempt's notebook.

        Raises:
            RequestRefused: the source is longer than `MOST_SOURCE` characters.
        """
        if len(source) > MOST_SOURCE:
            raise RequestRefused("bench-long", number=len(source), most=MOST_SOURCE)
        with self._lock:
            if self._is_too_often(who):
                return TryResult(source, BenchStatus.OFTEN)
            entry, opened = self._find_notebook(attempt, notebook)
        if entry is None or opened.standing is BenchStatus.FAILED:
            return TryResult(source, opened.standing, error=opened.reason, ending=opened.ending)
        if not self._at_a_time.acquire(timeout=WAIT_SECONDS):
            return TryResult(source, BenchStatus.BUSY)
        try:
            tried = self._try_source(entry, source)
        finally:
            self._at_a_time.release()
        if tried.standing is BenchStatus.READY:
            with self._lock:
                entry.tried.appendleft((who, tried))
        return tried

    def list_last_tries(self, attempt: Attempt, *, who: str, notebook: str) -> tuple[TryResult, ...]:
        """Return a person's latest inputs since the notebook was opened, newest first."""
        with self._lock:
            entry = self._notebooks.get((attempt.pk, notebook))
            own_tries = [tried for person, tried in entry.tried if person == who] if entry else []
        return tuple(own_tries[:_LAST_TRIES])

    def _is_too_often(self, who: str) -> bool:
        """Count one more input of a person unless there were too many. The caller holds the lock."""
        now = time.monotonic()
        # Forget people without a recent input, so that the table does not grow.
        for person in [name for name, times in self._lately.items() if times[-1] < now - _MINUTE]:
            del self._lately[person]
        times = self._lately.setdefault(who, deque())
        while times and times[0] < now - _MINUTE:
            times.popleft()
        if len(times) >= self._per_minute:
            return True
        times.append(now)
        return False

    def _try_source(self, notebook: _OpenNotebook, source: str) -> TryResult:
        """Run an input in a ready box, which is closed afterwards."""
        ready = self._take_box(notebook)
        if ready is None:
            with self._lock:
                opened = notebook.failed or NotebookStatus(BenchStatus.PREPARING)
            return TryResult(source, opened.standing, error=opened.reason, ending=opened.ending)
        started = time.perf_counter()
        try:
            run = ready.box.run_cell(source, seconds=ready.seconds)
            return _format_run(source, run, time.perf_counter() - started)
        except BoxEnded as ended:
            return TryResult(source, ending=ended.ending, seconds=time.perf_counter() - started)
        except SandboxFault as fault:
            LOG.warning("an input was not answered: %s", describe_error(fault))
            return TryResult(source, BenchStatus.BUSY)
        finally:
            self._clearing.submit(self._clear_box, notebook, ready)

    def _clear_box(self, notebook: _OpenNotebook, ready: _ReadyBox) -> None:
        """Close a used box after the answer is on its way, and prepare the next one."""
        self._over.wait(_BREATH_SECONDS)
        ready.box.close()
        with self._lock:
            self._prepare_more(notebook)

    def _take_box(self, notebook: _OpenNotebook) -> _ReadyBox | None:
        """Take a ready box out of the notebook's queue; return None if there is none in time."""
        until = time.monotonic() + WAIT_SECONDS
        with self._lock:
            while not (notebook.ready or notebook.failed or notebook.closed):
                left = until - time.monotonic()
                if left <= 0 or not self._lock.wait(left):
                    break
            return notebook.ready.popleft() if notebook.ready else None

    # ------------------------------------------------------------ in the background

    def _prepare_more(self, notebook: _OpenNotebook) -> None:
        """Prepare one more box if there is room for it. The caller holds the lock."""
        if notebook.closed or notebook.failed or notebook.preparing or len(notebook.ready) >= self._boxes:
            return
        taken = sum(box.memory for box in self._iterate_boxes())
        # The first box is always allowed: without it the notebook could not be used at all.
        if not notebook.ready or taken + notebook.ready[0].memory <= self._memory:
            notebook.preparing += 1
            self._preparing.submit(self._prepare_box, notebook)

    def _iterate_boxes(self) -> Iterator[_ReadyBox]:
        for notebook in self._notebooks.values():
            yield from notebook.ready

    def _prepare_box(self, notebook: _OpenNotebook) -> None:
        """Prepare one box, and schedule the next."""
        ready, failed, unavailable = None, None, False
        try:
            if not notebook.closed:
                ready = self._make_ready_box(notebook)
        except BoxEnded as ended:
            failed = NotebookStatus(BenchStatus.FAILED, ended.ending)
        except NotebookError as error:
            failed = NotebookStatus(BenchStatus.FAILED, reason=error.text)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page has to say that there is nothing
            LOG.warning("attempt %s is not on the bench: %s", notebook.attempt.pk, describe_error(error))
            failed = NotebookStatus(BenchStatus.FAILED)
            # A missing preload is one assignment's fault and must not close the bench for all others.
            unavailable = isinstance(error, SandboxUnavailable) and not isinstance(error, PreloadMissing)
        finally:
            # The executor's thread would otherwise keep its database connection.
            connections.close_all()
        with self._lock:
            notebook.preparing -= 1
            if unavailable:
                self._unavailable_until = time.monotonic() + _UNAVAILABLE_SECONDS
            if failed is not None:
                notebook.failed, notebook.failed_at = failed, time.monotonic()
            if ready is not None and not notebook.closed:
                notebook.ready.append(ready)
                ready = None
                gone = self._remove_excess()
                self._prepare_more(notebook)
            else:
                gone = []
            self._lock.notify_all()
        if ready is not None:
            ready.box.close()
        self._close_notebooks(gone)

    def _make_ready_box(self, notebook: _OpenNotebook) -> _ReadyBox:
        """Return a box in which the cells have run.

        Raises:
            BoxEnded: the cells ended every box, or used up the time of a submission.
            NotebookError: the submitted file is not a notebook.
            SandboxError: code cannot be confined here, or an internal error occurred.
        """
        if notebook.program is None:
            notebook.program = self._load_program(notebook.attempt, notebook.notebook)
        program = notebook.program
        sandbox = self._pool.create_persistent(program.environment)
        # Checked once: the sandbox must confine code on this machine before student code runs.
        if not self._proven:
            selftest.ensure(self._pool.start_apart, self._private, isolation=self._pool.isolation.value)
            self._proven = True
        with Session(
            sandbox, program.cells, program.limits, seed=program.seed, files=program.files
        ) as session:
            session.run()
            box = session.take_box()
        try:
            pairs = zip(program.cells, session.runs, strict=True)
            # Leave out cells that ended a box, so that they do not end the next one as well.
            cells = tuple(cell for cell, run in pairs if run is None or run.ending is None)
            notebook.program = _Program(
                program.environment, cells, program.limits, program.seed, program.files
            )
            seconds = min(TRY_SECONDS, program.limits.call_seconds)
            return _ReadyBox(box, box.measure_processor_time(), _measure_memory(box), seconds)
        except BaseException:
            box.close()
            raise

    def _load_program(self, attempt: Attempt, notebook: str) -> _Program:
        """Return the program of a notebook, the same as for grading."""
        from autograder.service import attempts  # its models need the settings, which name the bench

        owner, files = attempts.resolve_graded_files(
            attempt, self._loaded.load_assignment(attempt.version).rubric
        )
        assignment = self._loaded.load_assignment(attempt.version).derive_for_student(owner)
        wanted = next(
            candidate for candidate in assignment.rubric.assignment.notebooks if candidate.name == notebook
        )
        name, release = f"{notebook}.ipynb", assignment.releases[notebook]
        if name not in files and release.has_answers:
            raise make_missing_error(name)
        data = files.get(name, assignment.release_bytes[notebook])
        submission = assignment.read_submission(notebook, data, attempt.student)
        own_files = {candidate: files[candidate] for candidate in wanted.own if candidate in files}
        return _Program(
            assignment.build_environment(wanted),
            tuple(mask_skipped_lines(submission.cells, release)),
            assignment.rubric.assignment.limits,
            derive_box_seed(assignment.course.load_secret(), assignment.name),
            own_files,
        )

    def _remove_excess(self) -> list[_OpenNotebook]:
        """Remove the least recently used notebooks beyond the limits. The caller holds the lock."""
        gone = []
        while len(self._notebooks) > 1 and (
            len(self._notebooks) > self._most
            or sum(box.memory for box in self._iterate_boxes()) > self._memory
        ):
            gone.append(self._notebooks.popitem(last=False)[1])
        return gone

    def _close_notebooks(self, gone: list[_OpenNotebook]) -> None:
        """Close the boxes of removed notebooks, and the sandboxes that no other notebook needs."""
        boxes: list[_ReadyBox] = []
        with self._lock:
            for notebook in gone:
                notebook.closed = True
                boxes += notebook.ready
                notebook.ready.clear()
            needed = {
                notebook.program.environment for notebook in self._notebooks.values() if notebook.program
            }
        for box in boxes:
            box.box.close()
        for environment in {notebook.program.environment for notebook in gone if notebook.program} - needed:
            self._pool.end_sandbox(environment)

    def _watch_boxes(self) -> None:
        """Close unused notebooks, and boxes that compute or grow without being asked."""
        while not self._over.wait(_LOOK_SECONDS):
            try:
                with self._lock:
                    idle = time.monotonic() - self._idle_seconds
                    unused = [key for key, entry in self._notebooks.items() if entry.used < idle]
                    gone = [self._notebooks.pop(key) for key in unused] + self._remove_excess()
                    waiting = [(entry, box) for entry in self._notebooks.values() for box in entry.ready]
                self._close_notebooks(gone)
                for notebook, ready in waiting:
                    self._check_box(notebook, ready)
            except Exception as error:  # noqa: BLE001 - the next round tries again
                LOG.warning("the bench could not be looked after: %s", describe_error(error))

    def _check_box(self, notebook: _OpenNotebook, ready: _ReadyBox) -> None:
        """Check one waiting box; it is out of the queue meanwhile, so no input can take it."""
        with self._lock:
            if ready not in notebook.ready:
                return
            notebook.ready.remove(ready)
        computes = ready.box.measure_processor_time() - ready.computed > _IDLE_PROCESSOR_SECONDS
        ready.memory = _measure_memory(ready.box)
        with self._lock:
            kept = not (computes or notebook.closed)
            if kept:
                notebook.ready.append(ready)
            elif computes:
                notebook.failed = NotebookStatus(BenchStatus.FAILED, Ending.PROCESSOR_TIME)
                notebook.failed_at = time.monotonic()
            self._lock.notify_all()
        if not kept:
            ready.box.close()


def _measure_memory(box: Box) -> int:
    """Return the memory of all processes of a box in bytes, as reported by the kernel; 0 for other boxes."""
    from autograder.sandbox.outside.box import NamespaceBox
    from autograder.sandbox.outside.watch import Watchdog

    return Watchdog(box.pid).measure_tree().memory_bytes if isinstance(box, NamespaceBox) else 0


def _format_run(source: str, run: CellRun, seconds: float) -> TryResult:
    """Return the outcome of a cell as texts that are safe to show."""
    texts: dict[str, list[str]] = {"result": [], "stream": [], "display": [], "error": []}
    for output in run.outputs:
        texts.setdefault(output.kind, []).append(output.data.get("text/plain", ""))
    printed = "".join((*texts["stream"], *texts["display"]))
    return TryResult(
        source,
        value=to_printable_text(texts["result"][-1], MOST_SHOWN) if texts["result"] else "",
        output=to_printable_text(printed, MOST_SHOWN),
        error=to_printable_text(_format_error(run.error, texts["error"]), MOST_ERROR),
        seconds=seconds,
        cut=run.truncated,
    )


def _format_error(name: str, tracebacks: list[str]) -> str:
    """Return the exception's type and text, which are at the end of a traceback."""
    if not name:
        return ""
    text = tracebacks[-1] if tracebacks else ""
    last = text.rfind(f"\n{name}")
    return text[last + 1 :] if last >= 0 else name
