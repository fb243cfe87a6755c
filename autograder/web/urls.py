"""All routes of the service. The decorator of each view states the required role (`autograder.web.guard`)."""

from __future__ import annotations

import functools

from allauth.account.urls import urlpatterns as account_pages
from allauth.socialaccount.urls import urlpatterns as identity_pages
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from autograder.web import (
    account,
    assignment_settings,
    attempts,
    audit_log,
    bench,
    courses,
    deep_linking,
    lti,
    marking_sheets,
    members,
    notifications,
    operation,
    people,
    platform_files,
    platform_registrations,
    regrade_requests,
    saml,
    similarity,
    staff,
    student,
    student_groups,
    version_trials,
)
from autograder.web.guard import allow_anyone
from autograder.web.marking import consistency, groups
from autograder.web.marking import pages as marking
from autograder.web.rest.api import API
from autograder.web.site import BASE

_COURSE: list[URLPattern | URLResolver] = [
    path("", student.show_course, name="course"),
    path("a/<str:assignment>/", student.show_assignment, name="assignment"),
    path("a/<str:assignment>/open", student.open_assignment, name="open-assignment"),
    path("a/<str:assignment>/files.zip", student.download_archive, name="archive"),
    path("a/<str:assignment>/files/<path:name>", student.download_released_file, name="released-file"),
    path("a/<str:assignment>/feedback/", student.show_feedback, name="feedback"),
    path("a/<str:assignment>/requests/", regrade_requests.submit_request, name="ask"),
    path(
        "a/<str:assignment>/requests/<int:number>/withdraw",
        regrade_requests.cancel_request,
        name="withdraw-request",
    ),
    path("a/<str:assignment>/<int:number>/", student.show_attempt, name="attempt"),
    path("a/<str:assignment>/<int:number>/state", student.show_state, name="attempt-state"),
    path("a/<str:assignment>/<int:number>/receipt", student.download_receipt, name="receipt"),
    path("a/<str:assignment>/<int:number>/files/<path:name>", student.download_own_file, name="own-file"),
    path("staff/", staff.show_course, name="staff"),
    path("staff/progress", staff.show_progress, name="progress"),
    path("staff/upload", courses.upload_assignment, name="upload-assignment"),
    path("staff/drafts/<int:draft>/", courses.show_draft, name="draft"),
    path("staff/drafts/<int:draft>/progress", courses.show_draft_progress, name="draft-progress"),
    path("staff/drafts/<int:draft>/check", courses.check_draft, name="check-draft"),
    path("staff/drafts/<int:draft>/offer", courses.offer_draft, name="offer-draft"),
    path("staff/drafts/<int:draft>/discard", courses.discard_draft, name="discard-draft"),
    path("staff/members/", members.show_members, name="members"),
    path("staff/members/list", members.import_list, name="import-list"),
    path("staff/members/add", members.add_member, name="add-member"),
    path("staff/members/invitations.csv", members.invite_everybody, name="invite-everybody"),
    path("staff/members/<int:member>/", members.show_member, name="member"),
    path("staff/members/<int:member>/invitation", members.invite_member, name="invite"),
    path("staff/members/<int:member>/remove", members.remove_member, name="remove-member"),
    path("staff/members/<int:member>/restore", members.restore_member, name="restore-member"),
    path("staff/members/<int:member>/password", members.reset_password, name="new-password"),
    path("staff/members/<int:member>/factor", members.reset_second_factor, name="reset-factor"),
    path("staff/platforms/<int:connection>/list", lti.import_list, name="platform-list"),
    path("staff/platforms/<int:connection>/disconnect", lti.disconnect_course, name="disconnect"),
    path("staff/audit/", audit_log.show_audit_log, name="audit-log"),
    path("staff/audit/verify", audit_log.verify_audit_log, name="verify-audit-log"),
    path("staff/audit/log.csv", audit_log.export_audit_log, name="export-audit-log"),
    path("staff/notifications/", notifications.show_notifications, name="notifications"),
    path("staff/notifications/points", notifications.set_mail_marks, name="mail-marks"),
    path("staff/notifications/<int:webhook>/remove", notifications.remove_webhook, name="remove-webhook"),
    path("staff/a/<str:assignment>/", staff.show_assignment, name="staff-assignment"),
    path("staff/a/<str:assignment>/visible", staff.set_visible, name="set-visible"),
    path("staff/a/<str:assignment>/published", staff.set_published, name="set-published"),
    path("staff/a/<str:assignment>/submissions/", staff.show_submissions, name="submissions"),
    path("staff/a/<str:assignment>/settings/", assignment_settings.show_settings, name="settings"),
    path("staff/a/<str:assignment>/times", assignment_settings.set_times, name="set-times"),
    path("staff/a/<str:assignment>/extension", assignment_settings.set_extension, name="set-extension"),
    path("staff/a/<str:assignment>/update", staff.update_assignment, name="update"),
    path("staff/a/<str:assignment>/mark/sheet.csv", marking_sheets.show_sheet, name="mark-sheet"),
    path("staff/a/<str:assignment>/platforms/", platform_files.show_platform_files, name="platform-files"),
    path("staff/a/<str:assignment>/similar/", similarity.show_similar, name="similar"),
    path("staff/a/<str:assignment>/groups/", student_groups.show_student_groups, name="student-groups"),
    path("staff/a/<str:assignment>/send", lti.send_marks, name="send-marks"),
    path("staff/a/<str:assignment>/cap", lti.limit_marks, name="cap-marks"),
    path("staff/a/<str:assignment>/again", staff.grade_again, name="grade-again"),
    path("staff/a/<str:assignment>/of/<str:who>/", staff.show_feedback, name="staff-feedback"),
    path("staff/trials/<int:trial>/", version_trials.show_trial, name="trial"),
    path("staff/trials/<int:trial>/progress", version_trials.show_progress, name="trial-progress"),
    path("staff/trials/<int:trial>/apply", version_trials.apply_trial, name="trial-apply"),
    path("staff/trials/<int:trial>/drop", version_trials.drop_trial, name="trial-drop"),
    path("staff/trials/<int:trial>/again", version_trials.retry_trial, name="trial-again"),
    path("staff/a/<str:assignment>/requests/", regrade_requests.list_requests, name="requests"),
    path("staff/a/<str:assignment>/requests/until", regrade_requests.set_deadline, name="set-requests-until"),
    path("staff/requests/<int:number>/", regrade_requests.answer_request, name="request"),
    path("staff/a/<str:assignment>/bench/<uuid:identifier>", bench.show_bench, name="bench"),
    path("staff/a/<str:assignment>/bench/<uuid:identifier>/tries", bench.show_tries, name="bench-tries"),
    path("staff/attempts/<uuid:identifier>/retry", staff.retry_attempt, name="retry"),
    path("staff/attempts/<uuid:identifier>/choose", attempts.choose_attempt, name="choose-attempt"),
    path(
        "staff/attempts/<uuid:identifier>/files/<path:name>",
        attempts.download_attempt_file,
        name="attempt-file",
    ),
    path("staff/a/<str:assignment>/attempts/of/<str:who>/", attempts.show_attempts, name="attempts-of"),
    path("staff/a/<str:assignment>/attempts/of/<str:who>/rules", attempts.drop_choice, name="drop-choice"),
    path(
        "staff/a/<str:assignment>/attempts/of/<str:who>/upload",
        attempts.upload_attempt,
        name="upload-attempt",
    ),
    path(
        "staff/a/<str:assignment>/attempts/of/<str:who>/files.zip",
        attempts.download_attempts,
        name="attempts-archive",
    ),
    path("staff/a/<str:assignment>/attempts/counting.zip", attempts.download_class, name="class-archive"),
    path("staff/attempts/<uuid:identifier>/receipt", attempts.download_receipt, name="attempt-receipt"),
    path("staff/attempts/<uuid:identifier>/files.zip", attempts.download_attempt, name="attempt-archive"),
    path("staff/a/<str:assignment>/mark/", marking.show_queue, name="marking"),
    path("staff/a/<str:assignment>/mark/<int:place>/", marking.redirect_to_first, name="mark-first"),
    path("staff/a/<str:assignment>/mark/assign", marking.assign_answers, name="mark-assign"),
    path("staff/a/<str:assignment>/mark/undo", marking.undo_last_action, name="mark-undo"),
    path("staff/a/<str:assignment>/mark/names", marking.toggle_names, name="mark-names"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/", marking.mark_answer, name="mark-answer"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/here", marking.show_presence, name="mark-here"),
    path("staff/a/<str:assignment>/mark/consistency/", consistency.show_consistency, name="mark-consistency"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/", groups.show_groups, name="mark-groups"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/gather", groups.merge_groups, name="mark-gather"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/out", groups.take_out, name="mark-take-out"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/group", groups.show_group, name="mark-group"),
    path("staff/a/<str:assignment>/mark/<int:place>/plan", consistency.set_plan, name="mark-plan"),
    path("staff/a/<str:assignment>/statistics/", consistency.show_statistics, name="statistics"),
]
_NAMES = {"login", "logout", "inactive", "signup", "reauthenticate", "change_password"}
"""The account pages of allauth that are used: none that sends e-mail; signing up is closed."""
_ACCOUNTS = [page for page in account_pages if str(page.name).removeprefix("account_") in _NAMES]
_ELSEWHERE = [page for page in identity_pages if "login_" in str(page.name)]
"""Of its pages for signing in elsewhere those that say that it did not work."""

