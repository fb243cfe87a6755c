"""Figures of small classes, made by hand and computed otherwise; grades if a boundary lay elsewhere."""

from __future__ import annotations

import random
import statistics as numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest
from msgspec.structs import replace

from autograder.core.records import (
    Cell,
    CellRun,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Message,
    ResourceUsage,
    Score,
    Status,
)
from autograder.grading.grades import PersonMark, PersonMarks, Standing, compute_standing
from autograder.marking.boundaries import compute_grade_curve
from autograder.marking.statistics import ClassFigures, compute_figures, redact_names
from autograder.rubric import Rubric, parse_rubric

TOML = """
version = 1
[assignment]
name = "exam"
points = 10
[assignment.grading]
scale = {scale}
{more}
[[question]]
id = "q1"
kind = "number"
points = 4
answer = "width"
[[question.item]]
id = "a"
points = 4
value = 64
text = {{ en = "The width" }}
[[question]]
id = "q2"
kind = "written"
points = 6
answer_cell = "q2"
[[question.item]]
id = "x"
points = 4
manual = true
text = {{ en = "The claim" }}
[[question.item]]
id = "y"
points = 2
manual = true
text = {{ en = "The reason" }}
"""


def rubric(scale: str = '"german"', more: str = "") -> Rubric:
    """Two questions, of four points and of four and two by people."""
    return parse_rubric(TOML.format(scale=scale, more=more).encode(), "exam")


RUBRIC = rubric()
POINTS = (
    *((4, 4, 2), (4, 3, 2), (2, 2, 0), (0, 1, 1), (4, 0, 0), (2, 4, 2)),
    *((0, 0, 0), (2, 2, 1), (4, 4, 1), (0, 2, 2), (2, 1, 0), (4, 3, 1)),
)
"""Of twelve students: the three items."""
CODES = {0: "count.other", 2: "count.half"}


def graded(student: str, points: int, source: str = "", seconds: float = 0.0) -> GradingResult:
    """A result: the first item by the grader, the others for a person."""
    status = Status.PASSED if points == 4 else Status.FAILED
    told = Message("x", text={"en": f"It is {points}."})
    items = (
        ItemResult("q1", "a", status, Decimal(points), Decimal(4), told, "", CODES.get(points, "")),
        ItemResult("q2", "x", Status.NEEDS_REVIEW, Decimal(0), Decimal(4), told, ""),
        ItemResult("q2", "y", Status.NEEDS_REVIEW, Decimal(0), Decimal(2), told, ""),
    )
    cells = (Cell(source, "q1-answer"), Cell("locked", "q1", locked=True))
    runs = (CellRun(seconds=seconds), CellRun(seconds=seconds / 2)) if seconds else (None, None)
    return GradingResult(
        Score(student, "exam", 1, items),
        (ExecutedNotebook("exam", cells, runs),),
        seconds=3 * seconds,
        sandbox_seconds=seconds,
        spent=ResourceUsage(processor_seconds=2 * seconds),
    )


def marks(x: int, y: int) -> PersonMarks:
    """What a person gave the two items, and so the cell."""
    own = {"x": Decimal(x), "y": Decimal(y)}
    return {("exam", "q2"): PersonMark(Decimal(x + y), items=own)}


def class_of(
    points: Sequence[tuple[int, int, int]] = POINTS, of: Rubric = RUBRIC, **more: object
) -> tuple[Mapping[str, GradingResult], Mapping[str, Standing]]:
    """A class with such points in its items."""
    results = {f"s{at:02}": graded(f"s{at:02}", one[0], **more) for at, one in enumerate(points)}  # type: ignore[arg-type]
    stands = {
        name: compute_standing(result.score, of, marks(*one[1:]))
        for (name, result), one in zip(results.items(), points, strict=True)
    }
    return results, stands


