"""Upgrade old notebooks and old nbgrader metadata with the code of nbformat and nbgrader.

Both packages take a second or more to import, so this module is imported only for old notebooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import nbformat
from nbgrader.nbgraderformat import MetadataValidator

from autograder.core.errors import NotebookError
from autograder.notebook.document import prune_json

_SOURCE_KEYS = ("source", "input")
_DROPPED_KEYS = ("outputs", "output", "prompt_number", "execution_count")


def upgrade_cells(tree: Mapping[str, Any], max_cells: int) -> list[Any]:
    """Return the cells of a notebook of format 1, 2 or 3, in the form of format 4 and without outputs.

    Raises:
        NotebookError: ``too-many-cells``, or ``not-upgradable`` if nbformat cannot convert it.
    """
    sheets = tree.get("worksheets", [{"cells": tree.get("cells")}])
    entries = [
        entry
        for sheet in (sheets if isinstance(sheets, list) else [])
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
        for entry in sheet["cells"]
    ]
    if len(entries) > max_cells:
        raise NotebookError(
            "too-many-cells", f"The notebook has {len(entries):,} cells; at most {max_cells:,} are read."
        )
    bare = [_strip_cell(entry) for entry in entries]
    version = tree.get("nbformat")
    # Only the cells are upgraded, because nothing else of the notebook is used.
    old: dict[str, Any] = {"nbformat": 2 if version in (1, 2) else 3, "nbformat_minor": 0, "metadata": {}}
    try:
        tree = {**old, "worksheets": [{"cells": bare, "metadata": {}}]}
        node = nbformat.from_dict(tree)
        upgraded = nbformat.convert(node, 4)
        return list(upgraded["cells"])
    except Exception as error:  # nbformat promises nothing about what it raises
        raise NotebookError(
            "not-upgradable",
            f"The notebook has an old format and cannot be upgraded ({type(error).__name__}). "
            "Open it in a current Jupyter, save it and hand it in again.",
        ) from error


def upgrade_metadata(metadata: Mapping[str, Any], cell_type: str) -> Mapping[str, Any]:
    """Return one cell's nbgrader metadata at the current schema version; empty if it has no meaning.

    Raises:
        ValueError: nbgrader cannot upgrade it.
    """
    bare = {"cell_type": cell_type, "source": "", "metadata": {"nbgrader": prune_json(dict(metadata))}}
    try:
        cell = nbformat.from_dict(bare)
        upgraded = MetadataValidator().upgrade_cell_metadata(cell)
        return dict(upgraded.metadata.get("nbgrader", {}))
    except Exception as error:  # nbgrader compares and converts whatever is there
        raise ValueError(type(error).__name__) from error


def _strip_cell(entry: Any) -> Any:
    """Return one old cell without outputs and with joined sources, which nbformat's upgrade requires."""
    if not isinstance(entry, dict):
        return {"cell_type": "markdown", "source": "", "metadata": {}}
    bare = {key: prune_json(value) for key, value in entry.items() if key not in _DROPPED_KEYS}
    if "code" in bare and "input" not in bare:  # format 1
        bare["input"] = bare.pop("code")
    for key in _SOURCE_KEYS:
        value = bare.get(key)
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            bare[key] = "".join(value)
    if bare.get("cell_type") == "code":
        bare["outputs"] = []
    return bare
