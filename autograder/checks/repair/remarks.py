"""Defects of a decoder outside the eight: they cost nothing, and staff are told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from autograder.checks.repair.runs import MissingError, Runs, largest_change

INSENSITIVE = 1e-3
"""Against embeddings a million times as large as usual, a sum that is not normalised drowns the memory."""
SUM_TOLERANCE = 1e-6


def remarks(runs: Runs, repaired: Collection[str]) -> dict[str, tuple[str, ...]]:
    """What staff are told, by the fault each remark is nearest to.

    Args:
        runs: the outputs.
        repaired: the faults that are; a remark is only made where the fault itself does not explain it.
    """
    notes: dict[str, tuple[str, ...]] = {}
    for fault, remark in _REMARKS.items():
        if fault not in repaired:
            continue
        try:
            text = remark(runs, repaired)
        except MissingError:
            continue
        if text:
            notes[fault] = (text,)
    return notes


def _probabilities(runs: Runs, repaired: Collection[str]) -> str:  # noqa: ARG001 - one signature for all
    output = runs.output("plain", "plain")
    if (output >= 0).all() and np.allclose(output.sum(axis=2), 1, rtol=0, atol=SUM_TOLERANCE):
        return "the outputs are probabilities, not scores"
    if (output <= 0).all() and np.allclose(np.exp(output).sum(axis=2), 1, rtol=0, atol=SUM_TOLERANCE):
        return "the outputs are log-probabilities, not scores"
    return ""


def _rates(runs: Runs, repaired: Collection[str]) -> str:  # noqa: ARG001
    if runs.changed("dropout", "eval seed 1", "eval seed 2"):
        return "dropout acts in evaluation mode too"
    if runs.changed("plain", "train", "train, other seed"):
        return "outputs vary in training with dropout 0: a rate is not taken from the argument"
    return ""


def _unnormalised(runs: Runs, repaired: Collection[str]) -> str:
    if "cross_value" not in repaired:
        return ""
    if largest_change(runs.output("scaled", "scaled"), runs.output("scaled", "scaled, moved")) < INSENSITIVE:
        return "what enters the cross block is not normalised: norm before the sum, or pre-norm"
    return ""


def _other_key(runs: Runs, repaired: Collection[str]) -> str:
    if not {"self_mask", "residual", "cross_mask", "shape_order"} <= set(repaired):
        return ""
    try:
        runs.output("unequal", "unequal")
    except MissingError as missing:
        why = missing.finding.staff
        return f"a memory of another length than the target fails; is the memory the key? {why}"
    return ""


_REMARKS: Mapping[str, Callable[[Runs, Collection[str]], str]] = {
    "output_head": _probabilities,
    "embedding_dropout": _rates,
    "residual": _unnormalised,
    "cross_value": _other_key,
}
