"""Planted answers to the exam's questions about code: what each mistake must lose, and what is right as well.

``autograder verify`` puts each in the place of the answer key. A trial is a dictionary with the keys
``name``, ``source`` (of the answer cell), ``loses`` (rubric items; none for an accepted alternative) and,
where a lost item keeps a part, ``points``.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from . import attention as reference_attention
from .faults.rewrite import Edit, rewritten
from .listings import FAULT_IDS, listing

Trial = dict[str, Any]

# ---------------------------------------------------------------- the decoder

_BLOCK, _DECODER = "DecoderBlock.forward", "Decoder.forward"
_TABLE = "nn.Embedding(max_len, d_model)"
_CROSS = "self.cross_block(query, key, value, memory_mask)"
_SELF = "self.self_attention(x, x, x, target_mask)"

_OTHER_SLIPS: tuple[tuple[str, str, Edit], ...] = (
    ("no mask in self-attention", "self_mask", Edit(_BLOCK, _SELF, "self.self_attention(x, x, x)")),
    (
        "no mask over the memory",
        "cross_mask",
        Edit(_BLOCK, _CROSS, "self.cross_block(query, key, value, None)"),
    ),
    (
        "key and value from the decoder's state",
        "cross_value",
        Edit(
            _DECODER,
            "block(x, memory, memory, memory_mask, target_mask)",
            "block(x, x, x, memory_mask, target_mask)",
        ),
    ),
    (
        "a table as long as the width",
        "position_table",
        Edit("Decoder.__init__", _TABLE, "nn.Embedding(d_model, d_model)"),
    ),
    (
        "residual from the wrong tensor",
        "residual",
        Edit(_BLOCK, "x + self.dropout(attended)", "attended + self.dropout(attended)"),
    ),
    (
        "dropout on the scores",
        "embedding_dropout",
        Edit(_DECODER, "self.output_head(x)", "self.dropout(self.output_head(x))"),
    ),
)
_OTHER_REPAIRS: tuple[tuple[str, Edit], ...] = (
    (
        "masks by keyword",
        Edit(_BLOCK, _CROSS, "self.cross_block(query, key=key, value=value, mask=memory_mask)"),
    ),
    ("dropout around the sum", Edit(_BLOCK, "x + self.dropout(attended)", "self.dropout(x + attended)")),
    ("no dropout at the residual", Edit(_BLOCK, "x + self.dropout(attended)", "x + attended")),
    ("sizes by size()", Edit(_DECODER, "tokens.shape", "tokens.size()")),
    ("a longer table", Edit("Decoder.__init__", _TABLE, "nn.Embedding(2 * max_len, d_model)")),
    (
        "probabilities in the end",
        Edit(_DECODER, "self.output_head(x)", "self.output_head(x).log_softmax(dim=-1)"),
    ),
)


def decoder_repairs() -> list[Trial]:
    """Repairs of the decoder: nothing, all faults but one, other slips at the same place, and right ones."""
    right = listing(FAULT_IDS)
    trials: list[Trial] = [{"name": "nothing repaired", "source": listing(), "loses": list(FAULT_IDS)}]
    for fault in FAULT_IDS:
        repaired = [other for other in FAULT_IDS if other != fault]
        trials.append({"name": f"{fault} left in", "source": listing(repaired), "loses": [fault]})
    for name, fault, edit in _OTHER_SLIPS:
        trials.append({"name": name, "source": rewritten(right, edit), "loses": [fault]})
    trials += [_accepted(name, rewritten(right, edit)) for name, edit in _OTHER_REPAIRS]
    return trials


# ---------------------------------------------------------------- multi-head attention

_CLASS = "MyMultiHeadAttention"
_INIT, _FORWARD, _SPLIT = f"{_CLASS}.__init__", f"{_CLASS}.forward", f"{_CLASS}._split"
_SCORES = "q @ k.transpose(-2, -1) / math.sqrt(self.d_head)"
_NUMBERS = ("self", "cross", "padding", "causal")
_MASKED = ("padding", "causal", "blocked")
_ALL = ("parameters", "construct", *_NUMBERS, "blocked")

_SLIPS: tuple[tuple[str, Edit, Sequence[str]], ...] = (
    ("no scaling", Edit(_FORWARD, _SCORES, "q @ k.transpose(-2, -1)"), _NUMBERS),
    (
        "scaled by the model's width",
        Edit(_FORWARD, "self.d_head", "(self.d_head * self.n_heads)"),
        _NUMBERS,
    ),
    ("scaled without the root", Edit(_FORWARD, "math.sqrt(self.d_head)", "self.d_head"), _NUMBERS),
    (
        "softmax over the queries",
        Edit(_FORWARD, "scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),
        (*_NUMBERS, "blocked"),
    ),
    ("no output projection", Edit(_FORWARD, "self.out_proj(merged)", "merged"), _NUMBERS),
    (
        "heads cut out of the length",
        Edit(
            _SPLIT,
            "x.reshape(batch, length, self.n_heads, self.d_head).transpose(1, 2)",
            "x.reshape(batch, self.n_heads, length, self.d_head)",
        ),
        (*_NUMBERS, "blocked"),
    ),
    (
        "heads merged without moving them",
        Edit(_FORWARD, "heads.transpose(1, 2).flatten(2)", "heads.reshape(query.shape)"),
        _NUMBERS,
    ),
    ("keys taken for values", Edit(_FORWARD, "self.v_proj(value)", "self.v_proj(key)"), ("cross",)),
    ("keys summed up for values", Edit(_FORWARD, "weights @ v", "weights @ k"), _ALL),
    ("queries' projection for keys", Edit(_FORWARD, "self.k_proj(key)", "self.q_proj(key)"), _ALL),
    (
        "keys that do not learn",
        Edit(_FORWARD, "self.k_proj(key)", "self.k_proj(key).detach()"),
        ("parameters", "construct", "blocked"),
    ),
    ("mask the other way round", Edit(_FORWARD, "mask == 0", "mask == 1"), _MASKED),
    ("mask ignored", Edit(_FORWARD, "mask is not None", "False"), _MASKED),
    (
        "masks over padding ignored",
        Edit(_FORWARD, "mask is not None", "mask is not None and mask.shape[-2] > 1"),
        ("padding", "blocked"),
    ),
    (
        "the first head's mask for all",
        Edit(_FORWARD, "mask == 0", "(mask[:, :1] if mask.dim() == 4 else mask) == 0"),
        ("causal",),
    ),
    ("indivisible widths accepted", Edit(_INIT, "d_model % n_heads != 0", "False"), ("construct",)),
)

_STYLES: tuple[tuple[str, Edit], ...] = (
    ("blocked by minus infinity", Edit(_FORWARD, "torch.finfo(scores.dtype).min", 'float("-inf")')),
    ("blocked by a large number", Edit(_FORWARD, "torch.finfo(scores.dtype).min", "-1e9")),
    ("queries scaled first", Edit(_FORWARD, _SCORES, "(q * self.d_head**-0.5) @ k.mT")),
    (
        "written with einsum",
        Edit(_FORWARD, "weights @ v", 'torch.einsum("bhqk,bhkd->bhqd", weights, v)'),
    ),
    (
        "heads unflattened",
        Edit(
            _SPLIT,
            "x.reshape(batch, length, self.n_heads, self.d_head).transpose(1, 2)",
            "x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)",
        ),
    ),
)


def attention() -> list[Trial]:
    """Multi-head attention with one slip each, and right classes in other styles."""
    right = _attention()
    trials: list[Trial] = [
        {"name": name, "source": rewritten(right, edit), "loses": list(loses)} for name, edit, loses in _SLIPS
    ]
    short = right
    for projection in ("self.k_proj(key)", "self.v_proj(value)"):
        short = rewritten(short, Edit(_FORWARD, projection, f"{projection}[:, : query.shape[1]]"))
    trials.append(
        {"name": "as many keys as queries", "source": short, "loses": ["cross"], "points": {"cross": 1}}
    )
    return trials + [_accepted(name, rewritten(right, edit)) for name, edit in _STYLES]


def _attention() -> str:
    """The reference's class as a student would hand it in."""
    text = inspect.getsource(reference_attention.MultiHeadAttention)
    return f"import math\n\nimport torch\nfrom torch import Tensor, nn\n\n\n{text}".replace(
        "class MultiHeadAttention", f"class {_CLASS}"
    )


def _accepted(name: str, source: str) -> Trial:
    return {"name": name, "source": source, "loses": []}
