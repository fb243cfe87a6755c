"""The page with the audit log of a course and the marks that people gave, and its export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from msgspec import Struct

from autograder.exchange.platforms.csv_files import CsvTable, write_table
from autograder.service import audit
from autograder.service.models import AuditEntry, CellMark, CourseRecord, MarkingAction, Role
from autograder.web import assignment_details
from autograder.web.audit_values import ValueFormatter
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page
from autograder.web.sentences import ACTIONS
from autograder.web.site import choose_language, get_words

ON_A_PAGE = 100
_AT_ONCE = 1000
"""Entries of an export that are in memory together."""
_COLUMNS = ("time", "user", "action", "target", "before", "after", "digest")
_LOGGED, _MARKED = 0, 1
_SHOWN_FIELDS = ("points", "items", "comment", "remarks", "annotations", "flagged", "stage")
"""What a person changes of an answer; the other fields follow from these."""

Key = tuple[datetime, int, int]
"""Time, table (`_LOGGED` or `_MARKED`) and number of an entry."""


class LogRow(Struct, frozen=True):
    """An entry of the log, or an action of a marker, which is stored with its answers."""

    at: datetime
    who: str
    action: str
    subject: str
    before: Any
    after: Any
    digest: str = ""
    """Empty: marks are not part of the hash chain."""


class FilterForm(forms.Form):
    """Selects entries of the log; invalid values select nothing in particular."""

    who = forms.CharField(required=False, max_length=150)
    action = forms.CharField(required=False, max_length=64)
    about = forms.CharField(required=False, max_length=128)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)


def _select_keys(visit: Visit, wanted: dict[str, Any]) -> QuerySet[Any, Key]:
    """Return the entries of the course that match the filter; days are those of the course."""
    zone = assignment_details.find_course_zone(visit.course)
    entries = AuditEntry.objects.filter(course=visit.course)
    actions = MarkingAction.objects.filter(course=visit.course)
    if who := wanted.get("who"):
        entries, actions = (
            entries.filter(who__icontains=who),
            actions.filter(account__username__icontains=who),
        )
    if about := wanted.get("about"):
        entries = entries.alias(old=Cast("before", TextField()), new=Cast("after", TextField()))
        entries = entries.filter(
            Q(subject__icontains=about) | Q(old__icontains=about) | Q(new__icontains=about)
        )
        actions = actions.filter(_match_answers(visit.course, about))
    if action := wanted.get("action"):
        entries, actions = entries.filter(action=action), actions.filter(action=action)
    if since := wanted.get("since"):
        start = _start_day(since, zone)
        entries, actions = entries.filter(at__gte=start), actions.filter(at__gte=start)
    if until := wanted.get("until"):
        end = _start_day(until + timedelta(days=1), zone)
        entries, actions = entries.filter(at__lt=end), actions.filter(at__lt=end)
    return entries.values_list("at", Value(_LOGGED), "pk").union(
        actions.values_list("at", Value(_MARKED), "pk"), all=True
    )


def _match_answers(course: CourseRecord, about: str) -> Q:
    """Return the condition that an action is about an assignment, or about answers of a student."""
    answers = CellMark.objects.filter(place__course=course, student__iexact=about).values_list(
        "pk", flat=True
    )
    conditions = (Q(changes__contains=[{"answer": number}]) for number in answers)
    return reduce(or_, conditions, Q(assignment__iexact=about))


def _start_day(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _load_rows(keys: Sequence[Key]) -> list[LogRow]:
    """Load the entries in the given order."""
    entries = AuditEntry.objects.in_bulk([number for _, table, number in keys if table == _LOGGED])
    marked = MarkingAction.objects.select_related("account").in_bulk(
        [number for _, table, number in keys if table == _MARKED]
    )
    concerned = {change["answer"] for action in marked.values() for change in action.changes}
    answers = CellMark.objects.select_related("place").in_bulk(concerned)
    rows = []
    for _, table, number in keys:
        if table == _MARKED:
            rows.append(_describe_action(marked[number], answers))
        else:
            entry = entries[number]
            facts = (entry.subject, entry.before, entry.after, entry.digest)
            rows.append(LogRow(entry.at, entry.who, entry.action, *facts))
    return rows


def _describe_action(action: MarkingAction, answers: Mapping[int, CellMark]) -> LogRow:
    """Return an action of a marker with what it changed in each answer."""
    before, after = {}, {}
    for change in action.changes:
        answer = answers.get(change["answer"])
        name = f"{answer.student}: {answer.place.cell}" if answer else "–"  # the student was erased
        old, new = change["before"], change["after"]
        fields = [field for field in _SHOWN_FIELDS if old.get(field) != new.get(field)]
        before[name], after[name] = _pick_fields(old, fields), _pick_fields(new, fields)
    subject = action.assignment
    if len(after) == 1:
        ((name, after),) = after.items()
        subject, before = f"{subject}: {name}", before[name]
    if action.undone_at:
        after = {**after, "undone": action.undone_at.isoformat()}
    return LogRow(action.at, action.account.username, action.action, subject, before, after)


def _pick_fields(state: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return fields of an answer without what repeats from entry to entry."""
    picked = {field: state.get(field) for field in fields}
    if "items" in picked:
        picked["items"] = {name: stored["points"] for name, stored in (picked["items"] or {}).items()}
    if "annotations" in picked:
        notes = picked["annotations"] or ()
        picked["annotations"] = [f"{note['first']}–{note['last']}: {note['text']}" for note in notes]
    return picked


