"""Answers that earned nothing but may not have been read at all: they get manual review instead of a zero.

An import failed because a package is missing, a cell stopped at an error above the answer, later code deleted
it, its cell has another type, or it is in a text or a picture next to the cell. Whether such an answer is
correct cannot be decided automatically.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.images import build_image_uri
from autograder.core.records import (
    Answer,
    Cell,
    CellOutput,
    CellRun,
    ItemResult,
    Markdown,
    Message,
    Note,
    Status,
    Submission,
)
from autograder.core.syntax import collect_bound_names
from autograder.core.tables import escape_name
from autograder.notebook.document import join_source
from autograder.notebook.duplicate_cells import find_defined_names
from autograder.questions.base.base import Check
from autograder.questions.base.judging.results import is_blank, replace_by_review
from autograder.questions.base.values.literal import parse_code
from autograder.questions.base.values.quoting import quote_text
from autograder.rubric import Question

NOT_SHOWN = "picture-not-shown"


class _SavedOutput(Struct):
    data: dict[str, msgspec.Raw] = {}


class _SavedCell(Struct):
    source: Any = ""
    outputs: list[_SavedOutput] = []


class _SavedNotebook(Struct):
    cells: list[_SavedCell] = []


def find_pictures(
    submission: Submission, runs: Sequence[CellRun | None], grade_id: str, saved: frozenset[str]
) -> tuple[int, ...]:
    """Return the positions of the student's own cells with pictures between an answer and its neighbours.

    Args:
        submission: the notebook.
        runs: results of its cells.
        grade_id: of the answer.
        saved: see `read_saved_pictures`.
    """
    answers = [
        position for position, cell in enumerate(submission.cells) if cell.grade_id in submission.answers
    ]
    answer_position = next(
        (position for position in answers if submission.cells[position].grade_id == grade_id), None
    )
    if answer_position is None:
        return ()
    # Pictures beyond the neighbouring answers belong to those.
    start = max((position for position in answers if position < answer_position), default=-1)
    stop = min(
        (position for position in answers if position > answer_position), default=len(submission.cells)
    )
    only_texts = isinstance(submission.cells[answer_position], Cell)
    return tuple(
        position
        for position in range(start + 1, stop)
        if _has_picture(submission.cells[position], runs[position], saved, only_texts=only_texts)
    )


def note_unshown_pictures(submission: Submission) -> Iterator[Note]:
    """Yield a note for each text with pictures that no page can show: SVG, HEIC, or too large."""
    for number, cell in enumerate(submission.cells, start=1):
        pictures = cell.pictures if isinstance(cell, Markdown) else ()
        names = [picture.name for picture in pictures if build_image_uri(picture.mime, picture.data) is None]
        if names:
            listed = escape_name(", ".join(names))
            text = f"A picture of this text cannot be shown ({listed}): look into the notebook handed in."
            yield Note(NOT_SHOWN, text, cell.grade_id or f"cell {number}")


def read_saved_pictures(data: bytes | NotebookError | None) -> frozenset[str]:
    """Return the sources of code cells with a picture among their saved outputs.

    Such a cell may not run here, so its picture would otherwise be missed.
    """
    if not isinstance(data, bytes):
        return frozenset()
    try:
        cells = msgspec.json.decode(data, type=_SavedNotebook).cells
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    shown = (cell for cell in cells if any(_is_picture(output.data) for output in cell.outputs))
    return frozenset((join_source(cell.source) or "").strip() for cell in shown) - {""}


def _is_picture(data: Mapping[str, object]) -> bool:
    return any(mime.startswith("image/") for mime in data)


def _has_picture(
    cell: Cell | Markdown, run: CellRun | None, saved: frozenset[str], *, only_texts: bool
) -> bool:
    """Return whether a cell is the student's own and shows a picture.

    Args:
        cell: of the notebook.
        run: its result.
        saved: see `read_saved_pictures`.
        only_texts: the answer is code, and a plot next to a blank code cell is no answer; a photo of a
            formula is.
    """
    if cell.grade_id:
        return False
    if isinstance(cell, Markdown):
        return bool(cell.pictures)
    if cell.locked or only_texts:
        return False
    is_drawn = any(_is_picture(output.data) for output in (run.outputs if run else ()))
    # A plot drawn with a package that is missing here exists only among the saved outputs.
    return is_drawn or cell.source.strip() in saved


IMPORT_FAILED = "import-failed"
"""The code of the note about a cell with a failed import."""
CELL_STOPPED = "cell-stopped"
"""The code of the note about a question with an answer that is undefined because a cell stopped."""
ANSWER_NOT_RUN = "answer-not-run"
"""The code of the note about an answer cell that is no Python, or does not define the required name."""
_VALUE_KINDS = frozenset({"formula", "number", "shape", "choice", "table"})
"""Kinds of short answers: there, an undefined name is a formula without quotes, not an error of the code."""
_NAME_MISSING = "name.missing"
_UNREAD = frozenset({_NAME_MISSING, "answer.not-python", "answer.unreadable"})
"""Codes of results for code that was not read."""
_EXPLAINED = frozenset({"answer-unnamed", "answer-rebound"})
"""Codes of notes that already explain why a name is not defined."""
# The repetitions are bounded: these texts come from student code and must not make matching slow.
_MISSING = re.compile(
    r"^(?:ModuleNotFoundError|ImportError): .*?'([\w.]{1,80})'(?: from '([\w.]{1,80})')?", re.M
)
_NO_MAGIC = re.compile(r"^UsageError: Line magic function `%([^`\s]{1,40})` not found", re.M)
_EXTENSION = re.compile(r"^[ \t]*%(?:load|reload)_ext[ \t]+([\w.]+)", re.M)
_RAISED = re.compile(r"\b(NameError|ModuleNotFoundError|ImportError): [^\n]*?'([\w.]{1,80})'")
_LINE = re.compile(r"^Cell In\[\d+\], line (\d+)", re.M)
_NAME_ERROR = re.compile(r"\bNameError: [^\n]*?'(\w{1,80})'")
_MOST_TEXT = 20_000
"""Characters of an error's text that are searched: its first lines name the position, its last line the
error."""


class FailedImport(Struct, frozen=True):
    """One import of a cell that failed; the other statements of the cell were run."""

    number: int
    """Number of the cell, from 1."""
    package: str
    """Or the missing magic, with its percent sign."""
    names: frozenset[str] = frozenset()
    """Names that the import would have bound."""
    defines: frozenset[str] = frozenset()
    """Names that the cell defines."""
    file: str = ""
    """The module's file, if it was submitted but the assignment does not include it."""

    def to_note(self) -> Note:
        """Return the note for staff."""
        if self.package.startswith("%"):
            text = f"there is no magic {self.package!r}; the other statements of the cell were run"
        else:
            text = f"cannot import {self.package!r}; the other statements of the cell were run"
        if self.file:
            text = f"{text}; {self.file} was submitted, but the assignment does not include it"
        return Note(IMPORT_FAILED, text, f"cell {self.number}")


