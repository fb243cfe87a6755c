"""Generates the documentation of the command line.

``python -m autograder.cli.reference > docs/cli.md`` writes the page; a test fails if it is out of date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import typer

from autograder.cli.app import EPILOG, app

HEAD = """\
# The command line

This page is generated from the commands; do not edit it. Every command prints this with `--help`.

## Exit codes

| code | meaning |
|---|---|
"""

STREAMS = """\
With `--json` a command prints one JSON object on one line of standard output and nothing else there.
Messages and the progress bar go to standard error; there is no bar where that is not a terminal.
"""


def render_reference() -> str:
    """Return the whole page as Markdown."""
    command = typer.main.get_command(app)
    sections = [HEAD + "\n".join(_list_exit_codes()), STREAMS.rstrip()]
    sections += [_render_section(name, entry) for name, entry in _list_commands(command)]
    return "\n\n".join(sections) + "\n"


def _list_commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name."""
    for name, entry in group.commands.items():
        if hasattr(entry, "commands"):
            yield from _list_commands(entry, f"{above}{name} ")
        else:
            yield f"{above}{name}", entry


def _list_exit_codes() -> Iterator[str]:
    """Yield a table row for each code of the epilog, which has the form ``0 done · 1 … · …``."""
    for entry in EPILOG.removeprefix("Exit codes: ").removesuffix(".").split(" · "):
        code, _, meaning = entry.partition(" ")
        yield f"| {code} | {_escape_cell(meaning)} |"


def _render_section(name: str, command: Any) -> str:
    arguments = [entry for entry in command.params if entry.param_type_name == "argument"]
    options = [entry for entry in command.params if entry.param_type_name == "option"]
    named = (entry.name.upper() if entry.required else f"[{entry.name.upper()}]" for entry in arguments)
    words = " ".join(["autograder", name, *named, "[OPTIONS]"])
    rows = [
        f"| `{entry.name.upper()}` | {_escape_cell(entry.help)} | {'required' if entry.required else ''} |"
        for entry in arguments
    ]
    rows += [_render_option(entry) for entry in options]
    example = str(command.epilog).removeprefix("Example: ")
    parts = [f"## `autograder {name}`", inspect.cleandoc(command.help), f"```\n{words}\n```"]
    parts.append("\n".join(["| argument or option | meaning | default |", "|---|---|---|", *rows]))
    parts.append(f"Example:\n\n```\n{example}\n```")
    return "\n\n".join(parts)


def _render_option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    # A flag is off by default, which needs no mention.
    default = "" if option.default is None or option.is_flag else f"`{option.default}`"
    if isinstance(option.show_default, str):
        default = option.show_default
    return f"| {names} | {_escape_cell(option.help)} | {default if option.default != '' else ''} |"


def _escape_cell(text: str | None) -> str:
    # A pipe or a line break would end the table cell.
    return (text or "").replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(render_reference())
