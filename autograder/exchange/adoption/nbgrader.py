"""Read a course of nbgrader: one question for each cell that carries points.

The sources are read if there are any; otherwise the released notebooks, with the hidden tests that nbgrader
kept in its gradebook when it generated the release.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import CourseError, NotebookError
from autograder.core.paths import find_path_fault, list_files_below
from autograder.exchange.adoption.nbgrader_settings import read_settings
from autograder.exchange.adoption.records import (
    FoundAssignment,
    FoundNotebook,
    FoundQuestion,
    FoundTest,
    find_shadowing_names,
    list_preloads,
    with_reasons,
)
from autograder.notebook.files import read_file
from autograder.notebook.release import Release, ReleaseCell, load_release
from autograder.questions.base.judging.judgeable import find_names_read_around, find_used_names

SOURCES = ("source", "assignments")
"""Folders of a course with sources: the name used by nbgrader, and the name used here."""
GRADEBOOK = "gradebook.db"
_AUTOTEST = "AUTOTEST"
_HIDDEN = "BEGIN HIDDEN TESTS"
_TEST = "test"


class _AssignmentLocation(Struct, frozen=True):
    """One assignment of a course, before it is read."""

    name: str
    folder: Path
    release: Path
    kept: Mapping[tuple[str, str], str]
    """(notebook, grade_id) → source of the cell in the gradebook."""
    settings: Mapping[str, Any]
    source: bool
    """Whether the folder contains sources rather than the release."""


def list_assignments(course: Path) -> dict[str, Path]:
    """Return the assignments of a course by name: the folders of their sources, or of their releases."""
    folders: dict[str, Path] = {}
    for top in (*SOURCES, "release"):
        for folder in sorted((course / top).glob("*")):
            if any(folder.glob("*.ipynb")):
                folders.setdefault(folder.name, folder)
    return folders


def read_assignment(course: Path, name: str) -> FoundAssignment:
    """Read one assignment.

    Args:
        course: the course's folder.
        name: of the assignment.

    Raises:
        CourseError: there is none, it has nothing to grade, or a notebook or its nbgrader metadata is not
            usable; names the cell.
    """
    available = list_assignments(course)
    if name not in available:
        listed = ", ".join(available) or "none"
        raise CourseError(f"{course}: no assignment {name!r} in source/ or release/; found: {listed}")
    folder = available[name]
    settings, remarks = read_settings(course)
    source = folder.parent.name != "release"
    release = course / "release" / name
    location = _AssignmentLocation(
        name, folder, release, _read_kept_sources(course / GRADEBOOK, name), settings, source
    )
    notes = list(remarks)
    if not source:
        notes.append(
            f"release/{name}: there is no source; tests are those of the "
            f"release{_describe_hidden_tests(location)}"
        )
    data, starters = _list_files(location, notes)
    questions: list[FoundQuestion] = []
    notebooks = []
    sources: list[str] = []
    for path in sorted(folder.glob("*.ipynb")):
        described = _load_release(path)
        notebooks.append(FoundNotebook(path.stem, data, starters))
        questions += _make_questions(described, location, data, notes)
        sources += [cell.source for cell in described.cells if cell.cell_type == "code"]
    if not questions:
        raise CourseError(f"{folder}: no cell of its notebooks carries points; expected nbgrader's metadata")
    preload, missing = list_preloads((*sources, *_read_modules(folder, data)), folder)
    notes += missing
    return FoundAssignment(
        name,
        "nbgrader",
        tuple(notebooks),
        _make_ids_unique(questions),
        preload,
        tuple(dict.fromkeys(notes)),
        float(settings.get("ExecutePreprocessor.timeout") or 0),
    )


def _load_release(path: Path) -> Release:
    try:
        return load_release(read_file(path), path.stem)
    except NotebookError as error:
        raise CourseError(f"{path}: {error}") from error


def _describe_hidden_tests(location: _AssignmentLocation) -> str:
    return ", with the hidden ones of the gradebook" if location.kept else ""


def _read_kept_sources(gradebook: Path, assignment: str) -> dict[tuple[str, str], str]:
    """Read the cells of an assignment from the gradebook, including hidden tests."""
    if not gradebook.is_file():
        return {}
    query = (
        "select notebook.name, base_cell.name, source_cell.source from source_cell"
        " join base_cell on base_cell.id = source_cell.id"
        " join notebook on notebook.id = base_cell.notebook_id"
        " join assignment on assignment.id = notebook.assignment_id where assignment.name = ?"
    )
    try:
        # Read-only, so that reading can neither create nor lock a gradebook in use.
        with contextlib.closing(sqlite3.connect(f"{gradebook.resolve().as_uri()}?mode=ro", uri=True)) as book:
            return {
                (notebook, cell): source or ""
                for notebook, cell, source in book.execute(query, (assignment,))
            }
    except sqlite3.Error:
        return {}  # not a gradebook of nbgrader: use the release without hidden tests


def _make_questions(
    described: Release, location: _AssignmentLocation, data: Sequence[str], notes: list[str]
) -> Iterator[FoundQuestion]:
    """Return a question for each cell that carries points, in order."""
    answer, before = "", list[tuple[str, bool]]()
    code = [cell for cell in described.cells if cell.cell_type == "code"]
    plain = [cell for cell in code if not (cell.grade and cell.is_locked)]
    import_sources = [cell.source for cell in code if not cell.is_answer]
    for cell in described.cells:
        if cell.is_answer and not cell.grade:
            answer = cell.grade_id
        if cell.points is not None:
            is_manual = cell.solution or cell.task
            question = FoundQuestion(
                _to_question_id(cell.grade_id),
                described.name,
                cell.points,
                answer_cell=cell.grade_id
                if is_manual
                else answer or _find_next_answer(described, cell) or cell.grade_id,
                cell="" if cell.grade_id[:1].isalnum() else cell.grade_id,
            )
            if cell.cell_type == "code" and not is_manual:
                question = _add_tests(question, cell, location, notes)
                texts = [source for source, is_test in before if not is_test]
                # Students also run the visible lines of a test, so later cells may read the names it binds.
                later = [
                    later_cell
                    for later_cell in plain
                    if later_cell.number > cell.number and _HIDDEN in cell.source
                ]
                read = find_names_read_around(
                    map(find_used_names, texts), (find_used_names(later_cell.source) for later_cell in later)
                )
                question = replace(
                    question,
                    tests=with_reasons(question.tests, texts, data, read),
                    notebook_names=find_shadowing_names(question.tests, before, import_sources),
                )
            yield question
        if cell.cell_type == "code":
            before.append((cell.source, cell.grade and cell.is_locked))


def _add_tests(
    question: FoundQuestion, cell: ReleaseCell, location: _AssignmentLocation, notes: list[str]
) -> FoundQuestion:
    """Add the tests to a question if they are known; without tests it is graded manually."""
    code = _find_test_code(question.notebook, cell, location)
    where = f"{question.notebook}.ipynb, cell {cell.number} ({cell.grade_id})"
    if _AUTOTEST in code:
        notes.append(
            f"{where}: its tests are made by nbgrader generate_assignment: run that, remove this rubric and "
            "adopt again; as it is a person decides"
        )
        return question
    # nbgrader gives full points if a test cell raises no error, so an empty one always passes.
    if not code.strip():
        notes.append(f"{where}: it has no tests, so everybody gets its points")
        code = "pass"
    test = FoundTest(_TEST, code, question.points, visible=_HIDDEN not in code)
    return replace(question, tests=(test,), after=cell.grade_id)


def _to_question_id(grade_id: str) -> str:
    """Convert a grade_id to a question's id, which must begin with a letter or a digit."""
    return grade_id if grade_id[:1].isalnum() else f"q{grade_id}"


