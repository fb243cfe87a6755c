"""The log of a folder course: who moved marks, when, why, and by how much. Entries are only ever appended.

Each line is an entry. One that a power cut left half-written is ignored.
"""

from __future__ import annotations

import datetime
import getpass
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.course import Course

_MOST = 1 << 30
"""Maximum size of the log in bytes."""


class LogEntry(Struct, frozen=True):
    """One entry."""

    id: str
    at: str
    """Time in UTC, in ISO 8601."""
    who: str
    action: str
    assignment: str
    facts: Mapping[str, Any]
    """Plain data about the change: previous and new values."""


def get_time() -> datetime.datetime:
    """Return the current time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def get_user() -> str:
    """Return the name of the current account."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def add_entry(course: Course, action: str, assignment: str, facts: Mapping[str, Any]) -> LogEntry:
    """Add an entry about something that was just done.

    Raises:
        CourseError: the log cannot be read or written.
    """
    plain = msgspec.to_builtins(facts)
    entry = LogEntry(secrets.token_hex(8), get_time().isoformat(), get_user(), action, assignment, plain)
    append_entry(course, entry)
    return entry


def append_entry(course: Course, entry: LogEntry) -> None:
    """Append an entry, unless one with its id exists.

    Raises:
        CourseError: the log cannot be read or written.
    """
    course.private.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The lock spans reading and appending: two writers must not truncate the same partial line.
    with atomic.lock_folder(course.private):
        if any(existing.id == entry.id for existing in read_entries(course)):
            return
        path = _get_path(course)
        try:
            whole = b"".join(line for line in _read_lines(path) if line.endswith(b"\n"))
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.truncate(len(whole))  # remove the partial line of a killed writer
                file.write(msgspec.json.encode(entry) + b"\n")
                file.flush()
                # From here on the entry survives a power cut.
                os.fsync(file.fileno())
        except OSError as error:
            raise CourseError(f"{path}: cannot be written: {error.strerror}") from error


def read_entries(course: Course, assignment: str = "") -> tuple[LogEntry, ...]:
    """Return the entries, the oldest first.

    Args:
        course: the course.
        assignment: only its entries; empty: all.

    Raises:
        CourseError: the log cannot be read.
    """
    path = _get_path(course)
    try:
        parsed = [
            msgspec.json.decode(line, type=LogEntry) for line in _read_lines(path) if line.endswith(b"\n")
        ]
    except (OSError, msgspec.MsgspecError) as error:
        raise CourseError(f"{path}: cannot be read: {error}; restore it from a copy") from error
    return tuple(entry for entry in parsed if assignment in ("", entry.assignment))


def _get_path(course: Course) -> Path:
    return course.private / "log.jsonl"


def _read_lines(path: Path) -> list[bytes]:
    return atomic.read_bytes(path, most=_MOST).splitlines(keepends=True) if path.exists() else []
