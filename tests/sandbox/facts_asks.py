"""Facts about scenarios: calling, reading, keeping, seeding, failing."""

from __future__ import annotations

import numpy as np

from autograder.records import Call, Ref, Scenario, Tensor
from tests.sandbox.contract import Ask, Fact, Raises, RunCell

DEFINITIONS = '''
import random

def add(a, b=0):
    return a + b

def fails():
    raise LookupError("not " + "here")

class Counter:
    """Counts."""
    def __init__(self, start):
        self.value = start
    def step(self, by=1):
        self.value += by
        return self.value

calls = []
def remember(x):
    calls.append(x)
    return len(calls)
'''


def ask(name: str, *calls: Call, gives: tuple[object, ...]) -> Ask:
    """One scenario."""
    return Ask((Scenario(name, calls),), (gives,))


def fact(says: str, *steps: Ask | RunCell, torch: bool = False) -> Fact:
    """A fact about the definitions above."""
    return Fact(says, (RunCell(DEFINITIONS), *steps), torch=torch)


ASKS = (
    fact(
        "a function is called with positional and named arguments",
        ask("call", Call("add", args=(40,), kwargs={"b": 2}), gives=(42,)),
    ),
    fact("a value is read without calling it", ask("read", Call("calls", read=True), gives=([],))),
    fact(
        "a dotted attribute is read and called",
        RunCell("c = Counter(1)\nc.inner = Counter(5)"),
        ask(
            "attribute",
            Call("c", attribute="inner.value", read=True),
            Call("c", attribute="inner.step", args=(2,)),
            gives=(5, 7),
        ),
    ),
    fact(
        "an object is kept in the box and used by later calls of its scenario",
        ask(
            "keep",
            Call("Counter", args=(1,), keep="mine"),
            Call(Ref("mine"), attribute="step"),
            Call("add", args=(Ref("number"),)),
            gives=(Ref("mine"), 2, Raises("KeyError")),
        ),
        ask("number", Call("add", args=(3,), keep="n"), Call("add", args=(Ref("n"), 4)), gives=(Ref("n"), 7)),
    ),
    fact(
        "each of many results that stay in the box is answered, however the answers travel",
        ask(
            "kept",
            Call("Counter", args=(1,), keep="mine"),
            *(Call(Ref("mine"), attribute="step", keep=f"at {number}") for number in range(2, 40)),
            Call("@time", attribute="sleep", args=(0.03,), keep="slept"),
            Call(Ref("mine"), attribute="step", keep="last"),
            Call("add", args=(Ref("last"),)),
            Call(Ref("mine"), attribute="step", keep="end"),
            gives=(
                Ref("mine"),
                *(Ref(f"at {number}") for number in range(2, 40)),
                Ref("slept"),
                Ref("last"),
                40,
                Ref("end"),
            ),
        ),
    ),
    fact(
        "the one that fails among results that stay in the box is the one that is told",
        ask(
            "kept",
            Call("Counter", args=(1,), keep="mine"),
            Call(Ref("mine"), attribute="step", keep="two"),
            Call(Ref("mine"), attribute="stop", keep="three"),
            Call(Ref("mine"), attribute="step", keep="four"),
            gives=(Ref("mine"), Ref("two"), Raises("AttributeError"), Raises("Skipped")),
        ),
    ),
    fact(
        "what is looked at among them is answered in its place, with its own arrays",
        RunCell("import numpy as np\ndef grown(a, by):\n    return np.array(a) + by"),
        ask(
            "looked at",
            Call("grown", args=([1, 2], 1), brief=True),
            Call("grown", args=([1, 2], 2), keep="more", brief=True),
            Call(Ref("more"), attribute="sum", brief=True),
            Call("grown", args=(Ref("more"), 1), brief=True),
            Call("@time", attribute="sleep", args=(0.03,), brief=True),
            Call("grown", args=([[0.5]], 0), brief=True),
            Call("@builtins", attribute="list", args=(Ref("more"),), brief=True),
            Call(Ref("more"), attribute="size", read=True, brief=True),
            Call(Ref("more"), read=True, brief=True),
            Call(Ref("more"), attribute="fill", args=(9,), keep="filled", brief=True),
            Call(Ref("more"), read=True, brief=True),
            gives=(
                np.array([2, 3]),
                Ref("more"),
                7,
                np.array([4, 5]),
                None,
                np.array([[0.5]]),
                [3, 4],
                2,
                np.array([3, 4]),
                Ref("filled"),
                np.array([9, 9]),
            ),
        ),
    ),
    fact(
        "a failure among what is looked at leaves what was answered before it",
        ask(
            "fails",
            Call("add", args=(1,), brief=True),
            Call("add", args=(2,), keep="two", brief=True),
            Call("add", args=(Ref("two"), 1), brief=True),
            Call("fails", brief=True),
            Call("add", args=(4,), brief=True),
            gives=(1, Ref("two"), 3, Raises("LookupError", "not here"), Raises("Skipped")),
        ),
    ),
    fact(
        "a long answer among what is looked at is whole",
        ask(
            "long",
            *(Call("add", args=([], [*range(number)]), brief=True) for number in (3, 700, 5, 2000, 0, 1)),
            gives=tuple([*range(number)] for number in (3, 700, 5, 2000, 0, 1)),
        ),
    ),
    fact(
        "what one scenario keeps is unknown to the next",
        Ask(
            (
                Scenario("first", (Call("add", args=(1,), keep="n"),)),
                Scenario("second", (Call("add", args=(Ref("n"),)),)),
            ),
            ((Ref("n"),), (Raises("KeyError"),)),
        ),
    ),
    fact(
        "the first failure skips the rest of its scenario, and the next scenario runs",
        Ask(
            (
                Scenario("fails", (Call("add", args=(1,)), Call("fails"), Call("remember", args=(1,)))),
                Scenario("after", (Call("remember", args=(2,)),)),
            ),
            ((1, Raises("LookupError", "not here"), Raises("Skipped")), (1,)),
        ),
    ),
    fact(
        "a name that is not there, a wrong argument and a missing attribute are the student's errors",
        ask("name", Call("absent"), gives=(Raises("NameError", "absent"),)),
        ask("argument", Call("add", kwargs={"c": 1}), gives=(Raises("TypeError", "c"),)),
        ask("attribute", Call("add", attribute="absent", read=True), gives=(Raises("AttributeError"),)),
    ),
    fact(
        "leaving the interpreter inside a call is only an exception",
        RunCell("def leave():\n    raise SystemExit(0)\ndef interrupt():\n    raise KeyboardInterrupt"),
        ask("leave", Call("leave"), gives=(Raises("SystemExit"),)),
        ask("interrupt", Call("interrupt"), gives=(Raises("KeyboardInterrupt"),)),
        ask("after", Call("add", args=(1,)), gives=(1,)),
    ),
    fact(
        "endless recursion is only an exception",
        RunCell("def deep(n=0):\n    return deep(n + 1)"),
        ask("deep", Call("deep"), gives=(Raises("RecursionError"),)),
        ask("after", Call("add", args=(1,)), gives=(1,)),
    ),
    fact(
        "a seed makes random draws repeat",
        RunCell(
            "import numpy\ndef draw():\n    return [random.random() == again.random(), numpy.random.rand()]\n"
            "again = random.Random(5)"
        ),
        ask("draw", Call("draw", seed=5), gives=([True, float(np.random.RandomState(5).rand())],)),
    ),
    fact(
        "what hidden calls print is not mixed into the answer",
        RunCell("def loud():\n    print('noise' * 1000)\n    return 'answer'"),
        ask("loud", Call("loud"), gives=("answer",)),
    ),
    fact(
        "an exception without a readable text is still an answer",
        RunCell("class Mute(Exception):\n    def __str__(self): return 1 / 0\ndef mute():\n    raise Mute"),
        ask("mute", Call("mute"), gives=(Raises("Mute"),)),
    ),
)

