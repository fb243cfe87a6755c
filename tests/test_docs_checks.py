"""The page about checks in Python: its example works, and its table has every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder import checking
from autograder.checking.__main__ import main

PAGE = (Path(__file__).parents[1] / "docs" / "checks.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_example_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The checks and the mutant of the page, as the page runs them; the mutant is named."""
    path = tmp_path / "reference" / "checks" / "softmax.py"
    path.parent.mkdir(parents=True)
    path.write_text("".join(BLOCKS), "utf-8")
    assert 0 == main([str(path)]), capsys.readouterr()
    (tmp_path / "mine.py").write_text(
        "def softmax_backward(s, g):\n    p = s.softmax(-1)\n    return p * g * (1 - p)\n"
    )
    capsys.readouterr()
    assert 1 == main([str(path), str(tmp_path / "mine.py")])
    assert "= diagonal only" in capsys.readouterr().out


def test_the_table_has_every_name() -> None:
    table = PAGE.partition("## All names")[2]
    assert {name for name in checking.__all__ if f"{name}(" not in table} == set()
