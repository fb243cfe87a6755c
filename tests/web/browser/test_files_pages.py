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

    attempt = course.handed_in(at.offer, "ada", {"lm.py": LM.encode(), "report.md": b"Two.\n"})
    claimed = attempts.claim_attempt(attempt.pk)
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
        claimed, GradingResult(score, files=files, digest=attempt.digest), rubric, "e" * 64
    )
    at.offer.published_at = timezone.now()
    at.offer.save()


@pytest.mark.parametrize(("language", "heading"), rotating([("en", "Your files"), ("de", "Ihre Dateien")], 2))
def test_files_are_read_and_printed(
    offered: dict[str, Small],
    reader: Callable[..., Reader],
    language: str,
    heading: str,
) -> None:
    """Files are shown with the attempt and in the feedback; printed pages are short and have no buttons."""
    at = offered["model"]
    graded(at)
    visitor = reader(locale=language)
    visitor.is_known(at)
    place = f"{at.base}a/model/"
    visitor.goto(f"{place}1/")
    assert heading in visitor.text()
    visitor.looks("files-attempt")
    visitor.goto(f"{place}feedback/")
    frame = str(visitor.page.locator("iframe.made").get_attribute("src"))
    visitor.page.route("**/frame/*", without_policy)
    visitor.goto(frame)
    visitor.page.get_by_role("heading", name=heading).wait_for()
    visitor.looks("files-feedback")
    visitor.page.emulate_media(media="print")
    for name, address in {"attempt": f"{place}1/", "assignment": place, "feedback": frame}.items():
        visitor.goto(address)
        seen = [part for part in visitor.page.locator("div.bar, button, .button").all() if part.is_visible()]
        assert [] == seen, name
        paper = visitor.page.pdf(format="A4")
        assert 1 <= paper.count(b"/Type /Page\n") <= MOST_SHEETS, name
        if SHOTS:
            (Path(SHOTS) / f"printed-{name}-{language}.pdf").write_bytes(paper)
            visitor.page.set_viewport_size({"width": 760, "height": HEIGHT})
            visitor.page.screenshot(path=Path(SHOTS) / f"printed-{name}-{language}.png", full_page=True)
    visitor.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
