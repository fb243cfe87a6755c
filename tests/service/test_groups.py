"""Groups, penalties and slip days in the service: which attempt counts for whom."""

from __future__ import annotations

import datetime
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.app import open_course
from autograder.core.records import Deduction
from autograder.course.counting_attempts import find_counting_attempts
from autograder.grading.grades import PersonMark
from autograder.service.assignment_cache import AssignmentCache
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Attempt, CourseRecord, Offer

NAME = small_course.NAME
WHY = ("formulas", "mlp-why")
END = datetime.datetime(2026, 5, 4, 12, tzinfo=datetime.UTC)
TIMES = {"end": END.isoformat(), "late": "penalty", "penalty": {"per_day": "10", "cap": "50"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the small course with two groups."""
    root = course.small(tmp_path / "course")
    (root / "groups.csv").write_text("group,student\nred,ada\nred,bob\nblue,cleo\nblue,dan\n")
    return root


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Return the assignment as offered by the service, after its deadline."""
    service_course.secret = open_course(folder).load_secret()
    service_course.save()
    offer = course.offered(service_course, folder)
    offer.times = TIMES
    offer.save()
    return offer


def hand_in(offer: Offer, folder: Path, student: str, days: float, **answers: str) -> Attempt:
    """Return an attempt this many days after the deadline, with a canned result."""
    from autograder import rubric as rubrics
    from autograder.service import attempts

    attempt = course.handed_in(offer, student, course.answered(folder, **answers))
    attempt.submitted_at = END + datetime.timedelta(days=days)
    attempt.save()
    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    rubric = rubrics.load_rubric(open_course(folder).locate_rubric(NAME))
    assert attempts.keep_result(claimed, course.canned(rubric, attempt), rubric, "e" * 64)
    return attempt


def stands(offer: Offer) -> dict[str, tuple[Decimal, Decimal]]:
    """Return the total and the late penalty of each student."""
    from autograder.service.standings import load_standings

    with closing(AssignmentCache()) as loaded:
        standings = load_standings(offer, loaded.load_assignment(offer.version))
    return {who: (standing.total, standing.late) for who, standing in standings.items()}


def test_an_attempt_counts_for_all_members(offer: Offer, folder: Path) -> None:
    """The last attempt of the group determines results, marks and penalty of every member."""
    from autograder.service import attempts
    from autograder.service.store import DatabaseStore

    assert {"red": ["ada", "bob"], "blue": ["cleo", "dan"]} == offer.groups
    hand_in(offer, folder, "ada", -1)
    last = hand_in(offer, folder, "bob", 0.5, layers_answer="layers = 12")
    alone = hand_in(offer, folder, "zoe", -1)
    rubric = DatabaseStore(offer.course).load_results(NAME)
    assert {"ada": "bob", "bob": "", "zoe": ""} == {who: result.score.by for who, result in rubric.items()}
    assert {Deduction(Decimal(10)), None} == {result.score.deduction for result in rubric.values()}
    with closing(AssignmentCache()) as loaded:
        handins = attempts.find_counting_attempts(offer, loaded.load_assignment(offer.version).rubric)
    assert {"ada": str(last.pk), "bob": str(last.pk), "zoe": str(alone.pk)} == {
        who: handin.folder.name for who, handin in handins.items()
    }
    totals = stands(offer)
    assert totals["ada"] == totals["bob"]
    assert (totals["zoe"][0], Decimal(0)) == (totals["ada"][0] + totals["ada"][1], totals["zoe"][1])


def test_an_extension_of_a_group_holds_for_its_members(offer: Offer, folder: Path) -> None:
    """An extension applies immediately, also to graded attempts."""
    hand_in(offer, folder, "ada", 0.5)
    before = stands(offer)["bob"]
    offer.times = {**TIMES, "groups": {"red": {"extra_minutes": 24 * 60}}}
    offer.save()
    assert (before[0] + before[1], 0) == stands(offer)["bob"]


def test_slip_days_are_a_bank_over_the_offers(offer: Offer, folder: Path) -> None:
    """Days used for other assignments are deducted, separately for each member."""
    from autograder.service import attempts
    from autograder.service.models import Attempt, Offer

    bank = {"days": 2, "most": 2}
    offer.times = {**TIMES, "slip_days": {**bank, "place": 1}}
    offer.save()
    earlier = Offer.objects.create(
        course=offer.course,
        assignment="earlier",
        version=offer.version,
        title="Earlier",
        times={**TIMES, "slip_days": {**bank, "place": 0}},
    )
    used = course.handed_in(earlier, "ada", course.released(folder))
    Attempt.objects.filter(pk=used.pk).update(submitted_at=END + datetime.timedelta(hours=30))
    hand_in(offer, folder, "ada", 0.5)
    with closing(AssignmentCache()) as loaded:
        handins = attempts.find_counting_attempts(offer, loaded.load_assignment(offer.version).rubric)
    timings = {who: handin.timing for who, handin in handins.items()}
    assert {"ada": (0, 0, Deduction(Decimal(10))), "bob": (1, 1, None)} == {
        who: (timing.slip.used, timing.slip.left, timing.deduction)
        for who, timing in timings.items()
        if timing is not None and timing.slip is not None
    }
    assert Decimal(0) == stands(offer)["bob"][1] < stands(offer)["ada"][1]


def test_what_is_refused_of_one_member_counts_for_the_other(offer: Offer, folder: Path) -> None:
    """A late attempt is graded if one member may be late, and earns the others nothing."""
    from autograder.service import attempts
    from autograder.service.store import DatabaseStore

    offer.times = {
        "end": TIMES["end"],
        "late": "refuse",
        "students": {"ada": {"late": "accept"}},
    }
    offer.save()
    attempt = hand_in(offer, folder, "ada", 1)
    with closing(AssignmentCache()) as loaded:
        rubric = loaded.load_assignment(offer.version).rubric
    handed = attempts.select_files_to_grade(attempt, rubric)
    assert all(isinstance(notebook, bytes) for notebook in handed.notebooks.values())
    codes = {
        who: {item.code == "late" for item in result.score.items}
        for who, result in DatabaseStore(offer.course).load_results(NAME).items()
    }
    assert {"ada": {False}, "bob": {True}} == codes


def test_a_course_leaves_with_its_groups(offer: Offer, folder: Path, tmp_path: Path) -> None:
    """In the exported folder, the same attempts count for the same students, with the same lateness."""
    from autograder.service import attempts
    from autograder.service.course_transfer import export_course

    offer.times = {**TIMES, "slip_days": {"days": 2, "most": 1, "place": 0}}
    offer.save()
    for student, days in (("ada", -1), ("bob", 0.5), ("cleo", 3), ("zoe", -1)):
        hand_in(offer, folder, student, days)
    left = export_course(offer.course, tmp_path / "left")
    with closing(AssignmentCache()) as loaded:
        rubric = loaded.load_assignment(offer.version).rubric
    handins = {handin.student: handin for handin in find_counting_attempts(left, rubric).handins}
    before = attempts.find_counting_attempts(offer, rubric)
    assert ["ada", "bob", "cleo", "dan", "zoe"] == list(handins) == sorted(before)
    for who, handin in before.items():
        assert (handin.owner, handin.group, handin.timing) == (
            handins[who].owner,
            handins[who].group,
            handins[who].timing,
        )


def test_marks_are_shared_when_they_are_published(offer: Offer, folder: Path) -> None:
    """A manual mark for one member is copied to the others."""
    from autograder.app.class_roll import copy_shared_marks
    from autograder.service import attempts
    from autograder.service.store import DatabaseStore

    hand_in(offer, folder, "ada", -1)
    store = DatabaseStore(offer.course)
    store.give_mark(NAME, "bob", WHY, PersonMark(Decimal(1), comment="Good."))
    with closing(AssignmentCache()) as loaded:
        rubric = loaded.load_assignment(offer.version).rubric
    assert [] == copy_shared_marks(store, rubric, attempts.list_groups(offer), store.load_results(NAME))
    assert PersonMark(Decimal(1), comment="Good.") == store.load_marks(NAME)["ada"][WHY]
