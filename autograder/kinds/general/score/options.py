"""What a rubric says of a ``score`` question: where outputs come from, their form, what they earn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from autograder.checks.options import check_points, place
from autograder.errors import Place, RubricError
from autograder.rubric import Item, Question

Form = Literal["numbers", "probabilities", "log-probabilities", "classes", "texts", "tensors"]
"""What stands for one example; ``tensors`` are not outputs but the weights of a whole model."""
TENSORS = ".safetensors"
READ_BY_NUMPY = (".npy", ".csv", ".txt")
_UNPICKLED = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt", ".npz", ".joblib")
_DISTRIBUTIONS = ("probabilities", "log-probabilities")
_RELATIVE = 1e-6
"""A measure that misses a tier by less was rounded away from it."""


class Tier(Struct, frozen=True, forbid_unknown_fields=True):
    """A step: ``{ at = 2.5, points = 4 }``."""

    at: Decimal
    """The measure that earns the points: at least, or at most, as ``better`` says."""
    points: Decimal


class ScoreQuestion(Struct, frozen=True):
    """Options of a ``score`` question."""

    asks: Literal["call", "variable", "file"] = "call"
    """``call``: the answer is a function or model; ``variable``: it holds predictions; ``file``: they, or a
    checkpoint, lie beside the notebook when it has run."""
    gives: Literal["numbers", "probabilities", "log-probabilities", "classes", "texts"] = "numbers"
    """What stands for one example."""
    shape: tuple[int, ...] | None = None
    """Of what stands for one example; None: any, but the same for all."""
    classes: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Of ``classes``: how many there are; 0: any whole number."""
    reads: str = ""
    """Its name; the ending says how it is read."""
    method: str = ""
    """A method of the answer that is called; empty: the answer itself."""
    mode: Literal["as-is", "eval"] = "as-is"
    """``eval``: the model is put into evaluation mode first."""
    batch: Annotated[int, Meta(ge=1, le=4096)] = 32
    """Examples in one call, at most."""
    reported: str = ""
    """A variable with the number that the notebook itself arrives at, or a list that ends with it."""
    printed: str = ""
    """Words after which the notebook prints that number."""

    @property
    def form(self) -> Form:
        """What comes from the student's side."""
        return "tensors" if self.reads.endswith(TENSORS) else self.gives


class ScoreItem(Struct, frozen=True):
    """Options of an item of a ``score`` question."""

    tier: tuple[Tier, ...] = ()
    better: Literal["lower", "higher"] = "lower"
    floor: Decimal | None = None
    """What an untrained model or a constant gets; nothing is earned at it or below."""
    metric: str = ""
    """Which one, where the reference measures several."""

    @property
    def steps(self) -> tuple[Tier, ...]:
        """The tiers, from the first that is reached to the best."""
        return tuple(sorted(self.tier, key=lambda one: one.at, reverse=self.better == "lower"))

    def reaches(self, value: float, at: float) -> bool:
        """Whether a measure is as good as a tier; what rounding explains counts as reached."""
        slack = _RELATIVE * abs(at)
        return value <= at + slack if self.better == "lower" else value >= at - slack

    def beats(self, value: float, floor: float) -> bool:
        """Whether a measure is better than the floor, and not by rounding alone."""
        slack = _RELATIVE * abs(floor)
        return value < floor - slack if self.better == "lower" else value > floor + slack


def check_question(question: Question, options: ScoreQuestion) -> None:
    """Refuse a question that nothing can be measured of.

    Raises:
        RubricError: names the question.
    """
    where = place(question)
    if not question.answer or not question.reference:
        raise RubricError("answer, reference: something to measure, and what measures it, are needed", where)
    _check_file(options, where)
    if options.asks != "call" and (options.method or options.mode != "as-is"):
        raise RubricError('method, mode: they belong to asks = "call"', where)
    if options.classes and options.gives != "classes":
        raise RubricError('it belongs to gives = "classes"', where, "classes")
    if options.gives in _DISTRIBUTIONS and options.shape is not None and not options.shape:
        raise RubricError("a distribution needs an axis", where, "shape")
    if options.form in ("texts", "tensors") and options.shape is not None:
        raise RubricError(f"{options.form} have none", where, "shape")


def _check_file(options: ScoreQuestion, where: Place) -> None:
    if bool(options.reads) != (options.asks == "file"):
        raise RubricError('it is stated with asks = "file", and only then', where, "reads")
    if options.reads and not options.reads.endswith((TENSORS, *READ_BY_NUMPY)):
        known = ", ".join((TENSORS, *READ_BY_NUMPY))
        hint = ""
        if options.reads.endswith(_UNPICKLED):
            hint = "; reading such a file runs code: let the notebook load it, and ask the model"
        raise RubricError(
            f"expected a name with one of the endings {known}, got {options.reads!r}{hint}", where, "reads"
        )
    if "/" in options.reads or options.reads.startswith("."):
        raise RubricError(
            f"{options.reads!r} is not a plain file name; files lie beside the notebook", where, "reads"
        )
    if options.reads and options.gives == "texts":
        raise RubricError("a file holds numbers", where, "gives")


def check_items(question: Question, items: Iterable[tuple[Item, ScoreItem]]) -> None:
    """Refuse tiers that do not rise with the measure, or that a floor makes worthless.

    Raises:
        RubricError: names question and item.
    """
    for item, options in items:
        where = place(question, item)
        if item.points <= 0:
            raise RubricError(f"a measure earns points; got {item.points}", where, "points")
        if not options.tier:
            raise RubricError("at least one is needed: { at = 2.5, points = 4 }", where, "tier")
        numbers = [one.at for one in options.tier] + ([] if options.floor is None else [options.floor])
        if not all(one.is_finite() for one in numbers):
            raise RubricError("at, floor: expected finite numbers", where, "tier")
        steps = options.steps
        for one, other in itertools.pairwise(steps):
            if not one.points < other.points or one.at == other.at:
                said = f"{one.at} → {one.points}, {other.at} → {other.points}"
                raise RubricError(
                    f"a better measure must earn more ({options.better} is better): {said}", where, "tier"
                )
        for one in steps[:-1]:
            check_points(one.points, item.points, where, "tier")
        if steps[-1].points != item.points:
            raise RubricError(f"the best one earns {steps[-1].points}, the item {item.points}", where, "tier")
        if options.floor is not None and not options.beats(float(steps[0].at), float(options.floor)):
            said = f"the tier at {steps[0].at} is not better than the floor {options.floor}"
            raise RubricError(f"{said}: nobody can earn it", where, "floor")
