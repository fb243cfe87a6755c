"""Classes for the assignment ``attention`` in unusual idioms: right ones, and wrong ones with lost items.

They were written independently of the catalogue of misconceptions.
"""

from __future__ import annotations

from dataclasses import dataclass

_TOP = """\
import math

import torch
import torch.nn.functional as F
from torch import nn


"""
_CHECKED = """\
class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{d_model} is no multiple of {n_heads}")
        self.n_heads, self.d_model, self.d_head = n_heads, d_model, d_model // n_heads
"""
_STATED = """\
        for name in ('q_proj', 'k_proj', 'v_proj', 'out_proj'):
            setattr(self, name, nn.Linear(d_model, d_model))
"""
_CLASS = _TOP + _CHECKED + _STATED

NUMBERS = frozenset({"self", "cross", "padding", "causal"})
MASKED = frozenset({"padding", "causal", "blocked"})
UNMASKED = frozenset({"self", "cross"})
"""Items lost by a misconception that does not concern masks."""
PARAMETERS = frozenset({"parameters"})


@dataclass(frozen=True)
class Sample:
    """One answer, and the items it loses."""

    source: str
    loses: frozenset[str] = frozenset()


def _forward(body: str, *, signature: str = "query, key, value, mask=None") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return f"\n    def forward(self, {signature}):\n{lines}"


def _stated(body: str, more: str = "") -> str:
    return _CLASS + more + _forward(body)


_SPLIT = """
def heads(x):
    return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
q, k, v = heads(self.q_proj(query)), heads(self.k_proj(key)), heads(self.v_proj(value))
"""
_SCORES = "scores = q @ k.mT / math.sqrt(self.d_head)\n"
_MASK = "if mask is not None:\n    scores = scores.masked_fill(mask == 0, float('-inf'))\n"
_OUT = "return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))"
PLAIN = _stated(_SPLIT + _SCORES + _MASK + _OUT)


def _edited(*changes: str) -> str:
    """Return the plain class with each old text replaced by the new text that follows it."""
    source = PLAIN
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times")
        source = source.replace(old, new)
    return source


COMPILED = _edited("    def forward(", "    @torch.compile\n    def forward(")
"""A right class that needs a compiler; for tests in a box."""

