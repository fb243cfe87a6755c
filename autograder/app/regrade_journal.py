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

from autograder.app import Isolation, course_log
from autograder.app.course_log import LogEntry
from autograder.app.grading_basis import keep_basis
from autograder.app.published_marks import AgreedChange, ShownMark, read_published, write_published
from autograder.core import atomic
from autograder.core.errors import GradebookError
from autograder.course import Course
from autograder.grading.assignment import Assignment
from autograder.grading.batch import MOST_TOGETHER
from autograder.grading.grades import PersonMark
from autograder.grading.store import GradedEntry, Store

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


class _PendingRegrade(Struct, frozen=True):
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
    path = _get_path(course, name)
    pending = _make_pending(rehearsed, facts, reason)
    if (interrupted := _read_pending(path)) is not None:
        if (interrupted.rubric, interrupted.environment) == (pending.rubric, pending.environment):
            pending = interrupted  # finish the interrupted run under its entry
        else:
            cut = {**interrupted.entry.facts, "interrupted": True}
            course_log.append_entry(course, replace(interrupted.entry, facts=cut))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # From here on, a killed run is found and finished.
    atomic.write_bytes(path, msgspec.json.encode(pending), mode=0o600)
    keep_basis(rehearsed.assignment, rehearsed.isolation)
    try:
        store.prepare_assignment(rehearsed.assignment.rubric, rehearsed.assignment.release_bytes)
    except GradebookError:
        if interrupted is None:  # nothing was changed yet, so there is nothing to resume
            path.unlink(missing_ok=True)
        raise
    _record_results(store, rehearsed, pending.followed)
    if pending.shown:
        _allow_changes(course, name, pending, rehearsed.will_show)
    # Adding an entry is idempotent by its id, so a repeated run does not log twice.
    course_log.append_entry(course, pending.entry)
    path.unlink(missing_ok=True)
    return pending.entry.id


def find_interrupted_regrade(course: Course, name: str) -> datetime | None:
    """Return the start of a regrade that was killed before it finished; None: there is none."""
    before = _read_pending(_get_path(course, name))
    return None if before is None else datetime.fromisoformat(before.entry.at)


def _make_pending(rehearsed: RehearsedClass, facts: Mapping[str, Any], reason: str) -> _PendingRegrade:
    assignment = rehearsed.assignment
    environment = " ".join(sorted({entry_of_class.key.environment for entry_of_class in rehearsed.entries}))
    entry = LogEntry(
        secrets.token_hex(8),
        course_log.get_time().isoformat(),
        course_log.get_user(),
        _ACTION,
        assignment.name,
        msgspec.to_builtins(facts),
    )
    return _PendingRegrade(
        entry, assignment.rubric.digest, environment, rehearsed.shown, rehearsed.followed, reason
    )


def _record_results(store: Store, rehearsed: RehearsedClass, followed: Iterable[FollowedMark]) -> None:
    """Store results, automatic marks, and manual marks of items. Repeating it changes nothing."""
    assignment = rehearsed.assignment
    name, keys = assignment.name, store.load_keys(assignment.name)
    # Results with unchanged keys need no new run in the store.
    fresh = [item for item in rehearsed.entries if keys.get(item.key.student) != item.key]
    run = None
    if fresh:
        environment = fresh[0].key.environment
        run = store.start_run(assignment.rubric, environment, rehearsed.isolation.value)
    entries = rehearsed.entries
    for start in range(0, len(entries), MOST_TOGETHER):
        store.record_results(entries[start : start + MOST_TOGETHER], run=run, language=assignment.language)
    marks_now = store.load_marks(name)
    for item in followed:
        cell = (item.notebook, item.cell)
        mark = marks_now.get(item.student, {}).get(cell, PersonMark())
        # Skip a mark that a grader changed meanwhile, and one that already followed before a kill.
        if (mark.points, mark.items) == (item.before.points, item.before.items):
            store.give_mark(name, item.student, cell, item.after)
    if run is not None:
        store.finish_run(run)


def _allow_changes(
    course: Course, name: str, pending: _PendingRegrade, will_show: Mapping[str, ShownMark]
) -> None:
    """Allow pages with published marks to change, with the reason."""
    published = read_published(course, name)
    change = AgreedChange(pending.entry.id, datetime.fromisoformat(pending.entry.at), pending.reason)
    moved = {
        student: change
        for student in pending.shown
        if student in will_show and published.shown[student].is_changed_by(will_show[student])
    }
    write_published(course, name, replace(published, agreed={**published.agreed, **moved}))


def _get_path(course: Course, name: str) -> Path:
    return course.private / "regrade" / f"{name}.begun"


def _read_pending(path: Path) -> _PendingRegrade | None:
    try:
        return msgspec.json.decode(atomic.read_bytes(path), type=_PendingRegrade)
    except (OSError, msgspec.MsgspecError):
        return None
