"""Manual points of items in the service's database when the rubric or the result changes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.errors import GradebookError
from autograder.core.records import GradingResult
from autograder.grading.grades import PersonMark, compute_standing
from autograder.rubric import Rubric
from tests.pages.examples import RUBRIC, TOML, good, middling, release
from tests.store.examples import keep

if TYPE_CHECKING:
    from autograder.service.models import CellMark, CourseRecord
    from autograder.service.store import DatabaseStore

MHA, WHY = ("exam", "mha"), ("exam", "task3-b-why")
MASKED = 'id = "masked"\npoints = 3'


def changed(why: str = "1", masked: str = "3") -> Rubric:
    """Return the rubric with other points for two of its items."""
    more_for_why = Decimal(why) - 1
    more = Decimal(masked) - 3
    toml = (
        TOML.replace('id = "why"\npoints = 1', f'id = "why"\npoints = {why}')
        .replace(MASKED, f'id = "masked"\npoints = {masked}')
        .replace("points = 17", f"points = {17 + more_for_why + more}")
        .replace(
            'id = "task3-b"\nkind = "formula"\npoints = 2',
            f'id = "task3-b"\nkind = "formula"\npoints = {2 + more_for_why}',
        )
        .replace("points = 6", f"points = {6 + more}")
    )
    return rubrics.parse_rubric(toml.encode())


def of(rubric: Rubric, graded: GradingResult) -> GradingResult:
    """Return the result with the points of another rubric."""
    worth = {(question.id, item.id): item.points for question in rubric.questions for item in question.items}
    items = tuple(
        replace(item_result, possible=worth[item_result.question, item_result.item])
        for item_result in graded.score.items
    )
    return replace(graded, score=replace(graded.score, items=items))


@pytest.fixture
def store(service_course: CourseRecord) -> DatabaseStore:
    """Return a store with the prepared exam and a result of Grace."""
    from autograder.service.store import DatabaseStore

    new_store = DatabaseStore(service_course)
    new_store.prepare_assignment(RUBRIC, {"exam": release()})
    keep(new_store, middling(), RUBRIC)
    return new_store


def row(course: CourseRecord, cell: str) -> CellMark:
    """Return the mark of Grace's cell."""
    from autograder.service.models import CellMark

    return CellMark.objects.get(place__course=course, place__cell=cell, student="grace")


def test_a_mark_follows_the_points_of_its_item(store: DatabaseStore, service_course: CourseRecord) -> None:
    """Points are scaled with the item, need no new review, and increase the revision."""
    store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5"), items={"why": Decimal("0.5")}))
    before = row(service_course, WHY[1])
    assert {"why": {"points": "0.5", "of": "1"}} == before.items
    rubric = changed(why="2")
    keep(store, of(rubric, middling()), rubric)
    assert PersonMark(Decimal(1), items={"why": Decimal(1)}) == store.load_marks("exam")["grace"][WHY]
    after = row(service_course, WHY[1])
    assert {"why": {"points": "1", "of": "2"}} == after.items
    assert after.revision > before.revision
    keep(store, middling(), RUBRIC)
    assert Decimal("0.5") == store.load_marks("exam")["grace"][WHY].points


def test_the_cell_is_the_sum_with_what_was_found_beside_it(
    store: DatabaseStore, service_course: CourseRecord
) -> None:
    """The sum has the manual points of one item and the automatic points of the other."""
    store.give_mark("exam", "grace", MHA, PersonMark(Decimal("4.5"), items={"masked": Decimal("1.5")}))
    rubric = changed(masked="5")
    keep(store, of(rubric, middling()), rubric)
    mark = store.load_marks("exam")["grace"][MHA]
    assert (Decimal("5.5"), {"masked": Decimal("2.5")}, False) == (mark.points, mark.items, mark.again)
    stands = compute_standing(middling().score, rubric, store.load_marks("exam")["grace"])
    assert Decimal("5.5") == stands.questions[-1].points
    assert row(service_course, "mha").touched


def test_another_automatic_result_beside_it_counts_and_is_looked_at(store: DatabaseStore) -> None:
    """The mark counts the new automatic points and needs another review."""
    store.give_mark("exam", "grace", MHA, PersonMark(Decimal("4.5"), items={"masked": Decimal("1.5")}))
    less = of(RUBRIC, middling())
    items = tuple(
        replace(item, points=Decimal(1)) if (item.question, item.item) == ("mha", "plain") else item
        for item in less.score.items
    )
    keep(store, replace(less, score=replace(less.score, items=items)), RUBRIC)
    mark = store.load_marks("exam")["grace"][MHA]
    assert (Decimal("2.5"), True) == (mark.points, mark.again)


def test_an_item_that_is_gone_takes_its_points_along(store: DatabaseStore) -> None:
    """The mark keeps the points of the remaining items."""
    both = PersonMark(Decimal(3), items={"plain": Decimal(1), "masked": Decimal(2)})
    store.give_mark("exam", "grace", MHA, both)
    head, _, _ = TOML.partition(f"[[question.item]]\n{MASKED}")
    shorter = rubrics.parse_rubric(
        head.replace("points = 17", "points = 14").replace("points = 6", "points = 3").encode()
    )
    graded = middling()
    items = tuple(item for item in graded.score.items if item.item != "masked")
    keep(store, replace(graded, score=replace(graded.score, items=items)), shorter)
    mark = store.load_marks("exam")["grace"][MHA]
    assert (Decimal(1), {"plain": Decimal(1)}) == (mark.points, mark.items)


def test_an_item_that_nobody_has_looked_at_asks_for_the_mark_again(store: DatabaseStore) -> None:
    """A complete mark stays, but needs review again if another item now needs manual review."""
    store.give_mark("exam", "grace", MHA, PersonMark(Decimal(1), items={"masked": Decimal(1)}))
    graded = middling()
    items = tuple(
        replace(item, status=type(item.status).NEEDS_REVIEW, points=Decimal(0))
        if (item.question, item.item) == ("mha", "plain")
        else item
        for item in graded.score.items
    )
    keep(store, replace(graded, score=replace(graded.score, items=items)), RUBRIC)
    mark = store.load_marks("exam")["grace"][MHA]
    assert (Decimal(1), True) == (mark.points, mark.again)


def test_an_item_of_another_cell_is_refused(store: DatabaseStore) -> None:
    """The error names the item, and nothing is stored."""
    with pytest.raises(GradebookError, match="cell 'mha' has no item 'why'"):
        store.give_mark("exam", "grace", MHA, PersonMark(Decimal(1), items={"why": Decimal(1)}))
    assert {} == store.load_marks("exam")


def test_whoever_saves_sees_that_a_row_has_changed(
    store: DatabaseStore, service_course: CourseRecord
) -> None:
    """Saving or recording the same value again does not increase the revision."""
    keep(store, good(), RUBRIC)
    seen = []
    for points in (1, 1, 2):
        store.give_mark("exam", "grace", MHA, PersonMark(Decimal(points)))
        keep(store, middling(), RUBRIC)
        seen.append(row(service_course, "mha").revision)
    assert seen[0] == seen[1] < seen[2]
