"""Operations of data protection, for administrators of the service."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router

from autograder.service.models import Scope
from autograder.service.protection import erasure, people
from autograder.service.protection.people import Kind
from autograder.web.people import get_person, send_export
from autograder.web.rest.access import add_route, check_superuser
from autograder.web.rest.schemas import MOST_ITEMS, ErasedOut, PeopleChoice, PersonOut

ROUTER = Router(tags=["people"])


@add_route(ROUTER, "get", "", Scope.MANAGE, list[PersonOut])
def search_people(request: HttpRequest, choice: Query[PeopleChoice]) -> list[dict[str, Any]]:
    """List persons whose name, id or address contains a text."""
    check_superuser(request)
    return [
        {
            "kind": person.kind,
            "number": person.number,
            "name": person.name,
            "courses": [member.course.slug for member in person.members],
        }
        for person in people.search_people(choice.search, MOST_ITEMS)
    ]


@add_route(ROUTER, "get", "/{kind}/{number}/data.zip", Scope.MANAGE, sends="application/zip")
def export_person(request: HttpRequest, kind: Kind, number: int) -> HttpResponseBase:
    """Download everything that the service has about a person: ``data.json`` and the submitted files."""
    check_superuser(request)
    return send_export(request, get_person(kind, number))


@add_route(ROUTER, "delete", "/{kind}/{number}", Scope.MANAGE, ErasedOut)
def erase_person(request: HttpRequest, kind: Kind, number: int) -> dict[str, str]:
    """Erase a person's data. This cannot be undone."""
    check_superuser(request)
    person = get_person(kind, number)
    if person.account == request.user:
        raise PermissionDenied
    return {"pseudonym": erasure.erase_person(person, request.user.username)}
