"""Grades submissions: claims an attempt, loads its assignment, grades it, stores the result.

The same threads grade trials (`autograder.service.trials`) and compare submissions, when no attempt waits.

Any number of workers on any number of machines; each needs the database, this package and a sandbox.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from django.contrib.sessions.backends.db import SessionStore
from django.db import close_old_connections, connections
from msgspec import Struct

from autograder.core.errors import describe_error
from autograder.core.records import GradingResult
from autograder.core.wording import Phrase
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.grades import SANDBOX_FAULT
from autograder.grading.pipeline import Grader
from autograder.grading.store import ResultKey
from autograder.messages import build_localised_text
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation, compute_environment_digest
from autograder.sandbox.outside import cgroups
from autograder.sandbox.pool import Pool, start_sandbox
from autograder.service import attempts, drafts, platforms, similarity, tasks, versions
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.models import Attempt, TrialResult, Version
from autograder.service.notices import sending
from autograder.service.protection import retention
from autograder.service.refusals import explain_error
from autograder.service.trials import grading

LOG = logging.getLogger("autograder.service.worker")
MOST_KEPT = 4
"""Maximum number of versions that a worker keeps ready; each has a sandbox."""
SWEEP_SECONDS = 5.0
_SWEEPS = 120
"""Number of sweeps between looks at learning platforms and at retention periods: ten minutes."""


class _ReadyVersion(Struct, frozen=True, eq=False):
    """A version with a grader, ready for use."""

    folder: Path
    grader: Grader
    pool: Pool
    environment: str

    def close(self) -> None:
        self.pool.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Worker:
    """Grades several attempts at a time; a context manager.

    Args:
        isolation: how student code is confined.

    Raises:
        SandboxUnavailable: when it is entered, if a layer of confinement is missing on this machine. Without
            a sandbox, it would use up the tries of each attempt that it claims.
    """

    def __init__(self, isolation: Isolation = Isolation.NAMESPACES) -> None:
        self._isolation = isolation
        self._ready: OrderedDict[int, _ReadyVersion] = OrderedDict()
        self._loaded = AssignmentCache()
        self._lock = threading.Lock()
        self._making: dict[int, threading.Lock] = {}
        self._in_use: dict[int, int] = {}

    def __enter__(self) -> Self:
        start_sandbox(Environment(), self._isolation).close()
        cgroups.sweep_groups()
        return self

    def __exit__(self, *_: object) -> None:
        for ready in self._ready.values():
            ready.close()
        self._ready.clear()
        self._loaded.close()

    def grade_attempt(self, identifier: uuid.UUID) -> None:
        """Grade one attempt if it still waits. Errors are stored with it; none is raised."""
        close_old_connections()
        attempt = attempts.claim_attempt(identifier)
        if attempt is None:
            return
        started = time.monotonic()
        try:
            with (
                _keep_alive(lambda: attempts.extend_lease(attempt)),
                self._use_version(attempt.version) as ready,
            ):
                kept = self._grade_claimed(attempt, ready)
        except Exception as error:  # noqa: BLE001 - another worker may succeed
            LOG.warning("attempt %s could not be graded: %s", identifier, describe_error(error))
            attempts.give_back(attempt, explain_error(error))
            return
        LOG.info(
            "attempt %s %s in %.3f s",
            identifier,
            "graded" if kept else "discarded, because its lease had ended",
            time.monotonic() - started,
        )

    def _grade_claimed(self, attempt: Attempt, ready: _ReadyVersion) -> bool:
        assignment = ready.grader.assignment
        handed = attempts.select_files_to_grade(attempt, assignment.rubric)
        connections.close_all()  # return it while grading: more graders than connections
        graded = ready.grader.grade(handed)
        # A failure of the sandbox is not the student's fault: try again, possibly on another machine.
        if attempt.tries < attempts.MOST_TRIES and (fault := _find_fault(graded)):
            attempts.give_back(attempt, fault)
            tasks.enqueue_job(tasks.GRADING, attempt.pk)
            return False
        return attempts.keep_result(attempt, graded, assignment.rubric, ready.environment)

    def grade_trial(self, identifier: int) -> None:
        """Grade one attempt in a trial if it is open; errors are stored with it, none is raised."""
        close_old_connections()
        row = grading.claim_result(identifier)
        if row is None:
            return
        try:
            with (
                _keep_alive(lambda: grading.extend_lease(row)),
                self._use_version(row.trial.version) as ready,
            ):
                self._grade_trial_result(row, ready)
        except Exception as error:  # noqa: BLE001 - as above
            LOG.warning("attempt %s could not be tried: %s", row.attempt_id, describe_error(error))
            grading.give_back(row, explain_error(error))

    def _grade_trial_result(self, row: TrialResult, ready: _ReadyVersion) -> None:
        rubric, attempt = ready.grader.assignment.rubric, row.attempt
        handed = attempts.select_files_to_grade(attempt, rubric)
        key = ResultKey.from_submission(attempt.student, handed.compute_digest(), rubric, ready.environment)
        graded = grading.find_result(row, key)
        if graded is None:
            connections.close_all()  # see above
            graded = ready.grader.grade(handed)
        if row.tries < grading.MOST_TRIES and (fault := _find_fault(graded)):
            grading.give_back(row, fault)
        else:
            grading.keep_result(row, graded, rubric, key)

    def compare_works(self, offer: int) -> None:
        """Compare the submissions of an assignment; errors are stored with it, none is raised."""
        with _report_errors(f"the submissions of offer {offer} could not be compared"):
            similarity.compare_class(offer, self._loaded)

    def check_draft(self, draft: int) -> None:
        """Fetch and check an assignment; errors are stored with it, none is raised."""
        close_old_connections()
        row = drafts.claim_draft(draft)
        if row is None:
            return
        try:
            with _keep_alive(lambda: drafts.show_life(row)):
                drafts.check_draft(row, self._isolation)
        except Exception as error:  # noqa: BLE001 - another worker may succeed
            LOG.warning("draft %s could not be checked: %s", draft, describe_error(error))
            drafts.give_back(row, explain_error(error))
        finally:
            connections.close_all()

    @staticmethod
    def erase_students(course: int) -> None:
        """Erase the students of a course if its retention period has ended; errors are logged."""
        with _report_errors(f"the students of course {course} could not be erased"):
            retention.erase_students(course)

    @contextlib.contextmanager
    def _use_version(self, version: Version) -> Iterator[_ReadyVersion]:
        """Use a version, which is prepared at its first use; the least recently used ones are closed."""
        with self._lock:
            # One lock per version: other versions remain usable while this one is prepared.
            making = self._making.setdefault(version.pk, threading.Lock())
            self._in_use[version.pk] = self._in_use.get(version.pk, 0) + 1
        try:
            with making:
                ready = self._ready.get(version.pk) or self._make_ready(version)
                with self._lock:
                    self._ready[version.pk] = ready
                    self._ready.move_to_end(version.pk)
                    # Versions in use are never closed, even if there are more of them than the limit.
                    old = [entry for entry in self._ready if not self._in_use.get(entry)]
                    gone = [self._ready.pop(entry) for entry in old[: max(0, len(self._ready) - MOST_KEPT)]]
            for entry in gone:
                entry.close()
            yield ready
        finally:
            with self._lock:
                self._in_use[version.pk] -= 1

    def _make_ready(self, version: Version) -> _ReadyVersion:
        folder = Path(tempfile.mkdtemp(prefix="autograder-course-"))
        pool = Pool(isolation=self._isolation)
        try:
            folder.chmod(0o755)  # the sandbox mounts single files of it; the secret is in a private folder
            loaded: Assignment = assignments.load_assignment(
                versions.lay_out(version, folder), version.assignment
            )
            environment = compute_environment_digest(loaded.compute_digest(), self._isolation)
            return _ReadyVersion(folder, Grader(loaded, pool), pool, environment)
        except BaseException:
            pool.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _find_fault(graded: GradingResult) -> Phrase:
    """Return the sandbox's failure, or an empty text: another attempt, elsewhere, may succeed."""
    notes = (note.text for note in graded.score.notes if note.code == SANDBOX_FAULT)
    text = next(notes, "")
    return build_localised_text("web.job-sandbox", error=text) if text else ""


