"""A small exam of formula questions, and helpers to judge answers to it."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.core.records import Answer, ItemResult, Observation, OpaqueValue
from autograder.questions.base.base import Draw, Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import Rubric, parse_rubric

RUBRIC = b"""
version = 1
[assignment]
name = "exam"
points = 14
[assignment.symbols]
n_layers = { aliases = ["L"] }
n_heads = { aliases = ["h", "H"] }
d_model = { aliases = ["d", "D"] }
d_head = { aliases = ["d_k", "d_h"] }
n_voc = {}
n = {}
[assignment.assume]
heads = "d_model = n_heads*d_head"

[[question]]
id = "b"
kind = "formula"
points = 3
answer = "mlp"
reference = "parameters:mlp"
[[question.item]]
id = "formula"
points = 2
text = { en = "MLP" }
accept = ["8*d_model^2 + 5*d_model"]
mistake = [
  { code = "one-matrix", when = "4*d_model^2", points = 0.5, text = { en = "One.", de = "Eine." } },
  { code = "no-expansion", when = "2*d_model^2", text = { en = "No expansion." } },
]
[[question.item]]
id = "why"
points = 1
text = { en = "Why" }
manual = true

[[question]]
id = "c"
kind = "formula"
points = 2
answer = "projection"
[[question.item]]
id = "formula"
points = 2
text = { en = "W_O" }
accept = ["n_heads*d_head*d_model"]
assume = ["heads"]
remark = [{ code = "assumed-early", when = "d_model^2", assume = [], text = { en = "Early." } }]
mistake = [{ code = "one-head", when = "d_head*d_model", assume = [], text = { en = "One head." } }]

[[question]]
id = "d"
kind = "formula"
points = 2
answer = "layer"
reference = "parameters:layer"
[[question.item]]
id = "formula"
points = 2
text = { en = "Layer" }
mistake = [
  { code = "no-output", when = "3*n_heads*d_model*d_head + 8*d_model^2", points = 1, text = { en = "W_O?" } },
  { code = "early", when = "12*d_model^2", assume = ["heads"], points = 1, text = { en = "Early." } },
]

[[question]]
id = "e"
kind = "formula"
points = 3
answer = "simplified"
reference = "parameters:layer"
[[question.item]]
id = "relation"
points = 1
text = { en = "Assumption" }
form = "relation"
answer = "assumption"
accept = ["d_model = n_heads*d_head"]
mistake = [{ code = "equal-widths", when = "d_head = d_model", text = { en = "Same width?" } }]
[[question.item]]
id = "formula"
points = 2
text = { en = "Simplified" }
assume = ["heads"]
mistake = [{ code = "eleven", when = "11*d_model^2", points = 1, text = { en = "Nearly." } }]

[[question]]
id = "h"
kind = "formula"
points = 4
answer = "wide"
reference = "parameters:wide"
[[question.item]]
id = "first"
points = 2
text = { en = "Shape" }
form = "tuple"
answer = "shape"
accept = ["(3*d_model, 4*d_model)"]
mistake = [{ code = "transposed", when = "(4*d_model, 3*d_model)", points = 1, text = { en = "Order." } }]
[[question.item]]
id = "sum"
points = 2
text = { en = "Sum" }
"""

REFERENCES = {
    "b": "8*d_model**2",
    "d": "4*d_head*d_model*n_heads + 8*d_model**2",
    "e": "12*d_model**2",
    "h": "16*d_model**2",
}
LAYER = "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2"
DRAW = Draw(b"secret")


def _checks() -> dict[str, FormulaCheck]:
    rubric = parse_rubric(RUBRIC)
    return {question.id: FormulaCheck(question, rubric) for question in rubric.questions}


CHECKS = _checks()


def altered(old: str, new: str) -> Rubric:
    """Return the rubric with one place changed."""
    text = RUBRIC.decode()
    assert old in text
    return parse_rubric(text.replace(old, new, 1).encode())


def judged(
    check: FormulaCheck,
    question: str,
    source: str,
    *,
    values: Mapping[str, object] | None = None,
    observations: tuple[Observation, ...] | None = None,
    earlier: Mapping[str, ItemResult] | None = None,
    cell_type: str = "code",
    changed: bool = True,
) -> dict[str, ItemResult]:
    """Return results by item; ``values`` are those of the requested names in the box."""
    answer = Answer(f"{question}-answer", cell_type, source, changed)
    if observations is None:
        targets = [call.target for call in check.plan_calls(answer)]
        observations = tuple(Observation(ok=True, value=(values or {}).get(name)) for name in targets)
    reference = REFERENCES.get(question)
    expected = (Observation(ok=True, value=OpaqueValue("Add", reference)),) if reference else ()
    results = check.judge(Evidence(answer, observations, expected, earlier or {}))
    return {result.item: result for result in results}


def formula(question: str, name: str, text: str) -> ItemResult:
    """Return the result of a question's item ``formula`` for a text assigned in the source."""
    return judged(CHECKS[question], question, f"{name} = {text!r}")["formula"]
