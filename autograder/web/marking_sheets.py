"""Offline marking: download an assignment's marking sheet, and upload it with points."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from msgspec.structs import replace

from autograder.app.marking_sheet_rows import MOST_BYTES, SheetLine, SheetSubject, read_sheet, write_sheet
from autograder.app.marking_sheets import (
    SheetChoice,
    SheetEntry,
    SheetPlan,
    enter_sheet,
    make_sheet,
    plan_sheet,
)
from autograder.core.errors import CourseError
from autograder.core.wording import Phrase
from autograder.messages import build_localised_text
from autograder.service import audit
from autograder.service.marking import mark_entry
from autograder.service.models import CellMark, MarkingPlan, Offer, Role
from autograder.service.store import DatabaseStore
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page


@require_role(Role.TA, "GET", "HEAD", "POST")
def show_sheet(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Download the sheet. A POST enters an uploaded one and shows the result."""
    if request.method == "POST":
        return _enter_upload(request, visit, offer)
    query = request.GET
    known_cells = [
        cell_name
        for question in assignment_details.get_assignment(offer).rubric.questions
        for cell_name in question.list_cells()
    ]
    choice = SheetChoice(
        [cell for cell in query.getlist("cell") if cell in known_cells],
        waiting="waiting" in query,
        names="names" in query,
        groups="groups" in query,
    )
    rows = make_sheet(_build_subject(offer), choice).rows
    return make_download(write_sheet(rows), f"{offer.assignment}-marks.csv")


def _build_subject(offer: Offer) -> SheetSubject:
    store = DatabaseStore(offer.course)
    return SheetSubject(assignment_details.get_assignment(offer), store, store.load_results(offer.assignment))


def _enter_upload(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    problem: Phrase = ""
    try:
        lines = _read_lines(request.FILES.get("sheet"))
    except CourseError as error:
        lines, problem = [], error.text
    tried = "try" in request.POST
    done = None if problem else _enter_lines(request, visit, offer, lines, tried=tried)
    changes = () if done is None else done.plan.changes if tried else done.entered
    context = {
        "errors": (problem,) if done is None else done.plan.errors,
        "refused": () if done is None else done.refused,
        "changes": changes,
        "answers": sum(len(change.marks) for change in changes),
        "tried": tried,
    }
    return render_page(request, "sheet.html", context)


def _read_lines(sent: Any) -> list[SheetLine]:
    """Read the rows of the uploaded file.

    Raises:
        CourseError: there is no file, or it is not a marking sheet.
    """
    if sent is None:
        raise CourseError(build_localised_text("web.no-files"))
    if PurePath(sent.name or "").suffix.lower() != ".csv":
        raise CourseError(build_localised_text("web.sheet-ending"))
    # One byte more than allowed, so that `read_sheet` notices a file that is too large.
    return read_sheet(sent.read(MOST_BYTES + 1))


def _exclude_double_marked(plan: SheetPlan, marks: QuerySet[CellMark]) -> SheetPlan:
    """Remove from a plan the answers that two people mark.

    A sheet holds the marks of one person, which would settle the answer alone.
    """
    # One query for the plans of all cells.
    shares = dict(
        MarkingPlan.objects.filter(place__in=marks.values("place")).values_list("place", "twice_percent")
    )
    of_two = {
        (row.student, row.place.notebook, row.place.cell)
        for row in marks.select_related("place")
        if row.stage or mark_entry.needs_second_mark(row, shares.get(row.place_id, 0))
    }
    kept, refused = [], [*plan.refused]
    for change in plan.changes:
        if any((student, *cell) in of_two for student, cell, _ in change.marks):
            refused.append(change.explain(build_localised_text("web.sheet-of-two")))
        else:
            kept.append(change)
    return replace(plan, changes=tuple(kept), refused=tuple(refused))


def _enter_lines(
    request: HttpRequest, visit: Visit, offer: Offer, lines: list[SheetLine], *, tried: bool
) -> SheetEntry:
    """Enter a sheet, or only try it. The assignment's marks are locked meanwhile."""
    marks = offer.marks
    with transaction.atomic():
        # The log is locked before the rows, and the rows in key order, as everywhere: otherwise a deadlock.
        audit.lock_log()
        list(marks.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
        subject = _build_subject(offer)
        plan = _exclude_double_marked(plan_sheet(subject, lines), marks)
        if tried or plan.errors:
            return SheetEntry(plan, (), plan.refused)
        done = enter_sheet(subject, plan, transaction.atomic)
        for change in done.entered:
            cells = {cell for _, cell, _ in change.marks}
            students = [student for student, _, _ in change.marks]
            chosen_cells = Q(
                *(Q(place__notebook=notebook, place__cell=cell) for notebook, cell in cells), _connector=Q.OR
            )
            # The use case knows no accounts, so the marker is recorded here.
            marks.filter(chosen_cells, student__in=students).update(
                marked_by=request.user, marked_at=timezone.now()
            )
        if done.entered:
            entered_points = [
                (who, cell[1], mark.points) for entry in done.entered for who, cell, mark in entry.marks
            ]
            after = {
                f"{who}: {cell}": None if points is None else str(points)
                for who, cell, points in entered_points
            }
            visit.record_action("mark sheet", offer.assignment, after=after)
    return done
