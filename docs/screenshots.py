"""Take the screenshots of the documentation from the running demo: ``python docs/screenshots.py``.

Needs Chromium and takes some minutes. The course secret, the dates and the windows are fixed, so that a
picture changes only if its page does.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import tempfile
from decimal import Decimal
from pathlib import Path

import nbformat
from msgspec import Struct
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ExecutePreprocessor
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, FilePayload, FloatRect, Page, sync_playwright

from autograder.app.marking_sheet_rows import write_sheet
from autograder.authoring.demo.bad_notebooks import get_grade_id
from autograder.authoring.demo.course import make_course
from autograder.authoring.demo.students import EXAM, GPT2, fill_answers
from autograder.course import SECRET_BYTES
from tests.support.accounts import PASSWORD
from tests.support.served import Served, wait_for

IMAGES = Path(__file__).parent / "images"
STUDENT, MARKER, INSTRUCTOR = "s1017", "t.lindner", "exam-instructor"
IN_REVIEW = ("s1022", "s1006", "s1024")
"""Students whose written answers stay unmarked; the first one is shown in ``feedback.png``."""
COURSE = "/app/c/exam/"
MINE, STAFF = f"{COURSE}a/{EXAM.assignment}/", f"{COURSE}staff/a/{EXAM.assignment}/"
UNFINISHED = "SELECT count(*) FROM service_attempt WHERE state NOT IN ('graded', 'failed')"
DATES = """
UPDATE service_offer SET
  published_at = CASE assignment WHEN %s THEN timestamptz '2026-02-20 09:00+01' END,
  times = CASE assignment WHEN %s THEN jsonb '{"end": "2031-02-12T23:59:00", "zone": "Europe/Berlin"}'
    ELSE times END
