"""From a source notebook with solutions to the release that students get.

nbgrader's own preprocessors do the work, in the order of ``nbgrader generate_assignment``, so that both
make the same release; no nbgrader application, configuration or database is needed. Importing nbgrader
takes seconds: import this module only where a release is built.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import nbformat
from nbgrader.nbgraderformat import MetadataValidator, ValidationError
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from autograder.errors import NotebookError
from autograder.notebook.agreement import check_agreement
from autograder.notebook.document import joined, load_tree
from autograder.notebook.language import in_language
from autograder.notebook.markers import check_markers, check_tests, leaked, solution_fragments
from autograder.notebook.release import FLAGS, Release, load_release
from autograder.notebook.title_page import fill_title_page
from autograder.rubric import Rubric
from autograder.timestamps import Window

_STEPS = (
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
)
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]+")
_FORMAT = (4, 5)


def build_release(
    source: bytes, rubric: Rubric, notebook: str, language: str = "", window: Window | None = None
) -> bytes:
    """Make the release of one notebook. The same source gives the same bytes.

    Args:
        source: the bytes of the source notebook.
        rubric: of the assignment the notebook belongs to.
        notebook: the notebook's name without its ending.
        language: one of the assignment's; empty shows the texts of all of them.
        window: when an exam is sat, for its title page; None: not known yet.

    Raises:
        CourseError: the source is not a notebook, or a cell's nbgrader metadata is not usable.
        NotebookError: ``bad-markers``, ``own-tests``, ``bad-grade-id``, ``not-python``, ``old-format``,
            ``not-gradable``, ``not-a-cell``, ``language``, ``title-page``, ``nbgrader-refused`` or
            ``solution-left``; names the cell.
        RubricError: cells or points disagree with the rubric.
    """
    described = load_release(source, notebook)
    _check_cells(described)
    check_markers(described.cells, notebook)
    check_tests(described.cells, notebook)
    check_agreement(described, rubric)
    node = _bare_notebook(load_tree(source, []), notebook)
    _speak(node, rubric, language, notebook, window)
    try:
        node = MetadataValidator().upgrade_notebook_metadata(node)
        resources: dict[str, Any] = {}
        for step in _STEPS:
            node, resources = step().preprocess(node, resources)
    except (RuntimeError, ValueError, ValidationError) as error:
        raise NotebookError(
            "nbgrader-refused", f"notebook {notebook!r}: nbgrader refuses it: {error}"
        ) from error
    release: bytes = (nbformat.writes(node) + "\n").encode()  # type: ignore[no-untyped-call]
    left = leaked(solution_fragments(source), release)
    if left:
        raise NotebookError(
            "solution-left",
            f"notebook {notebook!r}: the release would still hold {left[0]!r}; say where it is shown.",
        )
    return release


def _check_cells(described: Release) -> None:
    """What nbgrader would accept or refuse without saying which cell.

    Raises:
        NotebookError: ``not-python``, ``bad-grade-id`` or ``not-gradable``.
    """
    if described.language not in ("python", "python3", "ipython", "ipython3"):
        raise NotebookError(
            "not-python",
            f"notebook {described.name!r}: expected a Python notebook, got {described.language!r}",
        )
    for cell in described.cells:
        place = f"notebook {described.name!r}, cell {cell.number}"
        if cell.grade_id and not _GRADE_ID.fullmatch(cell.grade_id):
            raise NotebookError(
                "bad-grade-id",
                f"{place}: grade_id: nbgrader allows letters, digits, '-' and '_', got {cell.grade_id!r}",
            )
        if cell.cell_type == "markdown" and not cell.task and cell.grade != cell.solution:
            missing = "grade" if cell.solution else "solution"
            raise NotebookError(
                "not-gradable",
                f"{place} ({cell.grade_id}): a markdown answer is graded by a person and needs "
                f"grade and solution; {missing} is not set",
            )


def _bare_notebook(tree: Mapping[str, Any], name: str) -> Any:
    """The notebook with nothing in it but sources, nbgrader's metadata, kernel and pictures of prompts."""
    if tree.get("nbformat") != _FORMAT[0]:
        raise NotebookError(
            "old-format",
            f"notebook {name!r}: format version: expected 4, got {tree.get('nbformat')!r}. Save it again.",
        )
    seen: set[str] = set()
    bare = {
        "nbformat": _FORMAT[0],
        "nbformat_minor": _FORMAT[1],
        "metadata": {
            "kernelspec": _kernel(tree.get("metadata")),
            "language_info": {"name": "python"},
        },
        "cells": [_bare_cell(name, number, cell, seen) for number, cell in enumerate(tree["cells"], start=1)],
    }
    return nbformat.from_dict(bare)  # type: ignore[no-untyped-call]


def _speak(node: Any, rubric: Rubric, language: str, notebook: str, window: Window | None) -> None:
    """Leave in every text that is not an answer what the release shows of it; answers are only checked."""
    languages = rubric.assignment.languages
    for number, cell in enumerate(node.cells, start=1):
        place = f"notebook {notebook!r}, cell {number}"
        if cell.cell_type != "markdown":
            continue
        if cell.metadata.get("nbgrader", {}).get("solution"):
            in_language(cell.source, languages, "", place)
        else:
            source = fill_title_page(cell.source, rubric, window, place)
            cell.source = in_language(source, languages, language, place)


def _kernel(metadata: Any) -> dict[str, str]:
    found = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    if isinstance(found, dict):
        kernel |= {key: found[key] for key in kernel if isinstance(found.get(key), str)}
    return kernel


def _bare_cell(name: str, number: int, cell: Any, seen: set[str]) -> dict[str, Any]:
    source = joined(cell.get("source", "")) if isinstance(cell, dict) else None
    if source is None or cell.get("cell_type") not in ("code", "markdown", "raw"):
        raise NotebookError(
            "not-a-cell", f"notebook {name!r}, cell {number}: is not a cell. Save it in Jupyter."
        )
    metadata = cell.get("metadata")
    nbgrader = (metadata.get("nbgrader") if isinstance(metadata, dict) else None) or {}
    if not any(nbgrader.get(flag) for flag in FLAGS):
        nbgrader = {}  # nbgrader's own toolbar leaves such entries; they mean nothing
    bare = {
        "cell_type": cell["cell_type"],
        "id": _cell_id(number, cell, seen),
        "metadata": {"nbgrader": dict(nbgrader)} if nbgrader else {},
        "source": source.replace("\r\n", "\n"),
    }
    if bare["cell_type"] == "code":
        bare |= {"outputs": [], "execution_count": None}
    elif cell.get("attachments") and not nbgrader.get("solution") and not nbgrader.get("task"):
        bare["attachments"] = cell["attachments"]
    return bare


def _cell_id(number: int, cell: Mapping[str, Any], seen: set[str]) -> str:
    """The cell's own id, or one that depends on its number only: building twice gives the same bytes."""
    found = cell.get("id")
    if not isinstance(found, str) or not _CELL_ID.fullmatch(found) or found in seen:
        found = hashlib.sha256(f"cell {number}".encode()).hexdigest()[:12]
    seen.add(found)
    return found
