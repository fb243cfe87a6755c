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

from autograder.app.stores import open_store
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.marking.points import compute_cell_points
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


class MarkedAnswer(Struct, frozen=True):
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


class ActionCounter(Struct):
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

    def follow_key(self, key: str) -> None:
        """Press a key that opens another page."""
        with self.page.expect_navigation():
            self.press(key)

    def follow_link(self, selector: str) -> None:
        """Click a link to another page."""
        with self.page.expect_navigation():
            self.click(selector)

    def count_load(self) -> None:
        """Count a loaded page."""
        self.loads += 1

    def collect_figures(self) -> dict[str, int]:
        """Return the counts for the output."""
        counts = {"keys": self.keys, "clicks": self.clicks, "actions": self.keys + self.clicks}
        return {**counts, "loads": self.loads, "all": self.keys + self.clicks + self.loads}


def plan_marks(offer: Offer) -> dict[int, tuple[str, str, MarkedAnswer]]:
    """Return student, cell and points of each answer to be marked, by its number."""
    from autograder.service import versions
    from autograder.service.marking import answers
    from autograder.service.models import CellMark

    planned, rubric = {}, versions.load_rubric(offer.version)
    rows = CellMark.objects.filter(
        place__course=offer.course,
        place__assignment=offer.assignment,
        points=None,
        pending=True,
        answered=True,
    ).select_related("place")
    for row in rows:
        cell = answers.find_cell(rubric, row.place.notebook, row.place.cell)
        assert cell is not None
        verdicts, points_by_item, keys = answers.load_verdicts(row), {}, []
        open_ = [item.id for item in cell.items if verdicts.get(item.id) is None]
        for item in cell.items[
            : 1 + max(n for n, open_item in enumerate(cell.items) if open_item.id in open_)
        ]:
            if item.id not in open_:
                keys.append("j")
                continue
            text = f"{row.place.cell}\0{item.id}\0{row.equal or row.computed}"
            # A hash, so that equal answers get equal points in both programs.
            key = "0ha"[hashlib.sha256(text.encode()).digest()[0] % 3]
            points_by_item[item.id] = {"0": Decimal(0), "h": item.points / HALF, "a": item.points}[key]
            keys.append(key)
        points = compute_cell_points(cell.question, cell.name, verdicts, points_by_item)
        assert points is not None
        marked = MarkedAnswer(tuple(keys), points, cell.possible, row.equal or row.computed)
        planned[row.pk] = (row.student, row.place.cell, marked)
    return planned


# ---------------------------------------------------------------- formgrader


