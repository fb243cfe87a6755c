"""Right classes for multi-head attention, written independently of one another."""

from __future__ import annotations

from collections.abc import Mapping

_IMPORTS = """\
import math
import torch
import torch.nn.functional as F
from torch import nn

"""

_SOURCES = {
    "four linears, minus infinity": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for layer, x in ((self.wq, query), (self.wk, key), (self.wv, value))
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
    "one map for query, key and value": """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, q, k, v, mask=None):
        weights, biases = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        q, k, v = [F.linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases)]
        B, T, C = q.shape
        q = q.view(B, T, self.num_heads, -1).transpose(1, 2)
        k, v = (x.view(B, -1, self.num_heads, C // self.num_heads).transpose(1, 2) for x in (k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if mask is not None:
            att = torch.where(mask.bool(), att, torch.full_like(att, -1e20))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))
""",
    "one map, head by head": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.in_map = nn.Linear(d_model, 3 * d_model)
        self.out_map = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        w = self.in_map.weight.view(self.n_heads, 3, self.d_head, -1)
        b = self.in_map.bias.view(self.n_heads, 3, self.d_head)
        q, k, v = (
            torch.einsum("btd,hed->bhte", x, w[:, i]) + b[:, i, None]
            for i, x in enumerate((query, key, value))
        )
        att = torch.einsum("bhqe,bhke->bhqk", q / math.sqrt(self.d_head), k)
        if mask is not None:
            att = att.masked_fill(mask.logical_not(), -1e9)
        return self.out_map(torch.einsum("bhqk,bhke->bqhe", att.softmax(-1), v).flatten(2))
""",
    "matrices as parameters": """
class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        for name in "qkvo":
            setattr(self, "W_" + name, nn.Parameter(torch.randn(dim, dim)))
            setattr(self, "b_" + name, nn.Parameter(torch.zeros(dim)))

    def forward(self, query, key, value, mask=None):
        q = query @ self.W_q + self.b_q
        k = key @ self.W_k + self.b_k
        v = value @ self.W_v + self.b_v
        out = []
        for i, (qi, ki, vi) in enumerate(zip(*(x.chunk(self.heads, -1) for x in (q, k, v)))):
            s = torch.bmm(qi, ki.transpose(1, 2)) / math.sqrt(qi.shape[-1])
            if mask is not None:
                m = mask.expand(s.shape[0], self.heads, *s.shape[1:])[:, i]
                s = s.masked_fill(m == 0, -float("inf"))
            out.append(torch.bmm(torch.softmax(s, 2), vi))
        return torch.cat(out, -1) @ self.W_o + self.b_o
""",
    "a cube for each projection, no bias": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        d = d_model // n_heads
        self.q = nn.Parameter(torch.randn(n_heads, d_model, d))
        self.k = nn.Parameter(torch.randn(n_heads, d_model, d))
        self.v = nn.Parameter(torch.randn(n_heads, d_model, d))
        self.o = nn.Parameter(torch.randn(n_heads, d, d_model))
        self.d = d

    def forward(self, query, key, value, mask=None):
        q = torch.einsum("btm,hmd->bhtd", query, self.q)
        k = torch.einsum("btm,hmd->bhtd", key, self.k)
        v = torch.einsum("btm,hmd->bhtd", value, self.v)
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.d**-0.5
        if mask is not None:
            logits = logits.masked_fill(mask == 0, torch.finfo(logits.dtype).min)
        return torch.einsum("bhqk,bhkd,hdm->bqm", logits.softmax(-1), v, self.o)
""",
    "a module for each head": """
class Head(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.query = nn.Linear(d_model, d_head)
        self.key = nn.Linear(d_model, d_head)
        self.value = nn.Linear(d_model, d_head)

    def forward(self, q, k, v, mask):
        q, k, v = self.query(q), self.key(k), self.value(v)
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return s.softmax(-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.out = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        masks = [None] * len(self.heads)
        if mask is not None:
            mask = mask.expand(q.shape[0], len(self.heads), q.shape[1], k.shape[1])
            masks = list(mask.unbind(1))
        return self.out(torch.cat([head(q, k, v, m) for head, m in zip(self.heads, masks)], -1))
""",
    "torch's own product": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in range(3)])
        self.o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, attn_mask=None):
        q, k, v = (
            f(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2)
            for f, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        seen = None if attn_mask is None else attn_mask.bool()
        return self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).flatten(2))
