"""Members: searching, adding, inviting, changing, removing and restoring, and the permissions for it."""

from __future__ import annotations

import csv
import io
import re
import threading
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.service import course
from tests.web.people import PASSWORD, Small
from tests.web.test_staff import entries
from tests.web.test_student import page, sent, text

TA = {"role": "ta", "last_name": "X"}


def place(at: Small, *parts: object) -> str:
    """Return an address below the list of members."""
    return "/".join([f"{at.base}staff/members", *map(str, parts)]) + ("/" if not parts else "")


def member_of(at: Small, role: str) -> Any:
    """Return the member with the account of a role."""
    from autograder.service.models import Member

    return Member.objects.get(course=at.record, account=at.account(role))


def listed(at: Small, **fields: str) -> Any:
    """Create a member without an account."""
    from autograder.service.models import Member

    return Member.objects.create(course=at.record, **{"role": "student", **fields})


def test_the_list_is_searched_and_has_pages(at: Small) -> None:
    """Every word of a search is matched with IDs, names and addresses; long lists have pages."""
    from autograder.service.models import Member
    from autograder.web.tables import PER_PAGE

    Member.objects.bulk_create(
        Member(course=at.record, role="student", student=f"s{number:03}", last_name="Many")
        for number in range(PER_PAGE + 1)
    )
    listed(at, student="zoe", first_name="Zoë", last_name="Zuse", email="zz@example.org")
    client = at.client("instructor")
    first, second = (text(client.get(place(at), {"page": number})) for number in (1, 2))
    last = f"s{PER_PAGE:03}"
    assert ("s000" in first, last in first) == (True, False)
    assert ("s000" in second, last in second) == (False, True)
    for search in ("zuse zo", "ZZ@EXAMPLE", "zoe"):
        content = text(client.get(place(at), {"q": search}))
        assert ("zoe" in content, "s000" in content) == (True, False), search
    assert "0 of " in text(client.get(place(at), {"q": "zuse many"}))
    assert "zoe" not in text(client.get(place(at), {"role": "instructor"}))
    content = text(client.get(place(at), {"q": "many", "role": "student", "sort": "-student"}))
    assert "q=many&amp;role=student&amp;sort=-student&amp;page=2" in content
    assert "q=many&amp;role=student&amp;sort=email" in content


def test_umlauts_are_sorted_and_found_beside_their_letters(at: Small) -> None:
    """Umlauts are sorted and found like their base letters, whatever the locale of the system."""
    for student, name in (("s1", "Zorn"), ("s2", "Öztürk"), ("s3", "Nolte"), ("s4", "Ärmel")):
        listed(at, student=student, last_name=name)
    client = at.client("instructor")
    content = text(client.get(place(at)))
    places = [content.index(f">{name}</a>") for name in ("Ärmel", "Nolte", "Öztürk", "Zorn")]
    assert places == sorted(places)
    assert "Öztürk" in text(client.get(place(at), {"q": "ozturk"}))


def test_one_member_is_added_with_a_link(at: Small) -> None:
    """A student needs an unused ID; errors are shown next to the field, and no member is added."""
    from autograder.service.models import Member

    client = at.client("instructor")
    form = {"role": "student", "student": "ada", "last_name": "Lovelace"}
    answer = client.post(place(at, "add"), form, follow=True)
    assert "/app/join/" in text(answer)
    assert "<title>Lovelace (ada)" in text(answer)
    (_, status), *_ = answer.redirect_chain
    assert 302 == status, "a reload adds nobody"
    assert "/app/join/" not in text(client.get(answer.redirect_chain[-1][0])), "shown once"
    assert ("add member", None, {"role": "student", "student": "ada", "last_name": "Lovelace"}) in entries(at)
    for wrong, reason in (
        ("ada", "ada is already in this course"),
        ("", "not a valid student ID"),
        ("../x", "not a valid"),
    ):
        assert reason in text(client.post(place(at, "add"), {"role": "student", "student": wrong})), wrong
    assert 1 == Member.objects.filter(course=at.record, role="student").count()
    assert "Enter a valid email" in text(client.post(place(at, "add"), {**TA, "email": "nonsense"}))
    assert "Enter a name or an e-mail" in text(client.post(place(at, "add"), {"role": "ta"}))
    long = client.post(place(at, "add"), {**TA, "first_name": "x" * 151})
    assert "at most 150 characters" in text(long)
    assert "maxlength" not in text(long), "no browser cuts it"
    assert not Member.objects.filter(course=at.record, role="ta").exists()


