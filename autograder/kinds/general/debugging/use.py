"""How a listing is used: what is constructed, called and looked at, with other hidden arguments every time.

One use with its arguments drawn once is a *probe*, a scenario that begins with a construction of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.base import ENDED, Draw, Observations
from autograder.checks.options import Case, named_cases, place
from autograder.checks.planning.drawing import SAMPLE, Inputs
from autograder.checks.planning.subject import Callee, CalleeOptions, Construct, Weights
from autograder.errors import RubricError
from autograder.records import Call, Ending, Observation, Opaque, Ref, Scenario
from autograder.rubric import Question
from autograder.stream import derived

MOST_CANDIDATES = 120
"""Probes that are tried before some are chosen."""
RESULT = "result"
PARAMETERS = Ref("parameters")
WEIGHTS = Ref("weights")
NOISE = Ref("noise")
TORCH = "@torch"
STIR = 0.2
"""Standard deviation of what is added to every weight."""
NOT_ASKED = frozenset({Ending.NOT_ASKED, Ending.RESTARTS, Ending.SUBMISSION_TIME, Ending.ANSWERS_SIZE})
"""Endings that say nothing of the call: it was not made."""


class UseStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a use, or one thing that is read."""

    of: str = ""
    """What is called or read: a kept name; default: the constructed object, or the function itself."""
    method: str = ""
    read: str = ""
    """Instead of a call: this attribute is looked at."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    keep: str = ""
    """The result stays under this name, for ``of`` and ``{ kept = "…" }``, and is not looked at."""
    seed: int | None = None


class Use(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that follow one another on one object."""

    name: str
    step: tuple[UseStep, ...]
    construct: Construct | None = None
    """Instead of the question's."""
    let: dict[str, Any] = {}
    """Values that stay in the box under a name."""
    tries: int = 0
    """How many probes are tried; default: the question's."""


class ListingUses:
    """Everything that can be asked of a listing.

    Attributes:
        names: of the probes, in order.
        calls: how many calls a probe has, by its use.
    """

    def __init__(
        self,
        question: Question,
        options: CalleeOptions,
        uses: tuple[Use, ...],
        *,
        tries: int,
        weights: Weights,
        stir: bool,
    ) -> None:
        """Refuse uses that cannot be drawn.

        Args:
            question: of the rubric.
            options: its cases, sizes and construction.
            uses: calls that follow one another; cases are uses of one call.
            tries: how many probes of each use are tried.
            weights: what every object is given: name in the ``state_dict`` → shape.
            stir: add the same drawn numbers to all parameters, in their order.
        """
        self._question, self._options = question, options
        self._weights, self._stir = weights, stir
        self._uses = {name: _of_case(name, case) for name, case in named_cases(options, question).items()}
        for use in uses:
            if use.name in self._uses:
                raise RubricError(f"two uses have the name {use.name!r}", place(question), "use")
            self._uses[use.name] = use
        if not self._uses:
            raise RubricError(
                "nothing says how the listing is used: at least one [[question.case]] or [[question.use]] "
                "is needed",
                place(question),
                "case",
            )
        self.names = tuple(
            f"{name} {number}"
            for name, use in self._uses.items()
            for number in range(1, (use.tries or tries) + 1)
        )
        if len(self.names) > MOST_CANDIDATES:
            raise RubricError(
                f"expected at most {MOST_CANDIDATES} probes to try, got {len(self.names)}; lower tries",
                place(question),
                "tries",
            )
        made = self.scenarios(SAMPLE)
        self.calls = {self.use_of(name): len(one.calls) for name, one in made.items()}

    def use_of(self, probe: str) -> str:
        """The name of the use that a probe is one of."""
        return probe.rsplit(" ", 1)[0]

    def scenarios(self, draw: Draw) -> dict[str, Scenario]:
        """Every probe by its name; ``serves`` is its use, so that one that hangs does not stop the others."""
        return {name: self._scenario(name, draw) for name in self.names}

    def _scenario(self, probe: str, draw: Draw) -> Scenario:
        use = self._uses[self.use_of(probe)]
        options = msgspec.structs.replace(self._options, construct=_construction(use, self._options))
        inputs = Inputs(options, Draw(derived(draw.seed, "debugging", probe)))
        subject = Callee(self._question.answer, options, self._weights)
        calls = [*self._kept(use, inputs), *subject.prologue(inputs, weights=True), *self._stirred(options)]
        for number, step in enumerate(use.step):
            calls.append(self._call(number, step, inputs, options))
        return Scenario(f"{self._question.id}: {probe}", tuple(calls), serves=self.use_of(probe))

    def _kept(self, use: Use, inputs: Inputs) -> Iterator[Call]:
        args, _ = inputs.arguments(f"let {use.name}", [_kept(one) for one in use.let.values()], {})
        for name, value in zip(use.let, args, strict=True):
            yield Call("@copy", "copy", args=(value,), keep=name)

    def _stirred(self, options: CalleeOptions) -> list[Call]:
        """Add drawn numbers to the parameters in their order, whatever their names are."""
        if not self._stir or options.construct is None:
            return []
        return [
            Call(Ref("model"), "parameters", keep="iterator"),
            Call("@builtins", "list", args=(Ref("iterator"),), keep=PARAMETERS.name),
            Call(TORCH, "nn.utils.parameters_to_vector", args=(PARAMETERS,), keep=WEIGHTS.name),
            Call(TORCH, "randn_like", args=(WEIGHTS,), keep=NOISE.name, seed=1),
            Call(NOISE, "mul", args=(STIR,), keep=NOISE.name),
            Call(WEIGHTS, "add", args=(NOISE,), keep=WEIGHTS.name),
            Call(TORCH, "nn.utils.vector_to_parameters", args=(WEIGHTS, PARAMETERS), keep="nothing"),
        ]

    def _call(self, number: int, step: UseStep, inputs: Inputs, options: CalleeOptions) -> Call:
        target: str | Ref = Ref(step.of) if step.of else Ref("model")
        if not step.of and options.construct is None:
            target = self._question.answer
        if step.read:
            return Call(target, step.read, read=True, keep=step.keep)
        args, kwargs = inputs.arguments(
            f"step {number}",
            [_kept(one) for one in step.args],
            {name: _kept(one) for name, one in step.kwargs.items()},
        )
        return Call(
            target,
            step.method,
            args=args,
            kwargs=kwargs,
            keep=step.keep,
            seed=0 if step.seed is None else step.seed,
            grad=True,
            default_dtype=options.dtype,
        )


