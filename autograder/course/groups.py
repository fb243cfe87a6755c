"""Students who submit together: ``groups.csv`` next to the class list, a line for each member.

group,student,assignment
red,ada,
red,bob,
blue,ada,homework-2

A line without an assignment applies to all of them; one that names an assignment overrides it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct

from autograder.course import Course, name_fault
from autograder.course.manifest import Manifest
from autograder.course.rows import assignment_of, read_rows
from autograder.errors import CourseError
from autograder.records import StudentGroup
from autograder.tables import hint, name_list
from autograder.variants.drawing import canonical_id

COLUMNS = ("group", "student", "assignment")


class Membership(Struct, frozen=True):
    """One line of the list."""

    group: str
    student: str
    assignment: str = ""
    """Empty: all assignments."""
    line: int = 0


def read(path: Path, assignments: Collection[str]) -> tuple[Membership, ...]:
    """Read the list; further columns are ignored.

    Raises:
        CourseError: it is no CSV file with these columns, or a line names an assignment that the course does
            not have, no group or student, or an impossible name; names the line.
    """
    found = []
    for line, row in read_rows(path, "the list of groups", COLUMNS, needed=COLUMNS[:2]):
        place = f"{path}: line {line}"
        # Names of groups and students end up in folders and pages, so the rule for ids applies to both.
        for column in COLUMNS[:2]:
            if fault := name_fault(row[column]):
                raise CourseError(f"{place}: {column}: {row[column]!a} cannot be a name: {fault}")
        if row["assignment"]:
            assignment_of(row, place, assignments)
        found.append(Membership(row["group"], row["student"], row["assignment"], line))
    return tuple(found)


def load(course: Course, name: str) -> tuple[StudentGroup, ...]:
    """Return the groups of an assignment, by name; none if the course has no list.

    Raises:
        CourseError: as in `read_memberships`; or students are in two groups, all of which are named.
    """
    if not course.groups.is_file():
        return ()
    lines = read(course.groups, (*course.assignments(), name))
    if faults := twice(lines, name):
        raise CourseError(f"{course.groups}: {'; '.join(faults)}")
    return of_assignment(lines, name)


def of_assignment(lines: Iterable[Membership], name: str) -> tuple[StudentGroup, ...]:
    """Return the groups of an assignment, members in the order of the list.

    For a student in two groups the first one counts.
    """
    groups: dict[str, list[str]] = {}
    for group, student in ((found[0].group, found[0].student) for found in _memberships(lines, name)):
        groups.setdefault(group, []).append(student)
    return tuple(StudentGroup(group, tuple(groups[group])) for group in sorted(groups))


def twice(lines: Iterable[Membership], name: str) -> list[str]:
    """Return a sentence for each student who is listed twice for an assignment."""
    return [
        f"{found[0].student!a} stands twice for {name}: "
        + " and ".join(f"in {one.group!a} (line {one.line})" for one in found)
        for found in _memberships(lines, name)
        if len(found) > 1
    ]


def strangers(groups: Iterable[StudentGroup], known: Collection[str]) -> list[str]:
    """Return a sentence for each member who is not in the class, with the nearest id."""
    names = {canonical_id(student) for student in known}
    return [
        f"groups.csv: {student!a} of {group.name!a} is nobody in the class; {hint(student, known)}"
        for group in groups
        for student in group.members
        if canonical_id(student) not in names
    ]


def list_mixed_variants(groups: Iterable[StudentGroup], manifest: Manifest | None) -> list[str]:
    """Return a sentence for each group with members who got different variants.

    One submission cannot answer both: it is graded by the variant of the member who submitted it.
    """
    found = []
    for group in groups if manifest else ():
        variants = {one.variant.digest for who in group.members if manifest and (one := manifest.of(who))}
        if len(variants) > 1:
            found.append(
                f"{told(group)}: members were handed out {len(variants)} variants; what one of them hands in "
                "is graded by theirs"
            )
    return found


def told(group: StudentGroup) -> str:
    """Format a group for staff: its name and its members."""
    return f"{ascii(group.name)[1:-1]} ({name_list(group.members)})"


def by_student(groups: Iterable[StudentGroup]) -> dict[str, StudentGroup]:
    """Return the group of every member, by canonical id."""
    # Lists and folders may spell an id in different Unicode forms; the canonical id makes them equal.
    return {canonical_id(student): group for group in groups for student in group.members}


def _memberships(lines: Iterable[Membership], name: str) -> list[list[Membership]]:
    """Return by student the lines that apply to an assignment: those that name it, or else those for all."""
    of_student: dict[str, list[Membership]] = {}
    for one in lines:
        if one.assignment in ("", name):
            of_student.setdefault(canonical_id(one.student), []).append(one)
    # Lines that name the assignment override general ones; two of the same rank are a fault of the list.
    return [[one for one in own if one.assignment] or own for own in of_student.values()]
