"""Sentences of the pages about trial grading with a new version."""

from __future__ import annotations

from collections.abc import Mapping

VERSION_TRIALS: Mapping[str, str | tuple[str, str]] = {
    "web.trial-title": "Trial of version {number}",
    "web.trial-begun": (
        "Version {number} has a different rubric or reference solution. It is first tried on the whole "
        "class: no mark changes until an instructor applies it."
    ),
    "web.trial-open": "Version {number} is being tried on the class.",
    "web.trial-trying": "in progress",
    "web.trial-applied": "applied",
    "web.trial-dropped": "discarded",
    "web.trial-stale": (
        "Another version has come into use since this trial began. Discard the trial, and import the course "
        "folder again."
    ),
    "web.trial-refused": "Not done: {reason}",
    "web.trial-progress": "{done} of {total} graded with the new version",
    "web.trial-waiting": ("1 student is still being graded.", "{number} students are still being graded."),
    "web.trial-failed": (
        "Grading with the new version failed for 1 student.",
        "Grading with the new version failed for {number} students.",
    ),
    "web.trial-again": "Try again",
    "web.trial-moved": ("Marks change for 1 student.", "Marks change for {number} students."),
    "web.trial-same": ("Nothing changes for 1 student.", "Nothing changes for {number} students."),
    "web.trial-nobody": "No marks change.",
    "web.trial-changes": "Changes in the rubric",
    "web.trial-class": "Effect on the class",
    "web.trial-what": "Item",
    "web.trial-difference": "Difference",
    "web.trial-grade": "grade {grade}",
    "web.trial-pending": "open",
    "web.trial-by-person": "marked manually",
    "web.trial-apply": "Apply (key a)",
    "web.trial-drop": "Discard (key d)",
    "web.trial-was-applied": "Version {number} is in use now, and its marks count.",
    "web.trial-was-dropped": "The new version was discarded. Nothing has changed.",
    "web.trial-made-by": "by {name}, {moment}",
}
