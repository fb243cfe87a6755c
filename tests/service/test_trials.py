"""Trials of a new version: it is applied to the whole class or not at all, and changes nothing before."""

from __future__ import annotations

import datetime
import shutil
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.core.errors import AutograderError, GradebookError, ServiceError
from autograder.core.wording import decode_phrase
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Account, CourseRecord, Offer, VersionTrial

NAME = small_course.NAME
RIGHT = small_course.SOFTMAX.replace("    ", "  ")
CLASS = {
    "ada": {
        "mlp_answer": 'mlp_parameters = "8*d_model^2"',
        "layers_answer": "layers = 12",
        "softmax_answer": RIGHT,
    },
    "bob": {"mlp_answer": 'mlp_parameters = "4*d_model^2"', "layers_answer": "layers = 13"},
    "nil": {},
}
LAYERS = course.worth("layers", "number", "2")


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
def by(offer: Offer) -> Account:
    """Return an instructor's account."""
    from autograder.service.models import Account

    return Account.objects.create(username=f"trials-{offer.pk}")


@pytest.fixture(scope="module")
def worker(service_database: object) -> Iterator[Any]:
    """Provide a worker whose sandboxes are shared by all tests."""
    from autograder.service.worker import Worker

    with Worker() as new_worker:
        yield new_worker


@pytest.fixture
def work(offer: Offer, worker: Any) -> Callable[[], None]:
    """Return a function that grades waiting attempts and then results of trials."""

    def once() -> None:
        from autograder.service.trials import grading

        for attempt in offer.attempts.filter(state="waiting"):
            worker.grade_attempt(attempt.pk)
        grading.sweep_trials()
        for trial in grading.list_active_trials().filter(offer=offer):
            for row in trial.results.filter(result=None):
                worker.grade_trial(row.pk)

    return once


@pytest.fixture
def graded(offer: Offer, folder: Path, work: Callable[[], None]) -> Offer:
    """Return the offer with the class graded by the offered version."""
    for student, answers in CLASS.items():
        course.handed_in(offer, student, course.answered(folder, **answers))
    work()
    assert {"graded"} == set(offer.attempts.values_list("state", flat=True))
    return offer


@pytest.fixture
def canned(offer: Offer, folder: Path) -> Offer:
    """Return the offer with two students who have only the question about layers right, without a box."""
    for student in ("ada", "bob"):
        course.handed_in(offer, student, course.released(folder))
    course.graded_without_a_box(offer)
    return offer


def begun(offer: Offer, folder: Path, by: Account, *edits: Callable[[str], str]) -> VersionTrial:
    """Begin a trial of an edited rubric."""
    trial = course.tried(offer, folder, by, *(edits or (LAYERS,)))
    assert trial is not None
    return trial


def renamed(old: str, new: str) -> Callable[[str], str]:
    """Return an edit that replaces a text and fails if it is missing."""

    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


def totals(offer: Offer) -> dict[str, Decimal]:
    """Return the total points of each student, as pages show them."""
    from autograder.service import versions
    from autograder.service.assignment_cache import AssignmentCache
    from autograder.service.standings import load_standings

    offer.refresh_from_db()
    loaded = AssignmentCache()
    try:
        assert versions.load_rubric(offer.version)
        return {
            who: standing.total
            for who, standing in load_standings(offer, loaded.load_assignment(offer.version)).items()
        }
    finally:
        loaded.close()


