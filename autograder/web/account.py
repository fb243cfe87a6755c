"""Accounts: made by invitation alone; keys for programs."""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import timedelta
from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import SetPasswordForm, UserCreationForm
from django.core import signing
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language

from autograder import messages
from autograder.service import audit
from autograder.service.models import Account, Invitation, Member, ProgramKey
from autograder.web.guard import open_page, own_page
from autograder.web.student import page

INVITED = timedelta(days=14)
_OPENED = "invitation"
"""In a session: the digest of an invitation that its owner has opened."""
MOST_FAILED = 100
"""So many tries to sign in may fail within a minute from one address: a class has one, and mistypes."""
_BROWSER = "known-browser"
"""The cookie of a browser in which somebody has signed in. Its tries are counted by themselves, so that
others who try passwords for this account, or from this address, cannot keep its owner out."""
_KNOWN_SECONDS = 365 * 24 * 3600
_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def _sentence(key: str) -> str:
    language = str(get_language() or "en").partition("-")[0]
    return messages.sentence(key, language)


def _failed(request: HttpRequest) -> str:
    return f"failed-sign-ins:{get_ip(request)}:{int(time.time() // 60)}"


def _known_browser(request: HttpRequest, name: str) -> str:
    """The mark of the browser if this account has signed in in it; otherwise empty."""
    try:
        owner, mark = signing.loads(request.COOKIES.get(_BROWSER, ""), salt=_BROWSER, max_age=_KNOWN_SECONDS)
    except signing.BadSignature:
        return ""
    return str(mark) if owner == name.lower() else ""


def remember_browser(response: HttpResponse, account: Account) -> None:
    """Mark a browser as one in which the account's owner has been let in."""
    response.set_cookie(
        _BROWSER,
        signing.dumps([account.username.lower(), secrets.token_urlsafe(16)], salt=_BROWSER),
        max_age=_KNOWN_SECONDS,
        path=settings.SESSION_COOKIE_PATH,
        secure=bool(settings.SESSION_COOKIE_SECURE),
        httponly=True,
        samesite="Lax",
    )


class Adapter(DefaultAccountAdapter):
    """Nobody makes an account without an invitation.

    The library counts what fails for a key: here a name and an address, or a name and a known browser. By
    address alone it would hold a lock of the address for each try, also for one that succeeds, and refuse
    whoever has not got it within a second: some of a class that signs in at once.
    """

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "enter_current_password": lazy(_sentence, str)("web.wrong-password"),
        "too_many_login_attempts": lazy(_sentence, str)("web.too-many-sign-ins"),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never: `join` is the way."""
        del request
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse further tries from an address, or for a name from an address, of which too many have failed.

        Raises:
            ValidationError: these were too many.
        """
        known = _known_browser(request, credentials.get("username", ""))
        if not known and cache.get(_failed(request), 0) >= MOST_FAILED:
            raise self.validation_error("too_many_login_attempts")
        super().pre_authenticate(request, **credentials)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count one more; of two at the same moment, one may be left out."""
        super().authentication_failed(request, **credentials)
        cache.set(_failed(request), cache.get(_failed(request), 0) + 1, timeout=120)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        name = credentials.get("username", "").lower()
        return f"{name}:{_known_browser(request, name) or get_ip(request)}"

    def post_login(self, request: HttpRequest, user: Account, **how: Any) -> HttpResponse:
        """Go on, and know the browser from now on."""
        response = super().post_login(request, user, **how)
        remember_browser(response, user)
        return response

    def send_notification_mail(self, template_prefix: str, user: Account, *_: object, **__: object) -> None:
        """No mail: what changed of how somebody signs in stands in the log."""
        audit.note(user.username, template_prefix.rpartition("/")[2].replace("_", " "), user.username)


class JoinForm(UserCreationForm):
    """The name and the password of a new account."""

    class Meta(UserCreationForm.Meta):
        """Of ours."""

        model = Account


def digest(secret: str) -> str:
    """What is kept of a secret that was given away."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invite(member: Member | None, account: Account | None = None) -> tuple[str, Invitation]:
    """The end of a link that works once; links of before lead nowhere from now on.

    Args:
        member: whose account it will make; None: an administrator's.
        account: whose password it will change instead.
    """
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        Invitation.objects.filter(member=member, account=account).delete()
        made = Invitation.objects.create(
            digest=digest(token), member=member, account=account, expires_at=timezone.now() + INVITED
        )
    return reverse("join", kwargs={"token": token}), made


