"""Constructs and calls a student's attention: arguments in the student's order, masks in a convention.

Every object gets the same hidden numbers as its parameters, in the order in which it lists them, whatever
they are called and however they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.kinds.general.behaviour.subject import MODEL, BehaviourQuestion, Construct, Subject
from autograder.kinds.transformers.implementation.options import ImplementationQuestion
from autograder.kinds.transformers.implementation.signature import Parameters, Signature, roles
from autograder.records import Call, Ending, Ref, Tensor
from autograder.wording import Phrase, Told

FILLED = 5
"""Which call of the prologue says what the parameters are; see `stored`."""
MOST_PARAMETERS = 256
_FILLING = """
import torch
def fill(model, numbers, width):
    stored, first, start = [], {}, 0
    for name, one in torch.nn.Module.named_parameters(model, remove_duplicate=False):
        if id(one) in first:
            stored.append([name, list(one.shape), False, first[id(one)]])
            continue
        first[id(one)] = name
        plain = one.detach().flatten()
        own = one.numel() == 1
        if 1 < one.numel() <= width:
            own = bool((plain == plain[0]).all()) and bool(plain[0] != 0)
        filled = not own and start + one.numel() <= numbers.numel()
        if filled:
            one.data.copy_(numbers[start : start + one.numel()].view_as(one))
            start += one.numel()
        stored.append([name, list(one.shape), filled, name if own or filled else ""])
    return stored
def gradients(model):
    named = torch.nn.Module.named_parameters(model, remove_duplicate=False)
    return [one.grad for name, one in named]
