"""About 150 submissions to questions of all kinds, with their recorded verdicts.

``answers.json`` contains answers by course and question. Submission number ``i`` of a course gives the
``i``-th answer to each question, or the answer key's if there are fewer. The broken notebooks under
``tests/submissions/notebooks`` belong to the set as well. ``verdicts.json`` contains every verdict on the
answer key of each course, and the differing verdicts of every other submission.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder.authoring import start_assignment
from autograder.core.errors import NotebookError
from autograder.core.records import ItemResult, Score
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.planted_answers import load_planted_trials
from autograder.grading.release_generation import generate_release, read_answer_key
from autograder.grading.verify.papers import with_sources
from autograder.grading.version import GRADING_VERSION, list_versions
from autograder.notebook.files import read_file
from autograder.notebook.submission_reader import read_notebook
from autograder.questions.base.base import list_trials
from autograder.sandbox.pool import Pool
from tests.grading import test_batch as small_exam

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
ANSWERS, VERDICTS = FOLDER / "answers.json", FOLDER / "verdicts.json"
BROKEN_NOTEBOOKS = ROOT / "tests" / "submissions" / "notebooks"
KEY, RELEASE = "answer key", "untouched release"
_AS_KEY = "as the answer key, or missing"

Answers = Mapping[str, Sequence[str]]
"""Question id → answers to it."""
Verdicts = dict[str, dict[str, str]]
"""Submission → ``question.item`` → status, points and codes."""


def _make_templates(root: Path) -> Course:
    """Make a course with one small question of every kind, as ``autograder new`` writes them."""
    start_assignment(root, "templates")
    return Course.from_folder(root)


def _make_shipped(root: Path) -> Course:
    """Copy the course of this repository."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return Course.from_folder(root)


class GoldenCourse(Struct, frozen=True):
    """An assignment of the golden set."""

    name: str
    make_course: Callable[[Path], Course]
    size: int = 0
    """Number of submissions with planted answers."""


COURSES = (
    GoldenCourse(small_exam.NAME, small_exam.make_course),
    GoldenCourse("templates", _make_templates, 16),
    GoldenCourse("counting", _make_shipped, 12),
    GoldenCourse("attention", _make_shipped, 12),
    GoldenCourse("tracing", _make_shipped, 12),
    GoldenCourse("dl4nlp-exam", _make_shipped, 20),
    GoldenCourse("gpt2", _make_shipped, 6),
)


class CourseVerdicts(Struct, frozen=True):
    """The verdicts on the submissions of one course."""

    inputs: str
    """Digest of rubric, reference, notebooks and submissions."""
    verdicts: Verdicts


class GoldenVerdicts(Struct, frozen=True):
    """The content of ``verdicts.json``."""

    grading_version: int
    versions: list[str]
    """The output of `list_versions`, to explain changed verdicts."""
    courses: dict[str, CourseVerdicts]


def load_verdicts() -> GoldenVerdicts:
    """Load the recorded verdicts."""
    return msgspec.json.decode(VERDICTS.read_bytes(), type=GoldenVerdicts)


def load_answers() -> Mapping[str, Answers]:
    """Load the answers by course."""
    return msgspec.json.decode(ANSWERS.read_bytes(), type=dict[str, dict[str, list[str]]])