def test_roles_are_given_downwards(at: Small) -> None:
    """Instructors add TAs, administrators all roles; no one changes members above them, or themselves."""
    from autograder.service.models import Member

    instructor, administrator = at.client("instructor"), at.client("administrator")
    assert "/app/join/" in text(instructor.post(place(at, "add"), TA, follow=True))
    refused = text(instructor.post(place(at, "add"), {**TA, "role": "instructor"}))
    assert "/app/join/" not in refused
    assert "/app/join/" in text(
        administrator.post(place(at, "add"), {**TA, "role": "instructor"}, follow=True)
    )
    roles = Member.objects.filter(course=at.record, account=None).values_list("role", flat=True)
    assert {"ta", "instructor"} == set(roles)
    above, member = member_of(at, "administrator"), member_of(at, "instructor")
    for number in (above.pk, member.pk):
        assert "Remove from the course" not in text(instructor.get(place(at, number, "")))
        assert 403 == instructor.post(place(at, number, "remove")).status_code
        assert 403 == instructor.post(place(at, number, ""), TA).status_code
    assert 403 == administrator.post(place(at, above.pk, "remove")).status_code
    assert 302 == administrator.post(place(at, member.pk, "remove")).status_code


def test_a_role_is_changed_and_noted(at: Small) -> None:
    """A student can become a TA and a student again, but the student ID never changes."""
    at.account("student")
    client, ada = at.client("instructor"), member_of(at, "student")
    assert 302 == client.post(place(at, ada.pk, ""), {**TA, "student": "ada"}).status_code
    ada.refresh_from_db()
    assert ("ta", "") == (ada.role, ada.student)
    back = {"role": "student", "student": "ada", "last_name": "X"}
    assert "not a valid student ID" in text(client.post(place(at, ada.pk, ""), {**back, "student": ""}))
    client.post(place(at, ada.pk, ""), back)
    assert "cannot be changed" in text(client.post(place(at, ada.pk, ""), {**back, "student": "bob"}))
    ada.refresh_from_db()
    assert ("student", "ada") == (ada.role, ada.student)
    assert ["change member", "change member"] == [action for action, _, _ in entries(at)]
    assert "ta" == entries(at)[0][2]["role"]


def test_removing_ends_sessions_and_keys_at_once(at: Small) -> None:
    """Attempts stay, old links and class lists in the folder do not restore the member, but staff can."""
    from autograder.grading.store import Student
    from autograder.service.models import Member, ProgramKey
    from autograder.service.store import DatabaseStore
    from autograder.web.account import create_invitation

    student, client = at.client("student"), at.client("instructor")
    student.post("/app/keys/", {"label": "laptop", "scopes": ["submit"]})
    student.post(page(at), sent(course.released(at.folder)))
    ada = member_of(at, "student")
    client.post(place(at, ada.pk, "remove"))
    assert student.get("/app/").headers["location"].startswith("/app/accounts/login/")
    assert not ProgramKey.objects.filter(account=at.account("student")).exists()
    assert 1 == at.offer.attempts.count()
    DatabaseStore(at.record).enroll_students([Student("ada", "Ada")])
    assert not Member.objects.filter(course=at.record, student="ada").exists()
    assert 404 == at.client("nobody").get(create_invitation(ada)[0]).status_code
    assert 404 == client.post(place(at, ada.pk, "invitation")).status_code
    assert "ada" in text(client.get(place(at), {"role": "removed"}))
    assert 302 == client.post(place(at, ada.pk, "restore")).status_code
    assert 404 == client.post(place(at, ada.pk, "restore")).status_code, "only once"
    assert "/app/join/" in text(client.post(place(at, ada.pk, "invitation"), follow=True))
    assert ["remove member", "restore member", "invite"] == [action for action, _, _ in entries(at)][-3:]


def test_keys_for_another_course_stay(at: Small) -> None:
    """A user who is a member of another course keeps their keys, which no longer work for this course."""
    from autograder.service.models import CourseRecord, Member, ProgramKey
    from autograder.web.account import hash_secret

    account = at.account("student")
    other = CourseRecord.objects.create(slug=f"{at.record.slug}-too", title="Other", secret=bytes(32))
    Member.objects.create(course=other, account=account, role="student", student="ada")
    secret = f"key of {at.record.slug}"
    ProgramKey.objects.create(account=account, digest=hash_secret(secret), label="x")
    at.client("instructor").post(place(at, member_of(at, "student").pk, "remove"))
    answer = at.client("nobody").get("/api/courses", headers={"authorization": f"Bearer {secret}"})
    assert [other.slug] == [entry["slug"] for entry in answer.json()["items"]]


