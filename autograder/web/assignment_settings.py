"""The settings of an assignment: dates, late rules, extensions, version and groups."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from autograder.core.errors import RubricError
from autograder.core.wording import Phrase
from autograder.rubric.timestamps import get_zone
from autograder.service import attempts
from autograder.service.models import Attempt, Member, Offer, PlatformCourse, Role
from autograder.service.notices import events
from autograder.web import assignment_details, late_rule_form, tables
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_page
from autograder.web.site import choose_language, get_words

_LATE = ("review", "accept", "refuse", "penalty")
_AS_FOR_ALL = "as-for-all"
"""Removes an individual rule for a student's late attempts."""
_FIELDS = ("start", "end", "zone", "late", "minutes")
_MINUTES = len("2031-02-12T10:00")
"""The length of what a browser sends for a time without seconds."""


@require_role(Role.INSTRUCTOR)
def show_settings(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the settings of an assignment."""
    return _render_settings(request, visit, offer)


def _render_settings(
    request: HttpRequest,
    visit: Visit,
    offer: Offer,
    *,
    dates: Mapping[str, str] | None = None,
    extension: Mapping[str, str] | None = None,
    problem: str = "",
    wrong: str = "",
) -> HttpResponse:
    """Render the settings.

    Args:
        request: of the reader.
        visit: of the reader.
        offer: the assignment.
        dates: what was typed into the form of the dates and refused.
        extension: what was typed into the form of the extensions and refused.
        problem: why it was refused.
        wrong: the field that is wrong; empty if it is not one alone.
    """
    zone, times = offer.times.get("zone", ""), offer.times
    stored = {name: format_local(str(times.get(name, "")), zone) for name in ("start", "end")}
    stored |= {
        "zone": zone or ("UTC" if times else _guess_zone(visit)),
        "late": times.get("late", _LATE[0]),
        "minutes": str(times.get("minutes", "")),
    }
    students = _list_students(visit).order_by("student")
    members = {member.student: member for member in students}
    context = {
        "dates": {**stored, **late_rule_form.to_fields(times), **(dates or {})},
        "dates_problem": problem if dates is not None else "",
        "extension": dict.fromkeys(("student", "extra_minutes", "end", "late"), "") | dict(extension or {}),
        "extension_problem": problem if extension is not None else "",
        "wrong": wrong,
        "extensions": [
            (who, members.get(who), {**entry, **_format_moments(entry, zone)})
            for kind in ("students", "groups")
            for who, entry in sorted(times.get(kind, {}).items())
        ],
        "ends": assignment_details.map_individual_ends(offer, choose_language(request)),
        "students": members.values(),
        "ways": ("", *late_rule_form.WAYS),
        "units": late_rule_form.UNITS,
        "day_lengths": late_rule_form.DAY_LENGTHS,
        "late": _LATE,
        "as_for_all": _AS_FOR_ALL,
        "implied_end": ""
        if stored["end"]
        else assignment_details.get_common_times(offer, choose_language(request)).end,
        "zones": sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC"),
        "groups": [(entry.name, ", ".join(entry.members)) for entry in attempts.list_groups(offer)],
        "trials": offer.trials.filter(settled="").select_related("version"),
        "folder": visit.course.slug in settings.RUNNING.folders,
        "platforms": PlatformCourse.objects.filter(course=visit.course).exists(),
    }
    return render_page(request, "settings.html", context)


def _guess_zone(visit: Visit) -> str:
    """Return the time zone of the course's latest dates; empty if it has none."""
    dated = Offer.objects.filter(course=visit.course).exclude(times={}).order_by("-pk")
    zones = (times.get("zone", "") for times in dated.values_list("times", flat=True))
    return next(filter(None, zones), "")


def _format_moments(entry: Mapping[str, Any], zone: str) -> dict[str, str]:
    return {name: format_local(str(entry[name]), zone) for name in ("start", "end") if name in entry}


def format_local(stored: str, zone: str) -> str:
    """Return a stored time as a ``datetime-local`` field has it: in the zone, without an offset."""
    try:
        moment = datetime.fromisoformat(stored)
        if moment.tzinfo is not None:
            moment = moment.astimezone(get_zone(zone) if zone else UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return stored
    return moment.isoformat(timespec="seconds" if moment.second else "minutes")


def _read_moment(typed: str, stored: str, zone: str) -> str:
    """Return the time to store for a field; one that was not changed keeps its offset."""
    if stored and typed == format_local(stored, zone):
        return stored
    return f"{typed}:00" if len(typed) == _MINUTES else typed


def _redirect_to_settings(visit: Visit, offer: Offer, section: str) -> HttpResponse:
    kwargs = {"slug": visit.course.slug, "assignment": offer.assignment}
    return HttpResponseRedirect(f"{reverse('settings', kwargs=kwargs)}#{section}")


@require_role(Role.INSTRUCTOR, "POST")
def set_times(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Set the common dates; empty fields remove them. A refused form is shown again as it was typed."""
    stored_zone = ""
    typed = {name: request.POST.get(name, "").strip() for name in _FIELDS}
    if typed["zone"] == (offer.times.get("zone", "") or "UTC"):
        stored_zone = offer.times.get("zone", "")
        stored = offer.times
    else:  # in another zone the same clock time is another moment
        stored = {}
    wanted: dict[str, Any] = {name: value for name, value in typed.items() if value}
    for name in ("start", "end"):
        if name in wanted:
            wanted[name] = _read_moment(wanted[name], str(stored.get(name, "")), stored_zone)
    if "minutes" in wanted:
        wanted["minutes"] = late_rule_form.parse_whole(wanted["minutes"])
    wanted |= late_rule_form.read_terms(request.POST, offer)
    try:
        set_terms(visit, offer, wanted)
    except RubricError as error:
        sent = {
            name: request.POST[name] for name in (*_FIELDS, *late_rule_form.FIELDS) if name in request.POST
        }
        wrong, problem = _describe_fault(request, error)
        return _render_settings(request, visit, offer, dates=sent, problem=problem, wrong=wrong)
    notices.success(request, get_words(request)["t"]("dates-saved"))
    return _redirect_to_settings(visit, offer, "dates")


@require_role(Role.INSTRUCTOR, "POST")
def set_extension(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Change the extension of a student or a group.

    Empty fields keep their values; an empty form removes it. A refused form is shown again as it was typed.
    """
    say = get_words(request)["t"]
    typed = {name: request.POST.get(name, "").strip() for name in ("student", "extra_minutes", "end", "late")}
    student, zone = _find_student(visit, offer, typed["student"]), offer.times.get("zone", "")
    extension: dict[str, Any] = {}
    if extra := typed["extra_minutes"]:
        extension["extra_minutes"] = late_rule_form.parse_whole(extra)
    if typed["end"]:
        end = _read_moment(typed["end"], "", zone)
        # The common dates then state offsets, and the page shows them in UTC.
        extension["end"] = end if zone or end == typed["end"] else f"{end}Z"
    if typed["late"]:
        extension["late"] = typed["late"]
    kind = find_extension_kind(visit, offer, student)
    everybody = offer.times.get(kind, {})
    if extension:
        extension = _merge_extension(everybody.get(student, {}), extension)
    if not kind or not offer.times:
        problem = say("no-times") if kind else say("not-in-class", student=student)
        wrong = "" if kind else "student"
        return _render_settings(request, visit, offer, extension=typed, problem=problem, wrong=wrong)
    try:
        save_extension(visit, offer, student, extension)
    except RubricError as error:
        wrong, problem = _describe_fault(request, error, student)
        return _render_settings(request, visit, offer, extension=typed, problem=problem, wrong=wrong)
    if extension or student in everybody:
        saved = "extension-saved" if extension else "extension-removed"
        notices.success(request, say(saved, student=student))
    else:
        notices.info(request, say("extension-same", student=student))
    return _redirect_to_settings(visit, offer, "extensions")


def set_terms(visit: Visit, offer: Offer, terms: dict[str, Any]) -> None:
    """Replace the common dates and late rules; without a date nothing is kept, extensions neither.

    Raises:
        RubricError: they are invalid.
    """
    if terms.get("start") or terms.get("end"):
        replaced = (*_FIELDS, *late_rule_form.TABLES)
        terms = {name: value for name, value in offer.times.items() if name not in replaced} | terms
    else:
        terms = {}
    others = late_rule_form.list_bank_changes(offer, terms.get("slip_days"))
    _save_times(visit, [(offer, terms), *others])


def find_extension_kind(visit: Visit, offer: Offer, name: str) -> str:
    """Return the table that has the extension of a student or group; empty if there is no such name."""
    # A student's id wins over a group of the same name.
    if _list_students(visit).filter(student=name).exists():
        return "students"
    return "groups" if name in offer.groups else ""


def save_extension(visit: Visit, offer: Offer, name: str, extension: dict[str, Any]) -> None:
    """Replace the extension of a student or group; an empty one removes it.

    Raises:
        RubricError: it is invalid.
    """
    kind = find_extension_kind(visit, offer, name)
    entries = {who: terms for who, terms in offer.times.get(kind, {}).items() if who != name}
    if extension:
        entries[name] = extension
    _save_times(visit, [(offer, {**offer.times, kind: entries})])


def _describe_fault(request: HttpRequest, error: RubricError, student: str = "") -> tuple[str, str]:
    """Return the field that is wrong, if it is one, and why the times were not saved.

    Args:
        request: of the reader.
        error: as it was raised.
        student: whose extension the form is about; empty: it is about the common dates.
    """
    say, path, who = get_words(request)["t"], error.path, ""
    if path[:1] in {("students",), ("groups",)}:
        who, path = str(path[1]), path[2:]
    field = late_rule_form.find_field(path)
    reason: Phrase = late_rule_form.describe_fault(error, field)
    if field:
        label = "own-end" if who and field == "end" else late_rule_form.LABELS[field]
        reason = say("field-fault", field=say(label), reason=reason)
    if who != student:  # a change of the common dates can make an extension impossible
        return "", say("bad-times", reason=say("field-fault", field=who, reason=reason))
    return field, say("bad-times", reason=reason)


def _list_students(visit: Visit) -> QuerySet[Member]:
    return Member.objects.filter(course=visit.course, role=Role.STUDENT)


def _find_student(visit: Visit, offer: Offer, typed: str) -> str:
    """Return the id of the only student with the name that was typed; anything else is returned as it is."""
    students = _list_students(visit)
    if typed in offer.groups or students.filter(student=typed).exists():
        return typed
    wanted = tables.fold_text(typed)
    named = [
        member.student
        for member in students
        if wanted
        in {
            tables.fold_text(f"{member.first_name} {member.last_name}".strip()),
            tables.fold_text(f"{member.last_name}, {member.first_name}"),
        }
    ]
    return named[0] if len(named) == 1 else typed


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


def _save_times(visit: Visit, changed: Iterable[tuple[Offer, dict[str, Any]]]) -> None:
    """Save the times of assignments, and regrade the students they affect.

    Raises:
        RubricError: the times of one of them are invalid; then none is saved.
    """
    concerned = [(offer, times, *_list_affected(offer, times)) for offer, times in changed]
    with transaction.atomic():
        for offer, times, submitters, enrolled in concerned:
            visit.record_action("times", offer.assignment, before=offer.times, after=times)
            Offer.objects.filter(pk=offer.pk).update(times=times)
            events.record_new_deadline(offer, enrolled)
            attempts.grade_again(Attempt.objects.filter(offer=offer, student__in=submitters))


def _list_affected(offer: Offer, wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return whom new times affect.

    Returns:
        The students with an attempt who get another deadline or late rule, and the students on the class list
        who get another deadline.

    Raises:
        RubricError: the new times are invalid.
    """
    rubric = assignment_details.get_assignment(offer).rubric
    both = (attempts.load_schedule(offer, rubric), attempts.read_times(offer, wanted, rubric))

    def has_other_terms(student: str) -> bool:
        before, after = (times and (times.get_window(student), times.get_rule(student)) for times in both)
        return before != after

    def has_other_end(members: Sequence[str]) -> bool:
        before, after = (times and times.get_shared_window(members).end for times in both)
        return before != after

    submitters = set(Attempt.objects.filter(offer=offer).values_list("student", flat=True))
    enrolled = Member.objects.filter(course=offer.course, role=Role.STUDENT).values_list("student", flat=True)
    return (
        [who for who in submitters if any(map(has_other_terms, attempts.list_group_members(offer, who)))],
        [who for who in enrolled if has_other_end(attempts.list_group_members(offer, who))],
    )
