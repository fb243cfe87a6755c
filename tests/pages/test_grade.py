"""Grades on the student page and their distribution in the summary: a grade or a range, and its basis."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.records import GradingResult
from autograder.grading.grades import PersonMark, PersonMarks, compute_standing
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.summary import compute_distribution, render_summary
from tests.pages.examples import good, hostile, middling
from tests.pages.test_render import Page
from tests.test_grades import BONUS, EXAM, WHY, rubric

DECIDED: PersonMarks = {WHY: PersonMark(Decimal("0.5"), comment="A reason, but not why two.")}
REPAIR = ("exam", "task5-a")


def text(
    graded: GradingResult, marks: PersonMarks | None = None, language: str = "en", exam: object = EXAM
) -> str:
    """Return the text of a student's page."""
    assert isinstance(exam, type(EXAM))
    return Page(
        render_student_page(
            graded, exam, language=language, stands=compute_standing(graded.score, exam, marks)
        )
    ).text


def test_a_provisional_grade_is_a_range() -> None:
    """With open manual items, the page shows a provisional range of grades."""
    page = text(middling())
    assert "Grade 4.0 to 3.7" in page
    assert "✓ passed Provisional: the grade depends on what is still open." in page
    assert "8.5 of 17 points" in page


def test_a_final_grade_says_nothing_else() -> None:
    """After manual marking, a single grade is shown in the format of the language."""
    page = text(middling(), DECIDED, "de")
    assert "Note 4,0 ✓ bestanden" in page
    assert "9 von 17 Punkten" in page
    assert "Vorläufig" not in page
    assert "offen" not in page


def test_an_open_point_that_changes_nothing_is_said_so() -> None:
    """If the worst and best grade are equal, the page says that the grade cannot change."""
    page = text(good())
    assert "Grade 1.3 to 1.0" in page
    again = text(good(), {WHY: PersonMark(Decimal(0)), ("exam", "mha"): PersonMark(Decimal(0), again=True)})
    assert "Grade 3.7 to 1.3" in again
    lenient = rubric(
        "[assignment.grading]\nscale = [{ grade = 'yes', from = 10 }, { grade = 'no', from = 0 }]\n"
    )
    page = text(good(), exam=lenient)
    assert "Grade yes ✓ passed Provisional: something is still open, but it cannot change the grade." in page


def test_a_persons_mark_and_comment_are_shown() -> None:
    """The manual mark replaces the open points in its line, with the comment below."""
    page = text(middling(), DECIDED)
    assert "Your reason, in a sentence ✎ graded manually 0.5 of 1" in page
    assert "Comment A reason, but not why two." in page
    assert "A person reads your reason." not in page
    assert "−0.5 Your reason, in a sentence" in page


def test_a_mark_for_several_lines_is_one_sum() -> None:
    """If a cell has several lines, its mark is shown as one sum."""
    page = text(middling(), {REPAIR: PersonMark(Decimal("6.5"))})
    assert "6.5 of 8" in page
    assert "✎ graded manually 6.5 of 8" in page
    assert "−1.5 Repair the decoder : graded manually" in page


def test_full_marks_by_a_person_silence_the_automatic_words() -> None:
    """Automatic messages are hidden if a grader gave full marks."""
    assert "one of the two matrices" in text(middling())
    assert "one of the two matrices" not in text(middling(), {("exam", "task3-b"): PersonMark(Decimal(1))})


def test_bonus_points_and_rules_are_told() -> None:
    """Bonus points are shown with the rule that counts them and the points needed to pass."""
    page = text(middling(), exam=BONUS)
    assert "Bonus points: 3, included in the sum (for bonus questions)." in page
    failed = text(middling(), {REPAIR: PersonMark(Decimal(4))}, exam=BONUS)
    assert (
        "Bonus points: 3 (for bonus questions), not included in the sum unless the points without them are "
        "enough to pass." in failed
    )
    assert "Passed from 5.5 of 11 points. Points are not rounded" in page
    assert "Bonus points count only if the points without them are enough to pass." in page
    assert "mha · bonus" in page


EXTRAS = {
    WHY: PersonMark(Decimal(1), Decimal("1.5"), comment="A neat proof."),
    ("exam", "mha"): PersonMark(None, Decimal(-2), comment="Copied from the lecture."),
}
"""Positive and negative extra credit with comments."""


def test_what_people_added_and_took_away_is_told() -> None:
    """Extra credit is shown as an equation at the sum, and at the question with its comment."""
    stands = compute_standing(middling().score, EXAM, EXTRAS, bonus=Decimal(1))
    page = Page(render_student_page(middling(), EXAM, stands=stands)).text
    assert "Manual deduction: 2 (9.5 − 2 = 7.5)." in page
    sources = "1.5 from manual grading, 1 from the course"
    assert f"Bonus points: 2.5, included in the sum ({sources})." in page
    assert "Bonus points from manual grading: 1.5" in page
    assert "Deduction from manual grading: 2 Comment Copied from the lecture." in page
    german = Page(render_student_page(middling(), EXAM, stands=stands, language="de")).text
    assert "Abzug von Hand: 2 (9,5 − 2 = 7,5)." in german


def test_a_sum_that_is_bounded_says_so() -> None:
    """The sum is never negative; more than the possible points does not improve the best grade."""
    marks = {WHY: PersonMark(Decimal(1), Decimal(-40))}
    page = text(middling(), marks)
    assert "Manual deduction: 40, limited to the 9.5 earned" in page
    stands = compute_standing(middling().score, EXAM, {}, bonus=Decimal(30))
    page = Page(render_student_page(middling(), EXAM, stands=stands)).text
    assert "The sum exceeds the 17 possible points. There is no better grade than 1.0." in page


def test_the_summary_shows_the_spread_of_grades() -> None:
    """The summary shows final and provisional grades, certain passes and possible passes."""
    everyone = [good(), middling(), hostile()]
    stands = {graded.score.student: compute_standing(graded.score, EXAM) for graded in everyone}
    stands["grace"] = compute_standing(middling().score, EXAM, DECIDED)
    page = Page(render_summary(everyone, EXAM, stands)).text
    assert "Passed: 2 of 3 (67 %) Provisional: 1" in page
    assert "1.3 15.3 1" in page
    assert "ada 16 1 1.3 to 1.0 provisional" in page
    assert "grace 9 4.0 ✓ 6 passed ✕ 5 not passed ○ 1 no answer ✎ 1 graded manually" in page
    assert "Mean: 8.33 of 17" in page


@pytest.mark.parametrize("scale", ["german", "letter", "percent"])
def test_every_student_is_in_one_bar(scale: str) -> None:
    """The bars add up to the number of students on every scale."""
    exam = rubric(f'[assignment.grading]\nscale = "{scale}"\n')
    assert exam.assignment.grading is not None
    stands = [compute_standing(graded.score, exam) for graded in (good(), middling(), hostile())]
    stands += [compute_standing(good().score, exam, bonus=Decimal(40))]
    spread = compute_distribution(stands, exam.assignment.grading, Labels("en"))
    assert 4 == sum(bar.final + bar.provisional for bar in spread.bars) == spread.students
    assert (1, 3) == (sum(bar.final for bar in spread.bars), spread.provisional)
