"""Accounts, which are only created by invitation, and keys for programs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection
from datetime import timedelta
from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import get_ip
from django import forms
from django.conf import settings
from django.contrib import messages as notices
from django.contrib.auth import login
from django.contrib.auth.forms import SetPasswordForm, UserCreationForm
from django.core import signing
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language

from autograder import messages
from autograder.service import audit, program_keys
from autograder.service.models import Account, CourseRecord, Invitation, Member, ProgramKey, Scope
from autograder.service.program_keys import hash_secret
from autograder.web.guard import allow_anyone, list_courses, require_sign_in
from autograder.web.responses import render_page, stop_cutting
from autograder.web.site import choose_language, get_words

INVITED = timedelta(days=14)
MOST_KEY_DAYS = 3660
_OPENED = "invitation"
"""Session key: the digest of the invitation that this session has opened."""
MOST_FAILED = 100
"""Failed sign-ins that one address may have per minute: a whole class can share an address, and people
mistype."""
_BROWSER = "known-browser"
"""The cookie of a browser in which an account has signed in before.

Its attempts are counted separately, so that attackers who try passwords for this account, or from this
address, cannot lock its owner out.
"""
_KNOWN_SECONDS = 365 * 24 * 3600
_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def _translate_sentence(key: str) -> str:
    language = str(get_language() or "en").partition("-")[0]
    return messages.format_sentence(key, language)


def _get_failure_key(request: HttpRequest) -> str:
    return f"failed-sign-ins:{get_ip(request)}:{int(time.time() // 60)}"


def _get_browser_mark(request: HttpRequest, name: str) -> str:
    """Return the mark of the browser if this account has signed in with it before.

    Otherwise an empty string.
    """
    try:
        owner, mark = signing.loads(request.COOKIES.get(_BROWSER, ""), salt=_BROWSER, max_age=_KNOWN_SECONDS)
    except signing.BadSignature:
        return ""
    return str(mark) if owner == name.lower() else ""


def mark_browser(response: HttpResponse, account: Account) -> None:
    """Mark a browser as one in which the account's owner has signed in."""
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
    """Forbids open registration and limits failed sign-ins.

    allauth counts failures per key: here the username with either the address or a known browser. If it
    counted by address alone, it would lock the address during each attempt, successful ones included, and
    refuse whoever does not get the lock within a second: part of a class that signs in at the same time.
    """

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "enter_current_password": lazy(_translate_sentence, str)("web.wrong-password"),
        "too_many_login_attempts": lazy(_translate_sentence, str)("web.too-many-sign-ins"),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: an account is only created by `open_invitation`."""
        del request
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse further attempts from an address, or for a name from an address, after too many failures.

        Raises:
            ValidationError: there were too many failures.
        """
        is_known_browser = _get_browser_mark(request, credentials.get("username", ""))
        # A known browser is exempt: strangers behind the same address must not lock out its owner.
        if not is_known_browser and cache.get(_get_failure_key(request), 0) >= MOST_FAILED:
            raise self.validation_error("too_many_login_attempts")
        super().pre_authenticate(request, **credentials)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count a failure.

        Two failures at the same moment may count once: reading and writing are not atomic.
        """
        super().authentication_failed(request, **credentials)
        cache.set(_get_failure_key(request), cache.get(_get_failure_key(request), 0) + 1, timeout=120)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        name = credentials.get("username", "").lower()
        return f"{name}:{_get_browser_mark(request, name) or get_ip(request)}"

    def post_login(self, request: HttpRequest, user: Account, **how: Any) -> HttpResponse:
        """Continue after the sign-in, and mark the browser as known."""
        response = super().post_login(request, user, **how)
        mark_browser(response, user)
        return response

    def send_notification_mail(self, template_prefix: str, user: Account, *_: object, **__: object) -> None:
        """Record a change of credentials in the audit log instead of sending a mail."""
        audit.record_action(
            user.username, template_prefix.rpartition("/")[2].replace("_", " "), user.username
        )


class JoinForm(UserCreationForm):
    """Form with the name and the password of a new account."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        stop_cutting(self)

    class Meta(UserCreationForm.Meta):
        """Use the account model of the service."""

        model = Account


