"""The command line: what is typed, what is printed, and the exit codes."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command that was typed."""
    from autograder.cli import app  # it imports all commands, whose modules lie in this package

    app.main()
