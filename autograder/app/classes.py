"""A class: grading, standings, feedback pages, and the figures of a run."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autograder.app import SILENT, Isolation, Listener, count_steps, course_log
from autograder.app.class_lists import read_bonus, read_roster
from autograder.app.class_roll import (
    CollectedClass,
    Roll,
    collect_handins,
    copy_shared_marks,
    read_roll,
    restore_marks,
    update_times,
)
from autograder.app.grading_basis import keep_basis
from autograder.app.published_marks import (
    PagePlan,
    PublishedMarks,
    ShownMark,
    make_shown_mark,
    plan_pages,
    read_published,
    update_published,
    write_published,
)
from autograder.app.stores import OpenStore, open_store
from autograder.core.errors import CourseError
from autograder.core.records import GradingResult, Score, Status
from autograder.core.tables import join_names, suggest_name
from autograder.course import Course, Handin, group_list
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.grading.assignment import Assignment
from autograder.grading.batch import Outcome
from autograder.grading.grades import NOTHING, Standing, compute_standing
from autograder.grading.store import Store
from autograder.rubric.timestamps import NOTES as TIME
from autograder.sandbox.levels import compute_environment_digest, list_levels_at_least
from autograder.sandbox.pool import Pool

if TYPE_CHECKING:
    from autograder.pages.feedback.publication import ClassPages, Page  # noqa: TC004

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


class PublishedPages(Struct, frozen=True):
    """The pages that were written, or could not be."""

    pages: tuple[Page, ...]
    remarks: tuple[str, ...]
    """Sentences for staff about the class."""
    attention: bool = False
    """Some pages were kept because their marks would differ from the published ones."""


def grade_class(
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
    assignment = assignments.load_assignment(course, name)
    collected = collect_handins(course, assignment, students)
    handins = collected.handins
    if collected.times is None and assignment.rubric.assignment.exam:
        watch.notify_staff(f"{course.exams.name} does not say when {assignment.name} is sat: nobody is late")
    with Pool(isolation=isolation) as pool, store(assignment, new=True) as opened:
        _enroll_class(course, collected, opened, watch)
        for sentence in group_list.list_mixed_variants(collected.groups, assignment.manifest):
            watch.notify_staff(sentence)
        # The roll and restored marks concern the whole class, even if only some students are graded.
        everybody = collect_handins(course, assignment) if students else collected
        handed_in = {student.student for student in everybody.handins}
        restored = restore_marks(assignment, opened, handed_in)
        # Read before grading, which replaces these results.
        before = {
            student: graded.score
            for student, graded in opened.load_results(assignment.name, whole=False).items()
        }
        held = _find_held_students(assignment, handins, opened, isolation, watch, again=again)
        if handins := tuple(student for student in handins if student.student not in held):
            keep_basis(assignment, isolation)
        graded = batch.grade_class(assignment, handins, opened, pool, workers=workers, again=again)
        outcomes = tuple(count_steps(graded, len(handins), watch))
        roll = read_roll(assignment, opened, handed_in, whole=False)
        shared = copy_shared_marks(opened, assignment.rubric, collected.groups, roll.results)
        _deduct_late_penalties(assignment, opened, roll.results)
    remarks, attention = (*restored, *shared, *roll.remarks), bool(restored) or roll.attention
    changes, kept = _list_changes(before, outcomes), tuple(sorted(held))
    return GradedClass(outcomes, changes, remarks, collected.misnamed, attention, kept)


_HELD = (
    "{} students keep the results that their published marks are made of, though the rubric, the reference, "
    "the grading version or a library has changed since: {}; who would move, and why: autograder regrade {}"
)


def _find_held_students(
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
    keys, digest = store.load_keys(assignment.name), assignment.compute_digest()
    # A result from a stricter isolation level is as good as one from the requested level.
    environments = {compute_environment_digest(digest, level) for level in list_levels_at_least(isolation)}
    held = set()
    for handin in handins:
        key = keys.get(handin.student)
        if key is None or handin.student not in shown:
            continue
        same = key.rubric == assignment.rubric.digest and key.environment in environments
        # A new submission is not held: its student expects the mark to change.
        if (again or not same) and batch.read_handin(assignment, handin).compute_digest() == key.submission:
            held.add(handin.student)
    if held:
        watch.notify_staff(_HELD.format(len(held), join_names(sorted(held)), assignment.name))
    return frozenset(held)


def _list_changes(before: Mapping[str, Score], outcomes: Iterable[Outcome]) -> tuple[PointsChange, ...]:
    """List changes of automatic points. Results that could not be stored have changed nothing."""
    changes = []
    for result in sorted(outcomes, key=lambda outcome: outcome.student):
        score, old = result.graded.score, before.get(result.student)
        if old is None or result.problem:
            continue
        was, now = _map_points(old), _map_points(score)
        items = tuple(name for name in dict.fromkeys((*now, *was)) if now.get(name) != was.get(name))
        if items:
            changes.append(PointsChange(result.student, old.points, score.points, items))
    return tuple(changes)


def _map_points(score: Score) -> dict[str, Decimal]:
    return {f"{item.question}/{item.item}": item.points for item in score.items}


def _enroll_class(course: Course, collected: CollectedClass, store: Store, watch: Listener) -> None:
    """Enter the class list. Unknown ids in other lists are an error with a class list, else a warning."""
    handed_in, times = course.list_students(), collected.times
    if course.roster.is_file():
        roster = read_roster(course.roster)
        known_ids = {*handed_in, *(student.id for student in roster)}
        if times:
            times.check_students(known_ids)
        if faults := group_list.list_strangers(collected.groups, known_ids):
            raise CourseError("; ".join(faults))
        store.enroll_students(roster)
        return
    for sentence in group_list.list_strangers(collected.groups, handed_in):
        watch.notify_staff(sentence)
    if times:
        sentence_template = f"{course.exams.name}: {{}} has an extension"
        members = {member for group in collected.groups for member in group.members}
        _report_strangers(times.find_strangers(handed_in | members), sentence_template, watch)


def collect_standings(
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
        whole: as in `Store.load_results`.
        watch: receives warnings for staff.
        store: opens the store of the course.

    Raises:
        CourseError: no student was graded yet, or a list of the course is not usable.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    assignment = assignments.load_assignment(course, name)
    with store(assignment, new=False) as opened:
        collected = collect_handins(assignment.course, assignment)
        return _compute_standings(assignment, opened, watch, collected, whole=whole)


def write_feedback(
    course: Course,
    name: str,
    language: str = "",
    *,
    publish_marks: bool = False,
    reason: str = "",
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> PublishedPages:
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
    assignment = assignments.load_assignment(course, name)
    languages = assignment.rubric.assignment.languages
    if language and language not in languages:
        raise CourseError(f"--language: expected one of {', '.join(languages)}, got {language!r}")
    with store(assignment, new=False) as opened:
        collected = collect_handins(course, assignment)
        stand = _compute_standings(assignment, opened, watch, collected, whole=True)
        keys = opened.load_keys(name)
    results = stand.roll.results
    published, moment = read_published(course, name), course_log.get_time()
    current_students = {student for student in results if keys[student].rubric == assignment.rubric.digest}
    plan = plan_pages(
        published, _plan_shown_marks(assignment, stand, current_students, published), reason, moment
    )
    from autograder.pages.feedback import publication

    pages = publication.write_pages(_build_class_view(assignment, stand, collected, plan, language=language))
    # One page for each student and one for staff, except the pages that stay as they are.
    pages_written = tuple(count_steps(pages, len(results) + 1 - len(plan.left & results.keys()), watch))
    # Once marks are published, every page written later counts as shown, too.
    if publish_marks or published.at:
        _record_shown_marks(course, name, published, plan, pages_written)
    return PublishedPages(pages_written, (*stand.roll.remarks, *plan.refused), bool(plan.refused))


def _build_class_view(
    assignment: Assignment,
    stand: Standings,
    collected: CollectedClass,
    plan: PagePlan,
    *,
    language: str,
) -> ClassPages:
    """Return the content of a class's pages."""
    from autograder.pages.feedback.publication import ClassPages

    results = stand.roll.results
    return ClassPages(
        course=assignment.course,
        rubric=assignment.rubric,
        results=results,
        rubrics={student: assignment.get_rubric(graded.score.asked) for student, graded in results.items()},
        standings=stand.rows,
        language=language or assignment.language,
        submitted={handin.student: handin.submitted_at for handin in collected.handins},
        timings=collected.timings,
        reasons={
            student.student: student.list_messages(language or assignment.language)
            for student in collected.handins
        },
        remarks=stand.roll.remarks,
        changes=plan.changes,
        left=plan.left,
        names=_read_names(assignment.course),
        releases=assignment.get_releases,
    )


