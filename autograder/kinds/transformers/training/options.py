"""What a question about training may state."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from autograder.checks.judging.known import Worth
from autograder.checks.options import Given

Count = Annotated[int, Meta(ge=1, le=1000)]


class TrainingQuestion(Struct, frozen=True):
    """Options of a ``training`` question."""

    model: Given
    """The language model of a locked cell; it takes a keyword ``dropout``."""
    batches: Given
    """The batches of a locked cell: the first two arguments are tokens and mask, and a seed is added last."""
    args: tuple[Any, ...] = ()
    """Of the trainer, behind model and batches: plain numbers."""
    steps: Count = 8
    """Of the run without an interruption."""
    stop: Count = 3
    """The step after which the checkpoint is made."""
    further: Count = 3
    """Steps that the first trainer goes on for, after its checkpoint."""
    dropout: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    """Of the runs in which random numbers matter."""
    sizes: dict[str, tuple[int, ...]] = {}
    precision: str = "float64"


class TrainingItem(Struct, frozen=True):
    """Options of an item of a ``training`` question."""

    measure: Literal["loss", "updates", "learns", "resume"]
    """``loss``: the first loss; ``updates``: every further one; ``learns``: the loss falls; ``resume``: going
    on from a checkpoint equals never having stopped, bit for bit."""
    margin: Decimal = Decimal("0.9")
    """Of ``learns``: the loss afterwards is at most this share of the loss before."""
    mistake: tuple[Worth, ...] = ()
