"""One experiment on a decoder: a model is made, its weights are changed, and it is asked several times."""

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
"""Standard deviation of what `Change.STIR` adds to every weight."""
SHRUNK = 0.02
"""What `Change.SHRINK` multiplies every weight by, after stirring."""
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


class Change(enum.Enum):
    """What is done to a fresh model's weights, all at once and whatever their names."""

    NONE = "none"
    STIR = "stir"
    """Move each a little: a table that begins at zero, say, hides what reads it."""
    SHRINK = "shrink"
    """The same, then make all small: scores are nearly equal, and attention is nearly a plain mean."""


class Ask(Struct, frozen=True, eq=False):
    """One forward pass: the label its output is found under, and its inputs."""

    label: str
    tokens: np.ndarray
    memory: np.ndarray
    memory_mask: np.ndarray
    target_mask: np.ndarray
    seed: int = 1

    def to(self, access: Access) -> Ask:
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

    make: Callable[[Callable[[Ask, str], list[Call]]], list[Call | Count]]


class Remake(Struct, frozen=True):
    """From here on another model is asked, in the same mode and with the same changed weights."""

    dropout: float


Step = Call | Ask | Count | Slopes | Remake


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
    change: Change = Change.STIR
    dtype: str = "float64"

    def experiment(self, name: str, steps: Sequence[Step], modes: Sequence[str] = ("eval",)) -> Experiment:
        """One model, put into each mode in turn and taken through the steps there.

        With several modes, labels begin with the mode's name.
        """
        made, make = self.made()
        rows = [_Row("", made, (), call) for call in (make, *self._spy(), *self._changed())]
        for mode in modes:
            rows.append(_Row("", made, (), put(mode)))
            prefix = f"{mode} " if len(modes) > 1 else ""
            for step in steps:
                if isinstance(step, Remake):
                    made, make = msgspec.structs.replace(self, dropout=step.dropout).made()
                    remade = (make, *self._spy(), *_LISTED, written(), put(mode))
                    rows += [_Row("", made, (), call) for call in remade]
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

    def _rows(self, step: Call | Ask | Count | Slopes, made: str, prefix: str) -> list[_Row]:
        if isinstance(step, Slopes):
            return [row for each in step.make(self._output) for row in self._rows(each, made, prefix)]
        if isinstance(step, Count):
            return [_Row(prefix + step.label, made, (), step.call)]
        if isinstance(step, Call):
            return [_Row("", made, (), step)]
        words = step.words(made)
        *before, last = step.to(self.access).calls(self.seed, self.dtype, spied=self.access.spied)
        return [
            *(_Row("", words, (), call) for call in before),
            _Row(prefix + step.label, words, step.tokens.shape, last),
        ]

    def _output(self, ask: Ask, keep: str) -> list[Call]:
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
        if self.change is Change.NONE:
            return []
        noise = Call(TORCH, "randn_like", args=(WEIGHTS,), keep="noise", seed=self.seed)
        calls = [
            _TORCH,
            *_LISTED,
            Call(TORCH, "nn.utils.parameters_to_vector", args=(PARAMETERS,), keep=WEIGHTS.name),
            noise,
            Call(WEIGHTS, "add_", args=(Ref(noise.keep),), kwargs={"alpha": STIR}, keep=WEIGHTS.name),
        ]
        if self.change is Change.SHRINK:
            calls.append(Call(WEIGHTS, "mul_", args=(SHRUNK,), keep=WEIGHTS.name))
        return [*calls, written()]


class _Row(Struct, frozen=True, eq=False):
    """One call of an experiment."""

    label: str
    words: str
    sizes: tuple[int, ...]
    call: Call


_TORCH = Call(MODEL, "parameters.__globals__.get", args=("torch",), keep=TORCH.name)
"""Every module's methods know torch, whatever the notebook calls it, or the reference's box."""


_LISTED = (
    Call(TORCH, "nn.Module.parameters", args=(MODEL,), keep="iterator"),
    Call("@builtins", "list", args=(Ref("iterator"),), keep=PARAMETERS.name),
)


def written(weights: Ref = WEIGHTS) -> Call:
    """Put changed weights, all in one vector, into the model."""
    return Call(TORCH, "nn.utils.vector_to_parameters", args=(weights, PARAMETERS), keep="nothing")


def put(mode: str) -> Call:
    """Put the model into ``"train"`` or ``"eval"`` mode."""
    return Call(MODEL, mode, keep="mode")
