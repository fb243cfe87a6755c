"""Pages for groups of equal or similar answers: review, mark at once, merge and split them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages as notices
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from msgspec import Struct

from autograder.marking.grouping import STEPS, Binding
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.service.marking import answers, assignees, groups, mark_entry, queue
from autograder.service.marking.groups import MarkingGroup
from autograder.service.models import CellMark, CellPlace, Offer, Role
from autograder.service.refusals import ActionRefused
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.marking import pages
from autograder.web.responses import render_page
from autograder.web.site import choose_language, get_words

_ON_A_PAGE = 50
_MOST_TEXT = 600
_MOST_VARIANTS = 30
_MOST_NUMBERS = 20_000


class GroupRow(Struct, frozen=True, eq=False):
    """A row of the list of groups."""

    group: MarkingGroup
    first: CellMark
    text: str
    marked: int
    numbers: str
    """The numbers of all answers of the group, comma-separated, as the form sends them."""


def _read_nearness(request: HttpRequest) -> float:
    sent = request.GET.get("near", "") or request.POST.get("near", "")
    return next((step for step in STEPS if str(step) == sent), 0.0)


def _load_groups(offer: Offer, place: CellPlace, nearness: float) -> list[MarkingGroup]:
    rubric = assignment_details.get_assignment(offer).rubric
    cell = answers.find_cell(rubric, place.notebook, place.cell)
    if cell is None:
        raise Http404
    return groups.group_answers(offer, place, cell, rubric, nearness)


@require_role(Role.TA)
def show_groups(request: HttpRequest, _: Visit, offer: Offer, place: int) -> HttpResponse:
    """Show the groups of a cell's answers, largest first."""
    cell_place = pages.get_place(offer, place)
    nearness = _read_nearness(request)
    paginator = Paginator(_load_groups(offer, cell_place, nearness), _ON_A_PAGE)
    current_page = paginator.get_page(request.GET.get("page"))
    cell = answers.find_cell(
        assignment_details.get_assignment(offer).rubric, cell_place.notebook, cell_place.cell
    )
    context = {
        "place": cell_place,
        "cell": cell,
        "page": current_page,
        "groups": _describe_groups(list(current_page.object_list)),
        "near": str(nearness),
        "steps": [str(step) for step in STEPS],
        "pick": Labels(choose_language(request)).pick,
    }
    return render_page(request, "mark_groups.html", context)


def _describe_groups(answer_groups: Sequence[MarkingGroup]) -> list[GroupRow]:
    wanted = [number for answer_group in answer_groups for number in answer_group.members]
    rows = {row.pk: row for row in CellMark.objects.filter(pk__in=wanted)}
    return [
        GroupRow(
            answer_group,
            rows[answer_group.members[0]],
            to_printable_text(rows[answer_group.members[0]].text, _MOST_TEXT),
            sum(
                rows[number].points is not None and not rows[number].again for number in answer_group.members
            ),
            ",".join(map(str, answer_group.members)),
        )
        for answer_group in answer_groups
        # An answer may have been removed since the groups were read.
        if all(number in rows for number in answer_group.members)
    ]


def _read_numbers(request: HttpRequest, name: str) -> list[int]:
    """Return the numbers of answers in the form fields of a name.

    A field may hold several, comma-separated.
    """
    texts = [text for sent in request.POST.getlist(name) for text in sent.split(",")]
    return [pages.parse_number(text) for text in texts[:_MOST_NUMBERS]]


def _redirect_to_groups(offer: Offer, place: CellPlace, near: float) -> HttpResponse:
    parts = {"slug": offer.course.slug, "assignment": offer.assignment, "place": place.pk}
    return redirect(f"{reverse('mark-groups', kwargs=parts)}?near={near}")


@require_role(Role.TA, "POST")
def merge_groups(request: HttpRequest, _: Visit, offer: Offer, place: int) -> HttpResponse:
    """Merge several groups into one."""
    cell_place = pages.get_place(offer, place)
    try:
        groups.merge_answers(cell_place, _read_numbers(request, "group"), request.user)
    except ActionRefused as error:
        pages.report_refusal(request, error)
    return _redirect_to_groups(offer, cell_place, _read_nearness(request))


