"""Marking sheets on the pages: downloaded, uploaded, and saved as a whole with a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.app.marking_sheet_rows import COLUMNS
from autograder.grading.grades import PersonMark
from tests.web.people import Small
from tests.web.test_staff import entries, graded
from tests.web.test_student import text

Rows = list[dict[str, str]]


def place(at: Small) -> str:
    """Return the address of the sheet."""
    return f"{at.base}staff/a/{at.offer.assignment}/mark/sheet.csv"


def downloaded(at: Small, client: Any, query: str = "") -> Rows:
    """Download the sheet and return its rows."""
    answer = client.get(place(at) + query)
    assert 200 == answer.status_code
    assert 'attachment; filename="small-marks.csv"' == answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))


def sent(at: Small, client: Any, rows: Rows, name: str = "marks.csv", **form: str) -> str:
    """Upload a sheet separated by semicolons and return the page."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=";")
    writer.writerow(COLUMNS)
    writer.writerows([row[column] for column in COLUMNS] for row in rows)
    file = SimpleUploadedFile(name, written.getvalue().encode("utf-8-sig"))
    return text(client.post(place(at), {"sheet": file, **form}))


def marks(at: Small) -> dict[str, dict[tuple[str, str], PersonMark]]:
    """Return the manual marks."""
    from autograder.service.store import DatabaseStore

    return DatabaseStore(at.record).load_marks(at.offer.assignment)


@pytest.fixture
def client(at: Small) -> Any:
    """Return a TA's browser; ada and bob submitted, and all their answers need manual review."""
    for student in ("ada", "bob"):
        graded(at, student)
    return at.client("ta")


def fill(rows: Rows, cell: str, *points: str) -> None:
    """Fill in points for all answers of a cell, item by item."""
    items = list(dict.fromkeys(row["item"] for row in rows if row["cell"] == cell))
    for row in rows:
        if row["cell"] == cell:
            row["points"] = points[items.index(row["item"])]


def test_a_sheet_is_downloaded_filled_in_and_entered(at: Small, client: Any) -> None:
    """Marks of items are saved with marker and log entry; names are included on request."""
    from autograder.service.models import CellMark

    assert "Offline marking" in text(client.get(f"{at.base}staff/a/small/mark/"))
    rows = downloaded(at, client)
    assert not {"ada", "bob"} & {row["who"] for row in rows}
    assert {"ada", "bob"} == {row["who"] for row in downloaded(at, client, "?names=on")}
    assert {"thoughts"} == {row["cell"] for row in downloaded(at, client, "?cell=thoughts")}
    fill(rows, "softmax", "2", "0,5", "-0.25")
    fill(rows, "thoughts", "1")
    content = sent(at, client, rows)
    assert "The marks of 4 answers were saved." in content
    items = {"rows": Decimal(2), "batch": Decimal("0.5"), "overflow": Decimal("-0.25")}
    for student_marks in marks(at).values():
        assert PersonMark(Decimal("2.25"), items=items) == student_marks["code", "softmax"]
        assert PersonMark(Decimal(1), items={"any": Decimal(1)}) == student_marks["code", "thoughts"]
    stored = CellMark.objects.filter(place__course=at.record, points__isnull=False)
    assert {at.account("ta")} == {row.marked_by for row in stored}
    assert all(row.marked_at for row in stored)
    assert {"points": "0.5", "of": "1"} == stored.filter(place__cell="softmax")[0].items["batch"]
    assert [("mark sheet", None)] == [(action, before) for action, before, _ in entries(at)]
    assert "marking sheet uploaded" in text(at.client("instructor").get(f"{at.base}staff/audit/"))
    assert "The sheet changes nothing." in sent(at, client, rows)


def test_only_what_waits(at: Small, client: Any) -> None:
    """Marked answers can be excluded; otherwise the points of their items are filled in."""
    rows = downloaded(at, client)
    fill(rows, "thoughts", "0.5")
    sent(at, client, rows)
    assert "thoughts" not in {row["cell"] for row in downloaded(at, client, "?waiting=on")}
    assert {"0.5"} == {row["points"] for row in downloaded(at, client) if row["cell"] == "thoughts"}


def test_a_trial_enters_nothing(at: Small, client: Any) -> None:
    """A dry run reports the changes and saves nothing."""
    rows = downloaded(at, client)
    fill(rows, "thoughts", "1")
    content = sent(at, client, rows, **{"try": "on"})
    assert "The marks of 2 answers would change. Nothing was saved." in content
    assert "/mark/sheet.csv" not in content.partition('name="next"')[2].partition(">")[0], (
        "it would be downloaded"
    )
    assert ({}, []) == (marks(at), entries(at))


