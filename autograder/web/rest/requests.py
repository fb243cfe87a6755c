"""Operations on regrade requests, for staff."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from autograder.service.marking import regrade_requests
from autograder.service.models import RegradeRequest, Role, Scope
from autograder.service.protection.accesses import Access, record_accesses
from autograder.web import assignment_details
from autograder.web.regrade_requests import find_question
from autograder.web.rest.access import add_route, open_visit
from autograder.web.rest.schemas import RequestAnswer, RequestOut, RequestPage, StudentChoice, cut_page

ROUTER = Router(tags=["requests"])


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/requests", Scope.READ, RequestPage)
def list_requests(
    request: HttpRequest, slug: str, assignment: str, choice: Query[StudentChoice]
) -> dict[str, Any]:
    """List the regrade requests of an assignment, oldest first. For staff."""
    offer = open_visit(request, slug, Role.TA).get_offer(assignment)
    rows = offer.requests.select_related("answered_by").order_by("pk")
    found = cut_page(rows.filter(student=choice.student) if choice.student else rows, choice)
    record_accesses(request.user, offer, [row.student for row in found["items"]], Access.REQUEST)
    found["items"] = [_describe_request(row) for row in found["items"]]
    return found


@add_route(ROUTER, "put", "/{slug}/requests/{number}/answer", Scope.MARK, RequestOut)
def answer_request(request: HttpRequest, slug: str, number: int, answer: RequestAnswer) -> dict[str, Any]:
    """Answer an open regrade request. For staff who did not give the mark."""
    visit = open_visit(request, slug, Role.TA)
    rows = RegradeRequest.objects.select_related("offer__course", "offer__version", "answered_by")
    row = get_object_or_404(rows, pk=number, offer__course=visit.course)
    question = find_question(assignment_details.get_assignment(row.offer).get_rubric(row.student), row)
    # In plain notation, as marks are stored everywhere; adding zero turns -0 into 0.
    points = None if answer.points is None else Decimal(format(answer.points + 0, "f"))
    regrade_requests.answer_request(row, request.user, answer.text, question, points)
    return _describe_request(rows.get(pk=number))


def _describe_request(row: RegradeRequest) -> dict[str, Any]:
    fields = ("student", "question", "item", "reason", "made_at", "points", "answer", "answered_at")
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in fields},
        "open": row.answered_at is None and row.withdrawn_at is None,
        "answered_by": row.answered_by.username if row.answered_by else "",
        "points_after": row.points_after,
    }
