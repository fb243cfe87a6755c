"""One experiment on a decoder: a model is made, its weights are changed, and it is asked several times."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from autograder.records import Call, Ref, Scenario, Tensor

N_TOKENS = 23
D_MODEL = 12
N_HEADS = 3
D_HIDDEN = 20
MAX_LEN = 32
STIR = 0.2
"""Standard deviation of what `Change.STIR` adds to every weight."""
SHRUNK = 0.02
"""What `Change.SHRINK` multiplies every weight by, after stirring."""
MODEL = Ref("model")
TORCH = Ref("torch")
WEIGHTS = Ref("weights")
"""All weights of a changed model in one vector: a copy."""
PARAMETERS = Call(TORCH, "nn.Module.parameters", args=(MODEL,), keep="parameters")
"""An iterator, which each use exhausts."""


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

    def words(self, made: str) -> str:
        """The forward pass of a model made so, with the shapes of its first two inputs."""
        return f"{made}, tokens {self.tokens.shape}, memory {self.memory.shape}"

    def call(self, seed: int, dtype: str = "float64") -> Call:
        """The call of the model, with a seed of its own."""
        inputs = (
            Tensor(self.tokens.astype(np.int64), "int64"),
            Tensor(self.memory.astype(dtype), dtype),
            Tensor(self.memory_mask, "bool"),
            Tensor(self.target_mask, "bool"),
        )
        return Call(MODEL, args=inputs, seed=seed + self.seed, grad=True, default_dtype=dtype)


class Count(Struct, frozen=True, eq=False):
    """A call that returns a whole number, and the label it is found under."""

    label: str
    call: Call


Step = Call | Ask | Count


class Experiment(Struct, frozen=True, eq=False):
    """One scenario, and beside each of its calls what the judgement needs to know of it."""

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

    entry: str
    """The name of the decoder class in the notebook."""
    seed: int
    n_layers: int
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
        sizes = (self.n_tokens, D_MODEL, self.n_layers, N_HEADS, self.d_hidden, self.dropout, self.max_len)
        made = f"{self.entry}({', '.join(str(size) for size in sizes)})"
        dtype = self.dtype
        make = Call(self.entry, args=sizes, keep=MODEL.name, seed=self.seed, grad=True, default_dtype=dtype)
        asked: list[tuple[str, Step]] = [("", call) for call in (make, *self._changed())]
        for mode in modes:
            asked.append(("", put(mode)))
            asked += [(f"{mode} " if len(modes) > 1 else "", step) for step in steps]
        return Experiment(
            name,
            tuple("" if isinstance(step, Call) else prefix + step.label for prefix, step in asked),
            tuple(step.words(made) if isinstance(step, Ask) else made for _, step in asked),
            tuple(step.tokens.shape if isinstance(step, Ask) else () for _, step in asked),
            Scenario(f"{self.entry}: {name}", tuple(self._call(step) for _, step in asked)),
        )

    def _call(self, step: Step) -> Call:
        if isinstance(step, Ask):
            return step.call(self.seed, self.dtype)
        return step.call if isinstance(step, Count) else step

    def _changed(self) -> list[Call]:
        if self.change is Change.NONE:
            return []
        noise = Call(TORCH, "randn_like", args=(WEIGHTS,), keep="noise", seed=self.seed)
        calls = [
            # Every module's methods know torch, whatever the notebook calls it, or the reference's box.
            Call(MODEL, "parameters.__globals__.get", args=("torch",), keep=TORCH.name),
            PARAMETERS,
            Call(TORCH, "nn.utils.parameters_to_vector", args=(Ref(PARAMETERS.keep),), keep=WEIGHTS.name),
            noise,
            Call(WEIGHTS, "add_", args=(Ref(noise.keep),), kwargs={"alpha": STIR}, keep=WEIGHTS.name),
        ]
        if self.change is Change.SHRINK:
            calls.append(Call(WEIGHTS, "mul_", args=(SHRUNK,), keep=WEIGHTS.name))
        return [*calls, *written()]


def written(weights: Ref = WEIGHTS) -> list[Call]:
    """Put changed weights, all in one vector, into the model."""
    parameters = Ref(PARAMETERS.keep)
    write = Call(TORCH, "nn.utils.vector_to_parameters", args=(weights, parameters), keep="nothing")
    return [PARAMETERS, write]


def put(mode: str) -> Call:
    """Put the model into ``"train"`` or ``"eval"`` mode."""
    return Call(MODEL, mode, keep="mode")
