"""Attention that students write: right in any style, and what is said of misconceptions."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.kinds.transformers.implementation import formula
from autograder.kinds.transformers.implementation.formula import Projection
from autograder.messages import render, sentences
from autograder.records import Ending, ItemResult, Observation, Status
from reference.attention import MultiHeadAttention
from reference.faults.attention import catalogue, listing
from tests.checks.asking import DRAW, answer, check_of, ended
from tests.kinds.transformers.attention_questions import CHECKS, GENERAL, STRICT, lost, sit
from tests.kinds.transformers.attention_styles import STYLES
from tests.support.local_box import LocalBox
from tests.support.thorough import sample

FAULTS = {fault.id: fault for fault in catalogue() if not fault.equivalent}
EQUIVALENT = tuple(fault.id for fault in catalogue() if fault.equivalent)
NOT_ASKED = {
    *("mask_value_ten_thousand", "mask_minus_infinity", "dropout_before_softmax", "dropout_never"),
    *("float32_inside", "output_bias_missing", "mask_inverted", "divisibility_unchecked"),
}
"""What a question that states nothing cannot call wrong: another convention, no bias, no dropout, …"""

PROBES = {
    "values": {"values"},
    "cross": {"values"},
    "masks": {"masks"},
    "convention": {"convention"},
    "contract": {"contract"},
    "gradients": {"gradients"},
    "batch_independence": {"batch_independence"},
    "steady": {"masks"},
    "extreme_keys": {"extreme_scores"},
    "blocked_rows": {"blocked_rows"},
    "dropout_evaluation": {"dropout_evaluation"},
    "dropout_training": {"dropout_training"},
    "precision": {"precision"},
    "refuses": {"refuses"},
}
"""A fault's probe → the item of the strict question that it must lose."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_misconception_loses_what_its_probe_says(fault: str) -> None:
    """Where everything is stated and asked, every misconception is noticed by the item of its probe."""
    results = sit(listing([fault]), "strict")
    assert PROBES[FAULTS[fault].probe] <= set(lost(results))
    assert Status.NEEDS_REVIEW not in {one.status for one in results.values()}


@pytest.mark.parametrize("fault", sample(list(FAULTS), 18))
def test_no_misconception_is_taken_for_another_way_of_storing_weights(fault: str) -> None:
    """Without any statement, too, no assignment of the parameters makes a misconception right."""
    assert (fault in NOT_ASKED) == (not lost(sit(listing([fault]))))


@pytest.mark.parametrize("fault", ["", *EQUIVALENT])
def test_rewritings_that_are_right_lose_nothing(fault: str) -> None:
    """The listing and its equivalents keep full marks in both questions."""
    source = listing(filter(None, [fault]))
    assert ({}, {}) == (lost(sit(source, "strict")), lost(sit(source)))


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_every_right_style_keeps_full_marks(style: str) -> None:
    """Storage, names, orders of arguments and conventions of masks are told from what the class does."""
    assert {} == lost(sit(STYLES[style]))


@pytest.mark.parametrize("style", sample(list(STYLES), 8))
@pytest.mark.parametrize(
    ("called", "item"),
    [
        ("query=query, key=key, value=key, mask=mask", "values"),
        ("query=query * 0.5, key=key, value=value, mask=mask", "values"),
        ("query=query, key=key, value=value, mask=None", "masks"),
    ],
)
def test_a_misconception_shows_in_every_style(style: str, called: str, item: str) -> None:
    """The same misconception around each right class is noticed, however the weights are stored."""
    source = re.sub(r"\bMultiHeadAttention\b", "Inner", STYLES[style])
    names = re.search(r"class Inner.*?def forward\(self, ([^)]*)\)", source, re.DOTALL)
    assert names is not None
    own = [name.split("=")[0].strip() for name in names[1].split(",")]
    roles = [
        next(role for role in ("query", "key", "value", "mask") if _stands_for(name, role)) for name in own
    ]
    given = dict(part.split("=") for part in called.split(", "))
    source += (
        "\n\nclass MultiHeadAttention(Inner):\n    def forward(self, query, key, value, mask=None):\n"
        f"        return super().forward({', '.join(given[role] for role in roles)})\n"
    )
    results = sit(source)
    assert item in lost(results)
    assert Status.FAILED is results[item].status


