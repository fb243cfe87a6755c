"""The command line: parsing, output, and exit codes."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # Imports all commands. Not at module level: they are in this package themselves.
    from autograder.cli import app

    app.main()
