"""Functions and classes on hidden inputs: right ones in several styles, and what is said of wrong ones."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.records import Ending, ItemResult, LimitKind, Observation, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, ended, error, met, value
from tests.support.local_box import LocalBox

ATTENTION = """
[[question]]
id = "q"
kind = "behaviour"
points = 14
answer = "Attention"
reference = "attention:Attention"
sizes = { d_model = [12, 24], n_heads = [2, 3], source = [5, 7] }
construct = { args = [{ size = "d_model" }, { size = "n_heads" }] }
biases = "optional"
[question.weights]
"q_proj.weight" = ["d_model", "d_model"]
"k_proj.weight" = ["d_model", "d_model"]
"v_proj.weight" = ["d_model", "d_model"]
"out_proj.weight" = ["d_model", "d_model"]
[[question.case]]
name = "self"
[question.case.kwargs]
query = { draw = "normal", shape = [2, 5, "d_model"] }
key = { same = "query" }
value = { same = "query" }
[[question.case]]
name = "cross"
[question.case.kwargs]
query = { draw = "normal", shape = [2, 4, "d_model"] }
key = { draw = "normal", shape = [2, "source", "d_model"] }
value = { draw = "normal", shape = [2, "source", "d_model"] }
mask = { draw = "padding_mask", shape = [2, 1, 1, "source"] }
[[question.item]]
id = "self"
points = 2
text = { en = "Self" }
cases = ["self"]
[[question.item]]
id = "both"
points = 4
text = { en = "Both" }
credit = "each"
[[question.item]]
id = "padding"
points = 2
text = { en = "Padding" }
property = "masked_key_inert"
case = "cross"
move = ["key", "value"]
mask = "mask"
[[question.item]]
id = "batch"
points = 1
text = { en = "Batch" }
property = "batch_independence"
case = "cross"
move = ["query", "key", "value"]
[[question.item]]
id = "order"
points = 1
text = { en = "Order" }
property = "key_order_irrelevant"
case = "cross"
move = ["key", "value"]
mask = "mask"
[[question.item]]
id = "gradient"
points = 2
text = { en = "Gradient" }
property = "gradient_reaches"
case = "cross"
[[question.item]]
id = "divisible"
points = 2
text = { en = "Divisible" }
property = "raises"
construct = { args = [10, 3] }
"""

RIGHT = """
import math
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("the heads do not divide the width")
        self.h = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def split(self, x):
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q_proj(query)), self.split(self.k_proj(key)), self.split(self.v_proj(value))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""
ITEMS = ("self", "both", "padding", "batch", "order", "gradient", "divisible")


def sit(source: str, question: str = ATTENTION) -> dict[str, ItemResult]:
    """The results of one student source, through the local box, beside the right one."""
    check = check_of(question)
    given = answer(source)
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    expected = LocalBox(RIGHT).ask(check.reference_plan(DRAW))
    results = check.judge(Evidence(given, observed, expected, draw=DRAW))
    return {one.item: one for one in results}


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        (", bias=False", ""),
        ('float("-inf")', "-1e9"),
        ("scores = q @ k.transpose(-1, -2)", "scores = torch.einsum('bhqd,bhkd->bhqk', q, k)"),
        ("raise ValueError", "raise AssertionError"),
        ("import math", "import math\nprint('debugging')"),
    ],
)
def test_right_styles_lose_nothing(change: tuple[str, str]) -> None:
    """With or without biases, einsum, another large negative number: all points."""
    results = sit(RIGHT.replace(*change))
    assert [(name, Status.PASSED) for name in ITEMS] == [(name, one.status) for name, one in results.items()]
    assert Decimal(14) == sum(one.points for one in results.values())


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (
            ("/ math.sqrt(q.shape[-1])", ""),
            {"self": "value.differs", "both": "value.differs"},
        ),
        (
            ("mask == 0", "mask == 1"),
            {"both": "value.differs", "padding": "property.masked-leaks"},
        ),
        (
            ("if mask is not None", "if False"),
            {"both": "value.differs", "padding": "property.masked-leaks"},
        ),
        (
            (".softmax(-1)", ".softmax(0)"),
            {"self": "value.differs", "both": "value.differs", "batch": "property.no-numbers"},
        ),
        (
            ("self.k_proj(key)", "self.k_proj(key).detach()"),
            {"gradient": "property.no-gradient"},
        ),
        (
            ("if d_model % n_heads", "if False"),
            {"divisible": "property.not-raised"},
        ),
        (
            ("raise ValueError", "raise KeyError"),
            {"divisible": "property.other-error"},
        ),
        (
            (
                "split(self.v_proj(value))",
                "split(self.v_proj(value + torch.arange(value.shape[1])[:, None]))",
            ),
            {"self": "value.differs", "both": "value.differs", "order": "property.order-matters"},
        ),
        (
            (".flatten(2))", ".flatten(2)).float()"),
            {},
        ),
    ],
)
def test_each_mistake_loses_its_items(change: tuple[str, str], lost: dict[str, str]) -> None:
    """A mistake loses the items it concerns, by the code that names it, and no other."""
    results = sit(RIGHT.replace(*change))
    found = {name: one.code for name, one in results.items() if one.status is not Status.PASSED}
    if "softmax(0)" in change[1]:  # what else it breaks depends on the mask
        found = {name: code for name, code in found.items() if name in lost}
    assert lost == found


