"""Create or upgrade a database of an earlier release: ``python -m tests.service.earlier create|upgrade``.

The environment contains the database's URL. ``upgrade`` migrates as the service does when it starts, signs
in, reads a page, and prints facts as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from autograder.service import setup
from autograder.web import site
from tests.service.course import SIGNER

if TYPE_CHECKING:
    from django.apps.registry import Apps

EARLIER = "0011_simplify_marking"
"""The latest migration of the previous release."""
AT = datetime(2026, 6, 1, 10, 30, 0, 123456, UTC)
PASSWORD = "a long enough passphrase"


def main(step: str) -> None:
    """Create the earlier tables with a course, or upgrade them and print the facts."""
    running = site.ServiceContext(SIGNER, site.AssignmentCache())
    url = os.environ[setup.DATABASE_URL]
    setup.configure_django(
        site.build_settings(url, secret_key="of the tests", addresses=("http://testserver",), running=running)
    )
    if step == "create":
        create_tables()
    else:
        setup.migrate_tables()
        print(json.dumps(collect_facts()))
    setup.close_connections()


def collect_facts() -> dict[str, Any]:
    """Return facts about the upgraded course as the service shows them."""
    from django.test import Client

    from autograder.service import audit
    from autograder.service.models import Attempt, Member, ProgramKey

    client = Client()
    signed_in = client.post("/app/accounts/login/", {"login": "ada", "password": PASSWORD})
    return {
        "signed_in": signed_in.status_code,
        "page": client.get("/app/c/dl/a/exam/1/receipt").content.decode(),
        "broken_entry": audit.find_broken_entry(),
        "members": sorted(Member.objects.values_list("role", "student")),
        "scopes": list(ProgramKey.objects.values_list("scopes", flat=True)),
        "receipts": list(Attempt.objects.order_by("number").values_list("receipt", flat=True)),
    }


def create_tables() -> None:
    """Create the tables of the earlier release with a course."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    other_leaves = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "service"]
    executor.migrate([*other_leaves, ("service", EARLIER)])
    fill_tables(executor.loader.project_state([("service", EARLIER)]).apps)


def fill_tables(apps: Apps) -> None:
    """Create a course with members, attempts, results, marks, requests and a log."""
    from django.contrib.auth.hashers import make_password

    def make(name: str, /, **fields: Any) -> Any:
        return apps.get_model("service", name).objects.create(**fields)

    ada = make(
        "Account", username="ada", password=make_password(PASSWORD), first_name="Ada", last_name="Löwe"
    )
    tom = make("Account", username="tom", password="!", email="tom@example.org", is_superuser=True)
    course = make("CourseRecord", slug="dl", title="Deep Learning", secret=bytes(range(32)))
    make("ProgramKey", account=ada, digest="d" * 64, label="laptop", used_at=AT)
    student = make("Member", course=course, account=ada, role="student", student="ada", last_name="Löwe")
    make("Member", course=course, role="student", student="ben")
    make("Member", course=course, account=tom, role="ta")
    make("Invitation", digest="e" * 64, member=student, expires_at=AT + timedelta(days=14))
    blob = make("Blob", digest="a" * 64, size=2, data=b"{}")
    make("CourseFile", course=course, path="bonus.csv", blob=blob)
    version = make("Version", course=course, assignment="exam", number=1, digest="b" * 64, rubric_version=1)
    newer = make("Version", course=course, assignment="exam", number=2, digest="c" * 64, rubric_version=2)
    make("VersionFile", version=version, path="rubrics/exam.toml", blob=blob)
    times = {"end": "2026-06-01T12:00+02:00", "extensions": {"ben": "2026-06-02T12:00+02:00"}}
    offer = make(
        "Offer",
        course=course,
        assignment="exam",
        version=version,
        title="Exam",
        visible=True,
        published_at=AT,
        times=times,
        bonus={"ada": "0.50"},
        requests_until=AT,
    )
    run = make(
        "StoredRun",
        course=course,
        assignment="exam",
        rubric_version=1,
        rubric="r" * 64,
        environment="e" * 64,
        isolation="namespaces",
    )
    key = {"course": course, "assignment": "exam", "student": "ada"}
    digests = {"rubric_version": 1, "rubric": "r" * 64, "environment": "e" * 64}
    result = make(
        "StoredResult", **key, **digests, submission="s" * 64, run=run, recorded_at=AT, graded=b"\x00\xff"
    )
    make("CurrentResult", **key, result=result)
    attempts = [
        make_attempt(make, offer, number, by=ada, state=state, result=graded)
        for number, (state, graded) in enumerate((("graded", result), ("waiting", None)), start=1)
    ]
    for attempt in attempts:
        make("AttemptFile", attempt=attempt, name="exam.ipynb", blob=blob, fault="")
    make("ChosenAttempt", attempt=attempts[0], at=AT, reason="the network failed", by=tom)
    fill_marks(make, course, offer, ada, tom)
    trial = make("VersionTrial", offer=offer, version=newer, base=version, by=tom)
    make("TrialResult", trial=trial, attempt=attempts[0], result=result, graded_at=AT)
    for number in range(3):
        make_entry(apps, course, number)


