"""Comparing a student's results: items and manual marks, exactly."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder.core.records import ItemResult, Message, Score, Status
from autograder.grading import grades
from autograder.grading.grades import PersonMark, compute_automatic_points
from autograder.marking.mark_follower import MarkFollower, get_settled_points
from autograder.marking.moves import MarkedScore, compare_rubrics, compare_student, sort_moves
from autograder.rubric import Item, Rubric
from tests.support import small_course

RUBRIC = small_course.load_rubric()
WHY = ("formulas", "mlp-why")
SOFTMAX = ("code", "softmax")


def scored(rubric: Rubric = RUBRIC, **failed: str) -> Score:
    """Return a score with everything right except the given items; manual items are open."""

    def verdict(question: str, item: Item) -> ItemResult:
        possible, own = max(item.points, Decimal(0)), failed.get(question, "").split()
        status, points = Status.PASSED, possible
        if item.manual:
            status, points = Status.NEEDS_REVIEW, Decimal(0)
        elif item.id in own:
            status, points = Status.FAILED, min(item.points, Decimal(0))
        return ItemResult(question, item.id, status, points, possible, Message("passed"), "")

    results = {one.id: tuple(verdict(one.id, item) for item in one.items) for one in rubric.questions}
    return grades.compute_score("ada", rubric, results)


def worth(**points: str) -> Rubric:
    """Return the rubric with other points for items of softmax, or of why."""
    questions = []
    for question in RUBRIC.questions:
        items = tuple(
            replace(item, points=Decimal(points.get(item.id, item.points))) for item in question.items
        )
        total = sum((item.points for item in items if item.points > 0), Decimal(0))
        questions.append(replace(question, items=items, points=total))
    return replace(RUBRIC, questions=tuple(questions), digest="another")


def test_nobody_moves_by_the_same_result() -> None:
    """The same result gives no difference, with marks that are final or need another review."""
    for marks in ({}, {WHY: PersonMark(Decimal(1))}, {WHY: PersonMark(Decimal(1), again=True)}):
        marked = MarkedScore(scored(), RUBRIC, marks)
        assert compare_student(marked, marked) is None


def test_items_are_told_and_the_sum_is_that_of_the_class() -> None:
    """A move states old and new points of each item, and the total as shown on pages."""
    move = compare_student(
        MarkedScore(scored(), RUBRIC), MarkedScore(scored(softmax="batch overflow"), RUBRIC)
    )
    assert move is not None
    assert [("batch", 1, 0), ("overflow", 0, Decimal("-0.5"))] == [
        (item.item, item.before, item.after) for item in move.items
    ]
    assert move.before is not None
    assert Decimal("-1.5") == move.by == move.after.total - move.before.total
    assert all(item.moves and item.differs for item in move.items)


def test_what_is_told_otherwise_is_told_last() -> None:
    """The largest loss comes first; a changed message without a change of points comes last."""
    original = scored()
    first = replace(original.items[0], student=Message("", text={"en": "Other words."}))
    reworded = replace(original, items=(first, *original.items[1:]))
    moves = [
        compare_student(MarkedScore(scored(), RUBRIC), MarkedScore(score, RUBRIC))
        for score in (reworded, scored(softmax="rows"), scored(softmax="batch"))
    ]
    moved = sort_moves(move for move in moves if move is not None)
    assert [-3, -1, 0] == [move.by for move in moved]
    assert [False] == [move.moves for move in moved[-1].items]


def test_a_mark_of_a_whole_cell_is_compared_as_one() -> None:
    """A mark of a whole cell is compared as one, ignoring automatic results that it replaces."""
    before, after = (
        MarkedScore(scored(), RUBRIC),
        MarkedScore(scored(), RUBRIC, {SOFTMAX: PersonMark(Decimal(1))}),
    )
    move = compare_student(before, after)
    assert move is not None
    [item] = move.items
    assert ("rows+batch+overflow", 3, 1, 3, True) == (
        item.item, item.before, item.after, item.possible_after, item.by_person,
    )  # fmt: skip
    other = replace(after, score=scored(softmax="rows"))
    assert compare_student(after, other) is None


def test_questions_that_come_and_go_are_told() -> None:
    """Added questions start from zero, and removed ones end at zero."""
    shorter = replace(RUBRIC, questions=RUBRIC.questions[:-2])
    long, short = MarkedScore(scored(), RUBRIC), MarkedScore(scored(shorter), shorter)
    came, went = compare_student(short, long), compare_student(long, short)
    assert came is not None
    assert went is not None
    names = {"rows", "batch", "overflow", "any"}
    assert names == {item.item for item in came.items} == {item.item for item in went.items}
    assert Decimal(3) == came.by == -went.by


def test_changes_of_a_rubric_are_points_and_texts() -> None:
    """Changes of points and texts are listed item by item."""
    [change] = compare_rubrics(RUBRIC, worth(rows="4"))
    assert ("softmax", "rows", 2, 4) == (
        change.question, change.item, change.worth_before, change.worth_after,
    )  # fmt: skip


@given(
    quarters=st.integers(0, 8),
    batch=st.integers(0, 4),
    now=st.sampled_from(["1", "2", "2.5", "3", "4", "10"]),
    failed=st.sampled_from(["", "rows", "batch", "rows batch"]),
)
def test_following_twice_is_following_once(quarters: int, batch: int, now: str, failed: str) -> None:
    """Applying a rubric change to a mark twice gives the same result as applying it once."""
    rubric = worth(rows=now)
    items = {"rows": Decimal(quarters) / 4, "batch": Decimal(batch) / 4}
    mark = PersonMark(
        sum(items.values(), Decimal(0)), items=items, worth={"rows": Decimal(2), "batch": Decimal(1)}
    )
    before, after = scored(softmax=failed), scored(rubric, softmax=failed)
    follower = MarkFollower(rubric, before, after, False)
    followed = follower.follow_mark(
        SOFTMAX, mark, get_settled_points(compute_automatic_points(before, RUBRIC)[SOFTMAX])
    )
    assert followed.points is not None
    assert Decimal(0) <= followed.items["rows"] <= Decimal(now) == followed.worth["rows"]
    assert items["batch"] == followed.items["batch"]
    assert (items["rows"] == 2) <= (followed.items["rows"] == Decimal(now))
    assert not followed.again
    same = MarkFollower(rubric, after, after, False)
    automatic = get_settled_points(compute_automatic_points(after, rubric)[SOFTMAX])
    assert followed == same.follow_mark(SOFTMAX, followed, automatic)
