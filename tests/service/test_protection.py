"""Data protection: export, erasure without side effects, and erasure after the retention period."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from tests.service import course
from tests.web.people import Small, small

if TYPE_CHECKING:
    from autograder.service.models import Attempt
    from autograder.service.protection.people import DataSubject

ADA, BOB = "ada-l-7731", "bob-b-8842"
NAMES = (ADA, "Lovelace-7731", "countess-7731@example.org")
"""Words that occur nowhere else in the database."""


@pytest.fixture
def at(service_course: Any, tmp_path: Path) -> Small:
    """Return the small course with two students who have accounts."""
    from autograder.service.models import Member

    course_at = small(service_course, course.small(tmp_path))
    for student, last_name, email in ((ADA, *NAMES[1:]), (BOB, "Babbage", "bob@example.org")):
        account = course_at.account("student", student)
        type(account).objects.filter(pk=account.pk).update(last_name=last_name, email=email, first_name="A.")
        Member.objects.filter(course=course_at.record, student=student).update(
            last_name=last_name, email=email, first_name="A."
        )
    return course_at


def person(at: Small, student: str = ADA) -> DataSubject:
    """Return a student with all memberships."""
    from autograder.service.protection.people import find_person

    subject = find_person("account", at.account("student", student).pk)
    assert subject is not None
    return subject


def handed_in(at: Small, student: str, **answers: str) -> Attempt:
    """Return a graded attempt of a student."""
    attempt = course.handed_in(at.offer, student, course.answered(at.folder, **answers))
    course.graded_without_a_box(at.offer)
    return attempt


def fill(at: Small, student: str) -> None:
    """Create rows about a student in every table that can have some."""
    from django.utils import timezone

    from autograder.service import audit, members, program_keys
    from autograder.service.models import (
        CellMark,
        IndependentMark,
        MarkingAction,
        RegradeRequest,
        Scope,
    )
    from autograder.service.models_results import BonusChange, OpenedAssignment, ShownMarks
    from autograder.service.protection.accesses import Access, record_accesses

    staff, account = at.account("ta"), at.account("student", student)
    at.client("student", student).get("/app/")
    program_keys.create_key(account, f"laptop of {student}", [Scope.READ])
    of_offer = {"offer": at.offer, "student": student}
    RegradeRequest.objects.create(**of_offer, question="mlp", item="why", reason=f"{student} asks")
    ShownMarks.objects.create(**of_offer, shown={})
    BonusChange.objects.create(**of_offer)
    OpenedAssignment.objects.create(**of_offer, at=timezone.now())
    mark = CellMark.objects.filter(place__course=at.record, student=student).first()
    IndependentMark.objects.create(mark=mark, account=staff, items={})
    MarkingAction.objects.create(
        course=at.record,
        assignment=at.offer.assignment,
        account=staff,
        action="mark",
        changes=[{"answer": mark.pk}],
    )
    record_accesses(staff, at.offer, [student], Access.FILE)
    members.import_students(at.record, [], staff)
    subject = f"{at.offer.assignment}: {student}"
    audit.record_action(
        student, "request made", subject, course=at.record, after={"reason": f"{student} asks"}
    )
    audit.record_action(
        staff.username,
        "class list",
        at.record.slug,
        course=at.record,
        after={student: f"{student} and a name"},
    )
    at.offer.refresh_from_db()
    at.offer.bonus = {**at.offer.bonus, student: "1"}
    at.offer.times = {
        "end": "2031-01-01T00:00:00Z",
        "students": {**at.offer.times.get("students", {}), student: {"extra_minutes": 5}},
    }
    at.offer.save()


def dump() -> dict[str, Counter[str]]:
    """Return all rows of all tables as text."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = [name for (name,) in cursor.fetchall()]
        rows = {}
        for name in names:
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{name}" t')
            rows[name] = Counter(text for (text,) in cursor.fetchall())
    return rows


