"""What a class writes for the formulas of task 3: right in many notations, and the mistakes people make.

Each entry is a text, what it earns, and a portrait. Quantities that earn full points have no portrait.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct


class Sample(Struct, frozen=True):
    """One thing a student may write into one answer cell."""

    source: str
    """The cell's code."""
    points: Mapping[str, Decimal]
    """By automatic item: what it earns. An item that is missing here is not known exactly."""
    portrait: str = ""
    """What is wrong, in a few words; empty when the answer is right."""

    @property
    def earned(self) -> Decimal:
        """Points of the automatic items."""
        return sum(self.points.values(), Decimal(0))


def assignment(name: str, text: str) -> str:
    """The Python line that assigns a text to a name; raw where the text has backslashes."""
    return f'{name} = r"{text}"' if "\\" in text else f'{name} = "{text}"'


def _right(name: str, points: str, *texts: str) -> tuple[Sample, ...]:
    return tuple(Sample(assignment(name, text), {"formula": Decimal(points)}) for text in texts)


def _wrong(name: str, *rows: tuple[str, str, str]) -> tuple[Sample, ...]:
    return tuple(
        Sample(assignment(name, text), {"formula": Decimal(points)}, portrait)
        for text, points, portrait in rows
    )


RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "task3-a": (
        *_right(
            "query_matrix_parameters",
            "1",
            "d_model*d_head",
            "d_head * d_model",
            "d_model d_head",
            "d_model·d_head",
            "d_model × d_head",
            r"d_{model} \cdot d_{head}",
            r"$d_{\text{model}} d_k$",
            "d*d_k",
            "d_model*d_head + d_head",
        ),
        Sample('query_matrix_parameters = " * ".join(["d_model", "d_head"])', {"formula": Decimal(1)}),
    ),
    "task3-b": (
        *_right(
            "mlp_parameters",
            "1",
            "8*d_model^2",
            "8*d_model**2",
            "8 d_model²",
            "2*(d_model*4*d_model)",
            "4*d_model*d_model + d_model*4*d_model",
            r"8 d_{\text{model}}^2",
            r"2 \cdot 4 d^2",
            "2*d_model*d_ff",
            "8*d_model^2 + 5*d_model",
        ),
        Sample(
            'from sympy import symbols\n\nd_model = symbols("d_model")\n'
            "mlp_parameters = 2 * (d_model * 4 * d_model)",
            {"formula": Decimal(1)},
        ),
    ),
    "task3-c": _right(
        "output_matrix_parameters",
        "1",
        "n_heads*d_head*d_model",
        "(n_heads*d_head)*d_model",
        "d_model*(d_head*n_heads)",
        "h d_k d_model",
        r"n_{heads} \cdot d_{head} \cdot d_{model}",
        "n_heads·d_head·d_model",
        "n_heads*d_head*d_model + d_model",
    ),
    "task3-d": _right(
        "layer_parameters",
        "1.5",
        "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2",
        "4*n_heads*d_model*d_head + 8*d_model^2",
        "n_heads*3*(d_model*d_head) + (n_heads*d_head)*d_model + 2*4*d_model**2",
        "4 h d d_k + 8 d²",
        r"4 n_{heads} d_{model} d_{head} + 8 d_{model}^2",
        "4*d_model*(n_heads*d_head + 2*d_model)",
        r"3 \cdot n_{heads} d_{model} d_{head} + n_{heads} d_{head} d_{model} + 8 \cdot d_{model}^{2}",
        "4*n_heads*d_model*d_head + 8*d_model^2 + 3*n_heads*d_head + 6*d_model",
    ),
    "task3-f": _right(
        "model_parameters",
        "0.5",
        "12*n_layers*d_model^2",
        "n_layers*12*d_model**2",
        "12 L d²",
        "n_layers*(4*d_model^2 + 8*d_model^2)",
        r"12 n_{layers} d_{model}^2",
        "12·n_layers·d_model²",
        r"12\,L\,d_{\text{model}}^{2}",
        "n_layers*(12*d_model^2 + 9*d_model)",
    ),
    "task3-i": _right(
        "changed_model_parameters",
        "2",
        "20*n_layers*d_model^2",
        "n_layers*(4*d_model^2 + 16*d_model^2)",
        "20 L d²",
        "4*5*n_layers*d_model**2",
        r"20 n_{layers} d_{model}^2",
        "20·n_layers·d_model²",
        r"n_{layers} \cdot (4 d_{model}^2 + 12 d_{model}^2 + 4 d_{model}^2)",
    ),
}
"""Right answers to the questions with one formula."""

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "task3-a": _wrong(
        "query_matrix_parameters",
        ("d_model^2", "0.5", "merged all heads in (a)"),
        ("3*d_model*d_head", "0.5", "counted query, key and value in (a)"),
        ("n_heads*d_model*d_head", "0.5", "counted all heads in (a)"),
        ("d_head^2", "0", "took a square matrix in (a)"),
        ("n^2", "0", "counted the scores in (a)"),
        ("d_model + d_head", "0", "added the sides in (a)"),
        ("d_modell*d_head", "0", "misspelt a symbol in (a)"),
    ),
    "task3-b": _wrong(
        "mlp_parameters",
        ("4*d_model^2", "0.5", "one matrix only in (b)"),
        ("2*d_model^2", "0.5", "no expansion in (b)"),
        ("8*d_model^2 + 4*d_model", "0.8", "some biases only in (b)"),
        ("16*d_model^2", "0", "squared the hidden width in (b)"),
        ("8*d_model", "0", "lost the square in (b)"),
        ("8*(d_model^2", "0", "a bracket left open in (b)"),
    ),
    "task3-c": _wrong(
        "output_matrix_parameters",
        ("d_head*d_model", "0", "forgot the concatenation in (c)"),
        ("d_model^2", "0.8", "simplified early in (c)"),
        ("4*n_heads*d_head*d_model", "0", "mapped into the hidden layer in (c)"),
    ),
    "task3-d": _wrong(
        "layer_parameters",
        ("12*d_model^2", "1.2", "simplified early in (d)"),
        ("3*n_heads*d_model*d_head + 8*d_model^2", "0.75", "forgot W_O in (d)"),
        ("2*n_heads*d_model*d_head + 8*d_model^2", "0.75", "one of q, k, v only in (d)"),
        ("3*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2", "0.75", "one head only in (d)"),
        ("4*n_heads*d_model*d_head", "0.75", "forgot the MLP in (d)"),
    ),
    "task3-f": _wrong(
        "model_parameters",
        ("12*d_model^2", "0", "forgot the layers in (f)"),
        ("24*n_layers*d_model^2", "0.25", "counted encoder and decoder in (f)"),
        ("12*n_layers*d_model^2 + n_voc*d_model", "0.25", "added the embeddings in (f)"),
    ),
    "task3-i": _wrong(
        "changed_model_parameters",
        ("16*n_layers*d_model^2", "1", "forgot attention in (i)"),
        ("19*n_layers*d_model^2", "1", "forgot W_O in (i)"),
        ("22*n_layers*d_model^2", "1", "tripled W_O in (i)"),
        ("28*n_layers*d_model^2", "1", "kept the old MLP too in (i)"),
        ("36*n_layers*d_model^2", "0", "tripled everything in (i)"),
        ("20*d_model^2", "1", "forgot the layers in (i)"),
    ),
}
"""Wrong answers to the questions with one formula, with what they earn when (h) is right."""
