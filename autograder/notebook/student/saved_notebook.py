"""Examine a saved notebook without running it: answers as they are written, and given cells."""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import Message
from autograder.formulas import Unreadable
from autograder.messages import render_message
from autograder.messages.catalogue import format_sentence
from autograder.messages.parse_errors import describe_unreadable
from autograder.notebook.document import RawCell
from autograder.notebook.duplicate_cells import is_text
from autograder.notebook.pictures import find_absent_pictures
from autograder.notebook.student import given
from autograder.notebook.student.report import (
    MISSING,
    PERSON,
    PROBLEM,
    READY,
    Report,
    ReportLine,
    examine,
    find_worst_state,
    get_title,
    report_unwritten,
)
from autograder.notebook.student.saved_files import Handed, decode_text, find_content, report_file
from autograder.notebook.student.surroundings import find_failing_code, read_names
from autograder.questions.base.values.literal import (
    NoFormula,
    extract_markdown_formula,
    find_answer_literal,
    find_syntax_fault,
    parse_code,
)

_MOST_NAMED = 12
_MOST_OF_A_FILE = 64 << 20
"""Largest file, in bytes, that the notebook writes and that is not submitted."""


class NotebookReport(NamedTuple):
    """Remarks on a notebook."""

    assignment: str
    notebook: str
    reports: tuple[Report, ...]
    cells: tuple[ReportLine, ...]
    """Remarks on given cells."""
    files: tuple[ReportLine, ...] = ()
    """Remarks on files next to the notebook that answer no question."""

    @property
    def is_complete(self) -> bool:
        """Whether every question has a readable answer and every cell is as released."""
        states = {report.state for report in self.reports} | {
            line.state for line in (*self.cells, *self.files)
        }
        return not states & {MISSING, PROBLEM}


def report_on(
    cells: Sequence[RawCell],
    specification: Mapping[str, Any],
    name: str,
    language: str,
    handed: Mapping[str, bytes | NotebookError] = {},
) -> NotebookReport:
    """Examine one notebook.

    Args:
        cells: cells of the notebook.
        specification: specification of the assignment, as in its ``coursecheck.py``.
        name: name of the notebook's file, without suffix.
        language: language of the remarks.
        handed: files next to it, by path.

    Raises:
        NotebookError: ``other-assignment``: hardly any of its cells belongs to the assignment.
    """
    places: dict[str, list[RawCell]] = defaultdict(list)
    for cell in cells:
        if cell.grade_id:
            places[cell.grade_id].append(cell)
    is_stripped = not places  # Colab and VS Code may save a notebook without nbgrader's metadata
    if is_stripped:
        places = _locate_by_names(cells, specification)
    notebook = _identify_notebook(places, specification, name)
    questions = {
        name: entry for name, entry in specification["questions"].items() if entry["notebook"] == notebook
    }
    files = {entry["path"]: entry for entry in specification.get("files", {}).get(notebook, ())}
    reports = tuple(
        _report_on_file(
            name, entry, places.get(entry["cell"], []), language, file=files.get(entry["file"]), handed=handed
        )
        if entry["file"]
        else _report_answer(name, entry, places.get(entry["cell"], []), language)
        for name, entry in questions.items()
    )
    if is_stripped:
        reports = tuple(
            _drop_verdict(entry, language)
            if entry.state == MISSING and not _is_found_by_name(questions[entry.question])
            else entry
            for entry in reports
        )
        given_cells = [ReportLine(PERSON, format_sentence("student.marks-lost", language))]
    else:
        reports = tuple(
            _add_further_cells(entry, reports, places, specification["cells"][notebook], language)
            for entry in reports
        )
        given_cells = list(_report_given_cells(places, specification["cells"][notebook], language))
    remarks = (
        *given_cells,
        *_report_failing_code(cells, language, specification["cells"][notebook]["answers"]),
    )
    beside = _report_other_files(questions, files, handed, language)
    return NotebookReport(specification["assignment"], notebook, reports, remarks, beside)


def _locate_by_names(cells: Sequence[RawCell], specification: Mapping[str, Any]) -> dict[str, list[RawCell]]:
    """Return for each answer cell the cells that bind a name it asks for, as in grading."""
    places: dict[str, list[RawCell]] = defaultdict(list)
    trees = [(cell, parse_code(cell.source)) for cell in cells if cell.cell_type == "code"]
    for entry in specification["questions"].values():
        for cell, tree in trees:
            if tree is not None and any(_find_binding(tree, name) is not None for name in entry["names"]):
                places[entry["cell"]].append(cell)
    return places


