"""The files of a submission: those that are graded, and those that are not although work may be in them.

A student may submit a blank notebook together with a scan, a text or a module, or a worse copy of the
notebook under the name that is graded. Such files are never graded; they only cause a manual review.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import (
    Answer,
    CellRemark,
    FileState,
    ItemResult,
    Markdown,
    Message,
    Note,
    Status,
    Submission,
    SubmissionFile,
)
from autograder.course import Course
from autograder.course.submission_folder import SCANS, is_hidden_notebook, name_files
from autograder.messages import build_localised_text
from autograder.notebook.document import MAX_BYTES, RawCell, normalize_source, parse_notebook
from autograder.notebook.files import read_below
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook
from autograder.questions.base.judging.results import replace_by_review
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

    listed: tuple[SubmissionFile, ...]
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
        file = next((result for result in self.listed if result.path == question.file), None)
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
        content = contents_by_path[path] if path in contents_by_path else make_missing_error(path)
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


def make_missing_error(path: str) -> NotebookError:
    """Return the error that stands for a file that was not submitted."""
    return NotebookError("missing", build_localised_text("fault.file-missing", file=path))


def refuse_other_assignment(course: Course, assignment: str, release: Release, data: bytes) -> None:
    """Refuse a notebook with no answer cell of its assignment, but with answer cells of another one.

    Args:
        course: the course; its other releases are read only if no answer cell is found.
        assignment: that is graded.
        release: of the expected notebook.
        data: the submitted notebook.

    Raises:
        NotebookError: ``other-assignment``, with the name of the notebook's assignment; or see
            `autograder.notebook.document.parse_notebook`.
    """
    ids = _list_answer_ids(parse_notebook(data).cells)
    if not ids or ids & {name for name, cell in release.by_id.items() if cell.is_answer}:
        return
    shared = {other: len(ids & _list_released_ids(course, other)) for other in course.list_assignments()}
    shared.pop(assignment, None)
    # The most similar assignment; courses may reuse some ids in several.
    other = max(shared, key=lambda name: shared[name], default="")
    if other and shared[other]:
        raise NotebookError(
            "other-assignment",
            build_localised_text(
                "fault.other-assignment",
                file=f"{release.name}.ipynb",
                other=repr(other),
                assignment=repr(assignment),
            ),
        )


def _list_answer_ids(cells: tuple[RawCell, ...]) -> frozenset[str]:
    marks = [cell.nbgrader or {} for cell in cells]
    return frozenset(str(mark.get("grade_id")) for mark in marks if mark.get("solution"))


def _list_released_ids(course: Course, assignment: str) -> frozenset[str]:
    """Return the answer cells of all notebooks in an assignment's release; none if there is no release."""
    folder = course.locate_release(assignment)
    ids: frozenset[str] = frozenset()
    for path in sorted(folder.glob("*.ipynb")):
        with contextlib.suppress(OSError, NotebookError):  # reported when that assignment is graded
            ids |= _list_answer_ids(parse_notebook(read_below(folder, path.name, most=MAX_BYTES)).cells)
    return ids


_TEXTS = (".docx", ".doc", ".odt", ".rtf", ".pdf", ".md", ".txt", ".html", ".htm", ".tex", ".pages")

_NOTHING = frozenset((Status.NO_ANSWER, Status.FAILED))

Results = Mapping[str, Sequence[ItemResult]]
"""By question id."""


class OtherFiles(Struct, frozen=True):
    """The files of a submission that are not graded."""

    unread: tuple[str, ...] = ()
    """Files that may contain work, whatever the notebook earned."""
    beside: tuple[str, ...] = ()
    """Files that may contain work if it is missing in the notebook."""
    copies: Mapping[str, bytes] = {}
    """Other notebooks and pictures, by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all of them."""
        return (*self.unread, *self.beside)

    @property
    def documents(self) -> tuple[str, ...]:
        """Texts, scans and photos, which may contain written answers."""
        return tuple(
            name
            for name in self.names
            if name not in self.unread and name.casefold().endswith((*_TEXTS, *SCANS))
        )

    @property
    def to_name(self) -> tuple[str, ...]:
        """Files that student and staff are informed of, whatever the notebook earned."""
        return (*self.unread, *self.documents)

    @property
    def pictures(self) -> dict[str, bytes]:
        """The contents of pictures."""
        return {name: data for name, data in self.copies.items() if name.casefold().endswith(SCANS)}

    def drop_shown(self, submission: Submission) -> OtherFiles:
        """Return the files except the pictures that the notebook's texts show."""
        texts = (cell for cell in submission.cells if isinstance(cell, Markdown))
        # Markers see these pictures in the notebook itself.
        shown = {picture.name for text in texts for picture in text.pictures}
        remaining = tuple(name for name in self.beside if name.rpartition("/")[2] not in shown)
        return OtherFiles(self.unread, remaining, self.copies)


