"""The roll of a class: missing, unknown and misnamed submissions are reported; no mark changes silently."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.app.class_roll import find_misnamed_files, find_misplaced_notebooks, read_roll
from autograder.authoring import start_assignment
from autograder.core.records import GradingResult, Score
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import release_generation
from autograder.grading.store import GradedEntry, ResultKey
from autograder.store.memory import MemoryStore
from tests.cli.running import ASSIGNMENT, only_object, run, run_cold

NAME = "captioning"
STUDENT = "s1002"
OURS = f"""
    SELECT grade.id, auto_score, manual_score, needs_manual_grade FROM grade
    JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
    JOIN notebook ON notebook.id = submitted_notebook.notebook_id
    WHERE notebook.name = '{ASSIGNMENT}' ORDER BY grade.id"""
SILENCED = """
    SELECT count(*) FROM comment
    JOIN submitted_notebook ON submitted_notebook.id = comment.notebook_id
    JOIN notebook ON notebook.id = submitted_notebook.notebook_id
    WHERE notebook.name = ? AND auto_comment = 'No response.'"""


def misplaced(course: Course, name: str) -> list[str]:
    """Return the remarks about misplaced notebooks of an assignment."""
    return find_misplaced_notebooks(course, rubrics.load_rubric(course.locate_rubric(name)), [name])


@pytest.fixture
def empty(tmp_path: Path) -> Course:
    """Return a course with two assignments, one of them released, and a submission folder of Bob's."""
    start_assignment(tmp_path, NAME, ["written"])
    start_assignment(tmp_path, "captions", ["written"])
    course = Course.from_folder(tmp_path)
    release_generation.generate_release(course, NAME)
    put(course, f"submitted/bob/{NAME}/{NAME}.ipynb")
    return course


def put(course: Course, place: str) -> None:
    """Create a file at a path below the course."""
    path = course.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("submitted/ivo/Captioning/captioning.ipynb", "submitted/ivo/Captioning is not graded; expected"),
        (
            "submitted/ivo/CAPTIONING/x.txt",
            "submitted/ivo/captioning/: move or rename it; until then ivo has no mark and no page",
        ),
        ("submitted/ivo/captoning/captioning.ipynb", "submitted/ivo/captoning is not graded"),
        ("submitted/ivo/captioning_/captioning.ipynb", "submitted/ivo/captioning_ is not graded"),
        ("submitted/bob/Captioning/captioning.ipynb", "submitted/bob/Captioning is not graded"),
        (
            "submitted/ivo/captioning/captioning/captioning.html",
            "submitted/ivo/captioning/captioning.ipynb: ask for the notebook",
        ),
        (
            "submitted/ivo/captioning/Caption.ipynb.bak",
            "submitted/ivo/captioning/Caption.ipynb.bak is not graded",
        ),
        ("submitted/captioning.ipynb", "submitted/captioning.ipynb is not graded; expected submitted/"),
        (
            "submitted/ivo/captioning.ipynb",
            "submitted/ivo/captioning.ipynb is not graded; expected submitted/",
        ),
        ("submitted/ivo/captioning_ivo.ipynb", "is not graded; expected submitted/ivo/captioning/captioning"),
        (
            "submitted/ivo/captioning/notes.docx",
            "submitted/ivo/captioning/notes.docx is not graded; expected",
        ),
        ("submitted/ivo.zip", "submitted/ivo.zip is not graded; expected submitted/<student>/captioning/"),
        ("submitted/ivo/captioning_ivo.tar.gz", "submitted/ivo/captioning/captioning.ipynb: unpack it"),
        (
            "earlier/bob/Captioning/1/captioning.ipynb",
            "earlier/bob/Captioning is not graded; expected earlier/bob/",
        ),
        ("earlier/bbo/captioning/1/captioning.ipynb", "earlier/bbo is not looked at: nobody of this id"),
        (
            "earlier/bob/captioning/captioning.ipynb",
            "expected earlier/bob/captioning/<any name>/captioning.ipynb",
        ),
    ],
)
def test_an_error_in_a_name_is_told(empty: Course, place: str, message: str) -> None:
    """Wrong case, misspelt names or a nested folder give one remark with the expected path."""
    put(empty, place)
    (sentence,) = misplaced(empty, NAME)
    assert message in sentence


