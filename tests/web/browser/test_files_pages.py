"""Submitted files other than notebooks, and printed pages, in a real browser."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from autograder.core.records import FileState, GradingResult, SubmissionFile
from tests.service import course
from tests.support.files_course import LM
from tests.support.thorough import rotating
from tests.web.browser.reader import HEIGHT, SHOTS, WIDE, Reader
from tests.web.browser.test_pages import without_policy
from tests.web.people import Small
from tests.web.test_files import folder, offered

__all__ = ["folder", "offered"]

pytestmark = pytest.mark.apart

MOST_SHEETS = 3
"""Limit of printed sheets for one submission."""


def graded(at: Small) -> None:
    """Create a graded attempt that has modules only."""
    from autograder.grading import grades
    from autograder.service import attempts
    from autograder.web import assignment_details

    made = course.handed_in(at.offer, "ada", {"lm.py": LM.encode(), "report.md": b"Two.\n"})
    claimed = attempts.claim_attempt(made.pk)
    assert claimed is not None
    rubric = assignment_details.get_assignment(at.offer).rubric
    score = grades.leave_open("ada", rubric, "a person looks", (), "namespaces")
    digest = hashlib.sha256(LM.encode()).hexdigest()
    files = (
        SubmissionFile(
            "model", "lm.py", FileState.HANDED_IN, len(LM), 1 << 20, digest, LM, "@@ -1 +1 @@\n-a\n+b"
        ),
        SubmissionFile("model", "report.md", FileState.MISSING, most=1 << 20),
    )
    assert attempts.keep_result(
        claimed, GradingResult(score, files=files, digest=made.digest), rubric, "e" * 64
    )
    at.offer.published_at = timezone.now()
    at.offer.save()


@pytest.mark.parametrize(("language", "told"), rotating([("en", "Your files"), ("de", "Ihre Dateien")], 2))
def test_files_are_read_and_printed(
    offered: dict[str, Small],
    reader: Callable[..., Reader],
    language: str,
    told: str,
) -> None:
    """Files are shown with the attempt and in the feedback; printed pages are short and have no buttons."""
    at = offered["model"]
    graded(at)
    one = reader(locale=language)
    one.is_known(at)
    place = f"{at.base}a/model/"
    one.goto(f"{place}1/")
    assert told in one.text()
    one.looks("files-attempt")
    one.goto(f"{place}feedback/")
    frame = str(one.page.locator("iframe.made").get_attribute("src"))
    one.page.route("**/frame/*", without_policy)
    one.goto(frame)
    one.page.get_by_role("heading", name=told).wait_for()
    one.looks("files-feedback")
    one.page.emulate_media(media="print")
    for name, address in {"attempt": f"{place}1/", "assignment": place, "feedback": frame}.items():
        one.goto(address)
        seen = [part for part in one.page.locator("div.bar, button, .button").all() if part.is_visible()]
        assert [] == seen, name
        paper = one.page.pdf(format="A4")
        assert 1 <= paper.count(b"/Type /Page\n") <= MOST_SHEETS, name
        if SHOTS:
            (Path(SHOTS) / f"printed-{name}-{language}.pdf").write_bytes(paper)
            one.page.set_viewport_size({"width": 760, "height": HEIGHT})
            one.page.screenshot(path=Path(SHOTS) / f"printed-{name}-{language}.png", full_page=True)
    one.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
