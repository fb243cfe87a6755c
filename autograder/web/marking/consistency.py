"""Whether markers agree: the plan of each cell, what two people gave, practice; and how the class did."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse

from autograder.feedback.labels import Labels
from autograder.marking.statistics import figures
from autograder.rubric import Rubric
from autograder.service.marking import answers, consistency
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import CellMark, CellPlace, IndependentMark, Role
from autograder.service.standing import standings
from autograder.service.store import DatabaseStore
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.marking import pages
from autograder.web.site import language_of, words
from autograder.web.student import page


@course_page(Role.TA)
def overview(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Of every cell that people mark: how it is marked, and how far they agree."""
    offer = visit.offer(assignment)
    rubric = shown.loaded(offer).rubric
    answered = CellMark.objects.filter(answered=True).values("place")
    places = CellPlace.objects.filter(course=visit.course, assignment=assignment, pk__in=answered)
    known = {(one.notebook, one.cell): one for one in places}
    order = [(question.notebook, cell) for question in rubric.questions for cell in question.cells()]
    cells = [(known[one], answers.cell_of(rubric, *one)) for one in order if one in known]
    context = {
        "visit": visit,
        "offer": offer,
        "two_places": _two_places(request),
        "rows": [(one, cell, consistency.consistency(one, cell)) for one, cell in cells if cell],
        "pick": Labels(language_of(request)).pick,
        "head": visit.at_least(Role.HEAD_TA),
        "most": consistency.MOST_PRACTICE,
    }
    return page(request, "mark_consistency.html", context)


@course_page(Role.HEAD_TA, "POST")
def set_plan(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Say which share of a cell's answers two people mark, and how many are for practice."""
    found = pages.place_of(visit, assignment, place)
    twice, practice = (pages.number_of(request.POST.get(name, "0").strip()) for name in ("twice", "practice"))
    try:
        consistency.set_plan(found, twice_percent=twice, calibration=practice, by=request.user)
    except NotTaken as error:
        pages.refuse(request, error)
    place_kwargs = {"slug": visit.course.slug, "assignment": assignment}
    return HttpResponseRedirect(reverse("mark-consistency", kwargs=place_kwargs))


@course_page(Role.TA)
def practice(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """The next answer to practise with."""
    found = consistency.to_practise(pages.place_of(visit, assignment, place), request.user)
    parts = {"slug": visit.course.slug, "assignment": assignment}
    if found is None:
        notices.info(request, words(request)["t"]("mark-no-practice"))
        return HttpResponseRedirect(reverse("mark-consistency", kwargs=parts))
    return HttpResponseRedirect(reverse("mark-practise", kwargs={**parts, "answer": found.pk}))


@course_page(Role.TA, "GET", "HEAD", "POST")
def practise(request: HttpRequest, visit: Visit, assignment: str, answer: int) -> HttpResponse:
    """An answer to practise with; what stands is shown once the person has said what they would give."""
    found = pages.seen(visit, assignment, answer)
    row = get_object_or_404(CellMark, pk=answer, points__isnull=False, stage="")
    if request.method == "POST":
        try:
            consistency.practise(row, found.cell, pages.given(request, found.cell), request.user)
        except NotTaken as error:
            pages.refuse(request, error)
        return HttpResponseRedirect(request.path)
    own = IndependentMark.objects.filter(mark=row, account=request.user, calibration=True).first()
    return pages.practice_page(request, visit, found, own)


@course_page(Role.TA)
def statistics(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """How the class did, item by item."""
    offer = visit.offer(assignment)
    loaded = shown.loaded(offer)
    results = DatabaseStore(offer.course).results(assignment)
    found = figures(
        loaded.rubric,
        {student: graded.score for student, graded in results.items()},
        standings(offer, loaded),
        _given(visit, assignment, loaded.rubric),
    )
    context = {"visit": visit, "offer": offer, "figures": found, "pick": Labels(language_of(request)).pick}
    context |= {"possible": loaded.rubric.assignment.points, "two_places": _two_places(request)}
    return page(request, "mark_statistics.html", context)


def _two_places(request: HttpRequest) -> Callable[[float], str]:
    """How a figure is written that is no points."""
    labels = Labels(language_of(request))
    return lambda value: labels.number(Decimal(f"{float(value):.2f}"))


def _given(visit: Visit, assignment: str, rubric: Rubric) -> dict[str, dict[tuple[str, str], Decimal]]:
    """What people gave items, by student."""
    rows = CellMark.objects.filter(place__course=visit.course, place__assignment=assignment, stage="")
    found: dict[str, dict[tuple[str, str], Decimal]] = {}
    for row in rows.exclude(items={}).select_related("place"):
        cell = answers.cell_of(rubric, row.place.notebook, row.place.cell)
        if cell is not None:
            own = found.setdefault(row.student, {})
            own |= {(cell.question.id, item): Decimal(one["points"]) for item, one in row.items.items()}
    return found
