"""Django, configured in code: in one place, without a settings module, without secrets in it.

`configure_django` once per process; `migrate_tables` updates the tables; `close_connections` closes the pool.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.utils.text import slugify
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import ServiceError

LOG = logging.getLogger("autograder.service.setup")
APPS = (
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "procrastinate.contrib.django",
    "lti_tool",
    "autograder.service",
)
DATABASE_URL = "AUTOGRADER_DATABASE_URL"
"""The environment variable for the database URL: it contains a password, and command lines are public."""
MAIL = "AUTOGRADER_MAIL"
"""The environment variable for the mail server: its address contains a password, too."""
ADDRESS = "AUTOGRADER_ADDRESS"
"""The environment variable for the address of the service, with which a worker makes links."""
PATIENCE_SECONDS = 5
"""Time to wait for an unavailable database, or for a free connection."""
_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
_EXPECTED = f"{MAIL}: expected smtps://user:password@mail.example.org?from=exams@example.org"
_POOL = {"min_size": 1, "max_size": 16, "timeout": PATIENCE_SECONDS}
"""Connections of one process; PostgreSQL allows a hundred for all processes together."""


class ServiceSettings(Struct, frozen=True):
    """Options that differ between services."""

    database_url: str
    secret_key: str = ""
    """Signs sessions; empty if no one signs in, as in a worker."""
    apps: Sequence[str] = ()
    further: dict[str, Any] = {}
    """Settings of the pages (`autograder.web`)."""


def configure_django(options: ServiceSettings) -> None:
    """Configure Django for this process.

    Raises:
        ServiceError: the URL is not a PostgreSQL URL.
    """
    settings.configure(
        **{
            "DATABASES": {"default": build_database_settings(options.database_url)},
            "INSTALLED_APPS": [*options.apps, *APPS],
            # Django requires a key; a process that signs nothing gets a random one.
            "SECRET_KEY": options.secret_key or secrets.token_hex(32),
            "AUTH_USER_MODEL": "service.Account",
            "USE_TZ": True,
            "TIME_ZONE": "UTC",
            "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
            "LOGGING_CONFIG": None,
            **build_mail_settings(os.environ.get(MAIL, "")),
            **options.further,
        }
    )
    django.setup()


def build_database_settings(url: str) -> dict[str, Any]:
    """Return Django's settings for a database.

    Raises:
        ServiceError: the URL is not a PostgreSQL URL.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    expected = "--database-url: expected postgresql://user:password@host/name; this is not one"
    if not url.startswith(("postgresql://", "postgres://")):  # never repeat it: it may contain a password
        raise ServiceError(expected)
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ServiceError(expected) from error
    fields = {name: str(parts.pop(name, "")) for name in ("dbname", "user", "password", "host", "port")}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": fields["dbname"],
        "USER": fields["user"],
        "PASSWORD": fields["password"],
        "HOST": fields["host"],
        "PORT": fields["port"],
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**parts, "pool": _POOL},
    }


def describe_database(url: str) -> str:
    """Return a database's name, host and port, without user and password.

    Raises:
        ServiceError: the URL is not a PostgreSQL URL.
    """
    parts = build_database_settings(url)
    return f"the database {parts['NAME']} at {parts['HOST'] or 'localhost'}, port {parts['PORT'] or 5432}"


def check_database(url: str) -> None:
    """Check that a database responds, for a sentence at the start instead of a traceback later.

    Raises:
        ServiceError: it does not, or the URL is not a PostgreSQL URL.
    """
    import psycopg

    name = describe_database(url)
    try:
        psycopg.connect(url, connect_timeout=PATIENCE_SECONDS).close()
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        raise ServiceError(
            f"{name}, does not respond; start it, or correct {DATABASE_URL} or --database-url ({reason})"
        ) from error


def build_mail_settings(url: str) -> dict[str, Any]:
    """Return Django's settings for a mail server; without one, e-mails are written to standard output.

    Args:
        url: ``smtps://user:password@host:port?from=address``; ``smtp+starttls`` and ``smtp`` work as well.

    Raises:
        ServiceError: it is not such an address.
    """
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ServiceError(_EXPECTED) from error  # never repeat it: it contains a password
    sender = dict(parse_qsl(parts.query)).get("from", "")
    if parts.scheme not in _PORTS or not parts.hostname or "@" not in sender:
        raise ServiceError(_EXPECTED)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or _PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+starttls",
        "EMAIL_TIMEOUT": 30,
        "DEFAULT_FROM_EMAIL": sender,
    }


def migrate_tables() -> None:
    """Update the tables. Safe to call from several processes: one does the work, the others wait.

    Raises:
        ServiceError: a newer version of this package has updated them.
    """
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_MIGRATING])
        try:
            loader = MigrationLoader(connections["default"])
            _refuse_newer_tables(loader)
            _log_migrations(loader)
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", _CACHE, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATING])


def _refuse_newer_tables(loader: MigrationLoader) -> None:
    # Django ignores migrations that it does not know, and half of the pages would fail later.
    migrations = {*loader.disk_migrations, *loader.replacements}
    migrations |= {old for migration in loader.replacements.values() for old in migration.replaces}
    newer = sorted(
        entry for entry in loader.applied_migrations if entry[0] == "service" and entry not in migrations
    )
    if newer:
        raise ServiceError(
            f"the database was updated by a newer version ({newer[-1][1]}); install that version again, or "
            "restore the backup from before the upgrade into an empty database"
        )


def _log_migrations(loader: MigrationLoader) -> None:
    missing = loader.graph.nodes.keys() - loader.applied_migrations.keys()
    if missing:
        before, after = (
            max((name for app, name in migrations if app == "service"), default="none")
            for migrations in (loader.applied_migrations, loader.graph.nodes)
        )
        LOG.info("updating the tables from %s to %s (migrations: %d)", before, after, len(missing))


_CACHE = "service_cache"
_MIGRATING = 0x6175_746F
"""A number of our own among PostgreSQL's advisory locks."""


@contextmanager
def open_tables(url: str) -> Iterator[None]:
    """Open the tables of a database for the duration of a command."""
    configure_django(ServiceSettings(url))
    migrate_tables()
    try:
        yield
    finally:
        close_connections()


def close_connections() -> None:
    """Close all connections of this process."""
    connections.close_all()
    for connection in connections.all(initialized_only=True):
        # Only the PostgreSQL backend has a pool.
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def load_or_create_key(folder: Path, name: str, size: int = 32) -> bytes:
    """Return a secret from its file; it is created at the first use, readable only by its owner.

    Raises:
        ServiceError: the file is readable by others, or damaged.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    # Two processes that start together must not create different keys.
    with atomic.lock_folder(folder):
        if not path.exists():
            atomic.write_bytes(path, os.urandom(size), mode=0o600)
    if path.stat().st_mode & 0o077:
        raise ServiceError(f"{path}: other users can read this file; run: chmod 600 {path}")
    key = atomic.read_bytes(path)
    if len(key) != size:
        raise ServiceError(f"{path}: expected {size} bytes, found {len(key)}; restore it from a copy")
    return key


def make_slug(folder: Path) -> str:
    """Return the course name for addresses, derived from the folder name.

    Raises:
        ServiceError: no character of the name can be used in an address.
    """
    if slug := slugify(folder.resolve().name)[:64]:
        return slug
    raise ServiceError(f"{folder}: its name cannot be used in addresses; name the course: --name")