def create_invitation(member: Member | None, account: Account | None = None) -> tuple[str, Invitation]:
    """Create an invitation and return the path of its link, which works once. Earlier links become invalid.

    Args:
        member: the member the new account is for; None for an administrator.
        account: an existing account that gets a new password instead.
    """
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        Invitation.objects.filter(member=member, account=account).delete()
        invitation = Invitation.objects.create(
            digest=hash_secret(token), member=member, account=account, expires_at=timezone.now() + INVITED
        )
    return reverse("join", kwargs={"token": token}), invitation


def create_invitations(members: Collection[Member]) -> dict[int, str]:
    """Create an invitation for each member, and return the paths of the links by the member's number."""
    tokens = {member.pk: secrets.token_urlsafe(32) for member in members}
    expires_at = timezone.now() + INVITED
    with transaction.atomic():
        Invitation.objects.filter(member__in=members, account=None).delete()
        Invitation.objects.bulk_create(
            Invitation(digest=hash_secret(tokens[member.pk]), member=member, expires_at=expires_at)
            for member in members
        )
    return {number: reverse("join", kwargs={"token": token}) for number, token in tokens.items()}


@allow_anyone("GET", "HEAD", "POST")
def open_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Create an account, join with an existing one, or choose a new password, as the invitation says."""
    with transaction.atomic():
        # The row stays locked until the end, so that two requests cannot both use one link.
        invitation = _lock_invitations(hash_secret(token)).first()
        if invitation is None:
            return render_page(request, "error.html", {"code": "invitation-gone"}, status=404)
        if request.method == "POST" and "own" in request.POST and _may_join(request, invitation):
            accept_invitation(request.user, invitation)
            return redirect("home")
        if invitation.account is not None:
            form: Any = SetPasswordForm(invitation.account, request.POST or None)
        else:
            form = JoinForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            if invitation.account is not None:
                _change_password(form, invitation)
                response = redirect("account_login")
                mark_browser(response, invitation.account)
                return response
            try:
                with transaction.atomic():
                    # The inner transaction is a savepoint: a taken name must not abort the outer one.
                    account = _create_account(form, invitation, choose_language(request))
            except IntegrityError:  # another request took the name since the check
                form.add_error("username", form.fields["username"].error_messages["unique"])
            else:
                login(request, account, backend=_BACKEND)
                response = redirect("home")
                mark_browser(response, account)
                return response
    if settings.RUNNING.providers and invitation.account is None:
        request.session[_OPENED] = invitation.digest
    username = request.user.username if _may_join(request, invitation) else ""
    return render_page(request, "join.html", {"form": form, "invitation": invitation, "own": username})


def _may_join(request: HttpRequest, invitation: Invitation) -> bool:
    """Decide whether the signed-in user can become the invited member."""
    if invitation.member is None or invitation.account is not None or not request.user.is_authenticated:
        return False
    return may_become(request.user, invitation.member)


def may_become(account: Account | None, member: Member | None) -> bool:
    """Decide whether an account can become a member: an account has at most one membership per course."""
    if account is None or member is None:
        return True
    return not Member.objects.filter(course=member.course, account=account).exists()


def _change_password(form: SetPasswordForm, invitation: Invitation) -> None:
    account = form.save()
    invitation.delete()
    audit.record_action(account.username, "new password", account.username)


def _create_account(form: JoinForm, invitation: Invitation, language: str) -> Account:
    account: Account = form.save(commit=False)
    account.language = language
    member = invitation.member
    account.is_superuser = member is None
    copy_details(account, member)
    account.save()
    accept_invitation(account, invitation)
    return account


def copy_details(account: Account, member: Member | None) -> None:
    """Copy name and address from the class list to an account."""
    if member is not None:
        account.first_name, account.last_name = member.first_name, member.last_name
        account.email = member.email


def take_invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation that the session has opened, if it is still valid. It is returned only once."""
    return _lock_invitations(request.session.pop(_OPENED, "")).filter(account=None).first()


