"""Which attempt counts for everybody: one for all members of a group, with slip days over the whole course.

All of it follows from what lies in submitted/ and earlier/, and from the lists of the course. Nothing is
read of what was handed in, and nothing of marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.course import Course, Handin, groups, schedule
from autograder.course.schedule import Schedule
from autograder.paths import copies_in
from autograder.records import StudentGroup
from autograder.rubric import Rubric
from autograder.variants.drawing import canonical_id

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class HeldParts(Struct, frozen=True):
    """Which attempts have what, where members of a group hand in some of it together and some of it alone."""

    together: Callable[[Handin], bool]
    alone: Callable[[Handin], bool]


class Counting(Struct, frozen=True):
    """What counts in one assignment."""

    handins: tuple[Handin, ...]
    """Of everybody for whom something was handed in, by name, with how it stands to the time."""
    times: Schedule | None
    groups: tuple[StudentGroup, ...] = ()


def everybody(course: Course, rubric: Rubric) -> Counting:
    """What counts in an assignment.

    Raises:
        CourseError: there is no folder of submissions, or a list of the course is not usable.
        RubricError: the rubric of an assignment that takes slip days earlier is not valid.
    """
    now, name = datetime.now(UTC), rubric.assignment.name
    times = schedule.load(course, rubric)
    left: dict[str, int] = {}
    if times and times.common.terms.slip:
        for earlier in schedule.slip_order(course, name):
            other = rubrics.load(course.rubric(earlier))
            for one in _of_folder(course, other, schedule.load(course, other), left, now):
                if one.timing and one.timing.slip:
                    left[canonical_id(one.student)] = one.timing.slip.left
    handins = _of_folder(course, rubric, times, left, now)
    return Counting(tuple(handins), times, groups.load(course, name))


def _of_folder(
    course: Course, rubric: Rubric, times: Schedule | None, left: Mapping[str, int], now: datetime
) -> list[Handin]:
    name = rubric.assignment.name
    kept = course.keeps_earlier()
    attempts = {
        one.student: [one, *(course.earlier(one.student, name) if kept else ())]
        for one in course.handins(name)
    }
    parts = None
    if rubric.assignment.individual:
        parts = HeldParts(
            partial(_holds_any, part_files(rubric, alone=False)),
            partial(_holds_any, part_files(rubric, alone=True)),
        )
    return settled(attempts, times, groups.load(course, name), left, now, parts=parts)


def part_files(rubric: Rubric, *, alone: bool) -> list[str]:
    """The paths of what a group hands in together, or of what each member hands in alone."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for one in rubric.assignment.notebooks:
        found[one.individual] += [f"{one.name}.ipynb", *one.own]
    return [path for path in found[alone] if path not in found[not alone]]


def _holds_any(paths: Sequence[str], attempt: Handin) -> bool:
    """Whether a folder has one of these files, at its place or, as browsers leave it, without its folders."""
    names = {name for path in paths for name in (path, path.rpartition("/")[2])}
    return any((attempt.folder / one).exists() for one in names) or bool(copies_in(attempt.folder, paths))


def settled(
    attempts: Mapping[str, Sequence[Handin]],
    times: Schedule | None,
    teams: Iterable[StudentGroup],
    left: Mapping[str, int],
    now: datetime,
    *,
    parts: HeldParts | None = None,
) -> list[Handin]:
    """Of everybody the attempt that counts, by name; of a group's members, whoever of them handed it in.

    Args:
        attempts: by student, each the latest one first.
        times: of the assignment; None: the latest counts.
        teams: who hands in together.
        left: slip days before this assignment, by canonical id; who is not in it has all of them.
        now: the time.
        parts: which attempts have what, where members hand in some of it alone; None: they share all of it.
    """
    holds = parts.together if parts else lambda _: True
    whole: dict[str, Handin] = {}
    member_of = groups.by_student(teams)
    for student, found in attempts.items():
        if canonical_id(student) not in member_of:
            whole[student] = _counting(found, times, left, now)
    by_id = {canonical_id(student): found for student, found in attempts.items()}
    for team in dict.fromkeys(member_of.values()):
        every = [one for who in team.members for one in by_id.get(canonical_id(who), ())]
        together = _latest_first(filter(holds, every)) or _latest_first(every)
        for member in team.members if together else ():
            own = by_id.get(canonical_id(member), ())
            student = own[0].student if own else member  # as the folder is called, whatever its encoding
            members = [_for(student, one, team) for one in together]
            whole[student] = _counting(members, times, left, now)
            if parts and (alone := _latest_first(filter(parts.alone, own))):
                whole[student] = _with_own(whole[student], alone, times, left, now)
    return [whole[student] for student in sorted(whole)]


def _counting(
    found: Sequence[Handin], times: Schedule | None, left: Mapping[str, int], now: datetime
) -> Handin:
    """The attempt of one student that counts."""
    if times is None:
        return found[0]
    slip = times.common.terms.slip
    return times.counting(found, now, left.get(canonical_id(found[0].student), slip.days if slip else 0))


def _with_own(
    handin: Handin, alone: Sequence[Handin], times: Schedule | None, left: Mapping[str, int], now: datetime
) -> Handin:
    """A member's submission with the folder of their own notebooks; the later of both is the time.

    An attempt without any of them, such as a newer one of the group's part, takes none of them back. Of two
    parts one of which came too late to count, the other stands alone.
    """
    own = _counting([replace(one, group=handin.group) for one in alone], times, left, now)
    if _is_refused(own) and not _is_refused(handin):  # what does not count takes nothing away
        return handin
    if _is_refused(handin) and not _is_refused(own):
        return replace(own, own=own.folder)
    doubtful = own.timing is not None and bool(own.timing.doubt)
    later = (own.submitted_at or _LONG_AGO) > (handin.submitted_at or _LONG_AGO)
    timed = own if doubtful or later else handin
    return replace(
        handin,
        own=own.folder,
        submitted_at=timed.submitted_at,
        time_fault=timed.time_fault,
        timing=timed.timing,
    )


def _is_refused(handin: Handin) -> bool:
    return handin.timing is not None and handin.timing.refused


def _for(student: str, attempt: Handin, team: StudentGroup) -> Handin:
    by = "" if attempt.student == student else attempt.student
    return replace(attempt, student=student, group=team, by=by)


def _latest_first(attempts: Iterable[Handin]) -> list[Handin]:
    """What members handed in; one whose time is not known stands behind those whose time is."""
    return sorted(attempts, key=lambda one: (one.submitted_at or _LONG_AGO, one.student), reverse=True)
