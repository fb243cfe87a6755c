"""Pages of regrade requests: students ask below their feedback, and course staff answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from msgspec import Struct

from autograder.feedback.answers import answer_text
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import printable_text, sentence
from autograder.grades import standing
from autograder.records import ItemResult
from autograder.rubric import Question, Rubric
from autograder.service import audit, changes, tasks
from autograder.service.marking import requests
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import CourseRecord, Member, Offer, PlatformCourse, RegradeRequest, Role
from autograder.service.store import DatabaseStore, given_to
from autograder.timestamps import format_moment, local_moment, named_zone
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import framed, page

_POINTS = re.compile(r"[-+−]?[0-9]{1,6}(?:[.,][0-9]{1,6})?")
_MOST_ANSWER = 20_000
"""Shown characters of a student's answer."""


class ItemShown(Struct, frozen=True):
    """An item that a student may ask about."""

    question: str
    number: int
    """Its position in the question, from 1. The form sends it instead of the id, which may reveal a hidden
    title."""
    text: str
    points: str


class RequestShown(Struct, frozen=True):
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
    made: str
    settled: str
    """When it was answered or withdrawn."""


class RequestsShown(Struct, frozen=True):
    """The requests of a student, and the items they may still ask about."""

    questions: tuple[tuple[str, tuple[ItemShown, ...]], ...]
    """Title and items of each question; empty if the deadline is over or was never set."""
    rows: tuple[RequestShown, ...]
    until: str
    """The deadline; empty if none was set."""
    over: bool
    most: int = requests.MOST_REASON


