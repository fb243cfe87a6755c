"""Runs sequences of cells by the shell's short way and by IPython's own; a program of its own.

It reads a list of sequences, a list of cells each, from standard input, and writes for each what was seen of
it by either way.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from autograder.sandbox.inside.guest import _Streams
from autograder.sandbox.inside.shell import NotebookShell, make_shell

CHANCE = re.compile(r"0x[0-9a-f]+| at [0-9a-f]{8,}|(?:CPU times|Wall time): .*?(?=\\n)|\d+:\d+:\d+")
"""What is another in each process: addresses and times, in JSON."""
OWN = ("In", "Out", "get_ipython", "exit", "quit", "open")
"""Of the namespace, what every shell has."""


def seen(shell: NotebookShell, cells: Sequence[str]) -> dict[str, Any]:
    """What can be told of a shell and its outputs after some cells."""
    runs: list[list[Any]] = []
    for cell in cells:
        shell.outputs.begin_cell()
        try:
            with _Streams(shell.outputs):
                result = shell.run_cell(cell, store_history=True)
        except Exception as error:  # noqa: BLE001 - a cell may break the shell, by either way alike
            runs.append([repr(error)])
            continue
        errors = [type(one).__name__ for one in (result.error_before_exec, result.error_in_exec)]
        items = [{**one, "parts": "".join(one.get("parts", ()))} for one in shell.outputs.items]
        runs.append([items, errors, result.execution_count, shell.last_execution_succeeded])
    last = shell.last_execution_result
    names = {name: repr(value) for name, value in shell.user_ns.items() if name not in OWN}
    return {
        "runs": runs,
        "names": names,
        "hidden": sorted(shell.user_ns_hidden),
        "inputs": repr(shell.user_ns["In"]),
        "count": shell.execution_count,
        "builtins": sorted(vars(builtins)),
        "hook": repr(sys.displayhook),
        "flags": shell.compile.flags,
        "last": [last.execution_count, type(last.result).__name__, last.success],
    }


def main() -> None:
    """Fork a shell for each sequence and way."""
    shell = make_shell()
    short = NotebookShell._run_plain
    taken = 0

    def counted(self: NotebookShell, *arguments: Any) -> Any:
        nonlocal taken
        taken += 1
        return short(self, *arguments)

    def told(cells: Sequence[str], *, usual: bool) -> dict[str, Any]:
        with tempfile.TemporaryFile("w+") as report:
            if (child := os.fork()) == 0:
                NotebookShell._run_plain = counted  # type: ignore[assignment,method-assign]
                if not usual:
                    NotebookShell._is_usual = lambda _: False  # type: ignore[method-assign,assignment]
                text = json.dumps({**seen(shell, cells), "taken": taken}, default=repr)
                report.write(CHANCE.sub("?", text))
                report.flush()
                os._exit(0)
            os.waitpid(child, 0)
            report.seek(0)
            return json.load(report)  # type: ignore[no-any-return]

    both = [[told(cells, usual=True), told(cells, usual=False)] for cells in json.load(sys.stdin)]
    json.dump(both, sys.stdout)


if __name__ == "__main__":
    main()
