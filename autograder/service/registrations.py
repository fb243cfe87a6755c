"""Learning platforms that register themselves (LTI Dynamic Registration 1.0), and their confirmation.

An administrator creates an address that works once. A platform that is opened with it states where it
describes itself; the service reads that description, registers itself there, and stores the platform. It can
launch only after an administrator has confirmed it.
"""

from __future__ import annotations

import http.client
import secrets
from collections.abc import Collection
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.utils import timezone
from lti_tool.lti_core.constants import AgsScope
from lti_tool.models import LtiDeployment, LtiRegistration
from msgspec import Struct, field

from autograder.service import audit, outgoing
from autograder.service.models import Account
from autograder.service.models_results import PlatformRegistration
from autograder.service.platforms import READ_ROSTER
from autograder.service.program_keys import hash_secret
from autograder.service.refusals import RequestRefused

VALID = timedelta(days=2)
"""How long an address for a registration works."""
_TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
_PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"
_MESSAGES = ("LtiResourceLinkRequest", "LtiDeepLinkingRequest", "LtiSubmissionReviewRequest")
_PLACEMENTS = ("ContentArea", "assignment_selection")
"""Where links to assignments are chosen: the name of the standard, and that of Canvas."""
_SCOPES = (AgsScope.MANAGE_LINEITEMS.value, AgsScope.PUBLISH_SCORES.value, READ_ROSTER)
_CLAIMS = ("iss", "sub", "name", "given_name", "family_name", "email")


class ToolAddresses(Struct, frozen=True):
    """Addresses of the service that a platform stores."""

    login: str
    launch: str
    keys: str


class _Message(Struct):
    type: str
    placements: list[str] = []


class _Product(Struct):
    messages_supported: list[_Message] = []


