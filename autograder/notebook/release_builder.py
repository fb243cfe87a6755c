"""Build the release that students receive from a source notebook with solutions.

nbgrader's own preprocessors do the work, in the order of ``nbgrader generate_assignment``, so that both
produce the same release; no nbgrader application, configuration or database is needed. Importing nbgrader
takes seconds, so import this module only where a release is built.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
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
from traitlets.config import Config

from autograder.core.errors import CourseError, NotebookError, RubricError
from autograder.core.tables import suggest_name
from autograder.core.wording import format_number, get_text
from autograder.messages import format_sentence
from autograder.notebook.document import is_attachment_shown, join_source, load_tree
from autograder.notebook.language import select_language
from autograder.notebook.markers import check_markers, check_tests, split_regions
from autograder.notebook.release import FLAGS, Release, load_release
from autograder.rubric import Question, Rubric
from autograder.rubric.timestamps import Window

# ComputeChecksums runs twice, as in nbgrader: hidden tests and mark schemes change the source it hashes.
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
_READERS = {
    "npy": 'import numpy\n\n{name} = numpy.load("{path}")',
    "npz": 'import numpy\n\n{name} = dict(numpy.load("{path}"))',
    "json": 'import json\n\nwith open("{path}") as file:\n    {name} = json.load(file)',
}
"""Code by which a generated notebook reads a result, by file suffix; numpy does not unpickle objects by
default."""
_PLACE = re.compile(r"^[ \t]*<!--[ \t]*exam\b[ \t]*(.*?)[ \t]*-->[ \t]*$", re.MULTILINE)


def build_release(
    source: bytes,
    rubric: Rubric,
    notebook: str,
    language: str = "",
    window: Window | None = None,
    *,
    stubs: Mapping[str, Any] | None = None,
) -> bytes:
    """Build the release of one notebook. The same source yields the same bytes.

    `leaks.check_leaks` looks for solutions in all releases of an assignment together.

    Args:
        source: bytes of the source notebook.
        rubric: rubric of the assignment that the notebook belongs to.
        notebook: the notebook's name without suffix.
        language: one of the assignment's languages; empty keeps the texts of all of them.
        window: time of the exam, for its title page; None if it is not known yet.
        stubs: settings of nbgrader's ClearSolutions: the text that replaces solutions.

    Raises:
        CourseError: the source is not a notebook, or a cell's nbgrader metadata is not usable.
        NotebookError: ``bad-markers``, ``own-tests``, ``bad-grade-id``, ``not-python``, ``old-format``,
            ``not-gradable``, ``not-a-cell``, ``language``, ``title-page`` or ``nbgrader-refused``; names the
            cell.
        RubricError: cells or points disagree with the rubric.
    """
    described = load_release(source, notebook, source=True)
    _check_cells(described)
    check_markers(described.cells, notebook)
    if not rubric.assignment.adopted:
        check_tests(described.cells, notebook)
    check_agreement(described, rubric)
    node = _strip_notebook(load_tree(source, []), notebook)
    _apply_language(node, rubric, language, notebook, window)
    try:
        node = MetadataValidator().upgrade_notebook_metadata(node)
        resources: dict[str, Any] = {}
        for step in _STEPS:
            # nbgrader would refuse pictures in a mark scheme because it leaves them in the release.
            scheme = {"check_attachment_leakage": False}
            settings = Config({"ClearSolutions": dict(stubs or {}), "ClearMarkScheme": scheme})
            node, resources = step(config=settings).preprocess(node, resources)
            if step is ClearHiddenTests:
                languages = (language,) if language else rubric.assignment.languages
                # Before the second ComputeChecksums, because the checksum must cover the label.
                _label_hidden_tests(node, described, languages)
        # Last, because earlier steps may remove the only text that shows a picture.
        _drop_hidden_attachments(node)
    except (RuntimeError, ValueError, ValidationError) as error:
        raise NotebookError(
            "nbgrader-refused", f"notebook {notebook!r}: nbgrader refuses it: {error}"
        ) from error
    release: bytes = (nbformat.writes(node) + "\n").encode()
    return release


def build_starter(source: bytes, path: str) -> bytes:
    """Return the student version of a file: solutions between markers are removed, as in cells.

    Args:
        source: content of the answer key's file.
        path: path of the file, for error messages.

    Raises:
        NotebookError: ``bad-markers``.
    """
    try:
        text = source.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        # A binary file cannot contain markers, so it is released unchanged.
        return source
    regions = split_regions(text, path).regions
    if misplaced := sorted({*regions} - {"SOLUTION"}):
        raise NotebookError("bad-markers", f"{path}: BEGIN {misplaced[0]}: a file has solutions alone.")
    if not regions:
        return source
    # ClearSolutions works on notebooks only: wrap the file in a notebook with one answer cell.
    flags = {"schema_version": 3, "grade_id": "file", "grade": False, "solution": True, "locked": False}
    cell = nbformat.v4.new_code_cell(text, metadata={"nbgrader": flags})
    node = nbformat.v4.new_notebook(cells=[cell])
    node, _ = ClearSolutions().preprocess(node, {})
    return str(node.cells[0].source).encode()


def build_file_notebook(rubric: Rubric, notebook: str) -> bytes:
    """Build the source of a notebook that only carries the points of answers in files.

    A given cell imports each question's names from its file. Students need not submit the notebook.

    Args:
        rubric: rubric of the assignment; every question of the notebook has a ``file``.
        notebook: the notebook's name.
    """
    header = (
        "# Made by autograder generate. The answers are in "
        f"{', '.join(_list_answer_files(rubric, notebook))}.\n"
    )
    cells = [_make_given_cell("setup", f"{header}from coursecheck import check", None)]
    for question in rubric.questions:
        if question.notebook == notebook:
            imported = "\n".join(_list_imports(question))
            for name, points in question.list_cells().items():
                source = f'check("{question.id}")' if name == question.id else f"# read in {question.file}"
                whole = f"{imported}\n\n{source}" if imported and name == question.id else source
                cells.append(_make_given_cell(name, whole, points))
    node = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": _read_kernel({}), "language_info": {"name": "python"}}
    )
    text: str = nbformat.writes(node)
    return f"{text}\n".encode()


def _list_answer_files(rubric: Rubric, notebook: str) -> tuple[str, ...]:
    """Return the paths of the files that answer the notebook's questions."""
    return tuple(
        dict.fromkeys(question.file for question in rubric.questions if question.notebook == notebook)
    )


