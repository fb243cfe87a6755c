"""Individual notebooks of groups in the service: the shared part counts for all members."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.app import open_course
from autograder.app.classes import grade_class
from autograder.core.records import GradingResult, ItemResult, Message, Status
from autograder.course.counting_attempts import find_counting_attempts
from autograder.grading import grades
from autograder.grading.grades import PersonMark
from autograder.grading.release_generation import generate_release
from autograder.grading.store import ResultKey, Student
from autograder.rubric import Rubric
from autograder.service.assignment_cache import AssignmentCache
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Attempt, CourseRecord, Offer

NAME = small_course.NAME
RIGHT = (
    "def softmax(scores):\n    e = numpy.exp(scores - scores.max(-1, keepdims=True))\n"
    "    return e / e.sum(-1, keepdims=True)"
)
END = datetime.datetime(2026, 5, 4, 12, tzinfo=datetime.UTC)
Marks = Mapping[str, tuple[int, int]]
"""Points by student: for the shared question about layers, and for the individual function."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the small course with an individual second notebook and a group of three."""
    root = tmp_path / "course"
    path = small_course.small_course(root).locate_rubric(NAME)
    path.write_text(path.read_text().replace('{ name = "code" }', '{ name = "code", individual = true }'))
    generate_release(open_course(root), NAME)
    (root / "groups.csv").write_text("group,student\nred,ada\nred,bob\nred,cleo\n")
    return root


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Return the assignment as offered by the service."""
    service_course.secret = open_course(folder).load_secret()
    service_course.save()
    return course.offered(service_course, folder)


def hand_in(
    offer: Offer, folder: Path, student: str, *names: str, days: float = 0, **answers: str
) -> Attempt:
    """Submit these notebooks, this many days after the deadline."""
    from autograder.service import attempts

    files = course.answered(folder, **answers)
    wanted = {f"{name}.ipynb": files[f"{name}.ipynb"] for name in names}
    return attempts.submit_files(
        offer, student, wanted, course.SIGNER, submitted_at=END + datetime.timedelta(days=days)
    )


def rubric_of(offer: Offer) -> Rubric:
    """Return the rubric of the offered version."""
    from autograder.service import versions

    return versions.load_rubric(offer.version)


def judged(attempt: Attempt, rubric: Rubric) -> GradingResult:
    """Return the result of two questions for the files to be graded."""
    from autograder.service import attempts

    handed = attempts.select_files_to_grade(attempt, rubric)
    right = {
        "layers": b"layers = 12" in _bytes(handed.notebooks["formulas"]),
        "softmax": b"return e / e.sum" in _bytes(handed.notebooks["code"]),
    }
    results = {
        question.id: [
            ItemResult(
                question.id,
                item.id,
                Status.PASSED if right.get(question.id) else Status.NO_ANSWER,
                item.points if right.get(question.id) else Decimal(0),
                item.points,
                Message("passed"),
                "",
            )
            for item in question.items
            if not item.manual
        ]
        for question in rubric.questions
    }
    return GradingResult(
        grades.compute_score(handed.student, rubric, results), digest=handed.compute_digest()
    )


def _bytes(content: object) -> bytes:
    return content if isinstance(content, bytes) else b""


def grade_waiting(offer: Offer, judge: Callable[[Attempt, Rubric], GradingResult] = judged) -> list[str]:
    """Grade until no attempt is waiting, and return the students in order."""
    from autograder.service import attempts, versions

    done = []
    for _ in range(20):
        waiting = list(offer.attempts.filter(state="waiting").order_by("submitted_at"))
        if not waiting:
            return done
        for attempt in waiting:
            claimed = attempts.claim_attempt(attempt.pk)
            assert claimed is not None
            rubric = versions.load_rubric(claimed.version)
            assert attempts.keep_result(claimed, judge(claimed, rubric), rubric, "e" * 64)
            done.append(attempt.student)
    raise AssertionError("grading does not come to an end")


def marks(offer: Offer) -> Marks:
    """Return everybody's points."""
    from autograder.service.store import DatabaseStore

    def points(result: GradingResult, question: str) -> int:
        return int(sum(item.points for item in result.score.items if item.question == question))

    results = DatabaseStore(offer.course).load_results(NAME)
    return {who: (points(graded, "layers"), points(graded, "softmax")) for who, graded in results.items()}


