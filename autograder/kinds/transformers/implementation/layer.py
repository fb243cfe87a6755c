"""A student's attention layer: what a rubric states about it, its signature, and how it is called."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct, field

from autograder.checks.base import Observations
from autograder.checks.options import Case, CaseItem, Rules
from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.checks.planning.subject import MODEL, Callee, CalleeOptions, Construct
from autograder.checks.values.literal import code_tree
from autograder.messages import localised
from autograder.records import Call, Ending, Ref, Tensor
from autograder.wording import Phrase

Convention = Literal["zero-blocks", "true-keeps", "true-blocks", "one-blocks", "additive"]
"""What a mask says: see `autograder.kinds.transformers.implementation.layer.encoded`."""

CONVENTIONS: tuple[Convention, ...] = ("zero-blocks", "true-keeps", "true-blocks", "one-blocks", "additive")


class LayerContract(Struct, frozen=True, forbid_unknown_fields=True):
    """The names that the four linear maps must have in the ``state_dict``."""

    query: str
    key: str
    value: str
    output: str
    bias: Literal["required", "none", "optional"] = "required"


class ImplementationQuestion(Struct, frozen=True):
    """Options of an ``implementation`` question."""

    sizes: dict[str, tuple[int, ...]]
    """``d_model`` and ``n_heads``, and others that cases use; one of each list is drawn."""
    case: tuple[Case, ...] = ()
    order: tuple[str, ...] = ("query", "key", "value", "mask")
    """The arguments of ``forward``, where their names do not tell."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → further names of its argument."""
    contract: LayerContract | None = None
    """Without it, the projections are found among the parameters."""
    masks: tuple[Convention, ...] = CONVENTIONS
    """The conventions that are right."""
    dropout: float | None = None
    """What the constructor is given as dropout; without it, nothing unless it must have something."""
    precision: Literal["float32", "float64"] = "float32"
    take_first: bool = False
    compare: Rules = Rules(rtol=1e-4, atol=1e-5)
    forbidden: tuple[str, ...] = ()
    """Names that the answer may not make use of."""


Property = Literal[
    "",
    "contract",
    "gradients",
    "convention",
    "masked_key_inert",
    "extreme_scores",
    "batch_independence",
    "key_order_irrelevant",
    "blocked_rows",
    "dropout_evaluation",
    "dropout_training",
    "precision",
    "refuses",
]


class ImplementationItem(CaseItem, frozen=True):
    """Options of an item of an ``implementation`` question."""

    compare: Rules | None = None
    property: Property = ""
    case: str = ""
    """The case whose inputs a property changes; default: the first that fits."""
    roles: tuple[Literal["query", "key", "value", "output"], ...] = ("query", "key", "value", "output")
    """For ``gradients`` and ``contract``: the projections that must learn."""
    convention: Convention = "zero-blocks"
    """For ``convention``: the one that must be understood."""
    raises: tuple[str, ...] = ("ValueError", "AssertionError")
    """For ``refuses``: the exceptions that are right, with their subclasses."""


ALIASES: Mapping[str, tuple[str, ...]] = {
    "d_model": (
        *("dmodel", "dim", "dimmodel", "modeldim", "d", "width", "nembd", "dembed", "inputdim", "indim"),
        *("embeddim", "embdim", "embedsize", "embeddingdim", "embeddingsize", "hiddensize", "hiddendim"),
        *("numhiddens", "modelsize", "modelwidth", "outdim", "outputdim", "dimin", "dimout", "din", "dout"),
    ),
    "n_heads": (
        *("nheads", "numheads", "heads", "h", "nhead", "numhead", "numattentionheads", "headcount"),
        *("numberofheads", "nrheads", "attentionheads"),
    ),
    "dropout": ("dropout", "p", "pdrop", "dropoutrate", "dropoutp", "attndropout", "drop", "dropoutprob"),
    "query": ("query", "queries", "q", "xq", "qin", "queryinput", "inputq"),
    "key": ("key", "keys", "k", "xk", "kin", "keyinput", "inputk"),
    "value": ("value", "values", "v", "xv", "vin", "valueinput", "inputv"),
    "mask": ("mask", "attnmask", "attentionmask", "m", "masks", "srcmask"),
}
"""Role → names that stand for it, in small letters without underscores. A rubric may add its own."""


class Parameters(Struct, frozen=True):
    """The parameters of one function, without ``self``."""

    names: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    keyword: bool = False
    """Each can be given by keyword, and all are known: no ``*args``, nothing positional only."""


class Signature(Struct, frozen=True):
    """How a class is constructed and called. Empty where the source does not tell."""

    construct: Parameters = Parameters()
    forward: Parameters = Parameters()
    lazy: bool = False
    """Parameters may exist only after the first call."""


def read(source: str, name: str) -> Signature:
    """The signature of a class in a cell's source.

    Args:
        source: of the cell; anything that is not Python has no signature.
        name: of the class; of two with the same name the last one counts.
    """
    tree = code_tree(source)
    if tree is None:
        return Signature()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    construct, forward = (_method(classes, name, method) for method in ("__init__", "forward"))
    return Signature(construct, forward, "Lazy" in source)


def roles(parameters: Parameters, wanted: Sequence[str], own: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Parameter → role, for every parameter whose name tells.

    Args:
        parameters: of the function.
        wanted: the roles that are looked for.
        own: the rubric's further names of each role.
    """
    names = {
        _plain(alias): role for role in wanted for alias in (role, *ALIASES.get(role, ()), *own.get(role, ()))
    }
    return {name: names[_plain(name)] for name in parameters.names if _plain(name) in names}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _method(classes: Mapping[str, ast.ClassDef], name: str, method: str) -> Parameters:
    """Of the class, or of the first of its bases in the same cell that defines it."""
    seen: set[str] = set()
    while name in classes and name not in seen:
        seen.add(name)
        for node in reversed(classes[name].body):
            if isinstance(node, ast.FunctionDef) and node.name == method:
                return _parameters(node.args)
        bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
        name = next((base for base in bases if base in classes), "")
    return Parameters()


def _parameters(written: ast.arguments) -> Parameters:
    placed = [one.arg for one in (*written.posonlyargs, *written.args)][1:]
    only = [one.arg for one in written.kwonlyargs]
    with_default = placed[len(placed) - min(len(written.defaults), len(placed)) :] if written.defaults else []
    with_default += [
        one for one, default in zip(only, written.kw_defaults, strict=True) if default is not None
    ]
    names = (*placed, *only)
    keyword = bool(names) and written.vararg is None and len(written.posonlyargs) <= 1
    return Parameters(names, frozenset(names) - frozenset(with_default), keyword)


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
PARAMETER_FACTOR = 3
"""How many times the numbers of four projections are drawn; a class with more parameters is not loaded."""


class AttentionLayer(Callee):
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
        options = CalleeOptions(
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

    def in_precision(self, precision: Literal["float32", "float64"]) -> AttentionLayer:
        """The same class, asked in another precision."""
        question = msgspec.structs.replace(self._question, precision=precision)
        return AttentionLayer(self.name, question, self._signature, self._convention, loaded=self._loaded)

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
            return localised("phrase.reading-parameters", name=self.name)
        return call or localised("phrase.pass", name=self.name)

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
    numbers = inputs.generator("parameters").standard_normal(PARAMETER_FACTOR * 4 * d_model * (d_model + 1))
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
