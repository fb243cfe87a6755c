"""Short cuts of the shell in a box: what they skip would have changed nothing."""

from __future__ import annotations
import __future__

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async
from IPython.core.compilerop import CachingCompiler
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

from autograder.sandbox.inside.shell import NotebookShell, PlainPythonFirst, ThriftyCompiler

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
)
CELLS = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)


@given(CELLS)
def test_a_cell_becomes_what_ipython_makes_of_it(cell: str) -> None:
    """Plain Python is left alone, as IPython leaves it; everything else goes through IPython."""
    assert TransformerManager().transform_cell(cell) == PlainPythonFirst().transform_cell(cell)


@given(CELLS)
def test_a_cell_that_was_parsed_is_the_tree_that_ipython_makes(cell: str) -> None:
    """It is parsed once, and the tree, which transformers may change, is given away once."""
    ours, theirs = ThriftyCompiler(), CachingCompiler()
    ours.plain = PlainPythonFirst()
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
    compiler.plain = PlainPythonFirst()
    text = compiler.plain.transform_cell("a <> b") + compiler.plain.transform_cell("x = 1")
    with pytest.raises(SyntaxError):
        compiler.ast_parse(text)
    compiler.flags |= __future__.barry_as_FLUFL.compiler_flag
    assert compiler.plain.transform_cell("a != b")
    with pytest.raises(SyntaxError):
        compiler.ast_parse("a != b\n")


def test_what_student_code_registered_is_asked() -> None:
    """A transformer of the student's own sees plain Python too."""
    manager = PlainPythonFirst()
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


def test_the_shell_is_ipythons() -> None:
    """Of a newer IPython these are the methods that the short cuts stand in for."""
    assert hasattr(TransformerManager, "do_token_transforms")
    assert hasattr(InteractiveShell, "should_run_async")
