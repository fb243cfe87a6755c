"""A graded course on the command line: output files, repeated and resumed runs, and nbgrader."""

from __future__ import annotations

import hashlib
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.authoring.demo import SUBJECTS
from autograder.grading.release_generation import generate_release
from tests.cli.running import ASSIGNMENT, PROGRAMS, STUDENTS, environment, only_object, run
from tests.support import regraded_class, small_course

pytestmark = [pytest.mark.sandbox, pytest.mark.long, pytest.mark.slow]

SHEET = "counting"
"""An assignment without torch, so that its sandboxes start quickly."""

# A shell starts background programs with Ctrl-C ignored, and every program below inherits that.
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from autograder.cli import main; main()"
)


def rows(course: Path) -> list[str]:
    """Return all rows of the gradebook."""
    with sqlite3.connect(course / "gradebook.db") as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


def results(course: Path) -> int:
    """Return the number of results in the ledger; 0 if there is no ledger yet."""
    path = course / "gradebook.db"
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return int(connection.execute("select count(*) from autograder_result").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def files(course: Path, folder: str) -> dict[str, str]:
    """Return the digest of every file below a folder of the course, by path."""
    return {
        str(path.relative_to(course)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((course / folder).rglob("*"))
        if path.is_file()
    }


def alive_in_group(group: int) -> list[int]:
    """Return the processes of a process group that still run."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(process_group) == group and state != "Z":
                processes.append(int(entry.name))
    return processes


def test_the_demo_writes_a_whole_course(graded: Path) -> None:
    """Release, submissions, gradebook, nbgrader's copies, a page for each student and one for staff."""
    students = {f"s{number}" for number in range(1001, 1001 + STUDENTS)}
    for folder in ("submitted", "autograded", "feedback"):
        assert students == {path.name for path in (graded / folder).iterdir()}
    pages = {path.relative_to(graded / "feedback").as_posix() for path in graded.glob("feedback/*/*/*.html")}
    names = [subject.assignment for subject in SUBJECTS]
    assert {f"{student}/{name}/{name}.html" for student in students for name in names} == pages
    for name in names:
        assert (graded / "staff" / f"{name}.html").is_file()
        release = (graded / "release" / name).iterdir()
        assert {"coursecheck.py", f"{name}.ipynb"} == {path.name for path in release}


def test_grading_again_changes_nothing(course: Path) -> None:
    """A second run finds every result and changes no row of the gradebook and no file."""
    before = rows(course), files(course, "autograded")
    done = run("grade", ASSIGNMENT, "--json", cwd=course)
    figures = only_object(done.stdout)
    assert 0 == done.returncode
    assert (0, STUDENTS) == (figures["graded now"], figures["known before"])
    assert before == (rows(course), files(course, "autograded"))


def test_a_folder_whose_name_is_no_id_is_reported_and_the_others_are_graded(course: Path) -> None:
    """Exit code 1 and a line that is safe for terminals; gradebook and folders do not contain the name."""
    (course / "submitted" / "=1+1\x1b[2J" / ASSIGNMENT).mkdir(parents=True)
    before = rows(course)
    done = run("grade", ASSIGNMENT, "--json", cwd=course)
    figures = only_object(done.stdout)
    assert (1, STUDENTS) == (done.returncode, figures["known before"])
    assert {r"'=1+1\x1b[2J'": "it holds the invisible character U+001B"} == figures["not graded for the name"]
    assert r"submitted/'=1+1\x1b[2J' is not graded" in done.stderr
    assert "\x1b" not in done.stderr
    assert before == rows(course)


def test_a_late_submission_is_added(course: Path) -> None:
    """Only the new submission is graded."""
    newcomer = course / "submitted" / "ada" / ASSIGNMENT
    newcomer.mkdir(parents=True)
    source = course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    (newcomer / source.name).write_bytes(source.read_bytes())
    figures = only_object(run("grade", ASSIGNMENT, "--json", cwd=course).stdout)
    assert (1, STUDENTS) == (figures["graded now"], figures["known before"])
    assert 0.0 == figures["points"]["ada"]


def test_one_student(course: Path) -> None:
    """--student selects a student; a name without a submission is refused."""
    figures = only_object(run("grade", ASSIGNMENT, "--student", "s1002", "--json", cwd=course).stdout)
    assert ["s1002"] == list(figures["points"])
    refused = run("grade", ASSIGNMENT, "--student", "nobody", cwd=course)
    assert 3 == refused.returncode
    assert "nothing was handed in by nobody" in refused.stderr
    assert "no id there is like it" in refused.stderr
    misspelt = run("grade", ASSIGNMENT, "--student", "s102", cwd=course)
    assert "did you mean 's1002'?" in misspelt.stderr


def test_generate_writes_the_release(course: Path) -> None:
    """The release is regenerated byte for byte and contains no solution."""
    before = files(course, "release")
    written = only_object(run("generate", ASSIGNMENT, "--json", cwd=course).stdout)["written"]
    assert before == files(course, "release")
    ours = [path for path in before if path.startswith(f"release/{ASSIGNMENT}/")]
    assert sorted(ours) == sorted(str(Path(path).relative_to(course)) for path in written)
    released = (course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text("utf-8")
    assert [] == [mark for mark in ("BEGIN SOLUTION", "n_heads*d_head*d_model") if mark in released]


def test_generate_keeps_the_language_of_the_last_release(course: Path) -> None:
    """The first release uses the rubric's first language; another language is kept until it is changed."""
    run("generate", SHEET, cwd=course)
    english = files(course, "release")
    run("generate", SHEET, "--language", "en", cwd=course)
    assert english == files(course, "release")
    run("generate", SHEET, "--language", "de", cwd=course)
    german = files(course, "release")
    assert german != english
    run("generate", SHEET, cwd=course)
    assert german == files(course, "release")
    assert 0 == run("verify", SHEET, "--quick", cwd=course).returncode
    assert german == files(course, "release")
    refused = run("generate", SHEET, "--language", "fr", cwd=course)
    assert 3 == refused.returncode
    assert "language: expected one of en, de" in refused.stderr
    assert german == files(course, "release")
    run("generate", SHEET, "--language", "all", cwd=course)
    assert files(course, "release") not in (english, german)
    run("generate", SHEET, "--language", "en", cwd=course)
    assert english == files(course, "release")


def test_doctor_as_json() -> None:
    """doctor lists the layers and exits with 0 if all required ones hold."""
    done = run("doctor", "--json")
    assert 0 == done.returncode, done.stderr
    report = only_object(done.stdout)
    assert report["healthy"] is True
    assert {"no network", "system call filter", "bounded memory"} <= {
        layer["name"] for layer in report["layers"]
    }


@pytest.mark.apart
def test_interrupted_and_taken_up_again(tmp_path: Path) -> None:
    """Ctrl-C exits with 130 and leaves no process; the same command then grades only the rest."""
    generate_release(small_course.small_course(tmp_path), small_course.NAME)
    students = 120  # more than are graded before the signal arrives
    for number in range(students):
        regraded_class.hand_in(tmp_path, f"s{number:03}", layers_answer=f"layers = {number}")
    words = ["grade", small_course.NAME, "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    while results(tmp_path) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert 130 == process.returncode, said
    assert "Run the same command again to go on" in said
    while (left := alive_in_group(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [] == left
    kept = results(tmp_path)
    assert 3 <= kept < students
    again = run(*words, cwd=tmp_path)
    assert 0 == again.returncode, again.stdout
    figures = only_object(again.stdout)
    assert (students - kept, kept) == (figures["graded now"], figures["known before"])


def test_progress_only_on_a_terminal(course: Path) -> None:
    """The bar is drawn on a terminal; elsewhere standard error stays empty."""
    assert "" == run("feedback", ASSIGNMENT, cwd=course).stderr
    ours, theirs = pty.openpty()
    command = [str(PROGRAMS / "autograder"), "feedback", ASSIGNMENT]
    settings = environment(TERM="xterm", LINES="24")
    with subprocess.Popen(
        command, cwd=course, env=settings, stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the terminal's other end is closed
                break
            if not part:
                break
            drawn += part
        process.wait(timeout=600)
    os.close(ours)
    assert 0 == process.returncode
    assert f"{STUDENTS + 1}/{STUDENTS + 1}" in drawn.decode()
