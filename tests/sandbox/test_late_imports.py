"""Late imports of libraries are done before boxes are forked."""

from __future__ import annotations

from autograder.sandbox.base import Sandbox
from tests.sandbox.contract import LIMITS


def run(sandbox: Sandbox, code: str) -> str:
    """Return the error of a cell, empty if there is none."""
    box = sandbox.open(LIMITS)
    try:
        return box.run_cell(code, seconds=5).error
    finally:
        box.close()


def test_torch_imports_nothing_large_when_an_optimizer_is_first_used(torch_sandbox: Sandbox) -> None:
    """Otherwise the import would take the student's time."""
    code = (
        "import sys, torch\n"
        "before = {*sys.modules}\n"
        "optimizer = torch.optim.AdamW([torch.ones(2, requires_grad=True)], 0.1)\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "(x * 2).backward(torch.ones(2))\n"
        "optimizer.step()\n"
        "torch.func.grad(lambda x: (x * x).sum())(torch.ones(2))\n"
        "torch.testing.assert_close(torch.ones(2), torch.ones(2))\n"
        "assert len({*sys.modules} - before) < 20, {*sys.modules} - before"
    )
    assert "" == run(torch_sandbox, code)


def test_a_sandbox_without_torch_does_not_import_it(plain_sandbox: Sandbox) -> None:
    """Late imports are preloaded only for preloaded libraries."""
    assert "" == run(plain_sandbox, "import sys\nassert 'torch' not in sys.modules")
