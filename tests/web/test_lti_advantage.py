"""LTI Advantage: deep linking, submission review, and several platforms and courses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jwt
import pytest
from msgspec.structs import replace

from tests.web.lms import ABSENT, CONNECT, LTI, LearningPlatform
from tests.web.people import Small
from tests.web.test_staff import graded
from tests.web.test_student import text

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord, PlatformCourse

DEEP = "https://purl.imsglobal.org/spec/lti-dl/claim"
ENDPOINT = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
SELECT = "/app/lti/select"
RETURN = "https://lms.example.org/return?course=4"


def choose(
    at: Small, lms: LearningPlatform, who: str = "prof", role: str = "Instructor", **changes: Any
) -> Any:
    """Open the page on which an instructor selects assignments."""
    settings = {
        "deep_link_return_url": RETURN,
        "accept_types": ["link", "ltiResourceLink"],
        "accept_presentation_document_targets": ["iframe", "window"],
        "accept_multiple": True,
        "data": "kept by the platform",
        **changes,
    }
    claims = {
        f"{LTI}/message_type": "LtiDeepLinkingRequest",
        f"{LTI}/resource_link": ABSENT,
        f"{DEEP}/deep_linking_settings": {
            key: value for key, value in settings.items() if value is not ABSENT
        },
    }
    return lms.launch(at.client("nobody"), who, (role,), **claims)


def get_token(page: Any) -> str:
    """Return the signed token in the form."""
    return re.findall(r'name="token" value="([^"]+)"', page.content.decode())[0]


def get_heading(page: Any) -> str:
    """Return the heading and text of an error page, without parts that change with every request."""
    return page.content.decode().partition("<h1>")[2]


def send(at: Small, token: str, *assignments: str) -> Any:
    """Submit a selection in a browser without cookies, as in an embedded frame."""
    return at.client("nobody").post(SELECT, {"token": token, "assignment": assignments})


def read_answer(at: Small, lms: LearningPlatform, page: Any) -> dict[str, Any]:
    """Return the message to the platform after verifying its signature."""
    assert 200 == page.status_code
    sent = re.findall(r'name="JWT" value="([^"]+)"', page.content.decode())[0]
    keys = jwt.PyJWKSet.from_dict(at.client("nobody").get("/app/lti/keys").json())
    key = keys[jwt.get_unverified_header(sent)["kid"]]
    return jwt.decode(sent, key, algorithms=["RS256"], audience=lms.address, issuer=lms.client)


def test_an_instructor_chooses_assignments(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """The links have line items and dates and open the assignment; selecting does not sign in."""
    from autograder.web import assignment_details

    name = at.offer.assignment
    at.offer.times = {
        "start": "2026-02-12T10:00:00",
        "end": "2026-02-12T12:00:00",
        "zone": "Europe/Berlin",
    }
    at.offer.visible = True
    at.offer.save()
    page = choose(at, lms)
    assert at.offer.title in text(page)
    assert "sessionid" not in page.cookies
    answer = send(at, get_token(page), name)
    assert f'action="{RETURN}"' in unescape(answer.content.decode())
    response = read_answer(at, lms, answer)
    assert ("LtiDeepLinkingResponse", "1.3.0", "1", "kept by the platform") == (
        response[f"{LTI}/message_type"],
        response[f"{LTI}/version"],
        response[f"{LTI}/deployment_id"],
        response[f"{DEEP}/data"],
    )
    [item] = response[f"{DEEP}/content_items"]
    assert ("ltiResourceLink", at.offer.title, "http://testserver/app/lti/launch", {"assignment": name}) == (
        item["type"],
        item["title"],
        item["url"],
        item["custom"],
    )
    line = item["lineItem"]
    points = assignment_details.get_assignment(at.offer).rubric.assignment.points
    assert (float(points), name, "autograder", at.offer.title) == (
        line["scoreMaximum"],
        line["resourceId"],
        line["tag"],
        line["label"],
    )
    start, end = "2026-02-12T10:00:00+01:00", "2026-02-12T12:00:00+01:00"
    assert {"startDateTime": start} == item["available"]
    assert {"startDateTime": start, "endDateTime": end} == item["submission"]
    leads = lms.launch(at.client("nobody"), **{f"{LTI}/custom": item["custom"]}).headers["location"]
    assert f"{at.base}a/{name}/" == leads


def test_hidden_assignments_cannot_be_chosen(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Hidden assignments are listed as disabled, and rejected if sent; selecting none is allowed."""
    at.offer.visible = False
    at.offer.save()
    page = choose(at, lms, data=ABSENT)
    assert "disabled" in page.content.decode()
    assert "Hidden from students" in text(page)
    for wanted in (at.offer.assignment, "nothing", "a\0b"):
        assert 400 == send(at, get_token(page), wanted).status_code
    response = read_answer(at, lms, send(at, get_token(page)))
    assert [] == response[f"{DEEP}/content_items"]
    assert f"{DEEP}/data" not in response


