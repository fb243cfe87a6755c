"""Source notebook of one variant: drawn values filled in, and the listing with the variant's own faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.notebook.document import join_source, load_tree
from autograder.rubric.variants.expressions import Value, fill_text


class Listing(Struct, frozen=True):
    """Listing that students repair."""

    common: str
    """Its text in the source notebook."""
    personal: str
    """Its text in this variant."""


def fill_notebook(
    source: bytes, values: Mapping[str, Value], name: str, listings: Mapping[str, Listing] | None = None
) -> bytes:
    """Return the source notebook with every placeholder replaced, in code and in text.

    Args:
        source: bytes of the source notebook.
        values: the drawn values.
        name: the notebook's name without suffix, for messages.
        listings: listings to exchange, by the grade_id of their cell.

    Raises:
        RubricError: a placeholder names no drawn value, or is not closed; names the cell.
        NotebookError: it is not a notebook; or ``listing-missing``: a cell does not contain the listing of
            the common variant exactly once.
    """
    tree = load_tree(source, [])
    waiting = dict(listings or {})
    for number, cell in enumerate(tree.get("cells", ()), start=1):
        text = join_source(cell.get("source", "")) if isinstance(cell, dict) else None
        if text is None:
            continue
        grade_id = _read_grade_id(cell)
        place = f"notebook {name!r}, cell {number}" + (f" ({grade_id})" if grade_id else "")
        filled = fill_text(text, values, place)
        if grade_id in waiting:
            filled = _swap_listing(filled, waiting.pop(grade_id), place)
        cell["source"] = filled
    # The first remaining listing has no cell.
    for grade_id in waiting:
        raise NotebookError(
            "listing-missing", f"notebook {name!r}: there is no cell {grade_id!r} to put faults in"
        )
    return json.dumps(tree, ensure_ascii=False).encode()


def label_release(release: bytes, variant: str) -> bytes:
    """Add the name of the variant to a released notebook. It informs people; no decision depends on it."""
    tree = json.loads(release)
    tree["metadata"]["autograder"] = {"variant": variant}
    # Sorted keys: the same release and variant give the same bytes.
    return (json.dumps(tree, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def read_label(notebook: bytes) -> str:
    """Return the variant that a notebook claims to be; empty if it claims none. The claim can be forged."""
    try:
        metadata = load_tree(notebook, []).get("metadata")
    except NotebookError:
        return ""
    ours = metadata.get("autograder") if isinstance(metadata, dict) else None
    variant = ours.get("variant") if isinstance(ours, dict) else None
    return variant if isinstance(variant, str) else ""


def _swap_listing(text: str, listing: Listing, place: str) -> str:
    """Replace the common listing in a cell by that of the variant.

    Raises:
        NotebookError: ``listing-missing``.
    """
    count = text.count(listing.common)
    if count != 1:
        raise NotebookError(
            "listing-missing",
            f"{place}: expected the listing with the common variant's faults once, found it {count} times; "
            "let the checks' listing stand there, or state in the rubric which faults it has",
        )
    return text.replace(listing.common, listing.personal)


def _read_grade_id(cell: Mapping[str, Any]) -> str:
    """Return the grade_id of a cell; empty if it has none."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""
