"""The reference solutions on their way into a box: one ZIP file, from which Python imports."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from autograder.core.errors import SandboxUnavailable
from autograder.core.paths import is_regular

NAME = ".packages.zip"
"""Name of the file in the working directory of a box."""


def pack_packages(packages: Sequence[tuple[str, Path]]) -> dict[str, bytes]:
    """Pack the modules of packages into a file; no packages, no file. Links are not followed.

    Args:
        packages: name → folder.

    Raises:
        SandboxUnavailable: a module cannot be read.
    """
    if not packages:
        return {}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, folder in packages:
            modules = [path for path in sorted(folder.rglob("*.py")) if is_regular(path)]
            inner = [PurePosixPath(name, path.relative_to(folder)) for path in modules]
            # Without its own entry, a folder that has no __init__.py is not a package.
            for entry in sorted({above for member in inner for above in member.parents} - {PurePosixPath()}):
                archive.writestr(zipfile.ZipInfo(f"{entry}/"), b"")
            for member, path in zip(inner, modules, strict=True):
                try:
                    archive.writestr(zipfile.ZipInfo(str(member)), path.read_bytes())
                except OSError as error:
                    raise SandboxUnavailable(f"{path}: cannot be read: {error}") from error
    return {NAME: file.getvalue()}