class StoppedCell(Struct, frozen=True):
    """A cell that raised an error at its top level."""

    position: int
    """Position among all cells, from 0."""
    line: int
    """The line of the error; 0 if it is not known."""
    error: str
    """The exception's type name."""
    names: frozenset[str]
    """Names that the statements after the error would have defined."""
    unquoted: frozenset[str] = frozenset()
    """Names that the line with the error would have defined, had its formula been in quotes."""


class NotebookGaps(Struct, frozen=True):
    """Definitions that a notebook lacks because of errors in its cells."""

    imports: tuple[FailedImport, ...] = ()
    stopped: tuple[StoppedCell, ...] = ()
    beside: tuple[str, ...] = ()
    """Submitted files that the assignment does not include."""
    named: tuple[str, ...] = ()
    """Those of them that the error of a cell names."""


class AnswerFacts(Struct, frozen=True):
    """Facts about one answer in addition to those that its check sees."""

    question: Question
    check: Check
    answer: Answer
    submission: Submission
    runs: Sequence[CellRun | None]
    """The results of the notebook's cells."""
    parts: tuple[int, ...]
    """Positions of the answer's own cells."""
    gaps: NotebookGaps
    asked_names: Collection[str]
    """Names that the answer has to define, or that the box was asked for to judge it."""
    saved: frozenset[str]
    """See `read_saved_pictures`."""

    @property
    def own_runs(self) -> list[CellRun | None]:
        """The results of the answer's own cells; a module runs in whichever cell imports it."""
        return [*self.runs] if self.question.file else [self.runs[position] for position in self.parts]

    @property
    def notes(self) -> frozenset[str]:
        """The codes of the notes about the answer."""
        notes = self.submission.notes
        return frozenset(note.code for note in notes if note.place == self.answer.grade_id)


class Reason(Struct, frozen=True):
    """Why an item needs manual review; `to_note` is the code of a note with the reason, about `place`."""

    message: Message
    staff: str
    note: str = ""
    place: str = ""


