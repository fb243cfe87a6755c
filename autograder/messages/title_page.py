"""The lines of an exam's title page that follow from the rubric."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "title.allowed": "**Time allowed:** {minutes} minutes for {points} points",
    "title.reading": ", after {minutes} minutes for reading",
    "title.window": (
        "**Start:** {start} · **End:** {end} ({zone}). Extra time that you were granted comes on top."
    ),
    "title.window-own": "**Start:** {start} · **Your end:** {end} ({zone}). Granted extra time is in it.",
    "title.deadline": "**End:** {end} ({zone}). Extra time that you were granted comes on top.",
    "title.deadline-own": "**Your end:** {end} ({zone}). Granted extra time is in it.",
    "title.moment": "{moment:%Y-%m-%d, %H:%M}",
    "title.aids": "**Permitted aids:** {aids}",
    "title.submissions": "**Handing in:** one submission counts, the last one within the time.",
    "title.head": "| Task | Subject | Possible points | Achieved points |",
    "title.sum": "| | **Sum** | **{points}** | |",
    "title.grade": "| | **Grade** | | |",
}
