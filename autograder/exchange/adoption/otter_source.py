"""otter's source notebooks, converted into the answer key and the students' version.

The rules are those of ``otter assign`` 7: blocks between raw cells, solutions marked by comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import CourseError
from autograder.exchange.adoption.otter_settings import read_yaml, replace_plugins, set_student_seed
from autograder.exchange.adoption.otter_tests import OtterCase, parse_cell
from autograder.notebook.document import join_source

CONFIG = re.compile(r"#\s+assignment\s+config\b", re.IGNORECASE)
RESPONSE = "_Type your answer here, replacing this text._"
_BOUNDARY = re.compile(r"#\s+(begin|end)\s+(question|prompt|solution|tests)\b", re.IGNORECASE)
_IGNORED = re.compile(r"(##\s*ignore\s*##|#\s*ignore\b)", re.IGNORECASE)
_FENCE = re.compile(r"^```otter[ \t]*\n(.*?)\n```[ \t]*$\n?", re.MULTILINE | re.DOTALL)
_ASSIGNED = re.compile(r"(\s*(?:[\w.]+(?=[^\w.])(?:\[['\"]?.*['\"]?\])*(?:,\s*)?)+\s*=).* ?# ?SOLUTION")
_LINE = re.compile(r"(\s*).* ?# ?SOLUTION")
_BLOCK = re.compile(r"(\s*)# BEGIN SOLUTION( NO PROMPT)?")
_SKIPPED = ("# SOLUTION NO PROMPT", "# BEGIN PROMPT", "# END PROMPT", "# SEED")

Role = Literal["", "answer", "check", "points"]
"""``points``: an added cell that only carries the points of a question; otter's notebook does not have it."""


class SourceCell(Struct, frozen=True):
    """One cell of both notebooks."""

    cell_type: str
    key: str | None
    """Its text with the solution; None: it is not in the answer key."""
    given: str | None
    """Its text as students get it; None: they do not get it."""
    role: Role = ""
    question: str = ""
    id: str = ""
    """The cell's id, if it has one."""


class SourceQuestion(Struct, frozen=True):
    """One question of a source."""

    name: str
    settings: dict[str, Any]
    cases: tuple[OtterCase, ...]


class OtterSource(Struct, frozen=True):
    """A parsed source notebook."""

    settings: dict[str, Any]
    cells: tuple[SourceCell, ...]
    questions: tuple[SourceQuestion, ...]


def is_source(tree: dict[str, Any]) -> bool:
    """Decide whether a notebook is an otter source."""
    return any(kind == "raw" and CONFIG.match(text) for kind, text, _ in _split_cells(tree))


def read_source(tree: dict[str, Any], label: str) -> OtterSource:
    """Parse a source notebook.

    Args:
        tree: its JSON.
        label: its name, for errors.

    Raises:
        CourseError: a block is not closed or not allowed in its position, or a setting is not YAML.
    """
    reader = _SourceReader(label)
    for number, (kind, text, raw) in enumerate(_split_cells(tree), start=1):
        reader.take_cell(kind, text, raw, f"{label}, cell {number}")
    return reader.finish_source()


def strip_solution(source: str) -> str:
    """Return the students' version of a cell with a solution."""
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        bare = line.rstrip()
        if bare.endswith(_SKIPPED):
            continue
        if bare.endswith("# END SOLUTION"):
            inside = False
            continue
        if inside:
            continue
        shown = line
        if begin_match := _BLOCK.match(line):
            inside = True
            if begin_match.group(2):
                continue
            shown = f"{begin_match.group(1)}..."
        # Assignments first: the general pattern would also remove the name on the left.
        for pattern, end in ((_ASSIGNED, " ..."), (_LINE, "...")):
            if match := pattern.match(shown):
                shown = f"{match.group(1)}{end}"
                break
        kept.append(shown)
    return "\n".join(kept)


def strip_ignored_lines(source: str) -> str:
    """Remove the lines that are only for the author of the source."""
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        bare = line.rstrip()
        if bare.endswith("# END IGNORE"):
            inside = False
        elif re.match(r"\s*#\s*BEGIN\s*IGNORE\s*", line, re.IGNORECASE):
            inside = True
        elif not inside and not bare.endswith("# IGNORE"):
            kept.append(line)
    return "\n".join(kept)


