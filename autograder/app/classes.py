"""A class: grading, standings, and feedback pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from autograder import assignment as assignments
from autograder.app import SILENT, Isolation, Listener, counted, course_log
from autograder.app.basis import keep_basis
from autograder.app.handed_in import in_time, share_marks
from autograder.app.handins import Collected, collect
from autograder.app.lists import read_bonus, read_roster
from autograder.app.published import (
    PagePlan,
    PublishedMarks,
    ShownMark,
    after_pages,
    plan_pages,
    read_published,
    shown_mark,
    write_published,
)
from autograder.app.roll import Roll, read_roll, restore_marks
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.course import Course, Handin, groups
from autograder.errors import CourseError
from autograder.grades import NOTHING, Standing, standing
from autograder.grading import batch
from autograder.grading.batch import Outcome
from autograder.records import Graded, Score
from autograder.sandbox.levels import at_least, environment_digest
from autograder.sandbox.pool import Pool
from autograder.store import Store
from autograder.tables import hint, name_list
from autograder.timestamps import NOTES as TIME

if TYPE_CHECKING:  # what makes pages takes long to import; front ends name a page for its type alone
    from autograder.feedback.publish import ClassShown, Page  # noqa: TC004

__all__ = ["TIME", "Outcome", "Page", "Standing"]
"""Includes names of lower layers that front ends need."""


class PointsChange(Struct, frozen=True):
    """Automatic points that differ from the previous result."""

    student: str
    before: Decimal
    now: Decimal
    items: tuple[str, ...]
    """``question/item`` of every item with different points; if the rubric changed, also items that only one
    has."""


class GradedClass(Struct, frozen=True):
    """Result of grading a class."""

    outcomes: tuple[Outcome, ...]
    changes: tuple[PointsChange, ...]
    """Changes of students with a previous result, by student."""
    remarks: tuple[str, ...]
    """Sentences about class membership and about the gradebook."""
    misnamed: Mapping[str, str]
    """Folders that are not graded because of their name, with the reason."""
    attention: bool
    """Whether staff must correct something."""
    held: tuple[str, ...] = ()
    """Students who keep the result behind their published mark although grading would differ now."""


class Standings(Struct, frozen=True):
    """The standings of a class."""

    rows: Mapping[str, Standing]
    """By student, in order."""
    roll: Roll
    """Members of the class; its remarks include those about the gradebook."""


class Published(Struct, frozen=True):
    """The pages that were written, or could not be."""

    pages: tuple[Page, ...]
    remarks: tuple[str, ...]
    """Sentences for staff about the class."""
    attention: bool = False
    """Some pages were kept because their marks would differ from the published ones."""


def grade(
    course: Course,
    name: str,
    students: Collection[str] = (),
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    again: bool = False,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> GradedClass:
    """Grade the submissions in submitted/ and record the results. A repeated call resumes an interrupted one.

    Known results are reused: the same bytes under the same rubric, reference and versions.

    Args:
        course: the course.
        name: of the assignment.
        students: only these; empty: all.
        workers: number of parallel workers; 0: by the number of cores.
        isolation: how student code is confined.
        again: also grade submissions with a known result.
        watch: notified after each submission.
        store: opens the store of the course.

    Raises:
        CourseError: a file of the course is not usable, or one of the students has no submission.
        RubricError: the rubric is not valid.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load(course, name)
    collected = collect(course, assignment, students)
    handins = collected.handins
    if collected.times is None and assignment.rubric.assignment.exam:
        watch.tell(f"{course.exams.name} does not say when {assignment.name} is sat: nobody is late")
    with Pool(isolation=isolation) as pool, store(assignment, new=True) as opened:
        _enrol(course, collected, opened, watch)
        for sentence in groups.list_mixed_variants(collected.groups, assignment.manifest):
            watch.tell(sentence)
        # The roll and restored marks concern the whole class, even if only some students are graded.
        everybody = collect(course, assignment) if students else collected
        handed_in = {one.student for one in everybody.handins}
        found = restore_marks(assignment, opened, handed_in)
        # Read before grading, which replaces these results.
        before = {one: graded.score for one, graded in opened.results(assignment.name, whole=False).items()}
        held = _held(assignment, handins, opened, isolation, watch, again=again)
        if handins := tuple(one for one in handins if one.student not in held):
            keep_basis(assignment, isolation)
        graded = batch.grade_class(
            assignment, handins, opened, pool, workers=workers, again=again, stopwatch=watch.stopwatch
        )
        outcomes = tuple(counted(graded, len(handins), watch))
        roll = read_roll(assignment, opened, handed_in, whole=False)
        shared = share_marks(opened, assignment.rubric, collected.groups, roll.results)
        _take_off(assignment, opened, roll.results)
    remarks, attention = (*found, *shared, *roll.remarks), bool(found) or roll.attention
    changes, kept = _changes(before, outcomes), tuple(sorted(held))
    return GradedClass(outcomes, changes, remarks, collected.misnamed, attention, kept)


