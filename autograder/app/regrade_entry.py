"""Enter a regrade: pending changes are written down first, so that a kill at any time loses nothing.

Running the same regrade again finishes an interrupted one, with one log entry for all of it.
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
    """A manual mark of items, before and after the regrade."""

    student: str
    notebook: str
    cell: str
    before: PersonMark
    after: PersonMark


class RehearsedClass(Struct, frozen=True):
    """The state of a class after the regrade."""

    assignment: Assignment
    isolation: Isolation
    entries: tuple[GradedEntry, ...]
    followed: tuple[FollowedMark, ...]
    will_show: Mapping[str, ShownMark]
    """Marks that pages will show, by student."""
    shown: tuple[str, ...]
    """Students with a published mark that moves."""


class _Begun(Struct, frozen=True):
    """Record written before anything is changed."""

    entry: LogEntry
    rubric: str
    environment: str
    shown: tuple[str, ...]
    """Students with a published mark that moves."""
    followed: tuple[FollowedMark, ...]
    reason: str


def enter_regrade(
    store: Store,
    rehearsed: RehearsedClass,
    facts: Mapping[str, Any],
    reason: str,
) -> str:
    """Enter a rehearsed class into the store and return the id of the log entry.

    Args:
        store: of the course.
        rehearsed: the class.
        facts: for the log: who moves, by how much, and why.
        reason: printed on pages that change.

    Raises:
        CourseError: the log cannot be written.
        GradebookError: the store reported an error; running it again continues.
    """
    course, name = rehearsed.assignment.course, rehearsed.assignment.name
    path = _path(course, name)
    begun = _begun(rehearsed, facts, reason)
    if (before := _read(path)) is not None:
        if (before.rubric, before.environment) == (begun.rubric, begun.environment):
            begun = before  # finish the interrupted run under its entry
        else:
            cut = {**before.entry.facts, "interrupted": True}
            course_log.note(course, replace(before.entry, facts=cut))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # From here on, a killed run is found and finished.
    atomic.write(path, msgspec.json.encode(begun), mode=0o600)
    keep_basis(rehearsed.assignment, rehearsed.isolation)
    try:
        store.prepare(rehearsed.assignment.rubric, rehearsed.assignment.release_bytes)
    except GradebookError:
        if before is None:  # nothing was changed yet, so there is nothing to resume
            path.unlink(missing_ok=True)
        raise
    _record(store, rehearsed, begun.followed)
    if begun.shown:
        _agree(course, name, begun, rehearsed.will_show)
    # Adding an entry is idempotent by its id, so a repeated run does not log twice.
    course_log.note(course, begun.entry)
    path.unlink(missing_ok=True)
    return begun.entry.id


def interrupted_regrade(course: Course, name: str) -> datetime | None:
    """Return the start of a regrade that was killed before it finished; None: there is none."""
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
    """Store results, automatic marks, and manual marks of items. Repeating it changes nothing."""
    assignment = rehearsed.assignment
    name, keys = assignment.name, store.keys(assignment.name)
    # Results with unchanged keys need no new run in the store.
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
        # Skip a mark that a grader changed meanwhile, and one that already followed before a kill.
        if (mark.points, mark.items) == (one.before.points, one.before.items):
            store.give(name, one.student, cell, one.after)
    if run is not None:
        store.finish(run)


def _agree(course: Course, name: str, begun: _Begun, will_show: Mapping[str, ShownMark]) -> None:
    """Allow pages with published marks to change, with the reason."""
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
