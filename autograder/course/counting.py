"""The attempt that counts for each student, with shared submissions of groups and slip days.

All of it follows from the folders submitted/ and earlier/, and from the lists of the course. Marks and the
content of answers have no influence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.course import Course, Handin, PassedOver, groups, schedule
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import Readability, is_absent, read_folder, readability
from autograder.records import StudentGroup
from autograder.rubric import Rubric
from autograder.variants.drawing import canonical_id

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


Part = Literal["all", "together", "alone"]


class StaffChoice(Struct, frozen=True):
    """A decision of staff that an attempt counts."""

    order: float
    """If several attempts were chosen, the one with the highest order counts."""
    reason: str


class AttemptFacts(Struct, frozen=True):
    """Facts other than the time that decide which attempt counts."""

    readability: Callable[[Handin, Part], Readability] = lambda _, __: Readability(files=True)
    """Of an attempt: for all notebooks, for the shared ones of a group, or for the individual ones."""
    choice: Callable[[Handin], StaffChoice | None] = lambda _: None
    """The decision of staff about an attempt, if there is one."""


_NOTHING_KNOWN = AttemptFacts()


class HeldParts(Struct, frozen=True):
    """Which attempts contain shared or individual notebooks, if members of a group submit some of each."""

    together: Callable[[Handin], bool]
    alone: Callable[[Handin], bool]


class Counting(Struct, frozen=True):
    """The attempts that count in one assignment."""

    handins: tuple[Handin, ...]
    """Those of all students with a submission, by name, in relation to the deadline."""
    times: Schedule | None
    groups: tuple[StudentGroup, ...] = ()


def everybody(course: Course, rubric: Rubric) -> Counting:
    """Return the attempts that count in an assignment.

    Raises:
        CourseError: there is no folder of submissions, or a list of the course is not usable.
        RubricError: the rubric of an assignment that uses slip days before this one is not valid.
    """
    now, name = datetime.now(UTC), rubric.assignment.name
    times = schedule.load(course, rubric)
    left: dict[str, int] = {}
    if times and times.common.terms.slip:
        # Slip days are used in a fixed order, so the assignments before this one are evaluated first.
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
            partial(_holds_any, rubric, part_files(rubric, alone=False)),
            partial(_holds_any, rubric, part_files(rubric, alone=True)),
        )
    facts = AttemptFacts(_readability(rubric))
    return settled(attempts, times, groups.load(course, name), left, now, facts=facts, parts=parts)


def _readability(rubric: Rubric) -> Callable[[Handin, Part], Readability]:
    """Return a function that reads each folder once, and only if it is needed."""
    names = notebooks_of(rubric, "all")

    @cache
    def of_folder(folder: Path) -> Readability:
        return readability(read_folder(folder, rubric, only_notebooks=True).contents, names)

    return lambda attempt, part: of_folder(attempt.folder).restricted(notebooks_of(rubric, part))


def notebooks_of(rubric: Rubric, part: Part) -> list[str]:
    """Return the names of the notebooks of a part."""
    wanted = {"all": (True, False), "together": (False,), "alone": (True,)}[part]
    return [one.name for one in rubric.assignment.notebooks if one.individual in wanted]


def part_files(rubric: Rubric, *, alone: bool) -> list[str]:
    """Return the paths of the files that a group submits together, or that each member submits alone."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for one in rubric.assignment.notebooks:
        found[one.individual] += [f"{one.name}.ipynb", *one.own]
    return [path for path in found[alone] if path not in found[not alone]]


def _holds_any(rubric: Rubric, paths: Sequence[str], attempt: Handin) -> bool:
    """Decide whether one of these files was submitted, under whatever name and whether readable or not."""
    contents = read_folder(attempt.folder, rubric, only_notebooks=True).contents
    return any(not is_absent(contents[path]) for path in paths)


def settled(
    attempts: Mapping[str, Sequence[Handin]],
    times: Schedule | None,
    teams: Iterable[StudentGroup],
    left: Mapping[str, int],
    now: datetime,
    *,
    facts: AttemptFacts = _NOTHING_KNOWN,
    parts: HeldParts | None = None,
) -> list[Handin]:
    """Return each student's attempt that counts, by name; members of a group share one, whoever submitted it.

    Args:
        attempts: by student, each the latest one first.
        times: of the assignment; None: the latest counts.
        teams: groups of students who submit together.
        slip_days_left: slip days before this assignment, by canonical id; students without an entry have all.
        now: the current time.
        facts: which attempts can be read, and which ones staff chose.
        parts: which attempts contain which part, if members submit some of it alone; None: they share all of
            it.
    """
    holds = parts.together if parts else lambda _: True
    whole: dict[str, Handin] = {}
    member_of = groups.by_student(teams)
    rules = _Rules(times, left, now, facts)
    for student, found in attempts.items():
        if canonical_id(student) not in member_of:
            whole[student] = rules.counting(found, "all")
    by_id = {canonical_id(student): found for student, found in attempts.items()}
    # dict.fromkeys keeps each group once, in a stable order.
    for team in dict.fromkeys(member_of.values()):
        every = [one for who in team.members for one in by_id.get(canonical_id(who), ())]
        # If no attempt has a shared notebook, the attempts still count, with that part missing.
        together = _latest_first(filter(holds, every)) or _latest_first(every)
        for member in team.members if together else ():
            own = by_id.get(canonical_id(member), ())
            student = own[0].student if own else member  # the folder's name, in whichever Unicode form
            # Slip days and decisions of staff are per member, so the choice is made for each.
            members = [_for(student, one, team) for one in together]
            whole[student] = rules.counting(members, "together" if parts else "all")
            if parts and (alone := _latest_first(filter(parts.alone, own))):
                whole[student] = _with_own(whole[student], alone, rules)
    return [whole[student] for student in sorted(whole)]


