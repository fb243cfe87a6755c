"""Notebooks in nbgrader's ``autograded`` folder, which formgrader and ``generate_feedback`` show.

Both render them through nbconvert, which passes HTML and Markdown through to the grader's browser. So outputs
are limited to plain text and verified images, and a student's Markdown is shown as text if it contains HTML,
links to anything except web pages, or risky TeX.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from autograder.core import atomic
from autograder.core.errors import GradebookError
from autograder.core.images import build_image_uri
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    ExecutedNotebook,
    GradingResult,
    LimitKind,
    Markdown,
)
from autograder.pages.feedback.sanitise import to_printable_text

MOST_SOURCE = 200_000

# An answer is shown as text if it contains raw HTML or an image, a link with a scheme other than http(s), a
# TeX command that MathJax lets reach outside of the formula, or an HTML entity, which could spell any of
# these.
_RISKY = re.compile(
    r"<[A-Za-z/!?]|!\["
    r"|\]\s*[(:\[](?!\s*https?://)"
    r"|\\(?:href|url|require|style|class|cssId|html|unicode|csname|def|gdef|let|newcommand|renewcommand|"
    r"newenvironment|DeclareMathOperator|catcode|char|bbox|data|texttip|tooltip|toggle|action|mmlToken)"
    r"|&(?:#|[A-Za-z]+;)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"`{3,}|~{3,}")


def build_autograded_files(
    course: Path, graded: GradingResult, releases: Mapping[str, bytes]
) -> dict[Path, bytes]:
    """Return the files ``autograded/<student>/<assignment>/<notebook>.ipynb``, one per released notebook.

    A notebook that could not be read is returned as it was released.

    Raises:
        GradebookError: a name cannot be the name of a folder, or a text cannot be encoded.
    """
    score = graded.score
    # The names become path components: none may lead outside of autograded/.
    for name in (score.student, score.assignment, *releases):
        if not name or name in {".", ".."} or set(name) & {"/", "\\", "\0"}:
            raise GradebookError(f"{name!r} cannot be the name of a folder below autograded/")
    folder = course / "autograded" / score.student / score.assignment
    executed = {notebook.name: notebook for notebook in graded.notebooks}
    try:
        return {
            folder / f"{name}.ipynb": build_autograded_notebook(executed.get(name), release)
            for name, release in releases.items()
        }
    except UnicodeEncodeError as error:
        raise GradebookError(f"{folder}: the autograded notebook could not be written: {error}") from error


def write_autograded(files: Mapping[Path, bytes]) -> None:
    """Write the files of `build_autograded_files`, each in one step; unchanged files are left alone.

    Raises:
        GradebookError: a file cannot be written.
    """
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_changed(path, content)
        except (OSError, UnicodeEncodeError) as error:
            text = f"{path.parent}: the autograded notebook could not be written: {error}"
            raise GradebookError(text) from error


def build_autograded_notebook(executed: ExecutedNotebook | None, release: bytes) -> bytes:
    """Return the executed cells with the release's nbgrader metadata, as .ipynb.

    Args:
        executed: the cells and their results; None returns the released notebook unchanged.
        release: the released notebook, nbformat 4.
    """
    if executed is None:
        return release
    released = msgspec.json.decode(release)
    by_id = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in released["cells"]
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
    }
    notebook = {
        "cells": list(_build_cells(executed, by_id)),
        "metadata": {
            key: value
            for key, value in released["metadata"].items()
            if key in {"kernelspec", "language_info"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return msgspec.json.format(msgspec.json.encode(notebook), indent=1) + b"\n"


def sanitise_markdown(source: str) -> str:
    """Return Markdown that renders without raw HTML, script links or TeX that reaches outside of maths."""
    shown = to_printable_text(source, MOST_SOURCE)
    if not _RISKY.search(shown):
        return shown
    # A fence longer than any fence in the text cannot be closed by the text.
    longest = max((len(fence) for fence in _FENCE.findall(shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _build_cells(executed: ExecutedNotebook, by_id: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the cells, showing an answer that spans several cells where formgrader has its box for marks.

    A written answer is shown whole there, and its other cells are left out. If the cell with the box is
    missing, it is added below the cells that may contain the answer.
    """
    present = {cell.grade_id for cell in executed.cells}
    whole = {
        name
        for name, positions in executed.answer_cells.items()
        if all(isinstance(executed.cells[position], Markdown) for position in positions)
    }
    # A cell that more than one answer uses stays in place, or one of them would lose it.
    used = Counter(position for positions in executed.answer_cells.values() for position in positions)
    shown_there = {
        position
        for name in whole & present
        for position in executed.answer_cells[name]
        if used[position] == 1 and not executed.cells[position].grade_id
    }
    missing = {
        positions[-1]: name
        for name, positions in executed.answer_cells.items()
        if positions and name not in present and name in by_id
    }
    for position, (cell, run) in enumerate(zip(executed.cells, executed.runs, strict=True)):
        if cell.grade_id in whole:
            text, pictures = executed.get_text(cell.grade_id), executed.get_pictures(cell.grade_id)
            joined = Markdown(text, cell.grade_id, pictures=pictures)
            yield _build_cell(position + 1, joined, run, by_id.get(cell.grade_id))
        elif position not in shown_there:
            yield _build_cell(position + 1, cell, run, by_id.get(cell.grade_id))
        if position in missing:
            name, text = missing[position], executed.get_text(missing[position])
            code = by_id[name]["cell_type"] == "code"
            box = Cell(text, name) if code else Markdown(text, name, pictures=executed.get_pictures(name))
            yield _build_cell(len(executed.cells) + position + 1, box, None, by_id[name])


