"""Points of items: bounds, sums of cells, and marks after changes of the rubric."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.core.records import ItemResult, Message, Score, Status
from autograder.grading.grades import compute_automatic_points
from autograder.marking.points import (
    collect_verdicts,
    compute_cell_points,
    get_bounds,
    is_within,
    list_items,
    scale_points,
)
from autograder.rubric import AssignmentSettings, Item, Question, Rubric

WORTH = st.decimals("-20", "20", places=2)
SHARE = st.integers(0, 100)


def question(*points: Decimal, cells: tuple[str, ...] = ()) -> Question:
    """Return a question with an item for each of these points, in its own cell or in the given cells."""
    named = cells or ("",) * len(points)
    items = tuple(
        Item(str(number), worth, {}, cell=cell)
        for number, (worth, cell) in enumerate(zip(points, named, strict=True))
    )
    return Question("q", "manual", sum((max(one, Decimal(0)) for one in points), Decimal(0)), items)


@given(WORTH, WORTH, SHARE)
def test_a_rescaled_mark_lies_between_nothing_and_the_items_points(
    of: Decimal, now: Decimal, share: int
) -> None:
    """The rescaled mark is always within the item's current bounds."""
    assert is_within(scale_points(of * share / 100, of, now), Item("a", now, {}))


@given(WORTH.filter(bool), WORTH)
def test_full_stays_full_and_none_stays_none(of: Decimal, now: Decimal) -> None:
    """Full and zero marks stay full and zero, unless a deduction became a credit or vice versa."""
    assert Decimal(0) == scale_points(Decimal(0), of, now)
    assert (now if of * now > 0 else Decimal(0)) == scale_points(of, of, now)


@given(WORTH, SHARE)
def test_a_mark_stays_where_the_points_stay(of: Decimal, share: int) -> None:
    """A mark is unchanged if the points are, even with more than two decimal places."""
    points = of * share / 100
    assert points == scale_points(points, of, of)


@given(WORTH.filter(bool), WORTH, SHARE, SHARE)
def test_the_order_of_marks_stays(of: Decimal, now: Decimal, one: int, other: int) -> None:
    """Rescaling keeps the order of two students' marks."""
    low, high = sorted((one, other))
    first, second = (scale_points(of * share / 100, of, now) for share in (low, high))
    assert abs(first) <= abs(second)


@given(WORTH.filter(bool), WORTH, SHARE)
def test_a_rescaled_mark_is_in_proportion_within_half_a_cent(of: Decimal, now: Decimal, share: int) -> None:
    """The error of rescaling is at most half of a hundredth of a point."""
    if of * now > 0:
        off = scale_points(of * share / 100, of, now) - now * share / 100
        assert abs(off) <= Decimal("0.005")


@pytest.mark.parametrize(
    ("points", "of", "now", "expected"),
    [
        ("1", "2", "3", "1.5"),
        ("0.5", "1", "0.25", "0.13"),
        ("-0.5", "-1", "-0.25", "-0.13"),
        ("1", "3", "1", "0.33"),
        ("0.99", "1", "0.016", "0.016"),
        ("3", "2", "4", "4"),
        ("1", "0", "4", "0"),
        ("1", "2", "0", "0"),
        ("-1", "2", "4", "0"),
        ("1", "3", "2.9999999999999999999999999999999999", "1"),
    ],
)
def test_rescaled_by_example(points: str, of: str, now: str, expected: str) -> None:
    """Halves are rounded away from zero, and marks are limited to the item's points."""
    assert Decimal(expected) == scale_points(Decimal(points), Decimal(of), Decimal(now))


@pytest.mark.parametrize(
    ("worth", "inside", "outside"),
    [("2", "0 0.5 2 -0", "-0.01 2.01 NaN Infinity sNaN"), ("-1", "-1 -0.5 0", "0.01 -1.01 -Infinity")],
)
def test_what_a_person_can_give(worth: str, inside: str, outside: str) -> None:
    """A mark lies between zero and the item's points, positive or negative; NaN is never valid."""
    item = Item("a", Decimal(worth), {})
    assert (min(Decimal(worth), Decimal(0)), max(Decimal(worth), Decimal(0))) == get_bounds(item)
    assert all(is_within(Decimal(number), item) for number in inside.split())
    assert not any(is_within(Decimal(number), item) for number in outside.split())


@given(
    st.lists(
        st.tuples(WORTH | st.just(Decimal(0)), SHARE, st.sampled_from(list(Status))), min_size=1, max_size=6
    )
)
@example([(Decimal(0), 0, Status.NEEDS_REVIEW), (Decimal(1), 100, Status.PASSED)])
def test_without_anything_given_a_cell_is_what_grading_makes_of_it(
    lines: list[tuple[Decimal, int, Status]],
) -> None:
    """Without manual marks, the cell has the bounded sum of grading, or None if an item is open."""
    asked_question = question(*(worth for worth, _, _ in lines))
    results = tuple(
        ItemResult("q", str(number), status, worth * share / 100, worth, Message("passed"), ())
        for number, (worth, share, status) in enumerate(lines)
    )
    score = Score("ada", "a", 1, results)
    rubric = Rubric(1, AssignmentSettings("a", asked_question.points), (asked_question,), "")
    automatic = compute_automatic_points(score, rubric)[asked_question.notebook, "q"]
    cell_points = compute_cell_points(asked_question, "q", collect_verdicts(asked_question, "q", score), {})
    assert (None if automatic.pending else automatic.points) == cell_points


@given(st.lists(st.tuples(WORTH, SHARE, st.booleans()), min_size=1, max_size=6))
def test_what_people_gave_stands_before_what_grading_found(lines: list[tuple[Decimal, int, bool]]) -> None:
    """Manual marks override automatic points; their sum is between zero and the cell's points."""
    asked_question = question(*(worth for worth, _, _ in lines))
    points = {str(number): worth * share / 100 for number, (worth, share, _) in enumerate(lines)}
    verdicts = {
        str(number): None if by_hand else points[str(number)] for number, (_, _, by_hand) in enumerate(lines)
    }
    given_marks = {name: points[name] for name, verdict in verdicts.items() if verdict is None}
    expected = min(max(sum(points.values()), Decimal(0)), asked_question.points)
    assert expected == compute_cell_points(asked_question, "q", verdicts, given_marks)


def test_a_cell_has_no_points_while_one_item_has_none() -> None:
    """An item without verdict and mark keeps its whole cell open, but not other cells."""
    asked_question = question(Decimal(1), Decimal(2), Decimal(3), cells=("", "", "other"))
    assert compute_cell_points(asked_question, "q", {"0": Decimal(1), "1": None}, {}) is None
    assert compute_cell_points(asked_question, "q", {}, {"1": Decimal(2)}) is None
    assert Decimal(3) == compute_cell_points(
        asked_question, "q", {"0": Decimal(1), "1": None}, {"1": Decimal(2)}
    )
    assert Decimal(3) == compute_cell_points(asked_question, "other", {"2": Decimal(3)}, {"0": Decimal(1)})
    assert ["0", "1"] == [item.id for item in list_items(asked_question, "q")]
    with pytest.raises(KeyError):
        compute_cell_points(asked_question, "nowhere", {}, {})
