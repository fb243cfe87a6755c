"""The command line: what is typed, what is printed, and the exit codes."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The entry point. What becomes the first sandbox of a class starts before the commands are imported."""
    program = None
    if sys.argv[1:2] == ["grade"]:
        from autograder.app import launch

        program = launch()
    from autograder.cli import app

    app.main(program)