_HELD = (
    "{} students keep the results that their published marks are made of, though the rubric, the reference, "
    "the grading version or a library has changed since: {}; who would move, and why: autograder regrade {}"
)


def _held(
    assignment: Assignment,
    handins: Iterable[Handin],
    store: Store,
    isolation: Isolation,
    watch: Listener,
    *,
    again: bool,
) -> frozenset[str]:
    """Return students with an unchanged submission and published marks that grading would change now."""
    shown = read_published(assignment.course, assignment.name).shown
    if not shown:
        return frozenset()
    keys, digest = store.keys(assignment.name), assignment.digest()
    # A result from a stricter isolation level is as good as one from the requested level.
    environments = {environment_digest(digest, level) for level in at_least(isolation)}
    held = set()
    for handin in handins:
        key = keys.get(handin.student)
        if key is None or handin.student not in shown:
            continue
        same = key.rubric == assignment.rubric.digest and key.environment in environments
        # A new submission is not held: its student expects the mark to change.
        if (again or not same) and batch.collect(assignment, handin).digest() == key.submission:
            held.add(handin.student)
    if held:
        watch.tell(_HELD.format(len(held), name_list(sorted(held)), assignment.name))
    return frozenset(held)


def _changes(before: Mapping[str, Score], outcomes: Iterable[Outcome]) -> tuple[PointsChange, ...]:
    """List changes of automatic points. Results that could not be stored have changed nothing."""
    changes = []
    for one in sorted(outcomes, key=lambda outcome: outcome.student):
        score, old = one.graded.score, before.get(one.student)
        if old is None or one.problem:
            continue
        was, now = _points(old), _points(score)
        items = tuple(name for name in dict.fromkeys((*now, *was)) if now.get(name) != was.get(name))
        if items:
            changes.append(PointsChange(one.student, old.points, score.points, items))
    return tuple(changes)


def _points(score: Score) -> dict[str, Decimal]:
    return {f"{item.question}/{item.item}": item.points for item in score.items}


def _enrol(course: Course, collected: Collected, store: Store, watch: Listener) -> None:
    """Enter the class list. Unknown ids in other lists are an error with a class list, else a warning."""
    handed_in, times = course.students(), collected.times
    if course.roster.is_file():
        roster = read_roster(course.roster)
        known = {*handed_in, *(one.id for one in roster)}
        if times:
            times.check_students(known)
        if faults := groups.strangers(collected.groups, known):
            raise CourseError("; ".join(faults))
        store.enrol(roster)
        return
    for sentence in groups.strangers(collected.groups, handed_in):
        watch.tell(sentence)
    if times:
        what = f"{course.exams.name}: {{}} has times of their own"
        members = {member for group in collected.groups for member in group.members}
        _tell_strangers(times.strangers(handed_in | members), what, watch)