def _build_cell(
    number: int, cell: Cell | Markdown, run: CellRun | None, released: Mapping[str, Any] | None
) -> dict[str, Any]:
    marks = (released or {}).get("metadata", {}).get("nbgrader")
    metadata = {"nbgrader": marks} if marks else {}
    # nbformat 4.5 requires an id for each cell.
    identifier = str((released or {}).get("id") or f"cell-{number}")
    if isinstance(cell, Cell):
        outputs = [] if run is None else _build_outputs(number, run)
        return {
            "cell_type": "code",
            "execution_count": None if run is None else number,
            "id": identifier,
            "metadata": metadata,
            "outputs": outputs,
            "source": to_printable_text(cell.source, MOST_SOURCE),
        }
    ours = marks is not None and not marks.get("solution")
    text: dict[str, Any] = {"cell_type": "markdown", "id": identifier, "metadata": metadata}
    if ours:
        return {**text, "source": cell.source}
    attachments: dict[str, dict[str, str]] = {}
    for picture in cell.pictures:
        if uri := build_image_uri(picture.mime, picture.data):
            attachments[f"picture-{len(attachments) + 1}"] = {picture.mime: uri.partition(",")[2]}
    # Pictures get names of our own below the text, because references that a student wrote are shown as text.
    shown = [sanitise_markdown(cell.source), *(f"![{name}](attachment:{name})" for name in attachments)]
    return {**text, "source": "\n\n".join(shown), **({"attachments": attachments} if attachments else {})}


def _build_outputs(number: int, run: CellRun) -> list[dict[str, Any]]:
    outputs = [_build_output(number, output, run.error) for output in run.outputs]
    notices = []
    if run.truncated:
        notices.append("[some output was over the limit and is not kept]")
    notices += [
        f"[this cell met a limit: {limit_hit.met.value}]"
        for limit_hit in run.met
        if limit_hit.met is not LimitKind.OUTPUT
    ]
    if run.ending is not None:
        notices.append(f"[this cell ended the run: {run.ending.value}; the rest was run without it]")
    return outputs + [_build_stream(notice + "\n") for notice in notices]


def _build_output(number: int, output: CellOutput, error: str) -> dict[str, Any]:
    text = to_printable_text(output.data.get("text/plain", ""))
    if output.kind == "stream":
        return _build_stream(text)
    if output.kind == "error":
        last = text.rstrip().rpartition("\n")[2]
        name = to_printable_text(error or "Error", 200)
        return {"output_type": "error", "ename": name, "evalue": last, "traceback": text.split("\n")}
    data: dict[str, str] = {}
    for mime in ("image/png", "image/jpeg"):
        uri = build_image_uri(mime, output.data.get(mime, ""))
        if uri is not None:
            data[mime] = uri.partition(",")[2]
    if text or not data:
        data["text/plain"] = (
            text or f"[output of type {to_printable_text(', '.join(sorted(output.data)), 200)}]"
        )
    shown: dict[str, Any] = {"output_type": "display_data", "data": data, "metadata": {}}
    return (
        shown
        if output.kind != "result"
        else {**shown, "output_type": "execute_result", "execution_count": number}
    )


def _build_stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def _write_changed(path: Path, content: bytes) -> None:
    """Write a file in one step, unless it already has this content."""
    with contextlib.suppress(OSError):  # missing, or not a regular file
        if atomic.read_bytes(path) == content:
            return
    atomic.write_bytes(path, content)
