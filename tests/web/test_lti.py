"""LTI launches of learning platforms: who can sign in, with which role; class lists; sending marks."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from jwcrypto.jwk import JWK

from autograder.core.errors import ServiceError
from autograder.web import identity
from tests.web.lms import CONNECT, LTI, ROLES, LearningPlatform
from tests.web.people import Small
from tests.web.test_identity import written
from tests.web.test_staff import graded
from tests.web.test_student import text

if TYPE_CHECKING:
    from autograder.service.models import PlatformCourse
    from autograder.service.platforms import PublishedMark


AGS = "https://purl.imsglobal.org/spec/lti-ags"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps"


def connecting(at: Small, lms: LearningPlatform, role: str) -> Any:
    """Return the browser of a signed-in user who arrived as an instructor of the platform."""
    client = at.client(role)
    assert CONNECT == lms.launch(client, "prof", ("Instructor",)).headers["location"]
    return client


def members(at: Small) -> set[tuple[str, str, bool]]:
    """Return all members of the course: role, student ID or name, and whether they have an account."""
    from autograder.service.models import Member

    rows = Member.objects.filter(course=at.record)
    return {(member.role, member.student or member.last_name, member.account is not None) for member in rows}


def test_a_course_leads_nowhere_before_it_is_connected(at: Small, lms: LearningPlatform) -> None:
    """Students see a message; instructors are asked which course to connect and keep their session."""
    client = at.client("nobody")
    answer = lms.launch(client)
    assert (403, True) == (answer.status_code, "not connected yet" in answer.content.decode())
    assert "sessionid" not in client.cookies
    answer = lms.launch(client, "prof", ("Instructor",))
    assert 302 == answer.status_code
    assert "sessionid" not in answer.cookies
    assert "/app/accounts/login/" in client.get(answer.headers["location"]).headers["location"]
    assert set() == members(at)


@pytest.mark.parametrize("role", ["student", "ta", "head-ta", "stranger"])
def test_who_teaches_nothing_here_connects_nothing(at: Small, lms: LearningPlatform, role: str) -> None:
    """Only instructors of a course here can connect it, whatever their role on the platform."""
    from autograder.service.models import PlatformCourse

    client = connecting(at, lms, role)
    assert "You are not an instructor of any course here" in text(client.get(CONNECT))
    assert 404 == client.post(CONNECT, {"course": at.record.slug}).status_code
    assert not PlatformCourse.objects.filter(course=at.record).exists()


def test_only_who_came_from_the_platform_connects(at: Small, lms: LearningPlatform) -> None:
    """Connecting works once, in the browser of the launch. Otherwise users could connect others' courses."""
    came = connecting(at, lms, "instructor")
    page = text(came.get(CONNECT))
    for named in ("Their course", at.record.title, "Prof Of-Platform"):
        assert named in page
    other = at.client("administrator")
    assert 404 == other.get(CONNECT).status_code
    cookie = came.cookies["lti-connect"]
    other.cookies["lti-connect"] = cookie.value + "x"
    assert 404 == other.get(CONNECT).status_code
    assert ("/app/lti/", True, "Lax") == (cookie["path"], cookie["httponly"], cookie["samesite"])
    assert 302 == came.post(CONNECT, {"course": at.record.slug}).status_code
    assert 404 == came.get(CONNECT).status_code