urlpatterns: list[URLPattern | URLResolver] = [
    path("", allow_anyone()(RedirectView.as_view(url=f"/{BASE}")), name="front"),
    path("healthz", operation.check_health, name="healthz"),
    path("metrics", operation.show_metrics, name="metrics"),
    path("receipt-key", operation.show_receipt_key, name="receipt-key"),
    path("frame/<str:token>", student.show_frame, name="frame"),
    path("frame/answer/<str:token>", marking.show_frame, name="answer-frame"),
    path("api/", API.urls),
    path(BASE, student.show_home, name="home"),
    path(f"{BASE}language", set_language, name="language"),
    path(f"{BASE}join/<str:token>/", account.open_invitation, name="join"),
    path(f"{BASE}lti/keys", lti.show_keys, name="lti-keys"),
    path(f"{BASE}lti/login", lti.start_login, name="lti-login"),
    path(f"{BASE}lti/launch", lti.handle_launch, name="lti-launch"),
    path(f"{BASE}lti/connect", lti.connect_course, name="lti-connect"),
    path(f"{BASE}lti/select", deep_linking.return_links, name="lti-select"),
    path(f"{BASE}lti/register/<str:token>", platform_registrations.register_platform, name="lti-register"),
    path(f"{BASE}platforms/", platform_registrations.show_platforms, name="platforms"),
    path(
        f"{BASE}platforms/<int:platform>/confirm",
        platform_registrations.confirm_platform,
        name="confirm-platform",
    ),
    path(
        f"{BASE}platforms/<int:platform>/remove",
        platform_registrations.remove_platform,
        name="remove-platform",
    ),
    path(f"{BASE}courses/create", courses.create_course, name="create-course"),
    path(f"{BASE}keys/", account.show_keys, name="keys"),
    path(f"{BASE}keys/mail", account.set_mail, name="set-mail"),
    path(f"{BASE}keys/<int:key>/remove", account.remove_key, name="remove-key"),
    path(f"{BASE}people/", people.show_people, name="people"),
    path(f"{BASE}people/keep/<slug:slug>", people.set_keep_days, name="keep-days"),
    path(f"{BASE}people/<str:kind>/<int:person>/", people.show_person, name="person"),
    path(f"{BASE}people/<str:kind>/<int:person>/data.zip", people.download_data, name="person-data"),
    path(f"{BASE}people/<str:kind>/<int:person>/erase", people.erase_person, name="erase-person"),
    path(f"{BASE}accounts/", include(_ACCOUNTS)),
    path(f"{BASE}accounts/2fa/", include("allauth.mfa.urls")),
    path(f"{BASE}accounts/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path(f"{BASE}accounts/", include("allauth.socialaccount.providers.jupyterhub.urls")),
    path(f"{BASE}accounts/", include(saml.PAGES)),
    path(f"{BASE}accounts/elsewhere/", include(_ELSEWHERE)),
    path(f"{BASE}c/<slug:slug>/", include(_COURSE)),
]
# Django looks these names up in the root URL configuration.
handler400, handler403, handler404, handler500 = (
    functools.partial(operation.render_error, status=status) for status in (400, 403, 404, 500)
)
