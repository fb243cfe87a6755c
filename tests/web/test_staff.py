"""Staff pages: visibility, publication, dates, extensions, class list, invitations and the audit log."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.service import course
from tests.support import small_course
from tests.web.people import PASSWORD, Small
from tests.web.test_student import text


def page(at: Small) -> str:
    """Return the address of the assignment's page for staff."""
    return f"{at.base}staff/a/{at.offer.assignment}/"


def entries(at: Small) -> list[tuple[str, Any, Any]]:
    """Return the entries of the course in the audit log."""
    from autograder.service.models import AuditEntry

    rows = AuditEntry.objects.filter(course=at.record).order_by("pk")
    return list(rows.values_list("action", "before", "after"))


def graded(at: Small, student: str) -> Any:
    """Return an attempt with a result."""
    return canned(at, course.handed_in(at.offer, student, course.released(at.folder)))


def canned(at: Small, attempt: Any) -> Any:
    """Give an attempt a result that needs manual review."""
    from autograder.core.records import GradingResult
    from autograder.grading import grades
    from autograder.service import attempts
    from autograder.web import assignment_details

    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    rubric = assignment_details.get_assignment(at.offer).rubric
    score = grades.leave_open(attempt.student, rubric, "a person looks", (), "namespaces")
    assert attempts.keep_result(claimed, GradingResult(score, digest=attempt.digest), rubric, "e" * 64)
    return attempt


def test_what_students_see_is_switched_and_noted(at: Small) -> None:
    """Visibility and publication can be switched both ways, and each change is logged."""
    client = at.client("instructor")
    for route in ("visible", "published"):
        for wanted in ("yes", "no"):
            client.post(f"{page(at)}{route}", {"wanted": wanted})
            at.offer.refresh_from_db()
            switched = at.offer.visible if route == "visible" else at.offer.published_at is not None
            assert switched is (wanted == "yes")
    assert [
        ("visible", True, True),
        ("visible", True, False),
        ("published", False, True),
        ("published", True, False),
    ] == entries(at)
    assert "published" in text(client.get(f"{at.base}staff/audit/"))


