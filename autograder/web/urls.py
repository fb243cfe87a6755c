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
    door,
    lti,
    operation,
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
from autograder.web.site import BASE

_COURSE: list[URLPattern | URLResolver] = [
    path("", student.course, name="course"),
    path("a/<str:assignment>/", student.assignment, name="assignment"),
    path("a/<str:assignment>/files.zip", student.archive, name="archive"),
    path("a/<str:assignment>/files/<path:name>", student.released_file, name="released-file"),
    path("a/<str:assignment>/feedback/", requests.feedback, name="feedback"),
    path("a/<str:assignment>/requests/", requests.ask, name="ask"),
    path("a/<str:assignment>/requests/<int:number>/withdraw", requests.withdraw, name="withdraw-request"),
    path("a/<str:assignment>/<int:number>/", student.attempt, name="attempt"),
    path("a/<str:assignment>/<int:number>/state", student.state, name="attempt-state"),
    path("a/<str:assignment>/<int:number>/receipt", student.receipt, name="receipt"),
    path("a/<str:assignment>/<int:number>/files/<path:name>", student.own_file, name="own-file"),
    path("staff/", staff.course, name="staff"),
    path("staff/progress", staff.progress, name="progress"),
    path("staff/members/", staff.members, name="members"),
    path("staff/members/list", staff.import_list, name="import-list"),
    path("staff/members/staff", staff.add_staff, name="add-staff"),
    path("staff/members/<int:member>/invitation", staff.invite, name="invite"),
    path("staff/members/<int:member>/password", staff.new_password, name="new-password"),
    path("staff/platforms/<int:connection>/list", lti.take_list, name="platform-list"),
    path("staff/platforms/<int:connection>/disconnect", lti.disconnect, name="disconnect"),
    path("staff/audit/", staff.audit_log, name="audit-log"),
    path("staff/a/<str:assignment>/", staff.assignment, name="staff-assignment"),
    path("staff/a/<str:assignment>/visible", staff.set_visible, name="set-visible"),
    path("staff/a/<str:assignment>/published", staff.set_published, name="set-published"),
    path("staff/a/<str:assignment>/times", staff.set_times, name="set-times"),
    path("staff/a/<str:assignment>/extension", staff.set_extension, name="set-extension"),
    path("staff/a/<str:assignment>/update", staff.update, name="update"),
    path("staff/a/<str:assignment>/mark/sheet.csv", sheets.sheet, name="mark-sheet"),
    path("staff/a/<str:assignment>/platforms/", platform_files.platform_files, name="platform-files"),
    path("staff/a/<str:assignment>/similar/", similar.similar, name="similar"),
    path("staff/a/<str:assignment>/groups/", teams.student_groups, name="student-groups"),
    path("staff/a/<str:assignment>/send", lti.send_marks, name="send-marks"),
    path("staff/a/<str:assignment>/cap", lti.cap_marks, name="cap-marks"),
    path("staff/a/<str:assignment>/again", staff.grade_again, name="grade-again"),
    path("staff/a/<str:assignment>/of/<str:who>/", staff.feedback, name="staff-feedback"),
    path("staff/trials/<int:trial>/", version_trials.show, name="trial"),
    path("staff/trials/<int:trial>/progress", version_trials.progress, name="trial-progress"),
    path("staff/trials/<int:trial>/apply", version_trials.apply, name="trial-apply"),
    path("staff/trials/<int:trial>/drop", version_trials.drop, name="trial-drop"),
    path("staff/trials/<int:trial>/again", version_trials.again, name="trial-again"),
    path("staff/a/<str:assignment>/requests/", requests.listed, name="requests"),
    path("staff/a/<str:assignment>/requests/until", requests.set_until, name="set-requests-until"),
    path("staff/requests/<int:number>/", requests.answer, name="request"),
    path("staff/a/<str:assignment>/bench/<uuid:identifier>", bench.bench, name="bench"),
    path("staff/a/<str:assignment>/bench/<uuid:identifier>/tries", bench.tries, name="bench-tries"),
    path("staff/attempts/<uuid:identifier>/retry", staff.retry, name="retry"),
    path("staff/attempts/<uuid:identifier>/choose", attempts.choose_attempt, name="choose-attempt"),
    path("staff/attempts/<uuid:identifier>/files/<path:name>", attempts.attempt_file, name="attempt-file"),
    path("staff/a/<str:assignment>/attempts/of/<str:who>/", attempts.attempts_of, name="attempts-of"),
    path("staff/a/<str:assignment>/attempts/of/<str:who>/rules", attempts.drop_choice, name="drop-choice"),
    path("staff/a/<str:assignment>/mark/", marking.overview, name="marking"),
    path("staff/a/<str:assignment>/mark/<int:place>/", marking.first, name="mark-first"),
    path("staff/a/<str:assignment>/mark/undo", marking.undo, name="mark-undo"),
    path("staff/a/<str:assignment>/mark/names", marking.names, name="mark-names"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/", marking.answer, name="mark-answer"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/here", marking.here, name="mark-here"),
    path("staff/a/<str:assignment>/mark/consistency/", consistency.overview, name="mark-consistency"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/", groups.overview, name="mark-groups"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/gather", groups.gather, name="mark-gather"),
    path("staff/a/<str:assignment>/mark/<int:place>/groups/out", groups.take_out, name="mark-take-out"),
    path("staff/a/<str:assignment>/mark/answers/<int:answer>/group", groups.group, name="mark-group"),
    path("staff/a/<str:assignment>/mark/<int:place>/plan", consistency.set_plan, name="mark-plan"),
    path("staff/a/<str:assignment>/statistics/", consistency.statistics, name="statistics"),
]
_NAMES = {"login", "logout", "inactive", "signup", "reauthenticate", "change_password"}
"""The account pages of allauth that are used: none that sends e-mail; signing up is closed."""
_ACCOUNTS = [one for one in account_pages if str(one.name).removeprefix("account_") in _NAMES]
_ELSEWHERE = [one for one in identity_pages if "login_" in str(one.name)]
"""Of its pages for signing in elsewhere those that say that it did not work."""

