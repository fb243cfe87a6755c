"""What is asked of a layer: the passes, and the probes of properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Draw, Observations
from autograder.checks.judging import forbidden
from autograder.checks.judging.results import Finding, failed, first_failure
from autograder.checks.options import CallOptions, Case
from autograder.checks.planning.drawing import SAMPLE, Arguments, Inputs
from autograder.checks.planning.subject import MODEL, Construct
from autograder.checks.properties import Changes, PropertyItem, Raises, outputs, same
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote_names
from autograder.kinds.transformers.implementation import recognition
from autograder.kinds.transformers.implementation.formula import ROLES, attention
from autograder.kinds.transformers.implementation.formula import AttentionInputs as Tokens
from autograder.kinds.transformers.implementation.layer import (
    AttentionLayer,
    ImplementationItem,
    ImplementationQuestion,
    LayerContract,
    Signature,
    hidden_numbers,
)
from autograder.kinds.transformers.implementation.recognition import Recognised, filled, projections, read_as
from autograder.records import Call, Ref, Scenario, Tensor

SEEDS = 4
"""Passes with another seed each, where dropout must show or must not."""


AFTER_BACKWARD = 2
"""Calls that read the gradients; see `AttentionLayer.gradients`."""
DOUBLE = 1e-9
"""Error of a result in double precision."""
SINGLE = 1e-3
"""What is further off than this is not a matter of precision."""


class PassResults(Struct, frozen=True, eq=False):
    """What came of a probe's calls, and of which layer."""

    observations: Observations
    layer: AttentionLayer
    inputs: Inputs
    recognised: Recognised
    count: int
    """How many calls there were."""

    @property
    def finding(self) -> Finding | None:
        """The first call that gave no value."""
        return first_failure(
            self.observations, self.count, self.layer.name, self.layer.what(self.observations)
        )

    def results(self, count: int) -> list[Any]:
        """What the last calls returned."""
        return [self.layer.result(one.value) for one in self.observations[self.count - count : self.count]]


