"""Signing in through a SAML identity provider, with the same rules as for OpenID Connect."""

from __future__ import annotations

import base64
import copy
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lxml.etree
import pytest
from msgspec.structs import replace

from autograder.core.errors import ServiceError
from autograder.web import identity
from tests.web.people import Small
from tests.web.saml import (
    ASSERTION,
    PROTOCOL,
    RSA_SHA1,
    SIGNATURE,
    SSO,
    SUBJECT,
    UID,
    Answer,
    SamlPlatform,
    create_key_pair,
)
from tests.web.test_identity import student, welcome, who, written
from tests.web.test_student import text

if TYPE_CHECKING:
    from django.test import Client

HOST = {"host": "testserver"}
BASE = "/app/accounts/saml/university/"
SERVICE = "https://exams.example.org/saml"
SAML = {"a": ASSERTION, "p": PROTOCOL, "s": SIGNATURE, "m": "urn:oasis:names:tc:SAML:2.0:metadata"}


@pytest.fixture
def platform(at: Small, monkeypatch: pytest.MonkeyPatch) -> Iterator[SamlPlatform]:
    """Set up the identity provider of a university that authenticates a student of the class list."""
    from django.conf import settings
    from django.test import override_settings
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser

    new_platform = SamlPlatform(
        f"https://{at.record.slug}.example.org", **{UID: who(at), SUBJECT: f"{who(at)}@tu"}
    )
    monkeypatch.setattr(OneLogin_Saml2_IdPMetadataParser, "get_metadata", new_platform.build_metadata)
    key, certificate = create_key_pair("service")
    provider = identity.IdentityProvider(
        "saml", "University", new_platform.entity, SERVICE, key, UID, certificate
    )
    providers = {"university": provider}
    running = replace(settings.RUNNING, providers=providers)
    with override_settings(RUNNING=running, SOCIALACCOUNT_PROVIDERS=identity.to_settings(providers)):
        yield new_platform


def open_browser(at: Small, role: str = "nobody", student: str = "") -> Client:
    """Return a browser with the header that python3-saml reads."""
    return at.client(role, student, headers=HOST)


def begin(client: Client, platform: SamlPlatform, query: str = "") -> Answer:
    """Start a sign-in and return the response of the university."""
    location = client.get(f"{BASE}login/{query}").headers["location"]
    assert location.startswith(f"{SSO}?")
    return platform.answer(location)


def finish(client: Client, xml: str | bytes, relay: str = "") -> Any:
    """Post a response of the university and return the reply of the service."""
    from django.test import Client

    encoded = base64.b64encode(xml.encode() if isinstance(xml, str) else xml).decode()
    # A browser omits session cookies in forms posted from another site (SameSite=Lax).
    other = Client(enforce_csrf_checks=True, headers=HOST)
    reply = other.post(f"{BASE}acs/", {"SAMLResponse": encoded, "RelayState": relay})
    assert (302, f"{BASE}acs/finish/") == (reply.status_code, reply.headers["location"])
    client.cookies.update(other.cookies)
    return client.get(reply.headers["location"])


def is_signed_in(client: Client) -> bool:
    """Return whether a browser is signed in."""
    return "_auth_user_id" in client.session


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"signed": ("Assertion",)},
        {"signed": ("Assertion", "Response")},
        {"encrypt_for": "service"},
        {"encrypt_for": "service", "signed": ("Assertion",)},
    ],
    ids=["response", "assertion", "both", "encrypted", "encrypted-assertion"],
)
def test_saml_signs_in_the_student_of_the_class_list(
    at: Small, platform: SamlPlatform, changes: dict[str, Any]
) -> None:
    """The first sign-in creates an account, later ones use it, and joining is logged."""
    from autograder.service.models import Account, AuditEntry

    member, client = student(at), open_browser(at)
    assert f'href="{BASE}login/' in text(client.get("/app/accounts/login/"))
    reply = finish(client, replace(begin(client, platform), **changes).to_xml())
    assert (302, "/app/") == (reply.status_code, reply.headers["location"])
    assert welcome(client, at)
    member.refresh_from_db()
    assert not member.account.has_usable_password()
    again = open_browser(at)
    finish(again, begin(again, platform).to_xml())
    assert welcome(again, at)
    assert 1 == Account.objects.filter(username=member.account.username).count()
    rows = AuditEntry.objects.filter(course=at.record, action="join")
    assert [(member.account.username, who(at))] == list(rows.values_list("who", "subject"))


