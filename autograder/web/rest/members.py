"""Operations on the members of a course."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from autograder.course import find_name_fault
from autograder.grading.store import Student
from autograder.service import members
from autograder.service.models import Member, Role, Scope
from autograder.service.refusals import RequestRefused
from autograder.web.rest.access import add_route, open_visit
from autograder.web.rest.schemas import ImportedOut, MemberPage, PageChoice, StudentsIn, cut_page

ROUTER = Router(tags=["members"])


@add_route(ROUTER, "get", "/{slug}/members", Scope.READ, MemberPage)
def list_members(
    request: HttpRequest, slug: str, page: Query[PageChoice], role: Role | None = None
) -> dict[str, Any]:
    """List the members of a course, optionally those with a role. For instructors."""
    visit = open_visit(request, slug, Role.INSTRUCTOR)
    rows = Member.objects.filter(course=visit.course).order_by("pk")
    found = cut_page(rows if role is None else rows.filter(role=role), page)
    found["items"] = [_describe_member(member) for member in found["items"]]
    return found


def _describe_member(member: Member) -> dict[str, Any]:
    fields = ("role", "student", "first_name", "last_name", "email")
    described: dict[str, Any] = {name: getattr(member, name) for name in fields}
    return {"id": member.pk, **described, "account": member.account_id is not None}


@add_route(ROUTER, "post", "/{slug}/members", Scope.MANAGE, ImportedOut)
def import_students(request: HttpRequest, slug: str, listed: StudentsIn) -> dict[str, int]:
    """Add students to the class list, or update their names and addresses. For instructors."""
    visit = open_visit(request, slug, Role.INSTRUCTOR)
    for entry in listed.students:
        if fault := find_name_fault(entry.student):
            raise RequestRefused("bad-id", student=repr(entry.student), reason=fault)
    students = [
        Student(entry.student, entry.first_name, entry.last_name, entry.email) for entry in listed.students
    ]
    members.import_students(visit.course, students, request.user)
    return {"count": len(students)}
