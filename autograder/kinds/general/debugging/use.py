"""How a listing is used: what is constructed, called and looked at, with other hidden arguments every time.

One use with its arguments drawn once is a *probe*, a scenario that begins with a construction of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from math import lcm
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.base import ENDED, Draw, Observations
from autograder.checks.options import Case, named_cases, place
from autograder.checks.planning.drawing import DRAWN, SAMPLE, Inputs, edge_cases, plain
from autograder.checks.planning.subject import Callee, CalleeOptions, Construct, Weights
from autograder.errors import Place, RubricError
from autograder.kinds.general.debugging.naming import OwnNames, loaded, own_names
from autograder.records import Call, Ending, Observation, Opaque, Ref, Scenario, Tensor
from autograder.rubric import Question
from autograder.stream import derived

MOST_CANDIDATES = 120
"""Probes that are tried before some are chosen."""
MOST_KEPT = 8
"""Draws whose probes are kept for the next student."""
PARAMETERS = Ref("parameters")
WEIGHTS = Ref("weights")
NOISE = Ref("noise")
TORCH = "@torch"
LOADED = "loaded"
"""Under this name stays what the loading of weights says."""
STIR = 0.2
"""Standard deviation of what is added to every weight."""
OwnWeights = Mapping[str, OwnNames]
"""What is loaded into some code's weights, by the use that states shapes of its own; by "" for all others."""
NOT_ASKED = frozenset({Ending.NOT_ASKED, Ending.RESTARTS, Ending.SUBMISSION_TIME, Ending.ANSWERS_SIZE})
"""Endings that say nothing of the call: it was not made."""


class UseStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a use, or one thing that is read."""

    of: str = ""
    """What is called or read: a kept name, or a module (``"@torch"``); default: the constructed object, or
    the function itself. Where weights are stirred, ``parameters`` is their list, ``weights`` one vector."""
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
    weights: dict[str, tuple[int | str, ...]] = {}
    """Shapes that are others than the question's, with this construction."""
    let: dict[str, Any] = {}
    """Values that stay in the box under a name."""
    about: str = ""
    """The fault that it tells: code without it gives what the listings without it give."""
    instead: str = ""
    """Another use, in whose place it speaks where that one raises although no listing does."""
    further: bool = False
    """Asked only where what is asked of everybody leaves a fault open: of code in other words."""
    whole: bool = False
    """It tells of no fault by itself: code that is right in all but this goes to a person."""
    alone: bool = False
    """What it gives depends on that fault alone, so that nothing else explains what no listing gives."""
    relate: tuple[tuple[int, int], ...] = ()
    """Pairs of what is looked at, counted from 1: only whether the two of a pair are alike is looked at."""
    sure: tuple[int, ...] = ()
    """Of what is looked at: where one of these is not true a person decides on the fault."""
    stir: bool | None = None
    """Instead of the question's."""
    tries: int = 0
    """How many probes are tried; default: the question's."""
    raises: bool = False
    """The right listing raises in all of them, and that is what is looked at."""


