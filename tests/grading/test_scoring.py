"""Marks are exact and complete, and stay within the points of the rubric."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.errors import NotebookError, RubricError
from autograder.core.records import ItemResult, Message, Note, Score, Status
from autograder.grading.grades import compute_score, refuse_questions
from autograder.messages import render_message
from autograder.rubric import parse_rubric

RUBRIC = parse_rubric(b"""
version = 3
[assignment]
name = "test"
points = 5
notebooks = [{ name = "one" }, { name = "two" }]
[[question]]
id = "a"
kind = "number"
points = 3
notebook = "one"
item = [
  { id = "x", points = 1, text = { en = "x" } },
  { id = "y", points = 2, text = { en = "y" } },
  { id = "late", points = -1.5, text = { en = "late" } },
]
[[question]]
id = "b"
kind = "written"
points = 2
notebook = "two"
item = [{ id = "z", points = 2, text = { en = "z" }, manual = true }]
""")
ITEMS = [(question.id, item) for question in RUBRIC.questions for item in question.items]


def one(question: str, item: str, status: Status, points: str, possible: str) -> ItemResult:
    """Return a result."""
    return ItemResult(question, item, status, Decimal(points), Decimal(possible), Message("passed"), "staff")


def full() -> dict[str, tuple[ItemResult, ...]]:
    """Return the results of right answers without late submission."""
    return {
        "a": (
            one("a", "x", Status.PASSED, "1", "1"),
            one("a", "y", Status.PASSED, "2", "2"),
            one("a", "late", Status.PASSED, "0", "0"),
        ),
        "b": (one("b", "z", Status.NEEDS_REVIEW, "0", "2"),),
    }


def test_points_add_up() -> None:
    """Earned, possible and pending points are exact sums; order, version and notes are kept."""
    notes = (Note("duplicate", "a cell stood twice"),)
    marks = compute_score("ada", RUBRIC, full(), notes, "none")
    assert (Decimal(3), Decimal(5), Decimal(2)) == (marks.points, marks.possible, marks.pending)
    assert [item.id for _, item in ITEMS] == [item.item for item in marks.items]
    assert ("ada", "test", 3, notes, "none") == (
        marks.student, marks.assignment, marks.rubric_version, marks.notes, marks.isolation,
    )  # fmt: skip


def test_a_missing_result_is_for_a_person() -> None:
    """An item without a result needs manual review."""
    marks = compute_score("ada", RUBRIC, {})
    assert {(Status.NEEDS_REVIEW, "review.missing")} == {(item.status, item.code) for item in marks.items}
    assert Decimal(5) == marks.pending


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (one("a", "x", Status.PASSED, "0.5", "1"), "passed with 0.5 of 1"),
        (one("a", "x", Status.PASSED, "2", "1"), "outside of 0 to 1"),
        (one("a", "x", Status.FAILED, "-1", "1"), "outside of 0 to 1"),
        (one("a", "x", Status.FAILED, "NaN", "1"), "not a number"),
        (one("a", "x", Status.NO_ANSWER, "0.5", "1"), "no-answer with 0.5"),
        (one("a", "x", Status.NEEDS_REVIEW, "1", "1"), "needs-review with 1"),
        (one("a", "x", Status.PASSED, "1", "7"), "possible is 7"),
    ],
)
def test_a_result_that_breaks_a_rule_is_ours(broken: ItemResult, rule: str) -> None:
    """An invalid result is replaced by NEEDS_REVIEW, and staff see which rule it breaks."""
    results = {**full(), "a": (broken, *full()["a"][1:])}
    marks = compute_score("ada", RUBRIC, results)
    assert (Status.NEEDS_REVIEW, Decimal(0), Decimal(1)) == (
        marks.items[0].status, marks.items[0].points, marks.items[0].possible,
    )  # fmt: skip
    assert rule in marks.items[0].staff
    assert ["broken-result"] == [note.code for note in marks.notes]


@pytest.mark.parametrize(
    ("x", "y", "total"), [("1", "2", "1.5"), ("0", "2", "0.5"), ("1", "0", "0"), ("0", "0", "0")]
)
def test_a_question_never_goes_below_zero(x: str, y: str, total: str) -> None:
    """A negative item subtracts at most the points that the question earned."""
    results = {
        "a": (
            one("a", "x", Status.FAILED if x == "0" else Status.PASSED, x, "1"),
            one("a", "y", Status.FAILED if y == "0" else Status.PASSED, y, "2"),
            one("a", "late", Status.FAILED, "-1.5", "-1.5"),
        )
    }
    assert Decimal(total) == sum(item.points for item in compute_score("ada", RUBRIC, results).items[:3])


def test_several_deductions_take_what_the_others_left() -> None:
    """Deductions apply in order until no points are left; pending ones subtract nothing."""
    items = ", ".join(f'{{ id = "{name}", points = -1, text = {{ en = "late" }} }}' for name in "stu")
    question = f"""
