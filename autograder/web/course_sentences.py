"""Sentences of the pages about courses, drafts and trials of assignments, their groups and late rules."""

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
    "web.upload-assignment": "Upload an assignment, or fetch it from Git",
    "web.upload-assignment-told": (
        "A zip archive of a course folder with one assignment: rubrics/<assignment>.toml, the source "
        "notebooks in assignments/<assignment>/, and the reference solution and checks in reference/. A new "
        "assignment or a new version becomes a draft, which is checked first. Students see nothing of it "
        "until you decide so."
    ),
    "web.upload-archive": "Archive (.zip)",
    "web.git": "Or from a Git repository",
    "web.git-told": (
        "A worker fetches the files of one assignment from a repository that everybody can read; its course "
        "folder may contain other assignments. Enter no password or access token in the address: it is "
        "stored."
    ),
    "web.git-address": "Address (https)",
    "web.git-ref": "Branch or tag (optional)",
    "web.git-folder": "Course folder in the repository (optional)",
    "web.git-assignment": "Assignment: the name of its rubric, without .toml",
    "web.git-of-ref": "branch or tag {ref}",
    "web.git-of-default": "default branch",
    "web.git-of-folder": "folder {folder}",
    "web.git-of-commit": "commit {commit}",
    "web.git-again": "Fetch again",
    "web.draft-make": "Create draft",
    "web.draft-of": "Draft: {name}",
    "web.draft-replaces": "replaces version {number}",
    "web.draft-waiting": "The check is waiting for a free worker.",
    "web.draft-fetching": "The repository is being fetched.",
    "web.draft-running": "The answer key and the untouched release are being graded.",
    "web.draft-trials": "{done} of {total} deliberately wrong answers graded",
    "web.draft-passed": "The check has passed: the answer key earns full marks, the untouched release none.",
    "web.draft-passed-full": (
        "The full check has passed: each deliberately wrong answer loses exactly the points it should."
    ),
    "web.draft-failed": "The check has not passed. Correct the assignment, and upload or fetch it again.",
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
        "The draft and the result of its check disappear from the list. What students see does not change."
    ),
    "web.draft-was-discarded": "The draft was discarded.",
    "web.draft-findings": ("1 problem was found", "{number} problems were found"),
    "web.draft-findings-table": "Problems",
    "web.draft-paper": "Graded",
    "web.draft-place": "Place",
    "web.draft-expected": "Expected",
    "web.draft-got": "Found",
    "web.draft-remedy": "What to do",
    "web.draft-usable": "an assignment that can be used",
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
    "web.log-fetch-draft": "fetching of a draft started",
    "web.log-discard-draft": "draft discarded",
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
    "web.trial-moved": ("Marks change for 1 student.", "Marks change for {number} students."),
    "web.trial-same": ("Nothing changes for 1 student.", "Nothing changes for {number} students."),
    "web.trial-nobody": "No marks change.",
    "web.trial-changes": "Changes in the rubric",
    "web.trial-rubric": "Download this version's rubric (for the course folder)",
    "web.trial-class": "Effect on the class",
    "web.trial-difference": "Difference",
    "web.trial-grade": "grade {grade}",
    "web.trial-pending": "open",
    "web.trial-by-person": "marked manually",
    "web.trial-apply": "Apply (key a)",
    "web.trial-drop": "Discard (key d)",
    "web.trial-was-applied": "Version {number} is in use now, and its marks count.",
    "web.trial-was-dropped": "The new version was discarded. Nothing has changed.",
    "web.trial-made-by": "by {name}, {moment}",
    "web.groups-told": (
        "Any member submits for the group. One of all attempts of its members counts for all of them, except "
        "for individual files. Students whose group changes are regraded. After the first change here, "
        "groups.csv in the course folder is no longer read."
    ),
    "web.groups-none": "There are no groups: all students submit alone.",
    "web.groups-change": "Edit groups",
    "web.groups-members": "Members (student IDs)",
    "web.groups-members-of": "Members of {group} (student IDs); leave empty to delete the group",
    "web.groups-new": "New group",
    "web.groups-form": "Create group",
    "web.groups-file": "Import groups",
    "web.groups-file-told": (
        "A CSV file with the columns group and student, and the column assignment if some rows apply to only "
        "one assignment. The file replaces all groups of this assignment."
    ),
    "web.groups-file-choose": "File (.csv)",
    "web.groups-alone": "Students without a group",
    "web.groups-changed": (
        "The groups were changed. This affects 1 student.",
        "The groups were changed. This affects {number} students.",
    ),
    "web.parts": "Group files and individual files",
    "web.parts-told": (
        "Submit whatever has changed. For the group's files, one attempt of the group counts for all of you; "
        "for your individual files, one of your own attempts counts for you. Other members do not see your "
        "individual files. The later of the two attempts determines your submission time."
    ),
    "web.part-together": "Group files",
    "web.part-alone": "Your individual files",
    "web.part-there": "{file}: submitted by {student}, {moment}",
    "web.part-missing": "{file}: not submitted yet",
    "web.groups-stranger": "{student} is not on the class list",
    "web.groups-twice": "{student} is already in group {group}; remove them there first",
    "web.groups-large": "group {group} has more than {most} members",
    "web.groups-name": (
        "“{group}” cannot be the name of a new group: it is empty, already used, a student ID, or contains "
        "characters that names cannot have"
    ),
    "web.groups-marked": (
        "{student} would have no attempt left, but has manual marks or comments; remove these first"
    ),
    "web.late-terms": "Late penalty, grace period and slip days",
    "web.grace": "Grace period, in minutes",
    "web.penalty-way": "Late penalty",
    "web.penalty-no": "none",
    "web.penalty-per_day": "for each started day",
    "web.penalty-per_hour": "for each started hour",
    "web.penalty-steps": "in steps",
    "web.penalty-amount": "Amount; for steps: hours and amount, such as 0: 5, 24: 20",
    "web.penalty-unit": "Unit",
    "web.unit-percent": "percent of the possible points",
    "web.unit-percent-of-earned": "percent of the points earned",
    "web.unit-points": "points",
    "web.penalty-cap": "Maximum penalty",
    "web.penalty-floor": "Minimum of the points earned that remains",
    "web.penalty-closed": "Submissions are not graded after this many hours",
    "web.late-days": "A day of lateness ends",
    "web.late-days-calendar": "at the same time on the next date, even when clocks change",
    "web.late-days-24-hours": "24 hours later",
    "web.slip-days": "Slip days per student, for the whole course",
    "web.slip-most": "Maximum slip days for this assignment",
    "web.late-told": (
        "The penalty applies only if late submissions count with late penalty. The grace period and slip "
        "days apply in any case. All assignments with slip days share one budget: if you change its size "
        "here, it changes for all of them."
    ),
    "web.log-groups": "groups changed",
    "web.reason-for": "Reason, shown to students whose marks change",
}
