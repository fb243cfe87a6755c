"""Mark the same class in formgrader and in the service, both driven in Chromium, and count the marker's
actions.

Every distinct answer gets points that follow from its text, item by item: none, half or all of them. Key
presses (two keys at once are one), clicks and loaded pages are counted.

Formgrader is used with the fewest actions: a box that has the focus is typed into, all or no points are one
click on a button, everything else is a click and the digits, and one key press leads to the next student.
``by boxes`` follows its documentation: a click into each box, and the digits. The service is marked by groups
of equal answers. The cost one answer after another, as in a class without equal answers, is computed.
Formgrader loads MathJax from the internet; here a stub that finishes immediately replaces it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from playwright.sync_api import Page, sync_playwright

from autograder import assignment as assignments
from autograder.app.stores import open_store
from autograder.course import Course
from autograder.marking.points import cell_points
from tests.support.served import Served, wait_for

if TYPE_CHECKING:
    from autograder.service.models import Offer

HALF = Decimal(2)
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
MATHJAX = """
var MathJax = {Hub: {Config() {}, Startup: {signal: {Interest(told) { setTimeout(() => told("End"), 0); }}}}};
"""
FOCUSED = "() => document.activeElement.id"
OF_STUDENT = """
SELECT submitted_notebook.id, submitted_assignment.student_id FROM submitted_notebook
JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
"""


class Marked(Struct, frozen=True):
    """One answer that needs marking, and its points."""

    keys: tuple[str, ...]
    """The keys that give the points in the service, item by item."""
    points: Decimal
    """Points of the cell."""
    most: Decimal
    equal: str

    @property
    def digits(self) -> str:
        """The points as they are typed."""
        return f"{self.points.normalize():f}"


class Counted(Struct):
    """The actions of a marker."""

    page: Page
    keys: int = 0
    clicks: int = 0
    loads: int = 0

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)
        self.keys += 1

    def click(self, selector: str) -> None:
        """Click the first match."""
        self.page.locator(selector).first.click()
        self.clicks += 1

    def leads(self, key: str) -> None:
        """Press a key that opens another page."""
        with self.page.expect_navigation():
            self.press(key)

    def follow(self, selector: str) -> None:
        """Click a link to another page."""
        with self.page.expect_navigation():
            self.click(selector)

    def loaded(self) -> None:
        """Count a loaded page."""
        self.loads += 1

    def figures(self) -> dict[str, int]:
        """Return the counts for the output."""
        found = {"keys": self.keys, "clicks": self.clicks, "actions": self.keys + self.clicks}
        return {**found, "loads": self.loads, "all": self.keys + self.clicks + self.loads}


def to_mark(offer: Offer) -> dict[int, tuple[str, str, Marked]]:
    """Return student, cell and points of each answer to be marked, by its number."""
    from autograder.service import versions
    from autograder.service.marking import answers
    from autograder.service.models import CellMark

    found, rubric = {}, versions.rubric_of(offer.version)
    rows = CellMark.objects.filter(
        place__course=offer.course,
        place__assignment=offer.assignment,
        points=None,
        pending=True,
        answered=True,
    ).select_related("place")
    for row in rows:
        cell = answers.cell_of(rubric, row.place.notebook, row.place.cell)
        assert cell is not None
        verdicts, given, keys = answers.verdicts(row), {}, []
        open_ = [item.id for item in cell.items if verdicts.get(item.id) is None]
        for item in cell.items[: 1 + max(n for n, one in enumerate(cell.items) if one.id in open_)]:
            if item.id not in open_:
                keys.append("j")
                continue
            text = f"{row.place.cell}\0{item.id}\0{row.equal or row.computed}"
            # A hash, so that equal answers get equal points in both programs.
            key = "0ha"[hashlib.sha256(text.encode()).digest()[0] % 3]
            given[item.id] = {"0": Decimal(0), "h": item.points / HALF, "a": item.points}[key]
            keys.append(key)
        points = cell_points(cell.question, cell.name, verdicts, given)
        assert points is not None
        marked = Marked(tuple(keys), points, cell.possible, row.equal or row.computed)
        found[row.pk] = (row.student, row.place.cell, marked)
    return found


# ---------------------------------------------------------------- formgrader


@contextlib.contextmanager
def jupyter(folder: Path) -> Iterator[str]:
    """Run a Jupyter server with formgrader in a course's folder; yield its address."""
    # Port 0 lets the kernel choose a free port.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    own = folder / ".jupyter-of-benchmark"
    own.mkdir()
    words = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(own), "JUPYTER_DATA_DIR": str(own)}
    with (own / "log").open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *words, f"--ServerApp.root_dir={folder}"],
            cwd=folder,
            env={**environment, "JUPYTER_RUNTIME_DIR": str(own), "HOME": str(own)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert started.poll() is None, (own / "log").read_text()
        try:
            with urllib.request.urlopen(f"{address}/api", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    try:
        wait_for(answers, 60, "the Jupyter server does not answer")
        yield address
    finally:
        started.terminate()
        started.wait()


def in_formgrader(
    page: Page, address: str, folder: Path, name: str, wanted: Mapping[tuple[str, str], Marked]
) -> Counted:
    """Mark a class in formgrader: one student after another."""
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as book:
        students = dict(book.execute(OF_STUDENT).fetchall())
    by = Counted(page)
    page.on("load", lambda _: by.loaded())
    page.route("**/mathjax/**", lambda route: route.fulfill(body=MATHJAX, content_type="text/javascript"))
    page.goto(f"{address}/formgrader/gradebook/{name}/{name}")
    by.follow('a[href*="/formgrader/submissions/"]')
    while "/submissions/" in page.url:
        page.wait_for_function("() => typeof formgrader === 'object' && formgrader.loaded && MathJax.loaded")
        page.wait_for_function("() => formgrader.grades.loaded && formgrader.comments.loaded && !$.active")
        student = students[page.url.partition("/submissions/")[2].partition("/")[0]]
        _one_student(by, {cell: one for (who, cell), one in wanted.items() if who == student})
        page.wait_for_function("() => !$.active")
        before = by.loads
        by.press("Control+.")
        while by.loads == before:
            page.wait_for_timeout(20)
    return by


def _one_student(by: Counted, wanted: Mapping[str, Marked]) -> None:
    """Fill all boxes of a page that need points; in reverse order if the last of them has the focus."""
    by.page.evaluate("() => { $.fx.off = true; }")  # a click waits until the page has scrolled to the box
    boxes: list[str] = by.page.evaluate("() => [...document.querySelectorAll('.score')].map((one) => one.id)")
    cells = [cell for cell in boxes if cell in wanted]
    assert len(cells) == len(wanted), set(wanted) - set(boxes)
    if cells and by.page.evaluate(FOCUSED) == cells[-1]:
        cells.reverse()
    for cell in cells:
        marked, box = wanted[cell], f'[id="{cell}"]'
        focused = by.page.evaluate(FOCUSED) == cell
        if not focused and marked.points in {0, marked.most}:
            by.click(f".nbgrader_cell:has({box}) .{'full' if marked.points else 'no'}-credit")
            continue
        if not focused:
            by.click(box)
        for digit in marked.digits:
            by.press(digit)


# ---------------------------------------------------------------- the service


def in_the_service(
    page: Page, service: Served, name: str, wanted: Mapping[int, Marked], person: tuple[str, str]
) -> Counted:
    """Mark a class in the service: the groups of one cell after those of another."""
    page.goto(service.address("app/accounts/login/"))
    page.locator("#id_login").fill(person[0])
    page.locator("#id_password").fill(person[1])
    with page.expect_navigation():
        page.keyboard.press("Enter")
    by = Counted(page)
    page.on("load", lambda _: by.loaded())
    overview = service.address(f"app/c/{service.slug}/staff/a/{name}/mark/")
    page.goto(overview)
    waiting = 'tr:has(td a[href$="which=waiting"]) a[href$="/groups/"]'
    while page.locator(waiting).count():
        by.follow(waiting)
        by.follow("li.group:not(:has(.soft)) a.button")
        while page.url != overview:
            number = int(page.url.partition("/answers/")[2].partition("/")[0])
            for key in wanted[number].keys:
                by.press(key)
            by.leads("n")
            assert page.locator(".notice.success").is_visible()
    return by


# ---------------------------------------------------------------- both


def compared(service: Served, offer: Offer, folder: Path, person: tuple[str, str]) -> dict[str, Any]:
    """Mark a class in both programs, and count.

    Args:
        service: that has the class.
        offer: the assignment.
        folder: a copy of the course's folder for formgrader.
        person: name and password of a marker.
    """
    from autograder.service.store import DatabaseStore

    answers, name = to_mark(offer), offer.assignment
    program = shutil.which("chromium")
    assert program is not None, "there is no Chromium here"
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "yes"  # Playwright's loop runs in this thread
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS])
        started = time.monotonic()
        marks = {number: one for number, (_, _, one) in answers.items()}
        ours = in_the_service(browser.new_page(), service, name, marks, person)
        middle = time.monotonic()
        with jupyter(folder) as address:
            cells = {(student, cell): one for student, cell, one in answers.values()}
            theirs = in_formgrader(browser.new_page(), address, folder, name, cells)
        ended = time.monotonic()
        browser.close()
    given = DatabaseStore(offer.course).marks(name)
    with open_store(assignments.load(Course.at(folder), name), new=False) as book:
        other = book.marks(name)
    points = [
        {(student, *cell): mark.points for student, all_ in one.items() for cell, mark in all_.items()}
        for one in (given, other)
    ]
    # The comparison is only fair if both ways lead to the same marks.
    assert points[0] == points[1], set(points[0].items()) ^ set(points[1].items())
    assert len(points[0]) == len(answers)
    return _told(ours, theirs, answers, middle - started, ended - middle)


