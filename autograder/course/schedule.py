"""When an exam is sat: ``exams.toml`` beside the class list. Times are facts of a course, not of a rubric.

[dl4nlp-exam]
start = 2026-02-12T10:00:00
zone = "Europe/Berlin"

[dl4nlp-exam.students.ada]
extra_minutes = 30
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from autograder import atomic, tables, timestamps
from autograder.course import Course, Handin
from autograder.errors import CourseError, RubricError
from autograder.rubric import Rubric
from autograder.timestamps import Rule, Timing, Window
from autograder.variants.drawing import canonical_id

CLOCKS_DIFFER = timedelta(minutes=5)
"""How far ahead of ours the clock of another machine may be."""
_NOTHING = timedelta(0)


class Own(Struct, frozen=True):
    """What one student has instead of the common times. TOML: ``[<assignment>.students.<id>]``."""

    extra_minutes: Annotated[int, Meta(ge=0, le=24 * 60)] = 0
    start: datetime | None = None
    end: datetime | None = None
    late: Rule | None = None
    """What a person decided about this student's late submission, or one whose time is not known."""


class Times(Struct, frozen=True):
    """When one assignment is sat. TOML: ``[<assignment>]``."""

    start: datetime | None = None
    """Default: none; then the end is a deadline, and nothing is too early."""
    end: datetime | None = None
    """Default: the start and the minutes that the rubric allows."""
    zone: str = ""
    """Whose clock the times are by; needed where they state no offset from UTC."""
    late: Rule = "review"
    students: Mapping[str, Any] = {}


class Schedule(Struct, frozen=True):
    """Everybody's window of one assignment."""

    common: Window
    own: Mapping[str, Window]
    """By canonical id."""
    late: Rule = "review"
    """What becomes of late submissions."""
    decided: Mapping[str, Rule] = {}
    """What a person decided about one student's, by canonical id."""

    def of(self, student: str) -> Window:
        """The window of one student."""
        return self.own.get(canonical_id(student), self.common)

    def personal(self, student: str) -> Window:
        """The window of one student, to be told in a notebook that nobody else gets."""
        return replace(self.of(student), own=True)

    def rule(self, student: str) -> Rule:
        """What becomes of a late submission of one student."""
        return self.decided.get(canonical_id(student), self.late)

    def check_students(self, known: Collection[str]) -> None:
        """Extra time for a name that nobody has is a misspelt one.

        Raises:
            CourseError: a student with times of their own is not known; names the nearest.
        """
        for student, hint in self.strangers(known).items():
            raise CourseError(
                f"exams.toml: {student!r} has times of their own, but is not in the class list; {hint}"
            )

    def strangers(self, known: Collection[str]) -> dict[str, str]:
        """Students with times of their own who are not among these, each with the nearest name."""
        names = {canonical_id(student) for student in known}
        return {student: tables.hint(student, names) for student in self.own if student not in names}

    def counting(self, attempts: Iterable[Handin], now: datetime) -> Handin:
        """The attempt that counts, with how it stands to the time.

        That is the last one in time, if there is any; where late ones are accepted, the last one.

        Args:
            attempts: of one student; the first is what was collected last.
            now: the time; what claims to be of later is not believed.
        """
        latest, *earlier = (self._timed(attempt, now) for attempt in attempts)
        if latest.timing is None or not latest.timing.late or latest.timing.rule == "accept":
            return latest
        in_time = [one for one in earlier if one.timing and not one.timing.late and not one.timing.doubt]
        chosen = max(in_time, key=_moment, default=latest)
        if chosen.timing and chosen is not latest:
            return replace(chosen, timing=replace(chosen.timing, instead=latest.submitted_at))
        return latest

    def _timed(self, handin: Handin, now: datetime) -> Handin:
        window, moment, rule = self.of(handin.student), handin.submitted_at, self.rule(handin.student)
        if moment is None:
            return replace(handin, timing=Timing(window, doubt=handin.time_fault, rule=rule))
        stated = timestamps.format_moment(timestamps.by_clock(moment, window), window.zone)
        told = f"The time of handing in is {stated}, which is"
        if moment > now + CLOCKS_DIFFER:
            timing = Timing(window, doubt=f"{told} still to come.", rule=rule)
        elif window.start and moment < window.start:
            timing = Timing(window, doubt=f"{told} before the start.", rule=rule)
        else:
            timing = Timing(window, max(moment - window.end, _NOTHING), rule=rule)
        return replace(handin, timing=timing)


def _moment(handin: Handin) -> datetime:
    return handin.submitted_at or datetime.min.replace(tzinfo=UTC)


