"""One assignment, loaded: its rubric, its release, its checks. What grading starts from."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.checks import make_check
from autograder.checks.base import AsksAgain, Check
from autograder.course import Course
from autograder.errors import CourseError, NotebookError
from autograder.notebook.files import read_file
from autograder.notebook.release import Release, load_release
from autograder.notebook.student_check import FILE_NAME
from autograder.records import Answer, Submission
from autograder.rubric import NotebookFile, Question, Rubric
from autograder.sandbox.base import Environment


class Assignment(Struct, frozen=True, eq=False):
    """Everything that is the same for all submissions."""

    course: Course
    rubric: Rubric
    releases: Mapping[str, Release]
    """By notebook name."""
    release_bytes: Mapping[str, bytes]
    checks: Mapping[str, Check]
    """By question id."""

    @property
    def name(self) -> str:
        """The assignment's name."""
        return self.rubric.assignment.name

    def environment(self, notebook: NotebookFile) -> Environment:
        """What a student's box contains for one notebook."""
        folder = self.course.release(self.name)
        files = tuple((name, folder / name) for name in (FILE_NAME, *notebook.data))
        return Environment(preload=self.rubric.assignment.preload, files=files)

    def reference_environment(self) -> Environment:
        """What the box contains that computes expected values. Students' boxes never have this."""
        return Environment(
            preload=self.rubric.assignment.preload, packages=(("reference", self.course.reference),)
        )

    @property
    def reference_stays(self) -> bool:
        """Whether the reference is asked about single submissions, and not only before all of them."""
        return any(isinstance(check, AsksAgain) for check in self.checks.values())

    def questions(self, notebook: str) -> tuple[Question, ...]:
        """The questions of one notebook, in the rubric's order."""
        return tuple(question for question in self.rubric.questions if question.notebook == notebook)

    def answer(self, question: Question, submission: Submission) -> Answer | None:
        """The student's answer to a question; None when the release has no cell for it."""
        answers = submission.answers
        return answers.get(question.answer_cell) or answers.get(question.id)

    def digest(self) -> str:
        """SHA-256 over what results depend on besides submission and rubric."""
        digest = hashlib.sha256(self.course.secret())
        parts = [self.course.reference_digest(), program_digest(), *packages()]
        for notebook in self.rubric.assignment.notebooks:
            parts.append(hashlib.sha256(self.release_bytes[notebook.name]).hexdigest())
            parts += [
                hashlib.sha256(path.read_bytes()).hexdigest() for _, path in self.environment(notebook).files
            ]
        digest.update("\n".join(parts).encode())
        return digest.hexdigest()


def load(course: Course, name: str) -> Assignment:
    """Load an assignment whose release has been generated.

    Raises:
        CourseError: the release is missing or incomplete.
        RubricError: the rubric is not valid.
    """
    rubric = rubrics.load(course.rubric(name))
    if rubric.assignment.name != name:
        raise CourseError(f"{course.rubric(name)}: [assignment] name: expected {name!r}")
    folder = course.release(name)
    contents = {notebook.name: _released(folder, notebook) for notebook in rubric.assignment.notebooks}
    return Assignment(
        course=course,
        rubric=rubric,
        releases={notebook: load_release(data, notebook) for notebook, data in contents.items()},
        release_bytes=contents,
        checks={question.id: make_check(question, rubric) for question in rubric.questions},
    )


def _released(folder: Path, notebook: NotebookFile) -> bytes:
    path = folder / f"{notebook.name}.ipynb"
    missing = [name for name in (path.name, FILE_NAME, *notebook.data) if not (folder / name).is_file()]
    if missing:
        raise CourseError(
            f"{folder}: the release lacks {', '.join(missing)}; run: autograder generate {folder.name}"
        )
    try:
        return read_file(path)
    except NotebookError as error:
        raise CourseError(f"{path}: {error}") from error


def program_digest() -> str:
    """SHA-256 over this package's own code, so that results follow its changes."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted((*root.rglob("*.py"), *root.rglob("*.bpf"))):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def packages() -> list[str]:
    """The interpreter and the packages that student code runs with, by version."""
    versions = [f"python {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"]
    versions.append(platform.machine())
    for name in ("ipython", "numpy", "sympy", "torch", "transformers"):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} absent")
    return versions
