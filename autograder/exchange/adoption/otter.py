"""Read an assignment of otter from its source.

Cells of otter notebooks have no grade_id. This module builds both notebooks that grading needs, the answer
key and the students' version, with such ids: the answer cell of a question is named like the question, and so
is the cell that carries its points.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import CourseError, NotebookError
from autograder.core.paths import find_path_fault
from autograder.exchange.adoption import otter_settings
from autograder.exchange.adoption.otter_source import OtterSource, SourceCell, is_source, read_source
from autograder.exchange.adoption.otter_tests import OtterCase, Stated, resolve_points
from autograder.exchange.adoption.records import (
    FoundAssignment,
    FoundNotebook,
    FoundQuestion,
    find_shadowing_names,
    list_preloads,
    with_reasons,
)
from autograder.notebook.document import join_source, load_tree
from autograder.notebook.files import read_file
from autograder.notebook.release import SCHEMA_VERSION

_NO_ID = re.compile(r"[^A-Za-z0-9_-]")
_NOT_TAKEN = ("autograder_files", "student_files", "strip_solutions_from_all_cells")
"""Unsupported settings of an assignment that change how it is graded."""


class _OtterQuestion(Struct, frozen=True):
    """One question of a notebook, before it is converted to a question of the rubric."""

    name: str
    points: Stated
    cases: tuple[OtterCase, ...]
    all_or_nothing: bool = False


class _OtterNotebook(Struct, frozen=True):
    """One notebook, with its questions and settings."""

    name: str
    cells: tuple[SourceCell, ...]
    questions: tuple[_OtterQuestion, ...]
    settings: Mapping[str, Any]
    metadata: Mapping[str, Any]
    data: tuple[str, ...] = ()


def list_assignments(root: Path) -> dict[str, Path]:
    """Return the folder of each assignment by name: notebooks of the root, and subfolders with notebooks."""
    folders = {path.stem: root for path in _find_notebooks(root)}
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if folder.name not in {"dist", "release", "submitted", "autograded", "feedback"} and any(
            _find_notebooks(folder)
        ):
            folders[folder.name] = folder
    return folders


def read_assignment(root: Path, name: str) -> FoundAssignment:
    """Read one assignment; see `list_assignments`.

    Raises:
        CourseError: a notebook or a test in it is not usable; names the position.
    """
    folder = list_assignments(root)[name]
    notes: list[str] = []
    questions: list[FoundQuestion] = []
    notebooks: list[FoundNotebook] = []
    code: list[str] = []
    starts: dict[str, str] = {}
    for notebook in _read_notebooks(folder, name if folder == root else ""):
        notebooks.append(FoundNotebook(notebook.name, notebook.data))
        code_of = [cell.key or cell.given or "" for cell in notebook.cells if cell.cell_type == "code"]
        questions += (
            _add_judgement(found_question, notebook, code_of)
            for found_question in _make_questions(notebook, notes)
        )
        code += code_of
        code += [
            case.code
            for otter_question in notebook.questions
            for case in otter_question.cases
            if not case.doctest
        ]
        notes += [
            f"{notebook.name}.ipynb: {key}: not taken over"
            for key in _NOT_TAKEN
            if notebook.settings.get(key)
        ]
        notes += [
            f"{notebook.name}.ipynb: {remark}" for remark in otter_settings.list_remarks(notebook.settings)
        ]
        starts.setdefault(otter_settings.format_cell_start(notebook.settings), notebook.name)
    if not questions:
        raise CourseError(f"{folder}: none of its questions has tests, or is marked by a person")
    # A rubric has a single cell_start for all of its notebooks.
    if len(starts) > 1:
        notes.append(f"seeds differ between notebooks; that of {next(iter(starts.values()))}.ipynb is used")
    preload, missing = list_preloads(code, folder)
    return FoundAssignment(
        name,
        "otter",
        tuple(notebooks),
        tuple(questions),
        preload,
        (*notes, *missing),
        cell_start=next(iter(starts), ""),
    )


def _add_judgement(question: FoundQuestion, notebook: _OtterNotebook, code: Sequence[str]) -> FoundQuestion:
    """Add to a question how its tests can be judged, from the cells before and after them."""
    checked = [
        cell.role == "check" and to_grade_id(cell.question) == question.id
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    check_index = checked.index(True) if True in checked else len(code)
    before = [(source, False) for source in code[:check_index]]
    student_sources = [cell.given or "" for cell in notebook.cells if cell.cell_type == "code"]
    return replace(
        question,
        tests=with_reasons(
            question.tests, code[:check_index], notebook.data
        ),  # otter tests use a copy of the names
        notebook_names=find_shadowing_names(question.tests, before, student_sources),
    )


def build_answer_key(folder: Path, notebook: str) -> bytes:
    """Return the answer key of a notebook, with ids.

    Raises:
        CourseError: it is not there, or not usable.
    """
    document = _read_notebook(folder, notebook)
    return _dump_notebook(document, [cell.key for cell in document.cells])


def build_student_notebook(folder: Path, notebook: str) -> bytes:
    """Return the students' version of a notebook, with ids.

    Raises:
        CourseError: it is not there, or not usable.
    """
    document = _read_notebook(folder, notebook)
    return _dump_notebook(document, [cell.given for cell in document.cells])


def _find_notebooks(folder: Path) -> Iterator[Path]:
    """Yield otter's source notebooks in a folder."""
    yield from (path for path in sorted(folder.glob("*.ipynb")) if is_source(_load_tree(path)))


