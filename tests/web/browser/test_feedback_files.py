"""The demo's feedback and staff pages, which are HTML files, are accessible in a real browser.

The pages are checked on a laptop and on a phone, light and dark, collapsed and expanded. The staff's table is
sorted by its script.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from autograder.authoring.demo import SUBJECTS
from tests.cli.conftest import graded
from tests.cli.running import STUDENTS
from tests.support.thorough import rotating
from tests.web.browser.reader import HEIGHT, NARROW, RULES, WIDE

__all__ = ["graded"]

pytestmark = [pytest.mark.apart, pytest.mark.sandbox]

_ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
_AXE = Axe()
_OVER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
_UNFOLD = "() => document.querySelectorAll('details').forEach(one => { one.open = true })"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium without a service."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as started:
        new_browser = started.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        yield new_browser
        new_browser.close()


def longest(graded: Path) -> list[Path]:
    """Return the longest feedback page of each assignment."""
    return [
        max(graded.glob(f"feedback/*/{subject.assignment}/*.html"), key=lambda page: page.stat().st_size)
        for subject in SUBJECTS
    ]


def faults(page: Page) -> list[str]:
    """Return accessibility violations, and whether the page is wider than the window."""
    page.evaluate(_AXE.axe_script)
    options = {"runOnly": list(RULES), "resultTypes": ["violations"], "iframes": False}
    violations = [
        f"{violation['id']}: {[node['html'][:200] for node in violation['nodes']]}"
        for violation in page.evaluate("options => axe.run(options)", options)["violations"]
    ]
    return violations + ["wider than the window"] * (page.evaluate(_OVER) > 0)


@pytest.mark.parametrize(("width", "scheme"), rotating([(WIDE, "light"), (NARROW, "dark")], 2))
def test_everybody_can_read_the_pages(graded: Path, browser: Browser, scheme: str, width: int) -> None:
    """The longest student pages and the staff pages have no accessibility violations when expanded."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme=scheme,  # type: ignore[arg-type]
        bypass_csp=True,  # axe is a script
    )
    page = context.new_page()
    wrong = {}
    for file in (*longest(graded), *graded.glob("staff/*.html")):
        page.goto(file.as_uri())
        wrong[str(file.relative_to(graded))] = ["wider than the window"] * (page.evaluate(_OVER) > 0)
        page.evaluate(_UNFOLD)
        wrong[str(file.relative_to(graded))] += faults(page)
    context.close()
    assert 2 * len(SUBJECTS) == len(wrong)
    assert {} == {name: problems for name, problems in wrong.items() if problems}


def test_the_staffs_table_is_sorted_under_its_own_policy(graded: Path, browser: Browser) -> None:
    """The table is sorted by points in both directions, and the policy allows the script."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((graded / "staff" / f"{SUBJECTS[0].assignment}.html").as_uri())

    def points() -> list[float]:
        cells = page.locator("table.sortable tbody td[data-label=Points]").all()
        return [float(cell.get_attribute("data-sort") or "") for cell in cells]

    before = points()
    page.get_by_role("button", name="Points").click()
    assert sorted(before) == points() != sorted(before, reverse=True)
    page.get_by_role("button", name="Points").click()
    assert sorted(before, reverse=True) == points()
    assert "descending" == page.locator("th", has_text="Points").first.get_attribute("aria-sort")
    link = page.locator("table.sortable tbody a").first
    with page.expect_navigation():
        link.click()
    assert page.locator("h1").count() == 1
    assert [] == said
    page.close()


def test_an_exam_is_a_few_sheets_of_paper(graded: Path, browser: Browser) -> None:
    """Collapsed parts are short on paper, so that an exam has at most 15 sheets."""
    page = browser.new_page()
    sheets: list[int] = []
    for file in graded.glob(f"feedback/*/{SUBJECTS[0].assignment}/*.html"):
        page.goto(file.as_uri())
        sheets.append(page.pdf(format="A4").count(b"/Type /Page\n"))
    page.close()
    assert STUDENTS == len(sheets)
    assert 0 < min(sheets) <= max(sheets) <= 15
