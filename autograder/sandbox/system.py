"""Which systems have a sandbox. The sandbox's own modules can be imported on Linux only."""

from __future__ import annotations

import platform

from autograder.errors import SandboxUnavailable


def refuse_other_systems() -> None:
    """Say what to do where there are no Linux namespaces.

    Raises:
        SandboxUnavailable: this is not Linux.
    """
    if platform.system() != "Linux":
        raise SandboxUnavailable(
            f"student code is confined with Linux namespaces, and this is {platform.system()}. "
            "Run the grader on Linux, in a virtual machine (WSL 2 on Windows, Lima or UTM on macOS), or on a "
            "Linux server; generating assignments and writing feedback works here."
        )
