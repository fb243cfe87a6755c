"""Move attempts into the course's folders, each completely or not at all, even if the process is killed.

Each student's last attempt is in submitted/, the others in earlier/, where grading looks for one that was in
time. Every step leaves a course that can be graded: an attempt is copied to earlier/ before another one
replaces it, and the two are swapped in one step if the system supports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder.core import atomic
from autograder.course import Course, is_folder
from autograder.exchange.platforms.staging import PreparedAttempt, compute_content_digest
from autograder.rubric.timestamps import FILE_NAME as STAMP
from autograder.rubric.timestamps import read_stamp

_SAME_MOMENT = timedelta(minutes=1)
"""Platforms state minutes, and nbgrader more: within a minute, the same files are the same attempt."""
# RENAME_EXCHANGE and AT_FDCWD of Linux's renameat2.
_EXCHANGE = 2
_HERE = -100
PARTIAL = ".autograder-collecting-"
"""Prefix of folders that are not in their final place yet."""
_NAMED = 12
"""Digits of a digest in the name of a folder."""


class KnownAttempt(Struct, frozen=True):
    """An attempt of a student, wherever its files are."""

    digest: str
    moment: datetime | None
    folder: Path
    place: str
    """``submitted``, ``earlier`` or ``staged``."""
    stamped: bool = False
    """A time was learned for an attempt that had none."""

    def is_same(self, other: KnownAttempt) -> bool:
        """Decide whether the same files were submitted at the same time, as far as the times are known."""
        if self.digest != other.digest:
            return False
        both_timed = self.moment and other.moment
        return not both_timed or abs(self.moment - other.moment) < _SAME_MOMENT  # type: ignore[operator]

    @property
    def name(self) -> str:
        """Name of its folder below earlier/."""
        when = f"{self.moment.astimezone(UTC):%Y-%m-%dT%H-%M-%SZ}" if self.moment else "no-time"
        return f"{when}-{self.digest[:_NAMED]}"


class AttemptPlan(Struct, frozen=True):
    """Steps for the attempts of one student."""

    student: str
    counting: KnownAttempt | None
    """The last one, which belongs in submitted/."""
    versions: tuple[KnownAttempt, ...]
    states: tuple[str, ...]
    """State of each collected attempt: ``new``, ``earlier`` (new, and there is a later one), ``unchanged`` or
    ``again`` (known, and the last one once more)."""


def plan_attempts(
    course: Course, assignment: str, student: str, staged: Sequence[PreparedAttempt]
) -> AttemptPlan:
    """Determine which attempts are new, and which is the last one.

    This is the attempt with the latest time; if a time is unknown, the one that was collected last.

    Args:
        course: the course with its folders.
        assignment: name of the assignment.
        student: id of the student.
        staged: collected attempts, in the order of the sources.
    """
    versions = _list_known(course, assignment, student)
    last = next((attempt for attempt in versions if attempt.place == "submitted"), None)
    first, states = last, []
    for attempt in staged:
        candidate = KnownAttempt(attempt.digest, attempt.moment, attempt.folder, "staged")
        position = _find_index(versions, candidate)
        if position < 0:
            versions.append(candidate)
            states.append("new")
        else:
            if candidate.moment and not versions[position].moment:
                was = versions[position]
                versions[position] = replace(was, moment=candidate.moment, stamped=True)
                last = versions[position] if was is last else last
                first = versions[position] if was is first else first
            candidate = versions[position]
            states.append("unchanged")
        # The later attempt counts; without both times, the one collected later.
        if last is None or not (last.moment and candidate.moment) or candidate.moment >= last.moment:
            last = candidate
    outcomes = []
    for attempt, state in zip(staged, states, strict=True):
        counts = last is not None and last.digest == attempt.digest
        # Resubmitting an earlier version makes it the last one again, which staff must see.
        again = state == "unchanged" and counts and last is not first
        outcomes.append("again" if again else "earlier" if state == "new" and not counts else state)
    return AttemptPlan(student, last, tuple(versions), tuple(outcomes))


def _find_index(versions: Sequence[KnownAttempt], attempt: KnownAttempt) -> int:
    """Return the index of the same attempt, preferably one with the same time; -1: it is new."""
    same = [position for position, version in enumerate(versions) if version.is_same(attempt)]
    exact = [position for position in same if bool(versions[position].moment) == bool(attempt.moment)]
    return (exact or same or [-1])[0]


def _list_known(course: Course, assignment: str, student: str) -> list[KnownAttempt]:
    """Return the attempts in the course, the one in submitted/ first."""
    submitted = course.root / "submitted" / student / assignment
    attempts = []
    if is_folder(submitted) and (files := _hash_files(submitted)):
        attempts.append(
            KnownAttempt(compute_content_digest(files), read_stamp(submitted).moment, submitted, "submitted")
        )
    kept = course.list_earlier_attempts(student, assignment)
    return attempts + [
        KnownAttempt(
            compute_content_digest(_hash_files(attempt.folder)),
            attempt.submitted_at,
            attempt.folder,
            "earlier",
        )
        for attempt in kept
    ]


def _hash_files(folder: Path) -> dict[str, str]:
    """Return path → SHA-256 of every file; other entries have a value that no file has."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        # lstat does not follow links, which students may have submitted.
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) or relative == STAMP or atomic.PARTIAL.fullmatch(path.name):
            continue
        if not stat.S_ISREG(status.st_mode):
            digests[relative] = "no file"
            continue
        with path.open("rb") as file:
            digests[relative] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def check_place(course: Course, assignment: str, student: str) -> None:
    """Check that attempts can be moved to their place.

    Raises:
        OSError: there is a link, or a file.
    """
    for above in ("submitted", "earlier"):
        for path in (course.root / above / student, course.root / above / student / assignment):
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                problem = f"{path.relative_to(course.root)} is a link or a file; expected a folder"
                raise NotADirectoryError(errno.ENOTDIR, problem, str(path))


