"""What installed packages add to this one through their entry points: kinds of questions."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from autograder.errors import AutograderError


class EntryGroup(Struct, frozen=True):
    """One group of entry points, and how errors speak of what is registered in it."""

    name: str
    what: str
    """In the singular, such as ``"kind"``."""
    error: type[AutograderError]


@functools.cache
def registered(group: EntryGroup) -> Mapping[str, EntryPoint]:
    """Everything that is registered in a group, by name; none of it is loaded.

    Raises:
        AutograderError: two packages register one name; of the group's type.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group.name), key=lambda one: one.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise group.error(
                f"{group.what} {entry.name!r}: two packages register it: {package(other)}, {package(entry)}"
            )
    return found


def package(entry: EntryPoint) -> str:
    """The distribution that registers something."""
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def load(group: EntryGroup, name: str) -> Any:
    """What is registered under a name.

    Args:
        group: where.
        name: of what is wanted.

    Raises:
        AutograderError: nothing is (with a suggestion), or its package cannot be loaded; of the group's type.
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
