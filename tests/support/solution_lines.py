"""The lines withheld from a source, and those found in a release: stricter than `leaks`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autograder.notebook.document import join_source, load_tree
from autograder.notebook.markers import STUB_LINES, split_regions
from autograder.notebook.release import load_release

_SHORTEST_LINE = 6
"""Characters; shorter lines such as ``pass`` or ``x = 1`` are not evidence."""


def solution_fragments(source: bytes) -> tuple[str, ...]:
    """Return the lines of a source notebook that students must not see, stripped and without duplicates.

    Trivial lines and lines that also occur in a visible part of the notebook are omitted.

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
    """Return the fragments found in cells and attachments of a released notebook.

    Raises:
        NotebookError: the release is not a notebook.
    """
    text = "\n".join(_texts([(cell.get("source"), cell.get("attachments")) for cell in _cells(released)]))
    return tuple(fragment for fragment in fragments if fragment in text)


def _cells(released: bytes) -> list[dict[str, Any]]:
    return [cell for cell in load_tree(released, []).get("cells", []) if isinstance(cell, dict)]


def _texts(tree: Any) -> Iterator[str]:
    """Yield every string of a JSON tree, and a source's list of lines as one string."""
    if (whole := join_source(tree)) is not None:
        yield whole
    elif isinstance(tree, (list, tuple)):
        for entry in tree:
            yield from _texts(entry)
    elif isinstance(tree, dict):
        yield from tree
        yield from _texts(list(tree.values()))
