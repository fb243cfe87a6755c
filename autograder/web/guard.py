"""Who somebody is in a course, and what they may see of it. Decided here, for every route, on the server."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods
from msgspec import Struct

from autograder.service.models import CourseRecord, Member, Offer, Role

_RANKS = (Role.STUDENT, Role.TA, Role.HEAD_TA, Role.INSTRUCTOR, Role.ADMINISTRATOR)

View = Callable[..., HttpResponse]


class Visit(Struct, frozen=True):
    """Somebody in a course."""

    course: CourseRecord
    role: Role
    student: str
    """Their own id; empty for staff."""

    @property
    def staff(self) -> bool:
        """Whether they help to run the course."""
        return self.role != Role.STUDENT

    def at_least(self, role: Role) -> bool:
        """Whether they may do what this role may."""
        return _RANKS.index(self.role) >= _RANKS.index(role)

    def offer(self, assignment: str) -> Offer:
        """An assignment of the course; students see those that are visible.

        Raises:
            Http404: there is none for them.
        """
        found = Offer.objects.select_related("version", "course").filter(
            course=self.course, assignment=assignment
        )
        offer = found.first()
        if offer is None or not (offer.visible or self.staff):
            raise Http404
        return offer


def visit_of(request: HttpRequest, slug: str) -> Visit:
    """Who the signed-in person is in a course.

    Raises:
        Http404: there is no such course for them: whoever does not belong to it does not learn that it is.
    """
    course = CourseRecord.objects.filter(slug=slug).first()
    if course is None:
        raise Http404
    if request.user.is_superuser:
        return Visit(course, Role.ADMINISTRATOR, "")
    member = Member.objects.filter(course=course, account=request.user).first()
    if member is None:
        raise Http404
    return Visit(course, Role(member.role), member.student)


def course_page(least: Role, *methods: str) -> Callable[[View], View]:
    """A page of a course, for whoever has at least a role in it; students' pages are for students alone.

    Args:
        least: the role.
        methods: of HTTP; default: GET.
    """

    def guarded(view: View) -> View:
        @functools.wraps(view)
        def answer(request: HttpRequest, slug: str, **rest: Any) -> HttpResponse:
            visit = visit_of(request, slug)
            allowed = visit.role == Role.STUDENT if least == Role.STUDENT else visit.at_least(least)
            if not allowed:
                raise PermissionDenied
            return view(request, visit, **rest)

        checked = require_http_methods(list(methods or ("GET", "HEAD")))(login_required(answer))
        checked.least = least
        return checked

    return guarded


def own_page(*methods: str) -> Callable[[View], View]:
    """A page about the signed-in person alone."""

    def guarded(view: View) -> View:
        checked = require_http_methods(list(methods or ("GET", "HEAD")))(login_required(view))
        checked.least = "signed-in"
        return checked

    return guarded


def open_page(*methods: str) -> Callable[[View], View]:
    """A page for everybody; what it needs, such as a key, it asks for itself."""

    def guarded(view: View) -> View:
        checked = require_http_methods(list(methods or ("GET", "HEAD")))(view)
        checked.least = "anybody"
        return checked

    return guarded
