"""Pages for students: assignments, files, submitting, and results."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import IO, Any

from django.conf import settings
from django.contrib import messages as notices
from django.core import signing
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
)
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone

from autograder.course.submission_folder import asked_files
from autograder.errors import ServiceError
from autograder.feedback.labels import Labels
from autograder.feedback.view import change_text
from autograder.service import attempts, blobs, changes, uploads, versions
from autograder.service.models import Attempt, CourseRecord, Member, Offer, Role, State
from autograder.web import shown
from autograder.web.guard import Visit, course_page, open_page, own_page
from autograder.web.site import language_of, words

FRAME_SECONDS = 600
"""How long the address of a frame is valid."""
MOST_ATTEMPTS, WITHIN = 20, timedelta(minutes=10)
_WARM = timedelta(minutes=10)
"""If nothing was graded for this long, a worker may have to prepare its sandboxes first."""
_FRAME_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
_FRAMES = "autograder.frame"
_BYTES = "application/octet-stream"


def page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """Render one of our own templates."""
    return render(request, template, context, status=status, using="jinja2")


def download(data: bytes, name: str) -> HttpResponseBase:
    """Return a file that the browser saves and never displays."""
    return _kept_only(HttpResponse(data, content_type=_BYTES), name)


def kept_file(digest: str, name: str) -> HttpResponseBase:
    """Return a stored file of any size as a download.

    It is first copied into a temporary file, which the server sends by itself; otherwise a thread would wait
    for a
    slow reader.
    """
    written = tempfile.SpooledTemporaryFile(blobs.LARGE)  # noqa: SIM115 - closed with the response
    written.writelines(blobs.parts(digest))
    written.seek(0)
    return _kept_only(FileResponse(written, content_type=_BYTES), name.rpartition("/")[2])


def _kept_only(response: HttpResponseBase, name: str) -> HttpResponseBase:
    # Names come from uploads: a quote or another character could end the header's value.
    plain = name.encode("ascii", "replace").decode().replace('"', "_").replace("\\", "_")
    response.headers["Content-Disposition"] = f'attachment; filename="{plain}"'
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


@own_page()
def home(request: HttpRequest) -> HttpResponse:
    """Show the user's courses, or redirect to the only one."""
    if request.user.is_superuser:
        found = [(one, Role.ADMINISTRATOR) for one in CourseRecord.objects.order_by("title")]
    else:
        members = Member.objects.filter(account=request.user).select_related("course")
        found = [(one.course, Role(one.role)) for one in members.order_by("course__title")]
    if len(found) == 1:
        course, role = found[0]
        return HttpResponseRedirect(
            reverse("course" if role == Role.STUDENT else "staff", kwargs={"slug": course.slug})
        )
    return page(request, "home.html", {"courses": found})


