"""The files that belong to a submission in addition to its notebook: their state, and which are answers."""

from __future__ import annotations

import base64
import difflib
import hashlib
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import Answer, FileState, ItemResult, Message, Note, SubmissionFile
from autograder.notebook.document import normalize_source
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

    told: tuple[SubmissionFile, ...]
    contents: Mapping[str, bytes]
    """The files that go into the box, by path."""
    answers: Mapping[str, Answer]
    """Each file as the answer to a question, by path."""
    notes: tuple[Note, ...]

    def list_sources(self, without: str) -> list[str]:
        """Return the sources of all modules except one."""
        return [
            answer.source
            for path, answer in self.answers.items()
            if path != without and answer.cell_type == "code"
        ]

    def explain_missing(self, results: tuple[ItemResult, ...], question: Question) -> tuple[ItemResult, ...]:
        """Return the results; those without an answer name the missing file if there is one."""
        file = next((result for result in self.told if result.path == question.file), None)
        code = _UNANSWERED.get(file.state) if file else None
        if file is None or code is None:
            return results
        most = f"{file.most / (1 << 20):.10g} MB"
        message = Message(code, {"file": file.path, "limit": most})
        return tuple(
            replace(result, student=message, code=code)
            if result.code in {"no-answer", "name.missing"}
            else result
            for result in results
        )


def read_files(
    notebook: NotebookFile,
    contents_by_path: Mapping[str, bytes | NotebookError],
    starters: Mapping[str, bytes],
) -> NotebookFiles:
    """Read the files that belong to a notebook.

    Args:
        notebook: names the files.
        contents_by_path: the contents, or the reason why one was not read.
        starters: the files that students were given to edit, by path.
    """
    files = tuple(_list_files(notebook, contents_by_path, starters))
    contents = {
        path: contents_by_path[path] for path in notebook.own if isinstance(contents_by_path.get(path), bytes)
    }
    submitted = {path: data for path, data in contents.items() if isinstance(data, bytes)}
    return NotebookFiles(
        files,
        submitted,
        {path: _build_answer(path, submitted.get(path), starters.get(path)) for path in notebook.own},
        tuple(_list_notes(files, contents_by_path)),
    )


def _list_files(
    notebook: NotebookFile,
    contents_by_path: Mapping[str, bytes | NotebookError],
    starters: Mapping[str, bytes],
) -> Iterator[SubmissionFile]:
    # An assignment with many files keeps less of each, so that the total is bounded.
    most_characters = min(MOST_SHOWN, MOST_SHOWN_TOGETHER // max(len(notebook.own), 1))
    # Optional files that are missing are no problem, so they are not reported.
    quiet = {*notebook.take_along, *(result.path for result in notebook.results if result.optional)}
    for path, most in notebook.own.items():
        content = contents_by_path.get(path, NotebookError("missing", f"{path} was not handed in"))
        if isinstance(content, NotebookError):
            state = _STATES.get(content.code, FileState.UNREADABLE)
            if not (state is FileState.MISSING and path in quiet):
                yield SubmissionFile(notebook.name, path, state, most=most)
            continue
        starter = starters.get(path)
        state = FileState.HANDED_IN
        if starter is not None and normalize_source(_decode_text(content)) == normalize_source(
            _decode_text(starter)
        ):
            state = FileState.UNCHANGED
        digest = hashlib.sha256(content).hexdigest()
        text = "" if state is FileState.UNCHANGED or not _is_text(content) else _decode_text(content)
        yield SubmissionFile(
            notebook.name,
            path,
            state,
            size=len(content),
            most=most,
            digest=digest,
            text=text[:most_characters],
            difference=_diff_with_starter(starter, text, most_characters) if starter is not None else "",
            cut=len(text) > most_characters,
            picture=_encode_picture(path, content, most_characters),
        )


def _encode_picture(path: str, content: bytes, most: int) -> str:
    # Pictures shrink with the share of a file, like texts, so that the total stays bounded.
    small = len(content) <= MOST_PICTURE * most // MOST_SHOWN
    return base64.b64encode(content).decode() if small and path.lower().endswith(_PICTURES) else ""


def _list_notes(
    files: tuple[SubmissionFile, ...], contents_by_path: Mapping[str, bytes | NotebookError]
) -> Iterator[Note]:
    for file in files:
        if file.state not in {FileState.HANDED_IN, FileState.UNCHANGED}:
            reason = contents_by_path.get(file.path)
            yield Note(
                f"file-{file.state.value}", str(reason or f"{file.path}: was not handed in"), file.path
            )


def _build_answer(path: str, content: bytes | None, starter: bytes | None) -> Answer:
    """Return a file as an answer.

    A module becomes code, prose becomes text, and any other file a comment with its size and digest.
    """
    kind = "markdown" if path.endswith(_PROSE) else "code"
    text = _decode_text(content if content is not None else starter or b"")
    changed = content is not None and (
        starter is None or normalize_source(text) != normalize_source(_decode_text(starter))
    )
    if content is not None and not (path.endswith((".py", *_PROSE)) and _is_text(content)):
        text = f"# {path}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
    return Answer(path, kind, text, changed)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _decode_text(content: bytes) -> str:
    return content.decode(errors="replace").replace("\r\n", "\n")


def _diff_with_starter(starter: bytes, text: str, most: int) -> str:
    """Return the changed lines with three lines of context; empty if there is no text or too much."""
    before, after = _decode_text(starter).split("\n"), text.split("\n")
    # difflib takes quadratic time in the worst case.
    if not text or max(len(before), len(after)) > MOST_LINES:
        return ""
    # Without the two header lines, which would hold file names.
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    whole = "\n".join(lines)
    return whole if len(whole) <= most else ""