version = 1
[assignment]
name = "test"
points = 2
[[question]]
id = "a"
kind = "number"
points = 2
item = [{{ id = "x", points = 2, text = {{ en = "x" }} }}, {items}]
"""
    results = {
        "a": (
            one("a", "x", Status.FAILED, "1.5", "2"),
            *(one("a", name, Status.FAILED, "-1", "-1") for name in "stu"),
        )
    }
    scored_items = compute_score("ada", parse_rubric(question.encode()), results).items
    assert ["1.5", "-1", "-0.5", "0"] == [f"{item.points.normalize():f}" for item in scored_items]


RESULTS = st.builds(
    ItemResult,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["x", "y", "z", "late", "other"]),
    st.sampled_from(list(Status)),
    st.decimals(-3, 3, places=2) | st.just(Decimal("NaN")) | st.just(Decimal("Infinity")),
    st.sampled_from([Decimal(0), Decimal(1), Decimal(2), Decimal("-1.5")]),
    st.just(Message("passed")),
    st.text(max_size=5),
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(RESULTS, max_size=8)))
def test_scores_keep_every_rule(results: dict[str, list[ItemResult]]) -> None:
    """For any results, each question stays between zero and its points, with items in order."""
    marks = compute_score("ada", RUBRIC, results)
    assert [(question, item.id) for question, item in ITEMS] == [(i.question, i.item) for i in marks.items]
    for question in RUBRIC.questions:
        total = sum(item.points for item in marks.items if item.question == question.id)
        assert Decimal(0) <= total <= question.points
    for (_, item), result in zip(ITEMS, marks.items, strict=True):
        assert max(item.points, Decimal(0)) == result.possible
        if result.status is Status.PASSED:
            assert result.possible == result.points
    assert marks == compute_score("ada", RUBRIC, results)


NEEDS = parse_rubric(b"""
version = 1
[assignment]
name = "needs"
points = 3
[[question]]
id = "q"
kind = "number"
points = 3
item = [
  { id = "ground", points = 1, text = { en = "ground" } },
  { id = "roof", points = 2, text = { en = "roof" }, needs = ["ground"] },
]
""")


@pytest.mark.parametrize(
    ("ground", "roof", "expected"),
    [
        (Status.PASSED, Status.PASSED, (Status.PASSED, "2")),
        (Status.FAILED, Status.PASSED, (Status.FAILED, "0")),
        (Status.NO_ANSWER, Status.PASSED, (Status.FAILED, "0")),
        (Status.NEEDS_REVIEW, Status.PASSED, (Status.NEEDS_REVIEW, "0")),
        (Status.FAILED, Status.FAILED, (Status.FAILED, "0")),
        (Status.NEEDS_REVIEW, Status.NO_ANSWER, (Status.NO_ANSWER, "0")),
    ],
)
def test_an_item_earns_nothing_without_what_it_needs(
    ground: Status, roof: Status, expected: tuple[Status, str]
) -> None:
    """An item fails if a required item is lost, and waits while that item is open."""
    results = {
        "q": (
            one("q", "ground", ground, "1" if ground is Status.PASSED else "0", "1"),
            one("q", "roof", roof, "2" if roof is Status.PASSED else "0", "2"),
        )
    }
    result = compute_score("ada", NEEDS, results).items[1]
    assert (expected[0], Decimal(expected[1])) == (result.status, result.points)


def test_needs_must_name_another_item() -> None:
    """An unknown item in `needs` is rejected with the known items."""
    text = b"""
version = 1
assignment = { name = "x", points = 1 }
[[question]]
id = "q"
kind = "number"
points = 1
item = [{ id = "a", points = 1, text = { en = "a" }, needs = ["b"] }]
"""
    with pytest.raises(RubricError, match="needs: 'b' is no other item; known: none"):
        parse_rubric(text)


def refused(error: NotebookError, notebook: str = "") -> Score:
    """Return the marks if one notebook or all of them cannot be read."""
    return compute_score("ada", RUBRIC, refuse_questions(RUBRIC, error, notebook=notebook))


@pytest.mark.parametrize(
    "code", ["not-json", "not-readable", "merge-conflict", "symlink", "no-notebook", "unread-files"]
)
def test_an_unreadable_notebook_is_never_a_final_zero(code: str) -> None:
    """Each item of an unreadable notebook needs manual review, with the reason for students and staff."""
    marks = refused(NotebookError(code, "the file is cut off at byte 3."))
    assert {(Status.NEEDS_REVIEW, code)} == {(item.status, item.code) for item in marks.items}
    assert Decimal(0) == marks.points
    assert marks.pending == sum(item.possible for item in marks.items)
    assert "the file is cut off at byte 3." in render_message(marks.items[0].student, "de")
    assert "the file is cut off at byte 3." in marks.items[0].staff


@pytest.mark.parametrize("code", ["missing", "late"])
def test_what_was_not_handed_in_or_came_too_late_is_no_answer(code: str) -> None:
    """A missing submission, or one that is too late, counts as no answer."""
    marks = refused(NotebookError(code, "code.ipynb was not handed in."))
    assert {(Status.NO_ANSWER, code)} == {(item.status, item.code) for item in marks.items}
    assert (Decimal(0), Decimal(0)) == (marks.points, marks.pending)


def test_one_of_two_notebooks_can_be_refused() -> None:
    """Only the questions of the unreadable notebook have the reason."""
    marks = refused(NotebookError("empty", "the file is empty."), "two")
    assert ["review.missing"] * 3 + ["empty"] == [item.code for item in marks.items]
