"""A draft is tried on the class, and applied as a whole or not at all; until then nothing of it counts."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.authoring.edits import Edit, PointsEdit, TextEdit
from autograder.errors import AutograderError, RubricError, ServiceError
from autograder.records import Status
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Account, CourseRecord, DraftVersion, Offer

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
LAYERS: list[Edit] = [PointsEdit("layers", "number", Decimal(2))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course in a folder, released."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Its assignment, offered by the service."""
    from autograder.course import Course

    service_course.secret = Course.at(folder).secret()
    service_course.save()
    return course.offered(service_course, folder)


@pytest.fixture
def by(offer: Offer) -> Account:
    """An instructor."""
    from autograder.service.models import Account

    return Account.objects.create(username=f"drafts-{offer.pk}")


@pytest.fixture(scope="module")
def worker(service_database: object) -> Iterator[Any]:
    """A worker whose sandboxes last for all tests."""
    from autograder.service.worker import Worker

    with Worker() as made:
        yield made


@pytest.fixture
def work(offer: Offer, worker: Any) -> Callable[[], None]:
    """A function that grades what waits: attempts, then what drafts want of them."""

    def once() -> None:
        from autograder.service.drafts import trying

        for one in offer.attempts.filter(state="waiting"):
            worker.grade(one.pk)
        trying.sweep()
        for draft in trying.under_way().filter(offer=offer):
            for row in draft.results.filter(result=None):
                worker.try_draft(row.pk)

    return once


@pytest.fixture
def graded(offer: Offer, folder: Path, work: Callable[[], None]) -> Offer:
    """The class, graded by what is offered."""
    for student, answers in CLASS.items():
        course.handed_in(offer, student, course.answered(folder, **answers))
    work()
    assert {"graded"} == set(offer.attempts.values_list("state", flat=True))
    return offer


@pytest.fixture
def canned(offer: Offer, folder: Path) -> Offer:
    """Two students, for whom the layers are right, without any box."""
    for student in ("ada", "bob"):
        course.handed_in(offer, student, course.released(folder))
    course.graded_without_a_box(offer)
    return offer


def begun(offer: Offer, by: Account, edits: list[Edit] = LAYERS) -> DraftVersion:
    """A draft of edits."""
    from autograder.service.drafts.beginning import begin_edits

    return begin_edits(offer, edits, "a change", by)


def totals(offer: Offer) -> dict[str, Decimal]:
    """What everybody has, as pages show it."""
    from autograder.service import versions
    from autograder.service.loaded import Loaded
    from autograder.service.standing import standings

    offer.refresh_from_db()
    loaded = Loaded()
    try:
        assert versions.rubric_of(offer.version)
        return {who: one.total for who, one in standings(offer, loaded.of(offer.version)).items()}
    finally:
        loaded.close()


