"""Staff see the attempts of a student, and choose which one counts; the student reads which one and why."""

from __future__ import annotations

from tests.service import course
from tests.web.people import Small
from tests.web.test_student import page, sent, text


def of_ada(at: Small) -> str:
    """The address of the page."""
    return f"{at.base}staff/a/{at.offer.assignment}/attempts/of/ada/"


def two_attempts(at: Small) -> None:
    """One that can be read, and one that an archive brought and nobody can read."""
    files = course.released(at.folder)
    course.handed_in(at.offer, "ada", files)
    course.handed_in(at.offer, "ada", dict.fromkeys(files, b"<!DOCTYPE html><html>"))
    course.graded_without_a_box(at.offer)


def test_students_read_which_attempt_counts_and_why(at: Small) -> None:
    """On the page of the assignment and on that of each attempt, in their language."""
    client, files = at.client(), course.released(at.folder)
    course.handed_in(at.offer, "ada", files)
    assert "Attempt 1 counts. It is the last attempt." in text(client.get(page(at)))
    course.handed_in(at.offer, "ada", dict.fromkeys(files, b""))
    for place in (page(at), f"{page(at)}1/", f"{page(at)}2/"):
        told = text(client.get(place))
        assert "Attempt 1 counts." in told
        assert "The file is empty." in told
    client.cookies["django_language"] = "de"
    assert "Versuch 1 zählt." in text(client.get(page(at)))


def test_a_refused_upload_leaves_what_was_handed_in(at: Small) -> None:
    """The attempt that was there counts, and none is added."""
    client = at.client()
    course.handed_in(at.offer, "ada", course.released(at.folder))
    told = text(client.post(page(at), sent({"code.ipynb": b"{}"}), follow=True))
    assert "Your earlier attempts are unchanged" in told
    assert "Attempt 1 counts." in told
    assert 1 == at.offer.attempts.count()


def test_staff_see_all_attempts_with_their_files(at: Small) -> None:
    """Why one cannot be read, which one counts, and each file as it arrived."""
    two_attempts(at)
    client = at.client("ta")
    told = text(client.get(of_ada(at)))
    assert "Attempt 1 of ada" in told
    assert "cannot be read: formulas: The file is an HTML page" in told
    assert of_ada(at) in text(client.get(f"{at.base}staff/a/{at.offer.assignment}/submissions/"))
    assert "Count this attempt" not in told
    broken = at.offer.attempts.get(number=2)
    answer = client.get(f"{at.base}staff/attempts/{broken.pk}/files/code.ipynb")
    assert b"<!DOCTYPE html><html>" == answer.getvalue()
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_a_head_ta_chooses_and_takes_it_back(at: Small) -> None:
    """With a reason, which the student reads; without one nothing changes."""
    two_attempts(at)
    client, student = at.client("head-ta"), at.client()
    second = at.offer.attempts.get(number=2)
    choose = f"{at.base}staff/attempts/{second.pk}/choose"
    assert 1 == text(client.get(of_ada(at))).count("Count this attempt"), "the other one counts already"
    assert "enter a reason; the student will see it" in text(client.post(choose, {"reason": ""}, follow=True))
    told = text(client.post(choose, {"reason": "Agreed <b>on paper</b>."}, follow=True))
    assert "Attempt 2 counts now." in told
    assert "Agreed &lt;b&gt;on paper&lt;/b&gt;." in text(student.get(page(at)))
    assert "counting attempt changed" in text(at.client("instructor").get(f"{at.base}staff/audit/"))
    text(client.post(f"{of_ada(at)}rules", follow=True))
    assert "Attempt 1 counts." in text(student.get(page(at)))


def test_attempts_of_nobody_and_of_another_course_are_not_found(at: Small) -> None:
    """Nor is a file that is none."""
    two_attempts(at)
    client, first = at.client("instructor"), at.offer.attempts.get(number=1)
    assert 404 == client.get(of_ada(at).replace("ada", "nobody")).status_code
    assert 404 == client.get(f"{at.base}staff/attempts/{first.pk}/files/other.ipynb").status_code
    other = f"/app/c/other/staff/attempts/{first.pk}/choose"
    assert 404 == client.post(other, {"reason": "x"}).status_code
