"""Files of learning platforms: upload an archive of submissions, download grades."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from autograder import timestamps
from autograder.app import grade_files
from autograder.app.collecting import CollectReport
from autograder.app.grade_lines import GradeLine, json_lines
from autograder.errors import CourseError
from autograder.platforms.people import Register
from autograder.platforms.worksheets import read_worksheet
from autograder.service import audit
from autograder.service.collecting import ArchiveOptions, class_register, collect_archive, lines_of
from autograder.service.models import Offer, Role
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import words
from autograder.web.student import download, page

FORMS = ("moodle", "feedback", "canvas", "gradescope", "ilias", "csv", "jsonl")
_FILLED = ("moodle", "feedback")
"""Formats that need Moodle's worksheet, which identifies the participants."""


@course_page(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def platform_files(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show both forms. An uploaded archive is submitted for its students, and a report is shown."""
    offer = visit.offer(assignment)
    report, problem = None, ""
    try:
        if request.method == "POST" and request.POST.get("form") in FORMS:
            return _grades(request, offer, request.POST["form"])
        if request.method == "POST":
            report = _collected(request, visit, offer)
    except CourseError as error:
        problem = str(error)
    context = {
        "visit": visit,
        "offer": offer,
        "report": report,
        "problem": problem,
        "forms": FORMS,
        "new": sum(one.state == "new" for one in report.attempts) if report else 0,
        "known": sum(one.state == "unchanged" for one in report.attempts) if report else 0,
    }
    return page(request, "platform_files.html", context)


def _collected(request: HttpRequest, visit: Visit, offer: Offer) -> CollectReport:
    """Submit the contents of an uploaded archive.

    Raises:
        CourseError: there is no archive, or the worksheet, zone or time cannot be read.
    """
    sent, sheet = request.FILES.get("archive"), request.FILES.get("worksheet")
    if sent is None:
        raise CourseError(words(request)["t"]("no-files"))
    zone = request.POST.get("zone", "").strip()
    options = ArchiveOptions(
        read_worksheet(sheet.read()).participants() if sheet else {},
        zone,
        _moment(request.POST.get("moment", "").strip(), zone),
    )
    with tempfile.TemporaryDirectory() as folder:
        # Only the last part of the name: the browser chose it.
        place = Path(folder) / (PurePath(sent.name or "").name or "archive.zip")
        # Copied in chunks, because archives can be large.
        with place.open("wb") as file:
            for part in sent.chunks():
                file.write(part)
        report = collect_archive(
            offer,
            shown.loaded(offer),
            place,
            options,
            signer=settings.RUNNING.signer,
            by=request.user,
        )
    new = sorted(one.student for one in report.attempts if one.state == "new")
    if new:
        after = {"students": new, "archive": place.name}
        audit.note(request.user.username, "collect", offer.assignment, course=visit.course, after=after)
    return report


def _moment(text: str, zone: str) -> datetime | None:
    """Parse the time of submission for archives that do not contain it.

    Raises:
        CourseError: the zone or the time is invalid.
    """
    try:
        # The zone is checked even if there is no time: it also applies to times in the archive.
        clock = timestamps.named_zone(zone) if zone else UTC
        if not text:
            return None
        local = datetime.fromisoformat(text)
        # A stated offset wins over the zone.
        if local.tzinfo is not None:
            return local.astimezone(UTC)
        return timestamps.local_moment(local, clock).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CourseError(str(error)) from error


def _grades(request: HttpRequest, offer: Offer, form: str) -> HttpResponse:
    """Export marks in a platform's format.

    Raises:
        CourseError: Moodle's worksheet is missing, or the upload is not usable.
    """
    register = class_register(offer.course)
    assignment = shown.loaded(offer)
    every = lines_of(offer, assignment, assignment.language)
    # Provisional marks are exported only on request.
    lines = [one for one in every if one.final or "provisional" in request.POST]
    sent = request.FILES.get("fill")
    fill = sent.read() if sent else None
    if form in _FILLED and fill is None:
        raise CourseError(words(request)["t"]("grades-worksheet-needed"))
    if form == "feedback":
        return download(_pages(offer, lines, fill or b"", register), f"{offer.assignment}-feedback.zip")
    if form == "gradescope":
        return download(grade_files.gradescope_archive(lines), f"{offer.assignment}-gradescope.zip")
    if form == "moodle":
        made = grade_files.moodle(
            fill or b"",
            lines,
            register,
            scaled="scale" in request.POST,
            comments="comments" in request.POST,
        )
    elif form == "canvas":
        title = request.POST.get("title", "").strip() or offer.title
        made = grade_files.canvas(lines, register, title, fill, scaled="scale" in request.POST)
    elif form == "jsonl":
        return download(json_lines(tuple(lines)), f"{offer.assignment}-grades.jsonl")
    else:
        ilias = form == "ilias"
        made = grade_files.plain(lines, register, separator=";" if ilias else ",", marked=ilias)
    return download(made.content, f"{offer.assignment}-{form}.csv")


def _pages(offer: Offer, lines: Sequence[GradeLine], fill: bytes, register: Register) -> bytes:
    """Export feedback pages as Moodle's bulk upload expects them.

    Raises:
        CourseError: the upload is not a worksheet of Moodle.
    """
    sheet, language = read_worksheet(fill), shown.loaded(offer).language
    made = {line.student: shown.feedback(offer, line.student, language) for line in lines}
    pages = {student: page.encode() for student, page in made.items() if page is not None}
    return grade_files.moodle_feedback(sheet, pages, register, offer.assignment).content
