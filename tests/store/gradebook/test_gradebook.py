"""Our gradebook code writes nbgrader's tables, and nbgrader can still read them."""

from __future__ import annotations

import csv
import datetime
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from autograder.app.class_lists import read_roster
from autograder.core.errors import CourseError, GradebookError
from autograder.core.records import GradingResult
from autograder.grading.store import Student
from autograder.store.gradebook import Gradebook, compute_cell_scores
from tests.pages.examples import RUBRIC, good, hostile, middling, release
from tests.store.examples import keep

MOMENT = datetime.datetime(2031, 2, 3, 4, 5, tzinfo=datetime.UTC)
RELEASES = {"exam": release()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the gradebook."""
    return tmp_path / "gradebook.db"


@pytest.fixture
def book(path: Path) -> Iterator[Gradebook]:
    """Return an open gradebook with the exam prepared."""
    with Gradebook(path) as opened:
        opened.prepare_assignment(RUBRIC, RELEASES)
        yield opened


def rows(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Run a statement on a separate connection; return its rows."""
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(query, values).fetchall()
        connection.commit()
    finally:
        connection.close()
    return found


def grades(path: Path, student: str) -> dict[str, tuple[float | None, float | None, int]]:
    """Return cell → auto_score, manual_score, needs_manual_grade."""
    query = """
        SELECT base_cell.name, auto_score, manual_score, needs_manual_grade
        FROM grade JOIN base_cell ON base_cell.id = grade.cell_id
        JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
        JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
        WHERE student_id = ?"""
    return {name: tuple(rest) for name, *rest in rows(path, query, student)}  # type: ignore[misc]


def comments(path: Path) -> dict[str, str | None]:
    """Return cell → automatic comment."""
    query = "SELECT name, auto_comment FROM comment JOIN base_cell ON base_cell.id = comment.cell_id"
    return dict(rows(path, query))


def dump(path: Path) -> list[str]:
    """Return the whole database as SQL."""
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def mark(path: Path, cell: str, score: float) -> None:
    """Give a mark as formgrader does."""
    rows(
        path,
        "UPDATE grade SET manual_score = ?, needs_manual_grade = 0 "
        "WHERE cell_id IN (SELECT id FROM base_cell WHERE name = ?)",
        score,
        cell,
    )


def closed(path: Path) -> None:
    """Open the gradebook and close it again."""
    with Gradebook(path):
        pass


def nbgrader(folder: Path, *arguments: str) -> str:
    """Run nbgrader in a course folder; return its output."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(Path(sys.executable).parent / "nbgrader"), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_cells_come_from_release_and_rubric(book: Gradebook, path: Path) -> None:
    """Grade cells have the rubric's points; solution and source cells come from the release."""
    found = rows(path, "SELECT name, max_score FROM grade_cells JOIN base_cell USING (id)")
    assert {"task3-b": 1.0, "task3-b-why": 1.0, "task3-f": 1.0, "task5-a": 8.0, "mha": 6.0} == dict(found)
    solutions = rows(path, "SELECT name FROM solution_cells JOIN base_cell USING (id) ORDER BY name")
    expected = ["mha-answer", "task3-b-answer", "task3-b-why", "task3-f-answer", "task5-a-answer"]
    assert expected == [name for (name,) in solutions]
    assert [("intro", 1), ("mha", 1), ("mha-answer", 0)] == rows(
        path, "SELECT name, locked FROM source_cell WHERE name LIKE 'mha%' OR name = 'intro' ORDER BY name"
    )


def test_marks_are_summed_by_cell(book: Gradebook, path: Path) -> None:
    """A cell's score is the sum of its automatic items; a cell with only manual items has none."""
    keep(book, middling(), RUBRIC, MOMENT)
    expected = {
        "task3-b": (0.5, None, 0),
        "task3-b-why": (None, None, 1),
        "task3-f": (0.0, None, 0),
        "task5-a": (5.0, None, 0),
        "mha": (3.0, None, 0),
    }
    assert expected == grades(path, "grace")


def test_the_time_handed_in_is_utc(book: Gradebook, path: Path) -> None:
    """A time with a zone is stored in UTC; an unknown time changes nothing."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    keep(book, good(), RUBRIC, MOMENT.astimezone(zone))
    keep(book, good(), RUBRIC)
    assert [("2031-02-03 04:05:00.000000",)] == rows(path, "SELECT timestamp FROM submitted_assignment")


def test_recording_again_changes_nothing(book: Gradebook, path: Path) -> None:
    """Recording the same result twice leaves the database dump unchanged."""
    keep(book, middling(), RUBRIC, MOMENT)
    before = dump(path)
    keep(book, middling(), RUBRIC, MOMENT)
    assert before == dump(path)


def test_marks_stay_within_the_cell() -> None:
    """The sum of a cell's items is limited to between zero and the points of the cell."""
    above, below = (
        msgspec.structs.replace(good().score.items[0], points=points) for points in (Decimal(7), Decimal(-1))
    )
    score = good().score
    found = [
        compute_cell_scores(msgspec.structs.replace(score, items=(first, *score.items[1:])), RUBRIC)[
            "exam", "task3-b"
        ].auto
        for first in (above, below)
    ]
    assert [1.0, 0.0] == found


def test_a_cell_without_a_result_waits_for_a_human() -> None:
    """A grade cell without a result needs manual review and is never zero."""
    score = msgspec.structs.replace(good().score, items=())
    assert {(None, True)} == {
        (cell.auto, cell.pending) for cell in compute_cell_scores(score, RUBRIC).values()
    }


def test_comments_say_item_by_item_what_came_of_it(book: Gradebook, path: Path) -> None:
    """The comment at the answer cell has a line for each item; the manual cell has a separate comment."""
    keep(book, middling(), RUBRIC, MOMENT)
    found = comments(path)
    expected = "- The number of parameters of the MLP: 0.5 of 1 (not right). That is one of the two matrices."
    assert expected == found["task3-b-answer"]
    assert (
        "- Your reason, in a sentence: 0 of 1 (needs manual review). A person reads your reason."
        == (found["task3-b-why"])
    )
    assert 8 == (found["task5-a-answer"] or "").count("\n") + 1


def test_a_german_course_has_german_comments(book: Gradebook, path: Path) -> None:
    """Items, points, verdicts and messages are in the language of the release, or else the first one."""
    keep(book, middling(), RUBRIC, MOMENT, language="de")
    assert {
        "task3-b-answer": "- Die Parameterzahl des MLP: 0,5 von 1 (nicht richtig). "
        "Das ist eine der beiden Matrizen.",
        "task3-b-why": "- Ihre Begründung in einem Satz: 0 von 1 (wird von Hand bewertet). "
        "Ihre Begründung liest ein Mensch.",
    }.items() <= comments(path).items()
    german = msgspec.structs.replace(RUBRIC.assignment, languages=("de", "en"))
    keep(book, hostile(), msgspec.structs.replace(RUBRIC, assignment=german), MOMENT)
    texts = [text for text in comments(path).values() if text]
    assert all("(Bewertet mit Abschottung: none)" in text for text in texts if "Abschottung" in text)
    assert [] == [word for word in ("no answer", "not right", " of ", "Graded") if word in "".join(texts)]


def test_weaker_isolation_is_stamped(book: Gradebook, path: Path) -> None:
    """A result computed with weaker isolation says so in every comment."""
    keep(book, hostile(), RUBRIC, MOMENT)
    assert {"(Graded with isolation: none)"} == {
        (text or "").split("\n")[-1] for text in comments(path).values()
    }


def test_comments_hold_no_markup_and_no_staff_text(book: Gradebook, path: Path) -> None:
    """nbgrader renders comments as Markdown and HTML; student text in them contains no markup."""
    keep(book, hostile(), RUBRIC, MOMENT)
    text = "".join(filter(None, comments(path).values()))
    assert [] == [
        sign for sign in ("<", ">", "$", "\\", "](", "`", "&", "\x1b", "\u202e", "staff only") if sign in text
    ]


def test_a_database_of_an_older_nbgrader_is_refused(path: Path) -> None:
    """A database of another nbgrader revision raises an error that says what to do."""
    closed(path)
    rows(path, "UPDATE alembic_version SET version_num = '50a4d84c131a'")
    with pytest.raises(GradebookError, match="nbgrader db upgrade"):
        Gradebook(path)


def test_an_unstamped_database_is_healed(path: Path) -> None:
    """A database without a revision (nbgrader without alembic on PATH) is stamped with it."""
    closed(path)
    stamp = rows(path, "SELECT version_num FROM alembic_version")
    rows(path, "DROP TABLE alembic_version")
    closed(path)
    assert stamp == rows(path, "SELECT version_num FROM alembic_version")


@pytest.mark.parametrize("content", [b"not a database, but long enough to have a header" * 40, b"\x00" * 100])
def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    """A file that is not a database raises a clear error."""
    path.write_bytes(content)
    with pytest.raises(GradebookError, match="cannot be opened"):
        Gradebook(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """A gradebook path in a missing folder raises a clear error."""
    with pytest.raises(GradebookError, match="there is no folder"):
        Gradebook(tmp_path / "no" / "gradebook.db")


def test_names_in_a_roster_that_would_act_are_made_harmless(tmp_path: Path) -> None:
    """nbgrader exports names verbatim, so formulas, markup and hidden characters become plain text."""
    roster = tmp_path / "roster.csv"
    roster.write_text(
        'id,first_name,last_name,email\nada,"=HYPERLINK(""x"")",<b>L</b>,\u202eada@example.org\n'
    )
    (student,) = read_roster(roster)
    assert ('\'=HYPERLINK("x")', "‹b›L‹/b›", "⟨U+202E⟩ada@example.org") == (
        student.first_name,
        student.last_name,
        student.email,
    )


def test_roster_is_entered_and_never_emptied(book: Gradebook, path: Path, tmp_path: Path) -> None:
    """Names come from the class list; empty fields of a later list do not remove them."""
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "\ufeffid,first_name,last_name,email,group\nada,Ada,Lovelace,ada@example.org,1\nalan,,,\n"
    )
    book.enroll_students(read_roster(roster))
    keep(book, good(), RUBRIC, MOMENT)
    book.enroll_students([Student("ada", email="a@example.org")])
    found = rows(path, "SELECT id, first_name, last_name, email FROM student ORDER BY id")
    assert [("ada", "Ada", "Lovelace", "a@example.org"), ("alan", None, None, None)] == found


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"name\nada\n", "expected the columns"),
        (b"", "expected the columns"),
        (b"id\nada\nada\n", "line 3: 'ada' stands twice"),
        (b"id,email\n,a@example.org\n", "line 2: the id is empty"),
        (b"id\n=1+1\n", "line 2: '=1.1' cannot be an id: it begins with '='"),
        (b"id\n\xff\n", "not UTF-8"),
        (b'id\n"ada', "not a CSV line"),
    ],
)
def test_broken_class_lists_are_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    """An invalid class list raises an error with line and reason."""
    roster = tmp_path / "roster.csv"
    roster.write_bytes(content)
    with pytest.raises(CourseError, match=complaint):
        read_roster(roster)


