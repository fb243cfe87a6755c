"""What people write instead of the functions of `reference.tracing.backward`, by function."""

from __future__ import annotations

from collections.abc import Mapping

from reference.faults.misconception import Misconception
from reference.faults.rewrite import Edit


def _misconception(
    site: str, code: str, *edits: tuple[str, str], loses: tuple[str, ...], name: str = ""
) -> Misconception:
    return Misconception(
        name or code, tuple(Edit(site, right, faulty) for right, faulty in edits), loses, code
    )


def _also_right(site: str, name: str, *edits: tuple[str, str]) -> Misconception:
    return Misconception(name, tuple(Edit(site, right, faulty) for right, faulty in edits))


_JACOBIAN = "p * (grad - (grad * p).sum(-1, keepdim=True))"
_ATTENTION = "p * (d_p - (d_p * p).sum(-1, keepdim=True))"

MISCONCEPTIONS: Mapping[str, tuple[Misconception, ...]] = {
    "softmax_backward": (
        _misconception(
            "softmax_backward", "diagonal-only", (_JACOBIAN, "p * (1 - p) * grad"), loses=("scores",)
        ),
        _misconception("softmax_backward", "softmax-missing", (_JACOBIAN, "grad"), loses=("scores",)),
        _misconception("softmax_backward", "sum-missing", (_JACOBIAN, "p * grad"), loses=("scores",)),
        _misconception(
            "softmax_backward",
            "whole-batch",
            ("(grad * p).sum(-1, keepdim=True)", "(grad * p).sum()"),
            loses=("scores",),
        ),
        _misconception(
            "softmax_backward",
            "other-axis",
            ("(grad * p).sum(-1, keepdim=True)", "(grad * p).sum(0, keepdim=True)"),
            loses=("scores",),
        ),
        Misconception(
            "the other sign", (Edit("softmax_backward", _JACOBIAN, f"-({_JACOBIAN})"),), ("scores",)
        ),
        _also_right(
            "softmax_backward",
            "the whole Jacobian",
            (_JACOBIAN, "torch.stack([(torch.diag(q) - torch.outer(q, q)) @ g for q, g in zip(p, grad)])"),
        ),
    ),
    "matmul_backward": (
        _misconception(
            "matmul_backward",
            "operands-swapped",
            ("grad @ b.T, a.T @ grad", "a.T @ grad, grad @ b.T"),
            loses=("a", "b"),
        ),
        Misconception(
            "the first one transposed", (Edit("matmul_backward", "grad @ b.T", "(grad @ b.T).T"),), ("a",)
        ),
        Misconception(
            "the second one transposed", (Edit("matmul_backward", "a.T @ grad", "grad.T @ a"),), ("b",)
        ),
        _also_right(
            "matmul_backward",
            "by names",
            ("grad @ b.T, a.T @ grad", '{"a": torch.einsum("nk,mk->nm", grad, b), "b": a.T @ grad}'),
        ),
    ),
    "cross_entropy_backward": (
        _misconception(
            "cross_entropy_backward", "not-averaged", ("p / len(targets)", "p"), loses=("logits",)
        ),
        _misconception(
            "cross_entropy_backward",
            "classes-averaged",
            ("p / len(targets)", "p / p.numel()"),
            loses=("logits",),
        ),
        _misconception(
            "cross_entropy_backward",
            "target-missing",
            ("p[torch.arange(len(targets)), targets] -= 1", "pass"),
            loses=("logits",),
        ),
        _misconception(
            "cross_entropy_backward",
            "softmax-missing",
            ("p = logits.softmax(-1)", "p = logits.clone()"),
            loses=("logits",),
        ),
        _also_right(
            "cross_entropy_backward",
            "with one-hot targets",
            ("p[torch.arange(len(targets)), targets] -= 1", "p = p - torch.eye(p.size(-1))[targets]"),
        ),
    ),
    "layer_norm_backward": (
        _misconception(
            "layer_norm_backward",
            "mean-missing",
            ("inner - mean_term - variance_term", "(inner - variance_term)"),
            loses=("x",),
        ),
        _misconception(
            "layer_norm_backward",
            "variance-missing",
            ("inner - mean_term - variance_term", "(inner - mean_term)"),
            loses=("x",),
        ),
        _misconception(
            "layer_norm_backward",
            "statistics-constant",
            ("inner - mean_term - variance_term", "inner"),
            loses=("x",),
        ),
        _misconception(
            "layer_norm_backward", "gain-missing", ("inner = grad * gain", "inner = grad"), loses=("x",)
        ),
        _misconception(
            "layer_norm_backward",
            "not-normalised",
            ("(grad * normal).sum(0)", "(grad * x).sum(0)"),
            loses=("parameters",),
        ),
        _misconception(
            "layer_norm_backward",
            "batch-averaged",
            ("(grad * normal).sum(0)", "(grad * normal).mean(0)"),
            ("grad.sum(0)", "grad.mean(0)"),
            loses=("parameters",),
        ),
        _also_right(
            "layer_norm_backward",
            "sums divided at the end",
            ("inner.mean(-1, keepdim=True)", "inner.sum(-1, keepdim=True) / x.size(-1)"),
        ),
    ),
    "attention_backward": (
        _misconception(
            "attention_backward", "diagonal-only", (_ATTENTION, "p * (1 - p) * d_p"), loses=("query-key",)
        ),
        _misconception("attention_backward", "softmax-missing", (_ATTENTION, "d_p"), loses=("query-key",)),
        _misconception("attention_backward", "sum-missing", (_ATTENTION, "p * d_p"), loses=("query-key",)),
        _misconception(
            "attention_backward",
            "scale-missing",
            ("d_scores @ key * scale", "d_scores @ key"),
            ("d_scores.T @ query * scale", "d_scores.T @ query"),
            loses=("query-key",),
        ),
        _misconception(
            "attention_backward",
            "operands-swapped",
            (
                "return d_scores @ key * scale, d_scores.T @ query * scale, p.T @ grad",
                "return d_scores.T @ query * scale, d_scores @ key * scale, p.T @ grad",
            ),
            loses=("query-key",),
        ),
        _misconception(
            "attention_backward",
            "scores-for-weights",
            ("p.T @ grad", "(query @ key.T * scale).T @ grad"),
            loses=("value",),
        ),
        _misconception("attention_backward", "not-transposed", ("p.T @ grad", "p @ grad"), loses=("value",)),
        _also_right(
            "attention_backward",
            "by sums over indices",
            ("p.T @ grad", 'torch.einsum("qk,qd->kd", p, grad)'),
        ),
    ),
}
