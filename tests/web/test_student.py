"""The student pages: files, submission, receipt, preview and feedback, and nothing of other students."""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from autograder.messages import render_message
from autograder.service.receipts import verify_receipt
from tests.service import course
from tests.web.people import Small, statuses_near_expiry


def sent(files: dict[str, bytes]) -> dict[str, Any]:
    """Return form data with these files."""
    return {"files": [SimpleUploadedFile(name, data) for name, data in files.items()]}


def page(at: Small) -> str:
    """Return the address of the assignment's page for students."""
    return f"{at.base}a/{at.offer.assignment}/"


def text(answer: Any) -> str:
    """Return the text of a page."""
    assert 200 == answer.status_code, answer
    return str(answer.content.decode())


def in_hours(hours: float) -> str:
    """Return the time this many hours from now."""
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)).isoformat()


def test_from_the_list_to_the_receipt(at: Small) -> None:
    """Files are delivered as released; a submission is stored, gets a signed receipt, and is shown."""
    client, released = at.client(), course.released(at.folder)
    assert at.offer.title in text(client.get(at.base))
    assert "code.ipynb" in text(client.get(page(at)))
    assert released["code.ipynb"] == client.get(f"{page(at)}files/code.ipynb").getvalue()
    packed = zipfile.ZipFile(io.BytesIO(client.get(f"{page(at)}files.zip").getvalue()))
    assert released["code.ipynb"] == packed.read("small/code.ipynb")
    assert "small/coursecheck.py" in packed.namelist()

    files = course.answered(at.folder, mlp_answer='mlp_parameters = "8 d^2"', layers_answer="layers =")
    answer = client.post(page(at), sent(files), follow=True)
    content = text(answer)
    assert answer.redirect_chain == [(f"{page(at)}1/", 302)]
    assert "waiting to be graded" in content
    assert "<math" in content  # the parsed formula
    assert "not valid Python" in content  # the answer with a syntax error
    receipt = client.get(f"{page(at)}1/receipt").content.decode()
    assert ("ada", 1) == tuple(
        verify_receipt(receipt, course.SIGNER.public)[key] for key in ("student", "attempt")
    )
    assert files["formulas.ipynb"] == client.get(f"{page(at)}1/files/formulas.ipynb").getvalue()
    assert "counts" in text(client.get(page(at)))


def test_the_pages_speak_german(at: Small) -> None:
    """The page follows the language of the browser, and the choice is kept."""
    client = at.client()
    content = text(client.get(page(at), headers={"accept-language": "de"}))
    assert '<html lang="de">' in content
    assert "Wählen Sie Ihr Notebook" in content
    client.post("/app/language", {"language": "de", "next": at.base})
    assert "Noch nichts abgegeben" in text(client.get(at.base))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "Choose a file first"),
        ({"code.ipynb": b""}, "The file is empty"),
        ({"code.ipynb": b"{}"}, "The file is JSON but not a notebook"),
        ({"code.ipynb": b"<!DOCTYPE html><html></html>"}, "The file is an HTML page"),
        ({"code.ipynb": b"version https://git-lfs.github.com/spec/v1\noid x"}, "a Git LFS pointer"),
        ({"code.zip": b"PK broken"}, "not a zip archive that can be read"),
        ({"code.ipynb": b"\x00\xff not a notebook"}, "cannot be read"),
        ({"code.ipynb": b'{"cells": []}'}, "cannot be read"),
        ({"code.ipynb": b"[" * 100_000}, "cannot be read"),
    ],
)
def test_whatever_is_handed_in_has_a_clear_answer(at: Small, files: dict[str, bytes], message: str) -> None:
    """A file that is not a notebook is rejected with the reason, and no attempt is created."""
    client = at.client()
    client.raise_request_exception = True
    assert message in text(client.post(page(at), sent(files), follow=True))
    assert not at.offer.attempts.exists()


def test_a_copy_is_taken_under_the_name_that_is_asked_for(at: Small) -> None:
    """Numbers that browsers add to names are removed; a submission without any expected file is rejected."""
    client, files = at.client(), course.released(at.folder)
    copies = {f"{name.removesuffix('.ipynb')} (1).ipynb": data for name, data in files.items()}
    text(client.post(page(at), sent(copies), follow=True))
    (first,) = at.offer.attempts.all()
    assert {name for name in files if name.endswith(".ipynb")} == {
        name for name in first.files.values_list("name", flat=True) if name.endswith(".ipynb")
    } - set(copies)
    for strange in ({"notes.txt": b"hello"}, {"other.ipynb": files["code.ipynb"]}, {"code.html": b"<html>"}):
        content = text(client.post(page(at), sent(strange), follow=True))
        assert "None of these files is expected. Submit: formulas.ipynb, code.ipynb" in content
    assert 1 == at.offer.attempts.count()


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return written.getvalue()