def test_who_learns_there_is_a_student_here(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """The first launch adds the student to the class list and creates an account; the second uses both."""
    client = at.client("nobody")
    assert at.base == lms.launch(client).headers["location"]
    assert 200 == client.get(at.base).status_code
    again = at.client("nobody")
    lms.launch(again)
    assert client.session["_auth_user_id"] == again.session["_auth_user_id"]
    assert ("student", "ada", True) in members(at)


def test_who_is_on_the_list_keeps_their_place(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """A student on the class list keeps their submissions and their existing account."""
    account = at.account("student", "ada")
    assert account is not None
    client = at.client("nobody")
    lms.launch(client, "number 17", **{f"{LTI}/lis": {"person_sourcedid": "ada"}})
    assert str(account.pk) == client.session["_auth_user_id"]
    other = at.client("nobody")
    answer = lms.launch(other, "number 18", **{f"{LTI}/lis": {"person_sourcedid": "ada"}})
    assert 403 == answer.status_code
    assert "this ID already belongs to somebody else" in answer.content.decode()


@pytest.mark.parametrize(
    ("roles", "role", "leads"),
    [
        (("Instructor",), "instructor", "staff/"),
        (("TeachingAssistant", "Instructor"), "ta", "staff/"),
        (("Instructor#TeachingAssistant",), "ta", "staff/"),
        (("Learner", "Instructor"), "instructor", "staff/"),
        (("Mentor",), "", ""),
        ((), "", ""),
    ],
)
def test_roles_are_those_of_the_platform(at: Small, roles: tuple[str, ...], role: str, leads: str) -> None:
    """Roles are mapped; users who are neither learners nor teachers, such as administrators, get no role."""
    from autograder.service.platforms import get_role

    result = get_role(
        [f"{ROLES}#{name}" for name in roles] + ["http://purl.imsglobal.org/x/system/person#SysAdmin"]
    )
    assert (role or None) == (result and result.value)


def test_who_teaches_there_teaches_here(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> None:
    """Instructors of the platform are instructors here; whoever connected the course keeps their account."""
    client = at.client("nobody")
    assert f"{at.base}staff/" == lms.launch(client, "second", ("Instructor",)).headers["location"]
    assert 200 == client.get(f"{at.base}staff/members/").status_code
    first = at.client("nobody")
    lms.launch(first, "prof", ("Instructor",))
    account = at.account("instructor")
    assert account is not None
    assert str(account.pk) == first.session["_auth_user_id"]


@pytest.mark.parametrize("role", ["Learner", "TeachingAssistant"])
def test_whoever_was_removed_does_not_come_back(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, role: str
) -> None:
    """A removed member cannot return by a launch until staff restore them."""
    from autograder.service.models import Member

    lms.launch(at.client("nobody"), "eve", (role,))
    eve = Member.objects.filter(course=at.record).latest("pk")
    staff, visitor = at.client("administrator"), at.client("nobody")
    assert 302 == staff.post(f"{at.base}staff/members/{eve.pk}/remove").status_code
    assert 403 == lms.launch(visitor, "eve", (role,)).status_code
    assert "_auth_user_id" not in visitor.session
    assert not Member.objects.filter(course=at.record, pk=eve.pk).exists()
    staff.post(f"{at.base}staff/members/{eve.pk}/restore")
    assert 302 == lms.launch(visitor, "eve", (role,)).status_code


def test_an_administrator_is_found_by_nobodys_word(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """A launch never signs in to the account of an administrator of the service."""
    account = at.account("student", "ada")
    assert account is not None
    account.is_superuser = True
    account.save()
    client = at.client("nobody")
    assert 403 == lms.launch(client).status_code
    assert "_auth_user_id" not in client.session


def test_a_login_may_leave_the_client_out(at: Small, lms: LearningPlatform) -> None:
    """A login request may omit ``client_id`` if the platform has only one client here."""
    begun = {"iss": lms.address, "login_hint": "me", "target_link_uri": "http://testserver/"}
    for ask in (at.client("nobody").get, at.client("nobody").post):
        assert f"client_id=of+{at.record.slug}" in ask("/app/lti/login", begun).headers["location"]


def test_whoever_no_longer_teaches_there_does_not_get_in(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """A role that was lost on the platform is rejected, but a TA who became an instructor stays a TA."""
    assert 302 == lms.launch(at.client("nobody"), "second", ("Instructor",)).status_code
    for roles in (("Learner",), ("TeachingAssistant",), ("Mentor",), ()):
        assert 403 == lms.launch(at.client("nobody"), "second", roles).status_code
    assert 302 == lms.launch(at.client("nobody"), "third", ("TeachingAssistant",)).status_code
    assert 302 == lms.launch(at.client("nobody"), "third", ("Instructor",)).status_code
    assert 403 == lms.launch(at.client("nobody"), "third", ("Learner",)).status_code


def test_an_account_of_one_course_is_not_taken_into_another(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """An account of one course is not reused in another, where its student ID may be another person's."""
    from lti_tool.models import LtiContext

    from autograder.service.models import CourseRecord, Member, PlatformCourse

    at.account("student", "ada")
    lms.launch(at.client("nobody"))
    other = CourseRecord.objects.create(slug=f"other-{at.record.slug}", title="Other", secret=b"x" * 32)
    context = {f"{LTI}/context": {"id": "another course there"}}
    lms.launch(at.client("nobody"), "prof", ("Instructor",), **context)
    deployment = connected.context.deployment
    context_there = LtiContext.objects.get(deployment=deployment, id_on_platform="another course there")
    PlatformCourse.objects.create(context=context_there, course=other)
    lms.launch(at.client("nobody"), **context)
    accounts = Member.objects.filter(student="ada", course__in=[at.record, other]).values_list("account")
    assert 2 == len(set(accounts) - {(None,)})


def test_only_the_platforms_own_key_signs(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Reject tokens with another key, changed or missing ones, reuse, and another browser's state."""
    other = JWK.generate(kty="RSA", size=2048)
    client = at.client("nobody")
    assert 400 == lms.launch(client, key=other).status_code
    begun = lms.begun(client)
    token = lms.signed(lms.said(begun, "ada", ("Learner",)))
    for sent in (
        {"id_token": token[:-4] + "AAAA", "state": begun["state"]},
        {"id_token": token},
        {"state": begun["state"]},
        {"id_token": "a.b.c", "state": begun["state"]},
        {},
    ):
        assert 400 == client.post("/app/lti/launch", sent).status_code
    right = {"id_token": token, "state": begun["state"]}
    assert 400 == at.client("nobody").post("/app/lti/launch", right).status_code
    assert 302 == client.post("/app/lti/launch", right).status_code
    assert 400 == client.post("/app/lti/launch", right).status_code


@pytest.mark.parametrize(
    "sent", [{"iss": "https://another.example.org"}, {"client_id": "x"}, {"login_hint": ""}, {"iss": ""}]
)
def test_only_stated_platforms_begin(at: Small, lms: LearningPlatform, sent: dict[str, str]) -> None:
    """Logins from unknown platforms are rejected and not redirected."""
    fields = {"iss": lms.address, "client_id": lms.client, "login_hint": "me", **sent}
    assert 400 == at.client("nobody").post("/app/lti/login", fields).status_code


def test_a_platform_that_is_stated_no_more_is_out(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Platforms that were removed from the file, and deployments that it does not list, are rejected."""
    from autograder.web import lti

    lti.register_platforms([lms.stated(deployments=())])
    assert 403 == lms.launch(at.client("nobody")).status_code
    lti.register_platforms([])
    begun = {"iss": lms.address, "client_id": lms.client, "login_hint": "me"}
    assert 400 == at.client("nobody").post("/app/lti/login", begun).status_code


def test_cookies_of_a_launch_are_for_launches_alone(at: Small, lms: LearningPlatform) -> None:
    """The cookies of a launch are restricted to its path, secure, and HTTP-only."""
    begun = {"iss": lms.address, "client_id": lms.client, "login_hint": "me"}
    client = at.client("nobody")
    cookies = client.post("/app/lti/login", begun, secure=True).cookies
    assert cookies
    for cookie in cookies.values():
        assert ("/app/lti/", True, True, "None") == (
            cookie["path"],
            cookie["secure"],
            cookie["httponly"],
            cookie["samesite"],
        )


def test_a_link_leads_to_its_assignment(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> None:
    """A custom parameter selects the assignment; unknown or hidden ones lead students to the course page."""
    name, custom = at.offer.assignment, f"{LTI}/custom"
    client = at.client("nobody")
    for wanted, leads in ((name, f"a/{name}/"), ("nothing", ""), ("../x", "")):
        answer = lms.launch(client, **{custom: {"assignment": wanted}})
        assert f"{at.base}{leads}" == answer.headers["location"]
    at.offer.visible = False
    at.offer.save()
    assert at.base == lms.launch(client, **{custom: {"assignment": name}}).headers["location"]
    answer = lms.launch(client, "prof", ("Instructor",), **{custom: {"assignment": name}})
    assert f"{at.base}staff/a/{name}/" == answer.headers["location"]


def person(name: str, *roles: str, **facts: Any) -> dict[str, Any]:
    """Return an entry of the platform's class list."""
    fields = {"user_id": f"number of {name}", "roles": [f"{ROLES}#{role}" for role in roles or ("Learner",)]}
    return {"status": "Active", "given_name": name.title(), "lis_person_sourcedid": name, **fields, **facts}


def test_the_class_list_is_taken_over(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> None:
    """The import reads all pages, skips staff and inactive users, and can be repeated."""
    from autograder.service.models import AuditEntry

    at.account("student", "bob")
    lms.members = [
        person("ada", email="ada@example.org"),
        person("bob"),
        person("prof", "Instructor"),
        person("gone", status="Inactive"),
        person("../x"),
        person("zoe"),
        {"user_id": "no id", "roles": ["Learner"]},
    ]
    client = at.client("instructor")
    place = f"{at.base}staff/platforms/{connected.pk}/list"
    for _ in range(2):
        page = text(client.post(place, follow=True))
        assert "Imported 3 students." in page
        assert "Not imported" in page
    students = {who for role, who, _ in members(at) if role == "student"}
    assert {"ada", "bob", "zoe"} == students
    assert AuditEntry.objects.filter(course=at.record, action="class list").count() == 2
    assert all(request["grant_type"] == "client_credentials" for request in lms.asked)
    again = at.client("nobody")
    lms.launch(again, "number of bob", **{f"{LTI}/lis": None})  # linked by the class list
    account = at.account("student", "bob")
    assert account is not None
    assert str(account.pk) == again.session["_auth_user_id"]


@pytest.mark.parametrize(
    "answer",
    [
        [{"roles": []}],
        [{"user_id": 7, "roles": []}],
        [{"user_id": "x", "roles": [7]}],
        ["x"],
        [{"user_id": "a\0b", "roles": []}],
        [{"user_id": "x" * 400, "roles": ["Learner"]}],
    ],
)
def test_a_list_that_is_none_is_told(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, answer: list[Any]
) -> None:
    """An invalid class list is rejected as a whole."""
    before = members(at)
    lms.members = [person("new"), *answer]
    page = at.client("instructor").post(f"{at.base}staff/platforms/{connected.pk}/list", follow=True)
    assert "The class list was not imported" in text(page)
    assert before | {("instructor", "", True)} == members(at) | {("instructor", "", True)}


def test_a_platform_that_is_away_is_told(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> None:
    """Staff see a message if the class list or the token cannot be loaded."""
    client = at.client("instructor")
    for path in ("/Members", "/token"):
        lms.down = {path}
        page = text(client.post(f"{at.base}staff/platforms/{connected.pk}/list", follow=True))
        assert "The class list was not imported: LMS" in page


def mark(points: str, *, final: bool = True) -> PublishedMark:
    """Return a published mark out of five points."""
    from autograder.service.platforms import PublishedMark

    return PublishedMark(Decimal(points), Decimal(5), final)


@pytest.fixture
def listed(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> PlatformCourse:
    """Import two students of the platform into the class list."""
    from autograder.service import platforms

    lms.members = [person("ada"), person("bob")]
    assert platforms.RosterSummary(2, ()) == platforms.import_roster(connected, "sourcedid")
    return connected


def test_marks_are_told_once_and_again_when_they_change(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """A change of marks is sent once; provisional marks are labelled, withdrawn ones are removed."""
    from autograder.service import platforms

    marks = {"ada": mark("3.25"), "bob": mark("2", final=False), "not on the platform": mark("5")}
    assert 2 == platforms.send_marks(at.offer, marks)
    assert 0 == platforms.send_marks(at.offer, marks)
    ((of_ada, ada), (of_bob, bob)) = lms.scores
    assert {"/items/1/scores?Of=x"} == {of_ada, of_bob}
    assert ("number of ada", 3.25, 5.0, "FullyGraded") == (
        ada["userId"],
        ada["scoreGiven"],
        ada["scoreMaximum"],
        ada["gradingProgress"],
    )
    assert "PendingManual" == bob["gradingProgress"]
    assert 1 == platforms.send_marks(at.offer, {**marks, "bob": mark("2")})
    assert 2 == platforms.send_marks(at.offer, {})
    assert 0 == platforms.send_marks(at.offer, {})
    assert all("scoreGiven" not in sent for _, sent in lms.scores[-2:])
    assert 1 == len(lms.items)
    times = [sent["timestamp"] for _, sent in lms.scores]
    assert sorted(times) == times


def test_who_has_left_there_holds_up_nobody(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Marks that the platform rejects are reported to staff and retried; the other marks are sent."""
    from autograder.service import platforms

    lms.gone = {"number of ada"}
    marks = {"ada": mark("3"), "bob": mark("4")}
    for _ in range(2):
        with pytest.raises(ServiceError, match="marks of 1 students were refused"):
            platforms.send_marks(at.offer, marks)
    assert ["number of bob"] == [sent["userId"] for _, sent in lms.scores]
    lms.gone = set()
    assert 1 == platforms.send_marks(at.offer, marks)


def test_a_place_is_made_once_whatever_gets_lost(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """A line item whose response was lost is found and not created twice; outages are shown to staff."""
    from autograder.service import platforms

    lms.lost = 1
    with pytest.raises(ServiceError, match="LMS cannot be reached"):
        platforms.send_marks(at.offer, {"ada": mark("3")})
    listed.refresh_from_db()
    assert "LMS cannot be reached" in listed.problem
    page = text(at.client("ta").get(f"{at.base}staff/a/{at.offer.assignment}/"))
    assert "LMS cannot be reached" in page
    assert 1 == platforms.send_marks(at.offer, {"ada": mark("3")})
    listed.refresh_from_db()
    assert (1, "") == (len(lms.items), listed.problem)
    assert "LMS has the marks of 1 student." in text(
        at.client("ta").get(f"{at.base}staff/a/{at.offer.assignment}/")
    )


def test_the_platforms_own_place_is_taken(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Use the line item of a link to the assignment instead of creating one."""
    from autograder.service import platforms

    ends = {
        "scope": ["https://purl.imsglobal.org/spec/lti-ags/scope/score"],
        "lineitems": f"{lms.address}/items",
    }
    claims = {
        f"{LTI}/custom": {"assignment": at.offer.assignment},
        "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint": {
            **ends,
            "lineitem": f"{lms.address}/items/9",
        },
    }
    lms.launch(at.client("nobody"), "number of ada", **claims)
    assert 1 == platforms.send_marks(at.offer, {"ada": mark("3")})
    assert (["/items/9/scores?"], []) == ([place for place, _ in lms.scores], lms.items)


def test_marks_move_to_the_links_own_place(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Marks are removed from the old line item; marks of a link to another assignment are forgotten."""
    from lti_tool.models import LtiLineItem

    from autograder.service import platforms
    from autograder.service.models_results import SentScore

    ends = {"scope": [f"{AGS}/scope/score"], "lineitem": f"{lms.address}/items/9"}
    claims = {f"{AGS}/claim/endpoint": ends, f"{LTI}/custom": {"assignment": at.offer.assignment}}
    marks = {"ada": mark("3"), "bob": mark("4")}
    assert 2 == platforms.send_marks(at.offer, marks)
    lms.launch(at.client("nobody"), "number of ada", **claims)
    assert 4 == platforms.send_marks(at.offer, marks)
    assert 0 == platforms.send_marks(at.offer, marks)
    later = lms.scores[2:]
    assert {"/items/9/scores?", "/items/1/scores?Of=x"} == {place for place, _ in later}
    assert all(("scoreGiven" in sent) is place.startswith("/items/9") for place, sent in later)
    assert 2 == platforms.send_marks(at.offer, {})
    item = LtiLineItem.objects.get(url=f"{lms.address}/items/9")
    item.resource_id = "what it led to before"
    item.save()
    lms.launch(at.client("nobody"), "number of ada", **claims)
    assert not SentScore.objects.filter(item__url=item.url).exists()
    assert at.offer.assignment == LtiLineItem.objects.get(url=item.url).resource_id


def test_a_place_that_is_gone_is_made_anew(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """If the platform has deleted the line item, staff see an error and the next run creates a new one."""
    from autograder.service import platforms

    assert 1 == platforms.send_marks(at.offer, {"ada": mark("3")})
    lms.items.clear()
    lms.nowhere = True
    with pytest.raises(ServiceError, match="404"):
        platforms.send_marks(at.offer, {"ada": mark("4")})
    lms.nowhere = False
    assert 1 == platforms.send_marks(at.offer, {"ada": mark("4")})
    assert 1 == len(lms.items)


def test_who_is_let_in_no_more_is_told_nothing(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """Platforms that are no longer allowed receive no marks, and their class list is not requested."""
    from autograder.service import platforms
    from autograder.web import lti

    lti.register_platforms([])
    assert 0 == platforms.send_marks(at.offer, {"ada": mark("3")})
    page = at.client("instructor").post(f"{at.base}staff/platforms/{listed.pk}/list", follow=True)
    assert "no longer allowed here" in text(page)


def test_one_round_at_a_time(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Only one worker sends marks of an assignment at a time; an error does not block the next run."""
    from django.db import connection, connections

    from autograder.service import platforms
    from autograder.service.assignment_cache import AssignmentCache

    loaded = AssignmentCache()
    at.offer.published_at = graded(at, "ada").submitted_at
    at.offer.save()

    def round_of_another_worker() -> None:
        platforms.update_scores(at.offer.pk, loaded)
        connections.close_all()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [platforms._SENDING, at.offer.pk])
    other = threading.Thread(target=round_of_another_worker)
    other.start()
    time.sleep(0.5)
    assert [] == lms.scores
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [platforms._SENDING, at.offer.pk])
    other.join(30)
    assert 1 == len(lms.scores)
    with pytest.raises(Exception, match="matching query"):
        platforms.update_scores(10**6, loaded)
    assert 0 == platforms.update_scores(at.offer.pk, loaded)
    loaded.close()


def test_without_leave_nothing_is_made(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """The error asks staff to create a graded link if the service may not create line items."""
    from autograder.service import platforms

    listed.context.can_manage_lineitems = listed.context.can_query_lineitems = False
    for address in (listed.context.lineitems_url, ""):
        listed.context.lineitems_url = address
        listed.context.save()
        with pytest.raises(ServiceError, match="create a link with a grade there"):
            platforms.send_marks(at.offer, {"ada": mark("3")})


def test_publishing_has_marks_sent(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Publishing and the button queue one job for the assignment, which is not queued twice."""
    from procrastinate.contrib.django.models import ProcrastinateJob

    def waiting() -> int:
        return ProcrastinateJob.objects.filter(
            queue_name="scores", status="todo", args__subject=str(at.offer.pk)
        ).count()

    client = at.client("instructor")
    base = f"{at.base}staff/a/{at.offer.assignment}"
    assert 0 == waiting()
    client.post(f"{base}/published", {"wanted": "yes"})
    assert 1 == waiting()
    assert "The marks are being sent." in text(client.post(f"{base}/send", follow=True))
    assert 1 == waiting()


def test_what_is_sent_is_what_is_published(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Nothing is sent before publication; afterwards the current points and the maximum are sent."""
    from autograder.service import platforms
    from autograder.web import assignment_details

    attempt, assignment = graded(at, "ada"), assignment_details.get_assignment(at.offer)
    assert {} == platforms.collect_published_marks(at.offer, assignment)
    at.offer.published_at = attempt.submitted_at
    ((who, mark),) = platforms.collect_published_marks(at.offer, assignment).items()
    assert ("ada", assignment.rubric.assignment.points) == (who, mark.possible)
    assert 1 == platforms.send_marks(at.offer, platforms.collect_published_marks(at.offer, assignment))


def test_platforms_are_told_when_students_handed_in(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """The time of submission is sent. Platforms otherwise use the time of marking and show it as late."""
    from datetime import datetime

    from autograder.service import platforms
    from autograder.web import assignment_details

    first, assignment = graded(at, "ada"), assignment_details.get_assignment(at.offer)
    at.offer.published_at = first.submitted_at
    assert 1 == platforms.send_marks(at.offer, platforms.collect_published_marks(at.offer, assignment))
    assert 0 == platforms.send_marks(at.offer, platforms.collect_published_marks(at.offer, assignment))
    second = graded(at, "ada")
    assert 1 == platforms.send_marks(at.offer, platforms.collect_published_marks(at.offer, assignment))
    moments = [sent["submission"]["submittedAt"] for _, sent in lms.scores]
    assert [first.submitted_at, second.submitted_at] == [datetime.fromisoformat(moment) for moment in moments]
    assert first.submitted_at < second.submitted_at
    assert 1 == platforms.send_marks(at.offer, {"ada": mark("3")})
    assert "submission" not in lms.scores[-1][1]


def test_bonus_above_the_maximum_can_be_capped(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """The limit is set per assignment; changing it sends the marks again."""
    from autograder.service import platforms
    from autograder.web import assignment_details

    attempt, assignment = graded(at, "ada"), assignment_details.get_assignment(at.offer)
    possible = assignment.rubric.assignment.points
    at.offer.published_at, at.offer.bonus = attempt.submitted_at, {"ada": str(possible + 2)}
    at.offer.save()
    client = at.client("instructor")
    points = []
    for wanted in ("", "yes", "no"):
        if wanted:
            client.post(f"{at.base}staff/a/{at.offer.assignment}/cap", {"wanted": wanted})
            at.offer.refresh_from_db()
        assert 1 == platforms.send_marks(at.offer, platforms.collect_published_marks(at.offer, assignment)), (
            wanted
        )
        points.append(lms.scores[-1][1]["scoreGiven"])
    assert points[0] > possible
    assert [points[0], float(possible), points[0]] == points
    assert {float(possible)} == {sent["scoreMaximum"] for _, sent in lms.scores}
    assert "Limit to the maximum" in text(client.get(f"{at.base}staff/a/{at.offer.assignment}/"))


@pytest.mark.parametrize(
    ("audiences", "party", "gets_in"),
    [
        (["own"], None, True),
        (["own"], "own", True),
        ("own", "own", True),
        (["own", "other"], "own", True),
        (["other", "own"], "own", True),
        (["own", "other"], "other", False),
        (["own", "other"], "third", False),
        (["own"], "other", False),
        ("own", "other", False),
        (["own", "other"], None, False),
        (["other", "own"], None, False),
        ([], None, False),
        (["own"], ["own"], False),
        ([["own"]], None, False),
        ([None], None, False),
    ],
)
def test_a_token_is_for_the_party_that_asked(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, *, audiences: Any, party: Any, gets_in: bool
) -> None:
    """A user is signed in only if this client is the authorised party, whatever the order of audiences."""

    def named(audience: Any) -> Any:
        return lms.client if audience == "own" else audience

    listed = isinstance(audiences, list)
    claims = {"aud": [named(audience) for audience in audiences] if listed else named(audiences)}
    claims |= {} if party is None else {"azp": named(party)}
    client = at.client("nobody")
    answer = lms.launch(client, **claims)
    assert gets_in == ("_auth_user_id" in client.session)
    assert (302 if gets_in else 400) == answer.status_code


def test_a_worker_sends_what_is_in_the_queue(
    at: Small, listed: PlatformCourse, lms: LearningPlatform
) -> None:
    """The sender processes queued jobs and survives an outage of the platform."""
    from autograder.service import tasks, worker

    graded(at, "ada")
    at.client("instructor").post(f"{at.base}staff/a/{at.offer.assignment}/published", {"wanted": "yes"})
    stop = threading.Event()
    sending = threading.Thread(target=worker._run_sender, args=(tasks.SCORES, worker._send_scores, stop))
    sending.start()
    for _ in range(300):
        if lms.scores:
            break
        time.sleep(0.1)
    lms.down = {"/token"}
    at.offer.refresh_from_db()
    at.offer.published_at = None
    at.offer.save()
    tasks.enqueue_scores(at.offer)
    for _ in range(300):
        listed.refresh_from_db()
        if listed.problem:
            break
        time.sleep(0.1)
    stop.set()
    sending.join()
    assert (1, "number of ada") == (len(lms.scores), lms.scores[0][1]["userId"])
    assert "LMS cannot be reached" in listed.problem


def test_disconnected_is_disconnected(at: Small, listed: PlatformCourse, lms: LearningPlatform) -> None:
    """Disconnecting keeps the members, rejects launches and stops sending marks."""
    from autograder.service import platforms

    page = at.client("instructor").post(f"{at.base}staff/platforms/{listed.pk}/disconnect", follow=True)
    assert "Their course" not in text(page)
    assert 403 == lms.launch(at.client("nobody"), "number of ada").status_code
    assert 0 == platforms.send_marks(at.offer, {"ada": mark("3")})
    assert {"ada", "bob"} <= {who for _, who, _ in members(at)}


def test_our_keys_are_for_everybody(at: Small, lms: LearningPlatform) -> None:
    """The published keys contain the public part only."""
    keys = at.client("nobody").get("/app/lti/keys").json()["keys"]
    assert keys
    assert all("d" not in key and key["kty"] == "RSA" for key in keys)


GOOD = """
[moodle]
name = "Moodle"
issuer = "https://moodle.example.org"
client = "a"
login = "https://moodle.example.org/login"
token = "https://moodle.example.org/token"
keys = "https://moodle.example.org/keys"
deployments = ["1"]
"""


def test_the_file_of_platforms(tmp_path: Any) -> None:
    """The file is optional; the student ID comes from the ``lis`` claim by default."""
    assert {} == identity.read_platforms(tmp_path)
    (tmp_path / "x").mkdir()
    path = written(tmp_path, "")
    (path / identity.PLATFORMS).write_text(GOOD)
    (path / identity.PLATFORMS).chmod(0o600)
    assert "sourcedid" == identity.read_platforms(path)["moodle"].student


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            GOOD.replace("https://moodle.example.org/keys", "http://moodle.example.org/keys"),
            r"\[moodle\]: keys.*https",
        ),
        (GOOD.replace('deployments = ["1"]', ""), "deployments"),
        (GOOD + 'student = "name"', "student"),
        (GOOD + GOOD.replace("[moodle]", "[again]"), "same issuer and client"),
    ],
)
def test_a_wrong_file_is_told(tmp_path_factory: pytest.TempPathFactory, content: str, message: str) -> None:
    """An error in the file names the section and the key."""
    path = tmp_path_factory.mktemp("service")
    (path / identity.PLATFORMS).write_text(content)
    (path / identity.PLATFORMS).chmod(0o600)
    with pytest.raises(ServiceError, match=message):
        identity.read_platforms(path)
