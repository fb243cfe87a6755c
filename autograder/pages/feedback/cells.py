"""Executed cells for the page: every source and output is sanitised, long ones are cut."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.core.images import build_image_uri
from autograder.core.limits import compute_budgets
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    ExecutedNotebook,
    FileState,
    LimitKind,
    Limits,
    Markdown,
    SubmissionFile,
)
from autograder.notebook.release import Release
from autograder.pages.feedback import sanitise
from autograder.pages.feedback.code import CodeBlock, Line, build_code_lines, fold_code_blocks, is_compared
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.prose import (
    list_picture_faults,
    map_picture_uris,
    render_given_prose,
    render_plain_prose,
    render_student_prose,
)
from autograder.pages.feedback.sanitise import to_printable_text

MOST_OUTPUTS = 60
"""Most outputs of one cell."""
MOST_TYPESET = 200_000
"""Most characters of a notebook that are highlighted or typeset; more is shown as written."""
_LINES_SEEN, _LINE_SEEN = 20, 36
"""Lines, and characters of a line, that the narrowest phone shows without scrolling."""

_LINE = '<span class="line gone"></span>'
"""Markup around each line of code on a page."""
_TEXTS = ("text/plain", "text/latex", "text/markdown", "application/json", "image/svg+xml")

_SIGNS = {"+": "added", "-": "removed", "@": "hunk"}


class LineView(Struct, frozen=True):
    """One line of a difference."""

    text: str
    """With its sign."""
    kind: str
    """``"added"``, ``"removed"``, ``"hunk"``, or empty for an unchanged line."""


class FileView(Struct, frozen=True):
    """One file."""

    anchor: str
    path: str
    said: str
    """Sentence about its state."""
    bad: bool
    """It is missing or faulty."""
    size: str
    """Empty if it was not read."""
    lines: tuple[LineView, ...]
    """Changes to the released file; empty if they are not shown."""
    text: str
    cut: bool
    picture: str
    """A data URI; empty for none."""


def build_file_views(files: Iterable[SubmissionFile], labels: Labels) -> tuple[FileView, ...]:
    """Return the files for the page, each once."""
    file_by_path = {file.path: file for file in files}
    return tuple(
        _build_view(file, number, labels) for number, file in enumerate(file_by_path.values(), start=1)
    )


def _build_view(file: SubmissionFile, number: int, labels: Labels) -> FileView:
    """Return one file for the page."""
    limit = f"{file.most / (1 << 20):.10g} MB"
    # Only these two states mean that the content was read.
    read = file.state in {FileState.HANDED_IN, FileState.UNCHANGED}
    return FileView(
        anchor=f"file-{number}",
        path=to_printable_text(file.path, 200),
        said=labels(f"file-{file.state.value}", limit=limit),
        bad=not read,
        size=_format_size(file.size) if read else "",
        lines=tuple(
            LineView(to_printable_text(line), _SIGNS.get(line[:1], ""))
            for line in (file.difference.split("\n") if file.difference else ())
        ),
        text=to_printable_text(file.text),
        cut=file.cut,
        picture=build_image_uri(_get_mime(file.path), file.picture) or "",
    )


def _get_mime(path: str) -> str:
    """Return the MIME type of a picture."""
    return "image/png" if path.lower().endswith(".png") else "image/jpeg"


def _format_size(count: int) -> str:
    """Return a size in readable units."""
    return (
        f"{count} B" if count < 1 << 10 else f"{count >> 10} kB" if count < 1 << 20 else f"{count >> 20} MB"
    )


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
        return _count_lines(self.text.split("\n")) > _LINES_SEEN


class CodeView(Struct, frozen=True):
    """Code for display."""

    blocks: tuple[CodeBlock, ...] = ()
    compared: bool = False
    """New and removed lines are marked, in comparison with the released code."""

    @property
    def size(self) -> int:
        """Approximate size on the page in bytes."""
        return sum(len(line.code.encode()) + len(_LINE) for block in self.blocks for line in block.lines)


def build_code_view(lines: Sequence[Line]) -> CodeView:
    """Return lines of code for display."""
    return CodeView(fold_code_blocks(lines), is_compared(lines))


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

    def find_cells(self, grade_id: str) -> tuple[CellView, ...]:
        """Return the cells of an answer and its further texts, or the cell with this grade_id."""
        further = tuple(self.cells[position] for position in self.further.get(grade_id, ()))
        if grade_id in self.answer_cells:
            return tuple(self.cells[position] for position in self.answer_cells[grade_id]) + further
        return tuple(cell for cell in self.cells if cell.name == grade_id) + further


def build_notebook_view(
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
    most = compute_budgets(limits).page_kb
    left, typeset = most << 10, 0
    handed_out = release.cells if release else ()
    starters = {released.grade_id: released.source for released in handed_out if released.is_answer}
    given_sources = {
        (released.cell_type == "code", released.source) for released in handed_out if not released.is_answer
    }
    remarked: dict[int, list[str]] = {}
    for remark in notebook.remarks:
        remarked.setdefault(remark.position, []).append(
            messages.render_message(remark.message, labels.language)
        )
    own_ids = {place: name for name, places in notebook.answer_cells.items() for place in places}
    cells = []
    for number, (cell, run) in enumerate(zip(notebook.cells, notebook.runs, strict=False), start=1):
        view = _build_cell_view(cell, run, f"cell-{position}-{number}", number, labels, limits=limits)
        if remarks := remarked.get(number - 1):
            view = replace(view, notices=(*view.notices, *remarks), is_remarked=True)
        # Students also copy given cells; a copy is the course's text and needs no comparison.
        locked = isinstance(cell, Cell) and cell.locked
        same = locked or (isinstance(cell, Cell), cell.source) in given_sources
        if left > 0:
            typeset += 0 if same else min(len(cell.source), sanitise.MOST_CHARACTERS)
            # A part of an answer in another cell is compared with the answer's own release text.
            starter = None if same else starters.get(cell.grade_id or own_ids.get(number - 1, ""), "")
            bare, plain = view, typeset > MOST_TYPESET
            view = _add_source(bare, cell, starter, labels, plain=plain)
            # Drop pictures before the text: the text is more important, and much smaller.
            if isinstance(cell, Markdown) and cell.pictures and _estimate_size(view) >= left:
                view = _add_source(bare, replace(cell, pictures=()), starter, labels, plain=plain)
            left -= _estimate_size(view)
        # Once the page is full, all further cells keep only their notices.
        if left <= 0:
            notices = (*view.notices, labels("page-full", limit=most))
            view = replace(view, code=CodeView(), text=None, outputs=(), notices=notices)
        cells.append(view)
    name = sanitise.to_printable_text(notebook.name, 200)
    return NotebookView(name, tuple(cells), notebook.answer_cells, notebook.further)


def _estimate_size(view: CellView) -> int:
    """Return the approximate size of a cell on the page in bytes, with characters escaped for HTML."""
    texts = [view.text or Markup(), *(output.text for output in view.outputs)]
    pictures = sum(len(output.image) for output in view.outputs)
    # The document is an attribute of the frame, so its markup is escaped, too.
    frames = sum(len(escape(output.frame.document)) for output in view.outputs if output.frame)
    return view.code.size + pictures + frames + sum(len(escape(text).encode()) for text in texts)


def _count_lines(lines: Sequence[str]) -> int:
    """Return the number of lines on a phone."""
    # A line that does not fit wraps.
    return sum(1 + len(line) // _LINE_SEEN for line in lines)


def _build_cell_view(
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
    notices = [labels.describe_limit(limit_kind, limits) for limit_kind in met]
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
        name=sanitise.to_printable_text(cell.grade_id, 100),
        ran=run is not None,
        error=sanitise.to_printable_text(run.error, 100) if run else "",
        ending=labels.describe_ending(run.ending, limits) if run and run.ending else "",
        outputs=tuple(_build_output_view(output, labels) for output in outputs[:MOST_OUTPUTS]),
        notices=tuple(notices),
    )


@functools.lru_cache(maxsize=1024)
def _render_given_code(source: str) -> CodeView:
    """Return the course's code, cached because it is the same on every student's page."""
    return build_code_view(build_code_lines(source))


def _add_source(
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
    source, is_given = sanitise.to_printable_text(cell.source), starter is None
    blank = not source.strip() or source.strip() == (starter or "").strip()
    # Given code is cached; a student's code is different on every page.
    if isinstance(cell, Cell):
        code = (
            _render_given_code(source)
            if is_given
            else build_code_view(build_code_lines(source, starter, coloured=not plain))
        )
        return replace(view, given=is_given, blank=blank, code=code)
    pictures = map_picture_uris(cell.pictures)
    if plain:
        text = render_plain_prose(source, pictures)
    else:
        text = render_given_prose(source) if is_given else render_student_prose(source, pictures)
    if not is_given:
        faults = [labels(code, names=names) for code, names in list_picture_faults(source, cell.pictures)]
        view = replace(view, notices=(*view.notices, *faults))
    return replace(view, given=is_given, blank=blank, text=text)


def _build_output_view(output: CellOutput, labels: Labels) -> OutputView:
    """Return one output, in the first form that can be shown safely."""
    data = output.data
    if output.kind in {"stream", "error"}:
        return OutputView(
            error=output.kind == "error", text=sanitise.to_printable_text(data.get("text/plain", ""))
        )
    # From the richest to the plainest form; a form that fails its checks is skipped.
    for mime in sanitise.PICTURES:
        uri = build_image_uri(mime, data.get(mime, ""))
        if uri is not None:
            return OutputView(image=uri)
    frame = sanitise.build_table_document(data.get("text/html", ""))
    if frame is not None:
        return OutputView(frame=frame)
    for mime in _TEXTS:
        if data.get(mime):
            note = "" if mime == "text/plain" else labels("as-text", mime=mime)
            return OutputView(text=sanitise.to_printable_text(data[mime]), note=note)
    return OutputView(note=labels("not-shown", mime=sanitise.to_printable_text(", ".join(sorted(data)), 100)))