@pytest.mark.parametrize(
    "called", ["{0}.ipynb.txt", "{0}.ipynb.json", "{0}.json", "{0} (2).ipynb.txt", "small.zip"]
)
def test_a_notebook_is_found_behind_another_ending_and_in_an_archive(at: Small, called: str) -> None:
    """Browsers and systems add suffixes, and students zip their folder."""
    files = course.released(at.folder)
    sending = {called.format(name.removesuffix(".ipynb")): data for name, data in files.items()}
    if called.endswith(".zip"):
        sending = {called: packed({f"small/{name}": data for name, data in files.items()})}
    text(at.client().post(page(at), sent(sending), follow=True))
    (attempt,) = at.offer.attempts.all()
    assert set(files) == set(attempt.files.values_list("name", flat=True))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({"../../x.ipynb": b"1"}, "its place leads out of the archive", id="leads-out"),
        pytest.param({f"{number}.txt": b"" for number in range(51)}, "or 50 files", id="many-files"),
        pytest.param(
            {f"{number}.txt": b"" for number in range(2_001)}, "more than 2000 files", id="far-too-many"
        ),
        pytest.param({"big.bin": bytes(65 << 20)}, "at most 200 times as many are unpacked", id="a-bomb"),
        pytest.param(
            {f"{number}.bin": bytes(15 << 20) for number in range(5)}, "more than 64 MB", id="large-files"
        ),
    ],
)
def test_an_archive_that_is_too_much_is_refused_as_a_whole(
    at: Small, files: dict[str, bytes], message: str
) -> None:
    """A too large or unsafe archive is rejected as a whole, so that nobody relies on a part of it."""
    code = course.released(at.folder)["code.ipynb"]
    sending = {"up.zip": packed({"code.ipynb": code, **files})}
    assert message in text(at.client().post(page(at), sent(sending), follow=True))
    assert not at.offer.attempts.exists()


def test_what_is_not_asked_for_and_what_is_not_there_is_told(at: Small) -> None:
    """The page after a submission shows missing notebooks and files that are not graded."""
    code = course.released(at.folder)["code.ipynb"]
    files = {"code.ipynb": code, "code-old-version.ipynb": code}
    content = text(at.client().post(page(at), sent(files), follow=True))
    assert "This file is not expected. It is stored but not graded." in content
    assert "This file is expected but missing." in content


def test_names_of_files_are_names(at: Small) -> None:
    """Django removes the path of a file name; other invalid names are rejected."""
    client = at.client()
    code = course.released(at.folder)["code.ipynb"]
    client.post(page(at), sent({"code.ipynb": code, "../../etc/passwd": b"x", "<script>": b"x"}))
    client.post(page(at), sent({"code.ipynb": code, "../../etc/passwd": b"x"}))
    names = set(at.offer.attempts.values_list("files__name", flat=True))
    assert {"code.ipynb", "passwd"} == names
    assert not [name for name in names if name and ("/" in name or "<" in name)]


def test_before_the_start_there_is_nothing_to_have(at: Small) -> None:
    """Before the start there are no files and no form, and submissions are rejected."""
    at.offer.times = {"start": in_hours(1), "end": in_hours(3)}
    at.offer.save()
    client = at.client()
    content = text(client.get(page(at)))
    assert "Opens" in content
    assert '<form method="post" enctype' not in content
    assert [404, 404] == [
        client.get(f"{page(at)}{place}").status_code for place in ("files.zip", "files/code.ipynb")
    ]
    assert "Opens" in text(client.post(page(at), sent(course.released(at.folder)), follow=True))
    assert not at.offer.attempts.exists()


def test_time_that_is_left_and_time_that_is_over(at: Small) -> None:
    """The page shows the remaining minutes, and after the deadline the rule for late submissions."""
    client = at.client()
    at.offer.times = {"end": in_hours(2.02)}
    at.offer.save()
    assert "2 h 1 min left" in text(client.get(page(at)))
    at.offer.times = {"end": in_hours(-1), "late": "accept"}
    at.offer.save()
    content = text(client.get(page(at)))
    assert "The deadline has passed." in content
    assert "they still count" in content
    client.post(page(at), sent(course.released(at.folder)))
    assert 1 == at.offer.attempts.count()


