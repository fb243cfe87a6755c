"""The marker's bench: what a student's finished notebook gives for an input, at once.

Boxes in which the cells have run are kept ready. Each answers one input and is closed, and the next one is
made ready behind it: so every input meets the state after all cells, whatever the one before it did. A box
could also be forked for each input. But its first process belongs to the notebook, which would see that it is
asked again, and shares descriptors and memory with whatever it forks. Boxes of their own share nothing, and
need nothing in the sandbox that grading does not have.
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

from autograder.errors import (
    BoxEnded,
    NotebookError,
    PreloadMissing,
    SandboxFault,
    SandboxUnavailable,
    ServiceError,
    describe_error,
)
from autograder.feedback.sanitise import printable_text
from autograder.grading.expected import box_seed
from autograder.notebook.placeholders import without_skipped_lines
from autograder.records import Cell, CellRun, Ending, Limits, Markdown
from autograder.sandbox.base import Box, Environment
from autograder.sandbox.pool import Pool
from autograder.sandbox.proof import selftest
from autograder.sandbox.session import Session
from autograder.service.loaded import Loaded

if TYPE_CHECKING:
    from autograder.service.models import Attempt

LOG = logging.getLogger("autograder.service.bench")
MOST_SOURCE = 2_000
"""Characters of one input."""
TRY_SECONDS = 4.0
"""Of processor time, for one input; less where the rubric allows less for a call."""
WAIT_SECONDS = 2.0
"""For a box that is being made ready; then the page says so, and whoever asked sends it again."""
MOST_AT_A_TIME = 3
"""Inputs: each takes a thread of those that answer requests, and the others must go on."""
MOST_SHOWN = 4_000
"""Characters of a value, and of what is printed."""
MOST_ERROR = 1_000
_LAST_TRIES = 10
_MINUTE = 60.0
_AGAIN_SECONDS = 10.0
"""After so long what failed is tried again, when somebody asks."""
_UNAVAILABLE_SECONDS = 60.0
_LOOK_SECONDS = 5.0
_BREATH_SECONDS = 0.1
"""Between an answer and what is done behind it: whoever waits has the processors."""
_IDLE_PROCESSOR_SECONDS = 1.0
"""What a box may compute while nobody asks it anything."""
_Key = tuple[uuid.UUID, str]


class BenchStanding(enum.StrEnum):
    """What came of asking."""

    READY = "ready"
    """It answers, or has answered."""
    PREPARING = "preparing"
    FAILED = "failed"
    """The notebook has no state that could be asked."""
    UNAVAILABLE = "unavailable"
    """Student code cannot be confined on this machine."""
    BUSY = "busy"
    """Too many inputs at a time, or a fault of ours: the same input may go well a moment later."""
    OFTEN = "often"
    """This person has asked too often within a minute."""


class Opened(Struct, frozen=True):
    """How a notebook stands on the bench."""

    standing: BenchStanding
    ending: Ending | None = None
    """Why there is no state: the cells, or what they left running, ended every box."""
    reason: str = ""
    """Why the notebook cannot be read, in English."""


class Tried(Struct, frozen=True):
    """What came of one input. All texts are the box's word, without control characters, and cut."""

    source: str
    standing: BenchStanding = BenchStanding.READY
    value: str = ""
    """As a notebook shows it; empty for None, and where nothing came of it."""
    output: str = ""
    """What was printed."""
    error: str = ""
    """The exception's type and text; of a notebook that failed: why it cannot be read."""
    ending: Ending | None = None
    """Where the input, or before it the notebook's cells, ended the box."""
    seconds: float = 0.0
    """From asking the box to its answer."""
    cut: bool = False
    """There was more output than the rubric's limits keep."""


class _Program(Struct, frozen=True, eq=False):
    """What runs in every box of one notebook."""

    environment: Environment
    cells: tuple[Cell | Markdown, ...]
    limits: Limits
    seed: int
    files: Mapping[str, bytes]


class _ReadyBox(Struct, eq=False):
    """A box in which the cells have run, and nothing else."""

    box: Box
    computed: float
    """Processor seconds when it became ready."""
    memory: int
    """Bytes that it took when it was looked at last."""
    seconds: float
    """Of processor time, for the input."""


class _OpenNotebook(Struct, eq=False):
    """One notebook of one attempt on the bench. All fields but ``program`` change under the bench's lock."""

    attempt: Attempt
    notebook: str
    used: float
    program: _Program | None = None
    ready: deque[_ReadyBox] = field(default_factory=deque)
    preparing: int = 0
    failed: Opened | None = None
    failed_at: float = 0.0
    closed: bool = False
    tried: deque[tuple[str, Tried]] = field(default_factory=lambda: deque(maxlen=_LAST_TRIES * 4))

    @property
    def opened(self) -> Opened:
        if self.ready:
            return Opened(BenchStanding.READY)
        return self.failed or Opened(BenchStanding.PREPARING)