def test_request_is_signed(at: Small, platform: SamlPlatform) -> None:
    """The request is signed, because some identity providers require it."""
    assert "&Signature=" in open_browser(at).get(f"{BASE}login/").headers["location"]


@pytest.mark.parametrize("value", ["somebody on no list", "", ["VICTIM", "other"], None])
def test_saml_creates_no_account_for_others(
    at: Small, platform: SamlPlatform, value: str | list[str] | None
) -> None:
    """Users who are on no class list, and missing or multiple attribute values, are rejected."""
    from autograder.service.models import Account

    student(at)
    if value is None:
        del platform.attributes[UID]
    else:
        platform.attributes[UID] = [who(at), "other"] if isinstance(value, list) else value
    client, before = open_browser(at), Account.objects.count()
    reply = finish(client, begin(client, platform).to_xml())
    assert (403, True) == (reply.status_code, b"You are not on any class list" in reply.content)
    assert (before, False) == (Account.objects.count(), is_signed_in(client))


def test_saml_finds_no_administrator(at: Small, platform: SamlPlatform) -> None:
    """An identity provider cannot sign in an administrator of the service."""
    account = at.account("student", who(at))
    assert account is not None
    account.is_superuser = True
    account.save()
    client = open_browser(at)
    assert 403 == finish(client, begin(client, platform).to_xml()).status_code


def test_saml_accepts_an_invitation_once(at: Small, platform: SamlPlatform) -> None:
    """Staff join by an invitation and later sign in with the same identity."""
    from autograder.service.models import Member
    from autograder.web.account import create_invitation

    platform.attributes = {SUBJECT: "noether@tu", "mail": "noether@example.org"}
    member = Member.objects.create(course=at.record, role="instructor", last_name="Noether")
    client = open_browser(at)
    client.get(create_invitation(member)[0])
    finish(client, begin(client, platform).to_xml())
    again = open_browser(at)
    finish(again, begin(again, platform).to_xml())
    assert [200, 200] == [browser.get(f"{at.base}staff/").status_code for browser in (client, again)]


@pytest.mark.parametrize(
    "changes",
    [
        {"signed": ()},
        {"signer": "somebody else"},
        {"signed": ("Assertion",), "signer": "somebody else"},
        {"algorithm": RSA_SHA1},
        {"end": -400},
        {"begin": 400, "end": 800},
        {"service": "https://other.example.org/saml"},
        {"destination": "https://other.example.org/acs/"},
        {"destination": ""},
        {"recipient": "https://other.example.org/acs/"},
        {"issuer": "https://other.example.org/idp"},
        {"status": "urn:oasis:names:tc:SAML:2.0:status:Responder"},
        {"request": ""},
        {"request": "_another"},
        {"encrypt_for": "somebody else"},
    ],
    ids=str,
)
def test_saml_refuses_response(at: Small, platform: SamlPlatform, changes: dict[str, Any]) -> None:
    """A response must be signed by the university, currently valid, and match a request of this browser."""
    student(at)
    client = open_browser(at)
    reply = finish(client, replace(begin(client, platform), **changes).to_xml())
    assert (reply.status_code in {401, 403}, False) == (True, is_signed_in(client))


