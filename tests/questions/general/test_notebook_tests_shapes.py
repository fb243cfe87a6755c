# ruff: noqa: E501 - tests are read line by line
"""Test that typical tests, judged outside, pass for right answers and fail for wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from autograder.core.records import CellOutcome, CellTest
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from tests.support.cell_tests import run_cell_tests

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
RIGHT = """
import collections, dataclasses, functools
import numpy as np, pandas as pd, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.ones(1))
    def forward(self, x): return self.linear(x) * self.scale
def softmax(x): return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)
def step(p, g):
    with torch.no_grad(): p -= 0.1 * g
def loss(w): return (w ** 2).sum()
def noise(): return torch.randn(3)
class Vector:
    def __init__(self, data): self.data = np.array(data, float)
    def __add__(self, other): return Vector(self.data + other.data)
    def __repr__(self): return f"Vector({self.data.tolist()})"
    def __iter__(self): return iter(self.data)
    def __len__(self): return len(self.data)
Point = collections.namedtuple("Point", "x y")
def point(): return Point(1, 2)
class Roster:
    def __init__(self): self.entries = []
    def add(self, one, name): self.entries.append((one, name))
def spelled(operation, called, self): return operation + called + self
class Refused(ValueError): pass
def refuse(): raise Refused("no such thing")
class Missing(Exception):
    def __init__(self, number): self.number = number
    def __str__(self): return f"{self.number} missing"
def withdraw(): raise Missing(85)
class Suppressing:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace): return kind is Missing
def attend(q, k): return [(q @ k.T).softmax(-1), q]
def descend(params):
    for p in params: p.data -= 0.5 * p.grad
def double(arrays):
    for name in arrays: arrays[name] *= 2
def trained(model, x, y):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        opt.zero_grad()
        last = nn.functional.mse_loss(model(x), y)
        last.backward()
        opt.step()
    model.eval()
    return last.item()
def squared(x): return (x ** 2).mean()
def greet(): print("hello")
def clean(df): return df.dropna().assign(z=lambda d: d.x * 2)
frame = pd.DataFrame({"x": [1.0, None, 3.0], "n": ["a", "b", "c"]}, index=[5, 6, 7])
def mark(df): df["new"] = 1
def fill(items): items[0] = 7
def numbers():
    yield from range(3)
def apply(f, x): return f(x)
def each(f, xs):
    for x in xs: yield f(x)
def retried(times, on=Exception):
    def decorate(f):
        @functools.wraps(f)
        def again(*args):
            for left in range(times)[::-1]:
                try: return f(*args)
                except on:
                    if not left: raise
        return again
    return decorate
class Again(Refused): pass
def refuse_again(): raise Again("none")
def momentum(model, opt, x):
    for _ in range(3):
        opt.zero_grad(); model(x).sum().backward(); opt.step()
    opt.param_groups[0]["lr"] = 0.5
def nested(n): return [nested(n - 1)] if n > 0 else 1
def depth(xs):
    n = 0
    while isinstance(xs, list): xs, n = xs[0], n + 1
    return n
stars = np.array([("Sun", 1.0), ("Vega", 2.1)], dtype=[("name", "U8"), ("mass", "f8")])
def heavier(rows): rows["mass"] *= 2
def shuffled(rng): return rng.permutation(5)
@dataclasses.dataclass(frozen=True, order=True)
class Card:
    rank: int
    suit: str = dataclasses.field(default="clubs", compare=False)
class Locked:
    def __init__(self, data): self.data = data
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        self.data.append(kind.__name__ if kind else "none")
        return kind is not None
def drawn():
    import matplotlib; matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig, ax = plt.subplots()
    ax.plot([0, 1, 2], [0, 1, 4], label="squares"); ax.set_title("Growth"); ax.legend()
    return ax
