"""What experiments gave, read; and what staff reads about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, first_failure, review
from autograder.checks.values.quoting import quote_shape, type_name
from autograder.kinds.transformers.repair.experiment import Experiment
from autograder.records import Observation, Status, Tensor

CHANGE = 1e-9
"""Differences up to this count as rounding: the models compute in float64, with numbers around one."""
CHANGE_SINGLE = 2e-5
"""The same where outputs come in float32 although the inputs were float64."""

MOST_WEIGHTS = 2**40
"""A model of the experiments' sizes has some thousands."""

WRONG_RETURN = frozenset({"repair.no-tensor", "repair.shape"})
"""Of a value that was returned and is no output, whatever the numbers."""

_OF_DTYPES = re.compile(r"dtype|scalar type|Float|Double", re.ASCII)
"""What torch says where numbers of two types meet."""


_NEVER = review("this was not asked", "review.person")


class MissingError(Exception):
    """An output that a verdict needs is not there.

    Attributes:
        finding: why, as the student and staff are told.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding


class Runs:
    """The outputs of one submission by experiment and label.

    Attributes:
        without_layers: the outputs of models without layers, where they were asked.
        layers: whether these are the outputs of models with layers.
        unmade: no model could be made at all, although there is such a name.
        why_unmade: what it raised, for a person to read.
        crashed: whether a forward pass at equal sizes raised, of a model that could be made.
        misread: why what the usual forward pass returned is no output of a decoder.
        of_dtypes: something raised where numbers of two types met.
    """

    def __init__(
        self,
        entry: str,
        made: Sequence[Experiment],
        observed: Sequence[Observations],
        *,
        without_layers: Runs | None = None,
        layers: bool = True,
    ) -> None:
        """Sort observations.

        Args:
            entry: the name of the decoder class.
            made: the experiments in the order of the plan.
            observed: one entry per experiment; may be shorter.
            without_layers: see the class.
            layers: see the class.
        """
        self._entry = entry
        self._outputs: dict[tuple[str, str], np.ndarray | Finding] = {}
        self._counts: dict[tuple[str, str], int | Finding] = {}
        self._change = CHANGE
        self.without_layers = without_layers
        self.layers = layers
        self.unmade = False
        self.why_unmade: Finding | None = None
        self.crashed = False
        self.misread: Finding | None = None
        self.of_dtypes = False
        ended: Finding | None = None
        for index, experiment in enumerate(made):
            observations = tuple(observed[index]) if index < len(observed) else ()
            ended = self._sort(experiment, observations, ended)
        if self.misread is None and self.gave("attention", "usual", "other tokens", "moved"):
            blind = not self.changed("attention", "usual", "other tokens")
            if blind and self.changed("attention", "usual", "moved"):
                self.misread = failed("repair.constant", "the memory moves the output, and the tokens do not")

    def output(self, experiment: str, label: str) -> np.ndarray:
        """One output: finite float64 numbers of shape (batch, length, width).

        Raises:
            MissingError: the call failed, was not made, or gave something else.
        """
        found = self._outputs.get((experiment, label), _NEVER)
        if isinstance(found, Finding):
            raise MissingError(self._excused(found))
        return found

    def gave(self, experiment: str, *labels: str) -> bool:
        """Whether these outputs are there."""
        return all(isinstance(self._outputs.get((experiment, label)), np.ndarray) for label in labels)

    def not_finite(self, experiment: str, label: str) -> bool:
        """Whether an output has a number that is none."""
        found = self._outputs.get((experiment, label))
        return isinstance(found, Finding) and found.code == "repair.not-finite"

    def count(self, experiment: str, label: str) -> int:
        """One whole number, not negative.

        Raises:
            MissingError: see `output`.
        """
        found = self._counts.get((experiment, label), _NEVER)
        if isinstance(found, Finding):
            raise MissingError(self._excused(found))
        return found

    def changed(self, experiment: str, before: str, after: str, rows: slice = slice(None)) -> bool:
        """Whether two outputs of one experiment differ, at some of the target's positions.

        Raises:
            MissingError: see `output`.
        """
        return self.differ(self.output(experiment, before), self.output(experiment, after), rows)

    def drops_by_itself(self) -> bool:
        """Whether outputs vary in training without dropout, and no layer is seen to be the cause."""
        try:
            varies = self.changed("dropped", "train", "train, other seed")
            return varies and not self.changed("dropped", "usual", "moved")
        except MissingError:
            return False

    def moved(self, experiment: str, before: str, after: str, rows: slice = slice(None)) -> np.ndarray:
        """The same, text by text.

        Raises:
            MissingError: see `output`.
        """
        first, second = self.output(experiment, before), self.output(experiment, after)
        texts = min(len(first), len(second))
        moved: np.ndarray = largest_changes(first[:texts], second[:texts], rows) > self._change
        return moved

    def differ(self, first: np.ndarray, second: np.ndarray, rows: slice = slice(None)) -> bool:
        """Whether two outputs are not the same numbers at some of the target's positions."""
        return largest_change(first, second, rows) > self._change

    def different(self, rows: np.ndarray) -> int:
        """How many different rows a matrix has."""
        scaled = rows / max(1.0, float(np.abs(rows).max()))
        alike = np.abs(scaled[:, None] - scaled[None]).max(axis=2) <= self._change
        return len(rows) - int(np.triu(alike, 1).any(axis=0).sum())

    def steady(self, experiment: str, first: str, again: str) -> None:
        """Equal calls with equal seeds must give equal outputs; else nothing can be concluded from a change.

        Raises:
            MissingError: they do not, or see `output`.
        """
        if self.changed(experiment, first, again):
            raise MissingError(failed("repair.unsteady", f"{experiment}: two equal calls differ"))

    def lively(self, experiment: str, first: str, again: str, other: str) -> None:
        """Steady, and not blind to the tokens either: an output that ignores them shows nothing of a decoder.

        Raises:
            MissingError: it is not, or see `output`.
        """
        self.steady(experiment, first, again)
        if not self.changed(experiment, first, other):
            raise MissingError(failed("repair.constant"))

    def _excused(self, finding: Finding) -> Finding:
        """Code that fixes float32 is right where students run it; that it raises in float64 is our doing."""
        if is_of_dtypes(finding) and self.gave("single", "single"):
            return review(f"works in float32 and not in float64: {finding.staff}", "review.person")
        return finding

    def _sort(
        self, experiment: Experiment, observations: Observations, ended: Finding | None
    ) -> Finding | None:
        """File one experiment's observations; returns the finding of an ended box for what follows."""
        stop: Finding | None = None
        if experiment.name == "attention" and _raised_at_once(observations):
            self.unmade = True
            error = f"{experiment.words[0]}: {observations[0].error}: {observations[0].message}"
            self.why_unmade = review(f"no model can be made: {error}", "review.person")
        for index, label in enumerate(experiment.labels):
            words = experiment.words[index]
            here = observations[index : index + 1]
            if stop is None:
                stop = first_failure(here, 1, self._entry, words)
                passed = experiment.name == "attention" and bool(experiment.sizes[index])
                self.crashed |= passed and _raised(here)
                if not here and ended is not None:
                    stop = ended
                elif here and here[0].ending is not None:
                    ended = stop
            if label and experiment.sizes[index]:
                missing = stop or _defect(here[0], experiment.sizes[index], words)
                self._outputs[experiment.name, label] = missing or self._array(here[0])
                if missing is not None:
                    self._remember(missing, stop is None, experiment, index, here)
            elif label:
                self._counts[experiment.name, label] = stop or _number(here[0], words)
        return ended

    def _remember(
        self,
        missing: Finding,
        returned: bool,  # noqa: FBT001 - of a private method
        experiment: Experiment,
        index: int,
        here: Observations,
    ) -> None:
        """What an output that is missing says of all of them."""
        self.of_dtypes |= is_of_dtypes(missing)
        place = experiment.name, experiment.labels[index]
        turned = place[0] == "unequal" and returned and _is_turned(here[0].value, experiment.sizes[index])
        if returned and missing.code in WRONG_RETURN and (place == ("attention", "usual") or turned):
            self.misread = self.misread or missing

    def _array(self, observation: Observation) -> np.ndarray:
        array = observation.value.array
        if array.dtype.itemsize < 8:
            self._change = CHANGE_SINGLE
        return np.asarray(array, np.float64)


