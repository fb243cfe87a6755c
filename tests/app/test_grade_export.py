"""Exporting the grades of a class for platforms: which students are included, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.app.grade_export import ExportOptions, ExportReport, export_grades
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.grades import PersonMark
from autograder.grading.release_generation import generate_release
from autograder.grading.store import GradedEntry, ResultKey
from autograder.store.memory import MemoryStore
from tests.service.course import canned
from tests.support.small_course import NAME, changed, small_course

ROSTER = "id,first_name,last_name,email\nada,Ada,Lovelace,ada@x.org\nbob,Bob,=1+1,\nida,Ida,Late,\n"
WORKSHEET = (
    "Identifier,Full name,ID number,Grade,Maximum grade,Feedback comments\n"
    "Participant 7,Ada Lovelace,ada,,13.00,\nParticipant 9,Ida Late,ida,,13.00,\n"
)
Export = Callable[..., ExportReport]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small course, released, with two submissions."""
    root = tmp_path_factory.mktemp("export") / "course"
    course = small_course(root)
    generate_release(course, NAME)
    course.roster.write_text(ROSTER)
    for student in ("ada", "bob"):
        shutil.copytree(course.locate_release(NAME), root / "submitted" / student / NAME)
    (root / "submitted" / "ada" / NAME / "timestamp.txt").write_text("2026-02-12 09:20:30 UTC")
    return root


@pytest.fixture
def course(original: Path, tmp_path: Path) -> Course:
    """A copy of the course."""
    shutil.copytree(original, tmp_path / "course")
    return Course.from_folder(tmp_path / "course")


@pytest.fixture
def export(course: Course) -> Export:
    """Export from a store in memory: Ada's marks are complete, Bob's need manual review."""
    assignment = assignments.load_assignment(course, NAME)
    store = MemoryStore()
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    for student in ("ada", "bob"):
        attempt: Any = SimpleNamespace(student=student, digest="d" * 64)
        key = ResultKey.from_submission(student, attempt.digest, assignment.rubric, "e" * 64)
        store.record_results([GradedEntry(key, canned(assignment.rubric, attempt), assignment.rubric)])
    for cell, points in ((("formulas", "mlp-why"), "0.5"), (("code", "thoughts"), "1")):
        store.give_mark(NAME, "ada", cell, PersonMark(Decimal(points), comment="@well: done"))

    def exported(form: str, to: Path, **options: Any) -> ExportReport:
        return export_grades(
            course, NAME, form, to, ExportOptions(**options), store=lambda _assignment, *, new: store
        )

    return exported


def test_marks_that_are_not_final_are_left_out(export: Export, tmp_path: Path) -> None:
    """Provisional marks are listed and left out; on request they are included with their state."""
    to = tmp_path / "grades.jsonl"
    done = export("jsonl", to)
    assert (("ada",), ("bob",)) == (done.entered, done.provisional)
    [line] = [json.loads(text) for text in to.read_text().splitlines()]
    assert ("Ada", "Lovelace", 2.5, 13, "final", "2026-02-12T09:20:30Z") == tuple(
        line[key] for key in ("first_name", "last_name", "total", "possible", "state", "submitted_at")
    )
    questions = {question["id"]: question for question in line["questions"]}
    assert ["@well: done"] == questions["thoughts"]["comments"]
    assert [("formula", 0, False), ("why", 0.5, True)] == [
        (item["id"], item["points"], item["marked"]) for item in questions["mlp"]["items"]
    ]
    both = export("jsonl", to, provisional=True)
    assert (("ada", "bob"), ()) == (both.entered, both.provisional)
    lines = [json.loads(text) for text in to.read_text().splitlines()]
    assert ["final", "provisional"] == [entry["state"] for entry in lines]