def _split_cells(tree: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield type, text and JSON of each cell; fenced settings in a Markdown cell count as separate cells."""
    for raw in tree.get("cells", ()):
        text = join_source(raw.get("source", "")) or ""
        if raw.get("cell_type") != "markdown" or not _FENCE.search(text):
            yield str(raw.get("cell_type")), text, raw
            continue
        # The pattern has one group, so that odd parts are the settings inside the fences.
        for number, part in enumerate(_FENCE.split(text)):
            if part.strip():
                yield ("raw" if number % 2 else "markdown"), part.strip("\n"), {}


class _SourceReader:
    """Reads the cells of a source in order."""

    def __init__(self, label: str) -> None:
        self._place = label
        self._settings: dict[str, Any] = {}
        self._cells: list[SourceCell] = []
        self._questions: list[SourceQuestion] = []
        self._blocks: list[str] = []
        self._question: dict[str, Any] = {}
        self._cases: list[OtterCase] = []
        self._prompted = False
        self._answer_at = 0
        """Where the text of a written answer goes, if no prompt says so."""
        self._written: list[str] = []
        """Solutions in markdown."""
        self._answers: list[int] = []
        """The cells in which students answer the present question."""

    def take_cell(self, kind: str, text: str, raw: dict[str, Any], label: str) -> None:
        """Process one cell."""
        if _IGNORED.match(text):
            return
        if kind == "raw" and CONFIG.match(text):
            self._settings |= read_yaml(text, label)
        elif kind == "raw" and (match := _BOUNDARY.match(text)):
            edge, block = match.group(1).lower(), match.group(2).lower()
            (self._begin_block if edge == "begin" else self._end_block)(block, text, label)
        elif self._blocks[-1:] == ["tests"]:
            self._add_test(text, raw, label)
        else:
            self._add_cell(kind, text, str(raw.get("id") or ""))

    def finish_source(self) -> OtterSource:
        """Return the parsed notebook."""
        if self._blocks:
            raise CourseError(f"{self._place}: # BEGIN {self._blocks[-1].upper()} has no end")
        return OtterSource(self._settings, tuple(self._cells), tuple(self._questions))

    def _begin_block(self, block: str, text: str, label: str) -> None:
        # Blocks nest exactly one level deep: a question, and in it prompts, solutions or tests.
        if (block == "question") == bool(self._blocks) or len(self._blocks) > 1:
            raise CourseError(f"{label}: # BEGIN {block.upper()} may not stand here")
        if block == "question":
            self._question = read_yaml(text, label)
            if not self._question.get("name"):
                raise CourseError(f"{label}: a question needs a name")
            self._cases, self._answers, self._written, self._prompted = [], [], [], False
        elif block == "solution" and not self._prompted:
            self._answer_at = len(self._cells)
        self._prompted = self._prompted or block == "prompt"
        self._blocks.append(block)

    def _end_block(self, block: str, text: str, label: str) -> None:
        del text
        if self._blocks[-1:] != [block]:
            raise CourseError(f"{label}: # END {block.upper()} without its beginning")
        self._blocks.pop()
        if block == "solution" and self._written:
            self._write_answer()
        elif block == "question":
            name = str(self._question["name"])
            if self._cases and self._question.get("check_cell", True):
                check = f'grader.check("{name}")'
                self._cells.append(SourceCell("code", check, check, "check", name))
            elif self._cases and not self._answers:
                self._attach_points(name)
            self._questions.append(SourceQuestion(name, self._question, tuple(self._cases)))

    def _attach_points(self, name: str) -> None:
        """Attach points of a question without check and solution to its last code cell or a new cell."""
        positions = [
            position
            for position, cell in enumerate(self._cells)
            if cell.question == name and cell.cell_type == "code"
        ]
        if positions:
            last_cell = self._cells[positions[-1]]
            self._cells[positions[-1]] = replace(last_cell, role="answer")
        else:
            remark = f"# {name} is tested when the notebook is graded."
            self._cells.append(SourceCell("code", remark, remark, "points", name))

    def _write_answer(self) -> None:
        """Put Markdown solutions into the answer cell of students: the prompt, or a new cell."""
        key, self._written = "\n\n".join(self._written), []
        prompts = [position for position in self._answers if self._cells[position].cell_type == "markdown"]
        name = str(self._question["name"])
        if prompts:
            shown = self._cells[prompts[0]]
            self._cells[prompts[0]] = SourceCell("markdown", key, shown.given, "answer", name, shown.id)
        elif self._question.get("manual"):
            self._cells.insert(self._answer_at, SourceCell("markdown", key, RESPONSE, "answer", name))
            self._prompted = True

    def _add_test(self, text: str, raw: dict[str, Any], label: str) -> None:
        tests = self._settings.get("tests") or {}
        ok_format = bool(tests.get("ok_format", True)) if isinstance(tests, dict) else True
        self._cases.append(parse_cell(text, _join_output(raw), ok_format=ok_format, label=label))

    def _add_cell(self, kind: str, text: str, identifier: str) -> None:
        block = self._blocks[-1] if self._blocks else ""
        name = str(self._question["name"]) if self._blocks else ""
        text = replace_plugins(strip_ignored_lines(text), self._place)
        if block == "solution" and kind == "markdown":
            self._written.append(text)
            return
        bare = strip_solution(text) if kind == "code" and self._should_strip(block) else text
        role: Role = "answer" if block in {"solution", "prompt"} else ""
        if role:
            self._answers.append(len(self._cells))
        bare = set_student_seed(bare, self._settings) if kind == "code" else bare
        self._cells.append(SourceCell(kind, text, bare, role, name, identifier))

    def _should_strip(self, block: str) -> bool:
        return block == "solution" or bool(self._settings.get("strip_solutions_from_all_cells"))


def _join_output(raw: dict[str, Any]) -> str:
    """Return the output below a cell, concatenated as otter does."""
    text = ""
    for output in raw.get("outputs", ()):
        text += _join_text(output.get("text", ""))
        text += _join_text((output.get("data") or {}).get("text/plain", ""))
    return text


def _join_text(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
