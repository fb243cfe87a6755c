"""The kind ``causality``: which inputs the outputs of student code depend on, measured from outside.

One position of an argument after the other gets other numbers; whatever changes in the result depends on that
position. The reference is asked the same, and what it depends on is right. Nothing is said about the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.results import (
    Finding,
    combine,
    failed,
    first_failure,
    no_answer,
    observations_at,
    reference_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import (
    CaseItem,
    check_cases,
    needed_cases,
    place,
)
from autograder.checks.planning.drawing import SAMPLE, Arguments, Inputs
from autograder.checks.planning.subject import (
    Callee,
    CalleeOptions,
    argument,
    changed,
)
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote_shape, type_name
from autograder.errors import RubricError
from autograder.records import Answer, Scenario, Tensor
from autograder.rubric import Item
from autograder.wording import Phrase

MAX_POSITIONS = 32
ROUNDS = 2
"""How often each position gets other numbers: a result that ignores one of them by chance is seen."""
HALVES = 2
"""Of the examples: one is changed, and nothing may move in the other."""
SAME = 1e-9
"""A result that moves by less, relative to its size, did not move."""


class CausalityQuestion(CalleeOptions, frozen=True):
    """Options of a ``causality`` question."""

    move: str | int = 0
    """The argument whose positions are changed, by keyword or place."""
    axis: int = -2
    """Of the argument: its positions; axes before it are examples."""
    result_axis: int = -2
    """The same of the result."""


class CausalityItem(CaseItem, frozen=True):
    """Options of an item of a ``causality`` question."""


class Measured(Struct, frozen=True, eq=False):
    """What results depend on."""

    seen: np.ndarray
    """(…, queries, keys) bool."""
    mixed: bool
    """Whether an example's result depends on another example."""