RIGHT: dict[str, Sample] = {
    "plain": Sample(PLAIN),
    "einsum without a transpose": Sample(
        _stated("""
q, k, v = (
    layer(x).view(x.size(0), x.size(1), self.n_heads, self.d_head)
    for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
)
scores = torch.einsum('bqhd,bkhd->bhqk', q, k) / self.d_head**0.5
if mask is not None:
    scores = scores + torch.zeros_like(scores).masked_fill(mask == 0, -1e30)
return self.out_proj(torch.einsum('bhqk,bkhd->bqhd', scores.softmax(-1), v).reshape(query.shape))
""")
    ),
    "batch and heads in one axis, bmm": Sample(
        _stated("""
b, n, m = query.shape[0], query.shape[1], key.shape[1]
def fold(x):
    x = x.reshape(b, -1, self.n_heads, self.d_head).permute(0, 2, 1, 3)
    return x.reshape(b * self.n_heads, -1, self.d_head)
q, k, v = fold(self.q_proj(query)), fold(self.k_proj(key)), fold(self.v_proj(value))
scores = torch.bmm(q, k.transpose(1, 2)).div_(math.sqrt(self.d_head))
if mask is not None:
    blocked = torch.broadcast_to(mask, (b, self.n_heads, n, m)).reshape(-1, n, m) == 0
    scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
out = torch.bmm(F.softmax(scores, dim=2), v)
return self.out_proj(out.view(b, self.n_heads, n, self.d_head).transpose(1, 2).reshape(b, n, -1))
""")
    ),
    "one head after the other, slices of the weights": Sample(
        _stated("""
total = self.out_proj.bias
for h in range(self.n_heads):
    rows = slice(h * self.d_head, (h + 1) * self.d_head)
    q = F.linear(query, self.q_proj.weight[rows], self.q_proj.bias[rows])
    k = F.linear(key, self.k_proj.weight[rows], self.k_proj.bias[rows])
    v = F.linear(value, self.v_proj.weight[rows], self.v_proj.bias[rows])
    s = q @ k.transpose(1, 2) * self.d_head**-0.5
    if mask is not None:
        seen = mask.expand(query.shape[0], self.n_heads, query.shape[1], key.shape[1])[:, h]
        s = torch.where(seen.bool(), s, s.new_tensor(-torch.inf))
    total = total + s.softmax(-1) @ v @ self.out_proj.weight[:, rows].T
return total
""")
    ),
    "a softmax over the keys in pieces": Sample(
        _stated(
            _SPLIT
            + """
b, h, n, d = q.shape
largest = q.new_full((b, h, n, 1), -1e30)
total, weights = q.new_zeros(b, h, n, d), q.new_zeros(b, h, n, 1)
for start in range(0, k.shape[2], 2):
    part = slice(start, start + 2)
    s = q @ k[:, :, part].mT / math.sqrt(d)
    if mask is not None:
        seen = mask.expand(b, h, n, k.shape[2])[..., part]
        s = s.masked_fill(seen == 0, -1e29)
    most = torch.maximum(largest, s.amax(-1, keepdim=True))
    e = (s - most).exp()
    if mask is not None:
        e = e * (seen != 0)
    shrunk = (largest - most).exp()
    total, weights = total * shrunk + e @ v[:, :, part], weights * shrunk + e.sum(-1, keepdim=True)
    largest = most
return self.out_proj((total / weights).transpose(1, 2).flatten(2))
"""
        )
    ),
    "products and sums instead of matmul": Sample(
        _stated(
            _SPLIT
            + """
scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1).mul(1 / math.sqrt(self.d_head))
if mask is not None:
    scores = torch.where(mask != 0, scores, torch.full_like(scores, -1e20))
w = scores.exp() / scores.exp().sum(dim=3, keepdim=True)
return self.out_proj((w.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2).permute(0, 2, 1, 3).flatten(2, 3))
"""
        )
    ),
    "queries and keys each scaled by the fourth root": Sample(
        _edited("q @ k.mT / math.sqrt(self.d_head)", "(q * self.d_head**-0.25) @ (k * self.d_head**-0.25).mT")
    ),
    "a module for the product, under a forbidden name": Sample(
        PLAIN.replace(
            "class MyMulti",
            "class Product(nn.Module):\n    def forward(self, q, k, v, mask):\n"
            "        scores = q @ k.mT / math.sqrt(q.size(-1))\n"
            "        if mask is not None:\n            scores = scores.masked_fill(mask == 0, -1e9)\n"
            "        return scores.softmax(-1) @ v\n\n\nclass MyMulti",
            1,
        )
        .replace(
            "        self.n_heads,",
            "        self.scaled_dot_product_attention = Product()\n        self.n_heads,",
        )
        .replace(
            "scores = q @ k.mT / math.sqrt(self.d_head)\n        if mask is not None:\n"
            "            scores = scores.masked_fill(mask == 0, float('-inf'))\n"
            "        return self.out_proj((scores.softmax(-1) @ v)",
            "out = self.scaled_dot_product_attention(q, k, v, mask)\n        return self.out_proj(out",
        )
    ),
    "an exception of one's own that is a ValueError": Sample(
        _edited('raise ValueError(f"{d_model}', 'raise BadWidth(f"{d_model}').replace(
            "class MyMulti", "class BadWidth(ValueError):\n    pass\n\n\nclass MyMulti", 1
        )
    ),
    "prints in each pass": Sample(
        _edited(
            "return self.out_proj",
            "for i in range(1000): print(i, scores.shape)\n        return self.out_proj",
        )
    ),
    "a constant mask as a buffer": Sample(
        _edited(
            "        self.n_heads,",
            "        self.register_buffer('scale', torch.tensor((d_model // n_heads) ** -0.5))\n"
            "        self.n_heads,",
            "/ math.sqrt(self.d_head)",
            "* self.scale",
        )
    ),
    "arguments in another order, by name": Sample(
        _edited("(self, query, key, value, mask=None)", "(self, key, value, query, mask=None)")
    ),
    "short names, a mask called attn_mask": Sample(
        _stated("").replace("\n    def forward(self, query, key, value, mask=None):\n", "")
        + _forward(
            _SPLIT.replace("(query)", "(Q)").replace("(key)", "(K)").replace("(value)", "(V)")
            + _SCORES
            + _MASK.replace("mask is", "attn_mask is").replace("mask ==", "attn_mask ==")
            + _OUT,
            signature="Q, K, V, attn_mask=None",
        )
    ),
    "a softmax by logsumexp": Sample(
        _edited("scores.softmax(-1)", "(scores - scores.logsumexp(-1, keepdim=True)).exp()")
    ),
    "one text after the other": Sample(
        _stated("""
out = []
for i in range(query.shape[0]):
    q, k, v = (
        layer(x[i]).reshape(-1, self.n_heads, self.d_head).movedim(1, 0)
        for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
    )
    s = torch.baddbmm(q.new_zeros(()), q, k.mT, beta=0, alpha=self.d_head**-0.5)
    if mask is not None:
        seen = mask.expand(query.shape[0], self.n_heads, q.shape[1], k.shape[1])[i]
        s = s.masked_fill(~seen.bool(), float("-inf"))
    out.append((s.softmax(-1) @ v).movedim(0, 1).flatten(1))
return self.out_proj(torch.stack(out))
""")
    ),
    "keys first, values folded into the output": Sample(
        _stated("""
w = self.out_proj.weight.view(self.d_model, self.n_heads, self.d_head)
k = self.k_proj(key).unflatten(2, (self.n_heads, -1))
q = self.q_proj(query).unflatten(2, (self.n_heads, -1))
s = torch.einsum("bkhd,bqhd->bhkq", k, q).div(math.sqrt(self.d_head)).transpose(2, 3)
if mask is not None:
    s = s.masked_fill(mask.logical_not(), -3e38)
folded = torch.einsum("bkhd,ohd->bhko", self.v_proj(value).unflatten(2, (self.n_heads, -1)), w)
return (s.softmax(3) @ folded).sum(1) + self.out_proj.bias
""")
    ),
    "a gate that is always open": Sample(
        _edited(
            "return self.out_proj(",
            "assert scores.shape[1] == self.n_heads\n        return 1.0 * self.out_proj(",
        )
    ),
}
"""Right classes with the stated names."""

