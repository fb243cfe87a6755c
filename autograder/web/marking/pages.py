"""Pages of the marking queue and its assignees, and the page on which a single answer is marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.core import signing
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.grading.store import decode_result
from autograder.pages.feedback.answers import list_runs_about
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import clean_input
from autograder.pages.feedback.student_page import render_cells
from autograder.questions import load_kind
from autograder.rubric import Rubric
from autograder.service.marking import answers, assignees, comments, mark_entry, queue
from autograder.service.marking.answers import MarkableCell
from autograder.service.models import CellMark, CellPlace, CurrentResult, IndependentMark, Offer, Role
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.refusals import ActionRefused
from autograder.web import assignment_details
from autograder.web.guard import Visit, allow_anyone, require_role
from autograder.web.marking.answer_details import build_answer_view
from autograder.web.responses import FRAME_SECONDS, load_token, render_in_frame, render_page
from autograder.web.site import choose_language, get_words

_FRAMES = "autograder.answer-frame"
_NAMES = "names"
_SEEN = "questions"
"""Key of the session: the cells whose question and guides the marker has already read."""
_MOST_SEEN = 200
_EMPTY: Mapping[str, Any] = {"items": {}, "comment": "", "remarks": {}, "annotations": [], "flagged": False}
_BLANK_NOTES = 2
"""Empty fields for further remarks on lines."""
_NUMBER = re.compile(r"-?[0-9]{1,4}(?:[.,][0-9]{1,4})?")


class AnswerContext(Struct, frozen=True, eq=False):
    """An answer with its offer, cell and rubric."""

    offer: Offer
    row: CellMark
    cell: MarkableCell
    rubric: Rubric
    """The rubric of this student's variant."""


def load_answer(offer: Offer, answer: int) -> AnswerContext:
    """Load an answer of an assignment of the course.

    Raises:
        Http404: there is no such answer, or the rubric no longer has its cell.
    """
    rows = offer.marks.select_related("place", "marked_by", "assignee")
    row = get_object_or_404(rows, pk=answer, answered=True)
    rubric = assignment_details.get_assignment(offer).get_rubric(row.student)
    cell = answers.find_cell(rubric, row.place.notebook, row.place.cell)
    if cell is None:
        raise Http404
    return AnswerContext(offer, row, cell, rubric)


def has_editable_items(cell: MarkableCell) -> bool:
    """Decide whether items can be changed in the pages: only those that hold nothing a program reads."""
    return load_kind(cell.question.kind).form == "written"


def load_graded(row: CellMark) -> GradingResult | None:
    """Return the current result of the student who wrote an answer, or None."""
    current_results = CurrentResult.objects.filter(
        course=row.place.course_id, assignment=row.place.assignment, student=row.student
    )
    stored = current_results.values_list("result__graded", flat=True).first()
    return None if stored is None else decode_result(bytes(stored))