urlpatterns: list[URLPattern | URLResolver] = [
    path("", operation.front, name="front"),
    path("healthz", operation.healthz, name="healthz"),
    path("metrics", operation.metrics, name="metrics"),
    path("receipt-key", operation.receipt_key, name="receipt-key"),
    path("frame/<str:token>", student.frame, name="frame"),
    path("frame/answer/<str:token>", marking.frame, name="answer-frame"),
    path("api/hand-in/<slug:slug>/<str:assignment>", door.hand_in, name="door"),
    path("api/courses", door.courses, name="door-courses"),
    path("api/courses/<slug:slug>/<str:assignment>/files.zip", door.files, name="door-files"),
    path("api/courses/<slug:slug>/<str:assignment>/feedback", door.feedback, name="door-feedback"),
    path(BASE, student.home, name="home"),
    path(f"{BASE}language", set_language, name="language"),
    path(f"{BASE}join/<str:token>/", account.join, name="join"),
    path(f"{BASE}lti/keys", lti.keys, name="lti-keys"),
    path(f"{BASE}lti/login", lti.login, name="lti-login"),
    path(f"{BASE}lti/launch", lti.launch, name="lti-launch"),
    path(f"{BASE}lti/connect", lti.connect, name="lti-connect"),
    path(f"{BASE}keys/", account.keys, name="keys"),
    path(f"{BASE}keys/<int:key>/remove", account.remove_key, name="remove-key"),
    path(f"{BASE}accounts/", include(_ACCOUNTS)),
    path(f"{BASE}accounts/2fa/", include("allauth.mfa.urls")),
    path(f"{BASE}accounts/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path(f"{BASE}accounts/", include("allauth.socialaccount.providers.jupyterhub.urls")),
    path(f"{BASE}accounts/elsewhere/", include(_ELSEWHERE)),
    path(f"{BASE}c/<slug:slug>/", include(_COURSE)),
]
# Django looks these names up in the root URL configuration.
handler400 = operation.bad_request
handler403 = operation.forbidden
handler404 = operation.not_found
handler500 = operation.failed