def test_a_class_list_brings_removed_students_back(at: Small) -> None:
    """Uploading a class list restores removed students."""
    from autograder.service.models import Member

    client, ada = at.client("instructor"), listed(at, student="ada")
    client.post(place(at, ada.pk, "remove"))
    client.post(place(at, "list"), {"list": SimpleUploadedFile("list.csv", b"id\nada\n")})
    assert Member.objects.filter(course=at.record, student="ada").exists()


def test_everybody_is_invited_with_one_file(at: Small) -> None:
    """Every link works, no cell is a formula, and instructors cannot invite members above TAs."""
    listed(at, student="ada", first_name="=1+1")
    listed(at, role="instructor", last_name="Above")
    client = at.client("instructor")
    answer = client.post(place(at, "invitations.csv"))
    assert answer.content.startswith(b"\xef\xbb\xbfrole;"), "else spreadsheet programs damage umlauts"
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")), delimiter=";"))
    assert [("student", "ada", "'=1+1")] == [(row["role"], row["student"], row["first_name"]) for row in rows]
    assert answer.headers["Content-Disposition"].startswith("attachment")
    link = rows[0]["link"].removeprefix("http://testserver")
    assert 200 == at.client("nobody").get(link).status_code
    client.post(place(at, "invitations.csv"))
    assert 404 == at.client("nobody").get(link).status_code, "a newer one takes its place"
    assert ("invite everybody", None, ["ada"]) in entries(at)


def test_a_lost_second_factor_is_reset(at: Small) -> None:
    """Only an administrator of the service can reset it, which ends all sessions of the account."""
    from allauth.mfa.models import Authenticator
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    student, account = at.client("student"), at.account("student")
    offered, ada = at.client("superuser"), member_of(at, "student")
    assert "Reset second factor" not in text(offered.get(place(at, ada.pk, "")))
    TOTP.activate(account, generate_totp_secret())
    assert "Reset second factor" in text(offered.get(place(at, ada.pk, "")))
    RecoveryCodes.activate(account)
    reset = place(at, member_of(at, "student").pk, "factor")
    assert [403, 403] == [at.client(role).post(reset).status_code for role in ("instructor", "administrator")]
    assert 2 == Authenticator.objects.filter(user=account).count()
    assert "second factor of ada was removed" in text(at.client("superuser").post(reset, follow=True))
    assert not Authenticator.objects.filter(user=account).exists()
    assert 302 == student.get(at.base).status_code
    visitor = at.client("nobody")
    signed_in = visitor.post("/app/accounts/login/", {"login": account.username, "password": PASSWORD})
    assert "/app/" == signed_in.headers["location"]
    assert ("reset second factor", None, None) in entries(at)


@pytest.mark.parametrize(
    "action", ["add", "list", "invitations.csv", "1/", "1/remove", "1/restore", "1/factor"]
)
def test_forms_of_other_sites_are_refused(at: Small, action: str) -> None:
    """Forms without the CSRF token are rejected."""
    client = at.client("superuser", enforce_csrf_checks=True)
    assert 403 == client.post(place(at, action), TA).status_code


