"""Pages of the marking queue, and the page on which a single answer is marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.core import signing
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from msgspec import Struct

from autograder.feedback.answers import runs_about
from autograder.feedback.labels import Labels
from autograder.feedback.render import render_cells
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.service.marking import answers, comments, queue, saving
from autograder.service.marking.answers import MarkableCell
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import CellMark, CellPlace, CurrentResult, IndependentMark, Offer, Role
from autograder.store import decode
from autograder.web import shown
from autograder.web.guard import Visit, course_page, open_page
from autograder.web.marking.shown import answer_view
from autograder.web.site import language_of, words
from autograder.web.student import FRAME_SECONDS, in_frame, page

_FRAMES = "autograder.answer-frame"
_NAMES = "names"
_EMPTY: Mapping[str, Any] = {"items": {}, "comment": "", "remarks": {}, "flagged": False}
_NUMBER = re.compile(r"-?[0-9]{1,4}(?:[.,][0-9]{1,4})?")


class Seen(Struct, frozen=True, eq=False):
    """An answer with its offer, cell and rubric."""

    offer: Offer
    row: CellMark
    cell: MarkableCell
    rubric: Rubric
    """The rubric of this student's variant."""


def seen(visit: Visit, assignment: str, answer: int) -> Seen:
    """Load an answer of an assignment of the course.

    Raises:
        Http404: there is no such answer, or the rubric no longer has its cell.
    """
    offer = visit.offer(assignment)
    rows = CellMark.objects.select_related("place", "marked_by")
    row = get_object_or_404(
        rows, pk=answer, place__course=visit.course, place__assignment=assignment, answered=True
    )
    own = shown.loaded(offer).rubric_of(row.student)
    cell = answers.cell_of(own, row.place.notebook, row.place.cell)
    if cell is None:
        raise Http404
    return Seen(offer, row, cell, own)


def graded_of(row: CellMark) -> Graded | None:
    """Return the current result of the student who wrote an answer, or None."""
    found = CurrentResult.objects.filter(
        course=row.place.course_id, assignment=row.place.assignment, student=row.student
    )
    stored = found.values_list("result__graded", flat=True).first()
    return None if stored is None else decode(bytes(stored))


