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

from autograder.adopting.found import FoundAssignment, FoundNotebook, FoundQuestion, FoundTest
from autograder.adopting.judged import shadowing_names, with_reasons
from autograder.adopting.modules import preloaded
from autograder.adopting.settings import read_settings
from autograder.checks.judging.judgeable import names_read_around, names_used
from autograder.errors import CourseError, NotebookError
from autograder.notebook.files import read_file
from autograder.notebook.release import Release, ReleaseCell, load_release
from autograder.paths import files_below, path_fault

SOURCES = ("source", "assignments")
"""Folders of a course with sources: the name used by nbgrader, and the name used here."""
GRADEBOOK = "gradebook.db"
_AUTOTEST = "AUTOTEST"
_HIDDEN = "BEGIN HIDDEN TESTS"
_TEST = "test"


class _Place(Struct, frozen=True):
    """One assignment of a course, before it is read."""

    name: str
    folder: Path
    release: Path
    kept: Mapping[tuple[str, str], str]
    """(notebook, grade_id) → source of the cell in the gradebook."""
    settings: Mapping[str, Any]
    source: bool
    """Whether the folder contains sources rather than the release."""


def assignments(course: Path) -> dict[str, Path]:
    """Return the assignments of a course by name: the folders of their sources, or of their releases."""
    found: dict[str, Path] = {}
    for top in (*SOURCES, "release"):
        for folder in sorted((course / top).glob("*")):
            if any(folder.glob("*.ipynb")):
                found.setdefault(folder.name, folder)
    return found


def read_assignment(course: Path, name: str) -> FoundAssignment:
    """Read one assignment.

    Args:
        course: the course's folder.
        name: of the assignment.

    Raises:
        CourseError: there is none, it has nothing to grade, or a notebook or its nbgrader metadata is not
            usable; names the cell.
    """
    known = assignments(course)
    if name not in known:
        listed = ", ".join(known) or "none"
        raise CourseError(f"{course}: no assignment {name!r} in source/ or release/; found: {listed}")
    folder = known[name]
    settings, remarks = read_settings(course)
    source = folder.parent.name != "release"
    release = course / "release" / name
    place = _Place(name, folder, release, _kept_sources(course / GRADEBOOK, name), settings, source)
    notes = list(remarks)
    if not source:
        notes.append(f"release/{name}: there is no source; tests are those of the release{_hidden(place)}")
    data, starters = _files(place, notes)
    questions: list[FoundQuestion] = []
    notebooks = []
    sources: list[str] = []
    for path in sorted(folder.glob("*.ipynb")):
        described = _loaded(path)
        notebooks.append(FoundNotebook(path.stem, data, starters))
        questions += _questions(described, place, data, notes)
        sources += [cell.source for cell in described.cells if cell.cell_type == "code"]
    if not questions:
        raise CourseError(f"{folder}: no cell of its notebooks carries points; expected nbgrader's metadata")
    preload, missing = preloaded((*sources, *_modules(folder, data)), folder)
    notes += missing
    return FoundAssignment(
        name,
        "nbgrader",
        tuple(notebooks),
        _distinct(questions),
        preload,
        tuple(dict.fromkeys(notes)),
        float(settings.get("ExecutePreprocessor.timeout") or 0),
    )


def _loaded(path: Path) -> Release:
    try:
        return load_release(read_file(path), path.stem)
    except NotebookError as error:
        raise CourseError(f"{path}: {error}") from error


def _hidden(place: _Place) -> str:
    return ", with the hidden ones of the gradebook" if place.kept else ""


def _kept_sources(gradebook: Path, assignment: str) -> dict[tuple[str, str], str]:
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
            return {(one, cell): source or "" for one, cell, source in book.execute(query, (assignment,))}
    except sqlite3.Error:
        return {}  # not a gradebook of nbgrader: use the release without hidden tests


