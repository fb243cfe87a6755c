"""Submission times and how they relate to the deadline.

nbgrader writes ``timestamp.txt`` next to the submitted files: ``2026-02-12 10:20:30.123456 UTC``. No other
data on disk is reliable: copies, archives and synchronised folders change the times of files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import Struct

from autograder.core.records import Deduction, Message, Note
from autograder.messages import build_localised_text, format_sentence
from autograder.rubric.lateness import Rule, Terms, format_amount

FILE_NAME = "timestamp.txt"
UNDECIDED = frozenset({"late", "time-not-known"})
"""The codes of `Timing.list_notes` that need a decision by staff."""
NOTES = UNDECIDED | {
    *("late-accepted", "late-refused", "late-penalty", "slip-days"),
    *("time-accepted", "earlier-attempt"),
}
"""All codes of `Timing.list_notes`."""
_RULES: Mapping[Rule, tuple[str, str]] = {
    "review": (
        "late",
        "Submitted {late} after the deadline ({end}). It was graded; staff decide how the delay counts.",
    ),
    "refuse": (
        "late-refused",
        "Submitted {late} after the deadline ({end}). It is not graded because of the late rule.",
    ),
    "accept": (
        "late-accepted",
        "Submitted {late} after the deadline ({end}). It counts because of the late rule.",
    ),
    "penalty": ("late-penalty", "Submitted {late} after the deadline ({end}). Late penalty: {taken}."),
}
"""Code and text of the note for staff, by rule."""
_LATE: Mapping[Rule, str] = {
    "review": "timing.late",
    "refuse": "timing.refused",
    "accept": "timing.accepted",
    "penalty": "timing.penalty",
}
_MOST_BYTES = 200
_FIXED = {"UTC": 0, "GMT": 0, "Z": 0, "CET": 1, "CEST": 2}
"""Supported abbreviations, in hours; most others are ambiguous between several zones."""
_NAMED = re.compile(r"(.*\d)\s+([A-Za-z][A-Za-z0-9_+/-]*)", re.DOTALL)


class Stamp(Struct, frozen=True):
    """The content of ``timestamp.txt``: a moment, or the reason why there is none."""

    moment: datetime | None = None
    """In UTC."""
    fault: str = ""
    """For staff; empty if there is a moment."""


class Window(Struct, frozen=True):
    """The time window of a student. Both moments have a zone."""

    start: datetime | None
    """None: only a deadline is set."""
    end: datetime
    zone: str
    """Its name for people: ``Europe/Berlin``."""
    own: bool = False
    """The window belongs to one student: an extension is included."""
    terms: Terms = Terms()
    """The rules about lateness."""


class SlipUse(Struct, frozen=True):
    """One student's slip days after one assignment."""

    used: int
    """Used for this assignment."""
    left: int
    days: int
    """Total for the course."""


class Timing(Struct, frozen=True):
    """The submission time of one submission in relation to its deadline."""

    window: Window
    late: timedelta = timedelta(0)
    """Delay after the deadline."""
    covered: timedelta = timedelta(0)
    """The part of the delay that slip days cover."""
    doubt: str = ""
    """Why the time is unknown, for staff; the submission then does not count as late."""
    rule: Rule = "review"
    """The course's rule for late submissions; one with an unknown time is never refused."""
    instead: datetime | None = None
    """Submission time of the late attempt, if an earlier attempt counts instead."""
    slip: SlipUse | None = None
    """The student's slip days; None if the assignment has none."""
    deduction: Deduction | None = None
    """Late penalty, if that is the rule."""

    @property
    def uncovered(self) -> timedelta:
        """The delay without the part covered by slip days; the rule applies to it."""
        return max(self.late - self.covered, timedelta(0))

    @property
    def refused(self) -> bool:
        """True if it is late and therefore not graded."""
        return bool(self.uncovered) and self.rule == "refuse"

    @property
    def costly(self) -> bool:
        """True if it may cost points."""
        return bool(self.doubt or self.uncovered) and self.rule != "accept"

    def list_notes(self) -> tuple[Note, ...]:
        """Return remarks for staff with the rule that was applied; none if it was in time."""
        end = format_moment(self.window.end, self.window.zone)
        if self.doubt and self.rule == "accept":
            text = f"{self.doubt} The deadline was {end}. The submission counts because of the late rule."
            return (Note("time-accepted", text),)
        if self.doubt:
            text = f"{self.doubt} The deadline was {end}. Staff decide how the submission counts."
            return (Note("time-not-known", text),)
        notes = []
        if self.late:
            late = format_duration(self.late)
            if self.slip and self.slip.used:
                text = (
                    f"Submitted {late} after the deadline ({end}). Slip days used: {self.slip.used}; "
                    f"left: {self.slip.left}."
                )
                notes.append(Note("slip-days", text))
            if self.uncovered:
                code, template = _RULES[self.rule]
                text = template.format(late=late, end=end, taken=self._format_penalty("en"))
                notes.append(Note(code, text))
        if self.instead:
            after = format_duration(self.instead - self.window.end)
            if self.late:
                text = (
                    f"The last attempt that is not too late counts. Another one was submitted {after} after "
                    f"the deadline ({end})."
                )
            else:
                text = (
                    f"The last attempt in time counts. Another one was submitted {after} after the deadline "
                    f"({end})."
                )
            notes.append(Note("earlier-attempt", text))
        return tuple(notes)

    def _format_penalty(self, language: str) -> str:
        deduction = self.deduction or Deduction(Decimal(0))
        return format_amount(deduction.amount, deduction.unit, language)

    def list_messages(self, language: str = "en") -> tuple[Message, ...]:
        """Return messages for the student with times in the language's format; none if it was in time."""
        params = {
            "end": format_moment(self.window.end, self.window.zone, language),
            "late": format_duration(self.late),
            "taken": self._format_penalty(language),
            **({"used": str(self.slip.used), "left": str(self.slip.left)} if self.slip else {}),
        }
        if self.doubt:
            code = "timing.doubt-accepted" if self.rule == "accept" else "timing.not-known"
            return (Message(code, params),)
        codes = []
        if self.uncovered:
            codes.append(_LATE[self.rule])
        if self.slip and self.slip.used:
            codes.append("timing.slip" if self.uncovered else "timing.slip-covered")
        if self.instead:
            codes.append("timing.earlier-late" if self.late else "timing.earlier")
        if self.slip and not self.slip.used:
            codes.append("timing.slip-left")
        return tuple(Message(code, params) for code in codes)


