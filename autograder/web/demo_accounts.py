"""Accounts for trying out a service."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from autograder.service.models import Account, CourseRecord, Member, Offer, Role


def create_accounts(slug: str) -> Iterator[str]:
    """Create an account for a student and an instructor, or give them new passwords; yield how to sign in.

    All assignments of the course become visible.
    """
    course = CourseRecord.objects.get(slug=slug)
    Offer.objects.filter(course=course).update(visible=True)
    student = Member.objects.filter(course=course, role=Role.STUDENT).order_by("student").first()
    staff, _ = Member.objects.get_or_create(
        course=course, role=Role.INSTRUCTOR, last_name="Instructor", defaults={"first_name": "Demo"}
    )
    yield "accounts for trying it; they get new passwords at each start:"
    for who, member in (("student", student), ("instructor", staff)):
        if member is not None:
            # Random at each start: a trial service has no well-known password.
            password = secrets.token_urlsafe(9)
            account, _ = Account.objects.get_or_create(username=f"{slug}-{who}")
            account.set_password(password)
            account.save()
            Member.objects.filter(pk=member.pk).update(account=account)
            name = f" ({member.student})" if member.student else ""
            yield f"{who}{name}: sign in as {account.username} with the password {password}"