class ListingUses:
    """Everything that can be asked of a listing.

    Attributes:
        names: of the probes, in order.
        about: the fault that a probe is about, by the probe; empty: whichever it tells.
        instead: the use in whose place a probe speaks, by the probe; empty: it speaks always.
        further: the probes that are asked only where the others leave a fault open.
        whole: the probes that tell of no fault by themselves.
        alone: the probes that depend on the fault alone that they are about.
        calls: how many calls a probe has, by its use.
        asks: what a probe asks, by the probe: its use, the values of each ``choose``, which take turns, and
            the edge cases, which come first.
        stated: every use, every value of each ``choose`` and every edge case, in words.
        edges: the edge cases among them, for which the right listing may raise.
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
            _refuse_pairs(use, place(question))
        for use in self._uses.values():
            self._refuse_words(use)
        if all(use.further for use in self._uses.values()):
            raise RubricError(
                "nothing says how the listing is used: at least one [[question.case]] or [[question.use]] "
                "without further is needed",
                place(question),
                "case",
            )
        self.names = tuple(
            f"{name} {number}"
            for name, use in self._uses.items()
            for number in range(1, (use.tries or tries) + 1)
        )
        self.about = {name: self._uses[self.use_of(name)].about for name in self.names}
        self.instead = {name: self._uses[self.use_of(name)].instead for name in self.names}
        self.further = frozenset(name for name in self.names if self._uses[self.use_of(name)].further)
        self.whole = frozenset(name for name in self.names if self._uses[self.use_of(name)].whole)
        self.alone = frozenset(name for name in self.names if self._uses[self.use_of(name)].alone)
        turns = {name: self._turn(name) for name in self.names}
        self.edges = frozenset(one for turn in turns.values() for one in turn.edges)
        self.asks = {name: frozenset(turn.asked) for name, turn in turns.items()}
        self.stated = tuple(dict.fromkeys(one for turn in turns.values() for one in turn.all))
        if len(self.names) > MOST_CANDIDATES:
            raise RubricError(
                f"expected at most {MOST_CANDIDATES} probes to try, got {len(self.names)}; lower tries",
                place(question),
                "tries",
            )
        # Most of a class meet the same draw.
        self._made = functools.lru_cache(MOST_KEPT)(self._scenarios)
        made = self.scenarios(SAMPLE)
        self.calls = {self.use_of(name): len(one.calls) for name, one in made.items()}

    def _refuse_words(self, use: Use) -> None:
        """Refuse what a use says of itself and of others where it cannot be so."""
        if use.alone and not use.about:
            raise RubricError(
                f'use {use.name!r}: alone says that it depends on one fault alone; about = "…" names it',
                place(self._question),
                "use",
            )
        if use.whole and use.about:
            raise RubricError(
                f"use {use.name!r}: whole = true says that it tells of no fault by itself, "
                "and about names one; leave out one of the two",
                place(self._question),
                "use",
            )
        if unknown := [name for name in use.weights if name not in self._weights]:
            raise RubricError(
                f"use {use.name!r}: the question's weights have no {unknown[0]!r}; "
                f"known: {', '.join(self._weights) or 'none'}",
                place(self._question),
                "use",
            )
        if use.instead and use.instead not in self._uses:
            raise RubricError(
                f"use {use.name!r}: no use {use.instead!r}; known: {', '.join(self._uses)}",
                place(self._question),
                "use",
            )
        if use.further and (not use.about or use.instead):
            raise RubricError(
                f'use {use.name!r}: further = true needs about = "…", the fault that the use tells, and no '
                "instead",
                place(self._question),
                "use",
            )
        if use.instead and self._uses[use.instead].further:
            raise RubricError(
                f"use {use.name!r}: nothing can stand in for {use.instead!r}, which is further; "
                "leave out instead here, or further there",
                place(self._question),
                "use",
            )

    def use_of(self, probe: str) -> str:
        """The name of the use that a probe is one of."""
        return probe.rsplit(" ", 1)[0]

    def scenarios(
        self,
        draw: Draw,
        own: OwnWeights | None = None,
        *,
        of_object: bool = False,
        probes: Sequence[str] | None = None,
    ) -> dict[str, Scenario]:
        """Probes by their names; ``serves`` is the use, so that one that hangs does not stop the others.

        Args:
            draw: where hidden inputs come from.
            own: what weights are called in the code that is asked; default: as stated.
            of_object: the answer's name holds an object, of whose class others are constructed.
            probes: default: all.
        """
        made = self._made(draw, of_object)
        wanted = self.names if probes is None else probes
        return {name: self._with_names(name, made[name], own or {}) for name in wanted}

    def _scenarios(self, draw: Draw, of_object: bool) -> dict[str, Scenario]:  # noqa: FBT001 - private
        made = {name: self._scenario(name, draw) for name in self.names}
        return {name: self._of_class(one) for name, one in made.items()} if of_object else made

    def _with_names(self, probe: str, scenario: Scenario, own: OwnWeights) -> Scenario:
        """The same where weights are loaded under the code's own names."""
        use = self._uses[self.use_of(probe)]
        named, place = own.get(use.name, own.get("", {})), len(use.let) + 1
        if not named or len(scenario.calls) <= place or scenario.calls[place].keep != LOADED:
            return scenario
        load = scenario.calls[place]
        load = msgspec.structs.replace(load, args=(loaded(load.args[0], named),))
        calls = (*scenario.calls[:place], load, *scenario.calls[place + 1 :])
        return msgspec.structs.replace(scenario, calls=calls)

    def _of_class(self, scenario: Scenario) -> Scenario:
        """The same where the answer's name holds an object of the class."""
        calls = (
            msgspec.structs.replace(call, attribute="__class__")
            if call.target == self._question.answer and not call.attribute
            else call
            for call in scenario.calls
        )
        return msgspec.structs.replace(scenario, calls=tuple(calls))

    def always_raises(self, use: str) -> bool:
        """Whether the author says that the right listing raises in all probes of a use."""
        return self._uses[use].raises

    def _turn(self, probe: str) -> _Turn:
        name, number = probe.rsplit(" ", 1)
        return _Turn(self._uses[name], self._options.construct, int(number) - 1)

    def pairs(self, probe: str) -> tuple[tuple[int, int], ...]:
        """Places of calls of which it only counts whether they gave the same; none: all counts."""
        seen = self._seen(probe)
        return tuple((seen[one], seen[other]) for one, other in self._uses[self.use_of(probe)].relate)

    def sure(self, probe: str) -> tuple[int, ...]:
        """Places of calls of which one that did not give true leaves the fault to a person."""
        seen = self._seen(probe)
        return tuple(seen[one] for one in self._uses[self.use_of(probe)].sure)

    def _seen(self, probe: str) -> dict[int, int]:
        """The places of the calls that are looked at, by their numbers from 1."""
        use = self._uses[self.use_of(probe)]
        first = self.calls[use.name] - len(use.step)
        seen = (first + number for number, step in enumerate(use.step) if not step.keep)
        return dict(enumerate(seen, 1))

    def place_of(self, probe: str, call: int) -> str:
        """Where a call stands in its use, in words; calls are counted from 0, steps from 1."""
        use = self._uses[self.use_of(probe)]
        step = call - (self.calls[use.name] - len(use.step)) + 1
        return f"in step {step}" if step > 0 else "where it is constructed or weights are loaded"

    def naming(self) -> tuple[Call, ...]:
        """The calls that ask objects for their weights, one for each construction with shapes of its own.

        At last one is asked which of its weights are learned. None where no weights are loaded.
        """
        if not self._weights or self._options.construct is None:
            return ()
        calls: list[Call] = []
        for use in (None, *self._sized()):
            options = msgspec.structs.replace(self._options, construct=_construction(use, self._options))
            callee, inputs = Callee(self._question.answer, options), Inputs(options, SAMPLE, DRAWN)
            calls += [callee.prologue(inputs, weights=False)[0], Call(Ref("model"), "state_dict")]
        return tuple(msgspec.structs.replace(call, brief=True) for call in (*calls, *_LEARNED))

    def _sized(self) -> Iterator[Use]:
        """The uses that state shapes of weights."""
        return (use for use in self._uses.values() if use.weights)

    def own_weights(self, observations: Observations) -> OwnWeights:
        """What the stated weights are called in code that was asked by `naming`, and their shapes there."""
        answers, learned = observations[: -len(_LEARNED)], observations[-len(_LEARNED) :]
        told = [
            {name: value.array.shape for name, value in one.value.items() if isinstance(value, Tensor)}
            if one.ok and isinstance(one.value, Mapping)
            else {}
            for one in answers[1::2]
        ]
        stated = Inputs(self._options, SAMPLE).weights(self._weights, biases=False)
        shapes = {name: one.array.shape for name, one in stated.items()}
        names = shapes.keys() | _names_of(learned)
        usual = {name: shape for name, shape in told[0].items() if name in names} if told else {}
        found = own_names(shapes, usual)
        of_uses = {
            use.name: {
                name: own._replace(shape=shapes[name]) for name, own in found.items() if name in shapes
            }
            for use, shapes in zip(self._sized(), told[1:], strict=False)
        }
        return {"": found, **of_uses}

    def _scenario(self, probe: str, draw: Draw) -> Scenario:
        turn = self._turn(probe)
        use = turn.use
        options = msgspec.structs.replace(self._options, construct=_construction(use, self._options))
        inputs = Inputs(options, Draw(derived(draw.seed, "debugging", probe)), turn.number)
        subject = Callee(self._question.answer, options, {**self._weights, **use.weights})
        stir = self._stir if use.stir is None else use.stir
        prologue = subject.prologue(inputs, weights=not stir)
        calls = [*self._kept(use, inputs)]
        calls += [msgspec.structs.replace(call, keep=call.keep or LOADED, brief=True) for call in prologue]
        if stir and options.construct is not None:
            calls += _stirring()
        for number, step in enumerate(use.step):
            calls.append(self._call(number, step, inputs, options))
        return Scenario(f"{self._question.id}: {probe}", tuple(calls), serves=self.use_of(probe))

    def _kept(self, use: Use, inputs: Inputs) -> Iterator[Call]:
        args, _ = inputs.arguments(f"let {use.name}", [_kept(one) for one in use.let.values()], {})
        for name, value in zip(use.let, args, strict=True):
            yield Call("@operator", "getitem", args=([value], 0), keep=name)  # as it is: a copy takes longer

    def _call(self, number: int, step: UseStep, inputs: Inputs, options: CalleeOptions) -> Call:
        target: str | Ref = step.of if step.of.startswith("@") else Ref(step.of or "model")
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
            seed=_seed(number, step),
            grad=True,
            default_dtype=options.dtype,
            # What the answer itself gives is told at once: a later call may end the box.
            brief=bool(step.keep or step.of),
        )


