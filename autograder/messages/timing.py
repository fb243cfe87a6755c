"""Sentences about when something was handed in, how much time is left, and how a moment is written."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "timing.late": (
        "Handed in {late} after the end, which was {end}. It was graded all the same; a person decides what "
        "the delay means."
    ),
    "timing.refused": (
        "Handed in {late} after the end, which was {end}. In this course, late submissions are not graded."
    ),
    "timing.accepted": "Handed in {late} after the end, which was {end}. It counts all the same.",
    "timing.doubt-accepted": (
        "It could not be told when this was handed in; the end was {end}. It counts all the same."
    ),
    "timing.earlier": (
        "What you handed in after the end ({end}) does not count. This is your last attempt in time."
    ),
    "timing.not-known": (
        "It could not be told when this was handed in; the end was {end}. That costs nothing by itself: a "
        "person looks at it."
    ),
    "refused.late": "This was handed in after the end, so nothing in it was graded.",
    "time-left.left": (
        "Time left: {left}. The end is {end} ({zone}); extra time that was granted comes on top."
    ),
    "time-left.over": "The end was {end} ({zone}). Without extra time, what is handed in now counts as late.",
    "time-left.left-own": (
        "Time left: {left}. Your end is {end} ({zone}); extra time that was granted is in it."
    ),
    "time-left.over-own": (
        "Your end was {end} ({zone}). Without more extra time, what is handed in now counts as late."
    ),
    "time-left.today": "at {end:%H:%M}",
    "time-left.another-day": "on {end:%Y-%m-%d} at {end:%H:%M}",
    "moment.minutes": "{moment:%Y-%m-%d %H:%M} ({zone})",
    "moment.seconds": "{moment:%Y-%m-%d %H:%M:%S} ({zone})",
    "moment.utc": "{moment:%Y-%m-%d %H:%M} UTC",
}