def test_what_is_said_of_late_attempts_before_and_after_is_one_truth(at: Small) -> None:
    """Pages before and after submission agree on whether a late attempt counts, and show the delay."""
    from autograder.service import attempts
    from autograder.web import assignment_details
    from tests.web.test_staff import canned

    client = at.client()
    at.offer.times = {"end": in_hours(-1), "zone": "Europe/Berlin"}
    at.offer.save()
    before = text(client.get(page(at)))
    assert "the course staff decide how the delay counts" in before
    assert "still counts" not in before
    late = course.handed_in(at.offer, "ada", course.released(at.folder))
    content = text(client.get(f"{page(at)}1/"))
    assert "Submitted 1 h" in content
    assert "(Europe/Berlin)" in content
    canned(at, late)
    assert "staff decide how the delay counts" in text(client.get(f"{page(at)}1/"))
    type(late).objects.filter(pk=late.pk).update(submitted_at=timezone.now() - datetime.timedelta(hours=2))
    kept = "Your last attempt in time still counts, unless the course staff decide otherwise."
    assert kept in text(client.get(page(at)))
    assert "after the deadline" not in text(client.get(f"{page(at)}1/"))
    course.handed_in(at.offer, "ada", course.answered(at.folder, mlp_answer='mlp_parameters = "1"'))
    assert {str(late.pk): "counts"} == assignment_details.get_counting_codes(at.offer, "ada")
    timing = attempts.find_counting_attempt(
        at.offer, "ada", assignment_details.get_assignment(at.offer).rubric
    ).timing
    assert ["timing.earlier"] == [message.code for message in timing.list_messages()]
    assert "unless staff decide otherwise" in render_message(timing.list_messages()[0], "en")
    at.offer.times = {**at.offer.times, "students": {"ada": {"late": "accept"}}}
    at.offer.save()
    assert str(late.pk) not in assignment_details.get_counting_codes(at.offer, "ada")


def test_assignment_page_names_grace_period_and_slip_days_after_the_deadline(at: Small) -> None:
    """Both apply before the rule for late submissions, unless staff made a decision for the student."""
    client = at.client()
    at.offer.times = {"end": in_hours(-1), "late": "refuse", "grace_minutes": 120}
    at.offer.save()
    content = text(client.get(page(at)))
    assert "count as on time during the grace period" in content
    assert "do not count" not in content
    slip = {"days": 2, "most": 1, "place": 0}
    at.offer.times = {"end": in_hours(-1), "late": "refuse", "slip_days": slip}
    at.offer.save()
    content = text(client.get(page(at)))
    assert "do not count" in content
    assert "Slip days are used first" in content
    at.offer.times = {**at.offer.times, "students": {"ada": {"late": "refuse"}}}
    at.offer.save()
    assert "Slip days are used first" not in text(client.get(page(at)))


def test_the_first_attempt_after_a_pause_is_told_to_take_longer(at: Small) -> None:
    """The hint disappears once an attempt of the assignment was graded."""
    from tests.web.test_staff import canned

    client = at.client()
    first = course.handed_in(at.offer, "ada", course.released(at.folder))
    assert "grading has to be prepared" in text(client.get(f"{page(at)}1/"))
    assert "grading has to be prepared" in text(client.get(f"{page(at)}1/state"))
    canned(at, first)
    assert "has to be prepared" not in text(client.get(f"{page(at)}1/"))
    course.handed_in(at.offer, "ada", course.answered(at.folder, mlp_answer='mlp_parameters = "1"'))
    waits = text(client.get(f"{page(at)}2/"))
    assert "waiting to be graded" in waits
    assert "has to be prepared" not in waits


def test_too_many_attempts_at_once_are_refused(at: Small) -> None:
    """A script that submits in a loop cannot fill the queue."""
    from autograder.web import student

    client, files = at.client(), course.released(at.folder)
    for _ in range(student.MOST_ATTEMPTS):
        course.handed_in(at.offer, "ada", files)
    assert "Wait a few minutes" in text(client.post(page(at), sent(files), follow=True))
    assert student.MOST_ATTEMPTS == at.offer.attempts.count()


def test_nobody_sees_what_is_anothers(at: Small) -> None:
    """Attempt numbers are those of the signed-in student; other students' attempts have no address."""
    files = course.answered(at.folder, thoughts="My own thoughts.")
    course.handed_in(at.offer, "bob", files)
    ada = at.client()
    for place in ("1/", "1/state", "1/receipt", "1/files/code.ipynb", "feedback/"):
        assert 404 == ada.get(f"{page(at)}{place}").status_code, place
    assert "My own thoughts" not in text(ada.get(page(at)))


def test_what_is_hidden_is_not_there(at: Small) -> None:
    """A hidden assignment has no page and no files, and accepts no submissions."""
    at.offer.visible = False
    at.offer.save()
    client = at.client()
    assert at.offer.title not in text(client.get(at.base))
    assert {404} == {client.get(f"{page(at)}{place}").status_code for place in ("", "files.zip", "1/")}
    assert 404 == client.post(page(at), sent(course.released(at.folder))).status_code


