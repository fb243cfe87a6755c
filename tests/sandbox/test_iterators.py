"""Tests that go through what the notebook has: fewer questions, and what they see is what Python shows."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.sandbox.inside import remote
from autograder.sandbox.inside.running import run_code
from autograder.sandbox.inside.warming import run_in_one_process

ANSWERS = """
class Shelf:
    def __init__(self, items):
        self.items = items
    def __iter__(self):
        return iter(self.items)
    def add(self, one):
        self.items.append(one)
class Drawer(Shelf):
    def add(self, one):
        self.items[one] = one
drawn = []
def draw():
    for one in range(3):
        drawn.append(one)
        yield one
def how_many():
    return len(drawn)
class Boxed(list):
    def __getitem__(self, place):
        return "not this"
    def __iter__(self):
        return list.__iter__(self)
"""


def outcome(test: str) -> dict[str, Any]:
    """Of a test on these answers."""
    names: dict[str, Any] = {"__name__": "answers"}
    run_code(ANSWERS, names)
    return run_in_one_process(names, test)


@pytest.mark.parametrize(
    "test",
    [
        "assert list(Shelf([1, 2, 3])) == [1, 2, 3] and list(Shelf(())) == []",
        "shelf = Shelf([1, 2])\nseen = []\n"
        "for one in shelf:\n    seen.append(one)\n    if one == 1: shelf.add(3)\nassert seen == [1, 2, 3]",
        "one, other = iter(Shelf((1, 2))), iter(Shelf((3, 4)))\n"
        "assert [*zip(one, other)] == [(1, 3), (2, 4)] and list(one) == list(other) == []",
        "drawer = Drawer({1: 1, 2: 2})\ntry:\n    for one in drawer: drawer.add(one + 5)\n"
        "except RuntimeError: pass\nelse: assert False, 'a dictionary that grows cannot be gone through'",
        "found = draw()\nassert next(found) == 0 and how_many() == 1 and list(found) == [1, 2]",
        "assert [*iter(Boxed([1, 2]))] == [1, 2]",
        "kept = iter(Shelf([1]))\nassert next(kept) == 1 and next(kept, None) is None\n"
        "shelf = Shelf([1])\nkept = iter(shelf)\nlist(kept)\nshelf.add(2)\nassert list(kept) == []",
        "many = [iter(Shelf([1, 2])) for _ in range(20)]\nassert [next(one) for one in many] == [1] * 20\n"
        "assert [next(one) for one in many] == [2] * 20",
        "assert sum(Shelf([*range(1000)])) == 499500",
        "shelf = Shelf([[1], [2]])\n"
        "for one in shelf:\n    one.append(5)\nassert list(shelf) == [[1, 5], [2, 5]]",
    ],
)
def test_a_test_sees_what_python_shows(test: str) -> None:
    """Also where the notebook's code changes what is gone through."""
    found = outcome(test)
    assert "error" not in found, found
    assert "refused" not in found, found


def test_named_parameters_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parameters themselves, which both sides share."""
    asked: list[str] = []
    do = remote.Remote.do
    monkeypatch.setattr(
        remote.Remote, "do", lambda self, tree, arrays: asked.append(tree[0]) or do(self, tree, arrays)
    )
    names: dict[str, Any] = {"__name__": "answers"}
    run_code(
        "import torch\ndef make():\n    return torch.nn.Sequential(Own(), Own())\n"
        "class Own(torch.nn.Linear):\n    def __init__(self): super().__init__(2, 3)\n",
        names,
    )
    test = "found = dict(make().named_parameters())\nassert len(found) == 4 and found['0.bias'].shape == (3,)"
    assert "error" not in run_in_one_process(names, test)
    assert "next" not in asked


def test_what_a_container_holds_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many values there are."""
    asked: list[str] = []
    do = remote.Remote.do

    def counted(self: remote.Remote, tree: Any, arrays: Any) -> Any:
        asked.append(tree[0])
        return do(self, tree, arrays)

    monkeypatch.setattr(remote.Remote, "do", counted)
    assert "error" not in outcome("assert sum(Shelf([*range(100)])) == 4950")
    assert asked[-2:] == ["call", "iter"]


TORCH = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
class Own(Net):
    def named_parameters(self, *args, **kwargs):
        yield "first", torch.nn.Parameter(torch.ones(3))
        raise ValueError("no more")
def kept(net=Net()):
    return net.kept if hasattr(net, "kept") else net
def keep(net):
    net.kept = net.parameters()
    return net.kept
def left(net):
    return len(list(net.kept))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "test",
    [
        "net = Net()\nassert sum(one.numel() for one in net.parameters()) == 18",
        "import torch\nnet = Net()\nfor one in net.parameters():\n    one.data.zero_()\n"
        "assert all(bool((one == 0).all()) for one in net.parameters())",
        "seen = []\ntry:\n    for one in Own().parameters(): seen.append(one.numel())\n"
        "except ValueError: pass\nelse: assert False\nassert seen == [3]",
        "net = Net()\nfound = keep(net)\nnext(iter(found))\nassert left(net) == 5",
        "net = Net()\nassert [name for name, _ in net.named_children()] == ['layers']\n"
        "assert len([*net.layers]) == 3 and net.layers[0] is [*net.layers][0]",
    ],
)
def test_a_test_goes_through_modules_of_torch(test: str) -> None:
    """Parameters are those that the module has, also where a class has methods of its own."""
    names: dict[str, Any] = {"__name__": "answers"}
    run_code(TORCH, names)
    found = run_in_one_process(names, test)
    assert "error" not in found, found
    assert "refused" not in found, found