def test_saml_refuses_replayed_response(at: Small, platform: SamlPlatform) -> None:
    """A response cannot be used twice, by the same browser or another one."""
    student(at)
    client, thief = open_browser(at), open_browser(at)
    xml = begin(client, platform).to_xml()
    begin(thief, platform)
    assert (403, False) == (finish(thief, xml).status_code, is_signed_in(thief))
    finish(client, xml)
    assert is_signed_in(client)
    client.post("/app/accounts/logout/")
    assert (403, False) == (finish(client, xml).status_code, is_signed_in(client))


def find(element: Any, path: str) -> Any:
    """Return the only element at a path."""
    [only] = element.xpath(path, namespaces=SAML)
    return only


def forge(assertion: Any, victim: str) -> Any:
    """Return a copy of an assertion about another user, with the same signature."""
    forged = copy.deepcopy(assertion)
    forged.set("ID", "_forged")
    find(forged, f".//a:Attribute[@Name='{UID}']/a:AttributeValue").text = victim
    return forged


def wrap_before(response: Any, victim: str) -> Any:
    """Put a forged assertion before the signed one."""
    assertion = find(response, "a:Assertion")
    forged = forge(assertion, victim)
    forged.remove(find(forged, "s:Signature"))
    assertion.addprevious(forged)
    return response


def wrap_in_extensions(response: Any, victim: str) -> Any:
    """Hide the signed assertion in an extension, and put a forged one in its place."""
    assertion = find(response, "a:Assertion")
    forged = forge(assertion, victim)
    forged.remove(find(forged, "s:Signature"))
    assertion.addprevious(forged)
    extensions = lxml.etree.Element(f"{{{PROTOCOL}}}Extensions")
    find(response, "a:Issuer").addnext(extensions)
    extensions.append(assertion)
    return response


def wrap_in_signature(response: Any, victim: str) -> Any:
    """Hide the signed assertion in the signature of a forged one."""
    assertion = find(response, "a:Assertion")
    forged = forge(assertion, victim)
    assertion.addprevious(forged)
    assertion.remove(find(assertion, "s:Signature"))
    hidden = lxml.etree.SubElement(find(forged, "s:Signature"), f"{{{SIGNATURE}}}Object")
    hidden.append(assertion)
    return response


def wrap_in_advice(response: Any, victim: str) -> Any:
    """Hide the signed assertion inside a forged one."""
    assertion = find(response, "a:Assertion")
    forged = forge(assertion, victim)
    assertion.addprevious(forged)
    advice = lxml.etree.Element(f"{{{ASSERTION}}}Advice")
    find(forged, "a:Conditions").addnext(advice)
    assertion.remove(find(assertion, "s:Signature"))
    advice.append(assertion)
    return response


def wrap_response(response: Any, victim: str) -> Any:
    """Hide the signed response in the signature of a forged one."""
    forged = copy.deepcopy(response)
    forged.set("ID", "_other")
    find(forged, f".//a:Attribute[@Name='{UID}']/a:AttributeValue").text = victim
    response.remove(find(response, "s:Signature"))
    hidden = lxml.etree.SubElement(find(forged, "s:Signature"), f"{{{SIGNATURE}}}Object")
    hidden.append(response)
    return forged


def change_value(response: Any, victim: str) -> Any:
    """Change a signed value."""
    find(response, f".//a:Attribute[@Name='{UID}']/a:AttributeValue").text = victim
    return response


@pytest.mark.parametrize(
    ("signed", "attack"),
    [
        ("Assertion", wrap_before),
        ("Assertion", wrap_in_extensions),
        ("Assertion", wrap_in_signature),
        ("Assertion", wrap_in_advice),
        ("Assertion", change_value),
        ("Response", wrap_response),
        ("Response", change_value),
    ],
)
def test_saml_refuses_forged_assertion(
    at: Small, platform: SamlPlatform, signed: str, attack: Callable[[Any, str], Any]
) -> None:
    """XML signature wrapping is rejected: only signed content identifies the user."""
    student(at)
    victim = f"victim-{at.record.slug}"
    at.account("student", victim)
    client = open_browser(at)
    xml = replace(begin(client, platform), signed=(signed,)).to_xml()
    forged = lxml.etree.tostring(attack(lxml.etree.fromstring(xml), victim))
    assert victim.encode() in forged
    assert (401, False) == (finish(client, forged).status_code, is_signed_in(client))


