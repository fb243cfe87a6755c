"""Pages for what students are told: every generated sentence of an assignment, and the course's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages as notices
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.feedback.wordings import SentenceKey
from autograder.rubric import Rubric
from autograder.service.marking import wordings
from autograder.service.marking.refusals import NotTaken
from autograder.service.marking.wordings import ToldMessage
from autograder.service.models import Member, Offer, Role
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import page

_MOST_ON_A_PAGE = 20
"""Messages; a large class is told hundreds."""


class MessageShown(Struct, frozen=True):
    """A message at an item, with the place where its words can be changed."""

    told: ToldMessage
    anchor: str
    question: str
    """Its title."""
    item: str
    """Its text."""
    texts: Mapping[str, str]
    """The course's words by language, as they stand or were just typed."""
    typed: bool
    """They were refused just now."""


@course_page(Role.TA)
def everything(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """What a class is told."""
    return _page(request, visit, visit.offer(assignment), "")


@course_page(Role.TA)
def of_student(request: HttpRequest, visit: Visit, assignment: str, who: str) -> HttpResponse:
    """What one student is told, with words for them alone."""
    return _page(request, visit, visit.offer(assignment), who)


def _page(
    request: HttpRequest, visit: Visit, offer: Offer, student: str, refused: SentenceKey | None = None
) -> HttpResponse:
    """The page; what was refused stands in its fields as it was typed."""
    assignment, labels = shown.loaded(offer), Labels(language_of(request))
    spoken = wordings.languages(assignment)
    rows = []
    for number, one in enumerate(wordings.told(offer, assignment, student), start=1):
        typed = one.key == refused
        texts = {
            name: request.POST.get(f"text-{name}", "") if typed else one.own.get(name, "") for name in spoken
        }
        question, item = _titles(assignment.rubric, one.key, labels)
        rows.append(MessageShown(one, f"m{number}", question, item, texts, typed))
    asked = next((at for at, one in enumerate(rows) if one.typed), None)
    part = Paginator(rows, _MOST_ON_A_PAGE).get_page(
        request.GET.get("page") if asked is None else asked // _MOST_ON_A_PAGE + 1
    )
    context = {
        "visit": visit,
        "offer": offer,
        "student": student,
        "rows": list(part),
        "part": part,
        "spoken": spoken,
        "most": wordings.MOST_TEXT,
        "head": visit.at_least(Role.HEAD_TA),
        "instructor": visit.at_least(Role.INSTRUCTOR),
        "when": shown.clock(offer, language_of(request)),
    }
    return page(request, "review.html", context)


def _titles(rubric: Rubric, key: SentenceKey, labels: Labels) -> tuple[str, str]:
    """How question and item are called; by their ids where the rubric has them no more."""
    for question in rubric.questions:
        for item in question.items:
            if (question.id, item.id) == key[:2]:
                return labels.pick(question.title, question.id), labels.pick(item.text, item.id)
    return key[0], key[1]


@course_page(Role.HEAD_TA, "POST")
def set_wording(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """State the course's own words for a message, or restore the generated ones by an empty text."""
    offer, sent = visit.offer(assignment), request.POST
    loaded = shown.loaded(offer)
    student = sent.get("student", "")
    key = (sent.get("question", ""), sent.get("item", ""), sent.get("code", ""))
    if student and not Member.objects.filter(course=visit.course, student=student).exists():
        raise Http404
    fields = {name: f"text-{name}" for name in wordings.languages(loaded)}
    texts = {name: sent[field] for name, field in fields.items() if field in sent}
    say = words(request)["t"]
    try:
        new = wordings.save(offer, loaded, key, texts, by=request.user, student=student)
    except NotTaken as error:
        notices.error(request, say(error.code, **error.params))
        return _page(request, visit, offer, student, key)
    if new:
        notices.info(request, say("wording-saved"))
    place: dict[str, Any] = {"slug": visit.course.slug, "assignment": offer.assignment}
    route = "review-student" if student else "review"
    part = sent.get("page", "1")
    there = f"?page={part}" if part.isdecimal() and part.isascii() and part != "1" else ""
    return HttpResponseRedirect(
        reverse(route, kwargs={**place, "who": student} if student else place) + there
    )
