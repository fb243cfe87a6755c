"""Test that every count equals that of the real model, in total and by component."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from reference.counting import families
from reference.counting.catalogue import DECODERS
from reference.counting.decoder import Decoder, active_parameters, parameters, total
from tests.reference.counting import real

TOTALS = {
    "GPT-2": 124_439_808,
    "GPT-2 XL": 1_557_611_200,
    "Llama-2-7B": 6_738_415_616,
    "Llama-3-8B": 8_030_261_248,
    "Llama-3-70B": 70_553_706_496,
    "Llama-3.2-1B": 1_235_814_400,
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen3-8B": 8_190_735_360,
    "Mixtral-8x7B": 46_702_792_704,
    "Qwen3-30B-A3B": 30_532_122_624,
}
"""The published sizes."""

T5_3B = families.T5(d_model=1024, n_heads=32, d_head=128, d_ff=16384, n_layers=24)

GPT2_PARTS = {
    "token_embeddings": r"wte",
    "position_embeddings": r"wpe",
    "norms": r"\bln_",
    "biases": r"bias$",
    "attention_qkv": r"attn\.c_attn",
    "attention_o": r"attn\.c_proj",
    "mlp_up": r"mlp\.c_fc",
    "mlp_down": r"mlp\.c_proj",
    "head": r"lm_head",
}
GATED_PARTS = {
    "token_embeddings": r"embed_tokens",
    "norms": r"norm",
    "biases": r"bias$",
    "attention_q": r"q_proj",
    "attention_k": r"k_proj",
    "attention_v": r"v_proj",
    "attention_o": r"o_proj",
    "router": r"mlp\.gate\.|block_sparse_moe\.gate\.",
    "mlp_up_and_gate": r"gate_up_proj|gate_proj|up_proj|\.w1|\.w3",
    "mlp_down": r"down_proj|\.w2",
    "head": r"lm_head",
}


@pytest.mark.parametrize("name", DECODERS)
def test_a_published_model_has_its_published_size(name: str) -> None:
    """The formula, the real model and the published size agree."""
    counts = parameters(Decoder.of(DECODERS[name]))
    assert TOTALS[name] == total(counts) == real.size(real.build(Decoder.of(DECODERS[name])).parameters())


@pytest.mark.parametrize("name", DECODERS)
def test_every_component_is_counted_right(name: str) -> None:
    """The formula agrees with the real model for each component."""
    model = Decoder.of(DECODERS[name])
    counts = parameters(model)
    if model.n_positions:
        counts["attention_qkv"] = sum(counts.pop(f"attention_{part}") for part in "qkv")
        found = real.count(real.build(model), GPT2_PARTS)
    else:
        counts["mlp_up_and_gate"] = counts.pop("mlp_up") + counts.pop("mlp_gate")
        found = real.count(real.build(model), GATED_PARTS)
    assert {key: number for key, number in counts.items() if number} == {
        key: number for key, number in found.items() if number
    }


@settings(max_examples=12, deadline=None)
@given(
    groups=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    sizes=st.tuples(*[st.integers(1, 7)] * 4),
    experts=st.sampled_from([(0, 0), (4, 1), (4, 3)]),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_any_sizes_are_counted_right(
    groups: int, kv_heads: int, sizes: tuple[int, ...], experts: tuple[int, int], flags: tuple[bool, bool]
) -> None:
    """Counts are right for grouped heads, experts, tied and untied heads, and norms of q and k."""
    n_voc, d_model, d_ff, n_layers = sizes
    tied, qk_norm = flags
    model = Decoder(
        n_voc=n_voc + 3,
        d_model=groups * kv_heads * d_model,
        n_layers=n_layers,
        n_heads=groups * kv_heads,
        d_head=4,
        d_ff=d_ff,
        n_kv_heads=kv_heads,
        gated=True,
        tied=tied,
        qk_norm=qk_norm,
        n_experts=experts[0],
        n_active_experts=experts[1],
    )
    if experts[0] and not qk_norm:
        model = replace(model, d_model=4 * model.n_heads)  # Mixtral's heads fill the width
    assert total(parameters(model)) == real.size(real.build(model).parameters())


@pytest.mark.parametrize(
    ("name", "active"), [("Mixtral-8x7B", 12_879_925_248), ("Qwen3-30B-A3B", 3_353_032_704)]
)
def test_active_parameters_are_those_of_a_model_with_the_chosen_experts_only(name: str, active: int) -> None:
    """Active parameters equal a real model with only the chosen experts, and the remaining router rows."""
    model = Decoder.of(DECODERS[name])
    fewer = real.build(replace(model, n_experts=model.n_active_experts))
    router = model.n_layers * model.d_model * (model.n_experts - model.n_active_experts)
    assert active == total(active_parameters(model)) == real.size(fewer.parameters()) + router


def test_without_experts_all_parameters_are_active() -> None:
    """In a dense model all parameters are active."""
    model = Decoder.of(DECODERS["Llama-3-8B"])
    assert parameters(model) == active_parameters(model)


def test_an_untied_head_and_two_more_tokens() -> None:
    """GPT-2 has the known totals with an untied head, and with two special tokens added."""
    config = DECODERS["GPT-2"]
    assert 163_037_184 == total(parameters(Decoder.of({**config, "tied": False})))
    assert 124_441_344 == total(parameters(Decoder.of({**config, "n_voc": 50259})))
    assert 163_040_256 == total(parameters(Decoder.of({**config, "n_voc": 50259, "tied": False})))


def test_bert_base() -> None:
    """Every component and the total of BERT-base equal those of the real encoder."""
    import transformers

    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig())
    patterns = {
        "token_embeddings": "word_embeddings",
        "position_embeddings": "position_embeddings",
        "segment_embeddings": "token_type_embeddings",
        "norms": "LayerNorm",
        "pooler": "pooler",
        "biases": "bias$",
        "attention": "attention",
        "mlp": "dense",
    }
    counts = families.bert(families.Bert())
    assert counts == real.count(model, patterns)
    assert 109_482_240 == total(counts)
    without = families.bert(families.Bert(pooler=False))
    assert 109_482_240 - 768 * 769 == total(without)


@pytest.mark.parametrize(
    "sizes", [families.T5(), T5_3B, families.T5(d_head=48, gated=True, tied=False, n_layers=3)]
)
def test_t5(sizes: families.T5) -> None:
    """Every component of T5-small and of a gated T5 with narrow heads equals the real model."""
    import transformers

    config = transformers.T5Config(
        vocab_size=sizes.n_voc,
        d_model=sizes.d_model,
        d_kv=sizes.d_head,
        d_ff=sizes.d_ff,
        num_heads=sizes.n_heads,
        num_layers=sizes.n_layers,
        relative_attention_num_buckets=sizes.n_buckets,
        feed_forward_proj="gated-gelu" if sizes.gated else "relu",
        tie_word_embeddings=sizes.tied,
    )
    with torch.device("meta"):
        model = transformers.T5ForConditionalGeneration(config)
    model.tie_weights()
    if not sizes.tied:  # the library ties every T5, but the published version 1.1 has an untied head
        model.lm_head = nn.Linear(sizes.d_model, sizes.n_voc, bias=False, device="meta")
    patterns = {
        "token_embeddings": "^shared",
        "relative_positions": "relative_attention_bias",
        "norms": "layer_norm",
        "encoder_attention": r"^encoder.*SelfAttention",
        "decoder_attention": r"^decoder.*SelfAttention",
        "cross_attention": "EncDecAttention",
        "mlp": "DenseReluDense",
        "head": "lm_head",
    }
    counts = families.t5(sizes)
    assert counts == real.count(model, patterns)
    if sizes == families.T5():
        assert 60_506_624 == total(counts)


@pytest.mark.parametrize("sizes", [families.EncoderDecoder(), families.EncoderDecoder(64, 3, 40)])
def test_the_transformer_of_torch(sizes: families.EncoderDecoder) -> None:
    """Every component of ``nn.Transformer`` equals that of the real module."""
    with torch.device("meta"):
        model = nn.Transformer(sizes.d_model, 8, sizes.n_layers, sizes.n_layers, sizes.d_ff, batch_first=True)
    patterns = {"norms": "norm", "biases": "bias$", "attention": "attn", "mlp": "linear"}
    counts = families.encoder_decoder(sizes)
    assert counts == real.count(model, patterns)
    if sizes == families.EncoderDecoder():
        assert 44_140_544 == total(counts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_modle": 8}, "no size 'd_modle'; did you mean 'd_model'"),
        ({"d_model": -1}, "d_model: expected int"),
        ({"gated": 1}, "gated: expected bool"),
        ({"n_heads": True}, "n_heads: expected int"),
        ({"n_experts": 2, "n_active_experts": 3}, "3 of 2 experts"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    """A misspelt name, a negative size and a wrong type are reported."""
    with pytest.raises(ValueError, match=message):
        Decoder.of({**DECODERS["GPT-2"], **change})


def test_a_missing_size_is_named() -> None:
    """A configuration without a required size names it."""
    with pytest.raises(ValueError, match="n_layers"):
        Decoder.of({"n_voc": 1, "d_model": 1, "n_heads": 1, "d_head": 1, "d_ff": 1})
