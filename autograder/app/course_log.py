"""The log of a folder course: who moved marks, when, why, and by how much. Entries are only ever appended.

Each line is an entry with the digest of the previous one: changing or removing an entry breaks the chain, and
`find_broken_entry` finds the position. An entry that a power cut left half-written is ignored.
"""

from __future__ import annotations

import datetime
import getpass
import hashlib
import json
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

# Takes the place of a previous digest in the first entry.
_BEGIN = "0" * 64
_MOST = 1 << 30


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
    previous: str = _BEGIN
    digest: str = ""


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
    # The lock spans reading and appending: two writers must not continue the same digest.
    with atomic.lock_folder(course.private):
        existing = read_entries(course)
        if any(entry_read.id == entry.id for entry_read in existing):
            return
        path = _get_path(course)
        facts = _to_facts(entry, existing[-1].digest if existing else _BEGIN)
        line = json.dumps({**facts, "digest": _hash_facts(facts)}, ensure_ascii=False) + "\n"
        try:
            whole = b"".join(line for line in _read_lines(path) if line.endswith(b"\n"))
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.truncate(len(whole))  # remove the partial line of a killed writer
                file.write(line.encode())
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
        parsed = [LogEntry(**json.loads(line)) for line in _read_lines(path) if line.endswith(b"\n")]
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(f"{path}: cannot be read: {error}; restore it from a copy") from error
    return tuple(entry for entry in parsed if assignment in ("", entry.assignment))


def find_broken_entry(course: Course) -> int:
    """Return the number of the first entry that does not fit the one before, from 1; 0: all fit.

    Raises:
        CourseError: the log cannot be read.
    """
    before = _BEGIN
    for number, entry in enumerate(read_entries(course), start=1):
        if entry.previous != before or entry.digest != _hash_facts(_to_facts(entry, before)):
            return number
        before = entry.digest
    return 0


def describe_faults(course: Course) -> list[str]:
    """Return sentences for staff about faults of the log."""
    try:
        number = find_broken_entry(course)
    except CourseError as error:
        return [str(error)]
    said = (
        f"{_get_path(course)}: entry {number} does not fit the one before: one of them was changed or removed"
    )
    return [f"{said}; compare the file with a copy"] if number else []


def _get_path(course: Course) -> Path:
    return course.private / "log.jsonl"


def _read_lines(path: Path) -> list[bytes]:
    return atomic.read_bytes(path, most=_MOST).splitlines(keepends=True) if path.exists() else []


def _to_facts(entry: LogEntry, previous: str) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": entry.at,
        "who": entry.who,
        "action": entry.action,
        "assignment": entry.assignment,
        "facts": entry.facts,
        "previous": previous,
    }


def _hash_facts(facts: Mapping[str, Any]) -> str:
    # Sorted keys make the digest independent of the order in which the facts were built.
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
