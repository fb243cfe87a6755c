"""Verdicts about faults, from probes of what was observed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from autograder.checks.base import Draw, Observations
from autograder.checks.judging.results import Finding, failed, review
from autograder.kinds.transformers.repair.attention_probes import (
    EARLIER,
    LATER,
    cross_key,
    cross_mask,
    cross_value,
    exchanged,
    holds,
    leaks_deeper,
    norm,
    residual,
    self_mask,
)
from autograder.kinds.transformers.repair.experiment import Access, Experiment
from autograder.kinds.transformers.repair.plan import (
    MEMORY_BLOCKED,
    MOVED,
    TARGET_BLOCKED,
    UNEQUAL,
    asked_later,
    at_sizes,
    experiments,
    without_layers,
)
from autograder.kinds.transformers.repair.probes import (
    dropout_always,
    dropout_rate,
    embedding_dropout,
    hidden_width,
    output_head,
    position_missing,
    position_offset,
    position_table,
    reads_longest,
    reads_many,
    shape_order,
    shared_block,
    stack,
    table_grows,
    token_table,
)
from autograder.kinds.transformers.repair.runs import MissingError, Runs, remarks
from autograder.records import Call, Scenario

INVERTED = ({"memory"}, {"target"}, {"memory", "target"})
"""Which masks a decoder may take for what is blocked."""
BETWEEN = slice(MOVED + 1, -1)
"""Later than the exchanged position, and not the last: inverted, its mask blocks everything."""
_FORM = Draw(bytes(32))
"""For the form of the experiments, which no draw changes."""


class Observed:
    """What a submission gave.

    Attributes:
        runs: the outputs to judge.
        misread: why what a forward pass returned is no output of a decoder; the runs are then what its last
            module gave.
        inverted: the masks that the decoder takes for what is blocked: the runs are those with them inverted.
        guessed: whether it is a guess that the runs are the state of a decoder.
        unmade: why no model could be made, where the name holds a class.
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
        self.inverted: frozenset[str] = frozenset()
        self.guessed = False
        self.unmade: Finding | None = None
        accesses = self._other_accesses(first)
        if accesses:
            self._read_anew(accesses, again)
            if accesses[0].inverted and not self.inverted:
                again = again[sum(len(self._whole(access)) for access in accesses) :]
            else:
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
        made: list[Experiment] = []
        for access in self._other_accesses(first):
            made += experiments(access, draw, self._probes)
            made += (*asked_later(access, draw), *without_layers(access, draw))
        scenarios = [one.scenario for one in made]
        if first.unmade:
            scenarios.append(Scenario(f"{self._entry}: a class", (Call(self._entry, "mro"),)))
        if made and not _inverted(first):
            return tuple(scenarios)
        access = Access(self._entry)
        names, layerless = self._called_for(first)
        later = _named(asked_later(access, draw), names) if names else ()
        bare = _named(without_layers(access, draw), layerless) if layerless else ()
        return (*scenarios, *(one.scenario for one in (*later, *bare)))

    def _other_accesses(self, first: Runs) -> tuple[Access, ...]:
        """The name may hold an object, what is returned may be no output, and masks may be read inverted."""
        if first.unmade:
            return (Access(self._entry, of_object=True),)
        if first.misread is not None or _idle(first):
            return tuple(Access(self._entry, spied=back) for back in (1, 2))
        if _inverted(first):
            return tuple(Access(self._entry, inverted=frozenset(masks)) for masks in INVERTED)
        return ()

    def _whole(self, access: Access) -> tuple[Experiment, ...]:
        return (*_first(access, self._probes), *_later(access), *_bare(access))

    def _read_anew(self, accesses: Sequence[Access], again: Sequence[Observations]) -> None:
        """Judge the reading in which most probes of the layers find nothing, the first of equal ones."""
        read = [(access, self._runs(access, again[at:])) for access, at in self._places(accesses)]
        access, runs = max(read, key=lambda each: _found_whole(each[1]))
        if access.spied:
            idle = _idle(self.runs)
            self.guessed = idle or access.spied > 1
            self.misread = self.misread or failed(
                "repair.output_head.idle", "no layer has a part in the output"
            )
            self.runs = runs
            self.remarks = ("what is returned is no output: its last module's output was judged",)
        elif access.inverted:
            if _found_whole(runs) > _found_whole(self.runs):
                self.runs, self.inverted = runs, access.inverted
                self.remarks = (f"judged with the masks inverted: {', '.join(sorted(access.inverted))}",)
        elif again and not runs.unmade:
            self.runs, self.misread, self.of_object = runs, runs.misread, True
            self.remarks = (f"{self._entry} is an object when it is asked: its class was judged",)
        elif again and all(one.ok for one in again[-1][:1]) and again[-1]:
            self.unmade = self.runs.why_unmade

    def _places(self, accesses: Sequence[Access]) -> list[tuple[Access, int]]:
        """Where each reading begins in the second round."""
        lengths = [len(self._whole(access)) for access in accesses]
        return [(access, sum(lengths[:index])) for index, access in enumerate(accesses)]

    def _runs(self, access: Access, again: Sequence[Observations]) -> Runs:
        made, bare = (*_first(access, self._probes), *_later(access)), _bare(access)
        none = Runs(self._entry, bare, again[len(made) : len(made) + len(bare)], layers=False)
        return Runs(self._entry, made, again[: len(made)], without_layers=none)

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
        if leaks_deeper(first):
            names |= {"deeper self", "deeper cross"}
        reads = first.gave("attention", "usual") and reads_many(first)
        if reads and not _grows(first):
            names |= {"very long", "long"}
            bare.add("attention")
        if reads and not reads_longest(first):
            names.add("no positions")
        if _uneven(first):
            bare |= {"attention", "unequal"}
        if first.drops_by_itself():
            bare.add("dropped")
        if first.of_dtypes:
            names.add("single")
        return names, bare


