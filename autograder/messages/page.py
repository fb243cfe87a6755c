"""Texts of everything that is shown or printed: pages, formgrader comments, title pages, times, sheets."""

from __future__ import annotations

from collections.abc import Mapping

_PAGE: Mapping[str, str | tuple[str, str]] = {
    "page.feedback": "Feedback",
    "page.student": "Student",
    "page.submitted": "Handed in",
    "page.group": "Group",
    "page.group-of": "{name} ({members}), handed in by {by}",
    "page.stated": "As stated in the notebook",
    "page.task": "Task",
    "page.subject": "Subject",
    "page.possible": "Possible points",
    "page.achieved": "Achieved points",
    "page.sum": "Sum",
    "page.of": "of",
    "page.points": "points",
    "page.points-column": "Points",
    "page.pending": ("1 point is still being graded.", "{points} points are still being graded."),
    "page.open": "{points} open",
    "page.changed": ("This mark was changed: {before} points before, {after} points since {moment}."),
    "page.changed-parts": ("What is told here was changed on {moment}; the sum is still {after} points."),
    "page.changed-why": "Reason: {reason}",
    "page.lost": "Where points were lost",
    "page.not-decided": "Nothing has been decided yet.",
    "page.nothing-lost": "No points were lost.",
    "page.questions": "Question by question",
    "page.fault": "What was to be repaired",
    "page.verdict": "Result",
    "page.read-as": "Your answer was read as",
    "page.look-at": "Your answer: cell {number}",
    "page.asked": "The question",
    "page.compared": "with what is new and what is gone of what was handed out",
    "page.as-handed-out": "Lines as they were handed out: {lines}",
    "page.one-reason": "For all {number} lines above:",
    "page.caret": "Where the formula breaks",
    "page.notebook": "Your notebook, as it was run",
    "page.files": "Your files",
    "page.file-handed-in": "handed in",
    "page.file-unchanged": "as it was given out",
    "page.file-missing": "was not handed in",
    "page.file-too-large": "larger than the {limit} that it may have; it was not read",
    "page.file-unreadable": "could not be read: hand in the file itself, not a link or a folder of that name",
    "page.picture-file": "The picture {file}",
    "page.file-cut": "Only the beginning of this file is kept here; all of it was read.",
    "page.difference": "What you changed",
    "page.whole-file": "The whole file",
    "page.look-at-file": "Your answer: {file}",
    "page.no-notebook": "There is no executed notebook: what was handed in could not be read.",
    "page.cells": "Cells: {number}",
    "page.cell": "Cell {number}",
    "page.output-of": "Output of cell {number}",
    "page.given": "given",
    "page.text": "text",
    "page.code": "code",
    "page.not-run": "not run",
    "page.ended": "ended the run",
    "page.formatted-output": "Formatted output",
    "page.picture": "Picture made by this cell",
    "page.as-text": "Output of type {mime}, shown as text",
    "page.not-shown": "An output of type {mime} cannot be shown here.",
    "page.truncated": "Some output was longer than the limit and was not kept.",
    "page.source-cut": "Only the beginning of this cell is kept here; all of it was run.",
    "page.picture-missing": (
        "A picture of this cell is not shown: it is too large, or it is none of PNG, JPEG, GIF and WebP."
    ),
    "page.picture-absent": (
        "Pictures of this cell were not handed in with the notebook, so nobody sees them: {names}. Only what "
        "is attached to a cell or pasted into it is part of the notebook."
    ),
    "page.source-long": (
        "Only the first {limit} characters of this cell are shown here. All of it is in the notebook that "
        "was handed in."
    ),
    "page.text-cut": "Only the beginning of this cell is kept here.",
    "page.page-full": "This cell is not shown: what the page shows of a notebook can have {limit} kB.",
    "page.more-outputs": "{number} more outputs are not shown.",
    "page.isolation": "This submission was run with weaker isolation than usual ({isolation}).",
    "page.passed": "passed",
    "page.partly": "partly",
    "page.failed": "not passed",
    "page.no-answer": "no answer",
    "page.needs-review": "under review",
    "page.marked": "marked by a person",
    "page.comment": "Comment",
    "page.grade": "Grade",
    "page.grade-passed": "passed",
    "page.grade-failed": "not passed",
    "page.grade-range": "{worst} to {best}",
    "page.provisional": "Provisional: the grade depends on what is still open.",
    "page.provisional-same": "Provisional: something is still open, but it cannot change the grade.",
    "page.outdated": "Provisional: the rubric has changed since, and this will be graded again.",
    "page.provisional-time": "Provisional: a person has yet to decide what the time of handing in means.",
    "page.task-points": "Points of the tasks",
    "page.taken-line": "Taken away by a person",
    "page.taken": "Taken away by a person: {taken} ({earned} − {taken} = {points}).",
    "page.taken-bounded": (
        "Taken away by a person: {taken}, but no more than the {earned} that were earned: a sum is never "
        "below zero."
    ),
    "page.late-line": "For handing in late",
    "page.late": "Taken off for handing in late: {late} ({before} − {late} = {points}).",
    "page.extra-given": "Bonus points that a person gave for this: {points}",
    "page.extra-taken": "Points that a person took away for this: {points}",
    "page.bonus-line": "Bonus points",
    "page.bonus-line-out": "Bonus points, not counted",
    "page.bonus": "Bonus points: {points}, included in the sum ({sources}).",
    "page.bonus-out": (
        "Bonus points: {points} ({sources}), not in the sum as long as it is not enough to pass without them."
    ),
    "page.bonus-from.questions": "for bonus questions",
    "page.bonus-from.people": "from those who marked by hand",
    "page.bonus-from.course": "from the course",
    "page.above-possible": "The sum is more than the {possible} points that are possible.",
    "page.best-grade": "There is no better grade than {grade}.",
    "page.bonus-question": "bonus",
    "page.bonus.always": "Bonus points add to the points that are earned, not to those that are possible.",
    "page.bonus.when-passed": "Bonus points count only where the points without them are enough to pass.",
    "page.rounding.exact": "Points are not rounded: a grade begins exactly at its threshold.",
    "page.rounding.up-to-half": "For the grade, points are rounded up to the next half point.",
    "page.rounding.up-to-whole": "For the grade, points are rounded up to the next whole point.",
    "page.rounding.percent": "Percent are rounded down to a whole number.",
    "page.pass-from": "Passed from {points} of {possible} points.",
    "page.scale": "From points to the grade",
    "page.from": "from",
    "comment.passed": "right",
    "comment.failed": "not right",
    "comment.no-answer": "no answer",
    "comment.needs-review": "a person still looks at this",
    "comment.isolation": "(Graded with isolation: {isolation})",
}

