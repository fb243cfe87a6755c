"""Regrade a class after a change: first report who would move and why, then apply it if requested.

Everything is computed in a rehearsal (`autograder.app.stores.RehearsalStore`) by the same steps that grade a
class. The result is compared with the current one and only then entered, with an entry in the log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.app import SILENT, Isolation, Listener, count_steps, course_log
from autograder.app.class_lists import read_bonus
from autograder.app.class_roll import collect_handins
from autograder.app.grading_basis import (
    BasisDifference,
    build_basis,
    compare_bases,
    compare_rubrics,
    read_kept_basis,
    read_kept_rubric,
)
from autograder.app.marking_sheet_rows import format_number
from autograder.app.published_marks import (
    PublishedMarks,
    ShownMark,
    format_shown_mark,
    make_shown_mark,
    read_published,
)
from autograder.app.regrade_journal import (
    FollowedMark,
    RehearsedClass,
    enter_regrade,
    find_interrupted_regrade,
)
from autograder.app.stores import RehearsalStore, open_store
from autograder.core import atomic
from autograder.core.errors import AutograderError, CourseError
from autograder.core.records import GradingResult, Message
from autograder.core.tables import join_names
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.grading.assignment import Assignment
from autograder.grading.grades import (
    FAULTS,
    NOTHING,
    CellName,
    PersonMark,
    Standing,
    compute_automatic_points,
)
from autograder.grading.store import GradedEntry, ResultKey, Store
from autograder.marking.mark_follower import MarkFollower, get_settled_points
from autograder.marking.moves import ItemMove, MarkedScore, StudentMove, compare_student, sort_moves
from autograder.pages.feedback.sanitise import render_sentence
from autograder.rubric import Rubric
from autograder.rubric.timestamps import NOTES
from autograder.sandbox.pool import Pool

_MOST_NAMED = 20


class RegradeChoice(Struct, frozen=True):
    """Options for the changes of a regrade."""

    apply: bool = False
    """Enter the changes; otherwise nothing is changed."""
    published: bool = False
    """Also enter changes of published marks."""
    reason: str = ""
    """Explanation for the log and for pages that change."""


class RegradeMove(Struct, frozen=True):
    """One student who moves."""

    move: StudentMove
    why: tuple[tuple[str, ...], ...]
    """For each of the move's items: possible causes, as sentences for staff."""
    also: tuple[str, ...]
    """Possible causes that affect all items."""
    shown: str
    """The published mark; empty: not published yet."""
    moves_shown: bool
    """Whether the published mark would change."""


class Regrade(Struct, frozen=True):
    """The changes of a regrade, planned or applied."""

    assignment: str
    total: int
    same: int
    moved: tuple[RegradeMove, ...]
    failed: Mapping[str, str]
    """Internal errors by student: these results stay as they are."""
    differences: tuple[str, ...]
    """Sentences about everything that differs from the time of grading."""
    remarks: tuple[str, ...]
    entry: str = ""
    """Id of the log entry; empty: nothing was changed."""

    @property
    def gain(self) -> int:
        """Number of students who gain points."""
        return sum(student_move.move.by > 0 for student_move in self.moved)

    @property
    def lose(self) -> int:
        """Number of students who lose points."""
        return sum(student_move.move.by < 0 for student_move in self.moved)

    @property
    def shown(self) -> tuple[RegradeMove, ...]:
        """Students with a published mark that moves."""
        return tuple(student_move for student_move in self.moved if student_move.moves_shown)


class _CurrentState(Struct, frozen=True):
    """The current state of one student in the store."""

    graded: GradingResult
    key: ResultKey
    rubric: Rubric
    """The rubric that the student was graded by."""
    marks: Mapping[CellName, PersonMark]


_TRIAL = RegradeChoice()


