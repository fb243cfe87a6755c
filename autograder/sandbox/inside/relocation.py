"""Lets modules with moved files continue to import, from the present paths of their files.

Values that a module has computed from its old path, such as a folder of data, are not changed; they are used
while the zygote starts, which sees both places.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any


def find_new_path(path: str, moved: Mapping[str, str]) -> str:
    """Return the present path of a file.

    Args:
        path: the old path.
        moved: folder or file → its present path; none is below another.
    """
    for before, now in moved.items():
        if path == before or path.startswith(f"{before}/"):
            return now + path[len(before) :]
    return path


def update_import_paths(moved: Mapping[str, str]) -> None:
    """Make this process import from the present paths, also for packages that are already imported.

    Args:
        moved: see `find_new_path`.
    """
    if not moved:
        return
    sys.path[:] = [find_new_path(path, moved) for path in sys.path]
    # The cache holds finders for the old paths.
    sys.path_importer_cache.clear()
    for module in [*sys.modules.values()]:
        if isinstance(module, ModuleType):
            _update_module(module, moved)


def _update_module(module: ModuleType, moved: Mapping[str, str]) -> None:
    _update_attributes(module, ("__file__", "__cached__"), moved)
    search = vars(module).get("__path__")
    if isinstance(search, list):
        search[:] = _update_paths(search, moved)
    spec = vars(module).get("__spec__")
    if spec is not None:
        _update_attributes(spec, ("origin", "_cached"), moved)
        if isinstance(spec.submodule_search_locations, list):
            spec.submodule_search_locations[:] = _update_paths(spec.submodule_search_locations, moved)
        _update_attributes(spec.loader, ("path",), moved)


def _update_attributes(target: object, names: Sequence[str], moved: Mapping[str, str]) -> None:
    for name in names:
        attributes = getattr(target, "__dict__", {})  # some modules of torch refuse assignment
        value = attributes.get(name)
        if isinstance(value, str):
            attributes[name] = find_new_path(value, moved)


def _update_paths(paths: Sequence[Any], moved: Mapping[str, str]) -> list[Any]:
    """Replace old paths. A spec and its module may share one list: the second pass changes nothing."""
    return [find_new_path(path, moved) if isinstance(path, str) else path for path in paths]
