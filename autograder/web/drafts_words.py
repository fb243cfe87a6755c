"""The sentences of the pages about drafts."""

from __future__ import annotations

from collections.abc import Mapping

DRAFTS: Mapping[str, str | tuple[str, str]] = {
    "web.drafts": "Change and try",
    "web.drafts-told": "Change points or wording here. The change is tried on the whole class first: nothing "
    "counts until an instructor applies it.",
    "web.drafts-list": "Drafts",
    "web.drafts-none": "There is no draft.",
    "web.drafts-trying": "being tried",
    "web.drafts-applied": "applied",
    "web.drafts-dropped": "dropped",
    "web.drafts-stale": "Something else is offered since this draft was made. Drop it and make it anew.",
    "web.drafts-item-points": "Points for {item}",
    "web.drafts-item-text": "Text of {item} ({language})",
    "web.drafts-title": "Title of the question ({language})",
    "web.drafts-try": "Try on the class",
    "web.drafts-subject": "{question}: points and wording",
    "web.drafts-nothing": "Nothing was changed.",
    "web.drafts-bad-points": "Points of {item}: a number is expected, not “{given}”.",
    "web.drafts-refused": "This was not done: {reason}",
    "web.drafts-progress": "{done} of {total} graded by the draft",
    "web.drafts-waiting": ("1 student is still being graded.", "{number} students are still being graded."),
    "web.drafts-failed": (
        "1 student could not be graded by the draft.",
        "{number} students could not be graded by the draft.",
    ),
    "web.drafts-again": "Try again",
    "web.drafts-moved": ("1 student moves.", "{number} students move."),
    "web.drafts-same": ("Nothing changes for 1 student.", "Nothing changes for {number} students."),
    "web.drafts-nobody": "Nobody moves.",
    "web.drafts-changes": "What is changed",
    "web.drafts-class": "What it does to the class",
    "web.drafts-what": "What",
    "web.drafts-difference": "Difference",
    "web.drafts-grade": "grade {grade}",
    "web.drafts-open": "open",
    "web.drafts-by-person": "given by a person",
    "web.drafts-apply": "Apply (key a)",
    "web.drafts-no-case": "This is no call that a question of this assignment could have as a case: expected "
    "its answer's name with plain values, or arrays of its library.",
    "web.drafts-drop": "Drop (key d)",
    "web.drafts-file": "The changed rubric as a file",
    "web.drafts-file-told": "Put it into the course's folder as {path}: otherwise the change is lost when "
    "the assignment is taken over from the folder again.",
    "web.drafts-was-applied": "The draft was applied. Version {number} is offered now.",
    "web.drafts-was-dropped": "The draft was dropped. Nothing has changed.",
    "web.drafts-made-by": "by {name}, {moment}",
}