def regrade_class(
    course: Course,
    name: str,
    students: Collection[str] = (),
    choice: RegradeChoice = _TRIAL,
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
) -> Regrade:
    """Report who would gain or lose points, and why, if all results were graded again now.

    Args:
        course: the course.
        name: of the assignment.
        students: only these; empty: all.
        choice: whether to apply the changes.
        workers: number of parallel workers; 0: by the number of cores.
        isolation: how student code is confined.
        watch: notified after each submission.

    Raises:
        CourseError: a file of the course is not usable, no student was graded, or published marks would move
            and ``choice`` does not allow it.
        RubricError: the rubric is not valid.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load_assignment(course, name)
    with (
        # No import of marks or second regrade may change the store between rehearsal and entry.
        atomic.lock_folder(course.root),
        open_store(assignment, new=False) as store,
        Pool(isolation=isolation) as pool,
    ):
        regrading = _Regrading(assignment, store, students, isolation)
        regrading.run_rehearsal(pool, workers, watch)
        comparison = regrading.compare_results()
        if not choice.apply:
            return comparison
        return regrading.enter_changes(comparison, choice)


class _Regrading:
    """One regrade of a class."""

    def __init__(
        self, assignment: Assignment, store: Store, students: Collection[str], isolation: Isolation
    ) -> None:
        self._assignment, self._store = assignment, store
        self._course, self._name = assignment.course, assignment.name
        self._isolation = isolation
        self._given = self._read_bonus_points()
        self._remarks: list[str] = []
        if started_at := find_interrupted_regrade(self._course, self._name):
            self._remarks.append(
                f"a regrading that was begun at {started_at:%Y-%m-%d %H:%M} UTC did not come to its "
                "end; --apply "
                "finishes it"
            )
        self._stands = self._load_current_states()
        handins = collect_handins(self._course, assignment, students).handins
        self._handins = [handin for handin in handins if handin.student in self._stands]
        if new := [handin.student for handin in handins if handin.student not in self._stands]:
            text = f"handed in, but not graded yet, and no part of this: {join_names(new)}"
            self._remarks.append(f"{text}; run: autograder grade {self._name}")
        folder = self._course.private / "regrade" / self._name
        self._rehearsal = RehearsalStore(store, folder)
        self._whole_class = not students
        self._failed: dict[str, str] = {}
        self._marks: Mapping[str, Mapping[CellName, PersonMark]] = {}
        self._followed: list[FollowedMark] = []
        self._differences: dict[tuple[str, str, str], tuple[BasisDifference, ...]] = {}

    def _read_bonus_points(self) -> Mapping[str, Decimal]:
        if not self._course.bonus.is_file():
            return {}
        return read_bonus(self._course.bonus, self._name, self._course.list_assignments())

    def _load_current_states(self) -> dict[str, _CurrentState]:
        """Return all students with a result; item marks are completed with the points their items had."""
        keys, marks = self._store.load_keys(self._name), self._store.load_marks(self._name)
        states, unknown = {}, []
        for student, graded in self._store.load_results(self._name).items():
            key = keys[student]
            rubric = self._find_previous_rubric(student, key)
            if rubric is None:
                rubric = _restore_points(self._assignment.get_rubric(student), graded)
                unknown.append(student)
            weighed_marks = {
                cell: _complete_worth(rubric, cell, mark) for cell, mark in marks.get(student, {}).items()
            }
            states[student] = _CurrentState(graded, key, rubric, weighed_marks)
        if unknown:
            self._remarks.append(
                f"the rubric by which {join_names(unknown)} were graded was not kept: what they had is taken "
                "from their results"
            )
        return states

    def _find_previous_rubric(self, student: str, key: ResultKey) -> Rubric | None:
        if key.rubric == self._assignment.rubric.digest:
            return self._assignment.get_rubric(student)
        kept = read_kept_rubric(self._course, key.rubric)
        if kept is None:
            return None
        rubric, manifest = kept[1], self._assignment.manifest
        if rubric.draws is None or manifest is None or manifest.get_release(student) is None:
            return rubric
        try:
            return rubric.make_personal(self._assignment.get_variant(student), manifest.catalogues)
        except AutograderError:  # grading reports faults of the drawn variant
            return rubric

    def run_rehearsal(self, pool: Pool, workers: int, watch: Listener) -> None:
        """Grade the class in the rehearsal, and adapt manual marks to it."""
        assignment, rehearsal = self._assignment, self._rehearsal
        marks = {student: state.marks for student, state in self._stands.items()}
        entries_before = [
            GradedEntry(state.key, state.graded, state.rubric) for state in self._stands.values()
        ]
        decided = self._store.load_decided_points(self._name)
        rehearsal.begin_rehearsal(assignment.rubric, assignment.release_bytes, entries_before, marks, decided)
        graded = batch.grade_class(assignment, self._handins, rehearsal, pool, workers=workers)
        for outcome in count_steps(graded, len(self._handins), watch):
            if outcome.faults:
                self._failed[outcome.student] = "; ".join(outcome.faults)
        # A partial rehearsal does not know the results of the other students, which must stay.
        if self._whole_class:
            rehearsal.remove_unused()
        for student, entry in self._select_fresh_entries().items():
            self._follow_marks(student, entry)
        self._marks = rehearsal.load_marks(self._name)

    def _select_fresh_entries(self) -> dict[str, GradedEntry]:
        """Return the new results without internal errors, by student."""
        entries = self._rehearsal.entries
        return {student: entry for student, entry in entries.items() if student not in self._failed}

    def _follow_marks(self, student: str, entry: GradedEntry) -> None:
        state = self._stands[student]
        resubmitted = state.key.submission != entry.key.submission
        follower = MarkFollower(entry.rubric, state.graded.score, entry.graded.score, resubmitted)
        automatic = compute_automatic_points(state.graded.score, state.rubric)
        for cell, mark in state.marks.items():
            # Only marks given item by item follow the points of their items.
            if mark.items and cell in automatic:
                after = follower.follow_mark(cell, mark, get_settled_points(automatic[cell]))
                self._followed.append(FollowedMark(student, *cell, mark, after))
                self._rehearsal.give_mark(self._name, student, cell, after)

    # ------------------------------------------------------------ who moves, and why

    def compare_results(self) -> Regrade:
        """Compare the rehearsal with the current results."""
        published = read_published(self._course, self._name)
        moves = [
            move
            for student in self._select_fresh_entries()
            if (move := compare_student(self._get_score_before(student), self._get_score_after(student)))
            is not None
        ]
        moved = tuple(self._explain_move(entry, published) for entry in sort_moves(moves))
        sentences = {
            entry.text: None
            for student in self._select_fresh_entries()
            for entry in self._find_differences(student)
        }
        total = len(self._handins)
        same = total - len(moved) - len(self._failed)
        return Regrade(self._name, total, same, moved, self._failed, tuple(sentences), tuple(self._remarks))

    def _get_score_before(self, student: str) -> MarkedScore:
        state = self._stands[student]
        return MarkedScore(state.graded.score, state.rubric, state.marks, self._given.get(student, NOTHING))

    def _get_score_after(self, student: str) -> MarkedScore:
        # Marks come from the rehearsal, in which they have already followed the new result.
        entry = self._rehearsal.entries[student]
        marks = self._marks.get(student, {})
        return MarkedScore(entry.graded.score, entry.rubric, marks, self._given.get(student, NOTHING))

    def _explain_move(self, move: StudentMove, published: PublishedMarks) -> RegradeMove:
        student = move.student
        shown, now = published.shown.get(student), self._make_page_mark(student, move.after)
        also = tuple(self._list_student_reasons(student))
        if not (move.items or also):
            also = (_explain_without_items(move),)
        return RegradeMove(
            move,
            tuple(tuple(self._list_item_reasons(move, index)) for index in range(len(move.items))),
            also,
            format_shown_mark(shown) if shown else "",
            shown is not None and shown.is_changed_by(now),
        )

    def _make_page_mark(self, student: str, stands: Standing) -> ShownMark:
        entry = self._rehearsal.entries[student]
        return make_shown_mark(entry.graded.score, entry.rubric, stands, course_log.get_time())

    def _list_item_reasons(self, move: StudentMove, index: int) -> Iterator[str]:
        """Yield the possible causes of an item's move."""
        item = move.items[index]
        if item.by_person:
            yield "a person's mark, which follows what its item is worth"
        yield from (
            difference.text
            for difference in self._find_differences(move.student)
            if difference.questions is None or item.question in difference.questions
        )

    def _list_student_reasons(self, student: str) -> Iterator[str]:
        state, entry = self._stands[student], self._rehearsal.entries[student]
        if state.key.submission != entry.key.submission:
            yield "another submission counts now"
        if faults := [note.code for note in state.graded.score.notes if note.code in FAULTS]:
            yield f"graded with a fault of ours before ({', '.join(dict.fromkeys(faults))})"
        before, after = (
            {note.text for note in graded.score.notes if note.code in NOTES}
            for graded in (state.graded, entry.graded)
        )
        yield from (f"time of handing in: {text}" for text in sorted(after - before))
        if before - after and not after:
            yield "time of handing in: in time now"

    def _find_differences(self, student: str) -> tuple[BasisDifference, ...]:
        """Return the differences from the time when a student was graded."""
        key = self._stands[student].key
        if self._rehearsal.entries[student].key == key:
            return ()
        now = self._rehearsal.entries[student].key
        comparison_key = (key.rubric, key.environment, now.environment)
        # Most students share one pair of rubric and environment, so differences are computed once for each.
        if comparison_key not in self._differences:
            self._differences[comparison_key] = tuple(self._compare_keys(key, now))
        return self._differences[comparison_key]

    def _compare_keys(self, key: ResultKey, after: ResultKey) -> Iterator[BasisDifference]:
        rubric = self._assignment.rubric
        if key.rubric != rubric.digest:
            kept = read_kept_rubric(self._course, key.rubric)
            if kept is None:
                yield BasisDifference(f"another rubric: version {key.rubric_version} → {rubric.version}")
            else:
                data = atomic.read_bytes(self._course.locate_rubric(self._name))
                yield from compare_rubrics(kept[0], data)
        if key.environment != after.environment:
            now = build_basis(self._assignment, self._isolation)
            yield from compare_bases(read_kept_basis(self._course, key.environment), now, rubric)

    # ------------------------------------------------------------ the move

    def enter_changes(self, comparison: Regrade, choice: RegradeChoice) -> Regrade:
        """Apply the comparison; without differences, there is nothing to do.

        Raises:
            CourseError: published marks would move, and the choice does not allow it.
            GradebookError: the store reported an error.
        """
        # An interrupted regrade is finished even if nothing differs any more.
        if not (
            comparison.moved or comparison.differences or find_interrupted_regrade(self._course, self._name)
        ):
            self._rehearsal.remove_all()  # a run that was killed at its very end has left it
            return comparison
        _check_shown(comparison, choice)
        rehearsed = RehearsedClass(
            self._assignment,
            self._isolation,
            tuple(self._select_fresh_entries().values()),
            tuple(self._followed),
            {
                student: self._make_page_mark(student, self._get_score_after(student).compute_standing())
                for student in self._select_fresh_entries()
            },
            tuple(student_move.move.student for student_move in comparison.shown),
        )
        entry_id = enter_regrade(self._store, rehearsed, _make_facts(comparison, choice), choice.reason)
        self._rehearsal.remove_all()
        return replace(comparison, entry=entry_id)


