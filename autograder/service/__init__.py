"""The service behind the pages: hand in, grade, keep; a database that any number of machines share.

PostgreSQL is the record here, and nbgrader's gradebook.db one of its projections.

==================  =====================================================================================
module              holds
==================  =====================================================================================
`postgres`          the database that comes along, started below the course folder (`launch` starts it)
`setup`             Django's settings, in code, and the migrations
`models`            the tables
`blobs`             bytes by their digest: notebooks, data, releases; in the database or an object store
`versions`          assignments as they were released, out of a folder and into one again
`attempts`          hand in, claim, keep the result, give back; the sweep that loses nothing
`loaded`            assignments out of the database, laid out and loaded once for each version
`tasks`, `worker`   the queues (Procrastinate) and who empties them
`platforms`         learning platforms: class lists from them, marks to them
`receipts`          what a student gets for handing in, signed
`store`             the database as a store (`autograder.store`)
`audit`             who did what, chained
`moving`            a course out of a folder, and into one again
==================  =====================================================================================

Whoever hands in has a row in `models.Attempt` before a receipt is made. That row is the truth: a job of the
queue may get lost, the row is found by the next sweep.
"""
