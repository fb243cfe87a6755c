"""Operations on a service: backup, restore, and the export of a course.

Each of them works whether the service is running or not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.core import atomic
from autograder.core.errors import ServiceError
from autograder.course import PRIVATE
from autograder.service import postgres, setup

KEYS = ("receipt-key", "session-key")
"""The service's keys, stored outside its database. Without the first one, no receipt could be verified."""
_DUMP = "database.dump"
_PARTS = {"host", "port", "user", "password", "passfile", "sslmode", "sslrootcert"}


def get_folder(course: Path) -> Path:
    """Return the folder in which the service of a course folder keeps its files."""
    return course.resolve() / PRIVATE / "service"


@contextmanager
def _open_database(course: Path, url: str) -> Iterator[str]:
    configured_url = url or os.environ.get(setup.DATABASE_URL, "")
    with postgres.open_database(get_folder(course) / "database", configured_url) as running:
        setup.check_database(running)
        yield running


def export_course(folder: Path, course: Path, slug: str, url: str = "") -> None:
    """Write a course of the service into an empty folder, with gradebook.db, as the other commands expect it.

    Args:
        folder: the folder to write.
        course: the course folder of the service.
        slug: of the course in addresses.
        url: of the database; default: as the service finds it.

    Raises:
        ServiceError: there is no such course or database, or the folder is not empty.
    """
    with _open_database(course, url) as database_url, setup.open_tables(database_url):
        from autograder.service import course_transfer
        from autograder.service.models import CourseRecord

        courses = {record.slug: record for record in CourseRecord.objects.all()}
        if slug not in courses:
            raise ServiceError(
                f"there is no course {slug!r}; the database has {', '.join(courses) or 'none'}"
            )
        course_transfer.export_course(courses[slug], folder)


def create_backup(folder: Path, course: Path, url: str = "") -> None:
    """Copy the service's database and keys into an empty folder, consistent as of one moment.

    The service keeps running. The copy contains all of its data and secrets: protect it as you protect the
    service.

    Raises:
        ServiceError: the folder is not empty, there is no database, or it cannot be copied.
    """
    partial = folder / f"{_DUMP}.part"
    with _remove_on_failure(folder, partial, *(folder / name for name in KEYS)):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ServiceError(f"{folder}: expected an empty folder")
        # The dump gets its final name only when it is complete, so `restore_backup` never reads half of one.
        partial.touch(0o600)
        with _open_database(course, url) as database_url:
            _run_program(
                "pg_dump",
                database_url,
                *("--format=custom", "--no-owner", "--no-privileges", f"--file={partial}"),
            )
        for name in KEYS:
            key = setup.load_or_create_key(get_folder(course), name)
            atomic.write_bytes(folder / name, key, mode=0o600)
        partial.rename(folder / _DUMP)


def restore_backup(folder: Path, course: Path, url: str = "") -> str:
    """Restore a backup into a service that has no data yet: a new course folder, or an empty database.

    Returns:
        The database, without its password.

    Raises:
        ServiceError: the backup is incomplete, or the target already has data.
    """
    for name in (*KEYS, _DUMP):
        if not (folder / name).is_file():
            raise ServiceError(f"{folder / name}: missing; the backup is not complete")
    service_folder = get_folder(course)
    url = url or os.environ.get(setup.DATABASE_URL, "")
    if (service_folder / "database" / "made").exists() and not url:
        raise ServiceError(
            f"{service_folder}: there is already a service in this folder; restore into another one"
        )
    # A key that a refused restore left would be that of a service without data.
    new = [course, service_folder.parent, service_folder, service_folder / "database"]
    with _remove_on_failure(*new, *(service_folder / name for name in KEYS)):
        for name in KEYS:
            data = atomic.read_bytes(folder / name)
            # Never overwrite a key: receipts that it signed could no longer be verified.
            if (service_folder / name).exists() and atomic.read_bytes(service_folder / name) != data:
                raise ServiceError(
                    f"{service_folder / name}: another key than that of the backup; restore elsewhere"
                )
            service_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.write_bytes(service_folder / name, data, mode=0o600)
        if url:
            _restore_dump(url, folder)
            return setup.describe_database(url)
        with postgres.EmbeddedPostgres(service_folder / "database") as database:
            _restore_dump(database.url, folder)
        return f"its embedded database (no {setup.DATABASE_URL} is set)"


@contextmanager
def _remove_on_failure(*paths: Path) -> Iterator[None]:
    """Remove those of the files and folders that an operation creates, if it fails."""
    new = [path for path in paths if not path.exists()]
    try:
        yield
    except BaseException:
        for path in new:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        raise


def _restore_dump(url: str, folder: Path) -> None:
    import psycopg

    setup.check_database(url)
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    if row is None or row[0]:
        raise ServiceError("the database is not empty; restore into an empty one")
    _run_program(
        "pg_restore", url, "--no-owner", "--exit-on-error", "--single-transaction", str(folder / _DUMP)
    )


def _run_program(program: str, url: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs. The URL contains a password, so it is passed in the environment."""
    from psycopg.conninfo import conninfo_to_dict

    parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    # Arguments are visible to all users of the machine, the environment is not.
    connection_variables = {f"PG{name.upper()}": value for name, value in parts.items() if name in _PARTS}
    connection_variables["PGDATABASE"] = parts.get("dbname", "")
    target = ["--dbname", parts.get("dbname", "")] if program == "pg_restore" else []
    done = subprocess.run(
        [str(postgres.find_binaries() / program), *target, *arguments],
        env={**os.environ, **connection_variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServiceError(f"{program}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
