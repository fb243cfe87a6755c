"""Files of learning platforms: upload an archive of submissions, download grades."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from autograder.app import grade_files
from autograder.app.collection import CollectReport
from autograder.app.grade_files import GradeLine
from autograder.app.grade_formats import FORMATS, FormatOptions, get_format
from autograder.core.errors import CourseError, ServiceError
from autograder.core.wording import Phrase
from autograder.exchange.platforms.student_matching import Register
from autograder.exchange.platforms.worksheets import read_worksheet
from autograder.messages import build_localised_text
from autograder.rubric import timestamps
from autograder.service.models import Member, Offer, Role
from autograder.service.platform_files import (
    ArchiveOptions,
    build_grade_lines,
    build_register,
    collect_archive,
)
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page
from autograder.web.site import choose_language

FEEDBACK = "feedback"
"""Moodle's archive of feedback pages, offered next to the formats of grades."""
_FILLING = tuple(name for name, entry in FORMATS.items() if entry.fill_request)
FORMS = (*_FILLING, FEEDBACK, *(name for name in FORMATS if name not in _FILLING))


@require_role(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def show_platform_files(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show both forms. An uploaded archive is submitted for its students, and a report is shown."""
    report: CollectReport | None = None
    problem: Phrase = ""
    try:
        if request.method == "POST" and request.POST.get("form") in FORMS:
            return _export_grades(request, offer, request.POST["form"])
        if request.method == "POST":
            report = _collect_upload(request, visit, offer)
    except (CourseError, ServiceError) as error:
        problem = error.text
    lines = build_grade_lines(offer, assignment_details.get_assignment(offer), choose_language(request))
    final = sum(line.final for line in lines)
    enrolled = Member.objects.filter(course=visit.course, role=Role.STUDENT).values_list("student", flat=True)
    context = {
        "final": final,
        "provisional": len(lines) - final,
        "missing": len(set(enrolled) - {line.student for line in lines}),
        "report": report,
        "problem": problem,
        "forms": FORMS,
        "new": sum(attempt.state == "new" for attempt in report.attempts) if report else 0,
        "known": sum(attempt.state == "unchanged" for attempt in report.attempts) if report else 0,
    }
    return render_page(request, "platform_files.html", context)


def _collect_upload(request: HttpRequest, visit: Visit, offer: Offer) -> CollectReport:
    """Submit the contents of an uploaded archive.

    Raises:
        CourseError, ServiceError: there is no archive, or the worksheet, zone or time cannot be read.
    """
    sent, sheet = request.FILES.get("archive"), request.FILES.get("worksheet")
    if sent is None:
        raise CourseError(build_localised_text("web.no-files"))
    zone = request.POST.get("zone", "").strip()
    options = ArchiveOptions(
        read_worksheet(sheet.read()).map_participants() if sheet else {},
        zone,
        _parse_moment(request.POST.get("moment", "").strip(), zone),
    )
    with tempfile.TemporaryDirectory() as folder:
        # Only the last part of the name: the browser chose it.
        archive_path = Path(folder) / (PurePath(sent.name or "").name or "archive.zip")
        # Copied in chunks, because archives can be large.
        with archive_path.open("wb") as file:
            for part in sent.chunks():
                file.write(part)
        report = collect_archive(
            offer,
            assignment_details.get_assignment(offer),
            archive_path,
            options,
            signer=settings.RUNNING.signer,
            by=request.user,
        )
    new = sorted(attempt.student for attempt in report.attempts if attempt.state == "new")
    if new:
        after = {"students": new, "archive": archive_path.name}
        visit.record_action("collect", offer.assignment, after=after)
    return report


def _parse_moment(text: str, zone: str) -> datetime | None:
    """Parse the time of submission for archives that do not contain it.

    Raises:
        CourseError: the zone is invalid.
        ServiceError: the time is invalid.
    """
    try:
        # The zone is checked even if there is no time: it also applies to times in the archive.
        clock = timestamps.get_zone(zone) if zone else UTC
    except ValueError as error:
        raise CourseError(*error.args) from error
    return assignment_details.parse_moment(text, clock) if text else None


def _export_grades(request: HttpRequest, offer: Offer, form: str) -> HttpResponse:
    """Export marks in a platform's format.

    Raises:
        CourseError: there is no such format, a worksheet is missing, or the upload is not usable.
    """
    register = build_register(offer.course)
    assignment = assignment_details.get_assignment(offer)
    every = build_grade_lines(offer, assignment, assignment.language)
    # Provisional marks are exported only on request.
    lines = [line for line in every if line.final or "provisional" in request.POST]
    sent = request.FILES.get("fill")
    fill = sent.read() if sent else None
    if fill is None and (form == FEEDBACK or get_format(form).fill_request):
        raise CourseError(build_localised_text("web.grades-worksheet-needed"))
    if form == FEEDBACK:
        return make_download(
            _export_feedback(offer, lines, fill or b"", register), f"{offer.assignment}-feedback.zip"
        )
    grade_format = get_format(form)
    title = request.POST.get("title", "").strip() or offer.title
    options = FormatOptions(title, fill, "scale" in request.POST, "comments" in request.POST)
    content = grade_format.make(lines, register, options).content
    return make_download(content, f"{offer.assignment}-{grade_format.name_end}")


def _export_feedback(offer: Offer, lines: Sequence[GradeLine], fill: bytes, register: Register) -> bytes:
    """Export feedback pages as Moodle's bulk upload expects them.

    Raises:
        CourseError: the upload is not a worksheet of Moodle.
    """
    sheet, language = read_worksheet(fill), assignment_details.get_assignment(offer).language
    rendered = {
        line.student: assignment_details.render_feedback(offer, line.student, language) for line in lines
    }
    pages = {student: page.encode() for student, page in rendered.items() if page is not None}
    return grade_files.pack_moodle_feedback(sheet, pages, register, offer.assignment).content
