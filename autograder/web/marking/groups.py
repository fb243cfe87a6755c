"""Pages for groups of equal or similar answers: review, mark at once, merge and split them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages as notices
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import printable_text
from autograder.marking.grouping import STEPS, Binding
from autograder.service.marking import answers, groups, queue, saving
from autograder.service.marking.groups import Grouped
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import CellMark, CellPlace, Role
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.marking import pages
from autograder.web.site import language_of, words
from autograder.web.student import page

_ON_A_PAGE = 50
_MOST_TEXT = 600
_MOST_VARIANTS = 30
_MOST_NUMBERS = 20_000


class GroupShown(Struct, frozen=True, eq=False):
    """A row of the list of groups."""

    group: Grouped
    first: CellMark
    text: str
    marked: int
    numbers: str
    """The numbers of all answers of the group, comma-separated, as the form sends them."""


def _nearness(request: HttpRequest) -> float:
    sent = request.GET.get("near", "") or request.POST.get("near", "")
    return next((one for one in STEPS if str(one) == sent), 0.0)


def _groups(visit: Visit, assignment: str, place: CellPlace, nearness: float) -> list[Grouped]:
    offer = visit.offer(assignment)
    rubric = shown.loaded(offer).rubric
    cell = answers.cell_of(rubric, place.notebook, place.cell)
    if cell is None:
        raise Http404
    return groups.grouped(offer, place, cell, rubric, nearness)


@course_page(Role.TA)
def overview(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Show the groups of a cell's answers, largest first."""
    found, offer = pages.place_of(visit, assignment, place), visit.offer(assignment)
    nearness = _nearness(request)
    several = Paginator(_groups(visit, assignment, found, nearness), _ON_A_PAGE)
    part = several.get_page(request.GET.get("page"))
    cell = answers.cell_of(shown.loaded(offer).rubric, found.notebook, found.cell)
    context = {
        "visit": visit,
        "offer": offer,
        "place": found,
        "cell": cell,
        "page": part,
        "groups": _shown(list(part.object_list)),
        "near": str(nearness),
        "steps": [str(one) for one in STEPS],
        "pick": Labels(language_of(request)).pick,
    }
    return page(request, "mark_groups.html", context)


def _shown(several: Sequence[Grouped]) -> list[GroupShown]:
    wanted = [number for one in several for number in one.members]
    rows = {row.pk: row for row in CellMark.objects.filter(pk__in=wanted)}
    return [
        GroupShown(
            one,
            rows[one.members[0]],
            printable_text(rows[one.members[0]].text, _MOST_TEXT),
            sum(rows[number].points is not None and not rows[number].again for number in one.members),
            ",".join(map(str, one.members)),
        )
        for one in several
        # An answer may have been removed since the groups were read.
        if all(number in rows for number in one.members)
    ]


def _sent(request: HttpRequest, name: str) -> list[int]:
    """Return the numbers of answers in the form fields of a name.

    A field may hold several, comma-separated.
    """
    texts = [text for sent in request.POST.getlist(name) for text in sent.split(",")]
    return [pages.number_of(text) for text in texts[:_MOST_NUMBERS]]


def _list(visit: Visit, assignment: str, place: CellPlace, near: float) -> HttpResponse:
    parts = {"slug": visit.course.slug, "assignment": assignment, "place": place.pk}
    return HttpResponseRedirect(f"{reverse('mark-groups', kwargs=parts)}?near={near}")


@course_page(Role.TA, "POST")
def gather(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Merge several groups into one."""
    found = pages.place_of(visit, assignment, place)
    try:
        groups.gather(found, _sent(request, "group"), request.user)
    except NotTaken as error:
        pages.refuse(request, error)
    return _list(visit, assignment, found, _nearness(request))


@course_page(Role.TA, "POST")
def take_out(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Take answers out of their group."""
    found = pages.place_of(visit, assignment, place)
    try:
        groups.take_out(found, _sent(request, "answers"), request.user)
        notices.info(request, words(request)["t"]("mark-taken-out"))
    except NotTaken as error:
        pages.refuse(request, error)
    return _list(visit, assignment, found, _nearness(request))


@course_page(Role.TA, "GET", "HEAD", "POST")
def group(request: HttpRequest, visit: Visit, assignment: str, answer: int) -> HttpResponse:
    """Show the group of an answer, or mark the whole group. Marks only go to answers that the form showed."""
    found = pages.seen(visit, assignment, answer)
    near = _nearness(request)
    if request.method == "POST" and "insert" not in request.POST:
        return _mark(request, visit, found, near)
    several = _groups(visit, assignment, found.row.place, near)
    own = next((one for one in several if found.row.pk in one.members), None)
    if own is None:
        raise Http404
    rows = {row.pk: row for row in CellMark.objects.filter(pk__in=own.members)}
    # Similar wording may mean the opposite, so none of these texts is left out.
    most = len(own.parts) if own.binding == Binding.NEAR else _MOST_VARIANTS
    variants = [
        (rows[part[0]], len(part), ",".join(map(str, part))) for part in own.parts[:most] if part[0] in rows
    ]
    context: dict[str, Any] = {
        "group": own,
        "variants": variants,
        "more": len(own.parts) - len(variants),
        "rows": ",".join(f"{row.pk}:{row.revision}" for row in rows.values()),
        "near": str(near),
        "marked": sum(row.points is not None and not row.again for row in rows.values()),
    }
    if request.method == "POST":  # a reusable comment, without JavaScript
        context["form"] = pages.draft(request, insert=request.POST["insert"])
    return pages.group_page(request, visit, found, context)


def _mark(request: HttpRequest, visit: Visit, found: pages.Seen, near: float) -> HttpResponse:
    say, assignment = words(request), found.offer.assignment
    place = found.row.place
    try:
        sent = [one.partition(":") for one in request.POST.get("rows", "").split(",")[:_MOST_NUMBERS]]
        rows = {pages.number_of(number): pages.number_of(revision) for number, _, revision in sent}
        # Row numbers come from the form: all of them must be answers of this very cell.
        if CellMark.objects.filter(pk__in=rows, place=place).count() != len(rows):
            raise Http404
        saved = saving.save(
            rows,
            found.cell,
            pages.given(request, found.cell, adds=True),
            request.user,
            settles=visit.at_least(Role.HEAD_TA),
        )
        notices.success(request, say["counted"]("mark-marked-all", len(saved)))
        return _onwards(request, visit, found, near)
    except saving.ChangedMeanwhileError:
        notices.error(request, say["t"]("mark-group-changed"))
    except NotTaken as error:
        pages.refuse(request, error, found.cell)
    return _list(visit, assignment, place, near)


def _onwards(request: HttpRequest, visit: Visit, found: pages.Seen, near: float) -> HttpResponse:
    """Redirect to the next group with an unmarked answer, or to the list of cells if there is none.

    The search wraps around at the end of the list.
    """
    place, assignment = found.row.place, found.offer.assignment
    waiting = queue.waiting_numbers(place, request.user)
    several = _groups(visit, assignment, place, near) if waiting else []
    at = next((number for number, one in enumerate(several) if found.row.pk in one.members), 0)
    for one in (*several[at + 1 :], *several[:at]):
        if not waiting.isdisjoint(one.members):
            parts = {"slug": visit.course.slug, "assignment": assignment, "answer": one.members[0]}
            return HttpResponseRedirect(f"{reverse('mark-group', kwargs=parts)}?near={near}")
    return pages.none_left(request, visit, assignment, "waiting")