class OwnProbe(Protocol):
    """How one property is asked and judged."""

    def calls(self, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """The calls of the scenario, in order."""

    def verdict(self, passed: PassResults) -> Finding | None:
        """None when the property holds."""


class LayerGradients:
    """Runs forward and backward, and reads the gradient of every parameter."""

    def __init__(self, roles: Sequence[str], contract: LayerContract | None) -> None:
        self._roles = roles
        self._contract = contract

    def calls(self, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """Forward, a scalar of it that no normalisation makes constant, backward, all gradients in order."""
        calls = [
            *layer.prologue(inputs, weights=True),
            layer.call(((), _tokens(inputs, "gradients")), grad=True, keep="result"),
            # Of several parts the first one; of a plain result the first sequence, which does as well.
            Call(Ref("result"), attribute="__getitem__", args=(0,), grad=True, keep="result"),
        ]
        calls += [Call(Ref("result"), attribute=step, grad=True, keep="result") for step in ("sin", "sum")]
        return (
            *calls,
            Call(Ref("result"), attribute="backward", grad=True),
            *layer.gradients(),
        )

    def verdict(self, passed: PassResults) -> Finding | None:
        """Every projection needs a gradient that is finite and not zero."""
        what, recognised, finding = passed.layer.name, passed.recognised, passed.finding
        if finding is not None and not self._only_backward_raised(passed.observations, passed.count):
            return finding
        if finding is not None:  # such as a result without a graph: nothing gets a gradient
            names = quote_names(self._asked(recognised))
            return failed("property.no-gradient", f"backward: {finding.staff}", what=what, names=names)
        told = passed.observations[-1].value
        gradients = told if isinstance(told, list | tuple) else []
        named = [
            (one.name, _array(gradients[place] if place < len(gradients) else None, one.shape))
            for place, one in enumerate(recognised.parameters)
            if one.filled
        ]
        without = self._without(named, recognised, passed.inputs.sizes["n_heads"])
        if not without:
            return None
        names = quote_names(without)
        return failed("property.no-gradient", f"{what}: no gradient: {names}", what=what, names=names)

    @staticmethod
    def _only_backward_raised(observations: Observations, count: int) -> bool:
        """Whether the pass gave a result, and going back through it stopped with an exception."""
        backward = count - AFTER_BACKWARD - 1
        return (
            len(observations) > backward
            and all(one.ok for one in observations[:backward])
            and bool(observations[backward].error)
            and observations[backward].ending is None
        )

    def _asked(self, recognised: Recognised) -> list[str]:
        """The names of what has to learn, as the class lists them."""
        names = [one.name for one in recognised.parameters if one.filled and len(one.shape) > 1]
        if self._contract is None:
            return names or ["–"]
        stated = [f"{getattr(self._contract, role)}.weight" for role in self._roles]
        return [name for name in names if name in stated] or names or ["–"]

    def _without(
        self, named: Sequence[tuple[str, np.ndarray]], recognised: Recognised, n_heads: int
    ) -> list[str]:
        if recognised.assignment is not None:
            units = read_as(recognised, named, self._contract, n_heads)
            chosen = [units[recognised.assignment[role].unit] for role in ROLES if role in self._roles]
            return [unit.name for unit in chosen if not _moving(unit.forms[0])]
        matrices = [(name, array) for name, array in named if array.ndim > 1]
        if not matrices:
            return ["–"]
        return [name for name, array in matrices if not _moving(array)]


class BlockedRows:
    """A query that may see nothing has a finite result, and the others have what they had."""

    def calls(self, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """With everything visible, with the first query of each sequence blocked, and with other inputs."""
        tokens, other = _tokens(inputs, "blocked rows"), _tokens(inputs, "blocked rows: other")
        queries, keys = tokens["query"].array.shape[1], tokens["key"].array.shape[1]
        seen = np.ones((1, 1, queries, keys), bool)
        blocked = seen.copy()
        blocked[..., 0, :] = False
        asked = ((tokens, seen), (tokens, blocked), (other, seen))
        return (
            *layer.prologue(inputs, weights=True),
            *(layer.call(((), {**given, "mask": Tensor(mask, "bool")})) for given, mask in asked),
        )

    def verdict(self, passed: PassResults) -> Finding | None:
        """Finite, and nothing else changed, though other inputs do change it."""
        if passed.finding is not None:
            return passed.finding
        what = passed.layer.name
        seen, blocked, other = passed.results(3)
        before, after = outputs([seen, other]), outputs([blocked])
        if before is None or before[0].shape != _tokens(passed.inputs, "blocked rows")["query"].array.shape:
            return failed("property.no-numbers", f"{what}: no finite numbers of the query's shape", what=what)
        if after is None:
            return failed("attention.blocked-row", f"{what}: not finite when a row is blocked", what=what)
        if after[0].shape != before[0].shape or not same(before[0][:, 1:], after[0][:, 1:]):
            return failed("attention.blocked-others", f"{what}: other rows changed", what=what)
        if same(before[0], before[1]):
            return failed("property.no-influence", f"{what}: inputs do not matter", what=what)
        return None


class Precision:
    """In double precision the results are those of double precision."""

    def __init__(self, contract: LayerContract | None) -> None:
        self._contract = contract

    def calls(self, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """One pass."""
        layer, inputs = layer.in_precision("float64"), inputs.in_precision("float64")
        return (*layer.prologue(inputs, weights=True), layer.call(((), _tokens(inputs, "precision"))))

    def verdict(self, passed: PassResults) -> Finding | None:
        """The result of the assignment that explains the class, but for the rounding of double precision."""
        if passed.finding is not None:
            return passed.finding
        what, recognised = passed.layer.name, passed.recognised
        if recognised.assignment is None:
            return failed("attention.unexplained", f"{what}: no assignment to compare with", what=what)
        result = outputs(passed.results(1))
        inputs = passed.inputs.in_precision("float64")
        named = filled(recognised.parameters, hidden_numbers(inputs).array)
        n_heads = inputs.sizes["n_heads"]
        units = read_as(recognised, named or (), self._contract, n_heads)
        weights = projections(units, recognised.assignment, n_heads)
        tokens = {role: one.array for role, one in _tokens(inputs, "precision").items()}
        right = attention(weights, n_heads, Tokens(**tokens))
        if result is None or result[0].shape != right.shape:
            return failed("property.no-numbers", f"{what}: no finite numbers", what=what)
        error = float(np.abs(result[0] - right).max())
        if error <= DOUBLE:
            return None
        if error > SINGLE:
            code = recognised.explanation.code if recognised.explanation else "attention.unexplained"
            return failed(code, f"{what}: wrong in any precision: off by {error:.1e}", what=what)
        return failed("attention.precision", f"{what}: off by {error:.1e} in double precision", what=what)


class Dropout:
    """Equal passes with other seeds: different in training, the same in evaluation."""

    def __init__(self, *, training: bool) -> None:
        self._training = training

    def calls(self, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """The same pass with several seeds, then another one.

        In training there is a single key: its weight is one unless dropped, whatever its score is.
        """
        tokens = _tokens(inputs, "dropout", keys=1 if self._training else 4)
        other = _tokens(inputs, "dropout: other", keys=1 if self._training else 4)
        mode = (Call(Ref(MODEL), attribute="train", keep=MODEL),) if self._training else ()
        return (
            *layer.prologue(inputs, weights=True),
            *mode,
            *(layer.call(((), tokens), seed=seed) for seed in range(1, SEEDS + 1)),
            layer.call(((), other), seed=1),
        )

    def verdict(self, passed: PassResults) -> Finding | None:
        """The passes must differ, or be equal and not equal to the other one."""
        if passed.finding is not None:
            return passed.finding
        what = passed.layer.name
        results = outputs(passed.results(SEEDS + 1))
        if results is None:
            return failed("property.no-numbers", f"{what}: no finite numbers", what=what)
        *equal, other = results
        steady = all(same(equal[0], one) for one in equal[1:])
        if self._training:
            return failed("attention.no-dropout", f"{what}: nothing dropped", what=what) if steady else None
        if not steady:
            return failed("attention.dropout-evaluation", f"{what}: eval differs", what=what)
        if same(equal[0], other):
            return failed("property.no-influence", f"{what}: inputs do not matter", what=what)
        return None


def _tokens(inputs: Inputs, purpose: str, *, keys: int = 4) -> dict[str, Tensor]:
    shapes = {"query": (2, 4, "d_model"), "key": (2, keys, "d_model"), "value": (2, keys, "d_model")}
    forms = {role: {"draw": "normal", "shape": shape} for role, shape in shapes.items()}
    return inputs.arguments(purpose, (), forms)[1]


def _array(value: object, shape: tuple[int, ...]) -> np.ndarray:
    """A gradient as an array of its parameter's shape; zeros when there is none."""
    found = numbers(value)
    if found is None or found.array.shape != shape or found.kind == "complex":
        return np.zeros(shape)
    return found.array.astype(np.float64)


def _moving(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and np.any(array != 0))


BAD_SIZES = {"d_model": 10, "n_heads": 4}
UNMASKED = Case(
    kwargs={
        "query": {"draw": "normal", "shape": (2, 4, "d_model")},
        "key": {"draw": "normal", "shape": (2, 5, "d_model")},
        "value": {"draw": "normal", "shape": (2, 5, "d_model")},
    }
)
"""The case on which properties are shown whose item names no other."""
MASKED = Case(
    kwargs={
        **UNMASKED.kwargs,
        "mask": {"array": [[[[False, True, True, False, False]]], [[[True, False, True, False, False]]]]},
    }
)
"""The same with a mask; it also tells the convention. It is stated, since what a mistake shows hangs on it:
each sequence sees a key that the other does not, one does not see the first, none sees the last two."""
EXTREME = Case(
    kwargs={**MASKED.kwargs, "query": {"draw": "normal", "shape": (2, 4, "d_model"), "scale": 1e5}}
)
"""Scores far beyond -10,000 and the like."""
MOVED: Mapping[str, tuple[str, ...]] = {
    "masked_key_inert": ("key", "value"),
    "batch_independence": ("query", "key", "value"),
    "key_order_irrelevant": ("key", "value"),
}
"""Properties of `autograder.kinds.general.behaviour`: which arguments they change."""
OF_MASKS = ("masked_key_inert", "extreme_scores", "blocked_rows")

Probe = Changes | Raises | OwnProbe


class ProbeKey(Struct, frozen=True):
    """What one scenario is about."""

    sort: str
    """``"weights"``, ``"forbidden"``, ``"case"``, ``"convention"`` or ``"item"``."""
    name: str = ""
    convention: str = ""
    """How its mask is sent, if it has one."""


WEIGHTS = ProbeKey("weights")
UNKNOWN = Signature()


class Plan:
    """The scenarios of one question.

    Attributes:
        keys: of the scenarios, in order.
        probes: what asks for properties and conventions, by key.
        counts: how many calls the scenarios have; those of `Raises` vary with the draw.
    """

    def __init__(
        self,
        name: str,
        options: ImplementationQuestion,
        items: Mapping[str, ImplementationItem],
        cases: Mapping[str, Case],
    ) -> None:
        """List what is asked.

        Args:
            name: of the class.
            options: of the question.
            items: options of the items that are judged, by id.
            cases: with all arguments by keyword.

        Raises:
            Unfit: a case cannot show a property.
        """
        self._name = name
        self._options = options
        self._cases = cases
        self.probes: dict[ProbeKey, Probe] = {}
        asked = {one for item in items.values() if not item.property for one in item.cases or cases}
        used = [one for one in cases if one in asked]
        self._serves = {
            case: name for name, item in items.items() if not item.property for case in item.cases or cases
        }
        about = dict.fromkeys(options.masks)
        about |= {item.convention: None for item in items.values() if item.property == "convention"}
        told = len(options.masks) > 1 and any(self.masked(one) for one in used)
        if told or any(self.by_convention(item) for item in items.values()):
            for convention in about:
                key = ProbeKey("convention", convention=convention)
                self.probes[key] = self._changes("masked_key_inert", MASKED, key)
        for item_id, item in items.items():
            for key in self.keys_of(item_id, item):
                if key not in self.probes:
                    self.probes[key] = self._probe(item, key)
        cases_keys = [key for one in used for key in self.keys_of_case(one)]
        recorded = [replace(key, sort="forbidden") for key in cases_keys if options.forbidden]
        # What only constructs comes first: a forward pass that ends the box must not cost it.
        made = tuple(key for key, probe in self.probes.items() if isinstance(probe, Raises))
        others = tuple(key for key in self.probes if key not in made)
        self.keys = (*made, WEIGHTS, *cases_keys, *others, *recorded)
        sample = self.scenarios("", UNKNOWN, self.inputs(SAMPLE))
        self.counts = {key: len(one.calls) for key, one in zip(self.keys, sample, strict=True)}

    def masked(self, name: str) -> bool:
        """Whether a case has a mask."""
        return "mask" in self._cases[name].kwargs

    @staticmethod
    def by_convention(item: ImplementationItem) -> bool:
        """Whether an item asks what the scenarios ask that tell the conventions."""
        return item.property == "convention" or (item.property == "masked_key_inert" and not item.case)

    def keys_of_case(self, name: str) -> tuple[ProbeKey, ...]:
        """One for each convention that is right, when the case has a mask."""
        if not self.masked(name):
            return (ProbeKey("case", name),)
        return tuple(ProbeKey("case", name, convention) for convention in self._options.masks)

    def keys_of(self, item_id: str, item: ImplementationItem) -> tuple[ProbeKey, ...]:
        """What an item's property needs: one for each convention that is right, if it has a mask."""
        if not item.property:
            return ()
        if item.property == "convention":
            return (ProbeKey("convention", convention=item.convention),)
        if self.by_convention(item):
            return tuple(ProbeKey("convention", convention=convention) for convention in self._options.masks)
        masked = item.property in OF_MASKS or bool(item.case and self.masked(item.case))
        conventions = self._options.masks if masked else ("",)
        return tuple(ProbeKey("item", item_id, convention) for convention in conventions)

    def scenarios(self, title: str, signature: Signature, inputs: Inputs) -> tuple[Scenario, ...]:
        """All scenarios for a class of a signature, in the order of the keys."""
        numbers = hidden_numbers(inputs)  # one array, which is sent once
        return tuple(self._scenario(key, title, signature, numbers, inputs) for key in self.keys)

    def _scenario(
        self, key: ProbeKey, title: str, signature: Signature, numbers: Tensor, inputs: Inputs
    ) -> Scenario:
        asked = replace(key, sort="case") if key.sort == "forbidden" else key
        calls = self.calls(asked, self.layer(asked, signature, numbers), inputs)
        name = " ".join(filter(None, (f"{title}:", asked.sort, key.name, key.convention)))
        scenario = Scenario(
            name, calls, serves=self._serves.get(key.name, "") if asked.sort == "case" else ""
        )
        if key.sort == "forbidden":  # without the second pass
            return forbidden.recording(scenario, calls[:-1], self._options.forbidden)
        return scenario

    def inputs(self, draw: Draw) -> Inputs:
        """The hidden sizes and numbers."""
        return Inputs(CallOptions(sizes=self._options.sizes, precision=self._options.precision), draw)

    def layer(
        self, key: ProbeKey, signature: Signature = UNKNOWN, numbers: Tensor | None = None
    ) -> AttentionLayer:
        """What a scenario calls."""
        if isinstance(self.probes.get(key), Raises):
            return self._unloaded(signature)
        return AttentionLayer(self._name, self._options, signature, key.convention, numbers=numbers)

    def calls(self, key: ProbeKey, layer: AttentionLayer, inputs: Inputs) -> tuple[Call, ...]:
        """The calls of one scenario."""
        probe = self.probes.get(key)
        if isinstance(probe, Changes | Raises):
            return probe.calls(inputs, layer)
        if probe is not None:
            return probe.calls(layer, inputs)
        if key == WEIGHTS:
            return recognition.calls(layer, inputs)
        passes = self.passes(key.name, inputs)
        return layer.prologue(inputs, weights=True) + tuple(layer.call(one) for one in passes)

    def passes(self, name: str, inputs: Inputs) -> tuple[Arguments, Arguments]:
        """The arguments of a case, and others of the same sizes that have no mask.

        Both are asked of one object, so that what it keeps from the first call shows in the second.
        """
        case = self._cases[name]
        args, again = inputs.arguments(f"{name}: again", case.args, case.kwargs)
        return inputs.case(name, case), (args, {role: one for role, one in again.items() if role != "mask"})

    def _unloaded(self, signature: Signature) -> AttentionLayer:
        return AttentionLayer(self._name, self._options, signature, loaded=False)

    def _probe(self, item: ImplementationItem, key: ProbeKey) -> Probe:
        match item.property:
            case "refuses":
                bad = PropertyItem(
                    property="raises", construct=Construct(kwargs=BAD_SIZES), raises=item.raises
                )
                return Raises(self._unloaded(UNKNOWN), bad, f"property:{key.name}", None)
            case "gradients" | "contract":
                return LayerGradients(item.roles, self._options.contract)
            case "blocked_rows":
                return BlockedRows()
            case "precision":
                return Precision(self._options.contract)
            case "dropout_training" | "dropout_evaluation":
                return Dropout(training=item.property == "dropout_training")
            case "extreme_scores":
                return self._changes("masked_key_inert", EXTREME, key)
        if item.case:
            return self._changes(item.property, self._cases[item.case], key)
        return self._changes(item.property, MASKED if item.property in OF_MASKS else UNMASKED, key)

    def _changes(self, of: Any, case: Case, key: ProbeKey) -> Changes:
        mask = "mask" if "mask" in case.kwargs else ""
        item = PropertyItem(property=of, move=MOVED[of], mask=mask)
        purpose = f"property:{key.sort}:{key.name}"
        return Changes(self.layer(key), item, case, purpose)


def by_keyword(case: Case, order: tuple[str, ...]) -> Case:
    """The case with all arguments by keyword: those given by place in the stated order."""
    names = dict(enumerate(order))
    described = {**{names.get(place, str(place)): one for place, one in enumerate(case.args)}, **case.kwargs}
    for role, one in described.items():
        if isinstance(one, Mapping) and isinstance(one.get("same"), int):
            described[role] = {"same": names.get(one["same"], "")}
    return Case(case.name, kwargs=described)
