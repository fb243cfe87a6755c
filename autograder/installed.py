"""Extensions from installed packages, found through entry points: kinds of questions."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from autograder.errors import AutograderError


class EntryGroup(Struct, frozen=True):
    """One group of entry points, and how errors refer to its members."""

    name: str
    what: str
    """In the singular, such as ``"kind"``."""
    error: type[AutograderError]


@functools.cache
def registered(group: EntryGroup) -> Mapping[str, EntryPoint]:
    """Return all entry points of a group by name, without loading them.

    Raises:
        AutograderError: two packages register one name; of the group's type.
    """
    found: dict[str, EntryPoint] = {}
    # Sorted, so that the error about a duplicate does not depend on the order of sys.path.
    # Sorted, so that the order of the kinds does not depend on sys.path.
    for entry in sorted(entry_points(group=group.name), key=lambda one: one.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise group.error(
                f"{group.what} {entry.name!r}: two packages register it: {package(other)}, {package(entry)}"
            )
    return found


def package(entry: EntryPoint) -> str:
    """Return the distribution that registers an entry point."""
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def load(group: EntryGroup, name: str) -> Any:
    """Load the object that is registered under a name.

    Args:
        group: the group of entry points.
        name: of the entry point.

    Raises:
        AutograderError: the name is unknown (with a suggestion), or its package cannot be loaded; of the
            group's type.
    """
    entry = registered(group).get(name)
    if entry is None:
        known = sorted(registered(group))
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known)}"
        if not known:
            hint = "none is registered; install this package again: pip install -e ."
        raise group.error(f"unknown {group.what} {name!r}; {hint}")
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise group.error(f"{group.what} {name!r}: {package(entry)} cannot be loaded: {error}") from error