def test_erasure_leaves_everything_else_as_it_was(at: Small) -> None:
    """Rows of other users are unchanged, and no table contains the erased person's names."""
    from autograder.service import audit
    from autograder.service.models import AuditEntry, Blob
    from autograder.service.protection.erasure import erase_person

    # Only ada has the first content; both have all others.
    attempt = handed_in(at, ADA, layers_answer="layers = 7731")
    handed_in(at, BOB)
    handed_in(at, ADA)
    digests = {row.blob_id for row in attempt.files.all()} - {
        row.blob_id for other in at.offer.attempts.exclude(pk=attempt.pk) for row in other.files.all()
    }
    assert digests
    for student in (ADA, BOB):
        fill(at, student)
    before = dump()
    pseudonym = erase_person(person(at), "root")
    after = dump()

    changing = {"service_auditentry", "service_offer"}
    for table in before.keys() - changing:
        assert not after[table] - before[table], table
    removed = {table: sum((before[table] - after[table]).values()) for table in before.keys() - changing}
    assert {
        "service_account": 1,
        "service_member": 1,
        "service_programkey": 1,
        "django_session": 1,
        "service_attempt": 2,
        "service_storedresult": 2,
        "service_currentresult": 1,
        "service_regraderequest": 1,
        "service_shownmarks": 1,
        "service_bonuschange": 1,
        "service_openedassignment": 1,
        "service_independentmark": 1,
        "service_markingaction": 1,
        "service_accessentry": 1,
        "service_blob": len(digests),
    }.items() <= removed.items()
    assert not Blob.objects.filter(digest__in=digests).exists()
    for table, rows in after.items():
        for word in NAMES:
            assert not [row for row in rows if word in row], (table, word)
    offer = type(at.offer).objects.get(pk=at.offer.pk)
    assert ({BOB: "1"}, {BOB: {"extra_minutes": 5}}) == (offer.bonus, offer.times["students"])

    assert 0 == audit.find_broken_entry()
    tombstone = AuditEntry.objects.filter(course=at.record).latest("pk")
    assert ("root", "erase", pseudonym) == (tombstone.who, tombstone.action, tombstone.subject)
    about_bob = AuditEntry.objects.filter(course=at.record, who=BOB).get()
    assert {"reason": f"{BOB} asks"} == about_bob.after


def test_a_redacted_log_still_shows_changes(at: Small) -> None:
    """Changing a redacted entry, or the entry of the erasure, breaks the hash chain."""
    from django.db import transaction

    from autograder.service import audit
    from autograder.service.models import AuditEntry
    from autograder.service.protection.erasure import erase_person

    fill_log = audit.record_action(ADA, "request made", f"small: {ADA}", course=at.record, after={"a": 1})
    pseudonym = erase_person(person(at), "root")
    redacted = AuditEntry.objects.filter(pk=fill_log.pk)
    assert (pseudonym, f"small: {pseudonym}", None) == redacted.values_list("who", "subject", "after").get()
    tombstone = AuditEntry.objects.filter(course=at.record, action="erase")
    for rows, change in ((redacted, {"who": "eve"}), (tombstone, {"after": {"redacted": {}}})):
        with transaction.atomic():
            rows.update(**change)
            assert audit.find_broken_entry()
            transaction.set_rollback(True)
    assert 0 == audit.find_broken_entry()


def test_work_of_a_group_stays_for_the_others(at: Small) -> None:
    """A group's work is erased with the last member of the group on the class list."""
    from autograder.service.models import Attempt, CurrentResult
    from autograder.service.protection.erasure import erase_person

    at.offer.groups = {"red": [ADA, BOB]}
    at.offer.save()
    handed_in(at, ADA)
    results = CurrentResult.objects.filter(course=at.record)
    assert {ADA, BOB} == set(results.values_list("student", flat=True))
    erase_person(person(at), "root")
    assert [BOB] == list(results.values_list("student", flat=True))
    assert [None] == list(Attempt.objects.filter(offer=at.offer).values_list("by", flat=True))
    erase_person(person(at, BOB), "root")
    assert not Attempt.objects.filter(offer=at.offer).exists()
    assert not results.exists()
    assert {} == type(at.offer).objects.get(pk=at.offer.pk).groups


def test_removed_members_are_found_and_erased(at: Small) -> None:
    """The work of removed members is kept, so it must be possible to erase it."""
    from autograder.service import members
    from autograder.service.models import Member
    from autograder.service.protection.erasure import erase_person
    from autograder.service.protection.people import find_person, search_people

    handed_in(at, ADA)
    ada = Member.objects.get(course=at.record, student=ADA)
    members.remove_member(ada, at.account("instructor"))
    assert at.offer.attempts.exists()
    assert [("member", ada.pk)] == [
        (result.kind, result.number) for result in search_people(ADA, 9) if result.kind == "member"
    ]
    subject = find_person("member", ada.pk)
    assert subject is not None
    erase_person(subject, "root")
    assert not at.offer.attempts.exists()
    assert not Member.everyone.filter(pk=ada.pk).exists()


