"""Pages about the members of a course: search, add, invite, change, remove, and reset their access."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.contrib import messages as notices
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from autograder.app.class_lists import read_students, sanitise_name
from autograder.core.errors import CourseError
from autograder.course import find_name_fault
from autograder.exchange.platforms.csv_files import CsvTable, write_table
from autograder.service import audit, members
from autograder.service.models import Account, CourseRecord, Member, PlatformCourse, Role
from autograder.web import assignment_details, tables
from autograder.web.account import create_invitation, create_invitations
from autograder.web.guard import Visit, require_role
from autograder.web.responses import make_download, render_page, stop_cutting
from autograder.web.site import choose_language, get_words

REMOVED = "removed"
"""Filters the list for removed members."""
_ROLES = tuple(map(str, Role))
_NEW_LINK = "new-link"
"""Session key: the member, the link and its end, until the page of the member has shown them once."""


class MemberForm(forms.ModelForm):
    """The role, the id, the name and the address of a member.

    Args:
        visit: of the person who fills it in.
        say: translates sentences.
    """

    role = forms.ChoiceField()

    class Meta:
        """All fields that staff enter."""

        model = Member
        fields = members.FIELDS

    def __init__(self, visit: Visit, say: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._visit, self._say = visit, say
        self._id_before = self.instance.student
        stop_cutting(self)
        self.fields["role"].choices = [(role, say(f"role-{role}")) for role in list_roles(visit)]

    def clean(self) -> dict[str, Any]:
        """Check the id: a student needs one, which nobody else has and which never changes.

        Staff need a name or an address, by which others recognise them.
        """
        values = super().clean()
        if values.get("role") != Role.STUDENT:
            named = any(values.get(name) for name in ("first_name", "last_name", "email"))
            if not (named or self.errors):
                self.add_error("last_name", self._say("member-nameless"))
            return {**values, "student": ""}
        student = values.get("student", "")
        if fault := find_name_fault(student):
            self.add_error("student", self._say("member-bad-id", reason=fault))
        elif self._id_before and student != self._id_before:
            # Attempts and marks belong to the id.
            self.add_error("student", self._say("member-same-id"))
        elif self._find_others(student).exists():
            self.add_error("student", self._say("member-id-taken", student=student))
        return values

    def _find_others(self, student: str) -> QuerySet[Member]:
        return Member.everyone.filter(course=self._visit.course, student=student).exclude(pk=self.instance.pk)

    def clean_first_name(self) -> str:
        """Return the name without characters that could act or hide text elsewhere."""
        return sanitise_name(self.cleaned_data["first_name"])

    def clean_last_name(self) -> str:
        """Return the name as `clean_first_name` does."""
        return sanitise_name(self.cleaned_data["last_name"])


def list_roles(visit: Visit) -> list[str]:
    """Return the roles that the visitor may give and take away.

    Instructors manage students, TAs and head TAs; administrators of the course manage everybody.
    """
    return [
        role.value
        for role in Role
        if visit.role == Role.ADMINISTRATOR or role not in {Role.INSTRUCTOR, Role.ADMINISTRATOR}
    ]


def _may_manage(request: HttpRequest, visit: Visit, member: Member) -> bool:
    """Decide whether the visitor may change a member: of a role they may give, and not themselves."""
    return member.role in list_roles(visit) and (member.account is None or member.account != request.user)


def _find_member(visit: Visit, number: int) -> Member:
    rows = Member.everyone.select_related("account", "course")
    return get_object_or_404(rows, pk=number, course=visit.course)


@contextmanager
def _lock_managed(
    request: HttpRequest, visit: Visit, number: int, *, removed: bool = False
) -> Iterator[Member]:
    """Lock a member whom the visitor may change.

    Raises:
        Http404: there is none, or the member is removed (or is not, if ``removed``).
        PermissionDenied: the visitor may not change this member.
    """
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.lock_log()
        rows = Member.everyone.select_for_update(of=("self",)).select_related("account", "course")
        member = rows.filter(course=visit.course, pk=number).first()
        if member is None or (member.removed_at is not None) != removed:
            raise Http404
        # Checked on the locked row, so that a role that changes meanwhile is respected.
        if not _may_manage(request, visit, member):
            raise PermissionDenied
        yield member


@require_role(Role.INSTRUCTOR)
def show_members(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the members of the course; a search and a role narrow them down."""
    return _render_list(request, visit, MemberForm(visit, get_words(request)["t"]))