def test_feedback_comes_when_marks_are_published(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feedback is visible only while marks are published. Its frame has no cookies and runs no script."""
    from autograder.service import attempts
    from autograder.web import assignment_details

    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    assignment = assignment_details.get_assignment(at.offer)
    from autograder.core.records import GradingResult
    from autograder.grading import grades

    score = grades.leave_open("ada", assignment.rubric, "a person looks", (), "namespaces")
    attempts.keep_result(claimed, GradingResult(score, digest=attempt.digest), assignment.rubric, "e" * 64)
    client = at.client()
    assert 404 == client.get(f"{page(at)}feedback/").status_code
    assert "graded" in text(client.get(f"{page(at)}1/state"))
    at.offer.published_at = attempt.submitted_at
    at.offer.save()
    content = text(client.get(f"{page(at)}feedback/"))
    address = content.partition('src="/frame/')[2].partition('"')[0]
    frame = at.client("nobody").get(f"/frame/{address}")
    assert "Small" in text(frame) or "small" in text(frame)
    for address_with_points in (at.base, page(at)):
        assert "0 of 13" in text(client.get(address_with_points))
        assert "provisional" in text(client.get(address_with_points))
    policy = frame.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox;")
    assert "script" not in policy
    assert not frame.cookies
    assert [200, 404] == statuses_near_expiry(monkeypatch, f"/frame/{address}", at.client("nobody"))
    without = at.client(student="bob")  # has submitted nothing
    assert "feedback/" not in text(without.get(at.base)) + text(without.get(page(at)))
    told = text(without.get(f"{page(at)}feedback/"))
    assert "no submission was graded" in told
    assert "<iframe" not in told
    assert 404 == client.get(f"/frame/{address[:-3]}abc").status_code
    at.offer.published_at = None
    at.offer.save()
    assert 404 == client.get(f"{page(at)}feedback/").status_code


# ---------------------------------------------------------------- programs


def test_a_program_hands_in_with_a_key(at: Small) -> None:
    """The response is the receipt; the key is shown once, stored as a digest, and can be removed."""
    from autograder.service.models import ProgramKey

    client = at.client()
    content = text(client.post("/app/keys/", {"label": "my laptop", "scopes": ["submit"]}))
    origin, _, key = content.partition("<code>")[2].partition("</code>")[0].partition("#")
    assert "http://testserver" == origin
    assert not ProgramKey.objects.filter(digest=key).exists()
    assert key not in text(client.get("/app/keys/"))
    door = f"/api/courses/{at.record.slug}/assignments/{at.offer.assignment}/attempts"
    program = at.client("nobody", enforce_csrf_checks=True)
    answer = program.post(door, sent(course.released(at.folder)), headers={"authorization": f"Bearer {key}"})
    assert 201 == answer.status_code, answer.content
    assert 1 == verify_receipt(answer.content.decode(), course.SIGNER.public)["attempt"]
    refused = program.post(door, {}, headers={"authorization": f"Bearer {key}"})
    assert (400, "Choose a file first.") == (refused.status_code, json.loads(refused.content)["detail"])
    for wrong in ("", "Bearer ", "Bearer x", f"Bearer {key}x"):
        assert 401 == program.post(door, headers={"authorization": wrong}).status_code
    assert (
        404
        == program.post(
            door.replace("small", "smallx"), headers={"authorization": f"Bearer {key}"}
        ).status_code
    )
    [program_key] = ProgramKey.objects.filter(account=at.account("student"))
    assert 404 == at.client("ta").post(f"/app/keys/{program_key.pk}/remove").status_code
    client.post(f"/app/keys/{program_key.pk}/remove")
    assert 401 == program.post(door, headers={"authorization": f"Bearer {key}"}).status_code


def test_a_page_asks_less_often_the_longer_an_attempt_waits(at: Small) -> None:
    """The interval is half a second at first and while grading, and longer in a long queue."""
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    client, rows = at.client(), at.offer.attempts.filter(pk=attempt.pk)

    def pause() -> str:
        return re.findall(r"load delay:(\d+)ms", text(client.get(f"{page(at)}1/state")))[0]

    pauses = []
    for state, seconds in (("waiting", -60), ("waiting", 3600), ("running", 3600)):
        rows.update(state=state, queued_at=timezone.now() - datetime.timedelta(seconds=seconds))
        pauses.append(pause())
    assert ["500", "20000", "500"] == pauses
    rows.update(state="waiting", queued_at=timezone.now() - datetime.timedelta(seconds=50))
    assert 10_000 <= int(pause()) <= 20_000
