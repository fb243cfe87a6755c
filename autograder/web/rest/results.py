"""Operations on results, and on the marks that people give answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Router

from autograder.grading.assignment import Assignment
from autograder.grading.grades import Standing
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import clean_input, render_sentence, to_printable_text
from autograder.service import attempts
from autograder.service.marking import answers, mark_entry, regrade_requests
from autograder.service.models import CellMark, Role, Scope
from autograder.service.protection.accesses import Access, record_accesses
from autograder.service.standings import compute_student_standing, load_current_result, load_standings
from autograder.service.store import DatabaseStore
from autograder.web import assignment_details
from autograder.web.marking.pages import load_answer
from autograder.web.rest.access import add_route, open_visit
from autograder.web.rest.schemas import (
    AnswerChoice,
    AnswerOut,
    AnswerPage,
    MarkIn,
    PageChoice,
    ResultDetailOut,
    ResultPage,
    cut_page,
)
from autograder.web.site import choose_language

ROUTER = Router(tags=["results"])


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/results", Scope.READ, ResultPage)
def list_results(request: HttpRequest, slug: str, assignment: str, page: Query[PageChoice]) -> dict[str, Any]:
    """List the marks of the class, by student. For staff."""
    visit = open_visit(request, slug, Role.TA)
    offer = visit.get_offer(assignment)
    loaded = assignment_details.get_assignment(offer)
    standings = load_standings(offer, loaded)
    students = sorted(standings)[page.offset : page.offset + page.limit]
    rows = [_describe_standing(standings[student], loaded) for student in students]
    return {"items": rows, "count": len(standings)}


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/results/{student}", Scope.READ, ResultDetailOut)
def get_result(request: HttpRequest, slug: str, assignment: str, student: str) -> dict[str, Any]:
    """Return the marks of a student with all items. Students see their own once they are published."""
    visit = open_visit(request, slug)
    offer = visit.get_offer(assignment)
    # Another student's marks look like missing ones.
    if not visit.staff and (offer.published_at is None or student != visit.student):
        raise Http404
    loaded = assignment_details.get_assignment(offer)
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None:
        raise Http404
    if visit.staff:
        record_accesses(request.user, offer, [student], Access.RESULT)
    handin = attempts.find_counting_attempt(offer, student, loaded.rubric)
    graded = load_current_result(graded, handin)
    standing = compute_student_standing(offer, loaded, graded, marks)
    rubric, labels = loaded.get_rubric(graded.score.asked), Labels(choose_language(request))
    rows = offer.marks.filter(student=student).select_related("place")
    cells = {(row.place.notebook, row.place.cell): row for row in rows}
    results = {(result.question, result.item): result for result in graded.score.items}
    items = []
    for question in rubric.questions:
        for number, item in enumerate(question.items, 1):
            result = results.get((question.id, item.id))
            row = cells.get((question.notebook, item.cell or question.id))
            if result is None or row is None:
                continue
            points = regrade_requests.compute_item_points(row, question, item, graded.score).now
            items.append(
                {
                    "question": question.id,
                    "number": number,
                    # Titles that are hidden during marking may be shown once the marks are final.
                    "title": labels.pick(item.get_title(final=visit.staff or standing.final), str(number)),
                    "status": result.status.value,
                    "points": None if points is None else _format_points(points),
                    "possible": _format_points(result.possible),
                    "text": render_sentence(result.student, labels.language),
                    "staff": to_printable_text(result.staff) if visit.staff else "",
                }
            )
    return {**_describe_standing(standing, loaded), "items": items}


def _describe_standing(standing: Standing, loaded: Assignment) -> dict[str, Any]:
    return {
        "student": standing.student,
        "points": _format_points(standing.total),
        "possible": _format_points(loaded.rubric.assignment.points),
        "final": standing.final,
        "passed": standing.passed,
        "group": standing.group,
    }


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/answers", Scope.READ, AnswerPage)
def list_answers(
    request: HttpRequest,
    slug: str,
    assignment: str,
    choice: Query[AnswerChoice],
) -> dict[str, Any]:
    """List the answers that need or have manual marks. For staff."""
    visit = open_visit(request, slug, Role.TA)
    offer = visit.get_offer(assignment)
    # Results graded before the assignment was marked here have no rows in the queue yet.
    answers.describe_older(offer, assignment_details.get_assignment(offer))
    rows = offer.marks.filter(answered=True).select_related("place", "marked_by")
    for field, value in {"place__cell": choice.cell, "student": choice.student}.items():
        rows = rows.filter(**{field: value}) if value else rows
    found = cut_page(rows.order_by("place", "shuffled", "pk"), choice)
    record_accesses(request.user, offer, [row.student for row in found["items"]], Access.ANSWER)
    found["items"] = [_describe_answer(row) for row in found["items"]]
    return found


@add_route(ROUTER, "put", "/{slug}/assignments/{assignment}/answers/{answer}/mark", Scope.MARK, AnswerOut)
def mark_answer(
    request: HttpRequest, slug: str, assignment: str, answer: int, mark: MarkIn
) -> dict[str, Any]:
    """Give an answer its marks. For staff; 409 if the answer was changed since the stated revision."""
    visit = open_visit(request, slug, Role.TA)
    offer = visit.get_offer(assignment)
    context = load_answer(offer, answer)
    remarks = {name: clean_input(text) for name, text in mark.remarks.items()}
    given = mark_entry.GivenMarks(
        # In plain notation, as marks are stored everywhere; adding zero turns -0 into 0.
        {name: Decimal(_format_points(points + 0)) for name, points in mark.items.items()},
        clean_input(mark.comment),
        mark.flagged,
        remarks={name: text for name, text in remarks.items() if text},
    )
    settles = visit.has_role(Role.HEAD_TA)
    mark_entry.save_marks({context.row.pk: mark.revision}, context.cell, given, request.user, settles=settles)
    return _describe_answer(load_answer(offer, answer).row)


def _describe_answer(row: CellMark) -> dict[str, Any]:
    return {
        "id": row.pk,
        "student": row.student,
        "notebook": row.place.notebook,
        "cell": row.place.cell,
        "text": row.text,
        "revision": row.revision,
        "points": row.points,
        "items": {name: stored["points"] for name, stored in row.items.items()},
        "worth": row.worth,
        "comment": row.comment,
        "remarks": row.remarks,
        "flagged": row.flagged,
        "waiting": row.points is None or row.again,
        "marked_by": row.marked_by.username if row.marked_by else "",
        "marked_at": row.marked_at,
    }


def _format_points(points: Decimal) -> str:
    return format(points, "f")
