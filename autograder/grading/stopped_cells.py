"""Answers that are not defined after the notebook ran, although their cells would define them.

A cell stopped at an error above the definition, or later code deleted what was defined. The statement that
raised may have nothing to do with the answer below it: it reads a file of the student's own machine, asks for
input, or is left over from the release. Such an answer gets manual review instead of a zero.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.checks.judging.results import AUTOMATIC, is_blank, review_instead
from autograder.checks.values.literal import code_tree
from autograder.checks.values.quoting import quote
from autograder.records import Answer, Cell, CellRun, ItemResult, Markdown, Message, Note, Status
from autograder.syntax import bound_names

CELL_STOPPED = "cell-stopped"
"""The code of the note about a question whose answer was not defined because a cell stopped."""
ANSWER_NOT_RUN = "answer-not-run"
"""The code of the note about an answer whose cell is no Python, or does not define what is asked for."""
_EXPLAINED = frozenset({"answer-unnamed", "answer-rebound"})
_LINE = re.compile(r"^Cell In\[\d+\], line (\d+)", re.M)
_NAME_ERROR = re.compile(r"\bNameError: [^\n]*?'(\w{1,80})'")
_MOST_TEXT = 20_000
"""Characters of an error's text that are searched; its first lines say where it was raised."""


class StoppedCell(Struct, frozen=True):
    """One cell that raised an error at its top level."""

    position: int
    """Among all cells, counted from 0."""
    line: int
    """Where it stopped; 0 if that is not known."""
    error: str
    """The exception's type name."""
    names: frozenset[str]
    """What the statements that did not run would have defined."""


def find_stopped_cells(
    cells: Sequence[Cell | Markdown], runs: Sequence[CellRun | None], answers: Mapping[str, Answer]
) -> tuple[StoppedCell, ...]:
    """Return the student's cells that stopped before they defined something.

    A cell that uses what an earlier one would have defined stops for the same reason.

    Args:
        cells: of the notebook.
        runs: what came of them.
        answers: by grade_id; a cell that was left as it was handed out stops for nobody.
    """
    stopped: list[StoppedCell] = []
    for position, (cell, run) in enumerate(zip(cells, runs, strict=False)):
        if not isinstance(cell, Cell) or cell.locked or run is None or not run.error:
            continue
        answer = answers.get(cell.grade_id)
        # IPython counts a cell's lines from the first one that is not empty.
        tree = None if answer and not answer.changed else code_tree(cell.source.lstrip("\r\n"))
        if tree is None:
            continue
        line = _raised_at(run)
        left = _statements_not_run(tree, line, run.error)
        if any(_find_missing_name(run) in earlier.names for earlier in stopped):
            left += [one for one in tree.body if one.lineno <= line <= (one.end_lineno or one.lineno)]
        imports = [one for one in left if isinstance(one, ast.Import | ast.ImportFrom)]
        imported = {(name.asname or name.name).partition(".")[0] for one in imports for name in one.names}
        names = frozenset(bound_names(*left) | imported)
        if names:
            stopped.append(StoppedCell(position, line, run.error, names))
    return tuple(stopped)


def review_stopped(
    results: Iterable[ItemResult],
    stopped: Sequence[StoppedCell],
    asked: Collection[str],
    parts: Collection[int],
) -> tuple[ItemResult, ...]:
    """Return the results of one question, with manual review instead of a zero that a stopped cell explains.

    Args:
        results: of the question.
        stopped: the cells of the notebook that stopped.
        asked: the names that the answer is to define, or that the box was asked for to judge it.
        parts: positions of the answer's own cells.
    """
    return tuple(_review(result, stopped, asked, parts) for result in results)


def note_stopped(results: Iterable[ItemResult], question: str) -> tuple[Note, ...]:
    """Return what staff are told about a question; nothing if no cell that stopped matters to it."""
    codes = {"review.stopped", "review.deleted"}
    told = next((result.staff for result in results if result.code in codes), "")
    return (Note(CELL_STOPPED, told.partition(AUTOMATIC)[0], question),) if told else ()


