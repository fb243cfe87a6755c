"""What the weights of a listing are called in code in other words, and what is loaded there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.kinds.general.debugging.naming import OwnNames, Shape, Shapes, loaded, own_names
from autograder.records import Status, Tensor
from autograder.sandbox.pool import Pool
from tests.support.debugging_course import DebuggingCourse

BLOCK = {
    "attention.in_proj_weight": (24, 8),
    "attention.in_proj_bias": (24,),
    "attention.out_proj.weight": (8, 8),
    "attention.out_proj.bias": (8,),
    "norm.weight": (8,),
    "norm.bias": (8,),
    "feed_forward.0.weight": (12, 8),
    "feed_forward.0.bias": (12,),
    "feed_forward.2.weight": (8, 12),
    "feed_forward.2.bias": (8,),
}
STATED: dict[str, Shape] = {
    "words.weight": (7, 8),
    "places.weight": (64, 8),
    **{f"blocks.{at}.{name}": shape for at in (0, 1) for name, shape in BLOCK.items()},
    "head.weight": (7, 8),
    "head.bias": (7,),
}


def drawn(shapes: Shapes) -> dict[str, Tensor]:
    """Weights in which no number occurs twice."""
    found, first = {}, 1
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = Tensor(np.arange(first, first + size, dtype=np.float64).reshape(shape), "float64")
        first += size
    return found


def in_place(stated: Shapes, told: Shapes) -> dict[str, np.ndarray]:
    """What is loaded under the code's own names."""
    given = drawn(stated)
    return {name: one.array for name, one in loaded(given, own_names(stated, told)).items()}


def linear(name: str, rows: int, columns: int) -> dict[str, Shape]:
    """A layer's weights."""
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


@given(st.permutations([*STATED]))
def test_the_same_names_are_themselves_in_any_order(order: list[str]) -> None:
    """Names say more than order, whatever the shapes."""
    found = in_place(STATED, {name: STATED[name] for name in order})
    assert {*STATED} == {*found}
    assert all(np.array_equal(found[name], one.array) for name, one in drawn(STATED).items())


@given(st.data())
def test_other_names_in_the_same_order_stand_for_the_same(data: st.DataObject) -> None:
    """Modules are renamed as a whole; those that keep their names say so."""
    modules = [*dict.fromkeys(name.rpartition(".")[0] for name in STATED)]
    kept = data.draw(st.sets(st.sampled_from(modules)))
    own = {one: one if one in kept else f"m{at}" for at, one in enumerate(modules)}
    names = {name: f"{own[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}" for name in STATED}
    found = in_place(STATED, {names[name]: shape for name, shape in STATED.items()})
    assert all(np.array_equal(found[names[name]], one.array) for name, one in drawn(STATED).items())


def test_query_key_and_value_stand_for_what_is_projected_at_once() -> None:
    """Three layers below each other, before the one that follows them; norms may come last."""
    own: dict[str, Shape] = {"w.weight": (7, 8), "p.weight": (64, 8)}
    for at in (0, 1):
        for name in "qkvo":
            own |= linear(f"layers.{at}.att.{name}", 8, 8)
        own |= linear(f"layers.{at}.up", 12, 8) | linear(f"layers.{at}.down", 8, 12)
        own |= {f"layers.{at}.ln.gain": (8,), f"layers.{at}.ln.shift": (8,)}
    own |= linear("out", 7, 8)
    found, weights = in_place(STATED, own), drawn(STATED)
    assert {*own} == {*found}
    for at in (0, 1):
        packed = weights[f"blocks.{at}.attention.in_proj_weight"].array
        biases = weights[f"blocks.{at}.attention.in_proj_bias"].array
        for number, name in enumerate("qkv"):
            rows = slice(8 * number, 8 * number + 8)
            assert np.array_equal(packed[rows], found[f"layers.{at}.att.{name}.weight"])
            assert np.array_equal(biases[rows], found[f"layers.{at}.att.{name}.bias"])
        out = weights[f"blocks.{at}.attention.out_proj.weight"].array
        assert np.array_equal(out, found[f"layers.{at}.att.o.weight"])
        assert np.array_equal(weights[f"blocks.{at}.norm.weight"].array, found[f"layers.{at}.ln.gain"])
    assert np.array_equal(weights["head.weight"].array, found["out.weight"])


def test_one_layer_stands_for_query_key_and_value() -> None:
    """The other way round, and one table for words and places."""
    apart = {**linear("q", 8, 8), **linear("k", 8, 8), **linear("v", 8, 8), **linear("o", 8, 8)}
    stated: dict[str, Shape] = {"words.weight": (7, 8), "places.weight": (64, 8), **apart}
    own = {"table.weight": (71, 8), **linear("all", 24, 8), **linear("o", 8, 8)}
    found, weights = in_place(stated, own), drawn(stated)
    assert {*own} == {*found}
    for name, parts in {"table": ("words", "places"), "all": ("q", "k", "v"), "o": ("o",)}.items():
        below = np.concatenate([weights[f"{one}.weight"].array for one in parts])
        assert np.array_equal(below, found[f"{name}.weight"])