def test_overview_polls_only_its_progress(at: Small) -> None:
    """While attempts are waiting, the overview polls only the part that changes."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    client = at.client("instructor")
    assert "<h1" in text(client.get(page(at)))
    part = text(client.get(page(at), headers={"HX-Request": "true"}))
    assert "0 of 1" in part
    assert "hx-get" in part
    assert "<h" not in part


def test_dates_are_checked_saved_and_followed(at: Small) -> None:
    """Invalid dates are reported and not saved; valid ones regrade the students concerned."""
    client = at.client("instructor")
    ada, bob = (graded(at, student) for student in ("ada", "bob"))
    content = text(client.post(f"{page(at)}times", {"start": "2031-02-03T10:00", "cap": "7"}))
    assert "not saved" in content
    assert 'value="2031-02-03T10:00"' in content  # the input is kept
    assert re.search(r'name="cap"[^>]* value="7"', content)
    assert {} == type(at.offer).objects.get(pk=at.offer.pk).times
    fields = {
        "start": "2031-02-03T10:00:00",
        "end": "2031-02-03T12:00:00",
        "zone": "Europe/Berlin",
        "late": "accept",
    }
    client.post(f"{page(at)}times", fields)
    assert fields == type(at.offer).objects.get(pk=at.offer.pk).times
    assert {"waiting"} == {type(attempt).objects.get(pk=attempt.pk).state for attempt in (ada, bob)}
    assert 'value="2031-02-03T12:00"' in text(client.get(f"{page(at)}settings/"))
    client.post(f"{page(at)}times", {**fields, "start": "2031-02-03T10:00", "end": "2031-02-03T12:00"})
    assert fields == type(at.offer).objects.get(pk=at.offer.pk).times  # in the format that browsers send


def test_an_extension_is_one_students(at: Small) -> None:
    """Only the extended student is regraded; unknown names and invalid values are reported."""
    ada, bob = (graded(at, student) for student in ("ada", "bob"))
    at.account("student", "ada")
    end = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)).isoformat()
    type(at.offer).objects.filter(pk=at.offer.pk).update(times={"end": end, "late": "refuse"})
    client = at.client("instructor")
    client.post(f"{page(at)}extension", {"student": "ada", "extra_minutes": "120"})
    times = type(at.offer).objects.get(pk=at.offer.pk).times
    assert {"ada": {"extra_minutes": 120}} == times["students"]
    assert ("waiting", "graded") == tuple(
        type(attempt).objects.get(pk=attempt.pk).state for attempt in (ada, bob)
    )
    wrong = {
        "eve is neither a student on the class list nor a group": ("eve", "5"),
        "not saved": ("ada", "x"),
    }
    for message, (student, minutes) in wrong.items():
        fields = {"student": student, "extra_minutes": minutes}
        shown = text(client.post(f"{page(at)}extension", fields))
        assert message in shown
        assert f'value="{minutes}"' in shown  # the input is kept
    content = text(client.post(f"{page(at)}extension", {"student": "ada"}, follow=True))
    assert "ada has no extension any more" in content
    assert not type(at.offer).objects.get(pk=at.offer.pk).times["students"]
    content = text(client.post(f"{page(at)}extension", {"student": "ada"}, follow=True))
    assert "Nothing was changed: ada has no extension" in content


def test_an_extension_is_given_by_name(at: Small) -> None:
    """A unique name identifies a student, and the table shows the deadline with the extra minutes."""
    from autograder.service.models import Member

    for student, first, last in (("a1", "Jörg", "Müller"), ("a2", "Ada", "Twin"), ("a3", "Ada", "Twin")):
        Member.objects.create(
            course=at.record, role="student", student=student, first_name=first, last_name=last
        )
    type(at.offer).objects.filter(pk=at.offer.pk).update(times={"end": "2031-01-02T10:00:00Z"})
    client = at.client("instructor")
    for typed, minutes in (("jörg müller", "5"), ("Müller, Jörg", "90"), ("Ada Twin", "7")):
        client.post(f"{page(at)}extension", {"student": typed, "extra_minutes": minutes})
    assert {"a1": {"extra_minutes": 90}} == type(at.offer).objects.get(pk=at.offer.pk).times["students"]
    assert "11:30" in text(client.get(f"{page(at)}settings/"))


def test_what_an_extension_leaves_empty_stays_as_it_is(at: Small) -> None:
    """Empty fields keep their values; an individual deadline replaces extra minutes."""
    at.account("student", "ada")
    type(at.offer).objects.filter(pk=at.offer.pk).update(times={"end": "2026-01-02T10:00:00Z"})
    client, end = at.client("instructor"), "2026-01-03T10:00:00Z"
    for fields, expected in (
        ({"extra_minutes": "120"}, {"extra_minutes": 120}),
        ({"late": "accept"}, {"extra_minutes": 120, "late": "accept"}),
        ({"extra_minutes": "60"}, {"extra_minutes": 60, "late": "accept"}),
        ({"end": end}, {"end": end, "late": "accept"}),
        ({"late": "as-for-all"}, {"end": end}),
        ({"extra_minutes": "5", "late": "refuse"}, {"extra_minutes": 5, "late": "refuse"}),
    ):
        client.post(f"{page(at)}extension", {"student": "ada", **fields})
        assert {"ada": expected} == type(at.offer).objects.get(pk=at.offer.pk).times["students"]
    client.post(f"{page(at)}extension", {"student": "ada"})
    client.post(f"{page(at)}extension", {"student": "ada", "late": "as-for-all"})
    assert not type(at.offer).objects.get(pk=at.offer.pk).times["students"]


def test_one_late_attempt_is_decided_on_the_page(at: Small) -> None:
    """The decision applies to one student, and times are shown in the course's time zone."""
    at.account("student", "ada")
    graded(at, "ada")
    zone, end = "Asia/Tokyo", "2026-01-02T10:00:00"
    type(at.offer).objects.filter(pk=at.offer.pk).update(times={"end": end, "zone": zone, "late": "refuse"})
    client = at.client("instructor")
    shown = text(client.get(page(at))) + text(client.get(f"{page(at)}settings/"))
    assert (
        '<option value="">unchanged</option><option value="as-for-all">same as for everybody</option>'
        in shown
    )
    assert "(Asia/Tokyo)" in shown
    assert "(UTC)" not in shown
    client.post(f"{page(at)}extension", {"student": "ada", "late": "accept"})
    assert {"ada": {"late": "accept"}} == type(at.offer).objects.get(pk=at.offer.pk).times["students"]
    assert '<td data-of="Late submissions">count without penalty</td>' in text(
        client.get(f"{page(at)}settings/")
    )