def test_marks_of_staff_stay_without_their_name(at: Small) -> None:
    """Erased staff cannot sign in and lose their keys, but their marks stay under a pseudonym."""
    from autograder.service import program_keys
    from autograder.service.models import CellMark, Member, Scope
    from autograder.service.protection.erasure import erase_person
    from autograder.service.protection.people import find_person

    handed_in(at, BOB)
    staff = at.account("ta")
    secret = program_keys.create_key(staff, "x", [Scope.READ])
    CellMark.objects.filter(place__course=at.record).update(marked_by=staff)
    subject = find_person("account", staff.pk)
    assert subject is not None
    pseudonym = erase_person(subject, "root")
    staff.refresh_from_db()
    assert (pseudonym, False, False) == (staff.username, staff.is_active, staff.has_usable_password())
    assert program_keys.find_key(secret) is None
    assert {staff.pk} == set(
        CellMark.objects.filter(place__course=at.record).values_list("marked_by", flat=True)
    )
    assert not Member.objects.filter(account=staff).exists()


def test_an_export_has_everything_of_one_person(at: Small) -> None:
    """The export contains the submitted files and nothing about other students."""
    from autograder.service import attempts
    from autograder.service.protection.export import export_person

    attempt = handed_in(at, ADA)
    handed_in(at, BOB)
    for student in (ADA, BOB):
        fill(at, student)
    with export_person(person(at)) as written, zipfile.ZipFile(written) as archive:
        text = archive.read("data.json").decode()
        base = f"files/{at.record.slug}/{at.offer.assignment}/1/"
        files = {
            name.removeprefix(base): archive.read(name) for name in archive.namelist() if "files/" in name
        }
    assert attempts.load_files(attempt) == files
    assert BOB not in text
    data = json.loads(text)
    assert (NAMES[2], [f"laptop of {ADA}"]) == (
        data["account"]["email"],
        [key["label"] for key in data["keys"]],
    )
    [course_data] = data["courses"]
    [assignment] = course_data["assignments"]
    assert ("1", {"extra_minutes": 5}) == (assignment["bonus"], assignment["extension"])
    assert [1, 1] == [len(assignment["attempts"]), len(assignment["requests"])]
    assert assignment["marks"]
    assert assignment["results"][0]["items"]
    assert [at.account("ta").username] == [view["who"] for view in course_data["viewed_by_staff"]]
    assert "request made" in {entry["action"] for entry in data["log"]}


class Clock(Struct):
    """The current time for the retention period."""

    now: datetime.datetime


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that the test can set."""
    from django.utils import timezone

    from autograder.service.protection import retention

    new_clock = Clock(timezone.now())
    ticking = SimpleNamespace(now=lambda: new_clock.now, get_current_timezone=timezone.get_current_timezone)
    monkeypatch.setattr(retention, "timezone", ticking)
    return new_clock


def test_students_are_erased_when_the_period_has_ended(at: Small, clock: Clock) -> None:
    """Students are erased exactly once, after the period; staff and memberships of other courses stay."""
    from autograder.service.models import Account, CourseRecord, Member
    from autograder.service.protection import retention

    handed_in(at, ADA)
    staff, bob = at.account("instructor"), at.account("student", BOB)
    other = CourseRecord.objects.create(slug=f"{at.record.slug}-b", title="B", secret=bytes(32))
    Member.objects.create(course=other, account=bob, role="student", student=BOB)
    members = Member.objects.filter(course=at.record)
    number = members.exclude(student="").count()
    for days, keep, expected in ((29, 30, 0), (31, None, 0), (31, 30, number), (31, 30, 0)):
        clock.now = retention.find_last_activity(at.record) + datetime.timedelta(days=days)
        retention.set_keep_days(at.record, keep, staff)
        assert expected == retention.erase_students(at.record.pk), (days, keep)
    assert [staff.pk] == list(members.values_list("account", flat=True))
    assert not at.offer.attempts.exists()
    assert [other.pk] == list(Member.objects.filter(account=bob).values_list("course", flat=True))
    assert not Account.objects.filter(username=f"{at.record.slug}-{ADA}").exists()


def test_a_deadline_is_activity(at: Small, clock: Clock) -> None:
    """A future deadline counts as activity, even without any submission."""
    from autograder.service.protection import retention

    retention.set_keep_days(at.record, 30, at.account("instructor"))
    clock.now += datetime.timedelta(days=60)
    assert retention.is_due(at.record)
    type(at.offer).objects.filter(pk=at.offer.pk).update(times={"end": clock.now.isoformat()})
    assert not retention.is_due(at.record)
