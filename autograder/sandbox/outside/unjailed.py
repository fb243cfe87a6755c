"""Sandboxes without namespaces: `reduced` and `none`. The trusted side; its other end is reduced.py.

A box lies in a folder on disk instead of a file system of its own, which is therefore made, watched and
removed here, and its processes are ended by a reaper (reaper.py) instead of the kernel.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.errors import SandboxFault, SandboxUnavailable
from autograder.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.inside import linux
from autograder.sandbox.inside.reduced import closed_ancestor
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside import scratch
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.launched import Launched
from autograder.sandbox.outside.monitor import BoxFolder
from autograder.sandbox.outside.namespaces import Identity, ZygoteSandbox, explain_failure
from autograder.sandbox.outside.watch import Watch


class UnjailedSandbox(ZygoteSandbox):
    """What `reduced` and `none` have in common."""

    own_users = False

    def __init__(self, environment: Environment, launch: Callable[[], Launched] | None = None) -> None:
        """Start the zygote; see `ZygoteSandbox`."""
        self._claim = -1
        self._numbers = itertools.count()
        self._numbering = threading.Lock()
        try:
            base = tempfile.gettempdir()
            scratch.sweep(base)
            self._folder = Path(tempfile.mkdtemp(prefix=scratch.PREFIX, dir=base))
        except OSError as error:
            raise SandboxFault(f"no folder could be made for boxes: {error}") from error
        try:
            self._claim = scratch.claim(str(self._folder))
            super().__init__(environment, launch)
        except OSError as error:
            self._remove()
            raise SandboxFault(f"the folder for boxes could not be claimed: {error}") from error
        except BaseException:
            self._remove()
            raise

    def _particulars(self) -> dict[str, Any]:
        (self._folder / "zygote").mkdir(mode=0o700)
        (self._folder / "boxes").mkdir(mode=0o711)
        if self._identity:
            closed = closed_ancestor(self._folder)
            if closed is not None:
                raise SandboxUnavailable(
                    f"boxes have users of their own, who cannot enter {closed}, where their files would lie; "
                    "set TMPDIR to a folder that other users can enter"
                )
            os.chown(self._folder, 0, self._identity.uid)
            self._folder.chmod(0o710)
        return {"folder": str(self._folder), "landlock": linux.landlock_version()}

    def _explain(self, error: str) -> str:
        return explain_failure(error)

    def _open(self, limits: Limits, seed: int) -> NamespaceBox:
        with (
            self._user() as identity,
            self._place(limits, identity) as place,
            self._grouped(limits) as group,
        ):
            request = self._request(limits, seed, group, identity)
            request["folder"] = place.folder
            if identity is None and os.geteuid() != 0:
                # Counted are all processes of the user, not only those of the box.
                request["limits"]["processes"] += threads_of(os.getuid())
            return NamespaceBox(self._send, request, limits, Watch(limits, group, place, identity))

    @contextlib.contextmanager
    def _place(self, limits: Limits, identity: Identity | None) -> Iterator[BoxFolder]:
        """The folder of a new box; removed again where the box is not opened."""
        with self._numbering:
            folder = self._folder / "boxes" / str(next(self._numbers))
        try:
            folder.mkdir(mode=0o700)
            if identity:
                os.chown(folder, identity.uid, identity.uid)
        except OSError as error:
            raise SandboxFault(f"no folder could be made for a box: {error}") from error
        place = BoxFolder(str(folder), limits, identity.uid if identity else None)
        try:
            yield place
        except BaseException:
            place.release()
            raise

    def close(self) -> None:
        """End the zygote and remove the folder; see `autograder.sandbox.base.Sandbox.close`."""
        super().close()
        self._remove()

    def _remove(self) -> None:
        scratch.remove_tree(str(self._folder))
        if self._claim >= 0:
            os.close(self._claim)
            self._claim = -1


class ReducedSandbox(UnjailedSandbox):
    """All that needs neither namespaces nor mounts."""

    isolation = Isolation.REDUCED
    own_users = True

    def __init__(self, environment: Environment, launch: Callable[[], Launched] | None = None) -> None:
        """Start the zygote; see `ZygoteSandbox`.

        Raises:
            SandboxUnavailable: a layer is missing. An ordinary user needs Landlock: without it student code
                could read and change every file of that user.
        """
        if os.geteuid() != 0 and not linux.landlock_version():
            raise SandboxUnavailable(
                "--isolation=reduced as an ordinary user needs Landlock, which this kernel does not have; "
                "without it student code could read and change all your files. Remedies: a kernel of Linux "
                "5.13 or later started with landlock in its list lsm=…, or run as root, so that boxes get "
                "users of their own."
            )
        super().__init__(environment, launch)


class BareSandbox(UnjailedSandbox):
    """A forked process in a folder of its own, with limits; no protection."""

    isolation = Isolation.NONE


def threads_of(uid: int) -> int:
    """How many threads of all processes a user has."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == uid:
                fields = (process / "stat").read_text("ascii", "replace").rpartition(") ")[2].split()
                total += int(fields[17])
    return total
