"""Question kinds: what is asked in the sandbox, and how the answers are judged outside.

A new kind is one module in `kinds`, one entry in `KINDS`, and one test file. What kinds are made of lies in
`planning` (what is asked), `values` (what comes back) and `judging` (what is made of it).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from autograder.checks.base import Check
from autograder.checks.judging.manual import ManualItem, manual_options
from autograder.checks.kinds.audit import AuditCheck
from autograder.checks.kinds.behaviour import BehaviourCheck
from autograder.checks.kinds.causality import CausalityCheck
from autograder.checks.kinds.choice import ChoiceCheck
from autograder.checks.kinds.count import CountCheck
from autograder.checks.kinds.decoding import DecodingCheck
from autograder.checks.kinds.gradient import GradientCheck
from autograder.checks.kinds.implementation import ImplementationCheck
from autograder.checks.kinds.memorisation import MemorisationCheck
from autograder.checks.kinds.quantity import QuantityCheck
from autograder.checks.kinds.repair import RepairCheck
from autograder.checks.kinds.shape import ShapeCheck
from autograder.checks.kinds.symbolic import SymbolicCheck
from autograder.checks.kinds.table import TableCheck
from autograder.checks.kinds.tracing import TracingCheck
from autograder.checks.kinds.training import TrainingCheck
from autograder.checks.kinds.value import ValueCheck
from autograder.checks.kinds.visibility import VisibilityCheck
from autograder.checks.kinds.written import WrittenCheck
from autograder.checks.options import place
from autograder.errors import Place, RubricError
from autograder.rubric import Question, Rubric
from autograder.tables import field_names, known

KINDS: Mapping[str, type[Check]] = {
    kind.kind: kind
    for kind in (
        SymbolicCheck,
        CountCheck,
        ShapeCheck,
        ValueCheck,
        QuantityCheck,
        BehaviourCheck,
        ImplementationCheck,
        DecodingCheck,
        TrainingCheck,
        MemorisationCheck,
        RepairCheck,
        AuditCheck,
        ChoiceCheck,
        TableCheck,
        TracingCheck,
        VisibilityCheck,
        CausalityCheck,
        GradientCheck,
        WrittenCheck,
    )
}
"""Every question kind by its name in the rubric."""


def make_check(question: Question, rubric: Rubric) -> Check:
    """The check of one question.

    Raises:
        RubricError: the kind is not known (with a suggestion), or one of its options is wrong.
    """
    kind = KINDS.get(question.kind)
    if kind is None:
        close = difflib.get_close_matches(question.kind, KINDS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(KINDS))}"
        raise RubricError(f"unknown kind {question.kind!r}; {hint}", place(question).at("", "kind"))
    for item in question.items:
        if item.manual:
            manual_options(question, item)
            names = (*field_names(ManualItem), *field_names(kind.item_type))
            known(item.options, names, place(question, item))
    try:
        return kind(question, rubric)
    except RubricError as error:
        where = place(question)
        if error.path[: len(where.path)] == where.path:
            raise
        said = str(error)
        if not said.startswith(where):
            raise RubricError(f"{where}, {said}", Place("", *where.path, *error.path)) from error
        raise RubricError(said, Place("", *_named(said, question).path)) from error


def _named(said: str, question: Question) -> Place:
    """The place of an error of a kind that brings no keys: what it names of the question's tables."""
    places: list[tuple[Place, Mapping[str, Any]]] = [
        *((place(question, item), item.options) for item in question.items),
        (place(question), question.options),
    ]
    where, table = next(one for one in places if said.startswith(one[0]))
    entries: Iterator[tuple[Place, Mapping[str, Any]]] = (
        (where.at("", key, number), entry)
        for key, value in table.items()
        if isinstance(value, list | tuple)
        for number, entry in enumerate(value)
        if isinstance(entry, Mapping) and f"'{entry.get('code', entry.get('id'))}'" in said
    )
    where, table = next(entries, (where, table))
    return next((where.at("", key) for key in table if f": {key}: " in said), where)
