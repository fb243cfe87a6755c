"""Pages about drafts: points and wording are changed, tried on the class, and applied or dropped.

Head TAs try; what counts is changed by instructors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from autograder.authoring.edits import Edit, PointsEdit, TextEdit
from autograder.errors import AutograderError
from autograder.feedback.sanitise import sentence
from autograder.marking.cases import CallMade, as_call, stated
from autograder.marking.moves import rubric_changes
from autograder.rubric import Item, Question
from autograder.service import drafts, versions
from autograder.service.drafts.beginning import begin_edits
from autograder.service.models import DraftVersion, Offer, Role
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import page
from autograder.wording import text_in


@course_page(Role.HEAD_TA, "GET", "HEAD", "POST")
def overview(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """The drafts of an assignment, and a form for each question; what is sent becomes a draft."""
    offer = visit.offer(assignment)
    if request.method == "POST":
        return _begun(request, visit, offer)
    rubric = versions.rubric_of(offer.version)
    context = {
        "visit": visit,
        "offer": offer,
        "drafts": DraftVersion.objects.filter(offer=offer).select_related("by").order_by("-pk"),
        "questions": rubric.questions,
        "languages": rubric.assignment.languages,
        "pick": functools.partial(text_in, language=language_of(request)),
        "plain": lambda points: format(points, "f"),
        "when": shown.clock(offer, language_of(request)),
    }
    return page(request, "drafts.html", context)


def _begun(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """A draft of what a form says, or back to the form with the reason why not."""
    say = words(request)["t"]
    rubric = versions.rubric_of(offer.version)
    name = request.POST.get("question", "")
    question = next((one for one in rubric.questions if one.id == name), None)
    back = reverse("drafts", kwargs={"slug": visit.course.slug, "assignment": offer.assignment})
    if question is None:
        notices.error(request, say("drafts-nothing"))
        return HttpResponseRedirect(back)
    try:
        edits = list(_edits(request, question, rubric.assignment.languages))
        if not edits:
            notices.info(request, say("drafts-nothing"))
            return HttpResponseRedirect(back)
        draft = begin_edits(offer, edits, say("drafts-subject", question=question.id), request.user)
    except InvalidOperation as error:
        item, given = error.args
        notices.error(request, say("drafts-bad-points", item=item, given=given))
        return HttpResponseRedirect(back)
    except AutograderError as error:
        notices.error(request, say("drafts-refused", reason=str(error)))
        return HttpResponseRedirect(back)
    return _to(visit, draft)


@course_page(Role.HEAD_TA, "POST")
def keep_case(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """A call that somebody tried becomes a new case, in a draft; or back, with the reason why not."""
    offer, say = visit.offer(assignment), words(request)["t"]
    back = reverse("drafts", kwargs={"slug": visit.course.slug, "assignment": offer.assignment})
    made = as_call(request.POST.get("source", ""))
    rubric = versions.rubric_of(offer.version)
    question = next((one for one in rubric.questions if made and _calls(one, made)), None)
    if made is None or question is None:
        notices.error(request, say("drafts-no-case"))
        return HttpResponseRedirect(back)
    call = {"target": made.target, "args": stated([*made.args]), "kwargs": stated({**made.kwargs})}
    try:
        return _to(visit, drafts.keep_case(offer, question.id, call, request.user))
    except AutograderError as error:
        notices.error(request, say("drafts-refused", reason=str(error)))
        return HttpResponseRedirect(back)


def _calls(question: Question, call: CallMade) -> bool:
    """Whether a question is about what is called."""
    library = question.options.get("library", "torch")
    return (
        question.kind == "behaviour"
        and question.answer == call.target.partition(".")[0]
        and call.library in {"", library}
    )


def _edits(request: HttpRequest, question: Question, languages: tuple[str, ...]) -> Iterator[Edit]:
    """What a form changes; a field that is not there changes nothing.

    Raises:
        InvalidOperation: with the item and what was written in the place of its points.
    """
    for language in languages:
        title = _sent(request, f"title {language}")
        if title is not None and title != question.title.get(language, ""):
            yield TextEdit(question.id, "", language, title)
    for item in question.items:
        yield from _item_edits(request, question, item, languages)


def _item_edits(
    request: HttpRequest, question: Question, item: Item, languages: tuple[str, ...]
) -> Iterator[Edit]:
    written = _sent(request, f"points {item.id}")
    if written is not None:
        try:
            points = Decimal(written.strip().replace(",", "."))
        except InvalidOperation as error:
            raise InvalidOperation(item.id, written[:40]) from error
        if not points.is_finite() or points != item.points:
            yield PointsEdit(question.id, item.id, points)
    for language in languages:
        text = _sent(request, f"text {language} {item.id}")
        if text is not None and text != item.text.get(language, ""):
            yield TextEdit(question.id, item.id, language, text)


def _sent(request: HttpRequest, name: str) -> str | None:
    """A field; browsers send line ends in a way of their own."""
    value = request.POST.get(name)
    return None if value is None else value.replace("\r\n", "\n")


def _draft(visit: Visit, identifier: int) -> DraftVersion:
    """A draft of this course.

    Raises:
        Http404: there is none.
    """
    found = DraftVersion.objects.select_related("offer__course", "offer__version", "version", "base", "by")
    draft = found.filter(pk=identifier, offer__course=visit.course).first()
    if draft is None:
        raise Http404
    return draft


@course_page(Role.HEAD_TA)
def show(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """A draft: what it changes, how far it is, and what it does to the class."""
    found = _draft(visit, draft)
    effect = None if found.settled else drafts.effect(found)
    before, after = versions.rubric_of(found.base), versions.rubric_of(found.version)
    context = {
        "visit": visit,
        "draft": found,
        "offer": found.offer,
        "stale": not found.settled and found.base_id != found.offer.version_id,
        "settled": found.settled,
        "progress": drafts.progress(found),
        "changes": list(rubric_changes(before, after)),
        "effect": effect,
        "path": versions.rubric_file(found.version)[0],
        "told": lambda message: sentence(message, language_of(request)),
        "instructor": visit.at_least(Role.INSTRUCTOR),
        "when": shown.clock(found.offer, language_of(request)),
    }
    return page(request, "draft.html", context)


@course_page(Role.HEAD_TA)
def progress(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """How far a draft is; when everybody is graded, the page is asked for once more."""
    found = _draft(visit, draft)
    done = drafts.progress(found)
    context = {"visit": visit, "draft": found, "settled": found.settled, "progress": done}
    answer = page(request, "_draft_progress.html", context)
    if done.complete or found.settled:
        answer["HX-Refresh"] = "true"
    return answer


@course_page(Role.HEAD_TA)
def rubric_file(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """The rubric with the draft's changes, to be put into the course's folder."""
    del request
    path, data = versions.rubric_file(_draft(visit, draft).version)
    name = path.rpartition("/")[2]
    return HttpResponse(
        data,
        content_type="application/toml",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@course_page(Role.INSTRUCTOR, "POST")
def apply(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Let a draft count."""
    found = _draft(visit, draft)
    done = words(request)["t"]("drafts-was-applied", number=found.version.number)
    apply_it = functools.partial(drafts.apply, reason=request.POST.get("reason", ""))
    return _settled(request, visit, found, apply_it, done)


@course_page(Role.HEAD_TA, "POST")
def drop(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Give a draft up."""
    found = _draft(visit, draft)
    return _settled(request, visit, found, drafts.drop, words(request)["t"]("drafts-was-dropped"))


def _settled(
    request: HttpRequest, visit: Visit, draft: DraftVersion, settle: Callable[[Any, Any], None], done: str
) -> HttpResponse:
    try:
        settle(draft, request.user)
    except AutograderError as error:
        notices.error(request, words(request)["t"]("drafts-refused", reason=str(error)))
        return _to(visit, draft)
    notices.info(request, done)
    place = {"slug": visit.course.slug, "assignment": draft.offer.assignment}
    return HttpResponseRedirect(reverse("drafts", kwargs=place))


@course_page(Role.HEAD_TA, "POST")
def again(request: HttpRequest, visit: Visit, draft: int) -> HttpResponse:
    """Try again what could not be graded by a draft."""
    del request
    found = _draft(visit, draft)
    drafts.again(found)
    return _to(visit, found)


def _to(visit: Visit, draft: DraftVersion) -> HttpResponse:
    return HttpResponseRedirect(reverse("draft", kwargs={"slug": visit.course.slug, "draft": draft.pk}))
