"""Pages for course staff: progress, results, dates, the class list, the audit log."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Max, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from msgspec import Struct

from autograder.app import open_course
from autograder.app.lists import read_students
from autograder.core.errors import AutograderError, CourseError, RubricError
from autograder.course import schedule
from autograder.rubric import Rubric
from autograder.rubric.timestamps import format_duration
from autograder.service import attempts, audit, changes, class_list, offers, trials
from autograder.service.models import (
    Account,
    Attempt,
    AuditEntry,
    CourseRecord,
    Member,
    Offer,
    PlatformCourse,
    Role,
    State,
)
from autograder.service.notices import events
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.standing import load_standings
from autograder.service.telling import SentScore
from autograder.web import late_terms, shown
from autograder.web.account import create_invitation as make_invitation
from autograder.web.guard import Visit, require_role
from autograder.web.site import choose_language, words
from autograder.web.student import render_framed, render_page
from autograder.web.version_trials import redirect_to_trial
from autograder.web.words import ACTIONS

_LATE = ("review", "accept", "refuse", "penalty")
_AS_FOR_ALL = "as-for-all"
"""Removes an individual rule for a student's late attempts."""
_MOST_ENTRIES = 500
_MINUTE = timedelta(minutes=1)


class ProgressRow(Struct, frozen=True):
    """The grading progress of an assignment."""

    offer: Offer
    done: int
    total: int
    failed: int
    rate: int
    """Attempts graded in the last minute."""
    left: str
    """The estimated remaining time at this rate; empty if it is unknown or nothing is waiting."""


def _collect_progress(course: CourseRecord) -> list[ProgressRow]:
    lately = Q(state=State.GRADED, graded_at__gt=timezone.now() - _MINUTE)
    # One query for all assignments.
    rows = {
        row["offer"]: row
        for row in Attempt.objects.filter(offer__course=course)
        .values("offer")
        .annotate(
            total=Count("pk"),
            done=Count("pk", filter=Q(state=State.GRADED)),
            failed=Count("pk", filter=Q(state=State.FAILED)),
            rate=Count("pk", filter=lately),
        )
    }
    progress_rows = []
    for offer in Offer.objects.filter(course=course).select_related("version").order_by("pk"):
        row = rows.get(offer.pk, {"total": 0, "done": 0, "failed": 0, "rate": 0})
        waiting = row["total"] - row["done"] - row["failed"]
        # Extrapolated from the last minute; without finished attempts there is no estimate.
        left = format_duration(_MINUTE * waiting / row["rate"]) if waiting and row["rate"] else ""
        progress_rows.append(ProgressRow(offer, row["done"], row["total"], row["failed"], row["rate"], left))
    return progress_rows


