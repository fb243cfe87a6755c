"""Test grade scales: exact boundaries, one grade per number of points, and never worse for more points."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import rubric
from autograder.core.errors import RubricError
from autograder.rubric import scales
from autograder.rubric.scales import Grade, Scale

OWN = (
    'scale = [{ grade = "gut", from = 80 }, { grade = "bestanden", from = 45.5 }, { grade = "-", from = 0 }]'
)
RUBRIC = """
version = 1
[assignment]
name = "sheet"
points = 3
{grading}
[[question]]
id = "one"
kind = "written"
points = 3
[[question.item]]
id = "text"
points = 3
manual = true
text = {{ en = "The text" }}
[[question]]
id = "more"
kind = "written"
points = 1
bonus = true
[[question.item]]
id = "text"
points = 1
manual = true
text = {{ en = "More" }}
"""


def scale(toml: str = "", possible: int | str = 90) -> Scale:
    """Return the scale of a table ``[assignment.grading]``."""
    return scales.read_scale(
        tomllib.loads(toml, parse_float=Decimal), Decimal(possible), "[assignment.grading]"
    )


def name(points: int | str, toml: str = "", possible: int | str = 90) -> str:
    """Return the grade of some points."""
    return scale(toml, possible).find_grade(Decimal(points)).name


TABLES = ("", "pass = 40", "pass = 33.3333", 'scale = "letter"', 'scale = "percent"', OWN)
HALVES = st.integers(0, 250).map(lambda number: Decimal(number) / 2)
POINTS = HALVES | st.decimals(0, 130, places=3)
SCALES = st.builds(
    lambda table, rounding, bonus, possible: scale(
        f'{table}\nrounding = "{rounding}"\nbonus = "{bonus}"', possible
    ),
    st.sampled_from(TABLES),
    st.sampled_from(["exact", "up-to-half", "up-to-whole"]),
    st.sampled_from(["always", "when-passed"]),
    st.sampled_from(["90", "98", "17", "7", "12.5", "1"]),
)


def rank(given: Scale, points: Decimal) -> Fraction:
    """Return the rank of a grade on any scale: less is better."""
    grade = given.find_grade(points)
    if given.steps:
        return Fraction([step.grade for step in given.steps].index(grade.name))
    return -Fraction(grade.name.removesuffix(" %"))


@pytest.mark.parametrize(
    ("points", "grade"),
    [
        *(("45", "4.0"), ("44.999", "5.0"), ("44.5", "5.0"), ("0", "5.0"), ("-3", "5.0")),
        *(("49.5", "3.7"), ("49.499", "4.0"), ("54", "3.3"), ("58.5", "3.0"), ("63", "2.7"), ("67.5", "2.3")),
        *(("72", "2.0"), ("76.5", "1.7"), ("81", "1.3"), ("85.499", "1.3"), ("85.5", "1.0"), ("99", "1.0")),
    ],
)
def test_the_german_scale_of_ninety_points(points: str, grade: str) -> None:
    """Half of 90 points is exactly 45, and each step is 4.5 points."""
    assert Grade(grade, grade != "5.0") == scale().find_grade(Decimal(points))


def test_another_threshold_moves_the_german_steps() -> None:
    """With 40 % to pass, ten steps of 6 % lead to the best grade at 94 %."""
    given = scale("pass = 40", 100)
    assert [94, 88, 82, 76, 70, 64, 58, 52, 46, 40, 0] == [step.least for step in given.steps]
    assert [*scales.GERMAN, "5.0"] == [step.grade for step in given.steps]


@pytest.mark.parametrize(
    ("points", "grade"),
    [("93", "A"), ("92.99", "A-"), ("60", "D-"), ("59.99", "F"), ("77", "C+"), ("105", "A")],
)
def test_the_letters(points: str, grade: str) -> None:
    """Letters begin at whole percents; every grade except F is a pass."""
    assert Grade(grade, grade != "F") == scale('scale = "letter"', 100).find_grade(Decimal(points))


@pytest.mark.parametrize(
    ("points", "grade", "passed"),
    [
        ("44.9", "49 %", False),
        ("45", "50 %", True),
        ("89.999", "99 %", True),
        ("90", "100 %", True),
        ("99", "110 %", True),
    ],
)
def test_percent_are_rounded_down(points: str, grade: str, passed: bool) -> None:
    """Percents are rounded down, so a failing student never sees the percentage needed to pass."""
    assert Grade(grade, passed) == scale('scale = "percent"').find_grade(Decimal(points))


def test_a_scale_of_ones_own_in_points() -> None:
    """Thresholds may be points; the last grade but one is the lowest pass."""
    given = scale(
        'unit = "points"\n'
        'scale = [{ grade = "+", from = 20.5 }, { grade = "o", from = 9 }, { grade = "-", from = 0 }]',
        30,
    )
    points = ("20.5", "20.4", "9", "8.9")
    assert ["+", "o", "o", "-"] == [given.find_grade(Decimal(one)).name for one in points]
    assert Decimal(9) == given.passing


@pytest.mark.parametrize(
    ("rounding", "points", "grade"),
    [
        *(("exact", "44.99", "5.0"), ("up-to-half", "44.5", "5.0"), ("up-to-half", "44.51", "4.0")),
        *(("up-to-whole", "44.01", "4.0"), ("up-to-whole", "44", "5.0")),
    ],
)
def test_the_rounding_rule(rounding: str, points: str, grade: str) -> None:
    """Points are not rounded, rounded up to halves, or rounded up to whole points before grading."""
    assert grade == name(points, f'rounding = "{rounding}"')


@pytest.mark.parametrize(
    ("rule", "points", "counted"),
    [("always", "44", 49), ("when-passed", "44", 44), ("when-passed", "45", 50), ("always", "45", 50)],
)
def test_bonus_points_can_be_kept_from_those_who_fail(rule: str, points: str, counted: int) -> None:
    """With this rule, 5 bonus points count only if the points without them pass."""
    assert counted == scale(f'bonus = "{rule}"').count_points(Decimal(points), Decimal(5))


@given(SCALES, POINTS)
def test_every_number_of_points_has_exactly_one_grade(given: Scale, points: Decimal) -> None:
    """Each number of points lies in the range of exactly one step, and passes from the threshold."""
    grade, rounded = given.find_grade(points), given.round_points(points)
    assert (rounded >= given.passing) == grade.passed
    above = [None, *(step.least for step in given.steps)]
    inside = [
        step.grade
        for step, end in zip(given.steps, above, strict=False)
        if step.least <= rounded and (end is None or rounded < end)
    ]
    assert inside == ([grade.name] if given.steps else [])


@given(SCALES, POINTS, POINTS, st.integers(0, 20).map(Decimal))
def test_more_points_are_never_a_worse_grade(
    given: Scale, one: Decimal, other: Decimal, bonus: Decimal
) -> None:
    """More points never give a worse grade, with or without bonus points, under every rule."""
    less, more = sorted((one, other))
    assert rank(given, more) <= rank(given, less)
    assert (
        given.count_points(more, bonus)
        >= given.count_points(less, bonus)
        >= given.count_points(less, Decimal(0))
    )


@given(SCALES)
def test_a_boundary_belongs_to_the_better_grade(given: Scale) -> None:
    """A threshold gets the better grade, and the smallest amount below it the next one."""
    exact = scales.Scale(given.name, given.possible, given.passing, given.steps)
    for better, worse in zip(exact.steps, exact.steps[1:], strict=False):
        assert better.grade == exact.find_grade(better.least).name
        assert worse.grade == exact.find_grade(better.least - Decimal("1e-12")).name


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("scal = 3", "did you mean 'scale'"),
        ('scale = "germen"', "did you mean 'german'"),
        ('rounding = "half-up"', "rounding"),
        ("pass = 120", "expected 0 to 100 percent"),
        ("pass = 0", "more than nothing"),
        ("pass = 50.00001", "at most 4 decimals"),
        ("pass = nan", "at most 4 decimals"),
        ('scale = "letter"\npass = 65', "D at 56.7"),
        ('scale = "percent"\npass = 49.5', "whole percent"),
        ('scale = [{ grade = "a", from = 0 }]', "at least two"),
        ('scale = [{ grade = "a", form = 50 }, { grade = "b", from = 0 }]', "did you mean 'from'"),
        ('scale = [{ grade = "a", from = 50 }, { grade = "a", from = 0 }]', "stands 2 times"),
        ('scale = [{ grade = "a", from = 50 }, { grade = "b", from = 50 }]', "not below 'a'"),
        ('scale = [{ grade = "a", from = 50 }, { grade = "b", from = 5 }]', "less has no grade"),
        ('scale = [{ grade = "a", from = 101 }, { grade = "b", from = 0 }]', "expected 0 to 100"),
        (
            'unit = "points"\nscale = [{ grade = "a", from = 90.5 }, { grade = "b", from = 0 }]',
            "0 to 90 points",
        ),
    ],
)
def test_errors_in_a_scale_are_named(toml: str, message: str) -> None:
    """Unknown names get a suggestion; thresholds must decrease to zero and stay within the points."""
    with pytest.raises(RubricError, match=message):
        scale(toml)


def test_a_rubric_has_a_scale_only_where_it_says_so() -> None:
    """An empty table is the German scale, no table is no scale, and bonus points are not possible points."""
    without = rubric.parse_rubric(RUBRIC.format(grading="").encode())
    assert without.assignment.grading is None
    graded = rubric.parse_rubric(RUBRIC.format(grading="[assignment.grading]").encode()).assignment.grading
    assert graded is not None
    assert ("german", Decimal("1.5"), Decimal(3)) == (graded.name, graded.passing, graded.possible)


@pytest.mark.parametrize(
    ("grading", "message"),
    [
        ('[assignment.grading]\nsclae = "letter"', "grading.*did you mean 'scale'"),
        ("grading = 5", "expected a table"),
        ("gradng = 5", "did you mean 'grading'"),
    ],
)
def test_a_rubric_names_the_table(grading: str, message: str) -> None:
    """An error in the table is reported with its place."""
    with pytest.raises(RubricError, match=message):
        rubric.parse_rubric(RUBRIC.format(grading=grading).encode())


def test_nothing_to_grade_is_refused() -> None:
    """A scale without points is rejected."""
    with pytest.raises(RubricError, match="no points to grade"):
        scale("", 0)