""",
    "torch's own class": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.inner = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            sizes = query.shape[0], self.n_heads, query.shape[1], key.shape[1]
            mask = ~mask.bool().expand(sizes).flatten(0, 1)
        return self.inner(query, key, value, attn_mask=mask)
""",
    "additive mask, weights returned": """
class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_attention_heads, hidden_size // num_attention_heads
        self.query, self.key, self.value, self.dense = [nn.Linear(hidden_size, hidden_size) for _ in "qkvo"]

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, query, key, value, attention_mask=None):
        q, k, v = self.heads(self.query(query)), self.heads(self.key(key)), self.heads(self.value(value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = nn.Softmax(dim=-1)(scores)
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(*context.shape[:2], -1)), probs
""",
    "values, keys, query; True blocks": """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super(MultiHeadAttention, self).__init__()
        self.heads = heads
        self.values = nn.Linear(embed_size, embed_size, bias=False)
        self.keys = nn.Linear(embed_size, embed_size, bias=False)
        self.queries = nn.Linear(embed_size, embed_size, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        N, L = query.shape[0], query.shape[1]
        v = self.values(values).reshape(N, values.shape[1], self.heads, -1)
        k = self.keys(keys).reshape(N, keys.shape[1], self.heads, -1)
        q = self.queries(query).reshape(N, L, self.heads, -1)
        energy = torch.einsum("nqhd,nkhd->nhqk", [q, k])
        if mask is not None:
            energy = energy.masked_fill(mask, float("-1e20"))
        attention = torch.softmax(energy / q.shape[-1] ** (1 / 2), dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", [attention, v]).reshape(N, L, -1))
""",
    "key, query, value; ones block": """
class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, d_model):
        super().__init__()
        self.num_heads = num_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, k, q, v, mask=None):
        def heads(x):
            return x.reshape(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)

        q, k, v = heads(self.wq(q)), heads(self.wk(k)), heads(self.wv(v))
        logits = q.matmul(k.transpose(2, 3)) / torch.tensor(float(q.size(-1))).sqrt()
        if mask is not None:
            logits += mask * -1e9
        return self.dense(F.softmax(logits, dim=-1).matmul(v).transpose(1, 2).flatten(-2))
""",
    "clones, heads first, dropout on weights": """
import copy

def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])

def attend(q, k, v, mask=None, dropout=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p = scores.softmax(dim=-1)
    return (p if dropout is None else dropout(p)) @ v

class MultiHeadAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        q, k, v = [
            lin(x).view(n, -1, self.h, x.size(-1) // self.h).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        x = attend(q, k, v, mask, self.dropout)
        return self.linears[-1](x.transpose(1, 2).contiguous().view(n, -1, query.size(-1)))
""",
    "lazy linears, dropout on the context": """
class MultiHeadAttention(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_k = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_v = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_o = nn.LazyLinear(num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def fold(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values, mask=None):
        q, k, v = self.fold(self.W_q(queries)), self.fold(self.W_k(keys)), self.fold(self.W_v(values))
        s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        if mask is not None:
            s = s.reshape(-1, self.num_heads, *s.shape[1:]).masked_fill(mask == 0, -1e6).reshape(s.shape)
        out = self.dropout(torch.bmm(s.softmax(-1), v))
        out = out.reshape(-1, self.num_heads, out.shape[1], out.shape[2]).permute(0, 2, 1, 3)
        return self.W_o(out.reshape(out.shape[0], out.shape[1], -1))
""",
    "functions only, True keeps": """
def heads(x, n):
    return x.unflatten(-1, (n, x.shape[-1] // n)).movedim(-2, -3)

def weights(q, k, mask):
    raw = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    raw = raw if mask is None else raw.masked_fill(~mask, -torch.inf)
    e = torch.exp(raw - raw.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n = n_heads
        self.maps = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in ("q", "k", "v", "out")})

    def forward(self, query, key, value, mask=None):
        q, k, v = (heads(self.maps[n](x), self.n) for n, x in zip("qkv", (query, key, value)))
        return self.maps["out"]((weights(q, k, mask) @ v).movedim(-3, -2).flatten(-2))
""",
    "softmax in float32": """
class MultiHeadAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = [nn.Linear(dim, dim, bias=False) for _ in range(4)]

    def forward(self, xq, xk, xv, mask=None):
        B = xq.shape[0]
        q, k, v = [
            w(x).view(B, -1, self.n_heads, self.head_dim).transpose(1, 2)
            for w, x in ((self.wq, xq), (self.wk, xk), (self.wv, xv))
        ]
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + (1.0 - mask.to(torch.float32)) * -1e9
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        return self.wo(torch.matmul(scores, v).transpose(1, 2).reshape(B, -1, self.n_heads * self.head_dim))
""",
    "convolutions of width one": """
class MultiHeadAttention(nn.Module):
    def __init__(self, channels, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in ("conv_q", "conv_k", "conv_v", "conv_o"):
            setattr(self, name, nn.Conv1d(channels, channels, 1))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            conv(x.transpose(1, 2)).unflatten(1, (self.n_heads, -1)).transpose(2, 3)
            for conv, x in ((self.conv_q, query), (self.conv_k, key), (self.conv_v, value))
        )
        s = q @ k.transpose(2, 3) / math.sqrt(q.size(3))
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        y = (s.softmax(3) @ v).transpose(2, 3).flatten(1, 2)
        return self.conv_o(y).transpose(1, 2)
""",
    "heads spread over the width": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = [nn.Linear(d_model, d_model) for _ in range(4)]

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            f(x).unflatten(-1, (-1, self.n_heads))
            for f, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        s = torch.einsum("bqdh,bkdh->bhqk", q, k) / math.sqrt(q.shape[2])
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return self.o(torch.einsum("bhqk,bkdh->bqdh", s.softmax(-1), v).flatten(2))
""",
    "one matrix, transposed": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Parameter(torch.randn(d_model, 3 * d_model) * 0.02)
        self.c_attn_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.c_proj = nn.Parameter(torch.randn(d_model, d_model) * 0.02)
        self.register_buffer("scale", torch.tensor((d_model // n_heads) ** -0.5))

    def forward(self, query, key, value, mask=None):
        ws, bs = self.c_attn.chunk(3, dim=1), self.c_attn_bias.chunk(3)
        q, k, v = (
            (x @ w + b).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, w, b in zip((query, key, value), ws, bs)
        )
        s = q @ k.transpose(-1, -2) * self.scale
        if mask is not None:
            s = torch.where(mask != 0, s, -1e9)
        return (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ self.c_proj
""",
    "key and value in one map": """
class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim * 2, bias=False)
        self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(0.1))

    def forward(self, q, k, v, mask=None):
        wk, wv = self.to_kv.weight.chunk(2)
        q, k, v = self.to_q(q), F.linear(k, wk), F.linear(v, wv)
        q, k, v = (torch.stack(x.chunk(self.heads, -1), 1) for x in (q, k, v))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            sim.masked_fill_(mask == 0, -torch.finfo(sim.dtype).max)
        out = sim.softmax(-1) @ v
        return self.to_out(torch.cat(out.unbind(1), -1))
""",
    "all in one parameter": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.weight = nn.Parameter(torch.empty(4, d_model, d_model))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv, wo = self.weight
        projected = query @ wq, key @ wk, value @ wv
        q, k, v = (x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for x in projected)
        bias = 0.0 if mask is None else torch.zeros(mask.shape).masked_fill(mask == 0, float("-inf"))
        p = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]) + bias, -1)
        return (p @ v).transpose(1, 2).flatten(2) @ wo