def _read_names(course: Course) -> dict[str, str]:
    """Return names by id if there is a class list that has any."""
    if not course.roster.is_file():
        return {}
    return {
        student.id: f"{student.first_name} {student.last_name}".strip()
        for student in read_roster(course.roster)
    }


def _plan_shown_marks(
    assignment: Assignment, stand: Standings, by_now: Collection[str], published: PublishedMarks
) -> dict[str, ShownMark]:
    """Return the marks that new pages would show; published ones only if graded by the current rubric."""
    moment = course_log.get_time()
    # A published mark of an older rubric is left out, so that `plan_pages` keeps its page.
    return {
        student: make_shown_mark(graded.score, assignment.get_rubric(student), stand.rows[student], moment)
        for student, graded in stand.roll.results.items()
        if student not in published.shown or student in by_now
    }


def _record_shown_marks(
    course: Course, name: str, before: PublishedMarks, plan: PagePlan, pages: Iterable[Page]
) -> None:
    """Record the marks that the class was shown, and log new publications and changes."""
    written = {page.student for page in pages if page.student}
    after = update_published(before, plan, written, course_log.get_time())
    write_published(course, name, after)
    changed = {
        student: [mark.changes[-1].before, mark.changes[-1].after, mark.changes[-1].reason]
        for student, mark in after.shown.items()
        if mark.changes and mark.changes != getattr(before.shown.get(student), "changes", ())
    }
    new = sorted(after.shown.keys() - before.shown.keys())
    if new:
        course_log.add_entry(course, "publish", name, {"students": new})
    if changed:
        course_log.add_entry(course, "change published marks", name, {"students": changed})


