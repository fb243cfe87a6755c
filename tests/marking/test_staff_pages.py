"""Staff pages about a class, as files: student text is never markup, and browsers report no errors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from tests.marking.staff_pages import HOSTILE, similar_page, statistics_page
from tests.pages.test_render import Page
from tests.support.thorough import rotating

PAGES: dict[str, Callable[[], str]] = {"statistics": statistics_page, "similar": similar_page}
_SHOTS = os.environ.get("SCREENSHOTS", "")
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice")
_OVER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
_SORTED = """() => {
    const table = document.querySelector("table.sortable"), column = table.tHead.rows[0].cells[%d];
    column.querySelector("button").click();
    return [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[%d].textContent));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser that all pages share."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_of_a_student_becomes_markup(name: str) -> None:
    """Student text is escaped, and the page contains a single script and no event handlers."""
    source = PAGES[name]()
    page = Page(source)
    assert HOSTILE in page.text
    assert 1 == sum(tag == "script" for tag, _ in page.elements) == source.count("<script")
    assert not [one for _, one in page.elements if any(key.startswith("on") for key in one)]
    assert "img" not in {tag for tag, _ in page.elements}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), rotating([(1280, False), (390, True)], 2))
@pytest.mark.parametrize("name", PAGES)
def test_a_browser_finds_nothing_to_complain_of(
    browser: Browser, name: str, width: int, dark: bool, tmp_path: Path
) -> None:
    """No axe violation, overflow or refused request; a click sorts a table."""
    path = tmp_path / f"{name}.html"
    path.write_text(PAGES[name](), "utf-8")
    scheme = "dark" if dark else "light"
    wrong: list[str] = []
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(path.as_uri())
        if _SHOTS:
            page.screenshot(path=Path(_SHOTS) / f"{name}-{width}-{scheme}.png", full_page=True)
        page.evaluate(Axe().axe_script)
        report = page.evaluate("options => axe.run(options)", {"runOnly": list(_RULES)})
        over = page.evaluate(_OVER)
        column = 1 if name == "statistics" else 3
        figures = page.evaluate(_SORTED % (column, column))
    assert [] == [
        f"{violation['id']}: {[node['html'][:200] for node in violation['nodes']]}"
        for violation in report["violations"]
    ]
    assert 0 == over
    assert sorted(figures) == figures != []
    assert [] == wrong
