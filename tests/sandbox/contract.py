"""The contract of `autograder.sandbox.base.Sandbox`, as facts that every implementation must satisfy.

A fact is data: cells and calls with their expected results. `check` checks a fact on a sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from autograder.core.errors import BoxEnded
from autograder.core.records import (
    Call,
    Ending,
    Limits,
    Observation,
    Tensor,
)
from autograder.sandbox.base import Box, Sandbox

LIMITS = Limits(
    cell_seconds=5, call_seconds=5, memory_mb=512, processes=32, output_kb=64, reply_mb=4, scratch_mb=16
)
SEED = 7


@dataclass(frozen=True)
class Shown:
    """One output: all of its text, or (``whole=False``) a part of it."""

    kind: str
    mime: str
    text: str
    whole: bool = True


@dataclass(frozen=True)
class RunCell:
    """A cell and its expected outputs and error, or the ending of the box."""

    source: str
    outputs: tuple[Shown, ...] = ()
    error: str = ""
    ending: Ending | None = None
    truncated: bool = False
    seconds: float = 5.0

    def check(self, box: Box) -> None:
        """Run the cell and compare."""
        if self.ending is not None:
            with pytest.raises(BoxEnded) as caught:
                box.run_cell(self.source, seconds=self.seconds)
            assert self.ending is caught.value.ending, caught.value
            return
        run = box.run_cell(self.source, seconds=self.seconds)
        assert self.error == run.error, run
        assert self.truncated is run.truncated
        assert [shown.kind for shown in self.outputs] == [output.kind for output in run.outputs], run
        for shown, output in zip(self.outputs, run.outputs, strict=True):
            text = output.data[shown.mime]
            assert shown.text == text if shown.whole else shown.text in text


@dataclass(frozen=True)
class Ask:
    """Calls and the expected result of each answered one: a value, `Raises`, or an ending."""

    calls: tuple[Call, ...]
    expected: tuple[Any, ...]
    seconds: float = 5.0

    def check(self, box: Box) -> None:
        """Ask and compare."""
        answers = box.ask(self.calls, seconds=self.seconds)
        assert len(self.expected) == len(answers), answers
        for one, observation in zip(self.expected, answers, strict=True):
            if isinstance(one, Raises):
                one.check(observation)
            elif isinstance(one, Ending):
                assert one is observation.ending, observation
            else:
                assert observation.ok, observation
                assert_same(one, observation.value)


@dataclass(frozen=True)
class Raises:
    """An expected exception; ``message`` must occur in its text."""

    error: str
    message: str = ""

    def check(self, observation: Observation) -> None:
        """Compare with the observation."""
        assert not observation.ok, observation
        assert observation.ending is None
        assert self.error == observation.error, observation
        assert self.message in observation.message


@dataclass(frozen=True)
class Fact:
    """A property of every sandbox, and the steps that check it in one box."""

    says: str
    steps: tuple[RunCell | Ask, ...]
    torch: bool = False
    """Whether the box needs torch."""
    limits: Limits = LIMITS
    files: Mapping[str, bytes] = field(default_factory=dict)


def check(sandbox: Sandbox, fact: Fact) -> None:
    """Check a fact on a sandbox, and that closing twice is harmless."""
    box = sandbox.open(fact.limits, seed=SEED, files=fact.files)
    try:
        for step in fact.steps:
            step.check(box)
    finally:
        usage = box.close()
    assert usage == box.close()


def assert_same(expected: Any, actual: Any) -> None:
    """Compare values that crossed the wire: types, shapes, dtypes; NaN equals NaN."""
    assert type(expected) is type(actual), (expected, actual)
    if isinstance(expected, Tensor):
        assert (expected.dtype, expected.device) == (actual.dtype, actual.device)
        assert expected.requires_grad is actual.requires_grad
        assert_same(expected.array, actual.array)
    elif isinstance(expected, np.ndarray):
        assert expected.dtype == actual.dtype
        assert expected.shape == actual.shape
        np.testing.assert_array_equal(expected, actual)
    elif isinstance(expected, list | tuple):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert list(expected) == list(actual)
        for key, one in expected.items():
            assert_same(one, actual[key])
    else:
        assert repr(expected) == repr(actual)
