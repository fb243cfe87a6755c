"""Work that may be in files that are not graded: items that earned nothing get manual review.

A student may submit a blank notebook together with a scan, a text or a module, or a worse copy of the
notebook under the name that is graded. Such files are never graded; they only cause a manual review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.core.records import (
    Answer,
    CellRemark,
    ItemResult,
    Markdown,
    Message,
    Note,
    Status,
    Submission,
)
from autograder.course.submission_folder import SCANS, is_hidden_notebook, name_files
from autograder.notebook.document import normalize_source
from autograder.notebook.read import read_notebook
from autograder.notebook.release import Release
from autograder.questions.base.judging.results import replace_by_review
from autograder.rubric import Question

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


def review_unread(
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