def review_zeros(
    results: Iterable[ItemResult], facts: AnswerFacts
) -> tuple[tuple[ItemResult, ...], tuple[Note, ...]]:
    """Return the results of a question, with manual review of answers that were not read.

    Args:
        results: of the question.
        facts: about the answer.

    Returns:
        The results, and notes for staff.
    """
    reviewed, notes = [], dict[tuple[str, str], Note]()
    is_lost = any(run is not None and run.ending is not None for run in facts.own_runs)
    for result in results:
        # Only results that cost points are reconsidered.
        is_zero = result.status in {Status.FAILED, Status.NO_ANSWER}
        reason = next(filter(None, (find(result, facts) for find in _RULES if is_zero)), None)
        if reason is not None:
            if reason.note:
                note = Note(reason.note, reason.staff, reason.place or facts.question.id)
                notes.setdefault((note.code, note.place), note)
            reviewed.append(replace_by_review(result, reason.message, reason.staff))
        elif is_lost and result.code == _NAME_MISSING:  # the cell ended the box and was skipped
            lost = Message("name.lost", result.student.params)
            reviewed.append(replace(result, student=lost, code=lost.code))
        else:
            reviewed.append(result)
    return tuple(reviewed), (*notes.values(), *_note_not_run(reviewed, facts))


# ---------------------------------------------------------------- what happened in the notebook


def find_gaps(
    cells: Sequence[Cell | Markdown],
    runs: Sequence[CellRun | None],
    answers: Mapping[str, Answer],
    excluded_files: Sequence[str] = (),
) -> NotebookGaps:
    """Return the definitions that the cells of a notebook lack because of errors.

    Args:
        cells: of the notebook.
        runs: their results.
        answers: by grade_id; errors in cells that the student did not change are ignored.
        excluded_files: names of submitted files that the assignment does not include.
    """
    ran = [
        (position, cell, run) for position, (cell, run) in enumerate(zip(cells, runs, strict=False)) if run
    ]
    outputs = [output for _, _, run in ran if run.error for output in run.outputs]
    text = "\n".join(_get_text(output)[-_MOST_TEXT:] for output in outputs)
    return NotebookGaps(
        tuple(
            failed_import
            for position, cell, run in ran
            for failed_import in _find_failed_imports(position + 1, cell.source, run, excluded_files)
        ),
        tuple(_find_stopped_cells(ran, answers)),
        tuple(excluded_files),
        tuple(name for name in excluded_files if name.rpartition("/")[2] in text),
    )


def _find_failed_imports(
    number: int, source: str, run: CellRun, excluded_files: Sequence[str]
) -> Iterator[FailedImport]:
    for output in run.outputs:
        text = _get_text(output)[-_MOST_TEXT:]
        packages = {module or named for named, module in _MISSING.findall(text)}
        for package in sorted(packages) if output.kind == "error" else ():
            bound = frozenset(_list_bound_names(source, package))
            if bound or package in _EXTENSION.findall(source):  # else the import is inside another module
                defines = frozenset({*find_defined_names(source), *bound})
                yield FailedImport(number, package, bound, defines, _find_module(package, excluded_files))
        if output.kind == "stream" and run.error:
            for name in dict.fromkeys(_NO_MAGIC.findall(text)):
                yield FailedImport(number, f"%{name}")


def _find_stopped_cells(
    ran: Iterable[tuple[int, Cell | Markdown, CellRun]], answers: Mapping[str, Answer]
) -> Sequence[StoppedCell]:
    """Return the student's cells that stopped before they defined something.

    A cell that uses a name which an earlier one would have defined stops for the same reason.
    """
    stopped: list[StoppedCell] = []
    for position, cell, run in ran:
        if not isinstance(cell, Cell) or cell.locked or not run.error:
            continue
        answer = answers.get(cell.grade_id)
        # IPython counts a cell's lines from the first one that is not empty.
        tree = None if answer and not answer.changed else parse_code(cell.source.lstrip("\r\n"))
        if tree is None:
            continue
        errors = [_get_text(output) for output in run.outputs if output.kind == "error"]
        error = errors[-1][:_MOST_TEXT] if errors else ""
        line = int(line_match[1]) if (line_match := _LINE.search(error)) and len(line_match[1]) < 10 else 0
        unrun = _list_unrun_statements(tree, line, run.error)
        missing = _NAME_ERROR.search(error) if run.error == "NameError" else None
        raising = [
            statement
            for statement in tree.body
            if missing and statement.lineno <= line <= (statement.end_lineno or statement.lineno)
        ]
        if missing and any(missing[1] in earlier.names for earlier in stopped):
            unrun += raising
        imports = [statement for statement in unrun if isinstance(statement, ast.Import | ast.ImportFrom)]
        imported = {
            (name.asname or name.name).partition(".")[0] for statement in imports for name in statement.names
        }
        undefined = frozenset(collect_bound_names(*unrun) | imported)
        assigned = (statement for statement in raising if isinstance(statement, ast.Assign))
        unquoted = frozenset(collect_bound_names(*assigned))
        if undefined or unquoted:
            stopped.append(StoppedCell(position, line, run.error, undefined, unquoted))
    return stopped