def test_saml_reads_a_value_across_comments(at: Small, platform: SamlPlatform) -> None:
    """An XML comment, which the signature does not cover, cannot shorten an ID to another user's."""
    victim = f"victim-{at.record.slug}"
    at.account("student", victim)
    platform.attributes[UID] = f"{victim}.evil"
    client = open_browser(at)
    xml = begin(client, platform).to_xml().replace(f"{victim}.evil", f"{victim}<!-- -->.evil")
    assert (403, False) == (finish(client, xml).status_code, is_signed_in(client))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<",
        "\0",
        "<a/>",
        f'<p:Response xmlns:p="{PROTOCOL}"/>',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>',
        "<a>" * 10_000,
    ],
    ids=lambda content: repr(content[:40]),
)
def test_saml_refuses_faulty_document(at: Small, platform: SamlPlatform, content: str) -> None:
    """Invalid documents are rejected without an internal error."""
    client = open_browser(at)
    begin(client, platform)
    assert (401, False) == (finish(client, content).status_code, is_signed_in(client))


def test_saml_refuses_what_is_no_response(at: Small, platform: SamlPlatform) -> None:
    """Missing and too large responses, direct visits and wrong methods are rejected."""
    client = open_browser(at)
    assert 401 == client.get(f"{BASE}acs/finish/").status_code
    client.post(f"{BASE}acs/", {"other": "x"})
    assert 401 == client.get(f"{BASE}acs/finish/").status_code
    client.post(f"{BASE}acs/", {"SAMLResponse": "é%"})
    assert 401 == client.get(f"{BASE}acs/finish/").status_code
    assert 400 == client.post(f"{BASE}acs/", {"SAMLResponse": "x" * (1 << 17)}).status_code
    assert 405 == client.get(f"{BASE}acs/").status_code


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ("/app/keys/", "/app/keys/"),
        ("https://evil.example.org/", "/app/"),
        ("//evil.example.org/", "/app/"),
        ("javascript:alert(1)", "/app/"),
    ],
)
def test_saml_redirects_only_to_this_service(
    at: Small, platform: SamlPlatform, following: str, expected: str
) -> None:
    """Neither ``next`` nor ``RelayState`` redirects to another site."""
    student(at)
    client = open_browser(at)
    reply = finish(client, begin(client, platform, f"?next={following}").to_xml(), relay=following)
    assert expected == reply.headers["location"]
    if expected != following:
        again = open_browser(at)
        reply = finish(again, begin(again, platform).to_xml(), relay=following)
        assert "/app/" == reply.headers["location"]


def test_saml_connects_nobody_who_is_signed_in(at: Small, platform: SamlPlatform) -> None:
    """A sign-in from elsewhere cannot connect a signed-in user's account to another identity."""
    from allauth.socialaccount.models import SocialAccount

    client = open_browser(at, "student", who(at))
    assert 404 == finish(client, begin(client, platform, "?process=connect").to_xml()).status_code
    assert not SocialAccount.objects.filter(user=at.account("student", who(at))).exists()


def test_metadata_describes_the_service(at: Small, platform: SamlPlatform) -> None:
    """The metadata contain entity ID, address and keys, but no logout service and no private key."""
    reply = open_browser(at).get(f"{BASE}metadata/")
    assert (200, "application/samlmetadata+xml") == (reply.status_code, reply.headers["Content-Type"])
    described = lxml.etree.fromstring(reply.content)
    consumer = find(described, ".//m:AssertionConsumerService")
    assert (SERVICE, f"http://testserver{BASE}acs/") == (described.get("entityID"), consumer.get("Location"))
    assert {"signing", "encryption"} == set(described.xpath(".//m:KeyDescriptor/@use", namespaces=SAML))
    assert b"SingleLogout" not in reply.content
    assert create_key_pair("service")[0].splitlines()[1].encode() not in reply.content