def test_partial_credit_is_by_case() -> None:
    """Without masks, self-attention keeps its part of the item about both."""
    both = sit(RIGHT.replace("if mask is not None", "if False"))["both"]
    assert (Status.FAILED, Decimal(2)) == (both.status, both.points)


def test_names_beside_the_contract_are_told() -> None:
    """Other names of the weights lose the comparisons and keep the properties."""
    results = sit(RIGHT.replace("q_proj", "w_q"))
    assert "weights.missing" == results["self"].code
    assert "q_proj.weight" == results["self"].student.params["names"]
    assert {"padding", "batch", "order", "divisible"} <= {
        name for name, one in results.items() if one.status is Status.PASSED
    }


def test_a_constant_has_no_property() -> None:
    """Code that returns the same for everything has none of the properties."""
    results = sit(RIGHT.replace("return self.out_proj(", "return 0 * self.out_proj("))
    assert {"divisible"} == {name for name, one in results.items() if one.status is Status.PASSED}
    assert "property.no-influence" == results["padding"].code


def test_noise_is_refused() -> None:
    """Results that change between equal calls earn nothing, seeded or not."""
    source = RIGHT.replace("import math\n", "import math\ncount = [0]\n", 1).replace(
        "        q, k, v", "        count[0] += 1\n        query = query + 1e-4 * count[0]\n        q, k, v"
    )
    results = sit(source)
    assert {"self", "both", "padding", "batch", "order"} == {
        name for name, one in results.items() if one.code == "unsteady"
    }


def test_a_crash_in_one_case_loses_only_that_case() -> None:
    """A case that raises does not take the others with it."""
    results = sit(RIGHT.replace("if mask is not None:", "if mask is not None:\n            1 / 0"))
    assert Status.PASSED == results["self"].status
    assert (Decimal(2), "raised") == (results["both"].points, results["both"].code)
    assert "ZeroDivisionError" == results["both"].student.params["error"]


def test_the_student_reads_the_sizes_of_the_inputs() -> None:
    """The sentence names the case and the sizes, and no expected number."""
    found = sit(RIGHT.replace("/ math.sqrt(q.shape[-1])", ""))["self"]
    assert found.student.params["what"].startswith("Attention [self: query (2, 5, ")
    assert {"what", "count", "total"} == set(found.student.params)


def test_student_and_reference_get_the_same_inputs_and_nobody_else() -> None:
    """One secret gives one plan; another secret gives another."""
    check = check_of(ATTENTION)
    plan = check.plan(answer("class Attention: ..."), DRAW)
    again = check.reference_plan(DRAW)
    other = check.reference_plan(type(DRAW)(b"another secret"))
    weights = [plans[0].calls[1].args[0]["q_proj.weight"].array for plans in (plan, again, other)]
    assert weights[0].tolist() == weights[1].tolist()
    assert weights[0].tolist() != weights[2].tolist()


