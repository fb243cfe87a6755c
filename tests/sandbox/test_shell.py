"""Short cuts of the shell in a box: what they skip would have changed nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

from autograder.sandbox.inside.shell import NotebookShell, PlainPythonFirst

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
