"""Learning platforms: class lists (NRPS 2.0) and marks (AGS 2.0). Launches: `autograder.web.lti`.

The database records the marks that were sent to a platform (`SentScore`) and the platform's line item for an
assignment. Marks that differ from the recorded ones are sent again, so a lost answer, a second worker or an
unavailable platform does no harm.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import requests
from django.db import DatabaseError, transaction
from django.db import connection as database
from django.utils import timezone
from lti_tool.lti_core.constants import AgsScope, ContextRole
from lti_tool.lti_core.utils import normalize_role
from lti_tool.models import LtiLineItem, LtiRegistration, LtiUser
from msgspec import Struct
from pylti1p3.exception import LtiException
from pylti1p3.service_connector import ServiceConnector

from autograder.core.errors import ServiceError, describe_error
from autograder.core.wording import Phrase, encode_phrase, join_phrases
from autograder.course import find_name_fault
from autograder.grading.assignment import Assignment
from autograder.grading.store import Student
from autograder.messages import build_localised_text
from autograder.service import attempts, tasks
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.models import (
    CourseRecord,
    Member,
    Offer,
    PlatformCourse,
    PlatformMember,
    Role,
)
from autograder.service.models_results import SentScore
from autograder.service.refusals import RequestRefused
from autograder.service.standings import load_standings
from autograder.service.store import DatabaseStore

SECONDS = 10.0
"""Time limit for a platform's answer."""
_MOST_PAGES = 200
"""Maximum number of pages of a list; ends the loop if a platform's pages form a cycle."""
TAG = "autograder"
_SENDING = 0x6C74_6900
"""A number of our own among PostgreSQL's advisory locks."""
READ_ROSTER = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
_ROSTER = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
_ITEM = "application/vnd.ims.lis.v2.lineitem+json"
_ITEMS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
_SCORE = "application/vnd.ims.lis.v1.score+json"


class PublishedMark(Struct, frozen=True):
    """One student's mark as sent to a platform."""

    points: Decimal
    possible: Decimal
    final: bool
    submitted_at: datetime | None = None
    """Submission time; None: unknown. Without it platforms use the time of marking, and call the student
    late."""


class RosterSummary(Struct, frozen=True):
    """Outcome of importing a platform's class list."""

    students: int
    refused: tuple[Phrase, ...]
    """Members without a usable id, each with the reason."""


class RefusedByPlatformError(ServiceError):
    """A platform answered and refused the request.

    Args:
        text: the refused request and the reason.
        gone: the platform says that the resource does not exist.
    """

    def __init__(self, text: Phrase, *, gone: bool) -> None:
        super().__init__(text)
        self.gone = gone


