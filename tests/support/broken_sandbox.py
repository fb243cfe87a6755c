"""The real sandbox without one of its layers: a copy of its sources with a changed line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

import autograder
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.proof.canaries import CANARIES, Canary
from autograder.sandbox.runtime import get_current_runtime

Edits = Mapping[str, Mapping[str, str]]
"""File of autograder/sandbox/inside → text that must occur in it → its replacement."""


class BrokenSandbox:
    """Start sandboxes whose untrusted side runs from the changed copy.

    Raises:
        AssertionError: a text to replace does not occur, because the sources have changed.
    """

    def __init__(self, folder: Path, edits: Edits) -> None:
        folder.mkdir(exist_ok=True)
        package = Path(autograder.__file__).parent
        copy = folder / "autograder"
        ignored = shutil.ignore_patterns("__pycache__")
        for part in ("sandbox", "checking", "core"):
            shutil.copytree(package / part, copy / part, ignore=ignored)
        for path in package.glob("*.py"):
            shutil.copyfile(path, copy / path.name)
        for name, replacements in edits.items():
            path = copy / "sandbox" / "inside" / name
            text = path.read_text("utf-8")
            for old, new in replacements.items():
                assert old in text, f"{name}: {old!r} does not occur"
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        self.runtime = msgspec.structs.replace(get_current_runtime(), package_root=str(folder))

    def start(self, environment: Environment) -> NamespaceSandbox:
        """See `autograder.sandbox.pool.start_sandbox`."""
        return NamespaceSandbox(environment, self.runtime)


def tried_here() -> list[Canary]:
    """Return the canaries that apply to this user's boxes, which share an ordinary user's id."""
    return [canary for canary in CANARIES if os.geteuid() == 0 or not canary.own_users]
