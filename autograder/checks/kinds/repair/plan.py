"""The experiments that tell the faults of a decoder apart, all planned ahead and, but for one, in float64.

Each makes one model and is arranged so that a fault which raises takes down only what it must:

    memory      one layer; one token, one memory position: nothing is masked and no sizes can be confused;
                then some tokens with huge embeddings
    attention   one layer; batch, length and source are equal, so no mix-up of sizes raises
    small       one layer with small weights: attention is nearly the plain mean of what is visible
    plain       no layers, equal sizes; then several unequal ones
    positions   no layers, more positions than any other size of the model
    vocabulary  no layers, more tokens than any other size of the model
    longest     no layers, all sizes the same, and a target of that length
    dropout     no layers, dropout 0.5, training and evaluation
    layer       one layer, dropout 0.5: what the last step of a layer leaves
    nothing     one layer, dropout 1: all that a layer adds is dropped
    single      one layer in float32: whether it works there alone
    stack       two layers: which weights there are, and which have a part in the output
    wide        one layer with a wider feed-forward network: the same

Target masks never let a position see a later one, and memory masks block whole positions, as real ones do,
except beside huge embeddings. Tokens are below the width of the model, except in ``vocabulary``, so that a
wrong table of tokens raises nowhere else. Every call is seeded: dropout that is on where it should not be
repeats itself and hides nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.base import Draw
from autograder.checks.kinds.repair.experiment import (
    D_MODEL,
    MODEL,
    Ask,
    Change,
    Experiment,
    Model,
    Step,
    put,
)
from autograder.checks.kinds.repair.slopes import ALL_WEIGHTS, counted, enlarge
from autograder.records import Call

N = 6
"""Batch, length and source of the experiments in which sizes must not matter; below every size of a model
that a table of positions could wrongly be given."""
MANY = 11
"""The same where as many sequences as possible are wanted."""
LARGE = 4
"""What a memory is multiplied by to move a state more than its own tokens do."""
FEW_TOKENS = 5
MANY_POSITIONS = 24
MOST_POSITIONS = 30
"""More than any other size of the model in ``positions``; what it could read, and has to read there."""
MANY_TOKENS = 40
FEW_POSITIONS = 8
MORE_HIDDEN = 60
"""How wide the feed-forward network is in ``wide``."""
UNEQUAL = ((2, 5), (5, 2), (1, 4), (3, 1))
"""(batch, length): one row and one position too, where broadcasting hides a mix-up."""
HALF = 0.5
MOVED = 2
"""The position whose token or memory is exchanged."""
ORDINARY = 6
"""Tokens below this have embeddings of the usual size throughout, and it is their scores that count."""
FIRST_SWAPPED = 2
"""The first position of the target that may see both of the memory's exchanged positions, 0 and 1."""


def experiments(entry: str, draw: Draw) -> tuple[Experiment, ...]:
    """All experiments of the repair question, in order.

    Args:
        entry: the name of the decoder class in the notebook.
        draw: where tokens, memories and seeds come from.
    """
    drawn = _Drawn(draw)

    def model(n_layers: int, change: Change = Change.STIR, dropout: float = 0.0) -> Model:
        return Model(entry, drawn.seed, n_layers, dropout=dropout, change=change)

    long = Model(entry, drawn.seed, 0, n_tokens=FEW_TOKENS, max_len=MOST_POSITIONS)
    rich = Model(entry, drawn.seed, 0, n_tokens=MANY_TOKENS, max_len=FEW_POSITIONS)
    even = Model(entry, drawn.seed, 0, n_tokens=D_MODEL, max_len=D_MODEL, d_hidden=D_MODEL)
    wide = Model(entry, drawn.seed, 1, d_hidden=MORE_HIDDEN)
    both = ("train", "eval")
    return (
        model(1).experiment("memory", [*drawn.memory_alone(), *drawn.weights(1, LARGE), *drawn.scaled()]),
        model(1).experiment("attention", [*drawn.attention(), *drawn.without_self_attention()]),
        model(1, Change.SHRINK).experiment("small", drawn.small()),
        model(0).experiment("plain", [*drawn.plain(), *drawn.unequal_plain()]),
        long.experiment("positions", drawn.positions(MANY_POSITIONS)),
        rich.experiment("vocabulary", drawn.vocabulary()),
        even.experiment("longest", drawn.positions(D_MODEL)[:1]),
        model(0, dropout=HALF).experiment("dropout", drawn.noise(), both),
        model(1, Change.NONE, HALF).experiment("layer", drawn.noise()[:1], both),
        model(1, Change.NONE, 1.0).experiment("nothing", drawn.nothing(), ("train",)),
        Model(entry, drawn.seed, 1, change=Change.NONE, dtype="float32").experiment(
            "single", [drawn.usual("single")]
        ),
        model(2).experiment("stack", [drawn.usual("stack"), *drawn.weights(LARGE)]),
        wide.experiment("wide", drawn.weights(LARGE)),
    )