FUNCTION = """
[[question]]
id = "q"
kind = "behaviour"
points = 4
answer = "attend"
reference = "attention:attend"
take_first = true
[[question.case]]
name = "decoder"
args = [{ draw = "normal", shape = [2, 6, 4] }]
[[question.item]]
id = "result"
points = 1
text = { en = "Result" }
[[question.item]]
id = "causal"
points = 1
text = { en = "Causal" }
property = "causal"
move = [0]
[[question.item]]
id = "rows"
points = 1
text = { en = "Rows" }
property = "rows_sum_to_one"
[[question.item]]
id = "refuses"
points = 1
text = { en = "Refuses" }
property = "raises"
args = [{ draw = "normal", shape = [3] }]
"""
ATTEND = """
import torch
def attend(x):
    if x.dim() != 3:
        raise ValueError("three axes")
    s = x @ x.transpose(-1, -2)
    s = s.masked_fill(torch.ones(s.shape[-2:]).tril() == 0, float("-inf"))
    return s.softmax(-1), "more"
"""


def sit_function(source: str, question: str = FUNCTION) -> dict[str, str]:
    """Item → code of the results of a function."""
    check = check_of(question)
    given = answer(source)
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    expected = LocalBox(ATTEND).ask(check.reference_plan(DRAW))
    return {one.item: one.code for one in check.judge(Evidence(given, observed, expected, draw=DRAW))}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (("", ""), ("", "", "", "")),
        ((', "more"', ""), ("", "", "", "")),
        ((".tril()", ".triu()"), ("value.differs", "property.sees-later", "", "")),
        ((".softmax(-1)", ".sigmoid()"), ("value.differs", "", "property.rows", "")),
        (("s.softmax(-1)", "-s.softmax(-1)"), ("value.differs", "", "property.negative", "")),
        (("raise ValueError", "return"), ("", "", "", "property.not-raised")),
        (("x.dim() != 3", "True"), ("raised", "raised", "raised", "raised")),
        (("return s.softmax(-1)", "return 'a'"), ("value.form",) + ("property.no-numbers",) * 2 + ("",)),
        (("return s", "return x.mean() + s"), ("value.differs", "property.sees-later", "property.rows", "")),
    ],
)
def test_functions_and_their_properties(change: tuple[str, str], codes: tuple[str, ...]) -> None:
    """A function is called directly; each property names what it saw."""
    found = sit_function(ATTEND.replace(*change))
    assert dict(zip(("result", "causal", "rows", "refuses"), codes, strict=True)) == found


def test_a_stated_value_needs_no_reference() -> None:
    """A case may state its result; then no reference is asked."""
    question = """
[[question]]
id = "q"
kind = "behaviour"
points = 1
answer = "double"
[[question.case]]
args = [{ array = [1, 2], dtype = "int64" }]
value = [2, 4]
[[question.item]]
id = "double"
points = 1
text = { en = "Doubles" }
"""
    check = check_of(question)
    assert () == check.reference_plan(DRAW)
    right = Tensor(np.array([2, 4]), "int64")
    results = check.judge(Evidence(answer("def double(x): ..."), [value(right, right)]))
    assert Status.PASSED == results[0].status


