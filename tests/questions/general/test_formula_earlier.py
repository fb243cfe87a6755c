"""Test the kind ``formula``: the effect of a student's earlier result on a later question."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult, Message, Status
from autograder.questions.base.base import Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import Rubric, parse_rubric

RUBRIC = """
version = 1
[assignment]
name = "chain"
points = 17
[assignment.symbols]
n_layers = { aliases = ["L"] }
d_model = { aliases = ["d"] }

[[question]]
id = "pairs"
kind = "formula"
points = 2
answer = "pairs"
[question.symbols]
n = { aliases = ["N"] }
l = { aliases = ["e_1"] }
[[question.item]]
id = "formula"
points = 1
text = { en = "Pairs" }
accept = ["n*d_model*e"]
[[question.item]]
id = "relation"
points = 1
text = { en = "Relation" }
form = "relation"
answer = "relation"
accept = ["n = l"]

[[question]]
id = "h"
kind = "formula"
points = 4
answer = "wide"
follows = { own = "pairs.formula" }
[question.symbols]
n = { aliases = ["m"] }
l = {}
e = { aliases = ["E"] }
[[question.item]]
id = "sum"
points = 4
text = { en = "Sum" }
accept = ["16*d_model^2"]
follow = ["d_model*own/n"]
follow_points = 1.5
mistake = [{ code = "unchanged", when = "8*d_model^2", points = 1, text = { en = "Unchanged?" } }]

[[question]]
id = "i"
kind = "formula"
points = 6
answer = "changed"
follows = { own = "h.sum" }
[[question.item]]
id = "formula"
points = 6
text = { en = "Changed" }
accept = ["20*n_layers*d_model^2"]
follow = ["n_layers*(4*d_model^2 + own)"]
follow_points = 4
mistake = [
  { code = "attention-forgotten", when = "16*n_layers*d_model^2", points = 1, text = { en = "Attention?" } },
  { code = "own-only", when = "n_layers*own", points = 3, text = { en = "Only the MLP?" } },
]

[[question]]
id = "count"
kind = "number"
points = 1
answer = "count"
[[question.item]]
id = "value"
points = 1
text = { en = "Count" }
value = 7

[[question]]
id = "j"
kind = "formula"
points = 4
answer = "twice"
follows = { own = "i.formula" }
[[question.item]]
id = "formula"
points = 4
text = { en = "Twice" }
accept = ["40*n_layers*d_model^2"]
follow = ["2*own"]
mistake = [{ code = "once", when = "own", points = 1, text = { en = "Twice?" } }]
"""


def rubric(old: str = "", new: str = "") -> Rubric:
    """Return the rubric with one place changed."""
    assert old in RUBRIC
    return parse_rubric(RUBRIC.replace(old, new, 1).encode())


READ = rubric()
CHECKS = {one.id: FormulaCheck(one, READ) for one in READ.questions if one.kind == "formula"}


def judged(question: str, text: str, earlier: ItemResult | None = None) -> ItemResult:
    """Return the first item's result for a text, after an earlier result."""
    check = CHECKS[question]
    source = f"{READ.get_question(question).answer} = {text!r}"
    earlier_results = {} if earlier is None else {f"{earlier.question}.{earlier.item}": earlier}
    return check.judge(Evidence(Answer("a", "code", source, changed=True), (), (), earlier_results))[0]


def result(status: Status, reading: str, code: str = "") -> ItemResult:
    """Return a result of h.sum."""
    return ItemResult("h", "sum", status, Decimal(0), Decimal(4), Message("formula.wrong"), "", code, reading)


def test_a_name_of_the_earlier_question_keeps_its_meaning() -> None:
    """A name keeps its meaning from the earlier question: ``e`` was Euler's number and is a symbol here."""
    earlier = judged("pairs", "n*d*e/2")
    assert earlier.reading == "n*d_model*e/2"
    assert judged("h", "d*n*d*E/2/n", earlier).code != "formula.carried-forward"
    assert judged("h", "d*n*d*exp(1)/2/n", earlier).code == "formula.carried-forward"


def test_names_that_are_not_known_here_are_not_carried() -> None:
    """A result in a symbol that this question does not have is not carried forward."""
    judgement = judged("i", "15*L*d^2", result(Status.FAILED, "w*d_model^2"))
    assert (Status.FAILED, Decimal(0)) == (judgement.status, judgement.points)
    assert judgement.code.startswith("diagnosis.")


