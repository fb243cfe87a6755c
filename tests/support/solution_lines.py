"""The lines that a source withholds, one by one, and those of them in a release: stricter than `leaks`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autograder.notebook.document import join_source, load_tree
from autograder.notebook.markers import STUB_LINES, split_regions
from autograder.notebook.release import load_release

_SHORTEST_LINE = 6
"""Characters; shorter lines such as ``pass`` or ``x = 1`` prove nothing when they are found."""


def solution_fragments(source: bytes) -> tuple[str, ...]:
    """The lines of a source notebook that no student may see, stripped, each once.

    Trivial lines and lines that stand in a visible part of the notebook as well are left out.

    Args:
        source: the bytes of the source notebook.

    Raises:
        CourseError: it is not a notebook, or its metadata is not usable.
        NotebookError: ``bad-markers``.
    """
    visible: list[str] = []
    withheld: list[str] = []
    for cell in load_release(source, "source").cells:
        parts = split_regions(cell.source, f"cell {cell.number}")
        whole = cell.is_answer and "SOLUTION" not in parts.regions
        visible += () if whole else parts.kept
        withheld += (*parts.kept, *parts.withheld) if whole else parts.withheld
    shown = "\n".join(visible)
    lines = dict.fromkeys(line.strip() for line in withheld)
    return tuple(
        line for line in lines if len(line) >= _SHORTEST_LINE and line not in shown and line not in STUB_LINES
    )


def leaked(fragments: Sequence[str], released: bytes) -> tuple[str, ...]:
    """The fragments found in what a released notebook took over from its source: cells and attachments.

    Raises:
        NotebookError: the release is not a notebook.
    """
    text = "\n".join(_texts([(cell.get("source"), cell.get("attachments")) for cell in _cells(released)]))
    return tuple(fragment for fragment in fragments if fragment in text)


def _cells(released: bytes) -> list[dict[str, Any]]:
    return [cell for cell in load_tree(released, []).get("cells", []) if isinstance(cell, dict)]


def _texts(tree: Any) -> Iterator[str]:
    """Every string of a JSON tree; a source's list of lines as one."""
    if (whole := join_source(tree)) is not None:
        yield whole
    elif isinstance(tree, (list, tuple)):
        for entry in tree:
            yield from _texts(entry)
    elif isinstance(tree, dict):
        yield from tree
        yield from _texts(list(tree.values()))
