"""The kind ``implementation``: a class for multi-head attention, however it is written and stored.

Every object is given hidden numbers as its parameters. Which of them it uses as what is found outside, by
its results; from then on its results are compared with those of the formula.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Draw, Evidence
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging import forbidden
from autograder.checks.judging.results import (
    Finding,
    combine,
    differing,
    failed,
    first_failure,
    observations_at,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import (
    CallOptions,
    check_cases,
    named_cases,
    place,
    share,
)
from autograder.checks.planning.drawing import Inputs, describe
from autograder.checks.properties import Changes, Raises, UnsuitableCase
from autograder.checks.values.arrays import compare_values
from autograder.checks.values.quoting import quote, quote_value
from autograder.errors import RubricError
from autograder.kinds.transformers.implementation import formula
from autograder.kinds.transformers.implementation.formula import MASKS, ROLES
from autograder.kinds.transformers.implementation.layer import (
    ImplementationItem,
    ImplementationQuestion,
    read,
)
from autograder.kinds.transformers.implementation.plan import WEIGHTS, PassResults, Plan, ProbeKey, by_keyword
from autograder.kinds.transformers.implementation.recognition import Recognised, near, recognise
from autograder.records import Answer, ItemResult, Scenario, Status
from autograder.rubric import Item
from autograder.wording import Phrase

_PASSED_THROUGH = ("attention.dropout-evaluation", "attention.state")
"""What is wrong with a class that can be called; its parameters may be right."""
_NONE_OF_ITS_OWN = ("attention.shared-weights", "attention.not-projected")
"""Misconceptions with which a projection is missing, whatever gets a gradient."""
_DOES_NOT_LEARN = "property.no-gradient"


def contract_result(
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


class _Seen(Struct, frozen=True, eq=False):
    """What the items of one submission have in common."""

    inputs: Inputs
    recognised: Recognised
    convention: str
    forbidden: Finding | None
    """What is to be said of the whole answer."""


class ImplementationCheck(ItemwiseCheck[ImplementationQuestion, ImplementationItem]):
    """Cases compared with the formula, and properties of the student's class."""

    kind: ClassVar[str] = "implementation"
    question_type = ImplementationQuestion
    item_type = ImplementationItem

    def prepare(self) -> None:
        """Refuse what is no layer, and plan what is asked of it."""
        where = place(self.question)
        if not self.question.answer.isidentifier():
            raise RubricError("the name of the class is missing", where, "answer")
        self.cases = {
            name: by_keyword(case, self.options.order)
            for name, case in named_cases(CallOptions(self.options.case), self.question).items()
        }
        _check_options(self.options, where)
        for name, case in self.cases.items():
            _check_case(name, set(case.kwargs), where)
        for item, options in self.automatic:
            self._check_item(item, options)
        try:
            self._plan = Plan(self.question.answer, self.options, self.items, self.cases)
        except UnsuitableCase as error:
            raise RubricError(f"{error}", where) from error

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The parameters, the cases in each convention, then the properties."""
        signature = read(answer.source, self.question.answer)
        return self._plan.scenarios(self.question.id, signature, self._plan.inputs(draw))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item, all of them about the class as it was recognised once."""
        seen = functools.cache(lambda: self._seen(evidence, self._plan.inputs(evidence.drawn)))
        with np.errstate(all="ignore"):
            return self.each(evidence, lambda item, options: self._verdict(item, options, evidence, seen()))

    def verdict(self, item: Item, options: ImplementationItem, evidence: Evidence) -> Finding | None:
        """What is wrong with one item alone."""
        seen = self._seen(evidence, self._plan.inputs(evidence.drawn))
        return self._verdict(item, options, evidence, seen)

    def _verdict(
        self, item: Item, options: ImplementationItem, evidence: Evidence, seen: _Seen
    ) -> Finding | None:
        if options.property:
            finding = self._property(item, options, evidence, seen)
        else:
            findings = [self._case(name, options, evidence, seen) for name in options.cases or self.cases]
            finding = combine(findings, item.points, credit=options.credit)
        return forbidden.applied(seen.forbidden, finding)

    def _seen(self, evidence: Evidence, inputs: Inputs) -> _Seen:
        """What the class is, and the first convention that is right and followed (or right at all)."""
        layer = self._plan.layer(WEIGHTS)
        observations = observations_at(evidence.observed, self._plan.keys.index(WEIGHTS))
        count = self._plan.counts[WEIGHTS]
        recognised = recognise(observations, layer, inputs, self.options, count)
        seen = _Seen(inputs, recognised, self.options.masks[0], self._forbidden(evidence))
        for convention in self.options.masks:
            key = ProbeKey("convention", convention=convention)
            if key in self._plan.probes and self._probed(key, evidence, seen) is None:
                return _Seen(inputs, recognised, convention, seen.forbidden)
        return seen

    def _forbidden(self, evidence: Evidence) -> Finding | None:
        if not self.options.forbidden:
            return None
        keys, usual, recorded = self._plan.keys, [], []
        for at, key in enumerate(keys):
            if key.sort == "forbidden":
                case = replace(key, sort="case")
                seen, calls = (
                    observations_at(evidence.observed, keys.index(case)),
                    self._plan.counts[case] - 1,
                )
                usual.append(seen[calls - 1] if len(seen) >= calls else None)
                recorded.append(observations_at(evidence.observed, at))
        return forbidden.finding(evidence, self.question.answer, self.options.forbidden, recorded, usual)

    def _probed(self, key: ProbeKey, evidence: Evidence, seen: _Seen) -> Finding | None:
        probe = self._plan.probes[key]
        observations = observations_at(evidence.observed, self._plan.keys.index(key))
        if isinstance(probe, Raises):
            return probe.verdict(observations, self.question.answer, evidence.draw)
        if isinstance(probe, Changes):
            return probe.verdict(observations, self._plan.layer(key).what(observations), evidence.draw)
        layer, count = self._plan.layer(key), self._plan.counts[key]
        return probe.verdict(PassResults(observations, layer, seen.inputs, seen.recognised, count))

    def _property(
        self, item: Item, options: ImplementationItem, evidence: Evidence, seen: _Seen
    ) -> Finding | None:
        name, recognised = self.question.answer, seen.recognised
        keys = self._plan.keys_of(item.id, options)
        key = next((one for one in keys if one.convention == seen.convention), keys[0])
        if options.property == "contract":
            learning = self._probed(key, evidence, seen)
            return contract_result(
                recognised, learning, seen.inputs.sizes["d_model"], item.points, options.credit
            )
        if recognised.finding is not None and options.property in ("gradients", "precision"):
            return recognised.finding
        finding = self._probed(key, evidence, seen)
        if finding is None or options.property != "convention" or not finding.code.startswith("property."):
            return finding
        return failed("attention.convention", f"{name}: {finding.staff}", what=name)

    def _case(self, name: str, item: ImplementationItem, evidence: Evidence, seen: _Seen) -> Finding | None:
        """How the results of one case differ from what is right."""
        convention = seen.convention if self._plan.masked(name) else ""
        key = ProbeKey("case", name, convention)
        layer = self._plan.layer(key)
        passes = self._plan.passes(name, seen.inputs)
        what = self.cases[name].asked(self.question.answer, name, describe(passes[0]))
        observations = observations_at(evidence.observed, self._plan.keys.index(key))
        start = self._plan.counts[key] - 2
        finding = first_failure(observations, start + 2, self.question.answer, layer.what(observations, what))
        recognised = seen.recognised
        if finding is None and recognised.finding is not None:
            finding = recognised.finding
        if finding is not None:
            return finding
        given = [_inputs(arguments[1]) for arguments in passes]
        whole = observations[start].value
        if isinstance(whole, list | tuple) and not self.options.take_first:
            return failed(
                "attention.parts", f"{what}: {quote_value(whole)}", what=what, count=str(len(whole))
            )
        results = [layer.result(one.value) for one in observations[start : start + 2]]
        if self._paid_elsewhere(name) and _same_misconception(recognised, results, given, seen.inputs):
            return None
        rules = item.compare or self.options.compare
        n_heads = seen.inputs.sizes["n_heads"]
        if recognised.assignment is None:
            form = compare_values(results[0], np.zeros_like(given[0].query), rules)
            if form is not None and form.code not in ("value.differs", "value.nan"):
                return differing(form, what)
            misconception = _misconception(recognised, results[0], given[0], n_heads)
            return (
                failed(misconception, f"{what}: {misconception}", what=what)
                if misconception
                else _unexplained(recognised, what)
            )
        weights = recognised.weights(n_heads)
        first, second = (
            compare_values(came, formula.attention(weights, n_heads, one), rules)
            for came, one in zip(results, given, strict=True)
        )
        if first is not None:
            misconception = _misconception(recognised, results[0], given[0], n_heads)
            misconception = misconception or _mask_misconception(results[0], weights, n_heads, given[0])
            return (
                failed(misconception, f"{what}: {first.staff}", what=what)
                if misconception
                else differing(first, what)
            )
        if second is not None:
            misconception = _misconception(recognised, results[1], given[1], n_heads)
            misconception = misconception or _kept(results[1], weights, n_heads, given)
            return failed(misconception, f"{what}: second call: {second.staff}", what=what)
        return None

    def _paid_elsewhere(self, name: str) -> bool:
        """Whether a case is about its mask alone: what is wrong without a mask costs another case."""
        judged = [item for item in self.items.values() if not item.property]
        costs = any(not self._plan.masked(case) for item in judged for case in item.cases or self.cases)
        return costs and self._plan.masked(name)

    def _check_item(self, item: Item, options: ImplementationItem) -> None:
        where = place(self.question, item)
        if not options.property:
            check_cases(item, options, self.cases, self.question)
        elif options.credit == "each":
            if options.property != "contract":
                raise RubricError("only the property 'contract' has parts", where, "credit")
            share(item.points, 2, where)
        if options.property and options.cases:
            raise RubricError("a property has one case: case = …", where, "cases")
        if not options.property and not (options.cases or self.cases):
            raise RubricError("the question has no case and the item no property", where, "cases")
        if options.case and options.case not in self.cases:
            raise RubricError(f"no case {options.case!r}", where, "case")
        if options.property == "contract" and self.options.contract is None:
            raise RubricError("the question states no contract", where, "property")
        if options.property.startswith("dropout") and not self.options.dropout:
            raise RubricError("the question states no dropout", where, "property")


