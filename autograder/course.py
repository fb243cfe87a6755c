"""Where things lie in a course: nbgrader's folders, the rubrics, the reference solutions, the secret."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from autograder.errors import CourseError

SECRET_BYTES = 32
PRIVATE = ".autograder"
"""The folder of a course that only the grader reads."""


class Handin(Struct, frozen=True):
    """One student's folder below submitted/."""

    student: str
    folder: Path
    submitted_at: datetime | None = None


class Course(Struct, frozen=True):
    """A course folder. Sources, rubrics and reference solutions stand in it beside nbgrader's folders."""

    root: Path

    @classmethod
    def at(cls, root: Path) -> Course:
        """The course in a folder.

        Raises:
            CourseError: the folder has no assignments or no rubrics.
        """
        course = cls(root.resolve())
        for folder in (course.sources, course.rubrics):
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
    def private(self) -> Path:
        """What only the grader reads: the secret and the cached expected values."""
        return self.root / PRIVATE

    def rubric(self, assignment: str) -> Path:
        """The rubric of one assignment.

        Raises:
            CourseError: there is none; names those that exist.
        """
        path = self.rubrics / f"{assignment}.toml"
        if not path.is_file():
            known = ", ".join(sorted(found.stem for found in self.rubrics.glob("*.toml"))) or "none"
            raise CourseError(f"{path}: there is no such rubric; known assignments: {known}")
        return path

    def release(self, assignment: str) -> Path:
        """The folder students get."""
        return self.root / "release" / assignment

    def feedback(self, student: str, assignment: str) -> Path:
        """The folder of one student's feedback page."""
        return self.root / "feedback" / student / assignment

    def handins(self, assignment: str) -> list[Handin]:
        """Every student's folder below submitted/, by name. Links are listed, not followed."""
        submitted = self.root / "submitted"
        if not submitted.is_dir():
            raise CourseError(f"{submitted}: there is no folder of submissions; collect them there first")
        found = []
        for student in sorted(entry for entry in submitted.iterdir() if not entry.name.startswith(".")):
            folder = student / assignment
            if _is_folder(student) and _is_there(folder):
                found.append(Handin(student.name, folder, _timestamp(folder)))
        return found

    def secret(self) -> bytes:
        """The course secret; made at the first use, readable by its owner alone.

        Raises:
            CourseError: the file is readable for others, or damaged.
        """
        path = self.private / "secret"
        if not path.exists():
            self.private.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(SECRET_BYTES))
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise CourseError(f"{path}: readable for others (mode {mode:04o}); run: chmod 600 {path}")
        secret = path.read_bytes()
        if len(secret) != SECRET_BYTES:
            raise CourseError(
                f"{path}: expected {SECRET_BYTES} bytes, found {len(secret)}; restore it from a copy"
            )
        return secret

    def reference_digest(self) -> str:
        """SHA-256 over the reference solutions, so that cached expected values follow their changes."""
        digest = hashlib.sha256()
        for path in self._modules():
            digest.update(f"{path.relative_to(self.reference)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def _modules(self) -> Iterator[Path]:
        return (path for path in sorted(self.reference.rglob("*.py")) if path.is_file())


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_there(path: Path) -> bool:
    """Whether something was handed in; what cannot be looked at is there, and reading it will say why not."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _timestamp(folder: Path) -> datetime | None:
    """The time in nbgrader's timestamp.txt; None when there is none that can be read."""
    path = folder / "timestamp.txt"
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 200:
            return None
        text = path.read_text(errors="replace").strip().removesuffix(" UTC")
        moment = datetime.fromisoformat(text)
    except (OSError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