def test_an_upload_of_a_removed_student_is_refused(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload is rejected if the student is removed while the files are being sent."""
    from autograder.service import uploads

    student, instructor, ada = at.client("student"), at.client("instructor"), member_of(at, "student")
    placed = uploads.place_upload

    def removed_meanwhile(*arguments: Any) -> Any:
        assert 302 == instructor.post(place(at, ada.pk, "remove")).status_code
        return placed(*arguments)

    monkeypatch.setattr(uploads, "place_upload", removed_meanwhile)
    student.post(page(at), sent(course.released(at.folder)))
    assert not at.offer.attempts.exists()


def test_removing_waits_for_an_upload_that_is_being_stored(
    at: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member's row is locked until the attempt is stored, so it cannot appear after the removal."""
    from django.db import OperationalError, connections, transaction

    from autograder.service import tasks
    from autograder.service.models import Member

    student, ada, refused = at.client("student"), member_of(at, "student"), []

    def try_to_lock() -> None:
        try:
            with transaction.atomic():
                Member.objects.select_for_update(nowait=True).get(pk=ada.pk)
        except OperationalError:
            refused.append(True)
        finally:
            connections.close_all()

    def enqueue(*_: object) -> bool:
        thread = threading.Thread(target=try_to_lock)
        thread.start()
        thread.join()
        return True

    monkeypatch.setattr(tasks, "enqueue_job", enqueue)
    student.post(page(at), sent(course.released(at.folder)))
    assert [True] == refused
    assert 1 == at.offer.attempts.count()


def test_the_log_is_filtered_and_exported(at: Small) -> None:
    """The log is filtered by user, action and day; the file matches the page, and no cell is a formula."""
    from autograder.service import audit

    client = at.client("instructor")
    audit.record_action("=ada", "visible", "small", course=at.record, before=False, after=True)
    audit.record_action("bob", "published", "small", course=at.record, after={"x": 1})
    log = f"{at.base}staff/audit/"

    def found(**wanted: str) -> list[str]:
        answer = client.get(f"{log}log.csv", wanted)
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        shown = re.search(r"(\d+) entr(?:y|ies)", text(client.get(log, wanted)))
        assert shown
        assert len(rows) == int(shown[1])
        return [row["user"] for row in rows]

    assert ["'=ada", "bob"] == found()
    assert ["bob"] == found(who="BO")
    assert ["'=ada"] == found(action="visible")
    assert [] == found(since="2100-01-01")
    assert ["'=ada", "bob"] == found(since="2000-01-01", until="2100-01-01")
    assert [] == found(until="2000-01-01")
    assert ["'=ada", "bob"] == found(since="nonsense")
    assert "marks published" in text(client.get(log, {"who": "bob"}))


def test_the_log_has_pages(at: Small) -> None:
    """The newest entries come first, and the filter applies to the next page."""
    from autograder.service import audit
    from autograder.web.audit_log import ON_A_PAGE

    for number in range(ON_A_PAGE + 1):
        audit.record_action("bob", "visible", f"number {number}.", course=at.record)
    client, log = at.client("instructor"), f"{at.base}staff/audit/"
    first = text(client.get(log, {"who": "bob"}))
    assert ("number 0." in first, f"number {ON_A_PAGE}." in first) == (False, True)
    assert "who=bob&amp;page=2" in first
    assert "number 0." in text(client.get(log, {"who": "bob", "page": "2"}))


def test_demo_accounts_come_back_at_each_start(at: Small) -> None:
    """Demo accounts are restored even if members were added, removed, or got another role or account."""
    from autograder.service.models import Account, Member
    from autograder.web.demo_accounts import create_accounts

    slug = at.record.slug
    account = at.account("student", "ben")
    Member.objects.create(course=at.record, role="student", student="cem")
    Account.objects.create(username=f"{slug}-STUDENT")

    def start() -> str:
        return "\n".join(create_accounts(slug))

    assert "student (cem)" in start(), "ben has an account"
    Member.objects.create(course=at.record, role="student", student="aaa")
    Member.objects.create(course=at.record, role="instructor", first_name="Demo")
    assert "student (cem)" in start(), "the account stays with its member"
    client = at.client("administrator")
    cem = Member.objects.get(course=at.record, student="cem")
    client.post(place(at, cem.pk, "remove"))
    assert "student (aaa)" in start()
    client.post(place(at, Member.objects.get(student="aaa", course=at.record).pk, ""), TA)
    assert "ta: sign in" in start()
    assert Member.objects.get(course=at.record, student="ben").account == account


def test_a_demo_without_free_students_makes_one(at: Small) -> None:
    """The new student has an unused ID."""
    from autograder.service.models import Member
    from autograder.web.demo_accounts import create_accounts

    at.account("student", "ben")
    Member.objects.create(course=at.record, role="student", student="demo-1", removed_at=at.record.created_at)
    assert "student (demo-2)" in "\n".join(create_accounts(at.record.slug))


def test_class_list_is_entered_at_once(at: Small) -> None:
    """The number of queries does not depend on the number of students; the last of several entries counts."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from autograder.grading.store import Student
    from autograder.service.models import Member
    from autograder.service.store import DatabaseStore

    numbers = []
    for count in (2, 4, 50):  # later lists add students and change known ones
        students = [Student(f"n{number}", "Ada", email=f"{count}@example.org") for number in range(count)]
        with CaptureQueriesContext(connection) as queries:
            DatabaseStore(at.record).enroll_students([Student("n0", "Eve", "Smith"), *students])
        numbers.append(len(queries))
    assert numbers[1] == numbers[2]
    stored = Member.objects.filter(course=at.record, first_name="Ada", email="50@example.org")
    assert (50, "Smith") == (stored.count(), stored.get(student="n0").last_name)
