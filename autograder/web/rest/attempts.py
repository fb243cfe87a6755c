"""Operations on attempts: submit, list, download, and how answers are read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from autograder.core.wording import decode_phrase
from autograder.notebook.student.transport import ONCE
from autograder.service import attempts
from autograder.service.models import Attempt, AttemptFile, Offer, Role, Scope
from autograder.service.protection.accesses import Access, record_accesses
from autograder.web import assignment_details
from autograder.web.guard import Visit
from autograder.web.responses import send_stored_file
from autograder.web.rest.access import add_route, describe_file, open_visit
from autograder.web.rest.schemas import (
    AttemptOut,
    AttemptPage,
    ReadingsOut,
    ReceiptOut,
    StudentChoice,
    cut_page,
)
from autograder.web.site import choose_language
from autograder.web.student import create_attempt, read_contents

ROUTER = Router(tags=["attempts"])
_FILES = {"type": "array", "items": describe_file("application/octet-stream")}
_FORM = {"type": "object", "properties": {"files": _FILES}, "required": ["files"]}
_UPLOAD = {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}


@add_route(
    ROUTER,
    "post",
    "/{slug}/assignments/{assignment}/attempts",
    Scope.SUBMIT,
    ReceiptOut,
    status=201,
    body=_UPLOAD,
)
def submit_files(request: HttpRequest, slug: str, assignment: str) -> HttpResponseBase:
    """Submit files as the student who owns the key; the response is the signed receipt."""
    visit = open_visit(request, slug, Role.STUDENT)
    offer = visit.get_offer(assignment)
    files = read_contents(request.FILES.getlist("files"))
    # A repetition with the same key is not another attempt, and gets the same receipt.
    attempt = create_attempt(request, offer, visit.student, files, request.headers.get(ONCE, ""))
    # As it was signed, and as the page offers it for download.
    return HttpResponse(attempt.receipt + "\n", status=201, content_type="application/json")


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/attempts", Scope.READ, AttemptPage)
def list_attempts(
    request: HttpRequest, slug: str, assignment: str, choice: Query[StudentChoice]
) -> dict[str, Any]:
    """List the attempts of an assignment, newest first: for students their own, for staff all."""
    visit = open_visit(request, slug)
    offer = visit.get_offer(assignment)
    rows = _select_attempts(visit).filter(offer=offer).order_by("-submitted_at", "pk")
    found = cut_page(rows.filter(student=choice.student) if choice.student else rows, choice)
    counting = _list_counting(visit, offer)
    found["items"] = [_describe_attempt(visit, attempt, counting) for attempt in found["items"]]
    return found


@add_route(ROUTER, "get", "/{slug}/attempts/{attempt}", Scope.READ, AttemptOut)
def get_attempt(request: HttpRequest, slug: str, attempt: UUID) -> dict[str, Any]:
    """Return one attempt."""
    visit = open_visit(request, slug)
    row = _view_attempt(request, visit, attempt, Access.ATTEMPT)
    return _describe_attempt(visit, row, _list_counting(visit, row.offer))


@add_route(ROUTER, "get", "/{slug}/attempts/{attempt}/receipt", Scope.READ, ReceiptOut)
def get_receipt(request: HttpRequest, slug: str, attempt: UUID) -> HttpResponseBase:
    """Return the signed receipt of an attempt of the student who owns the key."""
    visit = open_visit(request, slug, Role.STUDENT)
    row = _view_attempt(request, visit, attempt, Access.ATTEMPT)
    return HttpResponse(row.receipt + "\n", content_type="application/json")


@add_route(
    ROUTER,
    "get",
    "/{slug}/attempts/{attempt}/files/{path:name}",
    Scope.READ,
    sends="application/octet-stream",
)
def download_file(request: HttpRequest, slug: str, attempt: UUID, name: str) -> HttpResponseBase:
    """Download a submitted file as it arrived."""
    visit = open_visit(request, slug)
    row = get_object_or_404(_view_attempt(request, visit, attempt, Access.FILE).files, name=name)
    return send_stored_file(row.blob_id, name)


@add_route(ROUTER, "get", "/{slug}/attempts/{attempt}/readings", Scope.READ, ReadingsOut)
def get_readings(request: HttpRequest, slug: str, attempt: UUID) -> dict[str, Any]:
    """Return how an attempt was received and how its answers are read, without running it."""
    visit = open_visit(request, slug)
    row = _view_attempt(request, visit, attempt, Access.ATTEMPT)
    language = choose_language(request)
    return {
        "received": assignment_details.format_received(row, language),
        "timing": assignment_details.describe_timing(row, language),
        "checked": assignment_details.check_attempt(row, language),
    }


def _select_attempts(visit: Visit) -> QuerySet[Attempt]:
    """Return the attempts that a visitor may see."""
    files = AttemptFile.objects.annotate(size=F("blob__size")).order_by("name")
    rows = Attempt.objects.filter(offer__course=visit.course).select_related(
        "offer__course", "offer__version", "version"
    )
    rows = rows if visit.staff else rows.filter(student=visit.student, offer__visible=True)
    return rows.prefetch_related(Prefetch("files", files))


def _view_attempt(request: HttpRequest, visit: Visit, identifier: UUID, action: Access) -> Attempt:
    """Return an attempt that the visitor may see, and record the view if it is by staff."""
    row = _select_attempts(visit).filter(pk=identifier).first()
    if row is None:
        raise Http404
    if visit.staff:
        record_accesses(request.user, row.offer, [row.student], action)
    return row


def _list_counting(visit: Visit, offer: Offer) -> set[str]:
    """Return the ids of the attempts that count, for a student or the whole class."""
    rubric = assignment_details.get_assignment(offer).rubric
    if not visit.staff:
        return set(assignment_details.get_counting_codes(offer, visit.student))
    handins = attempts.find_counting_attempts(offer, rubric).values()
    return {folder.name for handin in handins for folder in (handin.folder, handin.own) if folder}


def _describe_attempt(visit: Visit, attempt: Attempt, counting: set[str]) -> dict[str, Any]:
    return {
        "id": attempt.pk,
        "assignment": attempt.offer.assignment,
        "student": attempt.student,
        "number": attempt.number,
        "state": attempt.state,
        "submitted_at": attempt.submitted_at,
        "graded_at": attempt.graded_at,
        "counts": str(attempt.pk) in counting,
        "problem": str(decode_phrase(attempt.problem)) if visit.staff else "",
        "files": [{"name": row.name, "size": row.size, "sha256": row.blob_id} for row in attempt.files.all()],
    }