@pytest.mark.parametrize("page", ["login/", "acs/", "acs/finish/", "metadata/", "sls/"])
@pytest.mark.parametrize("name", ["other", "university"])
def test_pages_exist_for_configured_providers_alone(
    at: Small, platform: SamlPlatform, page: str, name: str
) -> None:
    """Pages of unknown providers and single logout, which accepts unsigned requests, are not found."""
    client = open_browser(at)
    address = f"/app/accounts/saml/{name}/{page}"
    reply = client.post(address) if page == "acs/" else client.get(address)
    assert (404 == reply.status_code) is (name == "other" or page == "sls/")


def test_unreachable_provider_is_no_failure(
    at: Small, platform: SamlPlatform, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The visitor sees an error message, and the log has the reason."""
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser

    def refuse(*_: Any, **__: Any) -> bytes:
        raise TimeoutError("timed out")

    monkeypatch.setattr(OneLogin_Saml2_IdPMetadataParser, "get_metadata", refuse)
    with caplog.at_level(logging.WARNING):
        assert 401 == open_browser(at).get(f"{BASE}login/").status_code
    assert "university: TimeoutError" in caplog.text


def describe(key: str, certificate: str, student: str = UID) -> str:
    """Return the configuration file of a SAML provider."""
    return f'''
[tu]
kind = "saml"
name = "TU"
server = "https://idp.example.org/idp/shibboleth"
client = "{SERVICE}"
student = "{student}"
secret = """
{key}"""
certificate = """
{certificate}"""
'''


def test_file_describes_a_saml_provider(tmp_path: Path) -> None:
    """The file contains the keys in PEM format."""
    providers = identity.read_providers(written(tmp_path, describe(*create_key_pair("service"))))
    assert [("saml/tu/login/", "TU")] == identity.list_buttons(providers)


@pytest.mark.parametrize(
    ("key", "certificate", "attribute", "message"),
    [
        ("service", "service", "email", "name of a SAML attribute"),
        ("service", "service", "preferred_username", "name of a SAML attribute"),
        ("service", "idp", UID, "private key without password"),
        ("service", "", UID, "private key without password"),
        ("", "service", UID, "private key without password"),
    ],
)
def test_faulty_saml_provider_is_refused(
    tmp_path: Path, key: str, certificate: str, attribute: str, message: str
) -> None:
    """The message names the table and does not reveal the key."""
    description = describe(
        create_key_pair(key)[0] if key else "",
        create_key_pair(certificate)[1] if certificate else "",
        attribute,
    )
    with pytest.raises(ServiceError, match=rf"\[tu\]: .*{message}") as error:
        identity.read_providers(written(tmp_path, description))
    assert "PRIVATE KEY" not in str(error.value)


def test_missing_package_is_named_if_saml_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service refuses to start if the packages for SAML are missing."""
    monkeypatch.setitem(sys.modules, "onelogin.saml2.auth", None)
    with pytest.raises(ServiceError, match=r"\[tu\]: .*pip install 'nbexam\[saml\]'"):
        identity.read_providers(written(tmp_path, describe(*create_key_pair("service"))))


def test_service_without_saml_does_not_import_its_packages() -> None:
    """The packages for SAML are optional, and broken ones do no harm if SAML is not configured."""
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('onelogin', 'xmlsec', 'lxml')))\n"
        "from autograder.service import setup\n"
        "from autograder.web import site\n"
        "setup.configure_django(site.build_offline_settings('postgresql://localhost/x'))\n"
        "import autograder.web.urls\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
