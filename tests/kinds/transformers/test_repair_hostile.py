"""Whatever a box answers, the repair kind judges it, and noise earns nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.messages import render
from autograder.records import Ending, Observation, Opaque, Ref, Scenario, Status, Tensor
from reference.faults.decoder import EXAM as FAULT_IDS
from reference.listings import RIGHT
from tests.support.repair_draws import COVERING
from tests.support.repair_question import DRAW, answer, check, check_of, evidence, sit

CHECK = check()
CHECKS = (CHECK, *(check_of(faults) for faults in COVERING))
"""The exam's question, and two that ask for everything else."""
PLAN = CHECK.plan(answer(RIGHT), DRAW)


def _tensor(draw_shape: tuple[int, ...], kind: str) -> Tensor:
    array = np.ones(draw_shape)
    return Tensor(array.astype(kind), kind)


values: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.floats(), max_size=3),
    st.builds(Opaque, st.text(max_size=5)),
    st.just(Ref("model")),
    st.builds(
        _tensor,
        st.lists(st.integers(0, 6), max_size=4).map(tuple),
        st.sampled_from(["float64", "float32", "float16", "int64", "bool", "complex128"]),
    ),
    st.sampled_from([np.nan, np.inf, -np.inf]).map(lambda x: Tensor(np.full((6, 6, 23), x), "float64")),
    st.just(Tensor(np.full((6, 6, 23), 1e308), "float64")),
    st.just(np.zeros((6, 6, 23))),
)
observations = st.one_of(
    st.builds(lambda value: Observation(ok=True, value=value), values),
    st.builds(
        lambda error, text: Observation(ok=False, error=error, message=text),
        st.sampled_from(["TypeError", "NameError", "Skipped", "NotImplementedError", "\x1b[31m", ""]),
        st.text(max_size=30),
    ),
    st.builds(lambda ending: Observation(ok=False, ending=ending), st.sampled_from(list(Ending))),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(observations, max_size=12).map(tuple), max_size=len(PLAN) + 1))
def test_any_evidence_is_judged(observed: list[tuple[Observation, ...]]) -> None:
    """There is one result per item, nothing passes by accident, and every sentence can be said."""
    assert [result.item for result in CHECK.judge(evidence(RIGHT, observed))] == list(FAULT_IDS)
    for made in CHECKS:
        for result in made.judge(evidence(RIGHT, observed)):
            assert result.status is not Status.PASSED
            assert render(result.student, "de") != ""


def _answered(fill: Callable[[Scenario, int, tuple[int, int]], np.ndarray]) -> list[tuple[Observation, ...]]:
    """Every forward pass answered by a made-up array of the right shape."""
    observed = []
    for scenario in PLAN:
        row = []
        for index, call in enumerate(scenario.calls):
            forward = len(call.args) == 4
            value: object = Ref("x") if call.keep else 1000 * index
            if forward and not call.keep:
                value = Tensor(fill(scenario, index, call.args[0].array.shape), "float64")
            row.append(Observation(ok=True, value=value))
        observed.append(tuple(row))
    return observed


def _earned(observed: list[tuple[Observation, ...]]) -> set[str]:
    results = [result for made in CHECKS for result in made.judge(evidence(RIGHT, observed))]
    return {result.item for result in results if result.status is Status.PASSED}


@pytest.mark.parametrize("width", [12, 23])
@pytest.mark.parametrize("seed", range(5))
def test_noise_earns_nothing(width: int, seed: int) -> None:
    """Random outputs, new at every call, show no repair."""
    random = np.random.default_rng(seed)
    assert _earned(_answered(lambda _s, _i, shape: random.standard_normal((*shape, width)))) == set()


@pytest.mark.parametrize("width", [12, 23])
def test_repeated_noise_earns_nothing(width: int) -> None:
    """Random outputs that depend only on their shape show no repair either."""

    def fill(_scenario: Scenario, _index: int, shape: tuple[int, int]) -> np.ndarray:
        return np.random.default_rng(shape[0] * 100 + shape[1]).standard_normal((*shape, width))

    assert _earned(_answered(fill)) == set()


@pytest.mark.parametrize("value", [0.0, 1.0, -1e300, 1e308])
def test_constants_earn_nothing(value: float) -> None:
    """Outputs that never change show no repair."""
    assert _earned(_answered(lambda _s, _i, shape: np.full((*shape, 23), value))) == set()


def test_one_wild_number_spoils_only_its_own_experiment() -> None:
    """NaN in one experiment leaves the verdicts of the others."""
    source = RIGHT.replace(
        "        return self.output_head(x)",
        '        return self.output_head(x) * (float("nan") if len(self.blocks) else 1.0)',
    )
    passed = {item for item, result in sit(source).items() if result.status is Status.PASSED}
    assert passed == {"position_table", "shape_order", "embedding_dropout", "output_head"}


@pytest.mark.parametrize(
    "body",
    [
        "return 'logits'",
        "return None",
        "return (tokens, memory)",
        "return tokens",
        "return memory",
        "return torch.zeros(1)",
        "return torch.rand(*tokens.shape, 23)",
        "return self.output_head(memory)",
        "return self.output_head(self.token_embedding(tokens)).half()",
        "raise KeyError('x' * 10_000)",
        "raise NotImplementedError()",
    ],
)
def test_a_forward_that_is_none_earns_little(body: str) -> None:
    """A forward pass that is not a decoder's passes no item but those it really satisfies."""
    head, _ = RIGHT.split("        batch, length = tokens.shape")
    results = sit(f"{head}        {body}\n")
    passed = {item for item, result in results.items() if result.status is Status.PASSED}
    assert passed <= ({"output_head"} if "token_embedding" in body else set())


def test_answers_that_change_between_equal_calls_earn_nothing() -> None:
    """A model that counts its calls is unsteady, whatever it computes."""
    source = RIGHT.replace(
        "        return self.output_head(x)",
        "        self.calls = getattr(self, 'calls', 0) + 1\n        return self.output_head(x) + self.calls",
    )
    results = sit(source)
    passed = {item for item, result in results.items() if result.status is Status.PASSED}
    assert passed == set()


def test_noise_on_top_of_a_right_decoder_earns_nothing_by_itself() -> None:
    """Noise that no seed controls hides every relation, so nothing can be credited."""
    source = "import os\n" + RIGHT.replace(
        "        return self.output_head(x)",
        "        return self.output_head(x) + int.from_bytes(os.urandom(2), 'big') / 65536",
    )
    passed = {item for item, result in sit(source).items() if result.status is Status.PASSED}
    assert passed == set()
