"""Times of assignments: ``exams.toml`` next to the class list. They belong to a course, not to a rubric.

[dl4nlp-exam]
start = 2026-02-12T10:00:00
zone = "Europe/Berlin"

[dl4nlp-exam.students.ada]
extra_minutes = 30
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from autograder import tables, timestamps
from autograder.course import Course, Handin, groups
from autograder.errors import CourseError, RubricError
from autograder.lateness import (
    COUNTS,
    Counts,
    DayLength,
    Penalty,
    Rule,
    SlipDays,
    Terms,
    count_days,
    end_of_day,
)
from autograder.records import StudentGroup
from autograder.rubric import Rubric
from autograder.timestamps import SlipUse, Timing, Window
from autograder.variants.drawing import canonical_id

COMMON = "course"
"""The table of ``exams.toml`` that applies to all assignments."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""Tolerance for clocks of other machines that are ahead of ours."""
_NOTHING = timedelta(0)
_SHARED = ("zone", "late", "grace_minutes", "penalty", "late_days", "counts")


class Own(Struct, frozen=True):
    """One student's individual times. TOML: ``[<assignment>.students.<id>]``."""

    extra_minutes: Annotated[int, Meta(ge=0, le=24 * 60)] = 0
    start: datetime | None = None
    end: datetime | None = None
    late: Rule | None = None
    """The decision of staff about a late submission of this student, or one with an unknown time."""


class SlipBank(Struct, frozen=True):
    """The course's slip days from the point of view of one assignment."""

    days: int
    most: int
    place: int
    """Its position in the order in which assignments use slip days."""


class Times(Struct, frozen=True):
    """The times of one assignment. TOML: ``[<assignment>]``."""

    start: datetime | None = None
    """Default: none; then the end is a deadline, and nothing is too early."""
    end: datetime | None = None
    """Default: the start plus the minutes that the rubric allows."""
    zone: str = ""
    """The zone of the times; required if they have no offset from UTC."""
    late: Rule = "review"
    grace_minutes: Annotated[int, Meta(ge=0, le=7 * 24 * 60)] = 0
    """Grace period after the end."""
    penalty: Penalty | None = None
    """The penalty for ``late = "penalty"``."""
    late_days: DayLength = "calendar"
    """When a day of lateness ends, for penalties per day and slip days."""
    counts: Counts | None = None
    """Default: "last" if late attempts count or cost points, otherwise "in-time"."""
    students: Mapping[str, Any] = {}
    groups: Mapping[str, Any] = {}
    """As `students`, for all members of a group."""
    slip_days: SlipBank | None = None
    """From ``[course.slip_days]``, the only place where it may be set."""


class SlipStated(Struct, frozen=True):
    """The settings for slip days. TOML: ``[course.slip_days]``."""

    days: Annotated[int, Meta(ge=1, le=366)]
    """For each student, over all assignments together."""
    most: Annotated[int, Meta(ge=1, le=366)] | None = None
    """For one assignment; default: no separate limit."""
    assignments: tuple[str, ...] | None = None
    """In the order in which they use days; default: those with only an end, the earliest end first."""


class BestOf(Struct, frozen=True):
    """The best of several assignments count. TOML: ``[course.best_of]``."""

    drop: Annotated[int, Meta(ge=0, le=100)]
    """Number of lowest results that are left out."""
    assignments: tuple[str, ...] | None = None
    """Default: those with only an end, the earliest end first."""


class Common(Struct, frozen=True):
    """Defaults for every assignment with only an end. TOML: ``[course]``.

    The zone applies to all assignments.
    """

    zone: str = ""
    late: Rule | None = None
    grace_minutes: int | None = None
    penalty: Mapping[str, Any] | None = None
    late_days: DayLength | None = None
    counts: Counts | None = None
    slip_days: SlipStated | None = None
    best_of: BestOf | None = None


