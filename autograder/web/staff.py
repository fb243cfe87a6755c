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
from autograder.app.handed_in import share_marks
from autograder.app.rosters import listed_students
from autograder.course import schedule
from autograder.errors import AutograderError, CourseError, RubricError
from autograder.rubric import Rubric
from autograder.service import attempts, audit, changes, tasks, trials
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
from autograder.service.standing import standings
from autograder.service.store import DatabaseStore
from autograder.service.telling import SentScore
from autograder.timestamps import duration
from autograder.web import late_terms, shown
from autograder.web.account import invite as make_invitation
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import framed, page
from autograder.web.version_trials import to_trial
from autograder.web.words import ACTIONS

_LATE = ("review", "accept", "refuse", "penalty")
_AS_FOR_ALL = "as-for-all"
"""Removes an individual rule for a student's late attempts."""
_MOST_ENTRIES = 500
_MINUTE = timedelta(minutes=1)


class ProgressShown(Struct, frozen=True):
    """The grading progress of an assignment."""

    offer: Offer
    done: int
    total: int
    failed: int
    rate: int
    """Attempts graded in the last minute."""
    left: str
    """The estimated remaining time at this rate; empty if it is unknown or nothing is waiting."""


def _progress(course: CourseRecord) -> list[ProgressShown]:
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
    found = []
    for offer in Offer.objects.filter(course=course).select_related("version").order_by("pk"):
        row = rows.get(offer.pk, {"total": 0, "done": 0, "failed": 0, "rate": 0})
        waiting = row["total"] - row["done"] - row["failed"]
        # Extrapolated from the last minute; without finished attempts there is no estimate.
        left = duration(_MINUTE * waiting / row["rate"]) if waiting and row["rate"] else ""
        found.append(ProgressShown(offer, row["done"], row["total"], row["failed"], row["rate"], left))
    return found


