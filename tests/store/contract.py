"""The contract of every store, as a test suite for our stores and for those of other packages.

A package's test file defines how to open its store and how a grader gives a mark in it::

    from tests.store.contract import OpenedStore, StoreContract

    class TestShelf(StoreContract):
        @pytest.fixture
        def unprepared(self, tmp_path):
            store = ShelfStore(tmp_path)
            give = lambda student, cell, mark: store.give("exam", student, cell, mark)
            yield OpenedStore(store, give, again=lambda: ShelfStore(tmp_path))

and calls pytest's ``register_assert_rewrite`` with the name of this module in its conftest.py, for detailed
assertion messages.

Concurrent grading by another program, and durability once `Store.record_results` returns, are tested
separately for each store: the protocol cannot show them.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import msgspec
import pytest
from msgspec.structs import replace

from autograder.core.errors import GradebookError
from autograder.core.records import Cell, Deduction, GradingResult, StudentGroup
from autograder.grading.grades import CellName, PersonMark, compute_standing
from autograder.grading.store import FrontEnd, Store, Student
from autograder.rubric import Rubric
from tests.store.examples import RUBRIC, SHORT, as_student, better, entry, good, keep, middling, release

MOMENT = datetime.datetime(2031, 2, 3, 4, 5, tzinfo=datetime.UTC)
RELEASES = {"exam": release()}
WHY = ("exam", "task3-b-why")
FORMULA = ("exam", "task3-b")
MHA = ("exam", "mha")

Give = Callable[[str, CellName, PersonMark], None]
"""Give a mark to a student's cell in the way graders do in this store."""


class OpenedStore(msgspec.Struct, frozen=True):
    """An opened store, with a function that gives marks in it."""

    store: Store
    give: Give
    """Give a mark in the store's own way, bypassing the program."""
    again: Callable[[], Store] | None = None
    """Reopen the store, as the next command does; None if the store is not persistent."""


def totals(store: Store, rubric: Rubric = RUBRIC) -> dict[str, tuple[Decimal, bool]]:
    """Return each student's points and whether they are final, as use cases compute them from a store."""
    marks = store.load_marks("exam")
    return {
        student: (found.total, found.final)
        for student, graded in store.load_results("exam").items()
        for found in [compute_standing(graded.score, rubric, marks.get(student))]
    }


