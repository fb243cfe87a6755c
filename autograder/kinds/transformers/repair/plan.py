"""Which experiments are made, with which hidden inputs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec.structs import replace

from autograder.checks.base import Draw
from autograder.kinds.transformers.repair.experiment import (
    D_MODEL,
    HUGE,
    MODEL,
    PARAMETERS,
    TORCH,
    Access,
    Count,
    Experiment,
    ForwardPass,
    Model,
    Remake,
    Step,
    WeightChange,
    balanced,
    counted,
    counted_of,
    found_own,
    multiplied,
    put,
    written,
)
from autograder.records import Call, Ref

N = 8
"""Batch, length and source of the experiments in which sizes must not matter; below every size of a model
that a table of positions could wrongly be given."""
MEMORY_BLOCKED = np.array([0, 1, 0, 1, 1, 1, 0, 0], bool)
TARGET_BLOCKED = np.array([0, 1, 1, 0, 1, 0, 1, 0], bool)
"""In which texts of a batch the moved position is blocked. Every pair of masks occurs twice, the masks of the
first and the last text block nothing, and in the opposite order the texts have other masks."""
HIDDEN_AT_END = np.array([0, 1, 2, 0, 2, 1, 0, 2])
"""How many positions are blocked at the end of each text's memory."""
MANY = 10
"""Batch, length and source where as many sequences as possible are wanted. One more is asked as well, and
even a table of the model's width with positions that begin at 1 has a row for the last of them."""
LARGE = 4
"""What a memory is multiplied by to move a state more than its own tokens do."""
FEW_TOKENS = 5
MANY_POSITIONS = 24
MOST_POSITIONS = 30
"""More than any other size of the model in ``positions``; what it could read, and has to read there."""
MANY_TOKENS = 140
FEW_POSITIONS = 64
LAST_TOKENS = MANY_TOKENS - np.array([1, 2, 3, 4, 13, 21, 25, 65])
"""Tokens near the end of the vocabulary; some differ by a size that a table could wrongly have."""
MORE_HIDDEN = 60
"""How wide the feed-forward network is in ``wide``."""
MORE_POSITIONS = 128
"""How many positions there are in ``larger table``."""
UNEQUAL = ((2, 5), (5, 2), (1, 5), (3, 1))
"""(batch, length): one row and one position too, where broadcasting hides a mix-up."""
SHORT_TARGET = 5
LONG_SOURCE = 9
HALF = 0.5
MOVED = 2
"""The position whose token or memory is exchanged."""
ORDINARY = 6
"""Tokens below this have embeddings of the usual size throughout, and it is their scores that count."""
FIRST_SWAPPED = 2
"""The first position of the target that may see both of the memory's exchanged positions, 0 and 1."""
OWN = Ref("own")
"""The weights of huge tokens."""
OWN_ONCE = Ref("own once")
"""The weights of huge tokens, each of which stands in one place."""
OWN_PLACES = Ref("own places")
"""The weights of positions that the usual texts do not have."""
OWN_LAST = Ref("own last")
"""The weights of huge tokens and of the last position."""

SERVES: dict[str, frozenset[str]] = {
    "unequal": frozenset({"shape_order"}),
    "positions": frozenset({"position_table", "position_missing"}),
    "longest": frozenset({"position_table", "position_offset"}),
    "larger table": frozenset({"position_table"}),
    "small": frozenset({"residual", "norm"}),
    "small stack": frozenset({"residual"}),
    "weights": frozenset(
        {"embedding_dropout", "dropout_always", "residual", "norm", "output_head"}
        | {"hidden_width", "shared_block", "stack"}
    ),
    "vocabulary": frozenset({"output_head", "token_table"}),
    "stack": frozenset(
        {"output_head", "residual", "shared_block", "stack", "self_mask", "cross_mask", "cross_value"}
    ),
    "dropped": frozenset({"dropout_rate"}),
    "wide": frozenset({"hidden_width"}),
}
"""The probes that need an experiment; ``attention`` serves all. What serves none of the planted faults is
asked last, so that nothing is lost where it ends the box."""


