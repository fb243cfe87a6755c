"""Sentences of the pages about regrade requests."""

from __future__ import annotations

from collections.abc import Mapping

_REQUESTS: Mapping[str, str | tuple[str, str]] = {
    "web.requests": "Regrade requests",
    "web.requests-open": "Open requests",
    "web.requests-none": "There are no open requests.",
    "web.requests-settled": "Closed requests",
    "web.requests-until": "You can request a regrade until {moment}.",
    "web.requests-over": "The deadline for regrade requests was {moment}.",
    "web.requests-till": "Deadline for regrade requests: {moment}",
    "web.requests-never": "Students cannot request regrades, because no deadline is set.",
    "web.requests-deadline": "Deadline for regrade requests",
    "web.requests-deadline-told": "Time zone: {zone}. If the field is empty, nobody can request a regrade.",
    "web.requests-no-moment": (
        "The deadline was not saved: expected a time such as 2031-02-12T10:00 that exists exactly once in "
        "the time zone."
    ),
    "web.requests-told": (
        "If possible, somebody other than the marker answers your request. Points can go up or down."
    ),
    "web.requests-names": "Show names",
    "web.requests-no-names": "Hide names",
    "web.request": "Request {number}",
    "web.request-ask": "Request a regrade",
    "web.request-reason": "What should be checked again, and why?",
    "web.request-reason-told": "At most {most} characters.",
    "web.request-send": "Send",
    "web.request-yours": "Your requests",
    "web.request-item": "Item",
    "web.request-state-open": "not answered yet",
    "web.request-state-answered": "answered",
    "web.request-state-withdrawn": "withdrawn",
    "web.request-made-at": "Sent on {moment}",
    "web.request-answered-by": "Answered by {role} on {moment}",
    "web.request-answered-name": "Answered by {name} on {moment}",
    "web.request-withdrawn-at": "Withdrawn on {moment}",
    "web.request-changed": "Points: {before} → {after}",
    "web.request-changed-to": "Points: {after}",
    "web.request-stays": "The points stay the same.",
    "web.request-points-then": "Points at that time: {points}",
    "web.request-by-ta": "a TA",
    "web.request-by-head-ta": "a head TA",
    "web.request-by-instructor": "an instructor",
    "web.request-by-administrator": "an administrator",
    "web.request-take-back": "Withdraw",
    "web.request-student-answer": "Submitted answer",
    "web.request-judged": "Grading result",
    "web.request-told": "Text for the student",
    "web.request-staff": "Text for staff",
    "web.request-reading": "Read as",
    "web.request-comment": "Comment on the mark",
    "web.request-points-now": "Points now: {points}",
    "web.request-answer": "Answer for the student",
    "web.request-points": "New points, if they change",
    "web.request-points-told": "From {least} to {most}. Leave the field empty to keep the points.",
    "web.request-whole-told": (
        "This cell was marked as a whole, not by item. Change that mark first, then answer here without "
        "points."
    ),
    "web.request-own-mark": "You gave these marks. Somebody else must answer this request.",
    "web.request-made": "Your request was received.",
    "web.request-answered": "The request was answered.",
    "web.request-closed": "Not accepted: regrade requests are closed.",
    "web.request-no-mark": "Not accepted: this item has no mark that could be checked again.",
    "web.request-twice": (
        "Not accepted: you already have an open request about this item. Wait for the answer."
    ),
    "web.request-too-many": (
        "Not accepted: you already have {number} open requests, which is the maximum. Wait for answers, or "
        "withdraw some."
    ),
    "web.request-settled": "The request has been answered or withdrawn meanwhile. Nothing was changed.",
    "web.request-points-out": "Not accepted: expected points from {least} to {most}.",
    "web.request-no-number": "Not accepted: expected points as a number, such as 1.5.",
    "web.request-whole": "Not accepted: the item has no points of its own. Answer without points.",
    "web.text-empty": "Not accepted: write something first.",
    "web.text-long": "Not accepted: the text has {number} characters; the maximum is {most}.",
}
# The code after `log-` is the action that `audit.record_action` records, with hyphens for spaces.
LOG: Mapping[str, str] = {
    "web.log-request-answered": "regrade request answered",
    "web.log-request-made": "regrade request sent",
    "web.log-request-withdrawn": "regrade request withdrawn",
    "web.log-requests-until": "deadline for regrade requests changed",
}

WORDS: Mapping[str, str | tuple[str, str]] = {**_REQUESTS, **LOG}
