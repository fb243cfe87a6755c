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

    made = course.handed_in(offer, student, course.answered(folder, **answers))
    made.submitted_at = END + datetime.timedelta(days=days)
    made.save()
    claimed = attempts.claim_attempt(made.pk)
    assert claimed is not None
    rubric = rubrics.load_rubric(open_course(folder).locate_rubric(NAME))
    assert attempts.keep_result(claimed, course.canned(rubric, made), rubric, "e" * 64)
    return made


def stands(offer: Offer) -> dict[str, tuple[Decimal, Decimal]]:
    """Return the total and the late penalty of each student."""
    from autograder.service.standings import load_standings

    with closing(AssignmentCache()) as loaded:
        found = load_standings(offer, loaded.load_assignment(offer.version))
    return {who: (one.total, one.late) for who, one in found.items()}


def test_an_attempt_counts_for_all_members(offer: Offer, folder: Path) -> None:
    """The last attempt of the group determines results, marks and penalty of every member."""
    from autograder.service import attempts
    from autograder.service.store import DatabaseStore

    assert {"red": ["ada", "bob"], "blue": ["cleo", "dan"]} == offer.groups
    hand_in(offer, folder, "ada", -1)
    last = hand_in(offer, folder, "bob", 0.5, layers_answer="layers = 12")
    alone = hand_in(offer, folder, "zoe", -1)
    rubric = DatabaseStore(offer.course).load_results(NAME)
    assert {"ada": "bob", "bob": "", "zoe": ""} == {who: one.score.by for who, one in rubric.items()}
    assert {Deduction(Decimal(10)), None} == {one.score.deduction for one in rubric.values()}
    with closing(AssignmentCache()) as loaded:
        found = attempts.find_counting_attempts(offer, loaded.load_assignment(offer.version).rubric)
    assert {"ada": str(last.pk), "bob": str(last.pk), "zoe": str(alone.pk)} == {
        who: one.folder.name for who, one in found.items()
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
        found = attempts.find_counting_attempts(offer, loaded.load_assignment(offer.version).rubric)
    timings = {who: one.timing for who, one in found.items()}
    assert {"ada": (0, 0, Deduction(Decimal(10))), "bob": (1, 1, None)} == {
        who: (one.slip.used, one.slip.left, one.deduction)
        for who, one in timings.items()
        if one is not None and one.slip is not None
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
    made = hand_in(offer, folder, "ada", 1)
    with closing(AssignmentCache()) as loaded:
        rubric = loaded.load_assignment(offer.version).rubric
    handed = attempts.select_files_to_grade(made, rubric)
    assert all(isinstance(one, bytes) for one in handed.notebooks.values())
    codes = {
        who: {item.code == "late" for item in one.score.items}
        for who, one in DatabaseStore(offer.course).load_results(NAME).items()
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
    found = {one.student: one for one in find_counting_attempts(left, rubric).handins}
    before = attempts.find_counting_attempts(offer, rubric)
    assert ["ada", "bob", "cleo", "dan", "zoe"] == list(found) == sorted(before)
    for who, one in before.items():
        assert (one.owner, one.group, one.timing) == (found[who].owner, found[who].group, found[who].timing)


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