"""
SHAPES = {
    "a module that may be missing": "try:\n    import absent_here\nexcept ImportError:\n    absent_here = None\nassert spelled(1, 2, 3) == 6",
    "keywords that are called as parameters of ours": "r = Roster()\nr.add(one=1, name='A')\nassert r.entries == [(1, 'A')]",
    "a function whose name is computed": "assert 'unspelled' not in globals()\nfor name in ('unspelled', 'spelled'):\n    if name in globals():\n        assert globals()[name](operation=1, called=2, self=3) == 6",
    "a module's shapes": "m = Net()\nassert m(torch.ones(3, 4)).shape == (3, 2) and isinstance(m, nn.Module)",
    "parameters are counted": "assert sum(p.numel() for p in Net().parameters()) == 11",
    "a tensor": "x = torch.randn(2, 3)\nassert torch.allclose(softmax(x), torch.softmax(x, -1))",
    "a tensor changed in place": "p = torch.ones(2)\nstep(p, torch.ones(2))\nassert torch.allclose(p, torch.full((2,), 0.9))",
    "a gradient": "w = torch.tensor([1.0, 2.0], requires_grad=True)\nloss(w).backward()\n"
    "assert torch.equal(w.grad, torch.tensor([2.0, 4.0]))",
    "a gradient that is asked for": "w = torch.tensor([1.0, 2.0], requires_grad=True)\n(g,) = torch.autograd.grad(loss(w), w)\n"
    "assert g.tolist() == [2.0, 4.0] and w.grad is None\n(g,) = torch.autograd.grad(3 * loss(2 * w), w, None, True)\nassert g.tolist() == [24.0, 48.0]",
    "gradients of parameters that are asked for": "m = Net()\nfound = torch.autograd.grad(m(torch.ones(2, 4)).sum(), list(m.parameters()))\n"
    "assert [g.shape for g in found] == [p.shape for p in m.parameters()] and found[0].abs().sum() > 0 and m.scale.grad is None",
    "a jacobian": "assert torch.allclose(torch.autograd.functional.jacobian(squared, torch.tensor([1.0, 3.0])), torch.tensor([1.0, 3.0]))",
    "copies": "import copy\nr = Roster()\nr.add(1, 'a')\nother, same = copy.deepcopy(r), copy.copy(r)\nother.add(2, 'b')\n"
    "assert r.entries == [(1, 'a')] and len(other.entries) == 2 and type(other) is Roster and same.entries == r.entries",
    "a seed": "torch.manual_seed(0)\na = noise()\ntorch.manual_seed(0)\nassert torch.equal(a, torch.randn(3))",
    "training": "m = Net()\nopt = torch.optim.SGD(m.parameters(), lr=0.1)\nbefore = m.scale.item()\n"
    "m(torch.ones(1, 4)).sum().backward()\nopt.step()\nassert m.scale.item() != before",
    "a class": "v = Vector([1, 2]) + Vector([3, 4])\nassert np.allclose(v.data, [4, 6]) and len(v) == 2\n"
    "assert repr(v) == 'Vector([4.0, 6.0])' and list(v) == [4, 6] and isinstance(v, Vector)",
    "a named tuple": "assert point() == (1, 2) and point().x == 1",
    "an exception's class": "try:\n    refuse()\nexcept Refused as error:\n    assert 'such' in str(error)\nelse:\n    assert False",
    "what an exception keeps": "try:\n    withdraw()\nexcept Missing as error:\n    assert error.number == 85 and str(error) == '85 missing'\nelse:\n    assert False",
    "a context that suppresses": "with Suppressing():\n    withdraw()",
    "a gradient that is asked for later": "q = torch.eye(2)\nattend(q, q)\nq.requires_grad_(True)\n"
    "attend(q, q)[0][0, 0].backward()\nassert q.grad.abs().sum() > 0",
    "a loss of a prediction": "m = Net()\nloss_ = squared(m(torch.ones(2, 4)))\nloss_.backward()\n"
    "assert m.scale.grad is not None and m.scale.grad.item() != 0",
    "a model of the test's": "torch.manual_seed(0)\nm = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))\n"
    "w, x = m[0].weight, torch.randn(8, 2)\nbefore, y = w.detach().clone(), x.sum(1, keepdim=True)\n"
    "assert trained(m, x, y) < 1 and m[0].weight is w and not torch.equal(w, before)\n"
    "assert not m[1].training and m[1].num_batches_tracked == 50 and w.grad is not None\n"
    "last = trained(m, x, y)\nassert abs(nn.functional.mse_loss(m(x), y).item() - last) < 0.2",
    "what a test computes between two parts": "m, k = Net(), Net()\nx = m(torch.ones(2, 4)) * 2\n"
    "y = k(torch.cat([x, x], -1)).sum() + squared(x)\ny.backward()\nassert m.scale.grad.abs().sum() > 0 and k.scale.grad.abs().sum() > 0\n"
    "w = torch.ones(3, requires_grad=True)\nloss(2 * w).backward()\nassert w.grad.tolist() == [8, 8, 8]",
    "tensors in a list": "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\ndescend([w])\nassert w.tolist() == [0.5, 0.5]",
    "tensors in a tuple": "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\ndescend((w,))\nassert w.tolist() == [0.5, 0.5]",
    "parameters of a module of the test's": "m = nn.Linear(1, 1)\nbefore = m.bias.item()\nm(torch.ones(1, 1)).backward()\n"
    "descend(m.parameters())\nassert abs(m.bias.item() - before + 0.5) < 1e-6",
    "arrays in a dictionary": "a = np.ones(2)\nd = {'a': a}\ndouble(d)\nassert a[0] == 2 and d['a'] is a",
    "a generator is one": "import inspect\nassert inspect.isgenerator(numbers()) and inspect.isgeneratorfunction(numbers)",
    "a print": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    greet()\nassert out.getvalue() == 'hello\\n'",
    "a frame": "pd.testing.assert_frame_equal(clean(frame), pd.DataFrame({'x': [1.0, 3.0], 'n': ['a', 'c'],"
    " 'z': [2.0, 6.0]}, index=[5, 7]))",
    "a frame changed in place": "d = pd.DataFrame({'a': [1, 2]})\nmark(d)\nassert d['new'].tolist() == [1, 1]",
    "a list changed in place": "items = [1, 2]\nfill(items)\nassert items == [7, 2]",
    "a generator": "assert list(numbers()) == [0, 1, 2]",
    "functions of the test's": "seen = []\ndef twice(x):\n    seen.append(x)\n    return 2 * x\n"
    "assert apply(twice, 4) == 8 and apply(lambda f: f, twice) is twice and list(each(twice, iter([1, 2]))) == [2, 4]\n"
    "assert seen == [4, 1, 2] and apply('{:>3}'.format, 'a') == '  a'",
    "what a function of the test's raises": "class Own(ValueError): pass\ndef fail(x):\n    raise Own(x)\n"
    "try:\n    apply(fail, 7)\nexcept Own as error:\n    assert error.args == (7,)\nelse:\n    assert False\nassert apply(abs, -1) == 1",
    "a decorator": "tried = []\n@retried(3, on=ValueError)\ndef shaky(n):\n    'Doc.'\n    tried.append(n)\n"
    "    if len(tried) < n:\n        raise ValueError\n    return 'done'\nassert shaky(3) == 'done' and len(tried) == 3 and shaky.__doc__ == 'Doc.'",
    "functions that call one another": "def down(n):\n    return 0 if n == 0 else 1 + apply(down, n - 1)\nassert down(40) == 40",
    "a function of the student's in one of the test's": "assert apply(lambda v: v + Vector([1]), Vector([2])).data[0] == 3",
    "exceptions that derive from one another": "try:\n    refuse_again()\nexcept Refused as error:\n"
    "    assert type(error).__name__ == 'Again' and issubclass(Again, Refused)\nelse:\n    assert False\nassert Missing(3).number == 3",
    "an optimizer of the test's": "m, own = Net(), nn.Linear(4, 1)\nfor one in (m, own):\n    opt = torch.optim.SGD(one.parameters(), lr=0.1, momentum=0.9)\n"
    "    first = next(iter(one.parameters())).detach().clone()\n    momentum(one, opt, torch.ones(2, 4))\n"
    "    p = next(iter(one.parameters()))\n    assert not torch.equal(p, first) and opt.param_groups[0]['lr'] == 0.5\n"
    "    assert opt.state[p]['momentum_buffer'].abs().sum() > 0\n    before = p.detach().clone()\n    opt.step()\n    assert not torch.equal(p, before)",
    "what is nested deep": "assert depth(nested(500)) == 500\nhere = 1\nfor _ in range(300):\n    here = [here]\nassert depth(here) == 300",
    "an array with fields": "assert stars['name'].tolist() == ['Sun', 'Vega'] and stars[1]['mass'] == 2.1\n"
    "own = np.array([('a', 1.0)], dtype=stars.dtype)\nheavier(own)\nassert own['mass'][0] == 2",
    "a generator of random numbers of the test's": "rng = np.random.default_rng(3)\na, b = shuffled(rng), shuffled(rng)\n"
    "again = np.random.default_rng(3)\nassert np.array_equal(a, again.permutation(5)) and np.array_equal(b, again.permutation(5))",
    "a data class": "from dataclasses import asdict, fields, is_dataclass, replace\nassert is_dataclass(Card) and [f.name for f in fields(Card)] == ['rank', 'suit']\n"
    "assert replace(Card(2), rank=5).rank == 5 and asdict(Card(2)) == {'rank': 2, 'suit': 'clubs'} and len({Card(1), Card(1, 'x'), Card(2)}) == 2",
    "a context that suppresses what the test raises": "seen = []\nwith Locked(seen):\n    {}['no']\nwith Locked(seen) as held:\n    held.data.append(1)\n"
    "assert seen == ['KeyError', 1, 'none']",
    "what is drawn": "import matplotlib.pyplot as plt\nfrom matplotlib.axes import Axes\nax = drawn()\nassert isinstance(ax, Axes) and ax.get_title() == 'Growth'\n"
    "assert plt.gca() is ax and len(ax.lines) == 1 and ax.lines[0].get_ydata().tolist() == [0, 1, 4]\n"
    "assert [one.get_text() for one in ax.get_legend().get_texts()] == ['squares']",
    "a library's function": "assert apply(np.sqrt, 4.0) == 2.0",
}  # fmt: skip
WRONG = {
    "self.entries.append((one, name))": "self.entries.append((name, one))",
    "return operation + called + self": "return operation + called",
    "super().__init__()": "super().__init__(); self.more = nn.Linear(1, 1)",
    "nn.Linear(4, 2)": "nn.Linear(4, 3)",
    "keepdim=True)": "keepdim=True) * 2",
    "0.1 * g": "0.2 * g",
    "w ** 2": "w ** 3",
    "torch.randn(3)": "torch.rand(3)",
    "self.linear(x) * self.scale": "self.linear(x).detach() * self.scale.detach() + self.more(x[:, :1])",
    "self.data + other.data": "self.data - other.data",
    "Point(1, 2)": "Point(2, 1)",
    "raise Refused": "raise KeyError",
    '"hello"': '"bye"',
    "d.x * 2": "d.x * 3",
    'df["new"] = 1': "df = df.assign(new=1)",
    "items[0] = 7": "items = [7, 2]",
    "yield from range(3)": "return iter([0, 1])",
    "Missing(85)": "Missing(84)",
    "return kind is Missing": "return kind is KeyError",
    "return [(q @ k.T)": "return [(q.detach() @ k.detach().T)",
    "for p in params: p.data -= 0.5 * p.grad": "params = [p - 0.5 * p.grad for p in params]",
    "arrays[name] *= 2": "arrays[name] = arrays[name] * 2",
    "opt.step()": "pass",
    "return (x ** 2)": "return (x.detach() ** 2)",
    "return f(x)": "return f(x), x",
    "yield f(x)": "yield x",
    "range(times)[::-1]": "range(1)",
    "class Again(Refused)": "class Again(Exception)",
    '["lr"] = 0.5': '["lr"] = 0.4',
    "if n > 0 else 1": "if n > 1 else 1",
    'rows["mass"] *= 2': 'rows = rows["mass"] * 2',
    "rng.permutation(5)": "np.arange(5)",
    "compare=False": "compare=True",
    "return kind is not None": "return False",
    "[0, 1, 4]": "[0, 1, 2]",
}  # fmt: skip
"""Right text → wrong text, for an answer that fails every test."""

REFUSED = {
    "a module that is not installed": "import absent_here\nassert softmax",
    "a list in itself": "deep = []\ndeep.append(deep)\nfill(deep)",
    "an object of a class of the test's": "class Own:\n    pass\nfill(Own())",
    "a gradient of a gradient": "w = torch.ones(2, requires_grad=True)\ntorch.autograd.grad(loss(w), w, create_graph=True)",
    "a backward pass that is one of two": "w = torch.ones(2, requires_grad=True)\nloss(w).backward(create_graph=True)",
    "a backward pass for some": "w = torch.ones(2, requires_grad=True)\nloss(w).backward(inputs=[w])",
    "a function in the student's graph": "w = torch.ones(2, requires_grad=True)\napply(lambda t: 2 * t, w)",
    "a transform of functions": "torch.func.grad(loss)(torch.ones(2))",
    "a hook on a tensor of the test's": "w = torch.ones(1, requires_grad=True)\nhooked(w)\nw.sum().backward()",
}
"""Tests that pass values which cannot be transferred to the student's code."""
HOOKED = "\ndef hooked(t):\n    t.register_hook(lambda g: 2 * g)\n    return 1\n"
LYING = """
class Short(list):
    def __len__(self): return 3
    def __contains__(self, one): return True
short = Short()
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return a sandbox with numpy, torch and pandas."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("numpy", "torch", "pandas")))


def outcomes(sandbox: Sandbox, source: str, shapes: Mapping[str, str] = SHAPES) -> dict[str, CellOutcome]:
    """Return the outcome of each test."""
    return run_cell_tests(sandbox, [source], {name: CellTest(name, code) for name, code in shapes.items()})


def test_right_answers_pass(sandbox: Sandbox) -> None:
    """All tests pass for right answers, without doubts."""
    test_outcomes = outcomes(sandbox, RIGHT)
    assert {} == {
        name: outcome for name, outcome in test_outcomes.items() if not outcome.passed or outcome.doubt
    }
    assert [*SHAPES] == [*test_outcomes]


def test_torch_may_be_imported_by_the_test() -> None:
    """Gradients cross both boxes, also if the test itself imports torch."""
    asked = (
        "w = torch.ones(1, requires_grad=True)\nassert torch.autograd.grad(loss(w), w)[0].tolist() == [2.0]"
    )
    answer = "import torch\n" + "def loss(w): return (w ** 2).sum()\n"
    with Pool() as pool:
        bare = pool.get_sandbox(Environment())
        test_outcomes = outcomes(bare, answer, {"imported": f"import torch\n{asked}"})
    assert [True] == [outcome.passed for outcome in test_outcomes.values()], test_outcomes


def test_wrong_answers_fail(sandbox: Sandbox) -> None:
    """Each test fails for a wrong answer, and none is rejected."""
    source = RIGHT
    for right, wrong in WRONG.items():
        assert right in source, right
        source = source.replace(right, wrong)
    test_outcomes = outcomes(sandbox, source)
    assert [] == [name for name, outcome in test_outcomes.items() if not outcome.error]


def test_what_cannot_be_handed_over_goes_to_a_person(sandbox: Sandbox) -> None:
    """A value that cannot be transferred is rejected, so its test needs manual review."""
    test_outcomes = outcomes(sandbox, RIGHT + HOOKED, REFUSED)
    assert [] == [name for name, outcome in test_outcomes.items() if not outcome.refused]


def test_containers_are_believed_what_they_hold(sandbox: Sandbox) -> None:
    """A subclass that overrides its length or membership earns nothing."""
    lies = {"length": "assert len(short) == 3", "members": "assert 7 in short"}
    test_outcomes = outcomes(sandbox, LYING, lies)
    assert "does not hold" in test_outcomes["length"].doubt
    assert "what contains with a value of the test gives" in test_outcomes["members"].refused
