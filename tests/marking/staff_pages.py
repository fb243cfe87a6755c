"""Write the staff pages of a synthetic class to files: statistics, and similar submissions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from autograder import rubric as rubrics
from autograder.core.records import (
    Cell,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Message,
    Score,
    Status,
)
from autograder.grading.grades import compute_standing
from autograder.marking.similarity.pairs import compute_weights, find_similar_pairs
from autograder.marking.similarity.side_by_side import render_similar
from autograder.marking.similarity.works import FeatureExtractor, Work, WorkPiece
from autograder.marking.statistics import compute_figures, render_statistics
from autograder.rubric import Rubric
from tests.marking.copied_class import CopiedClass, copied_class

ROOT = Path(__file__).parents[2]
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


def result(rubric: Rubric, student: str, numbers: random.Random) -> GradingResult:
    """Return the random result of a student with a random ability."""
    able, items, cells = numbers.gauss(0, 1), [], []
    for question in rubric.questions:
        for item in question.items:
            passed = able + numbers.gauss(0, 1) > 0
            status = Status.NEEDS_REVIEW if item.manual else Status.PASSED if passed else Status.FAILED
            points = max(item.points, Decimal(0)) if status is Status.PASSED else Decimal(0)
            code = f"mistake.{numbers.choice('ab')}" if status is Status.FAILED else ""
            message = Message("x", text={"en": f"This is the mistake {code[-1:]}."})
            possible = max(item.points, Decimal(0))
            items.append(ItemResult(question.id, item.id, status, points, possible, message, "", code))
        cells.append(Cell(f"answer = {numbers.randrange(4)}  # {HOSTILE}", question.answer_cell))
    name = rubric.assignment.notebooks[0].name
    return GradingResult(
        Score(student, rubric.assignment.name, rubric.version, tuple(items)),
        (ExecutedNotebook(name, tuple(cells), (None,) * len(cells)),),
    )


def statistics_page(students: int = 60, *, named: bool = True) -> str:
    """Return the page of a synthetic class that took the shipped exam."""
    rubric, numbers = rubrics.load_rubric(ROOT / "rubrics" / "dl4nlp-exam.toml"), random.Random(3)
    results = {f"s{at:03}": result(rubric, f"s{at:03}", numbers) for at in range(students)}
    stands = {
        student: compute_standing(graded_result.score, rubric) for student, graded_result in results.items()
    }
    called = {student: student if named else f"x{student[1:]}" for student in results}
    figures = compute_figures(rubric, results, stands)
    return render_statistics(rubric, figures, stands, called, named=named, remarks=[f"one {HOSTILE}"])


def similar_page(class_: CopiedClass | None = None) -> str:
    """Return the page of a synthetic class with copies and a submission that contains markup."""
    class_works: Mapping[str, Mapping[str, str]] = (class_ or copied_class(24, 5)).works
    works = {
        **class_works,
        "eve": {"top-k-answer": f"zebra = {HOSTILE!r} + lion(1, 2, 3, 4)", "": HOSTILE * 40},
    }
    works["mallory"] = works["eve"]
    comparing = FeatureExtractor()
    found = {
        student: comparing.extract_features(
            Work(
                student,
                tuple(
                    WorkPiece(f"gpt2/{cell}" if cell else "", text, cell != "strategies", cell or "cell 9")
                    for cell, text in cells.items()
                ),
            )
        )
        for student, cells in works.items()
    }
    weighed = compute_weights(list(found.values()))
    return render_similar(
        rubrics.load_rubric(ROOT / "rubrics" / "gpt2.toml"),
        found,
        find_similar_pairs(list(found.values()), 12, weighed),
        weighed,
        remarks=[f"eve: not compared: {HOSTILE}"],
    )
