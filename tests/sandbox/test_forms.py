"""Values that a student's box hands to a test: names are looked up only for known types."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from autograder.sandbox.inside.value_conversion import from_parts


class DType:
    """Stands for a dtype of torch."""


FLOAT = DType()


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return a library with one dtype, and with other objects."""
    stand_in = SimpleNamespace(dtype=DType, float32=FLOAT, equal=lambda *_: True, os=sys)
    monkeypatch.setitem(sys.modules, "torch", stand_in)


def test_a_dtype_is_found_by_its_name() -> None:
    """The dtype arrives as it was sent."""
    assert from_parts("torch.dtype", "torch.float32") is FLOAT


@pytest.mark.parametrize("name", ["torch.equal", "torch.os", "torch.dtype", "os", "torch.absent", 1])
def test_nothing_else_is_found_by_a_dtypes_name(name: object) -> None:
    """Student code cannot hand over a function or a module of the library."""
    with pytest.raises((TypeError, AttributeError)):
        from_parts("torch.dtype", name)
