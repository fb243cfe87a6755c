"""Pages on which instructors form and change the groups of an assignment."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from django.contrib import messages as notices
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from autograder.course import groups
from autograder.errors import CourseError
from autograder.service import audit, teams
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import Member, Offer, Role
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import words
from autograder.web.student import page

_BETWEEN = re.compile(r"[\s,;]+")
_MOST_BYTES = 1 << 20


@course_page(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def student_groups(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show the groups, each with a form. A POST changes one group, or replaces all by those of a file."""
    offer = visit.offer(assignment)
    if request.method == "POST":
        _change(request, visit, offer)
        return HttpResponseRedirect(request.path)
    members = Member.objects.filter(course=visit.course, role=Role.STUDENT).order_by("student")
    names = {one.student: f"{one.first_name} {one.last_name}".strip() for one in members}
    grouped = {student for own in offer.groups.values() for student in own}
    context = {
        "visit": visit,
        "offer": offer,
        "groups": [
            (name, ", ".join(own), [names.get(one, "") for one in own])
            for name, own in sorted(offer.groups.items())
        ],
        "alone": [(who, name) for who, name in names.items() if who not in grouped],
    }
    return page(request, "student_groups.html", context)


def _change(request: HttpRequest, visit: Visit, offer: Offer) -> None:
    """Change the groups, and notify the user of the result."""
    say = words(request)
    try:
        with transaction.atomic():
            audit.hold()  # serialises changes of groups
            offer.refresh_from_db(fields=["groups"])
            wanted = _wanted(request, offer)
            after = {name: list(own) for name, own in wanted.items() if own}
            user, before = request.user.username, offer.groups
            audit.note(user, "groups", offer.assignment, course=visit.course, before=before, after=after)
            concerned = teams.form(offer, shown.loaded(offer).rubric, wanted)
    except NotTaken as error:
        notices.error(request, say["t"]("refused", reason=say["t"](error.code, **error.params)))
    except CourseError as error:
        notices.error(request, say["t"]("refused", reason=str(error)))
    else:
        notices.info(request, say["counted"]("groups-changed", len(concerned)))


def _wanted(request: HttpRequest, offer: Offer) -> Mapping[str, list[str]]:
    """Return all groups as the form or file requests them.

    Raises:
        NotTaken: a new group has no name, or one that is in use.
        CourseError: a file cannot be read.
    """
    sent = request.FILES.get("list")
    if sent is not None:
        return _listed(sent.read(_MOST_BYTES), offer)
    name = request.POST.get("group", "").strip()
    if not name or ("new" in request.POST and name in offer.groups):
        raise NotTaken("groups-name", group=name)
    own = [one for one in _BETWEEN.split(request.POST.get("members", "")) if one]
    return {**offer.groups, name: own}


def _listed(data: bytes, offer: Offer) -> Mapping[str, list[str]]:
    """Parse the groups from a file such as ``groups.csv``.

    Raises:
        CourseError: as for `groups.read_memberships`, or a student is in two groups.
    """
    names = Offer.objects.filter(course=offer.course).values_list("assignment", flat=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "groups.csv"
        path.write_bytes(data)
        try:
            lines = groups.read(path, list(names))
        except CourseError as error:
            # The temporary folder's name would mean nothing to the user.
            raise CourseError(str(error).replace(f"{folder}/", "")) from error
    if faults := groups.twice(lines, offer.assignment):
        raise CourseError("; ".join(faults))
    return {one.name: list(one.members) for one in groups.of_assignment(lines, offer.assignment)}
