"""A class: graded, where everybody stands, and the pages about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from functools import partial

from msgspec import Struct

from autograder import assignment as assignments
from autograder.app import SILENT, Isolation, Listener, counted
from autograder.app.decisions import enter_decisions, stated_decisions
from autograder.app.lists import read_bonus, read_roster
from autograder.app.roll import Roll, nearest_id, read_roll, restore_marks
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.course import Course, Handin, schedule
from autograder.course.schedule import Schedule
from autograder.errors import CourseError
from autograder.feedback import publish
from autograder.feedback.publish import Page
from autograder.grades import NOTHING, Standing, standing
from autograder.grading import batch
from autograder.grading.batch import Outcome
from autograder.records import Score
from autograder.sandbox.pool import Pool
from autograder.store import Store
from autograder.tables import hint
from autograder.timestamps import NOTES as TIME

__all__ = ["TIME", "Outcome", "Page", "Standing"]
"""What a front end needs of what lies below."""


class Collected(Struct, frozen=True):
    """What a class handed in, before any of it is graded."""

    handins: tuple[Handin, ...]
    """The attempt that counts of every student, with how it stands to the time."""
    misnamed: Mapping[str, str]
    """Folders that are not graded for their name, and what is wrong with it."""
    times: Schedule | None
    """When the assignment is sat, where the course says so."""


class PointsChange(Struct, frozen=True):
    """Automatic points that are others than in the result before."""

    student: str
    before: Decimal
    now: Decimal
    items: tuple[str, ...]
    """``question/item`` of every item with other points; of another rubric, also those it alone has."""


class GradedClass(Struct, frozen=True):
    """What came of grading a class."""

    outcomes: tuple[Outcome, ...]
    changes: tuple[PointsChange, ...]
    """Of students who had a result before, by student."""
    remarks: tuple[str, ...]
    """About who belongs to the class and what was found in the gradebook, a sentence each."""
    misnamed: Mapping[str, str]
    """Folders that are not graded for their name, and what is wrong with it."""
    attention: bool
    """Some of it is for a person to put right."""


class Standings(Struct, frozen=True):
    """Where everybody stands."""

    rows: Mapping[str, Standing]
    """By student, in order."""
    roll: Roll
    """Who belongs to the class; its remarks tell what was found in the gradebook as well."""


class Published(Struct, frozen=True):
    """The pages that were written, or could not be."""

    pages: tuple[Page, ...]
    remarks: tuple[str, ...]
    """What staff must know of the class, a sentence each."""


def collect(course: Course, assignment: Assignment, students: Collection[str] = ()) -> Collected:
    """What lies in submitted/: of each student the attempt that counts. Nothing is read or run.

    Args:
        course: whose class.
        assignment: loaded.
        students: only these; empty: everybody.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students handed in nothing.
    """
    name, times = assignment.name, schedule.load(course, assignment.rubric)
    handins = [one for one in course.handins(name) if not students or one.student in students]
    missing = sorted(set(students) - {one.student for one in handins})
    if missing:
        known = [one.student for one in course.handins(name)]
        nearest = "; ".join(dict.fromkeys(nearest_id(one, known) for one in missing))
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}; {nearest}")
    return Collected(tuple(schedule.settled(course, times, handins, name)), course.misnamed(name), times)


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
    """Grade what lies in submitted/ and record it. Run again, it goes on where it was stopped.

    What is known already is not graded: the same bytes under the same rubric, reference and program.

    Args:
        course: whose class.
        name: of the assignment.
        students: only these; empty: everybody.
        workers: submissions at the same time; 0: one per core.
        isolation: how student code is confined.
        again: grade even what is known.
        watch: hears of each submission.
        store: opens the course's.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students handed in nothing.
        RubricError: the rubric is not valid.
        SandboxUnavailable: student code cannot be confined on this machine.
        GradebookError: the store refused.
    """
    assignment = assignments.load(course, name)
    collected = collect(course, assignment, students)
    handins, times = collected.handins, collected.times
    if times is None and assignment.rubric.assignment.exam:
        watch.tell(f"{course.exams.name} does not say when {name} is sat: nobody is late")
    with store(assignment, new=True) as opened, Pool(isolation=isolation) as pool:
        decisions, undecided = stated_decisions(course, assignment.rubric), False
        _enrol(course, times, opened, watch)
        found = restore_marks(assignment, opened)
        before = {one: graded.score for one, graded in opened.results(name).items()}
        graded = batch.grade_class(assignment, handins, opened, pool, workers=workers or None, again=again)
        outcomes = tuple(counted(graded, len(handins), watch))
        roll = read_roll(assignment, opened)
        if decisions:
            results = list(roll.results.values())
            became = enter_decisions(assignment.rubric, opened, decisions, results, course.secret())
            for line in became.lines:
                watch.tell(line)
            undecided = became.attention
    attention = bool(found) or roll.attention or undecided
    changes = _changes(before, outcomes)
    return GradedClass(outcomes, changes, (*found, *roll.remarks), collected.misnamed, attention)


regrade = partial(grade, again=True)
"""As `grade`, for everybody afresh; `GradedClass.changes` tells whose points are others now."""


def _changes(before: Mapping[str, Score], outcomes: Iterable[Outcome]) -> tuple[PointsChange, ...]:
    """Whose automatic points are others than they were. What could not be kept has changed nothing."""
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


def _enrol(course: Course, times: Schedule | None, store: Store, watch: Listener) -> None:
    """Enter the class list. Times of somebody whom nobody knows are told, or refused where there is one."""
    handed_in = course.students()
    if course.roster.is_file():
        roster = read_roster(course.roster)
        if times:
            times.check_students({*handed_in, *(one.id for one in roster)})
        store.enrol(roster)
    elif times:
        what = f"{course.exams.name}: {{}} has times of their own"
        _tell_strangers(times.strangers(handed_in), what, watch)


def standings(
    course: Course, name: str, *, watch: Listener = SILENT, store: OpenStore = open_store
) -> Standings:
    """Where everybody stands, with what people gave and bonus points. Automatic marks are put back first.

    Raises:
        CourseError: nobody was graded yet, or a list of the course is not usable.
        RubricError: the rubric is not valid.
        GradebookError: the store refused.
    """
    assignment = assignments.load(course, name)
    with store(assignment, new=False) as opened:
        return _standings(assignment, opened, watch)


def feedback(
    course: Course,
    name: str,
    language: str = "",
    *,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> Published:
    """Write the page of everybody who has a result, and those for staff.

    Args:
        course: whose class.
        name: of the assignment.
        language: of the pages; empty: the release's.
        watch: hears of each page.
        store: opens the course's.

    Raises:
        CourseError: as in `standings`; or the assignment is not written in the language.
        RubricError: the rubric is not valid.
        GradebookError: the store refused.
    """
    assignment = assignments.load(course, name)
    known = assignment.rubric.assignment.languages
    if language and language not in known:
        raise CourseError(f"--language: expected one of {', '.join(known)}, got {language!r}")
    with store(assignment, new=False) as opened:
        stand = _standings(assignment, opened, watch)
    results = stand.roll.results
    handins = collect(course, assignment).handins
    pages = publish.pages(
        course,
        assignment.rubric,
        results,
        {student: assignment.rubric_of(student) for student in results},
        stand.rows,
        submitted={handin.student: handin.submitted_at for handin in handins},
        timings={handin.student: handin.timing for handin in handins if handin.timing},
        language=language or assignment.language,
        remarks=stand.roll.remarks,
        names=_names(course),
        releases=assignment.releases_of,
    )
    return Published(tuple(counted(pages, len(results) + 2, watch)), stand.roll.remarks)


def _names(course: Course) -> dict[str, str]:
    """Names by id, where there is a class list that has any."""
    if not course.roster.is_file():
        return {}
    return {one.id: f"{one.first_name} {one.last_name}".strip() for one in read_roster(course.roster)}


def _standings(assignment: Assignment, store: Store, watch: Listener) -> Standings:
    course = assignment.course
    found = restore_marks(assignment, store)
    roll = read_roll(assignment, store)
    marks = store.marks(assignment.name)
    every = course.assignments()
    given = read_bonus(course.bonus, assignment.name, every) if course.bonus.is_file() else {}
    known = {*roll.results, *roll.gone, *course.students()}
    if course.roster.is_file():
        known |= {one.id for one in read_roster(course.roster)}
    strangers = {student: hint(student, known) for student in given if student not in known}
    if course.roster.is_file():
        for student, nearest in strangers.items():  # a misspelt id would cost somebody their points
            raise CourseError(
                f"{course.bonus}: {student!r} has bonus points, but is not in the class list; {nearest}"
            )
    _tell_strangers(strangers, f"{course.bonus.name}: {{}} has bonus points", watch)
    rows = {
        student: standing(
            graded.score, assignment.rubric_of(student), marks.get(student), given.get(student, NOTHING)
        )
        for student, graded in roll.results.items()
    }
    return Standings(rows, Roll(roll.results, roll.gone, (*found, *roll.remarks), roll.attention))


def _tell_strangers(strangers: Mapping[str, str], what: str, watch: Listener) -> None:
    """Warn of ids that may be misspelt, where there is no class list that could tell.

    Args:
        strangers: id → the nearest name.
        what: was stated for an id, which stands in the place of ``{}``.
        watch: is told.
    """
    for student, nearest in strangers.items():
        watch.tell(f"{what.format(repr(student))}, but nobody of this id handed anything in; {nearest}")