def make_attempt(make: Any, offer: Any, number: int, **fields: Any) -> Any:
    """Create an attempt with a signed receipt."""
    receipt = SIGNER.sign({"student": "ada", "attempt": number, "files": {"exam.ipynb": "a" * 64}})
    identifier = uuid.UUID(int=number)
    attempt = {"student": "ada", "digest": "s" * 64, "submitted_at": AT, "receipt": receipt}
    return make(
        "Attempt", pk=identifier, offer=offer, version=offer.version, number=number, **attempt, **fields
    )


def fill_marks(make: Any, course: Any, offer: Any, student: Any, marker: Any) -> None:
    """Create manual marks, regrade requests, and the marks shown to the student."""
    place = make("CellPlace", course=course, assignment="exam", notebook="exam", cell="why")
    mark = make(
        "CellMark",
        place=place,
        student="ada",
        automatic="1.5",
        points="2.50",
        comment="Gut – weiter so",
        items={"why": {"points": "2.50", "worth": "3"}},
        remarks={"why": "ok"},
        revision=3,
        answered=True,
        marked_by=marker,
        marked_at=AT,
    )
    make("IndependentMark", mark=mark, account=marker, items={"why": {"points": "2", "worth": "3"}})
    make("MarkingPlan", place=place, twice_percent=20)
    about = {"course": course, "assignment": "exam"}
    make("MarkingAction", **about, account=marker, action="mark", changes=[[mark.pk, {}, {"points": "2.50"}]])
    make("Looking", mark=mark, account=marker, at=AT)
    make("ReusableComment", **about, cell="why", text="See lecture 3.", used=7, by=marker)
    request = {"offer": offer, "student": "ada", "question": "why", "item": "why"}
    make("RegradeRequest", **request, reason="I named both.", points="2", answer="Yes.", answered_at=AT)
    make("RegradeRequest", **request, reason="And the third?", points="2.50")
    make("ShownMarks", offer=offer, student="ada", shown={"points": "2.50", "final": True})
    make("StatedReason", offer=offer, text="Question 2 was ambiguous.", by=marker)
    make("BonusChange", offer=offer, student=student.username)
    make("Comparison", offer=offer, asked_at=AT, made_at=AT, pairs={"pairs": []})


def make_entry(apps: Apps, course: Any, number: int) -> None:
    """Append an entry to the hash chain of the log."""
    from autograder.service import audit

    model = apps.get_model("service", "AuditEntry")
    last = model.objects.order_by("-pk").first()
    entry = model(
        course=course,
        at=AT + timedelta(minutes=number),
        who="tom",
        action="published",
        subject="exam",
        before={"wanted": False, "number": number},
        after=None if number else {"ä": [1, None]},
        previous=last.digest if last else audit._BEGIN,
    )
    entry.digest = audit._compute_digest(entry)
    entry.save()


if __name__ == "__main__":
    main(sys.argv[1])