def _read_filter(request: HttpRequest) -> dict[str, Any]:
    form = FilterForm(request.GET)
    form.is_valid()
    return {name: value for name, value in form.cleaned_data.items() if value}


@require_role(Role.INSTRUCTOR)
def show_audit_log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the changes in the course by page, newest first, and when the log was last verified."""
    wanted, words, language = _read_filter(request), get_words(request), choose_language(request)
    newest = AuditEntry.objects.order_by("-pk").first()
    recorded = {
        *AuditEntry.objects.filter(course=visit.course).values_list("action", flat=True).distinct(),
        *MarkingAction.objects.filter(course=visit.course).values_list("action", flat=True).distinct(),
    }
    names = {
        action: words["t"](f"log-{action.replace(' ', '-')}") if action in ACTIONS else action
        for action in recorded
    }
    keys = _select_keys(visit, wanted).order_by("-at", "-pk")
    page = Paginator(keys, ON_A_PAGE).get_page(request.GET.get("page"))
    values = ValueFormatter(
        words["t"], words["number"], language, assignment_details.find_course_zone(visit.course)
    )
    context = {
        "page": page,
        "rows": _load_rows(page.object_list),
        "said": values.format_value,
        "filter": {name: str(value) for name, value in wanted.items()},
        "query": urlencode(wanted),
        "names": dict(sorted(names.items(), key=lambda pair: pair[1])),
        "verified": audit.find_verification(),
        "newest": newest.digest if newest else "",
        "when": assignment_details.make_course_time_formatter(visit.course, language),
    }
    return render_page(request, "audit.html", context)


@require_role(Role.INSTRUCTOR, "POST")
def verify_audit_log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Verify the hash chain, and record the result in the log."""
    audit.verify_log(request.user.username, visit.course)
    return HttpResponseRedirect(f"{reverse('audit-log', kwargs={'slug': visit.course.slug})}#chain")


@require_role(Role.INSTRUCTOR)
def export_audit_log(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Download the selected entries as a CSV file, oldest first."""
    rows = tuple(_export_rows(_select_keys(visit, _read_filter(request)).order_by("at", "pk")))
    return make_download(write_table(CsvTable(_COLUMNS, rows, ())), f"{visit.course.slug}-audit-log.csv")


def _export_rows(keys: QuerySet[Any, Key]) -> Iterator[tuple[str, ...]]:
    for page in Paginator(keys, _AT_ONCE):
        for row in _load_rows(page.object_list):
            values = (
                "" if value is None else json.dumps(value, ensure_ascii=False)
                for value in (row.before, row.after)
            )
            yield (row.at.isoformat(), row.who, row.action, row.subject, *values, row.digest)