class Schedule(Struct, frozen=True):
    """The time windows of all students for one assignment."""

    common: Window
    own: Mapping[str, Window]
    """Individual windows by canonical id."""
    late: Rule = "review"
    """The rule for late submissions."""
    decided: Mapping[str, Rule] = {}
    """Decisions of staff about single students, by canonical id."""
    counts: Counts | None = None
    """The attempt that counts; None: depends on the rule (`lateness.COUNTS`)."""

    def of(self, student: str) -> Window:
        """Return the window of one student."""
        return self.own.get(canonical_id(student), self.common)

    def of_members(self, members: Iterable[str]) -> Window:
        """Return the window of students who submit together: that of the member with the latest end."""
        # In favour of the students: an extension of one member helps the whole group.
        return max((self.of(student) for student in members), key=lambda window: window.end)

    def personal(self, student: str) -> Window:
        """Return the window of one student, for a notebook that only this student gets."""
        return replace(self.of(student), own=True)

    def rule(self, student: str) -> Rule:
        """Return the rule for a late submission of one student."""
        return self.decided.get(canonical_id(student), self.late)

    def check_students(self, known: Collection[str]) -> None:
        """Refuse individual times for unknown students: the name is probably misspelt.

        Raises:
            CourseError: a student with individual times is not known; names the nearest.
        """
        for student, hint in self.strangers(known).items():
            raise CourseError(
                f"exams.toml: {student!r} has times of their own, but is not in the class list; {hint}"
            )

    def strangers(self, known: Collection[str]) -> dict[str, str]:
        """Return students with individual times who are not in the class, with the nearest id."""
        names = {canonical_id(student) for student in known}
        return {student: tables.hint(student, names) for student in self.own if student not in names}

    def counting(self, attempts: Iterable[Handin], now: datetime, left: int = 0) -> Handin:
        """Return the attempt that counts, in relation to the deadline.

        It is the last one in time, if there is any, or simply the last one if the course says so. A refused
        attempt never counts if there is one that is not refused.

        Args:
            attempts: of one student; the first is the one collected last.
            now: the current time; a later submission time is not believed.
            slip_days_left: the student's remaining slip days.
        """
        latest, *earlier = (self._timed(attempt, now, left) for attempt in attempts)
        if latest.timing is None or not latest.timing.late:
            return latest
        counts = self.counts or COUNTS[latest.timing.rule]
        if latest.timing.rule == "accept" or (counts == "last" and not latest.timing.refused):
            return latest
        # An attempt with an unknown time must not replace one with a known time.
        known = [one for one in earlier if one.timing and not one.timing.doubt]
        in_time = [one for one in known if one.timing and not one.timing.late]
        taken = [one for one in (latest, *known) if one.timing and not one.timing.refused]
        chosen = max((in_time if counts == "in-time" else None) or taken, key=_moment, default=latest)
        if chosen.timing and chosen is not latest:
            return replace(chosen, timing=replace(chosen.timing, instead=latest.submitted_at))
        return latest

    def _timed(self, handin: Handin, now: datetime, left: int) -> Handin:
        window = self.of_members(handin.group.members if handin.group else (handin.student,))
        moment, rule = handin.submitted_at, self.rule(handin.student)
        slip = window.terms.slip
        kept = SlipUse(0, left, slip.days) if slip else None
        # A submission without a known time is never refused; staff decide.
        if moment is None:
            return replace(handin, timing=Timing(window, doubt=handin.time_fault, rule=rule, slip=kept))
        stated = timestamps.format_moment(timestamps.by_clock(moment, window), window.zone)
        told = f"The time of handing in is {stated}, which is"
        # A future time is a fault of a clock or a forgery: nothing is concluded from it.
        if moment > now + CLOCKS_DIFFER:
            timing = Timing(window, doubt=f"{told} still to come.", rule=rule, slip=kept)
        elif window.start and moment < window.start:
            timing = Timing(window, doubt=f"{told} before the start.", rule=rule, slip=kept)
        else:
            timing = self._late(handin.student, window, moment, left)
        return replace(handin, timing=timing)

    def _late(self, student: str, window: Window, moment: datetime, left: int) -> Timing:
        """Apply the rules to a delay: grace period, then slip days, then the rule for the uncovered part."""
        terms, rule = window.terms, self.rule(student)
        late = moment.astimezone(UTC) - window.end
        # Within the grace period nothing is late; beyond it the full delay since the deadline counts.
        if late <= max(terms.grace, _NOTHING):
            use = SlipUse(0, left, terms.slip.days) if terms.slip else None
            return Timing(window, rule=rule, slip=use)
        days = count_days(window.end, moment, terms.days)
        used, use = 0, None
        if terms.slip:
            used = min(days, left, terms.slip.most)
            # A decision of staff replaces the rule, so it uses no slip days.
            decided = canonical_id(student) in self.decided
            uncovered = moment - end_of_day(window.end, used, terms.days)
            if rule == "accept" or decided or (used < days and self._refused(terms, rule, uncovered)):
                used = 0  # days without a benefit are not used up
            use = SlipUse(used, left - used, terms.slip.days)
        covered = min(end_of_day(window.end, used, terms.days) - window.end.astimezone(UTC), late)
        rest = late - covered
        if rest and self._refused(terms, rule, rest):
            rule = "refuse"
        costs = terms.penalty if rule == "penalty" else None
        deduction = costs.deduction(rest, days - used) if costs and rest else None
        return Timing(window, late, covered, rule=rule, slip=use, deduction=deduction)

    @staticmethod
    def _refused(terms: Terms, rule: Rule, uncovered: timedelta) -> bool:
        """Decide whether the delay that slip days do not cover is too long to be graded."""
        closed = rule == "penalty" and terms.penalty is not None and terms.penalty.closed(uncovered)
        return rule == "refuse" or closed


