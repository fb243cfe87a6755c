"""The command line: what is typed, what is printed, and the exit codes."""

from __future__ import annotations

from autograder.cli.app import main

__all__ = ["main"]
