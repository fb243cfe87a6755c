"""Texts of everything that is shown or printed: pages, formgrader comments, title pages, times, sheets."""

from __future__ import annotations

from collections.abc import Mapping

_PAGE: Mapping[str, str | tuple[str, str]] = {
    "page.feedback": "Feedback",
    "page.student": "Student",
    "page.submitted": "Submitted",
    "page.group": "Group",
    "page.group-of": "{name} ({members}), submitted by {by}",
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
    "page.changed": "This mark was changed on {moment} (points before: {before}; now: {after}).",
    "page.changed-parts": "This feedback was changed on {moment}; the sum is unchanged (points: {after}).",
    "page.changed-why": "Reason: {reason}",
    "page.lost": "Where points were lost",
    "page.not-decided": "Nothing has been graded yet.",
    "page.nothing-lost": "No points were lost.",
    "page.questions": "Question by question",
    "page.fault": "The fault to repair",
    "page.verdict": "Result",
    "page.read-as": "Your answer was read as",
    "page.look-at": "Your answer: cell {number}",
    "page.asked": "The question",
    "page.compared": "with additions and deletions compared to the given code",
    "page.as-handed-out": "Unchanged given lines: {lines}",
    "page.one-reason": "For all {number} lines above:",
    "page.caret": "Where the formula breaks",
    "page.notebook": "Your notebook, as it was run",
    "page.files": "Your files",
    "page.file-handed-in": "submitted",
    "page.file-unchanged": "unchanged",
    "page.file-missing": "not submitted",
    "page.file-too-large": "larger than the allowed {limit}; not read",
    "page.file-unreadable": "could not be read; submit the file itself, not a link or a folder of that name",
    "page.picture-file": "The picture {file}",
    "page.file-cut": "Only the beginning of this file is shown here; all of it was read.",
    "page.difference": "What you changed",
    "page.whole-file": "The whole file",
    "page.look-at-file": "Your answer: {file}",
    "page.no-notebook": "There is no executed notebook.",
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
    "page.source-cut": "Only the beginning of this cell is shown here; all of it is in the notebook.",
    "page.picture-missing": (
        "A picture of this cell is not shown: it is too large, or its format is not PNG, JPEG, GIF or WebP."
    ),
    "page.picture-absent": (
        "Some pictures of this cell were not submitted with the notebook, so they cannot be shown ({names}). "
        "Only pictures that are attached to a cell or pasted into it are part of the notebook."
    ),
    "page.source-long": (
        "Only the first {limit} characters of this cell are shown here. All of it is in the notebook that "
        "you submitted."
    ),
    "page.text-cut": "Only the beginning of this cell is shown here.",
    "page.page-full": "This cell is not shown: the page shows at most {limit} kB of a notebook.",
    "page.more-outputs": "Further outputs that are not shown: {number}.",
    "page.isolation": "This submission was run with weaker isolation than usual ({isolation}).",
    "page.passed": "passed",
    "page.partly": "partly",
    "page.failed": "not passed",
    "page.no-answer": "no answer",
    "page.needs-review": "in manual review",
    "page.marked": "graded manually",
    "page.comment": "Comment",
    "page.note-line": "Comment on line {first}",
    "page.note-lines": "Comment on lines {first}–{last}",
    "page.grade": "Grade",
    "page.grade-passed": "passed",
    "page.grade-failed": "not passed",
    "page.grade-range": "{worst} to {best}",
    "page.provisional": "Provisional: the grade depends on what is still open.",
    "page.provisional-same": "Provisional: something is still open, but it cannot change the grade.",
    "page.outdated": "Provisional: the rubric has changed since, so this will be graded again.",
    "page.provisional-time": "Provisional: staff have yet to decide how the time of submission counts.",
    "page.task-points": "Points of the tasks",
    "page.taken-line": "Manual deduction",
    "page.taken": "Manual deduction: {taken} ({earned} − {taken} = {points}).",
    "page.taken-bounded": (
        "Manual deduction: {taken}, limited to the {earned} earned, because the sum is never below zero."
    ),
    "page.late-line": "Late penalty",
    "page.late": "Late penalty: {late} ({before} − {late} = {points}).",
    "page.extra-given": "Bonus points from manual grading: {points}",
    "page.extra-taken": "Deduction from manual grading: {points}",
    "page.bonus-line": "Bonus points",
    "page.bonus-line-out": "Bonus points, not counted",
    "page.bonus": "Bonus points: {points}, included in the sum ({sources}).",
    "page.bonus-out": (
        "Bonus points: {points} ({sources}), not included in the sum unless the points without them are "
        "enough to pass."
    ),
    "page.bonus-from.questions": "for bonus questions",
    "page.bonus-from.people": "from manual grading",
    "page.bonus-from.course": "from the course",
    "page.above-possible": "The sum exceeds the {possible} possible points.",
    "page.best-grade": "There is no better grade than {grade}.",
    "page.bonus-question": "bonus",
    "page.bonus.always": "Bonus points are added to the points earned, not to the points possible.",
    "page.bonus.when-passed": "Bonus points count only if the points without them are enough to pass.",
    "page.rounding.exact": "Points are not rounded: a grade begins exactly at its threshold.",
    "page.rounding.up-to-half": "For the grade, points are rounded up to the next half point.",
    "page.rounding.up-to-whole": "For the grade, points are rounded up to the next whole point.",
    "page.rounding.percent": "Percentages are rounded down to a whole number.",
    "page.pass-from": "Passed from {points} of {possible} points.",
    "page.scale": "From points to the grade",
    "page.from": "from",
    "comment.passed": "right",
    "comment.failed": "not right",
    "comment.no-answer": "no answer",
    "comment.needs-review": "needs manual review",
    "comment.isolation": "(Graded with isolation: {isolation})",
}

