"""Statistics of small classes, compared with manual or independent computations."""

from __future__ import annotations

import statistics as numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest
from msgspec.structs import replace

from autograder.core.records import (
    Cell,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Message,
    Score,
    Status,
)
from autograder.grading.grades import PersonMark, PersonMarks, Standing, compute_standing
from autograder.marking.statistics import ClassFigures, compute_figures, redact_names
from autograder.rubric import parse_rubric

TOML = """
version = 1
[assignment]
name = "exam"
points = 10
[[question]]
id = "q1"
kind = "number"
points = 4
answer = "width"
[[question.item]]
id = "a"
points = 4
value = 64
text = { en = "The width" }
[[question]]
id = "q2"
kind = "written"
points = 6
answer_cell = "q2"
[[question.item]]
id = "x"
points = 4
manual = true
text = { en = "The claim" }
[[question.item]]
id = "y"
points = 2
manual = true
text = { en = "The reason" }
"""
RUBRIC = parse_rubric(TOML.encode(), "exam")
"""Two questions: one of four points, and one with two manual items of four and two points."""
POINTS = (
    *((4, 4, 2), (4, 3, 2), (2, 2, 0), (0, 1, 1), (4, 0, 0), (2, 4, 2)),
    *((0, 0, 0), (2, 2, 1), (4, 4, 1), (0, 2, 2), (2, 1, 0), (4, 3, 1)),
)
"""The points of twelve students in the three items."""
CODES = {0: "count.other", 2: "count.half"}


def graded(student: str, points: int, source: str = "") -> GradingResult:
    """Return a result: the first item is automatic, the others are manual."""
    status = Status.PASSED if points == 4 else Status.FAILED
    message = Message("x", text={"en": f"It is {points}."})
    items = (
        ItemResult("q1", "a", status, Decimal(points), Decimal(4), message, "", CODES.get(points, "")),
        ItemResult("q2", "x", Status.NEEDS_REVIEW, Decimal(0), Decimal(4), message, ""),
        ItemResult("q2", "y", Status.NEEDS_REVIEW, Decimal(0), Decimal(2), message, ""),
    )
    cells = (Cell(source, "q1-answer"), Cell("locked", "q1", locked=True))
    return GradingResult(
        Score(student, "exam", 1, items),
        (ExecutedNotebook("exam", cells, (None, None)),),
    )


def marks(x: int, y: int) -> PersonMarks:
    """Return a grader's marks of the two items and so of their cell."""
    points = {"x": Decimal(x), "y": Decimal(y)}
    return {("exam", "q2"): PersonMark(Decimal(x + y), items=points)}


def class_of(
    points: Sequence[tuple[int, int, int]] = POINTS,
) -> tuple[Mapping[str, GradingResult], Mapping[str, Standing]]:
    """Return a class with these points in its items."""
    results = {f"s{at:02}": graded(f"s{at:02}", one[0]) for at, one in enumerate(points)}
    stands = {
        name: compute_standing(result.score, RUBRIC, marks(*one[1:]))
        for (name, result), one in zip(results.items(), points, strict=True)
    }
    return results, stands


def told(points: Sequence[tuple[int, int, int]] = POINTS) -> ClassFigures:
    """Return the statistics of such a class."""
    return compute_figures(RUBRIC, *class_of(points))


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the correlation as the mean product of standard scores."""
    spreads = numbers.pstdev(one), numbers.pstdev(other)
    means = numbers.fmean(one), numbers.fmean(other)
    scores = [
        (a - means[0]) * (b - means[1]) / (spreads[0] * spreads[1]) for a, b in zip(one, other, strict=True)
    ]
    return sum(scores) / len(scores)


def test_a_class_as_a_whole() -> None:
    """Mean, median, deviation, and a histogram in tenths of the points."""
    figures, sums = told(), [sum(points) for points in POINTS]
    assert (12, Decimal("5.50"), Decimal("4.5")) == (figures.students, figures.mean, figures.median)
    assert numbers.stdev(sums) == pytest.approx(figures.deviation)
    assert (1, 0, 1, 1, 3, 1, 0, 0, 2, 3) == figures.bars


def test_items_by_other_formulas() -> None:
    """Mean, full marks, zero marks, difficulty, and discrimination without the item itself."""
    for at, item in enumerate(told().items):
        item_points = [points[at] for points in POINTS]
        other_points = [sum(points) - points[at] for points in POINTS]
        assert pearson(item_points, other_points) == pytest.approx(item.discrimination)
        assert sum(item_points) / (12 * item.item.points.__int__()) == pytest.approx(item.difficulty)
        assert (item_points.count(int(item.item.points)), item_points.count(0)) == (item.full, item.none)
        assert (12, 0, 0) == (item.settled, item.waiting, item.unanswered)


def test_questions_by_other_formulas() -> None:
    """A question's points are the sum of its items."""
    first, second = told().questions
    item_points, other_points = [points[0] for points in POINTS], [points[1] + points[2] for points in POINTS]
    assert pearson(item_points, other_points) == pytest.approx(first.discrimination)
    assert pearson(item_points, other_points) == pytest.approx(second.discrimination)
    assert (Decimal("2.33"), Decimal("3.17")) == (first.mean, second.mean)


