"""The layout of a course folder: nbgrader's folders, the rubrics, the reference solutions, the secret."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from autograder.checking.check_parser import FOLDER, drop_planted
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.records import Message, Note, StudentGroup
from autograder.core.wording import Phrase
from autograder.messages import build_localised_text
from autograder.rubric.timestamps import Timing, format_moment, read_stamp, to_window_zone

SECRET_BYTES = 32
COUNTING_NOTES = frozenset({"attempt-unreadable", "attempt-chosen"})
"""The codes of `Handin.list_notes`."""
PRIVATE = ".autograder"
"""The folder of a course that only the grader may read."""
MOST_NAME = 128
"""Maximum length of a student's id in the gradebook, in characters."""
_NEVER_IN_A_NAME = frozenset('/\\<>"|`')
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BEGINS_A_FORMULA = ("=", "+", "-", "@")
_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_. -]*[A-Za-z0-9_.-])?")
"""Names that can only be too long; they need no further checks."""


class SkippedAttempt(Struct, frozen=True):
    """An attempt that does not count because it cannot be read."""

    submitted_at: datetime | None
    reason: Phrase


class Handin(Struct, frozen=True):
    """One student's folder below submitted/ or earlier/."""

    student: str
    folder: Path
    submitted_at: datetime | None = None
    time_fault: str = ""
    """Why the submission time is unknown, for staff."""
    timing: Timing | None = None
    """The time in relation to the deadline; None if there is no deadline (`autograder.course.schedule`)."""
    group: StudentGroup | None = None
    """The group that submitted together."""
    by: str = ""
    """The member of the group who submitted; empty: the student."""
    own: Path | None = None
    """Folder of a member's individual notebooks, if a group does not share all
    (`NotebookFile.individual`)."""
    passed_over: tuple[SkippedAttempt, ...] = ()
    """Attempts that would count instead if they could be read."""
    chosen: str = ""
    """Why staff chose this attempt; empty if the rules chose it."""

    @property
    def owner(self) -> str:
        """The student with this folder."""
        return self.by or self.student

    def list_notes(self) -> tuple[Note, ...]:
        """Return remarks for staff about why this attempt counts; none if it is the usual one."""
        notes = []
        for attempt in self.passed_over:
            moment = f" of {self._format_moment(attempt.submitted_at)}" if attempt.submitted_at else ""
            text = f"The attempt{moment} cannot be read, so this one is graded: {attempt.reason}"
            notes.append(Note("attempt-unreadable", text))
        if self.chosen:
            notes.append(Note("attempt-chosen", f"Staff chose this attempt: {self.chosen}"))
        return tuple(notes)

    def list_messages(self, language: str = "en") -> tuple[Message, ...]:
        """Return messages for the student about why this attempt counts."""
        messages = []
        for attempt in self.passed_over:
            params: dict[str, Phrase] = {"reason": attempt.reason}
            if attempt.submitted_at:
                params["moment"] = self._format_moment(attempt.submitted_at, language)
            messages.append(
                Message("attempt.unreadable-at" if attempt.submitted_at else "attempt.unreadable", params)
            )
        if self.chosen:
            messages.append(Message("attempt.chosen", {"reason": self.chosen}))
        return tuple(messages)

    def _format_moment(self, moment: datetime, language: str = "en") -> str:
        """Format a moment in the assignment's zone, or else in UTC."""
        moment = moment.replace(microsecond=0)
        if self.timing is None:
            return format_moment(moment.astimezone(UTC), "UTC", language)
        window = self.timing.window
        return format_moment(to_window_zone(moment, window), window.zone, language)

    @classmethod
    def from_folder(cls, student: str, folder: Path) -> Handin:
        """Create a record for a folder, with the time of its timestamp.txt."""
        stamp = read_stamp(folder)
        return cls(student, folder, stamp.moment, stamp.fault)


