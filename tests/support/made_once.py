"""Create expensive folders once per run, by the first worker that needs them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder filled by ``make`` in this or another worker. Tests must not change it.

    Args:
        factory: of this worker; its temporary folder is in that of the run.
        name: of the folder.
        make: gets the path of a folder that does not exist yet.
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
