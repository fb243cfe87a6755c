"""Signed-in users of every role in a course with the small assignment."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from autograder.app import open_course
from tests.service import course as courses

if TYPE_CHECKING:
    from django.test import Client

    from autograder.service.models import Account, CourseRecord, Offer

ROLES = ("nobody", "stranger", "student", "ta", "head-ta", "instructor", "administrator", "superuser")
"""Not signed in; in no course; each role of a course; the administrator of the service."""
PASSWORD = "a long enough passphrase"


class Small(Struct, frozen=True, eq=False):
    """A course with one offered assignment."""

    record: CourseRecord
    offer: Offer
    folder: Path

    @property
    def base(self) -> str:
        """Return the address of the course."""
        return f"/app/c/{self.record.slug}/"

    def account(self, role: str, student: str = "") -> Account | None:
        """Return the account of a role, creating it if needed."""
        from autograder.service.models import Account, Member

        if role == "nobody":
            return None
        name = f"{self.record.slug}-{student or role}"
        account, new = Account.objects.get_or_create(username=name, is_superuser=role == "superuser")
        if new:
            account.set_password(PASSWORD)
            account.save()
            if role not in {"stranger", "superuser"}:
                who = (student or "ada") if role == "student" else ""
                Member.objects.update_or_create(
                    course=self.record,
                    **({"student": who} if who else {"account": account}),
                    defaults={"account": account, "role": role},
                )
        return account

    def client(self, role: str = "student", student: str = "", **options: Any) -> Client:
        """Return a browser of a user."""
        from django.test import Client

        client = Client(**options)
        account = self.account(role, student)
        if account is not None:
            client.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
        return client


def small(record: CourseRecord, folder: Path) -> Small:
    """Return the course with the assignment of a folder."""
    record.secret = open_course(folder).load_secret()
    record.save()
    return Small(record, courses.offered(record, folder), folder)


def statuses_near_expiry(patch: pytest.MonkeyPatch, address: str, client: Client) -> list[int]:
    """Return the statuses of a frame's address a minute before and after it expires."""
    from autograder.web.responses import FRAME_SECONDS

    statuses = []
    for passed in (FRAME_SECONDS - 60, FRAME_SECONDS + 60):
        with patch.context() as patched:
            patched.setattr("django.core.signing.time", SimpleNamespace(time=lambda: time.time() + passed))  # noqa: B023
            statuses.append(client.get(address).status_code)
    return statuses