def _stands_for(name: str, role: str) -> bool:
    return name.lower().replace("x", "")[0] == role[0] if role != "mask" else "mask" in name


def test_the_formula_is_the_reference() -> None:
    """What is compared with equals the reference in double precision, masks and empty rows included."""
    torch.manual_seed(0)
    model = MultiHeadAttention(12, 3).double()
    weights = {
        role: Projection(layer.weight.detach().numpy().T, layer.bias.detach().numpy())
        for role, layer in zip(
            formula.ROLES, (model.q_proj, model.k_proj, model.v_proj, model.out_proj), strict=True
        )
    }
    query, key, value = (torch.randn(2, length, 12, dtype=torch.float64) for length in (4, 6, 6))
    mask = torch.rand(2, 3, 4, 6) < 0.5
    mask[0, 0, 0] = False
    for seen in (None, mask):
        given = formula.AttentionInputs(
            query.numpy(), key.numpy(), value.numpy(), None if seen is None else seen.numpy()
        )
        with torch.no_grad():
            right = model(query, key, value, seen).numpy()
        assert np.abs(formula.attention(weights, 3, given) - right).max() < 1e-12


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no_scaling", "not divided by the square root of d_head"),
        ("softmax_over_queries", "over the queries instead of the keys"),
        ("heads_ignored", "the heads make no difference"),
        ("mask_ignored", "the mask changes nothing"),
        ("first_sequence_for_all", "the output of one sequence depends on another of the batch"),
        ("dropout_always", "equal calls differ in evaluation mode"),
        ("mask_kept", "the mask of the first call was still applied"),
    ],
)
def test_a_student_reads_which_property_fails(fault: str, said: str) -> None:
    """The sentence of a lost item names the misconception in words."""
    results = sit(listing([fault]))
    assert said in " ".join(render(one.student, "en") for one in results.values())


def test_a_gradient_that_is_missing_is_named() -> None:
    """The student reads the own name of the projection that does not learn, also within a fused one."""
    assert "k_proj.weight" == sit(listing(["keys_detached"]))["gradients"].student.params["names"]
    fused = STYLES["one map for query, key and value"].replace(
        "q, k, v = [F.linear(x, w, b)",
        "weights = [weights[0], weights[1].detach(), weights[2]]\n        q, k, v = [F.linear(x, w, b)",
    )
    assert {"gradients": "property.no-gradient"} == lost(sit(fused))


def test_every_code_of_a_misconception_has_a_sentence() -> None:
    """Every misconception that can be recognised is in the vocabulary, in both languages."""
    from autograder.kinds.transformers.implementation.formula import MASKS, VALUES, WIRINGS

    for code in (
        *dict(VALUES),
        *MASKS,
        *WIRINGS.values(),
        "attention.shared-weights",
        "attention.not-projected",
    ):
        assert code in sentences()


RESULT = "return self.out_proj(self.merge(context))"
LINEAR = (
    "import torch\nclass MultiHeadAttention(torch.nn.Linear):\n    def forward(self, q, k, v, mask=None): "
)
HOSTILE = {
    "no module": "class MultiHeadAttention:\n    def __init__(self, *a): 1\n    def __call__(self, q, *a): 1",
    "raises": "class MultiHeadAttention:\n    def __init__(self, *a): raise SystemError('no')",
    "a constant": f"{LINEAR} return torch.zeros_like(q)",
    "copies its query": f"{LINEAR} return q",
    "huge numbers": listing().replace(RESULT, f"{RESULT} * 1e38"),
    "another shape": listing().replace(RESULT, f"{RESULT}[0]"),
    "a text": listing().replace(RESULT, "return 'attention'"),
    "too many parameters": listing().replace(
        "self.n_heads = n_heads", "self.n_heads = n_heads\n        self.table = nn.Embedding(1000, d_model)"
    ),
    "not Python": "class MultiHeadAttention(",
    "nothing but biases": listing().replace("context = weights @ v", "context = 0 * (weights @ v)"),
}


