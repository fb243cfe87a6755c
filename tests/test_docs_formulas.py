"""The page about formulas is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.authoring import grammar
from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.parse import parse
from autograder.formulas.printing.text import to_text

PAGE = (Path(__file__).parents[1] / "docs" / "formulas.md").read_text("utf-8")


def rows(section: str) -> list[tuple[str, ...]]:
    """The rows of a section's first table, without its head."""
    table = re.search(rf"^## {section}\n.*?\n\|---.*?\n(.*?)\n\n", PAGE + "\n\n", re.DOTALL | re.MULTILINE)
    assert table is not None
    return [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in table[1].splitlines()]


def test_page_is_current() -> None:
    """docs/formulas.md is what the tables say; regenerate it with ``make docs``."""
    assert grammar.render_page() == PAGE


@pytest.mark.parametrize(("written", "read"), [row for row in rows("Examples") if len(row) == 2])
def test_examples_are_read_as_shown(written: str, read: str) -> None:
    """Every example on the page is read as it says there, and what it says is read back the same."""
    known = grammar.make_vocabulary()
    tree = parse(written.strip("`").replace("\\|", "|"), known)
    assert read.strip("`") == to_text(tree)
    assert tree == parse(read.strip("`"), known)


@pytest.mark.parametrize("text", grammar.REFUSED)
def test_refused_examples_are_refused(text: str) -> None:
    """Every example of an error is one."""
    with pytest.raises(Unreadable):
        parse(text, grammar.make_vocabulary())
