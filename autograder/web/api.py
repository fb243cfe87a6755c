"""API for programs: a key authenticates its owner, who can download their own files and submit."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from msgspec import to_builtins

from autograder.core.errors import ServiceError
from autograder.notebook.student.transport import ONCE
from autograder.service import mark_changes, versions
from autograder.service.models import Account, Attempt, Member, Offer, ProgramKey
from autograder.web import assignment_details
from autograder.web.account import hash_secret
from autograder.web.guard import View, allow_anyone
from autograder.web.site import choose_language
from autograder.web.student import create_attempt, pack_files, read_contents


def _require_key(*methods: str) -> Callable[[View], View]:
    """Require a program key; its owner becomes ``request.user``. Cookies are ignored."""

    def wrap_view(view: View) -> View:
        # Only the key authenticates, never a cookie, so a foreign site has nothing to forge.
        @csrf_exempt
        @allow_anyone(*methods)
        @functools.wraps(view)
        def check_key(request: HttpRequest, **parts: str) -> HttpResponse:
            secret = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            key = ProgramKey.objects.filter(digest=hash_secret(secret)).select_related("account").first()
            if key is None or not key.account.is_active:
                return _build_error("the API key is not known; create one on the account page", 401)
            ProgramKey.objects.filter(pk=key.pk).update(used_at=timezone.now())
            request.user = key.account
            return view(request, **parts)

        return check_key

    return wrap_view


def _find_offer(request: HttpRequest, slug: str, assignment: str) -> tuple[str, Offer] | HttpResponse:
    """Return the key owner's student id and the offer, or the response that there is none for them."""
    member = _select_members(request.user).filter(course__slug=slug).first()
    offer = Offer.objects.filter(course__slug=slug, assignment=assignment, visible=True).first()
    # The same reply for both, so that strangers cannot learn which courses exist.
    if member is None or offer is None:
        return _build_error(
            f"there is no assignment {assignment!r} in the course {slug!r}, or you have no access to it", 404
        )
    return member.student, offer


def _select_members(account: Account) -> Any:
    return Member.objects.filter(account=account).exclude(student="")


@_require_key("POST")
def submit_files(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Receive the multipart files named ``files``.

    Respond with the receipt, or with the reason for the refusal. A repetition with the same header
    ``Idempotency-Key`` is not another attempt, and gets the same receipt.
    """
    target = _find_offer(request, slug, assignment)
    if isinstance(target, HttpResponse):
        return target
    student, offer = target
    try:
        files = read_contents(request, request.FILES.getlist("files"))
        attempt = create_attempt(request, offer, student, files, request.headers.get(ONCE, ""))
    except ServiceError as error:
        return _build_error(str(error), 400)
    return HttpResponse(attempt.receipt + "\n", status=201, content_type="application/json")


@_require_key("GET")
def show_attempt(request: HttpRequest, slug: str, assignment: str, number: int) -> HttpResponse:
    """Show whether an attempt is in time, and how its files were read."""
    target = _find_offer(request, slug, assignment)
    if isinstance(target, HttpResponse):
        return target
    student, offer = target
    attempt = Attempt.objects.filter(offer=offer, student=student, number=number).first()
    if attempt is None:
        return _build_error(f"you have no attempt {number}", 404)
    language = choose_language(request)
    facts = {
        "received": assignment_details.format_received(attempt, language),
        "timing": assignment_details.describe_timing(attempt, language),
        "checked": assignment_details.check_attempt(attempt, language),
    }
    return JsonResponse(to_builtins(facts))


@_require_key("GET")
def list_courses(request: HttpRequest) -> HttpResponse:
    """List, by course and assignment, the SHA-256 of each file and of the feedback page (empty: no page).

    ``?assignment=`` limits the list to the assignments of this name.
    """
    members = _select_members(request.user).select_related("course").order_by("course__slug")
    return JsonResponse({member.course.slug: dict(_list_assignments(request, member)) for member in members})


def _list_assignments(request: HttpRequest, member: Member) -> Iterator[tuple[str, dict[str, Any]]]:
    language = choose_language(request)
    offers = Offer.objects.filter(course=member.course, visible=True).select_related("version", "course")
    only = request.GET.get("assignment")
    for offer in offers.order_by("pk"):
        if (
            only in {None, offer.assignment}
            and assignment_details.get_times(offer, member.student, language).open
        ):
            files = versions.load_digests(offer.version, member.student)
            page = _render_feedback(offer, member.student, language)
            of_page = hashlib.sha256(page.encode()).hexdigest() if page else ""
            yield offer.assignment, {"files": files, "feedback": of_page}


@_require_key("GET")
def download_files(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Download all files of the release as a zip archive, in a folder named after the assignment."""
    target = _find_offer(request, slug, assignment)
    if isinstance(target, HttpResponse):
        return target
    student, offer = target
    if not assignment_details.get_times(offer, student, choose_language(request)).open:
        return _build_error("the assignment is not open yet", 404)
    digests = versions.load_digests(offer.version, student)
    return FileResponse(pack_files(offer.assignment, digests), content_type="application/zip")


@_require_key("GET")
def download_feedback(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Download the feedback page, once marks are published."""
    target = _find_offer(request, slug, assignment)
    if isinstance(target, HttpResponse):
        return target
    student, offer = target
    page = _render_feedback(offer, student, choose_language(request))
    if not page:
        return _build_error("no feedback has been published yet", 404)
    mark_changes.record_shown_marks(offer, assignment_details.get_assignment(offer), student)
    # No HTML type: a browser must save this page and not show it under our origin.
    return HttpResponse(page, content_type="application/octet-stream")


def _render_feedback(offer: Offer, student: str, language: str) -> str:
    return (assignment_details.render_feedback(offer, student, language) or "") if offer.published_at else ""


def _build_error(reason: str, status: int) -> HttpResponse:
    return JsonResponse({"error": reason}, status=status)
