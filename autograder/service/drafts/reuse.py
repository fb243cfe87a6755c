"""Which questions need not be asked again for a draft: where nothing could come out otherwise.

A box keeps what happens in it: what one question calls may change what the next one sees. So of a notebook
with a change only what comes behind it is known already, and that only where the calls themselves stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autograder import timestamps
from autograder.grading import scoring
from autograder.kinds import foreign_entries
from autograder.records import Graded, ItemResult
from autograder.rubric import Rubric, parse, read_tables
from autograder.rubric.dependence import dependents

Table = Mapping[str, Any]
_OF_ASSIGNMENT = frozenset({"points", "title", "task", "grading", "exam"})
"""What stands in ``[assignment]`` and is asked of nobody."""
_OF_QUESTION = frozenset({"points", "title", "task", "bonus"})
_OF_ITEM = frozenset({"points", "text", "shown"})
"""What is worth something, or read: no call depends on it."""


def reusable(before: bytes, after: bytes, graded: Graded) -> dict[str, tuple[ItemResult, ...]]:
    """Results that hold for another rubric as well, by question id; none where that is not certain.

    Secret, reference, release and program have to be the same for both.

    Args:
        before: the file of the rubric by which it was graded.
        after: the file of the other one.
        graded: without any remark: a run in which something happened is not repeated in parts.
    """
    if any(note.code not in timestamps.NOTES for note in graded.score.notes):
        return {}
    old, new = read_tables(before, "before"), read_tables(after, "after")
    if old.get("variant") != new.get("variant"):
        return {}
    if _without(old["assignment"], _OF_ASSIGNMENT) != _without(new["assignment"], _OF_ASSIGNMENT):
        return {}
    rubric = parse(before)
    if foreign_entries({question.kind for question in rubric.questions}):
        return {}  # another package's kind may look at results that it does not name
    tables = {table["id"]: table for table in new["question"]}
    earlier = {table["id"]: table for table in old["question"]}
    if list(tables) != list(earlier):
        return {}
    changed = dependents({name for name, table in tables.items() if table != earlier[name]}, tables)
    called = {name for name in changed if _called(tables[name]) != _called(earlier[name])}
    results = _results(graded)
    kept = set(_settled(rubric, results))
    found: dict[str, tuple[ItemResult, ...]] = {}
    for notebook in {question.notebook for question in rubric.questions}:
        names = [question.id for question in rubric.questions if question.notebook == notebook]
        if called & set(names):
            continue
        last = max((number for number, name in enumerate(names) if name not in kept - changed), default=-1)
        found |= {name: results[name] for name in names[last + 1 :]}
    return found


def _without(table: Table, names: frozenset[str]) -> Table:
    return {key: value for key, value in table.items() if key not in names}


def _called(table: Table) -> Table:
    """A question without what is only worth something, or read."""
    items = [_without(item, _OF_ITEM) for item in table["item"]]
    return {**_without(table, _OF_QUESTION), "item": items}


def _results(graded: Graded) -> dict[str, tuple[ItemResult, ...]]:
    found: dict[str, tuple[ItemResult, ...]] = {}
    for one in graded.score.items:
        found[one.question] = (*found.get(one.question, ()), one)
    return found


def _settled(rubric: Rubric, results: Mapping[str, tuple[ItemResult, ...]]) -> Iterator[str]:
    """The questions whose results stay the same when they are scored once more."""
    again = scoring.score("", rubric, results)
    for question in rubric.questions:
        own = tuple(one for one in again.items if one.question == question.id)
        if own and own == results.get(question.id):
            yield question.id
