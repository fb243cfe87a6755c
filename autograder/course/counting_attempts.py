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
from autograder.core.records import StudentGroup
from autograder.course import Course, Handin, SkippedAttempt, group_list, schedule
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import Readability, determine_readability, is_absent, read_folder
from autograder.rubric import Rubric
from autograder.rubric.variants.draws import normalise_id

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


class PartFilters(Struct, frozen=True):
    """Which attempts contain shared or individual notebooks, if members of a group submit some of each."""

    together: Callable[[Handin], bool]
    alone: Callable[[Handin], bool]


class CountingAttempts(Struct, frozen=True):
    """The attempts that count in one assignment."""

    handins: tuple[Handin, ...]
    """Those of all students with a submission, by name, in relation to the deadline."""
    times: Schedule | None
    groups: tuple[StudentGroup, ...] = ()


def find_counting_attempts(course: Course, rubric: Rubric) -> CountingAttempts:
    """Return the attempts that count in an assignment.

    Raises:
        CourseError: there is no folder of submissions, or a list of the course is not usable.
        RubricError: the rubric of an assignment that uses slip days before this one is not valid.
    """
    now, name = datetime.now(UTC), rubric.assignment.name
    times = schedule.load_schedule(course, rubric)
    slip_days_left: dict[str, int] = {}
    if times and times.common.terms.slip:
        # Slip days are used in a fixed order, so the assignments before this one are evaluated first.
        for earlier in schedule.list_slip_order(course, name):
            earlier_rubric = rubrics.load_rubric(course.locate_rubric(earlier))
            for handin in _select_from_folder(
                course, earlier_rubric, schedule.load_schedule(course, earlier_rubric), slip_days_left, now
            ):
                if handin.timing and handin.timing.slip:
                    slip_days_left[normalise_id(handin.student)] = handin.timing.slip.left
    handins = _select_from_folder(course, rubric, times, slip_days_left, now)
    return CountingAttempts(tuple(handins), times, group_list.load_groups(course, name))


def _select_from_folder(
    course: Course, rubric: Rubric, times: Schedule | None, slip_days_left: Mapping[str, int], now: datetime
) -> list[Handin]:
    name = rubric.assignment.name
    has_earlier = course.has_earlier_attempts()
    attempts = {
        handin.student: [handin, *(course.list_earlier_attempts(handin.student, name) if has_earlier else ())]
        for handin in course.list_handins(name)
    }
    parts = None
    if rubric.assignment.individual:
        parts = PartFilters(
            partial(_has_any, rubric, list_part_files(rubric, alone=False)),
            partial(_has_any, rubric, list_part_files(rubric, alone=True)),
        )
    facts = AttemptFacts(_make_readability(rubric))
    return select_attempts(
        attempts, times, group_list.load_groups(course, name), slip_days_left, now, facts=facts, parts=parts
    )


def _make_readability(rubric: Rubric) -> Callable[[Handin, Part], Readability]:
    """Return a function that reads each folder once, and only if it is needed."""
    names = list_part_notebooks(rubric, "all")

    @cache
    def read_readability(folder: Path) -> Readability:
        return determine_readability(read_folder(folder, rubric, only_notebooks=True).contents, names)

    return lambda attempt, part: read_readability(attempt.folder).restrict(list_part_notebooks(rubric, part))


def list_part_notebooks(rubric: Rubric, part: Part) -> list[str]:
    """Return the names of the notebooks of a part."""
    kinds = {"all": (True, False), "together": (False,), "alone": (True,)}[part]
    return [notebook.name for notebook in rubric.assignment.notebooks if notebook.individual in kinds]


def list_part_files(rubric: Rubric, *, alone: bool) -> list[str]:
    """Return the paths of the files that a group submits together, or that each member submits alone."""
    paths: dict[bool, list[str]] = {True: [], False: []}
    for notebook in rubric.assignment.notebooks:
        paths[notebook.individual] += [f"{notebook.name}.ipynb", *notebook.own]
    return [path for path in paths[alone] if path not in paths[not alone]]


def _has_any(rubric: Rubric, paths: Sequence[str], attempt: Handin) -> bool:
    """Decide whether one of these files was submitted, under whatever name and whether readable or not."""
    contents = read_folder(attempt.folder, rubric, only_notebooks=True).contents
    return any(not is_absent(contents[path]) for path in paths)


