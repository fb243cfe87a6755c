"""Operations on courses and assignments."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja import Query, Router

from autograder.service import attempts, mark_changes, offers, versions
from autograder.service.models import CourseRecord, Member, Offer, Role, Scope
from autograder.web import assignment_details
from autograder.web.guard import Visit, list_courses
from autograder.web.rest.access import add_route, open_visit
from autograder.web.rest.schemas import (
    AssignmentChange,
    AssignmentOut,
    AssignmentPage,
    CoursePage,
    PageChoice,
    cut_page,
)
from autograder.web.site import choose_language
from autograder.web.student import pack_files

ROUTER = Router(tags=["assignments"])


@add_route(ROUTER, "get", "", Scope.READ, CoursePage)
def list_own_courses(request: HttpRequest, page: Query[PageChoice]) -> dict[str, Any]:
    """List the courses of the key's owner."""
    courses = list_courses(request.user)
    if request.auth.course_id is not None:
        courses = courses.filter(pk=request.auth.course_id)
    found = cut_page(courses, page)
    members = Member.objects.filter(account=request.user, course__in=found["items"])
    by_course = {member.course_id: member for member in members}
    found["items"] = [_describe_course(course, by_course.get(course.pk)) for course in found["items"]]
    return found


def _describe_course(course: CourseRecord, member: Member | None) -> dict[str, Any]:
    # Administrators of the service need not be members.
    role, student = (member.role, member.student) if member else (Role.ADMINISTRATOR, "")
    return {"slug": course.slug, "title": course.title, "role": role, "student": student}


@add_route(ROUTER, "get", "/{slug}/assignments", Scope.READ, AssignmentPage)
def list_assignments(request: HttpRequest, slug: str, page: Query[PageChoice]) -> dict[str, Any]:
    """List the assignments of a course; students see visible ones."""
    visit = open_visit(request, slug)
    rows = Offer.objects.filter(course=visit.course).select_related("version", "course").order_by("pk")
    found = cut_page(rows if visit.staff else rows.filter(visible=True), page)
    found["items"] = [_describe_assignment(visit, offer) for offer in found["items"]]
    return found


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}", Scope.READ, AssignmentOut)
def get_assignment(request: HttpRequest, slug: str, assignment: str) -> dict[str, Any]:
    """Return one assignment."""
    visit = open_visit(request, slug)
    return _describe_assignment(visit, visit.get_offer(assignment))


def _describe_assignment(visit: Visit, offer: Offer) -> dict[str, Any]:
    schedule = attempts.load_schedule(offer, assignment_details.get_assignment(offer).rubric)
    window = schedule and (
        schedule.get_shared_window(attempts.list_group_members(offer, visit.student))
        if visit.student
        else schedule.common
    )
    if visit.student:  # a limited working time starts only when the student opens the assignment
        is_open = assignment_details.get_times(offer, visit.student, "en").open
    else:
        is_open = not (window and window.start and timezone.now() < window.start)
    files = versions.load_digests(offer.version, visit.student) if visit.student and is_open else {}
    result = offer.current_results.filter(student=visit.student)
    return {
        "name": offer.assignment,
        "title": offer.title,
        "version": offer.version.number,
        "visible": offer.visible,
        "published": offer.published_at is not None,
        "opens_at": window.start if window else None,
        "ends_at": window.end if window else None,
        "open": is_open,
        "files": dict(files),
        "feedback": bool(visit.student and offer.published_at and result.exists()),
    }


@add_route(ROUTER, "patch", "/{slug}/assignments/{assignment}", Scope.MANAGE, AssignmentOut)
def change_assignment(
    request: HttpRequest, slug: str, assignment: str, change: AssignmentChange
) -> dict[str, Any]:
    """Show an assignment to students or hide it; publish its marks or withdraw them. For instructors."""
    visit = open_visit(request, slug, Role.INSTRUCTOR)
    offer = visit.get_offer(assignment)
    if change.visible is not None and change.visible != offer.visible:
        offers.set_visible(offer, request.user, wanted=change.visible)
    if change.published is not None and change.published != (offer.published_at is not None):
        rubric = assignment_details.get_assignment(offer).rubric
        offers.set_published(offer, rubric, request.user, wanted=change.published)
    return _describe_assignment(visit, offer)


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/files.zip", Scope.READ, sends="application/zip")
def download_files(request: HttpRequest, slug: str, assignment: str) -> HttpResponseBase:
    """Download the student's released files as a zip archive, in a folder named after the assignment."""
    visit = open_visit(request, slug, Role.STUDENT)
    offer = visit.get_offer(assignment)
    if not assignment_details.get_times(offer, visit.student, choose_language(request)).open:
        raise Http404
    files = versions.load_digests(offer.version, visit.student)
    return FileResponse(pack_files(offer.assignment, files), content_type="application/zip")


@add_route(
    ROUTER,
    "get",
    "/{slug}/assignments/{assignment}/feedback",
    Scope.READ,
    sends="application/octet-stream",
)
def download_feedback(request: HttpRequest, slug: str, assignment: str) -> HttpResponseBase:
    """Download the student's feedback page, once marks are published."""
    visit = open_visit(request, slug, Role.STUDENT)
    offer, page = visit.get_offer(assignment), None
    if offer.published_at is not None:
        page = assignment_details.render_feedback(offer, visit.student, choose_language(request))
    if page is None:
        raise Http404
    mark_changes.record_shown_marks(offer, assignment_details.get_assignment(offer), visit.student)
    # No HTML type: a browser must save this page and not show it under our origin.
    return HttpResponse(page, content_type="application/octet-stream")
