"""Items of questions about code, taken from the files of their checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.checking.check_parser import (
    CheckFile,
    CheckFileError,
    CheckItem,
    describe_known_names,
    load_check_file,
)
from autograder.core.errors import Place, RubricError

KINDS = ("code", "repair")
"""The kinds of questions that have checks as items."""


def read_check_file(table: Mapping[str, Any], folder: Path | None, place: Place) -> CheckFile | None:
    """Read the file of checks of a question; None if its kind has none.

    Args:
        table: of the question.
        folder: of the reference solutions.
        place: of the question, for errors.

    Raises:
        RubricError: the file is missing, or has an invalid declaration.
    """
    if table.get("kind") not in KINDS:
        if "checks" in table:
            raise RubricError(f"only questions of kind {' and '.join(KINDS)} have checks", place, "checks")
        return None
    if "reference" in table:
        raise RubricError("checks import what they compare with; take it out", place, "reference")
    # The file is a module, and names of modules have no hyphens.
    file = table.get("checks", f"{str(table.get('id')).replace('-', '_')}.py")
    if not isinstance(file, str):
        raise RubricError(f"expected a file in reference/checks, got {file!r}", place, "checks")
    if folder is None:
        raise RubricError("the checks lie beside the rubric; read it from its file", place, "checks")
    try:
        return load_check_file(folder, file)
    except CheckFileError as error:
        raise RubricError(str(error), place, "checks") from error


def add_items(
    table: Mapping[str, Any], file: CheckFile, place: Place, *, stated_only: bool = False
) -> dict[str, Any]:
    """Return a question's table with an item for each check.

    Items in the rubric keep their order and texts, and come first.

    Args:
        table: of the question.
        file: of its checks.
        place: of the question, for errors.
        stated_only: add no item for a check without one in the rubric.

    Raises:
        RubricError: the rubric names an item that no check has, or other points than its check.
    """
    checks = {check.id: check for check in file.checks}
    items = []
    for number, entry in enumerate(table.get("item", ())):
        where = place.extend(f", item {number + 1} ({entry.get('id', '?')})", "item", number)
        if entry.get("manual"):
            items.append(entry)
            continue
        name = str(entry.get("id"))
        if name not in checks:
            check_path = f"{file.module.replace('.', '/')}.py"
            raise RubricError(
                f"{check_path} has no check {name!r}{describe_known_names(name, checks)}", where, "id"
            )
        items.append(_merge_item(entry, checks.pop(name), file, where))
    if not stated_only:
        items += [_merge_item({}, check, file, place) for check in checks.values()]
    return {**table, "item": items}


def _merge_item(entry: Mapping[str, Any], check: CheckItem, file: CheckFile, where: Place) -> dict[str, Any]:
    points = entry.get("points", check.points)
    if points != check.points:
        declaration = f"{file.module.replace('.', '/')}.py, line {check.line}"
        raise RubricError(
            f"{points} are stated here, and {check.points} in {declaration}; leave this out", where, "points"
        )
    needs = entry.get("needs", check.needs)
    return {"id": check.id, "text": check.title, **entry, "points": check.points, "needs": [*needs]}
