"""Extensions from installed packages, found through entry points: kinds of questions."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from autograder.core.errors import AutograderError


class EntryGroup(Struct, frozen=True):
    """One group of entry points, and how errors refer to its members."""

    name: str
    what: str
    """In the singular, such as ``"kind"``."""
    error: type[AutograderError]


@functools.cache
def list_entries(group: EntryGroup) -> Mapping[str, EntryPoint]:
    """Return all entry points of a group by name, without loading them.

    Raises:
        AutograderError: two packages register one name; of the group's type.
    """
    entries: dict[str, EntryPoint] = {}
    # Sorted, so that the error about a duplicate does not depend on the order of sys.path.
    # Sorted, so that the order of the kinds does not depend on sys.path.
    for entry in sorted(entry_points(group=group.name), key=lambda entry_point: entry_point.name):
        other = entries.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise group.error(
                f"{group.what} {entry.name!r}: two packages register it: {name_package(other)}, "
                f"{name_package(entry)}"
            )
    return entries


def name_package(entry: EntryPoint) -> str:
    """Return the distribution that registers an entry point."""
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def load_entry(group: EntryGroup, name: str) -> Any:
    """Load the object that is registered under a name.

    Args:
        group: the group of entry points.
        name: of the entry point.

    Raises:
        AutograderError: the name is unknown (with a suggestion), or its package cannot be loaded; of the
            group's type.
    """
    entry = list_entries(group).get(name)
    if entry is None:
        names = sorted(list_entries(group))
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(names)}"
        if not names:
            hint = "none is registered; install this package again: pip install -e ."
        raise group.error(f"unknown {group.what} {name!r}; {hint}")
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise group.error(
            f"{group.what} {name!r}: {name_package(entry)} cannot be loaded: {error}"
        ) from error