class CausalityCheck(ItemwiseCheck[CausalityQuestion, CausalityItem]):
    """One function or class; the plan has one scenario for each case."""

    kind: ClassVar[str] = "causality"
    question_type = CausalityQuestion
    item_type = CausalityItem

    def prepare(self) -> None:
        """Refuse a question without a reference, and cases whose positions cannot be changed."""
        question, options, where = self.question, self.options, place(self.question)
        if not question.answer or not question.reference:
            raise RubricError("answer, reference: something to call and what is right are needed", where)
        self.cases = needed_cases(options, question)
        if options.precision != "float64":
            raise RubricError('rounding hides what depends on what; expected "float64"', where, "precision")
        self._subject = Callee(question.answer, options)
        self._start = len(self._subject.prologue(Inputs(options, SAMPLE), weights=False))
        for name in self.cases:
            self._check_case(name, where.at(f", case {name!r}", "case", name))
        for item, own in self.automatic:
            check_cases(item, own, self.cases, question)

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Each case, twice as it is and once with each change, in a hidden order."""
        del answer
        return self.reference_plan(draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same."""
        return tuple(self._scenario(name, draw) for name in self.cases)

    def verdict(self, item: Item, options: CausalityItem, evidence: Evidence) -> Finding | None:
        """What outputs depend on, and should not, or the other way round."""
        with np.errstate(all="ignore"):
            findings = [self._case(name, evidence) for name in options.cases or self.cases]
        return combine(findings, item.points, credit=options.credit)

    def _case(self, name: str, evidence: Evidence) -> Finding | None:
        draw = evidence.drawn
        index = list(self.cases).index(name)
        what = self.cases[name].asked(self.question.answer, name)
        told = observations_at(evidence.expected, index)
        order = self._order(name, draw)
        count, examples = self._start + len(order), self._examples(name, draw)
        _, fault = reference_value(told, count - 1)
        if fault is not None:
            return fault
        right = self._measured(told, order, examples, what)
        if isinstance(right, Finding):
            return review(f"the reference: {right.staff}")
        observations = observations_at(evidence.observed, index)
        finding = first_failure(observations, count, self.question.answer, what)
        if finding is not None:
            return finding
        given = self._measured(observations, order, examples, what)
        if isinstance(given, Finding):
            return given
        finding = compared(given.seen, right.seen, what)
        if finding is None and given.mixed and not right.mixed:
            finding = failed("causality.examples", f"{what}: examples depend on one another", what=what)
        return finding

    def _measured(
        self, observations: Observations, order: list[int], examples: int, what: Phrase
    ) -> Measured | Finding:
        """What the results depend on, or why that cannot be told; see `_examples`."""
        asked = sorted(
            zip(order, observations[self._start : self._start + len(order)], strict=True),
            key=lambda one: one[0],
        )
        arrays = []
        for _, observation in asked:
            value = self._subject.result(observation.value)
            if value is None:
                return no_answer("value.none", f"{what} is None", what=what)
            found = numbers(value)
            if found is None or found.kind == "complex":
                form = type_name(value)
                return failed("value.form", f"{what}: {form}", what=what, form=form, place="")
            arrays.append(found.array.astype(np.float64))
        first, axis = arrays[0], self.options.result_axis
        if any(one.shape != first.shape for one in arrays) or not -first.ndim <= axis < first.ndim:
            shape = quote_shape(first.shape)
            return failed("causality.axes", f"{what}: {shape}", what=what, shape=shape)
        missing = int(np.isnan(first).sum())
        if missing:
            params = {"count": str(missing), "total": str(first.size)}
            return failed("value.nan", f"{what}: {missing} NaN", what=what, **params)
        if _moved(arrays[1], first).any():
            return failed("unsteady", f"{what}: two equal calls differ", what=what)
        after = tuple(range(axis % first.ndim + 1, first.ndim))
        moved = [np.asarray(_moved(one, first).any(axis=after)) for one in arrays[2:]]
        halves = [moved.pop() for _ in range(HALVES)][::-1] if examples else []
        pairs = [np.logical_or.reduce(moved[at : at + ROUNDS]) for at in range(0, len(moved), ROUNDS)]
        alike = first.ndim > 1 and axis % first.ndim > 0 and first.shape[0] == examples
        mixed = alike and any(half[1 - at :: HALVES].any() for at, half in enumerate(halves))
        return Measured(np.stack(pairs, axis=-1), mixed)

    def _scenario(self, name: str, draw: Draw) -> Scenario:
        inputs, case = Inputs(self.options, draw), self.cases[name]
        base = inputs.case(name, case)
        asked = [base, base, *self._variants(name, base, inputs)]
        calls = tuple(
            self._subject.call(asked[at], method=case.method, seed=case.seed)
            for at in self._order(name, draw)
        )
        prologue = self._subject.prologue(inputs, weights=False)
        return Scenario(f"{self.question.id}: {name}", prologue + calls)

    def _order(self, name: str, draw: Draw) -> list[int]:
        """A hidden order of the calls: code that counts them does not know which one it answers."""
        inputs = Inputs(self.options, draw)
        base = inputs.case(name, self.cases[name])
        count = 2 + ROUNDS * self._array(base).shape[self.options.axis]
        count += HALVES if self._examples(name, draw) else 0
        return [int(at) for at in inputs.generator(f"causality order: {name}").permutation(count)]

    def _variants(self, name: str, base: Arguments, inputs: Inputs) -> list[Arguments]:
        """The arguments with one position changed, `ROUNDS` times for each; then one half of the examples."""
        array, key = self._array(base), self.options.move
        generator = inputs.generator(f"causality: {name}")
        variants = []
        for position in range(array.shape[self.options.axis]):
            for _ in range(ROUNDS):
                moved = np.moveaxis(array.copy(), self.options.axis, 0)
                moved[position] = _others(moved[position], array, self._range(name, array), generator)
                restored = np.moveaxis(moved, 0, self.options.axis).copy()
                variants.append(changed(base, {key: inputs.array(restored)}))
        for half in range(HALVES if _examples(array, self.options.axis) else 0):
            moved = array.copy()
            moved[half::HALVES] = _others(moved[half::HALVES], array, self._range(name, array), generator)
            variants.append(changed(base, {key: inputs.array(moved)}))
        return variants

    def _examples(self, name: str, draw: Draw) -> int:
        """How many examples a case has; 0 where nothing could be mixed."""
        return _examples(
            self._array(Inputs(self.options, draw).case(name, self.cases[name])), self.options.axis
        )

    def _array(self, arguments: Arguments) -> np.ndarray:
        value = argument(arguments, self.options.move)
        found = value.array if isinstance(value, Tensor) else value
        assert isinstance(found, np.ndarray)  # noqa: S101 - refused when the rubric was read
        return found

    def _range(self, name: str, array: np.ndarray) -> tuple[int, int]:
        """The least whole number and how many there are: of those that may be drawn, or of those stated."""
        case, move = self.cases[name], self.options.move
        described = case.kwargs.get(move) if isinstance(move, str) else case.args[move]
        if isinstance(described, Mapping) and described.get("draw") in ("integers", "cycle"):
            low = int(described.get("low", 0))
            return low, int(described.get("high", 1)) - low
        return int(array.min()), int(array.max()) - int(array.min()) + 1

    def _check_case(self, name: str, where: str) -> None:
        base = Inputs(self.options, SAMPLE).case(name, self.cases[name])
        value = argument(base, self.options.move)
        array = value.array if isinstance(value, Tensor) else value
        axis = self.options.axis
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fi":
            raise RubricError(f"{self.options.move!r} is no array of numbers", where, "move")
        if not -array.ndim <= axis < array.ndim or not 2 <= array.shape[axis] <= MAX_POSITIONS:
            raise RubricError(
                f"expected an axis with 2 to {MAX_POSITIONS} positions, "
                f"got axis {axis} of {quote_shape(array.shape)}",
                where,
                "axis",
            )
        if array.dtype.kind == "i" and self._range(name, array)[1] < 2:
            raise RubricError("whole numbers that are all equal cannot be changed", where, "move")


