"""Sentences of the pages about members, the audit log, notifications and data protection."""

from __future__ import annotations

from collections.abc import Mapping

MEMBERS: Mapping[str, str | tuple[str, str]] = {
    "web.all-roles": "All roles",
    "web.all-actions": "All actions",
    "web.audit-no-match": "No entry matches.",
    "web.audit-about": "Target or student ID",
    "web.audit-of": "Changes of marks and attempts",
    "web.audit-after-hours": "after hours",
    "web.audit-take": "deduction",
    "web.audit-days": "days",
    "web.audit-most": "at most",
    "web.audit-question": "Question",
    "web.audit-item": "Item",
    "web.audit-answer": "Answer",
    "web.audit-students": "Students",
    "web.audit-refused": "Not imported",
    "web.audit-archive": "Archive",
    "web.audit-expires": "Expires",
    "web.audit-stage": "Double marking",
    "web.audit-undone": "Undone",
    "web.audit-redacted": "Redacted entries",
    "web.audit-submitted": "Submitted",
    "web.first-name": "First name",
    "web.last-name": "Last name",
    "web.role-removed": "removed",
    "web.add-member": "Add member",
    "web.list-imported": (
        "The list has 1 student; added or changed: {changed}.",
        "The list has {number} students; added or changed: {changed}.",
    ),
    "web.change-member": "Change member",
    "web.member-id-told": "For students only. Attempts and marks belong to this ID. It cannot be changed.",
    "web.member-bad-id": "This is not a valid student ID: {reason}",
    "web.member-nameless": "Enter a name or an e-mail address.",
    "web.member-same-id": (
        "The ID of a student cannot be changed, because attempts and marks belong to it. Add the student "
        "with the right ID, and remove this one."
    ),
    "web.member-id-taken": "{student} is already in this course, or was removed from it: search the list.",
    "web.member-saved": "The member was changed.",
    "web.remove-member": "Remove from the course",
    "web.remove-member-told": (
        "Access to this course ends at once, in all browsers and programs. Attempts and marks remain. The "
        "member cannot come back through the class list in the course folder or through a learning platform; "
        "you can add the member again."
    ),
    "web.member-removed": "{name} was removed from the course.",
    "web.member-removed-at": "removed on {moment}",
    "web.member-restore": "Add again",
    "web.member-restored": "{name} is a member again and needs a new link for an account.",
    "web.no-longer-member": "you are no longer a member of this course",
    "web.last-login": "last sign-in {moment}",
    "web.invite-everybody": "Invite everybody without an account",
    "web.invite-everybody-told": (
        "You get a CSV file with a personal link for each member, for a mail merge. Each link works once. "
        "Earlier links of these members no longer work. Keep the file secret."
    ),
    "web.invite-number": ("Create link for 1 member", "Create links for {number} members"),
    "web.reset-factor": "Reset second factor",
    "web.reset-factor-told": (
        "{name} can sign in with the password alone then, and all sessions of the account end."
    ),
    "web.factor-reset": (
        "The second factor of {name} was removed, and all their sessions ended. They can set up a new one."
    ),
    "web.since": "From",
    "web.until": "To",
    "web.export-csv": "Export as CSV",
    "web.log-add-member": "member added",
    "web.log-change-member": "member changed",
    "web.log-remove-member": "member removed",
    "web.log-restore-member": "member added again",
    "web.log-invite-everybody": "members invited",
    "web.log-mark": "answer marked",
    "web.log-group": "answers marked or grouped together",
    "web.log-assign-answers": "answers assigned to markers",
    "web.log-verify-log": "audit log verified",
    "web.log-reset-second-factor": "second factor reset",
    "web.people": "Data protection",
    "web.people-search": "Persons",
    "web.people-told": "Export or erase the data of one person.",
    "web.people-name": "Part of a name, an id or an e-mail address",
    "web.people-none": "Nobody was found.",
    "web.person-export": "Download all data (zip)",
    "web.person-erase": "Erase data",
    "web.erase-told": (
        "Erases the account, submissions, marks, keys and sessions of this person. This cannot be undone. "
        "Submissions of a group stay while another member is on the class list. The course folder and "
        "backups are not changed."
    ),
    "web.erase-confirm": "Type {name} to confirm",
    "web.erase-not-confirmed": (
        "Nothing was erased: type {name} exactly to confirm. You cannot erase your own account."
    ),
    "web.person-erased": "The data were erased. The log now says {name} instead of the name.",
    "web.views": "Views by course staff",
    "web.view-attempt": "attempt",
    "web.view-file": "submitted file",
    "web.view-answer": "answer",
    "web.view-result": "feedback",
    "web.view-request": "regrade request",
    "web.keep": "Retention periods",
    "web.keep-told": (
        "Students are erased automatically this many days after the last submission, mark, request or "
        "deadline of their course. Leave the field empty to keep them."
    ),
    "web.keep-days": "{course}: days",
    "web.keep-saved": "The retention period of {course} was saved.",
    "web.keep-invalid": "Not saved: enter at least {least} days, or leave the field empty.",
    "web.log-erase": "person erased",
    "web.log-export-person": "data of a person exported",
    "web.log-retention-period": "retention period changed",
    "web.notifications": "Notifications",
    "web.mail": "E-mail",
    "web.mail-when": "About published results, answered requests, unreadable attempts and changed deadlines",
    "web.mail-each": "at once",
    "web.mail-daily": "once a day",
    "web.mail-never": "never",
    "web.mail-language": "Language",
    "web.mail-saved": "Your choice was saved.",
    "web.mail-marks-on": "E-mails about published results state the points.",
    "web.mail-marks-off": "E-mails about published results only say that they are available.",
    "web.mail-marks-show": "State the points",
    "web.mail-marks-hide": "Do not state the points",
    "web.webhooks": "Webhooks",
    "web.webhooks-told": (
        "Other systems receive each event of this course as signed JSON, without marks. The address must use "
        "https."
    ),
    "web.webhook-address": "Address",
    "web.webhook-shown": "This is the secret of the signatures. It is shown only once:",
    "web.webhook-remove-told": "Deliveries to this address end at once. Its secret cannot be shown again.",
    "web.webhook-problem": "last delivery failed: {reason}",
    "web.log-add-webhook": "webhook added",
    "web.log-remove-webhook": "webhook removed",
    "web.log-points-in-mails": "points in e-mails changed",
}
