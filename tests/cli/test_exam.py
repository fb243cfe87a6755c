"""An exam on the command line: late submissions, unknown times, and the messages to students."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from autograder.authoring.demo.students import EXTRA, LATE, format_student_id
from tests.cli.running import ASSIGNMENT, STUDENTS, only_object, run

pytestmark = pytest.mark.sandbox

LATE_ONE, EXTRA_ONE = format_student_id(LATE), format_student_id(EXTRA)
OTHER = format_student_id(1)


def figures(course: Path, *words: str) -> dict[str, object]:
    """Return the statistics that grading prints."""
    done = run("grade", ASSIGNMENT, "--course", str(course), "--json", *words)
    assert 0 == done.returncode, done.stderr
    return only_object(done.stdout)


def page(course: Path, student: str, language: str = "en") -> str:
    """Rewrite a student's feedback page and return it."""
    done = run("feedback", ASSIGNMENT, "--course", str(course), "--language", language)
    assert 0 == done.returncode, done.stderr
    return (course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text("utf-8")


def stamp(course: Path, student: str, text: str | None) -> None:
    """Change the submission time of a student."""
    path = course / "submitted" / student / ASSIGNMENT / "timestamp.txt"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


def test_the_late_one_is_named_and_extra_time_is_minded(course: Path) -> None:
    """Grading again reuses all results and lists late submissions.

    Extensions apply, and no points are lost.
    """
    summary = figures(course)
    assert (STUDENTS, 0) == (summary["known before"], summary["graded now"])
    lines = summary["handed in late"]
    assert isinstance(lines, list)
    assert [LATE_ONE] == [line.partition(":")[0] for line in lines]
    assert (
        "Submitted 4 min 7 s after the deadline (2026-02-12 11:30 (Europe/Berlin)). It was graded" in lines[0]
    )
    assert "time of handing in not known" not in summary
    points = summary["points"]
    assert isinstance(points, dict)
    assert 0 < float(points[LATE_ONE])


@pytest.mark.parametrize(
    ("language", "late", "words", "moments"),
    [
        (
            "en",
            "4 min 7 s after the deadline (2026-02-12 11:30 (Europe/Berlin))",
            ("Sequence-to-sequence models and attention", "Sum"),
            ("2026-02-12 11:34:07 (Europe/Berlin)", "2026-02-12 11:42 (Europe/Berlin)"),
        ),
        (
            "de",
            "4 min 7 s nach der Abgabefrist (12.02.2026, 11:30 Uhr (Europe/Berlin))",
            ("Sequence-to-Sequence-Modelle und Attention", "Summe"),
            ("12.02.2026, 11:34:07 Uhr (Europe/Berlin)", "12.02.2026, 11:42 Uhr (Europe/Berlin)"),
        ),
    ],
)
def test_pages_show_the_time_and_the_tasks(
    course: Path, language: str, late: str, words: tuple[str, str], moments: tuple[str, str]
) -> None:
    """Only late students without an extension see the delay; all see the table of tasks."""
    text = page(course, LATE_ONE, language)
    assert late in text
    assert moments[0] in text
    other = (course / "feedback" / EXTRA_ONE / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text("utf-8")
    assert late.partition(",")[0].partition(";")[0] not in other
    assert moments[1] in other
    table = re.search(r'<table class="tasks">.*?</table>', other, re.DOTALL)
    assert table
    assert [23, 21, 20, 16, 10, 90] == [
        int(number) for number in re.findall(r'<td class="num">(\d+)</td><td', table[0])
    ]
    assert all(word in table[0] for word in words)
    assert "Computer Science" in text + other


def test_grades_say_who_was_late(course: Path) -> None:
    """The list of grades goes to an office, so it shows open decisions on late submissions."""
    done = run("grades", ASSIGNMENT, "--course", str(course), "--csv")
    times = {row["student"]: row["time"] for row in csv.DictReader(io.StringIO(done.stdout))}
    assert [LATE_ONE] == [student for student, time in times.items() if time]
    assert times[LATE_ONE].startswith("Submitted 4 min 7 s after the deadline")
    assert "late" in run("grades", ASSIGNMENT, "--course", str(course)).stdout


@pytest.mark.slow
def test_a_late_one_is_provisional_until_somebody_decides(course: Path) -> None:
    """A late submission is provisional in list and page until a decision is entered in exams.toml."""

    def row() -> dict[str, str]:
        done = run("grades", ASSIGNMENT, "--course", str(course), "--csv")
        return next(line for line in csv.DictReader(io.StringIO(done.stdout)) if line["student"] == LATE_ONE)

    assert "provisional: staff decide how the submission time counts" == row()["state"]
    assert "how the time of submission counts" in page(course, LATE_ONE)
    decided = f'\n[{ASSIGNMENT}.students.{LATE_ONE}]\nlate = "accept"\n'
    (course / "exams.toml").write_text((course / "exams.toml").read_text() + decided)
    figures(course)
    assert "provisional" == row()["state"]  # some answers still need manual review
    assert "It counts because of the late rule" in row()["time"]
    written = page(course, LATE_ONE)
    assert "how the time of submission counts" not in written
    assert "It counts all the same" in written


@pytest.mark.slow
def test_what_the_course_refuses_is_not_graded_and_can_be_taken_back(course: Path) -> None:
    """With late = "refuse" a late submission earns nothing and shows the reason.

    An extension restores its points.
    """
    before = figures(course)["points"]
    schedule = (course / "exams.toml").read_text()
    (course / "exams.toml").write_text(schedule.replace("zone =", 'late = "refuse"\nzone ='))
    refused = figures(course)
    assert isinstance(before, dict)
    assert {**before, LATE_ONE: 0.0} == refused["points"]
    written = page(course, LATE_ONE)
    assert "It is not graded because it is late" in written
    assert "nothing in it was graded" in written
    (course / "exams.toml").write_text(
        f"{schedule}\n[{ASSIGNMENT}.students.{LATE_ONE}]\nextra_minutes = 10\n".replace(
            "zone =", 'late = "refuse"\nzone ='
        )
    )
    again = figures(course)
    assert before == again["points"]
    assert "handed in late" not in again
    assert "after the deadline" not in page(course, LATE_ONE)


DOUBTED = {
    format_student_id(1): (None, "There is no timestamp.txt."),
    format_student_id(2): ("<script>alert(1)</script>", "expected a time such as"),
    format_student_id(3): ("2026-02-12 08:00:00 UTC", "before the start"),
    format_student_id(5): ("2999-01-01 00:00:00 UTC", "in the future"),
}
"""Submission times in the students' files, and the remarks for staff."""


@pytest.mark.slow
def test_times_that_cannot_be_believed_wait_for_a_person(course: Path) -> None:
    """Implausible times change no marks.

    Staff see the reason, and students read that it costs no points by itself.
    """
    before = figures(course)["points"]
    for student, (text, _) in DOUBTED.items():
        stamp(course, student, text)
    summary = figures(course)
    assert before == summary["points"]
    lines = summary["time of handing in not known"]
    assert isinstance(lines, list)
    assert list(DOUBTED) == [line.partition(":")[0] for line in lines]
    assert [] == [
        line for line, (_, message) in zip(lines, DOUBTED.values(), strict=True) if message not in line
    ]
    page(course, OTHER)
    for student in DOUBTED:
        written = (course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text("utf-8")
        assert "That alone costs no points" in written
        assert "<script>" not in written
    staff = (course / "staff" / f"{ASSIGNMENT}.html").read_text("utf-8")
    assert 1 == staff.count("<script>")  # the page's own script, which sorts


@pytest.mark.slow
def test_the_last_attempt_in_time_is_graded(course: Path) -> None:
    """An earlier attempt that staff kept is graded instead of a late one; both staff and student are told."""
    folder_of_late_one, other = (course / "submitted" / student / ASSIGNMENT for student in (LATE_ONE, OTHER))
    kept = course / "earlier" / LATE_ONE / ASSIGNMENT / "first"
    kept.mkdir(parents=True)
    (kept / f"{ASSIGNMENT}.ipynb").write_bytes((other / f"{ASSIGNMENT}.ipynb").read_bytes())
    (kept / "timestamp.txt").write_text("2026-02-12 10:29:00 UTC")
    summary = figures(course)
    points, lines = summary["points"], summary["graded by an earlier attempt"]
    assert isinstance(points, dict)
    assert isinstance(lines, list)
    assert points[OTHER] == points[LATE_ONE]
    assert "Another one was submitted 4 min 7 s after the deadline" in lines[0]
    assert "This is your last attempt in time" in page(course, LATE_ONE)
    assert folder_of_late_one.is_dir()


def test_a_schedule_with_an_error_stops_before_anything_is_graded(course: Path) -> None:
    """A misspelt student or time zone is reported with its place before grading starts."""
    schedule = (course / "exams.toml").read_text()
    for old, new, message in (
        (EXTRA_ONE, "s10006", "has an extension, but is not on the class list; did you mean"),
        ("Europe/Berlin", "Europe/Berlim", "the zone 'Europe/Berlim' cannot be told"),
    ):
        (course / "exams.toml").write_text(schedule.replace(old, new))
        done = run("grade", ASSIGNMENT, "--course", str(course))
        assert 0 != done.returncode
        assert message in " ".join(done.stderr.split())


def test_without_a_class_list_ids_that_nobody_knows_are_named(course: Path) -> None:
    """Extensions and bonus points of an unknown id are reported with the closest id; grading continues."""
    (course / "roster.csv").unlink(missing_ok=True)
    schedule = (course / "exams.toml").read_text()
    (course / "exams.toml").write_text(schedule.replace(EXTRA_ONE, "s10006"))
    (course / "bonus.csv").write_text(
        f"id,assignment,points\ns10001,{ASSIGNMENT},1\n{OTHER},{ASSIGNMENT},1\n"
    )
    done = run("grade", ASSIGNMENT, "--course", str(course))
    assert 0 == done.returncode
    assert "exams.toml: 's10006' has an extension, but nobody of this id handed anything" in done.stderr
    assert f"did you mean '{EXTRA_ONE}'?" in done.stderr
    listed = run("grades", ASSIGNMENT, "--course", str(course))
    assert 0 == listed.returncode
    assert "bonus.csv: 's10001' has bonus points, but nobody of this id handed anything in" in listed.stderr
    assert OTHER not in listed.stderr.replace(f"did you mean '{OTHER}'", "")


def test_who_handed_in_is_known_without_standing_on_the_list(course: Path) -> None:
    """A student with a submission who is missing from the class list keeps the extension."""
    (course / "roster.csv").write_text(f"id,first_name,last_name,email\n{OTHER},,,\n")
    assert 0 == run("grade", ASSIGNMENT, "--course", str(course)).returncode


def test_an_exam_without_a_schedule_says_so(course: Path) -> None:
    """Without a schedule no submission is late, and a remark says so."""
    (course / "exams.toml").unlink()
    done = run("grade", ASSIGNMENT, "--course", str(course), "--json")
    assert "exams.toml does not say when dl4nlp-exam is sat: nobody is late" in done.stderr
    assert "handed in late" not in json.loads(done.stdout)