@pytest.mark.parametrize(
    "place",
    [
        "submitted/ivo/captioning/Captioning.ipynb",  # a copy replaces the missing file
        "submitted/ivo/captioning/captioning.IPYNB",
        "submitted/ivo/captioning/Caption.ipynb",  # and so does the only notebook
        "submitted/ivo/captioning/captioning/captioning.ipynb",
        "submitted/ivo/captioning/captioning (1).ipynb",
        "submitted/bob/captioning/plot.png",
        "submitted/bob/captions/captions.ipynb",
        "submitted/bob/captions.ipynb",
        "submitted/bob/project/project.ipynb",
        "submitted/bob/captioning/.ipynb_checkpoints/captioning-checkpoint.ipynb",
        "earlier/bob/captioning/1/captioning.ipynb",
        "earlier/bob/captions/1/captions.ipynb",
    ],
)
def test_what_is_right_is_not_told(empty: Course, place: str) -> None:
    """Other assignments with similar names and earlier attempts give no remark."""
    put(empty, place)
    assert [] == misplaced(empty, NAME)


def test_several_notebooks_are_told_to_be_joined(empty: Course) -> None:
    """Several notebooks cannot be merged by renaming, so staff are asked to join them."""
    for half in ("part1", "part2"):
        put(empty, f"submitted/ivo/captioning/captioning-{half}.ipynb")
    said = misplaced(empty, NAME)
    assert 2 == len(said)
    assert all(message.endswith(": rename the right one, or join them") for message in said)


def test_a_folder_that_is_a_link_is_told(empty: Course) -> None:
    """Links below submitted/ are never followed; a class behind one would be left out silently."""
    (empty.root / "submitted" / "eve").symlink_to(empty.root / "submitted" / "bob")
    messages = ["submitted/eve is a link and is not graded: put the folder itself there"]
    assert messages == misplaced(empty, NAME)


def test_numbers_tell_assignments_apart(tmp_path: Path) -> None:
    """A submission for homework1 is not a misspelt homework2."""
    start_assignment(tmp_path, "homework2", ["written"])
    course = Course.from_folder(tmp_path)
    put(course, "submitted/ada/homework1/homework1.ipynb")
    assert [] == misplaced(course, "homework2")
    put(course, "submitted/ada/Homework-2/homework2.ipynb")
    assert 1 == len(misplaced(course, "homework2"))


@pytest.mark.sandbox
def test_grading_nothing_says_so(empty: Course) -> None:
    """Grading an empty class names the folder that was searched; an empty table would look like success."""
    shutil.rmtree(empty.root / "submitted" / "bob")
    put(empty, "submitted/ada/captioning.ipynb")
    done = run("grade", NAME, cwd=empty.root)
    assert 1 == done.returncode
    assert "nothing was handed in; expected submitted/<student>/captioning/captioning.ipynb" in done.stderr
    assert "submitted/ada/captioning.ipynb is not graded" in done.stderr


def test_pages_without_marks_are_refused(empty: Course) -> None:
    """Before the first grading there are no pages, and no empty gradebook is created."""
    done = run("feedback", NAME, cwd=empty.root)
    assert 3 == done.returncode
    assert "there is no gradebook yet; run: autograder grade captioning" in done.stderr
    assert not empty.gradebook.exists()


def test_pages_in_a_language_that_nobody_wrote_are_refused(empty: Course) -> None:
    """Otherwise the pages would silently be in English."""
    done = run("feedback", NAME, "--language", "fr", cwd=empty.root)
    assert 3 == done.returncode
    assert "--language: expected one of en, got 'fr'" in done.stderr


