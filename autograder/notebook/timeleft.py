"""Time left in an exam, as the check of a notebook shows it: part of every ``coursecheck.py``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from autograder.messages.catalogue import format_sentence

TOLD_AFTERWARDS = timedelta(hours=1)
"""How long the end is mentioned after it has passed. A student who rereads the notebook later is not late."""
TOLD_WITH_A_RULE = timedelta(days=14)
"""The same if a late submission costs points by a rule."""


def time_left(specification: Mapping[str, Any], language: str = "", now: datetime | None = None) -> str:
    """Return a line about the time left by this computer's clock; empty outside of the exam.

    Args:
        specification: specification of the assignment; its ``times`` are texts: end and, if stated, start
            (with their offset), and zone; ``late``, by language, the cost of being late; and ``own``, if the
            end is that of this student only.
        language: default: the specification's.
        now: default: the current time, in UTC.
    """
    times = specification.get("times")
    if not times:
        return ""
    end = datetime.fromisoformat(times["end"])
    start = datetime.fromisoformat(times["start"]) if times.get("start") else None
    now = now or datetime.now(timezone.utc)  # noqa: UP017 - students' machines, not ours
    late = times.get("late") or {}
    # A student who opens the notebook long after the exam is not late.
    if (start and now < start) or now - (TOLD_WITH_A_RULE if late else TOLD_AFTERWARDS) > end:
        return ""
    minutes = int((end - now).total_seconds()) // 60
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    chosen = language or str(specification.get("language", "en"))
    same_day = now.astimezone(end.tzinfo).date() == end.date()
    said = format_sentence("time-left.today" if same_day else "time-left.another-day", chosen, end=end)
    key = ("left" if now <= end else "over") + ("-own" if times.get("own") else "")
    remaining = format_sentence(f"time-left.{key}", chosen, left=left, end=said, zone=times["zone"])
    return " ".join(filter(None, (remaining, late.get(chosen) or late.get("en"))))