def _found_whole(runs: Runs) -> int:
    return sum(holds(probe, runs) for probe in (self_mask, residual, cross_mask, cross_value))


def _idle(first: Runs) -> bool:
    """Whether there are layers, and they have no part in the output."""
    labels = "usual", "moved", "token", "other tokens"
    if not first.gave("attention", *labels) or not first.changed("attention", "usual", "other tokens"):
        return False
    try:
        added = first.count("stack", "weights") - first.count("weights", "weights")
        used = first.count("stack", "used") - first.count("weights", "used")
    except MissingError:
        return False
    past = (
        first.changed("attention", "usual", "moved")
        or first.moved("attention", "usual", "token", LATER).any()
    )
    return added > 0 == used and not past


def _inverted(first: Runs) -> bool:
    """Whether some mask may hide what it should show: nothing is left to see, or just what is blocked."""
    if first.unmade or first.misread is not None or first.of_dtypes:
        return False
    if any(first.not_finite("attention", label) for label in ("usual", "one", "open")):
        return True
    if not first.gave("attention", "usual", "moved", "token"):
        return False
    sees = first.moved("attention", "usual", "moved")
    if sees[MEMORY_BLOCKED].all() and not sees[~MEMORY_BLOCKED].all():
        return True
    back = first.moved("attention", "usual", "token", EARLIER)
    leaks = first.moved("attention", "usual", "token", BETWEEN)
    return bool(back.all() and not leaks[~TARGET_BLOCKED].any())


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


Probe = Callable[[Runs], None]
"""Returns when the fault is repaired, and raises `MissingError` with the finding if not."""


class Verdict(Struct, frozen=True):
    """The verdict on one fault."""

    finding: Finding | None
    """None when the fault is repaired."""
    notes: tuple[str, ...] = ()
    """Remarks for staff on defects outside the planted ones."""
    of_object: bool = False
    """The name held an object, and its class was judged."""


PROBES: Mapping[str, Probe] = {
    "self_mask": self_mask,
    "self_unmasked": self_mask,
    "residual": residual,
    "norm_missing": norm,
    "cross_mask": cross_mask,
    "memory_axis": cross_mask,
    "hidden_width": hidden_width,
    "dropout_rate": dropout_rate,
    "token_table": token_table,
    "token_width": token_table,
    "position_table": position_table,
    "position_width": position_table,
    "shared_block": shared_block,
    "shape_order": shape_order,
    "position_offset": position_offset,
    "position_missing": position_missing,
    "embedding_dropout": embedding_dropout,
    "dropout_always": dropout_always,
    "first_block": stack,
    "last_block": stack,
    "cross_key": cross_key,
    "cross_value": cross_value,
    "output_head": output_head,
}
"""By fault."""

