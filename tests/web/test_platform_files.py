"""Files of learning platforms: importing archives of submissions, and exporting grades."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.service import course
from tests.support.downloads import archive
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

LIST = "First name,Last name,ID number,Email address\nAda,Lovelace,ada,ada@x.org\nBob,=Bobson,bob,bob@x.org\n"
WORKSHEET = (
    "Identifier,Full name,Grade,Maximum grade,Last modified (submission)\n"
    'Participant 7,Ada Lovelace,,13.00,"Thursday, 12 February 2026, 10:20 AM"\n'
    "Participant 8,Bob =Bobson,,13.00,-\n"
)


@pytest.fixture
def client(at: Small) -> Any:
    """Return an instructor's browser in a course with a class list imported from Moodle."""
    client = at.client("instructor")
    sent = SimpleUploadedFile("list.csv", LIST.encode())
    answer = client.post(f"{at.base}staff/members/list", {"list": sent}, follow=True)
    assert "bob" in text(answer)
    return client


def place(at: Small) -> str:
    """Return the address of the page."""
    return f"{at.base}staff/a/{at.offer.assignment}/platforms/"


def moodle(at: Small) -> bytes:
    """Return Moodle's archive: ada with both notebooks, bob with a renamed one, and an unknown student."""
    files: dict[str, str | bytes] = {
        f"Ada Lovelace_7_assignsubmission_file_/{name}": data
        for name, data in course.released(at.folder).items()
    }
    files |= {
        "Bob =Bobson_8_assignsubmission_file_/code (1).ipynb": "{}",
        "Bob =Bobson_8_assignsubmission_file_/more/notes.txt": "notes",
        "Ida Nobody_9_assignsubmission_file_/code.ipynb": "{}",
    }
    return archive(files)


def send(at: Small, client: Any, data: bytes, **more: Any) -> str:
    """Upload an archive and return the page."""
    return text(client.post(place(at), {"archive": SimpleUploadedFile("moodle.zip", data), **more}))


def test_an_archive_is_handed_in_for_students(at: Small, client: Any) -> None:
    """Submission times come from the worksheet, and a repeated import adds nothing."""
    sheet = SimpleUploadedFile("grades.csv", WORKSHEET.encode())
    content = send(at, client, moodle(at), worksheet=sheet, zone="Europe/Berlin")
    assert "1 attempt was imported." in content
    assert "Ida Nobody: nobody on the class list has a similar name" in content
    assert "more/notes.txt: it is in a folder" in content
    assert "Bob =Bobson: its submission time is not known" in content
    ada = at.offer.attempts.get()
    assert ("ada", datetime(2026, 2, 12, 9, 20, tzinfo=UTC)) == (ada.student, ada.submitted_at)
    assert {"code.ipynb", "formulas.ipynb"} == set(ada.files.values_list("name", flat=True))
    assert ada.receipt
    content = send(at, client, moodle(at), moment="2026-02-12T10:00:00", zone="Europe/Berlin")
    assert "1 attempt was imported." in content
    assert "1 attempt was here already." in content
    assert "bob: code (1).ipynb → code.ipynb" in content
    bob = at.offer.attempts.get(student="bob")
    assert datetime(2026, 2, 12, 9, 0, tzinfo=UTC) == bob.submitted_at
    content = send(at, client, moodle(at), moment="2026-02-12T10:00:00Z")
    assert "2 attempts were here already." in content
    assert 2 == at.offer.attempts.count()
    log = [action for action, _, _ in entries(at)]
    assert ["class list", "collect", "collect"] == sorted(log)


def test_what_cannot_be_read_is_told_and_nothing_is_handed_in(at: Small, client: Any) -> None:
    """Missing archives, wrong zones and times, and attempts older than existing ones are rejected."""
    assert "Nothing was imported or exported: " in text(client.post(place(at)))
    assert "the zone &#39;Berlin&#39; cannot be told" in send(at, client, moodle(at), zone="Berlin")
    assert "Nothing was imported or exported: “yesterday” is not a valid time" in send(
        at, client, moodle(at), moment="yesterday"
    )
    assert "moodle.zip: not a zip archive" in send(at, client, b"nothing")
    assert 0 == at.offer.attempts.count()
    course.handed_in(at.offer, "ada", {"code.ipynb": b"newer"})
    assert "there is already a later attempt" in send(at, client, moodle(at), moment="2026-02-12T10:00:00Z")
    assert ["ada", "bob"] == sorted(at.offer.attempts.values_list("student", flat=True))


def test_grades_are_downloaded_as_platforms_take_them(at: Small, client: Any) -> None:
    """Moodle's worksheet, gradebooks and lists are exported, with provisional marks only on request."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    course.graded_without_a_box(at.offer)
    fill = lambda: SimpleUploadedFile("grades.csv", WORKSHEET.encode())  # noqa: E731
    assert "Moodle accepts only its own grading worksheet" in text(client.post(place(at), {"form": "moodle"}))
    left = client.post(place(at), {"form": "moodle", "fill": fill()})
    assert ["", ""] == [row["Grade"] for row in csv.DictReader(io.StringIO(left.content.decode()))]
    response = client.post(place(at), {"form": "moodle", "fill": fill(), "provisional": "on"})
    assert 'attachment; filename="small-moodle.csv"' == response.headers["Content-Disposition"]
    assert ["1.00", ""] == [row["Grade"] for row in csv.DictReader(io.StringIO(response.content.decode()))]
    lines = client.post(place(at), {"form": "jsonl", "provisional": "on"}).content.splitlines()
    [line] = [json.loads(entry) for entry in lines]
    assert ("ada", "Lovelace", 1, "provisional") == tuple(
        line[key] for key in ("student", "last_name", "total", "state")
    )
    canvas = client.post(place(at), {"form": "canvas", "provisional": "on"}).content.decode()
    assert '"Lovelace, Ada",,ada,,,1.00' == canvas.splitlines()[2]
    two = b"Student,ID,SIS User ID,SIS Login ID,Section,Small (12),Small (13)\n"
    answers = [
        client.post(place(at), {"form": "canvas", "title": title, "fill": SimpleUploadedFile("c.csv", two)})
        for title in ("small", "small (13)")
    ]
    assert "2 columns that may be" in text(answers[0])
    assert answers[1].content.decode().splitlines()[0].endswith(",Small (13)")
    ilias = client.post(place(at), {"form": "ilias", "provisional": "on"}).content.decode("utf-8-sig")
    assert ";Lovelace;Ada;ada;ada@x.org;1.00;13;;;provisional" == ilias.splitlines()[1]


def test_the_page_is_german_too(at: Small, client: Any) -> None:
    """The page is also available in German."""
    client.cookies["django_language"] = "de"
    page = text(client.get(place(at)))
    assert "Abgaben importieren, Bewertungen exportieren" in page
    assert "Bewertungen exportieren" in page


def test_moodles_feedback_is_an_archive(at: Small, client: Any) -> None:
    """The archive has a page for each student, named according to Moodle's worksheet."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    course.graded_without_a_box(at.offer)
    assert "Moodle accepts only its own grading worksheet" in text(
        client.post(place(at), {"form": "feedback"})
    )
    fill = SimpleUploadedFile("grades.csv", WORKSHEET.encode())
    response = client.post(place(at), {"form": "feedback", "fill": fill, "provisional": "on"})
    with zipfile.ZipFile(io.BytesIO(response.content)) as archived:
        assert ["Ada Lovelace_7_assignsubmission_file_/small.html"] == archived.namelist()
        assert "<!doctype html>" in archived.read(archived.namelist()[0]).decode()
