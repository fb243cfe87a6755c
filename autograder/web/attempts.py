"""Staff pages about the attempts of one student: see, download, upload, and choose the one that counts."""

from __future__ import annotations

import uuid

from django import forms
from django.conf import settings
from django.contrib import messages as notices
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from msgspec import Struct

from autograder.core.errors import ServiceError
from autograder.core.wording import render_phrase
from autograder.service import attempt_choice, attempts, audit, blobs, mark_changes
from autograder.service.models import Attempt, Member, Offer, Role, State
from autograder.service.models_results import ChosenAttempt
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.refusals import RequestRefused
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page, send_stored_file
from autograder.web.site import choose_language, get_words
from autograder.web.student import pack_files, place_upload, read_contents, send_archive


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
def show_attempts(request: HttpRequest, visit: Visit, offer: Offer, who: str) -> HttpResponse:
    """Show the attempts of a student and of their group, and why one of them counts."""
    language = choose_language(request)
    rubric, counts = (
        assignment_details.get_assignment(offer).rubric,
        assignment_details.get_counting_codes(offer, who),
    )
    head = visit.has_role(Role.HEAD_TA)
    group_attempts = _find_attempts(offer, who)
    rows = []
    for attempt in group_attempts.select_related("by").order_by("-submitted_at", "pk"):
        readable = attempts.find_readability(attempt, rubric)
        code = counts.get(str(attempt.pk), "")
        # A failed attempt has no result that could count.
        may_choose = head and not code and attempt.state != State.FAILED
        rows.append(
            AttemptRow(
                attempt,
                assignment_details.format_received(attempt, language),
                code,
                render_phrase(readable.reason, language) if readable.is_damaged else "",
                sorted(attempt.files.values_list("name", flat=True)),
                may_choose,
            )
        )
    record_accesses(request.user, offer, [who], Access.ATTEMPT)
    context = {
        "who": who,
        "name": assignment_details.get_name(offer, who),
        "rows": rows,
        "why": assignment_details.list_counting_reasons(offer, who, language),
        "head": head,
        "instructor": visit.has_role(Role.INSTRUCTOR),
        "zone": assignment_details.find_course_zone(visit.course).key,
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


def _find_attempts(offer: Offer, who: str) -> QuerySet[Attempt]:
    """Return the attempts of a student and of their group.

    Raises:
        Http404: there are none, and no such student is or was on the class list.
    """
    # Receipts are long and rarely needed, so they are not loaded.
    members = attempts.list_group_members(offer, who)
    submitted = Attempt.objects.filter(offer=offer, student__in=members).defer("receipt")
    if not (submitted.exists() or Member.everyone.filter(course=offer.course, student=who).exists()):
        raise Http404
    return submitted


@require_role(Role.TA)
def download_receipt(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponseBase:
    """Download the signed receipt of an attempt, as its student has it."""
    attempt = _get_attempt(visit, identifier)
    record_accesses(request.user, attempt.offer, [attempt.student], Access.ATTEMPT)
    name = f"receipt-{attempt.offer.assignment}-{attempt.student}-{attempt.number}.json"
    return make_download(attempt.receipt.encode() + b"\n", name)


@require_role(Role.TA)
def download_attempt(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponseBase:
    """Download all files of an attempt."""
    attempt = _get_attempt(visit, identifier)
    record_accesses(request.user, attempt.offer, [attempt.student], Access.FILE)
    name = f"{attempt.student}-{attempt.offer.assignment}-{attempt.number}"
    return send_archive(pack_files(name, attempts.load_digests(attempt.pk)), name)


@require_role(Role.TA)
def download_attempts(request: HttpRequest, _: Visit, offer: Offer, who: str) -> HttpResponseBase:
    """Download all attempts of a student and of their group, each in a folder."""
    group_attempts = list(_find_attempts(offer, who).order_by("submitted_at", "pk"))
    record_accesses(request.user, offer, [who, *(row.student for row in group_attempts)], Access.FILE)
    files = {
        f"{attempt.student}-{attempt.number}/{name}": digest
        for attempt in group_attempts
        for name, digest in attempts.load_digests(attempt.pk).items()
    }
    name = f"{who}-{offer.assignment}"
    return send_archive(pack_files(name, files), name)


@require_role(Role.TA)
def download_class(request: HttpRequest, _: Visit, offer: Offer) -> HttpResponseBase:
    """Download the files that count for each student, in the layout of nbgrader's folder ``submitted``."""
    rubric = assignment_details.get_assignment(offer).rubric
    handins = attempts.find_counting_attempts(offer, rubric)
    record_accesses(request.user, offer, handins, Access.FILE)
    files = {
        f"{student}/{offer.assignment}/{name}": digest
        for student, handin in handins.items()
        for name, digest in attempts.load_counted_digests(handin, rubric).items()
    }
    return send_archive(pack_files("submitted", files), f"{offer.assignment}-submitted")


class UploadForm(forms.Form):
    """The reason for an upload by staff, and the time at which the files were submitted."""

    reason = forms.CharField(max_length=mark_changes.MOST_REASON)
    moment = forms.CharField(required=False, max_length=40)
    """By the clock of the course; empty: now."""


@require_role(Role.HEAD_TA, "POST")
def upload_attempt(request: HttpRequest, visit: Visit, offer: Offer, who: str) -> HttpResponse:
    """Submit files for a student, with a reason, also if a later attempt exists; it may count at once."""
    say = get_words(request)["t"]
    get_object_or_404(Member.everyone, course=visit.course, student=who)
    try:
        attempt = _submit_for(request, offer, who)
    except ServiceError as error:
        notices.error(request, say("refused", reason=error.text))
    else:
        notices.info(request, say("uploaded", number=attempt.number, student=who))
    return redirect("attempts-of", slug=visit.course.slug, assignment=offer.assignment, who=who)


def _submit_for(request: HttpRequest, offer: Offer, who: str) -> Attempt:
    """Submit the uploaded files for a student.

    Raises:
        ServiceError: the reason, the time or the files are not usable.
    """
    form = UploadForm(request.POST)
    if not form.is_valid():
        raise RequestRefused("upload-reason")
    reason, typed, moment = form.cleaned_data["reason"], form.cleaned_data["moment"], timezone.now()
    if typed:
        zone = assignment_details.find_course_zone(offer.course)
        moment = assignment_details.parse_moment(typed, zone)
    if moment > timezone.now():
        raise RequestRefused("upload-moment")
    files = place_upload(offer, read_contents(request.FILES.getlist("files")))
    blobs.store_blobs(files.values())  # before the log is locked, because files can be large
    counts = "count" in request.POST
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.lock_log()
        attempt = attempts.submit_files(
            offer, who, files, settings.RUNNING.signer, by=request.user, submitted_at=moment
        )
        after = {"reason": reason, "submitted": moment.isoformat(timespec="seconds"), "counts": counts}
        subject = f"{offer.assignment}: {who} {attempt.number}"
        audit.record_action(
            request.user.username, "upload attempt", subject, course=offer.course, after=after
        )
        if counts:
            attempt_choice.choose_attempt(
                attempt, reason, assignment_details.get_assignment(offer).rubric, request.user
            )
    return attempt


@require_role(Role.HEAD_TA, "POST")
def choose_attempt(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponse:
    """Choose, with a reason, the attempt that counts."""
    attempt, say = _get_attempt(visit, identifier), get_words(request)["t"]
    rubric = assignment_details.get_assignment(attempt.offer).rubric
    try:
        attempt_choice.choose_attempt(attempt, request.POST.get("reason", ""), rubric, request.user)
    except ServiceError as error:
        notices.error(request, say("refused", reason=error.text))
    else:
        notices.info(request, say("chosen", number=attempt.number))
    return redirect(
        "attempts-of", slug=visit.course.slug, assignment=attempt.offer.assignment, who=attempt.student
    )


@require_role(Role.HEAD_TA, "POST")
def drop_choice(request: HttpRequest, visit: Visit, offer: Offer, who: str) -> HttpResponse:
    """Revert to the automatic choice of the attempt that counts, by dates and files."""
    attempt_choice.drop_choice(offer, who, assignment_details.get_assignment(offer).rubric, request.user)
    notices.info(request, get_words(request)["t"]("choice-dropped"))
    return redirect("attempts-of", slug=visit.course.slug, assignment=offer.assignment, who=who)


def _get_attempt(visit: Visit, identifier: uuid.UUID) -> Attempt:
    rows = Attempt.objects.select_related("offer__course", "offer__version")
    return get_object_or_404(rows, pk=identifier, offer__course=visit.course)
