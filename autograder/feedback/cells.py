"""The executed cells as the page shows them: every source and output sanitised, long ones cut."""

from __future__ import annotations

from markupsafe import escape
from msgspec import Struct
from msgspec.structs import replace

from autograder.feedback import sanitise
from autograder.feedback.labels import Labels
from autograder.limits import budgets
from autograder.records import Cell, CellOutput, CellRun, ExecutedNotebook, LimitKind, Limits, Markdown

MOST_OUTPUTS = 60
"""Of one cell."""

_IMAGES = ("image/png", "image/jpeg")
_TEXTS = ("text/plain", "text/latex", "text/markdown", "application/json", "image/svg+xml")


class OutputView(Struct, frozen=True):
    """One output; exactly one of ``text``, ``image`` and ``frame`` is set, or none with a note."""

    error: bool = False
    note: str = ""
    text: str = ""
    image: str = ""
    """A data URI."""
    frame: sanitise.Frame | None = None


class CellView(Struct, frozen=True):
    """One cell of the page's notebook."""

    anchor: str
    number: int
    kind: str
    """``"code"`` or ``"text"``."""
    name: str
    given: bool
    source: str
    ran: bool
    error: str
    """The exception's type, when the cell raised one."""
    ending: str
    """The sentence about how the cell ended the run; empty when it did not."""
    outputs: tuple[OutputView, ...]
    notices: tuple[str, ...]

    @property
    def has_problem(self) -> bool:
        """Shown unfolded: there is something to see."""
        return bool(self.error or self.ending)


class NotebookView(Struct, frozen=True):
    """One executed notebook."""

    name: str
    cells: tuple[CellView, ...]

    def find(self, grade_id: str) -> CellView | None:
        """The cell with this grade_id."""
        return next((cell for cell in self.cells if cell.name == grade_id), None)


def notebook_view(notebook: ExecutedNotebook, position: int, labels: Labels, limits: Limits) -> NotebookView:
    """A notebook for the page.

    Args:
        notebook: the cells and their runs.
        position: which notebook of the submission, for the anchors.
        labels: the page's words.
        limits: what the cells were allowed.
    """
    most = budgets(limits).page_kb
    left = most << 10
    cells = []
    for number, (cell, run) in enumerate(zip(notebook.cells, notebook.runs, strict=False), start=1):
        view = _cell_view(cell, run, f"cell-{position}-{number}", number, labels, limits=limits)
        left -= _weight(view)
        if left < 0:
            notices = (*view.notices, labels("page-full", limit=most))
            view = replace(view, source="", outputs=(), notices=notices)
        cells.append(view)
    return NotebookView(sanitise.printable_text(notebook.name, 200), tuple(cells))


def _weight(view: CellView) -> int:
    """About how many bytes of the page a cell takes, its letters written out for HTML."""
    texts = [view.source, *(output.text for output in view.outputs)]
    pictures = sum(len(output.image) for output in view.outputs)
    frames = sum(len(escape(output.frame.document)) for output in view.outputs if output.frame)
    return pictures + frames + sum(len(escape(text).encode()) for text in texts)


def _cell_view(
    cell: Cell | Markdown, run: CellRun | None, anchor: str, number: int, labels: Labels, *, limits: Limits
) -> CellView:
    code = isinstance(cell, Cell)
    outputs = run.outputs if run else ()
    met = [encounter.met for encounter in run.met] if run else []
    notices = [labels.met(one, limits) for one in met]
    if cell.cut:
        notices.append(labels("source-cut" if code else "text-cut"))
    if run and run.truncated and LimitKind.OUTPUT not in met:
        notices.append(labels("truncated"))
    if len(outputs) > MOST_OUTPUTS:
        notices.append(labels("more-outputs", number=len(outputs) - MOST_OUTPUTS))
    return CellView(
        anchor=anchor,
        number=number,
        kind="code" if code else "text",
        name=sanitise.printable_text(cell.grade_id, 100),
        given=isinstance(cell, Cell) and cell.locked,
        source=sanitise.printable_text(cell.source),
        ran=run is not None,
        error=sanitise.printable_text(run.error, 100) if run else "",
        ending=labels.ending(run.ending, limits) if run and run.ending else "",
        outputs=tuple(_output_view(output, labels) for output in outputs[:MOST_OUTPUTS]),
        notices=tuple(notices),
    )


def _output_view(output: CellOutput, labels: Labels) -> OutputView:
    data = output.data
    if output.kind in {"stream", "error"}:
        return OutputView(
            error=output.kind == "error", text=sanitise.printable_text(data.get("text/plain", ""))
        )
    for mime in _IMAGES:
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
