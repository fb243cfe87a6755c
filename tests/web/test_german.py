"""Messages on German pages are German, and errors that pages show are in the catalogue."""

from __future__ import annotations

import ast
import csv
import html
import io
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.messages import catalogue
from tests.service import course
from tests.web.people import Small

PROGRAM = Path(catalogue.__file__).parents[1]
CONVERTED = (
    "app/collection.py",
    "app/grade_files.py",
    "app/marking_sheet_rows.py",
    "app/marking_sheets.py",
    "app/similarity.py",
    "course/archives.py",
    "course/csv_rows.py",
    "course/group_list.py",
    "course/submission_folder.py",
    "exchange/platforms/class_lists.py",
    "exchange/platforms/csv_files.py",
    "exchange/platforms/gradebooks.py",
    "exchange/platforms/sources.py",
    "exchange/platforms/staging.py",
    "exchange/platforms/student_matching.py",
    "exchange/platforms/worksheets.py",
    "notebook/document.py",
    "service/attempt_choice.py",
    "service/attempts.py",
    "service/drafts.py",
    "service/git_repositories.py",
    "service/notices/webhooks.py",
    "service/platform_files.py",
    "service/platforms.py",
    "service/outgoing.py",
    "service/registrations.py",
    "service/student_groups.py",
    "service/trials/rollout.py",
    "service/uploads.py",
    "service/versions.py",
    "web/assignment_settings.py",
    "web/attempts.py",
    "web/courses.py",
    "web/deep_linking.py",
    "web/lti.py",
    "web/marking_sheets.py",
    "web/platform_files.py",
    "web/regrade_requests.py",
    "web/student.py",
    "web/student_groups.py",
)
"""Modules with errors that pages show."""
SECOND = {"Match", "NotebookError", "RefusedFile", "refuse_file"}
"""Errors and faults with their text as the second argument."""
RAISED = {"CourseError", "RubricError", "ServiceError", "SourceError", *SECOND}
FOR_AUTHORS = {
    "there is no column {}": "an option of the command line",
    "{}: {} cannot be read: {}": "a file in the folder of a course",
    "{}: cannot be read: {}": "a folder or archive on the command line",
    "there is no such file or folder to collect from": "a path on the command line",
    "{}: students: {} is {}, who is not in roster.csv": "a file in the folder of a course",
    "{}: cannot be written: {}": "a file on the command line",
    "{}: {}": "puts a path on the command line before another error",
    "there is no grade cell {}": "an option of the command line",
    "is there already, and may hold marks": "a file on the command line",
    "the sheet has no rows": "a file on the command line",
    "{}: assignment: {} is not in the course": "a file on the command line",
    "expected a file that ends in .csv": "a file on the command line",
    "--given: {}": "an option of the command line",
    "the folder cannot be read: {}": "a folder on the command line",
    "there is no such file; hand it in": "a file in the folder of a course",
    "is a link, not a folder": "a folder of the course",
    "the course's class list is not usable: {}": "a list in the course's folder",
}
"""Errors of these modules that no page can show, with the reason."""
SAME = {"fault.file", "web.field-fault"}
"""Sentences that consist of placeholders only."""
ENGLISH = re.compile(r"\b(the|and|is|are|this|that|with|cannot|expected|already|your|again)\b", re.IGNORECASE)


@cache
def parse(path: Path) -> ast.Module:
    """Parse a module, once."""
    return ast.parse(path.read_text("utf-8"))


def list_calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield all calls in a module with the name of the callee."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


def list_codes() -> set[str]:
    """Return the codes of all catalogue errors that the program raises with a literal code."""
    codes = set()
    for path in PROGRAM.rglob("*.py"):
        for name, call in list_calls(path):
            code = call.args[0] if call.args else None
            if not (isinstance(code, ast.Constant) and isinstance(code.value, str)):
                continue
            if name in {"RequestRefused", "ActionRefused"}:
                codes.add(f"web.{code.value}")
            elif name == "build_localised_text" and code.value.startswith(("fault.", "web.")):
                codes.add(code.value)
    return codes


CODES = sorted(list_codes())


