# ruff: noqa: E501 - tests are read line by line
"""Test that a test sees the current state of the student's objects, although values are sent in advance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.records import CellOutcome, CellTest
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from tests.support.cell_tests import run_cell_tests

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

CHANGING = {
    "the gradient of a parameter": (
        "import torch\nfrom torch import nn\nclass N(nn.Module):\n    def __init__(s):\n        super().__init__(); s.w=nn.Parameter(torch.ones(2))\n    def train_once(s):\n        (s.w*s.w).sum().backward()\n    def zero(s): s.w.grad=None\n",
        "import torch\nfrom torch import nn\nn=N()\nassert n.w.grad is None\nn.train_once()\nassert n.w.grad.tolist()==[2,2]\nn.train_once()\nassert n.w.grad.tolist()==[4,4]\nn.zero()\nassert n.w.grad is None",
    ),
    "a list that gets objects": (
        "class Q:\n    pass\nclass A:\n    def __init__(s): s.items=[1,2]\n    def add(s): s.items.append(Q())\n    def n(s): return len(s.items)\n",
        "a=A()\nassert a.items==[1,2]\na.add()\nassert len(a.items)==3\na.add()\nassert len(a.items)==4 and a.n()==4\na.items.append(5)\nassert a.n()==5",
    ),
    "a counter": (
        "class A:\n    def __init__(s): s.n=0\n    def up(s): s.n+=1; return s\n",
        "a=A()\nassert a.n==0\na.up().up()\nassert a.n==2\na.n=7\na.up()\nassert a.n==8",
    ),
    "a property that comes later": (
        "class A:\n    def __init__(s): s.x=1\n    def change(s):\n        type(s).x=property(lambda s: 42)\n",
        "a=A()\nassert a.x==1\na.change()\nassert a.x==42",
    ),
    "a class that takes over its attributes": (
        "class A:\n    def __init__(s): s.x=1\n    def change(s):\n        type(s).__getattribute__=lambda s,n: 5 if n=='x' else object.__getattribute__(s,n)\n",
        "a=A()\nassert a.x==1\na.change()\nassert a.x==5",
    ),
    "an object that changes its class": (
        "class B:\n    x=3\n    def m(s): return 'B'\nclass A:\n    def __init__(s): s.x=1\n    def m(s): return 'A'\n    def change(s):\n        s.__class__=B; del s.x\n",
        "a=A()\nassert a.x==1 and a.m()=='A'\na.change()\nassert a.x==3\nassert a.m()=='B'",
    ),
    "an attribute that is deleted": (
        "class A:\n    x='c'\n    def __init__(s): s.x=1\n    def d(s): del s.x\n",
        "a=A()\nassert a.x==1\na.d()\nassert a.x=='c'\ntry:\n    a.d()\nexcept AttributeError: pass\nelse: assert False",
    ),
    "many objects": (
        "class A:\n    def __init__(s,i): s.i=i; s.n=0\n    def up(s): s.n+=1\ndef make(k): return [A(i) for i in range(k)]\ndef allup(xs):\n    for x in xs: x.up()\n",
        "xs=make(80)\nassert [x.i for x in xs]==list(range(80))\nallup(xs)\nassert [x.n for x in xs]==[1]*80\nxs[3].up(); allup(xs[:5])\nassert [x.n for x in xs[:6]]==[2,2,2,3,2,1]",
    ),
    "an object under two names": (
        "class A:\n    def __init__(s): s.v=[1]; s.other=s\na=A(); b=a\ndef poke(): b.v=[2]\ndef poke2(): a.v.append(9)\n",
        "assert a.v==[1] and b.v==[1] and a.other.v==[1]\npoke()\nassert a.v==[2]==b.v\npoke2()\nassert b.v==[2,9] and a.other.v==[2,9]",
    ),
    "a module that is replaced": (
        "import torch\nfrom torch import nn\nclass N(nn.Module):\n    def __init__(s):\n        super().__init__(); s.l=nn.Linear(2,2)\n    def grow(s): s.l=nn.Linear(2,3)\n    def forward(s,x): return s.l(x)\n",
        "import torch\nfrom torch import nn\nn=N()\nassert n.l.out_features==2\nassert n(torch.ones(1,2)).shape==(1,2)\nn.grow()\nassert n.l.out_features==3\nassert n(torch.ones(1,2)).shape==(1,3)",
    ),
    "modes": (
        "import torch\nfrom torch import nn\nclass N(nn.Module):\n    def __init__(s):\n        super().__init__(); s.l=nn.Linear(2,2); s.d=nn.Dropout()\ndef ev(m): m.eval()\n",
        "import torch\nfrom torch import nn\nn=N()\nassert n.training and n.d.training\nev(n)\nassert not n.training and not n.d.training\nn.train()\nassert n.training and n.d.training and n.l.training",
    ),
    "an exception's attribute": (
        "class E(Exception):\n    def __init__(s,k): super().__init__(k); s.k=k\nclass A:\n    def __init__(s): s.n=0\n    def f(s):\n        s.n+=1\n        raise E(s.n)\n",
        "a=A()\nassert a.n==0\nfor i in (1,2,3):\n    try: a.f()\n    except E as e: assert e.k==i\n    assert a.n==i",
    ),
    "a name that is bound anew": (
        "n=0\nclass A: pass\na=A(); a.x=1\ndef f():\n    global n, a\n    n+=1; a=A(); a.x=n*10\n",
        "assert n==0 and a.x==1\nf()\nassert n==1 and a.x==10\nf()\nassert n==2 and a.x==20",
    ),
    "what the test sets": (
        "class A:\n    def __init__(s): s.cfg={'a':1}\n    def get(s): return s.cfg['a']\n",
        "a=A()\na.cfg['a']=5\nassert a.get()==5\na.cfg={'a':9}\nassert a.get()==9 and a.cfg=={'a':9}\ndel a.cfg\ntry: a.get()\nexcept AttributeError: pass\nelse: assert 0",
    ),
    "slots": (
        "class A:\n    __slots__=('x',)\n    def __init__(s): s.x=1\n    def up(s): s.x+=1\n",
        "a=A()\nassert a.x==1\na.up()\nassert a.x==2",
    ),
    "a name of torch's in another class": (
        "class A:\n    def __init__(s): s._modules=[1]; s.x=1\n    def up(s): s._modules='no'; s.x=2\n",
        "a=A()\nassert a.x==1\na.up()\nassert a.x==2",
    ),
    "a tensor in place": (
        "import torch\nfrom torch import nn\nclass A:\n    def __init__(s): s.t=torch.zeros(2)\n    def up(s): s.t+=1\n    def up2(s): s.t=s.t+1\n    def at(s): return s.t.sum().item()\n",
        "import torch\nfrom torch import nn\na=A()\nassert a.t.tolist()==[0,0]\na.up()\nassert a.t.tolist()==[1,1]\na.up2()\nassert a.t.tolist()==[2,2]\na.t.add_(5)\nassert a.at()==14\na.t=torch.ones(2)\nassert a.at()==2",
    ),
    "a gradient that is wanted later": (
        "import torch\nfrom torch import nn\nclass A:\n    def __init__(s): s.t=torch.ones(2)\n    def on(s): s.t.requires_grad_()\n",
        "import torch\nfrom torch import nn\na=A()\nassert not a.t.requires_grad\na.on()\nassert a.t.requires_grad",
    ),
}
"""Solution and test; each test passes in one process."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return a sandbox with torch."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("torch",), tests=True))


def judged(sandbox: Sandbox, source: str, test: str) -> CellOutcome:
    """Return the outcome of the test in its own box."""
    return run_cell_tests(sandbox, [source], {"t": CellTest("t", test)})["t"]


@pytest.mark.parametrize("case", CHANGING)
def test_attributes_are_what_they_are_by_then(sandbox: Sandbox, case: str) -> None:
    """Attributes have their current value as in one process, and a test of another value fails."""
    source, test = CHANGING[case]
    names: dict[str, object] = {"__name__": "__main__"}
    exec(source, names)
    exec(test, names)
    outcome = judged(sandbox, source, test)
    assert (True, "") == (outcome.passed, outcome.doubt), outcome
    lines = test.split("\n")
    at = max(number for number, line in enumerate(lines) if line.lstrip().startswith("assert"))
    head, _, claimed = lines[at].partition("assert ")
    lines[at] = f"{head}assert not ({claimed})"
    assert "AssertionError" == judged(sandbox, source, "\n".join(lines)).error