def _lock_invitations(digest: str) -> QuerySet[Invitation]:
    """Lock the invitation with this digest, if it is valid: neither expired, nor for a removed member."""
    invitations = Invitation.objects.select_for_update(of=("self",))
    return invitations.filter(digest=digest, expires_at__gt=timezone.now(), member__removed_at=None)


def accept_invitation(account: Account, invitation: Invitation) -> None:
    """Give an account to the invited member, and delete the invitation.

    Raises:
        Http404: the member was removed.
    """
    member = invitation.member
    if member is not None and not Member.objects.filter(pk=member.pk).update(account=account):
        raise Http404  # removed just now
    invitation.delete()
    course = member.course if member else None
    audit.record_action(
        account.username, "join", member.student if member else "administrator", course=course
    )


class KeyForm(forms.Form):
    """Form for a new program key."""

    label = forms.CharField(max_length=80)
    scopes = forms.MultipleChoiceField(choices=[(scope.value, scope.value) for scope in Scope])
    course = forms.ModelChoiceField(CourseRecord.objects.none(), required=False, to_field_name="slug")
    days = forms.IntegerField(min_value=1, max_value=MOST_KEY_DAYS, required=False)
    """Until it expires; empty: it does not."""

    def __init__(self, account: Account, *args: Any) -> None:
        super().__init__(*args)
        self.fields["course"].queryset = list_courses(account)

    def create_key(self, account: Account) -> str:
        """Create the key, and return its secret."""
        days = self.cleaned_data["days"]
        return program_keys.create_key(
            account,
            self.cleaned_data["label"],
            [Scope(scope) for scope in self.cleaned_data["scopes"]],
            course=self.cleaned_data["course"],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )


@require_sign_in("GET", "HEAD", "POST")
def show_keys(request: HttpRequest) -> HttpResponse:
    """Show the keys with which programs act for the user. A POST creates one."""
    form, new = KeyForm(request.user, request.POST or None), ""
    if request.method == "POST":
        if form.is_valid():
            new = form.create_key(request.user)
        else:
            notices.error(request, get_words(request)["t"]("key-invalid"))
    keys = ProgramKey.objects.filter(account=request.user).select_related("course").order_by("pk")
    context: dict[str, Any] = {
        "keys": keys,
        # With the address, a single text is all that a notebook needs.
        "new": f"{request.build_absolute_uri('/').rstrip('/')}#{new}" if new else "",
        "scopes": list(Scope),
        "courses": form.fields["course"].queryset,
        "most_days": MOST_KEY_DAYS,
        "now": timezone.now(),
        "mail_choices": Account.Mail.values,
        "languages": settings.LANGUAGES,
    }
    return render_page(request, "keys.html", context)


class MailForm(forms.ModelForm):
    """Form for the e-mails that a person gets."""

    class Meta:
        """Frequency and language."""

        model = Account
        fields = ("mail", "language")


@require_sign_in("POST")
def set_mail(request: HttpRequest) -> HttpResponse:
    """Choose when the user gets e-mails, and in which language."""
    form, say = MailForm(request.POST, instance=request.user), get_words(request)["t"]
    if form.is_valid() and form.cleaned_data["language"] in messages.list_languages():
        form.save()
        notices.info(request, say("mail-saved"))
    else:
        notices.error(request, say("error-400"))
    return redirect("keys")


@require_sign_in("POST")
def remove_key(request: HttpRequest, key: int) -> HttpResponse:
    """Remove a program key."""
    program_key = get_object_or_404(ProgramKey, pk=key, account=request.user)
    audit.record_action(request.user.username, "remove key", program_key.label)
    program_key.delete()
    return redirect("keys")