@pytest.mark.slow
def test_nbgrader_reads_what_was_written(book: Gradebook, path: Path) -> None:
    """``nbgrader export``, ``db student list`` and ``generate_feedback`` work on the course."""
    book.enroll_students([Student("grace", "Grace", "Hopper", "grace@example.org")])
    for graded in (good(), middling(), as_student(hostile(), "mallory")):
        keep(book, graded, RUBRIC, MOMENT)
    mark(path, "task3-b-why", 1.0)
    nbgrader(path.parent, "export")
    with (path.parent / "grades.csv").open() as file:
        exported = {row["student_id"]: (row["score"], row["max_score"]) for row in csv.DictReader(file)}
    assert {"ada": ("17.0", "17.0"), "grace": ("9.5", "17.0"), "mallory": ("1.0", "17.0")} == exported
    for taken, score in (("1.5", "8.0"), ("50", "0.0"), ("0", "9.5")):
        book.record_deductions("exam", {"grace": Decimal(taken)})
        nbgrader(path.parent, "export")
        with (path.parent / "grades.csv").open() as file:
            row = next(one for one in csv.DictReader(file) if one["student_id"] == "grace")
        assert (float(taken), score) == (float(row["late_submission_penalty"]), row["score"])
    listed = nbgrader(path.parent, "db", "student", "list")
    assert "grace (Hopper, Grace) -- grace@example.org" in listed
    nbgrader(path.parent, "generate_feedback", "exam")
    page = (path.parent / "feedback" / "mallory" / "exam" / "exam.html").read_text()
    assert [] == [
        sign for sign in ("alert(1)</script>", "<svg onload", "<img src=x", "<iframe") if sign in page
    ]
    assert "(Score: 9.5 / 17.0)" in (path.parent / "feedback" / "grace" / "exam" / "exam.html").read_text()


def as_student(graded: GradingResult, student: str) -> GradingResult:
    """Return the same result for another student."""
    return msgspec.structs.replace(graded, score=msgspec.structs.replace(graded.score, student=student))
