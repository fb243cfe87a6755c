"""Run tests as a user without privileges: ``python ordinary_user.py UID COMMAND …``, as root.

The interpreter may be below a home folder that other users cannot enter. So first create a private mount
namespace, in which each closed folder above it is covered by an open one with only the needed paths. Then
drop privileges permanently and start the command.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READABLE = 0o005


def needed() -> list[Path]:
    """Return the paths that a test run reads: both prefixes of the interpreter, and the repository."""
    base = Path(sysconfig.get_config_var("installed_base") or sys.base_prefix)
    return [path.resolve() for path in (base, Path(sys.prefix), ROOT)]


def closed_ancestor(path: Path) -> Path | None:
    """Return the outermost folder above a path that other users cannot enter, or None."""
    return next(
        (folder for folder in reversed(path.parents) if folder.stat().st_mode & READABLE != READABLE), None
    )


def open_up() -> None:
    """Cover closed folders in a private mount namespace."""
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
    """Open the folders, become the user, and run the command."""
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
