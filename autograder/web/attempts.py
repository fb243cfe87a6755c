"""Staff pages about the attempts of one student: see which one counts, and choose another one."""

from __future__ import annotations

import uuid

from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from msgspec import Struct

from autograder.core.errors import ServiceError
from autograder.service import attempts, choosing
from autograder.service.models import Attempt, Role, State
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.telling import ChosenAttempt
from autograder.web import shown
from autograder.web.guard import Visit, require_role
from autograder.web.site import choose_language, words
from autograder.web.student import render_page, send_stored_file


class AttemptRow(Struct, frozen=True):
    """An attempt of a student or of a member of their group."""

    attempt: Attempt
    received: str
    counts: str
    """The code of the sentence that says what the attempt counts for; empty if it does not count."""
    fault: str
    """The reason why it cannot be read; empty if it can."""
    files: list[str]
    may_choose: bool


@require_role(Role.TA)
def show_attempts(request: HttpRequest, visit: Visit, assignment: str, who: str) -> HttpResponse:
    """Show the attempts of a student and of their group, and why one of them counts."""
    offer, language = visit.get_offer(assignment), choose_language(request)
    rubric, counts = shown.get_assignment(offer).rubric, shown.get_counting_codes(offer, who)
    head = visit.has_role(Role.HEAD_TA)
    # Receipts are not shown here, so they are not loaded.
    group_attempts = Attempt.objects.filter(
        offer=offer, student__in=attempts.list_group_members(offer, who)
    ).defer("receipt")
    rows = []
    for attempt in group_attempts.order_by("-submitted_at", "pk"):
        readable = attempts.find_readability(attempt, rubric)
        code = counts.get(str(attempt.pk), "")
        # A failed attempt has no result that could count.
        may_choose = head and not code and attempt.state != State.FAILED
        rows.append(
            AttemptRow(
                attempt,
                shown.format_received(attempt, language),
                code,
                readable.reason if readable.is_damaged else "",
                sorted(attempt.files.values_list("name", flat=True)),
                may_choose,
            )
        )
    # An unknown student and one without attempts get the same answer.
    if not rows:
        raise Http404
    record_accesses(request.user, offer, [who], Access.ATTEMPT)
    context = {
        "visit": visit,
        "offer": offer,
        "who": who,
        "rows": rows,
        "why": shown.list_counting_reasons(offer, who, language),
        "head": head,
        "chosen": ChosenAttempt.objects.filter(attempt__in=group_attempts).exists(),
    }
    return render_page(request, "attempts_of.html", context)


@require_role(Role.TA)
def download_attempt_file(
    request: HttpRequest, visit: Visit, identifier: uuid.UUID, name: str
) -> HttpResponseBase:
    """Download a file of an attempt as it arrived; the browser must not display it."""
    attempt = _get_attempt(visit, identifier)
    row = get_object_or_404(attempt.files, name=name)
    record_accesses(request.user, attempt.offer, [attempt.student], Access.FILE)
    return send_stored_file(row.blob_id, name)


@require_role(Role.HEAD_TA, "POST")
def choose_attempt(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponse:
    """Choose, with a reason, the attempt that counts."""
    attempt, say = _get_attempt(visit, identifier), words(request)["t"]
    rubric = shown.get_assignment(attempt.offer).rubric
    try:
        choosing.choose_attempt(attempt, request.POST.get("reason", ""), rubric, request.user)
    except ServiceError as error:
        notices.error(request, say("refused", reason=str(error)))
    else:
        notices.info(request, say("chosen", number=attempt.number))
    return _redirect_to_attempts(visit, attempt.offer.assignment, attempt.student)


@require_role(Role.HEAD_TA, "POST")
def drop_choice(request: HttpRequest, visit: Visit, assignment: str, who: str) -> HttpResponse:
    """Revert to the automatic choice of the attempt that counts, by dates and files."""
    offer = visit.get_offer(assignment)
    choosing.drop_choice(offer, who, shown.get_assignment(offer).rubric, request.user)
    notices.info(request, words(request)["t"]("choice-dropped"))
    return _redirect_to_attempts(visit, assignment, who)


def _get_attempt(visit: Visit, identifier: uuid.UUID) -> Attempt:
    rows = Attempt.objects.select_related("offer__course", "offer__version")
    return get_object_or_404(rows, pk=identifier, offer__course=visit.course)


def _redirect_to_attempts(visit: Visit, assignment: str, who: str) -> HttpResponse:
    kwargs = {"slug": visit.course.slug, "assignment": assignment, "who": who}
    return HttpResponseRedirect(reverse("attempts-of", kwargs=kwargs))
