"""The level `none`: boxes without protection, for trying out notebooks; see inside/bare.py."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from typing import Any

from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.launched import ZygoteProcess
from autograder.sandbox.outside.namespaces import ZygoteSandbox


class BareSandbox(ZygoteSandbox):
    """Boxes that are forked processes, each in its own folder, with limits; no protection."""

    isolation = Isolation.NONE
    own_users = False

    def _start_zygote(self, held: contextlib.ExitStack, launch: Callable[[], ZygoteProcess]) -> None:
        """Make the folder of all boxes, which is removed after the zygote has ended."""
        folder = tempfile.TemporaryDirectory(prefix="autograder-boxes-", ignore_cleanup_errors=True)
        self._folder = held.enter_context(folder)
        super()._start_zygote(held, launch)

    def _build_level_config(self) -> dict[str, Any]:
        return {"folder": self._folder}
