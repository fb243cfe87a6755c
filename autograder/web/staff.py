"""Pages for course staff: progress, results, dates, the class list, the audit log."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from msgspec import Struct

from autograder.app import open_course
from autograder.core.errors import AutograderError
from autograder.grading.grades import Standing
from autograder.rubric import Rubric
from autograder.rubric.timestamps import format_duration
from autograder.service import attempts, mark_changes, offers, trials
from autograder.service.marking import queue
from autograder.service.models import (
    Attempt,
    CourseRecord,
    Member,
    Offer,
    PlatformCourse,
    RegradeRequest,
    Role,
    State,
)
from autograder.service.models_results import Draft, SentScore
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.standings import load_standings
from autograder.web import assignment_details, tables
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_framed, render_page
from autograder.web.site import choose_language, get_words
from autograder.web.version_trials import redirect_to_trial

_MINUTE = timedelta(minutes=1)


class SubmissionRow(Struct, frozen=True):
    """A student in the table of submissions."""

    student: str
    member: Member | None
    """None: not on the class list."""
    group: str
    number: int
    """Attempts of the student."""
    received_at: datetime | None
    """When the last attempt arrived; None: another member of the group submitted, or nobody."""
    state: str
    """The code of the sentence that describes it."""
    standing: Standing | None

    @property
    def name(self) -> str:
        """Family name first, as class lists are sorted."""
        names = (self.member.last_name, self.member.first_name) if self.member else ()
        return ", ".join(filter(None, names))


def _collect_progress(
    course: CourseRecord, language: str, *, only: Offer | None = None
) -> list[dict[str, Any]]:
    """Return the assignments of a course with their grading progress.

    ``rate`` is the number of attempts graded in the last minute. ``left`` is the estimated time at this
    rate that remains; empty if it is unknown or nothing is waiting.
    """
    states = {"done": Q(attempts__state=State.GRADED), "failed": Q(attempts__state=State.FAILED)}
    states["rate"] = states["done"] & Q(attempts__graded_at__gt=timezone.now() - _MINUTE)
    counts = {name: Count("attempts", filter=condition) for name, condition in states.items()}
    offers = Offer.objects.filter(course=course).select_related("version", "course").order_by("pk")
    if only is not None:
        offers = offers.filter(pk=only.pk)
    rows = []
    for offer in offers.annotate(total=Count("attempts"), **counts):
        waiting = offer.total - offer.done - offer.failed
        rows.append(
            {
                "offer": offer,
                "times": assignment_details.get_common_times(offer, language),
                **{name: getattr(offer, name) for name in ("total", *counts)},
                "waiting": waiting,
                # Extrapolated from the last minute; without finished attempts there is no estimate.
                "left": format_duration(_MINUTE * waiting / offer.rate) if waiting and offer.rate else "",
            }
        )
    return rows


@require_role(Role.TA)
def show_course(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the assignments of a course and their grading progress."""
    return render_course(request, visit)


