"""Pages for students: assignments, files, submitting, and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import IO, Any

from django.conf import settings
from django.contrib import messages as notices
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from msgspec import Struct

from autograder.core.errors import ServiceError
from autograder.core.wording import join_phrases
from autograder.course.submission_folder import list_expected_files
from autograder.messages import build_localised_text
from autograder.notebook.student.rendering import MARKS
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.view import describe_change
from autograder.service import attempts, blobs, mark_changes, openings, uploads, versions
from autograder.service.models import Attempt, CourseRecord, Member, Offer, Role, State
from autograder.service.refusals import RequestRefused
from autograder.service.standings import load_standing
from autograder.web import assignment_details, regrade_requests
from autograder.web.guard import Visit, allow_anyone, get_visit, require_role, require_sign_in
from autograder.web.responses import (
    BINARY,
    FRAME_SALT,
    FRAME_SECONDS,
    load_token,
    make_download,
    render_in_frame,
    render_page,
    send_stored_file,
    set_download_headers,
)
from autograder.web.site import choose_language, get_words

MOST_ATTEMPTS, WITHIN = 20, timedelta(minutes=10)
_WARM = timedelta(minutes=10)
"""If nothing was graded for this long, a worker may have to prepare its sandboxes first."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = timedelta(milliseconds=500), timedelta(seconds=20)
"""Limits of the time after which a page asks again for the state of an attempt."""


class PublishedPoints(Struct, frozen=True):
    """What a student has in an assignment whose marks are published."""

    total: Decimal
    possible: Decimal
    final: bool


@require_sign_in()
def show_home(request: HttpRequest) -> HttpResponse:
    """Show the user's courses, or redirect to the only one."""
    if request.user.is_superuser:
        memberships = [(entry, Role.ADMINISTRATOR) for entry in CourseRecord.objects.order_by("title")]
    else:
        members = Member.objects.filter(account=request.user).select_related("course")
        memberships = [(entry.course, Role(entry.role)) for entry in members.order_by("course__title")]
    # Administrators can create further courses here.
    if len(memberships) == 1 and not request.user.is_superuser:
        course, role = memberships[0]
        return redirect("course" if role == Role.STUDENT else "staff", slug=course.slug)
    return render_page(request, "home.html", {"courses": memberships})


