"""Access control: the role of a visitor in a course, checked on the server for every route."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods
from msgspec import Struct

from autograder.service import audit
from autograder.service.models import Account, CourseRecord, Member, Offer, Role

_RANKS = (Role.STUDENT, Role.TA, Role.HEAD_TA, Role.INSTRUCTOR, Role.ADMINISTRATOR)

View = Callable[..., HttpResponse]


class Visit(Struct, frozen=True):
    """A signed-in user in a course."""

    course: CourseRecord
    role: Role
    student: str
    """The visitor's student id; empty for staff."""
    account: Account

    @property
    def staff(self) -> bool:
        """Whether the visitor is a member of the course staff."""
        return self.role != Role.STUDENT

    def has_role(self, role: Role) -> bool:
        """Decide whether the visitor has this role or a higher one."""
        return _RANKS.index(self.role) >= _RANKS.index(role)

    def get_offer(self, assignment: str) -> Offer:
        """Return an assignment of the course; students only see visible ones.

        Raises:
            Http404: there is none for them.
        """
        offers = Offer.objects.select_related("version", "course").filter(
            course=self.course, assignment=assignment
        )
        offer = offers.first()
        # A hidden assignment looks like a missing one, so that students do not learn of it early.
        if offer is None or not (offer.visible or self.staff):
            raise Http404
        return offer

    def record_action(self, action: str, subject: str, *, before: Any = None, after: Any = None) -> None:
        """Record an action of the visitor in the audit log of the course."""
        audit.record_action(
            self.account.username, action, subject, course=self.course, before=before, after=after
        )


def list_courses(account: Account) -> QuerySet[CourseRecord]:
    """Return the courses that an account can visit."""
    courses = CourseRecord.objects.order_by("title", "pk")
    return courses if account.is_superuser else courses.filter(members__account=account)


def get_visit(request: HttpRequest, slug: str) -> Visit:
    """Return the signed-in user's visit to a course.

    Raises:
        Http404: there is no such course for them. Outsiders must not learn which courses exist.
    """
    course = CourseRecord.objects.filter(slug=slug).first()
    if course is None:
        raise Http404
    # Administrators of the service need not be members of a course.
    role, student = Role.ADMINISTRATOR, ""
    if not request.user.is_superuser:
        member = Member.objects.filter(course=course, account=request.user).first()
        if member is None:
            raise Http404
        role, student = Role(member.role), member.student
    request.visit = Visit(course, role, student, request.user)
    return request.visit


def add_visit(request: HttpRequest) -> dict[str, Any]:
    """Return the visit and the offer, for the templates of all pages of a course."""
    return {name: getattr(request, name) for name in ("visit", "offer") if hasattr(request, name)}


def check_role_of(visit: Visit, least: Role) -> None:
    """Check that a visitor has at least a role.

    Raises:
        PermissionDenied: they do not.
    """
    # A page about a student's own work has no meaning for staff, so their rank does not open it.
    allowed = visit.role == Role.STUDENT if least == Role.STUDENT else visit.has_role(least)
    if not allowed:
        raise PermissionDenied


def require_role(least: Role, *methods: str) -> Callable[[View], View]:
    """Restrict a view of a course to users with at least a role; students' pages are for students alone.

    The view gets the visit, and the offer that the address names the assignment of.

    Args:
        least: the lowest role.
        methods: allowed HTTP methods; default: GET and HEAD.
    """

    def wrap_view(view: View) -> View:
        @functools.wraps(view)
        def check_role(request: HttpRequest, slug: str, **parameters: Any) -> HttpResponse:
            visit = get_visit(request, slug)
            check_role_of(visit, least)
            if "assignment" in parameters:
                request.offer = parameters["offer"] = visit.get_offer(parameters.pop("assignment"))
            return view(request, visit, **parameters)

        # The method is checked first, then the sign-in, then the role.
        checked = require_http_methods(list(methods or ("GET", "HEAD")))(login_required(check_role))
        checked.least = least
        return checked

    return wrap_view


def require_sign_in(*methods: str) -> Callable[[View], View]:
    """Restrict a view to signed-in users; the page is about the user alone."""

    def wrap_view(view: View) -> View:
        checked = require_http_methods(list(methods or ("GET", "HEAD")))(login_required(view))
        checked.least = "signed-in"
        return checked

    return wrap_view


def require_superuser(*methods: str) -> Callable[[View], View]:
    """Restrict a view to administrators of the service."""

    def wrap_view(view: View) -> View:
        @functools.wraps(view)
        def check_user(request: HttpRequest, **parameters: Any) -> HttpResponse:
            if not request.user.is_superuser:
                raise PermissionDenied
            return view(request, **parameters)

        return require_sign_in(*methods)(check_user)

    return wrap_view


def allow_anyone(*methods: str) -> Callable[[View], View]:
    """Open a view to everybody. A view that needs a key or a token checks it itself."""

    def wrap_view(view: View) -> View:
        checked = require_http_methods(list(methods or ("GET", "HEAD")))(view)
        checked.least = "anybody"
        return checked

    return wrap_view
