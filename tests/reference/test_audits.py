"""Test the listings to be audited and their definitions, and the classes for tests."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from reference.audits import attention, specimens, translation
from reference.audits.audit import Audit, NoEvidence, executed

NOTEBOOK = Path(__file__).parents[2] / "assignments" / "gpt2" / "gpt2.ipynb"
LEFT = {"source": torch.tensor([[3, 4, 5]]), "target": torch.tensor([[0, 0, 6, 7]])}
RIGHT = {"source": torch.tensor([[3, 4, 5]]), "target": torch.tensor([[6, 7, 0, 0]])}
PADDED = {"source": torch.tensor([[3, 4, 0, 0]]), "target": torch.tensor([[6, 7, 8]])}


def difference(audit: Audit, variant: str, inputs: dict[str, torch.Tensor]) -> float:
    """Return the difference between a variant and the definition, at defined outputs."""
    wanted, got = audit.outcome("definition", inputs), audit.outcome(variant, inputs)
    return float((got["output"] - wanted["output"])[wanted["counted"]].abs().max())


def cell(grade_id: str) -> str:
    """Return the source of one cell of the assignment with the listings."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return next("".join(one["source"]) for one in cells if one["id"] == grade_id)


@pytest.mark.parametrize("seed", range(8))
def test_the_class_for_attention_is_right(seed: int) -> None:
    """The class equals torch's attention on other lengths, with and without masks."""
    draw = torch.Generator().manual_seed(seed)
    query, key, value = (
        torch.randn(2, length, 8, generator=draw, dtype=torch.float64) for length in (3, 5, 5)
    )
    mask = torch.rand(2, 1, 3, 5, generator=draw) > 0.5
    mask[..., seed % 5] = True
    for given in (None, mask):
        inputs = {"query": query, "key": key, "value": value, **({} if given is None else {"mask": given})}
        assert difference(attention.right, "handed out", inputs) < 1e-14


@pytest.mark.parametrize("seed", range(8))
def test_the_translator_without_faults_is_right(seed: int) -> None:
    """The repaired translator ignores padding at any position."""
    draw = torch.Generator().manual_seed(seed)
    source, target = (torch.randint(0, 11, (3, length), generator=draw) for length in (6, 7))
    source[:, 2], target[:, 3] = 5, 6
    assert difference(translation.handed_out, "right", {"source": source, "target": target}) < 1e-13
    assert difference(translation.handed_out, "handed out", {"source": source, "target": target}) > 0.01


@pytest.mark.parametrize(
    ("fault", "inputs", "wrong"),
    [
        ("target_padding", LEFT, True),
        ("target_padding", RIGHT, False),
        ("target_padding", PADDED, False),
        ("cross_padding", PADDED, True),
        ("cross_padding", LEFT, False),
        ("source_padding", PADDED, True),
        ("source_padding", RIGHT, False),
    ],
)
def test_each_fault_has_inputs_of_its_own(fault: str, inputs: dict[str, torch.Tensor], wrong: bool) -> None:
    """Each fault shows only on its own inputs: target padding on the left, or source padding."""
    found = difference(translation.handed_out, f"only {fault}", inputs)
    assert found > 0.01 if wrong else found < 1e-13


def test_an_unknown_variant_is_refused() -> None:
    """A fault outside the catalogue is our error, and not a listing that raises."""
    with pytest.raises(ValueError, match="unknown faults nothing"):
        translation.proposal.outcome("only nothing", PADDED)


def test_removing_the_source_mask_lets_padding_leak() -> None:
    """Without the encoder's mask the scores depend on the padding, and with it they do not."""
    longer = {**PADDED, "source": torch.tensor([[3, 4, 0, 0, 0]])}
    for variant, least in (("handed out", 0.01), ("right", 0.0)):
        one, other = (translation.proposal.outcome(variant, given)["output"] for given in (PADDED, longer))
        moved = float((one - other).abs().max())
        assert moved > least if least else moved < 1e-13


def test_facts_name_the_planted_lines() -> None:
    """Line numbers are those of the cell that students see."""
    facts = translation.handed_out.facts()
    shown = cell("translator-listing").splitlines()
    assert "[:, None, :, None]" in shown[facts["faults"]["target_padding"]["lines"][0] - 1]
    assert "cross_attention" in shown[facts["faults"]["cross_padding"]["lines"][0] - 1]
    assert {"target_padding", "cross_padding"} == set(facts["faults"])
    assert {} == attention.right.facts()["faults"]
    lines = attention.right.facts()["remarks"]["divisibility"]["lines"]
    assert "d_model // num_heads" in cell("attention-listing").splitlines()[lines[-1] - 1]
    assert [30] == translation.proposal.facts()["faults"]["source_padding"]["lines"]


def test_the_notebook_shows_the_listings() -> None:
    """The locked cells contain the source that the reference runs."""
    assert attention.right.listing().strip() == cell("attention-listing").strip()
    assert translation.handed_out.listing().strip() == cell("translator-listing").strip()


@pytest.mark.parametrize(
    "change",
    [
        {"num_heads": 3},
        {"query": torch.ones(1, 2, 6)},
        {"value": torch.ones(1, 3, 8)},
        {"mask": torch.zeros(1, 1, 2, 4, dtype=torch.bool)},
        {"mask": torch.ones(7, dtype=torch.bool)},
    ],
    ids=["not divisible", "widths", "lengths", "all blocked", "no broadcast"],
)
def test_the_definition_refuses_what_it_does_not_define(change: dict[str, Any]) -> None:
    """Inputs outside the definition are rejected."""
    inputs = {"query": torch.ones(1, 2, 8), "key": torch.ones(1, 4, 8), "value": torch.ones(1, 4, 8)}
    with pytest.raises(NoEvidence) as caught:
        attention.right.outcome("definition", {**inputs, **change})
    assert {"en", "de"} == set(caught.value.text)


