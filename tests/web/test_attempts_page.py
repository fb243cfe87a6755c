"""Staff see a student's attempts and can choose the counting one; the student sees which and why."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from tests.service import course
from tests.web.people import Small
from tests.web.test_student import page, sent, text


def of_ada(at: Small) -> str:
    """Return the address of the page of ada's attempts."""
    return f"{at.base}staff/a/{at.offer.assignment}/attempts/of/ada/"


def two_attempts(at: Small) -> None:
    """Submit a readable and an unreadable attempt."""
    files = course.released(at.folder)
    course.handed_in(at.offer, "ada", files)
    course.handed_in(at.offer, "ada", dict.fromkeys(files, b"<!DOCTYPE html><html>"))
    course.graded_without_a_box(at.offer)


def test_students_read_which_attempt_counts_and_why(at: Small) -> None:
    """The pages of the assignment and of each attempt show it, in the student's language."""
    client, files = at.client(), course.released(at.folder)
    course.handed_in(at.offer, "ada", files)
    assert "Attempt 1 counts. It is the last attempt." in text(client.get(page(at)))
    course.handed_in(at.offer, "ada", dict.fromkeys(files, b""))
    for place in (page(at), f"{page(at)}1/", f"{page(at)}2/"):
        content = text(client.get(place))
        assert "Attempt 1 counts." in content
        assert "The file is empty." in content
    client.cookies["django_language"] = "de"
    assert "Versuch 1 zählt." in text(client.get(page(at)))


def test_a_refused_upload_leaves_what_was_handed_in(at: Small) -> None:
    """After a rejected upload, the earlier attempt still counts."""
    client = at.client()
    course.handed_in(at.offer, "ada", course.released(at.folder))
    content = text(client.post(page(at), sent({"code.ipynb": b"{}"}), follow=True))
    assert "Your earlier attempts are unchanged" in content
    assert "Attempt 1 counts." in content
    assert 1 == at.offer.attempts.count()


def test_staff_see_all_attempts_with_their_files(at: Small) -> None:
    """The page shows unreadable and counting attempts, and links to the original files."""
    two_attempts(at)
    client = at.client("ta")
    content = text(client.get(of_ada(at)))
    assert "Attempt 1 of ada" in content
    assert "cannot be read: formulas: The file is an HTML page" in content
    assert of_ada(at) in text(client.get(f"{at.base}staff/a/{at.offer.assignment}/submissions/"))
    assert "Count this attempt" not in content
    broken = at.offer.attempts.get(number=2)
    answer = client.get(f"{at.base}staff/attempts/{broken.pk}/files/code.ipynb")
    assert b"<!DOCTYPE html><html>" == answer.getvalue()
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_a_head_ta_chooses_and_takes_it_back(at: Small) -> None:
    """A choice needs a reason, which the student sees, and can be undone."""
    two_attempts(at)
    client, student = at.client("head-ta"), at.client()
    second = at.offer.attempts.get(number=2)
    choose = f"{at.base}staff/attempts/{second.pk}/choose"
    assert 1 == text(client.get(of_ada(at))).count(">Count this attempt<"), "the other one counts already"
    assert "enter a reason; the student will see it" in text(client.post(choose, {"reason": ""}, follow=True))
    content = text(client.post(choose, {"reason": "Agreed <b>on paper</b>."}, follow=True))
    assert "Attempt 2 counts now." in content
    assert "Agreed &lt;b&gt;on paper&lt;/b&gt;." in text(student.get(page(at)))
    assert "counting attempt changed" in text(at.client("instructor").get(f"{at.base}staff/audit/"))
    text(client.post(f"{of_ada(at)}rules", follow=True))
    assert "Attempt 1 counts." in text(student.get(page(at)))


def test_attempts_of_nobody_and_of_another_course_are_not_found(at: Small) -> None:
    """Unknown students, files and attempts of other courses are not found."""
    two_attempts(at)
    client, first = at.client("instructor"), at.offer.attempts.get(number=1)
    assert 404 == client.get(of_ada(at).replace("ada", "nobody")).status_code
    assert 404 == client.get(f"{at.base}staff/attempts/{first.pk}/files/other.ipynb").status_code
    other = f"/app/c/other/staff/attempts/{first.pk}/choose"
    assert 404 == client.post(other, {"reason": "x"}).status_code


