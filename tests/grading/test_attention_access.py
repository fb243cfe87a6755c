"""Test which answers provably cannot reach forbidden functions."""

from __future__ import annotations

import contextlib
import importlib
import types
import warnings

import pytest
import torch

from autograder.grading import attention_access
from autograder.grading.attention_access import is_unreachable
from tests.checking.attention_classes import OWN, RIGHT

NAMES = ("MultiheadAttention", "scaled_dot_product_attention", "flex_attention")
IMPORTS = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
CLASS = "class A(nn.Module):\n    def forward(self, q, k, v):\n        return {}\n"
TRICKS = {
    "the function": IMPORTS + CLASS.format("F.scaled_dot_product_attention(q, k, v)"),
    "the class": IMPORTS + CLASS.format("nn.MultiheadAttention(8, 2)(q, k, v)"),
    "a layer that has attention": IMPORTS + CLASS.format("nn.TransformerEncoderLayer(8, 2)(q)"),
    "a module as a value": IMPORTS + "f = F\n" + CLASS.format("f.softmax(q, -1)"),
    "a module as an argument": IMPORTS + "def g(self): return self.softmax\n" + CLASS.format("g(F)"),
    "a module below another": IMPORTS + CLASS.format("torch.nn.functional"),
    "a name that is computed": IMPORTS + CLASS.format("getattr(F, 'scaled' + '_dot')(q, k, v)"),
    "attrgetter": "from operator import attrgetter\n" + IMPORTS + CLASS.format("attrgetter('softmax')(F)(q)"),
    "locate": "import pydoc\n" + IMPORTS + CLASS.format("pydoc.locate('torch.nn.functional')"),
    "make_fx": "from torch.fx.experimental.proxy_tensor import make_fx\n" + IMPORTS,
    "importlib": "import importlib\n",
    "import as a function": CLASS.format("__import__('torch')"),
    "eval": IMPORTS + CLASS.format("eval('F')"),
    "a builtin under its own name": IMPORTS + "if False: getattr = 1\n" + CLASS.format("getattr(F, 'x')"),
    "everything from a module": "from torch.nn.functional import *\n",
    "ops": IMPORTS + CLASS.format("torch.ops.aten.bmm(q, k)"),
    "private parts": IMPORTS + CLASS.format("torch._C._nn.linear(q, k)"),
    "globals of a function": IMPORTS + CLASS.format("self.forward.__globals__['F']"),
    "a builtin's module": IMPORTS + CLASS.format("torch.matmul.__self__"),
    "a frame": IMPORTS + "class B:\n    gi_frame = 1\n" + CLASS.format("(x for x in q).gi_frame"),
    "an attribute that is set to excuse it": IMPORTS
    + "class B:\n    def __init__(self): self.scaled_dot_product_attention = 1\n"
    + CLASS.format("self.scaled_dot_product_attention(q, k, v)"),
    "a hook for attributes": IMPORTS + "class B:\n    def __getattr__(self, name): return name\n",
    "a shell line": "!pip install x\n" + IMPORTS,
    "a notebook's own function": IMPORTS + "get_ipython().run_line_magic('x', 'y')\n",
    "a match": IMPORTS + "match math:\n    case object(sqrt=f): pass\n",
    "a given name that nobody knows": IMPORTS + "helper(1)\n",
    "what an exception tells": IMPORTS + "try: torch.in_features\nexcept AttributeError as e: f = e.obj\n",
    "an attribute of an array": IMPORTS + "a = torch.ones(1).numpy().ctypes._ctypes\n",
    "a module's own module": IMPORTS
    + "class B:\n    def __init__(self): self._os = self.sys = 1\n"
    + CLASS.format("q._os.sys"),
    "all modules": IMPORTS
    + "class B:\n    def __init__(self): self.modules = 1\n"
    + CLASS.format("q.modules"),
    "a field of a text": IMPORTS
    + "class B:\n    get_field = 1\n"
    + CLASS.format("q.get_field('0.x', (), {})"),
    "what was displayed": IMPORTS + "if False: Out = 1\n" + CLASS.format("Out[1]"),
    "what was entered": IMPORTS + "if False: _i1 = 1\n" + CLASS.format("_i1"),
    "the last value": IMPORTS + "for _ in []: pass\n" + CLASS.format("_(q, k, v)"),
    "two modules of one name": IMPORTS + "import math as F\n" + CLASS.format("F.sqrt(q)"),
    "a name that is deleted": IMPORTS + "len = 1\ndel len\n",
}