def _read_notebooks(folder: Path, only: str) -> Iterator[_OtterNotebook]:
    yield from (
        _read_notebook(folder, path.stem) for path in _find_notebooks(folder) if only in {"", path.stem}
    )


def _read_notebook(folder: Path, name: str) -> _OtterNotebook:
    path = folder / f"{name}.ipynb"
    tree = _load_tree(path)
    student = folder / "dist" / "student" / f"{name}.ipynb"
    source = read_source(tree, path.name)
    questions = tuple(
        _OtterQuestion(
            entry.name, entry.settings.get("points"), entry.cases, bool(entry.settings.get("all_or_nothing"))
        )
        for entry in source.questions
        if entry.cases or entry.settings.get("manual")
    )
    # ``otter assign`` inserts this cell unless the setting ``init_cell`` is false.
    first = f'# Initialize Otter\nimport otter\ngrader = otter.Notebook("{path.name}")'
    if source.settings.get("init_cell", True):
        source = replace(source, cells=(SourceCell("code", first, first), *source.cells))
    cells = _copy_student_ids(source, _load_tree(student)) if student.is_file() else source.cells
    data = tuple(entry for entry in source.settings.get("files") or () if not find_path_fault(str(entry)))
    return _OtterNotebook(name, cells, questions, source.settings, tree.get("metadata", {}), data)


def _copy_student_ids(source: OtterSource, student: dict[str, Any]) -> tuple[SourceCell, ...]:
    """Return the cells of a source with the ids of the students' cells if texts and order agree."""
    left = [(join_source(raw.get("source", "")) or "", str(raw.get("id") or "")) for raw in student["cells"]]
    cells = []
    for cell in source.cells:
        index = next((index for index, (text, _) in enumerate(left) if text == cell.given), None)
        if index is not None and left[index][1]:
            cell = SourceCell(cell.cell_type, cell.key, cell.given, cell.role, cell.question, left[index][1])  # noqa: PLW2901
            # Each id is used once and in order, also if several cells have the same text.
            del left[: index + 1]
        cells.append(cell)
    return tuple(cells)


