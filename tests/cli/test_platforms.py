"""From a class list and a download to files for platforms, on the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from autograder.course import Course
from tests.cli.running import ASSIGNMENT, PROGRAMS, environment, only_object, run
from tests.support.downloads import NAME, make_course, tree, written

BOOK = f"{NAME}.ipynb"


def test_a_class_is_collected_with_a_report(tmp_path: Path) -> None:
    """New, unmatched, refused, renamed and missing submissions are reported as text and JSON.

    A second run reports none.
    """
    course = make_course(tmp_path / "course")
    source = written(
        tmp_path / "moodle.zip",
        {
            "Ada Lovelace_7_assignsubmission_file_/answers.ipynb": "ada",
            "Ada Lovelace_7_assignsubmission_file_/../evil": "out",
            f"Alan Turning_8_assignsubmission_file_/{BOOK}": "alan",
        },
    )
    words = ("collect", NAME, str(source), "--course", str(course.root))
    tried = run(*words, "--dry-run")
    assert (1, {}) == (tried.returncode, tree(course.root))
    assert "a trial: nothing was written" in tried.stdout
    done = run(*words)
    assert "a trial" not in done.stdout
    assert 1 == done.returncode
    assert "1 new: it lies in submitted/" in done.stdout
    assert "on the class list, with nothing handed in: s1002, s1003, s1004, s1005" in done.stdout
    for message in (
        "moodle.zip: Alan Turning is of nobody: did you mean s1002 (Alan Turing)?; not collected (1 files)",
        "moodle.zip: Ada Lovelace_7_assignsubmission_file_/../evil was not taken: its place leads out",
        f"s1001: answers.ipynb was taken as {BOOK}",
    ):
        assert message in done.stderr
    again = only_object(run(*words, "--json").stdout)
    assert [("s1001", "unchanged", {"answers.ipynb": BOOK})] == [
        (attempt["student"], attempt["state"], attempt["renamed"]) for attempt in again["attempts"]
    ]
    assert ["Alan Turning"] == [entry["called"] for entry in again["unmatched"]]
    unknown = run(*words, "--from", "moodel")
    assert (3, True) == (unknown.returncode, "did you mean 'moodle'" in unknown.stderr)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_are_printed_readably(tmp_path: Path, encoding: str) -> None:
    """All letters are printed as they are or, if the terminal lacks them, escaped.

    Control characters are escaped.
    """
    course = make_course(tmp_path / "course")
    source = written(
        tmp_path / "Ubung.zip",
        {
            "Grace Müller-Hopper_9_assignsubmission_file_/Lösung.ipynb": "grace",
            f"Łukasz \u202eecarG_8_assignsubmission_file_/{BOOK}": "somebody",
            "李/../x": "out",
        },
    )
    command = [PROGRAMS / "autograder", "collect", NAME, source, "--course", course.root]
    done = subprocess.run(
        command, env=environment(PYTHONIOENCODING=encoding), capture_output=True, check=False, timeout=300
    )
    assert 1 == done.returncode
    printed, errors = done.stdout.decode(encoding), done.stderr.decode(encoding)
    name, other, file, place = "Grace Müller-Hopper", "Łukasz ⟨U+202E⟩ecarG", "Lösung.ipynb", "李/../x"
    if encoding == "ascii":
        name, other, file, place = (
            text.encode("ascii", "backslashreplace").decode() for text in (name, other, file, place)
        )
    assert name[:9] in printed
    assert (name in printed) or encoding == "ascii"  # the table may wrap the longer name
    for expected in (f"{other} is of nobody", f"{file} was taken as {BOOK}", f"{place} was not taken"):
        assert expected in errors


def test_a_class_list_is_imported(tmp_path: Path) -> None:
    """New and changed students are listed; rows without a valid id give exit code 1."""
    course = make_course(tmp_path / "course", roster="")
    path = tmp_path / "participants.csv"
    path.write_text("First name,Last name,ID number\nAda,Lovelace,s1\nAlan,Turing,s2\n")
    words = ("roster", str(path), "--course", str(course.root))
    assert "would be new: s1, s2 (2)" in run(*words, "--dry-run").stdout
    assert not course.roster.exists()
    done = run(*words)
    assert (0, "") == (done.returncode, done.stderr)
    assert "new: s1, s2 (2)" in done.stdout
    assert "nobody is new, and nothing has changed" in run(*words).stdout
    path.write_text("First name,Last name,ID number\nAda,King,s1\nX,Y,=1\n")
    shown = run(*words, "--json")
    assert 1 == shown.returncode
    report = only_object(shown.stdout)
    assert {"added": [], "changed": ["s1"], "absent": ["s2"]} == {
        key: report[key] for key in ("added", "changed", "absent")
    }


@pytest.mark.sandbox
def test_grades_of_a_class_become_files_for_platforms(course: Path, tmp_path: Path) -> None:
    """The grades are written to Moodle's worksheet, Canvas's gradebook, and lines of JSON."""
    stands = only_object(run("grades", ASSIGNMENT, "--course", str(course), "--json").stdout)
    totals = {student["student"]: student["total"] for student in stands["students"]}
    people = {student.id: student for student in _people(Course.from_folder(course))}
    sheet = tmp_path / "grades.csv"
    head = "Identifier,Full name,ID number,Grade,Maximum grade,Feedback comments\n"
    body = [f"Participant {at},{people[who].name},{who},,90.00,\n" for at, who in enumerate(totals, start=70)]
    sheet.write_text(head + "".join(body), encoding="utf-8")
    words = ("grades", ASSIGNMENT, "--course", str(course))
    refused = run(*words, "--format", "moodle", "--to", str(tmp_path / "x.csv"))
    assert (3, True) == (refused.returncode, "name it with --fill FILE" in refused.stderr)
    left = only_object(run(*words, "--format", "csv", "--to", str(tmp_path / "final.csv"), "--json").stdout)
    waiting = {student["student"] for student in stands["students"] if student["state"] != "final"}
    assert waiting
    assert waiting == set(left["provisional"])
    filled = tmp_path / "filled.csv"
    run("feedback", ASSIGNMENT, "--course", str(course))
    done = run(
        *words, "--format", "moodle", "--to", str(filled), "--fill", str(sheet), "--provisional",
        "--feedback", str(tmp_path / "pages.zip"), "--comments",
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    rows = list(csv.DictReader(io.StringIO(filled.read_text("utf-8"))))
    assert {who: f"{total:.2f}" for who, total in totals.items()} == {
        row["ID number"]: row["Grade"] for row in rows
    }
    assert all(row["Feedback comments"] for row in rows)
    lines = tmp_path / "grades.jsonl"
    assert 0 == run(*words, "--format", "jsonl", "--to", str(lines), "--provisional").returncode
    entries = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    assert totals == {student["student"]: student["total"] for student in entries}


def _people(course: Course) -> list:  # type: ignore[type-arg]
    from autograder.app.collection import load_class_register

    return list(load_class_register(course).students)
