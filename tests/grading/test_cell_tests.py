"""Cells as they run, where a line begins each of them."""

from __future__ import annotations

from autograder.core.records import Cell, Markdown
from autograder.grading.cell_tests import with_start_line


def test_a_line_begins_each_code_cell() -> None:
    """Not an empty one, nor a magic that takes the whole cell; what was handed in stays as it was."""
    cells = [Cell("x = 1"), Markdown("words"), Cell("%%time\ny = 2"), Cell(" ")]
    started = with_start_line(cells, "seed = 3")
    assert [one.source for one in started] == ["seed = 3\nx = 1", "words", "%%time\ny = 2", " "]
    assert cells[0].source == "x = 1"
    assert with_start_line(cells, "") == cells
