"""Two papers that every assignment has: the answer key, and the release as it was published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder import generate
from autograder.grading.handed_files import read_files
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.notebook.document import load_tree
from autograder.notebook.files import read_file
from autograder.notebook.read import read
from autograder.notebook.release import Release
from autograder.records import Answer, Graded, ItemResult, Status, Submission
from autograder.rubric import Question
from autograder.rubric.files import ALONG_BYTES
from autograder.verify.findings import Mark, VerifyFinding
from autograder.verify.matrix import got, mark, written

KEY, RELEASE, TOUCHED = "answer key", "untouched release", "release with comments"


class AnswerKey(Struct, frozen=True, eq=False):
    """The source notebooks as a submission, and their grade."""

    sources: Mapping[str, bytes]
    """By notebook."""
    submissions: Mapping[str, Submission]
    """By notebook."""
    files: Mapping[str, bytes]
    """Files that are submitted with them, by path."""
    graded: Graded
    marks: Mapping[str, Mark]
    """The mark of each item, by ``question.item``."""

    def answers(self, question: Question) -> Mapping[str, Answer]:
        """Return all answers of the question's notebook, by grade_id."""
        return self.submissions[question.notebook].answers

    def results(self) -> dict[str, Sequence[ItemResult]]:
        """Return the judged items by question."""
        found: dict[str, list[ItemResult]] = {}
        for result in self.graded.score.items:
            found.setdefault(result.question, []).append(result)
        return dict(found)


def grade_answer_key(grader: Grader) -> AnswerKey:
    """Grade the source notebooks as if a student had submitted them.

    Raises:
        CourseError: a source is not a notebook.
    """
    assignment = grader.assignment
    # Locked cells are used as students have them: hidden tests in a source are not part of an answer.
    sources = {
        name: with_sources(
            data, {cell.grade_id: cell.source for cell in assignment.releases[name].cells if cell.is_locked}
        )
        for name, data in generate.sources(assignment.course, assignment.rubric).items()
    }
    files = {path: read_file(place, most=ALONG_BYTES) for path, place in assignment.key_files.items()}
    rubric = assignment.rubric
    submissions = {}
    for notebook in rubric.assignment.notebooks:
        release = assignment.releases[notebook.name]
        found = read(sources[notebook.name], release, student=KEY, assignment=assignment.name)
        beside = read_files(notebook, files, assignment.starters)
        submissions[notebook.name] = replace(found, answers={**found.answers, **beside.answers})
    graded = grader.grade(SubmittedFiles(KEY, sources, files))
    marks = {
        f"{result.question}.{result.item}": mark(rubric.question(result.question).item(result.item), result)
        for result in graded.score.items
    }
    for question in rubric.questions:
        given = assignment.releases[question.notebook].by_id.get(question.answer_cell)
        if given is not None and given.task:  # nbgrader's sources have no answer to a task
            marks |= {f"{question.id}.{item.id}": Mark.KEPT for item in question.items}
    return AnswerKey(sources, submissions, files, graded, marks)


def check_key(key: AnswerKey) -> Iterable[VerifyFinding]:
    """Report items that the answer key does not earn, and cells of it that raise.

    An error in a locked cell would affect every student.
    """
    for notebook in key.graded.notebooks:
        for number, run in enumerate(notebook.runs, start=1):
            if run is not None and (run.error or run.ending):
                yield VerifyFinding(
                    KEY,
                    f"{notebook.name}, cell {number}",
                    "a cell that runs",
                    f"raised {run.error}" if run.error else f"ended its box: {run.ending}",
                    "correct the cell in the source notebook",
                )
    for result in key.graded.score.items:
        place = f"{result.question}.{result.item}"
        if key.marks[place] is not Mark.KEPT:
            expected = f"{written(result.possible)} points"
            remedy = "correct the key, or what the rubric says is right"
            yield VerifyFinding(KEY, place, expected, got(result), remedy)


def check_release(grader: Grader) -> Iterable[VerifyFinding]:
    """Report points for submitting the release again, as it is or with a comment in each cell.

    A comment turns a stub into an answer, so that a solution that was left in the release earns its points.
    """
    assignment = grader.assignment
    # The release must count as unanswered, not merely earn zero points.
    untouched = grader.grade(SubmittedFiles(RELEASE, assignment.release_bytes, assignment.starters)).score
    for result in untouched.items:
        if result.status is not Status.NO_ANSWER:
            remedy = "look for what counts as an answer although nothing was written"
            yield VerifyFinding(
                RELEASE, f"{result.question}.{result.item}", "no answer, 0 points", got(result), remedy
            )
    touched = {
        name: _touched(data, assignment.releases[name]) for name, data in assignment.release_bytes.items()
    }
    files = {
        path: data + b"\n# touched\n" if path.endswith(".py") else data
        for path, data in assignment.starters.items()
    }
    for result in grader.grade(SubmittedFiles(TOUCHED, touched, files)).score.items:
        if result.points > 0:
            remedy = "take out of the release what gives this away: put it between the solution's markers"
            if assignment.checks[result.question].kind == "repair":
                remedy = "plant the fault in the notebook's listing, as the file of checks states it"
            yield VerifyFinding(TOUCHED, f"{result.question}.{result.item}", "0 points", got(result), remedy)


def _touched(data: bytes, release: Release) -> bytes:
    """Return a notebook with a comment added to each answer cell."""
    cells = (cell for cell in release.cells if cell.is_answer and cell.cell_type == "code")
    return with_sources(data, {cell.grade_id: f"{cell.source}\n# touched" for cell in cells})


def with_sources(data: bytes, sources: Mapping[str, str]) -> bytes:
    """Return a notebook with other texts in the cells of these grade_ids."""
    tree = load_tree(data, [])
    for cell in tree["cells"] if sources else ():
        metadata = cell.get("metadata", {}).get("nbgrader") or {}
        if metadata.get("grade_id") in sources:
            cell["source"] = sources[metadata["grade_id"]]
    return json.dumps(tree).encode()
