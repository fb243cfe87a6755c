"""Test that the reference's shapes agree with a second way to derive them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from reference.tracing import shapes
from reference.tracing.listings import LISTINGS, Listing


def test_shapes_in_symbols() -> None:
    """Products, sums and ones are recovered from numbers."""
    right = shapes.traced({"listing": "attention"})["right"]
    assert {
        "qkv": "(batch, seq, 3*d_model)",
        "heads": "(batch, seq, n_heads, d_head)",
        "all_keys": "(batch, n_heads, past + seq, d_head)",
        "highest": "(batch, n_heads, seq, 1)",
        "sums": "(batch, n_heads, seq)",
        "return": "(batch, seq, d_model)",
    }.items() <= {name: cells["shape"] for name, cells in right.items()}.items()


@pytest.mark.parametrize("name", LISTINGS)
def test_shapes_without_numbers_are_the_same(name: str) -> None:
    """Running on shapes alone gives each line the shape of the real run."""
    sizes = shapes._primes(LISTINGS[name], 0)
    real = shapes.run(LISTINGS[name], sizes).shapes
    own = {line: shape for line, shape in real.items() if shape is not None}
    assert real == shapes.run(LISTINGS[name], sizes, own).shapes


def test_sums_of_neighbouring_primes_would_be_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums such as 7 + 17 = 11 + 13 are ambiguous, so a reading that is not unique is rejected."""
    runs = ((5, 7, 11, 13, 17), (7, 11, 13, 17, 19), (11, 13, 17, 19, 23))
    monkeypatch.setattr(shapes, "PRIMES", runs)
    with pytest.raises(ValueError, match=r"all_keys, axis 2: .* d_head \+ n_heads or past \+ seq"):
        shapes.traced({"listing": "attention"})


def test_what_follows_from_own_shapes() -> None:
    """With a wrong line inserted, later lines follow from it, raise, or are unaffected."""
    config = {"listing": "attention"}
    sizes = shapes.traced(config)["sizes"]
    batch, heads, seq, width = (sizes[name] for name in ("batch", "n_heads", "seq", "d_head"))
    own = {"all_keys": [batch, heads, seq, width], "scores": [batch, heads, seq, seq]}
    follows = shapes.traced(config, own)["follows"]
    assert [batch, heads, seq, seq] == follows["scores"] == follows["weights"]
    assert "all_keys" not in follows  # no earlier line is wrong
    assert follows["mixed"] is None
    assert "return" not in follows


@pytest.mark.parametrize("shape", [[], [0], [1 << 40], [1 << 20, 1 << 20], [3] * 16])
def test_own_shapes_of_any_sort(shape: list[int]) -> None:
    """For any shape of a line, the run ends with shapes, without exceptions or large memory."""
    lines = shapes.traced({"listing": "attention"})["right"]
    assert lines
    for line in lines:
        follows = shapes.traced({"listing": "attention"}, {line: shape})["follows"]
        assert follows.keys() <= lines.keys() - {line}
        assert all(one is None or all(isinstance(size, int) for size in one) for one in follows.values())


def augmented(x: Tensor) -> Tensor:
    """Return the result of a listing that contains a line without a name."""
    x += 1
    return x


def shortened(x: Tensor) -> Tensor:
    """Return the result of a listing that contains a difference and a constant."""
    return torch.zeros(len(x) - 2, 48)


def test_constants_and_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant is recognised, also if it is subtracted."""
    monkeypatch.setattr(shapes, "LISTINGS", {"one": Listing(shortened, {"x": ("seq",)}, ("seq", "past"))})
    assert "(seq - 2, 48)" == shapes.traced({"listing": "one"})["right"]["return"]["shape"]


def cubed(x: Tensor) -> Tensor:
    """Return a result with a size that no simple formula explains."""
    return torch.zeros(len(x) ** 3 + 11)


@pytest.mark.parametrize(("function", "match"), [(augmented, "write x = x"), (cubed, "return, axis 0")])
def test_listings_that_cannot_be_traced(function: Any, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without a name, and a size without a formula, are reported."""
    listing = Listing(function, {"x": ("seq",)}, ("seq",))
    monkeypatch.setattr(shapes, "LISTINGS", {"one": listing})
    with pytest.raises(ValueError, match=match):
        shapes.traced({"listing": "one"})


def again(x: Tensor) -> Tensor:
    """Return the result of a listing that assigns one name twice."""
    x = x[None]
    x = torch.cat([x, x], dim=1)
    return x  # noqa: RET504 - the line has a name


def test_a_name_assigned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second assignment has a separate row."""
    listing = Listing(again, {"x": ("seq",)}, ("seq",))
    monkeypatch.setattr(shapes, "LISTINGS", {"one": listing})
    right = shapes.traced({"listing": "one"})["right"]
    assert {"x": "(1, seq)", "x (2)": "(1, 2*seq)", "return": "(1, 2*seq)"} == {
        name: cells["shape"] for name, cells in right.items()
    }