class Course(Struct, frozen=True):
    """A course folder. Sources, rubrics and reference solutions are next to nbgrader's folders."""

    root: Path

    @classmethod
    def from_folder(cls, root: Path) -> Course:
        """Open the course in a folder.

        Raises:
            CourseError: the folder has no assignments or no rubrics.
        """
        course = cls(root.resolve())
        adopted = course.rubrics.is_dir() and any(map(course.has_source, course.list_assignments()))
        # Adopted courses keep their sources elsewhere, so only rubrics/ is required.
        for folder in (course.rubrics,) if adopted else (course.sources, course.rubrics):
            if not folder.is_dir():
                raise CourseError(
                    f"{folder}: this folder of the course is missing; expected a course folder with "
                    "assignments/ and rubrics/ (choose one with --course)"
                )
        return course

    @property
    def sources(self) -> Path:
        """Source notebooks, a folder per assignment."""
        return self.root / "assignments"

    def locate_source(self, assignment: str) -> Path:
        """Return the folder of one assignment's source notebooks.

        It is in assignments/, or in its place before adoption: nbgrader has it in source/, otter in a
        separate folder, which may be that of the course.
        """
        candidates = (self.sources / assignment, self.root / "source" / assignment, self.root / assignment)
        alone = (self.root,) if (self.root / f"{assignment}.ipynb").is_file() else ()
        return next((path for path in (*candidates, *alone) if path.is_dir()), candidates[0])

    def has_source(self, assignment: str) -> bool:
        """Decide whether an assignment's sources exist; an adopted one may have only its release."""
        return self.locate_source(assignment).is_dir() or self.locate_release(assignment).is_dir()

    @property
    def rubrics(self) -> Path:
        """One TOML file per assignment."""
        return self.root / "rubrics"

    @property
    def reference(self) -> Path:
        """The package of reference solutions."""
        return self.root / "reference"

    @property
    def gradebook(self) -> Path:
        """nbgrader's database."""
        return self.root / "gradebook.db"

    @property
    def roster(self) -> Path:
        """The class list."""
        return self.root / "roster.csv"

    @property
    def bonus(self) -> Path:
        """Bonus points that the course gives in addition."""
        return self.root / "bonus.csv"

    @property
    def exams(self) -> Path:
        """Times of exams, and extensions."""
        return self.root / "exams.toml"

    @property
    def collecting(self) -> Path:
        """Rules for reading names in downloads."""
        return self.root / "collect.toml"

    @property
    def groups(self) -> Path:
        """Students who submit together."""
        return self.root / "groups.csv"

    @property
    def private(self) -> Path:
        """The folder that only the grader may read, with the secret."""
        return self.root / PRIVATE

    def locate_rubric(self, assignment: str) -> Path:
        """Return the path of an assignment's rubric.

        Raises:
            CourseError: there is none; names those that exist.
        """
        path = self.rubrics / f"{assignment}.toml"
        if not path.is_file():
            names = ", ".join(self.list_assignments()) or "none"
            raise CourseError(f"{path}: there is no such rubric; known assignments: {names}")
        return path

    def list_assignments(self) -> tuple[str, ...]:
        """Return the names of all assignments: those of the rubrics."""
        return tuple(sorted(path.stem for path in self.rubrics.glob("*.toml")))

    def locate_release(self, assignment: str) -> Path:
        """Return the folder that students get."""
        return self.root / "release" / assignment

    def locate_personal(self, student: str, assignment: str) -> Path:
        """Return the folder of one student's personal release, for assignments with variants."""
        return self.root / "personal" / student / assignment

    def locate_variants(self, assignment: str) -> Path:
        """Return the folder with the record of variants that were given out; only the grader reads it."""
        return self.private / "variants" / assignment

    def has_personal_releases(self, assignment: str) -> bool:
        """Decide whether the course contains personal notebooks of an assignment."""
        personal = self.root / "personal"
        return personal.is_dir() and any((folder / assignment).exists() for folder in personal.iterdir())

    def locate_feedback(self, student: str, assignment: str) -> Path:
        """Return the folder of one student's feedback page."""
        return self.root / "feedback" / student / assignment

    def list_handins(self, assignment: str) -> list[Handin]:
        """Return every student's folder below submitted/, by name. Links are listed, not followed.

        Folders with names that cannot be a student's id are omitted; see `list_misnamed`.

        Raises:
            CourseError: there is no folder of submissions.
        """
        submitted, names = self._list_submitted()
        folders = (
            (name, submitted.joinpath(name, assignment)) for name in names if not find_name_fault(name)
        )
        return [Handin.from_folder(name, folder) for name, folder in folders if _is_there(folder)]

    def has_earlier_attempts(self) -> bool:
        """Decide whether staff kept any earlier attempts; most courses have none to search for."""
        return (self.root / "earlier").exists()

    def list_earlier_attempts(self, student: str, assignment: str) -> list[Handin]:
        """Return a student's attempts that staff kept below earlier/, a folder for each, by name."""
        folder_of_attempts = self.root / "earlier" / student / assignment
        if not folder_of_attempts.is_dir() or folder_of_attempts.is_symlink():
            return []
        return [
            Handin.from_folder(student, folder)
            for folder in sorted(folder_of_attempts.iterdir())
            if is_folder(folder)
        ]

    def list_misnamed(self, assignment: str) -> dict[str, str]:
        """Return folders below submitted/ that are not graded because of their name: name in ASCII → fault.

        Raises:
            CourseError: there is no folder of submissions.
        """
        submitted, names = self._list_submitted()
        faults = {name: fault for name in names if (fault := find_name_fault(name))}
        return {
            ascii(name): str(fault)
            for name, fault in faults.items()
            if _is_there(submitted / name / assignment)
        }

    def _list_submitted(self) -> tuple[Path, list[str]]:
        """Return the folder of submissions, and the names of the folders in it."""
        submitted = self.root / "submitted"
        if not submitted.is_dir():
            raise CourseError(f"{submitted}: there is no folder of submissions; collect them there first")
        return submitted, _list_folder_names(submitted)

    def list_students(self) -> frozenset[str]:
        """Return all students with a submission in any assignment."""
        submitted = self.root / "submitted"
        names = _list_folder_names(submitted) if submitted.is_dir() else ()
        return frozenset(name for name in names if not find_name_fault(name))

    def load_secret(self) -> bytes:
        """Return the course secret; it is created at the first use, readable by its owner alone.

        It is written atomically.

        Raises:
            CourseError: the file is readable for others, or damaged.
        """
        path = self.private / "secret"
        if not path.exists():
            self.private.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The lock keeps two processes from drawing two secrets, one of which would be lost.
            with atomic.lock_folder(self.private):  # another process may be creating it
                if not path.exists():
                    atomic.write_bytes(path, secrets.token_bytes(SECRET_BYTES), mode=0o600)
        # Whoever reads the secret can compute all hidden inputs.
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise CourseError(f"{path}: readable for others (mode {mode:04o}); run: chmod 600 {path}")
        try:
            secret = atomic.read_bytes(path)
        except OSError as error:
            raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
        # A truncated secret would silently change all hidden inputs and variants.
        if len(secret) != SECRET_BYTES:
            raise CourseError(
                f"{path}: expected {SECRET_BYTES} bytes, found {len(secret)}; restore it from a copy"
            )
        return secret

    def hash_reference(self) -> str:
        """Return the SHA-256 over the reference solutions, so that results follow their changes.

        Planted answers for ``autograder verify`` are left out: renaming one must not cause regrading.
        """
        digest = hashlib.sha256()
        for path in self._list_modules():
            data = path.read_bytes()
            if path.parent == self.reference / FOLDER:
                # latin-1 maps every byte to a character and back, so invalid UTF-8 is preserved.
                data = drop_planted(data.decode("latin-1")).encode("latin-1")
            digest.update(f"{path.relative_to(self.reference)}\0".encode())
            digest.update(hashlib.sha256(data).digest())
        return digest.hexdigest()

    def _list_modules(self) -> Iterator[Path]:
        return (path for path in sorted(self.reference.rglob("*.py")) if path.is_file())