def _render_list(request: HttpRequest, visit: Visit, form: MemberForm) -> HttpResponse:
    role = request.GET.get("role", "")
    columns: dict[str, Callable[[Member], Any]] = {
        "name": lambda member: (
            *map(tables.fold_text, (member.last_name, member.first_name)),
            member.student,
        ),
        "student": lambda member: member.student,
        "role": lambda member: (_ROLES.index(member.role), member.student, member.last_name),
        "email": lambda member: member.email,
        "account": lambda member: member.account.username if member.account else "",
    }
    context = {
        "table": tables.build_table(
            request, _list_members(visit.course, role), columns, _get_searched_text, {"role": role}
        ),
        "enrolled": Member.objects.filter(course=visit.course, role=Role.STUDENT).exists(),
        "role": role,
        "roles": [*_ROLES, REMOVED],
        "form": form,
        "uninvited": _find_uninvited(visit).count(),
        "platforms": PlatformCourse.objects.filter(course=visit.course).select_related(
            "context__deployment__registration"
        ),
    }
    return render_page(request, "members.html", context)


def _list_members(course: CourseRecord, role: str) -> QuerySet[Member]:
    """Return the members of a role; all members if it is none."""
    rows = Member.everyone.filter(course=course, removed_at__isnull=role != REMOVED)
    if role in _ROLES:
        rows = rows.filter(role=role)
    return rows.select_related("account").order_by("pk")


def _get_searched_text(member: Member) -> str:
    account = member.account.username if member.account else ""
    return f"{member.student} {member.first_name} {member.last_name} {member.email} {account}"


def _find_uninvited(visit: Visit) -> QuerySet[Member]:
    """Return the members without an account whom the visitor may invite."""
    return Member.objects.filter(course=visit.course, account=None, role__in=list_roles(visit))


