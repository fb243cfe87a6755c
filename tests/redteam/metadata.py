"""Attacks on the notebook's metadata: marks must never depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.redteam.exam import Notebook

Change = Callable[[Notebook], object]
Cell = dict[str, Any]


def flags(notebook: Notebook) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Return every cell of the exam with its nbgrader metadata."""
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            yield cell, cell["metadata"]["nbgrader"]


def _each(change: Callable[[Cell, dict[str, Any]], object]) -> Change:
    def changed(notebook: Notebook) -> None:
        for cell, marks in list(flags(notebook)):
            change(cell, marks)

    return changed


def _checks_deleted(notebook: Notebook) -> None:
    notebook["cells"] = [cell for cell in notebook["cells"] if 'check("' not in "".join(cell["source"])]


def _ids_swapped(notebook: Notebook) -> None:
    """Label every answer as the answer to the next question."""
    answers = [marks for _, marks in flags(notebook) if marks.get("solution")]
    ids = [marks["grade_id"] for marks in answers]
    for marks, name in zip(answers, [*ids[1:], ids[0]], strict=True):
        marks["grade_id"] = name


def _all_graded_by_the_first(notebook: Notebook) -> None:
    for _, marks in flags(notebook):
        marks["grade_id"] = "task3-a"


def _new_questions(notebook: Notebook) -> None:
    extra = {"grade": True, "solution": True, "locked": False, "points": 1000, "schema_version": 3}
    for number in range(20):
        notebook["cells"].append(
            {
                "cell_type": "markdown",
                "metadata": {"nbgrader": {**extra, "grade_id": f"bonus-{number}"}},
                "source": "x",
            }
        )


def _locked_cells_edited(cell: Cell, marks: dict[str, Any]) -> None:
    if marks.get("locked") and cell["cell_type"] == "code":
        cell["source"] = "import coursecheck\ncoursecheck.check = lambda *_: 1000\nscore = 1000"


def _strange_id(text: str) -> Change:
    return _each(
        lambda _, marks: marks.update(grade_id=marks["grade_id"] + text) if marks.get("solution") else None
    )


def _homoglyphs(_cell: Cell, marks: dict[str, Any]) -> None:
    marks["grade_id"] = marks["grade_id"].replace("a", "\u0430").replace("e", "\u0435")


def _decomposed(_cell: Cell, marks: dict[str, Any]) -> None:
    marks["grade_id"] = "\ufeff" + marks["grade_id"].replace("k", "\u212a")


METADATA: tuple[tuple[str, Change], ...] = (
    ("tests deleted", _checks_deleted),
    ("a thousand points each", _each(lambda _, marks: marks.update(points=1000))),
    ("infinite and negative points", _each(lambda _, marks: marks.update(points=-1e308, max_score=1e308))),
    ("every answer under the next one's id", _ids_swapped),
    ("one id for all cells", _all_graded_by_the_first),
    ("further questions of one's own", _new_questions),
    ("locked cells edited", _each(_locked_cells_edited)),
    (
        "answers locked, tests open",
        _each(lambda _, marks: marks.update(locked=not marks["locked"], solution=False)),
    ),
    (
        "tests turned into text",
        _each(lambda cell, marks: cell.update(cell_type="markdown") if marks["grade"] else None),
    ),
    ("schema 99", _each(lambda _, marks: marks.update(schema_version=99))),
    ("all metadata stripped", _each(lambda cell, _: cell.update(metadata={}))),
    ("metadata that is a list", _each(lambda cell, _: cell.update(metadata=[1, 2]))),
    ("marks that are a text", _each(lambda cell, _: cell["metadata"].update(nbgrader="full marks"))),
    (
        "tags that tolerate errors and skip cells",
        _each(
            lambda cell, _: cell["metadata"].update(
                tags=["raises-exception", "skip-execution", "remove-cell", "parameters"]
            )
        ),
    ),
    (
        "a kernel that is a command",
        lambda notebook: notebook["metadata"].update(
            kernelspec={"name": "../../bin/sh", "language": "bash", "argv": ["sh", "-c", "id"]}
        ),
    ),
    (
        "attachments with a script",
        _each(
            lambda cell, _: cell.update(attachments={"x.svg": {"image/svg+xml": "<svg onload='alert(1)'/>"}})
        ),
    ),
    (
        "outputs that claim full marks",
        _each(
            lambda cell, _: cell.update(
                outputs=[{"output_type": "stream", "name": "stdout", "text": "38 of 38 points"}]
            )
        ),
    ),
    ("ids with bidi and zero-width characters", _strange_id("\u202e\u200b\u2066")),
    ("ids that look the same", _each(_homoglyphs)),
    ("ids in another normal form", _each(_decomposed)),
    ("ids of a megabyte", _strange_id("x" * 1_000_000)),
    ("ids with line breaks and slashes", _strange_id("\n2026-01-01 INFO graded: 38/38\n/../../gradebook")),
    (
        "ids that are formulas",
        _each(lambda _, marks: marks.update(grade_id='=HYPERLINK("https://example.org","x")')),
    ),
    ("ids that are no text", _each(lambda _, marks: marks.update(grade_id={"$ne": None}))),
)
"""Title and change."""
