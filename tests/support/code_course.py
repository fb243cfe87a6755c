"""Courses whose questions are graded by checks in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.checking.check_parser import load_check_file
from autograder.core.records import GradingResult, ItemResult
from autograder.course import Course
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from autograder.sandbox.pool import Pool
from tests.support.small_course import answer, cell, write_course

NAME = "code"


def code_course(
    root: Path,
    checks: Mapping[str, tuple[float, str]],
    *,
    preload: str = '"numpy"',
    reference: Mapping[str, str] = {},
    kind: str = "code",
    given: str = "import math",
) -> Course:
    """Write and release a course with a question for each file of checks.

    Args:
        root: the folder.
        checks: question → points and the file of checks, which contains a solution as source.
        preload: modules, in TOML notation.
        reference: further files of the reference folder, by path.
        kind: of all questions; students of ``repair`` get the listing with all of them.
        given: the cell before the questions.
    """
    sources = {f"checks/{question}.py": text for question, (_, text) in checks.items()}
    for name, text in {**reference, **sources}.items():
        path = root / "reference" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    rubric = f'version = 1\n[assignment]\nname = "{NAME}"\nlanguages = ["en"]\npreload = [{preload}]\n'
    rubric += (
        f"points = {sum(points for points, _ in checks.values())}\n[assignment.limits]\ncell_seconds = 10\n"
    )
    cells = [cell("setup", given)]
    for question, (points, _) in checks.items():
        rubric += f'\n[[question]]\nid = "{question}"\nkind = "{kind}"\npoints = {points}\n'
        file = load_check_file(root / "reference", question)
        handed_out = (
            file.make_listing([fault.id for fault in file.faults]) if file.faults else "# your answer"
        )
        cells += [answer(f"{question}-answer", handed_out, file.solution)]
        cells.append(cell(question, "pass", grade=True, points=points))
    course = write_course(root, NAME, rubric, {NAME: cells}, "")
    generate_release(course, NAME)
    return course


@contextmanager
def open_grader(root: Path, checks: Mapping[str, tuple[float, str]], **options: Any) -> Iterator[Grader]:
    """Return the grader of a course that `code_course` writes."""
    course = code_course(root, checks, **options)
    with Pool() as pool:
        yield Grader(load_assignment(course, NAME), pool)


def write_empty_checks(folder: Path, *questions: str) -> Path:
    """Write a file with one check for each of these questions, and return the folder of the reference."""
    (folder / "checks").mkdir(parents=True)
    for question in questions:
        text = (
            "from autograder.checking import check\n\n"
            '@check(points=1, title="T")\ndef i(student, reference, draw):\n    pass\n'
        )
        (folder / "checks" / f"{question}.py").write_text(text)
    return folder


def grade(grader: Grader, answers: Mapping[str, str]) -> GradingResult:
    """Grade answers by question; missing answers leave the release's stub."""
    release = grader.assignment.release_bytes[NAME]
    written = {f"{question}-answer": source for question, source in answers.items()}
    return grader.grade(SubmittedFiles("s", {NAME: with_sources(release, written)}))


def summarise(results: Iterable[ItemResult]) -> dict[str, str]:
    """Return points and code of each item, by question and item."""
    return {
        f"{one.question}.{one.item}": f"{one.points.normalize():f} {one.code or one.status.value}"
        for one in results
    }