def _make_facts(comparison: Regrade, choice: RegradeChoice) -> Mapping[str, Any]:
    """Return the content of the log entry."""
    moved = {
        student_move.move.student: {
            "before": student_move.move.before.total if student_move.move.before else None,
            "after": student_move.move.after.total,
            "shown": student_move.shown if student_move.moves_shown else "",
            "items": [
                [f"{item.question}.{item.item}", item.before, item.after, list(why)]
                for item, why in zip(student_move.move.items, student_move.why, strict=True)
            ],
            "also": list(student_move.also),
        }
        for student_move in comparison.moved
    }
    return {
        "reason": choice.reason,
        "differences": comparison.differences,
        "same": comparison.same,
        "moved": moved,
    }


def _check_shown(comparison: Regrade, choice: RegradeChoice) -> None:
    """Refuse to move published marks, unless it is allowed and explained."""
    if not comparison.shown:
        return
    if choice.published and choice.reason.strip():
        return
    examples = "; ".join(
        f"{student_move.move.student} was shown {student_move.shown}, and would have "
        f"{format_number(student_move.move.after.total)}"
        for student_move in comparison.shown[:_MOST_NAMED]
    )
    more = f"; and {len(comparison.shown) - _MOST_NAMED} more" if len(comparison.shown) > _MOST_NAMED else ""
    raise CourseError(
        f"marks that students were shown would move, and nothing was changed: {examples}{more}. To "
        "move them, "
        "and have their pages say so: --published --reason 'what was wrong'"
    )