def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that are judged from now on."""
    from autograder.grading.pipeline import Grader

    judged: list[str] = []
    judge = Grader.judge

    def noted(self: Grader, question: Any, *args: Any, **options: Any) -> Any:
        judged.append(question.id)
        return judge(self, question, *args, **options)

    monkeypatch.setattr(Grader, "judge", noted)
    return judged


@pytest.mark.sandbox
@pytest.mark.long
def test_a_change_is_tried_told_and_applied(
    graded: Offer, by: Account, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing moves before; the preview is what everybody has afterwards; what cannot change is not asked."""
    from autograder.service import drafts
    from autograder.service.models import AuditEntry, CellMark, CurrentResult

    def counts() -> list[Any]:
        marks = CellMark.objects.filter(place__course=graded.course).order_by("pk")
        current = CurrentResult.objects.filter(course=graded.course).order_by("pk")
        return [*marks.values_list("automatic", "again", "points"), *current.values_list("result")]

    before, stands = counts(), totals(graded)
    edits = [*LAYERS, TextEdit("layers", "number", "en", "Layers")]
    judged = calls(monkeypatch)
    draft = begun(graded, by, edits)
    assert ("a change", graded.version_id, 3) == (draft.subject, draft.base_id, draft.results.count())
    assert ["ada", "bob", "nil"] == list(drafts.effect(draft).waiting)
    with pytest.raises(ServiceError, match="not graded by this draft yet: ada, bob, nil"):
        drafts.apply(draft, by)
    work()
    assert (before, stands) == (counts(), totals(graded))
    assert {"mlp", "model", "layers"} == set(judged)
    found = drafts.effect(draft)
    assert (3, 1, True) == (found.total, 1, found.complete)
    moves = {one.student: one for one in found.moved}
    assert {"ada": 1, "bob": 0, "nil": 0} == {who: one.by for who, one in moves.items()}
    [item] = moves["ada"].items
    assert ("layers", "number", 1, 2, 1, 2) == (
        item.question,
        item.item,
        item.before,
        item.after,
        item.possible_before,
        item.possible_after,
    )
    [change] = found.changes
    assert ({"en": "How many layers there are"}, {"en": "Layers"}) == (change.text_before, change.text_after)
    drafts.apply(draft, by)
    after = totals(graded)
    assert {who: one.after.total for who, one in moves.items()} == after
    assert draft.version_id == graded.version_id
    assert {draft.version_id} == set(graded.attempts.values_list("version", flat=True))
    assert {one.pk: one.result_id for one in graded.attempts.all()} == dict(
        draft.results.values_list("attempt", "result")
    )
    entry = AuditEntry.objects.filter(course=graded.course, action="apply draft").get()
    assert (draft.base.number, draft.version.number) == (entry.before, entry.after)
    for again in (drafts.apply, drafts.drop):
        with pytest.raises(ServiceError, match="applied already"):
            again(draft, by)
    assert after == totals(graded)


@pytest.mark.sandbox
@pytest.mark.long
def test_a_tried_call_becomes_a_case(
    graded: Offer, by: Account, folder: Path, work: Callable[[], None]
) -> None:
    """The reference says what is right; whose code does something else loses; drop leaves all."""
    from autograder.service import drafts

    plain = RIGHT.replace(" - scores.max(axis=-1, keepdims=True)", "")
    course.handed_in(graded, "zoe", course.answered(folder, softmax_answer=plain))
    work()
    stands = totals(graded)
    call = {"target": "softmax", "args": [{"array": [[800.0, 1.0], [0.0, 3.0]]}], "kwargs": {}}
    draft = drafts.keep_case(graded, "softmax", call, by)
    work()
    found = drafts.effect(draft)
    assert found.complete
    [zoe] = found.moved
    assert ("zoe", Decimal("-2.5")) == (zoe.student, zoe.by)
    assert ["rows", "batch", "overflow"] == [one.item for one in zoe.items]
    assert all(one.told_after is not None for one in zoe.items)
    with pytest.raises(RubricError, match="expected a call of 'softmax'"):
        drafts.keep_case(graded, "softmax", {**call, "target": "print"}, by)
    drafts.drop(draft, by)
    assert stands == totals(graded)
    with pytest.raises(ServiceError, match="dropped already"):
        drafts.apply(draft, by)


def test_who_hands_in_meanwhile_is_in_it(canned: Offer, by: Account, folder: Path) -> None:
    """It is graded by what is offered, then by the draft, and only then can the draft be applied."""
    from autograder.service import drafts

    draft = begun(canned, by)
    course.graded_without_a_box(canned)
    new = course.handed_in(canned, "bob", course.answered(folder, layers_answer="layers = 12"))
    with pytest.raises(ServiceError, match="not graded by this draft yet: bob"):
        drafts.apply(draft, by)
    assert ("bob",) == drafts.effect(draft).waiting
    course.graded_without_a_box(canned)
    new.refresh_from_db()
    assert ("graded", draft.base_id) == (new.state, new.version_id)
    drafts.apply(draft, by)
    new.refresh_from_db()
    assert draft.version_id == new.version_id
    assert Decimal(2) == totals(canned)["bob"]
    assert draft.version_id == course.handed_in(draft.offer, "eve", course.released(folder)).version_id


