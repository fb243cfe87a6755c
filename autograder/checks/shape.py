"""The kind ``shape``: sizes, axis by axis, with a diagnosis in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from autograder.algebra.compare import Comparer
from autograder.algebra.nodes import Mul, Neg, Node, Num, Tuple
from autograder.algebra.parse import parse_tuple
from autograder.algebra.points import Points
from autograder.algebra.vocabulary import Vocabulary
from autograder.algebra.write import to_text
from autograder.checks.base import Evidence
from autograder.checks.compared import ComparedCheck
from autograder.checks.drawing import Inputs, sizes_in
from autograder.checks.integers import Whole, whole
from autograder.checks.options import AnswerItem, CallOptions, Mistake, place
from autograder.checks.quoting import quote, quote_shape, type_name
from autograder.checks.results import Finding, failed, review
from autograder.checks.targets import Target
from autograder.errors import RubricError, Undecided, Unreadable
from autograder.records import Tensor
from autograder.rubric import Item, Question, Rubric

MAX_AXES = 16
MAX_TEXT = 400

_SIZE = re.compile(r"^\s*(?:torch\.)?Size\s*\((.*)\)\s*$", re.DOTALL)
_TIMES = re.compile(r"(?<=\d)\s*x\s*(?=\d)")

Axes = tuple[Node, ...]


class ShapeQuestion(CallOptions, frozen=True):
    """Options of a ``shape`` question."""


class ShapeItem(AnswerItem, frozen=True):
    """Options of an item of a ``shape`` question."""

    value: tuple[int | str, ...] | None = None
    """The right sizes: numbers, sizes of the question, or formulas in the assignment's symbols."""
    accept: tuple[tuple[int | str, ...], ...] = ()
    """Further right shapes."""
    axes: tuple[str, ...] = ()
    """Names of the axes, for the explanation."""