def _compute_standings(
    assignment: Assignment, store: Store, watch: Listener, collected: CollectedClass, *, whole: bool
) -> Standings:
    """Compute the standings. Also write deductions and the shared marks of groups to the store."""
    course = assignment.course
    submitters = {entry.student for entry in collected.handins}
    restored = restore_marks(assignment, store, submitters)
    roll = read_roll(assignment, store, submitters, whole=whole)
    roll = update_times(roll, collected.handins, assignment.name)
    shared = copy_shared_marks(store, assignment.rubric, collected.groups, roll.results)
    every = course.list_assignments()
    bonus = read_bonus(course.bonus, assignment.name, every) if course.bonus.is_file() else {}
    known_ids = {*roll.results, *roll.gone, *course.list_students()}
    if course.roster.is_file():
        known_ids |= {entry.id for entry in read_roster(course.roster)}
    strangers = {student: suggest_name(student, known_ids) for student in bonus if student not in known_ids}
    if course.roster.is_file():
        for student, nearest in strangers.items():  # a misspelt id would cost a student their points
            raise CourseError(
                f"{course.bonus}: {student!r} has bonus points, but is not in the class list; {nearest}"
            )
    _report_strangers(strangers, f"{course.bonus.name}: {{}} has bonus points", watch)
    rows = _compute_rows(assignment, store, roll.results, bonus)
    store.record_deductions(assignment.name, {student: entry.late for student, entry in rows.items()})
    return Standings(rows, Roll(roll.results, roll.gone, (*restored, *shared, *roll.remarks), roll.attention))