class PatientSession(requests.Session):
    """A session with a time limit on every request."""

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request as `requests.Session.request` does, with a time limit."""
        return super().request(*args, **{"timeout": SECONDS, **options})


class PlatformClient:
    """Client for the services of one platform.

    Raises:
        ServiceError: in each method: the platform does not answer, refuses, or sends an unexpected answer.
    """

    def __init__(self, registration: LtiRegistration) -> None:
        self._name = registration.name
        self._session = PatientSession()
        self._tokens = ServiceConnector(registration.to_registration(), self._session)

    def iterate_pages(self, scope: str, address: str, kind: str) -> Iterator[Any]:
        """Yield the pages of a list."""
        for _ in range(_MOST_PAGES):
            answer = self._send_request("GET", scope, address, {"Accept": kind})
            yield _parse_json(answer, self._name)
            # NRPS 2.0 and AGS 2.0 page through lists by the header Link (RFC 8288).
            address = answer.links.get("next", {}).get("url", "")
            if not address:
                return

    def post_json(self, scope: str, address: str, kind: str, body: Mapping[str, Any]) -> requests.Response:
        """Send a JSON body."""
        headers = {"Content-Type": kind, "Accept": kind}
        return self._send_request("POST", scope, address, headers, json.dumps(body))

    def create_item(self, scope: str, address: str, kind: str, body: Mapping[str, Any]) -> Any:
        """Send a JSON body, and return the resource that the platform created."""
        return _parse_json(self.post_json(scope, address, kind, body), self._name)

    def _send_request(
        self, method: str, scope: str, address: str, headers: Mapping[str, str], body: str | None = None
    ) -> requests.Response:
        try:
            all_headers = {"Authorization": f"Bearer {self._tokens.get_access_token([scope])}", **headers}
            answer = self._session.request(method, address, headers=all_headers, data=body)
        except (requests.RequestException, LtiException, ValueError, KeyError, TypeError) as error:
            facts = {"platform": self._name, "error": describe_error(error)}
            raise RequestRefused("platform-unreachable", **facts) from error
        if not answer.ok:
            facts = {"platform": self._name, "request": f"{method} {address}"}
            status = f"{answer.status_code} {answer.reason}"
            raise RefusedByPlatformError(
                build_localised_text("web.platform-refused", **facts, status=status),
                gone=answer.status_code == requests.codes.not_found,
            )
        return answer


def _parse_json(answer: requests.Response, name: str) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise RequestRefused("platform-no-json", platform=name, address=answer.url) from error


# ------------------------------------------------------------ class lists


def import_roster(connection: PlatformCourse, student: str) -> RosterSummary:
    """Import the platform's class list: each learner on it becomes a student here. No student is removed.

    Raises:
        ServiceError: the platform does not send it, or it is not a class list.
    """
    context = connection.context
    if not is_allowed(connection):
        raise RequestRefused("platform-not-allowed")
    if not context.memberships_url:
        raise RequestRefused("platform-no-list")
    services = PlatformClient(context.deployment.registration)
    members: list[dict[str, Any]] = []
    for page in services.iterate_pages(READ_ROSTER, context.memberships_url, _ROSTER):
        listed = page.get("members") if isinstance(page, dict) else None
        if not isinstance(listed, list) or not all(_is_member(member) for member in listed):
            raise RequestRefused("platform-list-invalid")
        # NRPS 2.0: a member without a status is active. Pictures are not stored.
        members += [{"status": "Active", **member, "picture": None} for member in listed]
    try:
        with transaction.atomic():
            context.update_memberships(members)
            active = [member for member in members if member["status"] == "Active"]
            learners = [member for member in active if get_role(member["roles"]) == Role.STUDENT]
            return _enroll_members(connection, learners, student)
    except (DatabaseError, ValueError) as error:
        raise RequestRefused("platform-list-unstored", error=describe_error(error)) from error


def is_allowed(connection: PlatformCourse) -> bool:
    """Decide whether the platform of a course may still launch and be asked."""
    deployment = connection.context.deployment
    return bool(deployment.is_active and deployment.registration.is_active)


def _is_member(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("user_id"), str)
        and isinstance(entry.get("roles"), list)
        and all(isinstance(role, str) for role in entry["roles"])
        # PostgreSQL cannot store NUL characters in text or JSON.
        and "\0" not in json.dumps(entry)
        and "\\u0000" not in json.dumps(entry)
    )


def _enroll_members(
    connection: PlatformCourse, members: Sequence[Mapping[str, Any]], student: str
) -> RosterSummary:
    registration = connection.context.deployment.registration
    refused: list[Phrase] = []
    number = 0
    for member in members:
        claims = {
            **member,
            "sub": member["user_id"],
            "person_sourcedid": member.get("lis_person_sourcedid", ""),
        }
        user = LtiUser.objects.get(registration=registration, sub=member["user_id"])
        try:
            find_or_create_student(connection.course, user, claims, student)
            number += 1
        except ServiceError as error:
            refused.append(error.text)
    return RosterSummary(number, tuple(refused))


def get_role(roles: Collection[str]) -> Role | None:
    """Return the role here for roles of a platform; None: the person neither teaches nor learns."""
    context_roles = {normalize_role(role) for role in roles}
    if any(role.endswith("#TeachingAssistant") for role in context_roles):
        return Role.TA
    if ContextRole.INSTRUCTOR in context_roles:
        return Role.INSTRUCTOR
    return Role.STUDENT if ContextRole.LEARNER in context_roles else None


def find_or_create_student(
    course: CourseRecord, user: LtiUser, claims: Mapping[str, Any], student: str
) -> Member:
    """Return the student for a person of a platform; add the student to the class list if necessary.

    Args:
        course: here.
        user: there.
        claims: the platform's data about the person: ``sub``, ``person_sourcedid``, ``email``.
        student: the field with the id: ``sourcedid``, ``sub`` or ``email``.

    Raises:
        ServiceError: the value cannot be an id, or it belongs to another person.
    """
    existing = (
        PlatformMember.objects.filter(user=user, member__course=course).select_related("member").first()
    )
    if existing is not None:
        if existing.member.removed_at:
            raise RequestRefused("platform-member-removed", student=existing.member.student)
        return existing.member
    claim = claims.get("person_sourcedid" if student == "sourcedid" else student)
    name = claim.strip() if isinstance(claim, str) else ""
    if not name:
        who = f"{user.given_name} {user.family_name}".strip() or user.sub
        raise RequestRefused("platform-no-id", person=who, field=student)
    is_variable = name.startswith("$")
    variable = build_localised_text("web.platform-variable") if is_variable else ""
    if fault := variable or find_name_fault(name):
        raise RequestRefused("field-fault", field=ascii(name), reason=fault)
    students = Member.everyone.filter(course=course, role=Role.STUDENT)
    matching = students.filter(email__iexact=name) if student == "email" else students.filter(student=name)
    member = matching.first()
    if member is None:
        DatabaseStore(course).enroll_students(
            [Student(name, user.given_name[:150], user.family_name[:150], user.email)]
        )
        member = students.get(student=name)
    elif member.removed_at:
        raise RequestRefused("platform-member-removed", student=ascii(name))
    elif student == "sub" or PlatformMember.objects.filter(member=member).exists():
        # A platform's internal numbers are unrelated to equal ids on the class list.
        raise RequestRefused("platform-id-taken", student=ascii(name))
    PlatformMember.objects.create(user=user, member=member)
    return member


# ------------------------------------------------------------ marks


def collect_published_marks(offer: Offer, assignment: Assignment) -> dict[str, PublishedMark]:
    """Return the marks of an assignment that platforms should know; empty until they are published."""
    if offer.published_at is None:
        return {}
    possible = assignment.rubric.assignment.points
    handins = attempts.find_counting_attempts(offer, assignment.rubric)
    marks = {}
    for student, standing in load_standings(offer, assignment).items():
        points = min(standing.total, possible) if offer.capped_on_platforms else standing.total
        handin = handins.get(student)
        submitted_at = handin.submitted_at if handin else None
        marks[student] = PublishedMark(points, possible, standing.final, submitted_at)
    return marks


def sweep_scores() -> None:
    """Enqueue a comparison of all published marks with the marks sent to platforms."""
    connected = PlatformCourse.objects.values_list("course", flat=True)
    for offer in Offer.objects.filter(course__in=connected).values_list("pk", flat=True):
        tasks.enqueue_job(tasks.SCORES, offer)


def update_scores(offer: int, loaded: AssignmentCache) -> int:
    """Send each platform the changed marks of an assignment; return their number.

    Workers take turns, because the marks of an older round must not arrive after newer ones.

    Raises:
        ServiceError: see `send_marks`.
    """
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [_SENDING, offer])
    try:
        offer_row = Offer.objects.select_related("version", "course").get(pk=offer)
        marks = (
            collect_published_marks(offer_row, loaded.load_assignment(offer_row.version))
            if offer_row.published_at
            else {}
        )
        return send_marks(offer_row, marks)
    finally:
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_SENDING, offer])


def send_marks(offer: Offer, marks: Mapping[str, PublishedMark]) -> int:
    """Send each platform of the course the marks that it does not know yet; return their number.

    Args:
        offer: the assignment.
        marks: published marks by student; empty if they are withdrawn.

    Raises:
        ServiceError: a platform could not be reached; the others were, and the failed marks are sent next
            time.
    """
    sent = 0
    problems: list[Phrase] = []
    for connection in PlatformCourse.objects.filter(course=offer.course).select_related(
        "context__deployment__registration"
    ):
        if not (connection.context.can_publish_scores and is_allowed(connection)):
            continue
        problem: Phrase = ""
        try:
            sent += _send_to_platform(connection, offer, marks)
        except ServiceError as error:
            problem = error.text
        except DatabaseError as error:
            problem = build_localised_text("web.platform-column-unstored", error=describe_error(error))
        problems += [problem] if problem else []
        PlatformCourse.objects.filter(pk=connection.pk).update(
            problem=encode_phrase(problem) if problem else ""
        )
    if problems:
        raise ServiceError(join_phrases(problems))
    return sent


def _send_to_platform(connection: PlatformCourse, offer: Offer, marks: Mapping[str, PublishedMark]) -> int:
    """Send marks to one platform; marks in line items that are no longer used are withdrawn."""
    services = PlatformClient(connection.context.deployment.registration)
    first = next(iter(marks.values()), None)
    items = _find_line_items(connection, offer)
    if not items and first is not None:
        items = [_create_line_item(connection, offer, services, first)]
    return sum(
        _send_changes(connection, offer, services, item, marks if number == 0 else {})
        for number, item in enumerate(items)
    )


def _send_changes(
    connection: PlatformCourse,
    offer: Offer,
    services: PlatformClient,
    item: LtiLineItem,
    marks: Mapping[str, PublishedMark],
) -> int:
    sent_scores = {entry.user_id: entry for entry in SentScore.objects.filter(item=item)}
    members = PlatformMember.objects.filter(
        member__course=offer.course, user__memberships__context=connection.context
    )
    changed: list[tuple[LtiUser, PublishedMark | None]] = []
    for entry in members.select_related("user", "member").order_by("pk"):
        mark, sent = marks.get(entry.member.student), sent_scores.get(entry.user_id)
        if mark is not None and (sent is None or _to_mark(sent) != mark):
            changed.append((entry.user, mark))
        elif mark is None and sent is not None and sent.points is not None:
            changed.append((entry.user, None))
    refused = []
    for user, mark in changed:
        try:
            _post_score(services, item, user, mark)
        except RefusedByPlatformError as error:  # a student who left the course there, for example
            refused.append(error)
    if refused and len(refused) == len(changed) and all(entry.gone for entry in refused):
        item.delete()  # the platform deleted it; the next run looks for another
    if refused:
        raise RequestRefused("platform-marks-refused", number=len(refused), reason=refused[0].text)
    return len(changed)


def _to_mark(sent: SentScore) -> PublishedMark | None:
    return (
        None
        if sent.points is None
        else PublishedMark(Decimal(sent.points), Decimal(sent.possible), sent.final, sent.submitted_at)
    )


def _find_line_items(connection: PlatformCourse, offer: Offer) -> list[LtiLineItem]:
    """Return the platform's line items of an assignment; the first is the one in use."""
    line_items = LtiLineItem.objects.filter(context=connection.context, resource_id=offer.assignment)
    return list(line_items.order_by("resource_link", "pk"))  # one made by the platform comes first