def test_staff_read_every_moment_by_the_clock_of_the_course(at: Small) -> None:
    """All times use the course's time zone, or UTC if the assignment has no dates."""
    from django.db import transaction
    from django.utils import timezone

    from autograder.service import audit
    from autograder.service.models import Member, VersionTrial
    from autograder.service.models_results import Comparison

    client = at.client("instructor")
    member = Member.objects.create(course=at.record, role="student", student="ada")
    account = at.account("instructor")
    assert account is not None
    with transaction.atomic():
        audit.record_action("ada", "try version", "small", course=at.record)
    version = at.offer.version
    trial = VersionTrial.objects.create(offer=at.offer, version=version, base=version, by=account)
    comparison = {"works": 0, "pairs": [], "others": {}, "remarks": []}
    Comparison.objects.create(
        offer=at.offer, asked_at=timezone.now(), made_at=timezone.now(), pairs=comparison
    )
    for zone in ("Asia/Tokyo", ""):
        times = {"end": "2026-01-02T10:00:00", "zone": zone} if zone else {}
        type(at.offer).objects.filter(pk=at.offer.pk).update(times=times, published_at=timezone.now())
        pages = {
            "audit": client.get(f"{at.base}staff/audit/"),
            "invitation": client.post(f"{at.base}staff/members/{member.pk}/invitation", follow=True),
            "trial": client.get(f"{at.base}staff/trials/{trial.pk}/"),
            "similar": client.get(f"{page(at)}similar/"),
        }
        other = "UTC" if zone else "Asia/Tokyo"
        assert dict.fromkeys(pages, (True, False)) == {
            name: (f"({zone or 'UTC'})" in text(content), f"({other})" in text(content))
            for name, content in pages.items()
        }


def test_a_class_list_is_taken_over(at: Small) -> None:
    """Names are added and updated, no student is removed, and errors name the line."""
    from autograder.service.models import Member

    client, place = at.client("instructor"), f"{at.base}staff/members/list"

    def sent(content: str) -> str:
        upload = SimpleUploadedFile("roster.csv", content.encode())
        return text(client.post(place, {"list": upload}, follow=True))

    shown = sent("id,first_name,last_name,email\nada,Ada,Lovelace,ada@example.org\nbob,Bob,,\n")
    assert "2 students" in shown
    assert "Lovelace" in shown
    assert "stands twice" in sent("id\nada\nada\n")
    assert "line 3: 3 values for 2 columns" in sent("id;first_name\nada;Augusta\nbob;extra;Bob\n")
    assert "is not an e-mail address" in sent("id,first_name,email\nada,Augusta,Lovelace\n")
    assert "The list has 1 student; added or changed: 1." in sent("id,first_name\nada,Augusta\n")
    names = dict(Member.objects.filter(course=at.record, role="student").values_list("student", "first_name"))
    assert {"ada": "Augusta", "bob": "Bob"} == names


def test_an_invitation_makes_an_account_once(at: Small) -> None:
    """The link is shown once, creates the student's account, and is then invalid."""
    from autograder.service.models import Account, Member

    member = Member.objects.create(course=at.record, role="student", student="ada")
    client = at.client("instructor")
    place = f"{at.base}staff/members/{member.pk}/invitation"
    links = [
        re.search(r"http://testserver(/app/join/[^<]+)", text(client.post(place, follow=True)))
        for _ in range(2)
    ]
    first, second = (link[1] if link else "" for link in links)
    visitor = at.client("nobody")
    assert 404 == visitor.get(first).status_code
    weak = {"username": f"ada-{at.record.slug}", "password1": "12345678", "password2": "12345678"}
    assert "password" in text(visitor.post(second, weak))
    strong = {**weak, "password1": PASSWORD, "password2": PASSWORD}
    answer = visitor.post(second, strong, follow=True)
    assert at.base == answer.redirect_chain[-1][0]
    assert 404 == at.client("nobody").get(second).status_code
    account = Account.objects.get(username=strong["username"])
    assert account.password.startswith("argon2")
    assert [member.pk] == list(account.memberships.values_list("pk", flat=True))
    assert 404 == client.post(place).status_code  # the member has an account already


def test_the_page_of_an_invitation_has_our_words(at: Small) -> None:
    """The texts of the form are the service's own in both languages, not Django's."""
    from autograder.service.models import Member
    from autograder.web.account import create_invitation

    member = Member.objects.create(course=at.record, student="ada", role="student")
    link, _ = create_invitation(member)
    for language, name in (("en", "User name"), ("de", "Benutzername")):
        content = text(at.client("nobody", headers={"Accept-Language": language}).get(link))
        assert name in content
        assert "At least 8 characters" in content or "Mindestens 8 Zeichen" in content
        assert "150 characters or fewer" not in content
        assert "Password confirmation" not in content


