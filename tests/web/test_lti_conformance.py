"""LTI 1.3 Core launches of 1EdTech's conformance suite for tools, and additional invalid ones.

Cases have the names of the suite if it contains them: known "bad" payloads (no KID, wrong KID, wrong and
missing LTI version, missing and invalid claims, timestamps), and valid launches of instructors and students
with and without roles, names and e-mail.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from jwcrypto.jwk import JWK

from tests.web.lms import ABSENT, KEY, LTI, ROLES, LearningPlatform
from tests.web.people import Small

if TYPE_CHECKING:
    from autograder.service.models import PlatformCourse

AGS = "https://purl.imsglobal.org/spec/lti-ags"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps"
NOW = int(time.time())


def forge_hmac(claims: dict[str, Any]) -> str:
    """Return a token signed with the platform's public key as an HMAC secret."""

    def encode(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    header = {"alg": "HS256", "typ": "JWT", "kid": "lms-1"}
    signed = b".".join(encode(json.dumps(part).encode()) for part in (header, claims))
    return (signed + b"." + encode(hmac.new(KEY.export_to_pem(), signed, hashlib.sha256).digest())).decode()


FORGED: dict[str, Callable[[dict[str, Any]], str]] = {
    "no KID": lambda claims: LearningPlatform.signed(claims, kid=None),
    "wrong KID": lambda claims: LearningPlatform.signed(claims, kid="another"),
    "wrong key": lambda claims: LearningPlatform.signed(claims, JWK.generate(kty="RSA", size=2048)),
    "unsigned": lambda claims: LearningPlatform.signed(claims).rpartition(".")[0] + ".",
    "two parts": lambda claims: LearningPlatform.signed(claims).rpartition(".")[0],
    "alg none": lambda claims: jwt.encode(claims, "", algorithm="none", headers={"kid": "lms-1"}),
    "HS256 with the public key": forge_hmac,
    "other claims under the signature": lambda claims: ".".join(
        LearningPlatform.signed({**claims, "sub": sub}).split(".")[part]
        for part, sub in enumerate(("ada", "eve", "ada"))
    ),
}
INVALID: dict[str, dict[str, Any]] = {
    "wrong LTI version": {f"{LTI}/version": "1.1"},
    "no LTI version": {f"{LTI}/version": ABSENT},
    "no message type": {f"{LTI}/message_type": ABSENT},
    "unknown message type": {f"{LTI}/message_type": "LtiAnother"},
    "message about privacy": {f"{LTI}/message_type": "DataPrivacyLaunchRequest"},
    "no deployment": {f"{LTI}/deployment_id": ABSENT},
    "unknown deployment": {f"{LTI}/deployment_id": "2"},
    "no resource link": {f"{LTI}/resource_link": ABSENT},
    "no resource link id": {f"{LTI}/resource_link": {"title": "x"}},
    "no sub": {"sub": ABSENT},
    "empty sub": {"sub": ""},
    "sub is a number": {"sub": 17},
    "sub is too long": {"sub": "x" * 400},
    "expired": {"iat": NOW - 7200, "exp": NOW - 3600},
    "no exp": {"exp": ABSENT},
    "exp is null": {"exp": None},
    "issued in the future": {"iat": NOW + 86_400, "exp": NOW + 90_000},
    "no iat": {"iat": ABSENT},
    "iat is text": {"iat": "now"},
    "no nonce": {"nonce": ABSENT},
    "another nonce": {"nonce": "another"},
    "wrong aud": {"aud": "another client"},
    "no aud": {"aud": ABSENT},
    "wrong azp": {"azp": "another client"},
    "wrong iss": {"iss": "https://another.example.org"},
    "no iss": {"iss": ABSENT},
    "no roles claim": {f"{LTI}/roles": ABSENT},
    "roles are null": {f"{LTI}/roles": None},
    "roles are text": {f"{LTI}/roles": "Learner"},
    "role is a number": {f"{LTI}/roles": [7]},
    "no context": {f"{LTI}/context": ABSENT},
    "context is null": {f"{LTI}/context": None},
    "context is text": {f"{LTI}/context": "text"},
    "no context id": {f"{LTI}/context": {}},
    "empty context id": {f"{LTI}/context": {"id": ""}},
    "custom is text": {f"{LTI}/custom": "text"},
    "platform without guid": {f"{LTI}/tool_platform": {"name": "no guid"}},
    "NUL in a name": {"given_name": "A\0da"},
    "email is too long": {"email": "x" * 400},
    "variable that was not replaced": {f"{LTI}/lis": {"person_sourcedid": "$Person.sourcedId"}},
    "id is a path": {f"{LTI}/lis": {"person_sourcedid": "../ada"}},
    "id is a formula": {f"{LTI}/lis": {"person_sourcedid": "=1+1"}},
    "id is a list": {f"{LTI}/lis": {"person_sourcedid": ["ada"]}},
    "lis is text": {f"{LTI}/lis": "ada"},
    "no lis": {f"{LTI}/lis": None},
    "new person without roles": {f"{LTI}/roles": []},
    "new person with unknown role": {f"{LTI}/roles": [f"{ROLES}#Unknown"]},
}
VALID: dict[str, dict[str, Any]] = {
    "student": {},
    "student with short role": {f"{LTI}/roles": ["Learner"]},
    "student with two roles": {f"{LTI}/roles": [f"{ROLES}#Learner", f"{ROLES}#Mentor"]},
    "student with unknown role": {f"{LTI}/roles": [f"{ROLES}#Unknown"]},
    "student without roles": {f"{LTI}/roles": []},
    "student with custom parameters": {f"{LTI}/custom": {"chapter": "1", "empty": ""}},
    "student with e-mail but no name": {"given_name": ABSENT, "family_name": ABSENT, "name": ABSENT},
    "student with names but no e-mail": {"email": ABSENT},
    "student without names and e-mail": {
        "given_name": ABSENT,
        "family_name": None,
        "name": None,
        "email": ABSENT,
    },
    "context with null": {
        f"{LTI}/context": {"id": "their course", "title": None, "label": None, "type": None}
    },
    "long address of the platform": {
        f"{LTI}/tool_platform": {"guid": "x", "name": None, "url": "https://" + "x" * 300}
    },
    "long address of a picture": {"picture": "https://example.org/" + "x" * 400},
    "clock ahead": {"iat": NOW + 120, "exp": NOW + 3600},
    "presentation": {f"{LTI}/launch_presentation": {"document_target": "iframe", "locale": None}},
    "long address of a line item": {
        f"{AGS}/claim/endpoint": {"scope": [], "lineitem": "https://" + "x" * 300}
    },
    "no grade service": {f"{AGS}/claim/endpoint": None},
    "no class list": {f"{NRPS}/claim/namesroleservice": None},
}
INSTRUCTOR: dict[str, dict[str, Any]] = {
    "instructor": {},
    "instructor with short role": {f"{LTI}/roles": ["Instructor"]},
    "instructor with unknown role, too": {f"{LTI}/roles": [f"{ROLES}#Instructor", f"{ROLES}#Unknown"]},
    "instructor without names and e-mail": {"given_name": ABSENT, "family_name": ABSENT, "email": ABSENT},
}


def list_members(at: Small) -> set[tuple[str, str]]:
    """Return role and student ID of all members of the course."""
    from autograder.service.models import Member

    return set(Member.objects.filter(course=at.record).values_list("role", "student"))


def cases(named: dict[str, Any]) -> Any:
    """Return named parameters of a test."""
    return pytest.mark.parametrize("case", named.values(), ids=named)


@cases(FORGED)
def test_a_token_that_the_platform_did_not_sign_is_refused(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, case: Callable[[dict[str, Any]], str]
) -> None:
    """Tokens with a wrong header or signature are rejected."""
    client = at.client("nobody")
    begun = lms.begun(client)
    token = case(lms.said(begun, "ada", ("Learner",)))
    answer = client.post("/app/lti/launch", {"id_token": token, "state": begun["state"]})
    assert 400 == answer.status_code
    assert "_auth_user_id" not in client.session


@pytest.mark.slow
@cases(INVALID)
def test_an_invalid_launch_is_refused(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, case: dict[str, Any]
) -> None:
    """Each invalid launch gets an error page and adds no member."""
    client, before = at.client("nobody"), list_members(at)
    answer = lms.launch(client, **case)
    assert answer.status_code in {400, 403}
    assert "<h1>" in answer.content.decode()
    assert "_auth_user_id" not in client.session
    assert before == list_members(at)


def test_a_nonce_is_good_once(at: Small, connected: PlatformCourse, lms: LearningPlatform) -> None:
    """A nonce cannot be reused in another token or with the state of another login."""
    client = at.client("nobody")
    first = lms.begun(client)
    for position, state in enumerate((first["state"], lms.begun(client)["state"])):
        token = lms.signed(lms.said(first, "ada", ("Learner",), exp=NOW + 3600 + position))
        answer = client.post("/app/lti/launch", {"id_token": token, "state": state})
        assert (302, 400)[position] == answer.status_code


@pytest.mark.slow
@cases(VALID)
def test_a_valid_launch_of_a_student_leads_to_the_course(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, case: dict[str, Any]
) -> None:
    """Known students may have no role; optional claims may be missing, empty, short or too long."""
    if f"{LTI}/roles" in case:
        lms.launch(at.client("nobody"))
    client = at.client("nobody")
    assert at.base == lms.launch(client, **case).headers.get("location")
    assert 200 == client.get(at.base).status_code


@cases(INSTRUCTOR)
def test_a_valid_launch_of_an_instructor_leads_to_the_staff_pages(
    at: Small, connected: PlatformCourse, lms: LearningPlatform, case: dict[str, Any]
) -> None:
    """An instructor of the platform who is new here becomes an instructor of the course."""
    client = at.client("nobody")
    answer = lms.launch(client, "second", ("Instructor",), **case)
    assert f"{at.base}staff/" == answer.headers.get("location")
    assert 200 == client.get(f"{at.base}staff/").status_code
