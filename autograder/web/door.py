"""The door for programs: a key opens it, and a receipt comes back."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from autograder.errors import ServiceError
from autograder.service.models import Member, Offer, ProgramKey
from autograder.web.account import digest
from autograder.web.guard import open_page
from autograder.web.student import take


@csrf_exempt  # no cookie is looked at: the key alone decides
@open_page("POST")
def hand_in(request: HttpRequest, slug: str, assignment: str) -> HttpResponse:
    """Files as multipart form data named ``files``; answers with the receipt, or what is wrong."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    key = ProgramKey.objects.filter(digest=digest(given)).select_related("account").first()
    if key is None or not key.account.is_active:
        return _told("the key is not known; make one on the page 'Keys for programs'", 401)
    member = Member.objects.filter(course__slug=slug, account=key.account).exclude(student="").first()
    offer = Offer.objects.filter(course__slug=slug, assignment=assignment, visible=True).first()
    if member is None or offer is None:
        return _told(f"there is no assignment {assignment!r} in a course {slug!r} for you", 404)
    ProgramKey.objects.filter(pk=key.pk).update(used_at=timezone.now())
    request.user = key.account
    files = {one.name: one.read() for one in request.FILES.getlist("files")}
    try:
        attempt = take(request, offer, member.student, files)
    except ServiceError as error:
        return _told(str(error), 400)
    return HttpResponse(attempt.receipt + "\n", status=201, content_type="application/json")


def _told(reason: str, status: int) -> HttpResponse:
    return JsonResponse({"error": reason}, status=status)
