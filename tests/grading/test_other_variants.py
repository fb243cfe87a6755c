"""Whose variant an answer fits: a remark for staff, and never about the student's own."""

from __future__ import annotations

from autograder.checks.base import Draw, Evidence
from autograder.grading.other_variants import CODE, ClassVariants, QuestionVariant
from autograder.kinds import make_check
from autograder.records import Answer, Note
from autograder.rubric import parse

RUBRIC = """
version = 1
[assignment]
name = "variants"
points = 1
[[question]]
id = "q"
kind = "count"
points = 1
answer = "number"
[[question.item]]
id = "right"
points = 1
text = { en = "Right" }
value = 7
"""


def form(value: int, *students: str) -> QuestionVariant:
    """The question with another right number, and who was asked it."""
    rubric = parse(RUBRIC.replace("value = 7", f"value = {value}").encode())
    question = rubric.question("q")
    return QuestionVariant(question, make_check(question, rubric), (), students)


FORMS = (form(7, "ada"), form(8, "bob", "cleo"), form(9, "dora"))


def remark(student: str, written: str, *, changed: bool = True) -> Note | None:
    """What staff read of an answer."""
    evidence = Evidence(Answer("q", "code", written, changed), (), draw=Draw(b"a secret"))
    own = next(one for one in FORMS if student in one.students)
    return ClassVariants({"q": FORMS}).remark(student, evidence, own.check.judge(evidence))


def test_an_answer_that_fits_anothers_variant_is_remarked() -> None:
    """With all whose it fits, and how many were handed out."""
    found = remark("ada", "number = 8")
    assert found is not None
    assert (CODE, "q") == (found.code, found.place)
    assert "that of bob, cleo: 2 of the 4 that were handed out" in found.text


def test_nothing_is_said_of_other_answers() -> None:
    """One that is right, one that fits nobody, and one that was never written."""
    assert remark("ada", "number = 7") is None
    assert remark("ada", "number = 10") is None
    assert remark("ada", "number = 8", changed=False) is None