def _check_options(options: ImplementationQuestion, where: str) -> None:
    """Refuse sizes that do not fit, cases that are no forward pass, and roles that do not exist."""
    for name in ("d_model", "n_heads"):
        if not options.sizes.get(name):
            raise RubricError(f"{name} is missing: sizes = {{ {name} = [12, 24] }}", where, "sizes")
    for d_model in options.sizes["d_model"]:
        for n_heads in options.sizes["n_heads"]:
            if n_heads < 1 or d_model % n_heads:
                raise RubricError(
                    f"d_model = {d_model} is no multiple of n_heads = {n_heads}", where, "sizes"
                )
    if not options.masks:
        raise RubricError("at least one convention is needed", where, "masks")
    if sorted(options.order) != ["key", "mask", "query", "value"]:
        raise RubricError("expected query, key, value and mask once each", where, "order")


def _check_case(name: str, roles: set[str], where: str) -> None:
    """Refuse cases that are no forward pass of attention."""
    needed = set(formula.ROLES[:3])
    if not needed <= roles <= needed | {"mask"}:
        came = ", ".join(sorted(roles)) or "nothing"
        raise RubricError(f"case {name!r}: expected query, key, value and perhaps mask, got {came}", where)


def _unexplained(recognised: Recognised, what: Phrase) -> Finding:
    """Wrong for sure, or for a person: it is not known how the class stores its weights."""
    names = ", ".join(f"{one.name} {one.shape}" for one in recognised.parameters)
    staff = f"{what}: no assignment of the parameters explains the results: {quote(names)}"
    return failed("attention.unexplained", staff, what=what) if recognised.sure else review(staff)


