"""Attempts are stored, claimed by one worker, recorded once, and never lost."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from autograder.app import open_course
from autograder.app.classes import grade_class
from autograder.core.errors import SandboxUnavailable, ServiceError
from autograder.core.records import GradingResult, Note, Score
from autograder.core.wording import decode_phrase
from autograder.service.receipts import verify_receipt
from autograder.store.memory import MemoryStore
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Attempt, CourseRecord, Offer

NAME = small_course.NAME


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small course with a release."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Return the assignment as offered by the service."""
    from autograder.course import Course

    service_course.secret = Course.from_folder(folder).load_secret()
    service_course.save()
    return course.offered(service_course, folder)


@pytest.fixture
def attempt(offer: Offer, folder: Path) -> Attempt:
    """Return the first attempt of a student."""
    return course.handed_in(offer, "ada", course.released(folder))


def moved(attempt: Attempt, **fields: Any) -> Attempt:
    """Change fields of the attempt in the database."""
    type(attempt).objects.filter(pk=attempt.pk).update(**fields)
    attempt.refresh_from_db()
    return attempt


def jobs(attempt: Attempt) -> int:
    """Return the number of the attempt's jobs in the queue."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo' AND queueing_lock = %s",
            [f"grading {attempt.pk}"],
        )
        return int(cursor.fetchone()[0])


def graded(attempt: Attempt) -> GradingResult:
    """Return a result that needs manual review."""
    return GradingResult(Score(attempt.student, NAME, 1, ()), digest=attempt.digest)


def rubric_of(attempt: Attempt, folder: Path) -> Any:
    """Return the rubric of the small course."""
    from autograder import rubric

    return rubric.load_rubric(open_course(folder).locate_rubric(NAME))


def test_a_receipt_is_made_of_what_arrived(offer: Offer, folder: Path) -> None:
    """It names course, student, number, time and file digests; the files can be loaded unchanged."""
    from autograder.service import attempts

    files = course.released(folder)
    first, second = (course.handed_in(offer, "ada", files) for _ in range(2))
    facts = verify_receipt(second.receipt, course.SIGNER.public)
    assert (offer.course.slug, NAME, "ada", 2) == tuple(
        facts[name] for name in ("course", "assignment", "student", "attempt")
    )
    assert (second.digest, str(second.pk), set(files)) == (facts["digest"], facts["id"], set(facts["files"]))
    assert files == attempts.load_files(second) == attempts.load_files(first)
    assert (1, 1, 1) == (jobs(first), jobs(second), course.handed_in(offer, "zoe", files).number)


def test_a_submission_commits_with_its_job(
    offer: Offer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the job cannot be queued, the attempt is not stored."""
    from autograder.service import tasks
    from autograder.service.models import Attempt as Row

    def refuse(*_: object) -> bool:
        raise RuntimeError("the queue is away")

    monkeypatch.setattr(tasks, "enqueue_job", refuse)
    with pytest.raises(RuntimeError, match="away"):
        course.handed_in(offer, "ada", course.released(folder))
    assert not Row.objects.filter(offer=offer).exists()


@pytest.mark.parametrize(
    ("student", "files", "message"),
    [
        ("../ada", {"a.ipynb": b"{}"}, "is not a valid student ID"),
        ("ada", {}, "Choose a file first"),
        ("ada", {"../a.ipynb": b"{}"}, "is not a valid file name"),
        ("ada", {".hidden": b"{}"}, "is not a valid file name"),
        ("ada", {"a\x00.ipynb": b"{}"}, "is not a valid file name"),
        ("ada", {"a.ipynb": bytes((64 << 20) + 1)}, "at most 64"),
    ],
)
def test_what_cannot_be_taken_is_refused(
    offer: Offer, student: str, files: dict[str, bytes], message: str
) -> None:
    """The error states the reason, and nothing is stored."""
    with pytest.raises(ServiceError, match=message):
        course.handed_in(offer, student, files)
    assert not offer.attempts.exists()


def test_what_was_not_handed_out_is_everybodys(offer: Offer) -> None:
    """A student with only a personal note is still checked against the common release."""
    from autograder.service import blobs, versions

    (digest,) = blobs.store_blobs([b"why there is no notebook"])
    offer.version.files.create(path=f"personal/ada/{offer.assignment}/README.md", blob_id=digest)
    assert {"README.md"} == versions.load_digests(offer.version, "ada").keys()
    common = versions.load_released_files(offer.version, "bob")
    assert "coursecheck.py" in common
    assert common == versions.load_released_files(offer.version, "ada", common.keys())


def test_attempts_are_capped(offer: Offer, folder: Path) -> None:
    """The next attempt is rejected, and the error states the limit."""
    offer.most_attempts = 2
    offer.save()
    for _ in range(2):
        course.handed_in(offer, "ada", course.released(folder))
    with pytest.raises(ServiceError, match="already 2 attempts"):
        course.handed_in(offer, "ada", course.released(folder))