@course_page(Role.TA)
def overview(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show every cell that needs manual marking, and its progress."""
    offer = visit.offer(assignment)
    loaded = shown.loaded(offer)
    # Results graded before the assignment was marked here have no rows in the queue yet.
    answers.describe_older(offer, loaded)
    rows = queue.counts(offer, loaded.rubric, request.user)
    title = Labels(language_of(request)).pick
    context = {"visit": visit, "offer": offer, "rows": rows, "pick": title}
    return page(request, "marking.html", context)


@course_page(Role.TA)
def first(request: HttpRequest, visit: Visit, assignment: str, place: int) -> HttpResponse:
    """Redirect to the first answer of a cell that is waiting, or that has the requested state."""
    which = _which(request)
    found = queue.sent_to(place_of(visit, assignment, place), request.user, which)
    if found is None:
        return none_left(request, visit, assignment, which)
    return HttpResponseRedirect(_of(visit, assignment, found, which))


def place_of(visit: Visit, assignment: str, place: int) -> CellPlace:
    """Return a cell of an assignment of the course, or respond with 404."""
    return get_object_or_404(CellPlace, pk=place, course=visit.course, assignment=assignment)


def _which(request: HttpRequest) -> str:
    which = request.GET.get("which", "waiting")
    return which if which in queue.CHOICES else "waiting"


def _overview(visit: Visit, assignment: str) -> str:
    return reverse("marking", kwargs={"slug": visit.course.slug, "assignment": assignment})


def none_left(request: HttpRequest, visit: Visit, assignment: str, which: str) -> HttpResponse:
    """Redirect to the list of cells with the notice that no such answer is left."""
    notices.info(request, words(request)["t"](f"mark-none-{which}"))
    return HttpResponseRedirect(_overview(visit, assignment))


def _of(visit: Visit, assignment: str, row: CellMark, which: str) -> str:
    parts = {"slug": visit.course.slug, "assignment": assignment, "answer": row.pk}
    return f"{reverse('mark-answer', kwargs=parts)}?which={which}"


@course_page(Role.TA, "GET", "HEAD", "POST")
def answer(request: HttpRequest, visit: Visit, assignment: str, answer: int) -> HttpResponse:
    """Show an answer. A POST saves its marks and redirects to the next answer."""
    found = seen(visit, assignment, answer)
    if request.method != "POST":
        return _page(request, visit, found)
    if "insert" in request.POST:  # a reusable comment, without JavaScript
        return _page(request, visit, found, sent=draft(request, insert=request.POST["insert"]))
    if request.POST.get("changed") != "no" and not _save(request, visit, found):
        stands = seen(visit, assignment, answer)  # compare what was refused with the saved marks
        return _page(request, visit, stands, sent=draft(request), status=409)
    return _onwards(request, visit, assignment, found.row)


def _onwards(request: HttpRequest, visit: Visit, assignment: str, row: CellMark) -> HttpResponse:
    which, then = _which(request), request.POST.get("then", "next")
    if then == "stay":
        return HttpResponseRedirect(_of(visit, assignment, row, which))
    back = then == "previous"
    further = queue.sent_to(row.place, request.user, which, row, backwards=back)
    if further is None:
        return none_left(request, visit, assignment, which)
    return HttpResponseRedirect(_of(visit, assignment, further, which))


def _save(request: HttpRequest, visit: Visit, found: Seen) -> bool:
    """Save the submitted marks and notify the marker.

    Return False if they were refused; the notice then says why.
    """
    say = words(request)["t"]
    try:
        sent = given(request, found.cell)
        revision = number_of(request.POST.get("revision", ""))
        # A comment is only kept for reuse if the marks that came with it were saved.
        with transaction.atomic():
            (row,) = saving.save(
                {found.row.pk: revision},
                found.cell,
                sent,
                request.user,
                settles=visit.at_least(Role.HEAD_TA),
            )
            if request.POST.get("keep") and sent.comment:
                comments.keep(found.row.place, sent.comment, request.user)
            comments.used(found.row.place, sent.comment)
    except saving.ChangedMeanwhileError:
        notices.error(request, say("mark-changed"))
        return False
    except NotTaken as error:
        refuse(request, error, found.cell)
        return False
    notices.success(request, _saved(request, row, found.cell))
    return True


def _saved(request: HttpRequest, row: CellMark, cell: MarkableCell) -> str:
    """Describe the state after saving, so that the marker sees it before the next answer."""
    say = words(request)
    if row.stage:
        return str(say["t"](f"mark-saved-{row.stage}"))
    if row.points is None:
        return str(say["t"]("mark-saved-open"))
    points, possible = say["number"](Decimal(row.points)), say["number"](cell.possible)
    return str(say["t"]("mark-saved", points=points, possible=possible))


def refuse(request: HttpRequest, error: NotTaken, cell: MarkableCell | None = None) -> None:
    """Notify the user why an action was refused, in their language.

    Items of `cell` are named by their texts.
    """
    labels, params = Labels(language_of(request)), dict(error.params)
    for item in cell.items if cell else ():
        if item.id == params.get("item"):
            params["item"] = labels.pick(item.text, item.id)
    notices.error(request, words(request)["t"](error.code, **params))


def number_of(text: str) -> int:
    """Parse the number of a row or a revision; return -1, which no row has, for any other text."""
    # Nine digits fit every integer column, so the database accepts whatever passes here.
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def given(request: HttpRequest, cell: MarkableCell, *, adds: bool = False) -> saving.GivenMarks:
    """Read the submitted form: points and remarks by item, the comment, and the flag.

    Args:
        request: with the form.
        cell: the cell that the form is for.
        adds: keep existing marks of items that the form leaves out (`saving.GivenMarks.adds`).

    Raises:
        NotTaken: the points of an item are not a number.
    """
    sent = {item.id: text for item in cell.items if (text := _sent(request, item.id))}
    items = {name: _number(text, name) for name, text in sent.items()}
    comment = saving.written_comment(request.POST.get("comment", ""))
    written = {item.id: saving.written_comment(_remark(request, item.id)) for item in cell.items}
    remarks = {name: text for name, text in written.items() if text}
    return saving.GivenMarks(items, comment, request.POST.get("flagged") == "yes", adds, remarks)


def _remark(request: HttpRequest, item: str) -> str:
    return request.POST.get(f"remark-{item}", "")


def _sent(request: HttpRequest, item: str) -> str:
    """Return the points sent for an item. Typed points win over chosen ones if their field was changed."""
    typed = request.POST.get(f"points-{item}", "").strip()
    chosen = request.POST.get(f"choice-{item}", "").strip()
    return chosen if chosen and typed == request.POST.get(f"was-{item}", "") else typed or chosen


def _number(text: str, item: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise NotTaken("mark-no-number", item=item, given=text[:40])
    return Decimal(text.replace(",", ".")) + 0  # turns -0 into 0


def draft(request: HttpRequest, insert: str = "") -> dict[str, Any]:
    """Return the form as it was sent, to be shown again.

    Args:
        request: with the form.
        insert: a reusable comment that is appended to the comment.
    """
    sent = {
        name.partition("-")[2]: _sent(request, name.partition("-")[2])
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
    return {"items": sent, "comment": comment, "remarks": remarks, "flagged": flagged}


def _page(
    request: HttpRequest,
    visit: Visit,
    found: Seen,
    *,
    sent: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    row = found.row
    settles = row.stage == saving.CONFLICT and visit.at_least(Role.HEAD_TA)
    stale = number_of(request.POST.get("revision", "")) != row.revision
    context = {
        **_common(request, visit, found),
        "form": sent or _form(row, saving.own_reading(row, request.user)),
        "theirs": _form(row, None) if status == 409 and stale and not row.stage else None,
        "readings": saving.all_of(row) if settles else [],
        "present": queue.look(row, request.user),
        "which": _which(request),
        "waiting": queue.waiting(row.place, request.user),
        "comments": comments.offered(row.place),
    }
    return page(request, "mark_answer.html", context, status)


def _common(request: HttpRequest, visit: Visit, found: Seen) -> dict[str, Any]:
    """Return the template context that every page about an answer shares."""
    language, graded = language_of(request), graded_of(found.row)
    if graded is None:
        raise Http404
    release = shown.releases_of(found.offer, found.row.student)[found.cell.question.notebook]
    return {
        "visit": visit,
        "offer": found.offer,
        "row": found.row,
        "view": answer_view(found.rubric, release, found.cell, found.row, graded=graded, language=language),
        "names": request.session.get(_NAMES, False),
        "frame": _frame(found, language) if _has_outputs(found, graded) else "",
        "attempt": answers.attempt_of(found.offer, found.row.student),
        "bench": settings.RUNNING.bench is not None,
        "whole": _whole(found.row),
    }


def _whole(row: CellMark) -> Decimal | None:
    """Return the points of a cell that was marked as a whole, as in formgrader, or None."""
    return None if row.items or row.points is None else Decimal(row.points)


def group_page(request: HttpRequest, visit: Visit, found: Seen, context: Mapping[str, Any]) -> HttpResponse:
    """Render the page on which a group is marked at once: its representative answer and the variants."""
    common = _common(request, visit, found)
    form = _EMPTY
    library = comments.offered(found.row.place)
    return page(request, "mark_group.html", {**common, "form": form, "comments": library, **context})


def _form(row: CellMark, own: IndependentMark | None) -> dict[str, Any]:
    """Return the form's values: a marker's own reading of a twice-marked answer, else the saved marks."""
    stands = own or row
    items = {name: one["points"] for name, one in stands.items.items()}
    return {"items": items, "comment": stands.comment, "remarks": stands.remarks, "flagged": row.flagged}


def _has_outputs(found: Seen, graded: Graded) -> bool:
    names = {found.cell.question.answer_cell, found.cell.question.id, found.cell.name}
    return any(
        run.outputs or run.error
        for notebook in graded.notebooks
        if notebook.name == found.cell.question.notebook
        for run in runs_about(notebook, names)
    )


def _frame(found: Seen, language: str) -> str:
    token = signing.dumps([found.row.pk, language], salt=_FRAMES)
    return reverse("answer-frame", args=[token])


@open_page()
def frame(_: HttpRequest, token: str) -> HttpResponse:
    """Show the outputs of an answer's cells, in a frame without cookies."""
    try:
        # The frame is sandboxed and sends no cookies, so the signed token is the only authorisation.
        answer, language = signing.loads(token, salt=_FRAMES, max_age=FRAME_SECONDS)
    except signing.BadSignature as error:
        raise Http404 from error
    row = get_object_or_404(CellMark.objects.select_related("place"), pk=answer)
    offer = get_object_or_404(Offer, course=row.place.course_id, assignment=row.place.assignment)
    rubric = shown.loaded(offer).rubric_of(row.student)
    cell = answers.cell_of(rubric, row.place.notebook, row.place.cell)
    graded = graded_of(row)
    if cell is None or graded is None:
        raise Http404
    names = {cell.question.answer_cell, cell.question.id, cell.name}
    return in_frame(render_cells(graded, rubric, cell.question.notebook, names, language))


@course_page(Role.TA)
def here(request: HttpRequest, visit: Visit, assignment: str, answer: int) -> HttpResponse:
    """Show who else is viewing an answer; the page polls this fragment."""
    found = seen(visit, assignment, answer)
    context = {"present": queue.look(found.row, request.user), "visit": visit, "offer": found.offer}
    return page(request, "_here.html", {**context, "row": found.row})


@course_page(Role.TA, "POST")
def undo(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Undo the last marking action of the current user in this assignment."""
    say = words(request)["t"]
    try:
        action = saving.undo(visit.course.pk, visit.offer(assignment).assignment, request.user)
    except NotTaken as error:
        refuse(request, error)
        action = None
    else:
        notices.info(request, say("mark-undone") if action else say("mark-nothing-to-undo"))
    back = _overview(visit, assignment)
    if action and action.changes:
        row = CellMark.objects.filter(pk=action.changes[0]["answer"]).select_related("place").first()
        back = _of(visit, assignment, row, _which(request)) if row and row.answered else back
    return HttpResponseRedirect(back)


@course_page(Role.TA, "POST")
def names(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show the students' names on the marking pages, or hide them again."""
    request.session[_NAMES] = not request.session.get(_NAMES, False)
    answer = request.POST.get("answer", "")
    row = CellMark.objects.filter(place__course=visit.course, place__assignment=assignment, answered=True)
    # Fifteen digits fit every 64-bit key, so the database accepts whatever passes here.
    own = row.filter(pk=int(answer)).first() if answer.isdecimal() and len(answer) < 16 else None
    if own is None:
        return HttpResponseRedirect(_overview(visit, visit.offer(assignment).assignment))
    return HttpResponseRedirect(_of(visit, assignment, own, _which(request)))