def review_deleted(
    results: Iterable[ItemResult], answer: Answer, runs: Iterable[CellRun | None], notes: Iterable[Note]
) -> tuple[ItemResult, ...]:
    """Return the results of one question, with manual review if something deleted its answer unseen.

    Args:
        results: of the question.
        answer: that they are about.
        runs: what came of its cells.
        notes: about the submission, one of which may name the cell that deleted it.
    """
    tree = code_tree(answer.source) if answer.cell_type == "code" else None
    is_explained = any(one.place == answer.grade_id and one.code in _EXPLAINED for one in notes)
    if tree is None or is_explained or any(run is None or run.error or run.ending for run in runs):
        return tuple(results)
    defined = bound_names(*tree.body)
    return tuple(
        _deleted(result, str(result.student.params["name"]))
        if result.code == "name.missing" and str(result.student.params.get("name")) in defined
        else result
        for result in results
    )


def note_unread(results: Iterable[ItemResult], answer: Answer, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return what staff are told about an answer that earned nothing because its code did not run.

    Args:
        results: of the question.
        answer: that they are about.
        notes: about the submission, one of which may say more.
    """
    tree = code_tree(answer.source)
    is_empty = is_blank(answer) or (tree is not None and not tree.body)  # comments alone
    if is_empty or any(one.place == answer.grade_id and one.code in _EXPLAINED for one in notes):
        return ()
    for result in results:
        if result.status not in {Status.FAILED, Status.NO_ANSWER}:
            continue
        if result.code in {"answer.not-python", "answer.unreadable"}:
            params = result.student.params
            reason = f": line {params['line']}: {params['reason']}" if "line" in params else ""
            text = f"the answer's cell is not valid Python, so nothing of it was run{reason}"
            return (Note(ANSWER_NOT_RUN, text, answer.grade_id),)
        if result.code == "name.missing":
            name = quote(str(result.student.params.get("name", "")), 60)
            text = f"{name!r} is not defined after the notebook ran, though something was answered"
            return (Note(ANSWER_NOT_RUN, text, answer.grade_id),)
    return ()


def _raised_at(run: CellRun) -> int:
    """Return the line of the cell at which it raised its last error; 0 if that is not known."""
    found = _LINE.search(_find_last_error(run))
    return int(found[1]) if found and len(found[1]) < 10 else 0


def _find_missing_name(run: CellRun) -> str:
    """Return the name whose absence stopped a cell; empty if another error did."""
    found = _NAME_ERROR.search(_find_last_error(run)) if run.error == "NameError" else None
    return found[1] if found else ""


def _find_last_error(run: CellRun) -> str:
    texts = [output.data.get("text/plain", "") for output in run.outputs if output.kind == "error"]
    return texts[-1][:_MOST_TEXT] if texts else ""


def _statements_not_run(tree: ast.Module, line: int, error: str) -> list[ast.stmt]:
    """Return the top-level statements after an error; of a block that raised also that block."""
    left = []
    for statement in tree.body:
        last = statement.end_lineno or statement.lineno
        if last < line:
            continue
        is_block = isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try)
        if statement.lineno > line or is_block:
            left.append(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom) and error.endswith(
            ("ImportError", "ModuleNotFoundError")
        ):
            return []  # the shell goes on after it
    return left


def _review(
    result: ItemResult, stopped: Sequence[StoppedCell], asked: Collection[str], parts: Collection[int]
) -> ItemResult:
    if result.status not in {Status.FAILED, Status.NO_ANSWER} or result.points != 0:
        return result
    needed = {found[1]} if (found := _NAME_ERROR.search(result.staff)) else set()
    if result.code == "name.missing":
        needed.add(str(result.student.params.get("name", "")))
    for cell in stopped:
        wanted = {*needed, *(asked if cell.position in parts else ())} & cell.names
        if wanted:
            return _explained(result, cell, min(wanted))
    return result


def _deleted(result: ItemResult, name: str) -> ItemResult:
    staff = f"the answer's cell ran; {quote(name, 60)!r} stands under a condition or was deleted later"
    return review_instead(result, Message("review.deleted", {"name": name}), staff)


def _explained(result: ItemResult, cell: StoppedCell, name: str) -> ItemResult:
    error = quote(cell.error, 60)
    place = f"cell {cell.position + 1} stopped at line {cell.line or '?'}"
    where = f"{place} with {error}, before it defined {name!r}"
    return review_instead(result, Message("review.stopped", {"name": name, "error": error}), where)
