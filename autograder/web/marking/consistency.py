"""Pages about the agreement between markers, and the statistics of an assignment."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import printable_text, sentence
from autograder.marking.statistics import figures
from autograder.marking.statistics_page import PlotWords, plots
from autograder.service.marking import answers, consistency
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import CellMark, CellPlace, Member, Role
from autograder.service.standing import standings
from autograder.service.store import DatabaseStore
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.marking import pages
from autograder.web.site import language_of, words
from autograder.web.student import page


@course_page(Role.TA)
def overview(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show, for every manually marked cell, its marking plan and how far the markers agree."""
    offer = visit.offer(assignment)
    rubric = shown.loaded(offer).rubric
    answered = CellMark.objects.filter(answered=True).values("place")
    places = CellPlace.objects.filter(course=visit.course, assignment=assignment, pk__in=answered)
    known = {(one.notebook, one.cell): one for one in places}
    # Rows follow the rubric, and only cells with at least one answer appear.
    order = [(question.notebook, cell) for question in rubric.questions for cell in question.cells()]
    cells = [(known[one], answers.cell_of(rubric, *one)) for one in order if one in known]
    context = {
        "visit": visit,
        "offer": offer,
        "two_places": _two_places(request),
        "rows": [(one, cell, consistency.consistency(one, cell)) for one, cell in cells if cell],
        "pick": Labels(language_of(request)).pick,
        "head": visit.at_least(Role.HEAD_TA),
    }
    return page(request, "mark_consistency.html", context)


@course_page(Role.HEAD_TA, "POST")
def set_plan(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Set the share of a cell's answers that two people mark."""
    found = pages.place_of(visit, assignment, place)
    twice = pages.number_of(request.POST.get("twice", "0").strip())
    try:
        consistency.set_plan(found, twice_percent=twice, by=request.user)
    except NotTaken as error:
        pages.refuse(request, error)
    place_kwargs = {"slug": visit.course.slug, "assignment": assignment}
    return HttpResponseRedirect(reverse("mark-consistency", kwargs=place_kwargs))


@course_page(Role.TA)
def statistics(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show how the class did, item by item, without names."""
    offer = visit.offer(assignment)
    loaded = shown.loaded(offer)
    rubric, language = loaded.rubric, language_of(request)
    results = DatabaseStore(offer.course).results(assignment)
    found = figures(rubric, results, standings(offer, loaded), _names(visit))
    labels = Labels(language)
    context = {
        "visit": visit,
        "offer": offer,
        "figures": found,
        "plots": plots(rubric, found, labels, _plot_words(request)),
        "pick": labels.pick,
        "grade_name": labels.grade,
        "signed": lambda points: f"{'+' if points > 0 else ''}{labels.number(points)}",
        "said": lambda message: sentence(message, language),
        "example": lambda one: printable_text(one.text),
        "possible": rubric.assignment.points,
        "two_places": _two_places(request),
    }
    return page(request, "mark_statistics.html", context)


def _names(visit: Visit) -> dict[str, tuple[str, ...]]:
    """Return, by student, the names and addresses that are removed from their answers."""
    columns = ("first_name", "last_name", "email")
    # The class list and the account may have different names and addresses.
    asked = (*columns, *(f"account__{name}" for name in (*columns, "username")))
    members = Member.objects.filter(course=visit.course).exclude(student="")
    return {student: tuple(filter(None, own)) for student, *own in members.values_list("student", *asked)}


def _plot_words(request: HttpRequest) -> PlotWords:
    """Return the labels of the plots in the reader's language."""
    told = words(request)["t"]
    return PlotWords(
        spread=told("stat-spread"),
        curve=told("stat-curve"),
        items=told("stat-items-plot"),
        percent=told("stat-percent"),
        points=told("stat-points"),
        students=told("stat-students"),
        difficulty=told("stat-difficulty-told"),
        discrimination=told("stat-discrimination"),
        passing=told("stat-passed"),
    )


def _two_places(request: HttpRequest) -> Callable[[float | None], str]:
    """Return a formatter for figures that are not points: two decimals, and a dash for None."""
    labels = Labels(language_of(request))
    return lambda value: "–" if value is None else labels.number(Decimal(f"{float(value):.2f}"))