def test_the_page_of_an_invitation_says_whose_it_is(at: Small) -> None:
    """The page shows course, name and role. Signing in with an existing account returns to the link."""
    from autograder.service.models import Account, Member
    from autograder.web.account import create_invitation

    member = Member.objects.create(
        course=at.record, student="zoe", role="student", first_name="Zoë", last_name="Zuse"
    )
    link, _ = create_invitation(member)
    visitor = at.client("nobody", headers={"Accept-Language": "de"})
    content = text(visitor.get(link))
    assert all(part in content for part in (at.record.title, "Zoë Zuse zoe", f"login/?next={link}"))
    weak = {"username": f"zoe-{at.record.slug}", "password1": "12345678", "password2": "12345678"}
    assert f'name="next" value="{link}"' in text(visitor.post(link, weak)), "another language keeps the link"
    visitor.post(link, {**weak, "password1": PASSWORD, "password2": PASSWORD})
    assert "de" == Account.objects.get(username=weak["username"]).language
    account = at.account("stranger")
    assert account is not None
    sign_in = {"login": account.username, "password": PASSWORD, "next": link}
    assert link == at.client("nobody").post("/app/accounts/login/", sign_in).headers["location"]


def test_the_language_is_changed_on_the_page_of_a_refused_form(at: Small) -> None:
    """The page shown after a rejected form has an address that can be opened with GET."""
    client = at.client("instructor")
    settings = f"{page(at)}settings/"
    refused = client.post(f"{page(at)}extension", {"student": "eve", "extra_minutes": "5"})
    assert f'name="next" value="{settings}"' in text(refused)
    members = f"{at.base}staff/members/"
    assert f'name="next" value="{members}"' in text(client.post(f"{members}add", {"role": "ta"}))
    webhook = client.post(f"{at.base}staff/notifications/", {"address": "http://plain.example.org"})
    assert f'name="next" value="{at.base}staff/notifications/"' in text(webhook)
    assert 'value="http://plain.example.org"' in text(webhook), "what was refused is still there"


def test_staff_who_follow_the_address_of_students_are_led_on(at: Small) -> None:
    """Staff who open the address for students are redirected to the staff page."""
    assert f"{at.base}staff/" == at.client("ta").get(at.base).headers["location"]
    assert 200 == at.client("student").get(at.base).status_code


def test_a_forgotten_password_is_chosen_anew(at: Small) -> None:
    """An administrator's link resets a password once and ends all sessions."""
    from autograder.service.models import Member

    signed_in = at.client("student")
    member = Member.objects.get(course=at.record, student="ada")
    place = f"{at.base}staff/members/{member.pk}/password"
    assert [403, 403] == [at.client(role).post(place).status_code for role in ("instructor", "administrator")]
    match = re.search(
        r"http://testserver(/app/join/[^<]+)", text(at.client("superuser").post(place, follow=True))
    )
    assert match
    link, visitor = match[1], at.client("nobody")
    assert "username" not in text(visitor.get(link)).partition("<form")[2]
    new = PASSWORD + " anew"
    answer = visitor.post(link, {"new_password1": new, "new_password2": new})
    assert (302, "/app/accounts/login/") == (answer.status_code, answer.headers["location"])
    assert 404 == visitor.get(link).status_code
    assert 302 == signed_in.get(at.base).status_code
    answer = visitor.post("/app/accounts/login/", {"login": member.account.username, "password": new})
    assert (302, "/app/") == (answer.status_code, answer.headers["location"])
    assert ">password reset<" not in text(at.client("instructor").get(f"{at.base}staff/audit/"))


def test_one_account_joins_several_courses(at: Small) -> None:
    """A signed-in user can accept an invitation, but not be two members of one course."""
    from autograder.service.models import Account, Invitation, Member
    from autograder.web.account import create_invitation

    client = at.client("stranger")
    bob = Member.objects.create(course=at.record, role="student", student="bob")
    link = create_invitation(bob)[0]
    assert "Join as" in text(client.get(link))
    assert at.base == client.post(link, {"own": "1"}, follow=True).redirect_chain[-1][0]
    bob.refresh_from_db()
    assert at.account("stranger") == bob.account
    zoe = create_invitation(Member.objects.create(course=at.record, role="student", student="zoe"))[0]
    assert "Join as" not in text(client.get(zoe))
    assert "Join as" not in text(client.post(zoe, {"own": "1"}))
    assert not Account.objects.filter(memberships__course=at.record, memberships__student="zoe").exists()
    assert 1 == Invitation.objects.filter(member__course=at.record).count()


