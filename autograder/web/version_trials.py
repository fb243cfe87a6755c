"""Pages about trial grading with a new version: who would gain or lose points and why; then apply or drop it.

Head TAs can look at a trial; only instructors can apply or drop it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from autograder.errors import AutograderError
from autograder.feedback.sanitise import sentence
from autograder.marking.moves import rubric_changes
from autograder.service import trials, versions
from autograder.service.models import Role, VersionTrial
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import page


def _trial(visit: Visit, identifier: int) -> VersionTrial:
    """Return a trial of this course.

    Raises:
        Http404: there is none.
    """
    found = VersionTrial.objects.select_related("offer__course", "offer__version", "version", "base", "by")
    trial = found.filter(pk=identifier, offer__course=visit.course).first()
    if trial is None:
        raise Http404
    return trial


@course_page(Role.HEAD_TA)
def show(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Show a trial: the changes in the version, the grading progress, and the effect on the class."""
    found = _trial(visit, trial)
    context = {
        "visit": visit,
        "trial": found,
        "offer": found.offer,
        # Another version was offered after the trial began, so its comparison no longer holds.
        "stale": not found.settled and found.base_id != found.offer.version_id,
        "settled": found.settled,
        "progress": trials.progress(found),
        "changes": list(rubric_changes(versions.rubric_of(found.base), versions.rubric_of(found.version))),
        "effect": None if found.settled else trials.effect(found),
        "told": lambda message: sentence(message, language_of(request)),
        "instructor": visit.at_least(Role.INSTRUCTOR),
        "when": shown.clock(found.offer, language_of(request)),
    }
    return page(request, "trial.html", context)


@course_page(Role.HEAD_TA)
def progress(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Show a trial's progress; after the last student the whole page is reloaded."""
    found = _trial(visit, trial)
    done = trials.progress(found)
    context = {"visit": visit, "trial": found, "settled": found.settled, "progress": done}
    answer = page(request, "_trial_progress.html", context)
    if done.complete or found.settled:
        answer["HX-Refresh"] = "true"
    return answer


@course_page(Role.INSTRUCTOR, "POST")
def apply(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Apply the version: its marks count from now on."""
    found = _trial(visit, trial)
    done = words(request)["t"]("trial-was-applied", number=found.version.number)
    return _settle(
        request, visit, found, functools.partial(trials.apply, reason=request.POST.get("reason", "")), done
    )


@course_page(Role.INSTRUCTOR, "POST")
def drop(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Drop the version."""
    return _settle(
        request, visit, _trial(visit, trial), trials.drop, words(request)["t"]("trial-was-dropped")
    )


def _settle(
    request: HttpRequest, visit: Visit, trial: VersionTrial, settle: Callable[[Any, Any], None], done: str
) -> HttpResponse:
    try:
        settle(trial, request.user)
    except AutograderError as error:
        notices.error(request, words(request)["t"]("trial-refused", reason=str(error)))
        return to_trial(visit, trial)
    notices.info(request, done)
    place = {"slug": visit.course.slug, "assignment": trial.offer.assignment}
    return HttpResponseRedirect(reverse("staff-assignment", kwargs=place))


@course_page(Role.HEAD_TA, "POST")
def again(request: HttpRequest, visit: Visit, trial: int) -> HttpResponse:
    """Retry attempts that could not be graded in a trial."""
    del request
    found = _trial(visit, trial)
    trials.again(found)
    return to_trial(visit, found)


def to_trial(visit: Visit, trial: VersionTrial) -> HttpResponse:
    """Redirect to the page of a trial."""
    return HttpResponseRedirect(reverse("trial", kwargs={"slug": visit.course.slug, "trial": trial.pk}))
