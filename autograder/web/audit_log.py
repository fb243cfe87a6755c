"""The page with the audit log of a course, and its export."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from autograder.exchange.platforms.csv_files import CsvTable, write_table
from autograder.service import audit
from autograder.service.models import AuditEntry, Role
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page
from autograder.web.sentences import ACTIONS
from autograder.web.site import choose_language, get_words

ON_A_PAGE = 100
_COLUMNS = ("time", "user", "action", "target", "before", "after", "digest")


class FilterForm(forms.Form):
    """Selects entries of the log; invalid values select nothing in particular."""

    who = forms.CharField(required=False, max_length=150)
    action = forms.CharField(required=False, max_length=64)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)


def _select_entries(visit: Visit, wanted: dict[str, Any]) -> QuerySet[AuditEntry]:
    """Return the entries of the course that match the filter, newest first; days are those of the course."""
    zone = assignment_details.find_course_zone(visit.course)
    entries = AuditEntry.objects.filter(course=visit.course).order_by("-pk")
    if who := wanted.get("who"):
        entries = entries.filter(who__icontains=who)
    if action := wanted.get("action"):
        entries = entries.filter(action=action)
    if since := wanted.get("since"):
        entries = entries.filter(at__gte=_start_day(since, zone))
    if until := wanted.get("until"):
        entries = entries.filter(at__lt=_start_day(until + timedelta(days=1), zone))
    return entries


def _start_day(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _read_filter(request: HttpRequest) -> dict[str, Any]:
    form = FilterForm(request.GET)
    form.is_valid()
    return {name: value for name, value in form.cleaned_data.items() if value}


@require_role(Role.INSTRUCTOR)
def show_audit_log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the changes in the course, by page, and whether the log is intact."""
    wanted, say = _read_filter(request), get_words(request)["t"]
    newest = AuditEntry.objects.order_by("-pk").first()
    recorded = AuditEntry.objects.filter(course=visit.course).values_list("action", flat=True).distinct()
    names = {
        action: say(f"log-{action.replace(' ', '-')}") if action in ACTIONS else action for action in recorded
    }
    context = {
        "page": Paginator(_select_entries(visit, wanted), ON_A_PAGE).get_page(request.GET.get("page")),
        "filter": {name: str(value) for name, value in wanted.items()},
        "query": urlencode(wanted),
        "names": dict(sorted(names.items(), key=lambda pair: pair[1])),
        "broken": audit.find_broken_entry(),
        "newest": newest.digest if newest else "",
        "when": assignment_details.make_course_time_formatter(visit.course, choose_language(request)),
    }
    return render_page(request, "audit.html", context)


@require_role(Role.INSTRUCTOR)
def export_audit_log(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Download the selected entries as a CSV file, oldest first."""
    rows = tuple(
        (
            *(entry.at.isoformat(), entry.who, entry.action, entry.subject),
            *(
                "" if value is None else json.dumps(value, ensure_ascii=False)
                for value in (entry.before, entry.after)
            ),
            entry.digest,
        )
        for entry in _select_entries(visit, _read_filter(request)).order_by("pk").iterator()
    )
    return make_download(write_table(CsvTable(_COLUMNS, rows, ())), f"{visit.course.slug}-audit-log.csv")
