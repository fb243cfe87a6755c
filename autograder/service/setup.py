"""Django, configured in code: one place, no settings module to forget, no secrets in it.

`configure` once for a process; `migrate` brings the tables up to date; `close` gives connections back.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.utils.text import slugify
from msgspec import Struct

from autograder import atomic
from autograder.errors import ServiceError

APPS = (
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "procrastinate.contrib.django",
    "lti_tool",
    "autograder.service",
)
DATABASE_URL = "AUTOGRADER_DATABASE_URL"
"""The environment variable that names the database: it holds a password, and command lines can be read."""
PATIENCE_SECONDS = 5
"""How long a database that went away, or a free connection, is waited for by whoever needs it now."""
_POOL = {"min_size": 1, "max_size": 16, "timeout": PATIENCE_SECONDS}
"""Connections of one process; PostgreSQL has a hundred for all of them."""


class Wanted(Struct, frozen=True):
    """What differs from one service to another."""

    database_url: str
    secret_key: str = ""
    """Signs sessions; empty where nobody signs in, as in a worker."""
    apps: Sequence[str] = ()
    further: dict[str, Any] = {}
    """Settings of the pages (`autograder.web`)."""


def configure(wanted: Wanted) -> None:
    """Configure Django for this process.

    Raises:
        ServiceError: the database's URL is not one of PostgreSQL.
    """
    settings.configure(
        **{
            "DATABASES": {"default": database(wanted.database_url)},
            "INSTALLED_APPS": [*wanted.apps, *APPS],
            "SECRET_KEY": wanted.secret_key or secrets.token_hex(32),
            "AUTH_USER_MODEL": "service.Account",
            "USE_TZ": True,
            "TIME_ZONE": "UTC",
            "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
            "LOGGING_CONFIG": None,
            **wanted.further,
        }
    )
    django.setup()


def database(url: str) -> dict[str, Any]:
    """Django's description of a database.

    Raises:
        ServiceError: it is no URL of PostgreSQL.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    expected = "--database-url: expected postgresql://user:password@host/name; this is not one"
    if not url.startswith(("postgresql://", "postgres://")):  # it may hold a password, and is not repeated
        raise ServiceError(expected)
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ServiceError(expected) from error
    known = {name: str(parts.pop(name, "")) for name in ("dbname", "user", "password", "host", "port")}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": known["dbname"],
        "USER": known["user"],
        "PASSWORD": known["password"],
        "HOST": known["host"],
        "PORT": known["port"],
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**parts, "pool": _POOL},
    }


def migrate() -> None:
    """Bring the tables up to date. Several processes may do it at once; one does it, the others wait."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_MIGRATING])
        try:
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", _CACHE, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATING])


_CACHE = "service_cache"
_MIGRATING = 0x6175_746F
"""A number of our own among PostgreSQL's advisory locks."""


@contextmanager
def open_tables(url: str) -> Iterator[None]:
    """The tables of a database, for as long as a command lasts."""
    configure(Wanted(url))
    migrate()
    try:
        yield
    finally:
        close()


def close() -> None:
    """Give all connections of this process back."""
    connections.close_all()
    for connection in connections.all(initialized_only=True):
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def kept_key(folder: Path, name: str, size: int = 32) -> bytes:
    """A secret of the service in a file of its own; made at the first use, readable by its owner alone.

    Raises:
        ServiceError: the file is readable for others, or damaged.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    with atomic.alone(folder):
        if not path.exists():
            atomic.write(path, os.urandom(size), mode=0o600)
    if path.stat().st_mode & 0o077:
        raise ServiceError(f"{path}: readable for others; run: chmod 600 {path}")
    found = atomic.read(path)
    if len(found) != size:
        raise ServiceError(f"{path}: expected {size} bytes, found {len(found)}; restore it from a copy")
    return found


def slug_of(folder: Path) -> str:
    """A course's name in addresses, from that of its folder.

    Raises:
        ServiceError: nothing of the name can stand there.
    """
    if slug := slugify(folder.resolve().name)[:64]:
        return slug
    raise ServiceError(f"{folder}: its name gives no address; name the course: --name")
