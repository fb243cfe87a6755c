"""The notebook shell inside a box: IPython without a terminal, a history or other programs.

Outputs are collected as nbformat describes them and capped while they are produced; output above the hard
cap is written to the raw output pipe, where the broker counts it and ends the box.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import errno
import inspect
import io
import multiprocessing.context
import multiprocessing.resource_tracker
import multiprocessing.util
import os
import sys
import sysconfig
from collections.abc import Iterator, KeysView
from types import CodeType, ModuleType
from typing import Any, NoReturn

import executing
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from traitlets import Type
from traitlets.config import Config

FLOOD_FACTOR = 4
DROPPED_BYTES = 1 << 26
"""Bytes that one call for a question may print, all of which is dropped: a page full of lines in each pass
costs nothing. Only `FLOOD_FACTOR` times as much, which no finite loop prints, ends the box."""
_FLOOD = b"\0" * 65536
_PROGRAM_MAGICS = (
    "bash",
    "cmd",
    "perl",
    "pypy",
    "python",
    "python2",
    "python3",
    "ruby",
    "script",
    "sh",
    "sx",
)
_FRONT_END_MAGICS = ("autosave", "clear", "connect_info", "qtconsole")
"""Magics that Jupyter's kernel adds for its front ends; there is no front end, and nothing to do."""
_PACKAGE_MAGICS = ("conda", "mamba", "micromamba", "pip", "uv", "system")
_OF_COROUTINES = ("await", "async")
NO_PROGRAMS = "Other programs are not run while a notebook is graded; this line was skipped.\n"


class Outputs:
    """The outputs of the running cell, under one budget of bytes for the whole box."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.truncated = False
        self._budget = 0
        self._room = 0
        self._drop = False
        self._folders = _find_library_folders()

    def begin_cell(self) -> None:
        """Forget the last cell's outputs; the budget continues."""
        self.items, self.truncated = [], False

    def limit(self, budget: int) -> None:
        """Set how many bytes are kept; `FLOOD_FACTOR` times as much ends the box."""
        self._budget = self._room = budget

    @contextlib.contextmanager
    def drop_outputs(self) -> Iterator[None]:
        """Drop all output of the block, and count it separately."""
        before = self._budget, self._room, self._drop
        self._budget = self._room = DROPPED_BYTES
        self._drop = True
        try:
            yield
        finally:
            self._budget, self._room, self._drop = before

    def add_text(self, name: str, text: str) -> None:
        """Append text to a stream; adjacent pieces of one stream form one output."""
        text = self._cut_to_room(self.hide_folders(text) if name == "stderr" else text)
        if not text:
            return
        last = self.items[-1] if self.items else None
        if last and last.get("name") == name:
            last["parts"].append(text)
        else:
            self.items.append({"kind": "stream", "name": name, "parts": [text]})

    def add_output(self, kind: str, data: dict[str, Any]) -> None:
        """Add an output with one text (base64 for images) per MIME type; omit texts that do not fit."""
        kept = {}
        for mime, value in data.items():
            if isinstance(value, bytes):
                import base64

                value = base64.b64encode(value).decode()  # noqa: PLW2901
            if isinstance(value, str) and self._cut_to_room(value) == value:
                kept[str(mime)] = value
        if kept:
            self.items.append({"kind": kind, "data": kept})

    def hide_folders(self, text: str) -> str:
        """Shorten library paths in errors and warnings: readers do not know the folders of this machine."""
        for folder, name in self._folders:
            text = text.replace(f"{folder}/", f"{name}/")
        return text

    def _cut_to_room(self, text: str) -> str:
        size = len(text)
        self._room -= size
        if self._room < -(FLOOD_FACTOR - 1) * self._budget:
            while True:  # the broker ends the box once it has counted enough
                os.write(1, _FLOOD)
        if self._drop:
            return ""
        if self._room >= 0:
            return text
        self.truncated = True
        return text[: max(0, size + self._room)]


class CapturedStream(io.TextIOBase):
    """sys.stdout or sys.stderr of the notebook."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, outputs: Outputs, name: str) -> None:
        super().__init__()
        self._outputs = outputs
        self._name = name

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Keep the text, within the budget."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._outputs.add_text(self._name, text)
        return len(text)


class CapturedHook(DisplayHook):  # type: ignore[misc]
    """Makes an output of the value of a cell's last expression."""

    def write_output_prompt(self) -> None:
        """Write no prompt: the notebook shows it."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        """Keep the representations; their metadata is not used."""
        del md_dict
        self.shell.outputs.add_output("result", format_dict)


class CapturedPublisher(DisplayPublisher):  # type: ignore[misc]
    """Makes outputs of the objects that `display` shows."""

    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        """Keep the representations."""
        self.shell.outputs.add_output("display", data)

    def clear_output(self, wait: bool = False) -> None:  # noqa: FBT001, FBT002 - IPython's signature
        """Clear the outputs, as progress bars do before they draw again."""
        del wait
        self.shell.outputs.items.clear()


def _is_line_magic(statement: ast.AST | None) -> bool:
    """Return whether a statement is IPython's translation of a line such as ``%load_ext tensorboard``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "run_line_magic"
    )