"""
"""Runs in the box. Every parameter that can be a projection or its bias gets hidden numbers. What is one
number, or a vector of one constant, is a scale or a gain, and keeps what it has: whoever stored the factor of
the scores as a parameter computes with that factor."""
SIZES = ("d_model", "n_heads", "dropout")
ROOM = 3
"""How many times the numbers of four projections are drawn; a class with more parameters is not loaded."""


class Layer(Subject):
    """The class of one question as one student wrote it."""

    def __init__(
        self,
        name: str,
        question: ImplementationQuestion,
        signature: Signature,
        convention: str = "zero-blocks",
        *,
        loaded: bool = True,
        numbers: Tensor | None = None,
    ) -> None:
        """Remember how it is called.

        Args:
            name: of the class.
            question: the options.
            signature: of the class, as its source tells.
            convention: how masks are sent.
            loaded: give every object the hidden parameters, and not its own.
            numbers: the hidden parameters, where they were drawn already.
        """
        sizes = {size: {"size": size} for size in ("d_model", "n_heads")}
        options = BehaviourQuestion(
            sizes=question.sizes,
            precision=question.precision,
            construct=Construct(kwargs=sizes),
            take_first=question.take_first,
        )
        super().__init__(name, options)
        self._question = question
        self._signature = signature
        self._convention = convention
        self._loaded = loaded
        self._numbers = numbers

    def in_precision(self, precision: Literal["float32", "float64"]) -> Layer:
        """The same class, asked in another precision."""
        question = msgspec.structs.replace(self._question, precision=precision)
        return Layer(self.name, question, self._signature, self._convention, loaded=self._loaded)

    def prologue(self, inputs: Inputs, *, weights: bool) -> tuple[Call, ...]:
        """Construct, call once if parameters are lazy, fill the parameters, set the mode."""
        del weights
        made = self.construct(((), dict(inputs.sizes)))
        if not self._loaded:
            return (made,)
        space, fill = Ref("space"), Ref("fill")
        numbers = self._numbers or hidden_numbers(inputs)
        filling = (
            Call("@builtins", attribute="dict", keep=space.name),
            Call("@builtins", attribute="exec", args=(_FILLING, space)),
            Call(space, attribute="__getitem__", args=(fill.name,), keep=fill.name),
            Call(fill, args=(Ref(MODEL), numbers, inputs.sizes["d_model"])),
        )
        mode = Call(Ref(MODEL), attribute="eval", keep=MODEL)
        warm = Call("@builtins", attribute="bool")  # as many calls, lazy or not
        if self._signature.lazy:
            tokens = inputs.array(np.ones((1, 2, inputs.sizes["d_model"]), self.options.precision))
            warm = self.call(((), dict.fromkeys(("query", "key", "value"), tokens)), keep="warm")
        return (made, warm, *filling, mode)

    def gradients(self) -> tuple[Call, ...]:
        """After the prologue and a backward pass: the gradient of each parameter, as `stored` lists them."""
        read = Ref("gradients")
        return (
            Call(Ref("space"), attribute="__getitem__", args=(read.name,), keep=read.name),
            Call(read, args=(Ref(MODEL),)),
        )

    def result(self, value: Any) -> Any:
        """What properties look at: the first part of a result that has several."""
        return value[0] if isinstance(value, list | tuple) and value else value

    def what(self, observations: Observations, call: Phrase = "") -> Phrase:
        """What failed, in words: the construction, reading the parameters, or a forward pass.

        Args:
            observations: of a scenario that begins with the prologue.
            call: the forward pass in words, where there are better ones.
        """
        failed = next((place for place, one in enumerate(observations) if not one.ok), len(observations))
        tried = not observations or observations[0].ending is not Ending.NOT_ASKED
        if failed == 0 and tried:
            return self.name
        if 1 < failed <= FILLED:
            read = {"en": f"Reading the parameters of {self.name}"}
            return Told({**read, "de": f"Das Lesen der Parameter von {self.name}"})
        return call or Told({"en": f"A pass of {self.name}", "de": f"Ein Durchlauf von {self.name}"})

    def construct(self, arguments: Arguments) -> Call:
        """The call that makes the object; arguments are ``d_model`` and ``n_heads`` by keyword."""
        given = dict(arguments[1])
        sizes = {"d_model": given["d_model"], "n_heads": given["n_heads"]}
        if self._question.dropout is not None:
            sizes["dropout"] = self._question.dropout
        found = self._signature.construct
        named = roles(found, SIZES, self._question.names)
        if not found.keyword or not {"d_model", "n_heads"} <= set(named.values()):
            return super().construct((tuple(sizes.values()), {}))
        kwargs = {name: sizes[role] for name, role in named.items() if role in sizes}
        for name, role in named.items():
            if role not in sizes and name in found.required:
                kwargs[name] = 0.0
        return super().construct(((), kwargs))

    def call(
        self,
        arguments: Arguments,
        *,
        method: str = "",
        seed: int | None = None,
        grad: bool = True,
        keep: str = "",
    ) -> Call:
        """One forward pass; arguments are ``query``, ``key``, ``value`` and perhaps ``mask`` by keyword."""
        given = dict(arguments[1])
        mask = given.get("mask")
        if mask is not None:
            given["mask"] = encoded(mask, self._convention, self.options.precision)
        placed = _arranged(self._signature.forward, given, self._question)
        return super().call(placed, method=method, seed=seed, grad=grad, keep=keep)


class Stored(Struct, frozen=True):
    """One parameter, as the box says."""

    name: str
    shape: tuple[int, ...]
    filled: bool
    """Whether it got hidden numbers; otherwise it has its own, or is one with another."""
    of: str
    """The name under which its numbers were met first: its own, or that of the parameter it is one with.

    Empty where it should have been filled and there were no numbers left."""


def stored(observations: Observations) -> tuple[Stored, ...]:
    """The parameters that the prologue has filled, as far as what was told has that form."""
    told = observations[FILLED].value if len(observations) > FILLED else None
    found = []
    for one in told[:MOST_PARAMETERS] if isinstance(told, list) else ():
        try:
            name, shape, filled, of = one
            sizes = tuple(shape)
        except (TypeError, ValueError):
            return ()
        if not (isinstance(name, str) and isinstance(of, str) and all(type(size) is int for size in sizes)):
            return ()
        found.append(Stored(name, sizes, filled is True, of))
    return tuple(found)


def hidden_numbers(inputs: Inputs) -> Tensor:
    """The numbers that fill parameters, of a spread that keeps activations at unit variance."""
    d_model = inputs.sizes["d_model"]
    numbers = inputs.generator("parameters").standard_normal(ROOM * 4 * d_model * (d_model + 1))
    return Tensor(np.asarray(numbers / np.sqrt(d_model), inputs.precision), inputs.precision)


def encoded(mask: Any, convention: str, precision: str) -> Tensor:
    """A mask, in which what is not zero is visible, as a convention has it.

    ``zero-blocks``: as drawn, with bool as well; ``true-keeps``: bool, True is visible; ``true-blocks``:
    bool, True is blocked; ``one-blocks``: numbers, 1 is blocked; ``additive``: what is added to the scores.
    """
    array = mask.array if isinstance(mask, Tensor) else np.asarray(mask)
    visible = array.astype(bool)
    match convention:
        case "true-keeps":
            return Tensor(visible, "bool")
        case "true-blocks":
            return Tensor(~visible, "bool")
        case "one-blocks":
            return Tensor((~visible).astype(precision), precision)
        case "additive":
            lowest = np.finfo(precision).min
            return Tensor(np.where(visible, 0.0, lowest).astype(precision), precision)
    return Tensor(array, array.dtype.name)


def _arranged(found: Parameters, given: Mapping[str, Any], question: ImplementationQuestion) -> Arguments:
    """By the student's keywords when they tell all that is given, otherwise in the stated order."""
    named = roles(found, ("query", "key", "value", "mask"), question.names)
    left = [name for name in found.names if name not in named]
    if "mask" not in named.values() and len(left) == 1:
        named[left[0]] = "mask"
    if found.keyword and set(given) <= set(named.values()) and len(set(named.values())) == len(named):
        wanted = {name: role for name, role in named.items() if role in given or name in found.required}
        return (), {name: given.get(role) for name, role in wanted.items()}
    return tuple(given[role] for role in question.order if role in given), {}
