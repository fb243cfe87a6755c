"""Files of a submission for the page: the state of each, and its changes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from autograder.core.images import build_image_uri
from autograder.core.records import FileState, SubmissionFile
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import to_printable_text

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
