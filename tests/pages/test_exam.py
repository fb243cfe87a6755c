"""The student page of an exam: the table of tasks with achieved points, and personal details."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from autograder.core.records import GradingResult, ItemResult, Message, Score, Status
from autograder.grading.grades import PersonMark, compute_standing
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.summary import render_summary
from autograder.rubric import parse_rubric
from autograder.rubric.timestamps import Timing, Window
from tests.rubric.test_exam import GOOD

RUBRIC = parse_rubric(GOOD.replace('name = "exam"', 'name = "exam"\nlanguages = ["en", "de"]').encode())
END = datetime(2026, 2, 12, 11, 30, tzinfo=ZoneInfo("Europe/Berlin"))
WINDOW = Window(END - timedelta(minutes=100), END, "Europe/Berlin")


def result(question: str, points: str, possible: str, status: Status = Status.FAILED) -> ItemResult:
    """Return the result of one question."""
    return ItemResult(question, "i", status, Decimal(points), Decimal(possible), Message("passed"), "")


GRADED = GradingResult(
    Score(
        "ada",
        "exam",
        1,
        (
            result("a", "0.5", "1"),
            result("b", "0", "2", Status.NEEDS_REVIEW),
            result("c", "2", "2", Status.PASSED),
        ),
    ),
    stated={"family_name": "Löwe", "student_number": "700037"},
)


def rows(page: str) -> list[list[str]]:
    """Return the cells of the table of tasks, row by row."""
    (table,) = re.findall(r'<table class="tasks">(.*?)</table>', page, re.DOTALL)
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    return [
        [" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)]
        for line in lines
    ]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "en",
            [
                ["Task", "Subject", "Possible points", "Achieved points"],
                ["1", "Formulas", "3", "0.5 · 2 open"],
                ["2", "Code", "2", "2"],
                ["Sum", "5", "2.5"],
            ],
        ),
        (
            "de",
            [
                ["Aufgabe", "Thema", "Mögliche Punkte", "Erreichte Punkte"],
                ["1", "Formulas", "3", "0,5 · 2 offen"],
                ["2", "Code", "2", "2"],
                ["Summe", "5", "2,5"],
            ],
        ),
    ],
)
def test_the_table_of_the_title_page_has_the_achieved_points(
    language: str, expected: list[list[str]]
) -> None:
    """A task's points are the sum of its questions, open points are shown, and the sum is the total."""
    assert expected == rows(render_student_page(GRADED, RUBRIC, language=language))


def test_a_rubric_without_tasks_has_no_table() -> None:
    """Without tasks in the rubric, the page has no table of tasks."""
    before, _, after = GOOD.partition("[[assignment.task]]")
    plain = re.sub(r"^task = .*\n", "", before + after[after.index("[[question]]") :], flags=re.MULTILINE)
    assert '<table class="tasks">' not in render_student_page(GRADED, parse_rubric(plain.encode()))


def test_what_students_say_they_are_is_shown_as_their_word() -> None:
    """Details are shown as stated by the student, in addition to the id."""
    assert "As stated in the notebook: <b>Löwe, 700037</b>" in render_student_page(GRADED, RUBRIC)
    assert "as stated: Löwe, 700037" in render_summary([GRADED], RUBRIC)
    assert "stated" not in render_student_page(replace(GRADED, stated={}), RUBRIC)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202egpj.exe", "{{ 7*7 }}", "\ud800"])
def test_hostile_details_do_nothing(text: str) -> None:
    """Details are escaped, including hidden characters, and never used as a template."""
    hostile = replace(GRADED, stated={"family_name": text})
    for page in (render_student_page(hostile, RUBRIC), render_summary([hostile], RUBRIC)):
        page.encode()
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "49" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_the_time_is_shown_by_the_clock_of_the_exam() -> None:
    """The time is in the exam's zone, with a notice if late; without a schedule it is in UTC."""
    moment = datetime(2026, 2, 12, 10, 34, 7, tzinfo=UTC)
    late = Timing(WINDOW, timedelta(seconds=247))
    page = render_student_page(GRADED, RUBRIC, submitted_at=moment, timing=late)
    assert "<b>2026-02-12 11:34:07 (Europe/Berlin)</b>" in page
    assert "Submitted 4 min 7 s after the deadline" in page
    assert "2026-02-12 10:34 UTC" in render_student_page(GRADED, RUBRIC, submitted_at=moment)
    unknown = render_student_page(GRADED, RUBRIC, timing=Timing(WINDOW, doubt="There is no timestamp.txt."))
    assert "The time of submission is not known" in unknown
    assert "timestamp.txt" not in unknown


def test_the_table_of_tasks_counts_peoples_marks_and_ends_with_the_grade() -> None:
    """A manual mark closes its task; bonus points and the grade are below the sum."""
    graded_exam = parse_rubric((GOOD + "\n[assignment.grading]\n").encode())
    marks = {(graded_exam.get_question("b").notebook, "b"): PersonMark(Decimal("1.5"))}
    stands = compute_standing(GRADED.score, graded_exam, marks, bonus=Decimal("0.5"))
    lines = rows(render_student_page(GRADED, graded_exam, stands=stands))
    assert ["1", "Formulas", "3", "2"] in lines
    assert [
        ["Points of the tasks", "4"],
        ["Bonus points", "+0.5"],
        ["Sum", "5", "4.5"],
        ["Grade", "", "1.3"],
    ] == lines[-4:]


@pytest.mark.parametrize("grading", ["", "\n[assignment.grading]\n"])
def test_bonus_questions_stand_below_the_tasks(grading: str) -> None:
    """A task never exceeds its points; bonus points are listed separately, even without grades."""
    bonus = """
[[question]]
id = "d"
task = "2"
kind = "number"
points = 2
bonus = true
answer = "w"
[[question.item]]
id = "i"
points = 2
text = { en = "x" }
value = 3
"""
    rubric = parse_rubric((GOOD + bonus + grading).encode())
    score = replace(GRADED.score, items=(*GRADED.score.items, result("d", "2", "2", Status.PASSED)))
    lines = rows(render_student_page(replace(GRADED, score=score), rubric))
    assert ["2", "Code", "2", "2"] == lines[2]
    assert [["Points of the tasks", "2.5"], ["Bonus points", "+2"], ["Sum", "5", "4.5"]] == lines[3:6]