def test_a_member_has_the_groups_part_and_their_own(offer: Offer, folder: Path) -> None:
    """One member submits both parts, one the individual part, and one nothing."""
    from autograder.service.store import DatabaseStore

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 12", softmax_answer=RIGHT)
    hand_in(offer, folder, "bob", "code", days=0.1)
    assert ["ada", "bob"] == grade_waiting(offer)
    assert {"ada": (1, 3), "bob": (1, 0), "cleo": (1, 0)} == marks(offer)
    results = DatabaseStore(offer.course).load_results(NAME)
    assert {"ada": "", "bob": "ada", "cleo": "ada"} == {
        who: result.score.by for who, result in results.items()
    }
    codes = {item.student.code for item in results["cleo"].score.items if item.question == "softmax"}
    assert {"refused"} == codes
    assert {"red"} == {result.score.group.name for result in results.values() if result.score.group}


def test_who_hands_in_again_changes_what_it_counts_for(offer: Offer, folder: Path) -> None:
    """A new shared part changes the marks of all, an individual one those of its student.

    Manual marks stay.
    """
    from autograder.service.models import CurrentResult
    from autograder.service.store import DatabaseStore

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 12", softmax_answer=RIGHT)
    hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
    grade_waiting(offer)
    hand_in(offer, folder, "bob", "formulas", days=0.2, layers_answer="layers = 13")
    assert ["bob", "ada", "bob"] == grade_waiting(offer)  # the new attempt, and both with an individual part
    assert {"ada": (0, 3), "bob": (0, 3), "cleo": (0, 0)} == marks(offer)

    store = DatabaseStore(offer.course)
    store.give_mark(NAME, "cleo", ("formulas", "mlp-why"), PersonMark(Decimal(1)))
    before = dict(CurrentResult.objects.filter(course=offer.course).values_list("student", "result"))
    hand_in(offer, folder, "ada", "code", days=0.3)
    assert ["ada"] == grade_waiting(offer)
    assert {"ada": (0, 0), "bob": (0, 3), "cleo": (0, 0)} == marks(offer)
    after = dict(CurrentResult.objects.filter(course=offer.course).values_list("student", "result"))
    assert ["ada"] == [who for who in before if before[who] != after[who]]

    hand_in(offer, folder, "cleo", "formulas", "code", days=0.4, layers_answer="layers = 12")
    assert {"ada", "bob", "cleo"} == set(grade_waiting(offer))
    assert {"ada": (1, 0), "bob": (1, 3), "cleo": (1, 0)} == marks(offer)
    assert Decimal(1) == store.load_marks(NAME)["cleo"]["formulas", "mlp-why"].points


def test_what_comes_while_a_part_is_graded_is_not_lost(offer: Offer, folder: Path) -> None:
    """A result based on an outdated shared part does not count, and the attempt is graded again."""
    from autograder.service import attempts

    hand_in(offer, folder, "ada", "formulas", layers_answer="layers = 13")
    attempt = hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    rubric = rubric_of(offer)
    early = judged(claimed, rubric)
    hand_in(offer, folder, "ada", "formulas", days=0.2, layers_answer="layers = 12")
    assert attempts.keep_result(claimed, early, rubric, "e" * 64)
    assert "bob" not in marks(offer)
    grade_waiting(offer)
    assert {"ada": (1, 0), "bob": (1, 3), "cleo": (1, 0)} == marks(offer)