RETURNING id
"""
HIDE_TIME_LEFT = """
for (const left of document.querySelectorAll("p > strong.whole")) {
  left.previousSibling.data = left.previousSibling.data.replace("\u00b7", "");
  left.remove();
}
"""
"""The time left until a deadline differs between two runs."""
CHECKED = {
    "task3-d-answer": 'layer_parameters = "4 n_heads d_model d_head + 8 d_model^2"',
    "task3-f-answer": 'model_parameters = "n_layers * (12 d_model^2"',
}
"""Answers in the picture of a notebook: one that can be read, and one without its closing bracket."""


class Shot(Struct, frozen=True):
    """A page, and the part of it that is shown."""

    name: str
    user: str
    path: str
    height: int
    """In CSS pixels, at most; a shorter page gives a shorter picture."""
    width: int = 1366
    scale: float = 1
    follow: str = ""
    """Selector of a link on the page that leads to the one that is shown."""
    element: str = ""
    """Selector of the only element of the feedback that is shown."""


SHOTS = (
    Shot("assignment-student", STUDENT, f"{COURSE}a/{GPT2.assignment}/", 800),
    Shot("result-student", STUDENT, f"{MINE}feedback/", 1060),
    Shot("result-phone", STUDENT, f"{MINE}feedback/", 844, 390, 2),
    Shot("assignment-staff", INSTRUCTOR, STAFF, 900),
    Shot("members", INSTRUCTOR, f"{COURSE}staff/members/", 788),
    Shot("statistics", INSTRUCTOR, f"{STAFF}statistics/", 1000),
    Shot(
        "feedback",
        INSTRUCTOR,
        f"{STAFF}of/{IN_REVIEW[0]}/",
        900,
        832,
        1.5,
        element="details:has-text('task3-d')",
    ),
    Shot("grading-queue", MARKER, f"{STAFF}mark/", 752),
    Shot("marking", MARKER, f"{STAFF}mark/", 860, follow="table a[href*='which=waiting']"),
)


def open_page(browser: Browser, served: Served, shot: Shot, password: str) -> Page:
    """Return the page of a picture, opened by its user."""
    context = browser.new_context(
        base_url=served.address(),
        viewport={"width": shot.width, "height": shot.height},
        device_scale_factor=shot.scale,
        locale="en",
        color_scheme="light",
    )
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.goto(shot.path)
    page.fill("#id_login", shot.user)
    page.fill("#id_password", password)
    with page.expect_navigation():
        page.locator("main form button").first.click()
    if shot.follow:
        with page.expect_navigation():
            page.locator(shot.follow).first.click()
    return page


def save_image(page: Page, shot: Shot) -> None:
    """Write a picture with a palette: of one element, or of the window, cropped below the content."""
    path = IMAGES / f"{shot.name}.png"
    if shot.element:
        # Inside the frame of a page, text can lie between two pixels and is blurred.
        page.goto(str(page.locator("iframe.made").get_attribute("src")))
        element = page.locator(shot.element).first
        element.evaluate("details => { details.open = true; }")
        element.screenshot(path=path, animations="disabled")
    else:
        page.evaluate(HIDE_TIME_LEFT)
        bottom = page.evaluate(
            "document.querySelector('main').lastElementChild.getBoundingClientRect().bottom"
        )
        clip = FloatRect(x=0, y=0, width=shot.width, height=min(shot.height, bottom + 24))
        page.screenshot(path=path, animations="disabled", clip=clip)
    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def mark_answers(context: BrowserContext) -> None:
    """Mark all written answers but those of `IN_REVIEW` with a marking sheet: longer ones get more points."""
    sheet = context.request.get(f"{STAFF}mark/sheet.csv?names=on").body().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(sheet, newline="")))
    for row in rows:
        if row["who"] not in IN_REVIEW:
            halves = min(len(row["answer"]) // 40, 2)
            row["points"] = str(Decimal(row["possible"].replace(",", ".")) * halves / 2)
    filled = FilePayload(name="marks.csv", mimeType="text/csv", buffer=write_sheet(rows))
    page = context.new_page()
    page.goto(f"{STAFF}mark/")
    page.locator("#sheet > summary").click()
    page.set_input_files("#sheet-file", filled)
    page.get_by_role("button", name="Upload marking sheet").click()
    page.get_by_role("status").wait_for()


def render_notebook(release: Path) -> str:
    """Return the page of a released notebook with two answers and what ``check()`` says about them."""
    notebook = nbformat.from_dict(
        fill_answers(nbformat.read(release / f"{EXAM.assignment}.ipynb", 4), CHECKED)
    )
    shown = re.compile("setup|task3-[df](-prompt|-answer)?")
    notebook.cells = [cell for cell in notebook.cells if shown.fullmatch(get_grade_id(cell))]
    runner, exporter = ExecutePreprocessor(), HTMLExporter(mathjax_url="", require_js_url="")  # type: ignore[no-untyped-call]
    runner.preprocess(notebook, {"metadata": {"path": str(release)}})
    return str(exporter.from_notebook_node(notebook)[0])


def main() -> None:
    """Make, serve, grade and mark the demo course, and write all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        course, _ = make_course(Path(folder) / "dl4nlp", students=24, seed=1)
        for submission in course.root.glob(f"submitted/*/{GPT2.assignment}"):
            if submission.parent.name != STUDENT:  # of the others nothing is shown, so nothing is graded
                shutil.rmtree(submission)
        (course.private / "secret").write_bytes(bytes(SECRET_BYTES))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        notebook = Shot("check-notebook", "", "", 700, 900, 1.5)
        page = browser.new_page(viewport={"width": 900, "height": 700}, device_scale_factor=1.5)
        page.set_content(render_notebook(course.root / "release" / EXAM.assignment))
        save_image(page, notebook)
        with Served(course.root, "--demo") as served:
            wait_for(lambda: served.rows(UNFINISHED) == [(0,)], 900, "not all attempts are graded", again=2)
            served.rows(DATES, EXAM.assignment, GPT2.assignment)
            served.accounts([STUDENT], "student")
            served.accounts([MARKER], "ta")
            printed = re.findall(r"sign in as (\S+) with the password (\S+)", "".join(served.said))
            passwords = {STUDENT: PASSWORD, MARKER: PASSWORD, **dict(printed)}
            mark_answers(open_page(browser, served, SHOTS[-2], PASSWORD).context)
            for shot in SHOTS:
                page = open_page(browser, served, shot, passwords[shot.user])
                save_image(page, shot)
                page.context.close()
            browser.close()


if __name__ == "__main__":
    main()
