"""docs/formulas.md matches the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.authoring import formula_tables
from autograder.formulas.notation.parse import parse
from autograder.formulas.printing.text import to_text

PAGE = (Path(__file__).parents[1] / "docs" / "formulas.md").read_text("utf-8")


def rows(section: str) -> list[tuple[str, ...]]:
    """Return the rows of a section's first table, without its head."""
    table = re.search(rf"^## {section}\n.*?\n\|---.*?\n(.*?)\n\n", PAGE + "\n\n", re.DOTALL | re.MULTILINE)
    assert table is not None
    return [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in table[1].splitlines()]


@pytest.mark.parametrize(("written", "read"), [row for row in rows("Examples") if len(row) == 2])
def test_examples_are_read_as_shown(written: str, read: str) -> None:
    """Every example on the page has the stated reading, which parses to the same formula."""
    known = formula_tables.make_vocabulary()
    tree = parse(written.strip("`").replace("\\|", "|"), known)
    assert read.strip("`") == to_text(tree)
    assert tree == parse(read.strip("`"), known)