def test_what_the_platform_does_not_accept_is_not_sent(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Several links, line items and missing dates are not sent if the platform does not accept them."""
    from autograder.service.models import Offer

    other = Offer.objects.create(
        course=at.record, assignment="other", version=at.offer.version, title="Other", visible=True
    )
    at.offer.visible, at.offer.times = True, {}
    at.offer.save()
    token = get_token(choose(at, lms, accept_multiple=False, accept_lineitem=False))
    assert 400 == send(at, token, at.offer.assignment, other.assignment).status_code
    [item] = read_answer(at, lms, send(at, token, at.offer.assignment))[f"{DEEP}/content_items"]
    assert set() == {"lineItem", "available", "submission"} & item.keys()


@pytest.mark.parametrize(
    "address",
    [
        ABSENT,
        "",
        7,
        "http://lms.example.org/return",
        "javascript:alert(1)",
        "//lms.example.org/return",
        "https://lms.example.org;script-src */return",
        "https://lms.example.org@evil.example.org/return",
        "https://lms.example.org evil.example.org/",
        "data:text/html,x",
    ],
)
def test_links_are_returned_to_https_alone(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, address: Any
) -> None:
    """Other return addresses are rejected and do not appear in the page's policy."""
    page = choose(at, lms, deep_link_return_url=address)
    assert 400 == page.status_code
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]


def test_the_return_address_is_the_platforms(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """A changed token or field is rejected. Only the platform can embed the page and gets the response."""
    tampered = RETURN + '"><script>alert(1)</script>'
    page = choose(at, lms, deep_link_return_url=tampered)
    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors https://lms.example.org" in policy
    assert "form-action 'self';" in policy
    token = get_token(page)
    for changed in (token + "x", token[1:], "", token.replace(":", "", 1)):
        assert 404 == send(at, changed).status_code
    answer = at.client("nobody").post(
        SELECT, {"token": token, "deep_link_return_url": "https://evil.example.org/"}
    )
    assert "evil.example.org" not in answer.content.decode()
    assert "<script>alert" not in answer.content.decode()
    policy = answer.headers["Content-Security-Policy"]
    assert "form-action 'self' https://lms.example.org;" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("who", "role"), [("ada", "Learner"), ("helper", "TeachingAssistant"), ("prof", "Learner")]
)
def test_only_instructors_choose(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, who: str, role: str
) -> None:
    """The user must be an instructor on the platform and in this course."""
    assert 403 == choose(at, lms, who, role).status_code


