"""Sentences of the pages about regrade requests."""

from __future__ import annotations

from collections.abc import Mapping

_REQUESTS: Mapping[str, str | tuple[str, str]] = {
    "web.requests": "Regrade requests",
    "web.requests-open": "Open requests",
    "web.requests-none": "No request is open.",
    "web.requests-settled": "Settled requests",
    "web.requests-until": "You can ask for another look until {moment}.",
    "web.requests-over": "The time to ask for another look was over {moment}.",
    "web.requests-till": "Students can ask until {moment}.",
    "web.requests-never": "Students cannot ask for another look: there is no deadline yet.",
    "web.requests-deadline": "Students can ask until",
    "web.requests-deadline-told": "By the clock of {zone}. Leave it empty, and nobody can ask.",
    "web.requests-no-moment": "The deadline was not saved: expected a moment such as 2031-02-12T10:00, which "
    "the clocks of the time zone show just once.",
    "web.requests-told": "Somebody else than the person who gave the mark looks again, if there is anybody "
    "else. Points can go up or down.",
    "web.requests-names": "Show names",
    "web.requests-no-names": "Hide names",
    "web.request": "Request {number}",
    "web.request-ask": "Ask for another look",
    "web.request-reason": "What should be looked at again, and why",
    "web.request-reason-told": "At most {most} characters.",
    "web.request-send": "Send",
    "web.request-yours": "Your requests",
    "web.request-item": "Item",
    "web.request-state-open": "not answered yet",
    "web.request-state-answered": "answered",
    "web.request-state-withdrawn": "withdrawn",
    "web.request-made-at": "Made {moment}",
    "web.request-answered-by": "Answered by {role}, {moment}",
    "web.request-answered-name": "Answered by {name}, {moment}",
    "web.request-withdrawn-at": "Withdrawn {moment}",
    "web.request-changed": "Points: {before} → {after}",
    "web.request-changed-to": "Points: {after}",
    "web.request-stays": "The mark stays.",
    "web.request-points-then": "Points then: {points}",
    "web.request-by-ta": "a TA",
    "web.request-by-head-ta": "a head TA",
    "web.request-by-instructor": "an instructor",
    "web.request-by-administrator": "an administrator",
    "web.request-take-back": "Withdraw",
    "web.request-student-answer": "What was handed in",
    "web.request-judged": "What grading found",
    "web.request-told": "The student reads",
    "web.request-staff": "For staff",
    "web.request-reading": "Read as",
    "web.request-comment": "Comment on the mark",
    "web.request-points-now": "Points now: {points}",
    "web.request-answer": "Answer for the student",
    "web.request-points": "Points, if they change",
    "web.request-points-told": "From {least} to {most}. Leave it empty, and the mark stays.",
    "web.request-whole-told": "Somebody marked the whole cell, not item by item: change that mark first, "
    "then answer here without points.",
    "web.request-own-mark": "You gave the mark that stands. Somebody else answers this request.",
    "web.request-made": "Your request was received.",
    "web.request-answered": "The request is answered.",
    "web.request-closed": "This was not taken: the time to ask for another look is over.",
    "web.request-no-mark": "This was not taken: there is no mark for this item that can be looked at again.",
    "web.request-twice": "This was not taken: you have asked about this item already. Wait for the answer.",
    "web.request-too-many": "This was not taken: {number} requests of yours are open already, which is the "
    "most. Wait for answers, or withdraw some.",
    "web.request-settled": "The request was answered or withdrawn in the meantime. Nothing was changed.",
    "web.request-points-out": "This was not taken: expected points from {least} to {most}.",
    "web.request-no-number": "This was not taken: expected points as a number, such as 1.5.",
    "web.request-whole": "This was not taken: the item has no points of its own. Answer without points.",
    "web.text-empty": "This was not taken: write something first.",
    "web.text-long": "This was not taken: the text has {number} characters; at most {most} are possible.",
}
# The code after `log-` is the action that `audit.record_action` records, with hyphens for spaces.
LOG: Mapping[str, str] = {
    "web.log-request-answered": "request answered",
    "web.log-request-made": "request made",
    "web.log-request-withdrawn": "request withdrawn",
    "web.log-requests-until": "deadline of requests",
}

WORDS: Mapping[str, str | tuple[str, str]] = {**_REQUESTS, **LOG}
