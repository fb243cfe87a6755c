"""Commands from a program that has imported already what commands import: that takes each two seconds.

`serve` is that program. For every command it forks, and what follows is the command as it is typed: its
arguments, folder, environment and streams. Programs that start from nothing are run by `running.run_cold`.

Where Python is to believe that it runs on another operating system, it believes so before anything is
imported, and of ours nothing is imported ahead: whether our modules can be imported there is tested as well.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import platform
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

import autograder
from tests.support import launching

LONGEST_SECONDS = 1800
COMMAND = "import sys; from tests.cli.warm import serve; serve(*sys.argv[1:])"
NOT_IMPORTED = (
    "autograder.sandbox.inside",
    "autograder.notebook.coursecheck",
    "autograder.service.",
    "autograder.web.",
)
"""What runs beside student code, and what students run: no command imports it; what asks for a database."""
LIBRARIES = ("flint", "mistune", "nbgrader.api", "nbgrader.preprocessors", "numpy", "rich", "typer")
LACKING = {"Windows": ("fcntl", "resource")}
"""Modules of Python's own that another operating system does not have."""


def serve(system: str = "") -> None:
    """Read commands from standard input, one a line, and answer each with its process, then its exit code.

    Args:
        system: where Python believes to be, with what it lacks there; empty: where it is.
    """
    if system:
        platform.system = lambda: system
        sys.modules.update(dict.fromkeys(LACKING.get(system, ())))  # type: ignore[arg-type]
    for name in LIBRARIES if system else _own_modules():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    answers = os.dup(1)
    while line := sys.stdin.readline():
        if (child := os.fork()) == 0:
            os.close(answers)
            _become(json.loads(line))
            _end(_command)
        os.write(answers, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _own_modules() -> list[str]:
    """By their files: a package that is looked into is imported, and some must not be."""
    root = Path(autograder.__path__[0])
    parts = (path.relative_to(root.parent).with_suffix("").parts for path in sorted(root.rglob("*.py")))
    names = (
        ".".join(path_parts[:-1] if path_parts[-1] == "__init__" else path_parts) for path_parts in parts
    )
    return [name for name in names if not name.startswith(NOT_IMPORTED) and not name.endswith("__main__")]


def _command() -> None:
    from autograder.cli import main

    address = os.environ.get(launching.ADDRESS) if platform.system() == "Linux" else None
    with launching.forked_zygotes(address) if address else nullcontext():
        main()


def _become(request: dict[str, Any]) -> None:
    for descriptor, path in enumerate([os.devnull, request["output"], request["errors"]]):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the command lives
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[:] = request["words"]
    sys.path[0] = os.path.dirname(request["words"][0])  # noqa: PTH120 - the text that stands there in a program


def _end(main: Callable[[], None]) -> NoReturn:
    """Run the command and leave; what was imported is not taken apart again, which costs most of a second."""
    code: object = 0
    try:
        main()
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001 - as Python ends a program
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code is not None) if not isinstance(code, int) else code)


class Warm:
    """The program, kept as long as the tests run; see `serve`."""

    def __init__(self, environment: dict[str, str], system: str = "") -> None:
        single = {**environment, "OPENBLAS_NUM_THREADS": "1"}  # nothing may run in it but what forks
        self._program = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *([system] if system else [])],
            env=single,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # an answer that was read ahead would not be seen by select
        )

    def run(self, request: dict[str, Any], seconds: float | None = None) -> int:
        """Run a command, and give its exit code.

        Args:
            request: the command, as `_become` reads it.
            seconds: when it is killed, unless it has ended; None: it is not.
        """
        assert self._program.stdin
        assert self._program.stdout
        self._program.stdin.write(f"{json.dumps(request)}\n".encode())
        child = self._answer(request)
        if seconds is not None and not select.select([self._program.stdout], [], [], seconds)[0]:
            with suppress(ProcessLookupError):  # it may end just now
                os.kill(child, signal.SIGKILL)
        return self._answer(request)

    def _answer(self, request: dict[str, Any]) -> int:
        assert self._program.stdout
        if not select.select([self._program.stdout], [], [], LONGEST_SECONDS)[0]:
            self._program.kill()
            raise TimeoutError(f"{request['words']}: not done after {LONGEST_SECONDS} seconds")
        answer = self._program.stdout.readline()
        assert answer, "the program that runs the commands has ended; why stands in the captured output"
        return int(answer)

    def close(self) -> None:
        """End it."""
        self._program.communicate()
