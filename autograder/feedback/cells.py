"""Executed cells for the page: every source and output is sanitised, long ones are cut."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.feedback import sanitise
from autograder.feedback.code import CodeBlock, Line, code_blocks, code_lines, is_compared
from autograder.feedback.labels import Labels
from autograder.feedback.prose import attached_uris, given_prose, picture_faults, plain_prose, written_prose
from autograder.limits import budgets
from autograder.notebook.release import Release
from autograder.records import Cell, CellOutput, CellRun, ExecutedNotebook, LimitKind, Limits, Markdown

MOST_OUTPUTS = 60
"""Most outputs of one cell."""
MOST_TYPESET = 200_000
"""Most characters of a notebook that are highlighted or typeset; more is shown as written."""
_LINES_SEEN, _LINE_SEEN = 20, 36
"""Lines, and characters of a line, that the narrowest phone shows without scrolling."""

_LINE = '<span class="line gone"></span>'
"""Markup around each line of code on a page."""
_TEXTS = ("text/plain", "text/latex", "text/markdown", "application/json", "image/svg+xml")


class OutputView(Struct, frozen=True):
    """One output; exactly one of ``text``, ``image`` and ``frame`` is set, or none with a note."""

    error: bool = False
    note: str = ""
    text: str = ""
    image: str = ""
    """A data URI."""
    frame: sanitise.Frame | None = None

    @property
    def scrolls(self) -> bool:
        """Whether it may not fit into its place, so that it must be reachable by keyboard."""
        return _lines_seen(self.text.split("\n")) > _LINES_SEEN


class CodeView(Struct, frozen=True):
    """Code for display."""

    blocks: tuple[CodeBlock, ...] = ()
    compared: bool = False
    """New and removed lines are marked, in comparison with the released code."""

    @property
    def size(self) -> int:
        """Approximate size on the page in bytes."""
        return sum(len(line.code.encode()) + len(_LINE) for block in self.blocks for line in block.lines)


def code_view(lines: Sequence[Line]) -> CodeView:
    """Return lines of code for display."""
    return CodeView(code_blocks(lines), is_compared(lines))


class CellView(Struct, frozen=True):
    """One cell of the page's notebook."""

    anchor: str
    number: int
    kind: str
    """``"code"`` or ``"text"``."""
    name: str
    ran: bool
    error: str
    """Type of the exception, if the cell raised one."""
    ending: str
    """Sentence about how the cell ended the run; empty if it did not."""
    outputs: tuple[OutputView, ...]
    notices: tuple[str, ...]
    given: bool = False
    """It is unchanged released text, and no answer."""
    blank: bool = False
    """It is empty, or has the text released for the answer."""
    code: CodeView = CodeView()
    text: Markup | None = None
    """Typeset; None for code."""
    is_remarked: bool = False
    """One of its notices explains how the cell was read, such as a half of a split one."""

    @property
    def has_problem(self) -> bool:
        """Whether it is shown unfolded, because it needs attention."""
        return bool(self.error or self.ending or self.is_remarked)


class NotebookView(Struct, frozen=True):
    """One executed notebook."""

    name: str
    cells: tuple[CellView, ...]
    answer_cells: Mapping[str, tuple[int, ...]] = {}
    """As in `records.Submission`."""
    further: Mapping[str, tuple[int, ...]] = {}
    """As in `records.Submission`."""

    def find(self, grade_id: str) -> tuple[CellView, ...]:
        """Return the cells of an answer and its further texts, or the cell with this grade_id."""
        further = tuple(self.cells[position] for position in self.further.get(grade_id, ()))
        if grade_id in self.answer_cells:
            return tuple(self.cells[position] for position in self.answer_cells[grade_id]) + further
        return tuple(cell for cell in self.cells if cell.name == grade_id) + further


def notebook_view(
    notebook: ExecutedNotebook, position: int, labels: Labels, limits: Limits, release: Release | None = None
) -> NotebookView:
    """Return a notebook for the page.

    Args:
        notebook: cells and their runs.
        position: position of the notebook in the submission, for the anchors.
        labels: words of the page.
        limits: limits of the cells.
        release: the student's own release, to mark new lines in an answer.
    """
    most = budgets(limits).page_kb
    left, typeset = most << 10, 0
    handed_out = release.cells if release else ()
    starters = {one.grade_id: one.source for one in handed_out if one.is_answer}
    given = {(one.cell_type == "code", one.source) for one in handed_out if not one.is_answer}
    remarked: dict[int, list[str]] = {}
    for remark in notebook.remarks:
        remarked.setdefault(remark.position, []).append(messages.render(remark.message, labels.language))
    own_ids = {place: name for name, places in notebook.answer_cells.items() for place in places}
    cells = []
    for number, (cell, run) in enumerate(zip(notebook.cells, notebook.runs, strict=False), start=1):
        view = _cell_view(cell, run, f"cell-{position}-{number}", number, labels, limits=limits)
        if remarks := remarked.get(number - 1):
            view = replace(view, notices=(*view.notices, *remarks), is_remarked=True)
        # Students also copy given cells; a copy is the course's text and needs no comparison.
        locked = isinstance(cell, Cell) and cell.locked
        same = locked or (isinstance(cell, Cell), cell.source) in given
        if left > 0:
            typeset += 0 if same else min(len(cell.source), sanitise.MOST_CHARACTERS)
            # A part of an answer in another cell is compared with the answer's own release text.
            starter = None if same else starters.get(cell.grade_id or own_ids.get(number - 1, ""), "")
            bare, plain = view, typeset > MOST_TYPESET
            view = _with_source(bare, cell, starter, labels, plain=plain)
            # Drop pictures before the text: the text is more important, and much smaller.
            if isinstance(cell, Markdown) and cell.pictures and _weight(view) >= left:
                view = _with_source(bare, replace(cell, pictures=()), starter, labels, plain=plain)
            left -= _weight(view)
        # Once the page is full, all further cells keep only their notices.
        if left <= 0:
            notices = (*view.notices, labels("page-full", limit=most))
            view = replace(view, code=CodeView(), text=None, outputs=(), notices=notices)
        cells.append(view)
    name = sanitise.printable_text(notebook.name, 200)
    return NotebookView(name, tuple(cells), notebook.answer_cells, notebook.further)


