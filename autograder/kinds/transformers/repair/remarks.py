"""Defects of a decoder outside the planted faults: they cost nothing, and staff are told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autograder.checks.judging.results import Finding
from autograder.kinds.transformers.repair.runs import MissingError, Runs
from autograder.records import Status

SUM_TOLERANCE = 1e-6

EXPLAINED_BY: Mapping[str, tuple[str, ...]] = {
    "self_mask": ("cross_mask", "cross_value"),
    "cross_mask": ("cross_value", "self_mask"),
    "residual": ("self_mask",),
    "norm": ("residual",),
    "cross_key": ("cross_value", "cross_mask"),
    "dropout_always": ("embedding_dropout",),
    "embedding_dropout": ("dropout_always", "output_head"),
    "dropout_rate": ("residual",),
    "position_missing": ("shape_order", "position_table"),
    "position_offset": ("position_table", "position_missing", "shape_order"),
    "shape_order": ("position_missing", "position_table"),
    "position_table": ("position_missing", "shape_order", "position_offset"),
    "cross_value": ("cross_key",),
}
"""By probe: the faults that may be all there is to such a defect; while one is left, nothing is said."""

_UNUSABLE = frozenset(
    {"repair.no-tensor", "repair.shape", "repair.not-finite", "repair.unsteady", "repair.constant"}
)


def remarks(
    runs: Runs, planted: Mapping[str, Finding | None], others: Mapping[str, Finding | None]
) -> dict[str, tuple[str, ...]]:
    """What staff are told, by the planted fault it is nearest to; the first, if it is near to none.

    Args:
        runs: the outputs.
        planted: the finding on each fault of the question.
        others: what every other probe found, by its name.
    """
    runs_at_all = _runs_at_all(runs)
    said = [
        (probe, f"{probe}: {finding.staff or finding.code}")
        for probe, finding in others.items()
        if finding is not None and _told(finding, runs_at_all=runs_at_all)
    ]
    notes: dict[str, tuple[str, ...]] = {}
    for probe, text in [*said, ("output_head", _probabilities(runs)), ("embedding_dropout", _rate(runs))]:
        near = [fault for fault in (probe, *EXPLAINED_BY.get(probe, ())) if fault in planted]
        if text and all(planted[fault] is None for fault in near):
            place = next(iter([*near, *planted]), "")
            notes[place] = (*notes.get(place, ()), text)
    return notes


def _told(finding: Finding, *, runs_at_all: bool) -> bool:
    """Whether a finding is about the defect itself, and not about outputs that no probe could use."""
    if finding.status is not Status.FAILED or finding.code in _UNUSABLE:
        return False
    return runs_at_all or finding.code.startswith("repair.")


def _runs_at_all(runs: Runs) -> bool:
    """Whether equal sizes give an output without layers and with one, so that a failure is a case apart."""
    try:
        runs.output("attention", "usual")
    except MissingError:
        return False
    return True


def _probabilities(runs: Runs) -> str:
    try:
        output = runs.output("attention", "usual")
    except MissingError:
        return ""
    with np.errstate(over="ignore"):
        if (output >= 0).all() and np.allclose(output.sum(axis=2), 1, rtol=0, atol=SUM_TOLERANCE):
            return "the outputs are probabilities, not scores"
        if (output <= 0).all() and np.allclose(np.exp(output).sum(axis=2), 1, rtol=0, atol=SUM_TOLERANCE):
            return "the outputs are log-probabilities, not scores"
    return ""


def _rate(runs: Runs) -> str:
    try:
        varies = runs.changed("dropped", "train", "train, other seed")
        varies = varies and not runs.changed("dropped", "usual", "moved")
    except MissingError:
        return ""
    return "outputs vary in training with dropout 0: a rate is not taken from the argument" if varies else ""
