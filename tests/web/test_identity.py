"""Signing in through a university or a JupyterHub, which requires an entry in a class list."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from autograder.core.errors import ServiceError
from autograder.web import identity
from tests.web.people import PASSWORD, Small
from tests.web.platform import CLIENT, SECRET, Platform
from tests.web.test_student import text

if TYPE_CHECKING:
    from django.test import Client

HUB = "/app/accounts/jupyterhub/login/"
UNIVERSITY = "/app/accounts/oidc/university/login/"


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Do not follow redirects, so that tests can read them."""


@pytest.fixture
def platform(at: Small, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """Set up a university and a hub with the same user."""
    from allauth.socialaccount.providers.jupyterhub.views import JupyterHubOAuth2Adapter
    from django.conf import settings
    from django.test import override_settings

    with Platform(sub=at.record.slug, preferred_username=who(at), name=who(at)) as new_platform:
        providers = {
            "university": identity.IdentityProvider(
                "openid", "University", new_platform.address, CLIENT, SECRET
            ),
            "hub": identity.IdentityProvider("jupyterhub", "The hub", new_platform.address, CLIENT, SECRET),
        }
        hub = new_platform.address + "/hub/api"
        monkeypatch.setattr(JupyterHubOAuth2Adapter, "access_token_url", f"{hub}/oauth2/token")
        monkeypatch.setattr(JupyterHubOAuth2Adapter, "authorize_url", f"{hub}/oauth2/authorize")
        monkeypatch.setattr(JupyterHubOAuth2Adapter, "profile_url", f"{hub}/user")
        running = replace(settings.RUNNING, providers=providers)
        with override_settings(RUNNING=running, SOCIALACCOUNT_PROVIDERS=identity.to_settings(providers)):
            yield new_platform


def who(at: Small) -> str:
    """Return a student ID that is in no other class list of the database."""
    return f"ada-{at.record.slug}"


def student(at: Small, **facts: str) -> Any:
    """Add a member without an account to the class list."""
    from autograder.service.models import Member

    return Member.objects.create(course=at.record, role="student", student=who(at), **facts)


def signed_in(client: Client, begin: str = UNIVERSITY, also: str = "") -> Any:
    """Sign in through a provider, and return the response of the service."""
    there = client.get(begin).headers["location"]
    try:
        urllib.request.build_opener(_Stay).open(there, timeout=300)
    except urllib.error.HTTPError as answer:
        back = answer.headers["location"]
        answer.close()
    return client.get(back.removeprefix("http://testserver") + also)


def welcome(client: Client, at: Small) -> bool:
    """Return whether a browser can open the course."""
    return bool(client.get(at.base).status_code == 200)


@pytest.mark.parametrize("begin", [UNIVERSITY, HUB])
def test_who_is_on_the_list_is_that_student(at: Small, platform: Platform, begin: str) -> None:
    """The first sign-in creates an account, later ones use it; the login page has a button."""
    from autograder.service.models import Account

    member, client = student(at), at.client("nobody")
    assert f'href="{begin}' in text(client.get("/app/accounts/login/"))
    assert "/app/" == signed_in(client, begin).headers["location"]
    member.refresh_from_db()
    assert welcome(client, at)
    assert not member.account.has_usable_password()
    again = at.client("nobody")
    signed_in(again, begin)
    assert welcome(again, at)
    assert 1 == Account.objects.filter(username=member.account.username).count()


def test_a_code_is_sent_with_what_proves_who_began(at: Small, platform: Platform) -> None:
    """The provider receives secret and code verifier (RFC 7636); a wrong state is rejected."""
    student(at)
    signed_in(at.client("nobody"))
    assert {"code_verifier", "code", "redirect_uri"} <= platform.asked[0].keys()
    client = at.client("nobody")
    signed_in(client, also="x")
    assert not welcome(client, at)


@pytest.mark.parametrize(
    "claims",
    [
        {"preferred_username": "somebody on no list"},
        {"preferred_username": ""},
        {"preferred_username": ["ada"]},
        {"preferred_username": None},
        {"email": "ada@example.org", "email_verified": True, "preferred_username": "on no list"},
    ],
)
def test_who_is_on_no_list_gets_no_account(at: Small, platform: Platform, claims: dict[str, Any]) -> None:
    """Users on no class list get no account, whatever their other claims are."""
    from autograder.service.models import Account

    student(at, email="ada@example.org")
    platform.claims |= claims
    client, before = at.client("nobody"), Account.objects.count()
    answer = signed_in(client)
    assert (403, True) == (answer.status_code, "You are not on any class list" in answer.content.decode())
    assert (before, False) == (Account.objects.count(), welcome(client, at))


@pytest.mark.parametrize(
    ("verified", "gets_in"), [(True, True), (False, False), ("true", False), (None, False)]
)
def test_an_address_counts_where_it_is_verified(
    at: Small, platform: Platform, verified: Any, gets_in: bool
) -> None:
    """The e-mail address identifies a student only if it is verified; case is ignored."""
    from django.conf import settings

    providers = settings.RUNNING.providers
    providers["university"] = replace(providers["university"], student="email")
    platform.claims |= {
        "email": f"{who(at).title()}@Example.org",
        "email_verified": verified,
        "preferred_username": "x",
    }
    student(at, email=f"{who(at)}@example.org")
    client = at.client("nobody")
    signed_in(client)
    assert gets_in is welcome(client, at)


def test_an_answer_for_another_client_is_refused(at: Small, platform: Platform) -> None:
    """A token for another client is rejected."""
    student(at)
    platform.audience = "another service"
    client = at.client("nobody")
    assert 401 == signed_in(client).status_code
    assert not welcome(client, at)


def test_a_student_with_a_password_keeps_the_account(at: Small, platform: Platform) -> None:
    """Both ways to sign in work for the same account, but never for an administrator's."""
    account = at.account("student", who(at))
    client = at.client("nobody")
    signed_in(client)
    assert welcome(client, at)
    assert account is not None
    assert [account.pk] == [int(client.session["_auth_user_id"])]
    account.is_superuser = True
    account.save()
    platform.claims["sub"] = "another person with the same id"
    other = at.client("nobody")
    assert 403 == signed_in(other).status_code


def test_an_invitation_is_taken_by_who_has_opened_it(at: Small, platform: Platform) -> None:
    """Staff, who are on no class list, join once by an invitation."""
    from autograder.service.models import Member
    from autograder.web.account import create_invitation

    platform.claims["preferred_username"] = "a lecturer"
    member = Member.objects.create(course=at.record, role="instructor", last_name="Noether")
    client, link = at.client("nobody"), create_invitation(member)[0]
    assert "Sign in with University" in text(client.get(link))
    assert "/app/" == signed_in(client).headers["location"]
    assert 200 == client.get(f"{at.base}staff/").status_code
    assert 404 == at.client("nobody").get(link).status_code
    platform.claims["sub"] = "somebody else"
    assert 403 == signed_in(at.client("nobody")).status_code


def test_nobody_becomes_two_of_one_course(at: Small, platform: Platform) -> None:
    """A student of the course cannot accept a second membership; a user name may be taken already."""
    from autograder.service.models import Account, Member
    from autograder.web.account import create_invitation

    Account.objects.create(username=who(at).upper())
    member, client = student(at), at.client("nobody")
    signed_in(client)
    other = Member.objects.create(course=at.record, role="ta", last_name="Second")
    again = at.client("nobody")
    again.get(create_invitation(other)[0])
    signed_in(again)
    for account in (member, other):
        account.refresh_from_db()
    assert (f"{who(at)}-1", None) == (member.account.username, other.account)


def test_nobody_is_connected_while_signed_in(at: Small, platform: Platform) -> None:
    """A link on another site cannot connect a signed-in user's account to another identity."""
    client = at.client("student", who(at))
    assert 404 == signed_in(client, f"{UNIVERSITY}?process=connect").status_code
    from allauth.socialaccount.models import SocialAccount

    assert not SocialAccount.objects.filter(user=at.account("student", who(at))).exists()


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    """Write the configuration file, and return its folder."""
    (folder / identity.FILE).write_text(text)
    (folder / identity.FILE).chmod(mode)
    return folder


GOOD = f"""
[tu]
kind = "openid"
name = "TU"
server = "https://tu.example.org"
client = "a"
secret = "{PASSWORD}"
"""


def test_the_file_of_providers(tmp_path: Path) -> None:
    """The file is optional."""
    assert {} == identity.read_providers(tmp_path)
    providers = identity.read_providers(written(tmp_path, GOOD))
    assert [("oidc/tu/login/", "TU")] == identity.list_buttons(providers)


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (GOOD, 0o644, "other users can read"),
        (GOOD.replace("openid", "kerberos"), 0o600, r"\[tu\].*kind"),
        (GOOD.replace("https", "http"), 0o600, "expected an https address"),
        (GOOD.replace("client", "cleint"), 0o600, "cleint"),
        ("[tu", 0o600, "sign-in.toml"),
        (
            GOOD.replace("openid", "jupyterhub")
            + GOOD.replace("openid", "jupyterhub").replace("[tu]", "[b]"),
            0o600,
            "one",
        ),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, mode: int, message: str) -> None:
    """The error names the section and does not repeat secrets."""
    with pytest.raises(ServiceError, match=message) as error:
        identity.read_providers(written(tmp_path, text, mode))
    assert not re.search(PASSWORD, str(error.value))
