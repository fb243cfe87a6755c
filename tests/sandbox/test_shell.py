"""Short cuts of the shell in a box: what they skip would have changed nothing."""

from __future__ import annotations
import __future__

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async
from IPython.core.compilerop import CachingCompiler
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

from autograder.sandbox.inside.shell import NotebookShell, PlainPythonTransformer, ThriftyCompiler
from tests.cli.running import ROOT

LINES = (
    "x = 1",
    "%time x",
    "x = %who",
    "files = !ls",
    "!ls",
    "x?",
    "?x",
    "%%capture",
    "In [1]: x",
    ">>> x",
    "... y",
    "s = '''",
    "%magic in a text",
    "'''",
    "y = (1",
    "% 2)",
    "if x:",
    "    %matplotlib inline",
    "    pass",
    "z = 'a\\d'",
    "",
    "   ",
    "await f()",
    "async def f(): pass",
    "return 1",
    "def f(:",
    "x = 1 # %who",
    "/f x",
    ",f x",
    ";f x",
    "b = a \\",
    "%c",
    "w = 'a\\n\\\\d\\t'",
    "v = r'\\d'",
    "s = '''\\",
    "u = b'\\x41' + b'\\u0041'",
    "t = '\\",
    "%x'",
)
CELLS = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)


@given(CELLS)
def test_a_cell_becomes_what_ipython_makes_of_it(cell: str) -> None:
    """Plain Python is left alone, as IPython leaves it; everything else goes through IPython."""
    assert TransformerManager().transform_cell(cell) == PlainPythonTransformer().transform_cell(cell)


@given(CELLS)
def test_a_cell_that_was_parsed_is_the_tree_that_ipython_makes(cell: str) -> None:
    """It is parsed once, and the tree, which transformers may change, is given away once."""
    ours, theirs = ThriftyCompiler(), CachingCompiler()
    ours.plain = PlainPythonTransformer()
    text = ours.plain.transform_cell(cell)
    was_parsed = ours.plain._parsed is not None
    try:
        right = ast.dump(theirs.ast_parse(text), include_attributes=True)
    except SyntaxError as error:
        assert not was_parsed
        with pytest.raises(SyntaxError, match=re.escape(str(error.msg))):
            ours.ast_parse(text)
        return
    first = ours.ast_parse(text)
    assert right == ast.dump(first, include_attributes=True)
    assert ours.plain._parsed is None
    assert first is not ours.ast_parse(text)


def test_another_text_or_form_of_the_language_is_parsed_by_itself() -> None:
    """A tree belongs to its text; where a cell has imported from the future, IPython parses all others."""
    compiler = ThriftyCompiler()
    compiler.plain = PlainPythonTransformer()
    text = compiler.plain.transform_cell("a <> b") + compiler.plain.transform_cell("x = 1")
    with pytest.raises(SyntaxError):
        compiler.ast_parse(text)
    compiler.flags |= __future__.barry_as_FLUFL.compiler_flag
    assert compiler.plain.transform_cell("a != b")
    with pytest.raises(SyntaxError):
        compiler.ast_parse("a != b\n")


def test_what_student_code_registered_is_asked() -> None:
    """A transformer of the student's own sees plain Python too."""
    manager = PlainPythonTransformer()
    asked: list[object] = []

    class Own:
        @classmethod
        def find(cls, tokens: object) -> None:
            asked.append(tokens)

    manager.token_transformers.append(Own)
    assert "x = 1\n" == manager.transform_cell("x = 1")
    assert asked


@given(CELLS)
def test_a_cell_without_await_is_not_asynchronous(cell: str) -> None:
    """Nothing is compiled to find out, and nothing is overlooked."""
    shell = NotebookShell.__new__(NotebookShell)
    found = shell.should_run_async(cell, transformed_cell=cell)
    assert _should_be_async(cell) == found