class _Turn:
    """A use with one value of each ``choose``: they take turns, so that few probes have all of them.

    Attributes:
        number: of the try, from 0.
        use: with its construction, or the question's.
        asked: the use, the values and the edge cases, in words.
        all: the use, every value of each ``choose`` and every edge case.
        edges: the edge cases of all tries.
    """

    def __init__(self, use: Use, construct: Construct | None, number: int) -> None:
        """Choose the values.

        Args:
            use: as stated.
            construct: the question's.
            number: of the probe among those of the use, from 0.
        """
        self.number, self._period = number, 1
        self.asked, self.all = [f"use {use.name!r}"], [f"use {use.name!r}"]
        self.edges: list[str] = []
        within = f"use {use.name!r}: " if use.construct else ""
        if made := use.construct or construct:
            made = Construct(
                tuple(self._value(f"{within}construct {at}", one) for at, one in enumerate(made.args, 1)),
                {name: self._value(f"{within}construct {name}", one) for name, one in made.kwargs.items()},
            )
        within = f"use {use.name!r}: "
        steps = tuple(
            msgspec.structs.replace(
                step,
                args=tuple(self._value(f"{within}argument {at}", one) for at, one in enumerate(step.args, 1)),
                kwargs={name: self._value(f"{within}{name}", one) for name, one in step.kwargs.items()},
            )
            for step in use.step
        )
        let = {name: self._value(f"{within}{name}", one) for name, one in use.let.items()}
        self.use = msgspec.structs.replace(use, construct=made, step=steps, let=let)

    def _value(self, where: str, value: Any) -> Any:
        """An argument in which one value of each ``choose`` is left."""
        if isinstance(value, list | tuple):
            return [self._value(where, one) for one in value]
        if edges := [f"{where} is {edge}" for edge in edge_cases(value)]:
            self.asked += edges[self.number : self.number + 1]
            self.all += edges
            self.edges += edges
        if not isinstance(value, Mapping) or set(value) != {"choose"} or not value["choose"]:
            return value
        values = value["choose"]
        # Where two have the same number of values, one is a step further in each round: so all of them meet.
        before, self._period = self._period, self._period * len(values)
        further = self.number % self._period // lcm(before, len(values))
        chosen = values[(self.number + further) % len(values)]
        self.asked.append(f"{where} = {plain(chosen)!r}")
        self.all += [f"{where} = {plain(one)!r}" for one in values]
        return {"choose": [chosen]}


