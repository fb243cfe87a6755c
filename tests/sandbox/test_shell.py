"""The notebook shell in a box: its shortcuts change nothing, and broken shells are reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async

from autograder.core.records import CellRun
from autograder.sandbox.inside.shell import NotebookShell
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from tests.sandbox.contract import LIMITS

LINES = ("x = 1", "await f()", "async def f(): pass", "# await", "return 1", "def f(:", "s = '''", "'''", "")


@given(st.lists(st.sampled_from(LINES), max_size=6).map("\n".join))
def test_a_cell_without_await_is_not_asynchronous(cell: str) -> None:
    """Nothing is compiled to find out, and no asynchronous cell is missed."""
    shell = NotebookShell.__new__(NotebookShell)
    assert _should_be_async(cell) == shell.should_run_async(cell, transformed_cell=cell)


def runs(sandbox: NamespaceSandbox, cells: Sequence[str]) -> list[CellRun]:
    """Return the runs of cells in one box."""
    box = sandbox.open(LIMITS)
    try:
        return [box.run_cell(cell, seconds=5) for cell in cells]
    finally:
        box.close()


@pytest.mark.sandbox
def test_the_excerpt_of_a_function_of_one_line_is_no_chance(plain_sandbox: NamespaceSandbox) -> None:
    """The excerpt always shows the function, wherever its statements are in memory."""
    cells = [text for at in range(60) for text in (f"x = {at}\ndef f(): raise ValueError(x)", "f()")]
    shown = [run.outputs[0].data["text/plain"] for run in runs(plain_sandbox, cells)[1::2]]
    assert all("----> 2 def f(): raise ValueError(x)" in text for text in shown)
    assert not any("1 x =" in text for text in shown)


@pytest.mark.sandbox
def test_a_shell_that_a_cell_has_broken_gives_errors(plain_sandbox: NamespaceSandbox) -> None:
    """The error contains nothing about our own code."""
    _, run = runs(plain_sandbox, ["get_ipython().compile.cache = None", "x = 1"])
    assert "TypeError" == run.error
    assert "shell.py" not in run.outputs[0].data["text/plain"]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["showtraceback", "_showtraceback"])
def test_a_shell_that_can_show_no_error_goes_on(plain_sandbox: NamespaceSandbox, name: str) -> None:
    """The error is reported, if not displayed, and the next cell runs."""
    _, failed, last = runs(plain_sandbox, [f"get_ipython().{name} = None", "1/0", "x = 1"])
    assert "TypeError" == failed.error
    assert ("", ()) == (last.error, last.outputs)


@pytest.mark.sandbox
def test_an_error_without_a_text_is_shown_once(plain_sandbox: NamespaceSandbox) -> None:
    """An exception whose text raises another one is still reported by its own class."""
    odd = "class Odd(Exception):\n    def __str__(self): raise TypeError('no')\nraise Odd"
    (run,) = runs(plain_sandbox, [odd])
    assert ("Odd", 1) == (run.error, len(run.outputs))