def largest_change(first: np.ndarray, second: np.ndarray, rows: slice = slice(None)) -> float:
    """The largest difference, relative to the size of the numbers where they exceed one."""
    if first.shape != second.shape:
        return np.inf
    scale = max(1.0, float(np.abs(first).max()), float(np.abs(second).max()))
    part = np.abs(first[:, rows] / scale - second[:, rows] / scale)
    return float(part.max()) if part.size else 0.0


def largest_changes(first: np.ndarray, second: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
    """(texts,): the same, text by text."""
    if first.shape != second.shape:
        return np.full(len(first), np.inf)
    both = np.maximum(np.abs(first).max(axis=(1, 2)), np.abs(second).max(axis=(1, 2)))
    scale = np.maximum(both, 1.0)[:, None, None]
    part = np.abs(first[:, rows] / scale - second[:, rows] / scale)
    largest: np.ndarray = part.max(axis=(1, 2), initial=0.0)
    return largest


def _defect(observation: Observation, sizes: tuple[int, ...], words: str) -> Finding | None:
    """Why a returned value is not the output of a decoder."""
    value = observation.value
    if not isinstance(value, Tensor) or not isinstance(value.array, np.ndarray):
        kind = type_name(value)
        return failed("repair.no-tensor", f"{words}: returned {kind}", what=words, kind=kind)
    shape = value.array.shape
    if value.array.dtype.kind != "f" or len(shape) != 3 or shape[:2] != sizes or value.array.size == 0:
        got = f"{value.dtype} {quote_shape(shape)}"
        batch, length = sizes
        return failed(
            "repair.shape",
            f"{words}: returned {got}",
            what=words,
            got=got,
            batch=str(batch),
            length=str(length),
        )
    if not np.isfinite(value.array).all():
        return failed("repair.not-finite", f"{words}: NaN or infinity in the output", what=words)
    return None


def _raised_at_once(observations: Observations) -> bool:
    """Whether the very first call raised something other than that there is no such name."""
    first = observations[0] if observations else None
    return first is not None and first.error not in {"", "NameError", "Skipped", "NotImplementedError"}


def _raised(observations: Observations) -> bool:
    """Whether a call raised something; not that there is nothing yet."""
    return any(each.error not in {"", "Skipped", "NotImplementedError"} for each in observations)


def _is_turned(value: object, sizes: tuple[int, ...]) -> bool:
    """Whether an output has the length first, and then the batch."""
    if not isinstance(value, Tensor) or not isinstance(value.array, np.ndarray):
        return False
    return sizes[0] != sizes[1] and value.array.ndim == 3 and value.array.shape[:2] == sizes[::-1]


def _number(observation: Observation, words: str) -> int | Finding:
    value = observation.value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_WEIGHTS:
        return failed("repair.no-weights", f"{words}: counted {type_name(value)}", what=words)
    return value


def is_of_dtypes(finding: Finding) -> bool:
    """Whether code raised where numbers of two types met."""
    return finding.code == "raised" and _OF_DTYPES.search(finding.staff) is not None


def unjudged(what: str) -> MissingError:
    """For a verdict that the observations do not decide: a person does."""
    return MissingError(review(what, "review.person"))


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
    if not runs.drops_by_itself():
        return ""
    return "outputs vary in training with dropout 0: a rate is not taken from the argument"
