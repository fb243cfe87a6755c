"""Configuration of identity providers and learning platforms: OpenID Connect, SAML, JupyterHub, LTI."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import RubricError, ServiceError
from autograder.core.tables import convert_table

FILE = "sign-in.toml"
PLATFORMS = "platforms.toml"


class IdentityProvider(Struct, frozen=True):
    """An external service that authenticates users."""

    kind: Literal["openid", "saml", "jupyterhub"]
    name: str
    """The label of its sign-in button."""
    server: str
    """OpenID's issuer, the address of SAML metadata, or the address of the hub."""
    client: str
    """For SAML, the entity id of this service."""
    secret: str
    """For SAML, the private key of this service, in PEM format."""
    student: str = "preferred_username"
    """The claim that holds the student's id; ``email``: the address, if it is verified. For SAML, the name of
    the attribute."""
    certificate: str = ""
    """The certificate of SAML's private key, in PEM format."""


StudentIs = Literal["sourcedid", "sub", "email"]
"""The part of a platform's launch that identifies a student: the ``lis`` claim, its own user id, or the
address."""


class Platform(Struct, frozen=True):
    """A learning platform that may launch, as the operator configures it."""

    name: str
    issuer: str
    client: str
    login: str
    """Its authorisation endpoint for OpenID Connect."""
    token: str
    """Its endpoint for access tokens."""
    keys: str
    """The address of its public keys."""
    deployments: tuple[str, ...]
    """The ids of its deployments; launches from others are refused."""
    audience: str = ""
    """The audience in requests for tokens; default: the token endpoint."""
    student: StudentIs = "sourcedid"


T = TypeVar("T")


def read_providers(folder: Path) -> dict[str, IdentityProvider]:
    """Read the identity providers of a service, by the name used in addresses.

    Raises:
        ServiceError: other users can read the file, or it is invalid.
    """
    path = folder / FILE
    providers = _read_tables(path, IdentityProvider)
    for name, provider in providers.items():
        _check_address(provider.server, f"{path}: [{name}]: server")
        if provider.kind == "saml":
            _check_saml(provider, f"{path}: [{name}]")
    # allauth's JupyterHub provider has one API_URL for all of its apps.
    if sum(provider.kind == "jupyterhub" for provider in providers.values()) > 1:
        raise ServiceError(f"{path}: only one JupyterHub is allowed")
    return providers


def read_platforms(folder: Path) -> dict[str, Platform]:
    """Read the learning platforms that may launch, by the name of their table.

    Raises:
        ServiceError: as for `read_providers`.
    """
    path = folder / PLATFORMS
    platforms = _read_tables(path, Platform)
    for name, platform in platforms.items():
        for key in ("login", "token", "keys"):
            _check_address(getattr(platform, key), f"{path}: [{name}]: {key}")
    if len({(platform.issuer, platform.client) for platform in platforms.values()}) < len(platforms):
        raise ServiceError(f"{path}: two platforms have the same issuer and client")
    return platforms


def _read_tables(path: Path, to: type[T]) -> dict[str, T]:
    """Read the tables of a file, by name; none if it is missing."""
    if not path.exists():
        return {}
    # The file holds client secrets.
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ServiceError(
            f"{path}: other users can read this file, which contains secrets; run: chmod 600 {path}"
        )
    try:
        tables = tomllib.loads(atomic.read_bytes(path).decode())
        return {name: convert_table(table, to, f"{path}: [{name}]") for name, table in tables.items()}
    except (ValueError, RubricError) as error:
        # Errors of the table reader already begin with the path.
        raise ServiceError(f"{path}: {error}".replace(f"{path}: {path}", str(path))) from error


def _check_address(address: str, location: str) -> None:
    parts = urlsplit(address)
    # Plain HTTP would expose secrets and tokens, except on this machine.
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
        raise ServiceError(f"{location}: expected an https address, got {address!r}")


def _check_saml(provider: IdentityProvider, location: str) -> None:
    # SAML has no standard attribute for an id, and none says that an address is verified.
    if provider.student in {"preferred_username", "email"}:
        raise ServiceError(
            f"{location}: student: expected the name of a SAML attribute that holds the student's id, such "
            f'as "urn:oid:0.9.2342.19200300.100.1.1" (uid), got {provider.student!r}'
        )
    try:
        key = load_pem_private_key(provider.secret.encode(), None)
        certificate = x509.load_pem_x509_certificate(provider.certificate.encode())
        belongs = certificate.public_key() == key.public_key()
    except (TypeError, ValueError, UnsupportedAlgorithm):
        belongs = False
    if not belongs:
        raise ServiceError(
            f"{location}: expected a private key without password in secret, and its certificate in "
            "certificate, both in PEM format"
        )
    try:
        import onelogin.saml2.auth  # noqa: F401
    except Exception as error:  # lxml and xmlsec raise a class of their own if they do not fit together
        raise ServiceError(
            f"{location}: SAML needs more packages; run: pip install 'nbexam[saml]' ({error})"
        ) from error


def to_settings(providers: Mapping[str, IdentityProvider]) -> dict[str, Any]:
    """Return the providers as allauth's settings."""
    apps: dict[str, list[dict[str, Any]]] = {"openid": [], "saml": [], "jupyterhub": []}
    for name, provider in providers.items():
        app: dict[str, Any] = {
            "provider_id": name,
            "name": provider.name,
            "client_id": provider.client,
            "secret": provider.secret,
        }
        if provider.kind == "openid":
            # PKCE: a stolen authorisation code is useless without the verifier of this browser.
            app["settings"] = {"server_url": provider.server, "oauth_pkce_enabled": True}
        if provider.kind == "saml":
            # allauth looks up SAML apps by their client id, and has it in addresses.
            app |= {"client_id": name, "secret": "", "settings": _to_saml_settings(provider)}
        apps[provider.kind].append(app)
    hub = next(
        (provider.server.rstrip("/") for provider in providers.values() if provider.kind == "jupyterhub"), ""
    )
    return {
        "openid_connect": {"APPS": apps["openid"]},
        "saml": {"APPS": apps["saml"]},
        "jupyterhub": {"APPS": apps["jupyterhub"], "API_URL": hub},
    }


def _to_saml_settings(provider: IdentityProvider) -> dict[str, Any]:
    # Identifies the account. Without any of these it is the NameID, which may be another one each time.
    subject = "urn:oasis:names:tc:SAML:attribute:"
    return {
        "idp": {"metadata_url": provider.server, "entity_id": None},
        "sp": {"entity_id": provider.client},
        "attribute_mapping": {"uid": [f"{subject}subject-id", f"{subject}pairwise-id", provider.student]},
        "advanced": {
            "x509cert": provider.certificate,
            "private_key": provider.secret,
            "authn_request_signed": True,
            "reject_idp_initiated_sso": True,
            "allow_single_label_domains": True,  # of an intranet
        },
    }


def list_buttons(providers: Mapping[str, IdentityProvider]) -> Sequence[tuple[str, str]]:
    """Return, for every provider, the sign-in path below the account pages and its name."""
    paths = {"openid": "oidc/{}/login/", "saml": "saml/{}/login/", "jupyterhub": "jupyterhub/login/"}
    return [(paths[provider.kind].format(name), provider.name) for name, provider in providers.items()]