FURTHER = {"a module for the product, under a forbidden name", "split and merged by numpy"}
"""Right answers that may reach forbidden functions, so that their check runs again."""


@pytest.mark.parametrize("name", sorted({*RIGHT, *OWN} - FURTHER))
def test_usual_styles_need_no_further_box(name: str) -> None:
    assert is_unreachable(NAMES, [IMPORTS, ({**RIGHT, **OWN}[name]).source], [])


@pytest.mark.parametrize("source", TRICKS.values(), ids=TRICKS)
def test_what_could_reach_anything_is_not_known(source: str) -> None:
    assert not is_unreachable(NAMES, [source], [])


def test_given_cells_bring_their_imports_and_no_other_name() -> None:
    given_source = IMPORTS + "from coursecheck import check\n"
    answer = CLASS.format("(q @ k.mT).softmax(-1) @ v")
    assert is_unreachable(NAMES, [given_source, answer, 'check("a")'], [given_source, 'check("a")'])
    assert not is_unreachable(NAMES, [given_source, answer, 'check("b")'], [given_source, 'check("a")'])
    assert not is_unreachable(NAMES, [given_source, answer], [])


GIVEN = {
    "a module": "import random",
    "a module under another name": "import numpy as helper",
    "a function": "from torch.nn.functional import scaled_dot_product_attention as helper",
    "a function of its own": "def helper(*x):\n    return F.scaled_dot_product_attention(*x)",
    "a value": "helper = F.scaled_dot_product_attention",
    "a value in a loop": "for helper in [F]:\n    pass",
    "a global": "def bind():\n    global helper\n    helper = F",
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("name", ["helper", "random"])
def test_a_name_of_a_given_cell_is_not_known_by_a_parameter_of_the_same_name(given: str, name: str) -> None:
    answer = f"def own({name}):\n    return 1\n" + CLASS.format(f"{name}(q, k, v)")
    given = IMPORTS + given
    assert is_unreachable(NAMES, [given, answer], [given]) is (name not in given)


def test_names_within_a_given_function_are_not_those_of_the_notebook() -> None:
    given_source = IMPORTS + "def shown(q, k):\n    v = q @ k\n    return v\n"
    assert is_unreachable(NAMES, [given_source, CLASS.format("(q @ k.mT).softmax(-1) @ v")], [given_source])


def test_other_names_are_not_known() -> None:
    assert not is_unreachable(("softmax",), [CLASS.format("q")], [])


def _is_module(value: object) -> bool:
    return isinstance(value, types.ModuleType)


@pytest.mark.parametrize("module", attention_access._MODULES)
def test_what_may_be_used_of_a_module_is_no_module(module: str) -> None:
    """The allowed names of a module are not modules, and have no module among their allowed attributes."""
    imported = importlib.import_module(module)
    values = {
        name: getattr(imported, name) for name in attention_access._MODULES[module] if hasattr(imported, name)
    }
    assert not [name for name, value in values.items() if _is_module(value)]
    assert not [
        (name, part)
        for name, value in values.items()
        for part in attention_access._METHODS
        if _is_module(getattr(value, part, None))
    ]


def _attributes(value: object) -> dict[str, object]:
    found = {}
    for name in dir(value):
        if name not in attention_access._METHODS and not attention_access._is_own_attribute(name):
            continue
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = getattr(value, name)
    return found


VALUES: dict[str, object] = {
    "tensor": torch.ones(2, 2),
    "layer": torch.nn.Linear(2, 2),
    "result": torch.ones(2, requires_grad=True) * 2,
    "function": test_other_names_are_not_known,
    "exception": ValueError("x"),
    "generator": (one for one in "x"),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_no_attribute_of_a_value_is_a_module(value: object) -> None:
    """No attribute of a value is a module, and none of its attributes are."""
    attributes = _attributes(value)
    assert not [name for name, attribute in attributes.items() if _is_module(attribute)]
    assert not [
        (name, part)
        for name, attribute in attributes.items()
        for part in map(_is_module, _attributes(attribute).values())
        if part
    ]