def _seed(number: int, step: UseStep) -> int | None:
    """Methods of what was kept are most calls: they go on from where the call before left the generators."""
    on_kept = bool(number and step.of and step.method) and not step.of.startswith("@")
    return 0 if step.seed is None and not on_kept else step.seed


_LEARNED = (
    Call(Ref("model"), "named_parameters", kwargs={"remove_duplicate": False}, keep="pairs"),
    Call("@builtins", "dict", args=(Ref("pairs"),), keep="named"),
    Call("@builtins", "list", args=(Ref("named"),)),
    Call(Ref("named"), "values", keep="values"),
    Call("@operator", "attrgetter", args=("requires_grad",), keep="learned"),
    Call("@builtins", "map", args=(Ref("learned"), Ref("values")), keep="learned"),
    Call("@builtins", "list", args=(Ref("learned"),)),
)
"""Ask for the names of all parameters, and which of them are learned."""


def _names_of(observations: Observations) -> set[str]:
    """The names of learned parameters by the answers to `_LEARNED`; none where they are not known."""
    names, learned = (observations[at].value if at < len(observations) else None for at in (2, 6))
    if not isinstance(names, list) or not isinstance(learned, list) or len(names) != len(learned):
        return set()
    pairs = zip(names, learned, strict=True)
    return {name for name, is_learned in pairs if isinstance(name, str) and is_learned is True}


