"""Groups of students who hand in together: who they are, what counts, and what is wrong with the list."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.app.lists import read_roster
from autograder.course import Course, counting, groups, manifest
from autograder.errors import CourseError
from autograder.records import StudentGroup
from autograder.variants.drawing import canonical_id


class GroupRow(Struct, frozen=True):
    """One group."""

    name: str
    members: tuple[str, ...]
    handed_in: tuple[str, ...]
    """Members whose folders are there."""
    counts: str
    """Whose folder counts; empty where nothing was handed in, or it cannot be told."""


class GroupReport(Struct, frozen=True):
    """The groups of an assignment."""

    rows: tuple[GroupRow, ...]
    alone: tuple[str, ...]
    """Who handed in and is in no group."""
    faults: tuple[str, ...]
    """What is to be put right, a sentence each."""


def report(course: Course, name: str) -> GroupReport:
    """The groups of an assignment, and whatever in the list is not consistent.

    Raises:
        CourseError: the course has no list of groups, or it cannot be read.
        RubricError: the rubric is not valid.
    """
    if not course.groups.is_file():
        raise CourseError(
            f"{course.groups}: there is no list of groups; expected the columns {', '.join(groups.COLUMNS)}"
        )
    rubric = rubrics.load(course.rubric(name))
    lines = groups.read(course.groups, course.assignments())
    teams, twice = groups.of_assignment(lines, name), groups.twice(lines, name)
    collected = (course.root / "submitted").is_dir()
    folders = {one.student for one in course.handins(name)} if collected else set()
    known = folders | course.students()
    if course.roster.is_file():
        known |= {one.id for one in read_roster(course.roster)}
    faults = [f"{course.groups.name}: {fault}" for fault in twice]
    faults += groups.strangers(teams, known) if known else []
    faults += _variants_differ(course, name, teams)
    counts: dict[str, str] = {}
    if collected and not twice:
        handins = counting.everybody(course, rubric).handins
        counts = {one.group.name: one.owner for one in handins if one.group}
    rows = tuple(
        GroupRow(
            team.name,
            team.members,
            tuple(member for member in team.members if member in folders),
            counts.get(team.name, ""),
        )
        for team in teams
    )
    members = {canonical_id(member) for team in teams for member in team.members}
    alone = tuple(sorted(one for one in folders if canonical_id(one) not in members))
    return GroupReport(rows, alone, tuple(faults))


def _variants_differ(course: Course, name: str, teams: Iterable[StudentGroup]) -> list[str]:
    """Groups whose members were handed out different variants: one submission cannot answer both."""
    given = manifest.load(course.variants(name), course.secret())
    found = []
    for team in teams if given else ():
        variants = {one.variant.digest for who in team.members if given and (one := given.of(who))}
        if len(variants) > 1:
            found.append(
                f"{groups.told(team)}: members were handed out {len(variants)} variants; what one of them "
                "hands in is graded by theirs"
            )
    return found