def test_nothing_of_the_accounts_sends_mail(at: Small) -> None:
    """The pages of django-allauth for mail are disabled."""
    for place in ("password/reset/", "email/", "password/set/", "login/code/confirm/"):
        assert 404 == at.client().post(f"/app/accounts/{place}").status_code, place


def test_a_failed_attempt_is_seen_and_tried_again(at: Small) -> None:
    """Staff see the reason, and a head TA can retry the attempt."""
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    type(attempt).objects.filter(pk=attempt.pk).update(state="failed", problem="the sandbox <b>failed</b>")
    content = text(at.client("ta").get(f"{page(at)}submissions/"))
    assert "the sandbox &lt;b&gt;failed" in content
    assert "Try again" not in content
    at.client("head-ta").post(f"{at.base}staff/attempts/{attempt.pk}/retry")
    attempt.refresh_from_db()
    assert "waiting" == attempt.state
    assert ("retry", None, None) in entries(at)


def test_results_and_progress_are_shown(at: Small) -> None:
    """The pages show points, open items and progress."""
    graded(at, "ada")
    course.handed_in(at.offer, "bob", course.released(at.folder))
    assert "1 of 2 attempts graded" in text(at.client("ta").get(page(at)))
    content = text(at.client("ta").get(f"{page(at)}submissions/"))
    assert "ada" in content
    assert "of 13" in content
    assert "provisional" in content
    told = text(at.client("ta").get(f"{at.base}staff/progress"))
    assert "1 of 2 attempts graded" in told
    assert "load delay:2s" in told
    assert "mark/" not in told  # only once the class is graded
    assert "iframe" in text(at.client("ta").get(f"{page(at)}of/ada/"))


def test_course_page_leads_to_answers_and_requests_when_everything_is_graded(at: Small) -> None:
    """Whoever opens the course sees what is left to do, and asks for news less often."""
    graded(at, "ada")
    count = at.offer.marks.filter(answered=True).count()
    at.offer.requests.create(student="ada", question="layers", item="layers", reason="why?")
    told = text(at.client("ta").get(f"{at.base}staff/"))
    assert f'href="{page(at)}mark/">{count} waiting</a>' in told
    assert f'href="{page(at)}requests/">1 open regrade request' in told
    assert "load delay:10s" in told


def test_a_new_version_comes_out_of_the_folder(at: Small, tmp_path: Path) -> None:
    """Graded attempts are regraded only on request; an unchanged folder creates no version."""
    folder = course.small(tmp_path / "changed")
    settings.RUNNING.folders[at.record.slug] = folder
    attempt, client = graded(at, "ada"), at.client("instructor")
    assert "Nothing has changed" in text(client.post(f"{page(at)}update", follow=True))
    (folder / "assignments" / "small" / "notes.txt").write_text("for staff")
    assert "Version 2" in text(client.post(f"{page(at)}update", follow=True))
    attempt.refresh_from_db()
    assert (1, "graded") == (attempt.version.number, attempt.state)
    assert "1 attempt is being regraded" in text(client.post(f"{page(at)}again", follow=True))
    attempt.refresh_from_db()
    assert (2, "waiting") == (attempt.version.number, attempt.state)
    small_course.changed(folder / "rubrics" / "small.toml", "version = 1", "version = x")
    assert "Not accepted" in text(client.post(f"{page(at)}update", follow=True))


@pytest.mark.parametrize("change", ["entry", "removed"])
def test_a_log_that_was_changed_says_so(at: Small, change: str) -> None:
    """A changed or removed entry breaks the hash chain of the log."""
    from django.db import transaction

    from autograder.service import audit
    from autograder.service.models import AuditEntry

    with transaction.atomic():
        entries = [audit.record_action("ada", "try", str(number), course=at.record) for number in range(3)]
        assert 0 == audit.find_broken_entry()
        if change == "entry":
            AuditEntry.objects.filter(pk=entries[1].pk).update(who="eve")
            assert entries[1].pk == audit.find_broken_entry()
        else:
            AuditEntry.objects.filter(pk=entries[1].pk).delete()
            assert entries[2].pk == audit.find_broken_entry()
        transaction.set_rollback(True)