def test_peoples_marks_stand_and_follow_points(canned: Offer, by: Account) -> None:
    """Full stays full, a half a half; a mark of a whole cell stays, to be looked at again."""
    from autograder.service import drafts
    from autograder.service.models import CellMark

    def mark(student: str, cell: str, points: str, items: dict[str, Any]) -> CellMark:
        row = CellMark.objects.get(place__course=canned.course, place__cell=cell, student=student)
        row.points, row.items, row.touched, row.again = points, items, True, False
        row.save()
        return row

    full = mark("ada", "thoughts", "1", {"any": {"points": "1", "of": "1"}})
    half = mark("bob", "thoughts", "0.5", {"any": {"points": "0.5", "of": "1"}})
    whole = mark("ada", "layers", "0.5", {})
    edits = [*LAYERS, PointsEdit("thoughts", "any", Decimal(3))]
    draft = begun(canned, by, edits)
    course.graded_without_a_box(canned)
    found = drafts.effect(draft)
    expected = {one.student: one.after for one in found.moved}
    assert [("any", 1, 3, True)] == [
        (item.item, item.before, item.after, item.by_person)
        for one in found.moved
        if one.student == "ada"
        for item in one.items
    ]
    drafts.apply(draft, by)
    for row in (full, half, whole):
        row.refresh_from_db()
    assert [("3", "3", False), ("1.5", "3", False)] == [
        (row.points, row.items["any"]["of"], row.again) for row in (full, half)
    ]
    assert ("0.5", True) == (whole.points, whole.again)
    assert {who: one.total for who, one in expected.items()} == totals(canned)
    assert 1 == full.revision


def test_of_two_drafts_one_is_applied(canned: Offer, by: Account) -> None:
    """The other one was made of what is not offered any more; both at once end the same way."""
    from django.db import connections

    from autograder.service import drafts

    both = [begun(canned, by), begun(canned, by, [PointsEdit("activation", "name", Decimal(4))])]
    course.graded_without_a_box(canned)
    start, told = threading.Barrier(2), []

    def once(draft: DraftVersion) -> None:
        try:
            start.wait()
            drafts.apply(draft, by)
        except ServiceError as error:
            told.append(str(error))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=once, args=(draft,)) for draft in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["something else is offered since this draft was made; drop it and make it anew"] == told
    canned.refresh_from_db()
    assert canned.version_id in {draft.version_id for draft in both}
    assert {canned.version_id} == set(canned.attempts.values_list("version", flat=True))


def test_what_is_no_draft_is_refused(offer: Offer, by: Account) -> None:
    """Nothing changed, no such file, a rubric that is none, a cell more: told, and nothing is left."""
    from autograder.service import drafts, versions
    from autograder.service.models import DraftVersion

    path, data = versions.rubric_file(offer.version)
    cell = data.replace(b'cell = "mlp-why"', b'cell = "mlp-how"')
    for changed, told in (
        ({path: data}, "nothing is changed"),
        ({"../../etc/passwd": b""}, "has no file"),
        ({path: b"version = 1"}, "line|assignment"),
        ({path: data.replace(b'kind = "count"', b'kind = "cuont"')}, "line .*cuont"),
        ({path: cell}, "a cell comes or goes"),
    ):
        with pytest.raises(ServiceError, match=told) as refused:
            drafts.begin(offer, changed, "x", by)
        assert "/tmp" not in str(refused.value)
    with pytest.raises(AutograderError, match="at most two decimals"):
        begun(offer, by, [PointsEdit("layers", "number", Decimal("0.001"))])
    assert not DraftVersion.objects.filter(offer=offer).exists()


def test_a_draft_of_what_is_offered_no_more_cannot_be_applied(
    offer: Offer, by: Account, folder: Path
) -> None:
    """The folder was taken over again: the draft is refused, and no worker tries it."""
    from autograder.service import drafts
    from autograder.service.drafts import trying
    from autograder.service.models import Offer as Row

    course.handed_in(offer, "ada", course.released(folder))
    draft = begun(offer, by)
    [row] = draft.results.all()
    other = begun(offer, by, [PointsEdit("activation", "name", Decimal(4))])
    Row.objects.filter(pk=offer.pk).update(version=other.version_id)
    with pytest.raises(ServiceError, match="something else is offered"):
        drafts.apply(draft, by)
    assert trying.claim(row.pk) is None