@require_role(Role.TA)
def show_course(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the assignments of a course and their grading progress."""
    return render_page(request, "staff.html", {"visit": visit, "rows": _collect_progress(visit.course)})


@require_role(Role.TA)
def show_progress(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the part of the page that changes during grading."""
    return render_page(request, "_progress.html", {"visit": visit, "rows": _collect_progress(visit.course)})


@require_role(Role.TA)
def show_assignment(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show an assignment: the standing of each student, failures, and settings."""
    offer = visit.get_offer(assignment)
    offer_attempts = Attempt.objects.filter(offer=offer)
    last = (
        offer_attempts.values("student")
        .annotate(number=Max("number"), moment=Max("submitted_at"))
        .order_by("student")
    )
    student_standings = load_standings(offer, shown.get_assignment(offer))
    rows = {row["student"]: row for row in last}
    for who in student_standings.keys() - rows.keys():  # another member of the group submitted
        rows[who] = {"student": who, "number": 0, "moment": None}
    return render_page(
        request,
        "staff_assignment.html",
        {
            "visit": visit,
            "offer": offer,
            "rows": [(rows[who], student_standings.get(who)) for who in sorted(rows)],
            "possible": shown.get_assignment(offer).rubric.assignment.points,
            "failed": offer_attempts.filter(state=State.FAILED).order_by("submitted_at"),
            "times": offer.times,
            "terms": late_terms.to_fields(offer.times),
            "ways": ("", *late_terms.WAYS),
            "units": late_terms.UNITS,
            "day_lengths": late_terms.DAY_LENGTHS,
            "own_times": sorted(
                (who, entry)
                for whose in ("students", "groups")
                for who, entry in offer.times.get(whose, {}).items()
            ),
            "groups": [(entry.name, ", ".join(entry.members)) for entry in attempts.list_groups(offer)],
            "late": _LATE,
            "as_for_all": _AS_FOR_ALL,
            "too_much": _get_excess_size(shown.get_assignment(offer).rubric),
            "most": attempts.MOST_BYTES >> 20,
            "when": shown.make_time_formatter(offer, choose_language(request)),
            "platforms": _count_sent_marks(offer),
            "trials": offer.trials.filter(settled="").select_related("version"),
            "folder": visit.course.slug in settings.RUNNING.folders,
            "instructor": visit.has_role(Role.INSTRUCTOR),
            "head": visit.has_role(Role.HEAD_TA),
        },
    )


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
def show_feedback(request: HttpRequest, visit: Visit, assignment: str, who: str) -> HttpResponse:
    """Show a student's feedback, as they see it once marks are published."""
    offer = visit.get_offer(assignment)
    record_accesses(request.user, offer, [who], Access.RESULT)
    return render_framed(request, visit, offer, who)


def _redirect_to_assignment(visit: Visit, offer: Offer) -> HttpResponse:
    kwargs = {"slug": visit.course.slug, "assignment": offer.assignment}
    return HttpResponseRedirect(reverse("staff-assignment", kwargs=kwargs))


def _note_action(
    request: HttpRequest, visit: Visit, action: str, subject: str, *, before: Any = None, after: Any = None
) -> None:
    audit.record_action(
        request.user.username, action, subject, course=visit.course, before=before, after=after
    )


@require_role(Role.INSTRUCTOR, "POST")
def set_visible(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show an assignment to students, or hide it."""
    offer = visit.get_offer(assignment)
    offers.set_visible(offer, request.user, wanted=request.POST.get("wanted") == "yes")
    return _redirect_to_assignment(visit, offer)


@require_role(Role.INSTRUCTOR, "POST")
def set_published(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Publish the marks of an assignment, or withdraw them."""
    offer = visit.get_offer(assignment)
    rubric = shown.get_assignment(offer).rubric
    offers.set_published(offer, rubric, request.user, wanted=request.POST.get("wanted") == "yes")
    return _redirect_to_assignment(visit, offer)


@require_role(Role.INSTRUCTOR, "POST")
def set_times(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Set the common dates; empty fields remove them."""
    offer = visit.get_offer(assignment)
    fields = ("start", "end", "zone", "late")
    typed = {name: request.POST.get(name, "").strip() for name in fields}
    wanted: dict[str, Any] = {name: value for name, value in typed.items() if value}
    if not (wanted.get("start") or wanted.get("end")):
        wanted = {}
    else:  # keep other values of exams.toml, such as extensions
        kept = {
            name: value for name, value in offer.times.items() if name not in (*fields, *late_terms.TABLES)
        }
        wanted |= {**kept, **late_terms.read_terms(request.POST, offer)}
    bank_changes = late_terms.list_bank_changes(offer, wanted.get("slip_days"))
    return _save_times(request, visit, offer, wanted, bank_changes)


@require_role(Role.INSTRUCTOR, "POST")
def set_extension(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Change the extension of a student or a group.

    Empty fields keep their values; an empty form removes it.
    """
    offer = visit.get_offer(assignment)
    student = request.POST.get("student", "").strip()
    extension: dict[str, Any] = {}
    if extra := request.POST.get("extra_minutes", "").strip():
        # Anything but a short number stays text, so that the error message quotes it.
        extension["extra_minutes"] = int(extra) if extra.isdecimal() and len(extra) < 10 else extra
    extension |= {name: value for name in ("end", "late") if (value := request.POST.get(name, "").strip())}
    member = Member.objects.filter(course=visit.course, student=student).exclude(student="").exists()
    # A student's id wins over a group of the same name.
    kind = "students" if member or student not in offer.groups else "groups"
    everybody = offer.times.get(kind, {})
    other_extensions = {who: terms for who, terms in everybody.items() if who != student}
    if extension:
        extension = _merge_extension(everybody.get(student, {}), extension)
    is_known = member or student in offer.groups
    say = words(request)["t"]
    if not is_known or not offer.times:
        notices.error(request, say("no-times") if is_known else say("not-in-class", student=student))
        return _redirect_to_assignment(visit, offer)
    return _save_times(
        request,
        visit,
        offer,
        {**offer.times, kind: {**other_extensions, **({student: extension} if extension else {})}},
    )


def _merge_extension(before: Mapping[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """Return the new values, and the previous ones of all other fields.

    An individual deadline and extra minutes replace one another.
    """
    other = {"end": "extra_minutes", "extra_minutes": "end"}
    dropped = {other[name] for name in typed if name in other}
    kept = {name: value for name, value in before.items() if name not in dropped} | typed
    if kept.get("late") == _AS_FOR_ALL:
        del kept["late"]
    return kept


def _save_times(
    request: HttpRequest,
    visit: Visit,
    offer: Offer,
    wanted: dict[str, Any],
    further_changes: Iterable[tuple[Offer, dict[str, Any]]] = (),
) -> HttpResponse:
    """Save the times of this and other assignments, and regrade the students they affect."""
    changed = [(offer, wanted), *further_changes]
    try:
        concerned = [
            (changed_offer, times, _list_affected(changed_offer, times)) for changed_offer, times in changed
        ]
    except RubricError as error:
        notices.error(request, words(request)["t"]("bad-times", reason=str(error)))
        return _redirect_to_assignment(visit, offer)
    # All times are checked by now: an invalid value leaves every assignment as it was.
    with transaction.atomic():
        for changed_offer, times, students in concerned:
            _note_action(
                request, visit, "times", changed_offer.assignment, before=changed_offer.times, after=times
            )
            Offer.objects.filter(pk=changed_offer.pk).update(times=times)
            events.record_new_deadline(changed_offer, _list_new_deadlines(changed_offer, times))
            attempts.grade_again(Attempt.objects.filter(offer=changed_offer, student__in=students))
    return _redirect_to_assignment(visit, offer)


def _list_affected(offer: Offer, wanted: dict[str, Any]) -> list[str]:
    """Return the students who get another deadline or late rule.

    Raises:
        RubricError: the new times are invalid.
    """
    rubric, teams = shown.get_assignment(offer).rubric, attempts.list_groups(offer)
    after = schedule.read_schedule(wanted, rubric, offer.assignment, teams) if wanted else None
    before = attempts.load_schedule(offer, rubric)
    students = set(Attempt.objects.filter(offer=offer).values_list("student", flat=True))
    return [
        who
        for who in students
        if any(
            (before and (before.get_window(member), before.get_rule(member)))
            != (after and (after.get_window(member), after.get_rule(member)))
            for member in attempts.list_group_members(offer, who)
        )
    ]


def _list_new_deadlines(offer: Offer, wanted: dict[str, Any]) -> list[str]:
    """Return the students on the class list who get another deadline; the new times are valid."""
    rubric, teams = shown.get_assignment(offer).rubric, attempts.list_groups(offer)
    after = schedule.read_schedule(wanted, rubric, offer.assignment, teams) if wanted else None
    before = attempts.load_schedule(offer, rubric)
    students = Member.objects.filter(course=offer.course, role=Role.STUDENT).values_list("student", flat=True)
    changed = []
    for who in students:
        members = attempts.list_group_members(offer, who)
        ends = [times and times.get_shared_window(members).end for times in (before, after)]
        if ends[0] != ends[1]:
            changed.append(who)
    return changed


@require_role(Role.INSTRUCTOR, "POST")
def update_assignment(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Import an assignment from the course's folder again."""
    offer, say = visit.get_offer(assignment), words(request)["t"]
    folder = settings.RUNNING.folders.get(visit.course.slug)
    if folder is None:
        raise Http404
    try:
        with transaction.atomic():
            updated_offer, trial = trials.import_assignment(
                visit.course, open_course(folder), assignment, request.user
            )
            # A version that can change marks starts a trial, and the previous one stays offered.
            if trial is None:
                numbers = {"before": offer.version.number, "after": updated_offer.version.number}
                _note_action(request, visit, "version", assignment, **numbers)
    except AutograderError as error:
        notices.error(request, say("refused", reason=str(error)))
        return _redirect_to_assignment(visit, offer)
    if trial is not None:
        notices.info(request, say("trial-begun", number=trial.version.number))
        return redirect_to_trial(visit, trial)
    same = updated_offer.version_id == offer.version_id
    notices.info(
        request, say("same-version") if same else say("updated", number=updated_offer.version.number)
    )
    return _redirect_to_assignment(visit, offer)


@require_role(Role.HEAD_TA, "POST")
def grade_again(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Grade all attempts again with the offered version."""
    offer = visit.get_offer(assignment)
    with transaction.atomic():
        graded = Attempt.objects.filter(offer=offer, state=State.GRADED)
        _note_action(
            request, visit, "grade again", assignment, after=graded.count()
        )  # the log is locked first
        changes.record_reason(offer, request.POST.get("reason", ""), request.user)
        number = attempts.grade_again(graded)
    notices.info(request, words(request)["counted"]("regraded", number))
    return _redirect_to_assignment(visit, offer)


@require_role(Role.HEAD_TA, "POST")
def retry_attempt(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponse:
    """Retry a failed attempt."""
    attempt = get_object_or_404(
        Attempt.objects.select_related("offer"), pk=identifier, offer__course=visit.course
    )
    with transaction.atomic():
        _note_action(
            request, visit, "retry", f"{attempt.offer.assignment}: {attempt.student} {attempt.number}"
        )
        attempts.retry_attempt(attempt)
    return _redirect_to_assignment(visit, attempt.offer)


@require_role(Role.INSTRUCTOR)
def show_members(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the members of the course."""
    return _render_members(request, visit)


def _render_members(request: HttpRequest, visit: Visit, **extra_context: Any) -> HttpResponse:
    everybody = Member.objects.filter(course=visit.course).select_related("account")
    context = {
        "visit": visit,
        "members": everybody.order_by("role", "student", "last_name", "pk"),
        "roles": _list_assignable_roles(visit),
        "resets": request.user.is_superuser,
        "platforms": PlatformCourse.objects.filter(course=visit.course).select_related(
            "context__deployment__registration"
        ),
        "link": "",
        "invited": None,
        "until": None,
        "when": shown.make_course_time_formatter(visit.course, choose_language(request)),
        **extra_context,
    }
    return render_page(request, "members.html", context)


def _list_assignable_roles(visit: Visit) -> list[str]:
    """Return the roles that the visitor may assign: TAs and head TAs, or all for an administrator."""
    staff = [Role.TA, Role.HEAD_TA, Role.INSTRUCTOR, Role.ADMINISTRATOR]
    return [role.value for role in staff if visit.role == Role.ADMINISTRATOR or role in staff[:2]]


@require_role(Role.INSTRUCTOR, "POST")
def import_list(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Import a class list; members who are already on it keep their accounts."""
    say, sent = words(request), request.FILES.get("list")
    if sent is None:
        notices.error(request, say["t"]("no-files"))
        return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))
    try:
        students = read_students(sent.read())
    except CourseError as error:
        notices.error(request, say["t"]("bad-list", reason=str(error)))
        return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))
    class_list.import_students(visit.course, students, request.user)
    notices.info(request, say["counted"]("imported", len(students)))
    return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))


@require_role(Role.INSTRUCTOR, "POST")
def add_staff(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Add a member to the course staff."""
    role = request.POST.get("role", "")
    if role not in _list_assignable_roles(visit):
        raise Http404
    name = request.POST.get("name", "").strip()[:150] or "-"
    with transaction.atomic():
        member = Member.objects.create(course=visit.course, role=role, last_name=name)
        _note_action(request, visit, "add staff", name, after=role)
    return _show_invitation(request, visit, member)


@require_role(Role.INSTRUCTOR, "POST")
def invite_member(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member creates an account. It is shown only once."""
    course_member = get_object_or_404(Member, pk=member, course=visit.course, account=None)
    # An instructor must not hand out a role that they may not assign.
    if course_member.role != Role.STUDENT and course_member.role not in _list_assignable_roles(visit):
        raise Http404
    return _show_invitation(request, visit, course_member)


def _show_invitation(
    request: HttpRequest, visit: Visit, member: Member, account: Account | None = None
) -> HttpResponse:
    link, invitation = make_invitation(member, account)
    who = member.student or member.last_name
    _note_action(request, visit, "link for a password" if account else "invite", who)
    return _render_members(
        request, visit, link=request.build_absolute_uri(link), invited=who, until=invitation.expires_at
    )


@require_role(Role.ADMINISTRATOR, "POST")
def reset_password(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member sets a new password. It is shown only once.

    It opens everything the account may see, in other courses too, so only administrators of the service may
    do this.
    """
    # An administrator of this course alone is not enough.
    if not request.user.is_superuser:
        raise PermissionDenied
    course_member = get_object_or_404(Member, pk=member, course=visit.course, account__is_superuser=False)
    return _show_invitation(request, visit, course_member, course_member.account)


@require_role(Role.INSTRUCTOR)
def show_audit_log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the changes in the course, and whether the log is intact."""
    entries = AuditEntry.objects.filter(course=visit.course).order_by("-pk")[:_MOST_ENTRIES]
    newest = AuditEntry.objects.order_by("-pk").first()
    context = {
        "visit": visit,
        "entries": entries,
        "broken": audit.find_broken_entry(),
        "newest": newest.digest if newest else "",
        "actions": ACTIONS,
        "when": shown.make_course_time_formatter(visit.course, choose_language(request)),
    }
    return render_page(request, "audit.html", context)