def _weight(view: CellView) -> int:
    """Return the approximate size of a cell on the page in bytes, with characters escaped for HTML."""
    texts = [view.text or Markup(), *(output.text for output in view.outputs)]
    pictures = sum(len(output.image) for output in view.outputs)
    # The document is an attribute of the frame, so its markup is escaped, too.
    frames = sum(len(escape(output.frame.document)) for output in view.outputs if output.frame)
    return view.code.size + pictures + frames + sum(len(escape(text).encode()) for text in texts)


def _lines_seen(lines: Sequence[str]) -> int:
    """Return the number of lines on a phone."""
    # A line that does not fit wraps.
    return sum(1 + len(line) // _LINE_SEEN for line in lines)


def _cell_view(
    cell: Cell | Markdown,
    run: CellRun | None,
    anchor: str,
    number: int,
    labels: Labels,
    *,
    limits: Limits,
) -> CellView:
    """Return a cell without its source."""
    code = isinstance(cell, Cell)
    outputs = run.outputs if run else ()
    met = [encounter.met for encounter in run.met] if run else []
    notices = [labels.met(one, limits) for one in met]
    if cell.cut:
        notices.append(labels("source-cut" if code else "text-cut"))
    elif len(cell.source) > sanitise.MOST_CHARACTERS:
        notices.append(labels("source-long", limit=labels.number(Decimal(sanitise.MOST_CHARACTERS))))
    # The output limit has its own notice.
    if run and run.truncated and LimitKind.OUTPUT not in met:
        notices.append(labels("truncated"))
    if len(outputs) > MOST_OUTPUTS:
        notices.append(labels("more-outputs", number=len(outputs) - MOST_OUTPUTS))
    return CellView(
        anchor=anchor,
        number=number,
        kind="code" if code else "text",
        name=sanitise.printable_text(cell.grade_id, 100),
        ran=run is not None,
        error=sanitise.printable_text(run.error, 100) if run else "",
        ending=labels.ending(run.ending, limits) if run and run.ending else "",
        outputs=tuple(_output_view(output, labels) for output in outputs[:MOST_OUTPUTS]),
        notices=tuple(notices),
    )


@functools.lru_cache(maxsize=1024)
def _given_code(source: str) -> CodeView:
    """Return the course's code, cached because it is the same on every student's page."""
    return code_view(code_lines(source))


def _with_source(
    view: CellView, cell: Cell | Markdown, starter: str | None, labels: Labels, *, plain: bool
) -> CellView:
    """Return a cell with its source.

    Args:
        view: the cell's view.
        cell: the cell.
        starter: released text at its place; None: the cell is this text.
        labels: words of the page.
        plain: neither highlighted nor typeset.
    """
    source, given = sanitise.printable_text(cell.source), starter is None
    blank = not source.strip() or source.strip() == (starter or "").strip()
    # Given code is cached; a student's code is different on every page.
    if isinstance(cell, Cell):
        code = _given_code(source) if given else code_view(code_lines(source, starter, coloured=not plain))
        return replace(view, given=given, blank=blank, code=code)
    pictures = attached_uris(cell.pictures)
    if plain:
        text = plain_prose(source, pictures)
    else:
        text = given_prose(source) if given else written_prose(source, pictures)
    if not given:
        faults = [labels(code, names=names) for code, names in picture_faults(source, cell.pictures)]
        view = replace(view, notices=(*view.notices, *faults))
    return replace(view, given=given, blank=blank, text=text)


def _output_view(output: CellOutput, labels: Labels) -> OutputView:
    """Return one output, in the first form that can be shown safely."""
    data = output.data
    if output.kind in {"stream", "error"}:
        return OutputView(
            error=output.kind == "error", text=sanitise.printable_text(data.get("text/plain", ""))
        )
    # From the richest to the plainest form; a form that fails its checks is skipped.
    for mime in sanitise.PICTURES:
        uri = sanitise.image_uri(mime, data.get(mime, ""))
        if uri is not None:
            return OutputView(image=uri)
    frame = sanitise.table_document(data.get("text/html", ""))
    if frame is not None:
        return OutputView(frame=frame)
    for mime in _TEXTS:
        if data.get(mime):
            note = "" if mime == "text/plain" else labels("as-text", mime=mime)
            return OutputView(text=sanitise.printable_text(data[mime]), note=note)
    return OutputView(note=labels("not-shown", mime=sanitise.printable_text(", ".join(sorted(data)), 100)))