def write_json(path: Path, content: object) -> None:
    """Write a file of the set, a line for each answer or verdict."""
    text = json.dumps(msgspec.to_builtins(content), ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", "utf-8")


def grade_all() -> GoldenVerdicts:
    """Grade the whole set, in sandboxes shared by the submissions of a course."""
    answers = load_answers()
    with Pool() as pool:
        graded = {one.name: grade_course(one, answers.get(one.name, {}), pool) for one in COURSES}
    return GoldenVerdicts(GRADING_VERSION, list_versions(), graded)


def grade_course(golden: GoldenCourse, answers: Answers, pool: Pool) -> CourseVerdicts:
    """Grade the submissions of one course."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        assignment = load_assignment(golden, Path(folder) / "course")
        handed_in = list_submissions(golden, assignment, answers)
        grader = Grader(assignment, pool)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            graded = threads.map(grader.grade, handed_in)
            verdicts = {one.score.student: describe_score(one.score) for one in graded}
        for environment in (assignment.build_reference_environment(), *assignment.list_environments()):
            pool.end_sandbox(environment)
        key = verdicts[KEY]
        differing = {
            name: {item: verdict for item, verdict in found.items() if verdict != key.get(item)}
            for name, found in verdicts.items()
            if name != KEY
        }
        return CourseVerdicts(digest_inputs(assignment, handed_in), {KEY: key, **differing})


def load_assignment(golden: GoldenCourse, root: Path) -> Assignment:
    """Create a course with a fixed secret and load its assignment."""
    course = golden.make_course(root)
    course.load_secret()
    (course.private / "secret").write_bytes(hashlib.sha256(b"golden").digest())
    if golden.size:
        generate_release(course, golden.name, "")  # the answer key has all languages
    return assignments.load_assignment(course, golden.name)


def list_submissions(golden: GoldenCourse, assignment: Assignment, answers: Answers) -> list[SubmittedFiles]:
    """List the submissions of a course: answer key, untouched release, and the others."""
    release = SubmittedFiles(RELEASE, assignment.release_bytes)
    if not golden.size:
        names = sorted(path.name for path in BROKEN_NOTEBOOKS.iterdir() if not path.name.startswith("_"))
        broken = [SubmittedFiles(name, {golden.name: _read_broken(name)}) for name in names]
        return [SubmittedFiles(KEY, {golden.name: _read_broken("control-answered")}), release, *broken]
    key = read_answer_key(assignment.course, assignment.rubric)
    planted = [
        SubmittedFiles(f"planted {number:02}", _plant(assignment, key, answers, number))
        for number in range(golden.size)
    ]
    return [SubmittedFiles(KEY, key), release, *planted]


def _read_broken(name: str) -> bytes | NotebookError:
    try:
        return read_file(BROKEN_NOTEBOOKS / name / "submission.ipynb")
    except NotebookError as error:
        return error


def _plant(
    assignment: Assignment, key: Mapping[str, bytes], answers: Answers, number: int
) -> Mapping[str, bytes]:
    """Put one answer to each question into the answer key."""
    changes: dict[str, dict[str, str]] = {name: {} for name in key}
    for question in assignment.rubric.questions:
        planted = answers.get(question.id, ())
        if number < len(planted):
            cell = assignment.releases[question.notebook].find_answer_cell(question)
            changes[question.notebook][cell] = planted[number]
    return {name: with_sources(data, changes[name]) for name, data in key.items()}


def describe_score(score: Score) -> dict[str, str]:
    """Describe the verdict on every item."""
    return {f"{one.question}.{one.item}": _describe(one) for one in score.items}


def _describe(result: ItemResult) -> str:
    codes = dict.fromkeys(code for code in (result.student.code, result.code) if code)
    return " ".join((result.status.value, f"{result.points.normalize():f}", *codes))


def digest_inputs(assignment: Assignment, handed_in: Iterable[SubmittedFiles]) -> str:
    """Return a digest of all inputs of the verdicts except this package and its libraries."""
    releases = [hashlib.sha256(data).hexdigest() for _, data in sorted(assignment.release_bytes.items())]
    course = (assignment.rubric.digest, assignment.course.hash_reference(), assignment.hash_reference_files())
    parts = [*course, *releases, *(one.compute_digest() for one in handed_in)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def list_changes(recorded: GoldenVerdicts, found: GoldenVerdicts) -> dict[str, list[str]]:
    """List by course which verdicts changed, a line each."""
    changes = {}
    for name in sorted(recorded.courses.keys() | found.courses.keys()):
        before, after = _by_place(recorded.courses.get(name)), _by_place(found.courses.get(name))
        lines = [
            f"{name}, {submission}, {item}: {before.get(place, _AS_KEY)} → {after.get(place, _AS_KEY)}"
            for place in sorted(before.keys() | after.keys())
            if before.get(place) != after.get(place)
            for submission, item in [place]
        ]
        if lines:
            changes[name] = lines
    return changes


def _by_place(course: CourseVerdicts | None) -> dict[tuple[str, str], str]:
    verdicts = course.verdicts if course else {}
    return {(name, item): verdict for name, items in verdicts.items() for item, verdict in items.items()}


def find_unexplained(recorded: GoldenVerdicts, found: GoldenVerdicts) -> list[str]:
    """Return the courses with changed verdicts although `GRADING_VERSION` and their inputs are unchanged."""
    if recorded.grading_version != found.grading_version:
        return []
    before, after = recorded.courses, found.courses
    return [
        name
        for name in list_changes(recorded, found)
        if name in before and name in after and before[name].inputs == after[name].inputs
    ]


def collect_answers() -> dict[str, dict[str, list[str]]]:
    """Choose the answers of the set among the trials of `verify`, evenly spread for each question."""
    found = {}
    with Pool() as pool:
        for golden in COURSES:
            if golden.size:
                with tempfile.TemporaryDirectory(prefix="golden-") as folder:
                    assignment = load_assignment(golden, Path(folder) / "course")
                    found[golden.name] = _choose_answers(golden, assignment, pool)
    return found


def _choose_answers(golden: GoldenCourse, assignment: Assignment, pool: Pool) -> dict[str, list[str]]:
    planted = load_planted_trials(assignment, pool)
    key = read_answer_key(assignment.course, assignment.rubric)
    chosen = {}
    for question in assignment.rubric.questions:
        release = assignment.releases[question.notebook]
        submission = read_notebook(key[question.notebook], release, student=KEY, assignment=assignment.name)
        answer = assignment.find_answer(question, submission)
        own = list_trials(assignment.checks[question.id], answer) if answer is not None else ()
        trials = [one.source for one in (*own, *planted.get(question.id, ())) if one.source and not one.files]
        count = min(golden.size, len(trials))
        positions = [round(index * (len(trials) - 1) / max(1, count - 1)) for index in range(count)]
        chosen[question.id] = [trials[position] for position in positions]
    return chosen