def told(points: Sequence[tuple[int, int, int]] = POINTS) -> ClassFigures:
    """The figures of such a class."""
    return compute_figures(RUBRIC, *class_of(points))


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """The mean product of standard scores."""
    spreads = numbers.pstdev(one), numbers.pstdev(other)
    means = numbers.fmean(one), numbers.fmean(other)
    scores = [
        (a - means[0]) * (b - means[1]) / (spreads[0] * spreads[1]) for a, b in zip(one, other, strict=True)
    ]
    return sum(scores) / len(scores)


def test_a_class_as_a_whole() -> None:
    """Mean, median, deviation, and tenths of the points."""
    found, sums = told(), [sum(one) for one in POINTS]
    assert (12, Decimal("5.50"), Decimal("4.5")) == (found.students, found.mean, found.median)
    assert numbers.stdev(sums) == pytest.approx(found.deviation)
    assert (1, 0, 1, 1, 3, 1, 0, 0, 2, 3) == found.bars
    assert sorted(map(Decimal, sums)) == list(found.totals)


def test_items_by_other_formulas() -> None:
    """Mean, full, none, difficulty; discrimination without the item itself."""
    for at, one in enumerate(told().items):
        own = [points[at] for points in POINTS]
        rest = [sum(points) - points[at] for points in POINTS]
        assert pearson(own, rest) == pytest.approx(one.discrimination)
        assert sum(own) / (12 * one.item.points.__int__()) == pytest.approx(one.difficulty)
        assert (own.count(int(one.item.points)), own.count(0)) == (one.full, one.none)
        assert (12, 0, 0) == (one.settled, one.waiting, one.unanswered)


def test_questions_by_other_formulas() -> None:
    """A question's points are those of its items; alpha without one of two cannot be told."""
    first, second = told().questions
    own, rest = [one[0] for one in POINTS], [one[1] + one[2] for one in POINTS]
    assert pearson(own, rest) == pytest.approx(first.discrimination)
    assert pearson(own, rest) == pytest.approx(second.discrimination)
    assert (Decimal("2.33"), Decimal("3.17")) == (first.mean, second.mean)
    assert (None, None) == (first.alpha_without, second.alpha_without)


def test_alpha_of_questions_and_of_items() -> None:
    """By variances: k / (k - 1) times the share of the sum's variance that is not the parts' own."""
    found = told()
    sums = numbers.variance([sum(one) for one in POINTS])
    items = [[one[at] for one in POINTS] for at in range(3)]
    questions = [items[0], [one[1] + one[2] for one in POINTS]]
    for parts, one in ((questions, found.by_question), (items, found.by_item)):
        assert one is not None
        wanted = len(parts) / (len(parts) - 1) * (1 - sum(map(numbers.variance, parts)) / sums)
        assert wanted == pytest.approx(one.alpha)
    without_y = [items[0], items[1]]
    sums = numbers.variance([one[0] + one[1] for one in POINTS])
    assert 2 * (1 - sum(map(numbers.variance, without_y)) / sums) == pytest.approx(
        found.items[2].alpha_without
    )


def test_what_waits_is_no_zero() -> None:
    """Nobody's open item counts in a mean; a question that is open for most is left out of alpha."""
    results, _ = class_of()
    stands = {name: compute_standing(one.score, RUBRIC) for name, one in results.items()}
    found = compute_figures(RUBRIC, results, stands)
    assert (0, 12, Decimal(0), None, None) == (
        found.items[1].settled,
        found.items[1].waiting,
        found.items[1].mean,
        found.items[1].difficulty,
        found.items[1].discrimination,
    )
    assert (12, 0) == (found.questions[0].settled, found.questions[0].waiting)
    assert (None, None) == (found.by_question, found.by_item)
    assert (12, 0, Decimal(0), (), None) == (
        found.students,
        found.settled,
        found.mean,
        found.totals,
        found.curve,
    )


