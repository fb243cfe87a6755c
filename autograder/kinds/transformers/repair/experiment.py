"""Experiments with a decoder: what is called, and what of the replies comes back."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from msgspec import Struct

from autograder.records import Call, Ref, Scenario, Tensor

N_TOKENS = 23
D_MODEL = 12
N_HEADS = 3
D_HIDDEN = 20
MAX_LEN = 64
STIR = 0.2
"""Standard deviation of what `WeightChange.STIR` adds to every weight."""
SHRUNK = 0.02
"""What `WeightChange.SHRINK` multiplies every weight by, after stirring."""
MODEL = Ref("model")
TORCH = Ref("torch")
WEIGHTS = Ref("weights")
"""All weights of a changed model in one vector."""
PARAMETERS = Ref("parameters")
"""The list of the parameters that a model was made with: it may put others in their places later."""
SEEN = Ref("seen")
"""What each module was last given, in the order in which they were first called; of a spied model."""


class Access(Struct, frozen=True):
    """How the decoder class of a notebook is reached, and what counts as its output."""

    entry: str
    """The name in the notebook."""
    of_object: bool = False
    """The name holds an object: its class is meant."""
    spied: int = 0
    """Not what a forward pass returns counts, but what its last module (1) or the one before gave."""
    inverted: frozenset[str] = frozenset()
    """Which of the masks, ``"memory"`` and ``"target"``, are given with 1 for what is blocked."""

    @property
    def name(self) -> str:
        """The class as a student would write it."""
        return f"type({self.entry})" if self.of_object else self.entry


class WeightChange(enum.Enum):
    """What is done to a fresh model's weights, all at once and whatever their names."""

    NONE = "none"
    STIR = "stir"
    """Move each a little: a table that begins at zero, say, hides what reads it."""
    SHRINK = "shrink"
    """The same, then make all small: scores are nearly equal, and attention is nearly a plain mean."""


class ForwardPass(Struct, frozen=True, eq=False):
    """One forward pass: the label its output is found under, and its inputs."""

    label: str
    tokens: np.ndarray
    memory: np.ndarray
    memory_mask: np.ndarray
    target_mask: np.ndarray
    seed: int = 1

    def to(self, access: Access) -> ForwardPass:
        """The same with masks as the model takes them."""
        return msgspec.structs.replace(
            self,
            memory_mask=self.memory_mask ^ ("memory" in access.inverted),
            target_mask=self.target_mask ^ ("target" in access.inverted),
        )

    def words(self, made: str) -> str:
        """The forward pass of a model made so, with the shapes of its first two inputs."""
        return f"{made}, tokens {self.tokens.shape}, memory {self.memory.shape}"

    def calls(self, seed: int, dtype: str = "float64", *, spied: int = 0, keep: str = "") -> list[Call]:
        """The calls that make the forward pass; the last one gives its output."""
        inputs = (
            Tensor(self.tokens.astype(np.int64), "int64"),
            Tensor(self.memory.astype(dtype), dtype),
            Tensor(self.memory_mask, "bool"),
            Tensor(self.target_mask, "bool"),
        )
        number = seed + self.seed
        passed = Call(MODEL, args=inputs, seed=number, grad=True, default_dtype=dtype)
        if not spied:
            return [msgspec.structs.replace(passed, keep=keep)]
        last, given = Ref("last"), Ref("given")
        module, inputs_of_it = Ref("module"), Ref("inputs")
        return [
            Call(SEEN, "clear", keep="nothing"),
            msgspec.structs.replace(passed, keep="returned"),
            *[Call(SEEN, "popitem", keep=last.name)] * spied,
            Call(last, "__getitem__", args=(0,), keep=module.name),
            Call(last, "__getitem__", args=(1,), keep=inputs_of_it.name),
            Call(inputs_of_it, "__getitem__", args=(0,), keep=given.name),
            Call(module, args=(given,), seed=number, grad=True, default_dtype=dtype, keep=keep),
        ]


class Count(Struct, frozen=True, eq=False):
    """A call that returns a whole number, and the label it is found under."""

    label: str
    call: Call


