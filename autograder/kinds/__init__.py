"""Kinds of questions, a folder each; kinds of other packages are found in the same way as ours.

An installed package registers a kind in its entry points, as pyproject.toml does for ours::

    [project.entry-points."autograder.kinds"]
    riddle = "their_package.riddle:KIND"

The name is the one in rubrics, and the object is an `autograder.checks.kind.Kind`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any

from autograder import installed
from autograder.checks.base import Check
from autograder.checks.judging.manual import ManualItem, manual_options
from autograder.checks.kind import Kind
from autograder.checks.options import place
from autograder.errors import Place, RubricError
from autograder.installed import EntryGroup, package
from autograder.rubric import Question, Rubric
from autograder.tables import check_known_keys, field_names

GROUP = EntryGroup("autograder.kinds", "kind", RubricError)
OURS = "autograder"
"""The name of this package."""


def registered() -> Mapping[str, EntryPoint]:
    """Return every registered kind by its name, without loading any.

    Raises:
        RubricError: two packages register one name.
    """
    return installed.registered(GROUP)


# Loading imports the kind's package, so each kind is loaded once.
@functools.cache
def kind(name: str) -> Kind:
    """Return the kind with a name.

    Raises:
        RubricError: there is none (with a suggestion), or its package cannot be loaded.
    """
    if name not in registered():
        for known, other in kinds().items():
            if name in other.aliases:
                raise RubricError(f"unknown kind {name!r}; did you mean {known!r}?")
    loaded = installed.load(GROUP, name)
    if not isinstance(loaded, Kind) or loaded.name != name:
        entry = registered()[name]
        raise RubricError(f"kind {name!r}: {package(entry)}: {entry.value} is no Kind of this name")
    return loaded


def kinds() -> Mapping[str, Kind]:
    """Return every kind by its name."""
    return {name: kind(name) for name in registered()}


def forms() -> Mapping[str, str]:
    """Return the form of answers to each kind, for the check that students run."""
    return {name: one.form for name, one in kinds().items()}


def check_of(name: str) -> type[Any]:
    """Return the check class of a kind; see `load_kind`."""
    return kind(name).check


def make_check(question: Question, rubric: Rubric) -> Check:
    """Return the check of one question.

    Raises:
        RubricError: the kind is unknown (with a suggestion), or one of its options is wrong.
    """
    try:
        check = check_of(question.kind)
    except RubricError as error:
        raise RubricError(str(error), place(question).at("", "kind")) from error
    for item in question.items:
        if item.manual:
            manual_options(question, item)
            # Options for automatic grading may remain in an item that is graded manually.
            names = (*field_names(ManualItem), *field_names(check.item_type))
            check_known_keys(item.options, names, place(question, item))
    try:
        made: Check = check(question, rubric)
    except RubricError as error:
        where = place(question)
        # The kind may have named the question already; otherwise prepend its place.
        if error.path[: len(where.path)] == where.path:
            raise
        said = str(error) if str(error).startswith(where) else f"{where}, {error}"
        raise RubricError(said, Place("", *where.path, *error.path)) from error
    return made


def foreign_entries(names: Iterable[str]) -> list[EntryPoint]:
    """Return the entry points of those of these kinds that another package registers."""
    entries = [registered()[name] for name in dict.fromkeys(names) if name in registered()]
    return [entry for entry in entries if package(entry) != OURS]