_QKV = """
b = query.shape[0]
def heads(x):
    return x.reshape(b, -1, self.n_heads, self.d_head).transpose(1, 2)
"""
_REST = _SCORES + _MASK
_OWN = _TOP + _CHECKED


def _own(fields: str, body: str) -> Sample:
    """Return a class with additional parameters: right numbers, other names."""
    lines = "".join(f"        {line}\n" for line in fields.strip().splitlines())
    return Sample(_OWN + lines + _forward(body), PARAMETERS)


def _fused(cut: str, order: str) -> Sample:
    """Return a class with one linear map for all three, split as in ``cut``, with the parts in this order."""
    return _own(
        "self.all = nn.Linear(d_model, 3 * d_model)\nself.last = nn.Linear(d_model, d_model)",
        f"""
def part(x, which):
    y = self.all(x)
    {cut}
    return y.transpose(1, 2)
q, k, v = part(query, {order.index("q")}), part(key, {order.index("k")}), part(value, {order.index("v")})
"""
        + _REST
        + "return self.last((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))",
    )


_THIRDS = "y = y.chunk(3, -1)[which].unflatten(-1, (self.n_heads, self.d_head))"
_BY_HEAD = "y = y.unflatten(-1, (self.n_heads, 3, self.d_head))[:, :, :, which]"
_LAST = "return self.d((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))"

