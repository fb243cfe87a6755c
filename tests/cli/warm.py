"""Run commands from a program that has already imported their modules; importing takes two seconds each.

`serve` is that program. It forks for every command, and runs it with its arguments, folder, environment and
streams. `running.run_cold` runs programs without this.

To simulate another operating system, Python is changed before anything is imported, and none of our modules
is imported ahead. So the tests also show whether our modules can be imported there.
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
"""Modules that no command imports (they run inside boxes), or that need a database."""
LIBRARIES = ("flint", "mistune", "nbgrader.api", "nbgrader.preprocessors", "numpy", "rich", "typer")
LACKING = {"Windows": ("fcntl", "resource")}
"""Modules of the standard library that another operating system lacks."""


def serve(system: str = "") -> None:
    """Read commands from standard input, one per line; answer with process id and exit code.

    Args:
        system: the operating system to simulate; empty: the real one.
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
    """Return our modules, found by their files.

    Looking into a package would import it, and some must not be imported.
    """
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
    """Run the command and exit without tearing down the imported modules, which takes most of a second."""
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
    """The program, kept running during the tests; see `serve`."""

    def __init__(self, environment: dict[str, str], system: str = "") -> None:
        single = {**environment, "OPENBLAS_NUM_THREADS": "1"}  # only the forking code may run in it
        self._program = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *([system] if system else [])],
            env=single,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # select would not see an answer that was read ahead
        )

    def run(self, request: dict[str, Any], seconds: float | None = None) -> int:
        """Run a command, and return its exit code.

        Args:
            request: the command, in the format of `_become`.
            seconds: time after which it is killed; None: never.
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
        """Stop the program."""
        self._program.communicate()
