"""Times of assignments: ``exams.toml`` next to the class list. They belong to a course, not to a rubric.

[dl4nlp-exam]
start = 2026-02-12T10:00:00
zone = "Europe/Berlin"

[dl4nlp-exam.students.ada]
extra_minutes = 30
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from autograder.core import tables
from autograder.core.errors import CourseError, RubricError, extend_place
from autograder.core.records import StudentGroup
from autograder.course import Course, Handin, group_list
from autograder.messages import build_localised_text
from autograder.rubric import Rubric, timestamps
from autograder.rubric.lateness import (
    COUNTS,
    Counts,
    DayLength,
    Penalty,
    Rule,
    SlipDays,
    Terms,
    compute_day_end,
    count_days,
)
from autograder.rubric.timestamps import SlipUse, Timing, Window
from autograder.rubric.variants.draws import normalise_id

COMMON = "course"
"""The table of ``exams.toml`` that applies to all assignments."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""Tolerance for clocks of other machines that are ahead of ours."""
MOST_EXTRA, MOST_WORKING, MOST_GRACE = 24 * 60, 30 * 24 * 60, 7 * 24 * 60
"""Maximum of a student's extra minutes, of the working time and of the grace period, in minutes."""
MOST_SLIP = 366
"""Maximum number of slip days."""
_NOTHING = timedelta(0)
_SHARED = ("zone", "late", "grace_minutes", "penalty", "late_days", "counts")


class IndividualTimes(Struct, frozen=True):
    """One student's individual times. TOML: ``[<assignment>.students.<id>]``."""

    extra_minutes: Annotated[int, Meta(ge=0, le=MOST_EXTRA)] = 0
    start: datetime | None = None
    end: datetime | None = None
    late: Rule | None = None
    """The decision of staff about a late submission of this student, or one with an unknown time."""
    opened: Annotated[datetime, Meta(tz=True)] | None = None
    """When the student opened the assignment, if each has `Times.minutes` from then on; with an offset."""


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
    minutes: Annotated[int, Meta(ge=1, le=MOST_WORKING)] | None = None
    """Working time of each student from the moment they open the assignment, but not beyond the end."""
    zone: str = ""
    """The zone of the times; required if they have no offset from UTC."""
    late: Rule = "review"
    grace_minutes: Annotated[int, Meta(ge=0, le=MOST_GRACE)] = 0
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


class SlipSettings(Struct, frozen=True):
    """The settings for slip days. TOML: ``[course.slip_days]``."""

    days: Annotated[int, Meta(ge=1, le=MOST_SLIP)]
    """For each student, over all assignments together."""
    most: Annotated[int, Meta(ge=1, le=MOST_SLIP)] | None = None
    """For one assignment; default: no separate limit."""
    assignments: tuple[str, ...] | None = None
    """In the order in which they use days; default: those with only an end, the earliest end first."""


class BestOf(Struct, frozen=True):
    """The best of several assignments count. TOML: ``[course.best_of]``."""

    drop: Annotated[int, Meta(ge=0, le=100)]
    """Number of lowest results that are left out."""
    assignments: tuple[str, ...] | None = None
    """Default: those with only an end, the earliest end first."""


class CommonSettings(Struct, frozen=True):
    """Defaults for every assignment with only an end. TOML: ``[course]``.

    The zone applies to all assignments.
    """

    zone: str = ""
    late: Rule | None = None
    grace_minutes: int | None = None
    penalty: Mapping[str, Any] | None = None
    late_days: DayLength | None = None
    counts: Counts | None = None
    slip_days: SlipSettings | None = None
    best_of: BestOf | None = None


