"""All routes of the service. The decorator of each view states the required role (`autograder.web.guard`)."""

from __future__ import annotations

from allauth.account.urls import urlpatterns as account_pages
from allauth.socialaccount.urls import urlpatterns as identity_pages
from django.urls import URLPattern, URLResolver, include, path
from django.views.i18n import set_language

from autograder.web import (
    account,
    attempts,
    bench,
    lti,
    notifications,
    operation,
    people,
    platform_files,
    requests,
    sheets,
    similar,
    staff,
    student,
    teams,
    version_trials,
)
from autograder.web.marking import consistency, groups
from autograder.web.marking import pages as marking
from autograder.web.rest.api import API
from autograder.web.site import BASE

_COURSE: list[URLPattern | URLResolver] = [
    path("", student.show_course, name="course"),
    path("a/<str:assignment>/", student.show_assignment, name="assignment"),
    path("a/<str:assignment>/files.zip", student.download_archive, name="archive"),
    path("a/<str:assignment>/files/<path:name>", student.download_released_file, name="released-file"),
    path("a/<str:assignment>/feedback/", requests.show_feedback, name="feedback"),
    path("a/<str:assignment>/requests/", requests.submit_request, name="ask"),
    path(
        "a/<str:assignment>/requests/<int:number>/withdraw", requests.cancel_request, name="withdraw-request"
    ),
    path("a/<str:assignment>/<int:number>/", student.show_attempt, name="attempt"),
    path("a/<str:assignment>/<int:number>/state", student.show_state, name="attempt-state"),
    path("a/<str:assignment>/<int:number>/receipt", student.download_receipt, name="receipt"),
    path("a/<str:assignment>/<int:number>/files/<path:name>", student.download_own_file, name="own-file"),
    path("staff/", staff.show_course, name="staff"),
    path("staff/progress", staff.show_progress, name="progress"),
    path("staff/members/", staff.show_members, name="members"),
    path("staff/members/list", staff.import_list, name="import-list"),
    path("staff/members/staff", staff.add_staff, name="add-staff"),
    path("staff/members/<int:member>/invitation", staff.invite_member, name="invite"),
    path("staff/members/<int:member>/password", staff.reset_password, name="new-password"),
    path("staff/platforms/<int:connection>/list", lti.import_list, name="platform-list"),
    path("staff/platforms/<int:connection>/disconnect", lti.disconnect_course, name="disconnect"),
    path("staff/audit/", staff.show_audit_log, name="audit-log"),
    path("staff/notifications/", notifications.show_notifications, name="notifications"),
    path("staff/notifications/points", notifications.set_mail_marks, name="mail-marks"),
    path("staff/notifications/<int:webhook>/remove", notifications.remove_webhook, name="remove-webhook"),
    path("staff/a/<str:assignment>/", staff.show_assignment, name="staff-assignment"),
    path("staff/a/<str:assignment>/visible", staff.set_visible, name="set-visible"),
    path("staff/a/<str:assignment>/published", staff.set_published, name="set-published"),
    path("staff/a/<str:assignment>/times", staff.set_times, name="set-times"),
    path("staff/a/<str:assignment>/extension", staff.set_extension, name="set-extension"),
    path("staff/a/<str:assignment>/update", staff.update_assignment, name="update"),
    path("staff/a/<str:assignment>/mark/sheet.csv", sheets.show_sheet, name="mark-sheet"),
    path("staff/a/<str:assignment>/platforms/", platform_files.show_platform_files, name="platform-files"),
    path("staff/a/<str:assignment>/similar/", similar.show_similar, name="similar"),
    path("staff/a/<str:assignment>/groups/", teams.show_student_groups, name="student-groups"),
    path("staff/a/<str:assignment>/send", lti.send_marks, name="send-marks"),
    path("staff/a/<str:assignment>/cap", lti.limit_marks, name="cap-marks"),
    path("staff/a/<str:assignment>/again", staff.grade_again, name="grade-again"),
    path("staff/a/<str:assignment>/of/<str:who>/", staff.show_feedback, name="staff-feedback"),
    path("staff/trials/<int:trial>/", version_trials.show_trial, name="trial"),
    path("staff/trials/<int:trial>/progress", version_trials.show_progress, name="trial-progress"),
    path("staff/trials/<int:trial>/apply", version_trials.apply_trial, name="trial-apply"),
    path("staff/trials/<int:trial>/drop", version_trials.drop_trial, name="trial-drop"),
    path("staff/trials/<int:trial>/again", version_trials.retry_trial, name="trial-again"),
    path("staff/a/<str:assignment>/requests/", requests.list_requests, name="requests"),
    path("staff/a/<str:assignment>/requests/until", requests.set_deadline, name="set-requests-until"),
    path("staff/requests/<int:number>/", requests.answer_request, name="request"),
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
    path("staff/a/<str:assignment>/mark/", marking.show_queue, name="marking"),
    path("staff/a/<str:assignment>/mark/<int:place>/", marking.redirect_to_first, name="mark-first"),
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
_ACCOUNTS = [one for one in account_pages if str(one.name).removeprefix("account_") in _NAMES]
_ELSEWHERE = [one for one in identity_pages if "login_" in str(one.name)]
"""Of its pages for signing in elsewhere those that say that it did not work."""

urlpatterns: list[URLPattern | URLResolver] = [
    path("", operation.redirect_to_pages, name="front"),
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
    path(f"{BASE}accounts/elsewhere/", include(_ELSEWHERE)),
    path(f"{BASE}c/<slug:slug>/", include(_COURSE)),
]
# Django looks these names up in the root URL configuration.
handler400 = operation.render_bad_request
handler403 = operation.render_forbidden
handler404 = operation.render_not_found
handler500 = operation.render_failure
