"""LTI 1.3: launches from learning platforms, and their users as members of courses.

The library stores platforms, contexts and users; this module maps them to members. A context (a course on the
platform) leads to a course only after an instructor of that course has connected the two. From then on,
learners there are students here, teaching assistants are TAs, and instructors are instructors.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Collection
from typing import Any

import requests
from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib import messages as notices
from django.core import signing
from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from jwcrypto.common import JWException
from jwt import PyJWTError
from lti_tool.models import Key, LtiContext, LtiDeployment, LtiLaunch, LtiLineItem, LtiRegistration, LtiUser
from lti_tool.utils import (
    DjangoToolConfig,
    sync_context_from_launch,
    sync_data_from_launch,
    sync_membership_from_launch,
    sync_user_from_launch,
)
from pylti1p3.contrib.django import DjangoCacheDataStorage, DjangoMessageLaunch, DjangoOIDCLogin
from pylti1p3.contrib.django.cookie import DjangoCookieService
from pylti1p3.contrib.django.request import DjangoRequest
from pylti1p3.contrib.django.session import DjangoSessionService
from pylti1p3.exception import LtiException, OIDCException

from autograder.core.errors import ServiceError, describe_error
from autograder.service import audit, platforms, tasks
from autograder.service.models import (
    Account,
    CourseRecord,
    Member,
    Offer,
    PlatformCourse,
    PlatformMember,
    Role,
)
from autograder.service.models_results import PlatformRegistration
from autograder.service.refusals import RequestRefused
from autograder.web import deep_linking
from autograder.web.account import may_become
from autograder.web.adapters import create_account
from autograder.web.guard import Visit, allow_anyone, require_role, require_sign_in
from autograder.web.identity import Platform
from autograder.web.responses import load_token, render_page
from autograder.web.site import BASE, get_words

LOG = logging.getLogger("autograder.web.lti")
SECONDS = 600
"""How long a launch may take, and how long its data are kept."""
CONNECT_SECONDS = 3600
_CONNECT = "autograder.lti.connect"
_COOKIE = "lti-connect"
PATH = f"/{BASE}lti/"
"""The path that the cookies of launches are limited to."""
_CLOCKS_DIFFER = 300
"""Seconds that a platform's clock may be ahead."""
_MOST_TOLD = 20
_ADDRESSES = {"lineitem", "lineitems", "context_memberships_url", "url"}
_MOST_ADDRESS = 200
"""Characters that the library's tables can hold for an address."""
_WRONG = (
    LtiException,
    OIDCException,
    DatabaseError,
    JWException,
    PyJWTError,
    requests.RequestException,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    LookupError,
)
"""Exceptions that the library raises for invalid messages of a platform."""


def register_platforms(platforms: Collection[Platform]) -> None:
    """Allow only these platforms, and those that were confirmed, to launch.

    On the first call, create the service's own key pair.
    """
    with transaction.atomic():
        # Once only: platforms keep our public key, and a new one would refuse requests until they fetch it
        # again.
        if not Key.objects.active().exists():
            Key.objects.generate()
        registered = []
        for platform in platforms:
            registration, _ = LtiRegistration.objects.update_or_create(
                issuer=platform.issuer,
                client_id=platform.client,
                defaults={
                    "name": platform.name,
                    "audience": platform.audience,
                    "auth_url": platform.login,
                    "token_url": platform.token,
                    "keyset_url": platform.keys,
                    "is_active": True,
                },
            )
            registered.append(registration.pk)
            for deployment in platform.deployments:
                LtiDeployment.objects.get_or_create(registration=registration, deployment_id=deployment)
            deployments = LtiDeployment.objects.filter(registration=registration)
            deployments.filter(deployment_id__in=platform.deployments).update(is_active=True)
            deployments.exclude(deployment_id__in=platform.deployments).update(is_active=False)
        # Deactivated and not deleted: members and line items still refer to their registration.
        confirmed = PlatformRegistration.objects.exclude(confirmed_at=None).values("registration")
        further = LtiRegistration.objects.exclude(pk__in=registered).exclude(pk__in=confirmed)
        further.update(is_active=False)


class _Cookies(DjangoCookieService):
    """The library's cookies, limited to launches."""

    def update_response(self, response: HttpResponse) -> None:
        """Limit the cookies to one path."""
        super().update_response(response)
        for name in self._cookie_data_to_set:
            response.cookies[name]["path"] = PATH


