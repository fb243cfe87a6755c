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

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Isolation, Listener, counted, course_log
from autograder.app.basis import (
    BasisDifference,
    basis_differences,
    basis_of,
    kept_basis,
    kept_rubric,
    rubric_differences,
)
from autograder.app.handins import collect
from autograder.app.lists import read_bonus
from autograder.app.published import PublishedMarks, ShownMark, read_published, shown_mark, told
from autograder.app.regrade_entry import FollowedMark, RehearsedClass, enter_regrade, interrupted_regrade
from autograder.app.sheet_rows import number
from autograder.app.stores import OpenStore, RehearsalStore, open_store
from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import AutograderError, CourseError
from autograder.grades import NOTHING, CellName, PersonMark, Standing, automatic_points
from autograder.grading import batch
from autograder.grading.scoring import FAULTS
from autograder.marking.following import MarkFollower, settled_points
from autograder.marking.moves import MarkedScore, StudentMove, in_order, student_move
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.sandbox.pool import Pool
from autograder.store import GradedEntry, Key, Store
from autograder.tables import name_list
from autograder.timestamps import NOTES

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
        return sum(one.move.by > 0 for one in self.moved)

    @property
    def lose(self) -> int:
        """Number of students who lose points."""
        return sum(one.move.by < 0 for one in self.moved)

    @property
    def shown(self) -> tuple[RegradeMove, ...]:
        """Students with a published mark that moves."""
        return tuple(one for one in self.moved if one.moves_shown)


class _Stands(Struct, frozen=True):
    """The current state of one student in the store."""

    graded: Graded
    key: Key
    rubric: Rubric
    """The rubric that the student was graded by."""
    marks: Mapping[CellName, PersonMark]


_TRIAL = RegradeChoice()