class Slopes(Struct, frozen=True, eq=False):
    """Calls that need the model's output in between: `make` is given the calls of a forward pass."""

    make: Callable[[Callable[[ForwardPass, str], list[Call]]], list[Call | Count]]


class Remake(Struct, frozen=True):
    """From here on another model is asked, in the same mode and with the same changed weights."""

    dropout: float


Step = Call | ForwardPass | Count | Slopes | Remake


class Experiment(Struct, frozen=True, eq=False):
    """One model and what it is asked."""

    name: str
    labels: tuple[str, ...]
    """Under which each result is found; empty for calls without one."""
    words: tuple[str, ...]
    """Each call as a student could repeat it."""
    sizes: tuple[tuple[int, ...], ...]
    """(batch, length) of each forward pass; empty for other calls."""
    scenario: Scenario


class Model(Struct, frozen=True):
    """How the model of an experiment is made."""

    access: Access
    seed: int
    n_layers: int = 1
    dropout: float = 0.0
    n_tokens: int = N_TOKENS
    max_len: int = MAX_LEN
    d_hidden: int = D_HIDDEN
    change: WeightChange = WeightChange.STIR
    dtype: str = "float64"

    def experiment(self, name: str, steps: Sequence[Step], modes: Sequence[str] = ("eval",)) -> Experiment:
        """One model, put into each mode in turn and taken through the steps there.

        With several modes, labels begin with the mode's name.
        """
        made, make = self.made()
        rows = [_ExperimentRow("", made, (), call) for call in (make, *self._spy(), *self._changed())]
        for mode in modes:
            rows.append(_ExperimentRow("", made, (), put(mode)))
            prefix = f"{mode} " if len(modes) > 1 else ""
            for step in steps:
                if isinstance(step, Remake):
                    made, make = msgspec.structs.replace(self, dropout=step.dropout).made()
                    remade = (make, *self._spy(), *_LISTED, written(), put(mode))
                    rows += [_ExperimentRow("", made, (), call) for call in remade]
                else:
                    rows += self._rows(step, made, prefix)
        return Experiment(
            name,
            tuple(row.label for row in rows),
            tuple(row.words for row in rows),
            tuple(row.sizes for row in rows),
            Scenario(f"{self.access.name}: {name}", tuple(row.call for row in rows)),
        )

    def made(self) -> tuple[str, Call]:
        """How the model is made, in words and as a call."""
        sizes = (self.n_tokens, D_MODEL, self.n_layers, N_HEADS, self.d_hidden, self.dropout, self.max_len)
        attribute = "__class__" if self.access.of_object else ""
        make = Call(
            self.access.entry, attribute, sizes,
            keep=MODEL.name, seed=self.seed, grad=True, default_dtype=self.dtype,
        )  # fmt: skip
        return f"{self.access.name}({', '.join(str(size) for size in sizes)})", make

    def _rows(
        self, step: Call | ForwardPass | Count | Slopes, made: str, prefix: str
    ) -> list[_ExperimentRow]:
        if isinstance(step, Slopes):
            return [row for each in step.make(self._output) for row in self._rows(each, made, prefix)]
        if isinstance(step, Count):
            return [_ExperimentRow(prefix + step.label, made, (), step.call)]
        if isinstance(step, Call):
            return [_ExperimentRow("", made, (), step)]
        words = step.words(made)
        *before, last = step.to(self.access).calls(self.seed, self.dtype, spied=self.access.spied)
        return [
            *(_ExperimentRow("", words, (), call) for call in before),
            _ExperimentRow(prefix + step.label, words, step.tokens.shape, last),
        ]

    def _output(self, ask: ForwardPass, keep: str) -> list[Call]:
        return ask.to(self.access).calls(self.seed, self.dtype, spied=self.access.spied, keep=keep)

    def _spy(self) -> list[Call]:
        """Every module's inputs are written down: a dictionary takes a module and them as a hook does."""
        if not self.access.spied:
            return []
        write, register = Ref("write"), Ref("register")
        return [
            _TORCH,
            Call("@builtins", "dict", keep=SEEN.name),
            Call(SEEN, "__setitem__", read=True, keep=write.name),
            Call("@operator", "methodcaller", args=("register_forward_pre_hook", write), keep=register.name),
            Call(TORCH, "nn.Module.apply", args=(MODEL, register), keep="nothing"),
        ]

    def _changed(self) -> list[Call]:
        if self.change is WeightChange.NONE:
            return []
        noise = Call(TORCH, "randn_like", args=(WEIGHTS,), keep="noise", seed=self.seed)
        calls = [
            _TORCH,
            *_LISTED,
            Call(TORCH, "nn.utils.parameters_to_vector", args=(PARAMETERS,), keep=WEIGHTS.name),
            noise,
            Call(WEIGHTS, "add_", args=(Ref(noise.keep),), kwargs={"alpha": STIR}, keep=WEIGHTS.name),
        ]
        if self.change is WeightChange.SHRINK:
            calls.append(Call(WEIGHTS, "mul_", args=(SHRUNK,), keep=WEIGHTS.name))
        return [*calls, written()]