def _is_found_by_name(entry: Mapping[str, Any]) -> bool:
    """Decide whether an answer is found by the names that it defines."""
    return bool(entry["names"]) and entry["kind"] != "written"


def _drop_verdict(report: Report, language: str) -> Report:
    """Return a report that leaves open whether there is an answer."""
    line = ReportLine(PERSON, format_sentence("student.not-found-by-name", language))
    return report._replace(state=PERSON, lines=(line,))


def _add_further_cells(
    report: Report,
    reports: Sequence[Report],
    places: Mapping[str, Sequence[RawCell]],
    ids: Mapping[str, Sequence[str]],
    language: str,
) -> Report:
    """Return a report with a line for each further cell of the question that is blank, such as its reason.

    Args:
        report: report on a question.
        reports: reports on all questions; a cell belongs to the longest id that its name begins with.
        places: cells by name.
        ids: names of the notebook's cells.
        language: language of the remarks.
    """
    # Longest first: "task1-b" must not claim the cells of "task1-bonus".
    questions = sorted((candidate.question for candidate in reports), key=len, reverse=True)
    lines = list(report.lines)
    for name in ids["answers"]:
        owner = next((candidate for candidate in questions if name.startswith(f"{candidate}-")), "")
        cell = _join_cells(places.get(name, ()))
        # The main answer cell already has its own lines.
        if owner != report.question or name == f"{owner}-answer" or cell is None:
            continue
        if _is_as_released(cell) or not cell.source.strip():
            lines.append(ReportLine(MISSING, format_sentence("student.cell-blank", language, name=name)))
        elif cell.cell_type == "markdown":
            lines += _report_pictures(cell, language)
    return report._replace(state=find_worst_state(lines), lines=tuple(lines))


def _report_pictures(cell: RawCell, language: str) -> Iterator[ReportLine]:
    """Yield lines about pictures in a text that will not be visible."""
    if names := ", ".join(find_absent_pictures(cell.source, cell.pictures)):
        yield ReportLine(PERSON, format_sentence("student.picture-absent", language, names=names))
    if names := ", ".join(picture.name for picture in cell.pictures if not picture.data):
        yield ReportLine(PROBLEM, format_sentence("student.picture-not-shown", language, names=names))


def report_on_files(
    specification: Mapping[str, Any], notebook: str, language: str, handed: Handed
) -> NotebookReport:
    """Examine the files of a notebook that is missing, or that need not be submitted.

    Args:
        specification: specification of the assignment, as in its ``coursecheck.py``.
        notebook: name of the notebook in the specification.
        language: language of the remarks.
        handed: the files, by path.
    """
    files = {entry["path"]: entry for entry in specification.get("files", {}).get(notebook, ())}
    questions = {
        name: entry
        for name, entry in specification["questions"].items()
        if entry["notebook"] == notebook and entry["file"]
    }
    reports = tuple(
        _report_on_file(name, entry, (), language, file=files.get(entry["file"]), handed=handed)
        for name, entry in questions.items()
    )
    beside = _report_other_files(questions, files, handed, language)
    return NotebookReport(specification["assignment"], notebook, reports, (), beside)


def _report_other_files(
    questions: Mapping[str, Any], files: Mapping[str, Any], handed: Handed, language: str
) -> tuple[ReportLine, ...]:
    """Return remarks on files that answer no question."""
    answers = {entry["file"] for entry in questions.values()}
    return tuple(
        line
        for path, entry in files.items()
        if path not in answers
        for line in report_file(entry, handed, language)
    )


def _report_on_file(
    question: str,
    entry: Mapping[str, Any],
    there: Sequence[RawCell],
    language: str,
    *,
    file: Mapping[str, Any] | None,
    handed: Handed,
) -> Report:
    """Report on an answer that is a file; one that also has a cell may be written by it."""
    path = entry["file"]
    # The answer of a question is never optional, even if the file is.
    file_spec = {**(file or {"path": path, "most": _MOST_OF_A_FILE, "starter": ""}), "optional": False}
    lines = list(report_file(file_spec, handed, language))
    content = find_content(path, handed)
    written = any(not _is_as_released(cell) and not _is_unchanged_code(cell, entry) for cell in there)
    if written and isinstance(content, NotebookError) and content.code == "missing":
        lines = [ReportLine(READY, format_sentence("student.file-by-notebook", language, name=path))]
    if path.endswith(".py") and isinstance(content, bytes) and find_worst_state(lines) == READY:
        lines += _report_missing_names(path, decode_text(content), entry, language)
    return Report(question, get_title(entry, language), find_worst_state(lines), tuple(lines))


