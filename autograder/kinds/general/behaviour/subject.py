"""What a behaviour question calls: a function, or an object made from a class and given weights.

Builds scenarios only; nothing here judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from autograder.checks.options import CallOptions, Rules
from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.records import Call, Observation, Ref

MODEL = "model"
"""The kept name of the constructed object."""


class Construct(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the class."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class BehaviourQuestion(CallOptions, frozen=True):
    """Options of a ``behaviour`` question."""

    construct: Construct | None = None
    """Makes the answer a class; without it it is a function."""
    weights: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    """Name in the ``state_dict`` → shape. Drawn, and loaded into the student's and the reference's object."""
    biases: Literal["none", "optional"] = "none"
    """``optional``: a ``*.bias`` may exist for every ``*.weight``; it is set to zero."""
    mode: Literal["eval", "train", "as-is"] = "eval"
    forbidden: tuple[str, ...] = ()
    """Names that the answer may not make use of."""
    take_first: bool = False
    """Of a tuple that is returned, the first element is judged."""
    compare: Rules = Rules()


class Subject:
    """The function or class of one question, ready to be called."""

    def __init__(self, name: str, options: BehaviourQuestion) -> None:
        """Remember what is called.

        Args:
            name: the function or class.
            options: of the question.
        """
        self.name = name
        self.options = options

    def prologue(self, inputs: Inputs, *, weights: bool) -> tuple[Call, ...]:
        """The calls before the first one that matters: construct, load weights, set the mode."""
        options = self.options
        if options.construct is None:
            return ()
        arguments = inputs.arguments("construct", options.construct.args, options.construct.kwargs)
        calls = [self.construct(arguments)]
        if weights and options.weights:
            calls.append(self._load(inputs))
        if options.mode != "as-is":
            calls.append(Call(Ref(MODEL), attribute=options.mode, keep=MODEL))
        return tuple(calls)

    def construct(self, arguments: Arguments) -> Call:
        """The call that makes the object."""
        args, kwargs = arguments
        return Call(
            self.name,
            args=args,
            kwargs=kwargs,
            keep=MODEL,
            seed=0,
            grad=True,
            default_dtype=self._dtype(),
        )

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
        args, kwargs = arguments
        return Call(
            self.name if self.options.construct is None else Ref(MODEL),
            attribute=method,
            args=args,
            kwargs=kwargs,
            seed=0 if seed is None else seed,
            grad=grad,
            keep=keep,
            default_dtype=self._dtype(),
        )

    def result(self, value: Any) -> Any:
        """What of a returned value is judged."""
        if self.options.take_first and isinstance(value, list | tuple) and value:
            return value[0]
        return value

    def missing_weights(self, observations: Sequence[Observation]) -> tuple[list[str], list[str]]:
        """Names of the contract that the object lacks, and names it has beyond it, as it says itself."""
        if self.options.construct is None or not self.options.weights or len(observations) < 2:
            return [], []
        told = observations[1].value
        if not (isinstance(told, list | tuple) and len(told) == 2):
            return [], []
        beyond, absent = (_texts(names) for names in told)
        return [name for name in absent if name in self.options.weights], beyond

    def _load(self, inputs: Inputs) -> Call:
        """Load drawn weights. Not strict: names that do not fit are told by the reply, in their own words."""
        weights = inputs.weights(self.options.weights, biases=self.options.biases == "optional")
        return Call(Ref(MODEL), attribute="load_state_dict", args=(weights,), kwargs={"strict": False})

    def _dtype(self) -> str:
        return self.options.precision if self.options.library == "torch" else ""


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