def _create_line_item(
    connection: PlatformCourse, offer: Offer, services: PlatformClient, first: PublishedMark
) -> LtiLineItem:
    """Return a line item for an assignment: an existing one of the platform, or a new one.

    Creating one is not idempotent, so existing items are searched first: if the platform's confirmation was
    lost, its item is found by resource and tag.
    """
    context = connection.context
    if not context.lineitems_url:
        raise RequestRefused("platform-no-column")
    facts = {"resourceId": offer.assignment, "tag": TAG}
    items: list[Any] = []
    if context.can_query_lineitems or context.can_manage_lineitems:
        scope = AgsScope.MANAGE_LINEITEMS if context.can_manage_lineitems else AgsScope.QUERY_LINEITEMS
        for page in services.iterate_pages(scope.value, context.lineitems_url, _ITEMS):
            items += page if isinstance(page, list) else []
    same = (entry for entry in items if isinstance(entry, dict) and facts.items() <= entry.items())
    platform_item = next(same, None)
    if platform_item is None and not context.can_manage_lineitems:
        raise RequestRefused("platform-no-column")
    if platform_item is None:
        wanted = {**facts, "scoreMaximum": float(first.possible), "label": offer.title}
        platform_item = services.create_item(
            AgsScope.MANAGE_LINEITEMS.value, context.lineitems_url, _ITEM, wanted
        )
    if not isinstance(platform_item, dict) or not isinstance(platform_item.get("id"), str):
        raise RequestRefused("platform-no-address")
    item: LtiLineItem = LtiLineItem.objects.create(
        context=context,
        url=platform_item["id"],
        maximum_score=float(first.possible),
        label=offer.title,
        tag=TAG,
        resource_id=offer.assignment,
    )
    return item