def compared(given: np.ndarray, right: np.ndarray, what: Phrase) -> Finding | None:
    """What is wrong in what results depend on, with one pair of positions.

    Args:
        given: (…, queries, keys) bool, of the student's code.
        right: the same of the reference.
        what: names the case.
    """
    if given.shape != right.shape:
        shape = quote_shape(given.shape[:-1])
        return failed(
            "causality.axes", f"{what}: {shape}, expected {right.shape[:-1]}", what=what, shape=shape
        )
    if right.any() and not given.any():
        return failed("causality.nothing", f"{what}: depends on nothing", what=what)
    for code, wrong in (("leak", given & ~right), ("blind", right & ~given)):
        if wrong.any():
            *_, query, key = (int(at) for at in np.argwhere(wrong)[0])
            params = {"query": str(query), "key": str(key), "count": str(int(wrong.sum()))}
            return failed(f"causality.{code}", f"{what}: {code} {params}", what=what, **params)
    return None


def _examples(array: np.ndarray, axis: int) -> int:
    """Length of the first axis, if it comes before that of the positions; 0 for a single example."""
    return array.shape[0] if axis % array.ndim and array.shape[0] > 1 else 0


def _moved(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two results are not the same; NaN and infinity that come or go are a change."""
    size = np.nanmax(np.where(np.isfinite(other), np.abs(other), 0.0), initial=0.0)
    near = np.abs(one - other) <= SAME * max(float(size), SAME)
    same = np.where(np.isfinite(one) & np.isfinite(other), near, one == other)
    return np.asarray(~same)


def _others(
    numbers_there: np.ndarray, array: np.ndarray, whole: tuple[int, int], generator: np.random.Generator
) -> np.ndarray:
    """Other numbers of the same sort for one position: each whole number becomes another of its range."""
    if array.dtype.kind == "f":
        spread = float(array.std()) or 1.0
        return np.asarray(generator.normal(0, spread, numbers_there.shape) + array.mean()).astype(array.dtype)
    low, count = whole
    return np.asarray((numbers_there - low + generator.integers(1, count, numbers_there.shape)) % count + low)


KIND = Kind(CausalityCheck, form="code")
