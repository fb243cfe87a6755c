"""nbgrader_config.py read as data: lines of the form ``c.Class.name = literal``. The file is never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autograder.core import atomic
from autograder.core.syntax import UNREADABLE, parse_module

FILE_NAME = "nbgrader_config.py"
_UNDERSTOOD = {
    "Autograde.exclude_overwriting": None,
    "ClearSolutions.code_stub": None,
    "ClearSolutions.text_stub": None,
    "ExecutePreprocessor.timeout": None,
    "CourseDirectory.source_directory": "source",
    "CourseDirectory.release_directory": "release",
    "CourseDirectory.submitted_directory": "submitted",
    "CourseDirectory.db_url": None,
}
"""Supported settings, with the only supported value if there is just one."""
_WITHOUT_MEANING = (
    "CourseDirectory.course_id",
    "CourseDirectory.ignore",
    "Exchange",
    "FormgradeApp",
    "NbGrader",
)
"""Settings that affect neither marks nor paths."""


def read_settings(folder: Path) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Read the settings of a course.

    Args:
        folder: of the course.

    Returns:
        Values by ``Class.name``, and sentences about settings that are not adopted.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return {}, ()
    try:
        tree = parse_module(atomic.read_bytes(path).decode())
    except (OSError, UnicodeDecodeError, *UNREADABLE) as error:
        return {}, (f"{FILE_NAME} cannot be read ({error}); nothing of it is taken over",)
    values: dict[str, Any] = {}
    remarks: list[str] = []
    for node in ast.walk(tree):
        for name in _find_assigned_names(node):
            try:
                # literal_eval accepts literals only, so that no code of the file runs.
                values[name] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            except ValueError:
                remarks.append(f"{FILE_NAME}: c.{name} is computed; not taken over")
    remarks += [remark for name, value in values.items() if (remark := _describe_unsupported(name, value))]
    return values, tuple(remarks)


def get_stubs(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the stubs in place of solutions for nbgrader's ClearSolutions; empty: its default texts.

    Args:
        values: of a course's configuration; a plain text as ``code_stub`` is the one for Python.
    """
    stub_settings: dict[str, Any] = {}
    code, text = (values.get(f"ClearSolutions.{name}") for name in ("code_stub", "text_stub"))
    if isinstance(code, str):
        code = {"python": code}
    if isinstance(code, dict) and code and all(isinstance(part, str) for part in (*code, *code.values())):
        stub_settings["code_stub"] = code
    if isinstance(text, str):
        stub_settings["text_stub"] = text
    return stub_settings


def _find_assigned_names(node: ast.AST) -> Iterator[str]:
    """Yield ``Class.name`` of each target ``c.Class.name``."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            parts = ast.unparse(target).split(".")
            if len(parts) == 3 and parts[0] == "c":
                yield ".".join(parts[1:])


def _describe_unsupported(name: str, value: Any) -> str:
    if name.startswith(_WITHOUT_MEANING):
        return ""
    if name not in _UNDERSTOOD:
        return f"{FILE_NAME}: c.{name} is not taken over"
    only = _UNDERSTOOD[name]
    if only is not None and value != only:
        return (
            f"{FILE_NAME}: c.{name} is {value!r}; expected {only!r}: rename the folder or leave a link there"
        )
    return ""
