"""Test the kind ``formula``: symbols of a single question, in addition to those of the assignment."""

from __future__ import annotations

import json

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult, Status
from autograder.notebook.student_check import build_student_check
from autograder.pages.feedback.typeset import Typesetter
from autograder.questions import list_forms
from autograder.questions.base.base import Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import Rubric, parse_rubric

RUBRIC = """
version = 1
[assignment]
name = "exam"
points = 3
[assignment.symbols]
d_model = { aliases = ["d", "D"] }
n_heads = { aliases = ["h"] }
d_head = {}
[assignment.assume]
heads = "d = h*d_head"

[[question]]
id = "width"
kind = "formula"
points = 1
answer = "width"
[[question.item]]
id = "formula"
points = 1
text = { en = "Width" }
accept = ["8*d^2"]

[[question]]
id = "cost"
kind = "formula"
points = 2
answer = "cost"
[question.symbols]
d_model = { aliases = ["D"] }
d = {}
n = { aliases = ["N", "λ"] }
binomial = { domain = "function", aliases = ["C"] }
[[question.item]]
id = "formula"
points = 2
text = { en = "Cost" }
accept = ["C(n, 2)*d + d_model"]
assume = ["heads"]
"""


def rubric(old: str = "", new: str = "") -> Rubric:
    """Return the rubric with one place changed."""
    assert old in RUBRIC
    return parse_rubric(RUBRIC.replace(old, new, 1).encode())


def made(old: str, new: str) -> FormulaCheck:
    """Return the check of the question with additional symbols, in that rubric."""
    read = rubric(old, new)
    return FormulaCheck(read.get_question("cost"), read)


def judged(question: str, text: str) -> ItemResult:
    """Return the result of a text."""
    read = rubric()
    check = FormulaCheck(read.get_question(question), read)
    check.plan_calls(answer := Answer("a", "code", f"{question} = {text!r}", changed=True))
    return check.judge(Evidence(answer, (), (), {}))[0]


@pytest.mark.parametrize(
    ("question", "text", "reading"),
    [
        ("width", "8 d^2", "8*d_model^2"),
        ("width", "8 D^2", "8*d_model^2"),
        ("cost", "n(n-1)/2*d + D", "n*(n - 1)/2*d + d_model"),
        ("cost", "C(N,2) d + d_model", "binomial(n, 2)*d + d_model"),
        ("cost", r"\binom{\lambda}{2} d + h d_head", "binomial(n, 2)*d + n_heads*d_head"),
    ],
)
def test_a_name_means_what_its_question_says(question: str, text: str, reading: str) -> None:
    """A letter may be an alias in one question and a symbol in another; relations keep their meaning."""
    result = judged(question, text)
    assert (Status.PASSED, reading) == (result.status, result.reading)


@pytest.mark.parametrize("text", ["8*n", "C(d, 2)"])
def test_other_questions_do_not_have_them(text: str) -> None:
    """A symbol of one question is unknown in another."""
    result = judged("width", text)
    assert (Status.NEEDS_REVIEW, "unreadable.unknown-name") == (result.status, result.code)


def test_a_rubric_can_let_unreadable_answers_earn_nothing() -> None:
    """With `unreadable = "zero"`, unreadable answers fail, because students were warned before."""
    read = rubric('answer = "width"\n', 'answer = "width"\nunreadable = "zero"\n')
    check = FormulaCheck(read.get_question("width"), read)
    answer = Answer("a", "code", "width = '8*zebra^2'", changed=True)
    (result,) = check.judge(Evidence(answer, ()))
    assert (Status.FAILED, "unreadable.unknown-name") == (result.status, result.code)


def test_the_two_are_never_mixed_up() -> None:
    """A symbol of the assignment and one of the question are different."""
    assert Status.FAILED is judged("cost", "C(n, 2)*D + d").status


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('d_model = { aliases = ["D"] }\nd = {}', "d = {}", "'d' already stands for 'd_model'"),
        ('n = { aliases = ["N", "λ"] }', 'n = { aliases = ["D"] }', "'D' already stands for 'd_model'"),
        ('aliases = ["C"]', 'aliases = ["n"]', "'n' already stands for"),
        ("binomial = { domain", "choose = { domain", "only a function can be"),
        (
            'answer = "cost"\n',
            'answer = "cost"\nfollows = { own = "width.formula" }\n',
            None,
        ),
        ("d = {}", "d = { domian = 1 }", "domian"),
    ],
)
def test_what_is_ambiguous_in_one_question_is_refused(old: str, new: str, message: str | None) -> None:
    """A spelling must be unique within a question; it may differ between questions."""
    if message is None:
        assert made(old, new).kind == "formula"
        return
    with pytest.raises(RubricError, match=message):
        made(old, new)


def test_an_earlier_result_in_other_symbols_is_not_carried_forward() -> None:
    """Carrying forward is rejected if a symbol of the earlier question is an alias here."""
    text = RUBRIC.replace("points = 3\n", "points = 4\n", 1)
    text += """
[[question]]
id = "later"
kind = "formula"
points = 1
answer = "later"
follows = { own = "cost.formula" }
[[question.item]]
id = "formula"
points = 1
text = { en = "Later" }
accept = ["2*d_model"]
"""
    read = parse_rubric(text.encode())
    with pytest.raises(RubricError, match="'d' is a symbol there, and stands for 'd_model' here"):
        FormulaCheck(read.get_question("later"), read)


def test_the_students_check_and_the_page_know_them() -> None:
    """The check for students and the pages use the symbols of the question."""
    read = rubric()
    source = build_student_check(read, forms=list_forms()).decode()
    line = next(line for line in source.splitlines() if line.startswith("SPECIFICATION = "))
    questions = json.loads(json.loads(line.partition(" = ")[2]))["questions"]
    assert "n" in questions["cost"]["symbols"]
    assert "n" not in questions["width"]["symbols"]
    markup = Typesetter(read.list_symbols(read.get_question("cost"))).render_formula("binomial(n, 2)*d")
    assert "<mi>d</mi>" in str(markup)
