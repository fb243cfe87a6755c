"""The kind ``gradient``: derivatives written by hand, against autograd and central differences.

The reference is an oracle (``reference/tracing/gradients.py``): asked with the arguments of the student's
function it differentiates in two ways that share no code, says how far the two may be apart, and what known
misconceptions give. Where its witnesses disagree nobody loses points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw, Evidence
from autograder.checks.itemwise import OracleCheck
from autograder.checks.judging import forbidden
from autograder.checks.judging.oracle import MistakeWorth, matching_mistakes
from autograder.checks.judging.results import (
    Finding,
    combine,
    differing,
    failed,
    observations_at,
    reference_value,
    repeated_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import (
    CallOptions,
    CaseItem,
    Rules,
    check_cases,
    needed_cases,
    place,
)
from autograder.checks.planning.drawing import SAMPLE, Inputs
from autograder.checks.planning.subject import asking
from autograder.checks.values.arrays import Mismatch, compare_arrays, numbers
from autograder.checks.values.quoting import type_name
from autograder.errors import RubricError
from autograder.records import Answer, Call, Scenario
from autograder.rubric import Item
from autograder.wording import Phrase

SMALL = 1e-3
"""Gradients whose largest number is below this are compared as if it were this: rounding has its own size."""


class GradientQuestion(CallOptions, frozen=True, kw_only=True):
    """Options of a ``gradient`` question."""

    gradients: tuple[str, ...]
    """What the function returns: a tuple in this order, a dictionary by these names; one may stand alone."""
    forbidden: tuple[str, ...] = ()
    """Names that the answer may not make use of."""
    tolerance: float = 1e-6
    """How far a number may be from the right one, relative to the largest of its gradient."""


class GradientItem(CaseItem, frozen=True):
    """Options of an item of a ``gradient`` question."""

    gradients: tuple[str, ...] = ()
    """Which ones the item is about; default: all."""
    mistake: tuple[MistakeWorth, ...] = ()


class Witnesses(Struct, frozen=True, eq=False):
    """What the oracle said about one case, one entry for each gradient.

    Attributes:
        right: by autograd.
        numeric: by central differences.
        bounds: how far the two may be apart.
    """

    right: list[np.ndarray]
    numeric: list[np.ndarray]
    bounds: list[float]

    def agree(self) -> bool:
        """Whether both ways of differentiating give the same."""
        pairs = zip(self.right, self.numeric, self.bounds, strict=True)
        with np.errstate(all="ignore"):
            return all(a.shape == b.shape and bool((np.abs(a - b) <= most).all()) for a, b, most in pairs)


class GradientCheck(OracleCheck[GradientQuestion, GradientItem]):
    """One function, asked in every case."""

    kind: ClassVar[str] = "gradient"
    question_type = GradientQuestion
    item_type = GradientItem
    example: ClassVar[str] = "reference/tracing/gradients.py"

    def prepare(self) -> None:
        """Refuse cases that cannot be drawn, and gradients and names that there are not."""
        super().prepare()
        self.cases = needed_cases(self.options, self.question)
        where = place(self.question)
        if not self.options.gradients or len(set(self.options.gradients)) < len(self.options.gradients):
            raise RubricError("each one needs a name of its own", where, "gradients")
        if not 0 < self.options.tolerance < 0.1:
            raise RubricError("expected above 0 and below 0.1", where, "tolerance")
        if self.options.forbidden and self.options.library != "torch":
            raise RubricError('what is called can only be seen with library = "torch"', where, "forbidden")
        for name, case in self.cases.items():
            Inputs(self.options, SAMPLE).case(name, case)
        for item, options in self.automatic:
            check_cases(item, options, self.cases, self.question)
            for name in options.gradients:
                if name not in self.options.gradients:
                    known = ", ".join(self.options.gradients)
                    raise RubricError(
                        f"no {name!r}; known are: {known}", place(self.question, item), "gradients"
                    )

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Every case; then all of them again, to see what is called."""
        del answer
        asked = [
            Scenario(f"{self.question.id}: {name}", (self._call(name, draw),) * self.options.times)
            for name in self.cases
        ]
        if self.options.forbidden:
            asked += [forbidden.recording(one, one.calls[:1], self.options.forbidden) for one in asked]
        return tuple(asked)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same cases of the oracle."""
        return tuple(
            Scenario(f"{self.question.id}: {name}", (self._call(name, draw, "expected"),))
            for name in self.cases
        )

    def verdict(self, item: Item, options: GradientItem, evidence: Evidence) -> Finding | None:
        """What is wrong in the cases of an item, or what was made use of that is forbidden."""
        judged = [self._case(name, options, evidence) for name in options.cases or self.cases]
        finding = combine([one for one, _ in judged], item.points, credit=options.credit)
        finding = self.known(finding, [codes for one, codes in judged if one is not None], options)
        return forbidden.applied(self._forbidden(evidence), finding)

    def _forbidden(self, evidence: Evidence) -> Finding | None:
        if not self.options.forbidden:
            return None
        cases = len(self.cases)
        seen = [observations_at(evidence.observed, place) for place in range(2 * cases)]
        usual = [one[0] if one else None for one in seen[:cases]]
        return forbidden.finding(evidence, self.question.answer, self.options.forbidden, seen[cases:], usual)

    def _case(
        self, name: str, options: GradientItem, evidence: Evidence
    ) -> tuple[Finding | None, Sequence[str]]:
        """What is wrong in one case, and the misconceptions that give the same."""
        index = list(self.cases).index(name)
        what = self.cases[name].asked(self.question.answer, name)
        reply, finding = reference_value(observations_at(evidence.expected, index), 0)
        if finding is not None:
            return finding, ()
        witnesses = read_witnesses(reply, len(self.options.gradients))
        if witnesses is None or not witnesses.agree():
            return review(f"{what}: autograd and central differences of the reference do not agree"), ()
        observations = observations_at(evidence.observed, index)
        value, finding = repeated_value(observations, 0, self.options.times, self.question.answer, what)
        given = self._parts(value, what) if finding is None else finding
        if isinstance(given, Finding):
            return given, ()
        with np.errstate(all="ignore"):
            return self._compared(given, witnesses, reply, options, what)

    def _parts(self, value: Any, what: Phrase) -> Finding | list[Any]:
        names = self.options.gradients
        if isinstance(value, Mapping):
            missing = next((name for name in names if name not in value), None)
            if missing is None:
                return [value[name] for name in names]
            entry = f"[{missing!r}]"
            return failed("value.entry", f"{what}: no entry {entry}", what=what, entry=entry)
        if len(names) == 1 and not (isinstance(value, list | tuple) and len(value) == 1):
            return [value]
        if not isinstance(value, list | tuple):
            form = type_name(value)
            return failed("value.form", f"{what}: {form}", what=what, form=form, place="")
        if len(value) != len(names):
            return failed("value.length", f"{what}: {len(value)} parts", what=what, count=str(len(value)))
        return list(value)

    def _compared(
        self, given: Sequence[Any], witnesses: Witnesses, reply: Any, options: GradientItem, what: Phrase
    ) -> tuple[Finding | None, Sequence[str]]:
        names = self.options.gradients
        wanted = [place for place, name in enumerate(names) if name in (options.gradients or names)]

        def came(values: Any) -> bool:
            wrong = _arrays(values, len(names))
            return wrong is not None and all(
                self._difference(given[one], wrong[one]) is None for one in wanted
            )

        for at in wanted:
            difference = self._difference(given[at], witnesses.right[at])
            if difference is not None:
                return differing(difference, what + f", {names[at]}"), matching_mistakes(reply, came)
        return None, ()

    def _difference(self, value: Any, right: np.ndarray) -> Mismatch | None:
        """How a gradient differs from another one; numbers are compared by the size of the whole."""
        found, expected = numbers(value), numbers(right)
        if found is None or expected is None:
            return Mismatch("value.form", {"form": type_name(value), "place": ""}, type_name(value))
        size = float(np.abs(right).max(initial=0.0))
        rules = Rules(rtol=0.0, atol=self.options.tolerance * max(size, SMALL), dtype="any")
        difference = compare_arrays(found, expected, rules)
        if difference is None or difference.code not in ("value.differs", "value.number", "value.axes"):
            return difference
        array = found.array.astype(np.float64) if found.kind != "complex" else None
        return difference if array is None else _explained(array, right, difference, rules.atol)

    def _call(self, name: str, draw: Draw, attribute: str = "") -> Call:
        arguments = Inputs(self.options, draw).case(name, self.cases[name])
        return asking(self.question.answer, self.options, arguments, attribute=attribute)


def read_witnesses(told: Any, count: int) -> Witnesses | None:
    """What the oracle said, read strictly; None when it is nothing of the kind."""
    if not isinstance(told, Mapping) or not isinstance(told.get("bounds"), list):
        return None
    right, numeric = _arrays(told.get("right"), count), _arrays(told.get("numeric"), count)
    bounds = [float(one) for one in told["bounds"] if isinstance(one, int | float) and abs(one) < 1e300]
    if right is None or numeric is None or len(bounds) != count:
        return None
    return Witnesses(right, numeric, bounds)


def _arrays(value: Any, count: int) -> list[np.ndarray] | None:
    found = [numbers(one) for one in value] if isinstance(value, list | tuple) else []
    if len(found) != count or any(one is None or one.kind not in ("float", "int") for one in found):
        return None
    return [one.array.astype(np.float64) for one in found if one is not None]


def _explained(array: np.ndarray, right: np.ndarray, difference: Mismatch, most: float) -> Mismatch:
    """The same difference in words that say more: transposed, the other sign, a constant factor."""
    staff = difference.staff
    if array.ndim == 2 and array.T.shape == right.shape and bool((np.abs(array.T - right) <= most).all()):
        return Mismatch("gradient.transposed", {}, f"transposed; {staff}")
    if array.shape != right.shape or not np.isfinite(array).all():
        return difference
    if bool((np.abs(array + right) <= most).all()):
        return Mismatch("gradient.sign", {}, f"the other sign; {staff}")
    norm = float((right * right).sum())
    factor = float((array * right).sum()) / norm if norm > 0 else 0.0
    if factor and array.size > 1 and bool((np.abs(array - factor * right) <= abs(factor) * most).all()):
        return Mismatch("gradient.factor", {}, f"{factor:.6g} times what is right; {staff}")
    return difference


KIND = Kind(GradientCheck, form="code")