def _moment(handin: Handin) -> datetime:
    return handin.submitted_at or datetime.min.replace(tzinfo=UTC)


def stated(course: Course, name: str) -> Any:
    """Return the table of an assignment in ``exams.toml``, with defaults filled in; None if there is none.

    Raises:
        CourseError: the file cannot be read, or names an assignment that does not exist.
    """
    written = _written(course, name)
    table = written.get(name)
    if not isinstance(table, Mapping):
        return table
    if "slip_days" in table:
        place = f"{course.exams}: [{name}] slip_days"
        raise CourseError(f"{place}: stands in [course.slip_days], for all assignments together")
    if COMMON not in written:
        return table
    place = f"{course.exams}: [{COMMON}]"
    try:
        common = _common(written[COMMON], place)
        slip = common.slip_days
        order = _in_order(slip.assignments, written, place, "slip_days") if slip else ()
    except RubricError as error:
        raise CourseError(str(error)) from error
    # The common rules about lateness are meant for homework, not for exams, which have a start.
    shared = ("zone",) if "start" in table else _SHARED
    whole = {**{key: written[COMMON][key] for key in shared if key in written[COMMON]}, **table}
    if common.slip_days and name in order:
        days = common.slip_days.days
        most = min(common.slip_days.most or days, days)
        whole["slip_days"] = {"days": days, "most": most, "place": order.index(name)}
    return whole


def _written(course: Course, name: str) -> dict[str, Any]:
    """Read ``exams.toml``; empty if it does not exist.

    Raises:
        CourseError: as in `read_table`.
    """
    path = course.exams
    if not path.exists():
        return {}
    known = (*course.assignments(), name)
    # An assignment of this name would share its table with the defaults.
    if COMMON in known:
        raise CourseError(f"{path}: an assignment cannot be called {COMMON!r} where times are stated")
    written = tables.read(path)
    try:
        # A misspelt table would otherwise leave an assignment without a deadline.
        tables.check_known_keys(written, (*known, COMMON), str(path))
    except RubricError as error:
        raise CourseError(str(error)) from error
    return written


def _common(table: Any, place: str) -> Common:
    if not isinstance(table, Mapping):
        raise RubricError("expected a table, such as zone and late for all assignments", place)
    return tables.convert(table, Common, place)


def best_of(course: Course) -> tuple[tuple[str, ...], int]:
    """Return the assignments that make up a course's total, in order, and the number of lowest to drop.

    Raises:
        CourseError: as in `read_table`.
    """
    written = _written(course, "")
    place = f"{course.exams}: [{COMMON}]"
    try:
        common = _common(written.get(COMMON, {}), place)
        found = common.best_of or BestOf(0)
        order = _in_order(found.assignments, written, place, "best_of")
    except RubricError as error:
        raise CourseError(str(error)) from error
    if found.drop and found.drop >= len(order):
        raise CourseError(f"{place}: best_of.drop: expected less than the {len(order)} assignments")
    return order, found.drop