@pytest.mark.parametrize("marked", [1, 2, 6, 11, 12])
def test_sums_are_of_students_with_every_answer_marked(marked: int) -> None:
    """As if the others had not sat the exam: a mark that is still to be given is no zero."""
    results, whole = class_of()
    open_, names = (
        {name: compute_standing(one.score, RUBRIC) for name, one in results.items()},
        sorted(results),
    )
    found = compute_figures(RUBRIC, results, {**open_, **{name: whole[name] for name in names[:marked]}})
    few, stands = class_of(POINTS[:marked])
    alone = compute_figures(RUBRIC, few, stands)
    assert (12, marked) == (found.students, found.settled)
    for name in ("mean", "median", "deviation", "totals", "bars", "curve"):
        assert getattr(alone, name) == getattr(found, name), name
    assert [one.discrimination for one in alone.items] == [one.discrimination for one in found.items]


def test_a_mark_of_a_whole_cell_says_nothing_of_its_items() -> None:
    """The question has its points; of several items none is known, of a single one all is."""
    results, stands = class_of()
    one = compute_standing(
        results["s00"].score,
        RUBRIC,
        {("exam", "q2"): PersonMark(Decimal(6)), ("exam", "q1"): PersonMark(Decimal(1))},
    )
    found = compute_figures(RUBRIC, results, {**stands, "s00": one})
    assert [12, 11, 11] == [item.settled for item in found.items]
    assert [12, 12] == [question.settled for question in found.questions]
    assert Decimal(sum(points[0] for points in POINTS) - 3) / 12 == pytest.approx(
        found.items[0].mean, abs=Decimal("0.01")
    )


def test_mistakes_with_answers_of_nobody() -> None:
    """The most frequent first, with what was told and different answers, without names."""
    answers = ["width = 3  # Ada Lovelace, s02", "width = 3", "width = 3", "width = 5"]
    results, stands = {}, {}
    for at, source in enumerate(answers):
        one = replace(graded(f"s{at:02}", 2, source), stated={"first_name": "Ada"})
        results[f"s{at:02}"], stands[f"s{at:02}"] = one, compute_standing(one.score, RUBRIC)
    results["s09"] = graded("s09", 0, "width = 0")
    stands["s09"] = compute_standing(results["s09"].score, RUBRIC)
    found = compute_figures(RUBRIC, results, stands, {"s00": ("Lovelace",)}).items[0].mistakes
    assert [("count.half", 4), ("count.other", 1)] == [(one.code, one.students) for one in found]
    assert ["width = 3", "width = 5", "width = 3  # … …, s02"] == [one.text for one in found[0].examples]
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
    """Whole names and their words, of three letters and more; nothing of a name is a pattern."""
    assert wanted == redact_names(text, names)


def test_times_are_of_those_who_were_measured() -> None:
    """By the clock and of the processor; of a question, its own cells together."""
    results, stands = class_of(seconds=2.0)
    results = {**results, "s00": graded("s00", 4)}
    found = compute_figures(RUBRIC, results, stands)
    assert {"grading": 6.0, "sandbox": 2.0, "processor": 4.0} == {
        name: one.median for name, one in found.times.items()
    }
    assert 11 == found.times["grading"].measured
    cells = found.questions[0].cells
    assert cells is not None
    assert (11, 3.0, 3.0, 3.0) == (cells.measured, cells.median, cells.nine_in_ten, cells.longest)


def test_nobody_and_one_student() -> None:
    """There are figures, and what cannot be told is not."""
    empty = compute_figures(RUBRIC, {}, {})
    assert (0, Decimal(0), Decimal(0), None, ()) == (
        empty.students,
        empty.mean,
        empty.median,
        empty.deviation,
        empty.totals,
    )
    assert (None, {}) == (empty.by_item, empty.times)
    alone = told(POINTS[:1])
    assert (1, Decimal(10), None) == (alone.students, alone.mean, alone.deviation)


