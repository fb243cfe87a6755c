"""Sentences of the pages on which courses are created, assignments uploaded, and marks published."""

from __future__ import annotations

from collections.abc import Mapping

COURSES: Mapping[str, str | tuple[str, str]] = {
    "web.create-course": "Create course",
    "web.create-course-told": (
        "The course is empty at first. Add its instructors as members; they upload assignments and import "
        "the class list."
    ),
    "web.course-title": "Title",
    "web.course-slug": "Short name in addresses (letters, digits, - and _)",
    "web.drafts": "Drafts",
    "web.upload-assignment": "Upload assignment",
    "web.upload-assignment-told": (
        "A zip archive of a course folder with one assignment: rubrics/<assignment>.toml, the source "
        "notebooks in assignments/<assignment>/, and the reference solution and checks in reference/. A new "
        "assignment or a new version becomes a draft, which is checked first. Students see nothing of it "
        "until you decide so."
    ),
    "web.upload-archive": "Archive (.zip)",
    "web.draft-of": "Draft: {name}",
    "web.draft-replaces": "replaces version {number}",
    "web.draft-waiting": "The check is waiting for a free worker.",
    "web.draft-running": "The answer key and the untouched release are being graded.",
    "web.draft-trials": "{done} of {total} deliberately wrong answers graded",
    "web.draft-passed": "The check has passed: the answer key earns full marks, the untouched release none.",
    "web.draft-passed-full": (
        "The full check has passed: each deliberately wrong answer loses exactly the points it should."
    ),
    "web.draft-failed": "The check has not passed. Correct the assignment, and upload it again.",
    "web.draft-offered": "This draft was offered.",
    "web.draft-discarded": "This draft was discarded.",
    "web.draft-new-told": "A new assignment stays hidden from students until you show it to them.",
    "web.draft-offer-told": (
        "If the rubric or the reference solution has changed and there are attempts, the version is first "
        "tried on the whole class, and no mark changes until you apply it. Otherwise it is used at once."
    ),
    "web.draft-offer": "Use this version",
    "web.draft-check-full": "Check with wrong answers too (takes minutes)",
    "web.draft-check-again": "Check again",
    "web.draft-discard": "Discard draft",
    "web.draft-discard-told": (
        "The upload and the result of its check disappear from the list. What students see does not change."
    ),
    "web.draft-was-discarded": "The draft was discarded.",
    "web.draft-findings": ("1 problem was found", "{number} problems were found"),
    "web.draft-findings-table": "Problems",
    "web.draft-paper": "Graded",
    "web.draft-place": "Place",
    "web.draft-expected": "Expected",
    "web.draft-got": "Found",
    "web.draft-remedy": "What to do",
    "web.publish-open": "The marks of this assignment are not complete yet:",
    "web.publish-answers": ("1 answer awaits marking.", "{number} answers await marking."),
    "web.publish-provisional": (
        "The marks of 1 student are provisional.",
        "The marks of {number} students are provisional.",
    ),
    "web.publish-waiting": ("1 attempt is not graded yet.", "{number} attempts are not graded yet."),
    "web.publish-open-told": (
        "Answers that await marking appear as still being graded, and totals as provisional; students are "
        "told about each later change."
    ),
    "web.publish-submittable": "Students can still submit, also after they have read their feedback.",
    "web.publish-anyway": "Publish incomplete marks",
    "web.working-time": "Working time of each student, in minutes",
    "web.end-implied": "Without a deadline, it is {end}: the start plus the time that the rubric allows.",
    "web.working-time-told": (
        "If it is set, files appear only when a student opens the assignment between start and deadline. The "
        "working time starts then, and ends at the deadline at the latest. Late rules apply to this "
        "individual end; extra minutes extend it. Empty: everybody has until the deadline."
    ),
    "web.open-assignment": "Open assignment",
    "web.open-told": (
        "You have {time} from the moment you open the assignment, but not beyond the deadline. The time "
        "cannot be stopped. You get the files and can submit only after that."
    ),
    "web.open-group": "The time starts for all members of your group.",
    "web.not-opened": "open the assignment on its page first; your working time starts then",
    "web.log-open-assignment": "assignment opened, working time started",
    "web.log-create-course": "course created",
    "web.log-upload-draft": "draft uploaded",
    "web.log-discard-draft": "draft discarded",
}