def test_what_waits_is_no_zero() -> None:
    """Open items are not included in means."""
    results, _ = class_of()
    stands = {name: compute_standing(graded_result.score, RUBRIC) for name, graded_result in results.items()}
    figures = compute_figures(RUBRIC, results, stands)
    assert (0, 12, Decimal(0), None, None) == (
        figures.items[1].settled,
        figures.items[1].waiting,
        figures.items[1].mean,
        figures.items[1].difficulty,
        figures.items[1].discrimination,
    )
    assert (12, 0) == (figures.questions[0].settled, figures.questions[0].waiting)
    assert (12, 0, Decimal(0)) == (figures.students, figures.settled, figures.mean)


@pytest.mark.parametrize("marked", [1, 2, 6, 11, 12])
def test_sums_are_of_students_with_every_answer_marked(marked: int) -> None:
    """Sums include only students without open marks."""
    results, whole = class_of()
    open_, names = (
        {name: compute_standing(graded_result.score, RUBRIC) for name, graded_result in results.items()},
        sorted(results),
    )
    figures = compute_figures(RUBRIC, results, {**open_, **{name: whole[name] for name in names[:marked]}})
    few, stands = class_of(POINTS[:marked])
    alone = compute_figures(RUBRIC, few, stands)
    assert (12, marked) == (figures.students, figures.settled)
    for name in ("mean", "median", "deviation", "bars"):
        assert getattr(alone, name) == getattr(figures, name), name
    assert [item.discrimination for item in alone.items] == [item.discrimination for item in figures.items]


def test_a_mark_of_a_whole_cell_says_nothing_of_its_items() -> None:
    """A mark of a whole cell determines the points of an item only if the cell has a single item."""
    results, stands = class_of()
    standing = compute_standing(
        results["s00"].score,
        RUBRIC,
        {("exam", "q2"): PersonMark(Decimal(6)), ("exam", "q1"): PersonMark(Decimal(1))},
    )
    figures = compute_figures(RUBRIC, results, {**stands, "s00": standing})
    assert [12, 11, 11] == [item.settled for item in figures.items]
    assert [12, 12] == [question.settled for question in figures.questions]
    assert Decimal(sum(points[0] for points in POINTS) - 3) / 12 == pytest.approx(
        figures.items[0].mean, abs=Decimal("0.01")
    )


def test_mistakes_with_answers_of_nobody() -> None:
    """The most frequent mistakes come first, with their messages and distinct answers, without names."""
    answers = ["width = 3  # Ada Lovelace, s02", "width = 3", "width = 3", "width = 5"]
    results, stands = {}, {}
    for at, source in enumerate(answers):
        changed = replace(graded(f"s{at:02}", 2, source), stated={"first_name": "Ada"})
        results[f"s{at:02}"], stands[f"s{at:02}"] = changed, compute_standing(changed.score, RUBRIC)
    results["s09"] = graded("s09", 0, "width = 0")
    stands["s09"] = compute_standing(results["s09"].score, RUBRIC)
    found = compute_figures(RUBRIC, results, stands, {"s00": ("Lovelace",)}).items[0].mistakes
    assert [("count.half", 4), ("count.other", 1)] == [(mistake.code, mistake.students) for mistake in found]
    assert ["width = 3", "width = 5", "width = 3  # … …, s02"] == [
        example.text for example in found[0].examples
    ]
    assert {"en": "It is 2."} == found[0].said.text


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        ("Ada wrote adapt, ADA.", ("Ada",), "… wrote adapt, …."),
        ("by Ada Lovelace", ("Ada Lovelace",), "by …"),
        ("x = max(Lo)", ("Lo",), "x = max(Lo)"),
        ("a.b+c", ("a.b+c",), "…"),
        ("nothing", (), "nothing"),
    ],
)
def test_names_in_answers(text: str, names: tuple[str, ...], wanted: str) -> None:
    """Names and their words of three or more letters are redacted and not treated as patterns."""
    assert wanted == redact_names(text, names)


def test_nobody_and_one_student() -> None:
    """Classes of no or one student have statistics, without those that are undefined."""
    empty = compute_figures(RUBRIC, {}, {})
    assert (0, Decimal(0), Decimal(0), None) == (
        empty.students,
        empty.mean,
        empty.median,
        empty.deviation,
    )
    alone = told(POINTS[:1])
    assert (1, Decimal(10), None) == (alone.students, alone.mean, alone.deviation)
