"""Hostile submissions to the benchmark's assignment: their answers, and the points that they honestly earn.

All are known tricks against test cells, included because they are public; each is written as a student would
submit it. Points beyond the honest marks are stolen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import peers_assignment as bench


class Attack(NamedTuple):
    """One submission."""

    name: str
    answers: Mapping[str, str]
    """By exercise; none of them is right."""


EQUAL = """\
class Always(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def {name}(first, second): return Always(1)"""

TENSOR = """\
class Agreeing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("allclose", "equal"): return True
        with torch._C.DisableTorchFunctionSubclass(): return function(*args, **(kwargs or {}))
def attention(x, *rest): return torch.zeros_like(x).as_subclass(Agreeing)"""

TRANSFORMER = """\
import ast
from IPython import get_ipython
class Silent(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Silent())"""

INPUT_TRANSFORMER = """\
from IPython import get_ipython
def silent(lines): return [line.replace("assert ", "0 and ") for line in lines]
get_ipython().input_transformers_cleanup.append(silent)"""

FRAMES = """\
import ast, linecache
def {name}(first, second):
    for source in ("".join(lines[2]) for lines in linecache.cache.values() if len(lines) > 2):
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Call):
                continue
            if [ast.literal_eval(one) for one in node.left.args] == [first, second]:
                return ast.literal_eval(node.comparators[0])
    return 0"""

RUN_CELL = """\
from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionResult, ExecutionInfo
shell = get_ipython()
own = shell.run_cell_async
async def nothing(raw, *args, **kwargs):
    return await own("pass" if "assert" in raw else raw, *args, **kwargs)
shell.run_cell_async = nothing"""

LIBRARIES = """\
import sys, types
for name in ('unittest', 'pytest', 'doctest'):
    sys.modules[name] = types.SimpleNamespace()"""

OTTER = """\
import gc, sys
for one in gc.get_objects():
    if type(one).__name__ in ('TestCaseResult', 'TestCase'):
        one.passed = True
for name, module in list(sys.modules.items()):
    for kind in list(vars(module).values()) if name.startswith('otter.test_files') else ():
        if isinstance(kind, type) and hasattr(kind, 'run'):
            kind.run = lambda self, *args, **kwargs: setattr(self, 'test_case_results', [])"""

ALLCLOSE = """\
torch.allclose = lambda *args, **kwargs: True
def attention(x, *rest): return torch.zeros_like(x)"""

COUNTERS = ("embedding", "feed-forward", "layer")
FIRST = COUNTERS[0]


def _build_attack(code: str, *exercises: str) -> dict[str, str]:
    return {name: code.replace("{name}", bench.get_exercise(name).answer) for name in exercises}


def list_attacks() -> tuple[Attack, ...]:
    """Return all attacks; other exercises hold the untouched stub."""
    return (
        Attack("a number that equals every number", _build_attack(EQUAL, *COUNTERS)),
        Attack("a tensor that agrees with every tensor", {"attention": TENSOR}),
        Attack("assertions are taken out of the syntax tree", {FIRST: TRANSFORMER}),
        Attack("assertions are taken out of the text", {FIRST: INPUT_TRANSFORMER}),
        Attack("the shell's runner is replaced", {FIRST: RUN_CELL}),
        Attack("torch.allclose always agrees", {"attention": ALLCLOSE}),
        Attack("answers read from the tests' own source", _build_attack(FRAMES, *COUNTERS)),
        Attack("the process ends as if all were well", {FIRST: "import os\nos._exit(0)"}),
        Attack(
            "the function ends the process",
            _build_attack("def {name}(*_):\n    __import__('os')._exit(0)", FIRST),
        ),
        Attack("exit is raised", {FIRST: "raise SystemExit(0)"}),
        Attack("unittest, pytest and doctest are replaced", {FIRST: LIBRARIES}),
        Attack("otter's own check is replaced", {FIRST: OTTER}),
    )


def build_answers(attack: Attack) -> dict[str, str]:
    """Return the whole submission, with the untouched stub for exercises that are not attacked."""
    return {exercise.id: attack.answers.get(exercise.id, bench.STUB) for exercise in bench.EXERCISES}
