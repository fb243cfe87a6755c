"""Sentences of the page for groups, and about late penalties and slip days."""

from __future__ import annotations

from collections.abc import Mapping

TEAMS: Mapping[str, str | tuple[str, str]] = {
    "web.groups-told": "Any member hands in for the group; of all attempts of all members one counts, "
    "for all. Whom a change concerns is graded again. From the first change on, groups.csv of the folder "
    "is not looked at any more.",
    "web.groups-none": "There are no groups: everybody hands in alone.",
    "web.groups-change": "Form and change groups",
    "web.groups-members": "Members, by id",
    "web.groups-members-of": "Members of {group}, by id; nobody: the group is dissolved",
    "web.groups-new": "A new group",
    "web.groups-form": "Form the group",
    "web.groups-file": "From a file",
    "web.groups-file-told": "A CSV file with the columns group and student, and assignment where a line "
    "holds for one alone. All groups of this assignment are those of the file then.",
    "web.groups-file-choose": "The file (.csv)",
    "web.groups-alone": "In no group",
    "web.groups-changed": (
        "The groups were changed; it concerns 1 student.",
        "The groups were changed; it concerns {number} students.",
    ),
    "web.parts": "Together and alone",
    "web.parts-told": "Hand in whatever has changed: of the group's files one attempt counts for all of "
    "you, of your own files one of your attempts for you alone. Nobody else of your group sees your own "
    "files. The later of both attempts is the time that counts for you.",
    "web.part-together": "Files of the group",
    "web.part-alone": "Your own files",
    "web.part-there": "{file}: handed in by {student}, {moment}",
    "web.part-missing": "{file}: not handed in yet",
    "web.groups-stranger": "{student} is not on the class list",
    "web.groups-twice": "{student} is in group {group} already; take them out there first",
    "web.groups-large": "group {group} has more than {most} members",
    "web.groups-name": "“{group}” cannot be the name of a new group: it is empty, taken, a student's id, "
    "or has signs that names cannot have",
    "web.groups-marked": "{student} would be left without an attempt, and has marks or comments that "
    "people gave; take these away first",
    "web.late-terms": "What being late costs",
    "web.grace": "Minutes after the end that are still in time",
    "web.penalty-way": "Taken off",
    "web.penalty-no": "nothing",
    "web.penalty-per_day": "for each day that has begun",
    "web.penalty-per_hour": "for each hour that has begun",
    "web.penalty-steps": "in steps",
    "web.penalty-amount": "How much; in steps: hours and amount, such as 0: 5, 24: 20",
    "web.penalty-unit": "In",
    "web.unit-percent": "per cent of the possible points",
    "web.unit-percent-of-earned": "per cent of the earned points",
    "web.unit-points": "points",
    "web.penalty-cap": "At most",
    "web.penalty-floor": "Leaves at least, of what was earned",
    "web.penalty-closed": "Hours after which nothing is taken any more",
    "web.late-days": "A day of lateness ends",
    "web.late-days-calendar": "at the same time on the next date, also when clocks are changed",
    "web.late-days-24-hours": "24 hours later",
    "web.slip-days": "Slip days of each student, for the whole course",
    "web.slip-most": "At most so many for this assignment",
    "web.late-told": "It holds where late attempts cost points. Empty: there is none of it. Slip days "
    "are the same bank for every assignment that has them.",
    "web.log-groups": "groups",
    "web.reason-for": "Reason, for students whose marks it changes",
}
