"""Through whom people can sign in: OpenID Connect, or a JupyterHub; a file of the service says so."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from autograder import atomic
from autograder.errors import RubricError, ServiceError
from autograder.tables import convert

FILE = "sign-in.toml"


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


def read(folder: Path) -> dict[str, IdentityProvider]:
    """Those that a service has, by the name in addresses.

    Raises:
        ServiceError: the file is readable for others, or not as it has to be.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ServiceError(f"{path}: readable for others, and it holds secrets; run: chmod 600 {path}")
    try:
        tables = tomllib.loads(atomic.read(path).decode())
        found = {
            name: convert(table, IdentityProvider, f"{path}: [{name}]") for name, table in tables.items()
        }
    except (ValueError, RubricError) as error:
        raise ServiceError(f"{path}: {error}".replace(f"{path}: {path}", str(path))) from error
    for name, one in found.items():
        parts = urlsplit(one.server)
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
            raise ServiceError(f"{path}: [{name}]: server: expected an address of https, got {one.server!r}")
    if sum(one.kind == "jupyterhub" for one in found.values()) > 1:
        raise ServiceError(f"{path}: there can be one JupyterHub")
    return found


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