class ThriftyCompiler(CachingCompiler):  # type: ignore[misc]
    """Registers the module of a cell, which each traceback would otherwise search for.

    Attributes:
        passable: the code of the last statement and its tree, if the cell continues when it fails.
    """

    passable: tuple[CodeType, ast.stmt] | None = None

    def __call__(self, source: Any, filename: str, symbol: str, **options: Any) -> Any:
        """Compile one statement."""
        code = super().__call__(source, filename, symbol, **options)
        is_one = isinstance(source, ast.Module | ast.Interactive) and len(source.body) == 1
        statement = source.body[0] if is_one else None
        passable = isinstance(statement, ast.Import | ast.ImportFrom) or _is_line_magic(statement)
        self.passable = (code, statement) if statement is not None and passable else None
        return code

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        """Return the name of a cell's code, by which tracebacks find its lines."""
        name: str = super().cache(transformed_code, number, raw_code)
        inspect.modulesbyfile[name] = "__main__"
        with contextlib.suppress(OSError):  # a cell may have removed its working directory
            inspect.modulesbyfile[f"{os.getcwd()}/{name}"] = "__main__"  # noqa: PTH109 - takes a tenth
        return name


class NotebookShell(InteractiveShell):  # type: ignore[misc]
    """IPython's shell, with outputs captured and other programs refused."""

    compiler_class = Type(ThriftyCompiler)
    displayhook_class = Type(CapturedHook)
    display_pub_class = Type(CapturedPublisher)

    def __init__(self, **options: Any) -> None:
        self.outputs = Outputs()
        super().__init__(**options)
        for name in (*_PROGRAM_MAGICS, *_PACKAGE_MAGICS):
            self.register_magic_function(_refuse_line, "line_cell", name)
        for name in _FRONT_END_MAGICS:
            self.register_magic_function(_ignore_line, "line", name)

    def _tee(self, channel: str) -> contextlib.AbstractContextManager[None]:
        """Store no second copy of what is printed: nobody can save a notebook here."""
        del channel
        return contextlib.nullcontext()

    def _format_exception_for_storage(self, *_: object, **__: object) -> list[str]:
        """Store no error either: a text that cannot be produced would be an error of its own."""
        return []

    async def run_code(
        self, code_obj: CodeType, result: ExecutionResult | None = None, *, async_: bool = False
    ) -> bool:
        """Run one statement; return whether the cell ends here.

        It does not end at a failing import, nor at a magic that does not exist or has no package: the cell's
        definitions must not be lost because a package that it may not even use is missing.
        """
        failed: bool = await super().run_code(code_obj, result, async_=async_)
        passable = self.compile.passable
        if not failed or passable is None or passable[0] is not code_obj or result is None:
            return failed
        statement = passable[1]
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            return not isinstance(result.error_in_exec, ImportError | UsageError)
        if not isinstance(result.error_in_exec, ImportError):
            return True
        # One statement may import several names: those that exist are defined, the missing ones are not.
        for alias in statement.names if len(statement.names) > 1 else ():
            alone = copy.copy(statement)
            alone.names = [alias]
            with contextlib.suppress(Exception):  # the first error has been shown
                exec(compile(ast.Module([alone], []), "<import>", "exec"), self.user_global_ns, self.user_ns)
        return False

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: a box has no GUI event loop, and `%matplotlib inline` asks for none."""

    def should_run_async(
        self,
        raw_cell: str,
        *,
        transformed_cell: str | None = None,
        preprocessing_exc_tuple: Any = None,
    ) -> bool:
        """Return whether a cell awaits something; a cell without such a word is not compiled to find out."""
        if transformed_cell is not None and not any(word in transformed_cell for word in _OF_COROUTINES):
            return False
        return bool(
            super().should_run_async(
                raw_cell,
                transformed_cell=transformed_cell,
                preprocessing_exc_tuple=preprocessing_exc_tuple,
            )
        )

    def system(self, command: str) -> None:
        """Refuse `!command` with a note instead of an error, so that the notebook continues."""
        del command
        self.outputs.add_text("stderr", NO_PROGRAMS)

    system_raw = system_piped = system

    def getoutput(self, command: str, *_: Any, **__: Any) -> list[str]:
        """Refuse `x = !command`."""
        self.system(command)
        return []

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        del evalue
        text = self.outputs.hide_folders("\n".join(stb))
        self.outputs.add_output("error", {"text/plain": text, "name": etype.__name__})

    def forget_error(self) -> None:
        """Drop the last error and the objects in its frames; `%tb` then has nothing to show."""
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        self.last_execution_result = None
        self.InteractiveTB.tb = None

    def ask_exit(self) -> None:
        """Let exit() and quit() leave the cell, not the notebook."""


def _refuse_line(line: str = "", cell: str | None = None) -> None:
    del line, cell
    sys.stderr.write(NO_PROGRAMS)


def _ignore_line(line: str = "") -> None:
    del line


def _find_library_folders() -> tuple[tuple[str, str], ...]:
    """Return the library folders of this machine, longest first, with the names that readers know."""
    paths = sysconfig.get_paths()
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = {paths[name]: python for name in ("stdlib", "platstdlib")}
    folders |= {
        path: "site-packages" for path in sys.path if path.endswith(("site-packages", "dist-packages"))
    }
    folders |= {paths[name]: "site-packages" for name in ("purelib", "platlib")}
    # The longest first, because one folder may contain another.
    return tuple(sorted(folders.items(), key=lambda item: -len(item[0])))


def _order_statements() -> None:
    """Sort the statements of a line, innermost first; IPython chooses an excerpt by their order.

    `executing` returns a set of them, ordered by address: a one-line function that raises would be shown
    alone in one run and with its class in another.
    """
    find_statements: Any = executing.Source.statements_at_line

    def sort_statements(source: executing.Source, line: int) -> KeysView[Any]:
        statements = sorted(
            find_statements(source, line),
            key=lambda statement: (statement.lineno, statement.col_offset),
            reverse=True,
        )
        return dict.fromkeys(statements).keys()

    executing.Source.statements_at_line = sort_statements  # type: ignore[assignment]


def make_shell() -> NotebookShell:
    """Create the shell in advance and warm it up: with a displayed value and a traceback."""
    _order_statements()
    config = Config()
    # Neither a database of inputs nor a cache of outputs, which would keep displayed values alive.
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 0
    shell: NotebookShell = NotebookShell.instance(config=config)
    shell.outputs.limit(1 << 20)
    for source in ("0", "raise NotImplementedError"):
        shell.run_cell(source, store_history=True)
    shell.reset(new_session=True)
    shell.outputs.begin_cell()
    return shell


# ---------------------------------------------------------------- multiprocessing
# Processes can be forked in a box, but no program can be started. Python starts programs for the start
# methods `spawn` and `forkserver`, and for the tracker that removes shared memory after a crash. It does not
# notice that the kernel refuses them: `multiprocessing.util.spawnv_passfds` returns the id of a process that
# ends at once. Whether the next write to its pipe succeeds is then a race, and honest notebooks earned points
# or lost them by chance.


NO_PROCESSES = "other programs cannot be started while a notebook is graded"


def prevent_programs() -> None:
    """Fork instead of starting a program, and raise if a program would still be needed.

    The tracker is not needed: a box has its own file system, which ends with it.
    """
    contexts: dict[str, Any] = multiprocessing.context._concrete_contexts  # type: ignore[attr-defined] # noqa: SLF001
    contexts |= dict.fromkeys(("spawn", "forkserver"), contexts["fork"])
    tracker: Any = multiprocessing.resource_tracker.ResourceTracker
    tracker.ensure_running = tracker._send = _ignore_call  # noqa: SLF001 - `register` and `unregister` call it
    multiprocessing.resource_tracker.ensure_running = _ignore_call
    starting: Any = multiprocessing.util
    starting.spawnv_passfds = _refuse_program


def prevent_torch_programs(torch: ModuleType) -> None:
    """Make torch's own multiprocessing work as well.

    To share tensors by file name, which notebooks choose to avoid a limit on open files, torch starts a
    program that removes the files; sharing by descriptor needs none. `torch.multiprocessing.spawn` requests a
    signal when its parent ends, which the system call filter refuses; all processes of a box end together.
    """
    torch.multiprocessing.set_sharing_strategy = _ignore_call
    spawning: Any = sys.modules["torch.multiprocessing.spawn"]
    spawning._prctl_pr_set_pdeathsig = _ignore_call  # noqa: SLF001


def _ignore_call(*_: object, **__: object) -> None:
    """Do nothing, successfully."""


def _refuse_program(*_: object) -> NoReturn:
    raise PermissionError(errno.EPERM, NO_PROCESSES)
