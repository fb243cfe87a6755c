"""Chooses few probes by which as many listings as possible are told apart, and says which are not.

All is computed from what the listings gave, so it is the same whenever they gave the same. Pure.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import combinations, islice
from math import comb

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.options import Rules
from autograder.kinds.general.debugging.listing import Subset
from autograder.kinds.general.debugging.outcomes import NAN, UNSURE, Classes
from autograder.kinds.general.debugging.use import ProbeOutcome

MOST_PAIRS = 20_000
"""Pairs of sets of faults, in which one is compared with another that does the same."""
LOOSE = 100
"""So many times the tolerance where a probe tells of no fault by itself: it is there for another computation,
not for rounding."""
SPEAKING = 2
"""By so many probes each fault is told whatever other faults there are, where there are such probes."""


class Confusion(Struct, frozen=True):
    """Listings that no probe tells apart, by the smallest example."""

    why: str
    """``"equivalent"``: the fault changes nothing, whatever is beside it; ``"hidden"``: other faults hide it;
    ``"alike"``: two sets of faults do the same."""
    faults: tuple[str, ...]
    """What cannot be decided between the two."""
    one: tuple[str, ...]
    other: tuple[str, ...]
    """The faults of the two listings."""
    count: int
    """For how many listings it is so."""

    @property
    def words(self) -> str:
        """For the author."""
        names = " and ".join(self.faults)
        first, second = (" + ".join(some) for some in (self.one, self.other))
        times = f"in {self.count} listings" if self.count > 1 else "in one listing"
        match self.why:
            case "equivalent":
                return f"{names}: changes nothing that is looked at, whatever other faults there are"
            case "hidden":
                return f"{names}: {f'hidden by {second}' if second else 'cannot be seen by itself'}, {times}"
            case _:
                return f"{names}: {first} gives the same as {second or 'the right listing'}, {times}"


class Listings(Struct, frozen=True, eq=False):
    """What the listings gave for every probe, as numbers of classes."""

    faults: tuple[str, ...]
    subsets: tuple[Subset, ...]
    probes: tuple[str, ...]
    classes: Mapping[str, Classes]
    table: np.ndarray
    """(listings, probes): the class of each outcome."""
    about: tuple[str, ...]
    """The fault that the author made each probe for, or ""; one of each such use is always asked."""
    mute: np.ndarray
    """(listings, probes): where a relation of the listing says nothing, or is not sure."""
    asks: Mapping[str, frozenset[str]] = {}
    """Probe → what of all that the author stated it asks, in words: its use, and chosen values."""
    relating: frozenset[str] = frozenset()
    """Probes of which it only counts which results are alike."""
    instead: Mapping[str, str] = {}
    """Probe → the use in whose place it speaks, or ""."""
    further: frozenset[str] = frozenset()
    """Probes that are asked only where the others leave a fault open."""
    whole: frozenset[str] = frozenset()
    """Probes that tell of no fault by themselves."""
    alone: frozenset[str] = frozenset()
    """Probes that depend on the fault alone that they are about."""
    alternatives: Listings | None = None
    """Of other right listings, each with few faults; they tell only what gives the same throughout."""

    @classmethod
    def of(
        cls,
        faults: Sequence[str],
        subsets: Sequence[Subset],
        probes: Mapping[str, str],
        outcomes: Sequence[Mapping[str, ProbeOutcome | None]],
        *,
        rules: Rules,
        asks: Mapping[str, frozenset[str]] | None = None,
        relating: frozenset[str] = frozenset(),
        instead: Mapping[str, str] | None = None,
        further: frozenset[str] = frozenset(),
        whole: frozenset[str] = frozenset(),
        alone: frozenset[str] = frozenset(),
    ) -> Listings:
        """Sort the outcomes.

        Args:
            faults: their ids.
            subsets: the faults of each listing.
            probes: their names → the fault that the author made each for, or "".
            outcomes: of each listing, by probe.
            rules: the tolerance.
            asks: probe → the uses and values that it asks, in words; default: nothing is to be asked.
            relating: probes of which it only counts which results are alike.
            instead: probe → the use in whose place it speaks, or "".
            further: probes that are asked only where the others leave a fault open.
            whole: probes that tell of no fault by themselves.
            alone: probes that depend on the fault alone that they are about.
        """
        loose = msgspec.structs.replace(rules, rtol=LOOSE * rules.rtol, atol=LOOSE * rules.atol)
        classes = {probe: Classes(loose if probe in whole else rules) for probe in probes}
        table = np.array(
            [[classes[probe].add(some.get(probe)) for probe in probes] for some in outcomes], np.int64
        ).reshape(len(outcomes), len(probes))
        told = [[one.error if one else "" for one in map(some.get, probes)] for some in outcomes]
        return cls(
            tuple(faults),
            tuple(subsets),
            tuple(probes),
            classes,
            table,
            tuple(probes.values()),
            np.isin(np.array(told, str).reshape(table.shape), (NAN, UNSURE)),
            asks or {},
            relating,
            instead or {},
            further,
            whole,
            alone,
        )

    def has(self, fault: str) -> np.ndarray:
        """(listings,): whether each has the fault."""
        return np.array([fault in subset for subset in self.subsets], bool)

    @property
    def of_no_use(self) -> tuple[str, ...]:
        """The probes that say nothing of the right listing."""
        mute = self.mute[self.subsets.index(frozenset())]
        return tuple(self.probes[at] for at in np.flatnonzero(mute))

    def speaks(self, fault: str, at: int) -> bool:
        """Whether listings with the fault and those without never give the same for a probe."""
        if self.probes[at] in self.whole:
            return False
        has, says = self.has(fault), ~self.mute[:, at]
        with_, without = (set(self.table[group & says, at].tolist()) for group in (has, ~has))
        return bool((self.table[:, at] >= 0).all() and with_ and without) and not with_ & without


class Search(Struct, frozen=True, eq=False, dict=True):
    """The probes that were chosen, and what they cannot tell."""

    listings: Listings
    chosen: tuple[int, ...]
    """Places of probes, in the order in which they are asked."""
    confusions: tuple[Confusion, ...]
    """What they cannot tell, of the first `MOST_PAIRS` pairs."""
    left: int = 0
    """How many further pairs of sets of faults do the same."""

    @property
    def asked(self) -> frozenset[str]:
        """What the chosen probes ask of all that the author stated."""
        return frozenset[str]().union(*(self.listings.asks.get(probe, ()) for probe in self.probes))

    @functools.cached_property
    def probes(self) -> tuple[str, ...]:
        """The names of the chosen probes."""
        return tuple(self.listings.probes[at] for at in self.chosen)

    @functools.cached_property
    def asked_first(self) -> tuple[str, ...]:
        """Those that are asked of everybody: not what is further or stands in where another one raises."""
        further = self.listings.further
        return tuple(one for one in self.probes if one not in further and not self.in_place_of(one))

    def in_place_of(self, probe: str) -> tuple[str, ...]:
        """The chosen probes for which one stands in; none where it speaks always."""
        use = self.listings.instead.get(probe)
        return tuple(one for one in self.probes if use and use_of(one) == use)

    def kills(self, fault: str, at: int) -> int:
        """Percent of the listings without a fault whose outcome of a probe changes when it is planted."""
        listings = self.listings
        places = {subset: place for place, subset in enumerate(listings.subsets)}
        pairs = [
            (place, places[subset | {fault}])
            for subset, place in places.items()
            if fault not in subset and subset | {fault} in places
        ]
        changed = sum(listings.table[one, at] != listings.table[other, at] for one, other in pairs)
        return round(100 * int(changed) / max(len(pairs), 1))


def search(listings: Listings, most: int, turn: int = 0) -> Search:
    """Choose the probes: for each fault one that tells it by itself, then those that tell most listings.

    Before, every use is asked and every value that the author wrote, as far as there is room.
    Those that the author made for a fault come before. What is further has its place besides, and the others
    tell all that they can without it. A probe that tells a fault whatever else there is, and
    gives little else, also tells it in code that computes something of its own elsewhere. What room is left
    is used for one more of each.

    Args:
        listings: what they gave for all probes that were tried.
        most: how many are chosen at most.
        turn: another one prefers others of the probes that tell as much.
    """
    every = _in_turn(listings.probes, turn)
    places = [at for at in every if listings.probes[at] not in listings.further]
    cost = {at: int((listings.table[:, at] < 0).sum()) for at in every}
    made: dict[str, int] = {}
    for at in every:
        if listings.about[at]:
            made.setdefault(use_of(listings.probes[at]), at)
    further = [at for at in sorted(made.values()) if at not in places][:most]
    chosen = [at for at in sorted(made.values()) if at in places][: most - len(further)]
    _choose(listings, chosen, most - len(further), {at: cost[at] for at in places})
    # What hangs or ends the box in many listings is asked last, so that it costs a student least.
    order = tuple(sorted([*chosen, *further], key=lambda at: (_ending(listings, at), cost[at], at)))
    return Search(listings, order, *_confusions(listings, order))


def _choose(listings: Listings, chosen: list[int], most: int, cost: Mapping[int, int]) -> None:
    """Add probes to those that are chosen.

    Args:
        listings: see `search`.
        chosen: places.
        most: how many there are at the end.
        cost: of each that may be chosen, in the order in which they are preferred.
    """
    _cover(listings, chosen, most, cost)
    for number in range(SPEAKING):
        for fault in listings.faults:
            telling = [at for at in cost if listings.speaks(fault, at)]
            telling.sort(key=lambda at: len(set(listings.table[:, at].tolist())))
            if number < len(telling) and telling[number] not in chosen and len(chosen) < most:
                chosen.append(telling[number])
        _refine(listings, chosen, most, cost)


def _cover(listings: Listings, chosen: list[int], most: int, cost: Mapping[int, int]) -> None:
    """Add probes until every use and value that the author wrote is asked, those that tell most first."""
    asks = {at: listings.asks.get(listings.probes[at], frozenset()) for at in cost}
    left = frozenset[str]().union(*asks.values()).difference(*(asks[at] for at in chosen))
    classes = {at: len(set(listings.table[:, at].tolist())) for at in cost}
    while left and len(chosen) < most:
        new = {at: (len(some & left), classes[at], -cost[at]) for at, some in asks.items() if some & left}
        best = max(new, key=new.__getitem__)
        chosen.append(best)
        left -= asks[best]


def use_of(probe: str) -> str:
    """The name of the use that a probe is one of."""
    return probe.rsplit(" ", 1)[0]


def _in_turn(probes: Sequence[str], turn: int) -> list[int]:
    """The places of probes, those of each use begun at another one."""
    uses: dict[str, list[int]] = {}
    for at, probe in enumerate(probes):
        uses.setdefault(use_of(probe), []).append(at)
    return [at for some in uses.values() for at in some[turn % len(some) :] + some[: turn % len(some)]]


def _refine(listings: Listings, chosen: list[int], most: int, cost: Mapping[int, int]) -> None:
    """Add the probes that split most groups of listings, until none does; of equal ones the first in turn."""
    groups = _groups(listings.table[:, chosen])
    while len(chosen) < most:
        split = {
            at: len(set(zip(groups.tolist(), listings.table[:, at].tolist(), strict=True)))
            for at in cost
            if at not in chosen
        }
        best = min(split, key=lambda at: (-split[at], cost[at]), default=-1)
        if best < 0 or split[best] <= len(set(groups.tolist())):
            return
        chosen.append(best)
        groups = _groups(listings.table[:, chosen])


def _groups(table: np.ndarray) -> np.ndarray:
    """(listings,): a number for each row, the same for equal rows."""
    if not table.shape[1]:
        return np.zeros(len(table), np.int64)
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)


def _ending(listings: Listings, at: int) -> bool:
    """Whether a probe ended the box of a listing."""
    return listings.classes[listings.probes[at]].ends


def _confusions(
    listings: Listings, chosen: Sequence[int], most: int = MOST_PAIRS
) -> tuple[tuple[Confusion, ...], int]:
    """The listings that the chosen probes do not tell apart, by what differs between them.

    Args:
        listings: what they gave.
        chosen: places of probes.
        most: how many pairs are compared, those of small groups first.

    Returns:
        what is confused, and how many pairs were left out.
    """
    groups: dict[int, set[Subset]] = {}
    for group, subset in zip(
        _groups(listings.table[:, list(chosen)]).tolist(), listings.subsets, strict=True
    ):
        groups.setdefault(group, set()).add(subset)
    found: dict[tuple[str, ...], list[tuple[Subset, Subset]]] = {}
    left = 0
    for members in sorted(groups.values(), key=len):
        hidden = set()
        for fault in listings.faults:
            pairs = [(one | {fault}, one) for one in members if fault not in one and one | {fault} in members]
            if pairs:
                hidden.add(fault)
                found.setdefault((fault,), []).extend(pairs)
        seen: dict[Subset, Subset] = {}
        for one in sorted(members, key=lambda subset: (len(subset), sorted(subset))):
            seen.setdefault(one - hidden, one)
        compared = min(most, comb(len(seen), 2))
        most, left = most - compared, left + comb(len(seen), 2) - compared
        for (first, one), (second, other) in islice(combinations(seen.items(), 2), compared):
            between = tuple(fault for fault in listings.faults if fault in first ^ second)
            found.setdefault(between, []).append((other, one))
    ordered = sorted(found.items(), key=lambda entry: (len(entry[0]), entry[0]))
    return tuple(_confusion(listings, between, pairs) for between, pairs in ordered), left


def _confusion(
    listings: Listings, between: tuple[str, ...], pairs: Sequence[tuple[Subset, Subset]]
) -> Confusion:
    smallest = min(pairs, key=lambda pair: (len(pair[0]) + len(pair[1]), sorted(pair[0])))
    one, other = (tuple(fault for fault in listings.faults if fault in subset) for subset in smallest)
    why = "alike"
    if len(between) == 1:
        every = sum(between[0] in subset for subset in listings.subsets)
        why = "equivalent" if len(pairs) == every else "hidden"
    return Confusion(why, between, one, other, len(pairs))
