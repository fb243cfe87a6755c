"""Test suggestions: only names that are similar in meaning and spelling are suggested."""

from __future__ import annotations

import pytest

from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary, is_typo
from autograder.questions.numbers.units import read_unit

NAMES = (
    "batch_size", "loss", "d_model", "d_head", "n_heads", "n_layers", "seq_len", "max_len", "hidden", "width",
    "learning_rate", "vocab", "kernel_size", "stride",
)  # fmt: skip
VOCABULARY = Vocabulary({name: Symbol() for name in NAMES})


def suggestion(name: str) -> str:
    """Return the suggestion for an unknown name."""
    with pytest.raises(Unreadable) as caught:
        parse(f"2*{name}", VOCABULARY)
    return caught.value.params["suggestion"]


@pytest.mark.parametrize(
    "name",
    [
        "vocab_size", "FLOPs", "softmax", "four", "cost", "since", "max_size", "kernel_len", "seq_size",
        "mask", "patch_size", "model", "head", "heads", "layer", "d_x", "d_q", "n_tokens", "bias", "tank",
        "sine", "x", "i", "lossy_rate", "learning_late_rate", "floats", "loop", "mini", "maxi", "logs",
        "sum_sq", "width_2", "hide", "wide", "strength", "rate", "maxx", "lose",
    ],
)  # fmt: skip
def test_what_merely_looks_alike_is_not_suggested(name: str) -> None:
    """A similar name with another meaning is not suggested, because a wrong suggestion misleads."""
    assert suggestion(name) == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("d_modell", "d_model"), ("d_mdoel", "d_model"), ("n_head", "n_heads"), ("num_heads", "n_heads"),
        ("number_layers", "n_layers"), ("batch_szie", "batch_size"), ("bach_size", "batch_size"),
        ("learnig_rate", "learning_rate"), ("hiden", "hidden"), ("widht", "width"),
        ("kernle_size", "kernel_size"), ("flooor", "floor"), ("cieling", "ceiling"),
    ],
)  # fmt: skip
def test_typos_are_told(name: str, meant: str) -> None:
    """A missing, additional, wrong or exchanged letter gives a suggestion."""
    assert suggestion(name) == meant


def test_a_typo_is_mutual() -> None:
    """The relation of typos is symmetric."""
    for name in NAMES:
        for other in NAMES:
            assert is_typo(name, other) is is_typo(other, name)


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("paramters", "parameters"), ("tokes", "tokens"), ("minits", ""), ("gram", ""), ("pages", "")],
)
def test_units_are_suggested_alike(unit: str, meant: str) -> None:
    """Units are suggested in the same way."""
    with pytest.raises(Unreadable) as caught:
        read_unit(unit)
    assert caught.value.params["suggestion"] == meant