def test_a_choice_ends_with_the_right_to_it(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Former instructors, removed platforms and disconnected courses cannot return links."""
    from autograder.service.models import Member
    from autograder.web import lti

    token = get_token(choose(at, lms))
    lms_facts = lms.stated()
    lti.register_platforms([])
    assert 404 == send(at, token).status_code
    lti.register_platforms([lms_facts])
    assert 200 == send(at, token).status_code
    Member.objects.filter(course=at.record, role="instructor").update(role="ta")
    assert 404 == send(at, token).status_code
    Member.objects.filter(course=at.record, role="ta").update(role="instructor")
    connected.delete()
    assert 404 == send(at, token).status_code
    page = choose(at, lms)
    assert (403, True) == (page.status_code, "not connected yet" in page.content.decode())
    assert "frame-ancestors https://lms.example.org" in page.headers["Content-Security-Policy"]


# ---------------------------------------------------------------- submission review


def review(at: Small, lms: LearningPlatform, who: str, role: str, about: Any, **claims: Any) -> Any:
    """Open a submission from the platform."""
    fields = {
        f"{LTI}/message_type": "LtiSubmissionReviewRequest",
        f"{LTI}/for_user": about,
        f"{LTI}/custom": {"assignment": at.offer.assignment},
        ENDPOINT: {"scope": [], "lineitem": f"{lms.address}/items/5"},
        **claims,
    }
    return lms.launch(at.client("nobody"), who, (role,), **fields)


def test_staff_open_the_feedback_of_the_student(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """The launch names the student; the line item, also without a link, determines the assignment."""
    from lti_tool.models import LtiLineItem

    lms.launch(at.client("nobody"))
    expected = f"{at.base}staff/a/{at.offer.assignment}/of/ada/"
    for who, role in (("prof", "Instructor"), ("helper", "TeachingAssistant")):
        answer = review(at, lms, who, role, {"user_id": "ada"}, **{f"{LTI}/resource_link": ABSENT})
        assert expected == answer.headers["location"]
    LtiLineItem.objects.create(
        context=connected.context,
        url=f"{lms.address}/items/5",
        maximum_score=5,
        resource_id=at.offer.assignment,
    )
    answer = review(
        at, lms, "prof", "Instructor", {"user_id": "ada"}, **{f"{LTI}/custom": {"assignment": "another"}}
    )
    assert expected == answer.headers["location"]


def test_students_open_their_own_submission_alone(
    at: Small, connected: PlatformCourse, lms: LearningPlatform
) -> None:
    """Students see their published feedback; other, unknown and hidden submissions give the same error."""
    lms.launch(at.client("nobody"), "bob")
    at.offer.visible = True
    at.offer.save()
    page = f"{at.base}a/{at.offer.assignment}/"
    assert page == review(at, lms, "ada", "Learner", {"user_id": "ada"}).headers["location"]
    at.offer.published_at = graded(at, "ada").submitted_at
    at.offer.save()
    assert f"{page}feedback/" == review(at, lms, "ada", "Learner", {"user_id": "ada"}).headers["location"]
    texts = set()
    for about in ("bob", "prof", "nobody"):
        answer = review(at, lms, "ada", "Learner", {"user_id": about})
        assert 403 == answer.status_code
        texts.add(get_heading(answer))
    at.offer.visible = False
    at.offer.save()
    answer = review(at, lms, "ada", "Learner", {"user_id": "ada"})
    assert 403 == answer.status_code
    assert {get_heading(answer)} == texts


@pytest.mark.parametrize(
    ("about", "claims"),
    [
        (ABSENT, {}),
        ("user_id", {}),
        ({}, {}),
        ({"user_id": None}, {}),
        ({"user_id": "stranger"}, {}),
        ({"user_id": "prof"}, {}),
        ({"user_id": "ada"}, {f"{LTI}/custom": {"assignment": "nothing"}}),
        ({"user_id": "ada"}, {ENDPOINT: ABSENT}),
        ({"user_id": "ada"}, {ENDPOINT: {"scope": []}}),
        ({"user_id": "ada"}, {ENDPOINT: {"scope": [], "lineitem": 7}}),
    ],
)
def test_a_review_of_nothing_is_refused(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, about: Any, claims: dict[str, Any]
) -> None:
    """Launches without a student, an assignment or a line item are rejected."""
    lms.launch(at.client("nobody"))
    assert review(at, lms, "prof", "Instructor", about, **claims).status_code in {400, 403}


# ---------------------------------------------------------------- several platforms and courses


@pytest.fixture
def second(at: Small, lms: LearningPlatform) -> Iterator[LearningPlatform]:
    """Register another platform with the same IDs of users and courses."""
    from django.conf import settings
    from django.test import override_settings

    from autograder.web import lti

    with LearningPlatform(f"second of {at.record.slug}") as platform:
        platforms = {"lms": lms.stated(), "second": platform.stated()}
        lti.register_platforms(platforms.values())
        with override_settings(RUNNING=replace(settings.RUNNING, platforms=platforms)):
            yield platform


def test_platforms_and_courses_do_not_mix(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, second: LearningPlatform
) -> None:
    """On two platforms with three courses, the same user ID means different persons."""
    from autograder.service.models import Account, CourseRecord, Member, PlatformCourse

    def connect(platform: LearningPlatform, course: CourseRecord, context: str) -> None:
        client = at.client("superuser")
        location = platform.launch(
            client, "prof", ("Instructor",), **{f"{LTI}/context": {"id": context}}
        ).headers["location"]
        assert location == CONNECT
        client.post(CONNECT, {"course": course.slug})
        assert PlatformCourse.objects.filter(course=course, context__id_on_platform=context).exists()

    def arrive(platform: LearningPlatform, context: str, **claims: Any) -> Account:
        client = at.client("nobody")
        answer = platform.launch(client, "7", **{f"{LTI}/context": {"id": context}, **claims})
        arrived.append(urlsplit(answer.headers["location"]).path)
        return Account.objects.get(pk=client.session["_auth_user_id"])

    def create(name: str) -> CourseRecord:
        return CourseRecord.objects.create(slug=f"{name}-{at.record.slug}", title=name, secret=b"x" * 32)

    arrived: list[str] = []
    other, third = create("other"), create("third")
    connect(lms, other, "other course")
    connect(second, third, "their course")
    ada, bob = ({f"{LTI}/lis": {"person_sourcedid": name}} for name in ("ada", "bob"))
    first = arrive(lms, "their course", **ada)
    also = arrive(lms, "other course", **ada)
    there = arrive(second, "their course", **bob)
    assert [at.base, f"/app/c/{other.slug}/", f"/app/c/{third.slug}/"] == arrived
    assert first == also
    assert there != first
    members = Member.objects.filter(account__in=[first, there]).values_list("course__slug", "student")
    assert {(at.record.slug, "ada"), (other.slug, "ada"), (third.slug, "bob")} == set(members)
    # A launch of one platform cannot open the course or the member of the other one.
    answer = second.launch(at.client("nobody"), "7", **{f"{LTI}/context": {"id": "other course"}})
    assert 403 == answer.status_code
    answer = review(at, second, "prof", "Instructor", {"user_id": "ada"})
    assert 403 == answer.status_code


def test_two_platforms_share_a_course(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, second: LearningPlatform
) -> None:
    """The first platform that uses a student ID keeps it, and only that one receives the scores."""
    from autograder.service import platforms
    from autograder.service.models import PlatformCourse

    client = at.client("instructor")
    second.launch(client, "prof", ("Instructor",))
    client.post(CONNECT, {"course": at.record.slug})
    assert 2 == PlatformCourse.objects.filter(course=at.record).count()
    lms.launch(at.client("nobody"), "7", **{f"{LTI}/lis": {"person_sourcedid": "ada"}})
    refused = second.launch(at.client("nobody"), "7", **{f"{LTI}/lis": {"person_sourcedid": "ada"}})
    assert 403 == refused.status_code
    second.launch(at.client("nobody"), "7", **{f"{LTI}/lis": {"person_sourcedid": "bob"}})
    mark = platforms.PublishedMark
    assert 2 == platforms.send_marks(at.offer, {"ada": mark(3, 5, True), "bob": mark(4, 5, True)})
    assert [3.0] == [score["scoreGiven"] for _, score in lms.scores]
    assert [4.0] == [score["scoreGiven"] for _, score in second.scores]
