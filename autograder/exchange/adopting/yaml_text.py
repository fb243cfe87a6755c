"""The YAML in otter's cells, restricted to plain data."""

from __future__ import annotations

from typing import Any

import yaml

from autograder.core.errors import CourseError


def read_yaml(text: str, label: str) -> dict[str, Any]:
    """Parse a table of settings; an empty text is an empty table.

    Raises:
        CourseError: it is not YAML, or not a table.
    """
    try:
        # safe_load builds no Python objects; deep nesting ends in a RecursionError.
        table = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{label}: not YAML that can be read: {str(error)[:200]}") from error
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise CourseError(f"{label}: expected a table of settings, got {type(table).__name__}")
    return table