def _list_imports(question: Question) -> Iterator[str]:
    """Yield the lines that import a question's names from its file, if it is a module or plain numbers."""
    reader = _READERS.get(question.file.rpartition(".")[2])
    if reader and question.answer.isidentifier():
        yield reader.format(name=question.answer, path=question.file)
    parts = question.file.removesuffix(".py").split("/")
    if not question.file.endswith(".py") or not all(part.isidentifier() for part in parts):
        return
    answers = (question.answer, *(item.options.get("answer") for item in question.items if not item.manual))
    for name in dict.fromkeys(answer for answer in answers if isinstance(answer, str) and answer):
        yield f"from {'.'.join(parts)} import {name}"


def _make_given_cell(grade_id: str, source: str, points: Decimal | None) -> Any:
    """Return a locked code cell; it is graded if ``points`` are given."""
    graded = points is not None
    flags = {"schema_version": 3, "grade_id": grade_id, "grade": graded, "solution": False, "locked": True}
    if points is not None:
        flags["points"] = int(points) if points == int(points) else float(points)
    metadata = {"nbgrader": {**flags, "task": False}}
    # The id depends on the grade_id alone, so that two builds give the same bytes.
    identifier = hashlib.sha256(f"cell {grade_id}".encode()).hexdigest()[:12]
    return nbformat.v4.new_code_cell(source, metadata=metadata, id=identifier)


def _check_cells(described: Release) -> None:
    """Refuse cells that nbgrader would accept, or refuse without naming the cell.

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


def _strip_notebook(tree: Mapping[str, Any], name: str) -> Any:
    """Return the notebook reduced to sources, nbgrader's metadata, kernel and pictures of prompts."""
    if tree.get("nbformat") != _FORMAT[0]:
        raise NotebookError(
            "old-format",
            f"notebook {name!r}: format version: expected 4, got {tree.get('nbformat')!r}. Save it again.",
        )
    seen: set[str] = set()
    # Built from scratch instead of cleaned, so that no unknown field of the source reaches students.
    bare = {
        "nbformat": _FORMAT[0],
        "nbformat_minor": _FORMAT[1],
        "metadata": {
            "kernelspec": _read_kernel(tree.get("metadata")),
            "language_info": {"name": "python"},
        },
        "cells": [
            _strip_cell(name, number, cell, seen) for number, cell in enumerate(tree["cells"], start=1)
        ],
    }
    return nbformat.from_dict(bare)


