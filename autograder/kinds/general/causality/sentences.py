"""Sentences about what an output depends on. No sentence says what would have been right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "causality.leak": (
        "{what}: the output at position {query} changes when only the input at position {key} is changed, "
        "which it must not see. Pairs like this one: {count}."
    ),
    "causality.blind": (
        "{what}: the output at position {query} stays the same when the input at position {key} is changed, "
        "which it should see. Pairs like this one: {count}."
    ),
    "causality.nothing": "{what}: the output does not depend on this input at all.",
    "causality.examples": (
        "{what}: the output of one example changes when only other examples of the batch are changed."
    ),
    "causality.axes": "{what} has the shape {shape}; there is no axis with one output for each position.",
}