def _told(
    ours: Counted,
    theirs: Counted,
    answers: Mapping[int, tuple[str, str, Marked]],
    *seconds: float,
) -> dict[str, Any]:
    everybody = [one for _, _, one in answers.values()]
    students = len({student for student, _, _ in answers.values()})
    cells = len({cell for _, cell, _ in answers.values()})
    boxes = sum(1 + len(one.digits) for one in everybody) + theirs.loads
    single = sum(len(one.keys) + 1 for one in everybody) + cells
    mine, other = ours.figures(), theirs.figures()
    return {
        "class": {
            "students": students,
            "cells": cells,
            "answers": len(answers),
            "distinct": len({(cell, one.equal) for _, cell, one in answers.values()}),
            "equal_points": True,
        },
        "formgrader": {**other, "seconds": round(seconds[1])},
        "formgrader by boxes": {"actions": boxes, "loads": theirs.loads, "all": boxes + theirs.loads},
        "service": {**mine, "seconds": round(seconds[0])},
        "service without groups": {"actions": single, "loads": len(answers) + 1 + cells},
        "times fewer": {
            "actions": round(other["actions"] / mine["actions"], 2),
            "loads": round(other["loads"] / mine["loads"], 2),
            "all": round(other["all"] / mine["all"], 2),
            "all by boxes": round((boxes + theirs.loads) / mine["all"], 2),
        },
    }