@course_page(Role.STUDENT)
def course(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the assignments that are visible to a student."""
    language = language_of(request)
    rows = []
    for offer in Offer.objects.filter(course=visit.course, visible=True).order_by("pk"):
        members = attempts.together(offer, visit.student)
        number = Attempt.objects.filter(offer=offer, student__in=members).count()
        rows.append((offer, shown.times(offer, visit.student, language), number))
    return page(request, "course.html", {"visit": visit, "rows": rows})


@course_page(Role.STUDENT, "GET", "HEAD", "POST")
def assignment(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show an assignment with its files, the upload form and previous attempts. A POST submits files."""
    offer = visit.offer(assignment)
    if request.method == "POST":
        return _take(request, visit, offer)
    language = language_of(request)
    times = shown.times(offer, visit.student, language)
    members = attempts.together(offer, visit.student)
    handed_in = Attempt.objects.filter(offer=offer, student__in=members).defer("receipt")
    team = next((one for one in attempts.groups_of(offer) if visit.student in one.members), None)
    return page(
        request,
        "assignment.html",
        {
            "visit": visit,
            "offer": offer,
            "times": times,
            "files": sorted(versions.names(offer.version, visit.student)) if times.open else [],
            "wanted": shown.wanted(shown.loaded(offer)),
            "attempts": [
                (one, shown.received(one, language)) for one in handed_in.order_by("-submitted_at", "pk")
            ],
            "team": team.name if team else "",
            "partners": ", ".join(one for one in members if one != visit.student),
            "counts": shown.counts(offer, visit.student),
            "why": shown.counting_reasons(offer, visit.student, language),
            "parts": shown.parts(offer, visit.student, language),
            "news": _news(offer, visit.student, language),
        },
    )


def _news(offer: Offer, student: str, language: str) -> str:
    """Describe how marks changed since the student last saw them.

    Empty if they did not, or are not published.
    """
    found = changes.news(offer, shown.loaded(offer), student) if offer.published_at else None
    return change_text(found, Labels(language)) if found else ""


def _take(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    sent = request.FILES.getlist("files")
    try:
        attempt = take(request, offer, visit.student, contents(request, sent))
    except ServiceError as error:
        notices.error(request, words(request)["t"]("refused", reason=str(error)))
        parts = {"slug": visit.course.slug, "assignment": offer.assignment}
        return HttpResponseRedirect(reverse("assignment", kwargs=parts))
    return HttpResponseRedirect(_place("attempt", attempt))


def contents(request: HttpRequest, sent: Iterable[Any]) -> dict[str, bytes]:
    """Return the contents of the uploaded files, by name.

    Raises:
        ServiceError: two files have the same name.
    """
    found: dict[str, bytes] = {}
    for one in sent:
        if one.name in found:
            raise ServiceError(words(request)["t"]("same-name", name=one.name))
        found[one.name] = one.read()
    return found


def take(request: HttpRequest, offer: Offer, student: str, files: dict[str, bytes]) -> Attempt:
    """Create an attempt from files of the signed-in student.

    Raises:
        ServiceError: there are no files, none of them is expected, one cannot be read, the assignment is not
            open
            yet, or there were too many attempts recently.
    """
    say, of_student = words(request)["t"], Attempt.objects.filter(offer=offer, student=student)
    times = shown.times(offer, student, language_of(request))
    if not files:
        raise ServiceError(say("no-files"))
    if not times.open:
        raise ServiceError(say("opens", moment=times.start))

    # Called under a lock on the student: simultaneous uploads cannot exceed the limit together.
    def allowed() -> None:
        lately = of_student.filter(submitted_at__gt=timezone.now() - WITHIN).count()
        if lately >= MOST_ATTEMPTS:
            raise ServiceError(say("too-often", number=lately))

    signer = settings.RUNNING.signer
    assignment = shown.loaded(offer)
    files = uploads.place_upload(files, assignment.rubric)
    if files.keys().isdisjoint(asked_files(assignment.rubric)):  # it would count and earn no points
        raise ServiceError(say("none-wanted", names=", ".join(shown.wanted(assignment))))
    if unreadable := uploads.unreadable_files(files, assignment.rubric):
        told = " ".join(say("unreadable", file=name, reason=why) for name, why in unreadable.items())
        raise ServiceError(f"{told} {say('not-taken')}")
    return attempts.hand_in(offer, student, files, signer, by=request.user, allowed=allowed)


def _place(name: str, attempt: Attempt) -> str:
    offer = attempt.offer
    return reverse(
        name,
        kwargs={"slug": offer.course.slug, "assignment": offer.assignment, "number": attempt.number},
    )


def _own(visit: Visit, assignment: str, number: int) -> Attempt:
    return get_object_or_404(
        Attempt.objects.select_related("offer__course", "offer__version", "version"),
        offer=visit.offer(assignment),
        student=visit.student,
        number=number,
    )


@course_page(Role.STUDENT)
def attempt(request: HttpRequest, visit: Visit, assignment: str, number: int) -> HttpResponse:
    """Show an attempt: its receipt, its state, and the immediate check of its files."""
    found, language = _own(visit, assignment, number), language_of(request)
    return page(
        request,
        "attempt.html",
        {
            "visit": visit,
            "offer": found.offer,
            "attempt": found,
            "received": shown.received(found, language),
            "files": sorted(found.files.values_list("name", flat=True)),
            "checked": shown.checked(found, language),
            "counts": shown.counts(found.offer, visit.student).get(str(found.pk), ""),
            "why": shown.counting_reasons(found.offer, visit.student, language),
            "lateness": shown.lateness(found, language),
            **_grading(found),
        },
    )


@course_page(Role.STUDENT)
def state(request: HttpRequest, visit: Visit, assignment: str, number: int) -> HttpResponse:
    """Show the part of the page that changes while an attempt is being graded."""
    found = _own(visit, assignment, number)
    context = {"visit": visit, "offer": found.offer, "attempt": found, **_grading(found)}
    return page(request, "_state.html", context)


def _grading(attempt: Attempt) -> dict[str, bool]:
    """Return whether an attempt is still being graded, and whether sandboxes must be prepared first."""
    busy = attempt.state in {State.WAITING, State.RUNNING}
    lately = Attempt.objects.filter(offer=attempt.offer, graded_at__gt=timezone.now() - _WARM)
    return {"busy": busy, "preparing": busy and not lately.exists()}


@course_page(Role.STUDENT)
def receipt(_: HttpRequest, visit: Visit, assignment: str, number: int) -> HttpResponse:
    """Download the signed receipt."""
    found = _own(visit, assignment, number)
    return download(found.receipt.encode() + b"\n", f"receipt-{assignment}-{number}.json")


@course_page(Role.STUDENT)
def own_file(_: HttpRequest, visit: Visit, assignment: str, number: int, name: str) -> HttpResponseBase:
    """Download a submitted file as it arrived."""
    row = get_object_or_404(_own(visit, assignment, number).files, name=name)
    return kept_file(row.blob_id, name)


def _released(request: HttpRequest, visit: Visit, assignment: str) -> Mapping[str, str]:
    """Return the digests of the student's released files, by name."""
    offer = visit.offer(assignment)
    if not shown.times(offer, visit.student, language_of(request)).open:
        raise Http404
    return versions.digests(offer.version, visit.student)


@course_page(Role.STUDENT)
def released_file(request: HttpRequest, visit: Visit, assignment: str, name: str) -> HttpResponseBase:
    """Download a file of the release, or of the student's variant."""
    files = _released(request, visit, assignment)
    if name not in files:
        raise Http404
    return kept_file(files[name], name)


@course_page(Role.STUDENT)
def archive(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponseBase:
    """Download all files of the release."""
    files = _released(request, visit, assignment)
    response = FileResponse(packed(assignment, files), content_type=_BYTES)
    return _kept_only(response, f"{assignment}.zip")


def packed(assignment: str, files: Mapping[str, str]) -> IO[bytes]:
    """Pack a student's files into a zip archive, in a folder named after the assignment.

    Args:
        assignment: its name.
        files: digests by name.
    """
    written = tempfile.SpooledTemporaryFile(blobs.LARGE)  # noqa: SIM115 - closed with the response
    # Fast compression: the user waits for the archive.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, digest in files.items():
            # `force_zip64`, because a member's size is unknown when its header is written.
            with archive.open(f"{assignment}/{name}", "w", force_zip64=True) as file:
                file.writelines(blobs.parts(digest))
    written.seek(0)
    return written


def framed(request: HttpRequest, visit: Visit, offer: Offer, student: str, **further: object) -> HttpResponse:
    """Render a page with a student's feedback in a frame, which has no cookies and runs no scripts.

    Args:
        request: of the reader.
        visit: of the reader.
        offer: the assignment.
        student: the student the feedback is about.
        further: values that the template shows below the frame.
    """
    # The frame gets no cookies, so its address carries a signed permission.
    token = signing.dumps([offer.pk, student, language_of(request)], salt=_FRAMES)
    shown_there = {"visit": visit, "offer": offer, "student": student}
    context = {**shown_there, "frame": reverse("frame", args=[token]), **further}
    return page(request, "feedback.html", context)


@open_page()
def frame(_: HttpRequest, token: str) -> HttpResponse:
    """Show a feedback page inside the frame. Whoever has the signed address can see it until it expires."""
    try:
        offer, student, language = signing.loads(token, salt=_FRAMES, max_age=FRAME_SECONDS)
    except signing.BadSignature as error:
        raise Http404 from error
    made = shown.feedback(get_object_or_404(Offer, pk=offer), student, language)
    if made is None:
        raise Http404
    return in_frame(made)


def in_frame(document: str) -> HttpResponse:
    """Return a page with students' work that can only be shown in a frame without cookies and scripts."""
    response = HttpResponse(document)
    response.headers["Content-Security-Policy"] = _FRAME_POLICY
    # For browsers that do not know `frame-ancestors`.
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.headers["Cache-Control"] = "no-store"
    return response
