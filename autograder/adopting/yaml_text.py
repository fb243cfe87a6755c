"""The YAML in otter's cells, restricted to plain data."""

from __future__ import annotations

from typing import Any

import yaml

from autograder.errors import CourseError


def read_yaml(text: str, place: str) -> dict[str, Any]:
    """Parse a table of settings; an empty text is an empty table.

    Raises:
        CourseError: it is not YAML, or not a table.
    """
    try:
        # safe_load builds no Python objects; deep nesting ends in a RecursionError.
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{place}: not YAML that can be read: {str(error)[:200]}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CourseError(f"{place}: expected a table of settings, got {type(found).__name__}")
    return found