def _construction(use: Use, options: CalleeOptions) -> Construct | None:
    construct = use.construct or options.construct
    if construct is None:
        return None
    kwargs = {name: _kept(one) for name, one in construct.kwargs.items()}
    return Construct(tuple(_kept(one) for one in construct.args), kwargs)


def _of_case(name: str, case: Case) -> Use:
    step = UseStep(method=case.method, args=case.args, kwargs=case.kwargs, seed=case.seed)
    return Use(name, (step,))


def _kept(value: Any) -> Any:
    """An argument with the kept things that it names; what stands in a list is drawn as well."""
    if isinstance(value, Mapping):
        return Ref(str(value["kept"])) if set(value) == {"kept"} else value
    if isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value):
        return {"parts": [_kept(one) for one in value]}
    return value


class ProbeOutcome(Struct, frozen=True):
    """What one probe gave."""

    values: tuple[Any, ...] = ()
    error: str = ""
    """The exception's type, or why the box ended; empty where every call gave something."""


def outcome(observations: Observations, calls: int) -> ProbeOutcome | None:
    """What a probe gave; None where that is not known.

    Args:
        observations: of its scenario.
        calls: how many calls that has.
    """
    values: list[Any] = []
    for one in observations[:calls]:
        if one.ok:
            values.append(_plain(one.value))
            continue
        if one.ending in NOT_ASKED or one.error == "Skipped":
            return None
        return ProbeOutcome(tuple(values), _error(one))
    return ProbeOutcome(tuple(values)) if len(observations) >= calls else None


def _error(observation: Observation) -> str:
    if observation.ending is not None:
        return f"ended: {observation.ending.value}"
    return f"ended: {observation.message}" if observation.error == ENDED else str(observation.error)


def _plain(value: Any) -> Any:
    """The value, with the type's name for what has no plain form; kept things are all alike."""
    if isinstance(value, Opaque):
        return f"<{value.type_name}> {value.text}"
    if isinstance(value, Ref):
        return None
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value