SEQUENCES = (
    ("x = 1", "x", "x;", "_ + 1", "print(_i, In[-2], _i1)"),
    ("a = 257\nb = 257\nprint(a is b)", "'text'", "'first'\n'second'\nx = 1", "print(__doc__)"),
    ("x = 1\n1 / 0\nx = 2", "x", "print(x)\nraise SystemExit(3)", "exit()", "exit", "x"),
    ("def f(:", "x = 1\nreturn x\ny = 2", "x", "if x:\n    z = 3\nz", "  indented = 1"),
    ("from __future__ import annotations\ndef f(a: nowhere): pass", "f.__annotations__", "n: nowhere = 1"),
    ("x = 5", "%time x", "!ls", "files = !ls", "x?", "%%time\nx", "time = 1", "time", "ls", "x"),
    ("await f()", "async def f(): return 3", "await f()", "f", "# await\n4"),
    ("In [1]: x = 1", "x", "y = 2\n...\nz = 3", "z", ">>> w = 4", "w", "\n\n  \nlate = 1\nlate"),
    ("import warnings\nwarnings.warn('once')", "import warnings\nwarnings.warn('once')"),
    ("get_ipython().events.register('post_execute', lambda: print('after'))", "x = 1", "x"),
    ("get_ipython().events.register('pre_run_cell', lambda info: print(info.raw_cell))", "x = 1", "x"),
    ("get_ipython().events.register('post_run_cell', lambda found: print(found.result))", "7", "x = 1"),
    ("import ast\nget_ipython().ast_transformers.append(ast.NodeTransformer())", "x = 1", "x"),
    ("get_ipython().input_transformers_post.append(lambda lines: ['y = 1\\n'])", "x = 1", "y", "x"),
    ("get_ipython().ast_node_interactivity = 'all'", "1\n2", "x = 3\nx\nx"),
    ("get_ipython().run_cell('inner = 1')\ninner", "get_ipython().execution_count", "inner"),
    ("class A:\n    def f(self):\n        return 1", "import inspect\nprint(inspect.getsource(A.f))"),
    ("def f():\n    raise ValueError('in')", "f()", "%tb", "try:\n    f()\nexcept ValueError as e: print(e)"),
    ("def f(n): return f(n + 1)", "try:\n    f(0)\nexcept RecursionError:\n    print('deep')"),
    ("raise KeyboardInterrupt", "raise BaseException('own')", "import bdb\nraise bdb.BdbQuit", "x = 1"),
    ("from IPython.display import display\ndisplay(1)\n2", "import sys\nsys.displayhook(3)", "None", "[]"),
    ("x: int = 1", "__annotations__", "x == 1", "x, y = 1, 2", "{'a': 1}['a']", "del x", "x"),
    ("class Odd:\n    def __repr__(self): raise TypeError('no')", "[Odd()]", "Odd()"),
    ("print('a\\n\\tb')", "r'\\d'", "'\\d'", "'\\\\d'", "x = 1 + \\\n    1\nx", "b'\\u0041'", "'\\400'"),
    ("import logging\nlogging.warning('w')", "'\\d'", "x = '\\d'", "assert 1 == 2, 'why'", "é = 1", "é"),
    (
        "# only a comment",
        "pass",
        "'''\nlong\n'''",
        "x = 1; y = 2",
        "x; y",
        "1;2",
        "if 1: 3",
        "for i in [1]: i",
    ),
    ("%config InteractiveShell.ast_node_interactivity = 'none'", "5", "%logstart -q log.txt", "x = 1", "6"),
    ("x = 1", "x = x + 1\nget_ipython().events = None", "x = 3"),
    ("x = 1", "get_ipython().logger = None", "x = x + 1", "x"),
    ("x = 1", "x = x + 1\nget_ipython().events.callbacks.clear()", "x = 3", "x"),
    ("In = None", "x = 1", "x", "_ih", "globals()['_oh']", "_", "__", "_i"),
    ("import builtins\nbuiltins.own = 1", "own", "get_ipython", "quit", "print('a', end='')", "print('b')"),
    ("get_ipython().set_custom_exc((ValueError,), lambda *a, **k: print('mine'))", "int('x')", "1/0"),
    ("raise ExceptionGroup('g', [ValueError(1)])", "raise ValueError from KeyError(1)", "x"),
    ("%autocall 1", "abs 1", "x = 1", "x"),
    (
        "seen = []\ndef look(lines):\n    seen.append(lines)\n    return lines",
        "get_ipython().input_transformers_cleanup.append(look)",
        "x = 1",
        "%time x",
        "len(seen)",
    ),
    ("'-' * 3", "-" * 3000 + "1", "x = 1"),
    ("1or 2", "0x1for x in [1]", "[0x1for x in [1]]", "conv2d = 1", "1 if 1else 2"),
    ("get_ipython().run_cell('1 + 1', True, True)", "get_ipython().run_cell('2', True, False, False)"),
    ("def g():\n    yield 1\nlist(g())", "print(*[i for i in range(3)])", "{i: i for i in (1,)}"),
)
"""Cells that follow one another, as far as they could tell IPython's way from ours."""