def _report_missing_names(
    path: str, source: str, entry: Mapping[str, Any], language: str
) -> Iterator[ReportLine]:
    """Yield lines about the required names that are missing in a module."""
    tree = parse_code(source)
    if tree is None:
        return
    for name in entry["names"]:
        if _find_binding(tree, name) is None:
            text = format_sentence("student.file-not-defined", language, name=name, file=path)
            yield ReportLine(MISSING, text)
        elif line := report_unwritten(name, source, "", language):
            yield line


def _identify_notebook(places: Mapping[str, Any], specification: Mapping[str, Any], name: str) -> str:
    """Return the assignment's notebook that shares most cells with it; its name decides a tie.

    Raises:
        NotebookError: ``other-assignment``.
    """
    shares = {
        notebook: sum(grade_id in places for grade_id in (*ids["given"], *ids["answers"]))
        for notebook, ids in specification["cells"].items()
    }
    best = max(shares, key=lambda candidate: (shares[candidate], candidate == name), default="")
    # Not a single known cell: the file belongs to another assignment, or lost all metadata.
    if not best or not shares[best]:
        raise NotebookError(
            "other-assignment",
            f"{name}.ipynb is no notebook of {specification['assignment']!r}: none of its cells "
            "is there. Is it another assignment's, or a copy without its cells' metadata?",
        )
    return best


def _report_given_cells(
    places: Mapping[str, Sequence[RawCell]], ids: Mapping[str, Sequence[str]], language: str
) -> Iterator[ReportLine]:
    """Yield remarks on given cells, and on copied answer cells."""
    has_remark, unknown = False, list[str]()
    for grade_id in (*ids["given"], *ids["answers"]):
        there = places.get(grade_id, ())
        if len(there) > 1 and grade_id in ids["answers"]:
            has_remark = True
            count = str(len(there))
            yield ReportLine(
                PROBLEM, format_sentence("student.cell-copied", language, name=grade_id, count=count)
            )
        if grade_id in ids["given"] and not there:
            has_remark = True
            yield ReportLine(PROBLEM, format_sentence("student.cell-deleted", language, name=grade_id))
        elif grade_id in ids["given"] and not any(map(_is_as_released, there)):
            has_remark = True
            # Without a checksum it is unknown whether the text is the released one.
            if any("checksum" in (cell.nbgrader or {}) for cell in there):
                yield ReportLine(PROBLEM, format_sentence("student.cell-changed", language, name=grade_id))
            else:
                unknown.append(grade_id)
    if unknown:
        shown = ", ".join(unknown[:_MOST_NAMED]) + (", …" if len(unknown) > _MOST_NAMED else "")
        yield ReportLine(PERSON, format_sentence("student.cells-unknown", language, name=shown))
    if not has_remark:
        yield ReportLine(READY, format_sentence("student.cells-fine", language))


def _report_failing_code(
    cells: Sequence[RawCell], language: str, answers: Collection[str]
) -> Iterator[ReportLine]:
    """Yield warnings about code that fails when the notebook is graded.

    Args:
        cells: cells of the notebook.
        language: language of the warnings.
        answers: names of answer cells, which report syntax errors with their question.
    """
    known_names = read_names([cell.source for cell in cells if cell.cell_type == "code"])
    for cell in cells:
        if cell.cell_type == "code" and not _is_as_released(cell):
            for problem in find_failing_code(cell.source, language, known_names):
                said = format_sentence("student.in-cell", language, cell=str(cell.number), found=problem)
                yield ReportLine(PROBLEM, said)
            fault = None if cell.grade_id in answers else find_syntax_fault(cell.source)
            if fault is not None:
                line = str(fault.params.get("line", "1"))
                said = format_sentence("student.not-python", language, cell=str(cell.number), line=line)
                yield ReportLine(PROBLEM, said)


def _report_answer(
    question: str, entry: Mapping[str, Any], there: Sequence[RawCell], language: str
) -> Report:
    """Report on one question."""
    lines: list[ReportLine]
    # An untouched cell is reported before its content is read: its placeholder may be readable.
    cell = _join_cells(there)
    if cell is None:
        lines = [ReportLine(MISSING, format_sentence("student.no-answer-cell", language, name=entry["cell"]))]
    elif _is_as_released(cell) or not cell.source.strip() or _is_unchanged_code(cell, entry):
        lines = [ReportLine(MISSING, format_sentence("student.untouched", language))]
    elif not _is_found_by_name(entry):
        lines = [ReportLine(READY, format_sentence("student.written", language))]
        lines += _report_pictures(cell, language) if cell.cell_type == "markdown" else ()
    elif cell.cell_type == "markdown" and entry["kind"] == "formula" and is_text(cell.source):
        lines = _report_text_formula(question, entry, cell, language)
    else:
        lines = [
            line for name in entry["names"] for line in _report_name(question, name, entry, cell, language)
        ]
        lines = list(dict.fromkeys(lines))  # a syntax error concerns all names
    return Report(question, get_title(entry, language), find_worst_state(lines), tuple(lines))