def regrade(
    course: Course,
    name: str,
    students: Collection[str] = (),
    choice: RegradeChoice = _TRIAL,
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
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
        store: opens the store of the course.

    Raises:
        CourseError: a file of the course is not usable, no student was graded, or published marks would move
            and ``choice`` does not allow it.
        RubricError: the rubric is not valid.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load(course, name)
    with (
        # No import of marks or second regrade may change the store between rehearsal and entry.
        atomic.alone(course.root),
        store(assignment, new=False) as opened,
        Pool(isolation=isolation) as pool,
    ):
        made = _Regrading(assignment, opened, students, isolation)
        made.rehearse(pool, workers, watch)
        found = made.compared()
        if not choice.apply:
            return found
        return made.entered(found, choice)


class _Regrading:
    """One regrade of a class."""

    def __init__(
        self, assignment: Assignment, store: Store, students: Collection[str], isolation: Isolation
    ) -> None:
        self._assignment, self._store = assignment, store
        self._course, self._name = assignment.course, assignment.name
        self._isolation = isolation
        self._given = self._bonus()
        self._remarks: list[str] = []
        if begun := interrupted_regrade(self._course, self._name):
            self._remarks.append(
                f"a regrading that was begun at {begun:%Y-%m-%d %H:%M} UTC did not come to its end; --apply "
                "finishes it"
            )
        self._stands = self._as_it_stands()
        handins = collect(self._course, assignment, students).handins
        self._handins = [one for one in handins if one.student in self._stands]
        if new := [one.student for one in handins if one.student not in self._stands]:
            text = f"handed in, but not graded yet, and no part of this: {name_list(new)}"
            self._remarks.append(f"{text}; run: autograder grade {self._name}")
        folder = self._course.private / "regrade" / self._name
        self._rehearsal = RehearsalStore(store, folder)
        self._whole_class = not students
        self._failed: dict[str, str] = {}
        self._marks: Mapping[str, Mapping[CellName, PersonMark]] = {}
        self._followed: list[FollowedMark] = []
        self._differences: dict[tuple[str, str, str], tuple[BasisDifference, ...]] = {}

    def _bonus(self) -> Mapping[str, Decimal]:
        if not self._course.bonus.is_file():
            return {}
        return read_bonus(self._course.bonus, self._name, self._course.assignments())

    def _as_it_stands(self) -> dict[str, _Stands]:
        """Return all students with a result; item marks are completed with the points their items had."""
        keys, marks = self._store.keys(self._name), self._store.marks(self._name)
        stands, unknown = {}, []
        for student, graded in self._store.results(self._name).items():
            key = keys[student]
            rubric = self._rubric_before(student, key)
            if rubric is None:
                rubric = _as_scored(self._assignment.rubric_of(student), graded)
                unknown.append(student)
            own = {cell: _weighed(rubric, cell, mark) for cell, mark in marks.get(student, {}).items()}
            stands[student] = _Stands(graded, key, rubric, own)
        if unknown:
            self._remarks.append(
                f"the rubric by which {name_list(unknown)} were graded was not kept: what they had is taken "
                "from their results"
            )
        return stands

    def _rubric_before(self, student: str, key: Key) -> Rubric | None:
        if key.rubric == self._assignment.rubric.digest:
            return self._assignment.rubric_of(student)
        kept = kept_rubric(self._course, key.rubric)
        if kept is None:
            return None
        rubric, manifest = kept[1], self._assignment.manifest
        if rubric.draws is None or manifest is None or manifest.of(student) is None:
            return rubric
        try:
            return rubric.personal(self._assignment.variant_of(student), manifest.catalogues)
        except AutograderError:  # grading reports faults of the drawn variant
            return rubric

    def rehearse(self, pool: Pool, workers: int, watch: Listener) -> None:
        """Grade the class in the rehearsal, and adapt manual marks to it."""
        assignment, rehearsal = self._assignment, self._rehearsal
        marks = {student: one.marks for student, one in self._stands.items()}
        stands = [GradedEntry(one.key, one.graded, one.rubric) for one in self._stands.values()]
        decided = self._store.decided(self._name)
        rehearsal.begun(assignment.rubric, assignment.release_bytes, stands, marks, decided)
        graded = batch.grade_class(assignment, self._handins, rehearsal, pool, workers=workers)
        for outcome in counted(graded, len(self._handins), watch):
            if outcome.faults:
                self._failed[outcome.student] = "; ".join(outcome.faults)
        # A partial rehearsal does not know the results of the other students, which must stay.
        if self._whole_class:
            rehearsal.tidy()
        for student, entry in self._fresh().items():
            self._follow(student, entry)
        self._marks = rehearsal.marks(self._name)

    def _fresh(self) -> dict[str, GradedEntry]:
        """Return the new results without internal errors, by student."""
        entries = self._rehearsal.entries
        return {student: one for student, one in entries.items() if student not in self._failed}

    def _follow(self, student: str, entry: GradedEntry) -> None:
        stood = self._stands[student]
        resubmitted = stood.key.submission != entry.key.submission
        follower = MarkFollower(entry.rubric, stood.graded.score, entry.graded.score, resubmitted)
        automatic = automatic_points(stood.graded.score, stood.rubric)
        for cell, mark in stood.marks.items():
            # Only marks given item by item follow the points of their items.
            if mark.items and cell in automatic:
                after = follower.follow(cell, mark, settled_points(automatic[cell]))
                self._followed.append(FollowedMark(student, *cell, mark, after))
                self._rehearsal.give(self._name, student, cell, after)

    # ------------------------------------------------------------ who moves, and why

    def compared(self) -> Regrade:
        """Compare the rehearsal with the current results."""
        published = read_published(self._course, self._name)
        moves = [
            move
            for student in self._fresh()
            if (move := student_move(self._before(student), self._after(student))) is not None
        ]
        moved = tuple(self._explained(one, published) for one in in_order(moves))
        sentences = {one.text: None for student in self._fresh() for one in self._differences_of(student)}
        total = len(self._handins)
        same = total - len(moved) - len(self._failed)
        return Regrade(self._name, total, same, moved, self._failed, tuple(sentences), tuple(self._remarks))

    def _before(self, student: str) -> MarkedScore:
        stood = self._stands[student]
        return MarkedScore(stood.graded.score, stood.rubric, stood.marks, self._given.get(student, NOTHING))

    def _after(self, student: str) -> MarkedScore:
        # Marks come from the rehearsal, in which they have already followed the new result.
        entry = self._rehearsal.entries[student]
        marks = self._marks.get(student, {})
        return MarkedScore(entry.graded.score, entry.rubric, marks, self._given.get(student, NOTHING))

    def _explained(self, move: StudentMove, published: PublishedMarks) -> RegradeMove:
        student = move.student
        shown, now = published.shown.get(student), self._page(student, move.after)
        return RegradeMove(
            move,
            tuple(tuple(self._reasons(move, at)) for at in range(len(move.items))),
            tuple(self._of_student(student)),
            told(shown) if shown else "",
            shown is not None and shown.moves_to(now),
        )

    def _page(self, student: str, stands: Standing) -> ShownMark:
        entry = self._rehearsal.entries[student]
        return shown_mark(entry.graded.score, entry.rubric, stands, course_log.now())

    def _reasons(self, move: StudentMove, at: int) -> Iterator[str]:
        """Yield the possible causes of an item's move."""
        item = move.items[at]
        if item.by_person:
            yield "a person's mark, which follows what its item is worth"
        yield from (
            one.text
            for one in self._differences_of(move.student)
            if one.questions is None or item.question in one.questions
        )

    def _of_student(self, student: str) -> Iterator[str]:
        stood, entry = self._stands[student], self._rehearsal.entries[student]
        if stood.key.submission != entry.key.submission:
            yield "another submission counts now"
        if faults := [note.code for note in stood.graded.score.notes if note.code in FAULTS]:
            yield f"graded with a fault of ours before ({', '.join(dict.fromkeys(faults))})"
        before, after = (
            {note.text for note in one.score.notes if note.code in NOTES}
            for one in (stood.graded, entry.graded)
        )
        yield from (f"time of handing in: {text}" for text in sorted(after - before))
        if before - after and not after:
            yield "time of handing in: in time now"

    def _differences_of(self, student: str) -> tuple[BasisDifference, ...]:
        """Return the differences from the time when a student was graded."""
        key = self._stands[student].key
        if self._rehearsal.entries[student].key == key:
            return ()
        now = self._rehearsal.entries[student].key
        place = (key.rubric, key.environment, now.environment)
        # Most students share one pair of rubric and environment, so differences are computed once for each.
        if place not in self._differences:
            self._differences[place] = tuple(self._compare(key, now))
        return self._differences[place]

    def _compare(self, key: Key, after: Key) -> Iterator[BasisDifference]:
        rubric = self._assignment.rubric
        if key.rubric != rubric.digest:
            kept = kept_rubric(self._course, key.rubric)
            if kept is None:
                yield BasisDifference(f"another rubric: version {key.rubric_version} → {rubric.version}")
            else:
                data = atomic.read(self._course.rubric(self._name))
                yield from rubric_differences(kept[0], data)
        if key.environment != after.environment:
            now = basis_of(self._assignment, self._isolation)
            yield from basis_differences(kept_basis(self._course, key.environment), now, rubric)

    # ------------------------------------------------------------ the move

    def entered(self, found: Regrade, choice: RegradeChoice) -> Regrade:
        """Apply the comparison; without differences, there is nothing to do.

        Raises:
            CourseError: published marks would move, and the choice does not allow it.
            GradebookError: the store reported an error.
        """
        # An interrupted regrade is finished even if nothing differs any more.
        if not (found.moved or found.differences or interrupted_regrade(self._course, self._name)):
            self._rehearsal.forget()  # a run that was killed at its very end has left it
            return found
        _check_shown(found, choice)
        rehearsed = RehearsedClass(
            self._assignment,
            self._isolation,
            tuple(self._fresh().values()),
            tuple(self._followed),
            {student: self._page(student, self._after(student).standing()) for student in self._fresh()},
            tuple(one.move.student for one in found.shown),
        )
        noted = enter_regrade(self._store, rehearsed, _facts(found, choice), choice.reason)
        self._rehearsal.forget()
        return replace(found, entry=noted)


def _facts(found: Regrade, choice: RegradeChoice) -> Mapping[str, Any]:
    """Return the content of the log entry."""
    moved = {
        one.move.student: {
            "before": one.move.before.total if one.move.before else None,
            "after": one.move.after.total,
            "shown": one.shown if one.moves_shown else "",
            "items": [
                [f"{item.question}.{item.item}", item.before, item.after, list(why)]
                for item, why in zip(one.move.items, one.why, strict=True)
            ],
            "also": list(one.also),
        }
        for one in found.moved
    }
    return {"reason": choice.reason, "differences": found.differences, "same": found.same, "moved": moved}


def _check_shown(found: Regrade, choice: RegradeChoice) -> None:
    """Refuse to move published marks, unless it is allowed and explained."""
    if not found.shown:
        return
    if choice.published and choice.reason.strip():
        return
    told_of = "; ".join(
        f"{one.move.student} was shown {one.shown}, and would have {number(one.move.after.total)}"
        for one in found.shown[:_MOST_NAMED]
    )
    more = f"; and {len(found.shown) - _MOST_NAMED} more" if len(found.shown) > _MOST_NAMED else ""
    raise CourseError(
        f"marks that students were shown would move, and nothing was changed: {told_of}{more}. To move them, "
        "and have their pages say so: --published --reason 'what was wrong'"
    )


def _as_scored(rubric: Rubric, graded: Graded) -> Rubric:
    """Return a rubric with the possible points of a result; deductions stay as they are."""
    # The best reconstruction if the rubric was not kept: possible points are part of the result.
    known = {(one.question, one.item): one.possible for one in graded.score.items}
    questions = []
    for question in rubric.questions:
        items = tuple(
            replace(item, points=known.get((question.id, item.id), item.points)) if item.points > 0 else item
            for item in question.items
        )
        points = sum((item.points for item in items if item.points > 0), NOTHING)
        questions.append(replace(question, items=items, points=points))
    return replace(rubric, questions=tuple(questions), version=graded.score.rubric_version)


def _weighed(rubric: Rubric, cell: CellName, mark: PersonMark) -> PersonMark:
    """Complete a mark with the points that each of its items could have."""
    worth = {
        item.id: item.points
        for question in rubric.questions
        if question.notebook == cell[0] and cell[1] in question.cells()
        for item in question.items
    }
    return replace(mark, worth={**{one: worth[one] for one in mark.items if one in worth}, **mark.worth})
