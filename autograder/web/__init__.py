"""The pages of the service, and the door for programs that hand in.

Django, server-rendered; HTMX where a part of a page is brought up to date, and every page works without it.

==================  =====================================================================================
module              holds
==================  =====================================================================================
`site`              settings of the pages, and the application that a server runs
`urls`              every route, with the least role that it asks for
`guard`             who somebody is in a course, and what they may see of it
`logs`              what the service says of itself
`security`          headers, the number of each request, and one line about it
`student`, `staff`  pages of students, and of those who run a course
`requests`          regrade requests of students, and their answers
`account`           the first administrator, invitations, keys for programs
`version_trials`    a new version tried on the class, applied or dropped
`door`              uploads by programs
`operation`         whether it is well, and its figures
`server`            the processes: database, pages, worker; `trial`: accounts to try it
`pages`, `beside`   a process that answers requests; a further one, at the same sockets
`maintenance`       backups, and a course out of the service again
`exchange`          nbgrader's exchange over the service, for JupyterLab
`identity`          through whom people can sign in; `adapters`: whose account they get then
`lti`               learning platforms: launches, class lists, which course is which
`sending`           hands files in from a terminal
`words`             every sentence on a page; `requests_words`: of requests
==================  =====================================================================================
"""
