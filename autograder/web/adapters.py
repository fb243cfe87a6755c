"""Whose account somebody gets whom somebody else has named (`autograder.web.identity`).

Whoever signs in so for the first time becomes the student of the class lists who has their id, or the address
that the other side has verified; whoever has opened an invitation becomes the member who was invited. Nobody
else gets an account.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest

from autograder.service import audit
from autograder.service.models import Account, Member, Role
from autograder.web.account import held_invitation, joined, may_be, named
from autograder.web.identity import IdentityProvider
from autograder.web.student import page


class IdentityAdapter(DefaultSocialAccountAdapter):
    """Decides whose account somebody gets who was never here."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Never: `pre_social_login` has found an account, or there is none."""
        del request, sociallogin
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find the account of somebody whom the other side has named.

        Raises:
            ImmediateHttpResponse: there is none for them; says so.
        """
        if sociallogin.state.get("process", "login") != "login":
            raise Http404
        claims = sociallogin.account.extra_data
        claims = claims.get("userinfo") or claims.get("id_token") or claims
        known: Mapping[str, IdentityProvider] = settings.RUNNING.providers
        app = sociallogin.account.get_provider().app
        with transaction.atomic():
            account = sociallogin.user if sociallogin.is_existing else None
            account = _of_invitation(request, account) or account
            account = _of_lists(known[app.provider_id], claims, account) or account
            if account is None:
                told = page(request, "error.html", {"code": "not-listed"}, status=403)
                raise ImmediateHttpResponse(told)
            if not sociallogin.is_existing:
                sociallogin.connect(request, account)


def _of_invitation(request: HttpRequest, account: Account | None) -> Account | None:
    """The account of whoever has opened an invitation, made where they have none; None: they have not."""
    invitation = held_invitation(request)
    if invitation is None or not may_be(account, invitation.member):
        return None
    account = account or account_for(invitation.member)
    if invitation.member is None:
        account.is_superuser = True
        account.save()
    joined(account, invitation)
    return account


def _of_lists(
    provider: IdentityProvider, claims: Mapping[str, Any], account: Account | None
) -> Account | None:
    """The account of the students on the class lists that somebody is; None: they are on none.

    An account that administers the service is found by nobody's word.
    """
    claim = "name" if provider.kind == "jupyterhub" else provider.student
    value = claims.get(claim)
    if not isinstance(value, str) or not value:
        return None
    if claim == "email":
        if claims.get("email_verified") is not True:
            return None
        own = Member.objects.filter(email__iexact=value)
    else:
        own = Member.objects.filter(student=value)
    own = own.filter(role=Role.STUDENT).exclude(student="")
    members = list(own.select_for_update(of=("self",)).select_related("account", "course"))
    accounts = {one.account_id: one.account for one in members if one.account is not None}
    if account is None and accounts:
        account = next(iter(accounts.values())) if len(accounts) == 1 else None
        if account is None:
            return None  # two accounts for one id: a person has to look
    if account is not None and account.is_superuser:
        return None
    free = [one for one in members if one.account is None]
    if account is None and free:
        account = account_for(free[0])
    for one in free:
        if account is not None and may_be(account, one):
            Member.objects.filter(pk=one.pk).update(account=account)
            audit.note(account.username, "join", one.student, course=one.course)
    return account


def account_for(member: Member | None) -> Account:
    """A new account without a password, named as the class list has it."""
    name = (member.student or member.last_name) if member is not None else "administrator"
    free = (name if not number else f"{name}-{number}" for number in range(1_000_000))
    username = next(one for one in free if not Account.objects.filter(username__iexact=one).exists())
    account = Account(username=username)
    named(account, member)
    account.set_unusable_password()
    account.save()
    return account
