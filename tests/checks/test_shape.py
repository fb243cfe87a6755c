"""Shapes: what is read as one, and how a wrong one is explained."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from autograder.errors import RubricError
from autograder.records import Opaque, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, judge, value

SCORES = """
[[question]]
id = "q"
kind = "shape"
points = 2
answer = "shape"
[[question.item]]
id = "shape"
points = 2
text = { en = "The shape of the scores" }
value = [8, 12, 128, 64]
axes = ["batch", "heads", "length", "width"]
[[question.item.mistake]]
code = "one-head"
when = [8, 128, 64]
points = 1
text = { en = "Each head has its own." }
"""
SYMBOLIC = SCORES.replace("[8, 12, 128, 64]", '["batch", "n_heads", "seq", "d_head"]').replace(
    "[8, 128, 64]", '["batch", "seq", "d_head"]'
)
CALLED = """
[[question]]
id = "q"
kind = "shape"
points = 1
answer = "split"
sizes = { n_heads = [2, 3], d_head = [4, 6] }
[[question.case]]
args = [{ draw = "normal", shape = [2, 5, "n_heads*d_head"] }, { size = "n_heads" }]
[[question.item]]
id = "shape"
points = 1
text = { en = "Split" }
value = [2, "n_heads", 5, "d_head"]
"""


@pytest.mark.parametrize(
    "written",
    [
        "(8, 12, 128, 64)",
        "[8, 12, 128, 64]",
        "'(8, 12, 128, 64)'",
        "'8 x 12 x 128 x 64'",
        "'8x12x128x64'",
        "'8 × 12 × 128 × 64'",
        "'torch.Size([8, 12, 128, 64])'",
        "(8.0, '12', 128, 64)",
        "('8', 12, 128, '32*2')",
    ],
)
def test_notations_of_one_shape(written: str) -> None:
    """Every usual notation of a shape is accepted."""
    (item,) = judge(check_of(SCORES), f"shape = {written}")
    assert (Status.PASSED, Decimal(2)) == (item.status, item.points)


@pytest.mark.parametrize("given", [Tensor(np.zeros((8, 12, 128, 64)), "float32"), np.zeros((8, 12, 128, 64))])
def test_an_array_stands_for_its_shape(given: object) -> None:
    """A tensor or array that was computed is taken by its shape."""
    assert Status.PASSED == judge(check_of(SCORES), "shape = scores", [value(given)])[0].status


@pytest.mark.parametrize(
    ("written", "code", "axes"),
    [
        ("(8, 128, 12, 64)", "shape.heads-not-moved", "heads, length"),
        ("(8, 12, 128, 128)", "shape.axis", "width"),
        ("(8, 12, 64)", "shape.missing", ""),
        ("(1, 8, 12, 128, 64)", "shape.extra-one", "1"),
        ("(8, 12, 8192)", "shape.not-split", "3"),
        ("(7, 7)", "shape.count", ""),
        ("()", "shape.count", ""),
        ("'eight'", "unreadable.unknown-name", ""),
        ("7", "shape.form", ""),
        ("(8, None, 128, 64)", "shape.placeholder", ""),
        ("(8, -12, 128, 64)", "shape.no-size", ""),
    ],
)
def test_a_wrong_shape_is_explained(written: str, code: str, axes: str) -> None:
    """The sentence says how the shape is wrong, and names axes, never sizes that are right."""
    (item,) = judge(check_of(SCORES), f"shape = {written}")
    assert (Status.FAILED, code, axes) == (item.status, item.code, item.student.params.get("axes", ""))


def test_a_named_shape_mistake_has_its_points() -> None:
    """A named mistake wins over the general explanation."""
    (item,) = judge(check_of(SCORES), "shape = (8, 128, 64)")
    assert ("one-head", Decimal(1)) == (item.code, item.points)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("(batch, n_heads, seq, d_head)", ""),
        (r"(batch, n_{heads}, seq, d_{\text{head}})", ""),
        ("(batch, n_heads, seq, d_head*n_heads/n_heads)", ""),
        ("(batch, seq, n_heads, d_head)", "shape.heads-not-moved"),
        ("(batch, seq, d_head)", "one-head"),
        ("(batch, n_heads, seq, d_model)", "shape.axis"),
        ("(batch, n_heads, seq, width)", "unreadable.unknown-name"),
        ("(batch, n_heads*seq, d_head)", "shape.not-split"),
    ],
)
def test_symbolic_shapes(written: str, code: str) -> None:
    """Entries may be formulas in the assignment's symbols, compared exactly."""
    (item,) = judge(check_of(SYMBOLIC), f"shape = r'{written}'")
    assert code == item.code


def test_sizes_that_were_drawn_are_put_in() -> None:
    """The right shape of a call follows from the sizes the call had."""
    check = check_of(CALLED)
    (scenario,) = check.plan(answer("def split(x, h): ..."), DRAW)
    array, heads = scenario.calls[0].args
    right = Tensor(np.zeros((2, heads, 5, array.array.shape[-1] // heads)), "float64")
    wrong = Tensor(array.array, "float64")
    assert Status.PASSED == judge(check, "def split(x, h): ...", [value(right, right)])[0].status
    (item,) = judge(check, "def split(x, h): ...", [value(wrong, wrong)])
    assert (Status.FAILED, Decimal(0)) == (item.status, item.points)


def test_huge_entries_are_not_printed() -> None:
    """An axis of thousands of bits is wrong at bounded cost."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value((8, 1 << 4000, 128, 64))])
    assert "shape.axis" == item.code
    (item,) = judge(check_of(SCORES), "shape = f()", [value((8, 1 << 5000, 128, 64))])
    assert "shape.entry" == item.code


def test_too_many_axes_are_refused() -> None:
    """A list of a million entries is no shape."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value([1] * 1_000_000)])
    assert (Status.FAILED, "shape.axis-count") == (item.status, item.code)


def test_an_object_is_no_shape() -> None:
    """What has no plain form is refused by its type."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value(Opaque("Linear"))])
    assert ("shape.form", "Linear") == (item.code, item.student.params["form"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"length", "width"]', '"length"]'), "axes: one name for each"),
        (("value = [8, 12, 128, 64]", 'value = [8, "heads?", 128, 64]'), "value: "),
        (("when = [8, 128, 64]", "when = 3"), "mistake 'one-head': when"),
    ],
)
def test_slips_in_a_shape_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """Axes, sizes and mistakes are checked when the rubric is read."""
    with pytest.raises(RubricError, match=message):
        check_of(SCORES.replace(*change))