class _ExperimentRow(Struct, frozen=True, eq=False):
    """One call of an experiment."""

    label: str
    words: str
    sizes: tuple[int, ...]
    call: Call


_TORCH = Call(MODEL, "parameters.__globals__.get", args=("torch",), keep=TORCH.name)
"""Every module's methods know torch, whatever the notebook calls it, or the reference's box."""


_LISTED = (
    # Weights that are not learned, as of a fixed table of positions, have slopes all the same.
    Call(TORCH, "nn.Module.requires_grad_", args=(MODEL,), keep="nothing"),
    Call(TORCH, "nn.Module.parameters", args=(MODEL,), keep="iterator"),
    Call("@builtins", "list", args=(Ref("iterator"),), keep=PARAMETERS.name),
)


def written(weights: Ref = WEIGHTS) -> Call:
    """Put changed weights, all in one vector, into the model."""
    return Call(TORCH, "nn.utils.vector_to_parameters", args=(weights, PARAMETERS), keep="nothing")


def put(mode: str) -> Call:
    """Put the model into ``"train"`` or ``"eval"`` mode."""
    return Call(MODEL, mode, keep="mode")


SLOPES = Ref("slopes")
IDLE = Ref("idle")
OTHER = Ref("other")
ALL_WEIGHTS = Count("weights", Call(WEIGHTS, "numel"))
STIRRED_ANEW = 2
"""How many more sets of weights are asked before one counts as idle."""
HUGE = 1e6
ROUNDING = 1e-10
"""Share of slopes below which their sum is nothing."""

Output = Callable[[ForwardPass, str], list[Call]]
"""The calls that keep the output of a forward pass under a name."""


def counted(ask: ForwardPass, columns: int) -> list[Count | Slopes]:
    """Count, as ``weights`` and ``used``, the model's weights and those with a part in some columns.

    Args:
        ask: the forward pass.
        columns: how many of the output's columns; 0 for all.
    """

    def calls(output: Output) -> list[Call | Count]:
        return [
            *_gradients(output, ask, columns),
            Call(SLOPES, "count_nonzero", keep="nonzero"),
            Count("used", Call(Ref("nonzero"), "item")),
        ]

    return [ALL_WEIGHTS, Slopes(calls)]


def counted_of(own: Ref, ask: ForwardPass, columns: int, label: str, *, texts: int = 0) -> Slopes:
    """Count how many weights of a mask have a part in some columns, of some texts or (0) of all."""

    def calls(output: Output) -> list[Call | Count]:
        return [
            *_gradients(output, ask, columns, texts),
            Call(SLOPES, "mul", args=(own,), keep="masked"),
            Call(Ref("masked"), "count_nonzero", keep="nonzero"),
            Count(label, Call(Ref("nonzero"), "item")),
        ]

    return Slopes(calls)


def balanced(label: str) -> list[Call | Count]:
    """After `counted_of`: 1 if the slopes sum up to nothing, as those of what is normalised do, else 0."""
    masked, total, sizes, limit = Ref("masked"), Ref("total"), Ref("sizes"), Ref("limit")
    less, number = Ref("less"), Ref("number")
    return [
        Call(masked, "sum", keep=total.name),
        Call(total, "abs", keep=total.name),
        Call(masked, "abs", keep=sizes.name),
        Call(sizes, "sum", keep=sizes.name),
        Call(sizes, "mul", args=(ROUNDING,), keep=limit.name),
        Call(total, "lt", args=(limit,), keep=less.name),
        Call(less, "int", keep=number.name),
        Count(label, Call(number, "item")),
    ]


