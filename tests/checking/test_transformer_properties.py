"""Test that properties of transformers hold for a right model and fail for the defect they detect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from autograder.checking import models
from autograder.checking.outcomes import Unclear, Wrong
from autograder.checking.transformers import (
    StudentModel,
    assert_causal,
    assert_dropout,
    assert_gradients_reach,
    assert_head,
    assert_residual,
    assert_shown,
    assert_starts_alike,
    assert_swap_free,
    assert_texts_independent,
    call_all,
    change_one_place,
    count_distinct,
    find_effects,
    make_causal_mask,
    measure_change,
)

N, WIDTH, WORDS = 6, 8, 11
TOKENS = torch.randint(0, 5, (N, N), generator=torch.Generator().manual_seed(1))
OTHERS = (TOKENS + 2) % 5
MEMORY = torch.randn(N, N, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


class Decoder(nn.Module):
    """One layer of self-attention and cross-attention that may have one defect."""

    defect = ""

    def __init__(self, words: int = WORDS, rate: float = 0.0) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, WIDTH), nn.Embedding(30, WIDTH)
        self.own, self.cross = (nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2))
        self.norm, self.dropout, self.head = nn.LayerNorm(WIDTH), nn.Dropout(rate), nn.Linear(WIDTH, words)

    def attend(self, weights: nn.Linear, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Return attention with one head."""
        q, k, v = (
            (source @ part.T)
            for source, part in zip((query, keys, values), weights.weight.chunk(3), strict=True)
        )
        return (q @ k.mT).masked_fill(mask == 0, -1e9).softmax(-1) @ v

    def forward(self, tokens: Tensor, memory: Tensor) -> Tensor:
        """Return scores of the next word."""
        places = torch.arange(tokens.shape[0 if self.defect == "places of texts" else 1])
        if self.defect == "places from the end":
            places = places.flip(0)
        places = self.places(places)
        if self.defect == "places of texts":
            places = places[:, None]
        x = self.words(tokens) + (0 if self.defect == "no places" else places)
        x = x if self.defect == "no dropout" else self.dropout(x)
        mask = make_causal_mask(1, tokens.shape[1])[0]
        mask = torch.ones_like(mask) if self.defect == "no mask" else mask
        mask = mask.flip(-1, -2) if self.defect == "mask turned" else mask
        attended = self.attend(self.own, x, x, x, mask)
        x = self.norm(attended if self.defect == "no residual" else x + attended)
        if self.defect == "norm over the batch":
            x = x - x.mean(0)
        keys = memory.flip(1) if self.defect == "other keys" else memory
        fetched = self.attend(self.cross, x, keys, memory, torch.ones(1))
        x = x + (fetched.detach() if self.defect == "detached" else fetched)
        if self.defect == "no head":
            return x
        return x.repeat(1, 1, 30)[..., : len(self.words.weight)] if self.defect == "padded" else self.head(x)


def make(defect: str, **options: object) -> StudentModel:
    """Return a model with a defect, as a student's class."""
    sizes = options.pop("sizes", ())
    return StudentModel(type("Decoder", (Decoder,), {"defect": defect}), sizes, **options)


def check_mask(defect: str) -> None:
    """Compare visible positions with the mask."""
    model = make(defect)
    assert_shown(
        find_effects(lambda tokens: model.run(tokens, MEMORY), TOKENS, OTHERS), make_causal_mask(1, N)[0, 0].T
    )


def check_causal(defect: str) -> None:
    """Check that later words have no effect."""
    model = make(defect)
    assert_causal(lambda tokens: model.run(tokens, MEMORY), TOKENS, OTHERS)


def check_texts(defect: str) -> None:
    """Check that the texts of a batch are independent."""
    assert_texts_independent(make(defect).run, TOKENS[:4], MEMORY[:4])


def check_start(defect: str) -> None:
    """Check that the beginning of a text has the same outputs as in the whole text."""
    model = make(defect)
    assert_starts_alike(lambda tokens: model.run(tokens, MEMORY), TOKENS)


def check_residual(defect: str) -> None:
    """Compare how far words move, with small weights."""
    model = make(defect, scale=0.003)
    effect = measure_change(model.run(TOKENS, MEMORY), model.run(change_one_place(TOKENS, OTHERS), MEMORY))
    assert_residual(effect[:-1, :-1])


def check_places(defect: str) -> None:
    """Check that equal words have different outputs at all positions."""
    if count_distinct(make(defect).run(torch.full((1, 30), 2), MEMORY[:1, :1])[0]) < 30:
        raise Wrong("not all places differ")


def check_dropout(defect: str) -> None:
    """Check that dropout removes the effect of some weights."""
    usual, special = (TOKENS, MEMORY), (torch.full((1, N), 9), MEMORY[:1])
    model, training = make(defect), make(defect, sizes=(WORDS, 0.5), train=True)
    idle = model.find_idle_weights(*usual)
    assert (idle & model.find_used_weights(*special)).sum() >= WIDTH
    training.set_weights(model.get_weights())
    special = (torch.where(torch.arange(N) == 0, 9, TOKENS[:1]), MEMORY[:1])
    assert_dropout(training, special, idle & model.find_used_weights(*special))


def check_swap(defect: str) -> None:
    """Check that exchanging positions of the memory changes nothing."""
    model = make(defect)
    assert_swap_free(lambda memory: model.run(TOKENS, memory), MEMORY, 1, 2)


