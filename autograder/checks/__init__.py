"""Question kinds: what is asked in the sandbox, and how the answers are judged outside.

A new kind is one file here, one entry in `KINDS`, and one test file.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from autograder.checks.audit import AuditCheck
from autograder.checks.base import Check
from autograder.checks.behaviour import BehaviourCheck
from autograder.checks.causality import CausalityCheck
from autograder.checks.choice import ChoiceCheck
from autograder.checks.count import CountCheck
from autograder.checks.decoding import DecodingCheck
from autograder.checks.gradient import GradientCheck
from autograder.checks.implementation import ImplementationCheck
from autograder.checks.manual import ManualItem, manual_options
from autograder.checks.memorisation import MemorisationCheck
from autograder.checks.options import place
from autograder.checks.quantity import QuantityCheck
from autograder.checks.repair import RepairCheck
from autograder.checks.shape import ShapeCheck
from autograder.checks.symbolic import SymbolicCheck
from autograder.checks.table import TableCheck
from autograder.checks.tracing import TracingCheck
from autograder.checks.training import TrainingCheck
from autograder.checks.value import ValueCheck
from autograder.checks.visibility import VisibilityCheck
from autograder.checks.written import WrittenCheck
from autograder.errors import RubricError
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
        raise RubricError(f"question {question.id!r}: unknown kind {question.kind!r}; {hint}")
    for item in question.items:
        if item.manual:
            manual_options(question, item)
            names = (*field_names(ManualItem), *field_names(kind.item_type))
            known(item.options, names, place(question, item))
    try:
        return kind(question, rubric)
    except RubricError as error:
        where = place(question)
        if str(error).startswith(where):
            raise
        raise RubricError(f"{where}, {error}") from error
