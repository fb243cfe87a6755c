"""Sentences of the page for groups, and about late penalties and slip days."""

from __future__ import annotations

from collections.abc import Mapping

GROUPS: Mapping[str, str | tuple[str, str]] = {
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