def _list_unrun_statements(tree: ast.Module, line: int, error: str) -> list[ast.stmt]:
    """Return the top-level statements after an error, and a block in which it was raised."""
    unrun = []
    for statement in tree.body:
        last = statement.end_lineno or statement.lineno
        # These ran to their end before the error.
        if last < line:
            continue
        is_block = isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try)
        if statement.lineno > line or is_block:
            unrun.append(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom) and error.endswith(
            ("ImportError", "ModuleNotFoundError")
        ):
            return []  # the shell continues after a failed import
    return unrun


def _list_bound_names(source: str, package: str) -> Iterator[str]:
    """Yield the names that a cell's imports of a package bind."""
    tree = parse_code(source)
    root = package.partition(".")[0]
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name.partition(".")[0] == root:
                    yield alias.asname or root
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == root:
            yield from (alias.asname or alias.name for alias in statement.names)


def _find_module(package: str, excluded_files: Sequence[str]) -> str:
    """Return the submitted file or folder that is a module; empty if there is none."""
    root = package.partition(".")[0]
    files = [name for name in excluded_files if name.rpartition("/")[2] == f"{root}.py"]
    folders = [name for name in excluded_files if root in name.split("/")[:-1]]
    return next(iter((*files, *folders)), "")


def _get_text(output: CellOutput) -> str:
    return output.data.get("text/plain", "")


# ---------------------------------------------------------------- reasons for manual review