def _restore_points(rubric: Rubric, graded: GradingResult) -> Rubric:
    """Return a rubric with the possible points of a result; deductions stay as they are."""
    # The best reconstruction if the rubric was not kept: possible points are part of the result.
    possible_points = {(result.question, result.item): result.possible for result in graded.score.items}
    questions = []
    for question in rubric.questions:
        items = tuple(
            replace(item, points=possible_points.get((question.id, item.id), item.points))
            if item.points > 0
            else item
            for item in question.items
        )
        points = sum((item.points for item in items if item.points > 0), NOTHING)
        questions.append(replace(question, items=items, points=points))
    return replace(rubric, questions=tuple(questions), version=graded.score.rubric_version)


def _complete_worth(rubric: Rubric, cell: CellName, mark: PersonMark) -> PersonMark:
    """Complete a mark with the points that each of its items could have."""
    worth = {
        item.id: item.points
        for question in rubric.questions
        if question.notebook == cell[0] and cell[1] in question.list_cells()
        for item in question.items
    }
    return replace(
        mark, worth={**{item_id: worth[item_id] for item_id in mark.items if item_id in worth}, **mark.worth}
    )


def to_dict(comparison: Regrade) -> dict[str, Any]:
    """Return the comparison as plain data, for programs."""
    return {
        "assignment": comparison.assignment,
        "students": comparison.total,
        "same": comparison.same,
        "gain": comparison.gain,
        "lose": comparison.lose,
        "moved": [
            {
                "student": student_move.move.student,
                "before": student_move.move.before.total if student_move.move.before else None,
                "after": student_move.move.after.total,
                "by": student_move.move.by,
                "grade_before": _format_grade(student_move.move.before),
                "grade_after": _format_grade(student_move.move.after),
                "shown": student_move.shown,
                "moves_shown": student_move.moves_shown,
                "also": student_move.also,
                "items": [
                    _make_item(item, why)
                    for item, why in zip(student_move.move.items, student_move.why, strict=True)
                ],
            }
            for student_move in comparison.moved
        ],
        "failed": comparison.failed,
        "differences": comparison.differences,
        "remarks": comparison.remarks,
        "applied": bool(comparison.entry),
        "entry": comparison.entry,
    }


def _make_item(item: ItemMove, why: tuple[str, ...]) -> Mapping[str, Any]:
    return {
        "question": item.question,
        "item": item.item,
        "before": item.before,
        "after": item.after,
        "possible_before": item.possible_before,
        "possible_after": item.possible_after,
        "told_before": _format_message(item.told_before),
        "told_after": _format_message(item.told_after),
        "by_person": item.by_person,
        "why": why,
    }


def _explain_without_items(move: StudentMove) -> str:
    """Return why a student moves though no item does."""
    before, after = move.before, move.after
    if before is not None and before.final and not after.final:
        return "a person's mark is to be looked at again: the automatic one under it is another"
    if before is not None and before.outdated != after.outdated:
        return "graded by the rubric as it is now"
    return "bonus points, the scale of grades or the time of handing in"


def _format_message(message: Message | None) -> str:
    return "" if message is None else render_sentence(message, "en")


def _format_grade(stands: Standing | None) -> str:
    grades = (
        []
        if stands is None
        else [grade_step.name for grade_step in (stands.worst, stands.best) if grade_step is not None]
    )
    return " to ".join(dict.fromkeys(grades))