def both_ways(sequences: Sequence[Sequence[str]], home: Path) -> Any:
    """What is seen of each sequence by our way and by IPython's."""
    program = [sys.executable, "-m", "tests.sandbox.shell_ways"]
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    given = json.dumps(sequences)
    told = subprocess.run(
        program, input=given, capture_output=True, text=True, env=environment, cwd=home, check=True
    )
    return json.loads(told.stdout)


def test_the_short_way_is_ipythons(tmp_path: Path) -> None:
    """Outputs, errors, names, inputs and all that cells can look at are the same; plain cells take it."""
    for cells, (short, whole) in zip(SEQUENCES, both_ways(SEQUENCES, tmp_path), strict=True):
        taken = short.pop("taken"), whole.pop("taken")
        assert whole == short, cells
        assert 0 == taken[1]
    assert len(SEQUENCES[-1]) == taken[0]


def test_the_excerpt_of_a_function_of_one_line_is_no_chance(tmp_path: Path) -> None:
    """It shows the function, wherever its statements lie in memory."""
    cells = [text for at in range(60) for text in (f"x = {at}\ndef f(): raise ValueError(x)", "f()")]
    for way in both_ways([cells], tmp_path)[0]:
        shown = [run[0][0]["data"]["text/plain"] for run in way["runs"][1::2]]
        assert all("----> 2 def f(): raise ValueError(x)" in text for text in shown)
        assert not any("1 x =" in text for text in shown)


def test_a_shell_that_a_cell_has_broken_gives_errors(tmp_path: Path) -> None:
    """By either way, and without a word about our own code."""
    cells = ["get_ipython().compile.cache = None", "x = 1"]
    for way in both_ways([cells], tmp_path)[0]:
        (shown,), errors, *_ = way["runs"][1]
        assert "TypeError" == errors[1] == shown["data"]["name"]
        assert "shell.py" not in shown["data"]["text/plain"]


@pytest.mark.parametrize("name", ["showtraceback", "_showtraceback"])
def test_a_shell_that_can_show_no_error_goes_on(tmp_path: Path, name: str) -> None:
    """The error is told by either way, if not shown, and the next cell runs."""
    cells = [f"get_ipython().{name} = None", "1/0", "x = 1"]
    for way in both_ways([cells], tmp_path)[0]:
        assert ["TypeError"] == [way["runs"][1][1][1]]
        assert [[], ["NoneType", "NoneType"], 3, True] == way["runs"][2]


def test_the_shell_is_ipythons() -> None:
    """Of a newer IPython these are the methods that the short cuts stand in for."""
    assert hasattr(TransformerManager, "do_token_transforms")
    assert hasattr(InteractiveShell, "should_run_async")
