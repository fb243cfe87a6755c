"""Most tests get zygotes that need not import torch again: they would take half as long again without."""

from __future__ import annotations

import pytest

from autograder.sandbox.base import Environment
from tests.conftest import start_sandbox
from tests.sandbox.contract import LIMITS
from tests.support.launching import Forked


@pytest.mark.sandbox
def test_a_zygote_with_torch_is_forked_from_one_that_has_it() -> None:
    """Where a template could not be made, each zygote would import torch, and nobody would notice."""
    sandbox = start_sandbox(Environment(preload=("torch",)))
    try:
        assert isinstance(sandbox._process, Forked)
        box = sandbox.open(LIMITS)
        assert "" == box.run_cell("import torch\nassert torch.ones(2).sum() == 2", seconds=5).error
        box.close()
    finally:
        sandbox.close()