@contextlib.contextmanager
def open_scratch_folder(course: Course) -> Iterator[Path]:
    """Provide a folder for files being collected and remove it afterwards; exclusive for the course.

    Remains of a killed run are removed first.

    Raises:
        OSError: the folder cannot be created.
    """
    submitted = course.root / "submitted"
    submitted.mkdir(parents=True, exist_ok=True)
    with atomic.lock_folder(submitted):
        for above in (submitted, course.root / "earlier"):
            for left in above.glob(f"{PARTIAL}*"):
                shutil.rmtree(left)
        folder = course.private / "collecting"
        shutil.rmtree(folder, ignore_errors=True)
        course.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Attempts are private until they are in the course's folders.
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def place_attempts(course: Course, assignment: str, attempt_plan: AttemptPlan, folder: Path) -> None:
    """Move every attempt to its place; safe to repeat after being killed at any moment.

    Args:
        course: the course with its folders.
        assignment: name of the assignment.
        attempt_plan: the plan.
        folder: folder with the staged attempts.

    Raises:
        OSError: the disk refused; no existing attempt is lost.
    """
    earlier = course.root / "earlier" / attempt_plan.student / assignment
    submitted = course.root / "submitted" / attempt_plan.student / assignment
    last = attempt_plan.counting
    # Times first: a killed run must not leave an attempt without its learned time.
    for attempt in attempt_plan.versions:
        if attempt.stamped and attempt.moment:
            stamp = attempt.moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
            atomic.write_bytes(attempt.folder / STAMP, f"{stamp}\n".encode())
    for attempt in attempt_plan.versions:
        if attempt is not last and attempt.place != "earlier":
            _add_copy(attempt, earlier / attempt.name, folder)
    if last is None:
        return
    if last.place != "submitted":
        _replace_attempt(last, submitted, folder)
    for attempt in attempt_plan.versions:  # the last attempt is in submitted/ only, whenever it got there
        known_less = attempt.moment is None or last.moment is not None
        if attempt.place == "earlier" and attempt.is_same(last) and known_less:
            away = course.root / "earlier" / f"{PARTIAL}{secrets.token_hex(8)}"
            attempt.folder.rename(away)  # as a whole, before anything of it is removed
            shutil.rmtree(away)


def _add_copy(attempt: KnownAttempt, target: Path, ours: Path) -> None:
    """Create a copy of an attempt at a new place, in one step."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    _copy_folder(attempt.folder, ours, target).rename(target)


def _copy_folder(folder: Path, ours: Path, target: Path) -> Path:
    """Copy a folder to where it can be renamed to the target; our own folders on its disk are not copied."""
    # A rename is atomic on one file system only.
    same = os.stat(ours).st_dev == os.stat(target.parent).st_dev  # noqa: PTH116
    if same and ours in folder.parents:
        return folder
    root = ours.parents[1]
    above = ours if same else root / target.relative_to(root).parts[0]
    copy = above / f"{PARTIAL}{secrets.token_hex(8)}"
    shutil.copytree(folder, copy, symlinks=True)
    return copy


def _replace_attempt(attempt: KnownAttempt, target: Path, ours: Path) -> None:
    """Replace an attempt at its place, which has been copied elsewhere before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = _copy_folder(attempt.folder, ours, target)
    if not target.exists():
        new.rename(target)
        return
    if not _swap_folders(new, target):
        old = new.with_name(f"{new.name}-old")
        target.rename(old)
        new.rename(target)
        new = old
    shutil.rmtree(new)


def _swap_folders(first: Path, second: Path) -> bool:
    """Swap two folders in one step, if the system supports it; return whether it did."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if call(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    # Other errors are real failures, for example a missing folder or a full disk.
    if ctypes.get_errno() in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM}:
        return False  # this file system has no such step
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(second))