def _in_order(
    named: tuple[str, ...] | None, written: Mapping[str, Any], place: str, what: str
) -> tuple[str, ...]:
    """Return assignments in order: the named ones, or those with only an end, sorted by their common ends.

    Raises:
        RubricError: a named one has no times, or is listed twice.
    """
    timed = {name: one for name, one in written.items() if name != COMMON and isinstance(one, Mapping)}
    if named is not None:
        for name in named:
            if name not in timed or named.count(name) > 1:
                fault = "stands twice" if name in timed else f"has no end here; {tables.hint(name, timed)}"
                raise RubricError(f"{name!r} {fault}", place, f"{what}.assignments")
        return named
    ends = {name: one["end"] for name, one in timed.items() if "end" in one and "start" not in one}
    zone = written.get(COMMON, {}).get("zone", "")
    moments = {
        name: _at(end, _zone(Times(zone=timed[name].get("zone", zone)), place), f"{place}: {name}: end")
        for name, end in ends.items()
        if isinstance(end, datetime)
    }
    # The name breaks ties, so that the order is stable.
    return tuple(sorted(moments, key=lambda name: (moments[name].astimezone(UTC), name)))


def load(course: Course, rubric: Rubric) -> Schedule | None:
    """Load the schedule of an assignment; None if ``exams.toml`` has no times for it.

    Raises:
        CourseError: as in `read_table`; or the times are impossible, and the error names the place.
    """
    name = rubric.assignment.name
    table = stated(course, name)
    try:
        if table is None:
            return None
        return read(table, rubric, f"{course.exams}: [{name}]", groups.load(course, name))
    except RubricError as error:
        raise CourseError(str(error)) from error


def slip_order(course: Course, before: str) -> tuple[str, ...]:
    """Return the assignments that use slip days before another one, in order.

    Raises:
        CourseError: as in `read_table`.
    """
    tables_ = {name: stated(course, name) for name in course.assignments()}
    places = {
        name: table["slip_days"]["place"]
        for name, table in tables_.items()
        if isinstance(table, Mapping) and "slip_days" in table
    }
    return tuple(sorted((one for one in places if places[one] < places[before]), key=places.__getitem__))


def read(table: Any, rubric: Rubric, place: str, teams: Collection[StudentGroup] = ()) -> Schedule:
    """Build the schedule of one assignment from its table.

    Args:
        table: as in the file, with the defaults of the course filled in.
        rubric: of the assignment.
        place: position of the table, for errors.
        teams: groups of students who submit together, for times of a group.

    Raises:
        RubricError: a key is unknown, has another type, or gives impossible times.
    """
    if not isinstance(table, Mapping):
        raise RubricError("expected a table with start, and zone or end", place)
    try:
        return _read(table, rubric, place, teams)
    except OverflowError as error:  # datetime's first and last day overflow in other zones
        raise RubricError("a time is outside of the years 1 to 9999", place) from error


def _read(table: Mapping[str, Any], rubric: Rubric, place: str, teams: Collection[StudentGroup]) -> Schedule:
    times = tables.convert(table, Times, place)
    zone = _zone(times, place)
    needed = _needed(rubric)
    common = _common_window(times, zone, rubric, place)

    def of_its_own(entry: Any, where: str) -> tuple[Window, Rule | None]:
        if not isinstance(entry, Mapping):
            raise RubricError("expected a table with extra_minutes, start, end or late", where)
        stated = tables.convert(entry, Own, where)
        if stated.late == "penalty" and times.penalty is None:
            raise RubricError('late = "penalty" needs a table penalty', where)
        return _own(stated, common, zone, needed, times.zone, place=where), stated.late

    own: dict[str, Window] = {}
    decided: dict[str, Rule] = {}
    for student, entry in times.students.items():
        where = f"{place}: student {student!r}"
        if canonical_id(student) in own:
            raise RubricError("stands twice; each may stand once", where)
        own[canonical_id(student)], late = of_its_own(entry, where)
        if late:
            decided[canonical_id(student)] = late
    members = {team.name: team.members for team in teams}
    for name, entry in times.groups.items():
        where = f"{place}: group {name!r}"
        if name not in members:
            raise RubricError(f"there is no such group; {tables.hint(name, members)}", where)
        window, late = of_its_own(entry, where)
        for student in map(canonical_id, members[name]):
            # Individual extra time is kept if it is longer than the group's.
            own[student] = max(own.get(student, window), window, key=lambda one: one.end)
            decided |= {student: late} if late and student not in decided else {}
    return Schedule(common, own, times.late, decided, times.counts)


