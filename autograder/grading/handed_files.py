"""The files that belong to a submission in addition to its notebook: their state, and which are answers."""

from __future__ import annotations

import base64
import difflib
import hashlib
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from autograder.errors import NotebookError
from autograder.notebook.document import canonical
from autograder.records import Answer, FileState, HandedFile, ItemResult, Message, Note
from autograder.rubric import NotebookFile, Question

MOST_SHOWN = 64 << 10
"""Characters of one file that are kept for staff and pages."""
MOST_SHOWN_TOGETHER = 512 << 10
"""The same for all files of one notebook."""
MOST_LINES = 1_500
"""Longer files are not compared with their starter line by line."""
MOST_PICTURE = 256 << 10
"""Maximum size of a picture that is shown, in bytes."""
_PICTURES = (".png", ".jpg", ".jpeg")
_PROSE = (".md", ".txt", ".rst")
_STATES = {"missing": FileState.MISSING, "too-large": FileState.TOO_LARGE}
_UNANSWERED = {
    FileState.MISSING: "file.missing",
    FileState.TOO_LARGE: "file.too-large",
    FileState.UNREADABLE: "file.unreadable",
    FileState.UNCHANGED: "file.unchanged",
}


class NotebookFiles(Struct, frozen=True):
    """The files of one notebook."""

    told: tuple[HandedFile, ...]
    contents: Mapping[str, bytes]
    """The files that go into the box, by path."""
    answers: Mapping[str, Answer]
    """Each file as the answer to a question, by path."""
    notes: tuple[Note, ...]

    def sources(self, without: str) -> list[str]:
        """Return the sources of all modules except one."""
        return [
            answer.source
            for path, answer in self.answers.items()
            if path != without and answer.cell_type == "code"
        ]

    def explained(self, results: tuple[ItemResult, ...], question: Question) -> tuple[ItemResult, ...]:
        """Return the results; those without an answer name the missing file if there is one."""
        told = next((one for one in self.told if one.path == question.file), None)
        code = _UNANSWERED.get(told.state) if told else None
        if told is None or code is None:
            return results
        most = f"{told.most / (1 << 20):.10g} MB"
        message = Message(code, {"file": told.path, "limit": most})
        return tuple(
            replace(one, student=message, code=code) if one.code in {"no-answer", "name.missing"} else one
            for one in results
        )


def read_files(
    notebook: NotebookFile, handed: Mapping[str, bytes | NotebookError], starters: Mapping[str, bytes]
) -> NotebookFiles:
    """Read the files that belong to a notebook.

    Args:
        notebook: names the files.
        contents_by_path: the contents, or the reason why one was not read.
        starters: the files that students were given to edit, by path.
    """
    told = tuple(_told(notebook, handed, starters))
    contents = {path: handed[path] for path in notebook.own if isinstance(handed.get(path), bytes)}
    there = {path: data for path, data in contents.items() if isinstance(data, bytes)}
    return NotebookFiles(
        told,
        there,
        {path: _answer(path, there.get(path), starters.get(path)) for path in notebook.own},
        tuple(_notes(told, handed)),
    )


def _told(
    notebook: NotebookFile, handed: Mapping[str, bytes | NotebookError], starters: Mapping[str, bytes]
) -> Iterator[HandedFile]:
    # An assignment with many files keeps less of each, so that the total is bounded.
    kept = min(MOST_SHOWN, MOST_SHOWN_TOGETHER // max(len(notebook.own), 1))
    # Optional files that are missing are no problem, so they are not reported.
    quiet = {*notebook.take_along, *(one.path for one in notebook.results if one.optional)}
    for path, most in notebook.own.items():
        content = handed.get(path, NotebookError("missing", f"{path} was not handed in"))
        if isinstance(content, NotebookError):
            state = _STATES.get(content.code, FileState.UNREADABLE)
            if not (state is FileState.MISSING and path in quiet):
                yield HandedFile(notebook.name, path, state, most=most)
            continue
        starter = starters.get(path)
        state = FileState.HANDED_IN
        if starter is not None and canonical(_text(content)) == canonical(_text(starter)):
            state = FileState.UNCHANGED
        digest = hashlib.sha256(content).hexdigest()
        text = "" if state is FileState.UNCHANGED or not _is_text(content) else _text(content)
        yield HandedFile(
            notebook.name,
            path,
            state,
            size=len(content),
            most=most,
            digest=digest,
            text=text[:kept],
            difference=_difference(starter, text, kept) if starter is not None else "",
            cut=len(text) > kept,
            picture=_picture(path, content, kept),
        )


def _picture(path: str, content: bytes, most: int) -> str:
    # Pictures shrink with the share of a file, like texts, so that the total stays bounded.
    small = len(content) <= MOST_PICTURE * most // MOST_SHOWN
    return base64.b64encode(content).decode() if small and path.lower().endswith(_PICTURES) else ""


def _notes(told: tuple[HandedFile, ...], handed: Mapping[str, bytes | NotebookError]) -> Iterator[Note]:
    for one in told:
        if one.state not in {FileState.HANDED_IN, FileState.UNCHANGED}:
            reason = handed.get(one.path)
            yield Note(f"file-{one.state.value}", str(reason or f"{one.path}: was not handed in"), one.path)


def _answer(path: str, content: bytes | None, starter: bytes | None) -> Answer:
    """Return a file as an answer.

    A module becomes code, prose becomes text, and any other file a comment with its size and digest.
    """
    kind = "markdown" if path.endswith(_PROSE) else "code"
    text = _text(content if content is not None else starter or b"")
    changed = content is not None and (starter is None or canonical(text) != canonical(_text(starter)))
    if content is not None and not (path.endswith((".py", *_PROSE)) and _is_text(content)):
        text = f"# {path}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
    return Answer(path, kind, text, changed)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _text(content: bytes) -> str:
    return content.decode(errors="replace").replace("\r\n", "\n")


def _difference(starter: bytes, text: str, most: int) -> str:
    """Return the changed lines with three lines of context; empty if there is no text or too much."""
    before, after = _text(starter).split("\n"), text.split("\n")
    # difflib takes quadratic time in the worst case.
    if not text or max(len(before), len(after)) > MOST_LINES:
        return ""
    # Without the two header lines, which would hold file names.
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    whole = "\n".join(lines)
    return whole if len(whole) <= most else ""
