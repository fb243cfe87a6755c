"""Regrade requests: students make them below their feedback (`autograder.web.student`), and staff answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from msgspec import Struct

from autograder.core.errors import ServiceError
from autograder.core.records import ItemResult
from autograder.grading.grades import compute_standing
from autograder.pages.feedback.answers import get_answer_text
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.rubric import Question, Rubric
from autograder.rubric.timestamps import format_moment, get_zone
from autograder.service.marking import regrade_requests
from autograder.service.models import CourseRecord, Member, Offer, RegradeRequest, Role
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.refusals import ActionRefused
from autograder.service.store import DatabaseStore, get_bonus_points
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.marking.pages import report_refusal
from autograder.web.responses import render_framed, render_page
from autograder.web.site import choose_language, get_words

_POINTS = re.compile(r"[-+−]?[0-9]{1,6}(?:[.,][0-9]{1,6})?")
_MOST_ANSWER = 20_000
"""Shown characters of a student's answer."""


class ItemOption(Struct, frozen=True):
    """An item that a student may ask about."""

    question: str
    number: int
    """Its position in the question, from 1. The form sends it instead of the id, which may reveal a hidden
    title."""
    text: str
    points: str
    possible: str


class RequestRow(Struct, frozen=True):
    """A request and its outcome."""

    row: RegradeRequest
    title: str
    text: str
    state: str
    """``open``, ``answered`` or ``withdrawn``."""
    by: str
    """The role of the person who answered; an administrator of the service may be no member."""
    before: str
    after: str
    """The points before and after the answer; empty or the same if the mark was not changed."""
    made_at: str
    settled: str
    """When it was answered or withdrawn."""


class RequestsPanel(Struct, frozen=True):
    """The requests of a student, and the items they may still ask about."""

    questions: tuple[tuple[str, tuple[ItemOption, ...]], ...]
    """Title and items of each question; empty if the deadline is over or was never set."""
    rows: tuple[RequestRow, ...]
    until: str
    """The deadline; empty if none was set."""
    over: bool
    most: int = regrade_requests.MOST_REASON


def check_published(offer: Offer) -> None:
    """Check that the marks of an assignment are published, or respond that the page does not exist."""
    if offer.published_at is None:
        raise Http404


