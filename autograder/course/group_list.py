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

from autograder.core.errors import CourseError
from autograder.core.records import StudentGroup
from autograder.core.tables import join_names, suggest_name
from autograder.core.wording import Phrase, join_phrases
from autograder.course import Course, find_name_fault
from autograder.course.csv_rows import get_assignment, read_rows
from autograder.course.manifest import Manifest
from autograder.messages import build_localised_text
from autograder.rubric.variants.draws import normalise_id

COLUMNS = ("group", "student", "assignment")


class Membership(Struct, frozen=True):
    """One line of the list."""

    group: str
    student: str
    assignment: str = ""
    """Empty: all assignments."""
    line: int = 0


def read_memberships(
    path: Path, assignments: Collection[str], data: bytes | None = None
) -> tuple[Membership, ...]:
    """Read the list, or the contents of an uploaded one; further columns are ignored.

    Raises:
        CourseError: it is no CSV file with these columns, or a line names an assignment that the course does
            not have, no group or student, or an impossible name; names the line.
    """
    memberships = []
    for line, row in read_rows(path, "the list of groups", COLUMNS, needed=COLUMNS[:2], data=data):
        place = f"{path}: line {line}"
        # Names of groups and students end up in folders and pages, so the rule for ids applies to both.
        for column in COLUMNS[:2]:
            if fault := find_name_fault(row[column]):
                values = {"column": column, "name": ascii(row[column])}
                fault_text = build_localised_text("fault.groups-name", place=place, **values, reason=fault)
                raise CourseError(fault_text)
        if row["assignment"]:
            get_assignment(row, place, assignments)
        memberships.append(Membership(row["group"], row["student"], row["assignment"], line))
    return tuple(memberships)


def load_groups(course: Course, name: str) -> tuple[StudentGroup, ...]:
    """Return the groups of an assignment, by name; none if the course has no list.

    Raises:
        CourseError: as in `read_memberships`; or students are in two groups, all of which are named.
    """
    if not course.groups.is_file():
        return ()
    lines = read_memberships(course.groups, (*course.list_assignments(), name))
    if faults := list_duplicates(lines, name):
        raise CourseError(join_phrases([f"{course.groups}", join_phrases(faults)], ": "))
    return build_groups(lines, name)


def build_groups(lines: Iterable[Membership], name: str) -> tuple[StudentGroup, ...]:
    """Return the groups of an assignment, members in the order of the list.

    For a student in two groups the first one counts.
    """
    groups: dict[str, list[str]] = {}
    for group, student in (
        (lines_of_student[0].group, lines_of_student[0].student)
        for lines_of_student in _select_memberships(lines, name)
    ):
        groups.setdefault(group, []).append(student)
    return tuple(StudentGroup(group, tuple(groups[group])) for group in sorted(groups))


def list_duplicates(lines: Iterable[Membership], name: str) -> list[Phrase]:
    """Return a sentence for each student who is listed twice for an assignment."""
    return [
        build_localised_text(
            "fault.groups-twice",
            student=ascii(lines_of_student[0].student),
            assignment=name,
            places=", ".join(f"{membership.line} ({membership.group!a})" for membership in lines_of_student),
        )
        for lines_of_student in _select_memberships(lines, name)
        if len(lines_of_student) > 1
    ]


def list_strangers(groups: Iterable[StudentGroup], class_ids: Collection[str]) -> list[str]:
    """Return a sentence for each member who is not in the class, with the nearest id."""
    names = {normalise_id(student) for student in class_ids}
    return [
        f"groups.csv: {student!a} of {group.name!a} is nobody in the class; "
        f"{suggest_name(student, class_ids)}"
        for group in groups
        for student in group.members
        if normalise_id(student) not in names
    ]


def list_mixed_variants(groups: Iterable[StudentGroup], manifest: Manifest | None) -> list[str]:
    """Return a sentence for each group with members who got different variants.

    One submission cannot answer both: it is graded by the variant of the member who submitted it.
    """
    sentences = []
    for group in groups if manifest else ():
        variants = {
            release.variant.digest
            for member in group.members
            if manifest and (release := manifest.get_release(member))
        }
        if len(variants) > 1:
            sentences.append(
                f"{describe_group(group)}: members were handed out {len(variants)} variants; what one "
                "of them hands in "
                "is graded by theirs"
            )
    return sentences


def describe_group(group: StudentGroup) -> str:
    """Format a group for staff: its name and its members."""
    return f"{ascii(group.name)[1:-1]} ({join_names(group.members)})"


def map_by_student(groups: Iterable[StudentGroup]) -> dict[str, StudentGroup]:
    """Return the group of every member, by canonical id."""
    # Lists and folders may spell an id in different Unicode forms; the canonical id makes them equal.
    return {normalise_id(student): group for group in groups for student in group.members}


def _select_memberships(lines: Iterable[Membership], name: str) -> list[list[Membership]]:
    """Return by student the lines that apply to an assignment: those that name it, or else those for all."""
    of_student: dict[str, list[Membership]] = {}
    for line in lines:
        if line.assignment in ("", name):
            of_student.setdefault(normalise_id(line.student), []).append(line)
    # Lines that name the assignment override general ones; two of the same rank are a fault of the list.
    return [[line for line in own_lines if line.assignment] or own_lines for own_lines in of_student.values()]