@pytest.mark.sandbox
@pytest.mark.long
def test_a_version_is_tried_told_and_applied(
    graded: Offer, folder: Path, by: Account, work: Callable[[], None]
) -> None:
    """No mark changes before the trial is applied; the preview shows the marks after that."""
    from autograder.service import trials
    from autograder.service.models import AuditEntry, CellMark, CurrentResult

    def counts() -> list[Any]:
        marks = CellMark.objects.filter(place__course=graded.course).order_by("pk")
        current = CurrentResult.objects.filter(course=graded.course).order_by("pk")
        return [*marks.values_list("automatic", "again", "points"), *current.values_list("result")]

    before, stands = counts(), totals(graded)
    trial = begun(graded, folder, by, LAYERS, renamed("How many layers there are", "Layers"))
    assert (graded.version_id, 3) == (trial.base_id, trial.results.count())
    assert ["ada", "bob", "nil"] == list(trials.compute_effect(trial).waiting)
    with pytest.raises(ServiceError, match="not yet graded in this trial: ada, bob, nil"):
        trials.apply_trial(trial, by)
    work()
    assert (before, stands) == (counts(), totals(graded))
    effect = trials.compute_effect(trial)
    assert (3, 1, True) == (effect.total, 1, effect.complete)
    moves = {move.student: move for move in effect.moved}
    assert {"ada": 1, "bob": 0, "nil": 0} == {who: move.by for who, move in moves.items()}
    [item] = moves["ada"].items
    assert ("layers", "number", 1, 2, 1, 2) == (
        item.question,
        item.item,
        item.before,
        item.after,
        item.possible_before,
        item.possible_after,
    )
    [change] = effect.changes
    assert ({"en": "How many layers there are"}, {"en": "Layers"}) == (change.text_before, change.text_after)
    trials.apply_trial(trial, by)
    after = totals(graded)
    assert {who: move.after.total for who, move in moves.items()} == after
    assert trial.version_id == graded.version_id
    assert {trial.version_id} == set(graded.attempts.values_list("version", flat=True))
    assert {attempt.pk: attempt.result_id for attempt in graded.attempts.all()} == dict(
        trial.results.values_list("attempt", "result")
    )
    entry = AuditEntry.objects.filter(course=graded.course, action="apply version").get()
    assert (trial.base.number, trial.version.number) == (entry.before, entry.after)
    for again in (trials.apply_trial, trials.drop_trial):
        with pytest.raises(ServiceError, match="already applied"):
            again(trial, by)
    assert after == totals(graded)


def test_who_hands_in_meanwhile_is_in_it(canned: Offer, by: Account, folder: Path) -> None:
    """A submission during the trial is graded by both versions before the trial can be applied."""
    from autograder.service import trials

    trial = begun(canned, folder, by)
    course.graded_without_a_box(canned)
    new = course.handed_in(canned, "bob", course.answered(folder, layers_answer="layers = 12"))
    with pytest.raises(ServiceError, match="not yet graded in this trial: bob"):
        trials.apply_trial(trial, by)
    assert ("bob",) == trials.compute_effect(trial).waiting
    course.graded_without_a_box(canned)
    new.refresh_from_db()
    assert ("graded", trial.base_id) == (new.state, new.version_id)
    trials.apply_trial(trial, by)
    new.refresh_from_db()
    assert trial.version_id == new.version_id
    assert Decimal(2) == totals(canned)["bob"]
    assert trial.version_id == course.handed_in(trial.offer, "eve", course.released(folder)).version_id


def test_peoples_marks_stand_and_follow_points(canned: Offer, folder: Path, by: Account) -> None:
    """Marks of items are scaled with the points; a mark of a whole cell stays and needs another review."""
    from autograder.service import trials
    from autograder.service.models import CellMark

    def mark(student: str, cell: str, points: str, items: dict[str, Any]) -> CellMark:
        row = CellMark.objects.get(place__course=canned.course, place__cell=cell, student=student)
        row.points, row.items, row.touched, row.again = points, items, True, False
        row.save()
        return row

    full = mark("ada", "thoughts", "1", {"any": {"points": "1", "of": "1"}})
    half = mark("bob", "thoughts", "0.5", {"any": {"points": "0.5", "of": "1"}})
    whole = mark("ada", "layers", "0.5", {})
    trial = begun(canned, folder, by, LAYERS, course.worth("thoughts", "any", "3"))
    course.graded_without_a_box(canned)
    effect = trials.compute_effect(trial)
    expected = {move.student: move.after for move in effect.moved}
    assert [("any", 1, 3, True)] == [
        (item.item, item.before, item.after, item.by_person)
        for move in effect.moved
        if move.student == "ada"
        for item in move.items
    ]
    trials.apply_trial(trial, by)
    for row in (full, half, whole):
        row.refresh_from_db()
    assert [("3", "3", False), ("1.5", "3", False)] == [
        (row.points, row.items["any"]["of"], row.again) for row in (full, half)
    ]
    assert ("0.5", True) == (whole.points, whole.again)
    assert {who: standing.total for who, standing in expected.items()} == totals(canned)
    assert 1 == full.revision