def test_a_folder_that_cannot_be_entered_hides_no_other(
    empty: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without permissions is reported, and so are the problems in later folders."""
    for place in ("ada/captioning/hw1.html", "bob/captioning/captioning.ipynb", "cleo/captioning/hw1.html"):
        put(empty, f"submitted/{place}")
    original = os.scandir

    def scandir(path: str | Path) -> object:
        if str(path).endswith("/bob"):
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    first, second, third = misplaced(empty, NAME)
    assert first.startswith("submitted/ada/captioning/hw1.html is not graded")
    assert "submitted/bob cannot be looked at: Permission denied; change its rights" == second
    assert third.startswith("submitted/cleo/captioning/hw1.html is not graded")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Roster.csv", "roster.csv"),
        ("rooster.csv", "roster.csv"),
        ("exam.toml", "exams.toml"),
        ("Bonus.CSV", "bonus.csv"),
    ],
)
def test_a_list_that_nobody_reads_is_told(empty: Course, name: str, wanted: str) -> None:
    """A file with a name similar to that of a course list is reported; it would be ignored silently."""
    assert [] == find_misnamed_files(empty)
    put(empty, name)
    assert [f"{name} is not read; expected {wanted}: rename it"] == find_misnamed_files(empty)
    put(empty, wanted)
    assert [] == find_misnamed_files(empty)


@pytest.mark.slow
@pytest.mark.sandbox
def test_whoever_is_gone_counts_nowhere_and_is_told(course: Path) -> None:
    """A result without a folder is in no grade, page or mean; it is reported until the folder is back."""
    everybody = only_object(run("grades", ASSIGNMENT, "--json", cwd=course).stdout)["students"]
    ghost, *remaining = (student["student"] for student in everybody)
    shutil.move(course / "submitted" / ghost / ASSIGNMENT, course / "kept")
    shutil.rmtree(course / "feedback" / ghost, ignore_errors=True)
    done = run("grade", ASSIGNMENT, cwd=course)
    assert 0 == done.returncode, done.stderr
    assert f"is gone: {ghost} (" in done.stderr
    assert "count nowhere" in done.stderr
    assert "nbgrader db student remove --force" in done.stderr
    assert f"in roster.csv, but not in submitted/<student>/{ASSIGNMENT}: {ghost} (1 in all)" in done.stderr
    listed = run("grades", ASSIGNMENT, "--json", cwd=course)
    report = only_object(listed.stdout)
    assert (remaining, [ghost]) == ([student["student"] for student in report["students"]], report["gone"])
    assert f"is gone: {ghost} (" in listed.stderr
    rows = csv.DictReader(io.StringIO(run("grades", ASSIGNMENT, "--csv", cwd=course).stdout))
    assert remaining == [row["student"] for row in rows]
    assert f"is gone: {ghost} (" in run("feedback", ASSIGNMENT, cwd=course).stderr
    summary = (course / "staff" / f"{ASSIGNMENT}.html").read_text("utf-8")
    assert f"is gone: {ghost} (" in summary
    assert f"Students: <b>{len(remaining)}</b>" in summary
    assert f'<th scope="row">{ghost}' not in summary
    assert not (course / "feedback" / ghost / ASSIGNMENT).exists()
    removed = run_cold("db", "student", "remove", ghost, "--force", cwd=course, program="nbgrader")
    assert 0 == removed.returncode, removed.stderr
    after = run("grades", ASSIGNMENT, "--json", cwd=course)
    assert report["students"] == only_object(after.stdout)["students"]
    assert f"is gone: {ghost} (" in after.stderr
    assert "nbgrader db student remove" not in after.stderr
    shutil.move(course / "kept", course / "submitted" / ghost / ASSIGNMENT)
    back = run("grade", ASSIGNMENT, cwd=course)
    assert f"removed from it, but submitted/<student>/{ASSIGNMENT} is there: {ghost}" in back.stderr
    assert everybody == only_object(run("grades", ASSIGNMENT, "--json", cwd=course).stdout)["students"]


def test_who_is_not_graded_yet_is_told(empty: Course) -> None:
    """A student who submitted after the last run is not in the list of grades, which reports it."""
    assignment = assignments.load_assignment(empty, NAME)
    store = MemoryStore()
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    key = ResultKey.from_submission("bob", "d" * 64, assignment.rubric, "e" * 64)
    store.record_results([GradedEntry(key, GradingResult(Score("bob", NAME, 1, ())), assignment.rubric)])
    before = read_roll(assignment, store)
    assert (["bob"], [], ()) == ([*before.results], [*before.gone], before.remarks)
    assert not before.attention
    put(empty, f"submitted/zoe/{NAME}/{NAME}.ipynb")
    shutil.rmtree(empty.root / "submitted" / "bob")
    after = read_roll(assignment, store)
    assert ([], ["bob"]) == ([*after.results], [*after.gone])
    gone, listed, waiting = after.remarks
    assert f"submitted/<student>/{NAME} is gone: bob (0 points)" in gone
    assert "still list bob, whose folders are gone" in listed
    assert f"handed in, but not graded yet: zoe; run: autograder grade {NAME}" == waiting


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_folder_of_nobody_is_told(course: Path) -> None:
    """It is graded and reported with the closest id; without a class list there is no remark."""
    student = min(path.name for path in (course / "submitted").iterdir())
    shutil.move(course / "submitted" / student, course / "submitted" / f"{student}x")
    done = run("grade", ASSIGNMENT, "--json", cwd=course)
    assert 0 == done.returncode, done.stderr
    remarks = only_object(done.stdout)["remarks"]
    (message,) = (remark for remark in remarks if "is of nobody in roster.csv" in remark)
    assert message.startswith(f"submitted/{student}x/{ASSIGNMENT} is of nobody")
    assert f"did you mean '{student}'?" in message
    run("feedback", ASSIGNMENT, cwd=course)
    assert f"{student}x/{ASSIGNMENT} is of nobody" in (course / "staff" / f"{ASSIGNMENT}.html").read_text(
        "utf-8"
    )
    (course / "roster.csv").unlink()
    assert "is of nobody" not in run("grades", ASSIGNMENT, cwd=course).stderr


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("command", ["grade", "grades", "feedback"])
def test_scores_that_are_not_ours_are_put_back(course: Path, command: str) -> None:
    """Scores that nbgrader's autograde wrote are reported and repaired; manual marks are kept."""
    with sqlite3.connect(course / "gradebook.db") as connection:
        (marked,) = connection.execute(f"SELECT id FROM ({OURS}) WHERE auto_score IS NULL").fetchone()
        connection.execute(
            "UPDATE grade SET manual_score = 1.5, needs_manual_grade = 0 WHERE id = ?", (marked,)
        )
        before = connection.execute(OURS).fetchall()
        # As SaveAutoGrades does: every score 0, with a flag for manual review if there is a manual mark.
        connection.execute("UPDATE grade SET auto_score = 0, needs_manual_grade = (manual_score IS NOT NULL)")
        connection.execute("UPDATE comment SET auto_comment = 'No response.' WHERE auto_comment IS NOT NULL")
    connection.close()
    noted = course / "autograded" / STUDENT / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    shown = noted.read_bytes()
    noted.write_text("{}")
    done = run(command, ASSIGNMENT, cwd=course)
    assert (1 if command == "grade" else 0) == done.returncode, done.stderr
    assert "automatic scores were not ours, and were put back" in done.stderr
    with sqlite3.connect(course / "gradebook.db") as connection:
        after = connection.execute(OURS).fetchall()
        silenced = connection.execute(SILENCED, (ASSIGNMENT,)).fetchone()[0]
    connection.close()
    assert [row if row[0] != marked else (*row[:3], 1) for row in before] == after
    assert 0 == silenced
    assert shown == noted.read_bytes()
    again = run(command, ASSIGNMENT, cwd=course)
    assert (0, False) == (again.returncode, "not ours" in again.stderr)
