"""The notebook as it was given to students, with which submissions are compared."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder.core.errors import CourseError, NotebookError
from autograder.core.tables import suggest_name
from autograder.notebook.document import RawCell, format_value, parse_notebook, prune_json
from autograder.rubric import Question

SCHEMA_VERSION = 3
"""nbgrader's current version of its cell metadata."""
FLAGS = ("grade", "solution", "locked", "task")
"""A cell with none of these set is an ordinary cell, whatever else its metadata holds."""


class ReleaseCell(Struct, frozen=True):
    """One cell of the release with its nbgrader metadata."""

    number: int
    """Counted from 1."""
    cell_type: str
    source: str
    grade_id: str = ""
    """Empty for cells without nbgrader metadata, which students may change as they like."""
    grade: bool = False
    solution: bool = False
    locked: bool = False
    task: bool = False
    points: Decimal | None = None
    cell_id: str = ""
    """Jupyter's id of the cell."""

    @property
    def is_answer(self) -> bool:
        """Whether students write here."""
        return bool(self.grade_id) and self.solution

    @property
    def is_locked(self) -> bool:
        """Whether the source is always the release's. As nbgrader defines it, tasks included."""
        return bool(self.grade_id) and not self.solution and (self.grade or self.locked or self.task)


class Release(Struct, frozen=True, dict=True):
    """A released notebook."""

    name: str
    """Name without suffix."""
    cells: tuple[ReleaseCell, ...]
    language: str
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""
    foreign: bool = False
    """The ids were added for grading: the notebook that students received and submit has none."""

    @functools.cached_property
    def by_id(self) -> Mapping[str, ReleaseCell]:
        """The cells that carry answers and grades, by grade_id, in order."""
        return {cell.grade_id: cell for cell in self.cells if cell.is_answer or cell.is_locked}

    @property
    def has_answers(self) -> bool:
        """Whether students write into it; otherwise it need not be submitted."""
        return any(cell.is_answer for cell in self.cells)

    def find_answer_cell(self, question: Question) -> str:
        """Return the grade_id of a question's answer cell: the stated one, else `<id>-answer` or `<id>`.

        Raises:
            CourseError: it is no answer cell of this release.
        """
        answers = solutions = {cell.grade_id for cell in self.cells if cell.is_answer}
        default = f"{question.id}-answer"
        is_stated = question.answer_cell != default
        if is_stated:  # a task, or a cell that carries points for an answer at another place
            answers = solutions | {cell.grade_id for cell in self.cells if cell.points is not None}
        names = (question.answer_cell,) if is_stated else (default, question.id)
        for grade_id in names:
            if grade_id in answers:
                return grade_id
        raise CourseError(
            f"notebook {self.name!r}: question {question.id!r} has no answer cell; expected a solution cell "
            f"{' or '.join(map(repr, names))}; {suggest_name(names[0], solutions)}"
        )


def collect_names(
    release: Release, questions: Iterable[Question], called: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str]]:
    """Return the names that each answer cell must define: grade_id → names of its questions and their items.

    Args:
        release: a notebook.
        questions: questions of this notebook.
        called: question → names that its checks call, for questions that state no name.
    """
    answers = {cell.grade_id for cell in release.cells if cell.is_answer}
    collected: dict[str, frozenset[str]] = {}
    for question in questions:
        grade_id = next(
            (candidate for candidate in (question.answer_cell, question.id) if candidate in answers), ""
        )
        answers_stated = [question.answer, *(item.options.get("answer", "") for item in question.items)]
        if not any(answers_stated):
            answers_stated += called.get(question.id, ())
        names = {name for name in answers_stated if isinstance(name, str) and name.isidentifier()}
        if grade_id and names and not question.file:
            collected[grade_id] = collected.get(grade_id, frozenset()) | names
    return collected