def test_a_killed_worker_costs_a_try_and_the_third_is_the_last(
    offer: Offer, by: Account, folder: Path
) -> None:
    """Its lease ends, the sweep finds the result; what failed says why, and is tried again."""
    from django.db import connection
    from django.utils import timezone

    from autograder.service import drafts
    from autograder.service.drafts import trying

    def jobs() -> int:
        with connection.cursor() as cursor:
            query = "SELECT count(*) FROM procrastinate_jobs WHERE queueing_lock = %s AND status = 'todo'"
            cursor.execute(query, [f"draft {row.pk}"])
            return int(cursor.fetchone()[0])

    course.handed_in(offer, "ada", course.released(folder))
    draft = begun(offer, by)
    [row] = draft.results.all()
    for _ in range(3):
        assert 1 == jobs()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")
        assert trying.claim(row.pk) is not None
        assert trying.claim(row.pk) is None
        trying.sweep()
        assert 0 == jobs()
        draft.results.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))
        trying.sweep()
    assert 0 == jobs()
    assert trying.claim(row.pk) is None
    assert "ended each time" in drafts.effect(draft).failed["ada"]
    assert 1 == drafts.again(draft)
    assert (1, {}) == (jobs(), drafts.effect(draft).failed)
    claimed = trying.claim(row.pk)
    assert claimed is not None
    trying.give_back(claimed, "no memory")
    row.refresh_from_db()
    assert ("no memory", None, 1) == (row.problem, row.leased_until, row.tries)
    drafts.drop(draft, by)
    assert trying.claim(row.pk) is None


def test_what_a_dropped_draft_brings_late_is_not_kept(offer: Offer, by: Account, folder: Path) -> None:
    """The worker that had it finds it settled."""
    from autograder.records import Graded, Score
    from autograder.service import drafts, versions
    from autograder.service.drafts import trying
    from autograder.store import Key

    attempt = course.handed_in(offer, "ada", course.released(folder))
    draft = begun(offer, by)
    claimed = trying.claim(draft.results.get().pk)
    assert claimed is not None
    rubric = versions.rubric_of(draft.version)
    result = Graded(Score("ada", NAME, 1, ()), digest=attempt.digest)
    key = Key.of("ada", attempt.digest, rubric, "e" * 64)
    drafts.drop(draft, by)
    assert not trying.keep(claimed, result, rubric, key)
    assert draft.results.get().result is None


def test_only_what_cannot_come_out_otherwise_is_known() -> None:
    """Behind a change in worth or words; nothing where calls change, nor what names a change."""
    from autograder.grading import scoring
    from autograder.records import Graded, ItemResult, Message, Note
    from autograder.rubric import parse
    from autograder.service.drafts.reuse import reusable

    data = small_course.RUBRIC.encode()
    rubric = parse(data)
    results = {
        question.id: tuple(
            ItemResult(question.id, item.id, Status.NO_ANSWER, Decimal(0), item.points, Message("x"), "")
            for item in question.items
        )
        for question in rubric.questions
    }
    graded = Graded(scoring.score("ada", rubric, results), digest="d")

    def known(old: str, new: str, of: Graded = graded) -> set[str]:
        assert old in small_course.RUBRIC
        changed = small_course.RUBRIC.replace(old, new)
        return set(reusable(data, changed.encode(), of))

    formulas, code = {"mlp", "model", "layers", "activation", "places"}, {"softmax", "thoughts"}
    assert formulas | code == known(
        "# nothing" if "# nothing" in small_course.RUBRIC else "version = 1", "version = 1"
    )
    assert {"activation", "places"} | code == known("How many layers there are", "x")
    assert {"layers", "activation", "places"} | code == known("How you arrived at it", "x")  # model reads mlp
    assert code == known("value = 12", "value = 11")
    assert formulas == known("shape = [2, 3, 5] }]", "shape = [2, 3, 6] }]")
    assert formulas | code == known("version = 1", "version = 2")  # it draws nothing anew
    assert set() == known("cell_seconds = 2", "cell_seconds = 3")
    noted = Graded(scoring.score("ada", rubric, results, [Note("run-again", "x")]), digest="d")
    assert set() == known("How many layers there are", "x", noted)
