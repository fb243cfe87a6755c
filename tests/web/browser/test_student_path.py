"""A student's path through the pages in a real browser, with and without JavaScript."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from autograder.service.receipts import verify_receipt
from tests.service import course
from tests.web.browser.grading import grade
from tests.web.browser.reader import Reader
from tests.web.people import Small

pytestmark = pytest.mark.apart

ANSWERS = {
    "mlp_answer": 'mlp_parameters = "8 d^2"',
    "model_answer": 'model_parameters = "8 L d^2"',
    "layers_answer": "layers =",
    "softmax_answer": "def softmax(x):\n    e = numpy.exp(x)\n    return e / e.sum(-1, keepdims=True)",
    "thoughts": "Much.",
}


@pytest.fixture
def answers(at: Small, tmp_path: Path) -> list[Path]:
    """Write two notebooks with answers into a folder."""
    files = []
    for name, data in course.answered(at.folder, **ANSWERS).items():
        files.append(tmp_path / name)
        files[-1].write_bytes(data)
    return files


def ends_in(at: Small, hours: float, **more: str) -> None:
    """Set the deadline this many hours from now."""
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
    at.offer.times = {"end": end.replace(microsecond=0).isoformat(), **more}
    at.offer.save()


def hand_in(one: Reader, at: Small, files: list[Path]) -> None:
    """Submit files with the form."""
    one.goto(f"{at.base}a/small/")
    one.page.set_input_files("#files", files)
    one.press("Submit")


def publish(at: Small) -> None:
    """Publish the marks."""
    at.offer.published_at = timezone.now()
    at.offer.save()


@pytest.mark.sandbox
def test_from_signing_in_to_the_feedback(
    at: Small, reader: Callable[..., Reader], answers: list[Path]
) -> None:
    """Each step is linked on the page before, and the result appears without reloading the page."""
    ends_in(at, 5)
    one = reader()
    one.signs_in(at)
    assert "4 h 59 min left" in one.text()
    assert "Nothing submitted yet" in one.text()
    one.follow(at.offer.title)
    assert course.released(at.folder)["code.ipynb"] == one.download("code.ipynb")
    one.looks("student-assignment")

    one.page.set_input_files("#files", answers)
    one.press("Submit")
    assert f"{at.base}a/small/1/" in one.page.url
    assert "waiting to be graded" in one.text()
    assert one.page.locator("math").first.is_visible()  # the parsed formula
    assert "not valid Python" in one.text()
    facts = verify_receipt(one.download("Download receipt").decode(), course.SIGNER.public)
    assert ("ada", 1) == (facts["student"], facts["attempt"])
    one.looks("student-attempt-waiting")

    hand_in(one, at, answers[:1])
    one.page.evaluate("window.same = true")
    grade(at.offer, lambda: one.page.locator("#state .graded").wait_for())
    assert one.page.evaluate("window.same")  # the page was not reloaded
    assert "You will see your marks when" in one.text()
    one.looks("student-attempt-graded")

    one.follow(at.offer.title)
    assert "Deadline:" in one.text()
    rows = one.page.locator("tbody tr").all_inner_texts()
    assert ["Attempt 2", "Attempt 1"] == [row.split("\t")[0] for row in rows]
    assert [True, False] == ["counts" in row for row in rows]
    assert "Feedback" not in one.text()
    publish(at)
    one.page.reload()
    one.looks("student-attempts")
    one.follow("Feedback", "main")
    frame = one.page.frame_locator("iframe.made")
    assert "of 13" in frame.locator("body").inner_text()
    one.looks("student-feedback")
    one.page.locator("header summary").click()
    one.press("Sign out", "header")
    assert "/accounts/login/" in one.page.url
    one.goto(f"{at.base}a/small/")
    assert "/accounts/login/" in one.page.url


def test_without_scripts(at: Small, reader: Callable[..., Reader], answers: list[Path]) -> None:
    """Sign-in, submission, result and feedback work without JavaScript."""
    one = reader(java_script_enabled=False)
    one.signs_in(at)
    one.follow(at.offer.title)
    one.page.set_input_files("#files", answers)
    one.press("Submit")
    assert "waiting to be graded" in one.text()
    from tests.web.test_staff import canned

    canned(at, at.offer.attempts.get())
    publish(at)
    one.page.reload()
    assert "graded" == one.page.locator("#state .state").inner_text()
    one.follow(at.offer.title)
    one.follow("Feedback", "main")
    assert "of 13" in one.page.frame_locator("iframe.made").locator("body").inner_text()


def test_what_is_refused_is_told_on_the_page(
    at: Small, reader: Callable[..., Reader], tmp_path: Path
) -> None:
    """A wrong password and an invalid file are rejected with a message, and the student can try again."""
    account = at.account("student")
    one = reader()
    one.goto("/app/accounts/login/")
    one.page.locator("#id_login").fill(account.username if account else "")
    one.page.locator("#id_password").fill("not the password")
    one.press("Sign in")
    assert one.page.get_by_role("alert").is_visible()
    one.looks("sign-in-refused")
    one.signs_in(at)
    broken = tmp_path / "code.ipynb"
    broken.write_text("not a notebook")
    hand_in(one, at, [broken])
    assert "cannot be read" in one.text()
    one.looks("student-attempt-unreadable")