_TIMING: Mapping[str, str] = {
    "timing.late": (
        "Submitted {late} after the deadline ({end}). It was graded; staff decide how the delay counts."
    ),
    "timing.refused": "Submitted {late} after the deadline ({end}). It is not graded because it is late.",
    "timing.penalty": "Submitted {late} after the deadline ({end}). Late penalty: {taken}.",
    "timing.slip": "Slip days used: {used}. Slip days left: {left}.",
    "timing.slip-covered": (
        "Submitted {late} after the deadline ({end}). It counts as on time because of slip days. Used: "
        "{used}. Left: {left}."
    ),
    "timing.slip-left": "Slip days left: {left}.",
    "timing.earlier-late": "Your later submissions do not count.",
    "timing.accepted": "Submitted {late} after the deadline ({end}). It counts all the same.",
    "timing.doubt-accepted": (
        "The time of submission is not known (deadline: {end}). The submission counts all the same."
    ),
    "timing.earlier": (
        "Submissions after the deadline ({end}) do not count, unless staff decide otherwise. This is your "
        "last attempt in time."
    ),
    "timing.not-known": (
        "The time of submission is not known (deadline: {end}). That alone costs no points; it needs manual "
        "review."
    ),
    "attempt.unreadable": "Another attempt cannot be read, so this one counts. Reason: {reason}",
    "attempt.unreadable-at": "The attempt of {moment} cannot be read, so this one counts. Reason: {reason}",
    "attempt.chosen": "The course staff decided that this attempt counts: {reason}",
    "refused.late": "This was submitted after the deadline, so nothing in it was graded.",
    "moment.minutes": "{moment:%Y-%m-%d %H:%M} ({zone})",
    "moment.seconds": "{moment:%Y-%m-%d %H:%M:%S} ({zone})",
    "moment.utc": "{moment:%Y-%m-%d %H:%M} UTC",
}

_LATE: Mapping[str, str | tuple[str, str]] = {
    "late.percent": "{number} percent of the possible points",
    "late.percent-of-earned": "{number} percent of the points earned",
    "late.points": ("{number} point", "{number} points"),
    "late.per-day": "Late penalty: {take} for each day that has begun.",
    "late.per-hour": "Late penalty: {take} for each hour that has begun.",
    "late.steps": "Late penalty: {steps}.",
    "late.step": "{take} if more than {hours} h late",
    "late.step-at-once": "{take} from the deadline on",
    "late.cap": "The penalty is at most {take}.",
    "late.floor": "The penalty never reduces the points below {left}.",
    "late.closed": "Submissions more than {hours} h late are not graded.",
    "late.grace": "Grace period: submissions up to {minutes} min after the deadline are on time.",
    "late.slip": (
        "Each student has {days} slip day for the whole course: a late day that costs nothing.",
        "Each student has {days} slip days for the whole course: late days that cost nothing.",
    ),
    "late.day-of-24-hours": "A day has 24 hours, also when the clocks change.",
    "late.slip-most": "At most {most} can be used for one assignment; they are used automatically.",
}

_TITLE_PAGE: Mapping[str, str] = {
    "title.allowed": "**Time allowed:** {minutes} minutes for {points} points",
    "title.reading": ", after {minutes} minutes for reading",
    "title.window": (
        "**Start:** {start} · **End:** {end} ({zone}). Any extension that you were granted is added."
    ),
    "title.window-own": (
        "**Start:** {start} · **Your end:** {end} ({zone}). Extensions that you were granted are included."
    ),
    "title.deadline": "**Deadline:** {end} ({zone}). Any extension that you were granted is added.",
    "title.deadline-own": "**Your deadline:** {end} ({zone}). Extensions that you were granted are included.",
    "title.moment": "{moment:%Y-%m-%d, %H:%M}",
    "title.late": "**Late submission:** {rule}",
    "title.aids": "**Permitted aids:** {aids}",
    "title.submissions": (
        "**Submission:** only one submission counts; a further one in time replaces the earlier ones."
    ),
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
    "sheet.repair": "Correct the listing in place, or beside it.",
    "sheet.for-graders": "Solutions, for graders only",
    "sheet.version": "rubric version",
    "sheet.variant-of": "variant of",
    "sheet.no-key": "The answer key contains nothing here.",
    "sheet.by-person": "Graded manually.",
    "sheet.by-tests": "Graded by what the answer computes; every right approach counts.",
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