class Schedule(Struct, frozen=True):
    """The time windows of all students for one assignment."""

    common: Window
    individual: Mapping[str, Window]
    """Individual windows by canonical id."""
    late: Rule = "review"
    """The rule for late submissions."""
    decided: Mapping[str, Rule] = {}
    """Decisions of staff about single students, by canonical id."""
    counts: Counts | None = None
    """The attempt that counts; None: depends on the rule (`lateness.COUNTS`)."""
    minutes: int = 0
    """Working time from the moment a student opens the assignment; 0: everybody has the whole window."""
    clocks: Mapping[str, int] = {}
    """The same of single students, by canonical id: more with extra time, 0 if it runs or is replaced."""

    def get_unopened_minutes(self, student: str) -> int:
        """Return the working time that starts when a student opens the assignment.

        0: there is none, or it runs already.
        """
        return self.clocks.get(normalise_id(student), self.minutes)

    def get_window(self, student: str) -> Window:
        """Return the window of one student."""
        return self.individual.get(normalise_id(student), self.common)

    def get_shared_window(self, members: Iterable[str]) -> Window:
        """Return the window of students who submit together: that of the member with the latest end."""
        # In favour of the students: an extension of one member helps the whole group.
        return max((self.get_window(student) for student in members), key=lambda window: window.end)

    def get_personal_window(self, student: str) -> Window:
        """Return the window of one student, for a notebook that only this student gets."""
        return replace(self.get_window(student), own=True)

    def get_rule(self, student: str) -> Rule:
        """Return the rule for a late submission of one student."""
        return self.decided.get(normalise_id(student), self.late)

    def check_students(self, class_ids: Collection[str]) -> None:
        """Refuse individual times for unknown students: the name is probably misspelt.

        Raises:
            CourseError: a student with individual times is not known; names the nearest.
        """
        for student, hint in self.find_strangers(class_ids).items():
            raise CourseError(
                f"exams.toml: {student!r} has an extension, but is not on the class list; {hint}"
            )

    def find_strangers(self, class_ids: Collection[str]) -> dict[str, str]:
        """Return students with individual times who are not in the class, with the nearest id."""
        names = {normalise_id(student) for student in class_ids}
        return {
            student: tables.suggest_name(student, names)
            for student in self.individual
            if student not in names
        }

    def select_attempt(self, attempts: Iterable[Handin], now: datetime, slip_days_left: int = 0) -> Handin:
        """Return the attempt that counts, in relation to the deadline.

        It is the last one in time, if there is any, or simply the last one if the course says so. A refused
        attempt never counts if there is one that is not refused.

        Args:
            attempts: of one student; the first is the one collected last.
            now: the current time; a later submission time is not believed.
            slip_days_left: the student's remaining slip days.
        """
        latest, *earlier = (self._add_timing(attempt, now, slip_days_left) for attempt in attempts)
        if latest.timing is None or not latest.timing.late:
            return latest
        counts = self.counts or COUNTS[latest.timing.rule]
        if latest.timing.rule == "accept" or (counts == "last" and not latest.timing.refused):
            return latest
        # An attempt with an unknown time must not replace one with a known time.
        timed = [candidate for candidate in earlier if candidate.timing and not candidate.timing.doubt]
        in_time = [candidate for candidate in timed if candidate.timing and not candidate.timing.late]
        gradable = [
            candidate for candidate in (latest, *timed) if candidate.timing and not candidate.timing.refused
        ]
        chosen = max((in_time if counts == "in-time" else None) or gradable, key=_get_moment, default=latest)
        if chosen.timing and chosen is not latest:
            return replace(chosen, timing=replace(chosen.timing, instead=latest.submitted_at))
        return latest

    def _add_timing(self, handin: Handin, now: datetime, slip_days_left: int) -> Handin:
        window = self.get_shared_window(handin.group.members if handin.group else (handin.student,))
        moment, rule = handin.submitted_at, self.get_rule(handin.student)
        slip = window.terms.slip
        unused_slip = SlipUse(0, slip_days_left, slip.days) if slip else None
        # A submission without a known time is never refused; staff decide.
        if moment is None:
            return replace(
                handin, timing=Timing(window, doubt=handin.time_fault, rule=rule, slip=unused_slip)
            )
        shown_moment = timestamps.format_moment(timestamps.to_window_zone(moment, window), window.zone)
        # A future time is a fault of a clock or a forgery: nothing is concluded from it.
        if moment > now + CLOCKS_DIFFER:
            doubt = f"The submission time {shown_moment} is in the future."
            timing = Timing(window, doubt=doubt, rule=rule, slip=unused_slip)
        elif window.start and moment < window.start:
            doubt = f"The submission time {shown_moment} is before the start."
            timing = Timing(window, doubt=doubt, rule=rule, slip=unused_slip)
        else:
            timing = self._apply_late_rules(handin.student, window, moment, slip_days_left)
        return replace(handin, timing=timing)

    def _apply_late_rules(
        self, student: str, window: Window, moment: datetime, slip_days_left: int
    ) -> Timing:
        """Apply the rules to a delay: grace period, then slip days, then the rule for the uncovered part."""
        terms, rule = window.terms, self.get_rule(student)
        late = moment.astimezone(UTC) - window.end
        # Within the grace period nothing is late; beyond it the full delay since the deadline counts.
        if late <= max(terms.grace, _NOTHING):
            use = SlipUse(0, slip_days_left, terms.slip.days) if terms.slip else None
            return Timing(window, rule=rule, slip=use)
        days = count_days(window.end, moment, terms.days)
        used, use = 0, None
        if terms.slip:
            used = min(days, slip_days_left, terms.slip.most)
            # A decision of staff replaces the rule, so it uses no slip days.
            decided = normalise_id(student) in self.decided
            uncovered = moment - compute_day_end(window.end, used, terms.days)
            if rule == "accept" or decided or (used < days and self._is_refused(terms, rule, uncovered)):
                used = 0  # days without a benefit are not used up
            use = SlipUse(used, slip_days_left - used, terms.slip.days)
        covered = min(compute_day_end(window.end, used, terms.days) - window.end.astimezone(UTC), late)
        uncovered_rest = late - covered
        if uncovered_rest and self._is_refused(terms, rule, uncovered_rest):
            rule = "refuse"
        costs = terms.penalty if rule == "penalty" else None
        deduction = costs.compute_deduction(uncovered_rest, days - used) if costs and uncovered_rest else None
        return Timing(window, late, covered, rule=rule, slip=use, deduction=deduction)

    @staticmethod
    def _is_refused(terms: Terms, rule: Rule, uncovered: timedelta) -> bool:
        """Decide whether the delay that slip days do not cover is too long to be graded."""
        closed = rule == "penalty" and terms.penalty is not None and terms.penalty.is_closed(uncovered)
        return rule == "refuse" or closed


