"""An assignment before the exam: new, release, personal releases, verification, print."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.app import SILENT, Isolation, Listener, count_steps
from autograder.app.class_lists import read_roster
from autograder.authoring import start_assignment as begin
from autograder.authoring.shipped_course import copy_example
from autograder.checking.outcome_tables import format_answer, format_matrix, is_as_declared
from autograder.core import atomic
from autograder.core.errors import AutograderError, CourseError, SandboxError
from autograder.core.tables import suggest_id
from autograder.course import Course, find_name_fault
from autograder.grading import assignment as assignments
from autograder.grading import personal_variants, release_generation, verify
from autograder.grading.assignment import Assignment
from autograder.grading.personal_variants import DistributionSummary, make_variants
from autograder.grading.release_generation import generate_release as release
from autograder.grading.release_generation import list_kept_back
from autograder.grading.verify import Mark, Matrix, MutatedCell, Row, Verification, VerifyFinding
from autograder.grading.verify.explanation import Explainer
from autograder.messages import build_localised_text
from autograder.pages.paper.sheet import Size, make_sheet, render_sheet
from autograder.questions.repair import RepairCheck
from autograder.rubric import Rubric
from autograder.sandbox.pool import Pool

__all__ = [
    "DistributionSummary",
    "Mark",
    "Matrix",
    "MutatedCell",
    "Row",
    "Verification",
    "VerifyFinding",
    "begin",
    "copy_example",
    "list_kept_back",
    "release",
]
"""Includes names of lower layers that front ends need."""


def is_personal(course: Course, name: str) -> bool:
    """Decide whether students get personal releases: with variants in the rubric and a class list.

    Raises:
        CourseError: there is no such assignment.
        RubricError: the rubric is not valid.
    """
    return rubrics.load_rubric(course.locate_rubric(name)).draws is not None and course.roster.is_file()


def write_personal_releases(
    course: Course, name: str, *, isolation: Isolation = Isolation.NAMESPACES, replace: bool = False
) -> DistributionSummary:
    """Write each student's personal release, after the common one, in its language.

    Raises:
        As `autograder.grading.personal_variants.write_personal_releases`.
    """
    students = [student.id for student in read_roster(course.roster)]
    with Pool(isolation=isolation) as pool:
        return personal_variants.write_personal_releases(course, name, students, pool, replace=replace)


def build_and_verify(
    course: Course,
    name: str,
    *,
    workers: int = 0,
    quick: bool = False,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
) -> Verification:
    """Build the release and verify it; an error that prevents this is a finding, too.

    Args:
        course: the course.
        name: the assignment.
        workers: number of parallel workers; 0: one per core.
        quick: grade only the answer key and the untouched release.
        isolation: how code is confined.
        watch: notified after each trial.

    Raises:
        SandboxError: the sandbox failed, or code cannot be confined on this machine.
    """
    started = time.monotonic()
    try:
        release(course, name)
        with Pool(isolation=isolation) as pool:
            loaded = assignments.load_assignment(course, name)
            repair_findings = tuple(check_handed_out_listings(loaded))
            verified = verify.verify(
                loaded,
                pool,
                workers=workers or None,
                quick=quick,
                watch=lambda rows, total: count_steps(rows, total, watch),
            )
            return replace(verified, findings=(*repair_findings, *verified.findings))
    # A failure of the sandbox says nothing about the assignment, so it is no finding.
    except SandboxError:
        raise
    except AutograderError as error:
        finding = VerifyFinding(
            "course",
            name,
            "a rubric, notebooks and references that fit together",
            str(error),
            build_localised_text("verify.correct-named"),
        )
        return Verification(name, (finding,), seconds=time.monotonic() - started)


def explain_checks(
    course: Course,
    name: str,
    question: str,
    *,
    answer: Path | None = None,
    show_values: bool = False,
    isolation: Isolation = Isolation.NAMESPACES,
) -> tuple[list[str], bool]:
    """Run the checks of a question on the cases in its file of checks, or on one answer.

    Args:
        course: the course.
        name: the assignment.
        question: its id.
        answer: a notebook, or a Python file with the content of the answer cell.
        show_values: show the drawn and compared values.
        isolation: how code is confined.

    Returns:
        The lines of a table, and whether all is as expected: an answer passes everything; mutants, planted
        answers and faults lose the expected points.

    Raises:
        AutograderError: rubric, notebook, question or answer is not usable, or the sandbox failed.
    """
    release(course, name)
    with Pool(isolation=isolation) as pool:
        # The release was rebuilt above, so that checks run against the current sources.
        explainer = Explainer(
            assignments.load_assignment(course, name), pool, question, show_values=show_values
        )
        if answer is not None:
            row = explainer.run_file(answer)
            return format_answer(row.outcomes), is_as_declared(explainer.file, row)
        rows = list(explainer.run_stated())
        is_right = all(is_as_declared(explainer.file, row) for row in rows)
        return format_matrix(explainer.file, rows), is_right


def print_paper(
    course: Course,
    name: str,
    *,
    language: str = "",
    solutions: bool = False,
    student: str = "",
    size: Size = "a4",
    output: Path | None = None,
    isolation: Isolation = Isolation.NAMESPACES,
) -> Path:
    """Write an assignment as a page to print, with a box for every answer, or the solutions for graders.

    Args:
        course: the course.
        name: the assignment.
        language: of the texts; empty: the assignment's first.
        solutions: print the answer key, the items, and alternative right answers.
        student: print the variant of this student; empty: the common one.
        size: of the paper.
        output: ends in ``.html``; default: a file below paper/.
        isolation: how the reference is confined if a variant is drawn.

    Raises:
        CourseError: a file, the language, the student or the output is not usable.
        RubricError: the rubric is not valid.
        SandboxUnavailable: the reference cannot be confined on this machine.
    """
    if student and (fault := find_name_fault(student)):
        raise CourseError(f"--student: {student!r} cannot be a student's id: {fault}")
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    languages = rubric.assignment.languages
    if language and language not in languages:
        raise CourseError(f"--language: expected one of {', '.join(languages)}, got {language!r}")
    language = language or languages[0]
    file = f"{'-'.join(filter(None, (name, student, 'solutions' * solutions)))}.html"
    path = output or course.root / "paper" / file
    if path.suffix != ".html":
        raise CourseError(f"--output {path}: expected a file that ends in .html")
    printed_rubric, releases, key = _build_printed_content(course, rubric, language, student, isolation)
    sheet = make_sheet(
        printed_rubric,
        releases,
        language=language,
        key=key if solutions else None,
        pictures=_read_pictures(course, rubric),
        student=student,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, render_sheet(sheet, size).encode())
    return path


def _build_printed_content(
    course: Course, rubric: Rubric, language: str, student: str, isolation: Isolation
) -> tuple[Rubric, Mapping[str, bytes], Mapping[str, bytes]]:
    """Return the rubric to print, and by notebook the release and the answer key."""
    if not student:
        files = release_generation.build_release_files(course, rubric, language)
        return rubric, _select_notebooks(rubric, files), release_generation.read_answer_key(course, rubric)
    if rubric.draws is None:
        raise CourseError(
            f"--student: {rubric.assignment.name!r} has no table [variant]: everybody has the same"
        )
    common = assignments.load_assignment(course, rubric.assignment.name)
    distributed = common.manifest.get_release(student) if common.manifest else None
    if common.manifest and distributed is None:
        raise CourseError(
            f"--student: nothing was handed out to {student!r}; put them on the class list and generate; "
            f"{suggest_id(student, common.manifest.students)}"
        )
    with Pool(isolation=isolation) as pool:
        variants = make_variants(
            common, [student], pool, common.manifest.catalogues if common.manifest else None
        )
    # A variant that was distributed is printed as distributed, even if the rubric would draw another one.
    variant = common.get_variant(student) if distributed else variants.variants[student]
    personal_rubric = common.with_variant(variant, variants.catalogues).rubric
    files = release_generation.build_release_files(
        course, personal_rubric, language, variants.collect_listings(variant), student
    )
    return personal_rubric, _select_notebooks(personal_rubric, files), variants.build_answer_key(variant)


def _select_notebooks(rubric: Rubric, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {notebook.name: files[f"{notebook.name}.ipynb"] for notebook in rubric.assignment.notebooks}


def _read_pictures(course: Course, rubric: Rubric) -> dict[str, bytes]:
    """Return the contents of the data files that are pictures."""
    return {
        name: path.read_bytes()
        for name, path in release_generation.list_data_files(course, rubric).items()
        if name.lower().endswith((".png", ".jpg", ".jpeg"))
    }


def check_handed_out_listings(loaded: Assignment) -> Iterator[VerifyFinding]:
    """Yield a finding for each question with a release that lacks a fault of the listing."""
    for question in loaded.rubric.questions:
        check = loaded.checks[question.id]
        if not isinstance(check, RepairCheck):
            continue
        release = loaded.releases[question.notebook or loaded.rubric.assignment.notebooks[0].name]
        cell = release.by_id.get(release.find_answer_cell(question))
        faulty = check.file.make_listing(check.planted)
        got = describe_difference(cell.source if cell else "", faulty)
        if got:
            yield VerifyFinding(
                "untouched release",
                question.id,
                "the listing with all faults, as the checks state them",
                got,
                build_localised_text("verify.listing", listing=faulty),
            )


def describe_difference(cell_source: str, faulty: str) -> str:
    """Describe the first line in which a cell differs from a listing as syntax tree; empty: none.

    Comments and imports are ignored, and so are definitions that are missing in the cell, except the last.
    """
    try:
        cell, wanted = (_collect_definitions(source) for source in (cell_source, faulty))
    except SyntaxError as error:
        return f"no Python: line {error.lineno}: {error.msg}"
    for name, lines in wanted.items():
        if name not in cell:
            if name == next(reversed(wanted)):
                return f"no {name}"
            continue
        for given_line, right in zip_longest(cell[name], lines, fillvalue="nothing more"):
            if given_line != right:
                return f"{given_line.strip()!r} where the listing with all faults has {right.strip()!r}"
    return ""


def _collect_definitions(source: str) -> dict[str, list[str]]:
    """Map each name that a source binds to the normalised lines of its last binding statement."""
    definitions: dict[str, list[str]] = {}
    for statement in ast.parse(source).body:
        lines = ast.unparse(statement).splitlines()
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                definitions.pop(name, None)
                definitions[name] = lines
            case ast.Assign() | ast.AnnAssign():
                definitions[lines[0].partition("=")[0].strip()] = lines
    return definitions