class ShapeCheck(ComparedCheck[ShapeQuestion, ShapeItem]):
    """A shape that was written down, or the shape of what student code returns."""

    kind: ClassVar[str] = "shape"
    question_type = ShapeQuestion
    item_type = ShapeItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        self._vocabulary = Vocabulary(rubric.symbols(question))
        self._comparer = Comparer(Points(self._vocabulary.domains))
        super().__init__(question, rubric)
        for item in question.items:
            options = self.items.get(item.id)
            if options is None or options.value is None:
                continue
            if options.axes and len(options.axes) != len(options.value):
                raise RubricError(
                    f"{place(question, item)}: axes: one name for each entry of value is needed"
                )

    def read(self, value: Any, target: Target) -> tuple[Any, Finding | None]:
        """The axes as formulas; plain sizes are numbers."""
        shape = value.array if isinstance(value, Tensor) else value
        if isinstance(shape, np.ndarray):
            return tuple(Num(int(size)) for size in shape.shape), None
        if isinstance(value, str):
            axes = self._from_text(value)
            if axes is None:
                staff = f"{target.what}: {quote(value)}"
                return None, failed("shape.text", staff, what=target.what, value=quote(value))
            return axes, None
        if not isinstance(value, list | tuple):
            form = type_name(value)
            return None, failed("shape.form", f"{target.what}: {form}", what=target.what, form=form)
        entries = [self._axis(entry) for entry in value[: MAX_AXES + 1]]
        axes = tuple(entry for entry in entries if entry is not None)
        if len(axes) != len(value) or len(axes) > MAX_AXES:
            bad = next((entry for entry, axis in zip(value, entries, strict=False) if axis is None), value)
            params = {"what": target.what, "form": type_name(bad)}
            return None, failed("shape.entry", f"{target.what}: entry {type_name(bad)}", **params)
        return axes, None

    def differs(self, given: Any, right: Any, item: Item, target: Target) -> Finding | None:
        """Axis by axis; the explanation never names a right size."""
        try:
            code, wrong = self._diagnosis(given, right)
        except Undecided:
            return review(f"{target.what}: could not decide {_written(given)} against {_written(right)}")
        if not code:
            return None
        names = self.items[item.id].axes
        named = [names[axis] if axis < len(names) else str(axis + 1) for axis in wrong]
        staff = f"{target.what}: {_written(given)}, expected {_written(right)}"
        params = {"what": target.what, "shape": _written(given), "count": str(len(given))}
        return failed(code, staff, **params, axes=", ".join(named))

    def stated(self, item: Item, evidence: Evidence) -> tuple[Any, ...]:
        """The item's ``value`` and ``accept``, with the sizes that were drawn."""
        options = self.items[item.id]
        first = () if options.value is None else (options.value,)
        return tuple(self._drawn(shape, evidence) for shape in (*first, *options.accept))

    def has_value(self, item: Item) -> bool:
        """Whether the item states its ``value``."""
        return self.items[item.id].value is not None

    def wrong_value(self, mistake: Mistake, evidence: Evidence) -> Any:
        """What a named mistake looks like."""
        return self._drawn(mistake.when, evidence) if isinstance(mistake.when, list | tuple) else mistake.when

    def _drawn(self, shape: Sequence[int | str], evidence: Evidence) -> tuple[int | str, ...] | None:
        """A shape with the question's sizes put in; None when they are not known."""
        if not self.options.sizes or not any(isinstance(size, str) for size in shape):
            return tuple(shape)
        if evidence.draw is None:
            return None
        return sizes_in(shape, Inputs(self.options, evidence.draw).sizes)

    def _diagnosis(self, given: Axes, right: Axes) -> tuple[str, list[int]]:
        """A code, and the axes of ``given`` it is about; an empty code when the shapes are equal."""
        if len(given) == len(right):
            wrong = [
                axis for axis, pair in enumerate(zip(given, right, strict=True)) if not self._equal(*pair)
            ]
            if not wrong:
                return "", []
            return ("shape.permuted" if self._permuted(given, right) else "shape.axes"), wrong
        for axis in range(len(right) - 1):
            product = (*right[:axis], Mul((right[axis], right[axis + 1])), *right[axis + 2 :])
            if self._all_equal(given, product):
                return "shape.merged", [axis]
        if any(self._all_equal(given, (*right[:axis], *right[axis + 1 :])) for axis in range(len(right))):
            return "shape.missing", []
        if any(self._all_equal((*given[:axis], *given[axis + 1 :]), right) for axis in range(len(given))):
            return "shape.extra", []
        return "shape.dimensions", []

    def _permuted(self, given: Axes, right: Axes) -> bool:
        left = list(right)
        for axis in given:
            match = next((place for place, other in enumerate(left) if self._equal(axis, other)), None)
            if match is None:
                return False
            del left[match]
        return True

    def _all_equal(self, given: Axes, right: Axes) -> bool:
        return len(given) == len(right) and all(map(self._equal, given, right))

    def _equal(self, first: Node, second: Node) -> bool:
        if isinstance(first, Num) and isinstance(second, Num):
            return first.value == second.value
        return self._comparer.equal(first, second)

    def _axis(self, entry: Any) -> Node | None:
        size = whole(entry)
        if isinstance(size, Whole):
            return Num(size.number) if size.number >= 0 else Neg(Num(-size.number))
        axes = self._from_text(entry) if isinstance(entry, str) else None
        return axes[0] if axes is not None and len(axes) == 1 else None

    def _from_text(self, text: str) -> Axes | None:
        if len(text) > MAX_TEXT:
            return None
        plain = _TIMES.sub(" × ", _SIZE.sub(r"\1", text))
        try:
            return parse_tuple(plain, self._vocabulary).elements
        except Unreadable:
            return None


def _written(axes: Axes) -> str:
    """A shape as text, at bounded cost."""
    if all(isinstance(axis, Num) and isinstance(axis.value, int) for axis in axes):
        return quote_shape(axis.value for axis in axes if isinstance(axis, Num))
    if any(isinstance(axis, Num) and int(axis.value).bit_length() > 400 for axis in axes):
        return f"({len(axes)} axes)"
    return quote(to_text(Tuple(axes)))
