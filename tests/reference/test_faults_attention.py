"""The catalogue of attention: a right listing, its misconceptions, and rewritings that are right."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch

from reference.attention import MultiHeadAttention
from reference.faults.attention import catalogue, listing

FAULTS = tuple(fault.id for fault in catalogue() if not fault.equivalent)
EQUIVALENT = tuple(fault.id for fault in catalogue() if fault.equivalent)


def made(*faults: str, d_model: int = 12, n_heads: int = 3) -> Any:
    """An object of the listing with some faults, in evaluation, with the weights of the reference."""
    namespace: dict[str, Any] = {}
    exec(compile(listing(faults), "listing", "exec"), namespace)
    found = namespace["MultiHeadAttention"](d_model, n_heads).double().eval()
    weights = reference(d_model, n_heads).state_dict()
    fitting = {
        name: weights[name] for name, own in found.state_dict().items() if own.shape == weights[name].shape
    }
    found.load_state_dict(fitting, strict=False)
    return found


def reference(d_model: int = 12, n_heads: int = 3) -> Any:
    """The reference with weights that are always the same."""
    torch.manual_seed(0)
    return MultiHeadAttention(d_model, n_heads).double().eval()


def inputs() -> tuple[torch.Tensor, ...]:
    """Query, key and value of different lengths, and a mask that leaves a key to every query."""
    generator = torch.Generator().manual_seed(1)
    query, key, value = (
        torch.randn(3, length, 12, generator=generator, dtype=torch.float64) for length in (4, 6, 6)
    )
    mask = torch.rand(3, 3, 4, 6, generator=generator) < 0.6
    mask[..., 0] = True
    return query, key, value, mask


def test_the_catalogue_is_large_and_its_ids_are_unique() -> None:
    """At least 46 misconceptions and the four equivalents of the list, each with both languages."""
    assert len(FAULTS) >= 46
    assert {"einsum", "scale_on_query", "additive_mask", "sdpa_call"} <= set(EQUIVALENT)
    assert len({fault.id for fault in catalogue()}) == len(catalogue())
    assert {("en", "de")} == {tuple(fault.text) for fault in catalogue()}
    assert {bool(fault.probe) for fault in catalogue() if not fault.equivalent} == {True}


@pytest.mark.parametrize("fault", ["", *EQUIVALENT])
def test_right_listings_equal_the_reference(fault: str) -> None:
    """The listing and its right rewritings give the reference's numbers, with a mask and without."""
    found, right = made(*filter(None, [fault])), reference()
    *tensors, mask = inputs()
    for given in (None, mask, mask.long()):
        torch.testing.assert_close(found(*tensors, given), right(*tensors, given))


@pytest.mark.parametrize("fault", FAULTS)
def test_every_misconception_is_planted_and_still_python(fault: str) -> None:
    """Each misconception changes the listing's meaning, and leaves a class of the same name."""
    planted = ast.parse(listing([fault]))
    assert ast.dump(planted) != ast.dump(ast.parse(listing()))
    assert "MultiHeadAttention" in [one.name for one in planted.body if isinstance(one, ast.ClassDef)]


def test_misconceptions_of_the_values_show_in_the_values() -> None:
    """What the catalogue says is seen in the plain values differs from the reference, or raises."""
    right = reference()
    tensors = inputs()[:3]
    for fault in catalogue():
        if fault.probe in ("values", "cross"):
            try:
                same = torch.allclose(made(fault.id)(*tensors), right(*tensors))
            except RuntimeError:
                same = False
            assert not same, fault.id


def test_unknown_ids_are_refused() -> None:
    """A fault that is not in the catalogue is named in the error."""
    with pytest.raises(ValueError, match="no_scalling"):
        listing(["no_scalling"])