def _compute_rows(
    assignment: Assignment,
    store: Store,
    results: Mapping[str, GradingResult],
    bonus: Mapping[str, Decimal],
) -> dict[str, Standing]:
    """Compute the standing of each student, with bonus points of the course."""
    marks = store.load_marks(assignment.name)
    return {
        student: compute_standing(
            graded.score,
            assignment.get_rubric(graded.score.asked),
            marks.get(student),
            bonus.get(student, NOTHING),
        )
        for student, graded in results.items()
    }


def _deduct_late_penalties(
    assignment: Assignment, store: Store, results: Mapping[str, GradingResult]
) -> None:
    """Write late penalties to the store; standings are computed only for students with a penalty."""
    late = {student: graded for student, graded in results.items() if graded.score.deduction}
    rows = _compute_rows(assignment, store, late, {})
    # Students without a penalty are included with zero, which clears a deduction from an earlier run.
    nothing = dict.fromkeys(results, NOTHING)
    store.record_deductions(assignment.name, nothing | {student: row.late for student, row in rows.items()})


def _report_strangers(strangers: Mapping[str, str], sentence_template: str, watch: Listener) -> None:
    """Warn of ids that may be misspelt, if there is no class list to check them against.

    Args:
        strangers: id → the nearest name.
        sentence_template: a sentence about the id, which replaces ``{}``.
        watch: receives the warnings.
    """
    for student, nearest in strangers.items():
        watch.notify_staff(
            f"{sentence_template.format(repr(student))}, but nobody of this id handed anything in; {nearest}"
        )


REMARKED = {
    "handed in late": ("late", "late-refused", "late-accepted"),
    "time of handing in not known": ("time-not-known", "time-accepted"),
    "graded by an earlier attempt": ("earlier-attempt",),
}
"""Remarks that the figures list by name, with their codes."""


def compute_run_statistics(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """Return the figures of one run.

    Args:
        outcomes: of the run.
        seconds: its duration.
    """
    scores = [outcome.graded.score for outcome in outcomes]
    fresh = [outcome.graded for outcome in outcomes if outcome.fresh]
    faults = sum(item.student.code == "review.fault" for score in scores for item in score.items)
    return {
        "submissions": len(outcomes),
        "graded now": len(fresh),
        "known before": len(outcomes) - len(fresh),
        "not readable": sum(not outcome.graded.notebooks for outcome in outcomes if not _is_refused(outcome)),
        "mean points": round(statistics.mean(score.points for score in scores), 2) if scores else Decimal(0),
        "points waiting for a person": sum((score.pending for score in scores), Decimal(0)),
        "items waiting because of our own errors": faults,
        "no answer": sum(item.status is Status.NO_ANSWER for score in scores for item in score.items),
        "seconds": round(seconds, 2),
        "median milliseconds per submission": _compute_median([graded.seconds for graded in fresh]),
        "of it in the sandbox": _compute_median([graded.sandbox_seconds for graded in fresh]),
        "isolation": sorted({score.isolation for score in scores}),
        **{title: lines for title, codes in REMARKED.items() if (lines := list_remarks(outcomes, codes))},
        **({"faults of ours": lines} if (lines := list_faults(outcomes)) else {}),
    }


def list_faults(outcomes: Iterable[Outcome]) -> list[str]:
    """Return our own errors as lines of student and error."""
    return sorted(f"{outcome.student}: {text}" for outcome in outcomes for text in outcome.faults)


def list_remarks(outcomes: Sequence[Outcome], codes: Collection[str]) -> list[str]:
    """Return the remarks with one of these codes as lines: student, question if about one, and text."""
    return [
        f"{outcome.student}, {note.place}: {note.text}" if note.place else f"{outcome.student}: {note.text}"
        for outcome in sorted(outcomes, key=lambda outcome_of_student: outcome_of_student.student)
        for note in outcome.graded.score.notes
        if note.code in codes
    ]


def _is_refused(outcome: Outcome) -> bool:
    """Decide whether a submission was refused as too late; it was not read then."""
    return outcome.timing is not None and outcome.timing.refused


def _compute_median(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 1) if seconds else 0.0
