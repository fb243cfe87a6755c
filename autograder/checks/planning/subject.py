"""What is called: a function, or an object made from a class and given weights.

Builds scenarios only; nothing here judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.records import Call, Observation, Ref

Weights = Mapping[str, tuple[int | str, ...]]

MODEL = "model"
"""The kept name of the constructed object."""


class Construct(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the class."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class CalleeOptions(CallOptions, frozen=True):
    """The question options of every kind that calls a function, or an object it constructs."""

    construct: Construct | None = None
    """Makes the answer a class; without it it is a function."""
    mode: Literal["eval", "train", "as-is"] = "eval"
    take_first: bool = False
    """Of a tuple that is returned, the first element is judged."""


def asking(
    target: str | Ref,
    options: CallOptions,
    arguments: Arguments,
    *,
    attribute: str = "",
    seed: int | None = None,
    grad: bool = True,
    keep: str = "",
) -> Call:
    """One call as the question's options have it: with their dtype, and with random numbers fixed."""
    args, kwargs = arguments
    return Call(
        target,
        attribute=attribute,
        args=args,
        kwargs=kwargs,
        seed=0 if seed is None else seed,
        grad=grad,
        keep=keep,
        default_dtype=options.dtype,
    )


class Callee:
    """The function or class of one question, ready to be called."""

    def __init__(
        self, name: str, options: CalleeOptions, weights: Weights | None = None, *, biases: bool = False
    ) -> None:
        """Remember what is called.

        Args:
            name: the function or class.
            options: of the question.
            weights: what every object is given: name in the ``state_dict`` → shape.
            biases: whether a ``*.bias`` may exist for every ``*.weight``.
        """
        self.name = name
        self.options = options
        self.weights = weights or {}
        self._biases = biases

    def prologue(self, inputs: Inputs, *, weights: bool) -> tuple[Call, ...]:
        """The calls before the first one that matters: construct, load weights, set the mode."""
        options = self.options
        if options.construct is None:
            return ()
        arguments = inputs.arguments("construct", options.construct.args, options.construct.kwargs)
        calls = [self.construct(arguments)]
        if weights and self.weights:
            calls.append(self._load(inputs))
        if options.mode != "as-is":
            calls.append(Call(Ref(MODEL), attribute=options.mode, keep=MODEL))
        return tuple(calls)

    def construct(self, arguments: Arguments) -> Call:
        """The call that makes the object."""
        return asking(self.name, self.options, arguments, keep=MODEL)

    def call(
        self,
        arguments: Arguments,
        *,
        method: str = "",
        seed: int | None = None,
        grad: bool = True,
        keep: str = "",
    ) -> Call:
        """One call of the function or object."""
        target = self.name if self.options.construct is None else Ref(MODEL)
        return asking(target, self.options, arguments, attribute=method, seed=seed, grad=grad, keep=keep)

    def result(self, value: Any) -> Any:
        """What of a returned value is judged."""
        if self.options.take_first and isinstance(value, list | tuple) and value:
            return value[0]
        return value

    def missing_weights(self, observations: Sequence[Observation]) -> tuple[list[str], list[str]]:
        """Names of the contract that the object lacks, and names it has beyond it, as it says itself."""
        if self.options.construct is None or not self.weights or len(observations) < 2:
            return [], []
        told = observations[1].value
        if not (isinstance(told, list | tuple) and len(told) == 2):
            return [], []
        beyond, absent = (_texts(names) for names in told)
        return [name for name in absent if name in self.weights], beyond

    def _load(self, inputs: Inputs) -> Call:
        """Load drawn weights. Not strict: names that do not fit are told by the reply, in their own words."""
        weights = inputs.weights(self.weights, biases=self._biases)
        return Call(Ref(MODEL), attribute="load_state_dict", args=(weights,), kwargs={"strict": False})


def changed(arguments: Arguments, replacements: Mapping[str | int, Any]) -> Arguments:
    """The same arguments, with some replaced."""
    args, kwargs = arguments
    return (
        tuple(replacements.get(place, value) for place, value in enumerate(args)),
        {key: replacements.get(key, value) for key, value in kwargs.items()},
    )


def argument(arguments: Arguments, key: str | int) -> Any:
    """One argument by keyword or place; None when there is none."""
    args, kwargs = arguments
    if isinstance(key, int):
        return args[key] if 0 <= key < len(args) else None
    return kwargs.get(key)


def _texts(names: Any) -> list[str]:
    if not isinstance(names, list | tuple):
        return []
    return [name for name in names[:50] if isinstance(name, str)]
