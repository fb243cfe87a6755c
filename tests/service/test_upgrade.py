"""Upgrading the database of an earlier release loses nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.db import connections
from psycopg import sql

from autograder.core.errors import ServiceError
from autograder.service import setup
from autograder.service.postgres import EmbeddedPostgres
from autograder.service.receipts import verify_receipt
from tests.service.course import SIGNER

NAME = "earlier"
PLATFORMS = {"service_platformcourse", "service_platformmember", "service_sentscore"}
"""Tables of learning platforms, which the test leaves empty."""
Rows = dict[str, tuple[list[str], list[tuple[Any, ...]]]]


@pytest.fixture
def earlier_url(service_database: EmbeddedPostgres) -> Iterator[str]:
    """Create an empty database and return its URL."""
    with psycopg.connect(service_database.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(NAME)))
        yield urlunsplit(urlsplit(service_database.url)._replace(path=f"/{NAME}"))
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(NAME)))


def run_earlier(url: str, step: str) -> str:
    """Run a step in another process with this database, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.service.earlier", step],
        env={**os.environ, setup.DATABASE_URL: url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_tables_of_a_newer_release_are_refused(service_database: EmbeddedPostgres) -> None:
    """After a downgrade the service does not start, and the message says to restore the backup."""
    with psycopg.connect(service_database.url, autocommit=True) as connection:
        add = "INSERT INTO django_migrations (app, name, applied) VALUES ('service', '9999_later', now())"
        connection.execute(add)
        try:
            with pytest.raises(ServiceError, match=r"newer version \(9999_later\).*restore the backup"):
                setup.migrate_tables()
        finally:
            connection.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
    setup.migrate_tables()


def test_an_update_of_the_tables_is_logged_once(
    service_database: EmbeddedPostgres, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log names the first and last migration, and is empty if nothing changes."""
    from django.db.migrations.recorder import MigrationRecorder

    del service_database
    applied = MigrationRecorder.applied_migrations

    def forget_newest(recorder: MigrationRecorder) -> Any:
        return {entry: row for entry, row in applied(recorder).items() if entry != newest}

    newest = max(
        entry for entry in applied(MigrationRecorder(connections["default"])) if entry[0] == "service"
    )
    with caplog.at_level("INFO", "autograder.service.setup"), monkeypatch.context() as patch:
        setup.migrate_tables()
        patch.setattr(setup, "call_command", lambda *_, **__: None)
        patch.setattr(MigrationRecorder, "applied_migrations", forget_newest)
        setup.migrate_tables()
    (line,) = caplog.messages
    assert re.fullmatch(rf"updating the tables from \d{{4}}_\w+ to {newest[1]} \(migrations: 1\)", line)
    assert f"from {newest[1]}" not in line


def read_tables(url: str, columns: dict[str, list[str]] | None = None) -> Rows:
    """Return the rows of all tables of the service, ordered by primary key, with some or all columns."""
    rows: Rows = {}
    with psycopg.connect(url) as connection:
        for table, names in (columns or list_columns(connection)).items():
            chosen = sql.SQL(", ").join(map(sql.Identifier, names))
            statement = sql.SQL("SELECT {} FROM {} ORDER BY 1").format(chosen, sql.Identifier(table))
            rows[table] = (names, connection.execute(statement).fetchall())
    return rows


def list_columns(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Return the columns of the service's tables, the primary key first."""
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_name LIKE 'service\\_%' AND table_name <> 'service_cache'"
        " ORDER BY table_name, column_name NOT IN ('id', 'digest'), ordinal_position"
    ):
        columns.setdefault(table, []).append(column)
    return columns


def test_a_database_of_the_earlier_release_is_as_before_after_the_upgrade(earlier_url: str) -> None:
    """All rows are unchanged; password, receipts, hash chain and old API keys are still valid."""
    run_earlier(earlier_url, "create")
    before = read_tables(earlier_url)
    empty = {table for table, (_, rows) in before.items() if not rows}
    assert empty <= PLATFORMS | {"service_account_groups", "service_account_user_permissions"}
    facts = json.loads(run_earlier(earlier_url, "upgrade"))
    after = read_tables(earlier_url, {table: names for table, (names, _) in before.items()})
    # Signing in updates the last sign-in, and the hash if its parameters have changed.
    names, rows = before.pop("service_account")
    signed_in = [names.index("last_login"), names.index("password")]
    kept = [position for position in range(len(names)) if position not in signed_in]
    accounts = after.pop("service_account")[1]
    assert [[row[at] for at in kept] for row in rows] == [[row[at] for at in kept] for row in accounts]
    assert before == after
    assert (302, 0) == (facts["signed_in"], facts["broken_entry"])
    assert [["student", "ada"], ["student", "ben"], ["ta", ""]] == facts["members"]
    assert ["read submit"] == facts["scopes"]
    assert [1, 2] == [verify_receipt(text, SIGNER.public)["attempt"] for text in facts["receipts"]]
    assert facts["receipts"][0] + "\n" == facts["page"]
