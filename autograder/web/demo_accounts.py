"""Accounts for trying out a service."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from django.db import transaction

from autograder.service.models import Account, CourseRecord, Member, Offer, Role

_NAME = "Demo"


def create_accounts(slug: str) -> Iterator[str]:
    """Create an account for a student and an instructor, or give them new passwords; yield how to sign in.

    All assignments of the course become visible.
    """
    course = CourseRecord.objects.get(slug=slug)
    Offer.objects.filter(course=course).update(visible=True)
    yield "accounts for trying it; they get new passwords at each start:"
    for role in (Role.STUDENT, Role.INSTRUCTOR):
        # Random at each start: a trial service has no well-known password.
        password = secrets.token_urlsafe(9)
        with transaction.atomic():
            account = _find_or_create_account(f"{slug}-{role}")
            account.set_password(password)
            account.save()
            member = _find_or_create_member(course, account, role)
        name = f" ({member.student})" if member.student else ""
        yield f"{member.role}{name}: sign in as {account.username} with the password {password}"


def _find_or_create_account(name: str) -> Account:
    # Names are unique regardless of case.
    account: Account | None = Account.objects.filter(username__iexact=name).first()
    return account or Account.objects.create(username=name)


def _find_or_create_member(course: CourseRecord, account: Account, role: Role) -> Member:
    """Return the account's member, as at earlier starts, or else a free one; nobody loses an account."""
    members = Member.objects.filter(course=course)
    free = members.filter(role=role, account=None)
    if role != Role.STUDENT:
        free = free.filter(first_name=_NAME)
    member = members.filter(account=account).first() or free.order_by("student", "pk").first()
    if member is None:
        names = {"first_name": _NAME, "last_name": role.value.title()}
        student = _find_free_id(course) if role == Role.STUDENT else ""
        member = Member.objects.create(course=course, role=role, student=student, **names)
    if member.account is None:
        member.account = account
        member.save(update_fields=["account"])
    return member


def _find_free_id(course: CourseRecord) -> str:
    """Return a student id that nobody in the course has or had."""
    taken = set(Member.everyone.filter(course=course).values_list("student", flat=True))
    number = 1
    while f"demo-{number}" in taken:
        number += 1
    return f"demo-{number}"