SCALES = {
    "german": ('"german"', ""),
    "rounded": ('"german"', 'rounding = "up-to-whole"'),
    "letters": ('"letter"', ""),
    "own": ('[{ grade = "A", from = 70 }, { grade = "B", from = 40 }, { grade = "F", from = 0 }]', ""),
}


@pytest.mark.parametrize("name", SCALES)
def test_grades_if_all_boundaries_lay_elsewhere(name: str) -> None:
    """As many have each grade as when everybody had so many points less."""
    of = rubric(*SCALES[name])
    scale = of.assignment.grading
    assert scale is not None
    _, stands = class_of(of=of)
    found = compute_grade_curve(stands.values(), scale)
    assert len(found.moves) == 11
    for by, moved in zip(found.moves, found.together, strict=True):
        names = []
        for points in POINTS:
            here = scale.round_points(Decimal(sum(points)))
            grades = [step.grade for step in scale.steps[:-1] if here - by >= step.least]
            names.append(grades[0] if grades else scale.steps[-1].grade)
        assert [names.count(step.grade) for step in scale.steps] == list(moved.counts)
        passed = sum(scale.round_points(Decimal(sum(one))) - by >= scale.passing for one in POINTS)
        assert (by, passed) == (moved.by, moved.passed)


@pytest.mark.parametrize("name", SCALES)
def test_grades_if_one_boundary_lay_elsewhere(name: str) -> None:
    """Who has that grade or a better one: those at the moved boundary, or at a better one that stayed."""
    of = rubric(*SCALES[name])
    scale = of.assignment.grading
    assert scale is not None
    found = compute_grade_curve(class_of(of=of)[1].values(), scale)
    assert [step.grade for step in scale.steps[:-1]] == [one.grade for one in found.alone]
    for at, one in enumerate(found.alone):
        better = [step.least for step in scale.steps[:at]]
        for by, reached in zip(found.moves, one.reached, strict=True):
            least = min([*better, one.least + by])
            assert sum(scale.round_points(Decimal(sum(points))) >= least for points in POINTS) == reached


def test_the_percent_scale_has_a_pass_alone() -> None:
    """No grades are counted; the pass moves."""
    of = rubric('"percent"')
    scale = of.assignment.grading
    assert scale is not None
    found = compute_grade_curve(class_of(of=of)[1].values(), scale)
    assert ((), 1, "") == (found.grades, len(found.alone), found.alone[0].grade)
    wanted = tuple(sum(sum(one) >= scale.passing + by for one in POINTS) for by in found.moves)
    assert wanted == tuple(one.passed for one in found.together) == found.alone[0].reached


def test_bonus_points_count_as_the_scale_says_where_the_pass_lies_then() -> None:
    """Where only who passes gets them, a lower pass lets somebody have them."""
    of = rubric('"german"', 'bonus = "when-passed"')
    scale = of.assignment.grading
    assert scale is not None
    one = graded("ada", 4)
    stand = compute_standing(one.score, of, marks(0, 0), Decimal(3))
    found = compute_grade_curve([stand], scale)
    at = dict(zip(found.moves, found.together, strict=True))
    assert (0, 1) == (at[Decimal(0)].passed, at[Decimal("-1.0")].passed)
    grade = scale.steps[next(place for place, number in enumerate(at[Decimal("-1.0")].counts) if number)]
    assert Decimal(7) >= grade.least - 1
    assert "2.0" == grade.grade


def test_figures_do_not_follow_from_the_order_of_students() -> None:
    """The same class in another order has the same figures, but for whose answer is shown."""
    results, stands = class_of()
    order = list(results)
    random.Random(3).shuffle(order)
    again = compute_figures(RUBRIC, {one: results[one] for one in order}, stands)
    first = compute_figures(RUBRIC, results, stands)
    assert (first.mean, first.totals, first.curve) == (again.mean, again.totals, again.curve)
    for one, other in zip(first.items, again.items, strict=True):
        assert (one.mean, one.full) == (other.mean, other.full)
        assert one.discrimination == pytest.approx(other.discrimination)