class Bench:
    """Finished notebooks that answer inputs. Thread safe; a context manager.

    It runs student code in full isolation alone, whatever the workers are allowed.

    Args:
        most: notebooks that are kept ready.
        memory_mb: that all their boxes may take together; those that were used longest ago are let go.
        boxes: that are kept ready of each.
        idle_seconds: after so long without an input a notebook is let go.
        per_minute: inputs of one person.
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
        self._loaded = Loaded()
        self._pool = Pool()
        self._proven = False
        self._private = Path(tempfile.mkdtemp(prefix="autograder-bench-"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything that runs; to be called once."""
        self._over.set()
        with self._lock:
            gone, self._notebooks = list(self._notebooks.values()), OrderedDict()
            self._lock.notify_all()
        self._let_go(gone)
        self._pool.close()  # what still runs cells there ends with it
        for _ in range(MOST_AT_A_TIME):  # inputs that are being answered; there are no more
            self._at_a_time.acquire()
        self._clearing.shutdown()
        self._preparing.shutdown(cancel_futures=True)
        if self._looking is not None:
            self._looking.join()
        self._loaded.close()
        shutil.rmtree(self._private, ignore_errors=True)

    def open(self, attempt: Attempt, notebook: str) -> Opened:
        """Have a notebook made ready in the background, if it is not; and how it stands.

        Args:
            attempt: whose cells are run.
            notebook: which of its notebooks; a name of the rubric.
        """
        with self._lock:
            return self._at(attempt, notebook)[1]

    def _at(self, attempt: Attempt, notebook: str) -> tuple[_OpenNotebook | None, Opened]:
        """The notebook, opened if need be, and how it stands; the lock is held."""
        now = time.monotonic()
        if self._over.is_set() or now < self._unavailable_until:
            return None, Opened(BenchStanding.UNAVAILABLE)
        key = (attempt.pk, notebook)
        found = self._notebooks.get(key)
        if found is None:
            found = self._notebooks[key] = _OpenNotebook(attempt, notebook, now)
        elif found.failed and now - found.failed_at > _AGAIN_SECONDS:
            found.failed = None
        found.used = now
        self._notebooks.move_to_end(key)
        self._prepare_more(found)
        if self._looking is None:
            self._looking = threading.Thread(target=self._look_after, name="bench-looking", daemon=True)
            self._looking.start()
        return found, found.opened

    def try_(self, attempt: Attempt, source: str, *, who: str, notebook: str) -> Tried:
        """What an input gives in a fresh copy of the finished notebook.

        Args:
            attempt: whose.
            source: an expression, or any code of a cell.
            who: asks; inputs are counted for each person.
            notebook: which of the attempt's notebooks.

        Raises:
            ServiceError: the source is longer than `MOST_SOURCE` characters.
        """
        if len(source) > MOST_SOURCE:
            raise ServiceError(f"the input has {len(source)} characters; at most {MOST_SOURCE} are taken")
        with self._lock:
            if self._too_often(who):
                return Tried(source, BenchStanding.OFTEN)
            found, opened = self._at(attempt, notebook)
        if found is None or opened.standing is BenchStanding.FAILED:
            return Tried(source, opened.standing, error=opened.reason, ending=opened.ending)
        if not self._at_a_time.acquire(timeout=WAIT_SECONDS):
            return Tried(source, BenchStanding.BUSY)
        try:
            tried = self._tried(found, source)
        finally:
            self._at_a_time.release()
        if tried.standing is BenchStanding.READY:
            with self._lock:
                found.tried.appendleft((who, tried))
        return tried

    def last_tries(self, attempt: Attempt, *, who: str, notebook: str) -> tuple[Tried, ...]:
        """What somebody has tried of a notebook since it was opened, the last one first."""
        with self._lock:
            found = self._notebooks.get((attempt.pk, notebook))
            own = [tried for person, tried in found.tried if person == who] if found else []
        return tuple(own[:_LAST_TRIES])

    def _too_often(self, who: str) -> bool:
        """Count one more input of somebody, unless there were too many; the lock is held."""
        now = time.monotonic()
        for person in [one for one, times in self._lately.items() if times[-1] < now - _MINUTE]:
            del self._lately[person]
        times = self._lately.setdefault(who, deque())
        while times and times[0] < now - _MINUTE:
            times.popleft()
        if len(times) >= self._per_minute:
            return True
        times.append(now)
        return False

    def _tried(self, found: _OpenNotebook, source: str) -> Tried:
        """Ask a box that is ready, which is closed then."""
        ready = self._taken(found)
        if ready is None:
            with self._lock:
                opened = found.failed or Opened(BenchStanding.PREPARING)
            return Tried(source, opened.standing, error=opened.reason, ending=opened.ending)
        started = time.perf_counter()
        try:
            run = ready.box.run_cell(source, seconds=ready.seconds)
            return _shown(source, run, time.perf_counter() - started)
        except BoxEnded as ended:
            return Tried(source, ending=ended.ending, seconds=time.perf_counter() - started)
        except SandboxFault as fault:
            LOG.warning("an input was not answered: %s", describe_error(fault))
            return Tried(source, BenchStanding.BUSY)
        finally:
            self._clearing.submit(self._clear, found, ready)

    def _clear(self, found: _OpenNotebook, ready: _ReadyBox) -> None:
        """Close a box that has answered, and have the next one made ready, when the answer is on its way."""
        self._over.wait(_BREATH_SECONDS)
        ready.box.close()
        with self._lock:
            self._prepare_more(found)

    def _taken(self, found: _OpenNotebook) -> _ReadyBox | None:
        """A box that is nobody else's from here on; None where there is none in time."""
        until = time.monotonic() + WAIT_SECONDS
        with self._lock:
            while not (found.ready or found.failed or found.closed):
                left = until - time.monotonic()
                if left <= 0 or not self._lock.wait(left):
                    break
            return found.ready.popleft() if found.ready else None

    # ------------------------------------------------------------ in the background

    def _prepare_more(self, found: _OpenNotebook) -> None:
        """Have one more box made ready, where there is room for it; the lock is held."""
        if found.closed or found.failed or found.preparing or len(found.ready) >= self._boxes:
            return
        taken = sum(one.memory for one in self._every_box())
        if not found.ready or taken + found.ready[0].memory <= self._memory:
            found.preparing += 1
            self._preparing.submit(self._prepare, found)

    def _every_box(self) -> Iterator[_ReadyBox]:
        for notebook in self._notebooks.values():
            yield from notebook.ready

    def _prepare(self, found: _OpenNotebook) -> None:
        """Make one box ready, and begin with the next."""
        ready, failed, unavailable = None, None, False
        try:
            if not found.closed:
                ready = self._ready_box(found)
        except BoxEnded as ended:
            failed = Opened(BenchStanding.FAILED, ended.ending)
        except NotebookError as error:
            failed = Opened(BenchStanding.FAILED, reason=printable_text(str(error), MOST_ERROR))
        except Exception as error:  # noqa: BLE001 - whatever it is, the page has to say that there is nothing
            LOG.warning("attempt %s is not on the bench: %s", found.attempt.pk, describe_error(error))
            failed = Opened(BenchStanding.FAILED)
            unavailable = isinstance(error, SandboxUnavailable) and not isinstance(error, PreloadMissing)
        finally:
            connections.close_all()
        with self._lock:
            found.preparing -= 1
            if unavailable:
                self._unavailable_until = time.monotonic() + _UNAVAILABLE_SECONDS
            if failed is not None:
                found.failed, found.failed_at = failed, time.monotonic()
            if ready is not None and not found.closed:
                found.ready.append(ready)
                ready = None
                gone = self._too_many()
                self._prepare_more(found)
            else:
                gone = []
            self._lock.notify_all()
        if ready is not None:
            ready.box.close()
        self._let_go(gone)

    def _ready_box(self, found: _OpenNotebook) -> _ReadyBox:
        """A box in which the cells ran.

        Raises:
            BoxEnded: they ended every box, or used up the time of a submission.
            NotebookError: what was handed in is no notebook.
            SandboxError: it cannot be confined here, or our side failed.
        """
        if found.program is None:
            found.program = self._program(found.attempt, found.notebook)
        program = found.program
        sandbox = self._pool.persistent(program.environment)
        if not self._proven:
            selftest.ensure(self._pool.start_apart, self._private, isolation=self._pool.isolation.value)
            self._proven = True
        with Session(
            sandbox, program.cells, program.limits, seed=program.seed, files=program.files
        ) as session:
            session.run()
            box = session.hand_over()
        try:
            pairs = zip(program.cells, session.runs, strict=True)
            # What ends a box need not end the next one as well.
            cells = tuple(cell for cell, run in pairs if run is None or run.ending is None)
            found.program = _Program(program.environment, cells, program.limits, program.seed, program.files)
            seconds = min(TRY_SECONDS, program.limits.call_seconds)
            return _ReadyBox(box, box.computed(), _memory(box), seconds)
        except BaseException:
            box.close()
            raise

    def _program(self, attempt: Attempt, notebook: str) -> _Program:
        """What runs, as grading runs it."""
        from autograder.service import attempts  # its tables ask for Django's settings, which name the bench

        asked, files = attempts.as_graded(attempt, self._loaded.of(attempt.version).rubric)
        assignment = self._loaded.of(attempt.version).for_student(asked)
        wanted = next(one for one in assignment.rubric.assignment.notebooks if one.name == notebook)
        name, release = f"{notebook}.ipynb", assignment.releases[notebook]
        if name not in files and release.has_answers:
            raise NotebookError("missing", f"{name} was not handed in")
        data = files.get(name, assignment.release_bytes[notebook])
        submission = assignment.read_submission(notebook, data, attempt.student)
        given = {one: files[one] for one in wanted.own if one in files}
        return _Program(
            assignment.environment(wanted),
            tuple(without_skipped_lines(submission.cells, release)),
            assignment.rubric.assignment.limits,
            box_seed(assignment.course.secret(), assignment.name),
            given,
        )

    def _too_many(self) -> list[_OpenNotebook]:
        """Take off those that were used longest ago, where there are too many; the lock is held."""
        gone = []
        while len(self._notebooks) > 1 and (
            len(self._notebooks) > self._most or sum(one.memory for one in self._every_box()) > self._memory
        ):
            gone.append(self._notebooks.popitem(last=False)[1])
        return gone

    def _let_go(self, gone: list[_OpenNotebook]) -> None:
        """Close the boxes of notebooks that were taken off, and sandboxes that no other one needs."""
        boxes: list[_ReadyBox] = []
        with self._lock:
            for one in gone:
                one.closed = True
                boxes += one.ready
                one.ready.clear()
            needed = {one.program.environment for one in self._notebooks.values() if one.program}
        for box in boxes:
            box.box.close()
        for environment in {one.program.environment for one in gone if one.program} - needed:
            self._pool.end(environment)

    def _look_after(self) -> None:
        """Let go of what nobody uses, and of boxes that compute or grow although nobody asks them."""
        while not self._over.wait(_LOOK_SECONDS):
            try:
                with self._lock:
                    idle = time.monotonic() - self._idle_seconds
                    unused = [key for key, one in self._notebooks.items() if one.used < idle]
                    gone = [self._notebooks.pop(key) for key in unused] + self._too_many()
                    waiting = [(one, box) for one in self._notebooks.values() for box in one.ready]
                self._let_go(gone)
                for notebook, ready in waiting:
                    self._look_at(notebook, ready)
            except Exception as error:  # noqa: BLE001 - the next round tries again
                LOG.warning("the bench could not be looked after: %s", describe_error(error))

    def _look_at(self, notebook: _OpenNotebook, ready: _ReadyBox) -> None:
        """One box that waits: nobody else has it meanwhile."""
        with self._lock:
            if ready not in notebook.ready:
                return
            notebook.ready.remove(ready)
        computes = ready.box.computed() - ready.computed > _IDLE_PROCESSOR_SECONDS
        ready.memory = _memory(ready.box)
        with self._lock:
            kept = not (computes or notebook.closed)
            if kept:
                notebook.ready.append(ready)
            elif computes:
                notebook.failed = Opened(BenchStanding.FAILED, Ending.PROCESSOR_TIME)
                notebook.failed_at = time.monotonic()
            self._lock.notify_all()
        if not kept:
            ready.box.close()