def read_stamp(folder: Path) -> Stamp:
    """Read the submission time of the files in a folder.

    A time without a zone is UTC, as in nbgrader. Never raises, whatever the folder contains.
    """
    try:
        if folder.is_symlink():
            return Stamp(fault=f"{FILE_NAME} is a link.")
        status = os.lstat(f"{folder}/{FILE_NAME}")  # faster than Path; matters for large classes
        if stat.S_ISLNK(status.st_mode):
            return Stamp(fault=f"{FILE_NAME} is a link.")
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return Stamp(fault=f"{FILE_NAME} is not a file of one line.")
        text = (folder / FILE_NAME).read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return Stamp(fault=f"There is no {FILE_NAME}.")
    except OSError as error:
        return Stamp(fault=f"{FILE_NAME} cannot be read: {error.strerror}.")
    try:
        return Stamp(parse_moment(text))
    except (ValueError, OverflowError) as error:  # OverflowError: the first or last day that datetime has
        return Stamp(fault=f"{FILE_NAME} says {text[:60]!a}: {error}.")


def parse_moment(text: str) -> datetime:
    """Parse a time to a moment in UTC; a time without a zone is UTC.

    Raises:
        ValueError: it is no time, its zone is unknown, or clocks in that zone showed it never or twice.
        OverflowError: it has no counterpart in UTC.
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        moment = _parse_iso(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    # A name such as Europe/Berlin follows the time, which fromisoformat does not read.
    moment, name = _parse_iso(named[1]), named[2]
    if moment.tzinfo is not None:
        raise ValueError("it states two zones")
    if name in _FIXED:
        return moment.replace(tzinfo=timezone(timedelta(hours=_FIXED[name]))).astimezone(UTC)
    return resolve_local_time(moment, get_zone(name)).astimezone(UTC)


def _parse_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("expected a time such as 2026-02-12 10:20:30 UTC") from None


def get_zone(name: str) -> ZoneInfo:
    """Return a zone of the IANA database.

    Raises:
        ValueError: there is none of this name; its argument says so in every language.
    """
    try:
        # Names without a slash, such as EST, are legacy zones that people use with other meanings.
        if "/" in name or name == "UTC":
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise ValueError(build_localised_text("fault.time-zone", zone=repr(name)))


def resolve_local_time(local: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which clocks in a zone show a time.

    Raises:
        ValueError: they never do, or do twice, because of a clock change; as for `get_zone`.
    """
    # fold=0 and fold=1 differ only in a gap or an overlap of a clock change (PEP 495).
    earlier, later = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if earlier.utcoffset() == later.utcoffset():
        return earlier
    exists = earlier.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
    code = "fault.time-doubled" if exists else "fault.time-skipped"
    raise ValueError(build_localised_text(code, moment=f"{local:%Y-%m-%d %H:%M}", zone=str(zone)))


def format_moment(moment: datetime, zone: str, language: str = "en") -> str:
    """Format a moment for people, in its zone.

    ``2026-02-12 11:30 (Europe/Berlin)``, in German ``12.02.2026, 11:30 Uhr (Europe/Berlin)``.
    """
    code = "moment.seconds" if moment.second else "moment.minutes"
    return format_sentence(code, language, moment=moment, zone=zone)


def to_window_zone(moment: datetime, window: Window) -> datetime:
    """Convert a moment to a window's zone, if the result is within the range of datetime."""
    try:
        return moment.astimezone(window.end.tzinfo)
    except OverflowError:
        return moment


def format_duration(length: timedelta) -> str:
    """Format a length of time in symbols that all languages share: ``2 d 1 h``, ``40 s``, ``< 1 s``."""
    whole = int(length.total_seconds())
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "< 1 s"
