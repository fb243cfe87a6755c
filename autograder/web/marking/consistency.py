"""Pages about the agreement between markers, and the statistics of an assignment."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from autograder.marking.statistics import compute_figures
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.service.marking import answers, consistency
from autograder.service.models import CellMark, CellPlace, Member, Offer, Role
from autograder.service.refusals import ActionRefused
from autograder.service.standings import load_standings
from autograder.service.store import DatabaseStore
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.marking import pages
from autograder.web.responses import render_page
from autograder.web.site import choose_language


@require_role(Role.TA)
def show_consistency(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show, for every manually marked cell, its marking plan and how far the markers agree."""
    rubric = assignment_details.get_assignment(offer).rubric
    answered = CellMark.objects.filter(answered=True).values("place")
    places = CellPlace.objects.filter(course=visit.course, assignment=offer.assignment, pk__in=answered)
    places_by_cell = {(place.notebook, place.cell): place for place in places}
    # Rows follow the rubric, and only cells with at least one answer appear.
    order = [(question.notebook, cell) for question in rubric.questions for cell in question.list_cells()]
    cells = [
        (places_by_cell[place], answers.find_cell(rubric, *place))
        for place in order
        if place in places_by_cell
    ]
    context = {
        "two_places": _make_decimal_formatter(request),
        "rows": [
            (place, cell, consistency.measure_consistency(place, cell)) for place, cell in cells if cell
        ],
        "pick": Labels(choose_language(request)).pick,
        "head": visit.has_role(Role.HEAD_TA),
    }
    return render_page(request, "mark_consistency.html", context)


@require_role(Role.HEAD_TA, "POST")
def set_plan(request: HttpRequest, visit: Visit, offer: Offer, place: int) -> HttpResponse:
    """Set the share of a cell's answers that two people mark."""
    cell_place = pages.get_place(offer, place)
    twice = pages.parse_number(request.POST.get("twice", "0").strip())
    try:
        consistency.set_plan(cell_place, twice_percent=twice, by=request.user)
    except ActionRefused as error:
        pages.report_refusal(request, error)
    return redirect("mark-consistency", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.TA)
def show_statistics(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show how the class did, item by item, without names."""
    loaded = assignment_details.get_assignment(offer)
    rubric, language = loaded.rubric, choose_language(request)
    results = DatabaseStore(offer.course).load_results(offer.assignment)
    class_figures = compute_figures(rubric, results, load_standings(offer, loaded), _collect_names(visit))
    labels = Labels(language)
    context = {
        "figures": class_figures,
        "pick": labels.pick,
        "said": lambda message: render_sentence(message, language),
        "example": lambda example: to_printable_text(example.text),
        "possible": rubric.assignment.points,
        "two_places": _make_decimal_formatter(request),
    }
    return render_page(request, "mark_statistics.html", context)


def _collect_names(visit: Visit) -> dict[str, tuple[str, ...]]:
    """Return, by student, the names and addresses that are removed from their answers."""
    columns = ("first_name", "last_name", "email")
    # The class list and the account may have different names and addresses.
    fields = (*columns, *(f"account__{name}" for name in (*columns, "username")))
    members = Member.objects.filter(course=visit.course).exclude(student="")
    return {
        student: tuple(filter(None, names)) for student, *names in members.values_list("student", *fields)
    }


def _make_decimal_formatter(request: HttpRequest) -> Callable[[float | None], str]:
    """Return a formatter for figures that are not points: two decimals, and a dash for None."""
    labels = Labels(choose_language(request))
    return lambda value: "–" if value is None else labels.number(Decimal(f"{float(value):.2f}"))