def _needed(rubric: Rubric) -> timedelta:
    """Return the minimum length of every window, from start to end."""
    exam = rubric.assignment.exam
    return timedelta(minutes=exam.whole_minutes if exam else 0)


def _common_window(times: Times, zone: tzinfo | None, rubric: Rubric, place: str) -> Window:
    start = _at(times.start, zone, f"{place}: start") if times.start else None
    if times.end is not None:
        end = _at(times.end, zone, f"{place}: end")
    elif start is None:
        raise RubricError("expected start, end, or both; neither is stated", place)
    elif rubric.assignment.exam is None:
        raise RubricError("is needed, since the rubric states no [assignment.exam] minutes", place, "end")
    else:
        end = _after(start, _needed(rubric))
    return replace(_window(start, end, _needed(rubric), times.zone, place), terms=_terms(times, place))


def _terms(times: Times, place: str) -> Terms:
    """Return the rules about lateness.

    Raises:
        RubricError: a penalty is required but missing, or not usable.
    """
    if times.penalty and (fault := times.penalty.fault()):
        raise RubricError(fault, place, "penalty")
    if times.late == "penalty" and times.penalty is None:
        raise RubricError('is needed with late = "penalty"', place, "penalty")
    slip = SlipDays(times.slip_days.days, times.slip_days.most) if times.slip_days else None
    grace = timedelta(minutes=times.grace_minutes)
    return Terms(times.late, grace, times.penalty, slip, times.late_days)


def _own(
    own: Own, common: Window, zone: tzinfo | None, needed: timedelta, zone_name: str, *, place: str
) -> Window:
    """Return one student's window: the common one with the individual start, end or extra time applied."""
    if own.end and own.extra_minutes:
        raise RubricError("state either end or extra_minutes, not both", place)
    start = _at(own.start, zone, f"{place}: start") if own.start else common.start
    extra = timedelta(minutes=own.extra_minutes)
    if own.end:
        end = _at(own.end, zone, f"{place}: end")
    elif own.start is None or start is None:
        end = _after(common.end, extra)
    elif common.start is None:
        raise RubricError(
            "is needed beside start, since no common start says how long all have", place, "end"
        )
    else:
        end = _after(start, common.end.astimezone(UTC) - common.start.astimezone(UTC) + extra)
    return replace(_window(start, end, needed, zone_name, place), terms=common.terms)


def _zone(times: Times, place: str) -> tzinfo | None:
    if not times.zone:
        return None
    try:
        return timestamps.named_zone(times.zone)
    except ValueError as error:
        raise RubricError(f"{error}", place, "zone") from error


def _at(moment: datetime, zone: tzinfo | None, place: str) -> datetime:
    """Return a moment of the file in the zone, if one is set."""
    if moment.tzinfo is not None:
        return moment.astimezone(zone) if zone else moment
    if zone is None:
        raise RubricError(f'{moment} has no zone; state zone = "Europe/Berlin", or an offset', place)
    try:
        return timestamps.local_moment(moment, zone)
    except ValueError as error:
        raise RubricError(f"{error}", place) from error


def _after(start: datetime, length: timedelta) -> datetime:
    """Add an elapsed time, correct across clock changes."""
    # Python adds to local times without regard to clock changes.
    return (start.astimezone(UTC) + length).astimezone(start.tzinfo)


def _window(start: datetime | None, end: datetime, needed: timedelta, zone: str, place: str) -> Window:
    if start is not None:
        length = end.astimezone(UTC) - start.astimezone(UTC)
        if length <= _NOTHING:
            raise RubricError(f"{end} is not after the start, {start}", place, "end")
        # The rubric promises these minutes to every student.
        if length < needed:
            raise RubricError(
                f"{timestamps.duration(length)} from start to end, but the rubric allows "
                f"{timestamps.duration(needed)}",
                place,
            )
    return Window(start, end, zone or f"{end:%Z}")