class _Launch(DjangoMessageLaunch):
    """A launch with a token that is meant for one registered client."""

    def get_client_id(self) -> str:
        """Return the client that the token was issued to.

        If there are several audiences, ``azp`` names the requesting one (OpenID Connect Core, 3.1.3.7); the
        library takes the first.

        Raises:
            LtiException: ``azp`` is not an audience, or is missing although there are several.
        """
        body: dict[str, Any] = self._get_jwt_body()
        audience, party = body.get("aud"), body.get("azp")
        audiences = audience if isinstance(audience, list) else [audience]
        if party is None and len(audiences) != 1:
            raise LtiException("there are several audiences (aud), and the authorised party (azp) is missing")
        if party is not None and party not in audiences:
            raise LtiException("the authorised party (azp) is not one of the audiences (aud)")
        return str(audiences[0] if party is None else party)


class _Sessions(DjangoSessionService):
    """State between the two requests of a launch."""

    _launch_data_lifetime = SECONDS

    def save_launch_data(self, key: str, jwt_body: Any) -> None:
        """Store nothing: our tables have all that is needed, and the rest is personal data."""


@allow_anyone()
def show_keys(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view
    """Return our public keys, with which a platform verifies our requests for class lists."""
    return JsonResponse(Key.objects.as_jwks())


# The platform posts from its own site and has no CSRF token; state and nonce protect the launch.
@csrf_exempt
@allow_anyone("GET", "POST")
def start_login(request: HttpRequest) -> HttpResponse:
    """Start a launch: redirect the browser to the platform, which authenticates the user."""
    issuer = request.GET.get("iss", request.POST.get("iss", ""))
    client_ids = LtiRegistration.objects.active().filter(issuer=issuer).values_list("client_id", flat=True)
    # The client may be omitted if the issuer has only one.
    tool_request = DjangoRequest(
        request, default_params={"client_id": client_ids[0]} if len(client_ids) == 1 else {}
    )
    oidc_login = DjangoOIDCLogin(
        tool_request,
        DjangoToolConfig(),
        _Sessions(tool_request),
        _Cookies(tool_request),
        DjangoCacheDataStorage(),
    )
    try:
        return oidc_login.redirect(request.build_absolute_uri(reverse("lti-launch")))
    except _WRONG as error:
        return _refuse_launch(request, "lti-refused", error)


@csrf_exempt
@allow_anyone("POST")
def handle_launch(request: HttpRequest) -> HttpResponse:
    """Finish a launch: sign in the user whom the platform has authenticated, and redirect to the course."""
    try:
        lti_launch = _validate_launch(request)
        role = platforms.get_role(lti_launch.roles_claim)
        if not lti_launch.deployment.is_active:
            return _refuse_launch(
                request, "lti-inactive", f"deployment {lti_launch.deployment.deployment_id!a}", 403
            )
        connection = (
            PlatformCourse.objects.filter(context=lti_launch.context).select_related("course").first()
        )
        # A choice of links is shown in a frame, which gets no cookies: the course must be connected before.
        if connection is None and role == Role.INSTRUCTOR and not lti_launch.is_deep_link_launch:
            return _redirect_to_connect(request, lti_launch)
        if connection is None:
            return _refuse_launch(request, "lti-not-connected", f"context {lti_launch.context.pk}", 403)
        with transaction.atomic():
            member = _resolve_member(lti_launch, connection.course, role)
            if lti_launch.is_deep_link_launch:
                return deep_linking.show_choice(request, lti_launch, connection.course, member, role)
            find_target = _find_review if lti_launch.is_submission_review_launch else _choose_target
            url = find_target(lti_launch, connection.course, member)
    except ServiceError as error:
        return _refuse_launch(request, "lti-nobody", error, 403)
    except _WRONG as error:
        return _refuse_launch(request, "lti-refused", error)
    return perform_login(request, member.account, redirect_url=url)


def _redirect_to_connect(request: HttpRequest, lti_launch: LtiLaunch) -> HttpResponse:
    """Redirect to the page that asks which course a context belongs to.

    The token is in a cookie of this browser: a link could trick another instructor into connecting the
    course.
    """
    token = signing.dumps([lti_launch.context.pk, lti_launch.user.pk], salt=_CONNECT)
    answer = redirect("lti-connect")
    answer.set_cookie(
        _COOKIE,
        token,
        max_age=CONNECT_SECONDS,
        path=PATH,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return answer


def _refuse_launch(request: HttpRequest, code: str, why: object, status: int = 400) -> HttpResponse:
    reason = why.text if isinstance(why, ServiceError) else ""
    detail = "" if reason else describe_error(why) if isinstance(why, BaseException) else why
    # Messages of a `ServiceError` may name a person, so the log omits them.
    LOG.warning("a launch was refused: %s %s", code, detail)
    return render_page(request, "error.html", {"code": code, "reason": reason}, status=status)


def _validate_launch(request: HttpRequest) -> LtiLaunch:
    """Validate the signature and session of a launch, refuse it if it was used before, and store its data."""
    tool_request = DjangoRequest(request, post_only=True)
    message = _Launch(
        tool_request,
        DjangoToolConfig(),
        _Sessions(tool_request),
        _Cookies(tool_request),
        DjangoCacheDataStorage(),
        platforms.PatientSession(),
    )
    # The library compares the audience with the registration. PyJWT's check of `iat` allows no difference
    # between clocks.
    message.set_jwt_verify_options({"verify_aud": False, "verify_iat": False, "require": ["exp", "iat"]})
    message.validate()
    # `add` is atomic: of two requests with the same nonce only one succeeds.
    nonce = str(message.get_launch_data()["nonce"])
    if not cache.add(f"lti-used-{hashlib.sha256(nonce.encode()).hexdigest()}", 1, CONNECT_SECONDS):
        raise LtiException("this launch was already used")
    moment = message.get_launch_data().get("iat")
    if not isinstance(moment, (int, float)) or moment > time.time() + _CLOCKS_DIFFER:
        raise LtiException("the launch was issued (iat) in the future")
    _sanitise_claims(message.get_launch_data())
    lti_launch = LtiLaunch(message)
    if lti_launch.is_data_privacy_launch or not isinstance(lti_launch.roles_claim, list):
        raise LtiException("expected a launch of a known type, with roles")
    if lti_launch.is_deep_link_launch:
        request.frame_origin = deep_linking.find_return_origin(lti_launch)
    context = lti_launch.context_claim
    if not isinstance(context, dict) or not isinstance(context.get("id"), str) or not context["id"]:
        raise LtiException("the link is not in a course of the platform")
    with transaction.atomic():
        stored_context = LtiContext.objects.filter(
            deployment=lti_launch.deployment, id_on_platform=context["id"]
        ).first()
        _store_launch(lti_launch)
        # A launch that does not mention the grade service must not erase the stored address.
        if (
            stored_context is not None
            and stored_context.lineitems_url
            and not lti_launch.context.lineitems_url
        ):
            LtiContext.objects.filter(pk=stored_context.pk).update(lineitems_url=stored_context.lineitems_url)
    return lti_launch


def _store_launch(lti_launch: LtiLaunch) -> None:
    if lti_launch.is_submission_review_launch and lti_launch.resource_link_claim is None:
        # A line item need not belong to a link, but the library's function reads one.
        user = sync_user_from_launch(lti_launch)
        sync_membership_from_launch(lti_launch, user, sync_context_from_launch(lti_launch))
    else:
        sync_data_from_launch(lti_launch)


def _sanitise_claims(claims: dict[str, Any]) -> None:
    """Remove claims that are not needed or do not fit into our tables."""
    # PostgreSQL cannot store NUL in text.
    if "\\u0000" in json.dumps(claims):
        raise LtiException("the launch data contain a NUL character")
    claims.pop("picture", None)
    for part in (claims, *(claim for claim in claims.values() if isinstance(claim, dict))):
        for name, value in [*part.items()]:
            fits = isinstance(value, str) and len(value) <= _MOST_ADDRESS
            if value is None or (name in _ADDRESSES and not fits):
                del part[name]


def _resolve_member(lti_launch: LtiLaunch, course: CourseRecord, role: Role | None) -> Member:
    """Return the member that a platform's user is in the course, with an account; create both if needed.

    Never returns a member with an administrator's account: a platform's statement is not enough for it.

    Raises:
        ServiceError: the user has no role in this course.
    """
    # Two first launches of one user at the same time must not create two members.
    user = LtiUser.objects.select_for_update().select_related("registration").get(pk=lti_launch.user.pk)
    platform_member = (
        PlatformMember.objects.filter(user=user, member__course=course).select_related("member").first()
    )
    if platform_member is not None:
        member = platform_member.member
        if member.removed_at:
            raise RequestRefused("platform-member-removed", student=member.student or member.last_name)
        _check_staff_role(Role(member.role), role)
    elif role == Role.STUDENT:
        member = platforms.find_or_create_student(
            course, user, _collect_identifiers(lti_launch), _get_student_claim(user.registration)
        )
    elif role is not None:
        name = {
            "first_name": user.given_name[:150],
            "last_name": (user.family_name or user.name or "-")[:150],
        }
        member = Member.objects.create(course=course, role=role, email=user.email, **name)
        PlatformMember.objects.create(user=user, member=member)
    else:
        raise RequestRefused("launch-no-role")
    if member.account is None:
        user_account: Account | None = user.auth_user
        fits = user_account is not None and not user_account.is_superuser and may_become(user_account, member)
        member.account = user_account if fits else create_account(member)
        member.save(update_fields=["account"])
        if user_account is None:  # a new account, which other courses of the platform can reuse
            LtiUser.objects.filter(pk=user.pk).update(auth_user=member.account)
        audit.record_action(
            member.account.username, "join", member.student or member.last_name, course=course
        )
    if member.account.is_superuser:
        raise RequestRefused("launch-administrator")
    return member


def _check_staff_role(here: Role, there: Role | None) -> None:
    """Check that a member of the course staff still has a staff role on the platform.

    Raises:
        ServiceError: they have not.
    """
    enough = (
        {Role.INSTRUCTOR} if here in {Role.INSTRUCTOR, Role.ADMINISTRATOR} else {Role.INSTRUCTOR, Role.TA}
    )
    if here != Role.STUDENT and there not in enough:
        raise RequestRefused("launch-no-staff")


def _collect_identifiers(lti_launch: LtiLaunch) -> dict[str, Any]:
    """Return the parts of a launch that may hold a student's id."""
    lis = lti_launch.get_claim("https://purl.imsglobal.org/spec/lti/claim/lis")
    sourcedid = lis.get("person_sourcedid") if isinstance(lis, dict) else None
    return {"sub": lti_launch.user.sub, "email": lti_launch.user.email, "person_sourcedid": sourcedid}


def _get_student_claim(registration: LtiRegistration) -> str:
    """Return the part of a platform's launches that holds a student's id."""
    registered: Collection[Platform] = settings.RUNNING.platforms.values()
    for platform in registered:
        if (platform.issuer, platform.client) == (registration.issuer, registration.client_id):
            return platform.student
    row = PlatformRegistration.objects.filter(registration=registration).exclude(confirmed_at=None).first()
    if row is None:
        raise RequestRefused("platform-not-allowed")
    return str(row.student)


def _find_review(lti_launch: LtiLaunch, course: CourseRecord, member: Member) -> str:
    """Return the page with the feedback of the student whose submission a launch is about.

    Raises:
        ServiceError: the student or the assignment is unknown here, or the person may not see it.
    """
    person = lti_launch.get_claim("https://purl.imsglobal.org/spec/lti/claim/for_user")["user_id"]
    reviewed = PlatformMember.objects.filter(
        user__registration=lti_launch.registration, user__sub=person, member__course=course
    )
    student = reviewed.exclude(member__student="").values_list("member__student", flat=True).first()
    item = LtiLineItem.objects.filter(
        context=lti_launch.context, url=lti_launch.ags_claim["lineitem"]
    ).first()
    custom = str(lti_launch.get_custom_claim(deep_linking.ASSIGNMENT) or "")
    offer = Offer.objects.filter(course=course, assignment=item.resource_id if item else custom).first()
    staff = member.role != Role.STUDENT
    # Students must not learn who else is in the course, or which assignments are hidden.
    if not staff and (student != member.student or offer is None or not offer.visible):
        raise RequestRefused("launch-own-only")
    if student is None or offer is None:
        raise RequestRefused("launch-unknown")
    parts = {"slug": course.slug, "assignment": offer.assignment}
    if staff:
        return reverse("staff-feedback", kwargs={**parts, "who": student})
    return reverse("feedback" if offer.published_at else "assignment", kwargs=parts)


def _choose_target(lti_launch: LtiLaunch, course: CourseRecord, member: Member) -> str:
    """Return the page that a launch leads to, and store the platform's line item for the link."""
    staff, parts = member.role != Role.STUDENT, {"slug": course.slug}
    wanted = str(lti_launch.get_custom_claim(deep_linking.ASSIGNMENT) or "")
    offer = Offer.objects.filter(course=course, assignment=wanted).first()
    if offer is None:
        return reverse("staff" if staff else "course", kwargs=parts)
    endpoints = lti_launch.ags_claim
    item = endpoints.get("lineitem") if isinstance(endpoints, dict) else None
    if item:
        facts = {"label": offer.title, "resource_id": wanted, "resource_link": lti_launch.resource_link}
        kept, new = LtiLineItem.objects.get_or_create(
            context=lti_launch.context, url=item, defaults={**facts, "maximum_score": 0.0}
        )
        if kept.resource_id != wanted:  # the link led to another assignment before: its scores do not apply
            kept.delete()
            LtiLineItem.objects.create(context=lti_launch.context, url=item, maximum_score=0.0, **facts)
        if (new or kept.resource_id != wanted) and offer.published_at:
            tasks.enqueue_scores(offer)
    if not (staff or offer.visible):
        return reverse("course", kwargs=parts)
    return reverse("staff-assignment" if staff else "assignment", kwargs={**parts, "assignment": wanted})


@require_sign_in("GET", "HEAD", "POST")
def connect_course(request: HttpRequest) -> HttpResponse:
    """Connect a platform's course with a course here; for the instructors of that course."""
    context_id, user_id = load_token(request.COOKIES.get(_COOKIE, ""), _CONNECT, CONNECT_SECONDS)
    context, user = get_object_or_404(LtiContext, pk=context_id), get_object_or_404(LtiUser, pk=user_id)
    if PlatformCourse.objects.filter(context=context).exists():
        raise Http404
    courses = CourseRecord.objects.order_by("title")
    if not request.user.is_superuser:
        leading = Member.objects.filter(account=request.user, role__in=(Role.INSTRUCTOR, Role.ADMINISTRATOR))
        courses = courses.filter(pk__in=leading.values("course"))
    if request.method == "POST":
        course = get_object_or_404(courses, slug=request.POST.get("course", ""))
        with transaction.atomic():
            connection, new = PlatformCourse.objects.get_or_create(
                context=context, defaults={"course": course}
            )
            # Another instructor connected the context between the check above and this transaction.
            if not new:
                raise Http404
            audit.record_action(
                request.user.username,
                "connect",
                str(context),
                course=course,
                after=_get_platform_name(connection),
            )
            member = Member.objects.filter(course=course, account=request.user).first()
            if member is not None and not request.user.is_superuser:
                PlatformMember.objects.get_or_create(user=user, member=member)
                LtiUser.objects.filter(pk=user.pk, auth_user=None).update(auth_user=request.user)
        return redirect("members", slug=course.slug)
    return render_page(
        request, "connect.html", {"context": context, "own": courses, "person": _get_display_name(user)}
    )


def _get_display_name(user: LtiUser) -> str:
    """Return the display name of a platform's user."""
    return str(f"{user.given_name} {user.family_name}".strip() or user.name or user.sub)


def _get_platform_name(connection: PlatformCourse) -> str:
    return str(connection.context.deployment.registration.name)


@require_role(Role.INSTRUCTOR, "POST")
def import_list(request: HttpRequest, visit: Visit, connection: int) -> HttpResponse:
    """Import the class list of a platform."""
    platform_course, say = _get_connection(visit, connection), get_words(request)
    try:
        done = platforms.import_roster(
            platform_course, _get_student_claim(platform_course.context.deployment.registration)
        )
    except ServiceError as error:
        notices.error(request, say["t"]("bad-list", reason=error.text))
    else:
        after = {"students": done.students, "refused": len(done.refused)}
        visit.record_action("class list", _get_platform_name(platform_course), after=after)
        notices.info(request, say["counted"]("imported", done.students))
        for reason in done.refused[:_MOST_TOLD]:
            notices.error(request, say["t"]("not-enrolled", reason=reason))
    return redirect("members", slug=visit.course.slug)


@require_role(Role.INSTRUCTOR, "POST")
def disconnect_course(_: HttpRequest, visit: Visit, connection: int) -> HttpResponse:
    """Disconnect a platform's course. Members who came through it remain."""
    platform_course = _get_connection(visit, connection)
    with transaction.atomic():
        before = _get_platform_name(platform_course)
        visit.record_action("disconnect", str(platform_course.context), before=before)
        platform_course.delete()
    return redirect("members", slug=visit.course.slug)


def _get_connection(visit: Visit, connection: int) -> PlatformCourse:
    rows = PlatformCourse.objects.select_related("context__deployment__registration")
    return get_object_or_404(rows, pk=connection, course=visit.course)


@require_role(Role.INSTRUCTOR, "POST")
def limit_marks(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Set whether platforms get at most the possible points, and send the marks again."""
    before, wanted = offer.capped_on_platforms, request.POST.get("wanted") == "yes"
    if wanted != before:
        with transaction.atomic():
            Offer.objects.filter(pk=offer.pk).update(capped_on_platforms=wanted)
            visit.record_action("cap", offer.assignment, before=before, after=wanted)
            if offer.published_at:
                tasks.enqueue_scores(offer)
    return redirect("staff-assignment", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.HEAD_TA, "POST")
def send_marks(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Send pending marks to the platforms now."""
    tasks.enqueue_scores(offer)
    notices.info(request, get_words(request)["t"]("sending"))
    return redirect("staff-assignment", slug=visit.course.slug, assignment=offer.assignment)