def _label_hidden_tests(node: Any, source: Release, languages: Iterable[str]) -> None:
    """Label cells that are empty because they consisted of hidden tests only."""
    tested = {cell.grade_id for cell in source.cells if cell.grade and cell.is_locked and cell.source.strip()}
    for cell in node.cells:
        is_tested = cell.metadata.get("nbgrader", {}).get("grade_id") in tested
        if is_tested and cell.cell_type == "code" and not cell.source.strip():
            cell.source = "\n".join(
                f"# {format_sentence('release.hidden-tests', language)}" for language in languages
            )


def _apply_language(node: Any, rubric: Rubric, language: str, notebook: str, window: Window | None) -> None:
    """Reduce every text that is not an answer to the language of the release; answers are only checked."""
    languages = rubric.assignment.languages
    for number, cell in enumerate(node.cells, start=1):
        place = f"notebook {notebook!r}, cell {number}"
        if cell.cell_type != "markdown":
            continue
        if cell.metadata.get("nbgrader", {}).get("solution"):
            select_language(cell.source, languages, "", place)
        else:
            source = fill_title_page(cell.source, rubric, window, place)
            cell.source = select_language(source, languages, language, place)


def _read_kernel(metadata: Any) -> dict[str, str]:
    """Return the notebook's kernelspec, completed by that of Python 3."""
    stored = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    if isinstance(stored, dict):
        kernel |= {key: stored[key] for key in kernel if isinstance(stored.get(key), str)}
    return kernel


def _strip_cell(name: str, number: int, cell: Any, seen: set[str]) -> dict[str, Any]:
    """Return a cell without outputs and foreign metadata."""
    source = join_source(cell.get("source", "")) if isinstance(cell, dict) else None
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
        "id": _choose_cell_id(number, cell, seen),
        "metadata": {"nbgrader": dict(nbgrader)} if nbgrader else {},
        "source": source.replace("\r\n", "\n"),
    }
    if bare["cell_type"] == "code":
        bare |= {"outputs": [], "execution_count": None}
    elif not nbgrader.get("solution"):
        bare |= {"attachments": cell["attachments"]} if cell.get("attachments") else {}
    return bare


def _drop_hidden_attachments(node: Any) -> None:
    """Remove pictures that no text shows: students would get them unseen, such as those of a mark scheme."""
    for cell in node.cells:
        if "attachments" in cell:
            for name in [name for name in cell.attachments if not is_attachment_shown(cell.source, name)]:
                del cell.attachments[name]
            if not cell.attachments:
                del cell["attachments"]


def _choose_cell_id(number: int, cell: Mapping[str, Any], seen: set[str]) -> str:
    """Return the cell's own id, or one derived from its number, so that two builds give the same bytes."""
    cell_id = cell.get("id")
    if not isinstance(cell_id, str) or not _CELL_ID.fullmatch(cell_id) or cell_id in seen:
        cell_id = hashlib.sha256(f"cell {number}".encode()).hexdigest()[:12]
    seen.add(cell_id)
    return cell_id


def check_agreement(release: Release, rubric: Rubric) -> None:
    """Refuse a notebook (source or release) that disagrees with its rubric.

    Raises:
        RubricError: an answer cell or a graded cell is missing, points differ, or a cell with points is not
            in the rubric; names the cell, the expected and the actual value.
    """
    place = f"notebook {release.name!r}"
    names = [notebook.name for notebook in rubric.assignment.notebooks]
    if release.name not in names:
        raise RubricError(f"the rubric's notebooks are: {', '.join(names)}", place)
    expected: dict[str, Decimal] = {}
    for question in rubric.questions:
        if question.notebook == release.name:
            if not question.file:
                _check_answer_cell(release, question)
            expected |= question.list_cells()
    graded_cells = {cell.grade_id: cell for cell in release.cells if cell.points is not None}
    for grade_id, points in expected.items():
        cell = graded_cells.get(grade_id)
        if cell is None:
            raise RubricError(
                f"the rubric gives {points} points to {grade_id!r}, but no cell is graded under "
                f"that name; {suggest_name(grade_id, graded_cells)}",
                place,
            )
        if cell.points != points:
            raise RubricError(
                f"points: the rubric says {points}, the notebook {cell.points}",
                f"{place}, cell {cell.number} ({grade_id})",
            )
    # Both directions: points without a question would never be awarded.
    for grade_id, cell in graded_cells.items():
        if grade_id not in expected:
            raise RubricError(
                f"{grade_id!r} carries {cell.points} points but is not in the rubric, so that nothing would "
                "be asked for them: add a question or an item with this cell, or take the points off the "
                f"cell; {suggest_name(grade_id, expected)}",
                f"{place}, cell {cell.number}",
            )