OWN: dict[str, Sample] = {
    **{f"fused, thirds {order}": _fused(_THIRDS, order) for order in ("qkv", "vkq", "kqv")},
    **{f"fused, head by head {order}": _fused(_BY_HEAD, order) for order in ("qkv", "kvq")},
    "convolutions": _own(
        "self.a, self.b, self.c, self.d = (nn.Conv1d(d_model, d_model, 1) for _ in range(4))",
        _QKV
        + "q, k, v = (heads(f(x.mT).mT) for f, x in ((self.b, query), (self.a, key), (self.c, value)))\n"
        + _REST
        + "return self.d((scores.softmax(-1) @ v).transpose(1, 2).flatten(2).mT).mT",
    ),
    "lists of heads": _own(
        """
def some():
    return nn.ModuleList(nn.Linear(d_model, self.d_head) for _ in range(n_heads))
self.values, self.queries, self.keys = some(), some(), some()
self.d = nn.Linear(d_model, d_model)
""",
        """
def heads(layers, x):
    return torch.stack([layer(x) for layer in layers], 1)
q, k, v = heads(self.queries, query), heads(self.keys, key), heads(self.values, value)
"""
        + _REST
        + _LAST,
    ),
    "matrices without biases": _own(
        "self.o, self.k, self.v, self.q = (nn.Parameter(torch.randn(d_model, d_model) / d_model**0.5) "
        "for _ in range(4))",
        _QKV
        + "q, k, v = heads(query @ self.q), heads(key @ self.k), heads(value @ self.v)\n"
        + _REST
        + "return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ self.o",
    ),
    "tensors with an axis for the heads": _own(
        """
for name in ('wv', 'wq', 'wk'):
    setattr(self, name, nn.Parameter(torch.randn(n_heads, d_model, self.d_head) * d_model**-0.5))
self.wo = nn.Parameter(torch.randn(n_heads, self.d_head, d_model) * d_model**-0.5)
""",
        """
q = torch.einsum('bnd,hde->bhne', query, self.wq)
k = torch.einsum('bnd,hde->bhne', key, self.wk)
v = torch.einsum('bnd,hde->bhne', value, self.wv)
"""
        + _REST
        + "return torch.einsum('bhne,hed->bnd', scores.softmax(-1) @ v, self.wo)",
    ),
    "keys and values in one map": _own(
        "self.d = nn.Linear(d_model, d_model)\nself.kv = nn.Linear(d_model, 2 * d_model)\n"
        "self.q = nn.Linear(d_model, d_model)",
        _QKV
        + """
w, c = self.kv.weight.chunk(2), self.kv.bias.chunk(2)
q, k, v = heads(self.q(query)), heads(F.linear(key, w[0], c[0])), heads(F.linear(value, w[1], c[1]))
"""
        + _REST
        + _LAST,
    ),
    "a dictionary of modules": _own(
        "self.maps = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in ('out', 'v', 'k', 'q')})",
        _QKV
        + "q, k, v = (heads(self.maps[n](x)) for n, x in (('q', query), ('k', key), ('v', value)))\n"
        + _REST
        + "return self.maps['out']((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))",
    ),
    "bilinear weights by hand": _own(
        "self.w = nn.Parameter(torch.randn(4, d_model, d_model) / d_model**0.5)\n"
        "self.c = nn.Parameter(torch.zeros(4, d_model))",
        _QKV
        + """
k, q, v = (heads(x @ self.w[i].T + self.c[i]) for i, x in enumerate((key, query, value)))
"""
        + _REST
        + "return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ self.w[3].T + self.c[3]",
    ),
}
"""Right numbers from parameters with other names, which lose half of the item about names."""

_ALL = NUMBERS | {"parameters", "construct", "blocked"}


_SELF_ONLY = "heads(self.q_proj(query)), heads(self.k_proj(query)), heads(self.v_proj(query))"
_INPUTS = "heads(self.q_proj(query)), heads(self.k_proj(key)), heads(self.v_proj(value))"
_MERGE = "(scores.softmax(-1) @ v).transpose(1, 2).flatten(2)"
_UNFLATTEN = "x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)"
_LINE = "scores = scores.masked_fill(mask == 0, float('-inf'))"


def _merged(new: str) -> str:
    return _edited(_MERGE, new)


