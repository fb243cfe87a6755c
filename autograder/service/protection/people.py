"""The persons whose data the service has: an account with its memberships, or a member without an account.

A member who was removed from a course is one without an account: the work is still there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from django.db.models import Q, QuerySet
from msgspec import Struct

from autograder.service.models import Account, CourseRecord, Member

Kind = Literal["account", "member"]


class DataSubject(Struct, frozen=True, eq=False):
    """A person, by their account or by the membership that has none."""

    account: Account | None
    members: tuple[Member, ...]

    @property
    def kind(self) -> Kind:
        """How the person is identified."""
        return "member" if self.account is None else "account"

    @property
    def number(self) -> int:
        """The number of the account or of the member."""
        return int(self.members[0].pk if self.account is None else self.account.pk)

    @property
    def name(self) -> str:
        """What an administrator knows the person by: the user name, or the student's id or name."""
        if self.account is not None:
            return str(self.account.username)
        member = self.members[0]
        return str(member.student or f"{member.first_name} {member.last_name}".strip())

    @property
    def students(self) -> tuple[tuple[CourseRecord, str], ...]:
        """The courses in which the person is a student, with the student's id."""
        return tuple((member.course, member.student) for member in self.members if member.student)

    def collect_words(self) -> frozenset[str]:
        """Return the ids, names and addresses by which texts may mention the person."""
        rows: list[Account | Member] = [*self.members]
        words = {member.student for member in self.members}
        if self.account is not None:
            rows.append(self.account)
            words.add(self.account.username)
        for row in rows:
            # A last name alone may be a classmate's; staff who were added by one name have no other.
            words |= {row.email, f"{row.first_name} {row.last_name}".strip() if row.first_name else ""}
        words |= {member.last_name for member in self.members if not member.student}
        return frozenset(words - {"", "-"})


def find_person(kind: Kind, number: int) -> DataSubject | None:
    """Return a person; None: there is none, or a member has an account and is found by that."""
    if kind == "account":
        account = Account.objects.filter(pk=number).first()
        return _build_person(account) if account else None
    member = Member.everyone.filter(pk=number, account=None).select_related("course").first()
    return DataSubject(None, (member,)) if member else None


def _build_person(account: Account) -> DataSubject:
    return DataSubject(account, tuple(account.memberships.select_related("course").order_by("pk")))


def search_people(text: str, most: int) -> list[DataSubject]:
    """Return the persons with a name, id or address that contains a text."""
    members = Member.everyone.filter(_contains(("student", "first_name", "last_name", "email"), text))
    accounts = Account.objects.filter(
        _contains(("username", "first_name", "last_name", "email"), text) | Q(memberships__in=members)
    )
    unclaimed: QuerySet[Member] = members.filter(account=None).select_related("course").order_by("pk")
    accounted = [_build_person(account) for account in accounts.distinct().order_by("username")[:most]]
    return [*accounted, *(DataSubject(None, (member,)) for member in unclaimed[:most])][:most]


def _contains(fields: Iterable[str], text: str) -> Q:
    matches = Q()
    for field in fields:
        matches |= Q(**{f"{field}__icontains": text})
    return matches
