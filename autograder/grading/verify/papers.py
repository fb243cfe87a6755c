"""The papers that every assignment has: the answer key, and the release as it was published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import SandboxError
from autograder.core.records import Answer, Call, Cell, GradingResult, ItemResult, Status, Submission
from autograder.grading import release_generation
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.submitted_files import read_files
from autograder.grading.verify.matrix import (
    Mark,
    VerifyFinding,
    describe_result,
    format_points,
    mark_item,
    state_remedy,
)
from autograder.notebook.document import load_tree
from autograder.notebook.files import read_file
from autograder.notebook.release import Release
from autograder.notebook.student_check import FILE_NAME
from autograder.notebook.submission_reader import read_notebook
from autograder.rubric import NotebookFile, Question
from autograder.rubric.notebook_files import ALONG_BYTES

KEY, RELEASE, TOUCHED = "answer key", "untouched release", "release with comments"


class AnswerKey(Struct, frozen=True, eq=False):
    """The source notebooks as a submission, and their grade."""

    sources: Mapping[str, bytes]
    """By notebook."""
    submissions: Mapping[str, Submission]
    """By notebook."""
    files: Mapping[str, bytes]
    """Files that are submitted with them, by path."""
    graded: GradingResult
    marks: Mapping[str, Mark]
    """The mark of each item, by ``question.item``."""

    def get_answers(self, question: Question) -> Mapping[str, Answer]:
        """Return all answers of the question's notebook, by grade_id."""
        return self.submissions[question.notebook].answers

    def collect_results(self) -> dict[str, Sequence[ItemResult]]:
        """Return the judged items by question."""
        by_question: dict[str, list[ItemResult]] = {}
        for result in self.graded.score.items:
            by_question.setdefault(result.question, []).append(result)
        return dict(by_question)


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
        for name, data in release_generation.read_answer_key(assignment.course, assignment.rubric).items()
    }
    files = {
        path: read_file(source_path, most=ALONG_BYTES) for path, source_path in assignment.key_files.items()
    }
    rubric = assignment.rubric
    submissions = {}
    for notebook in rubric.assignment.notebooks:
        release = assignment.releases[notebook.name]
        submission = read_notebook(sources[notebook.name], release, student=KEY, assignment=assignment.name)
        file_answers = read_files(notebook, files, assignment.starters)
        submissions[notebook.name] = replace(
            submission, answers={**submission.answers, **file_answers.answers}
        )
    graded = grader.grade(SubmittedFiles(KEY, sources, files))
    marks = {
        f"{result.question}.{result.item}": mark_item(
            rubric.get_question(result.question).get_item(result.item), result
        )
        for result in graded.score.items
    }
    for question in rubric.questions:
        answer_cell = assignment.releases[question.notebook].by_id.get(question.answer_cell)
        if answer_cell is not None and answer_cell.task:  # nbgrader's sources have no answer to a task
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
                    state_remedy("correct-cell"),
                )
    for result in key.graded.score.items:
        place = f"{result.question}.{result.item}"
        if key.marks[place] is not Mark.KEPT:
            expected = f"{format_points(result.possible)} points"
            yield VerifyFinding(KEY, place, expected, describe_result(result), state_remedy("correct-key"))


def check_release(grader: Grader) -> Iterable[VerifyFinding]:
    """Report points for submitting the release again, as it is or with a comment in each cell.

    A comment turns a stub into an answer, so that a solution that was left in the release earns its points.
    """
    assignment = grader.assignment
    # The release must count as unanswered, not merely earn zero points.
    untouched = grader.grade(SubmittedFiles(RELEASE, assignment.release_bytes, assignment.starters)).score
    for result in untouched.items:
        if result.status is not Status.NO_ANSWER:
            yield VerifyFinding(
                RELEASE,
                f"{result.question}.{result.item}",
                "no answer, 0 points",
                describe_result(result),
                state_remedy("answered"),
            )
    touched = {
        name: _add_comments(data, assignment.releases[name])
        for name, data in assignment.release_bytes.items()
    }
    files = {
        path: data + b"\n# touched\n" if path.endswith(".py") else data
        for path, data in assignment.starters.items()
    }
    for result in grader.grade(SubmittedFiles(TOUCHED, touched, files)).score.items:
        if result.points > 0:
            is_listing = assignment.checks[result.question].kind == "repair"
            remedy = state_remedy("plant-fault" if is_listing else "given-away")
            yield VerifyFinding(
                TOUCHED, f"{result.question}.{result.item}", "0 points", describe_result(result), remedy
            )


def _add_comments(data: bytes, release: Release) -> bytes:
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


_NAME = "_not_as_visible"
"""Variable in the sandbox that holds the failed checks."""


def check_visible(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """Report visible checks of the rubric that the answer key does not pass."""
    rubric = grader.assignment.rubric
    for notebook in rubric.assignment.notebooks:
        visible = [
            question.id
            for question in rubric.questions
            if question.notebook == notebook.name and question.visible
        ]
        for line in _find_failing(grader, key, notebook, visible) if visible else ():
            place, _, text = line.partition(": ")
            yield VerifyFinding(
                KEY,
                f"{place}, visible",
                "visible checks that pass",
                text,
                state_remedy("visible"),
            )


def _find_failing(
    grader: Grader, key: AnswerKey, notebook: NotebookFile, questions: Sequence[str]
) -> Sequence[str]:
    """Run the students' check file after all cells of the key, and return its complaints."""
    assignment = grader.assignment
    limits = assignment.rubric.assignment.limits
    environment = assignment.build_environment(notebook)
    # The released check file replaces the one of the grading environment.
    other_files = tuple(file for file in environment.files if file[0] != FILE_NAME)
    file = (FILE_NAME, assignment.course.locate_release(assignment.name) / FILE_NAME)
    own_files = {path: data for path, data in key.files.items() if path in notebook.own}
    sandbox = grader.pool.create_persistent(replace(environment, files=(file, *other_files)))
    box = sandbox.open(limits, seed=grader.seed, files=own_files)
    try:
        for cell in key.submissions[notebook.name].cells:
            if isinstance(cell, Cell) and cell.source.strip():
                box.run_cell(cell.source, seconds=limits.cell_seconds)
        look = f"import coursecheck\n{_NAME} = coursecheck.failing(globals(), {list(questions)!r})"
        box.run_cell(look, seconds=limits.cell_seconds)
        (observed,) = box.ask([Call(_NAME, read=True)], seconds=limits.call_seconds)
    except SandboxError as error:
        return [f"{', '.join(questions)}: could not be run: {error}"]
    finally:
        box.close()
    if not observed.ok or not isinstance(observed.value, list | tuple):
        return [f"{', '.join(questions)}: could not be run: {observed.error} {observed.message}"]
    return [str(line) for line in observed.value]
