"""Whether the parameters of a class are those that the question states, and learn."""

from __future__ import annotations

from decimal import Decimal
from math import prod

from msgspec.structs import replace

from autograder.checks.judging.results import Finding
from autograder.kinds.transformers.implementation.formula import ROLES
from autograder.kinds.transformers.implementation.recognition import Recognised
from autograder.records import Status

_PASSED_THROUGH = ("attention.dropout-evaluation", "attention.state")
"""What is wrong with a class that can be called; its parameters may be right."""
_NONE_OF_ITS_OWN = ("attention.shared-weights", "attention.not-projected")
"""Slips with which a projection is missing, whatever gets a gradient."""
_DOES_NOT_LEARN = "property.no-gradient"


def kept(
    recognised: Recognised, learning: Finding | None, d_model: int, points: Decimal, credit: str
) -> Finding | None:
    """What a contract comes to.

    Args:
        recognised: the class.
        learning: what is wrong with its gradients.
        d_model: the width.
        points: of the item.
        credit: ``"each"``: half of them for projections that are there and learn, but not under the stated
            names or not alone, and for those that are as stated when no pass shows whether they learn.
    """
    finding = recognised.finding
    if finding is not None and finding.code not in _PASSED_THROUGH:
        learning = finding
    found = recognised.unlike or learning
    if found is None or found.status is not Status.FAILED or credit != "each":
        return found
    if recognised.unlike is None:
        half = bool(recognised.parameters) and learning is not None and _unknown(learning)
    else:
        half = learning is None and _four(recognised, d_model)
    return replace(found, points=points / 2) if half else found


def _unknown(learning: Finding) -> bool:
    """Whether nothing was seen of learning, because no pass came to an end."""
    return learning.status is Status.FAILED and learning.code != _DOES_NOT_LEARN


def _four(recognised: Recognised, d_model: int) -> bool:
    """Whether there are as many projections as are asked for, as far as that can be seen."""
    explanation = recognised.explanation
    if explanation is not None and explanation.code in _NONE_OF_ITS_OWN:
        return False
    held = sum(prod(one.shape) for one in recognised.parameters if one.filled and len(one.shape) > 1)
    return recognised.assignment is not None or held >= len(ROLES) * d_model * d_model