def found_own(
    usual: ForwardPass, special: ForwardPass, columns: int, own: Ref, *, first: bool = True
) -> Slopes:
    """Keep, as a mask under the name of `own`, what has a part in the output for special inputs alone.

    A hidden feature that only special inputs wake would drown everything else when made huge. So a weight
    must be idle for the usual ones not only as the model stands, but also after all weights were stirred
    anew: where a feature wakes depends on the weights, and which embeddings are read does not.

    Args:
        usual: the usual inputs.
        special: the special ones.
        columns: of the output, 0 for all.
        own: where the mask is kept.
        first: whether it has to be found first what is idle for the usual inputs.
    """

    def calls(output: Output) -> list[Call | Count]:
        idle = _idle(output, usual, columns) if first else []
        return [
            *idle,
            *_gradients(output, special, columns),
            Call(SLOPES, "ne", args=(0,), keep=own.name),
            Call(own, "mul", args=(IDLE,), keep=own.name),
            Call(own, "type_as", args=(WEIGHTS,), keep=own.name),
        ]

    return Slopes(calls)


def multiplied(own: Ref, factor: float, *, sign: bool = False) -> list[Call]:
    """Write the model's weights with those of a mask multiplied.

    Args:
        own: the mask.
        factor: what they are multiplied by.
        sign: multiply their absolute values.
    """
    base, changed = Ref("base"), Ref("changed")
    if not sign:
        size = Call(WEIGHTS, "addcmul", args=(WEIGHTS, own), kwargs={"value": factor - 1}, keep=changed.name)
        return [size, written(changed)]
    return [
        Call(WEIGHTS, "addcmul", args=(WEIGHTS, own), kwargs={"value": -1}, keep=base.name),
        Call(WEIGHTS, "abs", keep="size"),
        Call(base, "addcmul", args=(Ref("size"), own), kwargs={"value": factor}, keep=changed.name),
        written(changed),
    ]


def _idle(output: Output, ask: ForwardPass, columns: int) -> list[Call]:
    """Keep, as `IDLE`, the weights without a part for these inputs, whatever the weights are."""
    noise, zero = Ref("noise"), Ref("zero")
    calls = [*_gradients(output, ask, columns), Call(SLOPES, "eq", args=(0,), keep=IDLE.name)]
    for number in range(STIRRED_ANEW):
        calls += [
            Call(TORCH, "randn_like", args=(WEIGHTS,), keep=noise.name, seed=1 + number),
            Call(WEIGHTS, "add", args=(noise,), keep=OTHER.name),
            written(OTHER),
            *_gradients(output, ask, columns),
            Call(SLOPES, "eq", args=(0,), keep=zero.name),
            Call(IDLE, "mul", args=(zero,), keep=IDLE.name),
        ]
    return [*calls, written()]


def _gradients(output: Output, ask: ForwardPass, columns: int, texts: int = 0) -> list[Call]:
    """Keep, as `SLOPES`, how much every weight moves the sum of the squares of the output's first columns.

    In the order of `WEIGHTS`, exactly zero for a weight that has no part in it. Only after a `WeightChange`.
    """
    calls = output(ask, "output")
    if columns:
        calls.append(Call(Ref("output"), "narrow", args=(2, 0, columns), keep="output", grad=True))
    if texts:
        calls.append(Call(Ref("output"), "narrow", args=(0, 0, texts), keep="output", grad=True))
    wanted = {"allow_unused": True, "materialize_grads": True}
    return [
        *calls,
        Call(Ref("output"), "square", keep="squares", grad=True),
        Call(Ref("squares"), "sum", keep="sum", grad=True),
        Call(
            TORCH,
            "autograd.grad",
            args=(Ref("sum"), PARAMETERS),
            kwargs=wanted,
            keep="each",
            grad=True,
        ),
        Call(TORCH, "_utils._flatten_dense_tensors", args=(Ref("each"),), keep=SLOPES.name),
    ]
