"""What a class writes where more than one thing is asked for: task 3 (e) and (h), task 5 (b)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from autograder.demo.formulas import Sample, assignment


def _widths(equation: str, formula: str, points: tuple[str, str], portrait: str = "") -> Sample:
    source = (
        assignment("width_assumption", equation) + "\n" + assignment("layer_parameters_simplified", formula)
    )
    return Sample(source, {"assumption": Decimal(points[0]), "formula": Decimal(points[1])}, portrait)


def _shapes(first: str, second: str, total: str, points: tuple[str, str, str], portrait: str = "") -> Sample:
    source = "\n".join(
        (
            assignment("first_matrix_shape", first),
            assignment("second_matrix_shape", second),
            assignment("wide_mlp_parameters", total),
        )
    )
    earned = {item: Decimal(mark) for item, mark in zip(("first", "second", "sum"), points, strict=True)}
    return Sample(source, earned, portrait)


def _arguments(names: tuple[str, ...], points: tuple[str, ...], portrait: str = "") -> Sample:
    listed = ", ".join(f'"{name}"' for name in names)
    return Sample(
        f"memory_arguments = [{listed}]", {"names": sum(map(Decimal, points), Decimal(0))}, portrait
    )


RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "task3-e": (
        _widths("d_model = n_heads*d_head", "12*d_model^2", ("1", "2")),
        _widths("d_head = d_model/n_heads", "12*d_model**2", ("1", "2")),
        _widths("n_heads * d_head = d_model", "12 d_model²", ("1", "2")),
        _widths(r"d_{head} = \frac{d_{model}}{n_{heads}}", r"12 d_{model}^2", ("1", "2")),
        _widths("d = h·d_k", "12·d²", ("1", "2")),
        _widths("n_heads = d_model/d_head", "12*d_model*d_model", ("1", "2")),
    ),
    "task3-h": (
        _shapes("(3*d_model, 4*d_model)", "(4*d_model, d_model)", "16*d_model^2", ("1", "1", "1")),
        _shapes("3*d_model, 4*d_model", "4*d_model, d_model", "12*d_model^2 + 4*d_model^2", ("1", "1", "1")),
        _shapes("(3d, 4d)", "(4d, d)", "16 d²", ("1", "1", "1")),
        _shapes("(3·d_model, 4·d_model)", "(4·d_model, d_model)", "16·d_model²", ("1", "1", "1")),
        _shapes(
            "(d_model*3, d_model*4)", "(d_model*4, d_model)", "16*d_model**2 + 5*d_model", ("1", "1", "1")
        ),
        _shapes(
            r"(3 d_{model}, 4 d_{model})",
            r"(4 d_{model}, d_{model})",
            r"3 d_{model} \cdot 4 d_{model} + 4 d_{model} \cdot d_{model}",
            ("1", "1", "1"),
        ),
    ),
    "task5-b": (
        _arguments(("gradient_accumulation_steps", "gradient_checkpointing"), ("0.5", "0.5")),
        _arguments(("per_device_train_batch_size", "fp16"), ("0.5", "0.5")),
        _arguments(("bf16", "gradient_checkpointing"), ("0.5", "0.5")),
        _arguments(("optim", "per_device_train_batch_size"), ("0.5", "0.5")),
        _arguments(("deepspeed", "fp16"), ("0.5", "0.5")),
        _arguments(("fsdp", "auto_find_batch_size"), ("0.5", "0.5")),
    ),
}
"""Right answers."""

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "task3-e": (
        _widths("d_head = d_model", "12*d_model^2", ("0", "2"), "equated the widths in (e)"),
        _widths("d_model = n_heads*d_head", "11*d_model^2", ("1", "1"), "lost a matrix in (e)"),
        _widths("d_model = n_heads + d_head", "12*d_model^2", ("0", "2"), "added heads and width in (e)"),
    ),
    "task3-h": (
        _shapes(
            "(3*d_model, 12*d_model)",
            "(12*d_model, d_model)",
            "48*d_model^2",
            ("0.5", "0.5", "1"),
            "widened the hidden layer in (h)",
        ),
        _shapes(
            "(3*d_model, 4*d_model)",
            "(4*d_model, 3*d_model)",
            "24*d_model^2",
            ("1", "0", "1"),
            "widened the output in (h)",
        ),
        _shapes(
            "(d_model, 4*d_model)",
            "(4*d_model, 3*d_model)",
            "16*d_model^2",
            ("0", "0", "1"),
            "right sum by a wrong way in (h)",
        ),
        _shapes(
            "(3*d_model, 4*d_model)",
            "(4*d_model, d_model)",
            "12*d_model^2",
            ("1", "1", "0.5"),
            "summed one matrix only in (h)",
        ),
    ),
    "task5-b": (
        _arguments(("learning_rate", "fp16"), ("0.5",), "named an argument that saves no memory"),
        _arguments(("gradient_checkpointing",), ("0.5",), "named one argument only"),
        _arguments(("fp16", "fp16"), ("0.5",), "named the same argument twice"),
        _arguments(("small_batches", "less_memory"), (), "invented argument names"),
    ),
}
"""Wrong answers, with what they earn."""