WRONG: dict[str, Sample] = {
    "batch and heads exchanged in the merge": Sample(
        _merged("(scores.softmax(-1) @ v).permute(1, 2, 0, 3).reshape(query.shape)"),
        UNMASKED,
    ),
    "heads stacked first, unstacked as if the batch came first": Sample(
        _stated(
            """
batch, length, _ = query.shape
fold = lambda x: torch.vstack(x.chunk(self.n_heads, -1))
q, k, v = fold(self.q_proj(query)), fold(self.k_proj(key)), fold(self.v_proj(value))
scores = q @ k.mT * self.d_head ** -0.5
if mask is not None:
    full = torch.broadcast_to(mask, (batch, self.n_heads, length, key.size(1)))
    scores = scores.masked_fill(full.flatten(0, 1) == 0, -torch.inf)
folded = (scores.softmax(-1) @ v).unflatten(0, (batch, self.n_heads))
return self.out_proj(folded.transpose(1, 2).flatten(2))
"""
        ),
        NUMBERS | {"blocked"},
    ),
    "merged by a view": Sample(_merged("(scores.softmax(-1) @ v).contiguous().view(query.shape)"), UNMASKED),
    "split by a view": Sample(
        _edited(_UNFLATTEN, "x.view(x.shape[0], self.n_heads, -1, self.d_head)"),
        NUMBERS | {"blocked"},
    ),
    "split and merged by views": Sample(
        _edited(
            _UNFLATTEN,
            "x.view(x.shape[0], self.n_heads, -1, self.d_head)",
            _MERGE,
            "(scores.softmax(-1) @ v).contiguous().view(query.shape)",
        ),
        NUMBERS | {"blocked"},
    ),
    "interleaved heads": Sample(
        _edited(
            _UNFLATTEN,
            "x.unflatten(-1, (self.d_head, self.n_heads)).permute(0, 3, 1, 2)",
            _MERGE,
            "(scores.softmax(-1) @ v).permute(0, 2, 3, 1).flatten(2)",
        ),
        UNMASKED,
    ),
    "interleaved only in the merge": Sample(
        _merged("(scores.softmax(-1) @ v).permute(0, 2, 3, 1).flatten(2)"),
        UNMASKED,
    ),
    "keys reshaped": Sample(
        _edited("k.mT", "k.reshape(k.size(0), k.size(1), self.d_head, -1)"),
        NUMBERS | {"blocked"},
    ),
    "mean over the heads": Sample(
        _merged("(scores.softmax(-1) @ v).mean(1).repeat(1, 1, self.n_heads)"),
        UNMASKED,
    ),
    "weights averaged over the heads": Sample(
        _edited("scores.softmax(-1)", "scores.softmax(-1).mean(1, keepdim=True)"),
        UNMASKED | {"causal"},
    ),
    "self-attention only": Sample(_edited(_INPUTS, _SELF_ONLY), frozenset({"cross", "blocked"})),
    "values made of keys": Sample(_edited("self.v_proj(value)", "self.v_proj(key)"), frozenset({"cross"})),
    "keys made of values": Sample(
        _edited("self.k_proj(key)", "self.k_proj(value)"),
        frozenset({"cross"}),
    ),
    "not scaled": Sample(_edited(" / math.sqrt(self.d_head)", ""), UNMASKED),
    "scaled by the width": Sample(_edited("math.sqrt(self.d_head)", "math.sqrt(self.d_model)"), UNMASKED),
    "softmax over the queries": Sample(
        _edited("softmax(-1)", "softmax(-2)"),
        NUMBERS | {"blocked"},
    ),
    "not scaled, and blocked where it is 1": Sample(
        _edited(" / math.sqrt(self.d_head)", "", "mask == 0", "mask == 1"),
        NUMBERS | {"blocked"},
    ),
    "scaled by the width, and the first mask for all": Sample(
        _edited("math.sqrt(self.d_head)", "math.sqrt(self.d_model)", "mask == 0", "mask[:1] == 0"),
        UNMASKED | {"padding", "causal", "blocked"},
    ),
    "one sequence's keys for all": Sample(_edited("k.mT", "k[:1].mT"), NUMBERS | {"blocked"}),
    "softmax over the heads": Sample(_edited("softmax(-1)", "softmax(1)"), NUMBERS | {"blocked"}),
    "the mask multiplied": Sample(_edited(_LINE, "scores = scores * mask"), MASKED),
    "the mask added": Sample(_edited(_LINE, "scores = scores + mask"), MASKED),
    "blocked where it is 1": Sample(_edited("mask == 0", "mask == 1"), MASKED),
    "the first mask for all": Sample(_edited("mask == 0", "mask[:1] == 0"), MASKED),
    "always causal": Sample(
        _edited(
            "scores = q @ k.mT / math.sqrt(self.d_head)\n",
            "scores = q @ k.mT / math.sqrt(self.d_head)\n"
            "        later = torch.ones(scores.shape[-2:]).triu(1).bool()\n"
            "        scores = scores.masked_fill(later, -1e9)\n",
        ),
        NUMBERS,
    ),
    "an assertion instead of the exception": Sample(
        _edited(
            "        if d_model % n_heads:\n"
            '            raise ValueError(f"{d_model} is no multiple of {n_heads}")\n',
            "        assert d_model % n_heads == 0\n",
        ),
        frozenset({"construct"}),
    ),
    "further parameters": Sample(
        _edited("        self.n_heads,", "        self.norm = nn.LayerNorm(d_model)\n        self.n_heads,"),
        PARAMETERS,
    ),
    "a frozen scale": Sample(
        _edited(
            "        self.n_heads,",
            "        factor = torch.tensor((d_model // n_heads) ** -0.5)\n"
            "        self.scale = nn.Parameter(factor, requires_grad=False)\n"
            "        self.n_heads,",
            "/ math.sqrt(self.d_head)",
            "* self.scale",
        ),
        PARAMETERS,
    ),
    "one map under two names": Sample(
        _edited("        self.n_heads,", "        self.n_heads,").replace(
            "\n    def forward", "        self.k_proj = self.q_proj\n\n    def forward"
        ),
        UNMASKED | PARAMETERS,
    ),
    "maps that the heads share": Sample(
        _TOP
        + _CHECKED
        + "        for name in ('q_proj', 'k_proj', 'v_proj'):\n"
        + "            setattr(self, name, nn.Linear(self.d_head, self.d_head))\n"
        + "        self.out_proj = nn.Linear(d_model, d_model)\n"
        + _forward(
            "split = lambda x: x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)\n"
            "q, k, v = self.q_proj(split(query)), self.k_proj(split(key)), self.v_proj(split(value))\n"
            + _SCORES
            + _MASK
            + _OUT
        ),
        NUMBERS | PARAMETERS,
    ),
    "output and weights": Sample(
        _edited(
            "return self.out_proj(" + _MERGE + ")", "return self.out_proj(" + _MERGE + "), scores.softmax(-1)"
        ),
        NUMBERS,
    ),
    "what was computed before": Sample(
        _edited(
            "scores = q @ k.mT / math.sqrt(self.d_head)\n",
            "scores = q @ k.mT / math.sqrt(self.d_head)\n"
            "        self.calls = getattr(self, 'calls', 0) + 1\n"
            "        scores = scores * (1 + self.calls)\n",
        ),
        NUMBERS | {"blocked"},
    ),
    "dropout in evaluation": Sample(
        _edited("scores.softmax(-1)", "F.dropout(scores.softmax(-1), 0.3)"),
        NUMBERS,
    ),
    "no output projection": Sample(
        _edited("return self.out_proj(" + _MERGE + ")", "return " + _MERGE),
        UNMASKED,
    ),
    "only values learn": Sample(
        _edited("heads(self.q_proj(query)), heads(self.k_proj(key))", "heads(query), heads(key)"),
        UNMASKED | PARAMETERS,
    ),
    "a forbidden function": Sample(
        _edited("(scores.softmax(-1) @ v)", "F.scaled_dot_product_attention(q, k, v, mask)"),
        _ALL,
    ),
}
"""Wrong classes."""
