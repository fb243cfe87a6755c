"""API for programs: a key authenticates its owner, who can download their own files and submit."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from autograder.errors import ServiceError
from autograder.service import changes, versions
from autograder.service.models import Account, Member, Offer, ProgramKey
from autograder.web import shown
from autograder.web.account import digest
from autograder.web.guard import View, open_page
from autograder.web.site import language_of
from autograder.web.student import contents, packed, take


def _with_key(*methods: str) -> Callable[[View], View]:
    """Require a program key; its owner becomes ``request.user``. Cookies are ignored."""

    def guarded(view: View) -> View:
        # Only the key authenticates, never a cookie, so a foreign site has nothing to forge.
        @csrf_exempt
        @open_page(*methods)
        @functools.wraps(view)
        def answer(request: HttpRequest, **parts: str) -> HttpResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            key = ProgramKey.objects.filter(digest=digest(given)).select_related("account").first()
            if key is None or not key.account.is_active:
                return _told("the key is not known; make one on the page 'Keys for programs'", 401)
            ProgramKey.objects.filter(pk=key.pk).update(used_at=timezone.now())
            request.user = key.account
            return view(request, **parts)

        return answer

    return guarded


def _offered(request: HttpRequest, slug: str, assignment: str) -> tuple[str, Offer] | HttpResponse:
    """Return the key owner's student id and the offer, or the response that there is none for them."""
    member = _students(request.user).filter(course__slug=slug).first()
    offer = Offer.objects.filter(course__slug=slug, assignment=assignment, visible=True).first()
    # The same reply for both, so that strangers cannot learn which courses exist.
    if member is None or offer is None:
        return _told(f"there is no assignment {assignment!r} in a course {slug!r} for you", 404)
    return member.student, offer


def _students(account: Account) -> Any:
    return Member.objects.filter(account=account).exclude(student="")


@_with_key("POST")
def hand_in(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Receive the multipart files named ``files``.

    Respond with the receipt, or with the reason for the refusal.
    """
    found = _offered(request, slug, assignment)
    if isinstance(found, HttpResponse):
        return found
    student, offer = found
    try:
        attempt = take(request, offer, student, contents(request, request.FILES.getlist("files")))
    except ServiceError as error:
        return _told(str(error), 400)
    return HttpResponse(attempt.receipt + "\n", status=201, content_type="application/json")


@_with_key("GET")
def courses(request: HttpRequest) -> HttpResponse:
    """List, by course and assignment, the SHA-256 of each file and of the feedback page (empty: no page)."""
    members = _students(request.user).select_related("course").order_by("course__slug")
    return JsonResponse({one.course.slug: dict(_assignments(request, one)) for one in members})


def _assignments(request: HttpRequest, member: Member) -> Iterator[tuple[str, dict[str, Any]]]:
    language = language_of(request)
    offers = Offer.objects.filter(course=member.course, visible=True).select_related("version", "course")
    for offer in offers.order_by("pk"):
        if shown.times(offer, member.student, language).open:
            files = versions.digests(offer.version, member.student)
            page = _feedback(offer, member.student, language)
            of_page = hashlib.sha256(page.encode()).hexdigest() if page else ""
            yield offer.assignment, {"files": files, "feedback": of_page}


@_with_key("GET")
def files(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Download all files of the release as a zip archive, in a folder named after the assignment."""
    found = _offered(request, slug, assignment)
    if isinstance(found, HttpResponse):
        return found
    student, offer = found
    if not shown.times(offer, student, language_of(request)).open:
        return _told("it has not begun", 404)
    given = versions.digests(offer.version, student)
    return FileResponse(packed(offer.assignment, given), content_type="application/zip")


@_with_key("GET")
def feedback(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Download the feedback page, once marks are published."""
    found = _offered(request, slug, assignment)
    if isinstance(found, HttpResponse):
        return found
    student, offer = found
    page = _feedback(offer, student, language_of(request))
    if not page:
        return _told("there is no feedback yet", 404)
    changes.seen(offer, shown.loaded(offer), student)
    # No HTML type: a browser must save this page and not show it under our origin.
    return HttpResponse(page, content_type="application/octet-stream")


def _feedback(offer: Offer, student: str, language: str) -> str:
    return (shown.feedback(offer, student, language) or "") if offer.published_at else ""


def _told(reason: str, status: int) -> HttpResponse:
    return JsonResponse({"error": reason}, status=status)