def test_modules_whose_names_end_alike_are_found_out_of_order() -> None:
    """An inherited block comes before what the class of its own adds."""
    stated = {
        **linear("blocks.0.own.out", 8, 8),
        **linear("blocks.0.cross.attention.out", 8, 8),
        **linear("blocks.0.cross.norm", 8, 8),
    }
    own = {
        **linear("layers.0.attention.out", 8, 8),
        **linear("layers.0.norm", 8, 8),
        **linear("layers.0.first.out", 8, 8),
    }
    found, weights = in_place(stated, own), drawn(stated)
    pairs = {
        "own.out": "first.out",
        "cross.attention.out": "attention.out",
        "cross.norm": "norm",
    }
    for one, other in pairs.items():
        assert np.array_equal(weights[f"blocks.0.{one}.weight"].array, found[f"layers.0.{other}.weight"])


def test_single_weights_may_be_turned_around_or_have_axes_of_size_one() -> None:
    """A parameter of one's own instead of a layer."""
    own: dict[str, Shape] = {"places": (1, 64, 8), "matrix": (8, 7), "bias": (7,)}
    stated = {"places.weight": (64, 8), **linear("head", 7, 8)}
    found, weights = in_place(stated, own), drawn(stated)
    assert np.array_equal(weights["places.weight"].array, found["places"][0])
    assert np.array_equal(weights["head.weight"].array.T, found["matrix"])
    assert np.array_equal(weights["head.bias"].array, found["bias"])


def test_sizes_of_its_own() -> None:
    """Further rows are zeros; with fewer, what is stated is loaded, and fails; other axes are left out."""
    stated = {"a.weight": (3, 2), "b.weight": (3, 2), "c.weight": (3, 2)}
    found = in_place(stated, {"a.weight": (4, 2), "b.weight": (2, 2), "c.weight": (3, 2, 1, 5)})
    assert ["a.weight", "b.weight"] == [*found]
    assert np.array_equal([[1, 2], [3, 4], [5, 6], [0, 0]], found["a.weight"])
    assert (3, 2) == found["b.weight"].shape


def test_what_has_no_counterpart_is_not_loaded() -> None:
    """Nor is anything loaded twice."""
    assert {} == in_place(STATED, {})
    assert {} == in_place(STATED, {"steps": (), "cache.rows": (5, 5), "mask": (64, 64)})
    for own in ({"one.weight": (8, 8)}, linear("one", 8, 8), {"table.weight": (71, 8)}):
        assert {*own} >= {*in_place(STATED, own)}


def test_a_use_may_state_shapes_that_cannot_be_divided() -> None:
    """The names are those of the usual shapes; what does not fit then is left out."""
    stated: dict[str, Shape] = {"packed.weight": (24, 8)}
    names: OwnNames = own_names(stated, {f"{one}.weight": (8, 8) for one in "qkv"})
    assert 3 == len(names)
    assert {} == loaded(drawn({"packed.weight": (7, 8)}), names)


SOME_SHAPES = st.dictionaries(
    st.text("ab.", max_size=5), st.lists(st.integers(0, 6), max_size=3).map(tuple), max_size=9
)


@given(SOME_SHAPES, SOME_SHAPES)
def test_whatever_code_has_each_weight_is_loaded_once(stated: Shapes, told: Shapes) -> None:
    """Names and shapes are the student's word: any of them give something, without a number twice."""
    found = in_place(stated, told)
    assert {*found} <= {*told}
    numbers = np.concatenate([np.zeros(0), *(one.ravel() for one in found.values())])
    assert len(numbers[numbers > 0]) == len({*numbers[numbers > 0]})


QUESTION = """
[[question]]
id = "q"
kind = "debugging"
points = 1
answer = "Head"
reference = "task:Head"
precision = "float32"
tries = 2
construct = { args = [3, 2] }
weights = { "out.weight" = [2, 3] }
compare = { rtol = 1e-4, atol = 1e-5 }
[[question.case]]
args = [{ draw = "normal", shape = [4, 3] }]
[[question.item]]
id = "sign"
points = 1
text = { en = "x" }
edit = [{ right = "self.out(x)", faulty = "-self.out(x)" }]
"""
MODULE = """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, words):
        super().__init__()
        self.out = nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.out(x)
"""
OWN = """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, words):
        super().__init__()
        {made}

    def forward(self, x):
        return x @ self.matrix
{more}
"""
LEARNED = "self.matrix = nn.Parameter(torch.randn(width, words))"


@pytest.mark.sandbox
def test_only_what_is_learned_stands_for_a_weight(tmp_path: Path) -> None:
    """A matrix that is drawn once and for all is not made the listing's by loading it."""
    drawn_once = "self.register_buffer('matrix', torch.randn(width, words))"
    frozen = "self.matrix = nn.Parameter(torch.randn(width, words), requires_grad=False)"
    odd = "    def named_parameters(self, *_, **__):\n        return [([], 1), (2, 3)]\n"
    with Pool() as pool:
        course = DebuggingCourse(tmp_path / "course", pool, QUESTION, MODULE)

        def status(made: str, more: str = "") -> Status:
            found: Status = course.sit(OWN.format(made=made, more=more))["sign"].status
            return found

        assert Status.PASSED is status(LEARNED)
        assert [Status.NEEDS_REVIEW] * 3 == [status(drawn_once), status(frozen), status(LEARNED, odd)]