@require_role(Role.INSTRUCTOR, "POST")
def add_member(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Add a member, and lead to their page with the link with which they create an account."""
    form = MemberForm(visit, get_words(request)["t"], request.POST, instance=Member(course=visit.course))
    with transaction.atomic():
        audit.lock_log()  # two forms with the same id are checked one after the other
        if not form.is_valid():
            return _render_list(request, visit, form)
        member = form.save()
        members.record_change(request.user, "add member", member, after=members.describe_member(member))
    return _create_link(request, visit, member)


@require_role(Role.INSTRUCTOR, "POST")
def import_list(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Import a class list; members who are already on it keep their accounts, removed ones are restored."""
    say, sent = get_words(request), request.FILES.get("list")
    if sent is None:
        notices.error(request, say["t"]("no-files"))
        return redirect("members", slug=visit.course.slug)
    try:
        students = read_students(sent.read())
    except CourseError as error:
        notices.error(request, say["t"]("bad-list", reason=error.text))
    else:
        changed = members.import_students(visit.course, students, request.user)
        notices.info(request, say["counted"]("list-imported", len(students), changed=changed))
    return redirect("members", slug=visit.course.slug)


@require_role(Role.INSTRUCTOR, "POST")
def invite_everybody(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Create a link for each member without an account; return all of them as a CSV file for a mail merge."""
    uninvited = list(_find_uninvited(visit).order_by("role", "student", "pk"))
    with transaction.atomic():
        after = list(map(members.get_name, uninvited))
        visit.record_action("invite everybody", visit.course.slug, after=after)
        links = create_invitations(uninvited)
    rows = tuple(
        (
            *(member.role, member.student, member.first_name, member.last_name, member.email),
            request.build_absolute_uri(links[member.pk]),
        )
        for member in uninvited
    )
    # As spreadsheet programs and their mail merges read it, with umlauts.
    table = CsvTable((*members.FIELDS, "link"), rows, (), ";", marked=True)
    return make_download(write_table(table), f"{visit.course.slug}-invitations.csv")


@require_role(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def show_member(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Show a member. A POST changes role, id, name and address."""
    if request.method != "POST":
        return _render_member(request, visit, _find_member(visit, member))
    with _lock_managed(request, visit, member) as locked:
        before = members.describe_member(locked)
        form = MemberForm(visit, get_words(request)["t"], request.POST, instance=locked)
        if form.is_valid():
            changed = form.save()
            after = members.describe_member(changed)
            members.record_change(request.user, "change member", changed, before=before, after=after)
    if not form.is_valid():
        return _render_member(request, visit, _find_member(visit, member), form=form)
    notices.info(request, get_words(request)["t"]("member-saved"))
    return redirect("member", slug=visit.course.slug, member=locked.pk)


def _render_member(
    request: HttpRequest,
    visit: Visit,
    member: Member,
    *,
    form: MemberForm | None = None,
) -> HttpResponse:
    say, account = get_words(request)["t"], member.account
    context = {
        "member": member,
        "name": _get_full_name(member),
        "form": form or MemberForm(visit, say, instance=member),
        "manages": _may_manage(request, visit, member),
        "resets": bool(request.user.is_superuser and account and not account.is_superuser),
        "has_factor": bool(account and is_mfa_enabled(account)),
        **_take_link(request, member),
        "when": assignment_details.make_course_time_formatter(visit.course, choose_language(request)),
    }
    return render_page(request, "member.html", context)


def _get_full_name(member: Member) -> str:
    account = member.account.username if member.account else ""
    name = f"{member.first_name} {member.last_name}".strip()
    return name or member.student or member.email or account or "–"


@require_role(Role.INSTRUCTOR, "POST")
def remove_member(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Remove a member: sessions and keys end at once, attempts and marks stay."""
    with _lock_managed(request, visit, member) as locked:
        members.remove_member(locked, request.user)
    notices.info(request, get_words(request)["t"]("member-removed", name=members.get_name(locked)))
    return redirect("members", slug=visit.course.slug)


@require_role(Role.INSTRUCTOR, "POST")
def restore_member(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Add a removed member again; they need a new link."""
    with _lock_managed(request, visit, member, removed=True) as locked:
        members.restore_member(locked, request.user)
    notices.info(request, get_words(request)["t"]("member-restored", name=members.get_name(locked)))
    return redirect("member", slug=visit.course.slug, member=locked.pk)


@require_role(Role.INSTRUCTOR, "POST")
def invite_member(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member creates an account. It is shown only once."""
    # An instructor must not hand out a role that they may not assign.
    return _create_link(request, visit, get_object_or_404(_find_uninvited(visit), pk=member))


def _create_link(
    request: HttpRequest, visit: Visit, member: Member, account: Account | None = None
) -> HttpResponse:
    link, invitation = create_invitation(member, account)
    members.record_change(request.user, "link for a password" if account else "invite", member)
    absolute = request.build_absolute_uri(link)
    # Shown after a redirect, so that a reload neither repeats the form nor replaces the link.
    request.session[_NEW_LINK] = [member.pk, absolute, invitation.expires_at.isoformat()]
    return redirect("member", slug=visit.course.slug, member=member.pk)


def _take_link(request: HttpRequest, member: Member) -> dict[str, Any]:
    """Return a link that was just created for a member, once."""
    number, link, until = request.session.get(_NEW_LINK, (0, "", ""))
    if number != member.pk or request.method != "GET":
        return {"link": ""}
    del request.session[_NEW_LINK]
    return {"link": link, "until": datetime.fromisoformat(until)}


def _find_account(request: HttpRequest, visit: Visit, number: int) -> tuple[Member, Account]:
    """Return a member whose sign-in only administrators of the service may reset, with the account.

    The account may open other courses too, so that an administrator of this course is not enough.

    Raises:
        PermissionDenied: the visitor is no administrator of the service.
        Http404: there is no such member with an account, or it is an administrator's.
    """
    if not request.user.is_superuser:
        raise PermissionDenied
    rows = Member.objects.select_related("account", "course").filter(account__is_superuser=False)
    member = get_object_or_404(rows, pk=number, course=visit.course)
    if member.account is None:
        raise Http404
    return member, member.account


@require_role(Role.ADMINISTRATOR, "POST")
def reset_password(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Create a link with which a member sets a new password. It is shown only once."""
    course_member, account = _find_account(request, visit, member)
    return _create_link(request, visit, course_member, account)


@require_role(Role.ADMINISTRATOR, "POST")
def reset_second_factor(request: HttpRequest, visit: Visit, member: int) -> HttpResponse:
    """Remove a member's second factor, for example because the phone is lost; all sessions end."""
    course_member, account = _find_account(request, visit, member)
    with transaction.atomic():
        members.record_change(request.user, "reset second factor", course_member)
        members.reset_second_factor(account)
    notices.info(request, get_words(request)["t"]("factor-reset", name=members.get_name(course_member)))
    return redirect("member", slug=visit.course.slug, member=course_member.pk)