def render_course(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Return the page of a course; a form that was refused keeps what was typed."""
    drafts = Draft.objects.filter(course=visit.course, settled="").select_related("by").order_by("-pk")
    language = choose_language(request)
    context = {
        **_collect_course_progress(request, visit),
        "drafts": drafts,
        "instructor": visit.has_role(Role.INSTRUCTOR),
        "typed": request.POST,
        "when": assignment_details.make_course_time_formatter(visit.course, language),
    }
    return render_page(request, "staff.html", context)


@require_role(Role.TA)
def show_progress(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the part of the page that changes during grading."""
    return render_page(request, "_progress.html", _collect_course_progress(request, visit))


def _collect_course_progress(request: HttpRequest, visit: Visit) -> dict[str, Any]:
    """Return the assignments of a course with what is left to do; ``busy``: something is being graded."""
    rows = _collect_progress(visit.course, choose_language(request))
    requests = RegradeRequest.objects.filter(
        offer__course=visit.course, answered_at=None, withdrawn_at=None
    ).values_list("offer")
    open_requests = dict(requests.annotate(Count("pk")))
    for row in rows:
        offer = row["offer"]
        row["open_requests"] = open_requests.get(offer.pk, 0)
        # While a class is graded the page asks every two seconds, and the number is not settled yet.
        row["to_grade"] = 0 if row["waiting"] else _count_answers_to_grade(request, offer)
    return {"rows": rows, "busy": any(row["waiting"] for row in rows)}


def _count_answers_to_grade(request: HttpRequest, offer: Offer) -> int:
    rubric = assignment_details.get_assignment(offer).rubric
    return queue.count_waiting_answers(offer, rubric, request.user)


@require_role(Role.TA)
def show_assignment(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the overview of an assignment: what students see, its dates, and what is left to do."""
    language = choose_language(request)
    (progress,) = _collect_progress(visit.course, language, only=offer)
    if "HX-Request" in request.headers:  # every two seconds while a class is graded
        return render_page(request, "_assignment_progress.html", {"row": progress})
    rubric = assignment_details.get_assignment(offer).rubric
    submitted = Attempt.objects.filter(offer=offer).values("student").distinct().count()
    to_grade = queue.count_waiting_answers(offer, rubric, request.user)
    instructor = visit.has_role(Role.INSTRUCTOR)
    context = {
        "row": progress,
        "submitted": submitted,
        # Imported submissions can be of students who are not on the class list.
        "enrolled": max(submitted, Member.objects.filter(course=visit.course, role=Role.STUDENT).count()),
        "extensions": sum(len(offer.times.get(kind, {})) for kind in ("students", "groups")),
        "to_grade": to_grade,
        # Only who can publish the marks reads this.
        "open_work": _count_open_work(offer, to_grade) if instructor and not offer.published_at else {},
        "submittable": offer.visible and assignment_details.is_anybody_in_time(offer),
        "open_requests": offer.requests.filter(answered_at=None, withdrawn_at=None).count(),
        "possible": rubric.assignment.points,
        "too_much": _get_excess_size(rubric),
        "most": attempts.MOST_BYTES >> 20,
        "when": assignment_details.make_time_formatter(offer, language),
        "platforms": _count_sent_marks(offer),
        "trials": offer.trials.filter(settled="").select_related("version"),
        "instructor": instructor,
        "head": visit.has_role(Role.HEAD_TA),
    }
    return render_page(request, "staff_assignment.html", context)


@require_role(Role.TA)
def show_submissions(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show every student with their submissions and points, and the attempts whose grading failed."""
    failed = Attempt.objects.filter(offer=offer, state=State.FAILED).order_by("submitted_at")
    rows = _collect_submissions(offer)
    columns: dict[str, Callable[[SubmissionRow], Any]] = {
        "name": lambda row: (tables.fold_text(row.name) or row.student, row.student),
        "student": lambda row: row.student,
        "status": lambda row: row.state,
        "points": lambda row: (row.standing is not None, row.standing.total if row.standing else 0),
        "number": lambda row: row.number,
        "moment": lambda row: (row.received_at is not None, row.received_at),
    }
    context = {
        "table": tables.build_table(
            request, rows, columns, lambda row: f"{row.name} {row.student} {row.group}"
        ),
        "possible": assignment_details.get_assignment(offer).rubric.assignment.points,
        "failed": failed,
        "names": {row.student: row.name for row in rows},
        "when": assignment_details.make_time_formatter(offer, choose_language(request)),
        "graded": Attempt.objects.filter(offer=offer, state=State.GRADED).count(),
        "instructor": visit.has_role(Role.INSTRUCTOR),
        "head": visit.has_role(Role.HEAD_TA),
    }
    return render_page(request, "submissions.html", context)


def _collect_submissions(offer: Offer) -> list[SubmissionRow]:
    """Return a row for everybody on the class list, and for others who submitted, such as removed members."""
    students = Member.everyone.filter(course=offer.course, role=Role.STUDENT)
    members = {member.student: member for member in students}
    enrolled = {who for who, member in members.items() if member.removed_at is None}
    groups = {who: group.name for group in attempts.list_groups(offer) for who in group.members}
    standings = load_standings(offer, assignment_details.get_assignment(offer))
    last: dict[str, tuple[int, datetime, str]] = {}
    for who, number, moment, state in (
        Attempt.objects.filter(offer=offer)
        .order_by("number")
        .values_list("student", "number", "submitted_at", "state")
    ):
        last[who] = (number, moment, state)
    rows = []
    for who in enrolled | last.keys() | standings.keys():
        number, moment, state = last.get(who, (0, None, State.GRADED))
        standing = standings.get(who)
        if state != State.GRADED:
            code = "status-failed" if state == State.FAILED else f"state-{state}"
        elif standing:
            code = "final" if standing.final else "provisional"
        else:
            code = "nothing-yet"
        rows.append(SubmissionRow(who, members.get(who), groups.get(who, ""), number, moment, code, standing))
    return rows


def _get_excess_size(rubric: Rubric) -> int:
    """Return how many MB of files a rubric allows if that exceeds the service's limit; otherwise 0."""
    notebooks = rubric.assignment.notebooks
    allowed_bytes = sum(
        int(result_file.most_mb * (1 << 20)) for notebook in notebooks for result_file in notebook.results
    )
    return math.ceil(allowed_bytes / (1 << 20)) if allowed_bytes > attempts.MOST_BYTES else 0


def _count_sent_marks(offer: Offer) -> list[tuple[PlatformCourse, int]]:
    """Return the connected platforms, each with the number of students for whom it has marks."""
    connected = PlatformCourse.objects.filter(course=offer.course)
    sent_scores = SentScore.objects.filter(item__resource_id=offer.assignment).exclude(points=None)
    return [
        (connection, sent_scores.filter(item__context=connection.context_id).count())
        for connection in connected.select_related("context__deployment__registration").order_by("pk")
    ]


@require_role(Role.TA)
def show_feedback(request: HttpRequest, _: Visit, offer: Offer, who: str) -> HttpResponse:
    """Show a student's feedback, as they see it once marks are published."""
    record_accesses(request.user, offer, [who], Access.RESULT)
    return render_framed(request, offer, who)


@require_role(Role.INSTRUCTOR, "POST")
def set_visible(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show an assignment to students, or hide it."""
    offers.set_visible(offer, request.user, wanted=request.POST.get("wanted") == "yes")
    return redirect("staff-assignment", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.INSTRUCTOR, "POST")
def set_published(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Publish the marks of an assignment, or withdraw them."""
    rubric = assignment_details.get_assignment(offer).rubric
    offers.set_published(offer, rubric, request.user, wanted=request.POST.get("wanted") == "yes")
    return redirect("staff-assignment", slug=visit.course.slug, assignment=offer.assignment)


def _count_open_work(offer: Offer, answers: int) -> dict[str, int]:
    """Count what is unfinished: answers to mark, students with provisional marks, ungraded attempts."""
    rows = Attempt.objects.filter(offer=offer)
    standings = load_standings(offer, assignment_details.get_assignment(offer)).values()
    return {
        "answers": answers,
        "provisional": sum(not standing.final for standing in standings),
        "waiting": rows.filter(state__in=(State.WAITING, State.RUNNING)).count(),
        "failed": rows.filter(state=State.FAILED).count(),
    }


@require_role(Role.INSTRUCTOR, "POST")
def update_assignment(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Import an assignment from the course's folder again."""
    say = get_words(request)["t"]
    folder = settings.RUNNING.folders.get(visit.course.slug)
    if folder is None:
        raise Http404
    try:
        with transaction.atomic():
            updated_offer, trial = trials.import_assignment(
                visit.course, open_course(folder), offer.assignment, request.user
            )
            Offer.objects.filter(pk=offer.pk).update(uploaded=False)
            # A version that can change marks starts a trial, and the previous one stays offered.
            if trial is None:
                numbers = {"before": offer.version.number, "after": updated_offer.version.number}
                visit.record_action("version", offer.assignment, **numbers)
    except AutograderError as error:
        notices.error(request, say("refused", reason=error.text))
        return redirect("settings", slug=visit.course.slug, assignment=offer.assignment)
    if trial is not None:
        notices.info(request, say("trial-begun", number=trial.version.number))
        return redirect_to_trial(visit, trial)
    same = updated_offer.version_id == offer.version_id
    notices.info(
        request, say("same-version") if same else say("updated", number=updated_offer.version.number)
    )
    return redirect("settings", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.HEAD_TA, "POST")
def grade_again(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Grade all attempts again with the offered version."""
    with transaction.atomic():
        graded = Attempt.objects.filter(offer=offer, state=State.GRADED)
        visit.record_action("grade again", offer.assignment, after=graded.count())  # the log is locked first
        mark_changes.record_reason(offer, request.POST.get("reason", ""), request.user)
        number = attempts.grade_again(graded)
    notices.info(request, get_words(request)["counted"]("regraded", number))
    return redirect("submissions", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.HEAD_TA, "POST")
def retry_attempt(_: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponse:
    """Retry a failed attempt."""
    attempt = get_object_or_404(
        Attempt.objects.select_related("offer"), pk=identifier, offer__course=visit.course
    )
    with transaction.atomic():
        visit.record_action("retry", f"{attempt.offer.assignment}: {attempt.student} {attempt.number}")
        attempts.retry_attempt(attempt)
    return redirect("submissions", slug=visit.course.slug, assignment=attempt.offer.assignment)
