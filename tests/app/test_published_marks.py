"""Published marks: which pages may be written, and what they say."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.app.published_marks import (
    AgreedChange,
    PublishedMarks,
    ShownMark,
    make_shown_mark,
    plan_pages,
    read_published,
    update_published,
    write_published,
)
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading.grades import MarkChange, PersonMark, compute_standing
from tests.store.examples import RUBRIC, good

THEN, LATER = datetime(2031, 2, 3, 4, 5, tzinfo=UTC), datetime(2031, 3, 4, 5, 6, tzinfo=UTC)
SHOWN = ShownMark(
    THEN,
    Decimal(3),
    Decimal(5),
    "2.0",
    {"mlp.formula": "2/2", "mlp.why": "1/1", "thoughts.any": "0/2", "given": "0", "extra": "0", "taken": "0"},
)
OPEN = replace(SHOWN, total=Decimal(2), grade="1.0 to 3.0", parts={**SHOWN.parts, "mlp.why": "open/1"})


def moved(shown: ShownMark, total: str = "4", **parts: str) -> ShownMark:
    """Return the mark with changed parts; ``_`` stands for the point in their names."""
    named = {name.replace("_", "."): said for name, said in parts.items()}
    return replace(shown, at=LATER, total=Decimal(total), parts={**shown.parts, **named})


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        (SHOWN, replace(SHOWN, at=LATER), False),
        (SHOWN, moved(SHOWN, mlp_formula="1/2"), True),
        (SHOWN, moved(SHOWN, mlp_formula="2/3"), True),
        (SHOWN, moved(SHOWN, "3", mlp_formula="1/2", mlp_why="2/1"), True),
        (SHOWN, moved(SHOWN, mlp_why="open/1"), True),
        (SHOWN, moved(SHOWN, extra="0.5"), True),
        (SHOWN, replace(SHOWN, grade="1.7"), True),
        (SHOWN, replace(SHOWN, parts={**SHOWN.parts, "new.item": "0/1"}), True),
        (OPEN, SHOWN, False),
        (OPEN, replace(SHOWN, parts={**SHOWN.parts, "mlp/mlp-why": "1/1"}), False),
        (OPEN, moved(OPEN, mlp_why="0/1", mlp_formula="1/2"), True),
        (OPEN, moved(OPEN, mlp_why="0/1", given="1"), True),
        (replace(OPEN, scale="a"), replace(SHOWN, scale="a"), False),
        (replace(OPEN, scale="a"), replace(OPEN, grade="1.3 to 3.3", scale="b"), True),
        (replace(OPEN, scale="a"), replace(OPEN, scale="b"), False),
        (OPEN, moved(OPEN, "1.5", late="10 percent, leaving 0"), True),
        (moved(OPEN, late="10 percent, leaving 0"), moved(OPEN, late="20 percent, leaving 0"), True),
    ],
)
def test_what_was_shown_moves_and_what_was_open_does_not(
    before: ShownMark, after: ShownMark, *, moves: bool
) -> None:
    """A published item, adjustment or grade that changes is a change; an item that was still open is not."""
    assert moves is before.is_changed_by(after)


def test_a_page_with_another_mark_needs_a_reason() -> None:
    """A page with a changed mark needs a stated reason; otherwise it is kept and reported.

    Others are written.
    """
    agreed = {"bob": AgreedChange("x", THEN, "13 counts")}
    published = PublishedMarks(THEN, {"ada": SHOWN, "bob": SHOWN, "eve": SHOWN, "gone": SHOWN}, agreed)
    other = moved(SHOWN, mlp_formula="1/2")
    now = {"ada": other, "bob": other, "eve": replace(SHOWN, at=LATER), "new": SHOWN}
    plan = plan_pages(published, now, "", LATER)
    assert ({"ada", "gone"}, {"bob", "eve", "new"}) == (plan.left, plan.now.keys())
    assert {"bob": (MarkChange(THEN, Decimal(3), Decimal(4), "13 counts"),)} == plan.changes
    assert any(
        "ada was shown 3 of 5, grade 2.0 since 2031-02-03 04:05 UTC" in refusal for refusal in plan.refused
    )
    after = update_published(published, plan, {"bob", "new"}, LATER)
    assert (THEN, {}, SHOWN) == (after.at, after.agreed, after.shown["ada"])
    assert plan.now["bob"] == after.shown["bob"]
    assert "new" in after.shown
    with_reason = plan_pages(published, now, "Read again.", LATER)
    assert (MarkChange(LATER, Decimal(3), Decimal(4), "Read again."),) == with_reason.changes["ada"]


def test_a_change_is_told_for_good() -> None:
    """Later pages list all earlier changes, too."""
    once = replace(SHOWN, changes=(MarkChange(THEN, Decimal(2), Decimal(3), "first"),))
    plan = plan_pages(PublishedMarks(THEN, {"ada": once}), {"ada": replace(SHOWN, at=LATER)}, "", LATER)
    assert once.changes == plan.changes["ada"]
    again = moved(SHOWN, mlp_formula="1/2")
    plan = plan_pages(PublishedMarks(THEN, {"ada": once}), {"ada": again}, "second " * 1_000, LATER)
    assert ["first", ("second " * 1_000)[:1_000]] == [change.reason for change in plan.changes["ada"]]


def test_a_page_shows_items_and_what_was_given_besides() -> None:
    """A different item or a bonus point is a change, even if the total is the same."""
    score = good().score
    plain = make_shown_mark(score, RUBRIC, compute_standing(score, RUBRIC), THEN)
    assert {"task3-b.formula": "1/1", "task3-b.why": "open/1", "mha.plain": "3/3", "given": "0"}.items() <= (
        plain.parts.items()
    )
    shown = make_shown_mark(score, RUBRIC, compute_standing(score, RUBRIC, None, Decimal(1)), LATER)
    assert plain.is_changed_by(shown)
    assert "1" == shown.parts["given"]
    mark = {("exam", "task3-b-why"): PersonMark(Decimal("0.5"), Decimal("-0.5"))}
    by_person = make_shown_mark(score, RUBRIC, compute_standing(score, RUBRIC, mark), LATER)
    assert ("0.5/1", "0.5") == (by_person.parts["task3-b/task3-b-why"], by_person.parts["taken"])


def test_it_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    """Published marks are read back unchanged from a private file.

    A damaged file stops any change of marks.
    """
    course, published = Course(tmp_path), PublishedMarks(THEN, {"ada": SHOWN})
    assert PublishedMarks() == read_published(course, "small")
    write_published(course, "small", published)
    path = course.private / "published" / "small.json"
    assert (published, 0o600) == (read_published(course, "small"), path.stat().st_mode & 0o777)
    path.write_bytes(b"{}x")
    with pytest.raises(CourseError, match="restore it from a copy"):
        read_published(course, "small")
