"""Operations on the dates of an assignment and the extensions of its students."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest
from ninja import Router

from autograder.service import audit
from autograder.service.models import Offer, Role, Scope
from autograder.web import assignment_settings, late_rule_form
from autograder.web.guard import Visit
from autograder.web.rest.access import add_route, open_visit
from autograder.web.rest.problems import RefusedError
from autograder.web.rest.schemas import ExtensionData, TimesIn, TimesOut

ROUTER = Router(tags=["times"])


@add_route(ROUTER, "get", "/{slug}/assignments/{assignment}/times", Scope.READ, TimesOut)
def get_times(request: HttpRequest, slug: str, assignment: str) -> dict[str, Any]:
    """Return the dates, late rules and extensions of an assignment. For instructors."""
    return open_visit(request, slug, Role.INSTRUCTOR).get_offer(assignment).times


@add_route(ROUTER, "put", "/{slug}/assignments/{assignment}/times", Scope.MANAGE, TimesOut)
def set_times(request: HttpRequest, slug: str, assignment: str, times: TimesIn) -> dict[str, Any]:
    """Replace the dates and late rules; without start and end, extensions are removed as well.

    For instructors.
    """
    with _lock_offer(request, slug, assignment) as (visit, offer):
        terms = times.model_dump(exclude_none=True)
        if times.slip_days is not None:
            terms["slip_days"] = late_rule_form.build_slip_days(
                offer, times.slip_days.days, times.slip_days.most
            )
        assignment_settings.set_terms(visit, offer, terms)
    return get_times(request, slug, assignment)


@add_route(ROUTER, "put", "/{slug}/assignments/{assignment}/extensions/{name}", Scope.MANAGE, TimesOut)
def set_extension(
    request: HttpRequest, slug: str, assignment: str, name: str, extension: ExtensionData
) -> dict[str, Any]:
    """Replace the extension of a student or a group; an empty one removes it. For instructors."""
    with _lock_offer(request, slug, assignment) as (visit, offer):
        if not assignment_settings.find_extension_kind(visit, offer, name):
            raise Http404
        if not offer.times:
            raise RefusedError(422, "no-times")
        terms = extension.model_dump(exclude_none=True)
        assignment_settings.save_extension(visit, offer, name, terms)
    return get_times(request, slug, assignment)


@contextlib.contextmanager
def _lock_offer(request: HttpRequest, slug: str, assignment: str) -> Iterator[tuple[Visit, Offer]]:
    """Return the visit and the assignment, in a transaction that no other change of times can overlap."""
    visit = open_visit(request, slug, Role.INSTRUCTOR)
    with transaction.atomic():
        # A program may send several changes at once, and each writes the whole table.
        audit.lock_log()
        yield visit, visit.get_offer(assignment)