def experiments(access: Access, draw: Draw, probes: Collection[str]) -> tuple[Experiment, ...]:
    """The experiments of the first round, in order.

    Args:
        access: how the decoder class is reached.
        draw: where tokens, memories and seeds come from.
        probes: what the question's faults are told by.
    """
    drawn = DecoderInputs(draw)
    one = Model(access, drawn.seed)
    long = Model(access, drawn.seed, n_tokens=FEW_TOKENS, max_len=MOST_POSITIONS)
    rich = Model(access, drawn.seed, n_tokens=MANY_TOKENS, max_len=FEW_POSITIONS)
    even = Model(access, drawn.seed, n_tokens=D_MODEL, max_len=D_MODEL, d_hidden=D_MODEL)
    small = Model(access, drawn.seed, change=WeightChange.SHRINK)
    made = (
        one.experiment(
            "attention",
            [*drawn.memory_alone(), *drawn.plain(), *drawn.attention(), *table()],
        ),
        one.experiment("unequal", [*drawn.unequal(), drawn.longer_source()]),
        long.experiment("positions", [drawn.positions(MANY_POSITIONS)]),
        even.experiment("longest", [drawn.positions(D_MODEL)]),
        Model(access, drawn.seed, max_len=MORE_POSITIONS).experiment("larger table", table()),
        small.experiment("small", drawn.small()),
        replace(small, n_layers=2).experiment("small stack", drawn.small()),
        rich.experiment("vocabulary", [*drawn.weights(), drawn.vocabulary()]),
        Model(access, drawn.seed, 2).experiment(
            "stack", [drawn.usual("stack"), *drawn.weights(), *drawn.stacked(), *drawn.deep()]
        ),
        one.experiment(
            "weights",
            [
                *[*drawn.weights(), *drawn.nothing_or_huge(), *drawn.scaled()],
                *[*drawn.features(first=False), *drawn.places()],
            ],
        ),
        Model(access, drawn.seed, dropout=1.0).experiment(
            "dropped", [*drawn.dropped(), Remake(0.0), *drawn.rate()], ("train",)
        ),
        Model(access, drawn.seed, d_hidden=MORE_HIDDEN).experiment("wide", drawn.weights()),
    )
    return tuple(sorted(made, key=lambda each: SERVES.get(each.name, frozenset(probes)).isdisjoint(probes)))


def table() -> list[Step]:
    """Count, as ``rows``, all numbers that the model keeps, weights or not; the last that it is asked."""
    kept, everything = Ref("kept"), Ref("everything")
    return [
        Call(TORCH, "nn.Module.buffers", args=(Ref("model"),), keep=kept.name),
        Call(PARAMETERS, "extend", args=(kept,), keep="nothing"),
        Call(TORCH, "nn.utils.parameters_to_vector", args=(PARAMETERS,), keep=everything.name),
        Count("rows", Call(everything, "numel")),
    ]