def _get_moment(handin: Handin) -> datetime:
    return handin.submitted_at or datetime.min.replace(tzinfo=UTC)


def read_table(course: Course, name: str) -> Any:
    """Return the table of an assignment in ``exams.toml``, with defaults filled in; None if there is none.

    Raises:
        CourseError: the file cannot be read, or names an assignment that does not exist.
    """
    written = _read_file(course, name)
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
        common = _convert_common(written[COMMON], place)
        slip = common.slip_days
        order = _order_assignments(slip.assignments, written, place, "slip_days") if slip else ()
    except RubricError as error:
        raise CourseError(str(error)) from error
    # The common rules about lateness are meant for homework, not for exams, which have a start.
    shared = ("zone",) if "start" in table else _SHARED
    complete_table = {**{key: written[COMMON][key] for key in shared if key in written[COMMON]}, **table}
    if common.slip_days and name in order:
        days = common.slip_days.days
        most = min(common.slip_days.most or days, days)
        complete_table["slip_days"] = {"days": days, "most": most, "place": order.index(name)}
    return complete_table


def _read_file(course: Course, name: str) -> dict[str, Any]:
    """Read ``exams.toml``; empty if it does not exist.

    Raises:
        CourseError: as in `read_table`.
    """
    path = course.exams
    if not path.exists():
        return {}
    names = (*course.list_assignments(), name)
    # An assignment of this name would share its table with the defaults.
    if COMMON in names:
        raise CourseError(f"{path}: an assignment cannot be called {COMMON!r} where times are stated")
    written = tables.read_toml(path)
    try:
        # A misspelt table would otherwise leave an assignment without a deadline.
        tables.check_known_keys(written, (*names, COMMON), str(path))
    except RubricError as error:
        raise CourseError(str(error)) from error
    return written


def _convert_common(table: Any, place: str) -> CommonSettings:
    if not isinstance(table, Mapping):
        raise RubricError("expected a table, such as zone and late for all assignments", place)
    return tables.convert_table(table, CommonSettings, place)


