"""Attempts laid into the course's folders, each whole or not at all, wherever it is stopped.

Of every student the last attempt lies in submitted/, the others in earlier/, where grading looks for one that
was in time. Every step leaves a course that can be graded: an attempt is copied to earlier/ before another
one takes its place, and both change places in one step where the system has one.
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

from autograder import atomic
from autograder.course import Course, is_folder
from autograder.platforms.staging import Staged, digest_of
from autograder.timestamps import FILE_NAME as STAMP
from autograder.timestamps import read_stamp

_SAME_MOMENT = timedelta(minutes=1)
"""Platforms tell minutes, and nbgrader more: within one, the same files are the same attempt."""
_EXCHANGE = 2
_HERE = -100
PARTIAL = ".autograder-collecting-"
"""How folders begin that are not in their place yet."""
_NAMED = 12
"""Signs of a digest in the name of a folder."""


class KnownAttempt(Struct, frozen=True):
    """An attempt of a student, wherever it is now."""

    digest: str
    moment: datetime | None
    folder: Path
    place: str
    """``submitted``, ``earlier`` or ``staged``."""
    stamped: bool = False
    """A time has become known for it."""

    def is_same(self, other: KnownAttempt) -> bool:
        """Whether the same files were handed in at the same time, as far as that is known."""
        if self.digest != other.digest:
            return False
        known = self.moment and other.moment
        return not known or abs(self.moment - other.moment) < _SAME_MOMENT  # type: ignore[operator]

    @property
    def name(self) -> str:
        """Of its folder below earlier/."""
        when = f"{self.moment.astimezone(UTC):%Y-%m-%dT%H-%M-%SZ}" if self.moment else "no-time"
        return f"{when}-{self.digest[:_NAMED]}"


class Laying(Struct, frozen=True):
    """What is to be done with the attempts of one student."""

    student: str
    counting: KnownAttempt | None
    """The last one, which is to lie in submitted/."""
    versions: tuple[KnownAttempt, ...]
    states: tuple[str, ...]
    """Of each attempt that was collected: ``new``, ``earlier`` (new, and there is a later one), ``unchanged``
    or ``again`` (known, and the last one once more)."""


def plan(course: Course, assignment: str, student: str, staged: Sequence[Staged]) -> Laying:
    """See what is new, and which attempt is the last one.

    That is the one of the latest time; where a time is not known, the one that was collected last.

    Args:
        course: whose folders.
        assignment: the name.
        student: the id.
        staged: what was collected, in the order of the sources.
    """
    versions = _known(course, assignment, student)
    last = next((one for one in versions if one.place == "submitted"), None)
    first, states = last, []
    for one in staged:
        found = KnownAttempt(one.digest, one.moment, one.folder, "staged")
        at = _index(versions, found)
        if at < 0:
            versions.append(found)
            states.append("new")
        else:
            if found.moment and not versions[at].moment:
                was = versions[at]
                versions[at] = replace(was, moment=found.moment, stamped=True)
                last = versions[at] if was is last else last
                first = versions[at] if was is first else first
            found = versions[at]
            states.append("unchanged")
        if last is None or not (last.moment and found.moment) or found.moment >= last.moment:
            last = found
    told = []
    for one, state in zip(staged, states, strict=True):
        counts = last is not None and last.digest == one.digest
        again = state == "unchanged" and counts and last is not first
        told.append("again" if again else "earlier" if state == "new" and not counts else state)
    return Laying(student, last, tuple(versions), tuple(told))


def _index(versions: Sequence[KnownAttempt], found: KnownAttempt) -> int:
    """The same attempt among those that are known, best one of the same time; -1: it is new."""
    same = [at for at, one in enumerate(versions) if one.is_same(found)]
    exact = [at for at in same if bool(versions[at].moment) == bool(found.moment)]
    return (exact or same or [-1])[0]


def _known(course: Course, assignment: str, student: str) -> list[KnownAttempt]:
    """What lies in the course: the one in submitted/ first."""
    submitted = course.root / "submitted" / student / assignment
    found = []
    if is_folder(submitted) and (files := _digests(submitted)):
        found.append(KnownAttempt(digest_of(files), read_stamp(submitted).moment, submitted, "submitted"))
    kept = course.earlier(student, assignment)
    return found + [
        KnownAttempt(digest_of(_digests(one.folder)), one.submitted_at, one.folder, "earlier") for one in kept
    ]


def _digests(folder: Path) -> dict[str, str]:
    """Place → SHA-256 of every file; what is no file has a digest that no file has."""
    found = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) or place == STAMP or atomic.PARTIAL.fullmatch(path.name):
            continue
        if not stat.S_ISREG(status.st_mode):
            found[place] = "no file"
            continue
        with path.open("rb") as file:
            found[place] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def check_place(course: Course, assignment: str, student: str) -> None:
    """See that attempts can be laid where they belong.

    Raises:
        OSError: there is a link, or a file.
    """
    for above in ("submitted", "earlier"):
        for path in (course.root / above / student, course.root / above / student / assignment):
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                told = f"{path.relative_to(course.root)} is a link or a file; expected a folder"
                raise NotADirectoryError(errno.ENOTDIR, told, str(path))


@contextlib.contextmanager
def scratch(course: Course) -> Iterator[Path]:
    """A folder for what is being collected, gone afterwards. Nobody else collects in the course meanwhile.

    What a killed run left is removed first.

    Raises:
        OSError: the folder cannot be made.
    """
    submitted = course.root / "submitted"
    submitted.mkdir(parents=True, exist_ok=True)
    with atomic.alone(submitted):
        for above in (submitted, course.root / "earlier"):
            for left in above.glob(f"{PARTIAL}*"):
                shutil.rmtree(left)
        folder = course.private / "collecting"
        shutil.rmtree(folder, ignore_errors=True)
        course.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def lay(course: Course, assignment: str, made: Laying, folder: Path) -> None:
    """Put every attempt in its place; killed at any moment, it can be done again.

    Args:
        course: whose folders.
        assignment: the name.
        made: the plan.
        folder: where staged attempts lie.

    Raises:
        OSError: the disk refused; every attempt that was there is there.
    """
    earlier = course.root / "earlier" / made.student / assignment
    submitted = course.root / "submitted" / made.student / assignment
    last = made.counting
    for one in made.versions:
        if one.stamped and one.moment:
            stamp = one.moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
            atomic.write(one.folder / STAMP, f"{stamp}\n".encode())
    for one in made.versions:
        if one is not last and one.place != "earlier":
            _appear(one, earlier / one.name, folder)
    if last is None:
        return
    if last.place != "submitted":
        _take_place(last, submitted, folder)
    for one in made.versions:  # the last one lies in submitted/ alone, whenever it got there
        known_less = one.moment is None or last.moment is not None
        if one.place == "earlier" and one.is_same(last) and known_less:
            away = course.root / "earlier" / f"{PARTIAL}{secrets.token_hex(8)}"
            one.folder.rename(away)  # as a whole, before anything of it is removed
            shutil.rmtree(away)


def _appear(one: KnownAttempt, target: Path, ours: Path) -> None:
    """A copy of an attempt at a place where it is not yet, in one step."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    _copied(one.folder, ours, target).rename(target)


def _copied(folder: Path, ours: Path, target: Path) -> Path:
    """A copy from where it can be renamed to the target: what is ours already needs none on the same disk."""
    same = os.stat(ours).st_dev == os.stat(target.parent).st_dev  # noqa: PTH116
    if same and ours in folder.parents:
        return folder
    root = ours.parents[1]
    above = ours if same else root / target.relative_to(root).parts[0]
    copy = above / f"{PARTIAL}{secrets.token_hex(8)}"
    shutil.copytree(folder, copy, symlinks=True)
    return copy


def _take_place(one: KnownAttempt, target: Path, ours: Path) -> None:
    """Put an attempt where another one lies, which has been copied elsewhere."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = _copied(one.folder, ours, target)
    if not target.exists():
        new.rename(target)
        return
    if not _exchanged(new, target):
        old = new.with_name(f"{new.name}-old")
        target.rename(old)
        new.rename(target)
        new = old
    shutil.rmtree(new)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places in one step, where the system can."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    if ctypes.get_errno() in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM}:
        return False  # this file system has no such step
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
