"""A regrading is entered: what is about to move is written down first, so that a kill anywhere loses nothing.

Whoever runs the same regrading again finishes what was begun, with one entry in the log about all of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograder import atomic
from autograder.app import Isolation, course_log
from autograder.app.basis import keep_basis
from autograder.app.course_log import LogEntry
from autograder.app.published import AgreedChange, ShownMark, read_published, write_published
from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import GradebookError
from autograder.grades import PersonMark
from autograder.grading.batch import MOST_TOGETHER
from autograder.store import GradedEntry, Store

_ACTION = "regrade"


class FollowedMark(Struct, frozen=True):
    """A person's mark of items, and what it becomes."""

    student: str
    notebook: str
    cell: str
    before: PersonMark
    after: PersonMark


class RehearsedClass(Struct, frozen=True):
    """What a class is to be."""

    assignment: Assignment
    isolation: Isolation
    entries: tuple[GradedEntry, ...]
    followed: tuple[FollowedMark, ...]
    will_show: Mapping[str, ShownMark]
    """What pages will show, by student."""
    shown: tuple[str, ...]
    """Who was shown a mark that moves."""


class _Begun(Struct, frozen=True):
    """What is written down before anything is changed."""

    entry: LogEntry
    rubric: str
    environment: str
    shown: tuple[str, ...]
    """Who was shown a mark that moves."""
    followed: tuple[FollowedMark, ...]
    reason: str


def enter_regrade(
    store: Store,
    rehearsed: RehearsedClass,
    facts: Mapping[str, Any],
    reason: str,
) -> str:
    """Let a rehearsed class count; returns the id of the log's entry.

    Args:
        store: of the course.
        rehearsed: the class.
        facts: for the log: who moves, from what to what, and why.
        reason: what is said on pages that change.

    Raises:
        CourseError: the log cannot be written.
        GradebookError: the store refused; running it again goes on.
    """
    course, name = rehearsed.assignment.course, rehearsed.assignment.name
    path = _path(course, name)
    begun = _begun(rehearsed, facts, reason)
    if (before := _read(path)) is not None:
        if (before.rubric, before.environment) == (begun.rubric, begun.environment):
            begun = before  # killed on the way: it is finished, under the entry that says all of it
        else:
            cut = {**before.entry.facts, "interrupted": True}
            course_log.note(course, replace(before.entry, facts=cut))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.write(path, msgspec.json.encode(begun), mode=0o600)
    keep_basis(rehearsed.assignment, rehearsed.isolation)
    try:
        store.prepare(rehearsed.assignment.rubric, rehearsed.assignment.release_bytes)
    except GradebookError:
        if before is None:  # nothing was changed
            path.unlink(missing_ok=True)
        raise
    _record(store, rehearsed, begun.followed)
    if begun.shown:
        _agree(course, name, begun, rehearsed.will_show)
    course_log.note(course, begun.entry)
    path.unlink(missing_ok=True)
    return begun.entry.id


def interrupted_regrade(course: Course, name: str) -> datetime | None:
    """When a regrading was begun that was killed before its end; None: there is none."""
    before = _read(_path(course, name))
    return None if before is None else datetime.fromisoformat(before.entry.at)


def _begun(rehearsed: RehearsedClass, facts: Mapping[str, Any], reason: str) -> _Begun:
    assignment = rehearsed.assignment
    environment = " ".join(sorted({one.key.environment for one in rehearsed.entries}))
    entry = LogEntry(
        secrets.token_hex(8),
        course_log.now().isoformat(),
        course_log.user(),
        _ACTION,
        assignment.name,
        msgspec.to_builtins(facts),
    )
    return _Begun(entry, assignment.rubric.digest, environment, rehearsed.shown, rehearsed.followed, reason)


def _record(store: Store, rehearsed: RehearsedClass, followed: Iterable[FollowedMark]) -> None:
    """Results, automatic marks, and people's marks of items. The same again changes nothing."""
    assignment = rehearsed.assignment
    name, keys = assignment.name, store.keys(assignment.name)
    fresh = [one for one in rehearsed.entries if keys.get(one.key.student) != one.key]
    run = None
    if fresh:
        environment = fresh[0].key.environment
        run = store.begin(assignment.rubric, environment, rehearsed.isolation.value)
    every = rehearsed.entries
    for start in range(0, len(every), MOST_TOGETHER):
        store.record(every[start : start + MOST_TOGETHER], run=run, language=assignment.language)
    stands = store.marks(name)
    for one in followed:
        cell = (one.notebook, one.cell)
        mark = stands.get(one.student, {}).get(cell, PersonMark())
        # Somebody else may have given another one meanwhile; what followed before a kill follows once.
        if (mark.points, mark.items) == (one.before.points, one.before.items):
            store.give(name, one.student, cell, one.after)
    if run is not None:
        store.finish(run)


def _agree(course: Course, name: str, begun: _Begun, will_show: Mapping[str, ShownMark]) -> None:
    """Let pages of marks that were shown be changed, with the reason."""
    published = read_published(course, name)
    change = AgreedChange(begun.entry.id, datetime.fromisoformat(begun.entry.at), begun.reason)
    moved = {
        student: change
        for student in begun.shown
        if student in will_show and published.shown[student].moves_to(will_show[student])
    }
    write_published(course, name, replace(published, agreed={**published.agreed, **moved}))


def _path(course: Course, name: str) -> Path:
    return course.private / "regrade" / f"{name}.begun"


def _read(path: Path) -> _Begun | None:
    try:
        return msgspec.json.decode(atomic.read(path), type=_Begun)
    except (OSError, msgspec.MsgspecError):
        return None