LAYER = """
import torch
class Double(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([2.0]))
    def forward(self, x):
        return self.weight * x
def traced():
    return torch.is_grad_enabled()
def made():
    return torch.zeros(1)
def drawn():
    return torch.rand(()).item()
def altered(x):
    x[0] = 9
    return x
"""
WEIGHT = Tensor(np.array([2.0], np.float32), "float32", requires_grad=True)


def layer(says: str, *steps: Ask) -> Fact:
    """A fact about the torch definitions above."""
    return Fact(says, (RunCell(LAYER), *steps), torch=True)


TORCH = (
    layer(
        "a module is built, kept, fed and read",
        ask(
            "module",
            Call("Double", keep="m"),
            Call(Ref("m"), args=(Tensor(np.ones((2, 1), np.float32), "float32"),)),
            Call(Ref("m"), attribute="weight", read=True),
            gives=(Ref("m"), Tensor(np.full((2, 1), 2, np.float32), "float32"), WEIGHT),
        ),
    ),
    layer(
        "autograd is off unless it is asked for",
        ask("grad", Call("traced"), Call("traced", grad=True), gives=(False, True)),
    ),
    layer(
        "a preloaded module is called whatever the notebook names it",
        ask(
            "module",
            Call("@torch", attribute="nn.functional.relu", args=(Tensor(np.array([-1.0, 1.0]), "float64"),)),
            gives=(Tensor(np.array([0.0, 1.0]), "float64"),),
        ),
    ),
    layer(
        "the default dtype holds for one call",
        ask(
            "dtype",
            Call("made", default_dtype="float64"),
            Call("made"),
            gives=(Tensor(np.zeros(1), "float64"), Tensor(np.zeros(1, np.float32), "float32")),
        ),
    ),
    layer(
        "a seed makes torch's draws repeat",
        ask("draw", Call("drawn", seed=3), Call("drawn", seed=3), gives=(0.004263520240783691,) * 2),
    ),
    layer(
        "changing an argument in place does not change the next call's argument",
        *(
            ask(
                name,
                Call("altered", args=(Tensor(np.zeros(2), "float64"),)),
                gives=(Tensor(np.array([9.0, 0.0]), "float64"),),
            )
            for name in ("once", "twice")
        ),
    ),
)