def _join_cells(there: Sequence[RawCell]) -> RawCell | None:
    """Return the answer's cell; for a split or copied one all written parts, as in grading."""
    written = [cell for cell in there if cell.source.strip() and not _is_as_released(cell)]
    if len(written) < len(there) and not written:
        return there[0]
    if len(written) < 2:
        return written[0] if written else None
    code = [cell for cell in written if cell.cell_type == "code"]
    return replace((code or written)[0], source="\n\n".join(cell.source for cell in code or written))


def _is_unchanged_code(cell: RawCell, entry: Mapping[str, Any]) -> bool:
    """Decide whether a code cell contains only released code; comments and blanks do not count."""
    code = cell.cell_type == "code" and entry.get("given", "")
    return (
        bool(code)
        and parse_code(cell.source) is not None
        and given.is_as_given(cell.source, entry.get("given", ""))
    )


def _report_text_formula(
    question: str, entry: Mapping[str, Any], cell: RawCell, language: str
) -> list[ReportLine]:
    """Report on a formula between dollar signs."""
    try:
        text = extract_markdown_formula(cell.source)
    except NoFormula:
        return [ReportLine(MISSING, format_sentence("student.untouched", language))]
    except Unreadable as error:
        return [ReportLine(PROBLEM, render_message(describe_unreadable(error, cell.source), language))]
    # A text holds one formula, so it can only answer the first name.
    names = dict(list(entry["names"].items())[:1]) or {question: ""}
    entry_spec = {**entry, "names": names, "visible": []}
    return list(examine(question, entry_spec, dict.fromkeys(names, text), language).lines)


def _report_name(
    question: str, name: str, entry: Mapping[str, Any], cell: RawCell, language: str
) -> Iterator[ReportLine]:
    """Yield the lines about one name that follow from the cell's text alone."""
    literal = find_answer_literal(cell.source, name) or given.read_literal(cell.source, name)
    if literal is not None:
        alone = {**entry, "names": {name: entry["names"][name]}}
        yield from examine(question, alone, {name: literal.value}, language).lines
        return
    tree = parse_code(cell.source)
    call = f'check("{question}")'
    if tree is None:
        fault = find_syntax_fault(cell.source) or Message("answer.unreadable")
        yield ReportLine(PROBLEM, render_message(fault, language))
        return
    bound = _find_binding(tree, name)
    if bound is None:
        yield ReportLine(MISSING, format_sentence("student.not-defined-in-cell", language, name=name))
    elif bound and (line := report_unwritten(name, cell.source, entry.get("given", ""), language)):
        yield line
    elif bound:
        yield ReportLine(READY, format_sentence("student.there", language, name=name, found=bound))
        if entry["visible"] and name == entry["answer"]:
            yield ReportLine(READY, format_sentence("student.calls-in-notebook", language, call=call))
    else:
        yield ReportLine(READY, format_sentence("student.has-to-run", language, name=name, call=call))


def _find_binding(tree: ast.Module, name: str) -> str | None:
    """Return ``"function"`` or ``"class"`` if a cell defines a name so, "" if it binds it otherwise.

    None if the cell does not bind the name.
    """
    binding: str | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return "class" if isinstance(node, ast.ClassDef) else "function"
        if isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"):
            binding = ""
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            binding = ""
    return binding


def _is_as_released(cell: RawCell) -> bool:
    """Decide whether a cell has the text of its metadata, by nbgrader's checksum, computed anew."""
    metadata = cell.nbgrader or {}
    checksum = metadata.get("checksum")
    if not isinstance(checksum, str):
        return False
    grade, solution = bool(metadata.get("grade")), bool(metadata.get("solution"))
    locked = not solution and (grade or bool(metadata.get("locked")))
    # The same fields in the same order as in nbgrader's own checksum.
    parts = [cell.source, cell.cell_type, str(grade), str(solution), str(locked)]
    parts.append(str(metadata.get("grade_id")))
    points = metadata.get("points", 0)
    if grade and isinstance(points, int | float):
        parts.append(str(float(points)))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest() == checksum
