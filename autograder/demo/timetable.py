"""When the demo's exam was sat, and who handed in after its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from autograder.demo.class_list import student_id

MINUTES = 90
START = datetime(2026, 2, 12, 10, 0, tzinfo=ZoneInfo("Europe/Berlin"))
LATE, EXTRA = 4, 6
"""Which student hands in late, and which one is given more time and uses it."""
AFTER: Mapping[int, timedelta] = {
    LATE: timedelta(minutes=MINUTES, seconds=247),
    EXTRA: timedelta(minutes=MINUTES + 12),
}
"""After the start; everybody else hands in within the time."""


def exams(assignment: str, students: int) -> str:
    """The course's ``exams.toml``, for a class of a size."""
    lines = [f"[{assignment}]", f"start = {START:%Y-%m-%dT%H:%M:%S}", f'zone = "{START.tzinfo}"']
    if students >= EXTRA:
        lines += ["", f"[{assignment}.students.{student_id(EXTRA)}]", "extra_minutes = 15"]
    return "\n".join(lines) + "\n"