@pytest.mark.parametrize(
    "reading",
    [
        "",
        "(8*d_model, 2)",
        "d_model = n_layers",
        "124,000,000 parameters",
        "O(d_model)",
        "((",
        "8*d_model^2 <",
    ],
)
def test_what_is_no_formula_is_not_carried(reading: str) -> None:
    """A text that is not a formula is not carried forward, and the right answer stays right."""
    earlier = result(Status.FAILED, reading)
    assert Status.PASSED is judged("i", "20*L*d^2", earlier).status
    assert judged("i", "L*(4*d^2 + 8*d^2)", earlier).points == 0


@pytest.mark.parametrize("reading", ["1/(d_model - d_model)", "0", "2^(d_model^n_layers)", "d_model!"])
def test_strange_earlier_results_do_no_harm(reading: str) -> None:
    """An earlier result without a value, or an empty one, raises no exception and earns no points."""
    earlier = result(Status.FAILED, reading)
    assert Status.PASSED is judged("i", "20*L*d^2", earlier).status
    assert judged("i", "12*L*d^2", earlier).points == 0


@pytest.mark.parametrize(
    ("reading", "text", "status", "points"),
    [
        ("24*d_model^2", "20*L*d^2", Status.PASSED, "6"),
        ("24*d_model^2", "28*L*d^2", Status.NEEDS_REVIEW, "0"),  # 6 points or 4
        ("24*d_model^2", "24*L*d^2", Status.FAILED, "3"),  # 3 either way
        ("16*d_model^2", "16*L*d^2", Status.FAILED, "1"),  # the first mistake either way
        ("24*d_model^2", "5*L", Status.FAILED, "0"),
    ],
)
def test_an_earlier_result_that_a_person_decides(
    reading: str, text: str, status: Status, points: str
) -> None:
    """If a pending earlier result matters for the later one, that needs manual review too."""
    judgement = judged("i", text, result(Status.NEEDS_REVIEW, reading))
    assert (status, Decimal(points)) == (judgement.status, judgement.points)


@pytest.mark.parametrize(("text", "status"), [("20*L*d^2", Status.PASSED), ("28*L*d^2", Status.NEEDS_REVIEW)])
def test_our_own_fault_before_costs_nothing_here(text: str, status: Status) -> None:
    """If the earlier cell could not be run, an answer that may be right needs manual review."""
    assert status is judged("i", text, result(Status.NEEDS_REVIEW, "")).status


def test_a_result_carried_forward_is_not_blamed_on_the_next_step() -> None:
    """A named mistake of the next step is not reported for an error that was carried forward."""
    earlier = judged("i", "28*L*d^2", result(Status.FAILED, "24*d_model^2"))
    assert (earlier.code, earlier.points) == ("formula.carried-forward", Decimal(4))
    assert judged("j", "56*L*d^2", earlier).points == 4
    full = ItemResult(
        "i", "formula", Status.PASSED, Decimal(6), Decimal(6), Message("x"), "",
        "formula.carried-forward", "28*n_layers*d_model^2",
    )  # fmt: skip
    assert judged("j", "20*L*d^2", full).code != "once"
    right = ItemResult(
        "i", "formula", Status.PASSED, Decimal(6), Decimal(6), Message("x"), "", "", "20*n_layers*d_model^2"
    )
    assert judged("j", "20*L*d^2", right).code == "once"


@pytest.mark.parametrize(
    ("question", "old", "new", "message"),
    [
        ("i", 'own = "h.sum"', 'own = "i.formula"', "in an earlier question, got 'i.formula'"),
        ("i", 'own = "h.sum"', 'own = "j.formula"', "formula in an earlier question"),
        ("i", 'own = "h.sum"', 'own = "pairs.relation"', r"formula, pairs.relation\[symbol\], h.sum"),
        ("i", 'own = "h.sum"', 'own = "pairs.relation[zz]"', "'zz' is no symbol there"),
        ("i", 'own = "h.sum"', 'own = "pairs.formula[d]"', "there are: pairs.formula, "),
        ("j", 'own = "i.formula"', 'own = "count.value"', "formula in an earlier question"),
        ("i", "follow_points = 4", "follow_points = -4", "points: expected from 0"),
        ("i", "follow_points = 4", "follow_points = 0.125", "at most two decimals"),
        ("h", 'aliases = ["m"] }\nl = {}', 'aliases = ["l"] }', "'l' is a symbol there, and stands for 'n'"),
    ],
)
def test_sources_that_cannot_be_carried_are_refused(question: str, old: str, new: str, message: str) -> None:
    """A later question, another form or another kind cannot be carried forward."""
    read = rubric(old, new)
    with pytest.raises(RubricError, match=message):
        FormulaCheck(read.get_question(question), read)
