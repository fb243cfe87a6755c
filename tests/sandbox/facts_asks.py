"""Facts about calls: calling, reading, failing."""

from __future__ import annotations

import numpy as np

from autograder.core.records import Call, Tensor
from tests.sandbox.contract import Ask, Fact, Raises, RunCell

DEFINITIONS = """
def add(a, b=0):
    return a + b

def fails():
    raise LookupError("not " + "here")

calls = []
def remember(x):
    calls.append(x)
    return len(calls)
"""


def ask(*calls: Call, gives: tuple[object, ...]) -> Ask:
    """Return calls with their expected results."""
    return Ask(calls, gives)


def fact(says: str, *steps: Ask | RunCell, torch: bool = False) -> Fact:
    """Return a fact about the definitions above."""
    return Fact(says, (RunCell(DEFINITIONS), *steps), torch=torch)


ASKS = (
    fact("a function is called with arguments", ask(Call("add", args=(40, 2)), gives=(42,))),
    fact("a value is read without calling it", ask(Call("calls", read=True), gives=([],))),
    fact(
        "calls go on after one that raises",
        ask(
            *(Call("add", args=(1,)), Call("fails"), Call("remember", args=(2,))),
            gives=(1, Raises("LookupError", "not here"), 1),
        ),
    ),
    fact(
        "a name that is not there and a wrong argument are the student's errors",
        ask(Call("absent"), gives=(Raises("NameError", "absent"),)),
        ask(Call("add", args=(1, 2, 3)), gives=(Raises("TypeError", "positional"),)),
    ),
    fact(
        "leaving the interpreter inside a call is only an exception",
        RunCell("def leave():\n    raise SystemExit(0)\ndef interrupt():\n    raise KeyboardInterrupt"),
        ask(Call("leave"), gives=(Raises("SystemExit"),)),
        ask(Call("interrupt"), gives=(Raises("KeyboardInterrupt"),)),
        ask(Call("add", args=(1,)), gives=(1,)),
    ),
    fact(
        "endless recursion is only an exception",
        RunCell("def deep(n=0):\n    return deep(n + 1)"),
        ask(Call("deep"), gives=(Raises("RecursionError"),)),
        ask(Call("add", args=(1,)), gives=(1,)),
    ),
    fact(
        "what hidden calls print is not mixed into the answer",
        RunCell("def loud():\n    print('noise' * 1000)\n    return 'answer'"),
        ask(Call("loud"), gives=("answer",)),
    ),
    fact(
        "an exception without a readable text is still an answer",
        RunCell("class Mute(Exception):\n    def __str__(self): return 1 / 0\ndef mute():\n    raise Mute"),
        ask(Call("mute"), gives=(Raises("Mute"),)),
    ),
)

LAYER = """
import torch
weight = torch.nn.Parameter(torch.tensor([2.0]))
def altered(x):
    x[0] = 9
    return x
"""
WEIGHT = Tensor(np.array([2.0], np.float32), "float32", requires_grad=True)


def layer(says: str, *steps: Ask) -> Fact:
    """Return a fact about the torch definitions above."""
    return Fact(says, (RunCell(LAYER), *steps), torch=True)


TORCH = (
    layer("a parameter is read", ask(Call("weight", read=True), gives=(WEIGHT,))),
    layer(
        "changing an argument in place does not change the next call's argument",
        *(
            ask(
                Call("altered", args=(Tensor(np.zeros(2), "float64"),)),
                gives=(Tensor(np.array([9.0, 0.0]), "float64"),),
            )
            for _ in range(2)
        ),
    ),
)