def _check_answer_cell(release: Release, question: Question) -> None:
    """Refuse a question without answer cell in the release.

    Raises:
        RubricError: there is none.
    """
    try:
        release.find_answer_cell(question)
    except CourseError as error:
        raise RubricError(str(error)) from error


def fill_title_page(text: str, rubric: Rubric, window: Window | None, place: str) -> str:
    """Replace the placeholders of a cell by the table of tasks and the times, so that they cannot be wrong.

    A comment on a separate line is the placeholder and names the language of the surrounding passage: ``<!--
    exam times en -->`` or ``<!-- exam tasks de -->``.

    The last column of the table stays empty: graders fill it in on paper, and the feedback page shows it
    filled.

    Args:
        text: source of the cell.
        rubric: rubric that the lines are derived from.
        window: time of the exam; if it is None, only the time allowed is stated.
        place: location of the cell, for error messages.

    Raises:
        NotebookError: ``title-page``; a comment asks for something unknown, or the rubric does not define it.
    """

    def render_lines(match: re.Match[str]) -> str:
        """Return the text that replaces one placeholder."""
        wanted, _, language = match[1].partition(" ")
        rendered = {
            "times": _format_times(rubric, window, language),
            "tasks": _format_tasks(rubric, language),
        }
        if wanted not in rendered or language not in rubric.assignment.languages:
            languages = ", ".join(rubric.assignment.languages)
            raise NotebookError(
                "title-page",
                f"{place}: {match[0].strip()}: expected times or tasks, and one of {languages}",
            )
        # An empty table would silently drop a line that students rely on.
        if not rendered[wanted]:
            table = "[assignment.exam], and no end is stated" if wanted == "times" else "[[assignment.task]]"
            raise NotebookError("title-page", f"{place}: {match[0].strip()}: the rubric has no {table}")
        return rendered[wanted]

    return _PLACE.sub(render_lines, text)


def _format_times(rubric: Rubric, window: Window | None, language: str) -> str:
    """Return the list of exam times in a language; empty if the rubric states no exam and no window."""
    exam = rubric.assignment.exam
    lines = []
    if exam:
        allowed = format_sentence(
            "title.allowed",
            language,
            minutes=exam.minutes,
            points=format_number(rubric.assignment.points, language),
        )
        if exam.reading_minutes:
            allowed += format_sentence("title.reading", language, minutes=exam.reading_minutes)
        lines.append(allowed)
    if window:
        start = format_sentence("title.moment", language, moment=window.start) if window.start else ""
        key = ("window" if start else "deadline") + ("-own" if window.own else "")
        end = format_sentence("title.moment", language, moment=window.end)
        lines.append(format_sentence(f"title.{key}", language, start=start, end=end, zone=window.zone))
        if late := " ".join(window.terms.describe_terms(language)):
            lines.append(format_sentence("title.late", language, rule=late))
    if exam:
        # English replaces a missing translation.
        if aids := exam.aids.get(language) or exam.aids.get("en"):
            lines.append(format_sentence("title.aids", language, aids=aids))
        lines.append(format_sentence("title.submissions", language))
    return "\n".join(f"- {line}" for line in lines)


def _format_tasks(rubric: Rubric, language: str) -> str:
    """Return the table of tasks in a language; empty if the rubric has no tasks."""
    tasks = rubric.assignment.tasks
    if not tasks:
        return ""
    # The last column stays empty for the points that graders fill in on paper.
    rows = [
        f"| {task.id} | {get_text(task.text, language)} | {format_number(task.points, language)} | |"
        for task in tasks
    ]
    rows.append(
        format_sentence("title.sum", language, points=format_number(rubric.assignment.points, language))
    )
    if rubric.assignment.grading:
        rows.append(format_sentence("title.grade", language))
    return "\n".join((format_sentence("title.head", language), "|---|---|---:|---:|", *rows))
