"""docs/checks.md: its example works, and its table contains every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder import checking
from autograder.checking.__main__ import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "checks.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
WRONG_SOFTMAX = "def softmax_backward(s, g):\n    p = s.softmax(-1)\n    return p * g * (1 - p)\n"
WRONG_SCORES = "def attention_scores(q, k):\n    return q @ k.mT\n"


@pytest.mark.parametrize(
    ("page", "wrong", "mutant"),
    [(PAGE, WRONG_SOFTMAX, "diagonal only"), (README, WRONG_SCORES, "unscaled")],
    ids=["checks", "readme"],
)
def test_example_grades_its_solution_and_names_the_mutant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], page: str, wrong: str, mutant: str
) -> None:
    """The checks and mutants of the page give the stated results."""
    path = tmp_path / "reference" / "checks" / "example.py"
    path.parent.mkdir(parents=True)
    path.write_text("".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)), "utf-8")
    assert 0 == main([str(path)]), capsys.readouterr()
    (tmp_path / "mine.py").write_text(wrong)
    capsys.readouterr()
    assert 1 == main([str(path), str(tmp_path / "mine.py")])
    assert f"= {mutant}" in capsys.readouterr().out


def test_the_table_has_every_name() -> None:
    """The table lists decorators with their sign."""
    table = PAGE.partition("## All names")[2]
    named = {name for name in checking.__all__ if f"{name}(" in table or f"@{name}`" in table}
    assert named == set(checking.__all__)
