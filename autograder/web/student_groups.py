"""Pages on which instructors form and change the groups of an assignment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from django.contrib import messages as notices
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from autograder.core.errors import CourseError
from autograder.core.wording import join_phrases
from autograder.course import group_list
from autograder.service import audit, student_groups
from autograder.service.models import Member, Offer, Role
from autograder.service.refusals import ActionRefused
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_page
from autograder.web.site import get_words

_BETWEEN = re.compile(r"[\s,;]+")
_MOST_BYTES = 1 << 20


@require_role(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def show_student_groups(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the groups, each with a form. A POST changes one group, or replaces all by those of a file."""
    # A refused form is shown again as it was typed.
    if request.method == "POST" and _change_groups(request, visit, offer):
        return HttpResponseRedirect(request.path)
    members = Member.objects.filter(course=visit.course, role=Role.STUDENT).order_by("student")
    names = {entry.student: f"{entry.first_name} {entry.last_name}".strip() for entry in members}
    grouped = {student for group_members in offer.groups.values() for student in group_members}
    context = {
        "groups": [
            (name, ", ".join(group_members), [names.get(entry, "") for entry in group_members])
            for name, group_members in sorted(offer.groups.items())
        ],
        "alone": [(who, name) for who, name in names.items() if who not in grouped],
    }
    return render_page(request, "student_groups.html", context)


def _change_groups(request: HttpRequest, visit: Visit, offer: Offer) -> bool:
    """Change the groups, and notify the user of the result; return whether they were accepted."""
    say = get_words(request)
    try:
        with transaction.atomic():
            audit.lock_log()  # serialises changes of groups
            offer.refresh_from_db(fields=["groups"])
            wanted = _read_groups(request, offer)
            after = {name: list(group_members) for name, group_members in wanted.items() if group_members}
            visit.record_action("groups", offer.assignment, before=offer.groups, after=after)
            concerned = student_groups.set_groups(
                offer, assignment_details.get_assignment(offer).rubric, wanted
            )
    except (ActionRefused, CourseError) as error:
        notices.error(request, say["t"]("refused", reason=error.text))
    else:
        notices.success(request, say["counted"]("groups-changed", len(concerned)))
        return True
    return False


def _read_groups(request: HttpRequest, offer: Offer) -> Mapping[str, list[str]]:
    """Return all groups as the form or file requests them.

    Raises:
        ActionRefused: a new group has no name, or one that is in use.
        CourseError: a file cannot be read.
    """
    sent = request.FILES.get("list")
    if sent is not None:
        return _parse_file(sent.read(_MOST_BYTES), offer)
    name = request.POST.get("group", "").strip()
    if not name or ("new" in request.POST and name in offer.groups):
        raise ActionRefused("groups-name", group=name)
    group_members = [member for member in _BETWEEN.split(request.POST.get("members", "")) if member]
    return {**offer.groups, name: group_members}


def _parse_file(data: bytes, offer: Offer) -> Mapping[str, list[str]]:
    """Parse the groups from a file such as ``groups.csv``.

    Raises:
        CourseError: as for `group_list.read_memberships`, or a student is in two groups.
    """
    names = Offer.objects.filter(course=offer.course).values_list("assignment", flat=True)
    lines = group_list.read_memberships(Path("groups.csv"), list(names), data)
    if faults := group_list.list_duplicates(lines, offer.assignment):
        raise CourseError(join_phrases(faults))
    return {group.name: list(group.members) for group in group_list.build_groups(lines, offer.assignment)}