class _Configuration(Struct):
    """The parts of a platform's OpenID configuration that are used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    registration_endpoint: str
    authorization_server: str = ""
    scopes_supported: list[str] = []
    product: _Product = field(default_factory=_Product, name=_PLATFORM)


class _StoredTool(Struct):
    deployment_id: str | int = ""


class _Answer(Struct):
    client_id: str
    tool: _StoredTool = field(default_factory=_StoredTool, name=_TOOL)


def create_token(by: Account) -> str:
    """Create the token of an address at which one platform can register once; unused old ones are deleted."""
    token, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        PlatformRegistration.objects.filter(registration=None, expires_at__lt=now).delete()
        PlatformRegistration.objects.create(digest=hash_secret(token), expires_at=now + VALID)
        audit.record_action(by.username, "registration address", "")
    return token


def register_platform(token: str, address: str, secret: str, tool: ToolAddresses) -> LtiRegistration:
    """Register the service with a platform, and store the platform, which cannot launch yet.

    Args:
        token: of the one-time address; it is used up even if the registration fails.
        address: of the platform's OpenID configuration.
        secret: the platform's registration token; may be empty.
        tool: addresses of the service.

    Raises:
        ServiceError: the token is not valid, or the platform's data are not; nothing is stored.
    """
    if not address:
        raise RequestRefused("registration-no-platform")
    now = timezone.now()
    unused = PlatformRegistration.objects.filter(
        digest=hash_secret(token), registration=None, expires_at__gt=now
    )
    # Atomic, and before any request: of two visitors with the same address only one gets further.
    if not unused.update(expires_at=now):
        raise RequestRefused("registration-used")
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {secret}"} if secret else {})
    configuration = _fetch("GET", address, None, headers, _Configuration)
    host = _get_host(configuration.issuer)
    # LTI Dynamic Registration 1.0: otherwise anybody could register another platform's issuer.
    if not configuration.issuer.startswith("https://") or host != _get_host(address):
        raise RequestRefused("registration-issuer")
    for endpoint in (configuration.authorization_endpoint, configuration.token_endpoint):
        outgoing.resolve_address(endpoint)
    outgoing.resolve_address(configuration.jwks_uri)
    body = msgspec.json.encode(_describe_tool(tool, configuration))
    headers["Content-Type"] = "application/json"
    answer = _fetch("POST", configuration.registration_endpoint, body, headers, _Answer)
    registration = LtiRegistration(
        name=host,
        issuer=configuration.issuer,
        client_id=answer.client_id,
        audience=configuration.authorization_server,
        auth_url=configuration.authorization_endpoint,
        token_url=configuration.token_endpoint,
        keyset_url=configuration.jwks_uri,
        is_active=False,
    )
    try:
        registration.full_clean()  # also refuses a second registration of the same client
        with transaction.atomic():
            registration.save()
            if answer.tool.deployment_id:
                LtiDeployment.objects.create(
                    registration=registration, deployment_id=str(answer.tool.deployment_id)
                )
            PlatformRegistration.objects.filter(digest=hash_secret(token)).update(registration=registration)
            audit.record_action(registration.name, "platform registered", registration.issuer)
    except ValidationError as error:
        raise RequestRefused("registration-invalid", reason=" ".join(error.messages)) from error
    except (DatabaseError, ValueError) as error:
        raise RequestRefused("registration-unstored") from error
    return registration


def _get_host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _fetch(method: str, address: str, body: bytes | None, headers: dict[str, str], to: type[Any]) -> Any:
    # No message repeats the address or what came: they may contain the platform's token.
    try:
        status, content = outgoing.send_request(method, address, body, headers)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise RequestRefused("registration-unreachable") from error
    if not 200 <= status < 300:
        raise RequestRefused("registration-status", status=status)
    try:
        return msgspec.json.decode(content, type=to)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RequestRefused("registration-malformed") from error


def _describe_tool(tool: ToolAddresses, configuration: _Configuration) -> dict[str, Any]:
    """Return the registration of the service, with what the platform supports."""
    offered = {message.type: message.placements for message in configuration.product.messages_supported}
    messages: list[dict[str, Any]] = []
    for kind in _MESSAGES:
        if offered and kind not in offered:
            continue
        message: dict[str, Any] = {"type": kind, "target_link_uri": tool.launch, "label": "nbexam"}
        if kind == "LtiDeepLinkingRequest":
            placements = [place for place in _PLACEMENTS if place in offered.get(kind, ())]
            message |= {"placements": placements or list(_PLACEMENTS[:1])}
        messages.append(message)
    supported = configuration.scopes_supported
    return {
        "application_type": "web",
        "grant_types": ["client_credentials", "implicit"],
        "response_types": ["id_token"],
        "initiate_login_uri": tool.login,
        "redirect_uris": [tool.launch],
        "client_name": "nbexam",
        "jwks_uri": tool.keys,
        "token_endpoint_auth_method": "private_key_jwt",
        "scope": " ".join(scope for scope in _SCOPES if not supported or scope in supported),
        _TOOL: {
            "domain": urlsplit(tool.launch).netloc,
            "target_link_uri": tool.launch,
            "claims": list(_CLAIMS),
            "messages": messages,
            # Canvas sends names and addresses only if this says so.
            "https://canvas.instructure.com/lti/privacy_level": "public",
        },
    }


def confirm_platform(
    row: PlatformRegistration, student: str, deployments: Collection[str], by: Account
) -> None:
    """Let a registered platform launch from exactly these of its known deployments.

    Args:
        row: the platform.
        student: the part of a launch with a student's id.
        deployments: ids of deployments.
        by: the administrator.
    """
    with transaction.atomic():
        deployed = LtiDeployment.objects.filter(registration=row.registration)
        deployed.update(is_active=False)
        deployed.filter(deployment_id__in=deployments).update(is_active=True)
        LtiRegistration.objects.filter(pk=row.registration_id).update(is_active=True)
        row.student, row.confirmed_at = student, timezone.now()
        row.save(update_fields=["student", "confirmed_at"])
        audit.record_action(
            by.username, "platform confirmed", row.registration.issuer, after=sorted(deployments)
        )


def remove_platform(row: PlatformRegistration, by: Account) -> None:
    """Forbid a platform to launch. It is deleted unless members came through it, who refer to it."""
    with transaction.atomic():
        audit.record_action(by.username, "platform removed", row.registration.issuer)
        if not row.registration.users.exists():
            row.registration.delete()
            return
        LtiRegistration.objects.filter(pk=row.registration_id).update(is_active=False)
        PlatformRegistration.objects.filter(pk=row.pk).update(confirmed_at=None)