def render_feedback(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the feedback for the attempt that counts, with the regrade requests below it."""
    panel = _build_panel(offer, visit.student, choose_language(request))
    return render_framed(request, offer, visit.student, panel=panel)


def _build_panel(offer: Offer, student: str, language: str) -> RequestsPanel:
    """Return the requests of a student, and the items they may still ask about."""
    rubric, labels = assignment_details.get_assignment(offer).get_rubric(student), Labels(language)
    final, items = _list_askable(offer, rubric, student)
    rows = offer.requests.filter(student=student).select_related("offer").order_by("-pk")
    # An item with an open request cannot be asked about again.
    waiting = {
        (entry.question, entry.item) for entry in rows if not (entry.answered_at or entry.withdrawn_at)
    }
    items_by_question: dict[str, list[ItemOption]] = {}
    for entry in items:
        question, item = entry.question, entry.item
        if (question.id, item.id) not in waiting:
            number = question.items.index(item) + 1
            text = labels.pick(item.get_title(final=final), str(number))
            points = labels.number(entry.points) if entry.points is not None else ""
            items_by_question.setdefault(question.id, []).append(
                ItemOption(question.id, number, text, points, labels.number(max(item.points, Decimal(0))))
            )
    roles, open_now = _map_roles(offer.course), regrade_requests.is_accepting(offer)
    until = offer.requests_until
    return RequestsPanel(
        questions=tuple(
            (labels.pick(rubric.get_question(name).title, name), tuple(inside))
            for name, inside in items_by_question.items()
        )
        if open_now
        else (),
        rows=tuple(_describe_request(entry, rubric, labels, roles, final=final) for entry in rows),
        until=_format_local_time(until, offer, language) if until else "",
        over=not open_now,
    )


def _list_askable(
    offer: Offer, rubric: Rubric, student: str
) -> tuple[bool, list[regrade_requests.AskableItem]]:
    """Return whether the student's marks are final, and the items that have a mark.

    Titles that are hidden during marking may be shown once the marks are final.
    """
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None:
        return False, []
    final = compute_standing(graded.score, rubric, marks, get_bonus_points(offer, student)).final
    return final, regrade_requests.list_askable_items(rubric, graded.score, student, offer.course)


def _describe_request(
    row: RegradeRequest, rubric: Rubric, labels: Labels, roles: Mapping[int, str], *, final: bool
) -> RequestRow:
    question = find_question(rubric, row)
    number = 1 + [entry.id for entry in question.items].index(row.item) if question else 0
    settled = row.answered_at or row.withdrawn_at
    return RequestRow(
        row=row,
        title=labels.pick(question.title, question.id) if question else row.question,
        text=labels.pick(question.get_item(row.item).get_title(final=final), str(number)) if question else "",
        state="answered" if row.answered_at else "withdrawn" if row.withdrawn_at else "open",
        by=roles.get(row.answered_by_id, Role.ADMINISTRATOR),
        before=labels.number(Decimal(row.points)) if row.points is not None else "",
        after=labels.number(Decimal(row.points_after)) if row.points_after is not None else "",
        made_at=_format_local_time(row.made_at, row.offer, labels.language),
        settled=_format_local_time(settled, row.offer, labels.language) if settled else "",
    )


def find_question(rubric: Rubric, row: RegradeRequest) -> Question | None:
    """Return the question of a request; None if the rubric no longer has the item."""
    candidates = (question for question in rubric.questions if question.id == row.question)
    return next(
        (question for question in candidates if any(item.id == row.item for item in question.items)), None
    )


def _map_roles(course: CourseRecord) -> dict[int, str]:
    """Return the role of each staff account in a course."""
    staff = Member.objects.filter(course=course).exclude(role=Role.STUDENT)
    return dict(staff.values_list("account", "role"))


def _get_zone(offer: Offer) -> tzinfo:
    """Return the time zone of an assignment's dates."""
    try:
        return get_zone(offer.times.get("zone", ""))
    except ValueError:
        return UTC


def _format_local_time(moment: datetime, offer: Offer, language: str) -> str:
    zone = _get_zone(offer)
    # Deadlines are shown to the minute.
    return format_moment(moment.astimezone(zone).replace(second=0, microsecond=0), str(zone), language)


@require_role(Role.STUDENT, "POST")
def submit_request(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Request another look at an item."""
    check_published(offer)
    rubric = assignment_details.get_assignment(offer).get_rubric(visit.student)
    # The form sends positions: an id could reveal a hidden title.
    items_by_number = {
        (question.id, str(number)): (question, item)
        for question in rubric.questions
        for number, item in enumerate(question.items, 1)
    }
    chosen = items_by_number.get((request.POST.get("question", ""), request.POST.get("number", "")))
    if chosen is None:
        raise Http404
    try:
        regrade_requests.make_request(offer, visit.student, *chosen, request.POST.get("reason", ""))
    except ActionRefused as error:
        report_refusal(request, error)
        return render_feedback(request, visit, offer)  # with the reason as it was typed
    notices.success(request, get_words(request)["t"]("request-made"))
    return redirect("feedback", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.STUDENT, "POST")
def cancel_request(request: HttpRequest, visit: Visit, offer: Offer, number: int) -> HttpResponse:
    """Withdraw a request of the student."""
    check_published(offer)
    row = get_object_or_404(RegradeRequest, pk=number, offer=offer, student=visit.student)
    try:
        regrade_requests.cancel_request(row)
    except ActionRefused as error:
        report_refusal(request, error)
    return redirect("feedback", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.TA)
def list_requests(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """List the requests of an assignment: open ones, oldest first, and settled ones."""
    labels = Labels(choose_language(request))
    rubric = assignment_details.get_assignment(offer).rubric
    rows = offer.requests.select_related("offer__course", "answered_by").order_by("pk")
    roles = _map_roles(visit.course)
    # `final=True`: staff may see titles that are hidden from students during marking.
    entries = [_describe_request(entry, rubric, labels, roles, final=True) for entry in rows]
    until = offer.requests_until
    context = {
        "open": [entry for entry in entries if entry.state == "open"],
        "settled": [entry for entry in reversed(entries) if entry.state != "open"],
        "names": request.GET.get("names") == "yes",
        "people": assignment_details.map_names(visit.course),
        "until": _format_local_time(until, offer, labels.language) if until else "",
        "written": until.astimezone(_get_zone(offer)).strftime("%Y-%m-%dT%H:%M") if until else "",
        "zone": str(_get_zone(offer)),
        "instructor": visit.has_role(Role.INSTRUCTOR),
    }
    return render_page(request, "requests.html", context)


@require_role(Role.INSTRUCTOR, "POST")
def set_deadline(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Set the deadline for requests; an empty value closes them."""
    wanted = request.POST.get("until", "").strip()
    try:
        until = assignment_details.parse_moment(wanted, _get_zone(offer)) if wanted else None
    except ServiceError:
        notices.error(request, get_words(request)["t"]("requests-no-moment"))
        return redirect("requests", slug=visit.course.slug, assignment=offer.assignment)
    before, after = (moment and moment.isoformat() for moment in (offer.requests_until, until))
    with transaction.atomic():
        visit.record_action("requests until", offer.assignment, before=before, after=after)
        Offer.objects.filter(pk=offer.pk).update(requests_until=until)
    return redirect("requests", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.TA, "GET", "HEAD", "POST")
def answer_request(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show a request with everything needed to answer it. A POST answers it."""
    rows = RegradeRequest.objects.select_related("offer__course", "offer__version", "answered_by")
    row = get_object_or_404(rows, pk=number, offer__course=visit.course)
    rubric = assignment_details.get_assignment(row.offer).get_rubric(row.student)
    if request.method == "POST" and _save_answer(request, row, find_question(rubric, row)):
        return redirect("requests", slug=visit.course.slug, assignment=row.offer.assignment)
    record_accesses(request.user, row.offer, [row.student], Access.REQUEST)
    labels = Labels(choose_language(request))
    context = {
        "offer": row.offer,
        "one": _describe_request(row, rubric, labels, _map_roles(visit.course), final=True),
        "names": request.GET.get("names") == "yes",
        "name": assignment_details.get_name(row.offer, row.student),
        "typed": {name: request.POST.get(name, "") for name in ("text", "points")},
        **_collect_judgement(request, row, rubric, labels),
    }
    return render_page(request, "request.html", context)


def _collect_judgement(
    request: HttpRequest, row: RegradeRequest, rubric: Rubric, labels: Labels
) -> dict[str, Any]:
    """Return the student's answer, its result and mark, and whether this user may answer the request."""
    question = find_question(rubric, row)
    graded, _ = DatabaseStore(row.offer.course).load_student_result(row.offer.assignment, row.student)
    mark = regrade_requests.find_mark(row, question)
    comments = (mark.comment, mark.remarks.get(row.item)) if mark else ()
    context: dict[str, Any] = {
        "answer": "",
        "result": None,
        "points": None,
        "bounds": None,
        "whole": False,
        "comment": to_printable_text("\n".join(filter(None, comments))),
        "may": regrade_requests.may_answer(mark, request.user, row.offer.course),
    }
    if question is None or graded is None:
        return context
    item = question.get_item(row.item)
    results = (
        entry for entry in graded.score.items if (entry.question, entry.item) == (question.id, item.id)
    )
    result = next(results, None)
    has = regrade_requests.compute_item_points(mark, question, item, graded.score) if mark else None
    context["answer"] = to_printable_text(get_answer_text(graded, question, item), _MOST_ANSWER)
    context["result"] = _describe_verdict(result, labels) if result else None
    context["whole"] = bool(has and has.whole)
    context["points"] = labels.number(has.now) if has and has.now is not None else ""
    # A cell that was marked as a whole has no points per item.
    if has and not has.whole:
        context["bounds"] = (
            labels.number(min(item.points, Decimal(0))),
            labels.number(max(item.points, Decimal(0))),
        )
    return context


def _describe_verdict(result: ItemResult, labels: Labels) -> Mapping[str, str]:
    """Describe the automatic result of an item for staff."""
    return {
        "status": labels(result.status.value),
        "points": labels.number(result.points),
        "possible": labels.number(result.possible),
        "told": "" if result.student.code == "passed" else render_sentence(result.student, labels.language),
        "staff": to_printable_text(result.staff),
        "reading": to_printable_text(result.reading),
    }


def _save_answer(request: HttpRequest, row: RegradeRequest, question: Question | None) -> bool:
    """Answer a request.

    Return False if it was refused; the notice says why and the form keeps its content.
    """
    points = request.POST.get("points", "").strip()
    try:
        new_points = _parse_points(points) if points else None
        regrade_requests.answer_request(row, request.user, request.POST.get("text", ""), question, new_points)
    except ActionRefused as error:
        report_refusal(request, error)
        return False
    notices.info(request, get_words(request)["t"]("request-answered"))
    return True


def _parse_points(written: str) -> Decimal:
    """Parse points as a person types them, with a decimal point or comma.

    Raises:
        ActionRefused: it is not a number.
    """
    if not _POINTS.fullmatch(written):
        raise ActionRefused("request-no-number")
    return Decimal(written.replace("−", "-").replace(",", "."))