def _stirring() -> list[Call]:
    """Add drawn numbers to the parameters in their order, whatever their names are, learned or not."""
    return [
        Call(Ref("model"), "requires_grad_", keep="nothing"),
        Call(Ref("model"), "parameters", keep="iterator"),
        Call("@builtins", "list", args=(Ref("iterator"),), keep=PARAMETERS.name),
        Call(TORCH, "nn.utils.parameters_to_vector", args=(PARAMETERS,), keep=WEIGHTS.name),
        Call(TORCH, "randn_like", args=(WEIGHTS,), keep=NOISE.name, seed=1),
        Call(NOISE, "mul", args=(STIR,), keep=NOISE.name),
        Call(WEIGHTS, "add", args=(NOISE,), keep=WEIGHTS.name),
        Call(TORCH, "nn.utils.vector_to_parameters", args=(WEIGHTS, PARAMETERS), keep="nothing"),
    ]


def _refuse_pairs(use: Use, where: Place) -> None:
    seen = sum(not step.keep for step in use.step)
    if use.sure and not (use.about and use.relate):
        raise RubricError(
            f'use {use.name!r}: sure needs about = "…", the fault that is left to a person, and relate',
            where,
            "use",
        )
    for word, numbers in (*(("relate", pair) for pair in use.relate), ("sure", use.sure)):
        if not all(1 <= one <= seen for one in numbers):
            raise RubricError(
                f"use {use.name!r}: {word} names {list(numbers)}; {seen} things are looked at, "
                "counted from 1",
                where,
                "use",
            )


def _construction(use: Use | None, options: CalleeOptions) -> Construct | None:
    construct = (use and use.construct) or options.construct
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