# ---------------------------------------------------------------- classes

RIGHT_CLASS = specimens.program("", random.Random(0))
STATE = executed(RIGHT_CLASS)["MultiHeadAttention"](8, 2).double().state_dict()


def output(source: str, mask: torch.Tensor | None) -> torch.Tensor:
    """Return the output of a class with the same weights and inputs."""
    draw = torch.Generator().manual_seed(5)
    layer = executed(source)["MultiHeadAttention"](8, 2).double().eval()
    layer.load_state_dict(STATE)
    inputs = [torch.randn(3, 4, 8, generator=draw, dtype=torch.float64) for _ in range(3)]
    with torch.no_grad():
        return layer(*inputs, mask)  # type: ignore[no-any-return]


MASK = torch.tensor([[1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 0, 1], [0, 0, 1, 1]]).repeat(3, 1, 1, 1)
MASK[1, 0, 0], MASK[2, 0, 1] = torch.tensor([0, 1, 0, 1]), torch.tensor([1, 0, 0, 0])


def compute_attention(mask: torch.Tensor | None) -> torch.Tensor:
    """Return the output of a right class, computed by torch's attention."""
    draw = torch.Generator().manual_seed(5)
    query, key, value = (
        (torch.randn(3, 4, 8, generator=draw, dtype=torch.float64) @ STATE[f"{name}_proj.weight"].T)
        .add(STATE[f"{name}_proj.bias"])
        .unflatten(-1, (2, 4))
        .transpose(1, 2)
        for name in "qkv"
    )
    allowed = None if mask is None else mask.bool()
    context = torch.nn.functional.scaled_dot_product_attention(query, key, value, allowed)
    return context.transpose(1, 2).flatten(2) @ STATE["out_proj.weight"].T + STATE["out_proj.bias"]


@pytest.mark.parametrize("seed", range(12))
def test_right_classes_are_right_in_every_style(seed: int) -> None:
    """Any mixture of styles equals torch's attention."""
    source = specimens.program("", random.Random(seed))
    for mask in (None, MASK):
        assert torch.allclose(compute_attention(mask), output(source, mask), atol=1e-12)


@pytest.mark.parametrize(
    "misconception",
    [misconception for misconceptions in specimens.GROUPS.values() for misconception in misconceptions],
)
def test_wrong_classes_are_wrong(misconception: str) -> None:
    """With a mask each wrong class differs; without one, those about masks are right."""
    source = specimens.program(misconception, random.Random(3))
    assert not torch.allclose(compute_attention(MASK), output(source, MASK), atol=1e-3)
    about_masks = (*specimens.GROUPS["mask"], "mask_of_first_sequence")
    is_right = torch.allclose(compute_attention(None), output(source, None), atol=1e-3)
    assert is_right is (misconception in about_masks)


@pytest.mark.slow
@pytest.mark.parametrize("site", specimens.SITES)
def test_no_behaviour_of_an_expression_is_more_frequent_than_another(site: str) -> None:
    """Each behaviour of an expression occurs equally often, so a majority vote over branches is useless."""
    options = {"": specimens.SITES[site].right, **specimens.SITES[site].misconceptions}
    assert {specimens.SPELLINGS} == {len(set(texts)) for texts in options.values()}
    texts = [text for spelt in options.values() for text in spelt]
    assert len(texts) == len(set(texts))
    for misconception, spelt in options.items():
        found = {}
        for seed in range(40):
            mask = MASK if misconception != "softmax_missing" else None  # the lowest finite number overflows
            found[seed] = output(specimens.program(misconception, random.Random(seed)), mask)
        first = found[0]
        assert all(torch.allclose(first, one, atol=1e-12, equal_nan=True) for one in found.values()), spelt


MISCONCEPTIONS = (
    "",
    *(misconception for misconceptions in specimens.GROUPS.values() for misconception in misconceptions),
)


@pytest.mark.parametrize("seed", range(5))
def test_all_classes_are_one_program(seed: int) -> None:
    """With the same seed, right and wrong classes differ only in their switches."""
    texts = [
        specimens.program(misconception, random.Random(seed)).splitlines() for misconception in MISCONCEPTIONS
    ]
    (place,) = [number for number, line in enumerate(texts[0]) if line.startswith("switches = ")]
    rests = {tuple(line for number, line in enumerate(text) if number != place) for text in texts}
    assert 1 == len(rests)
    assert len({text[place] for text in texts}) > len(MISCONCEPTIONS) // 2


def test_switches_say_nothing_by_themselves() -> None:
    """Every switch is on in about half of the right classes and of the wrong ones."""
    for misconception in ("", "no_scaling", "mask_ignored"):
        rows = [
            executed(specimens.program(misconception, random.Random(seed)))["switches"] for seed in range(300)
        ]
        shares = [sum(row[place] for row in rows) / len(rows) for place in range(len(rows[0]))]
        assert 0.35 < min(shares)
        assert max(shares) < 0.65


def test_all_classes_have_as_many_constants_and_names() -> None:
    """Constants and names of compiled classes do not distinguish them."""
    sizes = set()
    for number, misconception in enumerate(("",) * 8 + MISCONCEPTIONS):
        source = specimens.program(misconception, random.Random(number))
        code = executed(source)["MultiHeadAttention"].forward.__code__
        sizes.add((len(code.co_consts), tuple(sorted(code.co_names)), code.co_varnames, code.co_stacksize))
    assert 1 == len(sizes)
