"""The web pages of the service, and its API for programs.

Server-rendered Django pages. HTMX refreshes parts of some pages, but every page works without it.

==================  =====================================================================================
module              contents
==================  =====================================================================================
`site`              settings of the pages, and the WSGI application
`urls`              every route, with the least role that it requires
`guard`             a visitor's role in a course, and what they may see
`logs`              logging of the service
`security`          security headers, request numbers, and the access log
`responses`         templates, downloads, and feedback in a frame
`student`, `staff`  pages for students and for course staff; `assignment_settings`: dates and extensions
`regrade_requests`  regrade requests of students, and their answers
`account`           the first administrator, invitations, program keys
`attempts`          attempts of one student: download, upload, choose the one that counts
`members`           members of a course; `audit_log`: the log of actions
`courses`           new courses, and uploaded assignments
`tables`            tables that the server searches, sorts and splits into pages
`version_trials`    trial grading with a new version, then apply or drop it
`rest`              REST API for programs, described by OpenAPI
`people`            data protection: export and erase a person, retention periods
`notifications`     webhooks of a course, and its e-mails
`operation`         health check and metrics; `request_metrics` counts requests
`server`            the processes: database, pages, worker; `demo_accounts`: to try it out
`processes`         web processes that share sockets; `extra_process`: all but the first one
`maintenance`       backups, and the export of a course
`exchange`          nbgrader's exchange on top of the service, for JupyterLab
`identity`          identity providers; `adapters`: the account that a sign-in leads to
`lti`               learning platforms: launches, class lists, connections to courses; `deep_linking`: links
                    that instructors choose; `platform_registrations`: new platforms
`api_client`        uploads files from a terminal
`sentences`         sentences of the pages; `member_sentences` and others: those of one area
==================  =====================================================================================
"""
