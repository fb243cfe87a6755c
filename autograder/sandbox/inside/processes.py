"""Lets multiprocessing work in a box, where processes can be forked but no program can be started.

Python starts programs for the start methods `spawn` and `forkserver`, and for the tracker that removes shared
memory after a crash. It does not notice that the kernel refuses them: `multiprocessing.util.spawnv_passfds`
returns the id of a process that ends at once. Whether the next write to its pipe succeeds is then a race,
and honest notebooks earned points or lost them by chance.
"""

from __future__ import annotations

import errno
import multiprocessing.context
import multiprocessing.resource_tracker
import multiprocessing.util
import sys
from types import ModuleType
from typing import Any, NoReturn

NO_PROGRAMS = "other programs cannot be started while a notebook is graded"


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
    raise PermissionError(errno.EPERM, NO_PROGRAMS)