class StoreContract:
    """The test suite; a subclass provides the fixture `unprepared`."""

    @pytest.fixture
    def unprepared(self) -> Iterator[OpenedStore]:
        """Return a new, empty store for each test."""
        raise NotImplementedError("the class that derives from StoreContract opens its store here")

    @pytest.fixture
    def opened(self, unprepared: OpenedStore) -> OpenedStore:
        """Return the opened store with the exam prepared."""
        unprepared.store.prepare_assignment(RUBRIC, RELEASES)
        return unprepared

    @pytest.fixture
    def store(self, opened: OpenedStore) -> Store:
        """Return the store with the exam prepared."""
        return opened.store

    def test_every_store_is_called_alike(self, store: Store) -> None:
        """Each method has the protocol's parameters and defaults; a type checker compares the types."""
        implementation = type(store)
        assert isinstance(implementation.front_end, FrontEnd)
        for name in (name for name, one in vars(Store).items() if inspect.isfunction(one) and name[0] != "_"):
            expected, found = (
                [(one.name, one.kind, one.default) for one in inspect.signature(of).parameters.values()]
                for of in (getattr(Store, name), getattr(implementation, name))
            )
            assert expected == found, name

    # ---------------------------------------------------------------- results

    @pytest.mark.parametrize("graded", [good(), middling()], ids=["good", "middling"])
    def test_a_result_comes_back_as_it_was(self, store: Store, graded: GradingResult) -> None:
        """A result is found unchanged by its key and by its student, with decimals, statuses and cells."""
        assert keep(store, graded, RUBRIC, MOMENT) == {}
        assert graded == store.find_result(entry(graded, RUBRIC).key)
        assert {graded.score.student: graded} == store.load_results("exam")

    def test_outlines_leave_notebooks_out(self, store: Store) -> None:
        """With `whole=False`, the score is the same, but notebooks contain only their names."""
        keep(store, good(), RUBRIC)
        (outline,) = store.load_results("exam", whole=False).values()
        assert good().score == outline.score
        assert [(one.name, ()) for one in good().notebooks] == [
            (one.name, one.cells) for one in outline.notebooks
        ]

    def test_nobody_stands_who_is_not_recorded(self, store: Store) -> None:
        """A student is not unchanged if no result, or a different one, is recorded."""
        kept, other = entry(good(), RUBRIC), entry(middling(), RUBRIC)
        assert frozenset() == store.find_unchanged_students([kept])
        store.record_results([kept])
        changed = replace(good(), score=replace(good().score, items=good().score.items[:1]))
        assert frozenset() == store.find_unchanged_students([other, replace(kept, graded=changed)])

    def test_decimals_keep_their_digits(self, store: Store) -> None:
        """A half point of 0.50 stays 0.50."""
        items = (replace(good().score.items[0], points=Decimal("0.50")), *good().score.items[1:])
        graded = replace(good(), score=replace(good().score, items=items))
        keep(store, graded, RUBRIC)
        assert str(store.load_results("exam")["ada"].score.items[0].points) == "0.50"

    def test_lone_surrogates_are_replaced(self, store: Store) -> None:
        """Lone surrogates are replaced by U+FFFD; all other text is stored unchanged."""
        (notebook,) = good().notebooks
        cells = (notebook.cells[0], Cell("print('\ud800')", ""), *notebook.cells[2:])
        graded = replace(good(), notebooks=(replace(notebook, cells=cells),))
        keep(store, graded, RUBRIC)
        found = store.load_results("exam")[graded.score.student]
        source = graded.notebooks[0].cells[1].source
        assert source.replace("\ud800", "\ufffd") == found.notebooks[0].cells[1].source
        assert graded.score.points == found.score.points

    @pytest.mark.parametrize(
        "other",
        [
            {"student": "o"},
            {"assignment": "o"},
            {"submission": "o"},
            {"rubric": "o"},
            {"rubric_version": 4},
            {"environment": "o"},
        ],
    )
    def test_every_part_of_the_key_matters(self, store: Store, other: dict[str, object]) -> None:
        """A result is found under exactly its own key."""
        keep(store, good(), RUBRIC)
        assert store.find_result(replace(entry(good(), RUBRIC).key, **other)) is None

    def test_recording_again_changes_nothing(self, store: Store) -> None:
        """Recording a result again changes no results, marks, students or totals."""
        keep(store, middling(), RUBRIC, MOMENT)
        store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5")))
        before = (
            store.load_results("exam"),
            store.load_marks("exam"),
            store.list_students("exam"),
            totals(store),
        )
        keep(store, middling(), RUBRIC, MOMENT)
        store.prepare_assignment(RUBRIC, RELEASES)
        assert before == (
            store.load_results("exam"),
            store.load_marks("exam"),
            store.list_students("exam"),
            totals(store),
        )

    def test_under_one_key_is_the_latest_result(self, store: Store) -> None:
        """Grading again replaces the result with the same key."""
        graded = replace(middling(), digest=good().digest)
        keep(store, graded, RUBRIC)
        keep(store, better(graded), RUBRIC)
        assert better(graded) == store.find_result(entry(graded, RUBRIC).key)

    def test_the_result_recorded_last_counts(self, store: Store) -> None:
        """Of two attempts, the one recorded last counts; both can be found by key."""
        first, second = good(), replace(good(), digest="f" * 64)
        for graded in (first, second):
            keep(store, graded, RUBRIC)
        assert {"ada": second} == store.load_results("exam")
        keep(store, first, RUBRIC)
        assert {"ada": first} == store.load_results("exam")
        assert second == store.find_result(entry(second, RUBRIC).key)

    def test_the_attempt_that_counts_stays_however_old(self, store: Store) -> None:
        """Newer attempts do not remove an older one that counts again."""
        graded = [replace(good(), digest=f"{number:064}") for number in range(6)]
        for one in (*graded, graded[0]):
            keep(store, one, RUBRIC)
        assert graded[0] == store.find_result(entry(graded[0], RUBRIC).key)
        assert {"ada": graded[0]} == store.load_results("exam")

    def test_results_of_one_rubric(self, store: Store) -> None:
        """Results can be filtered by the digest of the rubric; students are in order."""
        for student in ("zoe", "ada"):
            keep(store, as_student(good(), student), RUBRIC)
        assert list(store.load_results("exam", RUBRIC.digest)) == ["ada", "zoe"]
        assert store.load_results("exam", SHORT.digest) == {}
        assert store.load_results("another") == {}

    def test_runs_are_numbered(self, store: Store) -> None:
        """Each run has a distinct number, and may finish after later runs have started."""
        first, second = (store.start_run(RUBRIC, "e" * 64, "namespaces") for _ in range(2))
        store.record_results([entry(good(), RUBRIC)], run=second)
        store.finish_run(first)
        store.finish_run(second)
        assert first != second

    # ---------------------------------------------------------------- whole or not at all

    def test_a_group_is_kept_as_a_whole(self, store: Store) -> None:
        """Recording several students at once gives the same results as recording them one by one."""
        several = [as_student(middling(), f"s{number}") for number in range(5)]
        assert store.record_results([entry(one, RUBRIC, MOMENT) for one in several]) == {}
        assert {one.score.student: one for one in several} == store.load_results("exam")
        assert frozenset(one.score.student for one in several) == store.list_students("exam")

    def test_a_group_with_one_that_is_refused_leaves_nothing(self, store: Store) -> None:
        """A refused group records nothing; without the refused entry, the group can be recorded."""
        strange = replace(good().score, assignment="another", student="mallory")
        wrong = entry(replace(good(), score=strange), RUBRIC)
        wrong = replace(wrong, key=replace(wrong.key, assignment="another"))
        right = [entry(as_student(good(), student), RUBRIC) for student in ("ada", "zoe")]
        with pytest.raises(GradebookError, match="prepare it first"):
            store.record_results([right[0], wrong, right[1]])
        assert ({}, {}, frozenset()) == (
            store.load_results("exam"),
            store.load_marks("exam"),
            store.list_students("exam"),
        )
        assert store.find_result(right[0].key) is None
        store.record_results(right)
        assert list(store.load_results("exam")) == ["ada", "zoe"]

    def test_what_was_not_recorded_is_graded_again_and_nobody_else(self, store: Store) -> None:
        """A run killed between two groups resumes with the students that are not recorded yet."""
        groups = [[as_student(good(), f"s{2 * group + one}") for one in range(2)] for group in range(3)]
        run = store.start_run(RUBRIC, "e" * 64, "namespaces")
        store.record_results([entry(one, RUBRIC) for one in groups[0]], run=run)  # killed here
        entries = [entry(one, RUBRIC) for group in groups for one in group]
        waiting = [one for one in entries if store.find_result(one.key) is None]
        assert [one.key.student for one in waiting] == ["s2", "s3", "s4", "s5"]
        again = store.start_run(RUBRIC, "e" * 64, "namespaces")
        store.record_results(waiting, run=again)
        store.finish_run(again)
        assert [one.graded for one in entries] == list(store.load_results("exam").values())

    def test_several_threads_record_at_once(self, store: Store) -> None:
        """Several threads record different students concurrently without losing results."""

        def record(group: int) -> None:
            store.record_results(
                [entry(as_student(middling(), f"s{group}-{one}"), RUBRIC, MOMENT) for one in range(5)]
            )

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(record, range(4)))
        assert 20 == len(store.load_results("exam")) == len(store.list_students("exam"))
        assert {totals(store)["s0-0"]} == set(totals(store).values())

    # ---------------------------------------------------------------- cells

    def test_recording_what_was_not_prepared_is_refused(self, unprepared: OpenedStore) -> None:
        """An unknown assignment raises an error that says what to do."""
        with pytest.raises(GradebookError, match="prepare it first"):
            keep(unprepared.store, good(), RUBRIC)
        assert unprepared.store.load_results("exam") == {}

    def test_a_release_without_a_cell_is_refused(self, unprepared: OpenedStore) -> None:
        """The error names a question of the rubric without a cell in the release."""
        broken = {"exam": release().replace(b'"grade_id": "mha"', b'"grade_id": "mhb"')}
        with pytest.raises(GradebookError, match="no cell 'mha'"):
            unprepared.store.prepare_assignment(RUBRIC, broken)

    def test_a_new_cell_reaches_submissions_that_are_known(self, unprepared: OpenedStore) -> None:
        """If the rubric gains a question, earlier submissions can be marked for it."""
        store, mark = unprepared.store, PersonMark(Decimal(4))
        store.prepare_assignment(SHORT, RELEASES)
        keep(store, good(), SHORT)
        store.prepare_assignment(RUBRIC, RELEASES)
        unprepared.give("ada", ("exam", "mha"), mark)
        assert {"ada": {("exam", "mha"): mark}} == store.load_marks("exam")

    def test_a_cell_that_is_gone_goes_with_its_automatic_mark(self, store: Store) -> None:
        """A removed cell can no longer be marked, and results of the shorter rubric can be recorded."""
        keep(store, good(), RUBRIC)
        store.prepare_assignment(SHORT, RELEASES)
        with pytest.raises(GradebookError, match="has no cell 'mha'"):
            store.give_mark("exam", "ada", MHA, PersonMark(Decimal(4)))
        keep(store, good(), SHORT)
        assert store.load_marks("exam") == {}

    @pytest.mark.parametrize("mark", [PersonMark(Decimal(5)), PersonMark(extra=Decimal(1))])
    def test_a_cell_with_a_persons_mark_cannot_go(self, opened: OpenedStore, mark: PersonMark) -> None:
        """The error names the cell, and no mark changes."""
        keep(opened.store, good(), RUBRIC)
        opened.give("ada", ("exam", "mha"), mark)
        before = opened.store.load_marks("exam")
        with pytest.raises(GradebookError, match="'mha' is no longer in the release"):
            opened.store.prepare_assignment(SHORT, RELEASES)
        assert before == opened.store.load_marks("exam")

    # ---------------------------------------------------------------- people

    def test_a_persons_mark_stands(self, opened: OpenedStore) -> None:
        """Mark, extra credit and comment are stored unchanged, and remain if the result is recorded again."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        mark = PersonMark(Decimal("0.1"), Decimal("0.2"), comment="Well said.")
        opened.give("grace", WHY, mark)
        keep(opened.store, middling(), RUBRIC, MOMENT)
        assert {"grace": {WHY: mark}} == opened.store.load_marks("exam")

    def test_a_mark_given_through_the_store_is_one_given_beside_it(self, opened: OpenedStore) -> None:
        """A mark given through the store equals one given outside it; a mark can be changed or removed."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        for mark in (
            PersonMark(Decimal("0.1"), Decimal("0.2"), comment="Well said."),
            PersonMark(Decimal(1), Decimal("-0.5"), comment="Well said."),
            PersonMark(extra=Decimal(1), comment="On second thoughts."),
        ):
            seen = []
            for give in (lambda *one: opened.store.give_mark("exam", *one), opened.give):
                give("grace", WHY, mark)
                seen.append((opened.store.load_marks("exam"), totals(opened.store)))
            assert ({"grace": {WHY: mark}}, seen[0]) == (seen[0][0], seen[1])

    def test_a_mark_that_is_taken_back_leaves_nothing(self, opened: OpenedStore) -> None:
        """Withdrawing a mark restores the previous state, and the cell can be marked again."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        before = totals(opened.store)
        mark = PersonMark(Decimal("0.1"), Decimal("0.2"), comment="Well said.")
        for give in (lambda *one: opened.store.give_mark("exam", *one), opened.give):
            give("grace", WHY, mark)
            assert before != totals(opened.store)
            give("grace", WHY, PersonMark())
            assert ({}, before) == (opened.store.load_marks("exam"), totals(opened.store))

    def test_a_mark_that_was_copied_is_known_as_such(self, opened: OpenedStore) -> None:
        """A mark copied from another group member's answer is distinguished from one given directly."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        for points in (Decimal("0.5"), Decimal(1)):
            opened.store.give_mark("exam", "grace", WHY, PersonMark(points, comment="Which?"), points)
            opened.store.give_mark("exam", "grace", FORMULA, PersonMark(points))
            assert {("grace", *WHY): points} == opened.store.load_decided_points("exam")
        assert opened.store.load_decided_points("another") == {}

    def test_a_mark_for_nothing_is_refused(self, store: Store) -> None:
        """The error names student and cell, and no mark is written."""
        keep(store, middling(), RUBRIC, MOMENT)
        mark = PersonMark(Decimal(1))
        for student, cell in (("zoe", WHY), ("grace", ("exam", "no-such-cell"))):
            with pytest.raises(GradebookError, match=f"{student!r} has no cell {cell[1]!r} in 'exam'"):
                store.give_mark("exam", student, cell, mark)
        with pytest.raises(GradebookError, match="in 'another'"):
            store.give_mark("another", "grace", WHY, mark)
        assert store.load_marks("exam") == {}

    def test_the_next_command_finds_what_this_one_kept(self, opened: OpenedStore) -> None:
        """Results, marks, students and copied decisions persist, and runs continue their numbering."""
        if opened.again is None:
            pytest.skip("not applicable: it forgets everything at the end, and says so")
        store = opened.store
        for graded in (good(), middling()):
            keep(store, graded, RUBRIC, MOMENT)
        store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5"), comment="Which two?"))
        store.give_mark("exam", "grace", FORMULA, PersonMark(Decimal("0.25")))
        run = store.start_run(RUBRIC, "e" * 64, "namespaces")
        before = (
            store.load_results("exam"),
            store.load_marks("exam"),
            store.list_students("exam"),
            totals(store),
        )
        with opened.again() as again:
            again.prepare_assignment(RUBRIC, RELEASES)
            assert before == (
                again.load_results("exam"),
                again.load_marks("exam"),
                again.list_students("exam"),
                totals(again),
            )
            assert good() == again.find_result(entry(good(), RUBRIC).key)
            again.finish_run(run)
            assert run != again.start_run(RUBRIC, "e" * 64, "namespaces")
            keep(again, better(middling()), RUBRIC, MOMENT)
            again.give_mark("exam", "grace", WHY, PersonMark(Decimal(1)))
            marks = again.load_marks("exam")["grace"]
            assert (Decimal(1), True) == (marks[WHY].points, marks[FORMULA].again)

    def test_a_new_submission_asks_for_the_mark_again(self, opened: OpenedStore) -> None:
        """As in nbgrader, a mark given to an earlier submission stays, but must be reviewed again."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        opened.give("grace", WHY, PersonMark(Decimal("0.5")))
        assert totals(opened.store)["grace"][1]
        keep(opened.store, replace(middling(), digest="f" * 64), RUBRIC, MOMENT)
        assert PersonMark(Decimal("0.5"), again=True) == opened.store.load_marks("exam")["grace"][WHY]
        assert not totals(opened.store)["grace"][1]
        keep(opened.store, replace(middling(), digest="f" * 64), RUBRIC, MOMENT)
        assert opened.store.load_marks("exam")["grace"][WHY].again

    def test_another_automatic_mark_asks_for_the_mark_again(self, opened: OpenedStore) -> None:
        """A mark must be reviewed again only if the automatic mark it overrides changes."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        for cell in (FORMULA, WHY):
            opened.give("grace", cell, PersonMark(Decimal(1)))
        keep(opened.store, better(middling()), RUBRIC, MOMENT)
        marks = opened.store.load_marks("exam")["grace"]
        assert (marks[FORMULA].again, marks[WHY].again) == (True, False)
        assert {Decimal(1)} == {mark.points for mark in marks.values()}

    def test_points_of_items_come_back(self, opened: OpenedStore) -> None:
        """Points of items are stored exactly, with the points of their cell."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        mark = PersonMark(Decimal("4.25"), items={"plain": Decimal(3), "masked": Decimal("1.25")})
        opened.store.give_mark("exam", "grace", MHA, mark)
        assert {"grace": {MHA: mark}} == opened.store.load_marks("exam")
        keep(opened.store, middling(), RUBRIC, MOMENT)
        assert {"grace": {MHA: mark}} == opened.store.load_marks("exam")
        opened.store.give_mark("exam", "grace", MHA, PersonMark(Decimal(5)))
        assert {"grace": {MHA: PersonMark(Decimal(5))}} == opened.store.load_marks("exam")

    def test_points_of_items_go_with_the_mark_that_they_make_up(self, opened: OpenedStore) -> None:
        """A mark given outside the program applies to the whole cell and removes the points of its items."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        items = {"plain": Decimal(3), "masked": Decimal("1.25")}
        opened.store.give_mark("exam", "grace", MHA, PersonMark(Decimal("4.25"), items=items))
        opened.give("grace", MHA, PersonMark(Decimal(5)))
        assert {"grace": {MHA: PersonMark(Decimal(5))}} == opened.store.load_marks("exam")

    def test_a_flag_comes_back_alone_and_beside_a_mark(self, opened: OpenedStore) -> None:
        """A flag is not a mark: the cell still needs review, and the flag can be removed."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        stands = totals(opened.store)
        for mark in (
            PersonMark(flagged=True),
            PersonMark(Decimal(4), items={"plain": Decimal(3), "masked": Decimal(1)}, flagged=True),
            PersonMark(Decimal(4), items={"plain": Decimal(3), "masked": Decimal(1)}),
        ):
            opened.store.give_mark("exam", "grace", MHA, mark)
            assert {"grace": {MHA: mark}} == opened.store.load_marks("exam")
            assert mark.points is not None or stands == totals(opened.store)

    def test_remarks_on_items_come_back(self, opened: OpenedStore) -> None:
        """Remarks are stored with or without a mark, and can be removed."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        for mark in (
            PersonMark(remarks={"masked": "Which keys?"}),
            PersonMark(Decimal(4), remarks={"plain": "Neat.", "masked": "Which keys?"}),
            PersonMark(Decimal(4)),
        ):
            opened.store.give_mark("exam", "grace", MHA, mark)
            assert {"grace": {MHA: mark}} == opened.store.load_marks("exam")

    def test_what_a_result_depends_on_comes_back(self, opened: OpenedStore) -> None:
        """Each student's counting result keeps its exact key, which others' results do not change."""
        assert opened.store.load_keys("exam") == {}
        first, second = entry(good(), RUBRIC), entry(replace(middling(), digest="f" * 64), RUBRIC)
        opened.store.record_results([first, second])
        assert {"ada": first.key, "grace": second.key} == opened.store.load_keys("exam")
        later = entry(better(middling()), RUBRIC, environment="d" * 64)
        opened.store.record_results([later])
        assert {"ada": first.key, "grace": later.key} == opened.store.load_keys("exam")
        assert opened.store.load_keys("another") == {}

    def test_a_comment_is_taken_back_with_an_empty_one(self, opened: OpenedStore) -> None:
        """A mark without a comment removes the earlier comment."""
        keep(opened.store, middling(), RUBRIC, MOMENT)
        for mark in (PersonMark(Decimal(1), comment="Which?"), PersonMark(Decimal(1))):
            opened.store.give_mark("exam", "grace", WHY, mark)
            assert {"grace": {WHY: mark}} == opened.store.load_marks("exam")

    def test_standings_are_the_same_from_every_store(self, opened: OpenedStore) -> None:
        """Total points, including manual marks, do not depend on the store."""
        for graded in (good(), middling()):
            keep(opened.store, graded, RUBRIC, MOMENT)
        opened.give("grace", FORMULA, PersonMark(Decimal("0.25"), Decimal("0.5")))
        opened.store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5")))
        assert {"ada": (Decimal(16), False), "grace": (Decimal("9.25"), True)} == totals(opened.store)

    def test_whoever_is_enrolled_has_handed_in_nothing(self, store: Store) -> None:
        """Enrolling students, also twice or with fewer fields, creates no submissions."""
        store.enroll_students([Student("ada", "Ada", "Lovelace", "ada@example.org"), Student("alan")])
        store.enroll_students([Student("ada", email="a@example.org")])
        assert (frozenset(), {}) == (store.list_students("exam"), store.load_results("exam"))
        keep(store, good(), RUBRIC)
        assert frozenset({"ada"}) == store.list_students("exam")

    def test_nothing_is_put_back_where_nothing_was_written_over(self, store: Store) -> None:
        """Restoring marks that were not overwritten finds nothing and changes nothing."""
        keep(store, middling(), RUBRIC, MOMENT)
        store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5")))
        before = (store.load_results("exam"), store.load_marks("exam"))
        found = store.restore_marks(store.load_results("exam"), {"grace": RUBRIC}, RELEASES)
        assert found == ()
        assert before == (store.load_results("exam"), store.load_marks("exam"))

    def test_what_is_taken_off_for_being_late_touches_no_mark(self, store: Store) -> None:
        """Late deductions are recorded, changed and removed without touching marks."""
        keep(store, middling(), RUBRIC, MOMENT)
        store.give_mark("exam", "grace", WHY, PersonMark(Decimal("0.5")))
        before = (store.load_results("exam"), store.load_marks("exam"), store.load_decided_points("exam"))
        for taken in ("1.5", "1.5", "0.25", "0"):
            store.record_deductions("exam", {"grace": Decimal(taken), "zoe": Decimal(1)})
            assert before == (
                store.load_results("exam"),
                store.load_marks("exam"),
                store.load_decided_points("exam"),
            )
        store.record_deductions("another", {"grace": Decimal(1)})

    def test_a_result_keeps_what_is_said_of_time_and_group(self, store: Store) -> None:
        """A result keeps its late deduction, its group and the member who submitted it."""
        deduction = Deduction(Decimal("12.50"), "percent-of-earned", Decimal(40))
        score = replace(
            good().score, deduction=deduction, group=StudentGroup("red", ("ada", "bob")), by="bob"
        )
        keep(store, replace(good(), score=score), RUBRIC)
        assert score == store.load_results("exam")["ada"].score
