"""Question kinds: what is asked in the sandbox, and how the answers are judged outside.

A new kind is one module in `kinds`, one entry in `KINDS`, and one test file. What kinds are made of lies in
`planning` (what is asked), `values` (what comes back) and `judging` (what is made of it).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from autograder.checks.base import Check
from autograder.checks.judging.manual import ManualItem, manual_options
from autograder.checks.options import place
from autograder.errors import RubricError
from autograder.kinds.general.behaviour import BehaviourCheck
from autograder.kinds.general.causality import CausalityCheck
from autograder.kinds.general.choice import ChoiceCheck
from autograder.kinds.general.count import CountCheck
from autograder.kinds.general.gradient import GradientCheck
from autograder.kinds.general.quantity import QuantityCheck
from autograder.kinds.general.shape import ShapeCheck
from autograder.kinds.general.symbolic import SymbolicCheck
from autograder.kinds.general.table import TableCheck
from autograder.kinds.general.tracing import TracingCheck
from autograder.kinds.general.value import ValueCheck
from autograder.kinds.general.written import WrittenCheck
from autograder.kinds.transformers.audit import AuditCheck
from autograder.kinds.transformers.decoding import DecodingCheck
from autograder.kinds.transformers.implementation import ImplementationCheck
from autograder.kinds.transformers.memorisation import MemorisationCheck
from autograder.kinds.transformers.repair import RepairCheck
from autograder.kinds.transformers.training import TrainingCheck
from autograder.kinds.transformers.visibility import VisibilityCheck
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
