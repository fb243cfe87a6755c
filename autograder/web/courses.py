"""Pages on which courses are created, and assignments uploaded or fetched, checked and offered."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec
from django import forms
from django.contrib import messages as notices
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from autograder.core.errors import AutograderError
from autograder.course import SECRET_BYTES
from autograder.service import audit, drafts
from autograder.service.git_repositories import GitSource
from autograder.service.models import CourseRecord, Role
from autograder.service.models_results import Draft
from autograder.service.refusals import RequestRefused
from autograder.web import assignment_details, staff
from autograder.web.guard import Visit, require_role, require_superuser
from autograder.web.responses import render_page, stop_cutting
from autograder.web.site import choose_language, get_words
from autograder.web.version_trials import redirect_to_trial


class CourseForm(forms.ModelForm):
    """Title and short name of a new course.

    Args:
        say: translates sentences.
    """

    class Meta:
        """Everything else is generated."""

        model = CourseRecord
        fields = ("title", "slug")

    def __init__(self, say: Any, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Django's sentence names the table and the column.
        self.fields["slug"].error_messages["unique"] = say("course-slug-taken")
        stop_cutting(self)


@require_superuser("GET", "HEAD", "POST")
def create_course(request: HttpRequest) -> HttpResponse:
    """Create a course without members; for administrators of the service, who then add instructors."""
    form = CourseForm(get_words(request)["t"], request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.instance.secret = secrets.token_bytes(SECRET_BYTES)
            course = form.save()
            audit.record_action(
                request.user.username, "create course", course.slug, course=course, after=course.title
            )
        return redirect("members", slug=course.slug)
    return render_page(request, "create_course.html", {"form": form})


@require_role(Role.INSTRUCTOR, "POST")
def upload_assignment(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Upload an assignment as a draft, or name its repository; a worker fetches and checks it."""
    say, sent, form = get_words(request)["t"], request.FILES.get("archive"), request.POST
    try:
        if (sent is None) is (not form.get("address")):
            raise RequestRefused("draft-one-source")
        if sent is not None:
            draft = drafts.upload_draft(visit.course, sent.file, request.user, name=sent.name or "")
        else:
            source = GitSource(form["address"], form.get("ref", ""), form.get("folder", ""))
            draft = drafts.request_draft(
                visit.course, source, form.get("assignment", "").strip(), request.user
            )
    except AutograderError as error:
        notices.error(request, say("refused", reason=error.text))
        return staff.render_course(request, visit)
    return _redirect_to_draft(visit, draft)


def _redirect_to_draft(visit: Visit, draft: Draft) -> HttpResponse:
    return redirect("draft", slug=visit.course.slug, draft=draft.pk)


def _get_draft(visit: Visit, number: int) -> Draft:
    rows = Draft.objects.select_related("course", "base", "version", "by")
    return get_object_or_404(rows, pk=number, course=visit.course)


@require_role(Role.INSTRUCTOR)
def show_draft(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Show a draft: the progress of its check, and what was found."""
    return render_page(request, "draft.html", _describe_draft(request, visit, draft))


@require_role(Role.INSTRUCTOR)
def show_draft_progress(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Show the progress of a check; at its end the whole page is reloaded."""
    context = _describe_draft(request, visit, draft)
    answer = render_page(request, "_draft_progress.html", context)
    if not context["busy"]:
        answer["HX-Refresh"] = "true"
    return answer


def _describe_draft(request: HttpRequest, visit: Visit, number: int) -> dict[str, Any]:
    draft = _get_draft(visit, number)
    return {
        "draft": draft,
        "busy": draft.state in {"waiting", "running"} and not draft.settled,
        "findings": msgspec.convert(draft.findings, list[drafts.DraftFinding]),
        "when": assignment_details.make_course_time_formatter(visit.course, choose_language(request)),
    }


@require_role(Role.INSTRUCTOR, "POST")
def check_draft(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Have a draft checked again, also with deliberately wrong answers if the form says so."""
    row = _get_draft(visit, draft)
    drafts.request_check(row, full=request.POST.get("full") == "yes")
    return _redirect_to_draft(visit, row)


@require_role(Role.INSTRUCTOR, "POST")
def offer_draft(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Offer a draft, hidden from students if it is new; or begin its trial if it can change marks."""
    row, say = _get_draft(visit, draft), get_words(request)["t"]
    try:
        offer, trial = drafts.offer_draft(row, request.user)
    except AutograderError as error:
        notices.error(request, say("refused", reason=error.text))
        return _redirect_to_draft(visit, row)
    if trial is not None:
        notices.info(request, say("trial-begun", number=trial.version.number))
        return redirect_to_trial(visit, trial)
    notices.info(request, say("updated", number=offer.version.number))
    return redirect("staff-assignment", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.INSTRUCTOR, "POST")
def discard_draft(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Discard a draft."""
    row = _get_draft(visit, draft)
    drafts.discard_draft(row, request.user)
    notices.info(request, get_words(request)["t"]("draft-was-discarded"))
    return redirect("staff", slug=visit.course.slug)