def _make_questions(notebook: _OtterNotebook, notes: list[str]) -> Iterator[FoundQuestion]:
    for question in notebook.questions:
        label = f"{notebook.name}.ipynb, question {question.name}"
        identifier = to_grade_id(question.name)
        question_cells = [
            cell for cell in notebook.cells if cell.question == question.name and cell.given is not None
        ]
        if not question_cells:
            notes.append(f"{label}: not taken over: no cell of the notebook belongs to it")
        elif not question.cases:
            points = (
                Decimal(str(question.points or 0))
                if isinstance(question.points, int | float | None)
                else Decimal(0)
            )
            if not points:
                notes.append(f"{label}: states no points for a person to give; set them in the rubric")
            yield FoundQuestion(identifier, notebook.name, points, answer_cell=identifier)
        else:
            total, tests = resolve_points(question.cases, question.points, label)
            check = next((cell for cell in question_cells if cell.role == "check"), None)
            answered = any(cell.role == "answer" for cell in question_cells)
            yield FoundQuestion(
                identifier,
                notebook.name,
                total,
                tests,
                answer_cell=identifier,
                after=(f"{identifier}-check" if answered else identifier) if check else "",
                all_or_nothing=question.all_or_nothing,
            )


def to_grade_id(name: str) -> str:
    """Convert a question's name to a grade_id that nbgrader allows."""
    bare = _NO_ID.sub("-", name)
    return bare if bare[:1].isalnum() else f"q{bare}"


def _dump_notebook(notebook: _OtterNotebook, sources: Sequence[str | None]) -> bytes:
    """Serialise a notebook with nbgrader's metadata in the cells that matter."""
    points = {question.id: question.points for question in _make_questions(notebook, [])}
    seen: dict[str, int] = {}
    cells: list[dict[str, Any]] = []
    for number, (cell, source) in enumerate(zip(notebook.cells, sources, strict=True), start=1):
        if source is None and cell.given is None:
            continue
        # Called before the check for omitted cells: it counts answers, and both versions must number alike.
        flags = _make_flags(cell, points, seen)
        if source is None:
            continue
        raw = {
            "cell_type": cell.cell_type,
            # Derived from the position, so that the key and the students' version have the same ids.
            "id": cell.id or hashlib.sha256(f"cell {number}".encode()).hexdigest()[:12],
            "metadata": {"nbgrader": flags} if flags else {},
            "source": source,
        }
        cells.append(raw | ({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {}))
    kept = {
        key: notebook.metadata[key] for key in ("kernelspec", "language_info") if key in notebook.metadata
    }
    if title := notebook.settings.get("name") or notebook.metadata.get("otter", {}).get("assignment_name"):
        kept["otter"] = {"assignment_name": str(title)}  # otter refuses notebooks of another assignment
    tree = {
        "cells": cells,
        "metadata": {**kept, "autograder": {"ids": "made"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(tree, ensure_ascii=False, indent=1) + "\n").encode()


def _make_flags(cell: SourceCell, points: Mapping[str, Decimal], seen: dict[str, int]) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; a question's first answer has the points, or else its check."""
    name = to_grade_id(cell.question) if cell.question else ""
    if name not in points or not cell.role:
        return {}
    flags = {"schema_version": SCHEMA_VERSION, "task": False}
    seen[name] = seen.get(name, 0) + (cell.role == "answer")
    if cell.role == "check" and seen[name]:
        return {**flags, "grade_id": f"{name}-check", "grade": False, "solution": False, "locked": True}
    first = seen[name] <= 1
    identifier = name if first else f"{name}-{seen[name]}"
    graded = {"points": float(points[name])} if first else {}
    answer = cell.role == "answer"
    return {
        **flags,
        "grade_id": identifier,
        "grade": first,
        "solution": answer,
        "locked": not answer,
        **graded,
    }


def _load_tree(path: Path) -> dict[str, Any]:
    try:
        return load_tree(read_file(path), [])
    except NotebookError as error:
        raise CourseError(f"{path}: {error}") from error