@contextlib.contextmanager
def serve_jupyter(folder: Path) -> Iterator[str]:
    """Run a Jupyter server with formgrader in a course's folder; yield its address."""
    # Port 0 lets the kernel choose a free port.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    settings_folder = folder / ".jupyter-of-benchmark"
    settings_folder.mkdir()
    words = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(settings_folder),
        "JUPYTER_DATA_DIR": str(settings_folder),
    }
    with (settings_folder / "log").open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *words, f"--ServerApp.root_dir={folder}"],
            cwd=folder,
            env={**environment, "JUPYTER_RUNTIME_DIR": str(settings_folder), "HOME": str(settings_folder)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"

    def check_answer() -> bool:
        assert started.poll() is None, (settings_folder / "log").read_text()
        try:
            with urllib.request.urlopen(f"{address}/api", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    try:
        wait_for(check_answer, 60, "the Jupyter server does not answer")
        yield address
    finally:
        started.terminate()
        started.wait()


def mark_in_formgrader(
    page: Page, address: str, folder: Path, name: str, planned: Mapping[tuple[str, str], MarkedAnswer]
) -> ActionCounter:
    """Mark a class in formgrader: one student after another."""
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as book:
        students = dict(book.execute(OF_STUDENT).fetchall())
    counter = ActionCounter(page)
    page.on("load", lambda _: counter.count_load())
    page.route("**/mathjax/**", lambda route: route.fulfill(body=MATHJAX, content_type="text/javascript"))
    page.goto(f"{address}/formgrader/gradebook/{name}/{name}")
    counter.follow_link('a[href*="/formgrader/submissions/"]')
    while "/submissions/" in page.url:
        page.wait_for_function("() => typeof formgrader === 'object' && formgrader.loaded && MathJax.loaded")
        page.wait_for_function("() => formgrader.grades.loaded && formgrader.comments.loaded && !$.active")
        student = students[page.url.partition("/submissions/")[2].partition("/")[0]]
        _mark_student(
            counter,
            {
                cell: answer
                for (name_of_student, cell), answer in planned.items()
                if name_of_student == student
            },
        )
        page.wait_for_function("() => !$.active")
        before = counter.loads
        counter.press("Control+.")
        while counter.loads == before:
            page.wait_for_timeout(20)
    return counter


def _mark_student(counter: ActionCounter, planned: Mapping[str, MarkedAnswer]) -> None:
    """Fill all boxes of a page that need points; in reverse order if the last of them has the focus."""
    counter.page.evaluate(
        "() => { $.fx.off = true; }"
    )  # a click waits until the page has scrolled to the box
    boxes: list[str] = counter.page.evaluate(
        "() => [...document.querySelectorAll('.score')].map((one) => one.id)"
    )
    cells = [cell for cell in boxes if cell in planned]
    assert len(cells) == len(planned), set(planned) - set(boxes)
    if cells and counter.page.evaluate(FOCUSED) == cells[-1]:
        cells.reverse()
    for cell in cells:
        marked, box = planned[cell], f'[id="{cell}"]'
        focused = counter.page.evaluate(FOCUSED) == cell
        if not focused and marked.points in {0, marked.most}:
            counter.click(f".nbgrader_cell:has({box}) .{'full' if marked.points else 'no'}-credit")
            continue
        if not focused:
            counter.click(box)
        for digit in marked.digits:
            counter.press(digit)


# ---------------------------------------------------------------- the service


def mark_in_service(
    page: Page, service: Served, name: str, planned: Mapping[int, MarkedAnswer], person: tuple[str, str]
) -> ActionCounter:
    """Mark a class in the service: the groups of one cell after those of another."""
    page.goto(service.address("app/accounts/login/"))
    page.locator("#id_login").fill(person[0])
    page.locator("#id_password").fill(person[1])
    with page.expect_navigation():
        page.keyboard.press("Enter")
    counter = ActionCounter(page)
    page.on("load", lambda _: counter.count_load())
    overview = service.address(f"app/c/{service.slug}/staff/a/{name}/mark/")
    page.goto(overview)
    waiting_row = 'tr:has(td a[href$="which=waiting"]) a[href$="/groups/"]'
    while page.locator(waiting_row).count():
        counter.follow_link(waiting_row)
        counter.follow_link("li.group:not(:has(.soft)) a.button")
        while page.url != overview:
            number = int(page.url.partition("/answers/")[2].partition("/")[0])
            for key in planned[number].keys:
                counter.press(key)
            counter.follow_key("n")
            assert page.locator(".notice.success").is_visible()
    return counter


# ---------------------------------------------------------------- both


def compare_marking(service: Served, offer: Offer, folder: Path, person: tuple[str, str]) -> dict[str, Any]:
    """Mark a class in both programs, and count.

    Args:
        service: that has the class.
        offer: the assignment.
        folder: a copy of the course's folder for formgrader.
        person: name and password of a marker.
    """
    from autograder.service.store import DatabaseStore

    answers, name = plan_marks(offer), offer.assignment
    program = shutil.which("chromium")
    assert program is not None, "there is no Chromium here"
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "yes"  # Playwright's loop runs in this thread
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS])
        started = time.monotonic()
        marks = {number: marks_of_program for number, (_, _, marks_of_program) in answers.items()}
        ours = mark_in_service(browser.new_page(), service, name, marks, person)
        middle = time.monotonic()
        with serve_jupyter(folder) as address:
            cells = {
                (student, cell): marks_of_program for student, cell, marks_of_program in answers.values()
            }
            theirs = mark_in_formgrader(browser.new_page(), address, folder, name, cells)
        ended = time.monotonic()
        browser.close()
    service_marks = DatabaseStore(offer.course).load_marks(name)
    with open_store(assignments.load_assignment(Course.from_folder(folder), name), new=False) as book:
        formgrader_marks = book.load_marks(name)
    points = [
        {
            (student, *cell): mark.points
            for student, all_ in marks_of_program.items()
            for cell, mark in all_.items()
        }
        for marks_of_program in (service_marks, formgrader_marks)
    ]
    # The comparison is only fair if both ways lead to the same marks.
    assert points[0] == points[1], set(points[0].items()) ^ set(points[1].items())
    assert len(points[0]) == len(answers)
    return _build_report(ours, theirs, answers, middle - started, ended - middle)


def _build_report(
    ours: ActionCounter,
    theirs: ActionCounter,
    answers: Mapping[int, tuple[str, str, MarkedAnswer]],
    *seconds: float,
) -> dict[str, Any]:
    all_answers = [answer for _, _, answer in answers.values()]
    students = len({student for student, _, _ in answers.values()})
    cells = len({cell for _, cell, _ in answers.values()})
    boxes = sum(1 + len(answer.digits) for answer in all_answers) + theirs.loads
    single = sum(len(answer.keys) + 1 for answer in all_answers) + cells
    mine, other = ours.collect_figures(), theirs.collect_figures()
    return {
        "class": {
            "students": students,
            "cells": cells,
            "answers": len(answers),
            "distinct": len({(cell, answer.equal) for _, cell, answer in answers.values()}),
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