class _Drawn:
    """The inputs of one course run."""

    def __init__(self, draw: Draw) -> None:
        numbers = draw.generator("repair")
        self.seed = int(numbers.integers(2**31))
        self.tokens = numbers.integers(0, D_MODEL, (N, N))
        self.other = (self.tokens + numbers.integers(1, D_MODEL, (N, N))) % D_MODEL
        self.memory = numbers.standard_normal((N, N, D_MODEL))
        self.moved = self.memory + 3 * numbers.standard_normal((N, N, D_MODEL))
        self.token = int(numbers.integers(FEW_TOKENS))
        self.ordinary = numbers.permuted(np.resize(np.arange(ORDINARY), (N, N)), axis=1)
        self.exchanged = (self.ordinary + numbers.integers(1, ORDINARY, (N, N))) % ORDINARY
        self.many = numbers.permuted(np.resize(np.arange(ORDINARY), (MANY, MANY)), axis=1)
        self.memories = numbers.standard_normal((MANY, MANY, D_MODEL))
        self.huge = numbers.integers(ORDINARY, D_MODEL, (N, N))

    def memory_alone(self) -> list[Ask]:
        tokens, one = self.tokens[:1, :1], np.ones((1, 1, 1, 1), bool)
        return [
            Ask("one", tokens, self.memory[:1, :1], one, one),
            Ask("one again", tokens, self.memory[:1, :1], one, one),
            Ask("one, memory moved", tokens, self.moved[:1, :1], one, one),
            Ask("one, other token", self.other[:1, :1], self.memory[:1, :1], one, one),
        ]

    def usual(self, label: str) -> Ask:
        """Nothing blocked but what is later."""
        return Ask(label, self.tokens, self.memory, _visible_memory(), _causal(N))

    def attention(self) -> list[Step]:
        """Every pair of an open and a blocked mask; what is exchanged where a verdict asks for it."""
        exchanged, moved = self._exchanged(), self._moved()
        opened, both = (False, False), (True, True)
        asks: list[Ask] = []
        for blocked in (opened, (True, False), (False, True), both):
            masks = _visible_memory(MOVED if blocked[0] else None), _causal(N, MOVED if blocked[1] else None)
            label = _at_masks(memory_blocked=blocked[0], target_blocked=blocked[1])
            asks.append(Ask(label, self.tokens, self.memory, *masks))
            if blocked != opened:
                asks.append(Ask(f"{label}, token", exchanged, self.memory, *masks))
            if blocked != both:
                asks.append(Ask(f"{label}, moved", self.tokens, moved, *masks))
        swapped = self.memory[:, [1, 0, *range(2, N)]]
        masks = _visible_memory(), _causal(N)
        return [
            *asks,
            Ask("again", self.tokens, self.memory, *masks),
            Ask("swapped", self.tokens, swapped, *masks),
            put("train"),
            Ask("train", self.tokens, self.memory, *masks),
            Ask("train, other seed", self.tokens, self.memory, *masks, seed=2),
            put("eval"),
        ]

    def without_self_attention(self) -> list[Step]:
        """The self-attention's output made constant, where the listing's names were kept."""
        memory_open, memory_blocked = _visible_memory(), _visible_memory(blocked=MOVED)
        target_open, target_blocked = _causal(N), _causal(N, blocked=MOVED)
        exchanged = self._exchanged()
        return [
            Call(MODEL, "blocks.0.self_attention.out_proj.weight.zero_"),
            Ask("cross, memory open", self.tokens, self.memory, memory_open, target_blocked),
            Ask("cross, memory open, token", exchanged, self.memory, memory_open, target_blocked),
            Ask("cross, target open", self.tokens, self.memory, memory_blocked, target_open),
            Ask("cross, target open, token", exchanged, self.memory, memory_blocked, target_open),
        ]

    def small(self) -> list[Ask]:
        masks = _visible_memory(), _causal(N)
        return [
            Ask("small", self.tokens, self.memory, *masks),
            Ask("small again", self.tokens, self.memory, *masks),
            Ask("small, token", self._exchanged(), self.memory, *masks),
        ]

    def plain(self) -> list[Step]:
        masks = _visible_memory(), _causal(N)
        return [
            ALL_WEIGHTS,
            Ask("plain", self.tokens, self.memory, *masks),
            Ask("plain again", self.tokens, self.memory, *masks),
            Ask("plain, other seed", self.tokens, self.memory, *masks, seed=2),
            Ask("plain, other tokens", self.other, self.memory, *masks),
            Ask("plain, one token", np.full((N, N), self.token), self.memory, *masks),
            put("train"),
            Ask("train", self.tokens, self.memory, *masks),
            Ask("train, other seed", self.tokens, self.memory, *masks, seed=2),
            put("eval"),
        ]

    def unequal_plain(self) -> Iterator[Ask]:
        for batch, length in UNEQUAL:
            tokens = np.full((batch, length), self.token)
            memory = np.resize(self.memory, (batch, length, D_MODEL))
            masks = np.ones((batch, 1, 1, length), bool), _causal(length)
            yield Ask(at_sizes(batch, length), tokens, memory, *masks)

    def positions(self, n: int) -> list[Ask]:
        memory = np.resize(self.memory, (n, n, D_MODEL))
        masks = np.ones((1, 1, 1, n), bool), _causal(n)
        same = np.full((n, n), self.token)
        return [
            Ask("positions", same, memory, *masks),
            Ask("positions again", same, memory, *masks),
            Ask("positions, other token", (same + 1) % FEW_TOKENS, memory, *masks),
        ]

    def vocabulary(self) -> list[Ask]:
        """In each column all tokens are different, and the last of the vocabulary is there."""
        tokens = np.arange(MANY_TOKENS - N * N, MANY_TOKENS).reshape(N, N)
        return [Ask("vocabulary", tokens, self.memory, _visible_memory(), _causal(N))]

    def noise(self) -> list[Ask]:
        masks = _visible_memory(), _causal(N)
        return [Ask(f"seed {seed}", self.tokens, self.memory, *masks, seed=seed) for seed in (1, 2)]

    def nothing(self) -> list[Ask]:
        masks = _visible_memory(), _causal(N)
        return [
            Ask("nothing", self.tokens, self.memory, *masks),
            Ask("nothing, moved", self.tokens, self.moved, *masks),
        ]

    def weights(self, *sizes: int) -> list[Step]:
        """How many weights there are, and how many move the output for ordinary tokens.

        Args:
            sizes: what the memory is multiplied by, for each of the inputs.
        """
        return counted(self._usual_inputs(*sizes), self.seed, ORDINARY)

    def scaled(self) -> list[Step]:
        """The weights that move the output for some tokens alone are made huge: these tokens' embeddings.

        The last position is hidden from itself, whichever mask an attention is given, and even transposed.
        In "first huge" the memory is the same everywhere, so that as a key it favours no position.
        """
        last = np.arange(N) == N - 1
        only_last, only_first = (np.where(where, self.huge, self.ordinary) for where in (last, last[::-1]))
        others = np.where(last, self.huge, self.exchanged)
        hidden = ~np.eye(N, dtype=bool)[None, None]
        earlier = np.tril(hidden)
        earlier[..., 0, 0] = True
        masks = _visible_memory(), _causal(N)
        return [
            *enlarge(self._usual_inputs(1), Ask("", self.huge, self.memory, *masks), self.seed, ORDINARY),
            Ask("last huge", only_last, self.memory, hidden, earlier),
            Ask("last huge, others", others, self.moved, hidden, earlier),
            Ask("all huge", self.huge, self.memory, *masks),
            Ask("all huge, moved", self.huge, self.moved, *masks),
            Ask("first huge", only_first, self.memory[:, :1].repeat(N, axis=1), *masks),
        ]

    def _usual_inputs(self, *sizes: int) -> list[Ask]:
        """Ordinary tokens beside memories of these sizes; with many, few weights are idle by chance."""
        masks = np.ones((1, 1, 1, MANY), bool), _causal(MANY)
        return [Ask("", self.many, size * self.memories, *masks) for size in sizes]

    def _exchanged(self) -> np.ndarray:
        tokens = self.tokens.copy()
        tokens[:, MOVED] = self.other[:, MOVED]
        return tokens

    def _moved(self) -> np.ndarray:
        memory = self.memory.copy()
        memory[:, MOVED] = self.moved[:, MOVED]
        return memory


def _at_masks(*, memory_blocked: bool, target_blocked: bool) -> str:
    """The label of one pair of masks in ``attention``."""
    words = {True: "blocked", False: "open"}
    return f"memory {words[memory_blocked]}, target {words[target_blocked]}"


def at_sizes(batch: int, length: int) -> str:
    """The label of one of the `UNEQUAL` sizes."""
    return f"batch {batch}, length {length}"


def _visible_memory(blocked: int | None = None) -> np.ndarray:
    mask = np.ones((1, 1, 1, N), bool)
    if blocked is not None:
        mask[..., blocked] = False
    return mask


def _causal(length: int, blocked: int | None = None) -> np.ndarray:
    """Lower triangular; the blocked position is seen by itself alone."""
    mask = np.tril(np.ones((1, 1, length, length), bool))
    if blocked is not None:
        mask[:, :, blocked + 1 :, blocked] = False
    return mask
