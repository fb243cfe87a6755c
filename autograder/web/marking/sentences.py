"""Sentences of the pages about marking and regrade requests; `autograder.web.sentences` includes them."""

from __future__ import annotations

from collections.abc import Mapping

MARKING: Mapping[str, str | tuple[str, str]] = {
    "web.mark-title": "Grading",
    "web.mark-nothing": "No answers to grade",
    "web.mark-nothing-told": (
        "Answers that need manual grading appear here as soon as they were graded automatically."
    ),
    "web.mark-start": "Grade {number}",
    "web.mark-question": "Question",
    "web.mark-waiting": "Waiting",
    "web.mark-suggested": "With suggestion",
    "web.mark-done": "Done",
    "web.mark-flagged": "Flagged",
    "web.mark-conflict": "Conflicts",
    "web.mark-see-groups": "Show groups",
    "web.mark-points": ("1 point", "{points} points"),
    "web.mark-none-waiting": "No more answers are waiting here.",
    "web.mark-none-suggested": "No answer here has a suggestion.",
    "web.mark-none-done": "No answer here is done.",
    "web.mark-none-flagged": "No answer here is flagged.",
    "web.mark-none-conflict": "There are no conflicts here.",
    "web.mark-none-all": "There are no answers here.",
    "web.mark-answer": "Answer",
    "web.mark-answer-of": "Answer {who}",
    "web.mark-assigned": "assigned to {names}",
    "web.mark-assigned-you": "assigned to you",
    "web.mark-assigned-to-you": "Assigned to you, done",
    "web.mark-assigned-answers": "Assigned answers, done",
    "web.mark-assigned-number": ("1 answer was assigned.", "{number} answers were assigned."),
    "web.mark-left-to-all": ("1 answer is left to everybody.", "{number} answers are left to everybody."),
    "web.mark-assign-told": (
        "Split the unmarked answers evenly among the selected markers. Marked answers keep their marker. "
        "Everybody can still mark every answer."
    ),
    "web.mark-all-questions": "All questions",
    "web.mark-split": "Split evenly",
    "web.mark-to-everybody": "Leave to everybody",
    "web.mark-choose-marker": "Select at least one marker.",
    "web.mark-start-mine": "Grade my {number}",
    "web.mark-none-mine": "No more answers that are assigned to you are waiting here.",
    "web.mark-words": ("1 word", "{number} words"),
    "web.mark-left": ("1 waiting", "{number} waiting"),
    "web.mark-left-mine": ("1 of yours waiting", "{number} of yours waiting"),
    "web.mark-empty": "The cell is empty.",
    "web.mark-as-written": "Plain text",
    "web.mark-outputs": "Outputs",
    "web.mark-items": "Items",
    "web.items-edit": "Edit items",
    "web.items-told": (
        "Saving makes a new version of the assignment. If students have submitted, it is first tried on the "
        "whole class, and you see whose marks would change. Marks of the remaining items stay and follow "
        "their points; points of a removed item are dropped. If you add an item, marked answers are flagged "
        "for another look. The points of the question and of the assignment follow the items."
    ),
    "web.items-new": "Further item (optional)",
    "web.items-points": "Points",
    "web.items-text": "Title ({language})",
    "web.items-guide": "Guide for markers ({language})",
    "web.items-remove": "Remove this item",
    "web.items-save": "Save as a new version",
    "web.items-refused": "Not saved: {reason}",
    "web.items-none": "A question needs at least one item.",
    "web.items-offered": "The items were changed. Nobody has submitted yet, so the new version is in use.",
    "web.mark-item": "Item",
    "web.mark-hint": "Words to look for (a hint, not a mark):",
    "web.mark-guide": "Guide",
    "web.mark-full": "Full",
    "web.mark-half": "Half",
    "web.mark-none": "None",
    "web.mark-found": "graded automatically: {points}",
    "web.mark-evidence": "Evidence",
    "web.mark-other": "other points:",
    "web.mark-comment": "Comment for the student",
    "web.mark-remark": "Comment on this item",
    "web.mark-notes": "Comments on lines",
    "web.mark-note": "Comment on these lines",
    "web.mark-line-first": "From line",
    "web.mark-line-last": "to",
    "web.mark-lines-out": "Not saved: a comment needs a first and a last line from 1 to {most}.",
    "web.mark-many-notes": "Not saved: an answer has at most {most} comments on lines.",
    "web.mark-flag": "Flag",
    "web.mark-keep": "Save this comment for reuse",
    "web.mark-comments": "Saved comments",
    "web.mark-save-next": "Save and next",
    "web.mark-save-previous": "Save and previous",
    "web.mark-saved": "Saved: {points} of {possible} points.",
    "web.mark-saved-open": "Saved. Some items are still open.",
    "web.mark-saved-second": "Saved. A second person also marks this answer.",
    "web.mark-saved-conflict": "Saved. The two marks differ: a head TA must decide.",
    "web.mark-stage-second": "Two people mark this answer, each without seeing the other's marks.",
    "web.mark-stage-conflict": "Two people gave this answer different marks. A head TA must decide.",
    "web.mark-changed": (
        "Not saved: this answer or its marks were changed meanwhile. Check it again, then save."
    ),
    "web.mark-theirs": "Saved marks",
    "web.mark-theirs-told": (
        "The form contains what you entered. If you save it, it replaces the saved marks."
    ),
    "web.mark-again": (
        "The submission or its automatic marks have changed since this answer was marked: check it again."
    ),
    "web.mark-others": "Also viewing this answer: {names}",
    "web.mark-undo": "Undo",
    "web.mark-undone": "Your last action was undone.",
    "web.mark-nothing-to-undo": "You have no action to undo.",
    "web.mark-show-names": "Show names",
    "web.mark-hide-names": "Hide names",
    "web.mark-keys": "Keyboard shortcuts",
    "web.mark-key-digits": "points of the item",
    "web.mark-key-half": "half of the item's points",
    "web.mark-key-all": "all of the item's points",
    "web.mark-key-everything": "all points of every item that is not graded automatically",
    "web.mark-key-items": "next and previous item",
    "web.mark-key-next": "save, then the next and the previous answer; n in a list: the first that waits",
    "web.mark-key-group": "mark all, then the next group",
    "web.mark-key-guide": "show or hide the question and the guides",
    "web.mark-key-comment": "edit the comment; Escape leaves the field",
    "web.mark-key-lines": "comment on lines of the answer",
    "web.mark-key-search": "search the saved comments; Enter inserts the first, Enter again saves",
    "web.mark-key-keep": "save the comment for reuse",
    "web.mark-key-flag": "flag",
    "web.mark-key-undo": "undo",
    "web.mark-key-help": "this help",
    "web.mark-group": ("1 answer", "{number} answers"),
    "web.mark-groups-told": (
        "Equal answers are grouped, unless students have different variants. If all items of the cell are "
        "marked manually, the slider also groups answers with similar wording, which may mean the opposite: "
        "read every text of such a group. Points that you save for a group are given to all of its answers."
    ),
    "web.mark-nearness": (
        "Similarity within a group: only equal answers on the left, loosely similar ones on the right"
    ),
    "web.mark-show": "Apply",
    "web.mark-kind-equal": "equal",
    "web.mark-kind-near": "similar wording: read every text",
    "web.mark-kind-proven": "proven equivalent",
    "web.mark-kind-computed": "same automatic results",
    "web.mark-kind-gathered": "formed manually",
    "web.mark-mark": "Mark answer",
    "web.mark-mark-all": "Mark all",
    "web.mark-choose": "Select",
    "web.mark-gather": "Merge selected groups",
    "web.mark-page-before": "Previous page",
    "web.mark-page-after": "Next page",
    "web.mark-more-variants": "… and {number} more texts, which are not shown here.",
    "web.mark-take-out": "Remove from group",
    "web.mark-decide": "Two people gave this answer different marks. The marks that you save are final.",
    "web.mark-whole": (
        "The cell was marked as a whole: {points} of {possible} points. They count until you give points to "
        "its items."
    ),
    "web.mark-no-number": "Not saved: {item}: expected a number such as 1.5, got “{given}”.",
    "web.mark-points-out": "Not saved: {item}: expected {least} to {most} points, got {given}.",
    "web.mark-no-item": "Not saved: the answer no longer has the item {item}. Reload the page.",
    "web.mark-nothing-given": "Not saved: enter points or a comment first.",
    "web.mark-differ": "Not saved: two people gave this answer different marks. A head TA must decide.",
    "web.mark-gone": "Not saved: the answer no longer exists. Reload the page.",
    "web.mark-not-undone": "Not undone: one of these answers has been changed since.",
    "web.mark-gather-two": "Select at least two groups to merge.",
    "web.mark-other-question": "Nothing was changed: the answer belongs to another question.",
    "web.mark-plan-out": "Not saved: expected a number from 0 to {most}.",
    "web.mark-taken-out": "Removed from the group.",
    "web.mark-marked-all": ("1 answer was marked.", "{number} answers were marked."),
    "web.mark-marked-already": ("1 already marked", "{number} already marked"),
    "web.mark-group-changed": "Not saved: an answer of the group was changed meanwhile. Reload the page.",
    "web.mark-variants": "Different texts in this group",
    "web.mark-consistency": "Marker agreement",
    "web.mark-consistency-told": (
        "Two people can mark a share of the answers, each without seeing the other's marks. If their marks "
        "differ, a head TA decides."
    ),
    "web.mark-plan": "Double marking: {twice} %",
    "web.mark-twice": "Double marking, in percent",
    "web.mark-agreement": "Agreement",
    "web.mark-equal": "Equal marks",
    "web.mark-kappa": "Cohen's kappa",
    "web.mark-apart": "Mean difference",
    "web.mark-markers": "Markers",
    "web.mark-marker": "Marker",
    "web.mark-answers": "Answers",
    "web.mark-mean": "Mean: {item}",
    "web.stat-title": "Statistics",
    "web.stat-class": "Students: {students}; mean {mean}, median {median} of {possible} points.",
    "web.stat-spread": "Distribution of points",
    "web.stat-mean": "Mean",
    "web.stat-full": "Full points",
    "web.stat-none": "No points",
    "web.stat-unanswered": "No answer",
    "web.stat-discrimination": "Discrimination",
    "web.stat-discrimination-told": (
        "Discrimination is the correlation of an item's points with those of all other items. If it is near "
        "zero or negative, check the item. It is computed for at least ten students."
    ),
    "web.stat-mistakes": "Named mistakes",
    "web.stat-deviation": "Standard deviation: {points}.",
    "web.stat-settled": (
        "All answers are marked for {settled} of {students} students. Mean, median and the distribution "
        "cover only these."
    ),
    "web.stat-questions": "Questions",
    "web.stat-difficulty": "Difficulty",
    "web.stat-difficulty-told": "Difficulty is the share of the points that students earned: 1 is easy.",
    "web.stat-difficulty-axis": "Difficulty (1 is easy)",
    "web.stat-examples": "Most frequent named mistakes",
    "web.stat-examples-told": (
        "Names and e-mail addresses are removed from the answers. Other details in them may still identify "
        "their authors."
    ),
    "web.stat-no-example": "No answer with this mistake is stored.",
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
    "web.request": "Request {number}",
    "web.request-ask": "Request a regrade",
    "web.request-reason": "What should be checked again, and why?",
    "web.request-reason-told": "At most {most} characters.",
    "web.request-send": "Send",
    "web.request-yours": "Your requests",
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
    "web.log-request-answered": "regrade request answered",
    "web.log-request-made": "regrade request sent",
    "web.log-request-withdrawn": "regrade request withdrawn",
    "web.log-requests-until": "deadline for regrade requests changed",
}