def _inputs(arguments: Mapping[str, Any]) -> formula.AttentionInputs:
    arrays = {role: one.array for role, one in arguments.items()}
    mask = arrays.pop("mask", None)
    wide = {role: one.astype(np.float64) for role, one in arrays.items()}
    return formula.AttentionInputs(**wide, visible=None if mask is None else mask.astype(bool))


def _misconception(recognised: Recognised, came: Any, given: formula.AttentionInputs, n_heads: int) -> str:
    """The code of the misconception that explains the class, where it explains this result as well."""
    found = recognised.explanation
    array = getattr(came, "array", None)
    return found.code if found is not None and found.explains(array, given, n_heads) else ""


def _same_misconception(
    recognised: Recognised, results: Sequence[Any], given: Sequence[formula.AttentionInputs], inputs: Inputs
) -> bool:
    """Whether only the mistake that shows without a mask is made, and the mask is applied all the same.

    So one mistake costs once. A misconception that lets blocked keys through is one about the mask as well.
    """
    n_heads, found = inputs.sizes["n_heads"], recognised.explanation
    if found is None or not all(
        found.explains(getattr(came, "array", None), one, n_heads)
        for came, one in zip(results, given, strict=True)
    ):
        return False
    return formula.heeds_mask(found.weights, n_heads, given[0], found.misconception)


def _kept(came: Any, weights: formula.Weights, n_heads: int, given: Sequence[formula.AttentionInputs]) -> str:
    """What is told of a second call that went wrong: the first one's mask, where that is what it is."""
    array, visible = getattr(came, "array", None), given[0].visible
    if array is not None and visible is not None:
        masked = msgspec.structs.replace(given[1], visible=visible)
        if near(array, formula.attention(weights, n_heads, masked)):
            return "attention.mask-kept"
    return "attention.second-call"


def _mask_misconception(
    came: Any, weights: formula.Weights, n_heads: int, given: formula.AttentionInputs
) -> str:
    """The code of the misconception that explains the result of a case with a mask."""
    if given.visible is None or not hasattr(came, "array"):
        return ""
    shape = (given.query.shape[0], n_heads, given.query.shape[1], given.key.shape[1])
    seen = formula.AttentionInputs(given.query, given.key, given.value, np.broadcast_to(given.visible, shape))
    for code, misconception in MASKS.items():
        try:
            right = formula.attention(weights, n_heads, seen, misconception)
        except ValueError:  # a transposed mask that does not fit
            continue
        if near(came.array, right):
            return code
    return ""


KIND = Kind(ImplementationCheck, form="code")
