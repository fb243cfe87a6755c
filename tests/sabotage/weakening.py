"""Definition of a weakening: an edit that removes one layer, and the detectors that must notice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
FILTERS = "autograder/sandbox/inside/seccomp.py"


class Edit(Struct, frozen=True):
    """The replacement of one text in one file."""

    file: str
    before: str
    after: str

    def applied(self, content: str) -> str:
        """Return the content with the text replaced.

        Raises:
            StaleEditError: the text does not occur exactly once, because the program has changed.
        """
        count = content.count(self.before)
        if count != 1:
            raise StaleEditError(f"{self.file}: expected once, found {count} times: {self.before!r}")
        return content.replace(self.before, self.after)


class StaleEditError(Exception):
    """A weakening no longer fits the program; it must be rewritten, not dropped."""


class Weakening(Struct, frozen=True):
    """One removed layer."""

    layer: str
    """The layer, one of `LAYERS`."""
    name: str
    """The effect on the program, in a few words."""
    edits: tuple[Edit, ...]
    noticed_by: tuple[str, ...]
    """Names of `DETECTORS`, the most likely first; one that notices is enough."""


LAYERS = ("filter", "mounts", "uid", "limits", "wire", "judges", "scoring", "escaping", "store")


def weakened(contents: Mapping[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    """Return the changed files with their new text.

    Args:
        contents: file → text, of all files in the edits.
        edits: edits in order; a file may have several.

    Raises:
        StaleEditError: an edit does not fit.
    """
    changed: dict[str, str] = {}
    for edit in edits:
        changed[edit.file] = edit.applied(changed.get(edit.file, contents[edit.file]))
    return changed


class Copy:
    """A copy of the program in a separate folder, to be weakened there; the working tree is never changed."""

    def __init__(self, folder: Path) -> None:
        """Copy the files under version control, with uncommitted changes."""
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in listed.stdout.decode().split("\0"):
            source = ROOT / name
            if name and source.is_file() and not source.is_symlink():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(source.read_bytes())

    def weaken(self, weakening: Weakening) -> dict[str, bytes]:
        """Apply the edits; return the old contents of the files.

        Raises:
            StaleEditError: an edit does not fit; nothing has been changed.
        """
        files = {edit.file for edit in weakening.edits}
        contents = {name: (self.folder / name).read_text(encoding="utf-8") for name in files}
        changed = weakened(contents, weakening.edits)
        before = {name: contents[name].encode() for name in changed}
        if FILTERS in changed:
            filters = sorted((self.folder / FILTERS).with_name("filters").iterdir())
            before |= {str(path.relative_to(self.folder)): path.read_bytes() for path in filters}
        for name, text in changed.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        if FILTERS in changed:  # compiled files would be loaded instead
            subprocess.run(
                [sys.executable, "-B", "-m", "autograder.sandbox.inside.seccomp"], cwd=self.folder, check=True
            )
        return before

    def restore(self, before: Mapping[str, bytes]) -> None:
        """Undo the edits."""
        for name, content in before.items():
            (self.folder / name).write_bytes(content)