def test_export_enters_students_whose_comments_are_unread(course: Course, tmp_path: Path) -> None:
    """An open question without points, such as "Comments?", does not hold back a mark."""
    rubric = course.locate_rubric(NAME)
    changed(rubric, "points = 13", "points = 12")
    head, thoughts = rubric.read_text(encoding="utf-8").split('id = "thoughts"')
    rubric.write_text(
        f'{head}id = "thoughts"{thoughts.replace("points = 1", "points = 0")}', encoding="utf-8"
    )
    source = course.locate_source(NAME) / "code.ipynb"
    notebook = json.loads(source.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if (flags := cell["metadata"].get("nbgrader", {})).get("grade_id") == "thoughts":
            flags["points"] = 0
    source.write_text(json.dumps(notebook), encoding="utf-8")
    generate_release(course, NAME)
    assignment = assignments.load_assignment(course, NAME)
    store = MemoryStore()
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    attempt: Any = SimpleNamespace(student="ada", digest="d" * 64)
    key = ResultKey.from_submission("ada", attempt.digest, assignment.rubric, "e" * 64)
    store.record_results([GradedEntry(key, canned(assignment.rubric, attempt), assignment.rubric)])
    store.give_mark(NAME, "ada", ("formulas", "mlp-why"), PersonMark(Decimal("0.5")))
    to = tmp_path / "grades.jsonl"
    done = export_grades(course, NAME, "jsonl", to, ExportOptions(), store=lambda _assignment, *, new: store)
    assert (("ada",), ()) == (done.entered, done.provisional)
    line = json.loads(to.read_text(encoding="utf-8"))
    assert ("final", 1.5, 12) == (line["state"], line["total"], line["possible"])


def test_moodle_gets_its_worksheet_and_pages(export: Export, course: Course, tmp_path: Path) -> None:
    """Students without a row, rows without a mark and missing pages are reported."""
    sheet, pages = tmp_path / "grades.csv", tmp_path / "pages.zip"
    sheet.write_text(WORKSHEET)
    page = course.locate_feedback("ada", NAME) / f"{NAME}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>ada")
    to = tmp_path / "filled.csv"
    done = export("moodle", to, fill=sheet, feedback=pages, comments=True, provisional=True)
    assert ((to, pages), ("ada",), ("bob",)) == (done.files, done.entered, done.missing)
    rows = list(csv.DictReader(io.StringIO(to.read_text())))
    assert [("ada", "2.50"), ("ida", "")] == [(row["ID number"], row["Grade"]) for row in rows]
    assert "– @well: done" in rows[0]["Feedback comments"]
    with zipfile.ZipFile(pages) as archive:
        assert [f"Ada Lovelace_7_assignsubmission_file_/{NAME}.html"] == archive.namelist()
    for message in (
        "these marks have no place in the file: bob",
        "without a mark, and left as they are: ida",
        f"no page yet: bob; run: autograder feedback {NAME}",
    ):
        assert message in done.remarks


def test_what_does_not_go_together_writes_nothing(export: Export, tmp_path: Path) -> None:
    """Missing, invalid or mismatched worksheets, foreign options and unknown formats are refused."""
    sheet, to = tmp_path / "grades.csv", tmp_path / "to.csv"
    with pytest.raises(CourseError, match="name it with --fill FILE"):
        export("moodle", to)
    with pytest.raises(CourseError, match="expected one of moodle, canvas, ilias, csv, jsonl, got 'odt'"):
        export("odt", to)
    with pytest.raises(CourseError, match="nothing is filled for csv"):
        export("csv", to, fill=sheet)
    with pytest.raises(CourseError, match="an archive of pages is for moodle"):
        export("csv", to, feedback=sheet)
    with pytest.raises(CourseError, match="cannot be read: No such file"):
        export("canvas", to, fill=sheet)
    sheet.write_text("colour,size\nred,1\n")
    with pytest.raises(CourseError, match=r"grades\.csv: no line names the columns"):
        export("moodle", to, fill=sheet)
    sheet.write_text(WORKSHEET.replace("13.00", "10.00"))
    with pytest.raises(CourseError, match=r"grades\.csv: the platform's maximum is 10"):
        export("moodle", to, fill=sheet)
    assert not to.exists()
    export("moodle", to, fill=sheet, scaled=True)
    assert "1.92" == next(csv.DictReader(io.StringIO(to.read_text())))["Grade"]
