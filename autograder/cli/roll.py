"""Who belongs to a class, and what staff must know of it: folders that are gone, in no list, or not there.

Everybody whose folder lies in submitted/ is counted. A result without a folder is kept, and told; it counts
nowhere, because nobody could say any more what it is the mark of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from autograder.cli.misplaced import misnamed_files, misplaced
from autograder.records import Graded
from autograder.tables import hint
from autograder.variants.drawing import canonical_id

if TYPE_CHECKING:
    from autograder.assignment import Assignment
    from autograder.course import Course
    from autograder.gradebook import Gradebook

CONFIGURATION = "nbgrader_config.py"
_MOST_NAMED = 20


class Roll(Struct, frozen=True):
    """A class, as it is now."""

    results: Mapping[str, Graded]
    """The latest results of those whose folder is there: what is counted."""
    gone: Mapping[str, Graded]
    """The latest results of the others."""
    remarks: tuple[str, ...]
    """For staff, a sentence each."""
    attention: bool = False
    """Something is to be put right: it was handed in, and is not graded."""


def restored(assignment: Assignment, gradebook: Gradebook) -> tuple[str, ...]:
    """Put back what something else wrote over our scores in nbgrader's gradebook; sentences about it.

    Raises:
        GradebookError: the database refused.
    """
    from autograder.gradebook import write_autograded
    from autograder.gradebook.ledger import Ledger

    name, book = assignment.name, assignment.course.gradebook.name
    handed_in = {one.student for one in assignment.course.handins(name)}
    found = Ledger(gradebook.engine).current(name, assignment.rubric.digest)
    results = {student: graded for student, graded in found.items() if student in handed_in}
    rubrics = {student: assignment.rubric_of(student) for student in results}
    changed = gradebook.restore(results, rubrics, language=assignment.language)
    for graded in results.values() if changed else ():
        write_autograded(assignment.course.root, graded, assignment.release_bytes)
    lost = sorted(results.keys() - gradebook.submissions(name))
    sentences = []
    if changed:
        sentences.append(
            f"{book}: automatic scores were not ours, and were put back: {_names(changed)}. Something else "
            "wrote over them, as nbgrader's autograde does, which also runs student code without a sandbox. "
            "Marks that people gave are untouched; those that nbgrader wants to be looked at again still "
            "wait in formgrader"
        )
    if lost:
        sentences.append(
            f"{book}: removed from it, but submitted/<student>/{name} is there: {_names(lost)}. autograder "
            "grade enters them again; move the folder away if somebody no longer belongs to the class"
        )
    return (*sentences, *_not_switched_off(assignment.course))


def _not_switched_off(course: Course) -> Iterator[str]:
    """Whether nbgrader, where it is configured at all, would grade in our place."""
    path = course.root / CONFIGURATION
    if path.is_file() and "Autograde.exporter_class" not in path.read_text(
        encoding="utf-8", errors="replace"
    ):
        yield (
            f"{CONFIGURATION}: nbgrader's own autograde, one click in formgrader, is not switched off: it "
            "would run student code without a sandbox and replace automatic scores by 0. Take over the file "
            "that autograder new writes into an empty folder"
        )


def called(assignment: Assignment, gradebook: Gradebook) -> Roll:
    """The class as it lies in submitted/, beside the results that are kept and the class list.

    Raises:
        CourseError: there is no folder of submissions, or the class list is not usable.
        GradebookError: the database refused.
    """
    from autograder.gradebook import read_roster
    from autograder.gradebook.ledger import Ledger

    course, name = assignment.course, assignment.name
    everybody = Ledger(gradebook.engine).current(name)
    handed_in = {one.student for one in course.handins(name)}
    results = {student: graded for student, graded in everybody.items() if student in handed_in}
    gone = {student: graded for student, graded in everybody.items() if student not in handed_in}
    notebooks = [one.name for one in assignment.rubric.assignment.notebooks]
    wrong = [*misplaced(course, name, notebooks), *misnamed_files(course)]
    remarks = list(_gone(name, gone, gradebook.submissions(name)))
    waiting = sorted(handed_in - everybody.keys())
    if waiting:
        remarks.append(f"handed in, but not graded yet: {_names(waiting)}; run: autograder grade {name}")
    if course.roster.is_file():
        roster = {canonical_id(one.id): one.id for one in read_roster(course.roster)}
        remarks += [*_strangers(name, handed_in, roster), *_absent(name, roster, handed_in)]
    return Roll(results, gone, (*wrong, *remarks), bool(wrong))


def _gone(name: str, gone: Mapping[str, Graded], listed: Collection[str]) -> Iterator[str]:
    if not gone:
        return
    told = _names(
        f"{student} ({graded.score.points.normalize():f} points)" for student, graded in gone.items()
    )
    yield (
        f"graded before, but submitted/<student>/{name} is gone: {told}. These automatic results are kept, "
        "and count nowhere: not in grades, means, decisions or new pages. Put the folder back to count them "
        "again"
    )
    still = [student for student in gone if student in listed]
    if still:
        yield (
            f"formgrader and nbgrader export still list {_names(still)}, whose folders are gone; "
            "nbgrader db student remove --force takes a student out there, with all assignments"
        )


def _strangers(name: str, handed_in: Iterable[str], roster: Mapping[str, str]) -> Iterator[str]:
    for student in sorted(handed_in):
        if canonical_id(student) not in roster:
            yield (
                f"submitted/{ascii(student)[1:-1]}/{name} is of nobody in roster.csv, and is graded all the "
                f"same; rename the folder, or add a line to roster.csv; {_nearest(student, roster.values())}"
            )


def _nearest(student: str, ids: Collection[str]) -> str:
    near = hint(student, ids)
    return near if near.startswith("did you mean") else "no id there is like it"


def _absent(name: str, roster: Mapping[str, str], handed_in: Iterable[str]) -> Iterator[str]:
    there = {canonical_id(student) for student in handed_in}
    absent = [student for canonical, student in roster.items() if canonical not in there]
    if absent:
        yield f"in roster.csv, but not in submitted/<student>/{name}: {_names(absent)} ({len(absent)} in all)"


def _names(names: Iterable[str]) -> str:
    """Names one after the other; of very many the first ones."""
    known = list(names)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return ", ".join(ascii(one)[1:-1] for one in known[:_MOST_NAMED]) + more