def stated(course: Course, name: str) -> Any:
    """What ``exams.toml`` says of an assignment, as it is written; None where it says nothing.

    Raises:
        CourseError: the file cannot be read, or names an assignment that does not exist.
    """
    path = course.exams
    if not path.exists():
        return None
    try:
        written = tomllib.loads(atomic.read(path).decode("utf-8"))
        tables.check_known_keys(written, (*course.assignments(), name), str(path))
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path}: not valid TOML: {error}") from error
    except RubricError as error:
        raise CourseError(str(error)) from error
    return written.get(name)


def load(course: Course, rubric: Rubric) -> Schedule | None:
    """When an assignment is sat; None where ``exams.toml`` says nothing of it.

    Raises:
        CourseError: as in `stated`; or the times are impossible ones, and the error names the place.
    """
    name = rubric.assignment.name
    table = stated(course, name)
    try:
        return None if table is None else read(table, rubric, f"{course.exams}: [{name}]")
    except RubricError as error:
        raise CourseError(str(error)) from error


def settled(course: Course, schedule: Schedule | None, handins: Iterable[Handin], name: str) -> list[Handin]:
    """Of every student the attempt that counts; without a schedule, what was collected.

    Args:
        course: whose folder of earlier attempts is looked at.
        schedule: of the assignment.
        handins: what was collected.
        name: of the assignment.
    """
    if schedule is None:
        return list(handins)
    now = datetime.now(UTC)
    return [schedule.counting((one, *course.earlier(one.student, name)), now) for one in handins]


def read(table: Any, rubric: Rubric, place: str) -> Schedule:
    """The schedule of one assignment from its table.

    Raises:
        RubricError: a key is unknown, has another type, or states impossible times.
    """
    if not isinstance(table, Mapping):
        raise RubricError("expected a table with start, and zone or end", place)
    try:
        return _read(table, rubric, place)
    except OverflowError as error:  # the first and the last day of all have no counterpart in other zones
        raise RubricError("a time is outside of the years 1 to 9999", place) from error


def _read(table: Mapping[str, Any], rubric: Rubric, place: str) -> Schedule:
    times = tables.convert(table, Times, place)
    exam = rubric.assignment.exam
    needed = timedelta(minutes=exam.whole_minutes if exam else 0)
    zone = _zone(times, place)
    start = _at(times.start, zone, f"{place}: start") if times.start else None
    if times.end is not None:
        end = _at(times.end, zone, f"{place}: end")
    elif start is None:
        raise RubricError("expected start, end, or both; neither is stated", place)
    elif exam is None:
        raise RubricError("is needed, since the rubric states no [assignment.exam] minutes", place, "end")
    else:
        end = _after(start, needed)
    common = _window(start, end, needed, times.zone, place)
    own: dict[str, Window] = {}
    decided: dict[str, Rule] = {}
    for student, entry in times.students.items():
        where = f"{place}: student {student!r}"
        if canonical_id(student) in own:
            raise RubricError("stands twice; each may stand once", where)
        if not isinstance(entry, Mapping):
            raise RubricError("expected a table with extra_minutes, start, end or late", where)
        stated = tables.convert(entry, Own, where)
        own[canonical_id(student)] = _own(stated, common, zone, needed, times.zone, place=where)
        if stated.late:
            decided[canonical_id(student)] = stated.late
    return Schedule(common, own, times.late, decided)


def _own(
    own: Own, common: Window, zone: tzinfo | None, needed: timedelta, zone_name: str, *, place: str
) -> Window:
    """One student's window: the common one with other ends, or as long elsewhere, and extra time after it."""
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
    return _window(start, end, needed, zone_name, place)


def _zone(times: Times, place: str) -> tzinfo | None:
    if not times.zone:
        return None
    try:
        return timestamps.named_zone(times.zone)
    except ValueError as error:
        raise RubricError(f"{error}", place, "zone") from error


def _at(moment: datetime, zone: tzinfo | None, place: str) -> datetime:
    """A moment of the file, by the clock of the zone where one is stated."""
    if moment.tzinfo is not None:
        return moment.astimezone(zone) if zone else moment
    if zone is None:
        raise RubricError(f'{moment} has no zone; state zone = "Europe/Berlin", or an offset', place)
    try:
        return timestamps.local_moment(moment, zone)
    except ValueError as error:
        raise RubricError(f"{error}", place) from error


def _after(start: datetime, length: timedelta) -> datetime:
    """So much later by a stopwatch, also in a night in which clocks are changed."""
    return (start.astimezone(UTC) + length).astimezone(start.tzinfo)


def _window(start: datetime | None, end: datetime, needed: timedelta, zone: str, place: str) -> Window:
    if start is not None:
        length = end.astimezone(UTC) - start.astimezone(UTC)
        if length <= _NOTHING:
            raise RubricError(f"{end} is not after the start, {start}", place, "end")
        if length < needed:
            raise RubricError(
                f"{timestamps.duration(length)} from start to end, but the rubric allows "
                f"{timestamps.duration(needed)}",
                place,
            )
    return Window(start, end, zone or f"{end:%Z}")
