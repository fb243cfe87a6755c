"""What a box gets of this machine: interpreter, libraries, reference solutions; and the supported systems."""

from __future__ import annotations

import io
import platform
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from autograder.core.errors import SandboxUnavailable
from autograder.core.paths import is_regular

SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib64", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache",)
HIDDEN_PACKAGES = ("autograder", "reference", "rubrics", "tests")


class Runtime(Struct, frozen=True):
    """One Python installation, as the zygote needs it described."""

    executable: str
    sys_path: tuple[str, ...]
    """Standard library and installed packages: the import path in a box."""
    readable: tuple[str, ...]
    """Folders and files that are visible, read-only, at the same path."""
    masked: tuple[str, ...]
    """Folders below them that are hidden: the grader's own code, if it is installed as a package."""
    package_root: str
    """The folder that holds this package; the zygote imports its modules from it before the jail."""


def get_current_runtime() -> Runtime:
    """Return the installation that runs the grader; student code uses the same one."""
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED") or ""}
    installed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    modules = [path for path in [*sorted(standard), *installed] if path and Path(path).is_dir()]
    libraries = [sysconfig.get_config_var("LIBDIR") or ""]
    candidates = [*SYSTEM_LIBRARIES, *SYSTEM_FILES, *libraries, *modules]
    # `exists` follows links; a link whose target is missing here is passed on as it is.
    readable = [path for path in candidates if path and (Path(path).exists() or Path(path).is_symlink())]
    # The grader may be installed among the packages; a checkout is not visible at all.
    masked = [
        str(Path(folder, name))
        for folder in installed
        for name in HIDDEN_PACKAGES
        if Path(folder, name).is_dir()
    ]
    return Runtime(
        executable=sys.executable,
        sys_path=tuple(dict.fromkeys(modules)),
        readable=_drop_nested(readable),
        masked=tuple(masked),
        package_root=str(Path(__file__).resolve().parents[2]),
    )


def _drop_nested(paths: list[str]) -> tuple[str, ...]:
    """Drop the paths that are below another path of the list (a link covers nothing)."""
    unique = list(dict.fromkeys(paths))
    covering = [Path(path) for path in unique if not Path(path).is_symlink()]
    return tuple(
        path for path in unique if not any(Path(path).is_relative_to(c) for c in covering if str(c) != path)
    )


def refuse_other_systems() -> None:
    """Refuse to run on systems without Linux namespaces; the message names the alternatives.

    Raises:
        SandboxUnavailable: this is not Linux.
    """
    if platform.system() != "Linux":
        raise SandboxUnavailable(
            f"student code is confined with Linux namespaces, and this is {platform.system()}. "
            "Run the grader on Linux, in a virtual machine (WSL 2 on Windows, Lima or UTM on macOS), or on a "
            "Linux server; generating assignments and writing feedback works here."
        )


# ---------------------------------------------------------------- reference solutions
# They go into a box as one ZIP file, from which Python imports.


PACKAGES = ".packages.zip"
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
    return {PACKAGES: file.getvalue()}