def select_attempts(
    attempts: Mapping[str, Sequence[Handin]],
    times: Schedule | None,
    groups: Iterable[StudentGroup],
    slip_days_left: Mapping[str, int],
    now: datetime,
    *,
    facts: AttemptFacts = _NOTHING_KNOWN,
    parts: PartFilters | None = None,
) -> list[Handin]:
    """Return each student's attempt that counts, by name; members of a group share one, whoever submitted it.

    Args:
        attempts: by student, each the latest one first.
        times: of the assignment; None: the latest counts.
        groups: groups of students who submit together.
        slip_days_left: slip days before this assignment, by canonical id; students without an entry have all.
        now: the current time.
        facts: which attempts can be read, and which ones staff chose.
        parts: which attempts contain which part, if members submit some of it alone; None: they share all of
            it.
    """
    holds = parts.together if parts else lambda _: True
    whole: dict[str, Handin] = {}
    member_of = group_list.map_by_student(groups)
    rules = _Rules(times, slip_days_left, now, facts)
    for student, own_attempts in attempts.items():
        if normalise_id(student) not in member_of:
            whole[student] = rules.select_attempt(own_attempts, "all")
    by_id = {normalise_id(student): own_attempts for student, own_attempts in attempts.items()}
    # dict.fromkeys keeps each group once, in a stable order.
    for group in dict.fromkeys(member_of.values()):
        group_attempts = [
            attempt for member_name in group.members for attempt in by_id.get(normalise_id(member_name), ())
        ]
        # If no attempt has a shared notebook, the attempts still count, with that part missing.
        together = _sort_latest_first(filter(holds, group_attempts)) or _sort_latest_first(group_attempts)
        for member in group.members if together else ():
            member_attempts = by_id.get(normalise_id(member), ())
            student = (
                member_attempts[0].student if member_attempts else member
            )  # the folder's name, in whichever Unicode form
            # Slip days and decisions of staff are per member, so the choice is made for each.
            members = [
                replace(
                    attempt,
                    student=student,
                    group=group,
                    by="" if attempt.student == student else attempt.student,
                )
                for attempt in together
            ]
            whole[student] = rules.select_attempt(members, "together" if parts else "all")
            if parts and (alone := _sort_latest_first(filter(parts.alone, member_attempts))):
                whole[student] = _with_individual(whole[student], alone, rules)
    return [whole[student] for student in sorted(whole)]


class _Rules(Struct, frozen=True):
    """Decide which attempt of one student, or group, counts."""

    times: Schedule | None
    left: Mapping[str, int]
    now: datetime
    facts: AttemptFacts

    def select_attempt(self, attempts: Sequence[Handin], part: Part) -> Handin:
        """Return the attempt that counts: the choice of staff, or else by the times, but no damaged one.

        An attempt that cannot be read does not count while another one has all of its readable notebooks, and
        more. An attempt that came too late to be graded replaces no other.

        Args:
            attempts: the latest one first.
            part: the notebooks in question (`AttemptFacts.readability`).
        """
        chosen = [
            (choice.order, position)
            for position, candidate in enumerate(attempts)
            if (choice := self.facts.choice(candidate))
        ]
        if chosen:
            attempt = attempts[max(chosen)[1]]
            choice = self.facts.choice(attempt)
            return replace(self._select_by_time([attempt]), chosen=choice.reason if choice else "")
        remaining, skipped = list(attempts), list[SkippedAttempt]()
        # Each round removes one damaged attempt, so the loop ends.
        while True:
            counting = self._select_by_time(remaining)
            if len(attempts) == 1 or not self._is_replaced(counting, attempts, part):
                return replace(counting, passed_over=tuple(skipped))
            reason = self.facts.readability(counting, part).reason
            skipped.append(SkippedAttempt(counting.submitted_at, reason))
            remaining = _sort_latest_first(
                candidate for candidate in remaining if candidate.folder != counting.folder
            )

    def _is_replaced(self, attempt: Handin, attempts: Sequence[Handin], part: Part) -> bool:
        readable = self.facts.readability(attempt, part)
        return readable.is_damaged and any(
            self.facts.readability(other, part).can_replace(readable)
            and not _is_refused(self._select_by_time([other]))
            for other in attempts
            if other.folder != attempt.folder
        )

    def _select_by_time(self, attempts: Sequence[Handin]) -> Handin:
        """Return the attempt that counts by time alone, in relation to the deadline."""
        if self.times is None:
            return attempts[0]
        slip = self.times.common.terms.slip
        slip_days_left = self.left.get(normalise_id(attempts[0].student), slip.days if slip else 0)
        return self.times.select_attempt(attempts, self.now, slip_days_left)


def _with_individual(handin: Handin, alone: Sequence[Handin], rules: _Rules) -> Handin:
    """Return a member's submission with their individual notebooks, and the later of both times.

    An attempt without individual notebooks, such as a newer one of the shared part, removes none. If one of
    the two parts came too late to count, the other counts alone.
    """
    individual = rules.select_attempt([replace(attempt, group=handin.group) for attempt in alone], "alone")
    if _is_refused(individual) and not _is_refused(handin):  # a refused part must not cost the other one
        return handin
    if _is_refused(handin) and not _is_refused(individual):
        return replace(individual, own=individual.folder)
    # An unknown time needs a decision by staff, so it must not be hidden by the known one.
    doubtful = individual.timing is not None and bool(individual.timing.doubt)
    later = (individual.submitted_at or _LONG_AGO) > (handin.submitted_at or _LONG_AGO)
    timed = individual if doubtful or later else handin
    return replace(
        handin,
        own=individual.folder,
        submitted_at=timed.submitted_at,
        time_fault=timed.time_fault,
        timing=timed.timing,
        passed_over=(*handin.passed_over, *individual.passed_over),
        chosen=" ".join(filter(None, dict.fromkeys((handin.chosen, individual.chosen)))),
    )


def _is_refused(handin: Handin) -> bool:
    return handin.timing is not None and handin.timing.refused


def _sort_latest_first(attempts: Iterable[Handin]) -> list[Handin]:
    """Sort the members' attempts; one with an unknown time comes after those with a known time."""
    # Attempts of the same moment keep their order of arrival, which the service expresses by number;
    # folder names are random there.
    return sorted(
        attempts, key=lambda attempt: (attempt.submitted_at or _LONG_AGO, attempt.student), reverse=True
    )
