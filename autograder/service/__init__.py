"""The service behind the pages: submit, grade, store; a database shared by any number of machines.

PostgreSQL is the record here, and nbgrader's gradebook.db one of its projections.

==================  =====================================================================================
module              content
==================  =====================================================================================
`postgres`          the embedded database, started below the course folder (`child_process` starts it)
`setup`             Django's settings, in code, and the migrations
`models`            the tables; `models_results`: more of them, such as marks that were shown
`blobs`             bytes by their digest: notebooks, data, releases; in the database or an object store
`versions`          released assignments, imported from a folder and exported to one
`attempts`          submit, claim, store the result, release; the sweep that finds lost attempts
`members`           members: added, removed, restored, imported from a class list
`offers`            whether students see an assignment and their marks; `openings`: working times that began
`drafts`            uploaded assignments that are checked before they can be offered
`git_repositories`  assignments that are fetched from a repository for a draft
`assignment_cache`  assignments from the database, written to disk and loaded once for each version
`tasks`, `worker`   the queues (Procrastinate) and the process that works on them
`platforms`         learning platforms: class lists from them, marks to them; `registrations`: new ones
`outgoing`          HTTPS requests to addresses that users state, which must not lead into this network
`receipts`          signed receipts for submissions
`program_keys`      keys of programs, with scopes
`protection`        access log, export and erasure of a person's data, retention periods
`notices`           events, and their delivery by e-mail and webhooks
`store`             the database as a store (`autograder.grading.store`)
`audit`             the log of actions, as a hash chain
`course_transfer`   importing a course from a folder and exporting it to one
==================  =====================================================================================

Each submission has a row in `models.Attempt` before its receipt is made. That row is the truth: if a job of
the queue is lost, the next sweep finds the row.
"""