class DecoderInputs:
    """The inputs of one course run."""

    def __init__(self, draw: Draw) -> None:
        numbers = draw.generator("repair")
        self.seed = int(numbers.integers(2**31))
        self.tokens = numbers.integers(0, D_MODEL, (N, N))
        self.other = (self.tokens + numbers.integers(1, D_MODEL, (N, N))) % D_MODEL
        self.memory = numbers.standard_normal((N, N, D_MODEL))
        self.step = 3 * numbers.standard_normal((N, N, D_MODEL))
        self.token = int(numbers.integers(FEW_TOKENS))
        self.ordinary = numbers.permuted(np.resize(np.arange(ORDINARY), (N, N)), axis=1)
        self.exchanged = (self.ordinary + numbers.integers(1, ORDINARY, (N, N))) % ORDINARY
        self.many = numbers.permuted(np.resize(np.arange(ORDINARY), (MANY, MANY)), axis=1)
        self.memories = numbers.standard_normal((MANY, MANY, D_MODEL))
        self.huge = numbers.integers(ORDINARY, D_MODEL, (N, N))

    def memory_alone(self) -> list[ForwardPass]:
        """One token and one memory position."""
        tokens, one = self.tokens[:1, :1], np.ones((1, 1, 1, 1), bool)
        moved = self.memory + self.step
        return [
            ForwardPass("one", tokens, self.memory[:1, :1], one, one),
            ForwardPass("one again", tokens, self.memory[:1, :1], one, one),
            ForwardPass("one, memory moved", tokens, moved[:1, :1], one, one),
            ForwardPass("one, other token", self.other[:1, :1], self.memory[:1, :1], one, one),
        ]

    def usual(self, label: str, seed: int = 1) -> ForwardPass:
        """Masks of all kinds in one batch."""
        return ForwardPass(label, self.tokens, self.memory, _memory_mask(), _target_mask(), seed=seed)

    def plain(self) -> list[ForwardPass]:
        """What shows that outputs repeat themselves and read the tokens."""
        masks = _memory_mask(), _target_mask()
        return [
            self.usual("usual"),
            self.usual("again"),
            ForwardPass("other tokens", self.other, self.memory, *masks),
            self.usual("other seed", seed=2),
        ]

    def exchanged_token(self) -> np.ndarray:
        """The tokens with another one at the moved position."""
        tokens = self.tokens.copy()
        tokens[:, MOVED] = self.other[:, MOVED]
        return tokens

    def attention(self) -> list[ForwardPass]:
        """One thing exchanged in each; two positions of the memory where none is blocked."""
        masks = _memory_mask(), _target_mask()
        opened = all_open(N, N)[0], causal(N, N)
        moved, first = self.memory.copy(), self.memory.copy()
        moved[:, MOVED] += self.step[:, MOVED]
        first[:, 0] += self.step[:, MOVED]
        return [
            ForwardPass("token", self.exchanged_token(), self.memory, *masks),
            ForwardPass("moved", self.tokens, moved, *masks),
            ForwardPass("moved, first", self.tokens, first, *masks),
            ForwardPass("open", self.tokens, self.memory, *opened),
            ForwardPass("open, swapped", self.tokens, self.memory[:, [1, 0, *range(2, N)]], *opened),
        ]

    def stacked(self) -> list[ForwardPass]:
        """Token and memory exchanged as in `attention`, for a model of two layers."""
        asks = {ask.label: replace(ask, label=f"stack, {ask.label}") for ask in self.attention()}
        return [asks["token"], asks["moved"]]

    def other_masks(self) -> list[ForwardPass]:
        """One mask of ``usual`` exchanged in each."""
        masks, other = (_memory_mask(), _target_mask()), _memory_mask(~MEMORY_BLOCKED)
        return [
            self.usual("usual"),
            ForwardPass("other memory mask", self.tokens, self.memory, other, masks[1]),
            ForwardPass("other memory mask, token", self.exchanged_token(), self.memory, other, masks[1]),
            ForwardPass(
                "other target mask", self.tokens, self.memory, masks[0], _target_mask(~TARGET_BLOCKED)
            ),
        ]

    def silenced(self) -> list[ForwardPass]:
        """The exchanged token once more, for a model of which one attention is silent."""
        asks = {ask.label: ask for ask in (*self.plain(), *self.attention())}
        return [asks["usual"], asks["token"]]

    def small(self) -> list[ForwardPass]:
        """A token exchanged where nothing is blocked but what is later."""
        masks = all_open(N, N)[0], causal(N, N)
        return [
            ForwardPass("small", self.tokens, self.memory, *masks),
            ForwardPass("small, token", self.exchanged_token(), self.memory, *masks),
        ]

    def unequal(self) -> list[ForwardPass]:
        """Every text is one and the same token, beside a memory that is the same everywhere."""
        asks = []
        for batch, length in UNEQUAL:
            tokens = np.full((batch, length), self.token)
            memory = np.broadcast_to(self.memory[0, 0], (batch, length, D_MODEL))
            masks = all_open(batch, length)[0], causal(batch, length)
            asks.append(ForwardPass(at_sizes(batch, length), tokens, memory, *masks))
        return asks

    def longer_source(self) -> ForwardPass:
        """A memory longer than the target."""
        memory = self.memories[:N, :LONG_SOURCE]
        masks = np.ones((N, 1, 1, LONG_SOURCE), bool), causal(N, SHORT_TARGET)
        return ForwardPass("source", self.tokens[:, :SHORT_TARGET], memory, *masks)

    def positions(self, n: int) -> ForwardPass:
        """One token everywhere: positions differ by themselves alone, as everything is open."""
        memory = np.resize(self.memory[0], (1, n, D_MODEL)).repeat(n, axis=0)
        same = np.full((n, n), self.token)
        return ForwardPass("positions", same, memory, *all_open(n, n))

    def vocabulary(self) -> ForwardPass:
        """Texts that differ in their first token alone, which is one of the last of the vocabulary."""
        tokens = np.full((N, N), self.token)
        tokens[:, 0] = LAST_TOKENS
        return ForwardPass("vocabulary", tokens, self.memory[:1].repeat(N, axis=0), *all_open(N, N))

    def features(self, *, first: bool) -> list[Step]:
        """Which features of tokens that stand in one place each have a part, in evaluation and in training.

        They stand where every later position sees them: dropping a sum in a layer leaves none without a part.
        With `first`, it has to be found first what is idle for the usual inputs.
        """
        tokens = self.ordinary.copy()
        special = np.arange(ORDINARY, D_MODEL)
        tokens[: len(special), 0] = special
        asked = ForwardPass("", tokens, self.memory, all_open(N, N)[0], causal(N, N))
        return [
            found_own(self._usual(), asked, ORDINARY, OWN_ONCE, first=first),
            Call(OWN_ONCE, "count_nonzero", keep="number"),
            Count("features", Call(Ref("number"), "item")),
            Remake(HALF),
            self.usual("eval"),
            self.usual("eval, other seed", seed=2),
            put("train"),
            counted_of(OWN_ONCE, replace(asked, seed=2), ORDINARY, "features kept"),
            counted_of(OWN_ONCE, replace(asked, seed=3), ORDINARY, "features kept again"),
            *balanced("features balanced"),
        ]

    def places(self) -> list[Step]:
        """After `features`: which features of positions that the usual texts do not have have a part.

        Dropping leaves each of them a part in some text; then those with one in the first text are counted.
        """
        n = MANY + D_MODEL
        tokens, memory = np.resize(self.many, (n, n)), np.resize(self.memories, (n, n, D_MODEL))
        asked = ForwardPass("", tokens, memory, *all_open(n, n), seed=2)
        return [
            found_own(self._usual(), asked, ORDINARY, OWN_PLACES, first=False),
            Call(OWN_PLACES, "count_nonzero", keep="number"),
            Count("places", Call(Ref("number"), "item")),
            counted_of(OWN_PLACES, asked, ORDINARY, "places kept", texts=1),
        ]

    def deep(self) -> list[Step]:
        """In a model of two layers: the last position's token is huge, and the tokens before it are others.

        No other position, nor itself, sees it, whichever mask an attention is given.
        """
        last = np.arange(N) == N - 1
        earlier = np.tril(~np.eye(N, dtype=bool))
        earlier[0, 0] = True
        masks = (np.broadcast_to(earlier, (N, 1, N, N)),) * 2
        special = replace(self._usual(), tokens=np.resize(self.huge, (MANY, MANY)))
        return [
            found_own(self._usual(), special, ORDINARY, OWN),
            *multiplied(OWN, HUGE),
            ForwardPass("deep", np.where(last, self.huge, self.ordinary), self.memory, *masks),
            ForwardPass("deep, others", np.where(last, self.huge, self.exchanged), self.memory, *masks),
        ]

    def dropped(self) -> list[ForwardPass]:
        """Another memory."""
        masks = _memory_mask(), _target_mask()
        return [
            self.usual("usual"),
            ForwardPass("moved", self.tokens, self.memory + self.step, *masks),
        ]

    def rate(self) -> list[Step]:
        """Two seeds, and once more in evaluation."""
        train = [self.usual("train"), self.usual("train, other seed", seed=2)]
        return [*train, put("eval"), self.usual("evaluation")]

    def weights(self) -> list[Step]:
        """How many weights there are, and how many move the output for ordinary tokens."""
        return [*counted(self._usual(), 0)]

    def nothing_or_huge(self) -> list[Step]:
        """The last position's own state is nothing, then hugely negative, then hugely positive.

        It is hidden from itself, so that its state reaches its output past the self-attention alone. In
        "nothing, others" all tokens before it are others; in "below, last" and "above, last" it is itself.
        """
        n = MANY + 1
        ordinary = np.resize(self.many, (n, n))
        ordinary[:, -1] = ORDINARY + np.arange(n) % (D_MODEL - ORDINARY)
        others, last = (ordinary + 1) % ORDINARY, ordinary.copy()
        others[:, -1] = ordinary[:, -1]
        last[:, -1] = np.roll(ordinary[:, -1], 1)
        memory = np.resize(self.memories, (n, n, D_MODEL))
        masks = all_open(n, n)[0], causal(n, n)
        masks[0][..., -1] = False
        masks[1][..., -1, 1:] = False

        def asked(label: str, tokens: np.ndarray) -> ForwardPass:
            return ForwardPass(label, tokens, memory, *masks)

        return [
            found_own(self._usual(), asked("", ordinary), ORDINARY, OWN_LAST),
            *multiplied(OWN_LAST, 0),
            asked("nothing", ordinary),
            asked("nothing, others", others),
            *multiplied(OWN_LAST, -HUGE, sign=True),
            asked("below", ordinary),
            asked("below, last", last),
            *multiplied(OWN_LAST, HUGE, sign=True),
            asked("above", ordinary),
            asked("above, last", last),
            written(),
        ]

    def scaled(self) -> list[Step]:
        """The weights that move the output for some tokens alone are made huge: these tokens' embeddings.

        The last position is hidden from itself, whichever mask an attention is given, and even transposed.
        In "first huge" the memory is the same everywhere, so that as a key it favours no position.
        """
        last = np.arange(N) == N - 1
        only_last, only_first = (np.where(where, self.huge, self.ordinary) for where in (last, last[::-1]))
        others = np.where(last, self.huge, self.exchanged)
        hidden = np.broadcast_to(~np.eye(N, dtype=bool), (N, 1, N, N))
        earlier = np.tril(hidden)
        earlier[..., 0, 0] = True
        masks = all_open(N, N)[0], causal(N, N)
        moved = self.memory + self.step
        asked = ForwardPass("", self.huge, self.memory, *masks)
        return [
            found_own(self._usual(), asked, ORDINARY, OWN, first=False),
            *multiplied(OWN, HUGE),
            ForwardPass("last huge", only_last, self.memory, hidden, earlier),
            ForwardPass("last huge, others", others, moved, hidden, earlier),
            ForwardPass("all huge", self.huge, self.memory, *masks),
            ForwardPass("all huge, moved", self.huge, moved, *masks),
            ForwardPass("first huge", only_first, self.memory[:, :1].repeat(N, axis=1), *masks),
            written(),
        ]

    def _usual(self) -> ForwardPass:
        """Ordinary tokens beside large memories; with many of them, few weights are idle by chance."""
        return ForwardPass("", self.many, LARGE * self.memories, all_open(MANY, MANY)[0], causal(MANY, MANY))


