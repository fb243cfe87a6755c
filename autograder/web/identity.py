"""Through whom people can sign in: OpenID Connect, JupyterHub, learning platforms, as files say."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from autograder import atomic
from autograder.errors import RubricError, ServiceError
from autograder.tables import convert

FILE = "sign-in.toml"
PLATFORMS = "platforms.toml"


class IdentityProvider(Struct, frozen=True):
    """Somebody else who knows who people are."""

    kind: Literal["openid", "jupyterhub"]
    name: str
    """On the button."""
    server: str
    """OpenID's issuer, or the address of the hub."""
    client: str
    secret: str
    student: str = "preferred_username"
    """The claim that holds the student's id; ``email``: their address, where it is verified."""


StudentIs = Literal["sourcedid", "sub", "email"]
"""What of a platform's word is a student's id: its ``lis`` claim, its own number, or the address."""


class Platform(Struct, frozen=True):
    """A learning platform that may launch, as the operator states it."""

    name: str
    issuer: str
    client: str
    login: str
    """Its address for OpenID Connect."""
    token: str
    """Where it gives tokens for its services."""
    keys: str
    """Its public keys."""
    deployments: tuple[str, ...]
    """Their ids; launches of others are refused."""
    audience: str = ""
    """In requests for tokens; default: the address for them."""
    student: StudentIs = "sourcedid"


T = TypeVar("T")


def read(folder: Path) -> dict[str, IdentityProvider]:
    """Those that a service has, by the name in addresses.

    Raises:
        ServiceError: the file is readable for others, or not as it has to be.
    """
    path = folder / FILE
    found = _tables(path, IdentityProvider)
    for name, one in found.items():
        _check_address(one.server, f"{path}: [{name}]: server")
    if sum(one.kind == "jupyterhub" for one in found.values()) > 1:
        raise ServiceError(f"{path}: there can be one JupyterHub")
    return found


def read_platforms(folder: Path) -> dict[str, Platform]:
    """The learning platforms that may launch, by the name of their table.

    Raises:
        ServiceError: as with `read`.
    """
    path = folder / PLATFORMS
    found = _tables(path, Platform)
    for name, one in found.items():
        for key in ("login", "token", "keys"):
            _check_address(getattr(one, key), f"{path}: [{name}]: {key}")
    if len({(one.issuer, one.client) for one in found.values()}) < len(found):
        raise ServiceError(f"{path}: two platforms have the same issuer and client")
    return found


def _tables(path: Path, to: type[T]) -> dict[str, T]:
    """The tables of a file, by name; none where it is missing."""
    if not path.exists():
        return {}
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ServiceError(f"{path}: readable for others, and it says who gets in; run: chmod 600 {path}")
    try:
        tables = tomllib.loads(atomic.read(path).decode())
        return {name: convert(table, to, f"{path}: [{name}]") for name, table in tables.items()}
    except (ValueError, RubricError) as error:
        raise ServiceError(f"{path}: {error}".replace(f"{path}: {path}", str(path))) from error


def _check_address(address: str, place: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
        raise ServiceError(f"{place}: expected an address of https, got {address!r}")


def as_settings(providers: Mapping[str, IdentityProvider]) -> dict[str, Any]:
    """What the library wants to know of them."""
    apps: dict[str, list[dict[str, Any]]] = {"openid": [], "jupyterhub": []}
    for name, one in providers.items():
        app = {"provider_id": name, "name": one.name, "client_id": one.client, "secret": one.secret}
        if one.kind == "openid":
            app["settings"] = {"server_url": one.server, "oauth_pkce_enabled": True}  # type: ignore[assignment]
        apps[one.kind].append(app)
    hub = next((one.server.rstrip("/") for one in providers.values() if one.kind == "jupyterhub"), "")
    return {
        "openid_connect": {"APPS": apps["openid"]},
        "jupyterhub": {"APPS": apps["jupyterhub"], "API_URL": hub},
    }


def buttons(providers: Mapping[str, IdentityProvider]) -> Sequence[tuple[str, str]]:
    """Where each begins below the pages of accounts, and its name."""
    paths = {"openid": "oidc/{}/login/", "jupyterhub": "jupyterhub/login/"}
    return [(paths[one.kind].format(name), one.name) for name, one in providers.items()]