@pytest.mark.parametrize(
    "told",
    [
        "named_parameters(self, *a, **k):\n        return [(1, 2), ('q_proj.weight', torch.zeros(3))]\n",
        "parameters(self, *a, **k):\n        return iter(())\n",
    ],
)
@pytest.mark.parametrize("question", CHECKS)
def test_what_a_class_says_of_its_parameters_changes_nothing(told: str, question: str) -> None:
    """The parameters that PyTorch knows are filled and read: a right class stays right, a wrong one wrong."""
    wrong = listing(["no_scaling"])
    assert {} == lost(sit(f"{listing()}\n    def {told}", question))
    assert lost(sit(wrong, question)) == lost(sit(f"{wrong}\n    def {told}", question))


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("question", CHECKS)
def test_hostile_classes_never_earn_the_numbers(source: str, question: str) -> None:
    """Whatever a class does, judging gives a result for each item, and the values are not earned."""
    check, given = CHECKS[question], answer(source)
    plan = check.plan(given, DRAW)
    try:
        observed = LocalBox(source).ask(plan)
    except SyntaxError:
        observed = [tuple(Observation(ok=False, error="NameError") for _ in one.calls) for one in plan]
    results = {one.item: one for one in check.judge(Evidence(given, observed, draw=DRAW))}
    assert set(check.items) == set(results)
    assert Status.PASSED not in {results["values"].status, results["masks"].status}


@pytest.mark.parametrize("question", CHECKS)
def test_odd_evidence_is_judged(question: str) -> None:
    """Cut-off runs, ended boxes and values of any form give results, never exceptions and never points."""
    check, given = CHECKS[question], answer(listing())
    plan = check.plan(given, DRAW)
    odd = [None, [], {}, {"a": {}}, "text", 1e400, [[1]], np.zeros((0, 3)), np.full((2, 4, 12), 3j)]
    runs = [[], [()] * len(plan), [ended(Ending.MEMORY)] * len(plan)]
    runs += [[tuple(Observation(ok=True, value=one) for _ in s.calls) for s in plan] for one in odd]
    for observed in runs:
        results = check.judge(Evidence(given, observed, draw=DRAW))
        assert Status.PASSED not in {one.status for one in results}
    assert {"review.fault"} == {one.code for one in check.judge(Evidence(given, ()))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("n_heads = [2, 3, 4]", "n_heads = [5]"), "no multiple of n_heads = 5"),
        (("d_model = [12, 24], ", ""), "d_model is missing"),
        (('masks = ["zero-blocks"]', 'masks = ["zero-block"]'), "zero-block"),
        (('masks = ["zero-blocks"]', "masks = []"), "at least one convention"),
        (("dropout = 0.5", ""), "states no dropout"),
        (('property = "blocked_rows"', 'property = "blocked_row"'), "blocked_row"),
        (('property = "blocked_rows"', 'property = "blocked_rows"\ncase = "selv"'), "no case 'selv'"),
        ((', output = "out_proj" }', " }"), "output"),
        (('cases = ["self", "cross"]', 'cases = ["selv"]'), "no case 'selv'"),
        (("shape = [5, 5] },", "shape = [5, 5] }, 1,"), "expected query, key, value and perhaps mask, got 4"),
        (('answer = "MultiHeadAttention"', 'answer = "Multi Head"'), "the name of the class is missing"),
    ],
)
def test_errors_in_the_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """What cannot be asked is refused when the rubric is read."""
    assert change[0] in STRICT
    with pytest.raises(RubricError, match=message):
        check_of(STRICT.replace(*change, 1))


def test_a_line_for_the_notebook_does_not_hide_the_names() -> None:
    """Arguments in another order are told from their names also beside a magic line."""
    assert {} == lost(sit_beside("%matplotlib inline\n!ls\n", STYLES["values, keys, query; True blocks"]))


def sit_beside(magic: str, source: str) -> dict[str, ItemResult]:
    """The results of a class in a cell with lines that are no Python."""
    check, given = CHECKS["general"], answer(magic + source)
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    return {one.item: one for one in check.judge(Evidence(given, observed, draw=DRAW))}


def test_a_contract_item_needs_a_contract() -> None:
    """A question that states no names cannot ask for them."""
    with pytest.raises(RubricError, match="states no contract"):
        check_of(GENERAL.replace('property = "gradients"', 'property = "contract"'))