def unpacked(answer: Any) -> dict[str, bytes]:
    """Return the files of a downloaded archive."""
    assert 200 == answer.status_code
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_attempts_are_downloaded_with_their_receipts(at: Small) -> None:
    """One attempt, all of a student, or the counting ones can be downloaded, in nbgrader's layout."""
    two_attempts(at)
    course.handed_in(at.offer, "bob", course.answered(at.folder, thoughts="Bob's."))
    client, files = at.client("ta"), course.released(at.folder)
    broken = at.offer.attempts.get(student="ada", number=2)
    archive = unpacked(client.get(f"{at.base}staff/attempts/{broken.pk}/files.zip"))
    assert {f"ada-small-2/{name}" for name in files} == archive.keys()
    every = unpacked(client.get(f"{of_ada(at)}files.zip"))
    assert {f"ada-small/ada-{number}/{name}" for number in (1, 2) for name in files} == every.keys()
    of_class = unpacked(client.get(f"{at.base}staff/a/small/attempts/counting.zip"))
    assert {f"submitted/{who}/small/{name}" for who in ("ada", "bob") for name in files} == of_class.keys()
    assert files["code.ipynb"] == of_class["submitted/ada/small/code.ipynb"], "the readable one counts"
    receipt = client.get(f"{at.base}staff/attempts/{broken.pk}/receipt")
    assert str(broken.pk) in receipt.content.decode()


def test_students_without_a_submission_are_listed(at: Small) -> None:
    """Head TAs can upload an attempt for a student without a submission."""
    from autograder.service.models import Member

    Member.objects.create(course=at.record, role="student", student="ada")
    assert "Nothing submitted yet" in text(at.client("ta").get(f"{at.base}staff/a/small/submissions/"))
    assert "Upload for ada" in text(at.client("head-ta").get(of_ada(at)))
    assert "Upload for ada" not in text(at.client("ta").get(of_ada(at)))


def upload(at: Small, files: dict[str, bytes], role: str = "head-ta", **fields: str) -> Any:
    """Upload files for ada."""
    sending = {**sent(files), "reason": "Sent by mail.", **fields}
    return at.client(role).post(f"{of_ada(at)}upload", sending, follow=True)


def test_staff_upload_an_attempt_from_before_a_later_one(at: Small) -> None:
    """The later attempt still counts, unless staff choose the upload; the log has reason and time."""
    from autograder.service import attempts
    from autograder.web import assignment_details
    from tests.web.test_staff import entries

    at.account("student")
    files = course.released(at.folder)
    later = course.handed_in(at.offer, "ada", files)
    rubric = assignment_details.get_assignment(at.offer).rubric

    def counting() -> str:
        handin = attempts.find_counting_attempt(at.offer, "ada", rubric)
        assert handin is not None
        return handin.folder.name

    content = text(upload(at, course.answered(at.folder, thoughts="Mine."), moment="2026-01-02T10:00"))
    assert "Attempt 2 of ada was submitted." in content
    attempt = at.offer.attempts.get(number=2)
    assert ("2026-01-02T10:00:00+00:00", at.account("head-ta")) == (
        attempt.submitted_at.isoformat(),
        attempt.by,
    )
    assert str(later.pk) == counting()
    assert "2026-01-02T10:00:00" in attempt.receipt
    facts = {"reason": "Sent by mail.", "submitted": "2026-01-02T10:00:00+00:00", "counts": False}
    assert ("upload attempt", None, facts) in entries(at)
    text(upload(at, files, moment="2026-01-02T11:00", count="on"))
    assert str(at.offer.attempts.get(number=3).pk) == counting()
    assert "Sent by mail." in text(at.client().get(page(at)))


def test_an_archive_with_the_files_is_accepted(at: Small) -> None:
    """Staff can upload an archive, too."""
    at.account("student")
    files, packed = course.released(at.folder), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"folder/{name}", data)
    assert "was submitted" in text(upload(at, {"all.zip": packed.getvalue()}))
    names = at.offer.attempts.get().files.values_list("name", flat=True)
    assert files.keys() == set(names)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reason": " "}, "enter a reason"),
        ({"moment": "tomorrow"}, "Not accepted"),
        ({"moment": "2999-01-01T00:00"}, "in the future"),
    ],
)
def test_an_upload_without_a_reason_or_a_time_is_refused(
    at: Small, fields: dict[str, str], message: str
) -> None:
    """Uploads without a reason, or with an invalid or future time, are rejected."""
    at.account("student")
    assert message in text(upload(at, course.released(at.folder), **fields))
    assert not at.offer.attempts.exists()


def test_an_upload_for_nobody_or_of_nothing_is_refused(at: Small) -> None:
    """Uploads for unknown students, without files or a CSRF token, and of unreadable files are rejected."""
    at.account("student")
    assert 404 == at.client("head-ta").post(of_ada(at).replace("ada", "eve") + "upload").status_code
    assert "Choose a file first" in text(upload(at, {}))
    assert "cannot be read" in text(upload(at, {"code.ipynb": b"{}"}))
    client = at.client("head-ta", enforce_csrf_checks=True)
    assert 403 == client.post(f"{of_ada(at)}upload", sent(course.released(at.folder))).status_code
    assert not at.offer.attempts.exists()
