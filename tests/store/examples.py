"""A small exam, its release, and two students' results, with which the contract of stores is tried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    Ending,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Message,
    Note,
    Score,
    Status,
)
from autograder.grading.store import GradedEntry, Key, Store
from autograder.rubric import Rubric

_MHA = """
[[question]]
id = "mha"
kind = "number"
points = 6
answer = "MultiHeadAttention"
title = { en = "Multi-head attention" }
[[question.item]]
id = "plain"
points = 3
text = { en = "Attention without a mask" }
[[question.item]]
id = "masked"
points = 3
text = { en = "Blocked positions have no effect" }
"""
_SHORT = """
version = 3
[assignment]
name = "exam"
points = 2
title = { en = "Deep learning for language" }
languages = ["en"]

[[question]]
id = "task3-b"
kind = "formula"
points = 2
answer = "mlp_parameters"
title = { en = "Parameters of the MLP" }
[[question.item]]
id = "formula"
points = 1
text = { en = "The number of parameters of the MLP" }
[[question.item]]
id = "why"
points = 1
manual = true
cell = "task3-b-why"
text = { en = "Your reason, in a sentence" }
"""
RUBRIC = rubrics.parse_rubric((_SHORT.replace("points = 2", "points = 8", 1) + _MHA).encode())
SHORT = rubrics.parse_rubric(_SHORT.encode())
"""The rubric without its last question."""
_PENDING = Message("manual")


def release() -> bytes:
    """The released notebook of the exam."""
    marks = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False}
    of_person = {"locked": False, "solution": True}
    cells = [
        _released("code", "task3-b", marks, points=1.0),
        _released("markdown", "task3-b-why", {**marks, **of_person}, points=1.0),
        _released("code", "mha", marks, points=6.0),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook).encode()


def _released(kind: str, name: str, marks: Mapping[str, object], points: float) -> dict[str, object]:
    nbgrader = {**marks, "grade_id": name, "points": points, "cell_type": kind, "checksum": "0" * 32}
    run: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {"nbgrader": nbgrader}, "source": "# here", **run}


def _item(question: str, name: str, status: Status, points: str, message: str) -> ItemResult:
    possible = RUBRIC.get_question(question).get_item(name).points
    said = _PENDING if status is Status.NEEDS_REVIEW else Message(message)
    return ItemResult(question, name, status, Decimal(points), possible, said, "for staff")


def _graded(student: str, items: tuple[ItemResult, ...], notebook: ExecutedNotebook) -> GradingResult:
    score = Score(student, "exam", 3, items, notes=(Note("remark", "for staff", "mha"),))
    return GradingResult(score, (notebook,), digest=student.encode().hex().ljust(64, "0"), seconds=0.2)


def good() -> GradingResult:
    """Ada's: everything right, and one reason waits for a person."""
    items = (
        _item("task3-b", "formula", Status.PASSED, "1", "passed"),
        _item("task3-b", "why", Status.NEEDS_REVIEW, "0", ""),
        _item("mha", "plain", Status.PASSED, "3", "passed"),
        _item("mha", "masked", Status.PASSED, "3", "passed"),
    )
    cells = (Markdown("# Exam", "intro"), Cell('mlp_parameters = "8*d^2"', "task3-b-answer"))
    runs = (None, CellRun((CellOutput("stream", {"text/plain": "task3-b: readable\n"}),), seconds=0.01))
    return _graded("ada", items, ExecutedNotebook("exam", cells, runs))


def middling() -> GradingResult:
    """Grace's: half of a formula, a reason that waits, an error, and a cell that was stopped."""
    items = (
        _item("task3-b", "formula", Status.FAILED, "0.5", "example"),
        _item("task3-b", "why", Status.NEEDS_REVIEW, "0", ""),
        _item("mha", "plain", Status.PASSED, "3", "passed"),
        _item("mha", "masked", Status.NO_ANSWER, "0", "example"),
    )
    cells = (Cell("attention(x)", "mha-answer"), Cell("while True:\n    pass", ""))
    runs = (CellRun(), CellRun(ending=Ending.CELL_TIME))
    return _graded("grace", items, ExecutedNotebook("exam", cells, runs))


def as_student(graded: GradingResult, student: str) -> GradingResult:
    """The same result for another student."""
    return replace(graded, score=replace(graded.score, student=student))


def better(graded: GradingResult) -> GradingResult:
    """The same result with full points for its first item."""
    first, *others = graded.score.items
    right = replace(first, points=first.possible, status=Status.PASSED)
    return replace(graded, score=replace(graded.score, items=(right, *others)))


def entry(
    graded: GradingResult,
    rubric: Rubric,
    submitted_at: datetime | None = None,
    *,
    environment: str = "e" * 64,
) -> GradedEntry:
    """One result under its key."""
    key = Key.from_submission(graded.score.student, graded.digest, rubric, environment)
    return GradedEntry(key, graded, rubric, submitted_at)


def keep(
    store: Store,
    graded: GradingResult,
    rubric: Rubric,
    submitted_at: datetime | None = None,
    *,
    language: str = "",
    environment: str = "e" * 64,
) -> Mapping[str, str]:
    """Record it, by itself."""
    return store.record_results(
        [entry(graded, rubric, submitted_at, environment=environment)], language=language
    )
