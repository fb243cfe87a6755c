"""A course with manual questions, and classes that are graded without a sandbox."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

from autograder.core.records import ExecutedNotebook, GradingResult
from autograder.grading import grades
from autograder.grading.assignment import Assignment
from autograder.grading.release_generation import generate_release
from autograder.grading.store import GradedEntry, ResultKey
from autograder.notebook.submission_reader import read_notebook
from autograder.questions.base.base import Evidence
from autograder.questions.base.judging.manual import judge_manual
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Offer

NAME = "essays"
RUBRIC = """\
version = 1

[assignment]
name = "essays"
points = 5
languages = ["en", "de"]

[[question]]
id = "scale"
kind = "written"
points = 3
title = { en = "Why scores are scaled", de = "Warum skaliert wird" }
answer_cell = "scale"

[[question.item]]
id = "claim"
points = 2
manual = true
text = { en = "Products grow with the width", de = "Produkte wachsen mit der Breite" }
guide = { en = "Large scores saturate the softmax.", de = "Große Werte sättigen das Softmax." }
examples = { full = "The variance is d_k.", half = "They get large.", none = "It is faster." }
suggest = ["saturat*"]

[[question.item]]
id = "reason"
points = 1
manual = true
text = { en = "Gradients vanish", de = "Gradienten verschwinden" }

[[question]]
id = "masks"
kind = "written"
points = 1
title = { en = "What a mask does", de = "Was eine Maske tut" }
answer_cell = "masks"

[[question.item]]
id = "effect"
points = 1
manual = true
text = { en = "No weight for what is masked", de = "Kein Gewicht für Maskiertes" }

[[question]]
id = "width"
kind = "number"
points = 1
answer = "width"

[[question.item]]
id = "number"
points = 1
text = { en = "The width", de = "Die Breite" }
value = 64
"""
CELLS = (
    nbformat.v4.new_markdown_cell("## 1. Why are the scores divided by $\\sqrt{d_k}$?"),
    small_course.text("scale", "The variance of the products is d_k.", 3),
    nbformat.v4.new_markdown_cell("## 2. What does a mask do?"),
    small_course.text("masks", "It sets scores to minus infinity.", 1),
    small_course.answer("width-answer", "# width = ...", "width = 64"),
    small_course.check("width", 1),
)


def essays(root: Path) -> Path:
    """Write the released course into a folder."""
    generate_release(small_course.write_course(root, NAME, RUBRIC, {NAME: CELLS}, ""), NAME)
    return root


def handed(assignment: Assignment, answers: Mapping[str, str]) -> bytes:
    """Return the release with some cells filled in, by grade_id."""
    notebook = nbformat.reads(assignment.release_bytes[NAME].decode(), as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in answers:
            cell.source = answers[name]
    return nbformat.writes(notebook).encode()


def graded(assignment: Assignment, student: str, answers: Mapping[str, str]) -> GradingResult:
    """Return the result of written answers; the number counts as right."""
    data = handed(assignment, answers)
    submission = read_notebook(data, assignment.releases[NAME], student=student, assignment=NAME)
    results = {}
    for question in assignment.rubric.questions:
        given = assignment.find_answer(question, submission)
        assert given is not None
        if question.kind == "written":
            evidence = Evidence(given, (), answers=submission.answers)
            results[question.id] = tuple(judge_manual(question, item, evidence) for item in question.items)
        else:
            check = assignment.checks[question.id]
            results[question.id] = check.judge(Evidence(given, ()))
    cells = submission.cells
    return GradingResult(
        grades.compute_score(student, assignment.rubric, results),
        (
            ExecutedNotebook(
                NAME,
                cells,
                (None,) * len(cells),
                submission.answer_cells,
                submission.remarks,
                submission.further,
            ),
        ),
        hashlib.sha256(data).hexdigest(),
    )


def recorded(offer: Offer, assignment: Assignment, class_: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Record a class's answers as graded."""
    from autograder.service.store import DatabaseStore

    store = DatabaseStore(offer.course)
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    entries = []
    for student, answers in class_:
        one = graded(assignment, student, answers)
        key = ResultKey.from_submission(student, one.digest, assignment.rubric, "e" * 64)
        entries.append(GradedEntry(key, one, assignment.rubric))
    store.record_results(entries)