@require_sign_in()
def show_course(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the assignments that are visible to a student. Staff are led to their page of the course."""
    visit = get_visit(request, slug)
    if visit.staff:
        return redirect("staff", slug=slug)
    language = choose_language(request)
    rows = []
    for offer in Offer.objects.filter(course=visit.course, visible=True).order_by("pk"):
        members = attempts.list_group_members(offer, visit.student)
        number = Attempt.objects.filter(offer=offer, student__in=members).count()
        times = assignment_details.get_times(offer, visit.student, language)
        rows.append((offer, times, number, _load_published_points(offer, visit.student)))
    return render_page(request, "course.html", {"rows": rows})


def _load_published_points(offer: Offer, student: str) -> PublishedPoints | None:
    """Return the student's points; None if marks are not published or nothing is graded."""
    if not offer.published_at:
        return None
    assignment = assignment_details.get_assignment(offer)
    standing = load_standing(offer, assignment, student)
    if standing is None:
        return None
    return PublishedPoints(standing.total, assignment.rubric.assignment.points, standing.final)


@require_role(Role.STUDENT, "GET", "HEAD", "POST")
def show_assignment(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show an assignment with its files, the upload form and previous attempts. A POST submits files."""
    if request.method == "POST":
        return _receive_upload(request, visit, offer)
    language = choose_language(request)
    times = assignment_details.get_times(offer, visit.student, language)
    members = attempts.list_group_members(offer, visit.student)
    previous_attempts = Attempt.objects.filter(offer=offer, student__in=members).defer("receipt")
    group = next((entry for entry in attempts.list_groups(offer) if visit.student in entry.members), None)
    return render_page(
        request,
        "assignment.html",
        {
            "times": times,
            "points": _load_published_points(offer, visit.student),
            "files": sorted(versions.load_digests(offer.version, visit.student)) if times.open else [],
            "wanted": assignment_details.list_wanted_files(assignment_details.get_assignment(offer)),
            "attempts": [
                (entry, assignment_details.format_received(entry, language))
                for entry in previous_attempts.order_by("-submitted_at", "pk")
            ],
            "group": group.name if group else "",
            "partners": ", ".join(entry for entry in members if entry != visit.student),
            "counts": assignment_details.get_counting_codes(offer, visit.student),
            "why": assignment_details.list_counting_reasons(offer, visit.student, language),
            "parts": assignment_details.list_parts(offer, visit.student, language),
            "news": _describe_news(offer, visit.student, language),
        },
    )


def _describe_news(offer: Offer, student: str, language: str) -> str:
    """Describe how marks changed since the student last saw them.

    Empty if they did not, or are not published.
    """
    news = (
        mark_changes.find_unshown_change(offer, assignment_details.get_assignment(offer), student)
        if offer.published_at
        else None
    )
    return describe_change(news, Labels(language)) if news else ""


def _receive_upload(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    sent = request.FILES.getlist("files")
    try:
        attempt = create_attempt(request, offer, visit.student, read_contents(sent))
    except ServiceError as error:
        notices.error(request, get_words(request)["t"]("refused", reason=error.text))
        return redirect("assignment", slug=visit.course.slug, assignment=offer.assignment)
    return redirect("attempt", slug=visit.course.slug, assignment=offer.assignment, number=attempt.number)


def read_contents(sent: Iterable[Any]) -> dict[str, bytes]:
    """Return the contents of the uploaded files, by name.

    Raises:
        ServiceError: two files have the same name.
    """
    files_by_name: dict[str, bytes] = {}
    for upload in sent:
        if upload.name in files_by_name:
            raise RequestRefused("same-name", name=upload.name)
        files_by_name[upload.name] = upload.read()
    return files_by_name


def create_attempt(
    request: HttpRequest, offer: Offer, student: str, files: dict[str, bytes], once: str = ""
) -> Attempt:
    """Create an attempt from files of the signed-in student; see `attempts.submit_files` for `once`.

    Raises:
        ServiceError: there are no files, none of them is expected, one cannot be read, the assignment is not
            open yet, or there were too many attempts recently.
    """
    of_student = Attempt.objects.filter(offer=offer, student=student)
    membership = Member.objects.filter(course=offer.course, account=request.user, student=student)
    times = assignment_details.get_times(offer, student, choose_language(request))
    if not times.open:
        raise (
            RequestRefused("not-open", moment=times.start) if times.start else RequestRefused("not-opened")
        )

    # Called under a lock on the student: simultaneous uploads cannot exceed the limit together.
    def check_permission() -> None:
        # Removing the member waits for this transaction, or this one finds the member removed.
        if membership.select_for_update(no_key=True).first() is None:
            raise RequestRefused("no-longer-member")
        lately = of_student.filter(submitted_at__gt=timezone.now() - WITHIN).count()
        if lately >= MOST_ATTEMPTS:
            raise RequestRefused("too-often", number=lately)

    files = place_upload(offer, files)
    signer = settings.RUNNING.signer
    return attempts.submit_files(
        offer, student, files, signer, by=request.user, once=once, allowed=check_permission
    )


def place_upload(offer: Offer, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return uploaded files at the paths that the rubric expects; archives are unpacked.

    Raises:
        ServiceError: there are no files, none of them is expected, or one cannot be read.
    """
    assignment = assignment_details.get_assignment(offer)
    if not files:
        raise RequestRefused("no-files")
    files = uploads.place_upload(files, assignment.rubric)
    if files.keys().isdisjoint(list_expected_files(assignment.rubric)):  # it would count and earn no points
        raise RequestRefused("none-wanted", names=", ".join(assignment_details.list_wanted_files(assignment)))
    if unreadable := uploads.find_unreadable_files(files, assignment.rubric):
        faults = [
            build_localised_text("web.unreadable", file=name, reason=why) for name, why in unreadable.items()
        ]
        raise ServiceError(join_phrases([*faults, build_localised_text("web.not-taken")], " "))
    return files


def _get_own_attempt(visit: Visit, offer: Offer, number: int) -> Attempt:
    return get_object_or_404(
        Attempt.objects.select_related("offer__course", "offer__version", "version"),
        offer=offer,
        student=visit.student,
        number=number,
    )


@require_role(Role.STUDENT)
def show_attempt(request: HttpRequest, visit: Visit, offer: Offer, number: int) -> HttpResponse:
    """Show an attempt: its receipt, its state, and the immediate check of its files."""
    own_attempt, language = _get_own_attempt(visit, offer, number), choose_language(request)
    return render_page(
        request,
        "attempt.html",
        {
            "attempt": own_attempt,
            "received": assignment_details.format_received(own_attempt, language),
            "files": sorted(own_attempt.files.values_list("name", flat=True)),
            "checked": assignment_details.check_attempt(own_attempt, language),
            "marks": MARKS,
            "counts": assignment_details.get_counting_codes(own_attempt.offer, visit.student).get(
                str(own_attempt.pk), ""
            ),
            "why": assignment_details.list_counting_reasons(own_attempt.offer, visit.student, language),
            "lateness": assignment_details.describe_lateness(own_attempt, language),
            **_describe_grading(own_attempt),
        },
    )


@require_role(Role.STUDENT)
def show_state(request: HttpRequest, visit: Visit, offer: Offer, number: int) -> HttpResponse:
    """Show the part of the page that changes while an attempt is being graded."""
    own_attempt = _get_own_attempt(visit, offer, number)
    context = {"attempt": own_attempt, **_describe_grading(own_attempt)}
    return render_page(request, "_state.html", context)


def _describe_grading(attempt: Attempt) -> dict[str, Any]:
    """Return whether an attempt is still being graded, and whether sandboxes must be prepared first.

    ``pause`` are the milliseconds after which the page asks again.
    """
    busy = attempt.state in {State.WAITING, State.RUNNING}
    lately = Attempt.objects.filter(offer=attempt.offer, graded_at__gt=timezone.now() - _WARM)
    # The longer it has waited, the more others wait: a thousand pages must not ask every half second.
    waited = (timezone.now() - attempt.queued_at) / 5 if attempt.state == State.WAITING else timedelta()
    pause = min(max(waited, _SHORTEST_PAUSE), _LONGEST_PAUSE) // timedelta(milliseconds=1)
    return {"busy": busy, "preparing": busy and not lately.exists(), "pause": pause}


@require_role(Role.STUDENT)
def download_receipt(_: HttpRequest, visit: Visit, offer: Offer, number: int) -> HttpResponse:
    """Download the signed receipt."""
    own_attempt = _get_own_attempt(visit, offer, number)
    return make_download(own_attempt.receipt.encode() + b"\n", f"receipt-{offer.assignment}-{number}.json")


@require_role(Role.STUDENT)
def download_own_file(_: HttpRequest, visit: Visit, offer: Offer, number: int, name: str) -> HttpResponseBase:
    """Download a submitted file as it arrived."""
    row = get_object_or_404(_get_own_attempt(visit, offer, number).files, name=name)
    return send_stored_file(row.blob_id, name)


def _get_released_files(request: HttpRequest, visit: Visit, offer: Offer) -> Mapping[str, str]:
    """Return the digests of the student's released files, by name."""
    if not assignment_details.get_times(offer, visit.student, choose_language(request)).open:
        raise Http404
    return versions.load_digests(offer.version, visit.student)


@require_role(Role.STUDENT, "POST")
def open_assignment(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Open an assignment that limits the working time: the student's time starts now."""
    # Opening it again, too early or too late changes nothing.
    if assignment_details.get_times(offer, visit.student, choose_language(request)).minutes:
        members = attempts.list_group_members(offer, visit.student)
        openings.open_assignment(offer, visit.student, members, request.user)
    return redirect("assignment", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.STUDENT)
def download_released_file(request: HttpRequest, visit: Visit, offer: Offer, name: str) -> HttpResponseBase:
    """Download a file of the release, or of the student's variant."""
    files = _get_released_files(request, visit, offer)
    if name not in files:
        raise Http404
    return send_stored_file(files[name], name)


@require_role(Role.STUDENT)
def download_archive(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponseBase:
    """Download all files of the release."""
    files = _get_released_files(request, visit, offer)
    return send_archive(pack_files(offer.assignment, files), offer.assignment)


def send_archive(archive: IO[bytes], name: str) -> HttpResponseBase:
    """Return an archive as a download."""
    return set_download_headers(FileResponse(archive, content_type=BINARY), f"{name}.zip")


def pack_files(folder: str, files: Mapping[str, str]) -> IO[bytes]:
    """Pack stored files into a zip archive, in a folder.

    Args:
        folder: its name, such as that of the assignment.
        files: digests by name.
    """
    return blobs.pack_files({f"{folder}/{name}": digest for name, digest in files.items()})


@require_role(Role.STUDENT)
def show_feedback(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the feedback for the attempt that counts, once marks are published, with the regrade requests."""
    regrade_requests.check_published(offer)
    # From here on, only later changes of the marks are news to the student.
    mark_changes.record_shown_marks(offer, assignment_details.get_assignment(offer), visit.student)
    return regrade_requests.render_feedback(request, visit, offer)


@allow_anyone()
def show_frame(_: HttpRequest, token: str) -> HttpResponse:
    """Show a feedback page inside the frame. Whoever has the signed address can see it until it expires."""
    offer, student, language = load_token(token, FRAME_SALT, FRAME_SECONDS)
    document = assignment_details.render_feedback(get_object_or_404(Offer, pk=offer), student, language)
    if document is None:
        raise Http404
    return render_in_frame(document)