def _questions(
    described: Release, place: _Place, data: Sequence[str], notes: list[str]
) -> Iterator[FoundQuestion]:
    """Return a question for each cell that carries points, in order."""
    answer, before = "", list[tuple[str, bool]]()
    code = [cell for cell in described.cells if cell.cell_type == "code"]
    plain = [cell for cell in code if not (cell.grade and cell.is_locked)]
    given = [cell.source for cell in code if not cell.is_answer]
    for cell in described.cells:
        if cell.is_answer and not cell.grade:
            answer = cell.grade_id
        if cell.points is not None:
            own = cell.solution or cell.task
            question = FoundQuestion(
                _question_id(cell.grade_id),
                described.name,
                cell.points,
                answer_cell=cell.grade_id
                if own
                else answer or _next_answer(described, cell) or cell.grade_id,
                cell="" if cell.grade_id[:1].isalnum() else cell.grade_id,
            )
            if cell.cell_type == "code" and not own:
                question = _tested(question, cell, place, notes)
                texts = [source for source, is_test in before if not is_test]
                # Students also run the visible lines of a test, so later cells may read the names it binds.
                later = [one for one in plain if one.number > cell.number and _HIDDEN in cell.source]
                read = names_read_around(map(names_used, texts), (names_used(one.source) for one in later))
                question = replace(
                    question,
                    tests=with_reasons(question.tests, texts, data, read),
                    notebook_names=shadowing_names(question.tests, before, given),
                )
            yield question
        if cell.cell_type == "code":
            before.append((cell.source, cell.grade and cell.is_locked))


def _tested(question: FoundQuestion, cell: ReleaseCell, place: _Place, notes: list[str]) -> FoundQuestion:
    """Add the tests to a question if they are known; without tests it is graded manually."""
    code = _code(question.notebook, cell, place)
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


def _question_id(grade_id: str) -> str:
    """Convert a grade_id to a question's id, which must begin with a letter or a digit."""
    return grade_id if grade_id[:1].isalnum() else f"q{grade_id}"


def _next_answer(described: Release, cell: ReleaseCell) -> str:
    later = (one for one in described.cells if one.number > cell.number and one.is_answer and not one.grade)
    return next((one.grade_id for one in later), "")


def _code(notebook: str, cell: ReleaseCell, place: _Place) -> str:
    """Return the test's code from the source, the gradebook, or the release if the tests are generated."""
    if not place.source:
        return place.kept.get((notebook, cell.grade_id), cell.source)
    if _AUTOTEST in cell.source:
        if kept := place.kept.get((notebook, cell.grade_id)):
            return kept
        released = place.release / f"{notebook}.ipynb"
        if released.is_file():
            return next((one.source for one in _loaded(released).cells if one.grade_id == cell.grade_id), "")
    return cell.source


def _distinct(questions: Sequence[FoundQuestion]) -> tuple[FoundQuestion, ...]:
    """Make the ids of questions unique: notebooks of one assignment may share ids in nbgrader."""
    ids = [one.id for one in questions]
    return tuple(
        replace(one, id=f"{one.notebook}.{one.id}", cell=one.cell or one.id) if ids.count(one.id) > 1 else one
        for one in questions
    )


def _files(place: _Place, notes: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the files next to the notebooks: those distributed unchanged, and those that students edit."""
    edited = place.settings.get("Autograde.exclude_overwriting", {})
    stated = edited.get(place.name, ()) if isinstance(edited, dict) else ()
    starters = tuple(sorted(one for one in stated if (place.folder / one).is_file()))
    data = []
    for entry in sorted(place.folder.iterdir()):
        # Hidden files and caches such as __pycache__ are not distributed.
        if entry.suffix == ".ipynb" or entry.name.startswith((".", "__")):
            continue
        if fault := _file_fault(entry):
            notes.append(f"{entry.name}: not given out: {fault}")
        elif entry.name not in starters and (entry.is_file() or dict(files_below(entry))):
            data.append(entry.name)
    return tuple(data), starters


def _file_fault(path: Path) -> str:
    if fault := path_fault(path.name):
        return fault
    # A link could point to any file of the machine, which would then be given to students.
    if any(one.is_symlink() for one in (path, *(path.rglob("*") if path.is_dir() else ()))):
        return "it is, or holds, a link"
    return ""


def _modules(folder: Path, data: Sequence[str]) -> Iterator[str]:
    """Yield the sources of the distributed modules."""
    for name in data:
        for path in (folder / name).rglob("*.py") if (folder / name).is_dir() else [folder / name]:
            if path.suffix == ".py":
                yield path.read_text("utf-8", "replace")
