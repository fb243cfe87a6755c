"""Which attempt counts for everybody: one for all members of a group, with slip days over the whole course.

All of it follows from what lies in submitted/ and earlier/, and from the lists of the course. Nothing is
read of what was handed in, and nothing of marks.
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
    """Staff chose an attempt to count."""

    order: float
    """Of several that were chosen, the one of the highest order counts."""
    reason: str


class AttemptFacts(Struct, frozen=True):
    """What decides besides the time which attempt counts."""

    readability: Callable[[Handin, Part], Readability] = lambda _, __: Readability(files=True)
    """Of an attempt: of all notebooks, or of those that members of a group hand in together, or alone."""
    choice: Callable[[Handin], StaffChoice | None] = lambda _: None
    """Whether staff chose an attempt."""


_NOTHING_KNOWN = AttemptFacts()


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
            partial(_holds_any, rubric, part_files(rubric, alone=False)),
            partial(_holds_any, rubric, part_files(rubric, alone=True)),
        )
    facts = AttemptFacts(_readability(rubric))
    return settled(attempts, times, groups.load(course, name), left, now, facts=facts, parts=parts)


def _readability(rubric: Rubric) -> Callable[[Handin, Part], Readability]:
    """Each folder is read once, and only what is asked about."""
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
    """The paths of what a group hands in together, or of what each member hands in alone."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for one in rubric.assignment.notebooks:
        found[one.individual] += [f"{one.name}.ipynb", *one.own]
    return [path for path in found[alone] if path not in found[not alone]]


def _holds_any(rubric: Rubric, paths: Sequence[str], attempt: Handin) -> bool:
    """Whether one of these files was handed in, under whatever name and whether it can be read or not."""
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
    """Of everybody the attempt that counts, by name; of a group's members, whoever of them handed it in.

    Args:
        attempts: by student, each the latest one first.
        times: of the assignment; None: the latest counts.
        teams: who hands in together.
        left: slip days before this assignment, by canonical id; who is not in it has all of them.
        now: the time.
        facts: which attempts can be read, and which ones staff chose.
        parts: which attempts have what, where members hand in some of it alone; None: they share all of it.
    """
    holds = parts.together if parts else lambda _: True
    whole: dict[str, Handin] = {}
    member_of = groups.by_student(teams)
    rules = _Rules(times, left, now, facts)
    for student, found in attempts.items():
        if canonical_id(student) not in member_of:
            whole[student] = rules.counting(found, "all")
    by_id = {canonical_id(student): found for student, found in attempts.items()}
    for team in dict.fromkeys(member_of.values()):
        every = [one for who in team.members for one in by_id.get(canonical_id(who), ())]
        together = _latest_first(filter(holds, every)) or _latest_first(every)
        for member in team.members if together else ():
            own = by_id.get(canonical_id(member), ())
            student = own[0].student if own else member  # as the folder is called, whatever its encoding
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
        """Return the attempt that counts: what staff chose, or else by the times, but nothing damaged.

        An attempt that cannot be read does not count while there is another one that has all that can be
        read of it, and more. One that came too late to be graded takes no other one's place.

        Args:
            found: the latest one first.
            part: which notebooks it is about (`AttemptFacts.readability`).
        """
        chosen = [(choice.order, at) for at, one in enumerate(found) if (choice := self.facts.choice(one))]
        if chosen:
            attempt = found[max(chosen)[1]]
            choice = self.facts.choice(attempt)
            return replace(self._timed([attempt]), chosen=choice.reason if choice else "")
        remaining, passed = list(found), list[PassedOver]()
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
        """The attempt that counts by the time alone, with how it stands to the time allowed."""
        if self.times is None:
            return attempts[0]
        slip = self.times.common.terms.slip
        left = self.left.get(canonical_id(attempts[0].student), slip.days if slip else 0)
        return self.times.counting(attempts, self.now, left)


def _with_own(handin: Handin, alone: Sequence[Handin], rules: _Rules) -> Handin:
    """A member's submission with the folder of their own notebooks; the later of both is the time.

    An attempt without any of them, such as a newer one of the group's part, takes none of them back. Of two
    parts one of which came too late to count, the other stands alone.
    """
    own = rules.counting([replace(one, group=handin.group) for one in alone], "alone")
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
        passed_over=(*handin.passed_over, *own.passed_over),
        chosen=" ".join(filter(None, dict.fromkeys((handin.chosen, own.chosen)))),
    )


def _is_refused(handin: Handin) -> bool:
    return handin.timing is not None and handin.timing.refused


def _for(student: str, attempt: Handin, team: StudentGroup) -> Handin:
    by = "" if attempt.student == student else attempt.student
    return replace(attempt, student=student, group=team, by=by)


def _latest_first(attempts: Iterable[Handin]) -> list[Handin]:
    """What members handed in; one whose time is not known stands behind those whose time is."""
    return sorted(attempts, key=_order, reverse=True)


def _order(attempt: Handin) -> tuple[datetime, str]:
    # Attempts of the same moment keep the order in which they came, which the service gives by number. Names
    # of folders are chance there.
    return attempt.submitted_at or _LONG_AGO, attempt.student