def _post_score(
    services: PlatformClient, item: LtiLineItem, user: LtiUser, mark: PublishedMark | None
) -> None:
    # AGS 2.0: scores have the line item's path plus /scores, and its query stays at the end.
    address, question, query = item.url.partition("?")
    now = timezone.now()
    body: dict[str, Any] = {"userId": user.sub, "timestamp": now.isoformat(timespec="microseconds")}
    if mark is None:
        # AGS 2.0: a platform clears its score if scoreGiven is missing.
        body |= {"activityProgress": "Submitted", "gradingProgress": "NotReady"}
    else:
        body |= {"scoreGiven": float(mark.points), "scoreMaximum": float(mark.possible)}
        body |= {"activityProgress": "Completed"}
        body |= {"gradingProgress": "FullyGraded" if mark.final else "PendingManual"}
    if mark is not None and mark.submitted_at is not None:
        body["submission"] = {"submittedAt": mark.submitted_at.isoformat(timespec="microseconds")}
    scope = AgsScope.PUBLISH_SCORES.value
    services.post_json(scope, f"{address.rstrip('/')}/scores{question}{query}", _SCORE, body)
    SentScore.objects.update_or_create(
        item=item,
        user=user,
        defaults={
            "points": None if mark is None else str(mark.points),
            "possible": "0" if mark is None else str(mark.possible),
            "final": mark is not None and mark.final,
            "submitted_at": None if mark is None else mark.submitted_at,
            "sent_at": now,
        },
    )
