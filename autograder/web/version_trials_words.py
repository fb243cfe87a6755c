"""Sentences of the pages about trial grading with a new version."""

from __future__ import annotations

from collections.abc import Mapping

VERSION_TRIALS: Mapping[str, str | tuple[str, str]] = {
    "web.trial-title": "Trial of version {number}",
    "web.trial-begun": "Version {number} has another rubric or reference. It is tried on the whole class "
    "first: no mark changes until an instructor applies it.",
    "web.trial-open": "Version {number} is being tried on the class.",
    "web.trial-trying": "being tried",
    "web.trial-applied": "applied",
    "web.trial-dropped": "dropped",
    "web.trial-stale": "Another version is offered since this trial began. Drop it and take the folder over "
    "again.",
    "web.trial-refused": "This was not done: {reason}",
    "web.trial-progress": "{done} of {total} graded by the new version",
    "web.trial-waiting": ("1 student is still being graded.", "{number} students are still being graded."),
    "web.trial-failed": (
        "1 student could not be graded by the new version.",
        "{number} students could not be graded by the new version.",
    ),
    "web.trial-again": "Try again",
    "web.trial-moved": ("1 student moves.", "{number} students move."),
    "web.trial-same": ("Nothing changes for 1 student.", "Nothing changes for {number} students."),
    "web.trial-nobody": "Nobody moves.",
    "web.trial-changes": "What is changed",
    "web.trial-class": "What it does to the class",
    "web.trial-what": "What",
    "web.trial-difference": "Difference",
    "web.trial-grade": "grade {grade}",
    "web.trial-pending": "open",
    "web.trial-by-person": "given by a person",
    "web.trial-apply": "Apply (key a)",
    "web.trial-drop": "Drop (key d)",
    "web.trial-was-applied": "Version {number} is offered now, and its marks count.",
    "web.trial-was-dropped": "The new version was dropped. Nothing has changed.",
    "web.trial-made-by": "by {name}, {moment}",
}