def test_numbers_have_no_gap_and_no_double(offer: Offer, folder: Path) -> None:
    """Numbers are consecutive even if a student submits several times at once."""
    from django.db import connections

    files = course.released(folder)

    def once(_: int) -> int:
        try:
            return course.handed_in(offer, "ada", files).number
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert list(range(1, 13)) == sorted(threads.map(once, range(12)))


def test_one_worker_has_an_attempt(attempt: Attempt) -> None:
    """Only one of several concurrent workers gets the attempt."""
    from django.db import connections

    from autograder.service import attempts

    start = threading.Barrier(4)

    def once(_: int) -> bool:
        try:
            start.wait()
            return attempts.claim_attempt(attempt.pk) is not None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert [False, False, False, True] == sorted(threads.map(once, range(4)))


def test_a_lease_that_ended_is_anothers(attempt: Attempt, folder: Path) -> None:
    """After the lease, another worker gets the attempt; results of the first are dropped."""
    from django.utils import timezone

    from autograder.service import attempts

    rubric = rubric_of(attempt, folder)
    first = attempts.claim_attempt(attempt.pk)
    assert first is not None
    assert attempts.extend_lease(first)
    moved(attempt, leased_until=timezone.now() - datetime.timedelta(seconds=1))
    second = attempts.claim_attempt(attempt.pk)
    assert second is not None
    assert not attempts.extend_lease(first)
    assert not attempts.keep_result(first, graded(attempt), rubric, "e" * 64)
    attempts.give_back(first, "late")
    attempt.refresh_from_db()
    assert ("running", 2) == (attempt.state, attempt.tries)


def test_the_last_try_fails_visibly_and_a_person_may_try_again(attempt: Attempt) -> None:
    """The failure states the reason, also after a crash; staff can retry the attempt."""
    from autograder.service import attempts

    for number in range(3):
        claimed = attempts.claim_attempt(attempt.pk)
        assert claimed is not None, number
        attempts.give_back(claimed, f"the sandbox failed {number}")
    attempt.refresh_from_db()
    assert ("failed", "the sandbox failed 2") == (attempt.state, decode_phrase(attempt.problem))
    assert attempts.claim_attempt(attempt.pk) is None
    attempts.retry_attempt(attempt)
    attempt.refresh_from_db()
    assert ("waiting", 0, "") == (attempt.state, attempt.tries, attempt.problem)
    moved(attempt, tries=3)
    assert attempts.claim_attempt(attempt.pk) is None
    attempt.refresh_from_db()
    assert "failed" == attempt.state
    assert "stopped each time" in attempt.problem


def test_the_sweep_finds_what_has_no_job(attempt: Attempt) -> None:
    """Attempts with a lost job or a dead worker are queued again, once."""
    from django.db import connection
    from django.utils import timezone

    from autograder.service import attempts

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    attempts.sweep_attempts()
    assert 0 == jobs(attempt)
    moved(attempt, queued_at=timezone.now() - datetime.timedelta(seconds=10))
    attempts.sweep_attempts()
    attempts.sweep_attempts()
    assert 1 == jobs(attempt)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    assert attempts.claim_attempt(attempt.pk) is not None
    attempts.sweep_attempts()
    assert 0 == jobs(attempt)
    moved(attempt, leased_until=timezone.now() - datetime.timedelta(seconds=1))
    attempts.sweep_attempts()
    assert 1 == jobs(attempt)


def test_the_last_attempt_counts_in_whichever_order_they_are_graded(offer: Offer, folder: Path) -> None:
    """An earlier attempt that is graded later does not replace the later one."""
    from autograder.service import attempts
    from autograder.service.store import DatabaseStore

    files = course.released(folder)
    first = course.handed_in(offer, "ada", files)
    second = course.handed_in(offer, "ada", course.answered(folder, layers_answer="layers = 11"))
    rubric = rubric_of(first, folder)
    store = DatabaseStore(offer.course)
    for attempt in (second, first):
        claimed = attempts.claim_attempt(attempt.pk)
        assert claimed is not None
        assert attempts.keep_result(claimed, graded(attempt), rubric, "e" * 64)
    assert {"ada": second.digest} == {who: result.digest for who, result in store.load_results(NAME).items()}
    first.refresh_from_db()
    assert ("graded", True) == (first.state, first.result_id is not None)


