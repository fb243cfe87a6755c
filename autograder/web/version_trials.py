"""Pages about trial grading with a new version: who would gain or lose points and why; then apply or drop it.

Head TAs can look at a trial; only instructors can apply or drop it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from autograder.core.errors import AutograderError
from autograder.marking.moves import compare_rubrics
from autograder.pages.feedback.sanitise import render_sentence
from autograder.service import trials, versions
from autograder.service.models import Role, VersionTrial
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page
from autograder.web.site import choose_language, get_words


def _get_trial(visit: Visit, identifier: int) -> VersionTrial:
    rows = VersionTrial.objects.select_related("offer__course", "offer__version", "version", "base", "by")
    return get_object_or_404(rows, pk=identifier, offer__course=visit.course)


@require_role(Role.HEAD_TA)
def show_trial(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Show a trial: the changes in the version, the grading progress, and the effect on the class."""
    version_trial = _get_trial(visit, trial)
    context = {
        "trial": version_trial,
        "offer": version_trial.offer,
        # Another version was offered after the trial began, so its comparison no longer holds.
        "stale": not version_trial.settled and version_trial.base_id != version_trial.offer.version_id,
        "settled": version_trial.settled,
        "progress": trials.measure_progress(version_trial),
        "changes": list(
            compare_rubrics(
                versions.load_rubric(version_trial.base), versions.load_rubric(version_trial.version)
            )
        ),
        "effect": None if version_trial.settled else trials.compute_effect(version_trial),
        "told": lambda message: render_sentence(message, choose_language(request)),
        "names": assignment_details.map_names(visit.course),
        "instructor": visit.has_role(Role.INSTRUCTOR),
        "when": assignment_details.make_time_formatter(version_trial.offer, choose_language(request)),
    }
    return render_page(request, "trial.html", context)


@require_role(Role.HEAD_TA)
def download_rubric(_: HttpRequest, visit: Visit, trial: int) -> HttpResponseBase:
    """Return the rubric of the version as a file."""
    version = _get_trial(visit, trial).version
    path, data = versions.load_rubric_file(version)
    return make_download(data, PurePosixPath(path).name)


@require_role(Role.HEAD_TA)
def show_progress(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Show a trial's progress; after the last student the whole page is reloaded."""
    version_trial = _get_trial(visit, trial)
    done = trials.measure_progress(version_trial)
    context = {"trial": version_trial, "settled": version_trial.settled, "progress": done}
    answer = render_page(request, "_trial_progress.html", context)
    if done.complete or version_trial.settled:
        answer["HX-Refresh"] = "true"
    return answer


@require_role(Role.INSTRUCTOR, "POST")
def apply_trial(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Apply the version: its marks count from now on."""
    row, reason = _get_trial(visit, trial), request.POST.get("reason", "")
    return _finish_trial(request, row, trials.apply_trial, "trial-was-applied", reason=reason)


@require_role(Role.INSTRUCTOR, "POST")
def drop_trial(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Drop the version."""
    return _finish_trial(request, _get_trial(visit, trial), trials.drop_trial, "trial-was-dropped")


def _finish_trial(
    request: HttpRequest, trial: VersionTrial, settle: Callable[..., None], done: str, **options: str
) -> HttpResponse:
    say, course = get_words(request)["t"], trial.offer.course
    try:
        settle(trial, request.user, **options)
    except AutograderError as error:
        notices.error(request, say("trial-refused", reason=error.text))
        return redirect("trial", slug=course.slug, trial=trial.pk)
    notices.info(request, say(done, number=trial.version.number))
    return redirect("staff-assignment", slug=course.slug, assignment=trial.offer.assignment)


@require_role(Role.HEAD_TA, "POST")
def retry_trial(_: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Retry attempts that could not be graded in a trial."""
    version_trial = _get_trial(visit, trial)
    trials.retry_failed(version_trial)
    return redirect_to_trial(visit, version_trial)


def redirect_to_trial(visit: Visit, trial: VersionTrial) -> HttpResponse:
    """Redirect to the page of a trial."""
    return redirect("trial", slug=visit.course.slug, trial=trial.pk)