def test_a_trial_is_applied_once(canned: Offer, folder: Path, by: Account) -> None:
    """If two users apply a trial at the same moment, one gets an error."""
    from django.db import connections

    from autograder.service import trials

    trial = begun(canned, folder, by)
    course.graded_without_a_box(canned)
    start, errors = threading.Barrier(2), []

    def once() -> None:
        try:
            start.wait()
            trials.apply_trial(trial, by)
        except ServiceError as error:
            errors.append(str(error))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=once) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["this trial was already applied"] == errors
    canned.refresh_from_db()
    assert trial.version_id == canned.version_id
    assert {canned.version_id} == set(canned.attempts.values_list("version", flat=True))


def test_only_a_version_that_may_move_marks_is_tried(
    offer: Offer, folder: Path, by: Account, tmp_path: Path
) -> None:
    """Without submissions, or if rubric and reference are unchanged, a new version is offered immediately."""
    from autograder.app import open_course
    from autograder.service import trials
    from autograder.service.models import VersionTrial

    def number() -> int:
        offer.refresh_from_db()
        return offer.version.number

    assert course.tried(offer, folder, by, LAYERS) is None
    assert 2 == number()
    course.handed_in(offer, "ada", course.released(folder))
    assert course.tried(offer, folder, by, LAYERS) is None
    copy = Path(shutil.copytree(folder, tmp_path / "course"))
    path = copy / "rubrics" / f"{NAME}.toml"
    path.write_text(LAYERS(path.read_text()))
    (copy / "assignments" / NAME / "notes.txt").write_text("for staff")
    assert trials.import_assignment(offer.course, open_course(copy), NAME, by)[1] is None
    assert 3 == number()
    reference = next(iter(sorted((copy / "reference").rglob("*.py"))))
    reference.write_text(f"{reference.read_text()}# changed\n")
    assert trials.import_assignment(offer.course, open_course(copy), NAME, by)[1] is not None
    assert 3 == number()
    assert 1 == VersionTrial.objects.filter(offer=offer).count()


def test_of_several_new_versions_the_last_one_is_tried(offer: Offer, folder: Path, by: Account) -> None:
    """The same version continues its trial; another one drops it. The server does not retry dropped ones."""
    from autograder.service import trials
    from autograder.service.models import AuditEntry

    course.handed_in(offer, "ada", course.released(folder))
    first = begun(offer, folder, by)
    assert first == begun(offer, folder, by)
    assert first == course.tried(offer, folder, None, LAYERS)
    second = begun(offer, folder, by, course.worth("activation", "name", "4"))
    first.refresh_from_db()
    assert ("dropped", "") == (first.settled, second.settled)
    trials.drop_trial(second, by)
    edit = course.worth("activation", "name", "4")
    assert course.tried(offer, folder, None, edit) is None
    assert second != begun(offer, folder, by, edit)
    entries = AuditEntry.objects.filter(course=offer.course).order_by("pk").values_list("action", flat=True)
    began, dropped = "try version", "drop version"
    assert [began, dropped, began, dropped, began] == list(entries)
    served = course.tried(offer, folder, None, course.worth("places", "summed", "3"))
    assert served is not None
    assert served.by is None
    assert "autograder serve" == AuditEntry.objects.filter(course=offer.course).order_by("-pk")[0].who