@pytest.mark.parametrize(
    ("observed", "status", "code"),
    [
        (ended(Ending.CRASHED), Status.FAILED, "ending.crashed"),
        (error("NameError", "name 'Attention' is not defined"), Status.NO_ANSWER, "name.missing"),
        (met(LimitKind.REPLY_SIZE, "ReplyTooLarge"), Status.FAILED, "limit.reply-size"),
        (met(LimitKind.MEMORY, "MemoryError"), Status.FAILED, "limit.memory"),
        (met(LimitKind.DISK, "NotImplementedError"), Status.NO_ANSWER, "not-implemented"),
        ((Observation(ok=False),), Status.NEEDS_REVIEW, "review.fault"),
        ((), Status.NEEDS_REVIEW, "review.fault"),
    ],
)
def test_endings_and_faults(observed: tuple[Observation, ...], status: Status, code: str) -> None:
    """Every scenario that ends the same way gives that verdict on every item."""
    check = check_of(ATTENTION)
    given = answer("class Attention: ...")
    expected = LocalBox(RIGHT).ask(check.reference_plan(DRAW))
    plan = check.plan(given, DRAW)
    results = check.judge(Evidence(given, [observed] * len(plan), expected, draw=DRAW))
    assert {(status, code)} == {(one.status, one.code) for one in results}


def test_an_unchanged_cell_is_no_answer() -> None:
    """Nothing is asked and nothing is earned when the cell was left alone."""
    check = check_of(ATTENTION)
    given = answer("raise NotImplementedError()", changed=False)
    assert () == check.plan(given, DRAW)
    results = check.judge(Evidence(given, ()))
    assert {(Status.NO_ANSWER, Decimal(0))} == {(one.status, one.points) for one in results}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('cases = ["self"]', 'cases = ["selv"]'), "no case 'selv'"),
        (('mask = "mask"\n', ""), "mask: which argument is the mask"),
        (('move = ["key", "value"]\nmask', "mask"), "move: which arguments are changed"),
        (('move = ["key", "value"]', 'move = ["keys"]'), "no argument 'keys'"),
        (('reference = "attention:Attention"\n', ""), "nothing says what is right"),
        (('"source", "d_model"] }\nmask', '"sauce", "d_model"] }\nmask'), "no size 'sauce'"),
        (('draw = "padding_mask"', 'draw = "paddingmask"'), "paddingmask"),
        (("construct = { args = [10, 3] }", ""), "construct, args or kwargs must say"),
        (('property = "raises"', 'property = "rises"'), "rises"),
        (('answer = "Attention"\n', ""), "the name of the function or class is missing"),
        (('{ same = "query" }', '{ same = "qery" }'), "no earlier argument 'qery'"),
        (('[2, 5, "d_model"] }', '[2, 5, "d_model"], dtype = "float31" }'), "float31"),
    ],
)
def test_errors_in_a_behaviour_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """What cannot be asked is refused when the rubric is read."""
    with pytest.raises(RubricError, match=message):
        check_of(ATTENTION.replace(*change))


def test_code_that_counts_its_calls_does_not_know_what_it_answers() -> None:
    """The order of the calls of a property is hidden: another secret, another order."""
    check = check_of(ATTENTION)
    orders = set()
    for number in range(20):
        *_, padding, _batch, _order, _gradient, _raises = check.plan(
            answer("class Attention: ..."), type(DRAW)(bytes([number]))
        )
        keys = [call.kwargs["key"].array.tobytes() for call in padding.calls[2:]]
        orders.add(tuple(keys.count(key) for key in keys))
    assert {(2, 2, 1, 1), (1, 2, 2, 1), (2, 1, 1, 2)} <= orders


def test_without_the_draw_a_property_is_for_a_person() -> None:
    """Evidence that does not say in which order was asked cannot be judged, and costs nothing."""
    check = check_of(FUNCTION)
    given = answer(ATTEND)
    box = LocalBox(ATTEND)
    evidence = Evidence(given, box.ask(check.plan(given, DRAW)), box.ask(check.reference_plan(DRAW)))
    assert ["passed"] + ["needs-review"] * 3 == [one.status for one in check.judge(evidence)]


def test_refusing_is_not_a_matter_of_counting() -> None:
    """How often the right construction comes before the bad one depends on the secret."""
    check = check_of(ATTENTION)
    given = answer("class Attention: ...")
    lengths = {len(check.plan(given, type(DRAW)(bytes([number])))[-1].calls) for number in range(40)}
    assert {3, 5, 7, 9} == lengths