def test_a_mark_that_was_given_meanwhile_is_not_written_over(at: Small, client: Any) -> None:
    """Changed answers are reported, and the others saved."""
    from autograder.service.store import DatabaseStore

    rows = downloaded(at, client, "?names=on")
    fill(rows, "thoughts", "1")
    DatabaseStore(at.record).give_mark("small", "ada", ("code", "thoughts"), PersonMark(Decimal("0.25")))
    content = sent(at, client, rows)
    assert "The marks of 1 answer were saved." in content
    assert "Not saved:" in content
    assert "(ada): the answer or its mark has changed since the sheet was written" in content
    assert [Decimal("0.25"), Decimal(1)] == [
        marks(at)[who]["code", "thoughts"].points for who in ("ada", "bob")
    ]


def test_what_is_wrong_in_a_sheet_enters_nothing_of_it(at: Small, client: Any) -> None:
    """Points out of range, wrong sheets and wrong files are rejected as a whole."""
    from autograder.service.models import CourseRecord

    rows = downloaded(at, client)
    fill(rows, "thoughts", "1")
    fill(rows, "mlp-why", "9")
    assert "expected 0 to 1, got 9" in sent(at, client, rows)
    fill(rows, "mlp-why", "1")
    assert "is of &#39;&lt;b&gt;&#39;" in sent(at, client, [{**rows[0], "assignment": "<b>"}, *rows[1:]])
    assert "Choose a .csv file." in sent(at, client, rows, "marks.xlsx")
    file = SimpleUploadedFile("marks.csv", b"\xff\xd8")
    assert "not UTF-8" in text(client.post(place(at), {"sheet": file}))
    assert "Choose a file first." in text(client.post(place(at)))
    CourseRecord.objects.filter(pk=at.record.pk).update(secret=bytes(32))
    at.offer.version.course.refresh_from_db()
    from django.conf import settings

    settings.RUNNING.loaded.close()
    assert "not a row that was exported for" in sent(at, client, rows)
    assert ({}, []) == (marks(at), entries(at))


def test_a_group_that_the_store_refuses_is_entered_not_at_all(
    at: Small, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one mark of a group fails, none is saved, and the error is reported."""
    from autograder.app import marking_sheets
    from autograder.core.errors import GradebookError
    from autograder.service.store import DatabaseStore
    from autograder.web import assignment_details

    store = DatabaseStore(at.record)
    subject = marking_sheets.SheetSubject(
        assignment_details.get_assignment(at.offer), store, store.load_results("small")
    )
    new_marks = tuple((who, ("code", "thoughts"), PersonMark(Decimal(1))) for who in ("ada", "bob"))
    change = marking_sheets.SheetChange(
        "row 2", "g1", "thoughts", (None,), Decimal(1), False, False, new_marks
    )
    real: Callable[..., None] = DatabaseStore.give_mark

    def give(self: DatabaseStore, assignment: str, student: str, *arguments: Any) -> None:
        real(self, assignment, student, *arguments)
        if student == "bob":
            raise GradebookError("refused")

    monkeypatch.setattr(DatabaseStore, "give_mark", give)
    from django.db import transaction

    done = marking_sheets.enter_sheet(
        subject, marking_sheets.SheetPlan("small", changes=(change,)), transaction.atomic
    )
    assert ((), ("row 2 (g1): refused",)) == (done.entered, done.refused)
    assert {} == marks(at)


def test_two_people_send_the_same_sheet_at_once(at: Small, client: Any) -> None:
    """The first of two concurrent uploads is saved, and the second one's differing marks are reported."""
    from django.db import connection

    first, second = downloaded(at, client), downloaded(at, client)
    fill(first, "thoughts", "1")
    fill(second, "thoughts", "0.5")
    clients = (client, at.client("head-ta"))

    def send(number: int) -> str:
        try:
            return sent(at, clients[number], (first, second)[number])
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        contents = list(threads.map(send, range(2)))
    assert [1, 1] == [sum(words in content for content in contents) for words in ("were saved", "Not saved:")]
    assert 1 == len({student_marks["code", "thoughts"].points for student_marks in marks(at).values()})


def test_students_see_no_sheet(at: Small, client: Any) -> None:
    """Students and staff of other courses cannot access the sheet."""
    for role, status in {"student": 403, "stranger": 404, "nobody": 302}.items():
        other = at.client(role, "carl" if role == "student" else "")
        assert status == other.get(place(at)).status_code == other.post(place(at)).status_code