def check_head(defect: str) -> None:
    """Compare the outputs for vocabularies of two sizes."""
    few, many = make(defect, sizes=(WORDS,)), make(defect, sizes=(60,))
    assert_head(few, many, (TOKENS, MEMORY), (WORDS, 60), WIDTH)


def check_gradients(defect: str) -> None:
    """Check that most weights affect the output."""
    tokens = torch.arange(WORDS).repeat(1, 3)[:, :30]
    assert_gradients_reach(make(defect), (tokens, MEMORY[:1]))


PROPERTIES: list[tuple[Callable[[str], None], tuple[str, ...]]] = [
    (check_mask, ("no mask", "mask turned")),
    (check_causal, ("no mask", "mask turned")),
    (check_texts, ("places of texts", "norm over the batch")),
    (check_start, ("places from the end", "no mask")),
    (check_residual, ("no residual",)),
    (check_places, ("no places",)),
    (check_dropout, ("no dropout",)),
    (check_swap, ("other keys",)),
    (check_head, ("no head", "padded")),
    (check_gradients, ("detached", "no places")),
]


@pytest.mark.parametrize("check", [check for check, _ in PROPERTIES], ids=lambda check: check.__name__)
def test_property_holds_for_a_right_model(check: Callable[[str], None]) -> None:
    """Each property holds for any weights of a right model."""
    check("")


@pytest.mark.parametrize(
    ("check", "defect"),
    [(check, defect) for check, defects in PROPERTIES for defect in defects],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_property_tells_a_defect(check: Callable[[str], None], defect: str) -> None:
    """A defect is detected with a message; an exception counts as a defect too."""
    with pytest.raises((Wrong, RuntimeError)):
        check(defect)


def test_outputs_of_two_shapes_decide_nothing() -> None:
    """Outputs of two shapes cannot be compared and need manual review."""
    with pytest.raises(Unclear, match="two shapes"):
        measure_change(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))


@pytest.mark.parametrize("said", [[], [1, 2, 3], (1, 2), None], ids=["nothing", "more", "a tuple", "None"])
def test_calls_that_bring_no_list_of_outputs_need_manual_review(
    said: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply without a list of outputs needs review, because student code can replace the caller."""
    monkeypatch.setattr(models, "call_all", lambda *_: said)
    with pytest.raises(Unclear):
        next(call_all([(abs, {"x": torch.ones(1)}), (abs, {"x": torch.ones(1)})]))


def test_calls_get_copies_and_stop_at_the_first_exception() -> None:
    """Calls get copies of their arguments, and outputs before an exception can be compared."""

    def add(x: torch.Tensor) -> torch.Tensor:
        if x.numel() > 1:
            raise ValueError("too long")
        return x.add_(1)

    one, long = torch.ones(1), torch.ones(2)
    outputs = call_all([(add, {"x": one}), (add, {"x": one}), (add, {"x": long})])
    assert [2.0, 2.0] == [float(next(outputs)), float(next(outputs))]
    assert float(one) == 1.0
    with pytest.raises(ValueError, match="too long"):
        next(outputs)


@pytest.mark.parametrize("place", [torch, nn.functional], ids=["torch", "functional"])
def test_models_drop_nothing_in_evaluation(place: Any) -> None:
    """Dropout that is always on is disabled in evaluation, because another check tests it."""

    class Dropping(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return place.dropout(x, 0.5, True)  # type: ignore[no-any-return]

    x = torch.ones(4, 5)
    assert torch.equal(x, models.run_model(Dropping().eval(), [x], {}))


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf], ids=str)
@pytest.mark.parametrize(
    "check",
    [
        lambda run: assert_causal(run, TOKENS, OTHERS),
        lambda run: assert_texts_independent(run, TOKENS),
        lambda run: assert_starts_alike(run, TOKENS),
        lambda run: assert_swap_free(lambda memory: run(memory[..., 0]), MEMORY, 1, 2),
        lambda run: count_distinct(run(TOKENS)[0]),
    ],
    ids=["causal", "independent", "starts", "swap", "distinct"],
)
def test_numbers_that_are_not_finite_have_no_property(
    check: Callable[[Callable[[Tensor], Tensor]], None], number: float
) -> None:
    """Numbers that are not finite are rejected, because every comparison with NaN is false."""
    with pytest.raises(Wrong, match="not finite"):
        check(lambda tokens: tokens[..., None] * torch.full((WIDTH,), number) + number)


def test_slopes_that_are_not_finite_reach_no_weight() -> None:
    class Endless(Decoder):
        def forward(self, tokens: Tensor, memory: Tensor) -> Tensor:
            return super().forward(tokens, memory) * torch.nan

    with pytest.raises(Wrong, match="not finite"):
        assert_gradients_reach(StudentModel(Endless, (WORDS,)), (TOKENS, MEMORY))


def test_passes_in_one_step_give_what_single_passes_give() -> None:
    """Also with other weights, which the model has for these passes alone."""
    model, other = make(""), make("", seed=5)
    calls = [(TOKENS, MEMORY), (TOKENS[:1, :2], MEMORY[:1])]
    for output, call in zip(model.run_each(calls), calls, strict=True):
        assert torch.equal(output, model.run(*call))
    for output, call in zip(model.run_each(calls, weights=other.get_weights()), calls, strict=True):
        assert torch.equal(output, other.run(*call))
        assert not torch.equal(output, model.run(*call))
    outputs = model.run_each([calls[0], (TOKENS + WORDS, MEMORY)])
    assert torch.equal(next(outputs), model.run(*calls[0]))
    with pytest.raises(IndexError):
        next(outputs)