def standings(
    course: Course,
    name: str,
    *,
    whole: bool = False,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> Standings:
    """Return the standings with manual marks and bonus points, after restoring overwritten automatic marks.

    Args:
        course: the course.
        name: of the assignment.
        whole: as in `Store.results`.
        watch: receives warnings for staff.
        store: opens the store of the course.

    Raises:
        CourseError: no student was graded yet, or a list of the course is not usable.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load(course, name)
    with store(assignment, new=False) as opened:
        collected = collect(assignment.course, assignment)
        return _standings(assignment, opened, watch, collected, whole=whole)


def feedback(
    course: Course,
    name: str,
    language: str = "",
    *,
    publish_marks: bool = False,
    reason: str = "",
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> Published:
    """Write the feedback page of every student with a result, and the pages for staff.

    Once marks are published, every written page counts as shown, and a page with marks that differ from the
    published ones is written only with a reason.

    Args:
        course: the course.
        name: of the assignment.
        language: of the pages; empty: the release's.
        publish_marks: publish the pages: students see them from this call on.
        reason: why published marks changed; shown on the pages.
        watch: notified after each page.
        store: opens the store of the course.

    Raises:
        CourseError: as in `collect_standings`; or the assignment is not written in the language.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load(course, name)
    known = assignment.rubric.assignment.languages
    if language and language not in known:
        raise CourseError(f"--language: expected one of {', '.join(known)}, got {language!r}")
    with store(assignment, new=False) as opened:
        collected = collect(course, assignment)
        stand = _standings(assignment, opened, watch, collected, whole=True)
        keys = opened.keys(name)
    results = stand.roll.results
    published, moment = read_published(course, name), course_log.now()
    by_now = {one for one in results if keys[one].rubric == assignment.rubric.digest}
    plan = plan_pages(published, _will_show(assignment, stand, by_now, published), reason, moment)
    from autograder.feedback import publish

    pages = publish.pages(_shown(assignment, stand, collected, plan, language=language))
    # One page for each student and one for staff, except the pages that stay as they are.
    made = tuple(counted(pages, len(results) + 1 - len(plan.left & results.keys()), watch))
    # Once marks are published, every page written later counts as shown, too.
    if publish_marks or published.at:
        _note_shown(course, name, published, plan, made)
    return Published(made, (*stand.roll.remarks, *plan.refused), bool(plan.refused))


def _shown(
    assignment: Assignment,
    stand: Standings,
    collected: Collected,
    plan: PagePlan,
    *,
    language: str,
) -> ClassShown:
    """Return the content of a class's pages."""
    from autograder.feedback.publish import ClassShown

    results = stand.roll.results
    return ClassShown(
        course=assignment.course,
        rubric=assignment.rubric,
        results=results,
        rubrics={one: assignment.rubric_of(graded.score.asked) for one, graded in results.items()},
        standings=stand.rows,
        language=language or assignment.language,
        submitted={handin.student: handin.submitted_at for handin in collected.handins},
        timings=collected.timings,
        reasons={one.student: one.messages(language or assignment.language) for one in collected.handins},
        remarks=stand.roll.remarks,
        changes=plan.changes,
        left=plan.left,
        names=_names(assignment.course),
        releases=assignment.releases_of,
    )


def _names(course: Course) -> dict[str, str]:
    """Return names by id if there is a class list that has any."""
    if not course.roster.is_file():
        return {}
    return {one.id: f"{one.first_name} {one.last_name}".strip() for one in read_roster(course.roster)}


def _will_show(
    assignment: Assignment, stand: Standings, by_now: Collection[str], published: PublishedMarks
) -> dict[str, ShownMark]:
    """Return the marks that new pages would show; published ones only if graded by the current rubric."""
    moment = course_log.now()
    # A published mark of an older rubric is left out, so that `plan_pages` keeps its page.
    return {
        student: shown_mark(graded.score, assignment.rubric_of(student), stand.rows[student], moment)
        for student, graded in stand.roll.results.items()
        if student not in published.shown or student in by_now
    }


def _note_shown(
    course: Course, name: str, before: PublishedMarks, plan: PagePlan, pages: Iterable[Page]
) -> None:
    """Record the marks that the class was shown, and log new publications and changes."""
    written = {page.student for page in pages if page.student}
    after = after_pages(before, plan, written, course_log.now())
    write_published(course, name, after)
    changed = {
        one: [mark.changes[-1].before, mark.changes[-1].after, mark.changes[-1].reason]
        for one, mark in after.shown.items()
        if mark.changes and mark.changes != getattr(before.shown.get(one), "changes", ())
    }
    new = sorted(after.shown.keys() - before.shown.keys())
    if new:
        course_log.add(course, "publish", name, {"students": new})
    if changed:
        course_log.add(course, "change published marks", name, {"students": changed})


def _standings(
    assignment: Assignment, store: Store, watch: Listener, collected: Collected, *, whole: bool
) -> Standings:
    """Compute the standings. Also write deductions and the shared marks of groups to the store."""
    course = assignment.course
    handed_in = {one.student for one in collected.handins}
    found = restore_marks(assignment, store, handed_in)
    roll = read_roll(assignment, store, handed_in, whole=whole)
    roll = in_time(roll, collected.handins, assignment.name)
    shared = share_marks(store, assignment.rubric, collected.groups, roll.results)
    every = course.assignments()
    given = read_bonus(course.bonus, assignment.name, every) if course.bonus.is_file() else {}
    known = {*roll.results, *roll.gone, *course.students()}
    if course.roster.is_file():
        known |= {one.id for one in read_roster(course.roster)}
    strangers = {student: hint(student, known) for student in given if student not in known}
    if course.roster.is_file():
        for student, nearest in strangers.items():  # a misspelt id would cost a student their points
            raise CourseError(
                f"{course.bonus}: {student!r} has bonus points, but is not in the class list; {nearest}"
            )
    _tell_strangers(strangers, f"{course.bonus.name}: {{}} has bonus points", watch)
    rows = _stand(assignment, store, roll.results, given)
    store.deduct(assignment.name, {student: one.late for student, one in rows.items()})
    return Standings(rows, Roll(roll.results, roll.gone, (*found, *shared, *roll.remarks), roll.attention))


def _stand(
    assignment: Assignment,
    store: Store,
    results: Mapping[str, Graded],
    given: Mapping[str, Decimal],
) -> dict[str, Standing]:
    """Compute the standing of each student, with bonus points of the course."""
    marks = store.marks(assignment.name)
    return {
        student: standing(
            graded.score,
            assignment.rubric_of(graded.score.asked),
            marks.get(student),
            given.get(student, NOTHING),
        )
        for student, graded in results.items()
    }


def _take_off(assignment: Assignment, store: Store, results: Mapping[str, Graded]) -> None:
    """Write late penalties to the store; standings are computed only for students with a penalty."""
    late = {student: graded for student, graded in results.items() if graded.score.deduction}
    rows = _stand(assignment, store, late, {})
    # Students without a penalty are included with zero, which clears a deduction from an earlier run.
    nothing = dict.fromkeys(results, NOTHING)
    store.deduct(assignment.name, nothing | {student: one.late for student, one in rows.items()})


def _tell_strangers(strangers: Mapping[str, str], what: str, watch: Listener) -> None:
    """Warn of ids that may be misspelt, if there is no class list to check them against.

    Args:
        strangers: id → the nearest name.
        what: a sentence about the id, which replaces ``{}``.
        watch: receives the warnings.
    """
    for student, nearest in strangers.items():
        watch.tell(f"{what.format(repr(student))}, but nobody of this id handed anything in; {nearest}")