EXCLUSIVE: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (
        frozenset({"position_missing"}),
        frozenset({"position_table", "position_width", "position_offset", "shape_order"}),
    ),
    (frozenset({"embedding_dropout"}), frozenset({"dropout_always"})),
    (frozenset({"cross_key"}), frozenset({"cross_value"})),
)
"""Faults that cannot be told apart in one question, beside those of one probe."""


def exclusive(one: str, other: str) -> bool:
    """Whether two faults must not be items of one question."""
    pair = (({one}, {other}), ({other}, {one}))
    return PROBES[one] is PROBES[other] or any(
        first <= group and second <= opposed for first, second in pair for group, opposed in EXCLUSIVE
    )


WITHOUT_LAYERS: frozenset[Probe] = frozenset(
    {
        position_table,
        position_offset,
        position_missing,
        token_table,
        shape_order,
        embedding_dropout,
        dropout_always,
        output_head,
    }
)
"""The probes that look at a model without layers where none with layers works."""


def probes(planted: Collection[str]) -> frozenset[str]:
    """The names of the probes that tell these faults."""
    return frozenset(PROBES[fault].__name__ for fault in planted)


def verdicts(observed: Observed, planted: Collection[str]) -> dict[str, Verdict]:
    """The verdict on every planted fault, with remarks on what else is not right.

    Args:
        observed: both rounds.
        planted: the faults of the question.
    """
    runs = observed.runs
    findings = {probe: _finding(probe, observed) for probe in PROBES.values()}
    found = {fault: findings[PROBES[fault]] for fault in planted}
    if _differs_in_training(runs) and not any(
        finding and _of_layers(fault) for fault, finding in found.items()
    ):
        doubt = review("in training it computes something else, with dropout 0 too", "review.person")
        found = {fault: finding or doubt for fault, finding in found.items()}
    others = {probe.__name__: findings[probe] for probe in findings if probe not in map(PROBES.get, planted)}
    notes = remarks(runs, found, others)
    place = "output_head" if "output_head" in found else next(iter(found), "")
    notes[place] = (*observed.remarks, *notes.get(place, ()))
    return {
        fault: Verdict(finding, notes.get(fault, ()), of_object=observed.of_object)
        for fault, finding in found.items()
    }


def _of_layers(fault: str) -> bool:
    """Whether a fault changes what every input gives, and may be why training gives something else."""
    return PROBES[fault] not in WITHOUT_LAYERS or PROBES[fault] is output_head


def _differs_in_training(runs: Runs) -> bool:
    """Whether with dropout 0 training gives something else than evaluation, whatever the seed is."""
    try:
        varies = runs.changed("dropped", "train", "train, other seed")
        return not varies and runs.changed("dropped", "train", "evaluation")
    except MissingError:
        return False


def _finding(probe: Probe, observed: Observed) -> Finding | None:
    runs = observed.runs
    if observed.unmade is not None:
        return observed.unmade
    if observed.misread is not None:
        if probe is output_head:
            return observed.misread
        if not runs.gave("attention", "usual") or runs.misread is not None:
            return review("what is returned cannot be read", "review.person")
    bare = runs.without_layers
    fails = not runs.gave("attention", "usual") or holds(exchanged, runs)
    if bare is not None and fails and probe in WITHOUT_LAYERS and bare.gave("attention", "usual"):
        runs = bare
    for masks, its_probe in (("target", self_mask), ("memory", cross_mask)):
        if masks in observed.inverted and probe is its_probe and holds(probe, runs):
            return failed(f"repair.{probe.__name__}.inverted")
    try:
        probe(runs)
    except MissingError as missing:
        return _missing(missing.finding, observed)
    return None


def _missing(finding: Finding, observed: Observed) -> Finding:
    """What is said of a fault whose repair is not seen: that, or why a person has to look."""
    if observed.guessed and not holds(residual, observed.runs):
        return review("what is returned cannot be read", "review.person")
    if observed.runs.crashed and finding.code == "raised":
        # One wrong line hides every fault, and leaving them all would not: the class as handed out runs here.
        return review(f"every call raises, and hides what is repaired: {finding.staff}", "repair.raises")
    return finding
