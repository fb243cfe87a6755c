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


def form(value: int, *students: str, item: str = "right") -> QuestionVariant:
    """The question with another right number, and who was asked it."""
    text = RUBRIC.replace("value = 7", f"value = {value}").replace('"right"', f'"{item}"')
    rubric = parse(text.encode())
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


FAULT = "attention is computed without any mask"
"""A line of code that only Bob's listing was given with."""


def listing_remark(written: str, *, changed: bool = True) -> Note | None:
    """What staff read of Ada's answer, where faults are planted in listings."""
    evidence = Evidence(Answer("q", "code", written, changed), (), draw=Draw(b"a secret"))
    own, other = form(7, "ada"), form(8, "bob", item="mask")
    class_ = ClassVariants({"q": (own, other)}, {"q": {"mask": (FAULT,)}})
    return class_.remark("ada", evidence, own.check.judge(evidence))


def test_anothers_faults_in_a_listing_are_remarked() -> None:
    """By their code, whatever the answer is worth; not in a listing that was never touched."""
    found = listing_remark(f"one = 1\n  {FAULT}\n")
    assert found is not None
    assert "that of bob: 1 of the 2" in found.text
    assert listing_remark("one = 1") is None
    assert listing_remark(FAULT, changed=False) is None