@pytest.mark.parametrize(("rule", "counts"), [("review", 0), ("accept", 1), ("refuse", 0)])
def test_times_decide_which_attempt_counts(offer: Offer, folder: Path, rule: str, counts: int) -> None:
    """The last attempt in time counts, or the last one if late ones are accepted, as in a folder."""
    from django.utils import timezone

    from autograder.service import attempts

    now = timezone.now()
    offer.times = {"end": (now - datetime.timedelta(minutes=30)).isoformat(), "late": rule}
    offer.save()
    both = [course.handed_in(offer, "ada", course.released(folder)) for _ in range(2)]
    moved(both[0], submitted_at=now - datetime.timedelta(hours=1))
    rubric = rubric_of(both[0], folder)
    handin = attempts.find_counting_attempt(offer, "ada", rubric)
    assert handin is not None
    assert str(both[counts].pk) == handin.folder.name
    refused = attempts.select_files_to_grade(both[1], rubric).notebooks["code"]
    assert (rule == "refuse") is (not isinstance(refused, bytes))


def test_grading_again_follows_the_offer(offer: Offer, attempt: Attempt, folder: Path) -> None:
    """Graded attempts are queued again, but not twice."""
    from autograder.service import attempts

    rubric = rubric_of(attempt, folder)
    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    assert attempts.keep_result(claimed, graded(attempt), rubric, "e" * 64)
    assert 1 == attempts.grade_again(offer.attempts.all())
    attempt.refresh_from_db()
    assert ("waiting", 0) == (attempt.state, attempt.tries)
    assert 0 == attempts.grade_again(offer.attempts.all())


# ---------------------------------------------------------------- the worker


CLASS = {
    "ada": {
        "mlp_answer": 'mlp_parameters = "8*d_model^2"',
        "layers_answer": "layers = 12",
        "softmax_answer": "def softmax(scores):\n    e = numpy.exp(scores - scores.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)",
        "thoughts": "Much.",
    },
    "bob": {"mlp_answer": 'mlp_parameters = "4*d_model^2"', "layers_answer": "layers = 13"},
    "eve": {"layers_answer": "import os\nos._exit(0)", "activation_answer": 'activation = "gelu"'},
    "nil": {},
}


@pytest.fixture
def emptied(offer: Offer) -> Iterator[Any]:
    """Return a function that runs workers until the queue is empty."""
    from django.db import connections

    from autograder.service.worker import Worker, run_worker

    def empty(workers: int = 1) -> None:
        stop = threading.Event()

        def work() -> None:
            with Worker() as worker:
                run_worker(worker, concurrency=2, stop=stop)
            connections.close_all()

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(1200):
                if not offer.attempts.filter(state__in=("waiting", "running")).exists():
                    break
                stop.wait(0.1)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    return empty


def test_worker_without_a_sandbox_claims_nothing(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would use up the tries of attempts that another machine can grade."""
    from autograder.service import worker

    def refuse(*_: object) -> None:
        raise SandboxUnavailable("unshare is refused")

    monkeypatch.setattr(worker, "start_sandbox", refuse)
    with pytest.raises(SandboxUnavailable), worker.Worker() as new_worker:
        new_worker.grade_attempt(attempt.pk)
    attempt.refresh_from_db()
    assert (attempt.state, attempt.tries) == ("waiting", 0)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_the_workers_marks_are_those_of_the_command(
    offer: Offer, folder: Path, tmp_path: Path, emptied: Any, workers: int
) -> None:
    """Items and notes of a class equal those of `autograder grade` in a folder."""
    from autograder.service.store import DatabaseStore

    submitted = folder / "submitted"
    for student, answers in CLASS.items():
        files = course.answered(folder, **answers)
        course.handed_in(offer, student, files)
        place = submitted / student / NAME
        place.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
    emptied(workers)
    assert {("graded", "")} == set(offer.attempts.values_list("state", "problem"))
    expected = MemoryStore()
    grade_class(open_course(folder), NAME, store=lambda _, *, new: expected)
    results = DatabaseStore(offer.course).load_results(NAME)
    assert {who: result.score for who, result in expected.load_results(NAME).items()} == {
        who: result.score for who, result in results.items()
    }
    assert {who: result.digest for who, result in expected.load_results(NAME).items()} == {
        who: result.digest for who, result in results.items()
    }
    assert len({result.score.points for result in results.values()}) > 2


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_version_that_cannot_be_laid_out_fails_visibly(attempt: Attempt, emptied: Any) -> None:
    """After three tries, staff can read the reason, and the worker continues."""
    from autograder.service.models import VersionFile

    VersionFile.objects.filter(version=attempt.version, path__startswith="rubrics/").delete()
    for _ in range(3):
        from autograder.service import attempts

        emptied()
        attempts.tasks.enqueue_job(attempts.tasks.GRADING, attempt.pk)
    attempt.refresh_from_db()
    assert "failed" == attempt.state
    assert "there is no such rubric" in attempt.problem


def test_a_fault_of_the_sandbox_is_tried_elsewhere(attempt: Attempt) -> None:
    """Sandbox faults are recognised, so that the attempt is retried elsewhere."""
    from autograder.service import worker

    fault = replace(graded(attempt).score, notes=(Note("sandbox-fault", "no memory"),))
    assert "the sandbox failed" in str(worker._find_fault(GradingResult(fault)))
    assert "" == worker._find_fault(graded(attempt))