def _find_import(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return the package or file that an item lacked.

    A part of the item may be correct without it. All of it needs review, so that it is marked only once.
    """
    package = _find_needed_package(result, facts)
    file = _find_module(package, facts.gaps.beside) if package else _find_needed_file(result, facts.gaps)
    if file:
        staff = f"{file} was submitted, but the assignment does not include it"
        return Reason(Message("review.module", {"file": file}), staff)
    return (
        Reason(Message("review.import", {"package": package}), f"cannot import {package!r} here")
        if package
        else None
    )


def _find_needed_package(result: ItemResult, facts: AnswerFacts) -> str:
    raised, imports = _RAISED.search(result.staff), facts.gaps.imports
    needed = ""
    if result.code == _NAME_MISSING:
        name = _get_missing_name(result)
        needed = next(
            (failed_import.package for failed_import in imports if {name, "*"} & failed_import.defines), ""
        )
    elif raised is not None and raised[1] == "NameError":
        needed = next(
            (failed_import.package for failed_import in imports if {raised[2], "*"} & failed_import.names), ""
        )
    elif raised is not None:
        needed = raised[2]
    if not needed and facts.answer.cell_type == "code" and is_blank(facts.answer):
        # The definition may be in a module that was imported with `*`.
        needed = next(
            (
                failed_import.package
                for failed_import in imports
                if failed_import.file and "*" in failed_import.names
            ),
            "",
        )
    return needed


def _find_needed_file(result: ItemResult, gaps: NotebookGaps) -> str:
    if result.code == _NAME_MISSING and gaps.named:
        return gaps.named[0]
    raised = (name for name in gaps.beside if f"Error: {name}" in result.staff or f"'{name}'" in result.staff)
    return next(raised, "")


def _find_stop(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return the cell that stopped before it defined a name that the item needs."""
    needed = {match[1]} if (match := _NAME_ERROR.search(result.staff)) else set()
    if result.code == _NAME_MISSING:
        needed.add(_get_missing_name(result))
    for cell in facts.gaps.stopped if not result.points else ():
        undefined = cell.names | cell.unquoted if facts.question.kind in _VALUE_KINDS else cell.names
        wanted = {*needed, *(facts.asked_names if cell.position in facts.parts else ())} & undefined
        if wanted:
            name, error = min(wanted), quote_text(cell.error, 60)
            description = f"cell {cell.position + 1} stopped at line {cell.line or '?'}"
            message = Message("review.stopped", {"name": name, "error": error})
            return Reason(message, f"{description} with {error}, before it defined {name!r}", CELL_STOPPED)
    return None


def _find_deletion(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return a reason if code deleted the name, or only defines it under a condition."""
    name = _get_missing_name(result)
    answer_runs = [facts.runs[position] for position in facts.parts]
    if result.code != _NAME_MISSING or facts.answer.cell_type != "code" or facts.notes & _EXPLAINED:
        return None
    if any(run is None or run.error or run.ending for run in answer_runs):
        return None
    tree = parse_code(facts.answer.source)
    if tree is None or name not in collect_bound_names(*tree.body):
        return None
    staff = f"the answer's cell ran; {quote_text(name, 60)!r} stands under a condition or was deleted later"
    return Reason(Message("review.deleted", {"name": name}), staff, CELL_STOPPED)


def _find_other_type(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return a reason if the cell's type differs from the release.

    The notebook does not show a student that text is not run, or that running it gives an error.
    """
    if "cell-type-changed" not in facts.notes or is_blank(facts.answer) or result.points or result.reading:
        return None
    if facts.answer.cell_type == "code" and result.code not in _UNREAD:
        return None
    return Reason(Message("review.cell-type"), "the cell's type differs from the release's")


def _find_text(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return the text of the same question that may contain its blank answer.

    Many exams ask for a formula or a choice in a code cell and for the reason in a text cell below. Some
    students write both into the text.
    """
    answer, question = facts.answer, facts.question
    if result.status is not Status.NO_ANSWER or not is_blank(answer) or answer.cell_type != "code":
        return None
    cells = {item.cell for item in question.items}
    stem = f"{answer.grade_id.removesuffix('-answer')}-"  # "task3-a-why" may be a separate question
    for name, text in facts.submission.answers.items():
        is_beside = (name in cells or name.startswith(stem)) and text.cell_type != "code" and text.changed
        if is_beside and facts.check.is_in_text(text.source):
            positions = [
                position for position, cell in enumerate(facts.submission.cells) if cell.grade_id == name
            ]
            numbers = ", ".join(
                str(position + 1) for position in facts.submission.answer_cells.get(name, positions)
            )
            staff = f"The answer is blank; the text in cell {numbers} ({name}) may contain it."
            return Reason(Message("review.text-beside"), staff, "answer-unclear")
    return None


def _find_picture(result: ItemResult, facts: AnswerFacts) -> Reason | None:
    """Return the student's own pictures next to a blank answer."""
    if result.status is not Status.NO_ANSWER:
        return None
    item = next(item for item in facts.question.items if item.id == result.item)
    name = (item.manual and item.cell) or facts.question.answer_cell
    cells = find_pictures(facts.submission, facts.runs, name, facts.saved)
    if not cells:
        return None
    numbers = ", ".join(str(position + 1) for position in cells)
    staff = f"The answer is blank, but there is a picture beside it: cell {numbers}."
    return Reason(Message("review.picture", {"cells": numbers}), staff, "picture-beside", name)


_RULES: tuple[Callable[[ItemResult, AnswerFacts], Reason | None], ...] = (
    _find_import,
    _find_stop,
    _find_deletion,
    _find_other_type,
    _find_text,
    _find_picture,
)
"""The first rule that finds a reason for an item counts."""


def _get_missing_name(result: ItemResult) -> str:
    return str(result.student.params.get("name", ""))


def _note_not_run(results: Iterable[ItemResult], facts: AnswerFacts) -> tuple[Note, ...]:
    """Return notes for staff about an answer that earned nothing because its code did not run."""
    tree = parse_code(facts.answer.source)
    is_empty = is_blank(facts.answer) or (tree is not None and not tree.body)  # comments alone
    if is_empty or facts.notes & _EXPLAINED:
        return ()
    text = ""
    for result in results:
        if text or result.status not in {Status.FAILED, Status.NO_ANSWER}:
            continue
        if result.code in {"answer.not-python", "answer.unreadable"}:
            params = result.student.params
            reason = f": line {params['line']}: {params['reason']}" if "line" in params else ""
            text = f"the answer's cell is not valid Python, so nothing of it was run{reason}"
        elif result.code == _NAME_MISSING:
            name = quote_text(_get_missing_name(result), 60)
            text = f"{name!r} is not defined after the notebook ran, though something was answered"
    return (Note(ANSWER_NOT_RUN, text, facts.answer.grade_id),) if text else ()