def report_other_files(graded: str, other: OtherFiles) -> tuple[CellRemark, ...]:
    """Return the message above the notebook about other files that may contain work.

    Args:
        graded: the name of the file that was graded.
        other: the files that were not.
    """
    if not other.to_name:
        return ()
    params = {"file": graded, "files": name_files(other.to_name)}
    return (CellRemark(0, Message("notebook.not-graded", params)),)


def note_documents(other: OtherFiles) -> tuple[Note, ...]:
    """Return a note for staff about documents next to the notebook; other files are noted elsewhere."""
    text = f"Not graded: {name_files(other.documents)}"
    return (Note("documents-beside", text),) if other.documents else ()


def review_ungraded_files(
    questions: Sequence[Question],
    results: Results,
    other: OtherFiles,
    submission: Submission,
    release: Release,
) -> dict[str, tuple[ItemResult, ...]]:
    """Return the results of a notebook, with manual review of answers that may be in another file.

    Args:
        questions: of the notebook.
        results: of the questions.
        other: the files that are not graded.
        submission: the graded notebook.
        release: the notebook as it was given out.
    """
    reviewed = {question.id: tuple(results.get(question.id, ())) for question in questions}
    if not (other.names or other.copies):
        return reviewed
    items = [item for question_results in reviewed.values() for item in question_results]
    # Nothing was earned at all: perhaps a wrong file was graded.
    if other.names and items and not any(item.points > 0 for item in items):
        files = name_files(other.names)
        staff = f"this notebook earned nothing, but these files were not graded: {files}"
        message = Message("review.unread", {"files": files})
        return {
            name: _require_review(question_results, message, staff)
            for name, question_results in reviewed.items()
        }
    if other.documents:
        reviewed |= _review_blanks(questions, reviewed, other.documents)
    for name, answers in _read_copies(other.copies, submission, release):
        staff = f"{name}, which was not graded, has another answer"
        message = Message("review.copy", {"file": name})
        # A checkpoint often has an earlier answer: it matters only if the graded notebook has none.
        is_reviewed = _is_blank if is_hidden_notebook(name) else _may_be_better
        for question in questions:
            answer_names = {
                item.id: (item.cell, question.answer_cell, question.id) for item in question.items
            }
            reviewed[question.id] = tuple(
                _require_review((result,), message, staff, is_reviewed)[0]
                if _has_other_answer(submission.answers, answers, answer_names.get(result.item, ()))
                else result
                for result in reviewed[question.id]
            )
    return reviewed


def _review_blanks(
    questions: Sequence[Question], results: Results, texts: Sequence[str]
) -> dict[str, tuple[ItemResult, ...]]:
    """Return the results with manual review of everything that the notebook leaves blank."""
    written = {(question.id, item.id) for question in questions for item in question.items if item.manual}
    files = name_files(texts)
    staff = f"this is not answered in the notebook, but these files were not graded: {files}"
    message = Message("review.written-beside", {"files": files})
    return {
        name: tuple(
            _require_review((item,), message, staff)[0]
            if (item.question, item.item) in written or item.status is Status.NO_ANSWER
            else item
            for item in items
        )
        for name, items in results.items()
    }


def _read_copies(
    copies: Mapping[str, bytes], submission: Submission, release: Release
) -> Iterable[tuple[str, Mapping[str, Answer]]]:
    """Yield the answers of other notebooks of the same assignment."""
    for name, data in copies.items():
        try:
            copied = read_notebook(
                data, release, student=submission.student, assignment=submission.assignment
            )
        except NotebookError:  # an unrelated or damaged notebook; it is reported as not graded
            continue
        yield name, copied.answers


def _has_other_answer(
    graded: Mapping[str, Answer], copied: Mapping[str, Answer], places: Iterable[str]
) -> bool:
    """Decide whether a copy has an answer to an item that differs from the graded notebook's answer.

    Args:
        graded: answers of the graded notebook.
        copied: answers of the copy.
        places: grade_ids under which the answer may be found; the first existing one counts.
    """
    grade_id = next((name for name in places if name in copied), "")
    answer = copied.get(grade_id)
    if answer is None or not answer.changed or not answer.source.strip():
        return False
    return grade_id not in graded or normalize_source(graded[grade_id].source) != normalize_source(
        answer.source
    )


def _is_zero(result: ItemResult) -> bool:
    return result.status in _NOTHING and result.points == 0


def _is_blank(result: ItemResult) -> bool:
    return result.status is Status.NO_ANSWER


def _may_be_better(result: ItemResult) -> bool:
    """Decide whether points are missing, or markers grade the answer and have to know of the other one."""
    return result.status in _NOTHING or result.code == "review.person"


def _require_review(
    results: Sequence[ItemResult],
    message: Message,
    staff: str,
    is_reviewed: Callable[[ItemResult], bool] = _is_zero,
) -> tuple[ItemResult, ...]:
    """Return results with manual review of all of these; by default, of those that earned nothing."""
    return tuple(
        replace_by_review(result, message, staff) if result.possible > 0 and is_reviewed(result) else result
        for result in results
    )
