"""Which scenarios an ``implementation`` question has: the same for every answer, in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Draw
from autograder.checks.judging import forbidden
from autograder.checks.options import Case
from autograder.checks.planning.drawing import SAMPLE, Arguments, Inputs
from autograder.kinds.general.behaviour.probes import BehaviourItem, Changes, Raises
from autograder.kinds.general.behaviour.subject import BehaviourQuestion, Construct
from autograder.kinds.transformers.implementation import recognition
from autograder.kinds.transformers.implementation.layer import Layer, hidden_numbers
from autograder.kinds.transformers.implementation.options import ImplementationItem, ImplementationQuestion
from autograder.kinds.transformers.implementation.probes import (
    BlockedRows,
    Dropout,
    Gradients,
    OwnProbe,
    Precision,
)
from autograder.kinds.transformers.implementation.signature import Signature
from autograder.records import Call, Scenario, Tensor

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


class Key(Struct, frozen=True):
    """What one scenario is about."""

    sort: str
    """``"weights"``, ``"forbidden"``, ``"case"``, ``"convention"`` or ``"item"``."""
    name: str = ""
    convention: str = ""
    """How its mask is sent, if it has one."""


WEIGHTS = Key("weights")
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
        self.probes: dict[Key, Probe] = {}
        asked = {one for item in items.values() if not item.property for one in item.cases or cases}
        used = [one for one in cases if one in asked]
        about = dict.fromkeys(options.masks)
        about |= {item.convention: None for item in items.values() if item.property == "convention"}
        told = len(options.masks) > 1 and any(self.masked(one) for one in used)
        if told or any(self.by_convention(item) for item in items.values()):
            for convention in about:
                key = Key("convention", convention=convention)
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

    def keys_of_case(self, name: str) -> tuple[Key, ...]:
        """One for each convention that is right, when the case has a mask."""
        if not self.masked(name):
            return (Key("case", name),)
        return tuple(Key("case", name, convention) for convention in self._options.masks)

    def keys_of(self, item_id: str, item: ImplementationItem) -> tuple[Key, ...]:
        """What an item's property needs: one for each convention that is right, if it has a mask."""
        if not item.property:
            return ()
        if item.property == "convention":
            return (Key("convention", convention=item.convention),)
        if self.by_convention(item):
            return tuple(Key("convention", convention=convention) for convention in self._options.masks)
        masked = item.property in OF_MASKS or bool(item.case and self.masked(item.case))
        conventions = self._options.masks if masked else ("",)
        return tuple(Key("item", item_id, convention) for convention in conventions)

    def scenarios(self, title: str, signature: Signature, inputs: Inputs) -> tuple[Scenario, ...]:
        """All scenarios for a class of a signature, in the order of the keys."""
        numbers = hidden_numbers(inputs)  # one array, which is sent once
        return tuple(self._scenario(key, title, signature, numbers, inputs) for key in self.keys)

    def _scenario(
        self, key: Key, title: str, signature: Signature, numbers: Tensor, inputs: Inputs
    ) -> Scenario:
        asked = replace(key, sort="case") if key.sort == "forbidden" else key
        calls = self.calls(asked, self.layer(asked, signature, numbers), inputs)
        name = " ".join(filter(None, (f"{title}:", key.sort, key.name, key.convention)))
        if key.sort == "forbidden":  # without the second pass
            return forbidden.recording(name, calls[:-1], self._options.forbidden)
        return Scenario(name, calls)

    def inputs(self, draw: Draw) -> Inputs:
        """The hidden sizes and numbers."""
        return Inputs(BehaviourQuestion(sizes=self._options.sizes, precision=self._options.precision), draw)

    def layer(self, key: Key, signature: Signature = UNKNOWN, numbers: Tensor | None = None) -> Layer:
        """What a scenario calls."""
        if isinstance(self.probes.get(key), Raises):
            return self._unloaded(signature)
        return Layer(self._name, self._options, signature, key.convention, numbers=numbers)

    def calls(self, key: Key, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
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

    def _unloaded(self, signature: Signature) -> Layer:
        return Layer(self._name, self._options, signature, loaded=False)

    def _probe(self, item: ImplementationItem, key: Key) -> Probe:
        match item.property:
            case "refuses":
                bad = BehaviourItem(
                    property="raises", construct=Construct(kwargs=BAD_SIZES), raises=item.raises
                )
                return Raises(self._unloaded(UNKNOWN), bad, f"property:{key.name}", None)
            case "gradients" | "contract":
                return Gradients(item.roles, self._options.contract)
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

    def _changes(self, of: Any, case: Case, key: Key) -> Changes:
        mask = "mask" if "mask" in case.kwargs else ""
        item = BehaviourItem(property=of, move=MOVED[of], mask=mask)
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
