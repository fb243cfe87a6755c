"""What each counting question asks for: entry of the answer → number, for any setting."""

from __future__ import annotations

from reference.counting import families, memory, operations
from reference.counting.adapters import lora
from reference.counting.decoder import active_parameters, parameters, total
from reference.counting.setting import Numbers, Setting


def matrices(setting: Setting) -> dict[str, tuple[int, int]]:
    """The tables and the first layer's weights of GPT-2, as `transformers` stores them: (inputs, outputs)."""
    model = setting.model
    shapes = model.matrices()
    width = sum(shapes[f"attention_{part}"][1] for part in "qkv")
    return {
        "wte": (model.n_voc, model.d_model),
        "wpe": (model.n_positions, model.d_model),
        "c_attn": (model.d_model, width),
        "attn.c_proj": shapes["attention_o"],
        "c_fc": shapes["mlp_up"],
        "mlp.c_proj": shapes["mlp_down"],
    }


def entries(setting: Setting) -> Numbers:
    """The entries of the same matrices."""
    return {name: rows * columns for name, (rows, columns) in matrices(setting).items()}


def tensors(setting: Setting) -> Numbers:
    """How many named parameters GPT-2 has: a weight or a bias is one, queries, keys and values share one."""
    model = setting.model
    norm = 2 if model.norm_bias else 1
    attention = (2 if model.qkv_bias else 1) + (2 if model.output_bias else 1)
    layer = 2 * norm + attention + 2 * (2 if model.mlp_bias else 1)
    embeddings, last = 1 + (1 if model.n_positions else 0), norm + (0 if model.tied else 1)
    return {
        "embeddings": embeddings,
        "layer": layer,
        "last": last,
        "total": embeddings + model.n_layers * layer + last,
    }


def parts(setting: Setting) -> Numbers:
    """The parameters of a model without biases, by part and in total."""
    counts = parameters(setting.model)
    return {
        "embeddings": counts["token_embeddings"] + counts["position_embeddings"],
        "queries": counts["attention_q"],
        "keys": counts["attention_k"],
        "values": counts["attention_v"],
        "output": counts["attention_o"],
        "mlp": counts["mlp_up"] + counts["mlp_gate"] + counts["mlp_down"],
        "norms": counts["norms"],
        "head": counts["head"],
        "total": total(counts),
    }


def bert(model: families.Bert) -> Numbers:
    """The parameters of BERT by component and in total."""
    return _with_total(families.bert(model))


def t5(model: families.T5) -> Numbers:
    """The parameters of T5 by component and in total."""
    return _with_total(families.t5(model))


def encoder_decoder(model: families.EncoderDecoder) -> Numbers:
    """The parameters of ``nn.Transformer`` by component and in total."""
    return _with_total(families.encoder_decoder(model))


def experts(setting: Setting) -> Numbers:
    """All parameters of a mixture of experts, and those that one token uses."""
    return {"total": total(parameters(setting.model)), "active": total(active_parameters(setting.model))}


def cache(setting: Setting) -> Numbers:
    """Bytes of the key-value cache for one token, and for all of them."""
    model, dtype = setting.model, setting.dtype
    return {
        "token": memory.key_value_cache(model, 1, 1, dtype),
        "cache": memory.key_value_cache(model, setting.length, setting.batch, dtype),
    }


def work(setting: Setting) -> Numbers:
    """FLOPs of a forward pass over one batch, and of a training step."""
    model, length, batch = setting.model, setting.length, setting.batch
    return {
        "forward": operations.forward(model, length, batch),
        "training": operations.training(model, length, batch),
    }


def training_memory(setting: Setting) -> Numbers:
    """Bytes of weights, gradients and everything that the optimizer keeps."""
    state = memory.training_state(total(parameters(setting.model)), setting.way)
    optimizer = {name: size for name, size in state.items() if name not in ("weights", "gradients")}
    numbers = {"weights": state["weights"], "gradients": state["gradients"]}
    numbers["master"] = optimizer.pop("master_weights", 0)
    numbers["moments"] = sum(optimizer.values())
    return {**numbers, "total": sum(numbers.values())}


def adapters(setting: Setting) -> Numbers:
    """Trainable parameters by target and in total."""
    return _with_total(lora(setting.model, setting.rank, setting.targets))


def activations(setting: Setting) -> Numbers:
    """Bytes that one layer keeps, and all layers with checkpointing."""
    model, length, batch = setting.model, setting.length, setting.batch
    return {
        "layer": memory.layer_activations(model, length, batch),
        "checkpointed": memory.activations(model, length, batch, checkpointing=True),
    }


def _with_total(counts: Numbers) -> Numbers:
    return {**counts, "total": total(counts)}