def at_sizes(batch: int, length: int) -> str:
    """The label of one of the `UNEQUAL` sizes."""
    return f"batch {batch}, length {length}"


def all_open(batch: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks that block nothing, for a memory as long as the target."""
    return np.ones((batch, 1, 1, length), bool), np.ones((batch, 1, length, length), bool)


def causal(batch: int, length: int) -> np.ndarray:
    """Lower triangular."""
    return np.tril(np.ones((batch, 1, length, length), bool))


def _memory_mask(blocked: np.ndarray = MEMORY_BLOCKED) -> np.ndarray:
    """The moved position is blocked in some texts, and every text ends where it ends."""
    mask = np.ones((N, 1, 1, N), bool)
    mask[blocked, :, :, MOVED] = False
    mask &= (np.arange(N) < N - HIDDEN_AT_END[:, None])[:, None, None]
    return mask


def _target_mask(blocked: np.ndarray = TARGET_BLOCKED) -> np.ndarray:
    """Lower triangular; in some texts the moved position is seen by itself alone."""
    mask = causal(N, N)
    for text in np.flatnonzero(blocked):
        mask[text, :, MOVED + 1 :, MOVED] = False
    return mask


VERY_LONG = 6000
"""Longer than tables of positions that were made without a thought of max_len."""
LONG = 600
"""The same where attention has to be computed."""
SILENT = {
    "self alone": "blocks.0.cross_block.attention.out_proj.weight.zero_",
    "cross alone": "blocks.0.self_attention.out_proj.weight.zero_",
}
"""What makes the other attention's output constant, where the listing's names were kept."""
SILENT_IN_TWO = {
    "deeper self": "blocks.1.cross_block.attention.out_proj.weight.zero_",
    "deeper cross": "blocks.0.cross_block.attention.out_proj.weight.zero_",
}
"""The same in a model of two layers: what the second's self-attention, and its cross-attention, then do."""


def asked_later(access: Access, draw: Draw) -> tuple[Experiment, ...]:
    """The experiments that single questions call for.

    self alone, cross alone   the other attention is silent, where it is found by name
    deeper self, deeper cross the same for the second of two layers
    masks                     each mask exchanged
    very long, long           targets longer than a table that forgets max_len, without layers and with one
    no positions              a model that can read nothing
    single                    float32: whether it works there alone
    """
    drawn = DecoderInputs(draw)
    one = Model(access, drawn.seed)
    tokens = np.full((1, VERY_LONG), drawn.token)
    masks = np.ones((1, 1, 1, 1), bool), np.ones((1, 1, 1, VERY_LONG), bool)
    very_long = ForwardPass("long", tokens, drawn.memory[:1, :1], *masks)
    memory = np.resize(drawn.memory[0], (1, LONG, D_MODEL))
    long = ForwardPass("long", tokens[:, :LONG], memory, *all_open(1, LONG))
    few = Model(access, drawn.seed, n_tokens=FEW_TOKENS, max_len=VERY_LONG)
    made = Count("made", Call(MODEL, "training.__int__"))
    return (
        *(
            one.experiment(name, [Call(MODEL, silence, keep="silent"), *drawn.silenced()])
            for name, silence in SILENT.items()
        ),
        *(
            Model(access, drawn.seed, 2).experiment(
                name, [Call(MODEL, silence, keep="silent"), *drawn.silenced(), *drawn.memory_alone()]
            )
            for name, silence in SILENT_IN_TWO.items()
        ),
        one.experiment("masks", drawn.other_masks()),
        replace(few, n_layers=0).experiment("very long", [very_long]),
        replace(few, max_len=LONG).experiment("long", [long]),
        replace(one, max_len=0, change=WeightChange.NONE).experiment("no positions", [made]),
        replace(one, change=WeightChange.NONE, dtype="float32").experiment("single", [drawn.usual("single")]),
    )


def without_layers(access: Access, draw: Draw) -> tuple[Experiment, ...]:
    """Experiments of the first round on models without layers, for decoders whose layers do not work."""
    drawn = DecoderInputs(draw)
    none = Model(access, drawn.seed, n_layers=0)
    even = replace(none, n_tokens=D_MODEL, max_len=D_MODEL, d_hidden=D_MODEL)
    made = (
        none.experiment("attention", [*drawn.plain(), *table()]),
        none.experiment("unequal", [*drawn.unequal(), drawn.longer_source()]),
        replace(none, n_tokens=FEW_TOKENS, max_len=MOST_POSITIONS).experiment(
            "positions", [drawn.positions(MANY_POSITIONS)]
        ),
        even.experiment("longest", [drawn.positions(D_MODEL)]),
        replace(none, max_len=MORE_POSITIONS).experiment("larger table", table()),
        replace(none, n_tokens=MANY_TOKENS, max_len=FEW_POSITIONS).experiment(
            "vocabulary", [drawn.vocabulary()]
        ),
        none.experiment("weights", [*drawn.features(first=True), *drawn.places()]),
        none.experiment("dropped", drawn.rate(), ("train",)),
    )
    return tuple(
        replace(one, scenario=replace(one.scenario, name=f"{one.scenario.name}, no layers")) for one in made
    )