def test_codes_are_found() -> None:
    """The search of the source finds known codes."""
    assert len(CODES) > 100
    assert {"web.draft-outdated", "fault.empty", "web.webhook-twice"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_has_a_german_sentence(code: str) -> None:
    """The catalogue has a German sentence that differs from the English one."""
    english, german = (catalogue.get_template(code, language) for language in ("en", "de"))
    assert (english == german) is (code in SAME)
    assert not ENGLISH.search(re.sub(r"\{\w*\}", "", german))


def test_every_fault_is_raised() -> None:
    """The catalogue contains no fault that is never raised."""
    sources = "".join(path.read_text("utf-8") for path in PROGRAM.rglob("*.py") if path.stem != "faults")
    faults = [code for code in catalogue.load_sentences() if code.startswith("fault.")]
    # Some codes are composed, such as those for damaged JSON.
    said = [code for code in faults if f'"{code}"' in sources or f'"{code.partition(".")[2]}"' in sources]
    assert faults == said


@pytest.mark.parametrize("module", CONVERTED)
def test_no_error_is_written_in_english(module: str) -> None:
    """Errors for pages come from the catalogue or wrap another error."""
    written = []
    for name, call in list_calls(PROGRAM / module):
        if name in RAISED and call.args:
            text = call.args[1] if name in SECOND and len(call.args) > 1 else call.args[0]
            if isinstance(text, ast.Constant | ast.JoinedStr):
                written.append(re.sub(r"\{.*?\}", "{}", ast.unparse(text)))
    assert [] == [text for text in written if not any(term in text for term in FOR_AUTHORS)]


def file(name: str, data: bytes) -> SimpleUploadedFile:
    """Return a file for a form."""
    return SimpleUploadedFile(name, data)


def list_requests(at: Small) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield role, address and form of requests that are rejected."""
    at.account("student", "ada")
    student = f"{at.base}a/{at.offer.assignment}/"
    for name, data in (
        ("code.ipynb", b""),
        ("code.ipynb", b'{"cells": [}'),
        ("code.ipynb", b"%PDF-\xff\xfe\x00"),
        ("code.ipynb", b"<html><body>Sign in</body></html>"),
        ("up.zip", b"no archive"),
        ("other.txt", b"x"),
    ):
        yield "student", student, {"files": file(name, data)}
    yield "student", student, {}
    staff = f"{at.base}staff/"
    yield "instructor", f"{staff}upload", {"archive": file("draft.zip", b"no archive")}
    yield "instructor", f"{staff}upload", {}
    for wrong in ({}, {"address": "http://x"}, {"address": "https://x@y/z"}, {"ref": "-"}, {"folder": ".."}):
        yield "instructor", f"{staff}upload", {"address": "https://example.org/x", "assignment": "", **wrong}
    for lines in (b"colour\nred\n", b"id\nada\nada\n", b"id\n=1+1\n"):
        yield "instructor", f"{staff}members/list", {"list": file("list.csv", lines)}
    groups = f"{staff}a/{at.offer.assignment}/groups/"
    for lines in (b"team;who\n", b"group,student\n=1,ada\n", b"group,student,assignment\nred,ada,smal\n"):
        yield "instructor", groups, {"list": file("groups.csv", lines)}
    for name, sheet in (("marks.txt", b""), ("marks.csv", b"a,b\n"), ("marks.csv", b"a\xff\n")):
        yield "head-ta", f"{staff}a/{at.offer.assignment}/mark/sheet.csv", {"sheet": file(name, sheet)}
    yield "instructor", f"{staff}notifications/", {"address": "http://example.org"}
    yield "superuser", "/app/courses/create", {"title": "x", "slug": at.record.slug}
    settings = f"{staff}a/{at.offer.assignment}/"
    dates = {"start": "2031-02-12T10:00", "end": "2031-02-13T10:00", "zone": "Europe/Berlin"}
    for wrong in (
        {"minutes": "many"},
        {"end": "2031-02-12T09:00"},
        {"zone": "Berlin"},
        {"start": "2031-03-30T02:30"},
        {"late": "penalty"},
        {"way": "per_day", "amount": "a lot"},
        {"grace": "-1"},
    ):
        yield "instructor", f"{settings}times", {**dates, **wrong}
    yield "instructor", f"{settings}times", dates
    yield "instructor", f"{settings}extension", {"student": "nobody", "extra_minutes": "10"}
    yield "instructor", f"{settings}extension", {"student": "ada", "extra_minutes": "x"}
    yield "instructor", f"{settings}extension", {"student": "ada", "end": "2031-02-12T09:00"}


def list_notices(page: str) -> list[str]:
    """Return the notices and error messages of a page."""
    notices = re.findall(r'<p class="(?:notice|bad)[^"]*"[^>]*>(.*?)</p>', page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in notices]


def test_refusals_are_german_on_pages(at: Small) -> None:
    """No page that rejects a request shows an English word."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    for who, place, form in list_requests(at):
        client = at.client(who, headers={"accept-language": "de"})
        answer = client.post(place, form, follow=True)
        assert 200 == answer.status_code, place
        page = answer.content.decode()
        assert '<html lang="de">' in page
        notices = list_notices(page)
        assert notices, (place, form)
        assert not [text for text in notices if ENGLISH.search(text)], (place, form, notices)


def list_reported(page: str) -> list[str]:
    """Return the list entries of a page, without its menus."""
    return [html.unescape(text) for text in re.findall(r"<li>([^<]*)</li>", page.partition("<main")[2])]


def test_reports_of_uploads_are_german(at: Small) -> None:
    """Reports on rejected files of an archive and rows of a marking sheet are in German."""
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    assert attempt.number == 1
    course.graded_without_a_box(at.offer)
    at.account("student", "ada")
    staff = f"{at.base}staff/a/{at.offer.assignment}/"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("nobody/code.ipynb", "ada/timestamp.txt", "ada/notes.txt", "ada/Notes.txt", "ada/con"):
            archive.writestr(name, b"x")
    client = at.client("instructor", headers={"accept-language": "de"})
    form = {"archive": file("x.zip", packed.getvalue()), "moment": "2026-02-12T10:20"}
    reported = list_reported(client.post(f"{staff}platforms/", form).content.decode())
    assert "nobody: niemand auf der Teilnehmerliste heißt ähnlich" in reported
    assert len(reported) >= 5
    sheet = f"{staff}mark/sheet.csv"
    head, *rows = csv.reader(io.StringIO(b"".join(client.get(sheet)).decode("utf-8-sig")))
    points = head.index("points")
    for change in (
        lambda row: [*row[:points], "many", *row[points + 1 :]],
        lambda row: [*row[:points], "99", *row[points + 1 :]],
        lambda row: ["exam", *row[1:]],
        lambda row: [*row[:-1], row[-1][::-1]],
    ):
        written = io.StringIO()
        csv.writer(written).writerows([head, *map(change, rows)])
        page = client.post(sheet, {"sheet": file("marks.csv", written.getvalue().encode())})
        errors = list_reported(page.content.decode())
        assert errors
        assert all(error.startswith("Zeile ") for error in errors)
        reported += errors
    assert [] == [text for text in reported if ENGLISH.search(text)]


def test_only_the_wrong_field_is_marked(at: Small) -> None:
    """The message has the label of the field, and only that field is marked as invalid."""
    client = at.client("instructor")
    dates = {"start": "2031-02-12T10:00", "end": "2031-02-13T10:00", "zone": "Europe/Berlin"}
    place = f"{at.base}staff/a/{at.offer.assignment}/"
    for field, value, label in (
        ("minutes", "many", "Working time of each student, in minutes: expected a whole number"),
        ("end", "2031-02-12T09:00", "Deadline: 2031-02-12 09:00 is not after the start"),
        ("grace", "-1", "Grace period, in minutes: expected a whole number from 0 to 10080"),
    ):
        page = client.post(f"{place}times", {**dates, field: value}).content.decode()
        assert label in html.unescape(page)
        marked = re.findall(r'<(?:input|select) id="([\w-]+)"[^>]*aria-invalid', page)
        assert [field] == marked
    client.post(f"{place}times", dates)
    at.account("student", "ada")
    page = client.post(f"{place}extension", {"student": "ada", "extra_minutes": "x"}).content.decode()
    assert "Extra minutes: expected a whole number from 0 to 1440" in page
    assert ["extra"] == re.findall(r'<(?:input|select) id="([\w-]+)"[^>]*aria-invalid', page)
