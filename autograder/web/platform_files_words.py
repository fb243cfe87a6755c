"""Sentences about files of learning platforms."""

from __future__ import annotations

from collections.abc import Mapping

PLATFORM_FILES: Mapping[str, str | tuple[str, str]] = {
    "web.files-platform": "Files of learning platforms",
    "web.archive": "Hand in for students",
    "web.archive-told": "An archive of submissions, as Moodle, Canvas, Gradescope or ILIAS hand it out, or "
    "with a folder for each student. Files are compared with the class list by id, address and name. Nobody "
    "is guessed, and what is here already stays as it is.",
    "web.archive-choose": "The archive (.zip)",
    "web.archive-worksheet": "Moodle's grading worksheet (.csv): who is who, and when they handed in",
    "web.archive-moment": "When it was handed in, where the archive does not say it",
    "web.archive-send": "Hand in",
    "web.archive-result": "What became of the archive",
    "web.archive-nothing": "Nothing was taken over:",
    "web.archive-new": ("1 attempt is new.", "{number} attempts are new."),
    "web.archive-known": ("1 attempt was here already.", "{number} attempts were here already."),
    "web.archive-unmatched": "Of nobody on the class list, and not taken:",
    "web.archive-refused": "Not taken:",
    "web.archive-renamed": "Taken under another name:",
    "web.archive-late": "Marked as late by the platform:",
    "web.archive-absent": ("1 student has handed in nothing.", "{number} students have handed in nothing."),
    "web.grades": "Download grades",
    "web.grades-told": "Marks about which a person has yet to decide are left out.",
    "web.grades-form": "For",
    "web.grades-moodle": "Moodle: the worksheet, filled in",
    "web.grades-feedback": "Moodle: feedback pages, for all at once (zip)",
    "web.grades-gradescope": "Gradescope: results.json of everybody (zip)",
    "web.grades-canvas": "Canvas: a gradebook",
    "web.grades-ilias": "ILIAS: a list with semicolons",
    "web.grades-csv": "a list with commas",
    "web.grades-jsonl": "programs: JSON Lines",
    "web.grades-fill": "The platform's own file as it was downloaded; Moodle's worksheet is needed",
    "web.grades-provisional": "Marks that are not final, too",
    "web.grades-scale": "Convert points to another maximum",
    "web.grades-comments": "With feedback, for Moodle",
    "web.grades-download": "Download",
    "web.grades-worksheet-needed": "Moodle takes its own grading worksheet: download it there, and send "
    "it here",
    "web.log-collect": "handed in for students",
}