def _find_next_answer(described: Release, cell: ReleaseCell) -> str:
    later = (
        later_cell
        for later_cell in described.cells
        if later_cell.number > cell.number and later_cell.is_answer and not later_cell.grade
    )
    return next((later_cell.grade_id for later_cell in later), "")


def _find_test_code(notebook: str, cell: ReleaseCell, location: _AssignmentLocation) -> str:
    """Return the test's code from the source, the gradebook, or the release if the tests are generated."""
    if not location.source:
        return location.kept.get((notebook, cell.grade_id), cell.source)
    if _AUTOTEST in cell.source:
        if kept := location.kept.get((notebook, cell.grade_id)):
            return kept
        released = location.release / f"{notebook}.ipynb"
        if released.is_file():
            return next(
                (
                    released_cell.source
                    for released_cell in _load_release(released).cells
                    if released_cell.grade_id == cell.grade_id
                ),
                "",
            )
    return cell.source


def _make_ids_unique(questions: Sequence[FoundQuestion]) -> tuple[FoundQuestion, ...]:
    """Make the ids of questions unique: notebooks of one assignment may share ids in nbgrader."""
    ids = [question.id for question in questions]
    return tuple(
        replace(question, id=f"{question.notebook}.{question.id}", cell=question.cell or question.id)
        if ids.count(question.id) > 1
        else question
        for question in questions
    )


def _list_files(location: _AssignmentLocation, notes: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the files next to the notebooks: those distributed unchanged, and those that students edit."""
    edited = location.settings.get("Autograde.exclude_overwriting", {})
    edited_names = edited.get(location.name, ()) if isinstance(edited, dict) else ()
    starters = tuple(
        sorted(file_name for file_name in edited_names if (location.folder / file_name).is_file())
    )
    data = []
    for entry in sorted(location.folder.iterdir()):
        # Hidden files and caches such as __pycache__ are not distributed.
        if entry.suffix == ".ipynb" or entry.name.startswith((".", "__")):
            continue
        if fault := _find_file_fault(entry):
            notes.append(f"{entry.name}: not given out: {fault}")
        elif entry.name not in starters and (entry.is_file() or dict(list_files_below(entry))):
            data.append(entry.name)
    return tuple(data), starters


def _find_file_fault(path: Path) -> str:
    if fault := find_path_fault(path.name):
        return fault
    # A link could point to any file of the machine, which would then be given to students.
    if any(part.is_symlink() for part in (path, *(path.rglob("*") if path.is_dir() else ()))):
        return "it is, or holds, a link"
    return ""


def _read_modules(folder: Path, data: Sequence[str]) -> Iterator[str]:
    """Yield the sources of the distributed modules."""
    for name in data:
        for path in (folder / name).rglob("*.py") if (folder / name).is_dir() else [folder / name]:
            if path.suffix == ".py":
                yield path.read_text("utf-8", "replace")
