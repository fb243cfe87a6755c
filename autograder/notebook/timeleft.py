"""How much time is left, as the check beside a notebook tells it: part of every ``coursecheck.py``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

TOLD_AFTERWARDS = timedelta(hours=1)
"""How long the end is spoken of once it has passed. Somebody who reads their notebook later is not late."""

TIME_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "left": {
        "en": "Time left: {left}. The end is at {end} ({zone}); extra time that was granted comes on top.",
        "de": "Verbleibende Zeit: {left}. Das Ende ist um {end} Uhr ({zone}); eine gewährte Verlängerung "
        "kommt hinzu.",
    },
    "over": {
        "en": "The end was at {end} ({zone}). Without extra time, what is handed in now counts as late.",
        "de": "Das Ende war um {end} Uhr ({zone}). Ohne Verlängerung gilt als verspätet, was jetzt abgegeben "
        "wird.",
    },
}


def time_left(specification: Mapping[str, Any], language: str = "", now: datetime | None = None) -> str:
    """A line about the time that is left by this computer's clock; empty outside of the exam.

    Args:
        specification: of the assignment; its ``times`` are texts: start, end (with their offset) and zone.
        language: default: the specification's.
        now: default: the present, in UTC.
    """
    times = specification.get("times")
    if not times:
        return ""
    start, end = (datetime.fromisoformat(times[name]) for name in ("start", "end"))
    now = now or datetime.now(timezone.utc)  # noqa: UP017 - students' machines, not ours
    if not start <= now <= end + TOLD_AFTERWARDS:
        return ""
    minutes = int((end - now).total_seconds()) // 60
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    texts = TIME_SENTENCES["left" if now <= end else "over"]
    chosen = language or str(specification.get("language", "en"))
    return texts.get(chosen, texts["en"]).format(left=left, end=f"{end:%H:%M}", zone=times["zone"])
