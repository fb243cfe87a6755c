"""Kinds of questions, a folder each; kinds of other packages are found in the same way as ours.

An installed package registers a kind in its entry points, as pyproject.toml does for ours::

    [project.entry-points."autograder.questions"]
    riddle = "their_package.riddle:KIND"

The name is the one in rubrics, and the object is an `autograder.questions.base.kind.Kind`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any

from autograder.core import extensions
from autograder.core.errors import Place, RubricError
from autograder.core.extensions import EntryGroup, name_package
from autograder.core.tables import check_known_keys, list_field_names
from autograder.questions.base.base import Check
from autograder.questions.base.judging.manual import ManualItem, read_manual_options
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import locate_question
from autograder.rubric import Question, Rubric

GROUP = EntryGroup("autograder.questions", "kind", RubricError)
OURS = "autograder"
"""The name of this package."""


def list_registered() -> Mapping[str, EntryPoint]:
    """Return every registered kind by its name, without loading any.

    Raises:
        RubricError: two packages register one name.
    """
    return extensions.list_entries(GROUP)


# Loading imports the kind's package, so each kind is loaded once.
@functools.cache
def load_kind(name: str) -> Kind:
    """Return the kind with a name.

    Raises:
        RubricError: there is none (with a suggestion), or its package cannot be loaded.
    """
    loaded = extensions.load_entry(GROUP, name)
    if not isinstance(loaded, Kind) or loaded.name != name:
        entry = list_registered()[name]
        raise RubricError(f"kind {name!r}: {name_package(entry)}: {entry.value} is no Kind of this name")
    return loaded


def load_kinds() -> Mapping[str, Kind]:
    """Return every kind by its name."""
    return {name: load_kind(name) for name in list_registered()}


def list_forms() -> Mapping[str, str]:
    """Return the form of answers to each kind, for the check that students run."""
    return {name: loaded.form for name, loaded in load_kinds().items()}


def get_check_type(name: str) -> type[Any]:
    """Return the check class of a kind; see `load_kind`."""
    return load_kind(name).check


def make_check(question: Question, rubric: Rubric) -> Check:
    """Return the check of one question.

    Raises:
        RubricError: the kind is unknown (with a suggestion), or one of its options is wrong.
    """
    try:
        check = get_check_type(question.kind)
    except RubricError as error:
        raise RubricError(str(error), locate_question(question).extend("", "kind")) from error
    for item in question.items:
        if item.manual:
            read_manual_options(question, item)
            # Options for automatic grading may remain in an item that is graded manually.
            names = (*list_field_names(ManualItem), *list_field_names(check.item_type))
            check_known_keys(item.options, names, locate_question(question, item))
    try:
        instance: Check = check(question, rubric)
    except RubricError as error:
        where = locate_question(question)
        # The kind may have named the question already; otherwise prepend its place.
        if error.path[: len(where.path)] == where.path:
            raise
        said = str(error) if str(error).startswith(where) else f"{where}, {error}"
        raise RubricError(said, Place("", *where.path, *error.path)) from error
    return instance


def list_foreign_entries(names: Iterable[str]) -> list[EntryPoint]:
    """Return the entry points of those of these kinds that another package registers."""
    entries = [list_registered()[name] for name in dict.fromkeys(names) if name in list_registered()]
    return [entry for entry in entries if name_package(entry) != OURS]