def test_what_cannot_be_tried_is_refused(canned: Offer, folder: Path, by: Account) -> None:
    """An invalid rubric, or one without a marked cell, is rejected and leaves nothing behind."""
    from autograder.service.models import CellMark, VersionTrial

    row = CellMark.objects.filter(place__course=canned.course, place__cell="mlp-why", student="ada")
    row.update(points="1", touched=True)
    before = CellMark.objects.filter(place__course=canned.course).count()
    with pytest.raises(AutograderError, match=r"line .*cuont"):
        begun(canned, folder, by, renamed('kind = "number"', 'kind = "cuont"'))
    gone = renamed('manual = true\ncell = "mlp-why"\n', "manual = true\n")
    with pytest.raises(GradebookError, match=r"mlp-why.*no longer in the release"):
        begun(canned, folder, by, gone)
    assert before == CellMark.objects.filter(place__course=canned.course).count()
    assert not VersionTrial.objects.filter(offer=canned).exists()
    row.update(points=None, touched=False)
    trial = begun(canned, folder, by, gone)
    assert row.exists()
    course.graded_without_a_box(canned)
    row.update(points="1", touched=True)  # a mark is saved during the trial
    from autograder.service import trials

    assert trials.compute_effect(trial).complete
    with pytest.raises(GradebookError, match="mlp-why"):
        trials.apply_trial(trial, by)
    row.update(points=None, touched=False)
    trials.apply_trial(trial, by)
    assert not row.exists()


def test_a_trial_against_what_is_offered_no_more_cannot_be_applied(
    offer: Offer, by: Account, folder: Path, tmp_path: Path
) -> None:
    """Once another version without a changed rubric is offered, the trial is neither graded nor applied."""
    from autograder.app import open_course
    from autograder.service import trials
    from autograder.service.trials import grading

    course.handed_in(offer, "ada", course.released(folder))
    trial = begun(offer, folder, by)
    [row] = trial.results.all()
    copy = Path(shutil.copytree(folder, tmp_path / "course"))
    (copy / "assignments" / NAME / "notes.txt").write_text("for staff")
    trials.import_assignment(offer.course, open_course(copy), NAME, by)
    with pytest.raises(ServiceError, match="another version has come into use"):
        trials.apply_trial(trial, by)
    assert grading.claim_result(row.pk) is None


def test_a_killed_worker_costs_a_try_and_the_third_is_the_last(
    offer: Offer, by: Account, folder: Path
) -> None:
    """The sweep queues the result again when its lease ends.

    A failure states the reason and can be retried.
    """
    from django.db import connection
    from django.utils import timezone

    from autograder.service import trials
    from autograder.service.trials import grading

    def jobs() -> int:
        with connection.cursor() as cursor:
            query = "SELECT count(*) FROM procrastinate_jobs WHERE queueing_lock = %s AND status = 'todo'"
            cursor.execute(query, [f"trials {row.pk}"])
            return int(cursor.fetchone()[0])

    course.handed_in(offer, "ada", course.released(folder))
    trial = begun(offer, folder, by)
    [row] = trial.results.all()
    for _ in range(3):
        assert 1 == jobs()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")
        assert grading.claim_result(row.pk) is not None
        assert grading.claim_result(row.pk) is None
        grading.sweep_trials()
        assert 0 == jobs()
        trial.results.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))
        grading.sweep_trials()
    assert 0 == jobs()
    assert grading.claim_result(row.pk) is None
    assert "stopped each time" in str(trials.compute_effect(trial).failed["ada"])
    assert 1 == trials.retry_failed(trial)
    assert (1, {}) == (jobs(), trials.compute_effect(trial).failed)
    claimed = grading.claim_result(row.pk)
    assert claimed is not None
    grading.give_back(claimed, "no memory")
    row.refresh_from_db()
    assert ("no memory", None, 1) == (decode_phrase(row.problem), row.leased_until, row.tries)
    trials.drop_trial(trial, by)
    assert grading.claim_result(row.pk) is None


def test_what_a_dropped_trial_brings_late_is_not_kept(offer: Offer, by: Account, folder: Path) -> None:
    """A result that arrives after the trial was dropped is not stored."""
    from autograder.core.records import GradingResult, Score
    from autograder.grading.store import ResultKey
    from autograder.service import trials, versions
    from autograder.service.trials import grading

    attempt = course.handed_in(offer, "ada", course.released(folder))
    trial = begun(offer, folder, by)
    claimed = grading.claim_result(trial.results.get().pk)
    assert claimed is not None
    rubric = versions.load_rubric(trial.version)
    result = GradingResult(Score("ada", NAME, 1, ()), digest=attempt.digest)
    key = ResultKey.from_submission("ada", attempt.digest, rubric, "e" * 64)
    trials.drop_trial(trial, by)
    assert not grading.keep_result(claimed, result, rubric, key)
    assert trial.results.get().result is None
