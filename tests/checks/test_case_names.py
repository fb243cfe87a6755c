"""Names of cases: every kind tells them in the language of the page, and staff read them in English."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from autograder.checks.base import Evidence
from autograder.checks.options import CallOptions, Case, named_cases
from autograder.errors import RubricError
from autograder.kinds import make_check
from autograder.messages import render
from autograder.records import ItemResult, Message, Status
from autograder.rubric import Question, Rubric, load
from autograder.wording import LocalisedText
from tests.checks.asking import DRAW, answer, check_of, judge, value
from tests.support.local_box import LocalBox

RUBRICS = Path(__file__).parents[2] / "rubrics"
NAMED = [
    (path.stem, question.id)
    for path in sorted(RUBRICS.glob("*.toml"))
    for question in load(path).questions
    if any(isinstance(case.get("name"), dict) for case in question.options.get("case", ()))
]
VALUE = """
[[question]]
id = "q"
kind = "value"
points = 2
answer = "f"
[[question.case]]
name = { en = "two {rows}", de = "zwei {Zeilen}" }
args = [2]
value = 4
[[question.case]]
name = "x = 3"
args = [3]
value = 9
[[question.item]]
id = "both"
points = 2
text = { en = "Both" }
cases = ["two {rows}", "x = 3"]
"""


def raising(question: Question, rubric: Rubric) -> tuple[ItemResult, ...]:
    """The results of code that raises, whatever it is called with."""
    check = make_check(question, rubric)
    source = f"def {question.answer}(*args, **kwargs):\n    raise ValueError('no')\n"
    plan = check.reference_plan(DRAW)
    module, _, name = question.reference.partition(":")
    known = f"from reference.{module} import {name} as {question.answer}" if plan else ""
    given = answer(source)
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    return check.judge(Evidence(given, observed, LocalBox(known).ask(plan), draw=DRAW))


@pytest.mark.slow
@pytest.mark.parametrize(("assignment", "asked"), NAMED)
def test_a_case_is_named_in_the_language_of_the_page(assignment: str, asked: str) -> None:
    """A German sentence has the German name and not the English one; staff read the English one."""
    rubric = load(RUBRICS / f"{assignment}.toml")
    question = rubric.question(asked)
    names = [case["name"] for case in question.options["case"] if isinstance(case["name"], dict)]
    told = [one for one in raising(question, rubric) if "[" in render(one.student, "en")]
    assert told
    for one in told:
        assert Status.FAILED is one.status
        english, german = render(one.student, "en"), render(one.student, "de")
        (name,) = (name for name in names if f"[{name['en']}" in english)
        assert f"[{name['de']}" in german
        assert name["en"] not in german
        assert f"[{name['en']}" in one.staff


def test_every_kind_that_calls_is_among_them() -> None:
    """The shipped rubrics have named cases in these kinds; one more is tried below."""
    kinds = {load(RUBRICS / f"{name}.toml").question(one).kind for name, one in NAMED}
    assert {"count"} == kinds


def test_a_wrong_value_names_its_case() -> None:
    """A sentence of the vocabulary has the name in each language, braces and all; a plain name is for all."""
    check = check_of(VALUE)
    (first,) = judge(check, "def f(x): ...", [value(5, 5), value(9, 9)])
    assert "f [zwei {Zeilen}" in render(first.student, "de")
    assert "f [two {rows}" in render(first.student, "en")
    assert first.staff.startswith("f [two {rows}")
    (plain,) = judge(check, "def f(x): ...", [value(4, 4), value(8, 8)])
    assert "f [x = 3" in render(plain.student, "de")


def test_names_keep_their_hidden_numbers() -> None:
    """A case is known by its English name, so a translation changes no hidden input; else by its number."""
    two = {"en": "two rows", "de": "zwei Zeilen"}
    cases = (Case(name=two), Case(name={"de": "drei"}), Case(), Case(name={}))
    question = load(RUBRICS / "gpt2.toml").questions[0]
    known = named_cases(CallOptions(cases), question)
    assert ["two rows", "drei", "3", "4"] == list(known)
    assert ["f [two rows: x]", "f [drei: x]", "f [3: x]", "f [4: x]"] == [
        str(case.asked("f", name, "x")) for name, case in known.items()
    ]
    twice = CallOptions((Case(name={"en": "a", "de": "b"}), Case(name="a")))
    with pytest.raises(RubricError, match="two cases have the same name"):
        named_cases(twice, question)


def test_a_message_travels_with_all_its_languages() -> None:
    """Results that are kept as JSON come back with the names in both languages, and older ones are read."""
    message = Message(
        "raised", {"what": LocalisedText({"en": "f [a]", "de": "f [b]"}), "error": "E", "text": "–"}
    )
    back = msgspec.json.decode(msgspec.json.encode(message), type=Message)
    assert message == back
    assert "f [b] brach ab mit E: –" == render(back, "de")
    older = msgspec.json.decode(
        b'{"code": "raised", "params": {"what": "f", "error": "E", "text": "t"}}', type=Message
    )
    assert "f brach ab mit E: t" == render(older, "de")
