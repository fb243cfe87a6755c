"""Sentences about shapes: their faults, without revealing a right size."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "shape.form": "{what} is a “{form}”; a shape such as (2, 3) is expected.",
    "shape.entry": (
        "{what}: an entry of the shape is a “{form}”; each entry must be a whole number or a formula."
    ),
    "shape.axis-count": "{what} has more than {limit} entries, which is too many for a shape.",
    "shape.placeholder": "{what}: “{sign}” leaves a size open. Write the size itself.",
    "shape.ellipsis": "{what}: “{sign}” leaves out axes. Write every size.",
    "shape.no-size": (
        "{what}: something in “{value}” is not a size. Each size must be a whole number of at least 0, or a "
        "formula."
    ),
    "shape.early": (
        "{what}: {shape} is right only under a relation between the symbols that this part does not assume. "
        "Write the sizes as they are."
    ),
    "shape.permuted": "{what}: {shape} has the right sizes, but the axes are in another order.",
    "shape.swapped": "{what}: {shape} has the right sizes, but axes {axes} are swapped.",
    "shape.last-two-swapped": (
        "{what}: {shape} has the right sizes, but the last two axes are swapped. Is there one transposition "
        "too many, or one too few?"
    ),
    "shape.heads-not-moved": (
        "{what}: {shape} has the right sizes, but the axis of the heads is in the wrong place. Was it moved "
        "after the heads were split?"
    ),
    "shape.missing": "{what}: {shape} lacks one axis.",
    "shape.batch-missing": "{what}: {shape} is the shape for one example; the batch needs its own axis.",
    "shape.heads-missing": "{what}: {shape} is the shape for one head; all heads are computed together.",
    "shape.extra": "{what}: {shape} has one axis too many.",
    "shape.extra-one": "{what}: {shape} has one axis of size 1 too many, as keepdim=True or unsqueeze adds.",
    "shape.not-split": "{what}: in {shape}, axis {axes} should be split into two.",
    "shape.heads-not-split": (
        "{what}: in {shape}, the heads are still joined with another axis; here they need their own."
    ),
    "shape.product": (
        "{what}: {shape} is a single size, the product of several. Write the sizes one by one, separated by "
        "commas."
    ),
    "shape.not-joined": "{what}: in {shape}, axes {axes} should be joined into one.",
    "shape.heads-not-joined": (
        "{what}: in {shape}, two axes should be joined into one. Do the heads still have their own axis?"
    ),
    "shape.one-head": (
        "{what}: in {shape}, check the size of axis {axes}: does it cover a single head, or all heads?"
    ),
    "shape.all-heads": (
        "{what}: in {shape}, check the size of axis {axes}: should it cover all heads, or a single one?"
    ),
    "shape.axis": "{what}: {shape} has the right number of axes, but the size of axis {axes} is wrong.",
    "shape.axes": "{what}: {shape} has the right number of axes, but these have the wrong size: {axes}.",
    "shape.count": "{what}: {shape} has the wrong number of axes ({count}).",
}
