"""Deep linking (LTI Deep Linking 2.0): instructors choose assignments, and their platform gets links to them.

Platforms show the page in a frame, where browsers send no session cookie. So it signs nobody in: the form
carries a signed statement of who chooses for which course, and where the platform expects the answer.
"""

from __future__ import annotations

from typing import Any

from django.core import signing
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from lti_tool.models import LtiLaunch
from pylti1p3.deep_link import DeepLink
from pylti1p3.deep_link_resource import DeepLinkResource
from pylti1p3.exception import LtiException
from pylti1p3.lineitem import LineItem

from autograder.service import attempts, platforms
from autograder.service.models import CourseRecord, Member, Offer, PlatformCourse, Role
from autograder.service.refusals import RequestRefused
from autograder.web import assignment_details
from autograder.web.guard import allow_anyone
from autograder.web.responses import load_token, render_page
from autograder.web.security import find_origin

SECONDS = 3600
"""How long an instructor may take to choose."""
ASSIGNMENT = "assignment"
"""The custom parameter of a link to one assignment."""
_SALT = "autograder.lti.deep-link"
_CLAIM = "https://purl.imsglobal.org/spec/lti-dl/claim"
_LEADING = (Role.INSTRUCTOR, Role.ADMINISTRATOR)
_REVIEWABLE = ["InProgress", "Submitted", "Completed"]


class _AssignmentLink(DeepLinkResource):
    """A link with the times of its assignment, which the library leaves out."""

    times: dict[str, Any]

    def to_dict(self) -> dict[str, object]:
        """Return the content item."""
        # Pages of the service are shown in no frame.
        return {**super().to_dict(), "window": {"targetName": "_blank"}, **self.times}


def find_return_origin(lti_launch: LtiLaunch) -> str:
    """Return the origin that the answer goes to.

    Raises:
        LtiException: the launch states no usable address.
    """
    stated = lti_launch.get_claim(f"{_CLAIM}/deep_linking_settings")
    origin = find_origin(str(stated.get("deep_link_return_url")))
    if not origin:
        raise LtiException("the return address (deep_link_return_url) is not an https address")
    return origin


def show_choice(
    request: HttpRequest, lti_launch: LtiLaunch, course: CourseRecord, member: Member, role: Role | None
) -> HttpResponse:
    """Show the assignments of the course, of which an instructor chooses.

    Raises:
        RequestRefused: the person is not an instructor, there and here.
    """
    if role != Role.INSTRUCTOR or member.role not in _LEADING:
        raise RequestRefused("launch-instructors-only")
    stated = lti_launch.get_claim(f"{_CLAIM}/deep_linking_settings")
    # The standard allows both booleans and texts.
    several = stated.get("accept_multiple") in (True, "true")
    graded = stated.get("accept_lineitem") not in (False, "false")
    answer_to = {key: stated[key] for key in ("deep_link_return_url", "data") if key in stated}
    token = signing.dumps([lti_launch.context.pk, member.pk, several, graded, answer_to], salt=_SALT)
    context = {
        "course": course,
        "offers": Offer.objects.filter(course=course).order_by("title", "pk"),
        "several": several,
        "token": token,
    }
    return render_page(request, "deep_link.html", context)


# In a frame there is no CSRF cookie; the signed token of the form takes its place.
@csrf_exempt
@allow_anyone("POST")
def return_links(request: HttpRequest) -> HttpResponse:
    """Send the chosen assignments to the platform: the signed answer is posted by the browser."""
    statement = load_token(request.POST.get("token", ""), _SALT, SECONDS)
    context_id, member, several, graded, answer_to = statement
    rows = PlatformCourse.objects.select_related("course", "context__deployment__registration")
    connection = get_object_or_404(rows, context=context_id)
    leads = Member.objects.filter(pk=member, course=connection.course, role__in=_LEADING).exists()
    # Both may have changed since the launch.
    if not (leads and platforms.is_allowed(connection)):
        raise Http404
    wanted = set(request.POST.getlist("assignment"))
    visible = Offer.objects.filter(course=connection.course, visible=True).select_related("version", "course")
    offers = [offer for offer in visible.order_by("title", "pk") if offer.assignment in wanted]
    if len(offers) != len(wanted) or (len(offers) > 1 and not several):
        raise BadRequest
    deployment = connection.context.deployment
    link = DeepLink(deployment.registration.to_registration(), deployment.deployment_id, answer_to)
    launch = request.build_absolute_uri(reverse("lti-launch"))
    message = link.get_message_jwt([_make_link(offer, launch, graded=graded) for offer in offers])
    if "data" not in answer_to:
        del message[f"{_CLAIM}/data"]  # the library states null
    address = answer_to["deep_link_return_url"]
    request.frame_origin = request.form_origin = find_origin(address)
    # Not the library's form: it does not escape the address, and our policy refuses its script.
    context = {"address": address, "jwt": link.encode_jwt(message)}
    return render_page(request, "deep_link_answer.html", context)


def _make_link(offer: Offer, launch: str, *, graded: bool) -> DeepLinkResource:
    assignment = assignment_details.get_assignment(offer)
    link, custom = _AssignmentLink(), {ASSIGNMENT: offer.assignment}
    link.set_title(offer.title).set_url(launch).set_custom_params(custom)
    points = float(assignment.rubric.assignment.points)
    if graded and points > 0:
        item = LineItem().set_score_maximum(points).set_label(offer.title).set_tag(platforms.TAG)
        item.set_resource_id(offer.assignment).set_submission_review(_REVIEWABLE, custom=custom)
        link.set_lineitem(item)
    link.times = {}
    schedule = attempts.load_schedule(offer, assignment.rubric)
    if schedule is not None:
        window = schedule.common
        start = {"startDateTime": window.start.isoformat()} if window.start else {}
        # Feedback is read after the deadline, so the assignment stays available.
        link.times = {"submission": {**start, "endDateTime": window.end.isoformat()}}
        link.times |= {"available": start} if start else {}
    return link