@contextlib.contextmanager
def _report_errors(failure: str) -> Iterator[None]:
    """Log errors of a job; a sweep or a person asks for it again."""
    close_old_connections()
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the worker goes on
        LOG.warning("%s: %s", failure, describe_error(error))
    finally:
        connections.close_all()


@contextlib.contextmanager
def _keep_alive(prolong_lease: Callable[[], object]) -> Iterator[None]:
    """Extend a lease periodically while this process lives and works on the attempt."""
    done = threading.Event()

    def extend_repeatedly() -> None:
        # A third of the lease leaves time for two failed extensions.
        while not done.wait(attempts.LEASE.total_seconds() / 3):
            with contextlib.suppress(Exception):  # an outage may be shorter than the lease
                prolong_lease()
        connections.close_all()

    thread = threading.Thread(target=extend_repeatedly, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def run_worker(worker: Worker, *, concurrency: int, stop: threading.Event) -> None:
    """Process the queues until ``stop`` is set; running jobs are finished first.

    If the database is unavailable, wait for it.

    Args:
        worker: entered.
        concurrency: maximum number of concurrent attempts.
        stop: set to end.
    """
    threads = [
        threading.Thread(target=_run_sweeps, args=(stop,), daemon=True),
        threading.Thread(target=_run_sender, args=(tasks.SCORES, _send_scores, stop), daemon=True),
        threading.Thread(target=_run_sender, args=(tasks.NOTICES, _send_notices, stop), daemon=True),
    ]
    for thread in threads:
        thread.start()
    work = {
        tasks.GRADING: lambda attempt: worker.grade_attempt(uuid.UUID(attempt)),
        tasks.TRIALS: lambda result: worker.grade_trial(int(result)),
        tasks.COMPARING: lambda offer: worker.compare_works(int(offer)),
        tasks.DRAFTS: lambda draft: worker.check_draft(int(draft)),
        tasks.ERASING: lambda course: worker.erase_students(int(course)),
    }
    tasks.process_queues(work, concurrency, stop)
    for thread in threads:
        thread.join()


def _send_scores(offer: str, loaded: AssignmentCache) -> None:
    """Send an assignment's marks to learning platforms; failures are shown to staff, and retried."""
    with _report_errors(f"marks of offer {offer} could not be sent to platforms"):
        number = platforms.update_scores(int(offer), loaded)
        LOG.info("%d marks of offer %s were sent to platforms", number, offer)


def _send_notices(_: str, loaded: AssignmentCache) -> None:
    """Deliver notifications; failures are tried again later."""
    with _report_errors("notifications could not be sent"):
        LOG.info("%d notifications were sent", sending.deliver_due(loaded))


def _run_sender(queue: str, send: Callable[[str, AssignmentCache], None], stop: threading.Event) -> None:
    """Process a queue of things to send, one after the other."""
    loaded = AssignmentCache()
    tasks.process_queues({queue: lambda subject: send(subject, loaded)}, 1, stop)
    loaded.close()


def _run_sweeps(stop: threading.Event) -> None:
    """Repeatedly enqueue attempts without a result, whatever happened to their jobs, and marks to send."""
    for number in itertools.count(1):
        if stop.wait(SWEEP_SECONDS):
            break
        with _report_errors("the sweep failed"):
            if requeued := attempts.sweep_attempts():
                LOG.info("%d attempts were queued again", requeued)
            grading.sweep_trials()
            drafts.sweep_drafts()
            sending.sweep_notices()
            if number % _SWEEPS == 0:
                platforms.sweep_scores()
                retention.sweep_courses()
                SessionStore.clear_expired()  # of people who did not sign out
