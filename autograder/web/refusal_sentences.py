"""Why the service refuses a request; most follow “Not done: ”."""

from __future__ import annotations

from collections.abc import Mapping

_ATTEMPTS: Mapping[str, str] = {
    "web.upload-attempts": "there are already {most} attempts, which is the maximum",
    "web.upload-name": "{name} is not a valid file name: {reason}",
    "web.upload-size": "the files have {size} in total; at most {most} are accepted",
    "web.upload-archive-large": (
        "the archive contains more than {most} or {number} files; submit only {files}"
    ),
    "web.bad-id": "{student} is not a valid student ID: {reason}",
    "web.time-invalid": "“{given}” is not a valid time; expected a time such as 2026-02-12 10:20",
    "web.choice-reason": "enter a reason; the student will see it",
    "web.choice-failed": "this attempt could not be graded; retry its grading first",
}
_DRAFTS: Mapping[str, str] = {
    "web.draft-large": "the files have more than {most} in total",
    "web.draft-one-rubric": "expected one rubric, rubrics/<assignment>.toml; the archive has {number}",
    "web.draft-name": "{name} cannot be the name of an assignment; use letters, digits, “-” and “_”",
    "web.draft-file-place": (
        "expected rubrics/{name}.toml, and files in assignments/{name}/ and reference/; leave it out"
    ),
    "web.draft-path": (
        "this path cannot be used; names of files and folders have letters, digits, “_”, “-”, “.” and "
        "spaces, at most 8 levels deep"
    ),
    "web.draft-not-passed": "the check of this draft has not passed",
    "web.draft-was-settled": "this draft was already offered or discarded, or is being checked again",
    "web.draft-outdated": (
        "another version has come into use since this draft was created; upload or fetch it again"
    ),
    "web.draft-one-source": "choose an archive, or enter the address of a Git repository; not both",
}
_GIT: Mapping[str, str] = {
    "web.git-expected": "expected an address such as https://git.example.org/courses/deep-learning.git",
    "web.git-credentials": (
        "the address contains a user name or password, which would be stored; if the repository is not "
        "public, upload an archive, or ask the operator of the service for a folder with its clone"
    ),
    "web.git-bad-ref": "“{ref}” cannot be the name of a branch or tag",
    "web.git-bad-folder": "“{folder}” cannot be a folder of a course in a repository",
    "web.git-missing": (
        "Git 2.37 or later is not installed where the worker runs; tell the operator of the service, or "
        "upload an archive"
    ),
    "web.git-outside": (
        "this folder is not one of those that the operator of the service allows in {variable}"
    ),
    "web.git-no-repository": "there is no repository at this address, or not everybody can read it",
    "web.git-no-ref": "the repository has no branch or tag “{ref}”",
    "web.git-no-rubric": "there is no {place} in commit {commit}; check the folder and the name",
    "web.git-redirect": "the address leads to another one; enter that one",
    "web.git-slow": "the repository could not be fetched within {seconds} seconds; try again later",
    "web.git-large": "the repository has more than {most}",
    "web.git-many": "the assignment has more than {most} files",
    "web.git-pointer": "{file}: its content is in Git LFS, which is not fetched; store it in Git itself",
    "web.git-failed": "Git reports: {error}",
}
_TRIALS: Mapping[str, str] = {
    "web.trial-outdated": (
        "another version has come into use since this trial began; discard the trial, and import the course "
        "folder again"
    ),
    "web.trial-already-applied": "this trial was already applied",
    "web.trial-already-dropped": "this trial was already dropped",
    "web.trial-ungraded": "not yet graded in this trial: {students}; wait, or try again",
    "web.trial-other-software": (
        "a result of this trial was written by another version of this software; retry the trial"
    ),
    "web.trial-new-attempt": "there is a new attempt; try again when it is graded",
    "web.items-outdated": (
        "another version has come into use since you opened this page; open it again in another tab, and "
        "copy your changes"
    ),
    "web.items-tried": "version {number} is being tried; apply or discard it first",
    "web.items-unchanged": "nothing was changed",
}
_WEBHOOKS: Mapping[str, str] = {
    "web.webhook-too-many": "there are already {most} webhooks, which is the maximum",
    "web.webhook-twice": "this address is already a webhook of the course",
    "web.webhook-long": "the address has {number} characters; expected at most {most}",
    "web.webhook-expected": "expected an address such as https://example.org/events",
    "web.webhook-host": "{host}: this host is not known",
    "web.webhook-private": "{host}: it has an address in a private network, which is not allowed",
    "web.webhook-status": "the other side responded with {status}",
    "web.webhook-unreachable": "the address cannot be reached ({error})",
}
_PLATFORM_FILES: Mapping[str, str] = {
    "web.archive-in-folder": "it is in a folder, but the service accepts only files without folders",
    "web.archive-no-time": "its submission time is not known; enter the time, or add the worksheet",
    "web.archive-later": "there is already a later attempt",
}
_PLATFORMS: Mapping[str, str] = {
    "web.platform-not-allowed": "this platform is no longer allowed here",
    "web.platform-unreachable": "{platform} cannot be reached: {error}",
    "web.platform-refused": "{platform} refused {request}: {status}",
    "web.platform-no-json": "{platform} did not return JSON at {address}",
    "web.platform-no-list": (
        "the platform provides no class list: its launches contain no address of the service Names and Roles"
    ),
    "web.platform-list-invalid": (
        "the platform's class list is not valid: expected members with user_id and roles"
    ),
    "web.platform-list-unstored": "the platform's class list cannot be stored: {error}",
    "web.platform-member-removed": (
        "{student}: the staff of the course have removed this member; only they can add the member again"
    ),
    "web.platform-no-id": "{person}: the platform sends no {field}",
    "web.platform-variable": "it is a variable that the platform did not replace",
    "web.platform-id-taken": "{student}: this ID already belongs to somebody else",
    "web.platform-column-unstored": "the platform's grade column cannot be stored: {error}",
    "web.platform-marks-refused": "marks of {number} students were refused; the first: {reason}",
    "web.platform-no-column": (
        "the platform does not allow creating a grade column; create a link with a grade there"
    ),
    "web.platform-no-address": "the platform returned no address for the marks",
    "web.registration-no-platform": "open this address through your learning platform",
    "web.registration-used": "this address has been used, or it has expired",
    "web.registration-issuer": "the issuer is not the host that describes it",
    "web.registration-invalid": "the platform cannot be stored: {reason}",
    "web.registration-unstored": "the platform's data cannot be stored",
    "web.registration-unreachable": "the platform cannot be reached",
    "web.registration-status": "the platform responded with {status}",
    "web.registration-malformed": "the platform did not send a valid description",
    "web.response-large": "the response is larger than {most}",
    "web.launch-no-role": (
        "the platform reports that you are neither a student nor an instructor of this course"
    ),
    "web.launch-administrator": (
        "administrators of the service must sign in with their password, not through a platform"
    ),
    "web.launch-no-staff": "the platform no longer reports that you are on the staff of this course",
    "web.launch-own-only": "you may open your own submissions only",
    "web.launch-unknown": "this student or this assignment is not known in the course",
    "web.launch-instructors-only": "only instructors of the course can choose assignments",
}
_JOBS: Mapping[str, str] = {
    "web.job-stopped": "the worker stopped each time, for an unknown reason",
    "web.job-sandbox": "the sandbox failed, which is not the student's fault ({error})",
    "web.job-error": "there was an unexpected error ({error})",
}
_FORMS: Mapping[str, str] = {
    "web.field-fault": "{field}: {reason}",
    "web.expected-whole": "expected a whole number from {least} to {most}",
    "web.expected-number": "expected a number such as 2.5",
    "web.expected-moment": "expected a date and a time",
    "web.expected-other": "this value is not possible",
    "web.course-slug-taken": "There is already a course with this short name. Choose another one.",
}
REFUSALS: Mapping[str, str] = {
    **_ATTEMPTS,
    **_DRAFTS,
    **_GIT,
    **_TRIALS,
    **_WEBHOOKS,
    **_PLATFORM_FILES,
    **_PLATFORMS,
    **_JOBS,
    **_FORMS,
}