@require_role(Role.TA, "POST")
def take_out(request: HttpRequest, _: Visit, offer: Offer, place: int) -> HttpResponse:
    """Take answers out of their group."""
    cell_place = pages.get_place(offer, place)
    try:
        groups.take_out_answers(cell_place, _read_numbers(request, "answers"), request.user)
        notices.info(request, get_words(request)["t"]("mark-taken-out"))
    except ActionRefused as error:
        pages.report_refusal(request, error)
    return _redirect_to_groups(offer, cell_place, _read_nearness(request))


@require_role(Role.TA, "GET", "HEAD", "POST")
def show_group(request: HttpRequest, visit: Visit, offer: Offer, answer: int) -> HttpResponse:
    """Show the group of an answer, or mark the whole group. Marks only go to answers that the form showed."""
    answer_context = pages.load_answer(offer, answer)
    near = _read_nearness(request)
    if request.method == "POST" and "insert" not in request.POST:
        return _save_group_marks(request, visit, answer_context, near)
    answer_groups = _load_groups(offer, answer_context.row.place, near)
    own_group = next(
        (candidate for candidate in answer_groups if answer_context.row.pk in candidate.members), None
    )
    if own_group is None:
        raise Http404
    rows = {row.pk: row for row in CellMark.objects.filter(pk__in=own_group.members)}
    # Similar wording may mean the opposite, so none of these texts is left out.
    most = len(own_group.parts) if own_group.binding == Binding.NEAR else _MOST_VARIANTS
    variants = [
        (rows[part[0]], len(part), ",".join(map(str, part)))
        for part in own_group.parts[:most]
        if part[0] in rows
    ]
    context: dict[str, Any] = {
        "group": own_group,
        "variants": variants,
        "more": len(own_group.parts) - len(variants),
        "rows": ",".join(f"{row.pk}:{row.revision}" for row in rows.values()),
        "near": str(near),
        "marked": sum(row.points is not None and not row.again for row in rows.values()),
        "assigned_to": assignees.list_other_assignees(CellMark.objects.filter(pk__in=rows), request.user),
    }
    if request.method == "POST":  # a reusable comment, without JavaScript
        context["form"] = pages.read_draft(request, insert=request.POST["insert"])
    return pages.render_group_page(request, answer_context, context)


def _save_group_marks(
    request: HttpRequest, visit: Visit, answer_context: pages.AnswerContext, near: float
) -> HttpResponse:
    say, offer, place = get_words(request), answer_context.offer, answer_context.row.place
    try:
        sent = [pair.partition(":") for pair in request.POST.get("rows", "").split(",")[:_MOST_NUMBERS]]
        rows = {pages.parse_number(number): pages.parse_number(revision) for number, _, revision in sent}
        # Row numbers come from the form: all of them must be answers of this very cell.
        if CellMark.objects.filter(pk__in=rows, place=place).count() != len(rows):
            raise Http404
        saved = mark_entry.save_marks(
            rows,
            answer_context.cell,
            pages.read_marks(request, answer_context.cell, adds=True),
            request.user,
            settles=visit.has_role(Role.HEAD_TA),
        )
        notices.success(request, say["counted"]("mark-marked-all", len(saved)))
        return _redirect_to_next_group(request, answer_context, near)
    except mark_entry.ChangedMeanwhileError:
        notices.error(request, say["t"]("mark-group-changed"))
    except ActionRefused as error:
        pages.report_refusal(request, error, answer_context.cell)
    return _redirect_to_groups(offer, place, near)


def _redirect_to_next_group(
    request: HttpRequest, answer_context: pages.AnswerContext, near: float
) -> HttpResponse:
    """Redirect to the next group with an unmarked answer, or to the list of cells if there is none.

    The search wraps around at the end of the list.
    """
    place, offer = answer_context.row.place, answer_context.offer
    waiting = queue.list_waiting(place, request.user)
    answer_groups = _load_groups(offer, place, near) if waiting else []
    position = next(
        (
            number
            for number, answer_group in enumerate(answer_groups)
            if answer_context.row.pk in answer_group.members
        ),
        0,
    )
    for answer_group in (*answer_groups[position + 1 :], *answer_groups[:position]):
        if not waiting.isdisjoint(answer_group.members):
            parts = {"slug": offer.course.slug, "assignment": offer.assignment}
            parts |= {"answer": answer_group.members[0]}
            return redirect(f"{reverse('mark-group', kwargs=parts)}?near={near}")
    return pages.redirect_to_queue(request, offer, "waiting")
