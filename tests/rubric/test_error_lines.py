"""Test that every key of a rubric has its line, and every error leads to one by its keys."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import rubric as rubrics
from autograder.core.errors import Place, RubricError
from autograder.rubric.error_lines import _Lines, find_line, locate_errors

ROOT = Path(__file__).parents[2]
RUBRICS = sorted((ROOT / "rubrics").glob("*.toml"))
ODD = Path(__file__).with_name("odd.toml").read_text("utf-8")
BASE = """\
version = 1
[assignment]
name = "x"
points = 2
[[question]]
id = "a"
kind = "number"
points = 2
answer = "n"
[[question.item]]
id = "i"
points = 2
text = { en = "t" }
value = 3
"""


def paths(tree: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield every key and every entry of a tree."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield (*above, key)
        yield from paths(value, (*above, key))


@pytest.mark.parametrize(
    "text", [*(path.read_text("utf-8") for path in RUBRICS), ODD, ODD.replace("\n", "\r\n")]
)
def test_every_key_has_its_line(text: str) -> None:
    """Headers, dotted and quoted keys, lists and inline tables: the reported line contains the key."""
    found = _Lines(text).lines
    written = text.split("\n")
    assert set(paths(tomllib.loads(text))) == set(found)
    keys = [(path[-1], line) for path, line in found.items() if isinstance(path[-1], str)]
    assert [] == [(key, line) for key, line in keys if str(key) not in written[line - 1]]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("version",), 2),
        (("quoted key", "in two", "ways"), 4),
        (("more",), 8),
        (("rows", 1, "cells", 1), 12),
        (("rows", "b", "points"), 11),
        (("rows", 2), 13),
        (("question", "two", "item", "first"), 29),
        (("question", 0, "item", 0, "examples", "full"), 23),
        (("question", "one", "item", "a name", "name", "de"), 26),
        (("question", "one", "item", "2"), 24),
        (("question", "one", "item", "third", "points"), 18),
        (("question", "one", "answer"), 18),
        (("question", "three"), None),
        (("nothing",), None),
    ],
)
def test_a_path_ends_where_the_file_does(path: tuple[str | int, ...], line: int | None) -> None:
    """A missing key has the line of its table, and a missing entry the line of its list's owner."""
    assert line == find_line(ODD, path)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("version = 1", "version = 0", ("version",)),
        ('name = "x"', 'nmae = "x"', ("assignment", "nmae")),
        ('name = "x"\n', "", ("assignment", "name")),
        ("points = 2\n[[q", "points = 3\n[[q", ("assignment", "points")),
        ('id = "a"', 'id = "a b"', ("question", 0, "id")),
        ("points = 2\nanswer", "points = 5\nanswer", ("question", 0, "points")),
        ('answer = "n"', "answer = 7", ("question", 0, "answer")),
        ("text = { en", "text = { en = 7, de", ("question", 0, "item", 0, "text", "en")),
        ('id = "i"', 'id = "i"\nneeds = ["j"]', ("question", 0, "item", 0, "needs")),
    ],
)
def test_an_error_carries_the_keys_of_its_place(
    tmp_path: Path, old: str, new: str, path: tuple[str | int, ...]
) -> None:
    """The keys of an error lead to the wrong line, or to the table that lacks a key."""
    assert BASE.count(old) == 1
    file = tmp_path / "x.toml"
    file.write_text(BASE.replace(old, new), "utf-8")
    with pytest.raises(RubricError) as caught:
        rubrics.load_rubric(file)
    assert path[: len(caught.value.path)] == caught.value.path or path == caught.value.path[: len(path)]
    line = find_line(file.read_text("utf-8"), path)
    assert str(caught.value).startswith(f"{file}, line {line}: ")


def test_words_do_not_decide_about_the_line(tmp_path: Path) -> None:
    """The line follows from the keys of the error, not from its text."""
    file = tmp_path / "x.toml"
    file.write_text(BASE, "utf-8")
    with pytest.raises(RubricError, match="line 8: question 'z': points: no good"), locate_errors(file):
        raise RubricError("no good", Place("question 'z'", "question", "a"), "points")
    with pytest.raises(RubricError, match=r"x\.toml: question 'a': points: no good"), locate_errors(file):
        raise RubricError("question 'a': points: no good")
