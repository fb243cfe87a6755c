"""Visibility, gradients and shapes: what the references say agrees with a second way of finding it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from reference.tracing import backward, gradients, shapes, visibility
from reference.tracing.listings import LISTINGS, Listing
from reference.tracing.visibility import Architecture


def drawn(seed: int, *sizes: tuple[int, ...]) -> list[Tensor]:
    """Tensors in double precision."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


def arguments(name: str, seed: int) -> list[Tensor]:
    """Arguments of one of the functions."""
    if name == "cross_entropy":
        return [
            *drawn(seed, (5, 7)),
            torch.randint(0, 7, (5,), generator=torch.Generator().manual_seed(seed)),
        ]
    sizes: Mapping[str, Any] = {
        "softmax": ((4, 6), (4, 6)),
        "matmul": ((3, 4), (4, 5), (3, 5)),
        "layer_norm": ((4, 6), (6,), (6,), (4, 6)),
        "attention": ((3, 4), (5, 4), (5, 4), (3, 4)),
    }
    return drawn(seed, *sizes[name])


NAMES = ("softmax", "matmul", "cross_entropy", "layer_norm", "attention")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_three_witnesses_agree(name: str, seed: int) -> None:
    """The written gradient is autograd's to the last digits, and that of differences within the bound."""
    oracle: gradients.Oracle = getattr(gradients, name)
    given = arguments(name, seed)
    told = oracle.expected(*given)
    written = oracle.function(*given)
    for mine, right in zip(written if isinstance(written, tuple) else (written,), told["right"], strict=True):
        assert torch.allclose(mine, right, rtol=1e-12, atol=1e-13)
    for numeric, right, bound in zip(told["numeric"], told["right"], told["bounds"], strict=True):
        assert (numeric - right).abs().max() <= bound
        assert 1e-12 < bound < 1e-7


def test_the_bound_holds_for_a_known_derivative() -> None:
    """Of x³ the error of central differences is h² and rounding: below the bound, and not far below."""
    x = torch.tensor([0.5, 2.0, -3.0], dtype=torch.float64)
    (numeric,), (bound,) = gradients.numeric(lambda one: (one**3).sum(), [x], 1)
    error = float((numeric - 3 * x**2).abs().max())
    assert error <= bound < 1e-7


def test_beside_a_kink_the_witnesses_disagree() -> None:
    """Where the loss is not smooth, differences are off by more than the bound: a person decides."""
    x = torch.tensor([gradients.STEP * 0.3], dtype=torch.float64)
    (numeric,), (bound,) = gradients.numeric(lambda one: one.abs().sum(), [x], 1)
    (right,) = gradients.automatic(lambda one: one.abs().sum(), [x], 1)
    assert float((numeric - right).abs().max()) > bound


@pytest.mark.parametrize("name", NAMES)
def test_every_misconception_is_another_gradient(name: str) -> None:
    """What is listed as a mistake differs for hidden inputs, and no two codes of a function give the same."""
    given = arguments(name, 3) if name != "attention" else drawn(3, *((5, 4),) * 4)
    told = getattr(gradients, name).expected(*given)
    seen: list[list[Tensor]] = [told["right"]]
    for code, wrong in ((one["code"], one["values"]) for one in told["mistakes"]):
        for other in seen:
            assert not all(
                a.shape == b.shape and torch.allclose(a, b, rtol=1e-4)
                for a, b in zip(wrong, other, strict=True)
            ), code
        seen.append(wrong)


def reached(architecture: Architecture) -> Tensor:
    """Who sees whom by the powers of one layer's mask: a second way."""
    mask = architecture.allowed()
    if architecture.pattern == "cross":
        return mask
    one = mask.double() + torch.eye(architecture.length, dtype=torch.float64)
    return torch.linalg.matrix_power(one, architecture.layers) > 0


@pytest.mark.parametrize(
    "architecture",
    [
        Architecture("encoder", 5),
        Architecture("encoder", 6, padding=(0, 5)),
        Architecture("encoder", 6, layers=2, padding=(4, 5)),
        Architecture("decoder", 6, layers=3),
        Architecture("decoder", 6, padding=(0,)),
        Architecture("prefix", 7, prefix=3),
        Architecture("prefix", 7, prefix=3, layers=2),
        Architecture("window", 9, window=3),
        Architecture("window", 9, window=3, layers=3),
        Architecture("window", 10, window=3, dilation=3, layers=2),
        Architecture("cross", 3, keys=6, padding=(2, 5)),
    ],
    ids=str,
)
def test_measured_is_reached(architecture: Architecture) -> None:
    """What is measured on real layers is what paths through the mask reach."""
    assert torch.equal(reached(architecture), visibility.visibility(architecture))


def test_a_window_of_k_layers() -> None:
    """A position sees layers · (window - 1) positions before it: the receptive field."""
    seen = visibility.visibility(Architecture("window", 12, window=4, layers=3))
    assert 1 + 3 * 3 == int(seen[11].sum())


