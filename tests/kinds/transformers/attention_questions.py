"""Two questions about attention: one states everything and asks for it, the other takes any right class."""

from __future__ import annotations

from autograder.checks.base import Evidence
from autograder.records import ItemResult, Status
from tests.checks.asking import DRAW, answer, check_of
from tests.support.local_box import LocalBox

CASES = """
[[question.case]]
name = "self"
args = [{ draw = "normal", shape = [2, 5, "d_model"] }, { same = 0 }, { same = 0 }]
[[question.case]]
name = "cross"
args = [
  { draw = "normal", shape = [2, 4, "d_model"] },
  { draw = "normal", shape = [2, 7, "d_model"] },
  { draw = "normal", shape = [2, 7, "d_model"] },
]
[[question.case]]
name = "padding"
args = [
  { draw = "normal", shape = [3, 6, "d_model"] },
  { same = 0 },
  { same = 0 },
  { draw = "padding_mask", shape = [3, 1, 1, 6] },
]
[[question.case]]
name = "causal"
args = [
  { draw = "normal", shape = [2, 5, "d_model"] },
  { same = 0 },
  { same = 0 },
  { draw = "causal_mask", shape = [5, 5] },
]
[[question.case]]
name = "heads"
args = [
  { draw = "normal", shape = [2, 5, "d_model"] },
  { same = 0 },
  { same = 0 },
  { draw = "mask", shape = [2, "n_heads", 5, 5] },
]
"""
VALUES = """
[[question.item]]
id = "values"
points = 2
text = { en = "Values" }
cases = ["self", "cross"]
[[question.item]]
id = "masks"
points = 2
text = { en = "Masks" }
cases = ["padding", "causal", "heads"]
"""


def _properties(*names: str) -> str:
    """One item for each property, worth one point."""
    return "".join(
        f'[[question.item]]\nid = "{name}"\npoints = 1\ntext = {{ en = "{name}" }}\nproperty = "{name}"\n'
        for name in names
    )


COMMON = ("gradients", "masked_key_inert", "batch_independence", "key_order_irrelevant")
STATED = (
    *COMMON,
    *("contract", "convention", "extreme_scores", "blocked_rows", "refuses", "precision"),
    *("dropout_evaluation", "dropout_training"),
)

STRICT = (
    f"""
[[question]]
id = "q"
kind = "implementation"
points = {4 + len(STATED)}
answer = "MultiHeadAttention"
sizes = {{ d_model = [12, 24], n_heads = [2, 3, 4] }}
masks = ["zero-blocks"]
dropout = 0.5
contract = {{ query = "q_proj", key = "k_proj", value = "v_proj", output = "out_proj" }}
"""
    + CASES
    + VALUES
    + _properties(*STATED)
)
"""Names, biases, convention, precision and dropout are stated, and every property is asked for."""

GENERAL = (
    f"""
[[question]]
id = "q"
kind = "implementation"
points = {4 + len(COMMON)}
answer = "MultiHeadAttention"
sizes = {{ d_model = [12, 24], n_heads = [2, 3, 4] }}
take_first = true
"""
    + CASES
    + VALUES
    + _properties(*COMMON)
)
"""Nothing is stated but what attention is."""

CHECKS = {"strict": check_of(STRICT), "general": check_of(GENERAL)}


def sit(source: str, question: str = "general") -> dict[str, ItemResult]:
    """The results of one class, through the local box, by item."""
    check = CHECKS[question]
    given = answer(source)
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    return {one.item: one for one in check.judge(Evidence(given, observed, draw=DRAW))}


def lost(results: dict[str, ItemResult]) -> dict[str, str]:
    """The items that did not pass, with their codes."""
    return {name: one.code for name, one in results.items() if one.status is not Status.PASSED}