_TIMING: Mapping[str, str] = {
    "timing.late": (
        "Handed in {late} after the end, which was {end}. It was graded all the same; a person decides what "
        "the delay means."
    ),
    "timing.refused": (
        "Handed in {late} after the end, which was {end}. In this course, late submissions are not graded."
    ),
    "timing.penalty": "Handed in {late} after the end, which was {end}. That costs {taken}.",
    "timing.slip": "Slip days used for it: {used}. Slip days left: {left}.",
    "timing.slip-covered": (
        "Handed in {late} after the end, which was {end}. It counts as in time, by slip days. Used for it: "
        "{used}. Left: {left}."
    ),
    "timing.slip-left": "Slip days left: {left}.",
    "timing.earlier-late": "What you handed in still later does not count.",
    "timing.accepted": "Handed in {late} after the end, which was {end}. It counts all the same.",
    "timing.doubt-accepted": (
        "It could not be told when this was handed in; the end was {end}. It counts all the same."
    ),
    "timing.earlier": (
        "What you handed in after the end ({end}) does not count, unless staff decide otherwise. This is "
        "your last attempt in time."
    ),
    "timing.not-known": (
        "It could not be told when this was handed in; the end was {end}. That costs nothing by itself: a "
        "person looks at it."
    ),
    "attempt.unreadable": "Another attempt cannot be read, so this one counts. The reason: {reason}",
    "attempt.unreadable-at": (
        "The attempt of {moment} cannot be read, so this one counts. The reason: {reason}"
    ),
    "attempt.chosen": "The course staff chose this attempt to count: {reason}",
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

_LATE: Mapping[str, str | tuple[str, str]] = {
    "late.percent": "{number} percent of the possible points",
    "late.percent-of-earned": "{number} percent of the points earned",
    "late.points": ("{number} point", "{number} points"),
    "late.per-day": "Handing in late costs {take} for each day that has begun.",
    "late.per-hour": "Handing in late costs {take} for each hour that has begun.",
    "late.steps": "Handing in late costs: {steps}.",
    "late.step": "{take} more than {hours} h after the end",
    "late.step-at-once": "{take} from the end on",
    "late.cap": "It never costs more than {take}.",
    "late.floor": "It never leaves less than {left} of what was earned.",
    "late.closed": "What comes more than {hours} h after the end is not graded.",
    "late.grace": "What comes up to {minutes} min after the end is still in time.",
    "late.slip": (
        "Each student has {days} slip day for the whole course: a day that has begun and costs nothing.",
        "Each student has {days} slip days for the whole course: days that have begun and cost nothing.",
    ),
    "late.day-of-24-hours": "A day is 24 hours long, also when clocks are changed.",
    "late.slip-most": "At most {most} can be used for one assignment; they are used by themselves.",
}

_TITLE_PAGE: Mapping[str, str] = {
    "title.allowed": "**Time allowed:** {minutes} minutes for {points} points",
    "title.reading": ", after {minutes} minutes for reading",
    "title.window": (
        "**Start:** {start} · **End:** {end} ({zone}). Extra time that you were granted comes on top."
    ),
    "title.window-own": "**Start:** {start} · **Your end:** {end} ({zone}). Granted extra time is in it.",
    "title.deadline": "**End:** {end} ({zone}). Extra time that you were granted comes on top.",
    "title.deadline-own": "**Your end:** {end} ({zone}). Granted extra time is in it.",
    "title.moment": "{moment:%Y-%m-%d, %H:%M}",
    "title.late": "**Handing in late:** {rule}",
    "title.aids": "**Permitted aids:** {aids}",
    "title.submissions": "**Handing in:** one submission counts, the last one within the time.",
    "release.hidden-tests": "Hidden tests of your answer run here when your work is graded.",
    "title.head": "| Task | Subject | Possible points | Achieved points |",
    "title.sum": "| | **Sum** | **{points}** | |",
    "title.grade": "| | **Grade** | | |",
}

# Printed sheets.
_SHEET: Mapping[str, str | tuple[str, str]] = {
    "sheet.name": "Name",
    "sheet.number": "Student number",
    "sheet.page": "Page",
    "sheet.of": "of",
    "sheet.points": ("{number} point", "{number} points"),
    "sheet.repair": "Correct the listing where it stands, or beside it.",
    "sheet.for-graders": "Solutions, for graders only",
    "sheet.version": "rubric version",
    "sheet.variant-of": "variant of",
    "sheet.no-key": "The answer key has nothing here.",
    "sheet.by-person": "A person decides.",
    "sheet.by-tests": "Decided by what the answer computes; every right way counts.",
    "sheet.right": "Right",
    "sheet.also-right": "Also right",
    "sheet.pick": "{number} of these, each once",
    "sheet.worth": "Worth {points}",
    "sheet.full": "Full points",
    "sheet.half": "Half of the points",
    "sheet.none": "No points",
    "sheet.guide": "Guide",
    "sheet.suggest": "Words to look for",
    "sheet.bonus": "bonus",
    "sheet.needs": "Only with",
}

SENTENCES: Mapping[str, str | tuple[str, str]] = {
    **_PAGE,
    **_TIMING,
    **_LATE,
    **_TITLE_PAGE,
    **_SHEET,
}