@course_page(Role.STUDENT)
def feedback(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show the feedback for the attempt that counts, once marks are published, with the regrade requests."""
    offer = _published(visit, assignment)
    # From here on, only later changes of the marks are news to the student.
    changes.seen(offer, shown.loaded(offer), visit.student)
    asked = _of_student(offer, visit.student, language_of(request))
    return framed(request, visit, offer, visit.student, asked=asked)


def _published(visit: Visit, assignment: str) -> Offer:
    offer = visit.offer(assignment)
    if offer.published_at is None:
        raise Http404
    return offer


def _of_student(offer: Offer, student: str, language: str) -> RequestsShown:
    rubric, labels = shown.loaded(offer).rubric_of(student), Labels(language)
    final, items = _askable(offer, rubric, student)
    rows = offer.requests.filter(student=student).select_related("offer").order_by("-pk")
    # An item with an open request cannot be asked about again.
    waiting = {(one.question, one.item) for one in rows if not (one.answered_at or one.withdrawn_at)}
    found: dict[str, list[ItemShown]] = {}
    for one in items:
        question, item = one.question, one.item
        if (question.id, item.id) not in waiting:
            number = question.items.index(item) + 1
            text = labels.pick(item.title(final=final), str(number))
            points = labels.number(one.points) if one.points is not None else ""
            found.setdefault(question.id, []).append(ItemShown(question.id, number, text, points))
    roles, open_now = _roles(offer.course), requests.accepts(offer)
    until = offer.requests_until
    return RequestsShown(
        questions=tuple(
            (labels.pick(rubric.question(name).title, name), tuple(inside)) for name, inside in found.items()
        )
        if open_now
        else (),
        rows=tuple(_shown(one, rubric, labels, roles, final=final) for one in rows),
        until=_moment(until, offer, language) if until else "",
        over=not open_now,
    )


def _askable(offer: Offer, rubric: Rubric, student: str) -> tuple[bool, list[requests.AskableItem]]:
    """Return whether the student's marks are final, and the items that have a mark.

    Titles that are hidden during marking may be shown once the marks are final.
    """
    graded, marks = DatabaseStore(offer.course).of_student(offer.assignment, student)
    if graded is None:
        return False, []
    final = standing(graded.score, rubric, marks, given_to(offer, student)).final
    return final, requests.askable(rubric, graded.score, student, offer.course)


def _shown(
    row: RegradeRequest, rubric: Rubric, labels: Labels, roles: Mapping[int, str], *, final: bool
) -> RequestShown:
    question = _question(rubric, row)
    number = 1 + [one.id for one in question.items].index(row.item) if question else 0
    settled = row.answered_at or row.withdrawn_at
    return RequestShown(
        row=row,
        title=labels.pick(question.title, question.id) if question else row.question,
        text=labels.pick(question.item(row.item).title(final=final), str(number)) if question else "",
        state="answered" if row.answered_at else "withdrawn" if row.withdrawn_at else "open",
        by=roles.get(row.answered_by_id, Role.ADMINISTRATOR),
        before=labels.number(Decimal(row.points)) if row.points is not None else "",
        after=labels.number(Decimal(row.points_after)) if row.points_after is not None else "",
        made=_moment(row.made_at, row.offer, labels.language),
        settled=_moment(settled, row.offer, labels.language) if settled else "",
    )


def _question(rubric: Rubric, row: RegradeRequest) -> Question | None:
    """Return the question of a request; None if the rubric no longer has the item."""
    found = (one for one in rubric.questions if one.id == row.question)
    return next((one for one in found if any(item.id == row.item for item in one.items)), None)


def _roles(course: CourseRecord) -> dict[int, str]:
    """Return the role of each staff account in a course."""
    staff = Member.objects.filter(course=course).exclude(role=Role.STUDENT)
    return dict(staff.values_list("account", "role"))


def _zone(offer: Offer) -> tzinfo:
    """Return the time zone of an assignment's dates."""
    try:
        return named_zone(offer.times.get("zone", ""))
    except ValueError:
        return UTC


def _moment(moment: datetime, offer: Offer, language: str) -> str:
    zone = _zone(offer)
    # Deadlines are shown to the minute.
    return format_moment(moment.astimezone(zone).replace(second=0, microsecond=0), str(zone), language)


@course_page(Role.STUDENT, "POST")
def ask(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Request another look at an item."""
    offer = _published(visit, assignment)
    rubric = shown.loaded(offer).rubric_of(visit.student)
    # The form sends positions: an id could reveal a hidden title.
    places = {
        (one.id, str(number)): (one, item)
        for one in rubric.questions
        for number, item in enumerate(one.items, 1)
    }
    found = places.get((request.POST.get("question", ""), request.POST.get("number", "")))
    if found is None:
        raise Http404
    try:
        requests.make(offer, visit.student, *found, request.POST.get("reason", ""))
        notices.info(request, words(request)["t"]("request-made"))
    except NotTaken as error:
        _refuse(request, error)
    return _to("feedback", visit, offer)


@course_page(Role.STUDENT, "POST")
def withdraw(request: HttpRequest, visit: Visit, assignment: str, number: int) -> HttpResponse:
    """Withdraw a request of the student."""
    offer = _published(visit, assignment)
    found = get_object_or_404(RegradeRequest, pk=number, offer=offer, student=visit.student)
    try:
        requests.withdraw(found)
    except NotTaken as error:
        _refuse(request, error)
    return _to("feedback", visit, offer)


def _refuse(request: HttpRequest, error: NotTaken) -> None:
    notices.error(request, words(request)["t"](error.code, **error.params))


def _to(route: str, visit: Visit, offer: Offer) -> HttpResponse:
    place = {"slug": visit.course.slug, "assignment": offer.assignment}
    return HttpResponseRedirect(reverse(route, kwargs=place))


@course_page(Role.TA)
def listed(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """List the requests of an assignment: open ones, oldest first, and settled ones."""
    offer, labels = visit.offer(assignment), Labels(language_of(request))
    rubric = shown.loaded(offer).rubric
    rows = offer.requests.select_related("offer__course", "answered_by").order_by("pk")
    roles = _roles(visit.course)
    # `final=True`: staff may see titles that are hidden from students during marking.
    found = [_shown(one, rubric, labels, roles, final=True) for one in rows]
    until = offer.requests_until
    context = {
        "visit": visit,
        "offer": offer,
        "open": [one for one in found if one.state == "open"],
        "settled": [one for one in reversed(found) if one.state != "open"],
        "names": request.GET.get("names") == "yes",
        "until": _moment(until, offer, labels.language) if until else "",
        "written": until.astimezone(_zone(offer)).strftime("%Y-%m-%dT%H:%M") if until else "",
        "zone": str(_zone(offer)),
        "instructor": visit.at_least(Role.INSTRUCTOR),
    }
    return page(request, "requests.html", context)


@course_page(Role.INSTRUCTOR, "POST")
def set_until(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Set the deadline for requests; an empty value closes them."""
    offer, wanted = visit.offer(assignment), request.POST.get("until", "").strip()
    try:
        until = _at(wanted, _zone(offer)) if wanted else None
    except (ValueError, OverflowError):
        notices.error(request, words(request)["t"]("requests-no-moment"))
        return _to("requests", visit, offer)
    before, after = (one and one.isoformat() for one in (offer.requests_until, until))
    with transaction.atomic():
        audit.note(
            request.user.username,
            "requests until",
            offer.assignment,
            course=visit.course,
            before=before,
            after=after,
        )
        Offer.objects.filter(pk=offer.pk).update(requests_until=until)
    return _to("requests", visit, offer)


def _at(written: str, zone: tzinfo) -> datetime:
    """Parse a moment by the clock of a zone, unless it states an offset.

    Raises:
        ValueError: it is invalid, or clocks in the zone never or twice showed it.
        OverflowError: it has no counterpart in UTC.
    """
    moment = datetime.fromisoformat(written)
    return (moment if moment.tzinfo else local_moment(moment, zone)).astimezone(UTC)


@course_page(Role.TA, "GET", "HEAD", "POST")
def answer(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show a request with everything needed to answer it. A POST answers it."""
    rows = RegradeRequest.objects.select_related("offer__course", "offer__version", "answered_by")
    row = get_object_or_404(rows, pk=number, offer__course=visit.course)
    rubric = shown.loaded(row.offer).rubric_of(row.student)
    if request.method == "POST" and _answered(request, row, _question(rubric, row)):
        return _to("requests", visit, row.offer)
    labels = Labels(language_of(request))
    context = {
        "visit": visit,
        "offer": row.offer,
        "one": _shown(row, rubric, labels, _roles(visit.course), final=True),
        "names": request.GET.get("names") == "yes",
        "most": requests.MOST_ANSWER,
        "typed": {name: request.POST.get(name, "") for name in ("text", "points")},
        **_judged(request, row, rubric, labels),
    }
    return page(request, "request.html", context)


def _judged(request: HttpRequest, row: RegradeRequest, rubric: Rubric, labels: Labels) -> dict[str, Any]:
    """Return the student's answer, its result and mark, and whether this user may answer the request."""
    question = _question(rubric, row)
    graded, _ = DatabaseStore(row.offer.course).of_student(row.offer.assignment, row.student)
    mark = requests.mark_of(row, question)
    said = (mark.comment, mark.remarks.get(row.item)) if mark else ()
    found: dict[str, Any] = {
        "answer": "",
        "result": None,
        "points": None,
        "bounds": None,
        "comment": printable_text("\n".join(filter(None, said))),
        "may": requests.may_answer(mark, request.user, row.offer.course),
    }
    if question is None or graded is None:
        return found
    item = question.item(row.item)
    results = (one for one in graded.score.items if (one.question, one.item) == (question.id, item.id))
    result = next(results, None)
    has = requests.points_of(mark, question, item, graded.score) if mark else None
    found["answer"] = printable_text(answer_text(graded, question, item), _MOST_ANSWER)
    found["result"] = _verdict(result, labels) if result else None
    found["points"] = labels.number(has.now) if has and has.now is not None else ""
    # A cell that was marked as a whole has no points per item.
    if has and not has.whole:
        found["bounds"] = (
            labels.number(min(item.points, Decimal(0))),
            labels.number(max(item.points, Decimal(0))),
        )
    return found


def _verdict(result: ItemResult, labels: Labels) -> Mapping[str, str]:
    """Describe the automatic result of an item for staff."""
    return {
        "status": labels(result.status.value),
        "points": labels.number(result.points),
        "possible": labels.number(result.possible),
        "told": "" if result.student.code == "passed" else sentence(result.student, labels.language),
        "staff": printable_text(result.staff),
        "reading": printable_text(result.reading),
    }


def _answered(request: HttpRequest, row: RegradeRequest, question: Question | None) -> bool:
    """Answer a request.

    Return False if it was refused; the notice says why and the form keeps its content.
    """
    points = request.POST.get("points", "").strip()
    try:
        given = _number(points) if points else None
        # The task is queued in the same transaction: no scores are sent for an answer that was rolled back.
        with transaction.atomic():
            requests.answer(row, request.user, request.POST.get("text", ""), question, given)
            if row.offer.published_at and PlatformCourse.objects.filter(course=row.offer.course).exists():
                tasks.send_scores(row.offer_id)
    except NotTaken as error:
        _refuse(request, error)
        return False
    notices.info(request, words(request)["t"]("request-answered"))
    return True


def _number(written: str) -> Decimal:
    """Parse points as a person types them, with a decimal point or comma.

    Raises:
        NotTaken: it is not a number.
    """
    if not _POINTS.fullmatch(written):
        raise NotTaken("request-no-number")
    return Decimal(written.replace("−", "-").replace(",", "."))
