"""What takes long to make is made once in a run, by whichever worker needs it first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that ``make`` filled, in this worker or in another one. Not to be changed by a test.

    Args:
        factory: of this worker, whose temporary folder lies in that of the run.
        name: of the folder.
        make: gets the path of a folder that is not there yet.
    """
    base = factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "made-once"
    shared.mkdir(exist_ok=True)
    folder, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            assert not folder.exists(), f"{folder}: making it failed in another worker"
            make(folder)
            done.touch()
    return folder