def test_parts_are_kept_at_the_same_moment(
    offer: Offer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that save parts concurrently do not deadlock, and all marks are correct."""
    from django.db import connections

    from autograder.service import attempts

    monkeypatch.setattr(attempts, "LEASE", datetime.timedelta(hours=1))  # no worker extends the lease here
    rubric = rubric_of(offer)
    for layers in ("13", "12"):
        hand_in(offer, folder, "ada", "formulas", "code", layers_answer=f"layers = {layers}")
        hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
        hand_in(offer, folder, "cleo", "code", days=0.1, softmax_answer=RIGHT)
        claimed = [attempts.claim_attempt(attempt.pk) for attempt in offer.attempts.filter(state="waiting")]
        results = [(attempt, judged(attempt, rubric)) for attempt in claimed if attempt]
        kept: list[bool] = []

        def keep(attempt: Attempt, result: GradingResult, kept: list[bool] = kept) -> None:
            kept.append(attempts.keep_result(attempt, result, rubric, "e" * 64))
            connections.close_all()

        threads = [threading.Thread(target=keep, args=arguments) for arguments in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [True] * 3 == kept
        grade_waiting(offer)
        right = int(layers == "12")
        assert {"ada": (right, 0), "bob": (right, 3), "cleo": (right, 3)} == marks(offer)


def test_a_late_part_costs_whose_it_is(offer: Offer, folder: Path) -> None:
    """The later of both parts determines the lateness, as in a folder."""
    from autograder.service.standings import load_standings

    offer.times = {"end": END.isoformat(), "late": "penalty", "penalty": {"per_day": "10", "cap": "50"}}
    offer.save()
    hand_in(offer, folder, "ada", "formulas", "code", days=-1, layers_answer="layers = 12")
    hand_in(offer, folder, "bob", "code", days=0.5, softmax_answer=RIGHT)
    grade_waiting(offer)
    with closing(AssignmentCache()) as loaded:
        late = {
            who: standing.late
            for who, standing in load_standings(offer, loaded.load_assignment(offer.version)).items()
        }
    assert Decimal(0) == late["ada"] == late["cleo"] < late["bob"]


@pytest.mark.parametrize(
    ("late", "wanted"),
    [
        ("code", {"ada": (1, 3), "bob": (1, 0), "cleo": (1, 0)}),
        ("formulas", {"ada": (0, 3), "bob": (0, 3), "cleo": (0, 0)}),
    ],
)
def test_a_refused_part_takes_nothing_away(
    offer: Offer, folder: Path, tmp_path: Path, late: str, wanted: Marks
) -> None:
    """The other part and earlier submissions in time still count, also in a folder."""
    from autograder.service import attempts, course_transfer

    offer.times = {"end": END.isoformat(), "late": "refuse"}
    offer.save()
    answers = {"layers_answer": "layers = 12", "softmax_answer": RIGHT}
    first, second = ("formulas", "code") if late == "code" else ("code", "formulas")
    hand_in(offer, folder, "ada", *({"code", first}), days=-1, **answers)
    if late == "formulas":
        hand_in(offer, folder, "bob", "code", days=-1, **answers)
    hand_in(offer, folder, "bob", second, days=0.5, **answers)
    hand_in(offer, folder, "ada", "code", days=0.5)
    grade_waiting(offer)
    assert wanted == marks(offer)
    left = course_transfer.export_course(offer.course, tmp_path / "left")
    there = {handin.student: handin for handin in find_counting_attempts(left, rubric_of(offer)).handins}
    here = attempts.find_counting_attempts(offer, rubric_of(offer))
    assert {who: (handin.owner, handin.timing, handin.own is None) for who, handin in there.items()} == {
        who: (handin.owner, handin.timing, handin.own is None) for who, handin in here.items()
    }


def test_marks_are_shared_of_what_is_shared(offer: Offer, folder: Path) -> None:
    """Manual marks of individual parts are not shared, and the bench uses the files of both parts."""
    from autograder.app.class_roll import copy_shared_marks
    from autograder.service import attempts
    from autograder.service.marking import answers
    from autograder.service.store import DatabaseStore

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 12")
    attempt = hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
    grade_waiting(offer)
    store, rubric = DatabaseStore(offer.course), rubric_of(offer)
    why, thoughts = ("formulas", "mlp-why"), ("code", "thoughts")
    for cell in (why, thoughts):
        store.give_mark(NAME, "bob", cell, PersonMark(Decimal(1)))
    assert [] == copy_shared_marks(store, rubric, attempts.list_groups(offer), store.load_results(NAME))
    marks_by_student = store.load_marks(NAME)
    assert {"ada": {why}, "bob": {why, thoughts}, "cleo": {why}} == {
        who: set(cells) for who, cells in marks_by_student.items()
    }
    assert attempt == answers.find_attempt(offer, "bob")
    owner, files = attempts.resolve_graded_files(attempt, rubric)
    assert ("ada", {"code.ipynb", "formulas.ipynb"}) == (owner, set(files))
    assert b"layers = 12" in files["formulas.ipynb"]
    assert RIGHT.splitlines()[0].encode() in files["code.ipynb"]
    assert b"e.sum(-1" in files["code.ipynb"]


def test_groups_are_formed_and_dissolved(offer: Offer, folder: Path) -> None:
    """A student who leaves the group is graded by their own attempt."""
    from autograder.service import student_groups
    from autograder.service.store import DatabaseStore

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 12")
    hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
    grade_waiting(offer)
    student_groups.set_groups(offer, rubric_of(offer), {})
    grade_waiting(offer)
    assert {"ada": (1, 0), "bob": (0, 3)} == marks(offer)
    DatabaseStore(offer.course).enroll_students([Student("ada"), Student("bob")])
    student_groups.set_groups(offer, rubric_of(offer), {"blue": ["ada", "bob"]})
    grade_waiting(offer)
    assert {"ada": (1, 0), "bob": (1, 3)} == marks(offer)


def test_a_version_is_tried_on_what_counts(offer: Offer, folder: Path) -> None:
    """A trial changes the marks of each member; one who submitted nothing gets those of the shared part."""
    from autograder.service import attempts, trials, versions
    from autograder.service.models import Account
    from autograder.service.trials import grading

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 12", softmax_answer=RIGHT)
    hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)
    grade_waiting(offer)
    by = Account.objects.create(username=f"individual-{offer.pk}")
    trial = course.tried(offer, folder, by, course.worth("layers", "number", "2"))
    assert trial is not None
    rubric = versions.load_rubric(trial.version)
    for row in trial.results.all():
        mine = grading.claim_result(row.pk)
        assert mine is not None
        result = judged(mine.attempt, rubric)
        assert grading.keep_result(
            mine,
            result,
            rubric,
            ResultKey.from_submission(mine.attempt.student, result.digest, rubric, "e" * 64),
        )
    effect = trials.compute_effect(trial)
    assert (3, ["ada", "bob", "cleo"]) == (effect.total, sorted(move.student for move in effect.moved))
    trials.apply_trial(trial, by)
    offer.refresh_from_db()
    assert {"ada": (2, 3), "bob": (2, 3), "cleo": (2, 0)} == marks(offer)
    assert attempts.find_counting_attempts(offer, rubric)["cleo"].own is None


def test_members_can_have_copied_what_is_their_own(offer: Offer, folder: Path) -> None:
    """The shared part counts as one work; individual parts are compared."""
    from autograder.service import similarity

    for days, who in enumerate(("ada", "bob")):
        names = ("formulas", "code") if who == "ada" else ("code",)
        hand_in(offer, folder, who, *names, days=days, softmax_answer=RIGHT)
    grade_waiting(offer)
    with closing(AssignmentCache()) as loaded:
        comparison = similarity.compare_submissions(offer, loaded.load_assignment(offer.version))
    assert ({"ada", "bob"}, {("ada", "bob")}, ()) == (
        set(comparison.works),
        {tuple(sorted(pair.students)) for pair in comparison.pairs},
        comparison.remarks,
    )


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_folder_has_the_same_results(
    offer: Offer, folder: Path, service_course: CourseRecord, tmp_path: Path
) -> None:
    """Worker, folder and import produce the same results, and find each one by its key."""
    from django.db import connections

    from autograder.service import attempts, course_transfer
    from autograder.service.models import Attempt, CourseRecord
    from autograder.service.store import DatabaseStore
    from autograder.service.worker import Worker

    hand_in(offer, folder, "ada", "formulas", "code", layers_answer="layers = 13", softmax_answer=RIGHT)
    hand_in(offer, folder, "bob", "code", days=0.1, softmax_answer=RIGHT)

    def work() -> None:
        with Worker() as worker:
            while attempt := offer.attempts.filter(state="waiting").order_by("number", "student").first():
                worker.grade_attempt(attempt.pk)
        connections.close_all()

    def emptied() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert {("graded", "")} == set(offer.attempts.values_list("state", "problem"))

    emptied()
    assert {"ada": (0, 3), "bob": (0, 3), "cleo": (0, 0)} == marks(offer)
    hand_in(offer, folder, "bob", "formulas", days=0.2, layers_answer="layers = 12")
    emptied()
    assert {"ada": (1, 3), "bob": (1, 3), "cleo": (1, 0)} == marks(offer)

    DatabaseStore(service_course).enroll_students(Student(student) for student in ("ada", "bob", "cleo"))
    left = course_transfer.export_course(service_course, tmp_path / "left")
    rubric = rubric_of(offer)
    there = {handin.student: handin for handin in find_counting_attempts(left, rubric).handins}
    here = attempts.find_counting_attempts(offer, rubric)
    assert {who: (handin.owner, handin.own is None) for who, handin in here.items()} == {
        who: (handin.owner, handin.own is None) for who, handin in there.items()
    }
    again = grade_class(left, NAME)
    assert {"ada": False, "bob": False, "cleo": False} == {
        outcome.student: outcome.fresh for outcome in again.outcomes
    }

    CourseRecord.objects.filter(pk=service_course.pk).update(secret=bytes(32))  # another course's secret
    record = course_transfer.import_course(left, f"{service_course.slug}-again", course.SIGNER)
    rows = Attempt.objects.filter(offer__course=record).order_by("student", "submitted_at")
    assert [("ada", "graded"), ("bob", "graded"), ("bob", "waiting")] == list(
        rows.values_list("student", "state")
    )
    assert marks(offer) == marks(record.offers.get())