def load_best_of(course: Course) -> tuple[tuple[str, ...], int]:
    """Return the assignments that make up a course's total, in order, and the number of lowest to drop.

    Raises:
        CourseError: as in `read_table`.
    """
    written = _read_file(course, "")
    place = f"{course.exams}: [{COMMON}]"
    try:
        common = _convert_common(written.get(COMMON, {}), place)
        settings = common.best_of or BestOf(0)
        order = _order_assignments(settings.assignments, written, place, "best_of")
    except RubricError as error:
        raise CourseError(str(error)) from error
    if settings.drop and settings.drop >= len(order):
        raise CourseError(f"{place}: best_of.drop: expected less than the {len(order)} assignments")
    return order, settings.drop


def _order_assignments(
    named: tuple[str, ...] | None, written: Mapping[str, Any], place: str, key: str
) -> tuple[str, ...]:
    """Return assignments in order: the named ones, or those with only an end, sorted by their common ends.

    Raises:
        RubricError: a named one has no times, or is listed twice.
    """
    timed = {name: entry for name, entry in written.items() if name != COMMON and isinstance(entry, Mapping)}
    if named is not None:
        for name in named:
            if name not in timed or named.count(name) > 1:
                fault = (
                    "stands twice"
                    if name in timed
                    else f"has no end here; {tables.suggest_name(name, timed)}"
                )
                raise RubricError(f"{name!r} {fault}", place, f"{key}.assignments")
        return named
    ends = {name: entry["end"] for name, entry in timed.items() if "end" in entry and "start" not in entry}
    zone = written.get(COMMON, {}).get("zone", "")
    moments = {
        name: _resolve_moment(
            end, _get_zone(Times(zone=timed[name].get("zone", zone)), place), f"{place}: {name}", "end"
        )
        for name, end in ends.items()
        if isinstance(end, datetime)
    }
    # The name breaks ties, so that the order is stable.
    return tuple(sorted(moments, key=lambda name: (moments[name].astimezone(UTC), name)))


def load_schedule(course: Course, rubric: Rubric) -> Schedule | None:
    """Load the schedule of an assignment; None if ``exams.toml`` has no times for it.

    Raises:
        CourseError: as in `read_table`; or the times are impossible, and the error names the place.
    """
    name = rubric.assignment.name
    table = read_table(course, name)
    try:
        if table is None:
            return None
        return read_schedule(table, rubric, f"{course.exams}: [{name}]", group_list.load_groups(course, name))
    except RubricError as error:
        raise CourseError(error.text) from error


def list_slip_order(course: Course, before: str) -> tuple[str, ...]:
    """Return the assignments that use slip days before another one, in order.

    Raises:
        CourseError: as in `read_table`.
    """
    tables_ = {name: read_table(course, name) for name in course.list_assignments()}
    positions = {
        name: table["slip_days"]["place"]
        for name, table in tables_.items()
        if isinstance(table, Mapping) and "slip_days" in table
    }
    return tuple(
        sorted(
            (assignment for assignment in positions if positions[assignment] < positions[before]),
            key=positions.__getitem__,
        )
    )


def read_schedule(table: Any, rubric: Rubric, place: str, groups: Collection[StudentGroup] = ()) -> Schedule:
    """Build the schedule of one assignment from its table.

    Args:
        table: as in the file, with the defaults of the course filled in.
        rubric: of the assignment.
        place: position of the table, for errors.
        groups: groups of students who submit together, for times of a group.

    Raises:
        RubricError: a key is unknown, has another type, or gives impossible times.
    """
    if not isinstance(table, Mapping):
        raise RubricError("expected a table with start, and zone or end", place)
    try:
        return _build_schedule(table, rubric, place, groups)
    except OverflowError as error:  # datetime's first and last day overflow in other zones
        raise RubricError(build_localised_text("fault.time-years"), place) from error