class _Rules(Struct, frozen=True):
    """Decide which attempt of one student, or group, counts."""

    times: Schedule | None
    left: Mapping[str, int]
    now: datetime
    facts: AttemptFacts

    def counting(self, found: Sequence[Handin], part: Part) -> Handin:
        """Return the attempt that counts: the choice of staff, or else by the times, but no damaged one.

        An attempt that cannot be read does not count while another one has all of its readable notebooks, and
        more. An attempt that came too late to be graded replaces no other.

        Args:
            attempts: the latest one first.
            part: the notebooks in question (`AttemptFacts.readability`).
        """
        chosen = [(choice.order, at) for at, one in enumerate(found) if (choice := self.facts.choice(one))]
        if chosen:
            attempt = found[max(chosen)[1]]
            choice = self.facts.choice(attempt)
            return replace(self._timed([attempt]), chosen=choice.reason if choice else "")
        remaining, passed = list(found), list[PassedOver]()
        # Each round removes one damaged attempt, so the loop ends.
        while True:
            counting = self._timed(remaining)
            if len(found) == 1 or not self._is_replaced(counting, found, part):
                return replace(counting, passed_over=tuple(passed))
            reason = self.facts.readability(counting, part).reason
            passed.append(PassedOver(counting.submitted_at, reason))
            remaining = _latest_first(one for one in remaining if one.folder != counting.folder)

    def _is_replaced(self, attempt: Handin, found: Sequence[Handin], part: Part) -> bool:
        readable = self.facts.readability(attempt, part)
        return readable.is_damaged and any(
            self.facts.readability(one, part).replaces(readable) and not _is_refused(self._timed([one]))
            for one in found
            if one.folder != attempt.folder
        )

    def _timed(self, attempts: Sequence[Handin]) -> Handin:
        """Return the attempt that counts by time alone, in relation to the deadline."""
        if self.times is None:
            return attempts[0]
        slip = self.times.common.terms.slip
        left = self.left.get(canonical_id(attempts[0].student), slip.days if slip else 0)
        return self.times.counting(attempts, self.now, left)


def _with_own(handin: Handin, alone: Sequence[Handin], rules: _Rules) -> Handin:
    """Return a member's submission with their individual notebooks, and the later of both times.

    An attempt without individual notebooks, such as a newer one of the shared part, removes none. If one of
    the two parts came too late to count, the other counts alone.
    """
    own = rules.counting([replace(one, group=handin.group) for one in alone], "alone")
    if _is_refused(own) and not _is_refused(handin):  # a refused part must not cost the other one
        return handin
    if _is_refused(handin) and not _is_refused(own):
        return replace(own, own=own.folder)
    # An unknown time needs a decision by staff, so it must not be hidden by the known one.
    doubtful = own.timing is not None and bool(own.timing.doubt)
    later = (own.submitted_at or _LONG_AGO) > (handin.submitted_at or _LONG_AGO)
    timed = own if doubtful or later else handin
    return replace(
        handin,
        own=own.folder,
        submitted_at=timed.submitted_at,
        time_fault=timed.time_fault,
        timing=timed.timing,
        passed_over=(*handin.passed_over, *own.passed_over),
        chosen=" ".join(filter(None, dict.fromkeys((handin.chosen, own.chosen)))),
    )


def _is_refused(handin: Handin) -> bool:
    return handin.timing is not None and handin.timing.refused


def _for(student: str, attempt: Handin, team: StudentGroup) -> Handin:
    by = "" if attempt.student == student else attempt.student
    return replace(attempt, student=student, group=team, by=by)


def _latest_first(attempts: Iterable[Handin]) -> list[Handin]:
    """Sort the members' attempts; one with an unknown time comes after those with a known time."""
    return sorted(attempts, key=_order, reverse=True)


def _order(attempt: Handin) -> tuple[datetime, str]:
    # Attempts of the same moment keep their order of arrival, which the service expresses by number;
    # folder names are random there.
    return attempt.submitted_at or _LONG_AGO, attempt.student
