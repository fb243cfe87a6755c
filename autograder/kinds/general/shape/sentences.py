"""Sentences about shapes: their faults, without revealing a right size."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "shape.form": "{what} is a “{form}”; a shape is asked for, such as (2, 3).",
    "shape.entry": "{what}: an entry of the shape is a “{form}”; every entry is a whole number or a formula.",
    "shape.axis-count": "{what} has more than {limit} entries; no shape has.",
    "shape.placeholder": (
        "{what}: “{sign}” leaves a size open, as in view or reshape. Write the size it stands for."
    ),
    "shape.ellipsis": "{what}: “{sign}” leaves out axes. Write every size.",
    "shape.no-size": (
        "{what}: every size is a whole number from 0, or a formula; “{value}” has another number in it."
    ),
    "shape.early": (
        "{what}: {shape} is right only under a relation between the symbols that this part does not grant. "
        "Write the sizes as they are."
    ),
    "shape.permuted": "{what}: {shape} has the right sizes, but the axes are in another order.",
    "shape.swapped": "{what}: {shape} has the right sizes, but axes {axes} are swapped.",
    "shape.last-two-swapped": (
        "{what}: {shape} has the right sizes, but the last two axes are swapped. Is a transposition too many "
        "or missing?"
    ),
    "shape.heads-not-moved": (
        "{what}: {shape} is the shape after the heads were split off, before their axis was moved."
    ),
    "shape.missing": "{what}: {shape} lacks one axis.",
    "shape.batch-missing": "{what}: {shape} is the shape for one example; the batch has an axis of its own.",
    "shape.heads-missing": "{what}: {shape} is the shape for one head; all heads are computed together.",
    "shape.extra": "{what}: {shape} has one axis too many.",
    "shape.extra-one": (
        "{what}: {shape} has an axis of size 1 too many, as keepdim=True or unsqueeze leave one."
    ),
    "shape.not-split": "{what}: in {shape} axis {axes} should be split into two.",
    "shape.heads-not-split": (
        "{what}: in {shape} the heads are still side by side in one axis; here they have one of their own."
    ),
    "shape.product": (
        "{what}: {shape} is one size, the product of several. Write them one by one, with commas."
    ),
    "shape.not-joined": "{what}: in {shape} axes {axes} should be one.",
    "shape.heads-not-joined": (
        "{what}: in {shape} the heads still have an axis of their own; here their results are side by side."
    ),
    "shape.one-head": (
        "{what}: in {shape} the size of axis {axes} is that of a single head, but all heads count."
    ),
    "shape.all-heads": (
        "{what}: in {shape} the size of axis {axes} counts all heads, but a single one is meant."
    ),
    "shape.axis": "{what}: {shape} has the right number of axes; the size of axis {axes} is wrong.",
    "shape.axes": "{what}: {shape} has the right number of axes; the sizes of these are wrong: {axes}.",
    "shape.count": "{what}: {shape}: the number of axes, {count}, is not right.",
}