def test_measurements_that_disagree_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the gradient showed another dependence than changing inputs, nothing would be said to be right."""
    monkeypatch.setattr(visibility, "_by_gradient", lambda *_: torch.ones(4, 4, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="disagree"):
        visibility.visibility(Architecture("decoder", 4))


def test_nothing_to_attend_to() -> None:
    """A source that is padding throughout is no question."""
    with pytest.raises(ValueError, match="attends to nothing"):
        visibility.visibility(Architecture("cross", 2, keys=2, padding=(0, 1)))


def test_shapes_in_symbols() -> None:
    """Products, sums and ones are read back from numbers."""
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
    """Running on shapes alone, with every line's own shape given, makes each line what the real run made."""
    sizes = shapes._primes(LISTINGS[name], 0)
    real = shapes.run(LISTINGS[name], sizes).shapes
    own = {line: shape for line, shape in real.items() if shape is not None}
    assert real == shapes.run(LISTINGS[name], sizes, own).shapes


def test_sums_of_neighbouring_primes_would_be_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    """7 + 17 = 11 + 13, 11 + 19 = 13 + 17 and so on: a reading that is not the only one is refused."""
    runs = ((5, 7, 11, 13, 17), (7, 11, 13, 17, 19), (11, 13, 17, 19, 23))
    monkeypatch.setattr(shapes, "PRIMES", runs)
    with pytest.raises(ValueError, match=r"all_keys, axis 2: .* d_head \+ n_heads or past \+ seq"):
        shapes.traced({"listing": "attention"})


def test_what_follows_from_own_shapes() -> None:
    """A wrong line is put in its place: later lines follow from it, raise, or are not touched by it."""
    config = {"listing": "attention"}
    sizes = shapes.traced(config)["sizes"]
    batch, heads, seq, width = (sizes[name] for name in ("batch", "n_heads", "seq", "d_head"))
    own = {"all_keys": [batch, heads, seq, width], "scores": [batch, heads, seq, seq]}
    follows = shapes.traced(config, own)["follows"]
    assert [batch, heads, seq, seq] == follows["scores"] == follows["weights"]
    assert "all_keys" not in follows  # nothing before it is wrong
    assert follows["mixed"] is None
    assert "return" not in follows


@pytest.mark.parametrize("shape", [[], [0], [1 << 40], [1 << 20, 1 << 20], [3] * 16])
def test_own_shapes_of_any_sort(shape: list[int]) -> None:
    """Whatever shape stands in a line, the run ends with shapes and no exception, and takes no memory."""
    lines = shapes.traced({"listing": "attention"})["right"]
    assert lines
    for line in lines:
        follows = shapes.traced({"listing": "attention"}, {line: shape})["follows"]
        assert follows.keys() <= lines.keys() - {line}
        assert all(one is None or all(isinstance(size, int) for size in one) for one in follows.values())


def augmented(x: Tensor) -> Tensor:
    """A listing with a line without a name."""
    x += 1
    return x


def shortened(x: Tensor) -> Tensor:
    """A listing with a difference and a constant."""
    return torch.zeros(len(x) - 2, 48)


def test_constants_and_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant is read as one, also where it is taken away."""
    monkeypatch.setattr(shapes, "LISTINGS", {"one": Listing(shortened, {"x": ("seq",)}, ("seq", "past"))})
    assert "(seq - 2, 48)" == shapes.traced({"listing": "one"})["right"]["return"]["shape"]


def cubed(x: Tensor) -> Tensor:
    """A listing with a size that is no simple one."""
    return torch.zeros(len(x) ** 3 + 11)


@pytest.mark.parametrize(("function", "match"), [(augmented, "write x = x"), (cubed, "return, axis 0")])
def test_listings_that_cannot_be_traced(function: Any, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without a name, and a size that no formula explains, are named."""
    listing = Listing(function, {"x": ("seq",)}, ("seq",))
    monkeypatch.setattr(shapes, "LISTINGS", {"one": listing})
    with pytest.raises(ValueError, match=match):
        shapes.traced({"listing": "one"})


def again(x: Tensor) -> Tensor:
    """A listing that assigns one name twice."""
    x = x[None]
    x = torch.cat([x, x], dim=1)
    return x  # noqa: RET504 - the line has a name


def test_a_name_assigned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second assignment has a row of its own."""
    listing = Listing(again, {"x": ("seq",)}, ("seq",))
    monkeypatch.setattr(shapes, "LISTINGS", {"one": listing})
    right = shapes.traced({"listing": "one"})["right"]
    assert {"x": "(1, seq)", "x (2)": "(1, 2*seq)", "return": "(1, 2*seq)"} == {
        name: cells["shape"] for name, cells in right.items()
    }


def test_every_function_has_misconceptions() -> None:
    """Every gradient has a list of misconceptions, one accepted way among them for most."""
    names = {oracle.function.__name__ for oracle in (getattr(gradients, name) for name in NAMES)}
    assert names == set(gradients.MISCONCEPTIONS)
    assert all(name in vars(backward) for name in names)
