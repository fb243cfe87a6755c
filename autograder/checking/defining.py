"""Runs a source beside a student's code, which may look at what it defines."""

from __future__ import annotations

import types

NEUTRAL_NAME = "definitions"
"""Of the module and the file: the same for every source, so that it tells nothing about one."""


def define_module(source: str) -> types.ModuleType:
    """Run a source as a module that nothing can import, and return it.

    Raises:
        Exception: whatever the source raises.
    """
    module = types.ModuleType(NEUTRAL_NAME)
    exec(compile(source, f"<{NEUTRAL_NAME}>", "exec"), vars(module))  # noqa: S102 - of an author of checks
    return module
