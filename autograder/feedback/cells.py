"""The executed cells as the page shows them: every source and output sanitised, long ones cut."""

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
"""Of one cell."""
MOST_TYPESET = 200_000
"""Characters of a notebook that are coloured or typeset; more is shown as it was written."""
_LINES_SEEN, _LINE_SEEN = 20, 36
"""Lines, and characters of a line, that a page of the narrowest telephone shows without scrolling."""

_LINE = '<span class="line gone"></span>'
"""What stands around each line of code on a page."""
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
        """It may not fit into its place, so the keyboard must reach it."""
        return _lines_seen(self.text.split("\n")) > _LINES_SEEN


class CodeView(Struct, frozen=True):
    """Code as it is shown."""

    blocks: tuple[CodeBlock, ...] = ()
    compared: bool = False
    """What is new and what is gone of what was handed out is told."""

    @property
    def size(self) -> int:
        """About how many bytes of the page it takes."""
        return sum(len(line.code.encode()) + len(_LINE) for block in self.blocks for line in block.lines)


def code_view(lines: Sequence[Line]) -> CodeView:
    """Lines of code as they are shown."""
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
    """The exception's type, when the cell raised one."""
    ending: str
    """The sentence about how the cell ended the run; empty when it did not."""
    outputs: tuple[OutputView, ...]
    notices: tuple[str, ...]
    given: bool = False
    """It stands there as it was handed out, and is no answer."""
    blank: bool = False
    """Nothing stands there, or what was handed out for the answer."""
    code: CodeView = CodeView()
    text: Markup | None = None
    """Typeset; None for code."""
    is_remarked: bool = False
    """One of its notices says how the cell was read, such as a half of a split one."""

    @property
    def has_problem(self) -> bool:
        """Shown unfolded: there is something to see."""
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
        """Return the cells of an answer and further texts beside it, or the cell with this grade_id."""
        further = tuple(self.cells[position] for position in self.further.get(grade_id, ()))
        if grade_id in self.answer_cells:
            return tuple(self.cells[position] for position in self.answer_cells[grade_id]) + further
        return tuple(cell for cell in self.cells if cell.name == grade_id) + further


def notebook_view(
    notebook: ExecutedNotebook, position: int, labels: Labels, limits: Limits, release: Release | None = None
) -> NotebookView:
    """A notebook for the page.

    Args:
        notebook: the cells and their runs.
        position: which notebook of the submission, for the anchors.
        labels: the page's words.
        limits: what the cells were allowed.
        release: the student's own, to tell what is new in an answer.
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
        locked = isinstance(cell, Cell) and cell.locked
        same = locked or (isinstance(cell, Cell), cell.source) in given
        if left > 0:
            typeset += 0 if same else min(len(cell.source), sanitise.MOST_CHARACTERS)
            starter = None if same else starters.get(cell.grade_id or own_ids.get(number - 1, ""), "")
            bare, plain = view, typeset > MOST_TYPESET
            view = _with_source(bare, cell, starter, labels, plain=plain)
            if isinstance(cell, Markdown) and cell.pictures and _weight(view) >= left:
                view = _with_source(bare, replace(cell, pictures=()), starter, labels, plain=plain)
            left -= _weight(view)
        if left <= 0:
            notices = (*view.notices, labels("page-full", limit=most))
            view = replace(view, code=CodeView(), text=None, outputs=(), notices=notices)
        cells.append(view)
    name = sanitise.printable_text(notebook.name, 200)
    return NotebookView(name, tuple(cells), notebook.answer_cells, notebook.further)


def _weight(view: CellView) -> int:
    """About how many bytes of the page a cell takes, its letters written out for HTML."""
    texts = [view.text or Markup(), *(output.text for output in view.outputs)]
    pictures = sum(len(output.image) for output in view.outputs)
    frames = sum(len(escape(output.frame.document)) for output in view.outputs if output.frame)
    return view.code.size + pictures + frames + sum(len(escape(text).encode()) for text in texts)


def _lines_seen(lines: Sequence[str]) -> int:
    """How many lines a telephone makes of these."""
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
    """A cell without its source."""
    code = isinstance(cell, Cell)
    outputs = run.outputs if run else ()
    met = [encounter.met for encounter in run.met] if run else []
    notices = [labels.met(one, limits) for one in met]
    if cell.cut:
        notices.append(labels("source-cut" if code else "text-cut"))
    elif len(cell.source) > sanitise.MOST_CHARACTERS:
        notices.append(labels("source-long", limit=labels.number(Decimal(sanitise.MOST_CHARACTERS))))
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
    """Code of the course, which is the same on every student's page."""
    return code_view(code_lines(source))


def _with_source(
    view: CellView, cell: Cell | Markdown, starter: str | None, labels: Labels, *, plain: bool
) -> CellView:
    """A cell with its source.

    Args:
        view: the cell.
        cell: the same.
        starter: what was handed out in its place; None: just this.
        labels: the page's words.
        plain: neither coloured nor typeset.
    """
    source, given = sanitise.printable_text(cell.source), starter is None
    blank = not source.strip() or source.strip() == (starter or "").strip()
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
    data = output.data
    if output.kind in {"stream", "error"}:
        return OutputView(
            error=output.kind == "error", text=sanitise.printable_text(data.get("text/plain", ""))
        )
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