@course_page(Role.TA)
def course(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the assignments of a course and their grading progress."""
    return page(request, "staff.html", {"visit": visit, "rows": _progress(visit.course)})


@course_page(Role.TA)
def progress(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the part of the page that changes during grading."""
    return page(request, "_progress.html", {"visit": visit, "rows": _progress(visit.course)})


@course_page(Role.TA)
def assignment(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show an assignment: the standing of each student, failures, and settings."""
    offer = visit.offer(assignment)
    own = Attempt.objects.filter(offer=offer)
    last = (
        own.values("student").annotate(number=Max("number"), moment=Max("submitted_at")).order_by("student")
    )
    stands = standings(offer, shown.loaded(offer))
    rows = {row["student"]: row for row in last}
    for who in stands.keys() - rows.keys():  # another member of the group submitted
        rows[who] = {"student": who, "number": 0, "moment": None}
    return page(
        request,
        "staff_assignment.html",
        {
            "visit": visit,
            "offer": offer,
            "rows": [(rows[who], stands.get(who)) for who in sorted(rows)],
            "possible": shown.loaded(offer).rubric.assignment.points,
            "failed": own.filter(state=State.FAILED).order_by("submitted_at"),
            "times": offer.times,
            "terms": late_terms.as_shown(offer.times),
            "ways": ("", *late_terms.WAYS),
            "units": late_terms.UNITS,
            "day_lengths": late_terms.DAY_LENGTHS,
            "own_times": sorted(
                (who, one)
                for whose in ("students", "groups")
                for who, one in offer.times.get(whose, {}).items()
            ),
            "groups": [(one.name, ", ".join(one.members)) for one in attempts.groups_of(offer)],
            "late": _LATE,
            "as_for_all": _AS_FOR_ALL,
            "too_much": _too_much(shown.loaded(offer).rubric),
            "most": attempts.MOST_BYTES >> 20,
            "when": shown.clock(offer, language_of(request)),
            "platforms": _known_to_platforms(offer),
            "trials": offer.trials.filter(settled="").select_related("version"),
            "folder": visit.course.slug in settings.RUNNING.folders,
            "instructor": visit.at_least(Role.INSTRUCTOR),
            "head": visit.at_least(Role.HEAD_TA),
        },
    )


def _too_much(rubric: Rubric) -> int:
    """Return how many MB of files a rubric allows if that exceeds the service's limit; otherwise 0."""
    notebooks = rubric.assignment.notebooks
    asked = sum(int(one.most_mb * (1 << 20)) for notebook in notebooks for one in notebook.results)
    return math.ceil(asked / (1 << 20)) if asked > attempts.MOST_BYTES else 0


def _known_to_platforms(offer: Offer) -> list[tuple[PlatformCourse, int]]:
    """Return the connected platforms, each with the number of students for whom it has marks."""
    connected = PlatformCourse.objects.filter(course=offer.course)
    known = SentScore.objects.filter(item__resource_id=offer.assignment).exclude(points=None)
    return [
        (one, known.filter(item__context=one.context_id).count())
        for one in connected.select_related("context__deployment__registration").order_by("pk")
    ]


@course_page(Role.TA)
def feedback(request: HttpRequest, visit: Visit, assignment: str, who: str) -> HttpResponse:
    """Show a student's feedback, as they see it once marks are published."""
    return framed(request, visit, visit.offer(assignment), who)


def _back(visit: Visit, offer: Offer) -> HttpResponse:
    place = {"slug": visit.course.slug, "assignment": offer.assignment}
    return HttpResponseRedirect(reverse("staff-assignment", kwargs=place))


def _note(
    request: HttpRequest, visit: Visit, action: str, subject: str, *, before: Any = None, after: Any = None
) -> None:
    audit.note(request.user.username, action, subject, course=visit.course, before=before, after=after)


@course_page(Role.INSTRUCTOR, "POST")
def set_visible(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show an assignment to students, or hide it."""
    offer, wanted = visit.offer(assignment), request.POST.get("wanted") == "yes"
    with transaction.atomic():
        _note(request, visit, "visible", assignment, before=offer.visible, after=wanted)
        Offer.objects.filter(pk=offer.pk).update(visible=wanted)
    return _back(visit, offer)


@course_page(Role.INSTRUCTOR, "POST")
def set_published(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Publish the marks of an assignment, or withdraw them."""
    offer, wanted = visit.offer(assignment), request.POST.get("wanted") == "yes"
    # Publishing again keeps the first date.
    since = (offer.published_at or timezone.now()) if wanted else None
    with transaction.atomic():
        _note(request, visit, "published", assignment, before=offer.published_at is not None, after=wanted)
        if wanted:
            _share(offer)
        Offer.objects.filter(pk=offer.pk).update(published_at=since)
        # Also after a withdrawal: the platforms must not keep marks that are no longer public.
        if PlatformCourse.objects.filter(course=visit.course).exists():
            tasks.send_scores(offer.pk)
    return _back(visit, offer)


def _share(offer: Offer) -> None:
    """Copy manual marks of one group member to the others before any of them sees the marks."""
    store, teams = DatabaseStore(offer.course), attempts.groups_of(offer)
    if teams:
        share_marks(store, shown.loaded(offer).rubric, teams, store.results(offer.assignment))


@course_page(Role.INSTRUCTOR, "POST")
def set_times(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Set the common dates; empty fields remove them."""
    offer = visit.offer(assignment)
    fields = ("start", "end", "zone", "late")
    stated = {name: request.POST.get(name, "").strip() for name in fields}
    wanted: dict[str, Any] = {name: value for name, value in stated.items() if value}
    if not (wanted.get("start") or wanted.get("end")):
        wanted = {}
    else:  # keep other values of exams.toml, such as extensions
        kept = {
            name: value for name, value in offer.times.items() if name not in (*fields, *late_terms.TABLES)
        }
        wanted |= {**kept, **late_terms.stated(request.POST, offer)}
    others = late_terms.same_bank(offer, wanted.get("slip_days"))
    return _timed(request, visit, offer, wanted, others)


@course_page(Role.INSTRUCTOR, "POST")
def set_extension(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Change the extension of a student or a group.

    Empty fields keep their values; an empty form removes it.
    """
    offer = visit.offer(assignment)
    student = request.POST.get("student", "").strip()
    own: dict[str, Any] = {}
    if extra := request.POST.get("extra_minutes", "").strip():
        # Anything but a short number stays text, so that the error message quotes it.
        own["extra_minutes"] = int(extra) if extra.isdecimal() and len(extra) < 10 else extra
    own |= {name: value for name in ("end", "late") if (value := request.POST.get(name, "").strip())}
    member = Member.objects.filter(course=visit.course, student=student).exclude(student="").exists()
    # A student's id wins over a group of the same name.
    whose = "students" if member or student not in offer.groups else "groups"
    everybody = offer.times.get(whose, {})
    others = {who: one for who, one in everybody.items() if who != student}
    if own:
        own = _with_kept(everybody.get(student, {}), own)
    known = member or student in offer.groups
    say = words(request)["t"]
    if not known or not offer.times:
        notices.error(request, say("no-times") if known else say("not-in-class", student=student))
        return _back(visit, offer)
    return _timed(
        request, visit, offer, {**offer.times, whose: {**others, **({student: own} if own else {})}}
    )


def _with_kept(before: Mapping[str, Any], stated: dict[str, Any]) -> dict[str, Any]:
    """Return the new values, and the previous ones of all other fields.

    An individual deadline and extra minutes replace one another.
    """
    other = {"end": "extra_minutes", "extra_minutes": "end"}
    dropped = {other[name] for name in stated if name in other}
    kept = {name: value for name, value in before.items() if name not in dropped} | stated
    if kept.get("late") == _AS_FOR_ALL:
        del kept["late"]
    return kept


def _timed(
    request: HttpRequest,
    visit: Visit,
    offer: Offer,
    wanted: dict[str, Any],
    others: Iterable[tuple[Offer, dict[str, Any]]] = (),
) -> HttpResponse:
    """Save the times of this and other assignments, and regrade the students they affect."""
    changed = [(offer, wanted), *others]
    try:
        concerned = [(one, times, _concerned(one, times)) for one, times in changed]
    except RubricError as error:
        notices.error(request, words(request)["t"]("bad-times", reason=str(error)))
        return _back(visit, offer)
    # All times are checked by now: an invalid value leaves every assignment as it was.
    with transaction.atomic():
        for one, times, students in concerned:
            _note(request, visit, "times", one.assignment, before=one.times, after=times)
            Offer.objects.filter(pk=one.pk).update(times=times)
            attempts.grade_again(Attempt.objects.filter(offer=one, student__in=students))
    return _back(visit, offer)


def _concerned(offer: Offer, wanted: dict[str, Any]) -> list[str]:
    """Return the students who get another deadline or late rule.

    Raises:
        RubricError: the new times are invalid.
    """
    rubric, teams = shown.loaded(offer).rubric, attempts.groups_of(offer)
    after = schedule.read(wanted, rubric, offer.assignment, teams) if wanted else None
    before = attempts.schedule_of(offer, rubric)
    students = set(Attempt.objects.filter(offer=offer).values_list("student", flat=True))
    return [
        who
        for who in students
        if any(
            (before and (before.of(one), before.rule(one))) != (after and (after.of(one), after.rule(one)))
            for one in attempts.together(offer, who)
        )
    ]


@course_page(Role.INSTRUCTOR, "POST")
def update(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Import an assignment from the course's folder again."""
    offer, say = visit.offer(assignment), words(request)["t"]
    folder = settings.RUNNING.folders.get(visit.course.slug)
    if folder is None:
        raise Http404
    try:
        with transaction.atomic():
            found, trial = trials.take_over(visit.course, open_course(folder), assignment, request.user)
            # A version that can change marks starts a trial, and the previous one stays offered.
            if trial is None:
                numbers = {"before": offer.version.number, "after": found.version.number}
                _note(request, visit, "version", assignment, **numbers)
    except AutograderError as error:
        notices.error(request, say("refused", reason=str(error)))
        return _back(visit, offer)
    if trial is not None:
        notices.info(request, say("trial-begun", number=trial.version.number))
        return to_trial(visit, trial)
    same = found.version_id == offer.version_id
    notices.info(request, say("same-version") if same else say("updated", number=found.version.number))
    return _back(visit, offer)


@course_page(Role.HEAD_TA, "POST")
def grade_again(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Grade all attempts again with the offered version."""
    offer = visit.offer(assignment)
    with transaction.atomic():
        graded = Attempt.objects.filter(offer=offer, state=State.GRADED)
        _note(request, visit, "grade again", assignment, after=graded.count())  # the log is locked first
        changes.state(offer, request.POST.get("reason", ""), request.user)
        number = attempts.grade_again(graded)
    notices.info(request, words(request)["counted"]("regraded", number))
    return _back(visit, offer)


@course_page(Role.HEAD_TA, "POST")
def retry(request: HttpRequest, visit: Visit, identifier: uuid.UUID) -> HttpResponse:
    """Retry a failed attempt."""
    found = get_object_or_404(
        Attempt.objects.select_related("offer"), pk=identifier, offer__course=visit.course
    )
    with transaction.atomic():
        _note(request, visit, "retry", f"{found.offer.assignment}: {found.student} {found.number}")
        attempts.retry(found)
    return _back(visit, found.offer)


@course_page(Role.INSTRUCTOR)
def members(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the members of the course."""
    return _members(request, visit)


def _members(request: HttpRequest, visit: Visit, **told: Any) -> HttpResponse:
    everybody = Member.objects.filter(course=visit.course).select_related("account")
    context = {
        "visit": visit,
        "members": everybody.order_by("role", "student", "last_name", "pk"),
        "roles": _may_give(visit),
        "resets": request.user.is_superuser,
        "platforms": PlatformCourse.objects.filter(course=visit.course).select_related(
            "context__deployment__registration"
        ),
        "link": "",
        "invited": None,
        "until": None,
        "when": shown.course_clock(visit.course, language_of(request)),
        **told,
    }
    return page(request, "members.html", context)


def _may_give(visit: Visit) -> list[str]:
    """Return the roles that the visitor may assign: TAs and head TAs, or all for an administrator."""
    staff = [Role.TA, Role.HEAD_TA, Role.INSTRUCTOR, Role.ADMINISTRATOR]
    return [one.value for one in staff if visit.role == Role.ADMINISTRATOR or one in staff[:2]]


@course_page(Role.INSTRUCTOR, "POST")
def import_list(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Import a class list; members who are already on it keep their accounts."""
    say, sent = words(request), request.FILES.get("list")
    if sent is None:
        notices.error(request, say["t"]("no-files"))
        return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))
    try:
        students = listed_students(sent.read())
    except CourseError as error:
        notices.error(request, say["t"]("bad-list", reason=str(error)))
        return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))
    with transaction.atomic():
        before = _listed(visit.course)
        DatabaseStore(visit.course).enrol(students)
        after = _listed(visit.course)
        changed = sorted(who for who in after if before.get(who) != after[who])
        _note(
            request,
            visit,
            "class list",
            visit.course.slug,
            before={who: before[who] for who in changed if who in before},
            after={who: after[who] for who in changed},
        )
    notices.info(request, say["counted"]("imported", len(students)))
    return HttpResponseRedirect(reverse("members", kwargs={"slug": visit.course.slug}))


def _listed(course: CourseRecord) -> dict[str, str]:
    """Return the name and address of each student, by id."""
    students = Member.objects.filter(course=course, role=Role.STUDENT)
    return {one.student: f"{one.first_name} {one.last_name} {one.email}".strip() for one in students}


@course_page(Role.INSTRUCTOR, "POST")
def add_staff(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Add a member to the course staff."""
    role = request.POST.get("role", "")
    if role not in _may_give(visit):
        raise Http404
    name = request.POST.get("name", "").strip()[:150] or "-"
    with transaction.atomic():
        member = Member.objects.create(course=visit.course, role=role, last_name=name)
        _note(request, visit, "add staff", name, after=role)
    return _invited(request, visit, member)


@course_page(Role.INSTRUCTOR, "POST")
def invite(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member creates an account. It is shown only once."""
    found = get_object_or_404(Member, pk=member, course=visit.course, account=None)
    # An instructor must not hand out a role that they may not assign.
    if found.role != Role.STUDENT and found.role not in _may_give(visit):
        raise Http404
    return _invited(request, visit, found)


def _invited(
    request: HttpRequest, visit: Visit, member: Member, account: Account | None = None
) -> HttpResponse:
    link, invitation = make_invitation(member, account)
    who = member.student or member.last_name
    _note(request, visit, "link for a password" if account else "invite", who)
    return _members(
        request, visit, link=request.build_absolute_uri(link), invited=who, until=invitation.expires_at
    )


@course_page(Role.ADMINISTRATOR, "POST")
def new_password(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member sets a new password. It is shown only once.

    It opens everything the account may see, in other courses too, so only administrators of the service may
    do this.
    """
    # An administrator of this course alone is not enough.
    if not request.user.is_superuser:
        raise PermissionDenied
    found = get_object_or_404(Member, pk=member, course=visit.course, account__is_superuser=False)
    return _invited(request, visit, found, found.account)


@course_page(Role.INSTRUCTOR)
def audit_log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the changes in the course, and whether the log is intact."""
    entries = AuditEntry.objects.filter(course=visit.course).order_by("-pk")[:_MOST_ENTRIES]
    newest = AuditEntry.objects.order_by("-pk").first()
    context = {
        "visit": visit,
        "entries": entries,
        "broken": audit.broken(),
        "newest": newest.digest if newest else "",
        "actions": ACTIONS,
        "when": shown.course_clock(visit.course, language_of(request)),
    }
    return page(request, "audit.html", context)
