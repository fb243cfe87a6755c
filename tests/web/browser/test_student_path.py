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


def hand_in(visitor: Reader, at: Small, files: list[Path]) -> None:
    """Submit files with the form."""
    visitor.goto(f"{at.base}a/small/")
    visitor.page.set_input_files("#files", files)
    visitor.press("Submit")


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
    visitor = reader()
    visitor.signs_in(at)
    assert "4 h 59 min left" in visitor.text()
    assert "Nothing submitted yet" in visitor.text()
    visitor.follow(at.offer.title)
    assert course.released(at.folder)["code.ipynb"] == visitor.download("code.ipynb")
    visitor.looks("student-assignment")

    visitor.page.set_input_files("#files", answers)
    visitor.press("Submit")
    assert f"{at.base}a/small/1/" in visitor.page.url
    assert "waiting to be graded" in visitor.text()
    assert visitor.page.locator("math").first.is_visible()  # the parsed formula
    assert "not valid Python" in visitor.text()
    facts = verify_receipt(visitor.download("Download receipt").decode(), course.SIGNER.public)
    assert ("ada", 1) == (facts["student"], facts["attempt"])
    visitor.looks("student-attempt-waiting")

    hand_in(visitor, at, answers[:1])
    visitor.page.evaluate("window.same = true")
    grade(at.offer, lambda: visitor.page.locator("#state .graded").wait_for())
    assert visitor.page.evaluate("window.same")  # the page was not reloaded
    assert "You will see your marks when" in visitor.text()
    visitor.looks("student-attempt-graded")

    visitor.follow(at.offer.title)
    assert "Deadline:" in visitor.text()
    rows = visitor.page.locator("tbody tr").all_inner_texts()
    assert ["Attempt 2", "Attempt 1"] == [row.split("\t")[0] for row in rows]
    assert [True, False] == ["counts" in row for row in rows]
    assert "Feedback" not in visitor.text()
    publish(at)
    visitor.page.reload()
    visitor.looks("student-attempts")
    visitor.follow("Feedback", "main")
    frame = visitor.page.frame_locator("iframe.made")
    assert "of 13" in frame.locator("body").inner_text()
    visitor.looks("student-feedback")
    visitor.page.locator("header summary").click()
    visitor.press("Sign out", "header")
    assert "/accounts/login/" in visitor.page.url
    visitor.goto(f"{at.base}a/small/")
    assert "/accounts/login/" in visitor.page.url


def test_without_scripts(at: Small, reader: Callable[..., Reader], answers: list[Path]) -> None:
    """Sign-in, submission, result and feedback work without JavaScript."""
    visitor = reader(java_script_enabled=False)
    visitor.signs_in(at)
    visitor.follow(at.offer.title)
    visitor.page.set_input_files("#files", answers)
    visitor.press("Submit")
    assert "waiting to be graded" in visitor.text()
    from tests.web.test_staff import canned

    canned(at, at.offer.attempts.get())
    publish(at)
    visitor.page.reload()
    assert "graded" == visitor.page.locator("#state .state").inner_text()
    visitor.follow(at.offer.title)
    visitor.follow("Feedback", "main")
    assert "of 13" in visitor.page.frame_locator("iframe.made").locator("body").inner_text()


def test_what_is_refused_is_told_on_the_page(
    at: Small, reader: Callable[..., Reader], tmp_path: Path
) -> None:
    """A wrong password and an invalid file are rejected with a message, and the student can try again."""
    account = at.account("student")
    visitor = reader()
    visitor.goto("/app/accounts/login/")
    visitor.page.locator("#id_login").fill(account.username if account else "")
    visitor.page.locator("#id_password").fill("not the password")
    visitor.press("Sign in")
    assert visitor.page.get_by_role("alert").is_visible()
    visitor.looks("sign-in-refused")
    visitor.signs_in(at)
    broken = tmp_path / "code.ipynb"
    broken.write_text("not a notebook")
    hand_in(visitor, at, [broken])
    assert "cannot be read" in visitor.text()
    visitor.looks("student-attempt-unreadable")
