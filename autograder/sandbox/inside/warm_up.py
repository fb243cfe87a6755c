"""Runs tests once in the zygote, on made-up answers, so that boxes do not each pay for first-use work.

Both ends of a test communicate here as they do between two boxes. Everything that torch, numpy and our own
modules look up, import or compile on the first use of an operation is then in memory that all boxes share.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from autograder.sandbox.exchange import wire
from autograder.sandbox.inside.judge import Judge
from autograder.sandbox.inside.remote import Remote
from autograder.sandbox.inside.shared_values import Encoded
from autograder.sandbox.inside.source_runner import run_code

_ANSWERS = """
def double(numbers):
    return [2 * one for one in numbers]

class Pair:
    def __init__(self, first):
        self.first = first

    def both(self):
        return self.first, self.first

def refuse():
    raise ValueError("no")
"""
_TEST = """
import numpy as np
assert double([1, 2]) == [2, 4] and np.allclose(double(np.array([1.0])), [2.0])
pair = Pair(3)
assert pair.first == 3 and pair.both() == (3, 3)
try:
    refuse()
except ValueError:
    pass
"""
_TORCH_ANSWERS = """
import math
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(5, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.norm = nn.LayerNorm(4)

    def forward(self, ids):
        x = self.tokens(ids)
        seen = torch.tril(torch.ones(ids.shape[-1], ids.shape[-1]))
        for layer in self.layers:
            x = x + torch.relu(layer((seen / seen.sum(-1, keepdim=True)) @ x))
        scores = (x @ x.transpose(-1, -2) / math.sqrt(2)).masked_fill(seen == 0, float("-inf"))
        return self.norm(torch.softmax(scores, -1) @ x)

def mix(x, weights):
    batch, length, width = x.shape
    y = (x @ weights).view(batch, length, 2, width // 2).transpose(1, 2)
    return y.transpose(1, 2).reshape(batch, length, width)
"""
_TORCH_TEST = """
import torch
torch.manual_seed(0)
model = Model().eval()
x = model.tokens(torch.tensor([[1, 2, 3]]))
for layer in model.layers:
    x = x + layer(x)
assert sum(one.numel() for one in model.parameters()) == 68
assert torch.allclose(model(torch.tensor([[1, 2]])), model(torch.tensor([[1, 2]])))
y, w = torch.randn(1, 3, 4), torch.randn(4, 4)
y[:, 2] += 1.0
assert mix(y, w).shape == (1, 3, 4) and torch.equal(mix(y, w), mix(y, w)) and not torch.isnan(y).any()
w.requires_grad_()
mix(y, w).pow(2).mean().backward()
assert w.grad.abs().sum() > 0
"""


ROUNDS = 12
"""Python specializes its code after some runs; later it would do so in pages that belong to a box."""


def prepare_tests() -> None:
    """Run the tests; those of torch if it is loaded.

    Raises:
        RuntimeError: one did not pass, which is a fault of ours.
    """
    pairs = [(_ANSWERS, _TEST)]
    if "torch" in sys.modules:
        pairs.append((_TORCH_ANSWERS, _TORCH_TEST))
    for answers, test in pairs:
        names: dict[str, Any] = {"__name__": "answers"}
        run_code(answers, names)
        for _ in range(ROUNDS):
            outcome = run_in_one_process(names, test)
            if "error" in outcome or "refused" in outcome:
                raise RuntimeError(f"a test that has to pass in the zygote does not: {outcome}")


def run_in_one_process(names: dict[str, Any], test: str) -> dict[str, Any]:
    """Run a test (`source_runner.run_test`) with both ends in this process, without any student code.

    Args:
        names: the names of the notebook.
        test: source code of the test.
    """
    remote = Remote(SimpleNamespace(user_ns=names), _refuse_exchange)

    def forward_request(request: Encoded, *, box: int = 1) -> Encoded:
        del box
        return _transfer_encoded(remote.run_operation(*_transfer_encoded(request)))

    begin = {"code": test, "doctest": False, "shared": True, "imports": [], "students": [], "token": "t"}
    encoded, _ = Judge(forward_request).judge_test(begin)
    done: dict[str, Any] = wire.Decoder({}, _refuse_array, _refuse_array).decode(encoded)
    return done


def _transfer_encoded(encoded: Encoded) -> Encoded:
    """Encode and decode a value, as if it had crossed to the other side."""
    return wire.read_payload(_to_payload(encoded))


def _to_payload(encoded: Encoded) -> wire.Payload:
    tree, numbers = wire.make_payload(*encoded)
    return wire.Payload(tree, [bytearray(b"".join(numbers))])


def _refuse_exchange(*_: Any) -> Encoded:
    raise RuntimeError("nothing here calls a function of a test")


def _refuse_array(*_: Any) -> Any:
    raise RuntimeError("an outcome holds plain values alone")
