"""Assign waiting answers to markers, or leave them to everybody."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from autograder.service.marking import assignees
from autograder.service.models import Role
from autograder.web.guard import Visit, require_role
from autograder.web.marking import pages
from autograder.web.site import get_words


@require_role(Role.HEAD_TA, "POST")
def assign_answers(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Split the unmarked answers of a cell, or of all cells, among the chosen markers."""
    offer, say = visit.get_offer(assignment), get_words(request)
    sent = request.POST.get("place", "")
    place = pages.get_place(visit, assignment, pages.parse_number(sent)) if sent else None
    chosen = {pages.parse_number(number) for number in request.POST.getlist("marker")}
    markers = [account for account in assignees.list_markers(visit.course) if account.pk in chosen]
    if request.POST.get("to") == "everybody":
        number = assignees.assign_answers(offer, place, [], request.user)
        notices.success(request, say["counted"]("mark-left-to-all", number))
    elif markers:
        number = assignees.assign_answers(offer, place, markers, request.user)
        notices.success(request, say["counted"]("mark-assigned-number", number))
    else:
        notices.error(request, say["t"]("mark-choose-marker"))
    return redirect("marking", slug=visit.course.slug, assignment=assignment)
