"""Test that bytes equal those of real caches, real optimizers and tensors saved by autograd."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from reference.counting import memory
from reference.counting.catalogue import DECODERS
from reference.counting.decoder import Decoder, parameters, total
from tests.reference.counting import real
from tests.reference.counting.test_operations import BATCH, GPT2, LENGTH, MODELS


def size(tensor: Tensor) -> int:
    """Return the bytes of a tensor."""
    return tensor.numel() * tensor.element_size()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cache_has_the_bytes_of_its_real_tensors(name: str, dtype: str) -> None:
    """The cache has the bytes of all keys and values after a real forward pass."""
    model = MODELS[name]
    built = real.build(model, "cpu").to(getattr(torch, dtype))
    with torch.no_grad():
        cache = built(torch.zeros(BATCH, LENGTH, dtype=torch.int64), use_cache=True).past_key_values
    kept = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    assert 2 * model.n_layers == len(kept)
    assert sum(map(size, kept)) == memory.key_value_cache(model, LENGTH, BATCH, dtype)


@pytest.mark.parametrize(
    ("name", "each"),
    [("Llama-2-7B", 524_288), ("Llama-3-8B", 131_072), ("Mixtral-8x7B", 131_072), ("Qwen2.5-7B", 57_344)],
)
def test_the_known_bytes_of_one_token(name: str, each: int) -> None:
    """Published models in bfloat16 have the known sizes."""
    assert each == memory.key_value_cache(Decoder.of(DECODERS[name]), 1)


@pytest.mark.parametrize(
    ("way", "make", "states"),
    [
        ("sgd", lambda weights: torch.optim.SGD(weights, 0.1), ()),
        ("sgd-momentum", lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9), ("momentum_buffer",)),
        ("adamw", torch.optim.AdamW, ("exp_avg", "exp_avg_sq")),
        ("adamw-bfloat16", torch.optim.AdamW, ("exp_avg", "exp_avg_sq")),
        ("adamw-mixed", torch.optim.AdamW, ("exp_avg", "exp_avg_sq")),
    ],
)
def test_training_keeps_the_bytes_of_real_weights_gradients_and_states(
    way: str, make: object, states: tuple[str, ...]
) -> None:
    """The bytes of weights, gradients and states equal those after one step of a tiny model."""
    model = MODELS["Llama, grouped"]
    built = real.build(model, "cpu").train()
    if way in ("adamw-bfloat16", "adamw-mixed"):
        built = built.bfloat16()
    built(torch.zeros(1, LENGTH, dtype=torch.int64), use_cache=False).logits.sum().backward()
    weights = list(built.parameters())
    found = {"weights": sum(map(size, weights)), "gradients": sum(size(one.grad) for one in weights)}
    if way == "adamw-mixed":
        masters = [nn.Parameter(one.detach().float()) for one in weights]
        for master, one in zip(masters, weights, strict=True):
            master.grad = one.grad.float()
        found["master_weights"] = sum(map(size, masters))
        weights = masters
    optimizer = make(weights)  # type: ignore[operator]
    optimizer.step()
    names = {"exp_avg": "first_moment", "exp_avg_sq": "second_moment", "momentum_buffer": "momentum"}
    for state in states:
        found[names[state]] = sum(size(optimizer.state[one][state]) for one in weights)
    assert found == memory.training_state(total(parameters(model)), way)


class _Block(nn.Module):
    """A layer as Korthikanti et al. count it; flash: scores are recomputed in the backward pass."""

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.model = model
        self.norms = nn.ModuleList(nn.LayerNorm(model.d_model) for _ in range(2))
        self.qkv = nn.ModuleList(nn.Linear(model.d_model, model.n_heads * model.d_head) for _ in range(3))
        self.output = nn.Linear(model.n_heads * model.d_head, model.d_model)
        self.up, self.down = nn.Linear(model.d_model, model.d_ff), nn.Linear(model.d_ff, model.d_model)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        y = self.norms[0](x)
        heads = (batch, length, self.model.n_heads, self.model.d_head)
        query, key, value = (matrix(y).view(heads).transpose(1, 2) for matrix in self.qkv)
        scores = torch.softmax(query @ key.transpose(-1, -2), dim=-1)
        context = torch.native_dropout(scores, 0.5, train=True)[0] @ value
        attended = self.output(context.transpose(1, 2).reshape(batch, length, -1))
        x = x + torch.native_dropout(attended, 0.5, train=True)[0]
        hidden = nn.functional.gelu(self.up(self.norms[1](x)))
        return x + torch.native_dropout(self.down(hidden), 0.5, train=True)[0]


def kept(model: Decoder, batch: int) -> int:
    """Return the bytes that autograd keeps for one layer, without weights and statistics of norms."""
    block = _Block(model).bfloat16()
    own = {one.data_ptr() for one in block.parameters()}
    found: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        statistics = tensor.shape[-1] == 1
        if tensor.data_ptr() not in own and not statistics:
            found[tensor.data_ptr()] = tensor
        return tensor

    x = torch.randn(batch, LENGTH, model.d_model, dtype=torch.bfloat16, requires_grad=True)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = block(x)
    assert result.requires_grad
    return sum(map(size, found.values()))


@pytest.mark.parametrize("model", [GPT2, replace(GPT2, d_ff=56), replace(GPT2, d_model=16, d_head=3)])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_layer_keeps_what_autograd_keeps(model: Decoder, batch: int) -> None:
    """The sum of the terms equals the bytes that a real layer saves for its backward pass."""
    assert kept(model, batch) == memory.layer_activations(model, LENGTH, batch)


def test_the_formula_of_the_paper() -> None:
    """At the usual widths the terms add up to s·b·h·(34 + 5·a·s/h), and to 34·s·b·h without kept scores."""
    model = Decoder.of(DECODERS["GPT-2"])
    s, b, h, a = 512, 4, model.d_model, model.n_heads
    assert s * b * h * 34 + 5 * a * s * s * b == memory.layer_activations(model, s, b)
    assert s * b * h * 34 == memory.layer_activations(model, s, b, flash=True)
    assert 12 * memory.layer_activations(model, s, b) == memory.activations(model, s, b)
    checkpointed = 11 * 2 * s * b * h + s * b * h * 34
    assert checkpointed == memory.activations(model, s, b, flash=True, checkpointing=True)


def test_checkpointing_keeps_the_inputs_and_one_layer() -> None:
    """With checkpointing, layers save only their inputs; the peak is one layer more."""
    from torch.utils.checkpoint import checkpoint

    blocks = [_Block(GPT2).bfloat16() for _ in range(3)]
    x = torch.randn(BATCH, LENGTH, GPT2.d_model, dtype=torch.bfloat16, requires_grad=True)
    inputs = 0
    for block in blocks:
        inputs += size(x)
        x = checkpoint(block, x, use_reentrant=False)
    one = kept(GPT2, BATCH)
    assert inputs + one - inputs // 3 == memory.activations(GPT2, LENGTH, BATCH, checkpointing=True)


@pytest.mark.parametrize("name", ["Llama, grouped", "Mixtral"])
def test_other_layers_are_refused(name: str) -> None:
    """Layers that the formula does not cover are rejected."""
    with pytest.raises(ValueError, match="multi-head attention"):
        memory.layer_activations(MODELS[name], 4)
