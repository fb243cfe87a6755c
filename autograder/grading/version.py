"""The versions that results depend on: of grading itself, of Python, and of libraries."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.core.extensions import name_package
from autograder.questions import list_foreign_entries

GRADING_VERSION = 10
"""The version of grading. Stored results of another version are computed again.

Raise it by one with every change after which a verdict, the points or a student sentence of a result can
differ for the same submission and rubric. Do not raise it for anything else, such as comments, names, speed,
pages and commands. `tests/golden` fails if a verdict changed and it was not raised.
"""

_ALWAYS_USED = ("numpy", "python-flint", "torch")
"""Distributions that count whatever a rubric preloads: answers compute with numpy and torch, and formulas are
compared with flint."""


def list_versions(preload: Iterable[str] = (), kinds: Iterable[str] = ()) -> list[str]:
    """List the versions that results depend on, one text each, such as ``numpy 2.1.0``.

    Args:
        preload: modules that the rubric preloads; the distributions that provide them count.
        kinds: of the rubric's questions; a kind of another package counts by the version of its distribution.
    """
    versions = [f"python {platform.python_version()}", platform.machine()]
    versions += map(_name_version, _ALWAYS_USED)
    # Sorted: the list enters digests, so its order must not vary between runs.
    modules = sorted({module.partition(".")[0] for module in preload})
    for module in modules:
        versions += _list_module_versions(module)
    for entry in list_foreign_entries(sorted(kinds)):
        version_text = entry.dist.version if entry.dist else "without a version"
        versions.append(f"kind {entry.name} {name_package(entry)} {version_text}")
    return list(dict.fromkeys(versions))


def _name_version(distribution: str) -> str:
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{distribution} absent"


def _list_module_versions(module: str) -> list[str]:
    """List the versions of the distributions that provide a module; if none does, the digest of its file."""
    # The standard library is covered by Python's version.
    if module in sys.stdlib_module_names:
        return []
    owners = importlib.metadata.packages_distributions().get(module)
    if owners:
        return [_name_version(name) for name in sorted(set(owners))]
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return [f"{module} absent"]
    # A module without a distribution, such as a local file, has no version: its content counts.
    return [f"{module} {hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()}"]
