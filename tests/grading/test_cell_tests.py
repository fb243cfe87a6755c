"""Test the line that is inserted at the beginning of each code cell."""

from __future__ import annotations

from autograder.core.records import Cell, Markdown
from autograder.grading.cell_tests import with_start_line


def test_a_line_begins_each_code_cell() -> None:
    """Empty cells and cell magics get no line, and the submitted cells stay unchanged."""
    cells = [Cell("x = 1"), Markdown("words"), Cell("%%time\ny = 2"), Cell(" ")]
    started = with_start_line(cells, "seed = 3")
    assert [cell.source for cell in started] == ["seed = 3\nx = 1", "words", "%%time\ny = 2", " "]
    assert cells[0].source == "x = 1"
    assert with_start_line(cells, "") == cells
