"""Both rounds of asking: what the second one has to ask, and what they gave together."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from autograder.checks.base import Draw, Observations
from autograder.checks.kinds.repair.attentions import (
    cross_key,
    cross_value,
    exchanged,
    holds,
    residual,
    self_mask,
)
from autograder.checks.kinds.repair.embeddings import reads_longest, reads_many, table_grows
from autograder.checks.kinds.repair.experiment import Access, Experiment
from autograder.checks.kinds.repair.later import asked_later, without_layers
from autograder.checks.kinds.repair.plan import UNEQUAL, at_sizes, experiments
from autograder.checks.kinds.repair.runs import MissingError, Runs
from autograder.records import Scenario

_FORM = Draw(bytes(32))
"""For the form of the experiments, which no draw changes."""


class Observed:
    """What a submission gave.

    Attributes:
        runs: the outputs to judge.
        misread: why what a forward pass returned is no output of a decoder; the runs are then what its last
            module gave.
        of_object: the name held an object: the runs are those of its class.
        remarks: what staff are told of this.
    """

    def __init__(
        self,
        entry: str,
        probes: frozenset[str],
        observed: Sequence[Observations],
        again: Sequence[Observations] = (),
    ) -> None:
        """Put the rounds together.

        Args:
            entry: the name of the decoder class.
            probes: what the question's faults are told by.
            observed: of the first round, one entry per experiment; may be shorter.
            again: of the second round.
        """
        self._entry, self._probes, self._observed = entry, probes, observed
        made = _first(Access(entry), probes)
        first = Runs(entry, made, observed)
        self.runs, self.misread, self.of_object = first, first.misread, False
        self.remarks: tuple[str, ...] = ()
        access = self._other_access(first)
        if access is not None:
            self._read_anew(access, again)
            return
        names, layerless = self._called_for(first)
        if names or layerless:
            later = _named(_later(Access(entry)), names)
            bare = _named(_bare(Access(entry)), layerless)
            known = [*observed[: len(made)], *[()] * (len(made) - len(observed)), *again[: len(later)]]
            none = Runs(entry, bare, again[len(later) :], layers=False) if bare else None
            self.runs = Runs(entry, (*made, *later), known, without_layers=none)

    def second_round(self, draw: Draw) -> tuple[Scenario, ...]:
        """What has to be asked again, given the first round."""
        first = Runs(self._entry, _first(Access(self._entry), self._probes), self._observed)
        access = self._other_access(first)
        if access is not None:
            made = (
                *experiments(access, draw, self._probes),
                *asked_later(access, draw),
                *without_layers(access, draw),
            )
            return tuple(one.scenario for one in made)
        access = Access(self._entry)
        names, layerless = self._called_for(first)
        later = _named(asked_later(access, draw), names) if names else ()
        bare = _named(without_layers(access, draw), layerless) if layerless else ()
        return tuple(one.scenario for one in (*later, *bare))

    def _other_access(self, first: Runs) -> Access | None:
        """The name may hold an object, or what is returned may be no output."""
        if first.unmade:
            return Access(self._entry, of_object=True)
        return Access(self._entry, spied=True) if first.misread is not None else None

    def _read_anew(self, access: Access, again: Sequence[Observations]) -> None:
        made, bare = (*_first(access, self._probes), *_later(access)), _bare(access)
        none = Runs(self._entry, bare, again[len(made) :], layers=False)
        runs = Runs(self._entry, made, again[: len(made)], without_layers=none)
        if access.spied:
            self.runs = runs
            self.remarks = ("what is returned is no output: its last module's output was judged",)
        elif again and not runs.unmade:
            self.runs, self.misread, self.of_object = runs, runs.misread, True
            self.remarks = (f"{self._entry} is an object when it is asked: its class was judged",)

    def _called_for(self, first: Runs) -> tuple[set[str], set[str]]:
        """The names of experiments of the second round, and of those without layers."""
        names: set[str] = set()
        bare: set[str] = set()
        if not first.gave("attention", "usual") or holds(exchanged, first):
            bare |= {one.name for one in _bare(Access(self._entry))}
        elif not (holds(cross_value, first) and holds(cross_key, first)):
            names |= {"self alone", "cross alone", "masks"}
        elif not (holds(self_mask, first) or holds(residual, first)):
            names.add("masks")
        reads = first.gave("attention", "usual") and reads_many(first)
        if reads and not _grows(first):
            names |= {"very long", "long"}
            bare.add("attention")
        if reads and not reads_longest(first):
            names.add("no positions")
        if _uneven(first):
            bare |= {"attention", "unequal"}
        if _varies(first):
            bare.add("dropped")
        if first.of_dtypes:
            names.add("single")
        return names, bare


def _named(made: Sequence[Experiment], names: Collection[str]) -> tuple[Experiment, ...]:
    return tuple(one for one in made if one.name in names)


@functools.cache
def _first(access: Access, probes: frozenset[str]) -> tuple[Experiment, ...]:
    """The form of the first round."""
    return experiments(access, _FORM, probes)


@functools.cache
def _later(access: Access) -> tuple[Experiment, ...]:
    return asked_later(access, _FORM)


@functools.cache
def _bare(access: Access) -> tuple[Experiment, ...]:
    return without_layers(access, _FORM)


def _grows(first: Runs) -> bool:
    try:
        return table_grows(first)
    except MissingError:
        return False


def _uneven(first: Runs) -> bool:
    """Whether a memory longer than the target, and nothing else about sizes, gives no output."""
    sizes = [at_sizes(*each) for each in UNEQUAL]
    return first.gave("unequal", *sizes) and not first.gave("unequal", "source")


def _varies(first: Runs) -> bool:
    """Whether outputs vary in training without dropout, and no layer is seen to be the cause."""
    try:
        varies = first.changed("dropped", "train", "train, other seed")
        return varies and not first.changed("dropped", "usual", "moved")
    except MissingError:
        return False
