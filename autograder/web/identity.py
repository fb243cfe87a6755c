"""Configuration of identity providers and learning platforms: OpenID Connect, JupyterHub, LTI."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import RubricError, ServiceError
from autograder.core.tables import convert_table

FILE = "sign-in.toml"
PLATFORMS = "platforms.toml"


class IdentityProvider(Struct, frozen=True):
    """An external service that authenticates users."""

    kind: Literal["openid", "jupyterhub"]
    name: str
    """The label of its sign-in button."""
    server: str
    """OpenID's issuer, or the address of the hub."""
    client: str
    secret: str
    student: str = "preferred_username"
    """The claim that holds the student's id; ``email``: the address, if it is verified."""


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


def to_settings(providers: Mapping[str, IdentityProvider]) -> dict[str, Any]:
    """Return the providers as allauth's settings."""
    apps: dict[str, list[dict[str, Any]]] = {"openid": [], "jupyterhub": []}
    for name, provider in providers.items():
        app = {
            "provider_id": name,
            "name": provider.name,
            "client_id": provider.client,
            "secret": provider.secret,
        }
        if provider.kind == "openid":
            # PKCE: a stolen authorisation code is useless without the verifier of this browser.
            app["settings"] = {"server_url": provider.server, "oauth_pkce_enabled": True}  # type: ignore[assignment]
        apps[provider.kind].append(app)
    hub = next(
        (provider.server.rstrip("/") for provider in providers.values() if provider.kind == "jupyterhub"), ""
    )
    return {
        "openid_connect": {"APPS": apps["openid"]},
        "jupyterhub": {"APPS": apps["jupyterhub"], "API_URL": hub},
    }


def list_buttons(providers: Mapping[str, IdentityProvider]) -> Sequence[tuple[str, str]]:
    """Return, for every provider, the sign-in path below the account pages and its name."""
    paths = {"openid": "oidc/{}/login/", "jupyterhub": "jupyterhub/login/"}
    return [(paths[provider.kind].format(name), provider.name) for name, provider in providers.items()]