@require_role(Role.TA)
def show_queue(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show every cell that needs manual marking, and its progress."""
    loaded = assignment_details.get_assignment(offer)
    # Results graded before the assignment was marked here have no rows in the queue yet.
    answers.describe_older(offer, loaded)
    rows = queue.count_answers(offer, loaded.rubric, request.user)
    progress = assignees.count_progress(offer)
    context = {
        "rows": sorted(rows, key=lambda row: not row.mine),  # stable: otherwise in the rubric's order
        "pick": Labels(choose_language(request)).pick,
        "progress": progress,
        "own": next((marker for marker in progress if marker.name == request.user.username), None),
        "markers": assignees.list_markers(visit.course) if visit.has_role(Role.HEAD_TA) else [],
    }
    return render_page(request, "marking.html", context)


@require_role(Role.HEAD_TA, "POST")
def assign_answers(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Split the unmarked answers of a cell, or of all cells, among the chosen markers."""
    say = get_words(request)
    sent = request.POST.get("place", "")
    place = get_place(offer, parse_number(sent)) if sent else None
    chosen = {parse_number(number) for number in request.POST.getlist("marker")}
    markers = [account for account in assignees.list_markers(visit.course) if account.pk in chosen]
    if request.POST.get("to") == "everybody":
        number = assignees.assign_answers(offer, place, [], request.user)
        notices.success(request, say["counted"]("mark-left-to-all", number))
    elif markers:
        number = assignees.assign_answers(offer, place, markers, request.user)
        notices.success(request, say["counted"]("mark-assigned-number", number))
    else:
        notices.error(request, say["t"]("mark-choose-marker"))
    return redirect("marking", slug=visit.course.slug, assignment=offer.assignment)


@require_role(Role.TA)
def redirect_to_first(request: HttpRequest, _: Visit, offer: Offer, place: int) -> HttpResponse:
    """Redirect to the first answer of a cell that is waiting, or that has the requested state."""
    which = _read_choice(request)
    row = queue.assign_next_answer(get_place(offer, place), request.user, which)
    if row is None:
        return redirect_to_queue(request, offer, which)
    return _redirect_to_answer(offer, row, which)


def get_place(offer: Offer, place: int) -> CellPlace:
    """Return a cell of an assignment of the course, or respond with 404."""
    return get_object_or_404(CellPlace, pk=place, course=offer.course, assignment=offer.assignment)


def _read_choice(request: HttpRequest) -> str:
    which = request.GET.get("which", "waiting")
    return which if which in queue.CHOICES else "waiting"


def redirect_to_queue(request: HttpRequest, offer: Offer, which: str) -> HttpResponse:
    """Redirect to the list of cells with the notice that no such answer is left."""
    notices.info(request, get_words(request)["t"](f"mark-none-{which}"))
    return redirect("marking", slug=offer.course.slug, assignment=offer.assignment)


def _redirect_to_answer(offer: Offer, row: CellMark | None, which: str) -> HttpResponse:
    """Redirect to an answer, or to the list of cells if there is none."""
    if row is None:
        return redirect("marking", slug=offer.course.slug, assignment=offer.assignment)
    parts = {"slug": offer.course.slug, "assignment": offer.assignment, "answer": row.pk}
    return redirect(f"{reverse('mark-answer', kwargs=parts)}?which={which}")


@require_role(Role.TA, "GET", "HEAD", "POST")
def mark_answer(request: HttpRequest, visit: Visit, offer: Offer, answer: int) -> HttpResponse:
    """Show an answer. A POST saves its marks and redirects to the next answer."""
    answer_context = load_answer(offer, answer)
    if request.method != "POST":
        return _render_answer_page(request, visit, answer_context)
    if "insert" in request.POST:  # a reusable comment, without JavaScript
        return _render_answer_page(
            request, visit, answer_context, sent=read_draft(request, insert=request.POST["insert"])
        )
    if request.POST.get("changed") != "no" and not _save_marks(request, visit, answer_context):
        current = load_answer(offer, answer)  # compare what was refused with the saved marks
        return _render_answer_page(request, visit, current, sent=read_draft(request), status=409)
    return _redirect_to_next_answer(request, answer_context)


def _redirect_to_next_answer(request: HttpRequest, answer_context: AnswerContext) -> HttpResponse:
    offer, row = answer_context.offer, answer_context.row
    which, then = _read_choice(request), request.POST.get("then", "next")
    if then == "stay":
        return _redirect_to_answer(offer, row, which)
    back = then == "previous"
    next_row = queue.assign_next_answer(row.place, request.user, which, row, backwards=back)
    if next_row is None:
        return redirect_to_queue(request, offer, which)
    return _redirect_to_answer(offer, next_row, which)


def _save_marks(request: HttpRequest, visit: Visit, answer_context: AnswerContext) -> bool:
    """Save the submitted marks and notify the marker.

    Return False if they were refused; the notice then says why.
    """
    say = get_words(request)["t"]
    try:
        sent = read_marks(request, answer_context.cell)
        revision = parse_number(request.POST.get("revision", ""))
        # A comment is only kept for reuse if the marks that came with it were saved.
        with transaction.atomic():
            (row,) = mark_entry.save_marks(
                {answer_context.row.pk: revision},
                answer_context.cell,
                sent,
                request.user,
                settles=visit.has_role(Role.HEAD_TA),
            )
            if request.POST.get("keep") and sent.comment:
                comments.save_comment(answer_context.row.place, sent.comment, request.user)
            comments.count_use(answer_context.row.place, sent.comment)
    except mark_entry.ChangedMeanwhileError:
        notices.error(request, say("mark-changed"))
        return False
    except ActionRefused as error:
        report_refusal(request, error, answer_context.cell)
        return False
    notices.success(request, _describe_saved(request, row, answer_context.cell))
    return True


def _describe_saved(request: HttpRequest, row: CellMark, cell: MarkableCell) -> str:
    """Describe the state after saving, so that the marker sees it before the next answer."""
    say = get_words(request)
    if row.stage:
        return str(say["t"](f"mark-saved-{row.stage}"))
    if row.points is None:
        return str(say["t"]("mark-saved-open"))
    points, possible = say["number"](Decimal(row.points)), say["number"](cell.possible)
    return str(say["t"]("mark-saved", points=points, possible=possible))


def report_refusal(request: HttpRequest, error: ActionRefused, cell: MarkableCell | None = None) -> None:
    """Notify the user why an action was refused, in their language.

    Items of `cell` are named by their texts.
    """
    labels, params = Labels(choose_language(request)), dict(error.params)
    for item in cell.items if cell else ():
        if item.id == params.get("item"):
            params["item"] = labels.pick(item.text, item.id)
    notices.error(request, get_words(request)["t"](error.code, **params))


def parse_number(text: str) -> int:
    """Parse the number of a row or a revision; return -1, which no row has, for any other text."""
    # Nine digits fit every integer column, so the database accepts whatever passes here.
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def read_marks(request: HttpRequest, cell: MarkableCell, *, adds: bool = False) -> mark_entry.GivenMarks:
    """Read the submitted form: points and remarks by item, the comment, and the flag.

    Args:
        request: with the form.
        cell: the cell that the form is for.
        adds: keep existing marks of items that the form leaves out (`mark_entry.GivenMarks.adds`).

    Raises:
        ActionRefused: the points of an item are not a number.
    """
    sent = {item.id: text for item in cell.items if (text := _read_points(request, item.id))}
    items = {name: _parse_points(text, name) for name, text in sent.items()}
    comment = clean_input(request.POST.get("comment", ""))
    written = {item.id: clean_input(request.POST.get(f"remark-{item.id}", "")) for item in cell.items}
    remarks = {name: text for name, text in written.items() if text}
    annotations = None if adds else _read_annotations(request)
    return mark_entry.GivenMarks(
        items, comment, request.POST.get("flagged") == "yes", adds, remarks, annotations
    )


def _read_annotations(request: HttpRequest) -> tuple[mark_entry.Annotation, ...] | None:
    """Return the remarks on lines; one without a text is removed. None: the form has no fields for them."""
    written = _read_notes(request)
    if written is None:
        return None
    return tuple(
        # No answer has a line with the number of an unreadable one: saving refuses it.
        mark_entry.Annotation(parse_number(note["first"]), parse_number(note["last"] or note["first"]), text)
        for note in written
        if (text := clean_input(note["text"]).strip())
    )


def _read_notes(request: HttpRequest) -> list[dict[str, str]] | None:
    """Return the fields for remarks on lines as they were sent; None: the form has none."""
    columns = {name: request.POST.getlist(name) for name in ("first", "last", "text")}
    if not columns["text"]:
        return None
    return [
        {"first": first.strip(), "last": last.strip(), "text": text}
        for first, last, text in zip(*columns.values(), strict=False)
    ]


def _read_points(request: HttpRequest, item: str) -> str:
    """Return the points sent for an item. Typed points win over chosen ones if their field was changed."""
    typed = request.POST.get(f"points-{item}", "").strip()
    chosen = request.POST.get(f"choice-{item}", "").strip()
    return chosen if chosen and typed == request.POST.get(f"was-{item}", "") else typed or chosen


def _parse_points(text: str, item: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ActionRefused("mark-no-number", item=item, given=text[:40])
    return Decimal(text.replace(",", ".")) + 0  # turns -0 into 0


def read_draft(request: HttpRequest, insert: str = "") -> dict[str, Any]:
    """Return the form as it was sent, to be shown again.

    Args:
        request: with the form.
        insert: a reusable comment that is appended to the comment.
    """
    sent = {
        name.partition("-")[2]: _read_points(request, name.partition("-")[2])
        for name in request.POST
        if name.startswith(("points-", "choice-"))
    }
    comment = request.POST.get("comment", "")
    # The reusable comment is added to what was typed, never in place of it.
    if insert:
        comment = f"{comment.rstrip()}\n{insert}".strip()
    remarks = {
        name.partition("-")[2]: str(text) for name, text in request.POST.items() if name.startswith("remark-")
    }
    flagged = request.POST.get("flagged") == "yes"
    notes = [note for note in _read_notes(request) or () if any(note.values())]
    return {"items": sent, "comment": comment, "remarks": remarks, "flagged": flagged, "annotations": notes}


def _render_answer_page(
    request: HttpRequest,
    visit: Visit,
    answer_context: AnswerContext,
    *,
    sent: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    row, which = answer_context.row, _read_choice(request)
    record_accesses(request.user, answer_context.offer, [row.student], Access.ANSWER)
    settles = row.stage == mark_entry.CONFLICT and visit.has_role(Role.HEAD_TA)
    stale = parse_number(request.POST.get("revision", "")) != row.revision
    context = {
        **_build_common_context(request, answer_context),
        "form": sent or _fill_form(row, mark_entry.find_own_reading(row, request.user)),
        "theirs": _fill_form(row, None) if status == 409 and stale and not row.stage else None,
        "readings": mark_entry.load_readings(row) if settles else [],
        "present": queue.record_viewing(row, request.user),
        "which": which,
        "waiting": queue.count_waiting(row.place, request.user, mine=which == "mine"),
        "comments": comments.list_offered(row.place),
        "editable": visit.has_role(Role.HEAD_TA) and has_editable_items(answer_context.cell),
        "blank_notes": [{"first": "", "last": "", "text": ""}] * _BLANK_NOTES,
    }
    return render_page(request, "mark_answer.html", context, status)


def _build_common_context(request: HttpRequest, answer_context: AnswerContext) -> dict[str, Any]:
    """Return the template context that every page about an answer shares."""
    offer, row, cell = answer_context.offer, answer_context.row, answer_context.cell
    language, graded = choose_language(request), load_graded(row)
    if graded is None:
        raise Http404
    release = assignment_details.get_releases(offer, row.student)[cell.question.notebook]
    token = signing.dumps([row.pk, language], salt=_FRAMES)
    return {
        "row": row,
        "first": _note_question(request, row.place_id),
        "view": build_answer_view(
            answer_context.rubric, release, cell, row, graded=graded, language=language
        ),
        "names": request.session.get(_NAMES, False),
        "name": assignment_details.get_name(offer, row.student),
        "frame": reverse("answer-frame", args=[token]) if _has_outputs(cell, graded) else "",
        "attempt": answers.find_attempt(offer, row.student),
        "bench": settings.RUNNING.bench is not None,
        # Of a cell that was marked as a whole, as in formgrader.
        "whole": None if row.items or row.points is None else Decimal(row.points),
    }


def _note_question(request: HttpRequest, place: int) -> bool:
    """Record that the marker sees the question of a cell; return whether it is for the first time."""
    seen = request.session.get(_SEEN, [])
    if place in seen:
        return False
    request.session[_SEEN] = [*seen, place][-_MOST_SEEN:]
    return True


def render_group_page(
    request: HttpRequest, answer_context: AnswerContext, context: Mapping[str, Any]
) -> HttpResponse:
    """Render the page on which a group is marked at once: its representative answer and the variants."""
    record_accesses(request.user, answer_context.offer, [answer_context.row.student], Access.ANSWER)
    common = _build_common_context(request, answer_context)
    form = _EMPTY
    library = comments.list_offered(answer_context.row.place)
    return render_page(request, "mark_group.html", {**common, "form": form, "comments": library, **context})


def _fill_form(row: CellMark, reading: IndependentMark | None) -> dict[str, Any]:
    """Return the form's values: a marker's own reading of a twice-marked answer, else the saved marks."""
    marks = reading or row
    items = {name: mark["points"] for name, mark in marks.items.items()}
    said = {"comment": marks.comment, "remarks": marks.remarks, "annotations": marks.annotations}
    return {"items": items, **said, "flagged": row.flagged}


def _has_outputs(cell: MarkableCell, graded: GradingResult) -> bool:
    return any(
        run.outputs or run.error
        for notebook in graded.notebooks
        if notebook.name == cell.question.notebook
        for run in list_runs_about(notebook, _list_cell_names(cell))
    )


def _list_cell_names(cell: MarkableCell) -> set[str]:
    """Return the names of all cells with outputs of an answer."""
    return {cell.question.answer_cell, cell.question.id, cell.name}


@allow_anyone()
def show_frame(_: HttpRequest, token: str) -> HttpResponse:
    """Show the outputs of an answer's cells, in a frame without cookies."""
    # The frame is sandboxed and sends no cookies, so the signed token is the only authorisation.
    answer, language = load_token(token, _FRAMES, FRAME_SECONDS)
    row = get_object_or_404(CellMark.objects.select_related("place"), pk=answer)
    offer = get_object_or_404(Offer, course=row.place.course_id, assignment=row.place.assignment)
    rubric = assignment_details.get_assignment(offer).get_rubric(row.student)
    cell = answers.find_cell(rubric, row.place.notebook, row.place.cell)
    graded = load_graded(row)
    if cell is None or graded is None:
        raise Http404
    names = _list_cell_names(cell)
    return render_in_frame(render_cells(graded, rubric, cell.question.notebook, names, language))


@require_role(Role.TA)
def show_presence(request: HttpRequest, _: Visit, offer: Offer, answer: int) -> HttpResponse:
    """Show who else is viewing an answer; the page polls this fragment."""
    answer_context = load_answer(offer, answer)
    context = {
        "present": queue.record_viewing(answer_context.row, request.user),
        "row": answer_context.row,
    }
    return render_page(request, "_here.html", context)


@require_role(Role.TA, "POST")
def undo_last_action(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Undo the last marking action of the current user in this assignment."""
    say = get_words(request)["t"]
    try:
        action = mark_entry.undo_action(visit.course.pk, offer.assignment, request.user)
    except ActionRefused as error:
        report_refusal(request, error)
        action = None
    else:
        notices.info(request, say("mark-undone") if action else say("mark-nothing-to-undo"))
    row = None
    if action and action.changes:
        row = CellMark.objects.filter(pk=action.changes[0]["answer"], answered=True).first()
    return _redirect_to_answer(offer, row, _read_choice(request))


@require_role(Role.TA, "POST")
def toggle_names(request: HttpRequest, _: Visit, offer: Offer) -> HttpResponse:
    """Show the students' names on the marking pages, or hide them again."""
    request.session[_NAMES] = not request.session.get(_NAMES, False)
    row = offer.marks.filter(pk=parse_number(request.POST.get("answer", "")), answered=True).first()
    return _redirect_to_answer(offer, row, _read_choice(request))
