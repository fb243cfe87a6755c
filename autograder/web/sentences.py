"""Sentences of all web pages in English. Translations are in ``locale/``."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.web.course_sentences import COURSES
from autograder.web.marking.sentences import MARKING
from autograder.web.member_sentences import MEMBERS
from autograder.web.refusal_sentences import REFUSALS

_COMMON: Mapping[str, str | tuple[str, str]] = {
    "web.title": "Assignments",
    "web.skip": "Skip to the content",
    "web.courses": "Your courses",
    "web.no-courses": "You are not a member of any course yet. Ask your instructor for an invitation.",
    "web.sign-in": "Sign in",
    "web.user-name": "User name",
    "web.password": "Password",
    "web.sign-out": "Sign out",
    "web.account": "Account",
    "web.save": "Save",
    "web.here": "You are here",
    "web.search": "Search",
    "web.status": "Status",
    "web.table-rows": ("1 entry", "{number} entries"),
    "web.table-matches": "{number} of {total} entries match",
    "web.error-403": "You do not have permission to see this page.",
    "web.error-404": "This page does not exist, or you do not have access to it.",
    "web.error-400": "The request is not valid.",
    "web.error-500": (
        "Something went wrong on our side. Attempts for which you have a receipt are safe. Try again."
    ),
    "web.error-503": (
        "The service is not available at the moment. Attempts for which you have a receipt are safe. Try "
        "again in a few minutes."
    ),
    "web.csrf": (
        "Nothing was saved: this form was open too long, or it came from another page. Go back, copy what "
        "you entered, reload the page, and send the form again."
    ),
}
_STUDENT: Mapping[str, str | tuple[str, str]] = {
    "web.no-assignments": "There are no assignments yet.",
    "web.no-assignments-student": "Your instructor makes them visible when they are ready.",
    "web.assignment": "Assignment",
    "web.not-open-yet": "Not open yet",
    "web.submission": "Attempt",
    "web.received-at": "Received",
    "web.attempts-read": (
        "Open an attempt to check how your answers were read, and to download its receipt."
    ),
    "web.nothing-yet-told": "You can submit several times: every submission is checked right away.",
    "web.result": "Result",
    "web.result-later": "Not published yet",
    "web.receipt-title": "Receipt",
    "web.opens": "Opens on {moment}",
    "web.not-open": "The assignment opens on {moment}.",
    "web.ends": "Deadline: {moment}",
    "web.in-time": "On time. Deadline: {moment}",
    "web.no-end": "No deadline",
    "web.left": "{time} left",
    "web.over": "The deadline has passed.",
    "web.over-grace": "Submissions still count as on time during the grace period.",
    "web.over-review": (
        "Submissions now count as late. They are graded, and the course staff decide how the delay counts."
    ),
    "web.over-kept": (
        "Submissions now count as late. Your last attempt in time still counts, unless the course staff "
        "decide otherwise."
    ),
    "web.was-late": "Submitted {late} after the deadline ({end}).",
    "web.over-penalty": "Submissions now count as late, and the late penalty applies.",
    "web.slip-left": "Slip days left: {days}",
    "web.hand-in-as": "You submit as group {name}, together with {members}.",
    "web.one-for-all": "One of all your attempts counts for the whole group.",
    "web.attempt-of": "Attempt {number} of {student}",
    "web.over-accept": "Submissions are late now, but they still count.",
    "web.over-refuse": "Submissions are too late now. They are stored, but they do not count.",
    "web.over-slip": "Slip days are used first: a delay that they cover counts as on time.",
    "web.nothing-yet": "Nothing submitted yet",
    "web.handed-in": ("1 attempt submitted", "{number} attempts submitted"),
    "web.files": "Files",
    "web.all-files": "Download all files (zip)",
    "web.hand-in": "Submit",
    "web.choose": "Choose your notebook, or several files",
    "web.wanted": "Expected files: {files}",
    "web.attempts": "Your attempts",
    "web.attempt": "Attempt {number}",
    "web.received": "Received on {moment}",
    "web.counts": "counts",
    "web.counts-together": "counts for the group",
    "web.counts-alone": "counts for your individual files",
    "web.state-waiting": "waiting to be graded",
    "web.state-running": "being graded",
    "web.preparing": (
        "The first attempt after a pause takes up to a minute longer, because grading has to be prepared."
    ),
    "web.state-graded": "graded",
    "web.state-failed": "grading failed; the course staff must look into it",
    "web.marks-later": "You will see your marks when your instructor publishes them.",
    "web.feedback": "Feedback",
    "web.feedback-none": "There is no feedback, because no submission was graded.",
    "web.receipt": "Download receipt",
    "web.receipt-told": (
        "Keep the receipt: it proves what was received, and when. It is signed; you can verify it with the "
        "public key at /receipt-key."
    ),
    "web.digest": "Checksum of the submission",
    "web.checked": "Preliminary check",
    "web.checked-told": "This check does not run your code and gives no marks.",
    "web.your-files": "Submitted files",
    "web.too-often": "You have already submitted {number} attempts within ten minutes. Wait a few minutes.",
    "web.same-name": "Two files are called {name}. Submit only one of them.",
    "web.no-files": "Choose a file first.",
    "web.unreadable": "{file} cannot be read: {reason}",
    "web.not-taken": "Nothing was submitted. Your earlier attempts are unchanged.",
    "web.which": "Attempt {number} counts.",
    "web.which-of": "Attempt {number} of {student} counts.",
    "web.which-last": "It is the last attempt.",
    "web.which-failed": "A later attempt could not be graded because of an error on our side.",
    "web.attempts-of": "Attempts of {student}",
    "web.attempts-told": (
        "The last readable attempt counts, unless the late rules say otherwise. You can choose another "
        "attempt. The student sees your reason, and the audit log records it."
    ),
    "web.choose-reason": "Reason, shown to the student",
    "web.choose-this": "Count this attempt",
    "web.choose-none": "Return to the automatic choice",
    "web.chosen": "Attempt {number} counts now. Its marks appear as soon as it is graded.",
    "web.choice-dropped": "The attempt that counts is chosen automatically again.",
    "web.cannot-read": "cannot be read",
    "web.can-read": "can be read",
    "web.sent-by": "sent by {name}",
    "web.download-attempts": "Download all attempts (zip)",
    "web.download-class": "Download the attempts that count (zip)",
    "web.upload-title": "Upload for {student}",
    "web.upload-told": (
        "Submits files for the student, also after the deadline or if there is a later attempt. The time of "
        "submission decides whether the attempt is late. The reason is recorded in the audit log; "
        "the student sees it if you make the attempt count."
    ),
    "web.upload-files": "Notebooks and other files, or a zip archive of them",
    "web.upload-when": "Time of submission ({zone}); empty: now",
    "web.upload": "Upload",
    "web.uploaded": "Attempt {number} of {student} was submitted.",
    "web.upload-reason": "enter a reason of at most 1,000 characters",
    "web.upload-moment": "the time of submission is not a valid time, or in the future",
    "web.log-upload-attempt": "attempt uploaded by staff",
    "web.log-choose-attempt": "counting attempt changed",
    "web.none-wanted": "None of these files is expected. Submit: {names}",
    "web.not-wanted": "This file is not expected. It is stored but not graded.",
    "web.not-there": "This file is expected but missing.",
    "web.refused": "Not accepted: {reason}",
}
_STAFF: Mapping[str, str | tuple[str, str]] = {
    "web.overview": "Overview",
    "web.submissions": "Submissions",
    "web.submissions-see": "View submissions",
    "web.submitted-of": "of {number} submitted",
    "web.status-failed": "grading failed",
    "web.search-student": "Search name, ID or group",
    "web.no-submissions": "No submissions yet",
    "web.no-submissions-told": (
        "Students can submit as soon as the assignment is visible and open. Submissions from another "
        "platform can be imported."
    ),
    "web.settings": "Settings",
    "web.grade-answers": "Grade answers",
    "web.to-grade": ("answer needs manual grading", "answers need manual grading"),
    "web.nothing-to-grade": "No answers need manual grading.",
    "web.open-requests": ("1 open regrade request", "{number} open regrade requests"),
    "web.what-students-see": "What students see",
    "web.grades-published": "Marks published",
    "web.publish-told": (
        "All students see their marks and feedback at once, also provisional ones. You can unpublish marks, "
        "but students may have seen them."
    ),
    "web.publish-now": "Publish now",
    "web.no-assignments-told": (
        "Instructors upload assignments here, or the operators of the service import a course folder with "
        "the command autograder serve."
    ),
    "web.members": "Members",
    "web.members-none": (
        "No students yet. Import a class list, or connect a course of your learning platform."
    ),
    "web.search-member": "Search name, ID or e-mail",
    "web.roster-import": "Import class list",
    "web.audit-none": "Nothing has been recorded yet.",
    "web.audit": "Audit log",
    "web.name": "Name",
    "web.version": "Version {number}",
    "web.progress": "Progress",
    "web.done": "{done} of {total} attempts graded",
    "web.rate": "{rate} per minute, about {time} left",
    "web.failed": ("Grading of 1 attempt failed", "Grading of {number} attempts failed"),
    "web.visible": "Visible to students",
    "web.hidden": "Hidden from students",
    "web.show": "Show to students",
    "web.hide": "Hide from students",
    "web.published": "Marks have been published since {moment}",
    "web.unpublished": "Marks are not published",
    "web.publish": "Publish marks",
    "web.withdraw": "Unpublish marks",
    "web.files-large": (
        "The rubric allows files of {asked} MB in total (most_mb), but the service accepts at most {most} MB "
        "per attempt. Lower most_mb, or collect larger files in another way."
    ),
    "web.update": "Import from the course folder",
    "web.update-told": (
        "Reads the assignment from the course folder again. If the new version can change marks, you see its "
        "effect first and then decide."
    ),
    "web.no-folder": (
        "The assignment was not imported from a folder of this machine. Upload new versions on the page of "
        "the course."
    ),
    "web.updated": "Version {number} is in use now.",
    "web.same-version": "Nothing has changed in the course folder.",
    "web.again": "Regrade all graded attempts",
    "web.regraded": ("1 attempt is being regraded.", "{number} attempts are being regraded."),
    "web.again-told": (
        "The graded submission is run and graded again. Marks can change; manual marks are kept. This "
        "cannot be undone.",
        "All {number} graded submissions are run and graded again. Marks can change; manual marks are "
        "kept. This cannot be undone.",
    ),
    "web.again-now": "Regrade now",
    "web.retry": "Try again",
    "web.reason": "Reason",
    "web.times": "Dates",
    "web.start": "Start",
    "web.end": "Deadline",
    "web.zone": "Time zone",
    "web.late": "Late submissions",
    "web.late-review": "staff decide case by case",
    "web.late-accept": "count without penalty",
    "web.late-refuse": "do not count",
    "web.late-penalty": "count with late penalty",
    "web.student-groups": "Groups",
    "web.student-or-group": "ID or name of the student, or name of the group",
    "web.student-or-name": "ID or name of the student",
    "web.student-id": "Student ID",
    "web.extensions": "Extensions",
    "web.student": "Student",
    "web.extra-minutes": "Extra minutes",
    "web.own-end": "Individual deadline",
    "web.late-of-all": "same as for everybody",
    "web.late-as-before": "unchanged",
    "web.add": "Add",
    "web.remove": "Remove",
    "web.points": "Points",
    "web.of": "{points} of {possible}",
    "web.provisional": "provisional",
    "web.final": "final",
    "web.last": "Last submission",
    "web.roster": "Class list (CSV, or as exported by Moodle, Canvas or HISinOne)",
    "web.import": "Import",
    "web.imported": ("Imported 1 student.", "Imported {number} students."),
    "web.invite": "Invite",
    "web.invitation": "Give this link to {name}. It works once, until {moment}:",
    "web.forgotten": "Create password reset link",
    "web.no-account": "no account yet",
    "web.role": "Role",
    "web.role-student": "student",
    "web.role-ta": "TA",
    "web.role-head-ta": "head TA",
    "web.role-instructor": "instructor",
    "web.role-administrator": "administrator",
    "web.email": "E-mail",
    "web.who": "User",
    "web.action": "Action",
    "web.subject": "Target",
    "web.before": "Before",
    "web.after": "After",
    "web.when": "Time",
    "web.chain": "Hash chain",
    "web.chain-verify": "Verify now",
    "web.chain-unverified": "The hash chain of the log has not been verified yet.",
    "web.chain-verified": "Last verified on {moment}.",
    "web.chain-whole": (
        "The hash chain of the log was intact. It cannot show whether the latest entries were removed: to "
        "detect that, note the newest digest elsewhere."
    ),
    "web.chain-broken": "The log was changed: its hash chain breaks at entry {number}.",
    "web.newest": "Newest digest: {digest}",
    "web.dates-told": (
        "Dates are read by the clock of the time zone, for example Europe/Berlin. Without start and "
        "deadline, the assignment is always open."
    ),
    "web.dates-save": "Save dates",
    "web.dates-saved": "The dates were saved.",
    "web.dates-change": "Change dates",
    "web.extensions-none": "No student has an extension.",
    "web.extension-add": "Add extension",
    "web.extension-save": "Save extension",
    "web.extension-saved": "The extension of {student} was saved.",
    "web.extension-removed": "{student} has no extension any more.",
    "web.extension-same": "Nothing was changed: {student} has no extension, and you entered none.",
    "web.extension-told": (
        "Enter a deadline ({zone}) or extra minutes. Fields that you leave empty keep their values."
    ),
    "web.number": "Attempts",
    "web.yes": "yes",
    "web.no": "no",
    "web.no-times": "The assignment has no dates yet. Set them before you grant extensions.",
    "web.not-in-class": "{student} is neither a student on the class list nor a group.",
    "web.bad-times": "The dates were not saved: {reason}",
    "web.bad-list": "The class list was not imported: {reason}",
}
_ACCOUNT: Mapping[str, str | tuple[str, str]] = {
    "web.make-account": "Create account",
    "web.make-account-told": "Choose a user name and a password for signing in.",
    "web.with-provider": "Sign in with {name}",
    "web.not-listed": "You are not on any class list here. Ask your instructor for an invitation.",
    "web.too-many": "Too many requests in a short time. Wait a few minutes and try again.",
    "web.join-as": "Join as {name}",
    "web.join-administrator": "administrator of this service",
    "web.join-signed-out": (
        "Do you already have an account here? Sign in first; then you come back to this page and join with "
        "it."
    ),
    "web.change-password": "Change password",
    "web.field-username": "User name",
    "web.field-username-told": "Letters, digits and @ . + - _, at most 150 characters.",
    "web.field-password1": "Password",
    "web.field-password1-told": (
        "At least 8 characters, not only digits. Common passwords, and passwords similar to your name, are "
        "refused."
    ),
    "web.field-password2": "Repeat password",
    "web.field-password2-told": "Enter the same password again, to rule out typing errors.",
    "web.new-password": "Set new password",
    "web.new-password-told": "Choose a new password for signing in.",
    "web.invitation-gone": (
        "This link was already used, was replaced by a newer one, or has expired. Ask for a new one."
    ),
    "web.keys": "API keys",
    "web.keys-told": (
        "With an API key, a notebook, a terminal (autograder submit) or a program can act for you, within "
        "your own permissions. For a terminal, store the key in the file ~/.config/autograder/key."
    ),
    "web.key-cell": (
        "To submit from a notebook, run these lines in a cell. The first time you are asked for the key: "
        "paste it there, and never into a cell."
    ),
    "web.key-cell-first": "Save the notebook first",
    "web.key-label": "Purpose",
    "web.key-scopes": "The key can be used to",
    "web.scope-read": "read what you can see",
    "web.scope-submit": "submit",
    "web.scope-mark": "enter marks",
    "web.scope-manage": "change settings and members of courses",
    "web.key-course": "Course",
    "web.key-all-courses": "All your courses",
    "web.key-days": "Valid for this many days (empty: until you remove it)",
    "web.key-expires": "expires on {moment}",
    "web.key-expired": "expired on {moment}",
    "web.key-invalid": "The key was not created: enter its purpose and choose what it can be used for.",
    "web.key-unknown": "The API key is not known, or it has expired. Create one on the account page.",
    "web.key-scope": "This API key does not have the scope {scope}. Create another one on the account page.",
    "web.too-many-requests": "There were too many requests with this API key. Wait a minute.",
    "web.request-invalid": "The request does not match the API's description: {place}: {reason}",
    "web.new-key": "Create key",
    "web.keys-none": "You have no API keys.",
    "web.key-remove-told": "Programs that use the key {label} can no longer sign in. This cannot be undone.",
    "web.key-remove": "Remove key",
    "web.key-shown": "This is your new key. It is shown only once:",
    "web.used": "last used {moment}",
    "web.never-used": "never used",
    "web.factor": "Two-factor authentication",
    "web.new-codes": "New recovery codes",
    "web.new-codes-told": (
        "With a recovery code you can sign in once without your phone. When you create new codes, your old "
        "recovery codes no longer work."
    ),
    "web.make-codes": "Create new codes",
    "web.factor-off": "Turn off two-factor authentication",
    "web.factor-off-told": "After that, your password alone is enough to sign in.",
    "web.signed-out": "You have signed out.",
    "web.sign-out-sure": "Do you want to sign out?",
    "web.password-changed": "Your password was changed.",
    "web.wrong-password": "This is not your current password.",
    "web.too-many-sign-ins": (
        "Too many wrong passwords for this account or from this network. Wait a minute and try again, use a "
        "browser in which you have signed in before, or ask the operators of this service for a password "
        "reset link."
    ),
}

_PLATFORM: Mapping[str, str | tuple[str, str]] = {
    "web.lti-refused": (
        "This launch from a learning platform is not valid. Open the link there again, in a new window."
    ),
    "web.lti-inactive": "This learning platform is not allowed here. Ask the operators of this service.",
    "web.lti-not-connected": "Your course is not connected yet. Its instructor must open the link first.",
    "web.lti-nobody": (
        "You cannot be signed in through the learning platform. Show this page to your instructor."
    ),
    "web.connect": "Connect course",
    "web.connect-told": (
        "You come from {platform} as {person}, from its course “{context}”. Choose the course here to "
        "connect it with. From then on, students of that course are students here, teaching assistants are "
        "TAs, and instructors are instructors."
    ),
    "web.connect-none": "You are not an instructor of any course here. Sign in with an instructor's account.",
    "web.choose-links": "Choose assignments",
    "web.choose-links-send": "Create links",
    "web.platforms": "Learning platforms",
    "web.registration": "Registration",
    "web.registration-told": (
        "The address works once, within {hours} hours. Enter it as the tool's registration address (dynamic "
        "registration) on your learning platform. The platform can launch after you have confirmed it here."
    ),
    "web.registration-new": "Create registration address",
    "web.registration-shown": "Copy the address now: it is shown only once.",
    "web.registration-done": (
        "{name} is registered. An administrator of this service must confirm it before it can be used."
    ),
    "web.registration-again": (
        "Nothing was stored. Ask an administrator of this service for a new registration address."
    ),
    "web.close": "Close",
    "web.platform-confirmed": "Confirmed on {moment}",
    "web.platform-waits": (
        "Waiting for your confirmation. Confirm only if these are the addresses of your own platform."
    ),
    "web.platform-issuer": "Issuer",
    "web.platform-client": "Client ID",
    "web.platform-login": "Authorization endpoint",
    "web.platform-token": "Token endpoint",
    "web.platform-keys": "Public keys",
    "web.platform-student": "Student IDs are taken from",
    "web.platform-by-sourcedid": "the ID number (person_sourcedid)",
    "web.platform-by-sub": "the platform's internal number (sub)",
    "web.platform-by-email": "the e-mail address",
    "web.platform-deployments": "Deployments that may launch",
    "web.platform-no-deployments": "None is known yet. Deployments appear here after their first launch.",
    "web.platform-confirm": "Confirm",
    "web.platform-remove-told": (
        "{name} can no longer launch, and gets no more marks. Members and their submissions stay."
    ),
    "web.disconnect": "Disconnect",
    "web.disconnect-told": (
        "{name} gets no more marks, and its links lead nowhere until an instructor connects the course again."
    ),
    "web.disconnect-now": "Disconnect now",
    "web.not-enrolled": "Not imported: {reason}",
    "web.told-platform": ("{name} has the marks of 1 student.", "{name} has the marks of {number} students."),
    "web.send-marks": "Send marks now",
    "web.marks-uncapped": "Learning platforms get all points, including bonus points above the maximum.",
    "web.marks-capped": "Learning platforms get at most the maximum points.",
    "web.cap-marks": "Limit to the maximum",
    "web.uncap-marks": "Send all points",
    "web.log-cap": "limit for learning platforms changed",
    "web.sending": "The marks are being sent.",
}

# The code after `log-` is the action that `audit.record_action` records, with hyphens for spaces.
_LOG: Mapping[str, str] = {
    "web.log-add-staff": "staff member added",
    "web.log-class-list": "class list imported",
    "web.log-registration-address": "registration address created",
    "web.log-platform-registered": "learning platform registered",
    "web.log-platform-confirmed": "learning platform confirmed",
    "web.log-platform-removed": "learning platform removed",
    "web.log-connect": "learning platform connected",
    "web.log-course": "course imported",
    "web.log-disconnect": "learning platform disconnected",
    "web.log-grade-again": "attempts regraded",
    "web.log-invite": "member invited",
    "web.log-join": "joined",
    "web.log-make-key": "API key created",
    "web.log-remove-key": "API key removed",
    "web.log-link-for-a-password": "password reset link created",
    "web.log-new-password": "password reset",
    "web.log-published": "marks published",
    "web.log-retry": "grading retried",
    "web.log-times": "dates changed",
    "web.log-marking-plan": "double marking changed",
    "web.log-version": "version imported",
    "web.log-change-items": "items changed",
    "web.log-try-version": "trial of a version started",
    "web.log-apply-version": "version applied",
    "web.log-drop-version": "version discarded",
    "web.log-visible": "visible to students",
}
_SHEETS: Mapping[str, str | tuple[str, str]] = {
    "web.sheet": "Offline marking",
    "web.sheet-told": (
        "The marking sheet has a row for each manually marked item of each answer. Enter points and comments "
        "in a spreadsheet or with a program, then upload the sheet. Do not change the columns row and state."
    ),
    "web.sheet-waiting": "Only answers that need marking",
    "web.sheet-groups": "Group equal answers in one row",
    "web.sheet-names": "Include student IDs",
    "web.sheet-download": "Download marking sheet",
    "web.sheet-choose": "Completed marking sheet (.csv)",
    "web.sheet-ending": "Choose a .csv file.",
    "web.sheet-try": "Preview the changes without saving them",
    "web.sheet-send": "Upload marking sheet",
    "web.sheet-result": "Uploaded marking sheet",
    "web.sheet-nothing": "Nothing was saved. Correct these errors, and upload the sheet again:",
    "web.sheet-same": "The sheet changes nothing.",
    "web.sheet-entered": ("The marks of 1 answer were saved.", "The marks of {number} answers were saved."),
    "web.sheet-would": (
        "The marks of 1 answer would change. Nothing was saved.",
        "The marks of {number} answers would change. Nothing was saved.",
    ),
    "web.sheet-refused": "Not saved:",
    "web.sheet-of-two": "two people mark this answer, so it cannot be marked in a sheet; mark it on its page",
    "web.sheet-row": "Row",
    "web.sheet-cell": "Cell",
    "web.sheet-count": "Equal answers",
    "web.sheet-none": "none",
    "web.sheet-comment": "Comment",
    "web.sheet-changed": "changed",
    "web.log-mark-sheet": "marking sheet uploaded",
}
_PLATFORM_FILES: Mapping[str, str | tuple[str, str]] = {
    "web.files-platform": "Import submissions, export grades",
    "web.archive": "Import submissions",
    "web.archive-told": (
        "Upload an archive of submissions from Moodle, Canvas, Gradescope or ILIAS, or one with a folder for "
        "each student. Files are matched with the class list by ID, e-mail address and name, without "
        "guessing. Existing attempts do not change."
    ),
    "web.archive-worksheet": "Moodle's grading worksheet (.csv), for identities and submission times",
    "web.archive-moment": "Submission time, if the archive does not contain it",
    "web.archive-result": "Result of the import",
    "web.archive-nothing": "Nothing was imported or exported: {reason}",
    "web.archive-new": ("1 attempt was imported.", "{number} attempts were imported."),
    "web.archive-concerns": "Imported, but cannot be graded as they are:",
    "web.archive-known": ("1 attempt was here already.", "{number} attempts were here already."),
    "web.archive-unmatched": "Not imported, because they match nobody on the class list:",
    "web.archive-refused": "Not imported:",
    "web.archive-renamed": "Imported under another file name:",
    "web.archive-late": "Marked as late by the platform:",
    "web.archive-absent": ("1 student has submitted nothing.", "{number} students have submitted nothing."),
    "web.grades": "Export grades",
    "web.grades-count": (
        "Final marks: {final}; provisional: {provisional}; students without a result: {missing}."
    ),
    "web.grades-told": "Provisional marks are left out, unless you include them below.",
    "web.grades-form": "Format",
    "web.grades-moodle": "Moodle: completed grading worksheet",
    "web.grades-feedback": "Moodle: feedback files of all students (zip)",
    "web.grades-canvas": "Canvas: gradebook (CSV)",
    "web.grades-ilias": "ILIAS: CSV with semicolons",
    "web.grades-csv": "CSV with commas",
    "web.grades-jsonl": "JSON Lines, for programs",
    "web.grades-fill": "File downloaded from the platform (required for Moodle, optional for Canvas)",
    "web.grades-title": "Title of the assignment in Canvas, if it differs from the title here",
    "web.grades-provisional": "Include provisional marks",
    "web.grades-scale": "Convert points to the platform's maximum",
    "web.grades-comments": "Include feedback as comments (Moodle)",
    "web.grades-worksheet-needed": (
        "Moodle accepts only its own grading worksheet: download it there, and upload it here."
    ),
    "web.log-collect": "submissions imported",
}
_SIMILAR: Mapping[str, str | tuple[str, str]] = {
    "web.similar": "Similarity",
    "web.similar-told": (
        "Similarity is a hint, never a verdict. The pairs are ranked, so some pair is always first. The "
        "numbers say how similar two submissions are in what is unusual about them, not why. Submissions are "
        "also similar if students learn together, follow the same book, or find the only possible solution. "
        "Read both submissions, and talk to the students."
    ),
    "web.similar-never": "The submissions have not been compared yet.",
    "web.similar-busy": "The submissions are being compared. Reload the page in a while.",
    "web.similar-made": (
        "{number} submission was compared on {moment}.",
        "{number} submissions were compared on {moment}.",
    ),
    "web.similar-older": "Since then, something was submitted or regraded.",
    "web.similar-problem": "The submissions could not be compared: {reason}",
    "web.similar-compare": "Compare submissions",
    "web.similar-anonymous": (
        "Students are shown under pseudonyms. Their submissions may still contain details that identify them."
    ),
    "web.similar-remarks": "Not compared, or only in part",
    "web.similar-pairs": "Pairs",
    "web.similar-none": "No two submissions are more similar to each other than each is to several others.",
    "web.similar-place": "Rank",
    "web.similar-one": "First student",
    "web.similar-other": "Second student",
    "web.similar-out": "Excess similarity",
    "web.similar-same": "Shared",
    "web.similar-most": "Mostly in",
    "web.similar-words": "Rare shared words",
    "web.similar-all": "the whole submission",
    "web.similar-code": "all code",
    "web.similar-text": "all texts",
    "web.similar-pairs-told": (
        "Everything that was handed out is removed first. Names, comments, layout, strings in code, and the "
        "order of statements and functions do not count, and what many students have has little weight. "
        "“Shared” is the share of the smaller submission that the other one also contains, in the part that "
        "is named first; for a short part it stays low, even if all of it is equal. Pairs are ranked by "
        "“excess similarity”: how far that share exceeds what is usual for both. Submissions that resemble "
        "many others, for example because they follow the book, are not conspicuous."
    ),
    "web.similar-beside": "Side by side",
    "web.similar-beside-told": (
        "The same number marks the same statement on both sides, even if it was renamed or moved."
    ),
    "web.similar-common": "Grey text is shared by many students.",
    "web.similar-two": "{one} and {other}",
    "web.similar-by": "excess similarity {out} %, shared {same} %",
    "web.similar-page-of": "Feedback for {who}",
    "web.log-compare": "submissions compared",
}
_BENCH: Mapping[str, str | tuple[str, str]] = {
    "web.bench": "Test bench",
    "web.bench-told": (
        "Each input runs in a fresh copy of the executed notebook, so inputs do not affect one another. The "
        "isolation is the same as for grading, and no marks change."
    ),
    "web.bench-notebook": "Notebook",
    "web.bench-change": "Choose notebook",
    "web.bench-input": "Expression or call",
    "web.bench-try": "Run",
    "web.bench-results": "Results",
    "web.bench-value": "Value",
    "web.bench-none": "No value (None)",
    "web.bench-output": "Printed output",
    "web.bench-error": "Exception",
    "web.bench-took": "{number} ms",
    "web.bench-cut": "The output was too long and is not complete.",
    "web.bench-ready": "Ready",
    "web.bench-preparing": "The cells of the notebook are being run. Send the input again in a moment.",
    "web.bench-failed": "Nothing can be tried: the cells of the notebook could not be run.",
    "web.bench-unreadable": "Nothing can be tried: {reason}",
    "web.bench-unavailable": "The test bench is not available: this machine cannot isolate students' code.",
    "web.bench-busy": "The machine is busy. Send the input again in a moment.",
    "web.bench-often": "You have sent too many inputs within a minute. Wait a moment.",
    "web.bench-empty": "Enter an input first.",
    "web.bench-long": "The input is too long: {number} characters, at most {most}.",
    "web.bench-ended-time": "Stopped: it took too long.",
    "web.bench-ended-memory": "Stopped: it needed too much memory.",
    "web.bench-ended-output": "Stopped: it printed too much.",
    "web.bench-ended-exited": "Stopped: the program exited.",
    "web.bench-ended-other": "Stopped: the program crashed or violated a rule of the sandbox.",
}
SENTENCES: Mapping[str, str | tuple[str, str]] = {
    **_COMMON,
    **_STUDENT,
    **_STAFF,
    **_LOG,
    **_ACCOUNT,
    **_PLATFORM,
    **MARKING,
    **_SHEETS,
    **_PLATFORM_FILES,
    **_SIMILAR,
    **MEMBERS,
    **COURSES,
    **_BENCH,
    **REFUSALS,
}
ACTIONS = frozenset(
    code.removeprefix("web.log-").replace("-", " ") for code in SENTENCES if code.startswith("web.log-")
)
"""Actions in the audit log that have a translation."""
