"""Decides which account a sign-in through an identity provider leads to (`autograder.web.identity`).

On the first sign-in, a user becomes the student on the class lists with the same id, or with the same
verified address; a user who has opened an invitation becomes the invited member. Everybody else is refused.
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
from autograder.web.account import accept_invitation, copy_details, may_become, take_invitation
from autograder.web.identity import IdentityProvider
from autograder.web.responses import render_page


class IdentityAdapter(DefaultSocialAccountAdapter):
    """Chooses the account of a user who signs in through a provider."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return False: either `pre_social_login` has found an account, or there is none."""
        del request, sociallogin
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find the account of a user whom an identity provider has authenticated.

        Raises:
            ImmediateHttpResponse: there is no account for them; the response says so.
        """
        if sociallogin.state.get("process", "login") != "login":
            raise Http404
        providers: Mapping[str, IdentityProvider] = settings.RUNNING.providers
        provider = providers[sociallogin.account.get_provider().app.provider_id]
        claims = _get_claims(provider, sociallogin.account.extra_data)
        with transaction.atomic():
            account = sociallogin.user if sociallogin.is_existing else None
            account = _find_by_invitation(request, account) or account
            account = _find_on_class_lists(provider, claims, account) or account
            if account is None:
                response = render_page(request, "error.html", {"code": "not-listed"}, status=403)
                raise ImmediateHttpResponse(response)
            if not sociallogin.is_existing:
                sociallogin.connect(request, account)


def _get_claims(provider: IdentityProvider, received: Mapping[str, Any]) -> Mapping[str, Any]:
    if provider.kind == "saml":
        # An attribute with several values identifies nobody.
        return {name: values[0] for name, values in received.items() if len(values) == 1}
    # OpenID Connect nests the claims under one of two keys; plain OAuth 2 providers do not.
    claims: Mapping[str, Any] = received.get("userinfo") or received.get("id_token") or received
    return claims


def _find_by_invitation(request: HttpRequest, account: Account | None) -> Account | None:
    """Return the account for the invitation that this session has opened, creating one if needed.

    Returns None if no valid invitation was opened, or the account cannot accept it.
    """
    invitation = take_invitation(request)
    if invitation is None or not may_become(account, invitation.member):
        return None
    account = account or create_account(invitation.member)
    if invitation.member is None:
        account.is_superuser = True
        account.save()
    accept_invitation(account, invitation)
    return account


def _find_on_class_lists(
    provider: IdentityProvider, claims: Mapping[str, Any], account: Account | None
) -> Account | None:
    """Return the account of the student on the class lists whom the claims identify, or None.

    Never returns an administrator's account: the claims of an outside provider are not enough for it.
    """
    claim = "name" if provider.kind == "jupyterhub" else provider.student
    value = claims.get(claim)
    if not isinstance(value, str) or not value:
        return None
    if claim == "email":
        # An unverified address is a mere statement of the user and would allow impersonation.
        if claims.get("email_verified") is not True:
            return None
        rows = Member.objects.filter(email__iexact=value)
    else:
        rows = Member.objects.filter(student=value)
    rows = rows.filter(role=Role.STUDENT).exclude(student="")
    # Lock the members only: PostgreSQL cannot lock the nullable side of the join to accounts.
    members = list(rows.select_for_update(of=("self",)).select_related("account", "course"))
    accounts = {member.account_id: member.account for member in members if member.account is not None}
    if account is None and accounts:
        account = next(iter(accounts.values())) if len(accounts) == 1 else None
        if account is None:
            return None  # two accounts for one id: staff must resolve it
    if account is not None and account.is_superuser:
        return None
    free = [member for member in members if member.account is None]
    if account is None and free:
        account = create_account(free[0])
    for member in free:
        if account is not None and may_become(account, member):
            Member.objects.filter(pk=member.pk).update(account=account)
            audit.record_action(account.username, "join", member.student, course=member.course)
    return account


def create_account(member: Member | None) -> Account:
    """Create an account without a password, named as on the class list."""
    name = (member.student or member.last_name) if member is not None else "administrator"
    free = (name if not number else f"{name}-{number}" for number in range(1_000_000))
    username = next(
        candidate for candidate in free if not Account.objects.filter(username__iexact=candidate).exists()
    )
    account = Account(username=username)
    copy_details(account, member)
    account.set_unusable_password()
    account.save()
    return account
