"""One loaded assignment: rubric, release and checks. All grading starts from it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError, NotebookError, Place, PreloadMissing, RubricError
from autograder.core.paths import is_regular, list_files_below
from autograder.core.records import Answer, Submission
from autograder.course import Course
from autograder.course import manifest as manifests
from autograder.course.manifest import Manifest, StudentRelease
from autograder.grading.version import GRADING_VERSION, list_versions
from autograder.notebook.document import MAX_SOURCE
from autograder.notebook.files import read_file
from autograder.notebook.release import Release, collect_names, load_release
from autograder.notebook.student_check import FILE_NAME, SILENT, SILENT_OTTER, read_language
from autograder.notebook.submission_reader import read_notebook
from autograder.questions import make_check
from autograder.questions.base.base import Check
from autograder.rubric import NotebookFile, Question, Rubric
from autograder.rubric.notebook_files import STARTER_BYTES
from autograder.rubric.variants.draws import Catalogues, Variant, draw_variant
from autograder.sandbox.base import Environment


class Assignment(Struct, frozen=True, eq=False):
    """Everything that all submissions share, and how it becomes one student's variant."""

    course: Course
    rubric: Rubric
    releases: Mapping[str, Release]
    """By notebook name."""
    release_bytes: Mapping[str, bytes]
    checks: Mapping[str, Check]
    """By question id."""
    manifest: Manifest | None = None
    """The variants that were given out; None if all students got the same release."""
    starters: Mapping[str, bytes] = {}
    """The files that students were given to edit, by path."""

    @property
    def name(self) -> str:
        """The assignment's name."""
        return self.rubric.assignment.name

    @property
    def language(self) -> str:
        """Language of messages: the release's, or the assignment's first if the release shows all."""
        released = read_language(self.course.locate_release(self.name) / FILE_NAME)
        languages = self.rubric.assignment.languages
        return released if released in languages else next(iter(languages), "en")

    def list_environments(self) -> list[Environment]:
        """Return the contents of the students' boxes, by notebook."""
        return [self.build_environment(notebook) for notebook in self.rubric.assignment.notebooks]

    def build_environment(self, notebook: NotebookFile) -> Environment:
        """Return the contents of a student's box for one notebook.

        The student's check in it is replaced by a silent one: its output would have no reader and no
        influence.

        Args:
            notebook: of the assignment.
        """
        return Environment(
            preload=self.rubric.assignment.preload,
            files=(*self._list_silent_checks(), *self._list_given_files(notebook)),
            tests=any(self.checks[question.id].runs_tests for question in self.list_questions(notebook.name)),
        )

    def _list_silent_checks(self) -> Iterator[tuple[str, Path]]:
        yield FILE_NAME, SILENT
        if self.rubric.assignment.adopted == "otter":
            yield "otter.py", SILENT_OTTER

    def build_reference_environment(self) -> Environment:
        """Return the contents of the box that computes expected values. Students' boxes never have these.

        They are the files next to the notebooks, and the answer key's versions of the files that students
        submit. If these are the same files as students have, the boxes start from the same zygote as theirs.
        """
        files = (*self._list_silent_checks(), *self._list_reference_files())
        return Environment(
            preload=self.rubric.assignment.preload,
            files=files,
            packages=(("reference", self.course.reference),),
        )

    def _list_reference_files(self) -> Iterator[tuple[str, Path]]:
        files = [
            file for notebook in self.rubric.assignment.notebooks for file in self._list_given_files(notebook)
        ]
        # Notebooks may share data files: list each once, in a stable order, because the order enters digests.
        yield from (*dict.fromkeys(files), *self.key_files.items())

    def _list_given_files(self, notebook: NotebookFile) -> Iterator[tuple[str, Path]]:
        folder = self.course.locate_release(self.name)
        yield from ((top, folder / top) for top in notebook.tops)

    @property
    def key_files(self) -> Mapping[str, Path]:
        """The files that the answer key submits in addition to its notebooks, if they exist: path → file."""
        folder = self.course.locate_source(self.name)
        paths = (path for notebook in self.rubric.assignment.notebooks for path in notebook.own)
        return {path: folder / path for path in paths if is_regular(folder / path)}

    def hash_reference_files(self) -> str:
        """Return the SHA-256 over all files in a reference box, by path; empty if there are none."""
        files = tuple(self._list_reference_files())
        return hashlib.sha256("\n".join(_hash_files(files)).encode()).hexdigest() if files else ""

    @contextlib.contextmanager
    def report_missing_preloads(self) -> Iterator[None]:
        """Report a missing module that the rubric preloads as an error of the rubric.

        Raises:
            RubricError: a module is missing; names it and its line.
        """
        try:
            yield
        except PreloadMissing as error:
            with rubrics.locate_errors(self.course.locate_rubric(self.name)):
                place = Place("[assignment]", "assignment", "preload")
                raise RubricError(str(error), place) from error

    def list_questions(self, notebook: str) -> tuple[Question, ...]:
        """Return the questions of one notebook, in the rubric's order."""
        return tuple(question for question in self.rubric.questions if question.notebook == notebook)

    def list_required_names(self, notebook: str) -> Mapping[str, Collection[str]]:
        """Return the names that each answer cell of a notebook has to define, by grade_id."""
        called = {question: file.student_names for question, file in self.rubric.checks.items()}
        return collect_names(self.releases[notebook], self.list_questions(notebook), called)

    def read_submission(
        self, notebook: str, data: bytes, student: str, pictures: Mapping[str, bytes] = {}
    ) -> Submission:
        """Read one submitted notebook.

        Args:
            notebook: its name.
            data: its bytes.
            student: who submitted it.
            pictures: files in the same folder, by path.

        Raises:
            NotebookError: the bytes are not a notebook.
        """
        required_names = self.list_required_names(notebook)
        return read_notebook(
            data,
            self.releases[notebook],
            student=student,
            assignment=self.name,
            names_asked=required_names,
            pictures=pictures,
        )

    def find_answer(self, question: Question, submission: Submission) -> Answer | None:
        """Return the student's answer to a question; None if the release has no cell for it."""
        answers = submission.answers
        if question.file:
            return answers.get(question.file)
        answer = answers.get(question.answer_cell) or answers.get(question.id)
        return answer or self._find_text_below(question, submission)

    def _find_text_below(self, question: Question, submission: Submission) -> Answer | None:
        """Return the answer below a given cell that carries points itself, as nbgrader's tasks do.

        If nothing is written below it, the answer holds the cell's own text.
        """
        release = self.releases[question.notebook]
        given_cell = release.by_id.get(question.answer_cell)
        if given_cell is None or given_cell.points is None:
            return None
        # A copy of a released cell is not the student's own text, wherever it was pasted.
        released = {"", *(cell.source.strip() for cell in release.cells)}
        own_cells = [
            cell for cell in submission.cells if not cell.grade_id and cell.source.strip() not in released
        ]
        ids = [cell.grade_id for cell in submission.cells]
        below = submission.cells[ids.index(given_cell.grade_id) + 1 :] if given_cell.grade_id in ids else ()
        until_next = itertools.takewhile(lambda cell: not cell.grade_id, below)
        # Joined cells must not exceed the limit for a single one.
        text = "\n\n".join(cell.source for cell in until_next if cell in own_cells)[:MAX_SOURCE]
        return Answer(
            given_cell.grade_id, given_cell.cell_type, text or given_cell.source, changed=bool(own_cells)
        )

    def with_variant(self, variant: Variant, catalogues: Catalogues) -> Assignment:
        """Return the assignment with one variant's questions; the notebooks stay those of the common release.

        Raises:
            RubricError: a question is not valid with this variant's values.
        """
        rubric = self.rubric.make_personal(variant, catalogues)
        checks = {
            # Questions without variant values are shared between variants, and so are their checks.
            question.id: self.checks[question.id] if question is common else make_check(question, rubric)
            for question, common in zip(rubric.questions, self.rubric.questions, strict=True)
        }
        return replace(self, rubric=rubric, checks=checks)

    def apply_variant(self, variant: Variant) -> Assignment:
        """Return the assignment with the questions of a variant that was given out; see `with_variant`."""
        return self.with_variant(variant, self.manifest.catalogues if self.manifest else {})

    def get_variant(self, student: str) -> Variant:
        """Return a student's variant, drawn again; the common variant if nothing personal was given out.

        Raises:
            CourseError: the variant drawn again differs from the one that was given out.
        """
        student_release = self.manifest.get_release(student) if self.manifest else None
        if student_release is None or self.manifest is None:
            return self.rubric.variant
        draws, catalogues = self.rubric.draws, self.manifest.catalogues
        if draws is None:
            raise CourseError("variants were handed out, but the rubric has no table [variant] any more")
        secret, counts = self.course.load_secret(), self.rubric.planted
        drawn_for = student_release.drawn_for or student
        # Grading a student by values that they never saw would be unfair, so a changed [variant] table is an
        # error.
        drawn = draw_variant(secret, self.name, drawn_for, draws, catalogues=catalogues, counts=counts)
        # Only drawn values are compared: computed ones follow from them.
        values = {name: student_release.variant.values.get(name) for name in draws.drawn}
        if drawn.values != values or drawn.faults != student_release.variant.faults:
            raise CourseError(
                f"{student!r} was handed out the variant {student_release.variant.label}, but the "
                "rubric draws another "
                "one now; put its table [variant] back as it was"
            )
        return student_release.variant

    def with_notebooks(self, assignment: Assignment, student_release: StudentRelease) -> Assignment:
        """Return a student's variant with the notebooks that were given out.

        Raises:
            CourseError: one of them is missing or was changed.
        """
        folder = self.course.locate_variants(self.name)
        contents = {
            # As given out, not built again: the builder or the sources may have changed since.
            notebook.name: manifests.read_notebook(folder, student_release.notebooks.get(notebook.name, ""))
            for notebook in self.rubric.assignment.notebooks
        }
        releases = {name: load_release(data, name) for name, data in contents.items()}
        return replace(assignment, releases=releases, release_bytes=contents)

    def derive_for_student(self, student: str) -> Assignment:
        """Return the assignment as one student got it: rubric, checks and notebooks.

        Raises:
            CourseError: the variant drawn again differs from the one that was given out, or one of its
                notebooks is missing.
            RubricError: the rubric is not valid with the values that were given out.
        """
        student_release = self.manifest.get_release(student) if self.manifest else None
        return (
            self.with_notebooks(self.apply_variant(self.get_variant(student)), student_release)
            if student_release
            else self
        )

    def get_rubric(self, student: str) -> Rubric:
        """Return the rubric of a student's variant; the common one if the variant cannot be determined.

        It is for marks and pages: grading itself reports a variant that cannot be determined.
        """
        try:
            if self.manifest is None or self.manifest.get_release(student) is None:
                return self.rubric
            return self.rubric.make_personal(self.get_variant(student), self.manifest.catalogues)
        except Exception:  # noqa: BLE001 - foreseen or not: grading says what it is
            return self.rubric

    def get_releases(self, student: str) -> Mapping[str, Release]:
        """Return a student's notebooks by name; none if they cannot be determined. See `get_rubric`."""
        try:
            student_release = self.manifest.get_release(student) if self.manifest else None
            return (
                self.releases
                if student_release is None
                else self.with_notebooks(self, student_release).releases
            )
        except Exception:  # noqa: BLE001 - foreseen or not: grading says what it is
            return {}

    def hash_box_contents(self, environment: Environment) -> str:
        """Return the SHA-256 of a box's contents except the notebook: versions and files."""
        versions = list_versions(environment.preload)
        parts = [f"grading {GRADING_VERSION}", *versions, *_hash_files(environment.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def list_versions(self) -> list[str]:
        """Return the versions of Python and libraries that results depend on; see `list_versions`."""
        kinds = [question.kind for question in self.rubric.questions]
        return list_versions(self.rubric.assignment.preload, kinds)

    def compute_digest(self) -> str:
        """Return the SHA-256 of everything except submission and rubric that results depend on.

        It covers the secret, the reference, `GRADING_VERSION`, the versions of Python and libraries, the
        release, and the files that were given out with it.
        """
        digest = hashlib.sha256(self.course.load_secret())
        # Anything that can change a verdict belongs here: results with the same digest are not computed
        # again.
        parts = [self.course.hash_reference(), f"grading {GRADING_VERSION}", *self.list_versions()]
        parts += [self.manifest.compute_digest()] if self.manifest else []
        for notebook in self.rubric.assignment.notebooks:
            parts.append(hashlib.sha256(self.release_bytes[notebook.name]).hexdigest())
            parts += _hash_files(self.build_environment(notebook).files)
        parts.append(self.hash_reference_files())
        digest.update("\n".join(parts).encode())
        return digest.hexdigest()


def load_assignment(course: Course, name: str) -> Assignment:
    """Load an assignment; its release must have been generated.

    Raises:
        CourseError: the release is missing or incomplete.
        RubricError: the rubric is not valid.
    """
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    if rubric.assignment.name != name:
        raise CourseError(f"{course.locate_rubric(name)}: [assignment] name: expected {name!r}")
    manifest = manifests.load_manifest(course.locate_variants(name), course.load_secret())
    # Without the record it is unknown who got which variant, and the common one would be wrong for most.
    if manifest is None and course.has_personal_releases(name):
        raise CourseError(
            f"{course.locate_variants(name)}: personal notebooks lie in the course, but not the "
            "record of who got "
            "which; restore it from a copy, or remove personal/ if none was given to students"
        )
    folder = course.locate_release(name)
    adopted = bool(rubric.assignment.adopted)
    contents = {
        notebook_file.name: _read_released(folder, notebook_file, adopted=adopted)
        for notebook_file in rubric.assignment.notebooks
    }
    with rubrics.locate_errors(course.locate_rubric(name)):
        checks = {question.id: make_check(question, rubric) for question in rubric.questions}
    return Assignment(
        course=course,
        rubric=rubric,
        releases={notebook: load_release(data, notebook) for notebook, data in contents.items()},
        release_bytes=contents,
        checks=checks,
        manifest=manifest,
        starters={
            path: _read_starter(folder / path)
            for notebook in rubric.assignment.notebooks
            for path in notebook.starter
        },
    )


def _read_starter(path: Path) -> bytes:
    try:
        return atomic.read_bytes(path, most=STARTER_BYTES)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error


def _read_released(folder: Path, notebook: NotebookFile, *, adopted: bool) -> bytes:
    path = folder / f"{notebook.name}.ipynb"
    checks = () if adopted else (FILE_NAME,)
    names = (path.name, *checks, *notebook.given)
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise CourseError(
            f"{folder}: the release lacks {', '.join(missing)}; run: autograder generate {folder.name}"
        )
    try:
        return read_file(path)
    except NotebookError as error:
        raise CourseError(f"{path}: {error}") from error


def _hash_files(files: Iterable[tuple[str, Path]]) -> list[str]:
    """Return path and SHA-256 of each file, and of the files in each folder."""
    lines = []
    for name, path in files:
        inside = list_files_below(path) if path.is_dir() else [("", path)]
        lines += [f"{name} {inner} {hash_file(file)}" for inner, file in inside]
    return lines


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file of the release.

    Raises:
        CourseError: it cannot be read.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise CourseError(f"{path}: not a regular file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