def _build_schedule(
    table: Mapping[str, Any], rubric: Rubric, place: str, groups: Collection[StudentGroup]
) -> Schedule:
    times = tables.convert_table(table, Times, place)
    zone = _get_zone(times, place)
    needed = _get_minimum_length(rubric)
    common = _build_common_window(times, zone, rubric, place)
    _check_working_time(times, needed, place)

    def read_individual(entry: Any, entry_place: str) -> tuple[Window, IndividualTimes]:
        individual_times = _convert_individual(entry, times, entry_place)
        window = _build_individual_window(
            individual_times, common, zone, needed, times.zone, place=entry_place
        )
        return window, individual_times

    individual: dict[str, Window] = {}
    entries: dict[str, list[IndividualTimes]] = {}
    decided: dict[str, Rule] = {}
    for student, entry in times.students.items():
        entry_place = extend_place(place, f": student {student!r}", "students", student)
        if normalise_id(student) in individual:
            raise RubricError(build_localised_text("fault.time-twice"), entry_place)
        individual[normalise_id(student)], individual_times = read_individual(entry, entry_place)
        entries[normalise_id(student)] = [individual_times]
        if individual_times.late:
            decided[normalise_id(student)] = individual_times.late
    members = {group.name: group.members for group in groups}
    for name, entry in times.groups.items():
        entry_place = extend_place(place, f": group {name!r}", "groups", name)
        if name not in members:
            listed = tables.join_names(members) or "-"
            raise RubricError(build_localised_text("fault.time-no-group", groups=listed), entry_place)
        window, group_times = read_individual(entry, entry_place)
        for student in map(normalise_id, members[name]):
            # Individual extra time is kept if it is longer than the group's.
            individual[student] = max(
                individual.get(student, window), window, key=lambda candidate: candidate.end
            )
            entries.setdefault(student, []).append(group_times)
            if group_times.late:
                decided.setdefault(student, group_times.late)
    clocks = _limit_working_times(individual, entries, times.minutes)
    minutes = times.minutes or 0
    return Schedule(common, individual, times.late, decided, times.counts, minutes=minutes, clocks=clocks)


def _convert_individual(entry: Any, times: Times, place: str) -> IndividualTimes:
    """Convert the table of a student or group.

    Raises:
        RubricError: it is no such table.
    """
    if not isinstance(entry, Mapping):
        raise RubricError("expected a table with extra_minutes, start, end or late", place)
    individual = tables.convert_table(entry, IndividualTimes, place)
    if individual.late == "penalty" and times.penalty is None:
        raise RubricError(build_localised_text("fault.late-penalty"), place, "late")
    return individual


def _check_working_time(times: Times, needed: timedelta, place: str) -> None:
    """Check that the working time is not shorter than the rubric promises.

    Raises:
        RubricError: it is.
    """
    if times.minutes is not None and timedelta(minutes=times.minutes) < needed:
        promised = timestamps.format_duration(needed)
        fault = build_localised_text("fault.time-minutes", minutes=times.minutes, needed=promised)
        raise RubricError(fault, place, "minutes")


def _limit_working_times(
    windows: dict[str, Window], entries: Mapping[str, Sequence[IndividualTimes]], minutes: int | None
) -> dict[str, int]:
    """Apply the working time to the windows of students with individual times; see `Schedule.clocks`."""
    clocks: dict[str, int] = {}
    for student, applied in entries.items() if minutes else ():
        clocks[student], windows[student] = _apply_clock(windows[student], applied, minutes or 0)
    return clocks


def _get_minimum_length(rubric: Rubric) -> timedelta:
    """Return the minimum length of every window, from start to end."""
    exam = rubric.assignment.exam
    return timedelta(minutes=exam.whole_minutes if exam else 0)


def _build_common_window(times: Times, zone: tzinfo | None, rubric: Rubric, place: str) -> Window:
    start = _resolve_moment(times.start, zone, place, "start") if times.start else None
    if times.end is not None:
        end = _resolve_moment(times.end, zone, place, "end")
    elif start is None:
        raise RubricError(build_localised_text("fault.time-none"), place)
    elif rubric.assignment.exam is None:
        raise RubricError(build_localised_text("fault.time-end"), place, "end")
    else:
        end = _add_elapsed(start, _get_minimum_length(rubric))
    return replace(
        _check_window(start, end, _get_minimum_length(rubric), times.zone, place),
        terms=_build_terms(times, place),
    )


