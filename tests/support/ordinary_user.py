"""Runs tests as a user without privileges: ``python ordinary_user.py UID COMMAND …``, as root.

The interpreter may lie below a home that other users cannot enter. So a private mount namespace is made
first, in which every closed folder on the way is covered by an open one that holds the same places as
before and nothing else; then the identity is given up for good, and the command is started.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READABLE = 0o005


def needed() -> list[Path]:
    """Places that a test run reads: both prefixes of the interpreter, and the repository."""
    base = Path(sysconfig.get_config_var("installed_base") or sys.base_prefix)
    return [path.resolve() for path in (base, Path(sys.prefix), ROOT)]


def closed_ancestor(path: Path) -> Path | None:
    """The outermost folder above a place that others may not enter."""
    return next(
        (folder for folder in reversed(path.parents) if folder.stat().st_mode & READABLE != READABLE), None
    )


def open_up() -> None:
    """Cover closed folders, in a mount namespace of our own."""
    from autograder.sandbox.inside import linux

    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    views = [(path, closed_ancestor(path), linux.clone_mount(str(path), execute=True)) for path in needed()]
    for closed in {closed for _, closed, _ in views if closed}:
        linux.mount("tmpfs", str(closed), "tmpfs", 0, "mode=755,size=1m")
    for path, closed, tree in views:
        if closed is None:
            os.close(tree)
            continue
        path.mkdir(parents=True, exist_ok=True)
        linux.attach_mount(tree, str(path))


def main() -> None:
    """Open up, become the user, run the command."""
    sys.path.insert(0, str(ROOT))
    uid = int(sys.argv[1])
    open_up()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.chdir(ROOT)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
