"""Pages about data protection for administrators of the service: find, export and erase persons."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages as notices
from django.db.models import Q
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from autograder.service import audit
from autograder.service.models import CourseRecord
from autograder.service.models_results import AccessEntry
from autograder.service.protection import erasure, export, people, retention
from autograder.service.protection.people import DataSubject, Kind
from autograder.web.guard import require_superuser
from autograder.web.responses import render_page
from autograder.web.site import get_words

_MOST_FOUND = 50
_MOST_VIEWS = 200


class KeepForm(forms.Form):
    """Form for the retention period of a course; an empty value removes it."""

    days = forms.IntegerField(min_value=retention.LEAST_DAYS, max_value=36_500, required=False)


@require_superuser()
def show_people(request: HttpRequest) -> HttpResponse:
    """Show the persons that match a search, and the retention periods of the courses."""
    text = request.GET.get("search", "").strip()[:150]
    context = {
        "search": text,
        "people": people.search_people(text, _MOST_FOUND) if text else [],
        "courses": CourseRecord.objects.order_by("title", "pk"),
        "least": retention.LEAST_DAYS,
    }
    return render_page(request, "people.html", context)


@require_superuser("POST")
def set_keep_days(request: HttpRequest, slug: str) -> HttpResponse:
    """Set the retention period of a course."""
    course, form, say = (
        get_object_or_404(CourseRecord, slug=slug),
        KeepForm(request.POST),
        get_words(request)["t"],
    )
    if form.is_valid():
        retention.set_keep_days(course, form.cleaned_data["days"], request.user)
        notices.info(request, say("keep-saved", course=course.title))
    else:
        notices.error(request, say("keep-invalid", least=retention.LEAST_DAYS))
    return redirect("people")


@require_superuser()
def show_person(request: HttpRequest, kind: Kind, person: int) -> HttpResponse:
    """Show a person's memberships and which member of staff viewed their work."""
    subject = get_person(kind, person)
    of_person = Q(pk=None)
    for course, student in subject.students:
        of_person |= Q(course=course, student=student)
    views = AccessEntry.objects.filter(of_person).select_related("course").order_by("-pk")
    context: dict[str, Any] = {"person": subject, "views": views[:_MOST_VIEWS]}
    return render_page(request, "person.html", context)


@require_superuser()
def download_data(request: HttpRequest, kind: Kind, person: int) -> HttpResponseBase:
    """Download everything that the service has about a person, as a zip archive."""
    return send_export(request, get_person(kind, person))


@require_superuser("POST")
def erase_person(request: HttpRequest, kind: Kind, person: int) -> HttpResponse:
    """Erase a person; the form repeats their name, so that a wrong click erases nobody."""
    subject, say = get_person(kind, person), get_words(request)["t"]
    if request.POST.get("name", "").strip() != subject.name or subject.account == request.user:
        notices.error(request, say("erase-not-confirmed", name=subject.name))
        return redirect("person", kind=kind, person=person)
    notices.info(request, say("person-erased", name=erasure.erase_person(subject, request.user.username)))
    return redirect("people")


def get_person(kind: Kind, number: int) -> DataSubject:
    """Return a person.

    Raises:
        Http404: there is none.
    """
    person = people.find_person(kind, number)
    if person is None:
        raise Http404
    return person


def send_export(request: HttpRequest, person: DataSubject) -> HttpResponseBase:
    """Return a person's data as a download, and record that it was exported."""
    archive = export.export_person(person)
    # For each course, so that those who may read a course's log see it.
    for course in {member.course for member in person.members} or {None}:
        audit.record_action(request.user.username, "export person", person.name, course=course)
    return FileResponse(
        archive, content_type="application/zip", as_attachment=True, filename=f"person-{person.number}.zip"
    )