def _build_terms(times: Times, place: str) -> Terms:
    """Return the rules about lateness.

    Raises:
        RubricError: a penalty is required but missing, or not usable.
    """
    if times.penalty and (fault := times.penalty.find_fault()):
        raise RubricError(fault, place, "penalty")
    if times.late == "penalty" and times.penalty is None:
        raise RubricError(build_localised_text("fault.late-penalty"), place, "penalty")
    slip = SlipDays(times.slip_days.days, times.slip_days.most) if times.slip_days else None
    grace = timedelta(minutes=times.grace_minutes)
    return Terms(times.late, grace, times.penalty, slip, times.late_days)


def _build_individual_window(
    individual: IndividualTimes,
    common: Window,
    zone: tzinfo | None,
    needed: timedelta,
    zone_name: str,
    *,
    place: str,
) -> Window:
    """Return one student's window: the common one with the individual start, end or extra time applied."""
    if individual.end and individual.extra_minutes:
        raise RubricError(build_localised_text("fault.time-both"), place)
    start = _resolve_moment(individual.start, zone, place, "start") if individual.start else common.start
    extra = timedelta(minutes=individual.extra_minutes)
    if individual.end:
        end = _resolve_moment(individual.end, zone, place, "end")
    elif individual.start is None or start is None:
        end = _add_elapsed(common.end, extra)
    elif common.start is None:
        raise RubricError(build_localised_text("fault.time-end-of-one"), place, "end")
    else:
        end = _add_elapsed(start, common.end.astimezone(UTC) - common.start.astimezone(UTC) + extra)
    return replace(_check_window(start, end, needed, zone_name, place), terms=common.terms)


def _apply_clock(window: Window, applied: Sequence[IndividualTimes], minutes: int) -> tuple[int, Window]:
    """Return the minutes that start when a student opens the assignment (0: they run), and the window.

    The window ends when the working time is over. Extra minutes extend both. An individual end, which staff
    set, replaces the working time.

    Args:
        window: of the student, without a limit to the working time.
        applied: times of the student and of the student's group.
        minutes: the common working time.
    """
    if any(entry.end for entry in applied):
        return 0, window
    minutes += max(entry.extra_minutes for entry in applied)
    opened = [entry.opened for entry in applied if entry.opened]
    if not opened:
        return minutes, window
    over = _add_elapsed(min(opened).astimezone(window.end.tzinfo), timedelta(minutes=minutes))
    return 0, replace(window, end=min(window.end, over))


def _get_zone(times: Times, place: str) -> tzinfo | None:
    if not times.zone:
        return None
    try:
        return timestamps.get_zone(times.zone)
    except ValueError as error:
        raise RubricError(error.args[0], place, "zone") from error


def _resolve_moment(moment: datetime, zone: tzinfo | None, place: str, key: str) -> datetime:
    """Return a moment of the file in the zone, if one is set."""
    if moment.tzinfo is not None:
        return moment.astimezone(zone) if zone else moment
    if zone is None:
        raise RubricError(build_localised_text("fault.time-no-zone", moment=str(moment)), place, key)
    try:
        return timestamps.resolve_local_time(moment, zone)
    except ValueError as error:
        raise RubricError(error.args[0], place, key) from error


def _add_elapsed(start: datetime, length: timedelta) -> datetime:
    """Add an elapsed time, correct across clock changes."""
    # Python adds to local times without regard to clock changes.
    return (start.astimezone(UTC) + length).astimezone(start.tzinfo)


def _check_window(start: datetime | None, end: datetime, needed: timedelta, zone: str, place: str) -> Window:
    if start is not None:
        length = end.astimezone(UTC) - start.astimezone(UTC)
        if length <= _NOTHING:
            moments = {"end": f"{end:%Y-%m-%d %H:%M}", "start": f"{start:%Y-%m-%d %H:%M}"}
            raise RubricError(build_localised_text("fault.time-after", **moments), place, "end")
        # The rubric promises these minutes to every student.
        if length < needed:
            lengths = {
                "length": timestamps.format_duration(length),
                "needed": timestamps.format_duration(needed),
            }
            raise RubricError(build_localised_text("fault.time-short", **lengths), place, "end")
    return Window(start, end, zone or f"{end:%Z}")