def load_release(data: bytes, name: str, *, source: bool = False) -> Release:
    """Read a released notebook, or the source of one.

    Args:
        data: bytes of the ``.ipynb`` file.
        name: the notebook's name without suffix.
        source: whether it is the source, with solutions; errors say so.

    Raises:
        CourseError: it is not a notebook, its nbgrader metadata is not usable, or a grade_id occurs twice;
            names the cells.
    """
    place = f"{'source' if source else 'release'} {name!r}"
    try:
        document = parse_notebook(data)
    except NotebookError as error:
        raise CourseError(f"{place}: {error}") from error
    cells = tuple(_read_cell(raw, place) for raw in document.cells)
    numbers: dict[str, list[int]] = defaultdict(list)
    for cell in cells:
        if cell.grade_id:
            numbers[cell.grade_id].append(cell.number)
    for grade_id, (first, *repeats) in numbers.items():
        if repeats:
            advice = (
                "Splitting or copying a cell copies its grade_id: give the others one of their own, or none."
                if source
                else "Generate the release again."
            )
            raise CourseError(
                f"{place}: grade_id {grade_id!r} stands in cells {first} and "
                f"{', '.join(map(str, repeats))}; each may stand once. {advice}"
            )
    digest = hashlib.sha256(data).hexdigest()
    return Release(name, cells, document.language or "python", digest, document.made_ids)


def _read_cell(raw: RawCell, whole: str) -> ReleaseCell:
    """Check the metadata of one cell and return the cell.

    Raises:
        CourseError: the metadata is not usable.
    """
    if raw.nbgrader is None:
        return ReleaseCell(raw.number, raw.cell_type, raw.source)
    place = f"{whole}, cell {raw.number}"
    metadata: Mapping[str, Any] = raw.nbgrader
    version = metadata.get("schema_version", 0)
    if isinstance(version, int) and version < SCHEMA_VERSION:
        try:
            metadata = _upgrade_metadata(metadata, raw.cell_type)
        except ValueError as error:
            raise CourseError(f"{place}: nbgrader cannot upgrade the metadata ({error})") from error
        # Old metadata without meaning marks an ordinary cell.
        if not metadata:
            return ReleaseCell(raw.number, raw.cell_type, raw.source)
    elif version != SCHEMA_VERSION:
        raise CourseError(f"{place}: schema_version: expected {SCHEMA_VERSION}, got {format_value(version)}")
    flags = {key: metadata.get(key, False) for key in FLAGS}
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise CourseError(f"{place}: {key}: expected true or false, got {format_value(value)}")
    grade_id = metadata.get("grade_id")
    if any(flags.values()) and (not isinstance(grade_id, str) or not grade_id):
        raise CourseError(f"{place}: grade_id: expected a name, got {format_value(grade_id)}")
    return ReleaseCell(
        raw.number,
        raw.cell_type,
        raw.source,
        grade_id if isinstance(grade_id, str) and any(flags.values()) else "",
        points=_read_points(metadata.get("points"), place) if flags["grade"] or flags["task"] else None,
        cell_id=raw.id,
        **flags,
    )


def _upgrade_metadata(metadata: Mapping[str, Any], cell_type: str) -> Mapping[str, Any]:
    """Return one cell's nbgrader metadata at the current schema version; empty if it has no meaning.

    Raises:
        ValueError: nbgrader cannot upgrade it.
    """
    import nbformat  # both packages take seconds to import, and only old courses need them
    from nbgrader.nbgraderformat import MetadataValidator

    bare = {"cell_type": cell_type, "source": "", "metadata": {"nbgrader": prune_json(dict(metadata))}}
    try:
        cell = nbformat.from_dict(bare)
        upgraded = MetadataValidator().upgrade_cell_metadata(cell)
        return dict(upgraded.metadata.get("nbgrader", {}))
    except Exception as error:  # nbgrader compares and converts whatever is there
        raise ValueError(type(error).__name__) from error


def _read_points(value: Any, place: str) -> Decimal:
    """Return the points of a cell.

    Raises:
        CourseError: the value is no finite number from 0 on.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Through text, because Decimal(0.1) would not be 0.1.
        points = Decimal(str(value))
        if points.is_finite() and points >= 0:
            return points
    raise CourseError(f"{place}: points: expected a number from 0, got {format_value(value)}")