""",
    "heads in the batch": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.Q = nn.Linear(d_model, d_model)
        self.K = nn.Linear(d_model, d_model)
        self.V = nn.Linear(d_model, d_model)
        self.fc = nn.Linear(d_model, d_model)

    def forward(self, Q, K, V, mask=None):
        rows = Q.size(0)
        Q, K, V = (
            torch.cat(f(x).chunk(self.n_heads, dim=2), dim=0)
            for f, x in ((self.Q, Q), (self.K, K), (self.V, V))
        )
        A = torch.baddbmm(torch.zeros(1), Q, K.transpose(1, 2), beta=0, alpha=1 / math.sqrt(Q.size(2)))
        if mask is not None:
            mask = mask.expand(rows, self.n_heads, *A.shape[1:]).transpose(0, 1).flatten(0, 1)
            A = A.masked_fill(mask == 0, -1e9)
        return self.fc(torch.cat(torch.bmm(A.softmax(2), V).split(rows), dim=2))
""",
    "an unused layer, a base class": """
class Base(nn.Module):
    def __init__(self, model_dim, n_head):
        super().__init__()
        if model_dim % n_head:
            raise ValueError("not divisible")
        self.n_head = n_head
        self.norm = nn.LayerNorm(model_dim)
        self.q, self.k, self.v, self.o = (nn.Linear(model_dim, model_dim) for _ in range(4))

class MultiHeadAttention(Base):
    def forward(self, query, key, value, mask=None):
        q, k, v = (
            f(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for f, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        root = q.shape[-1] ** 0.25
        s = (q / root) @ (k / root).transpose(-1, -2)
        if mask is not None:
            s.masked_fill_(mask == 0, -1e9)
        return self.o((s.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
}

STYLES: Mapping[str, str] = {name: _IMPORTS + source for name, source in _SOURCES.items()}
"""Name → source of a cell that defines ``MultiHeadAttention``."""