@open_page("GET", "HEAD", "POST")
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Make the account of an invitation and sign in, or join with one's own, or choose a new password."""
    with transaction.atomic():
        found = Invitation.objects.select_for_update().filter(
            digest=digest(token), expires_at__gt=timezone.now()
        )
        invitation = found.first()
        if invitation is None:
            return page(request, "error.html", {"code": "invitation-gone"}, status=404)
        if request.method == "POST" and "own" in request.POST and _may_join(request, invitation):
            joined(request.user, invitation)
            return HttpResponseRedirect(reverse("home"))
        if invitation.account is not None:
            form: Any = SetPasswordForm(invitation.account, request.POST or None)
        else:
            form = JoinForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            if invitation.account is not None:
                _changed(form, invitation)
                response = HttpResponseRedirect(reverse("account_login"))
                remember_browser(response, invitation.account)
                return response
            try:
                with transaction.atomic():
                    account = _made(form, invitation)
            except IntegrityError:  # somebody took the name at this very moment
                form.add_error("username", form.fields["username"].error_messages["unique"])
            else:
                login(request, account, backend=_BACKEND)
                response = HttpResponseRedirect(reverse("home"))
                remember_browser(response, account)
                return response
    if settings.RUNNING.providers and invitation.account is None:
        request.session[_OPENED] = invitation.digest
    own = request.user.username if _may_join(request, invitation) else ""
    return page(request, "join.html", {"form": form, "invitation": invitation, "own": own})


def _may_join(request: HttpRequest, invitation: Invitation) -> bool:
    """Whether somebody who is signed in can be this member."""
    if invitation.member is None or invitation.account is not None or not request.user.is_authenticated:
        return False
    return may_be(request.user, invitation.member)


def may_be(account: Account | None, member: Member | None) -> bool:
    """Whether an account can become a member: nobody is two of one course."""
    if account is None or member is None:
        return True
    return not Member.objects.filter(course=member.course, account=account).exists()


def _changed(form: SetPasswordForm, invitation: Invitation) -> None:
    account = form.save()
    invitation.delete()
    audit.note(account.username, "new password", account.username)


def _made(form: JoinForm, invitation: Invitation) -> Account:
    account: Account = form.save(commit=False)
    member = invitation.member
    account.is_superuser = member is None
    named(account, member)
    account.save()
    joined(account, invitation)
    return account


def named(account: Account, member: Member | None) -> None:
    """Give an account the name and the address that stand on the class list."""
    if member is not None:
        account.first_name, account.last_name = member.first_name, member.last_name
        account.email = member.email


def held_invitation(request: HttpRequest) -> Invitation | None:
    """The invitation that the owner of a session has opened, if it can still be taken; once."""
    found = Invitation.objects.select_for_update().filter(
        digest=request.session.pop(_OPENED, ""), expires_at__gt=timezone.now(), account=None
    )
    return found.first()


def joined(account: Account, invitation: Invitation) -> None:
    """Make an account the invited member's; the invitation leads nowhere from now on."""
    member = invitation.member
    if member is not None:
        Member.objects.filter(pk=member.pk).update(account=account)
    invitation.delete()
    course = member.course if member else None
    audit.note(account.username, "join", member.student if member else "administrator", course=course)


@own_page("GET", "HEAD", "POST")
def keys(request: HttpRequest) -> HttpResponse:
    """The keys with which programs hand in for somebody."""
    new = ""
    if request.method == "POST":
        new = secrets.token_urlsafe(32)
        label = request.POST.get("label", "")[:80] or "-"
        ProgramKey.objects.create(account=request.user, digest=digest(new), label=label)
        audit.note(request.user.username, "make key", label)
    context: dict[str, Any] = {"keys": ProgramKey.objects.filter(account=request.user), "new": new}
    return page(request, "keys.html", context)


@own_page("POST")
def remove_key(request: HttpRequest, key: int) -> HttpResponse:
    """A key that opens nothing any more."""
    found = get_object_or_404(ProgramKey, pk=key, account=request.user)
    audit.note(request.user.username, "remove key", found.label)
    found.delete()
    return HttpResponseRedirect(reverse("keys"))