def _memory(box: Box) -> int:
    """Bytes of all processes of a box, as far as the kernel tells."""
    from autograder.sandbox.outside.box import NamespaceBox
    from autograder.sandbox.outside.watchdog import Watchdog

    return Watchdog(box.pid).look().memory_bytes if isinstance(box, NamespaceBox) else 0


def _shown(source: str, run: CellRun, seconds: float) -> Tried:
    """What a cell gave, as texts that may be shown."""
    texts: dict[str, list[str]] = {"result": [], "stream": [], "display": [], "error": []}
    for output in run.outputs:
        texts.setdefault(output.kind, []).append(output.data.get("text/plain", ""))
    printed = "".join((*texts["stream"], *texts["display"]))
    return Tried(
        source,
        value=printable_text(texts["result"][-1], MOST_SHOWN) if texts["result"] else "",
        output=printable_text(printed, MOST_SHOWN),
        error=printable_text(_error(run.error, texts["error"]), MOST_ERROR),
        seconds=seconds,
        cut=run.truncated,
    )


def _error(name: str, tracebacks: list[str]) -> str:
    """The exception's type and text, which a traceback has at its end."""
    if not name:
        return ""
    text = tracebacks[-1] if tracebacks else ""
    last = text.rfind(f"\n{name}")
    return text[last + 1 :] if last >= 0 else name