def find_name_fault(name: str) -> Phrase:
    """Return why a name cannot be a student's id; empty if it can.

    An id names folders, is shown in tables and pages, and is exported to spreadsheets by nbgrader without
    escaping. So every character that has a meaning in one of these is refused.
    """
    if not name or len(name) > MOST_NAME:
        return build_localised_text("fault.name-length", number=len(name), most=MOST_NAME)
    if _PLAIN.fullmatch(name):
        return ""
    # Python's surrogateescape decodes invalid UTF-8 in file names to these code points.
    if any("\udc80" <= char <= "\udcff" for char in name):
        return build_localised_text("fault.name-bytes-invalid")
    for char in name:
        # Invisible characters would make two ids look the same.
        if unicodedata.category(char) in _UNSEEN:
            return build_localised_text("fault.name-invisible", character=f"U+{ord(char):04X}")
        if char in _NEVER_IN_A_NAME:
            return build_localised_text("fault.name-character", character=repr(char))
    # CSV injection: a spreadsheet would evaluate the id.
    if name.startswith(_BEGINS_A_FORMULA):
        return build_localised_text("fault.name-formula", character=repr(name[0]))
    if name.startswith("."):
        return build_localised_text("fault.name-hidden")
    return build_localised_text("fault.name-space") if name != name.strip() else ""


def _list_folder_names(above: Path) -> list[str]:
    """Return the names of the folders in a folder, sorted, without links."""
    # scandir gives the type of most entries without a stat call for each, which matters for large classes.
    with os.scandir(above) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def is_folder(path: Path) -> bool:
    """Decide whether the path is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _is_there(path: Path) -> bool:
    """Decide whether something was submitted.

    A path that cannot be inspected counts as submitted: reading it reports the reason.
    """
    try:
        # lstat: a link counts as submitted, and reading it later is refused with a reason.
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
