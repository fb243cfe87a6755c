"""What the repair kind makes huge to see a norm: embeddings, and nothing that is idle by chance."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from autograder.checks.base import Draw
from autograder.kinds.transformers.repair.experiment import D_MODEL, Access
from autograder.kinds.transformers.repair.plan import ORDINARY, OWN, OWN_LAST, OWN_ONCE, experiments
from autograder.records import Call, Ref, Scenario, Tensor
from reference.faults.decoder import listing
from reference.listings import GIVEN
from tests.support.local_box import LocalBox
from tests.support.repair_draws import COVERING


@pytest.mark.slow
@pytest.mark.parametrize("left", [(), *COVERING], ids=["right", "one question", "the other"])
def test_embeddings_alone_are_made_huge(left: tuple[str, ...]) -> None:
    """A row for each huge token that occurs, and for a last position; no hidden feature that they wake."""
    box = LocalBox(GIVEN, listing(left))
    for number in range(20):
        scenario = next(
            made.scenario
            for made in experiments(Access("Decoder"), Draw(bytes([number]) * 32), ())
            if made.name == "weights"
        )
        special = D_MODEL - ORDINARY
        wanted = {OWN_ONCE: special, OWN_LAST: special + 1, OWN: len(_huge_tokens(scenario))}
        wanted[OWN_LAST] -= "position_missing" in left
        for own, rows in wanted.items():
            (observed,) = box.ask([_counting(scenario, own)])
            assert rows * D_MODEL == observed[-1].value, own


def _counting(scenario: Scenario, own: Ref) -> Scenario:
    """The calls up to the mask of the weights that will be made huge, and how many these are."""
    mask = max(index for index, call in enumerate(scenario.calls) if call.keep == own.name)
    counted = (Call(own, "count_nonzero", keep="number"), Call(Ref("number"), "item"))
    return msgspec.structs.replace(scenario, calls=(*scenario.calls[: mask + 1], *counted))


def _huge_tokens(scenario: Scenario) -> set[int]:
    """Those of the forward pass whose slopes tell what belongs to huge tokens."""
    asked = [call.args[0].array for call in scenario.calls if call.grad and _all_huge(call)]
    return set(np.unique(asked).tolist())


def _all_huge(call: Call) -> bool:
    return (
        bool(call.args) and isinstance(call.args[0], Tensor) and bool((call.args[0].array >= ORDINARY).all())
    )
