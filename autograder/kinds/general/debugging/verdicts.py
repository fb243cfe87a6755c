"""Which faults are left in code that gave these outcomes, judged by what the listings gave. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from autograder.kinds.general.debugging.listing import Subset
from autograder.kinds.general.debugging.outcomes import NAN, NEW, UNKNOWN, UNSURE
from autograder.kinds.general.debugging.search import Listings, Search, use_of
from autograder.kinds.general.debugging.use import ProbeOutcome

MOST_ODD = 2
"""Where probes for more other faults give what no listing gives, those for a fault do not speak."""


class FaultVerdict(Struct, frozen=True):
    """On one fault."""

    left: bool | None
    """Whether it is still there; None where a person decides."""
    why: str
    """For staff."""


class Verdicts(Struct, frozen=True):
    """On all faults of a submission."""

    faults: Mapping[str, FaultVerdict]
    defect: str = ""
    """What is computed that no listing computes; empty where one computes the same."""


def verdicts(search: Search, outcomes: Mapping[str, ProbeOutcome | None]) -> Verdicts:
    """Judge code by its outcomes.

    Args:
        search: what the listings gave, and which probes were chosen.
        outcomes: of the code, by probe; what is missing is not known.
    """
    return _Judgement(search, outcomes).verdicts()


def asked_besides(search: Search, outcomes: Mapping[str, ProbeOutcome | None]) -> tuple[str, ...]:
    """The chosen probes that are asked after the first ones.

    That is what has to speak for another use, which raises although no listing does; and what is further,
    unless the code gives what exactly one listing gives.

    Args:
        search: see `verdicts`.
        outcomes: of the code, for `Search.asked_first` at least.
    """
    odd = {probe: _raises_oddly(search, probe, outcomes) for probe in search.asked_first}
    further = search.listings.further if _leaves_open(search, outcomes) else ()
    return tuple(
        probe
        for probe in search.probes
        if probe in further
        or ((others := search.in_place_of(probe)) and all(odd.get(one, False) for one in others))
    )


def returns_otherwise(search: Search, outcomes: Mapping[str, ProbeOutcome | None]) -> bool:
    """Whether the probes made for many faults raise where no listing does: what is returned has another form.

    Args:
        search: see `verdicts`.
        outcomes: see `verdicts`.
    """
    return len(_Judgement(search, outcomes).raising()) > MOST_ODD


def _leaves_open(search: Search, outcomes: Mapping[str, ProbeOutcome | None]) -> bool:
    """Whether the outcomes of the first probes are those of no listing and no alternative, or of several."""
    like = int(_same(search.listings, search.asked_first, outcomes).sum())
    return like != 1 if like else _alternative(search, search.asked_first, outcomes) is None


def _alternative(
    search: Search, probes: Sequence[str], outcomes: Mapping[str, ProbeOutcome | None]
) -> Subset | None:
    """The alternative, and the faults beside it, that give the same; None where that is not certain.

    Not all sets of faults are run beside it. Where these probes do not tell its faults from others in the
    listing, they may hide some here.
    """
    listings, others = search.listings, search.listings.alternatives
    places = np.flatnonzero(_same(others, probes, outcomes)) if others else np.zeros(0, np.int64)
    found = [others.subsets[at] for at in places] if others else []
    left = {one.intersection(listings.faults) for one in found}
    if len(left) != 1:
        return None
    (faults,) = left
    table = listings.table[:, [listings.probes.index(probe) for probe in probes]]
    alike = (table == table[listings.subsets.index(faults)]).all(axis=1)
    return found[0] if alike.sum() == 1 else None


def _same(
    listings: Listings, probes: Sequence[str], outcomes: Mapping[str, ProbeOutcome | None]
) -> np.ndarray:
    """(listings,): which of them give the same in some probes; what is not known of them does not count."""
    own = np.array([listings.classes[probe].find(outcomes.get(probe)) for probe in probes], np.int64)
    table = listings.table[:, [listings.probes.index(probe) for probe in probes]]
    same: np.ndarray = ((table == own) | (table == UNKNOWN)).all(axis=1)
    return same


def _raises_oddly(search: Search, probe: str, outcomes: Mapping[str, ProbeOutcome | None]) -> bool:
    """Whether a probe raises in a way that no listing does, which NaN in a relation is not."""
    found = outcomes.get(probe)
    raised = found is not None and found.error not in ("", NAN, UNSURE)
    return raised and search.listings.classes[probe].find(found) == NEW


class _Judgement:
    def __init__(self, search: Search, outcomes: Mapping[str, ProbeOutcome | None]) -> None:
        self._search, listings = search, search.listings
        self._faults, self._subsets = listings.faults, listings.subsets
        self._has = {fault: listings.has(fault) for fault in listings.faults}
        self._table = listings.table[:, list(search.chosen)]
        self._called = frozenset(asked_besides(search, outcomes))
        needed = {*search.asked_first, *self._called}
        outcomes = {probe: one for probe, one in outcomes.items() if probe in needed}
        self._outcomes = outcomes
        self._own = np.array(
            [listings.classes[probe].find(outcomes.get(probe)) for probe in search.probes], np.int64
        )
        self._errors = [one.error if one else "" for one in map(outcomes.get, search.probes)]
        self._alike = [
            probe in listings.relating and (one is None or all(one.values))
            for probe, one in zip(search.probes, map(outcomes.get, search.probes), strict=True)
        ]
        self._about = [listings.about[at] for at in search.chosen]
        self._mute = listings.mute[:, list(search.chosen)]
        self._right = self._table[self._subsets.index(frozenset())]
        self._right_mute = self._mute[self._subsets.index(frozenset())]
        self._known = self._own != UNKNOWN
        self._whole = np.array([probe in listings.whole for probe in search.probes], bool)
        """(probes,): those that tell of no fault by themselves."""
        self._heard = self._known & ~self._whole & ~self._silent() & ~self._right_mute

    def verdicts(self) -> Verdicts:
        if not self._known.any():
            why = "nothing is known of what the code computes"
            return Verdicts({fault: FaultVerdict(None, why) for fault in self._faults})
        same = self._differing() == 0
        if same.any():
            return Verdicts(self._asked({fault: self._of_listings(fault, same) for fault in self._faults}))
        known = [probe for probe, known in zip(self._search.probes, self._known, strict=True) if known]
        if (alternative := _alternative(self._search, known, self._outcomes)) is not None:
            return Verdicts(self._asked(self._of_alternative(alternative)))
        right = self._subsets.index(frozenset())
        if np.flatnonzero(self._differing(leave=self._whole) == 0).tolist() == [right]:
            return Verdicts(self._but_for_whole(), self._new())
        return Verdicts(self._asked(self._by_votes()), self._new())

    def _but_for_whole(self) -> dict[str, FaultVerdict]:
        """The verdicts where the right listing alone gives the same, but for what is whole.

        Where a fault is left, that may be why; here nothing else explains it, and nobody knows what does.
        """
        odd = np.flatnonzero(self._whole & self._known & (self._right != self._own)).tolist()
        names = ", ".join(self._search.probes[at] for at in odd)
        why = f"computes the same as the right listing, but not in {names}"
        return {fault: FaultVerdict(None, why) for fault in self._faults}

    def _silent(self) -> np.ndarray:
        """(probes,): those that say nothing: of a relation with NaN, of two uses one of which stands in."""
        search = self._search
        silent = {probe: error == NAN for probe, error in zip(search.probes, self._errors, strict=True)}
        for at, probe in enumerate(search.probes):
            others = search.in_place_of(probe)
            speaks = probe in self._called and not (self._errors[at] and self._own[at] == NEW)
            silent |= dict.fromkeys(others if speaks else (probe,) if others else (), True)
        return np.array([silent[probe] for probe in search.probes], bool)

    def _asked(self, found: Mapping[str, FaultVerdict]) -> dict[str, FaultVerdict]:
        """The verdicts; nothing is repaired because a probe was not asked, as when the time was used up."""
        probes = {*self._search.asked_first, *self._called}
        known = {probe for probe, known in zip(self._search.probes, self._known, strict=True) if known}
        silent = [probe for probe in self._search.probes if probe in probes - known]
        told = f"nothing is known of {', '.join(silent)}"
        return {
            fault: one if one.left is not False or not silent else FaultVerdict(None, f"{one.why}; {told}")
            for fault, one in found.items()
        }

    def _differing(self, leave: np.ndarray | None = None) -> np.ndarray:
        """(listings,): in how many probes each listing gives something else; unknown ones do not count.

        Args:
            leave: (probes,): those that do not count either.
        """
        counted = self._known if leave is None else self._known & ~leave
        other = (self._table != self._own) & counted & (self._table != UNKNOWN)
        differing: np.ndarray = other.sum(axis=1)
        return differing

    def _of_listings(self, fault: str, same: np.ndarray) -> FaultVerdict:
        """The verdict where the code computes what some listings compute."""
        has = self._has[fault][same]
        if has.all() or not has.any():
            example = self._words(int(np.flatnonzero(same)[0]))
            return FaultVerdict(bool(has[0]), f"computes the same as {example}")
        return FaultVerdict(None, self._undecided(fault, same))

    def _of_alternative(self, beside: Subset) -> dict[str, FaultVerdict]:
        """The verdicts where the code computes what an alternative computes."""
        why = f"computes the same as the alternative with {' + '.join(sorted(beside))}"
        return {fault: FaultVerdict(fault in beside, why) for fault in self._faults}

    def _by_votes(self) -> dict[str, FaultVerdict]:
        """Fault by fault: does the code behave like listings with it, or like those without?

        What is decided leaves fewer listings, by which more may be decided.
        """
        found: dict[str, FaultVerdict] = {}
        alive = np.ones(len(self._subsets), bool)
        while True:
            new = {
                fault: verdict
                for fault in self._faults
                if fault not in found and (verdict := self._voted(fault, alive, found)) is not None
            }
            if not new:
                break
            found |= new
            for fault, verdict in new.items():
                alive &= self._has[fault] == verdict.left
        # With all others known a probe may speak that was silent before, and say otherwise.
        for fault, verdict in dict(found).items():
            again = self._voted(fault, self._beside(fault, found), found)
            if again is None or again.left != verdict.left:
                del found[fault]
                if again is not None:
                    found[fault] = again
        found |= {fault: FaultVerdict(None, found[fault].why) for fault in self._unproved(found)}
        return {
            fault: found.get(fault) or FaultVerdict(None, self._undecided(fault, alive))
            for fault in self._faults
        }

    def _beside(self, fault: str, found: Mapping[str, FaultVerdict]) -> np.ndarray:
        """(listings,): those that have of the other faults what was found."""
        others = [self._has[one] == found[one].left for one in found if one != fault]
        beside: np.ndarray = np.logical_and.reduce([np.ones(len(self._subsets), bool), *others])
        return beside

    def _unproved(self, found: Mapping[str, FaultVerdict]) -> set[str]:
        """The faults that seem repaired although they may be why a probe gives what no listing gives.

        One of the faults that change what such a probe gives must be why. A fault is cleared where all
        probes of a use are as its verdict says, and another one without such a use is there to blame.
        """
        beside = {fault: self._beside(fault, found) for fault in self._faults}
        odd: dict[int, set[str]] = {}
        cleared = set()
        for fault in self._faults:
            uses: dict[str, tuple[bool, bool]] = {}
            for at in np.flatnonzero(self._heard & (np.array(self._about) == "")).tolist():
                with_, without = self._classes(fault, at, beside[fault])
                if with_ == without:
                    continue
                verdict = found.get(fault)
                expected = with_ | without if verdict is None else with_ if verdict.left else without
                if (own := int(self._own[at])) not in expected:
                    odd.setdefault(at, set()).add(fault)
                fits = verdict is not None and own in expected
                use = use_of(self._search.probes[at])
                tells, all_fit = uses.get(use, (False, True))
                uses[use] = (tells or not with_ & without, all_fit and fits)
            if any(tells and all_fit for tells, all_fit in uses.values()):
                cleared.add(fault)
        doubted = {
            fault for faults in odd.values() for fault in faults if fault not in cleared or faults <= cleared
        }
        doubted = {fault for fault in doubted if not self._author_speaks(fault, beside[fault])}
        for fault in self._faults:
            made = self._made_for(fault)
            if any(self._own[at] == NEW for at in made) or 2 * len(made) < self._asked_of(fault):
                doubted.add(fault)
        return {fault for fault in doubted if fault in found and found[fault].left is False}

    def _author_speaks(self, fault: str, alive: np.ndarray) -> bool:
        """Whether each probe made for a fault gives what listings without it give, and one only these.

        One in which all that is related is alike does not speak by itself: so it is for a constant as well.
        """
        spoken = False
        for at in self._made_for(fault):
            with_, without = self._classes(fault, at, alive)
            if int(self._own[at]) not in without | {int(self._right[at])}:
                return False
            spoken |= not with_ & without and not self._alike[at]
        return spoken

    def _asked_of(self, fault: str) -> int:
        """How many probes the author made for a fault, without those that say nothing of right code."""
        mute = self._right_mute.tolist()
        return sum(about == fault and not one for about, one in zip(self._about, mute, strict=True))

    def _made_for(self, fault: str) -> list[int]:
        """The places of the heard probes that the author made for a fault."""
        return [at for at in np.flatnonzero(self._heard).tolist() if self._about[at] == fault]

    def _voted(self, fault: str, alive: np.ndarray, found: Mapping[str, FaultVerdict]) -> FaultVerdict | None:
        """What all probes say by which listings with and without the fault are told apart.

        One that was made for the fault and says that it is there outweighs those that say it is not.
        """
        votes: dict[bool, list[str]] = {}
        own_probes: dict[bool, list[str]] = {}
        elsewhere = self._odd(alive) - {fault}
        # Of a fault that is known to be left, what no listing gives is this fault in other words.
        unexplained = {one for one in elsewhere if one not in found or not found[one].left}
        for at in np.flatnonzero(self._heard).tolist():
            if (made := bool(self._about[at])) and (self._about[at] != fault or len(unexplained) > MOST_ODD):
                continue
            says = self._says(fault, at, alive)
            if says is None and made:
                says = self._author_says(fault, at, alive, elsewhere)
            if says is not None:
                (own_probes if made else votes).setdefault(says, []).append(self._search.probes[at])
        if True in own_probes:
            votes = {True: [*votes.get(True, []), *own_probes[True]]}
        elif own_probes:
            votes.setdefault(False, []).extend(own_probes[False])
        if len(votes) != 1:
            return None
        ((left, told_by),) = votes.items()
        return FaultVerdict(left, f"like listings {'with' if left else 'without'} it in {', '.join(told_by)}")

    def _author_says(self, fault: str, at: int, alive: np.ndarray, elsewhere: set[str]) -> bool | None:
        """What a probe made for a fault says where no listing that is left gives the same.

        What no listing at all gives is this fault in other words, unless another one's probes are odd as
        well and the author does not say that this one depends on its fault alone.
        """
        own, column = self._own[at], self._table[:, at]
        if own == self._right[at] and own not in column[self._has[fault]] and not self._alike[at]:
            return False
        if not self._is_odd(at, alive) or len(self.raising() - {fault}) > MOST_ODD:
            return None
        return True if not elsewhere or self._search.probes[at] in self._search.listings.alone else None

    def _says(self, fault: str, at: int, alive: np.ndarray) -> bool | None:
        """Whether a probe gives what only listings with a fault give; None where it does not tell."""
        says = alive & ~self._mute[:, at]
        if any((alive & group).any() and not (says & group).any() for group in self._groups(fault)):
            return None
        with_, without = self._classes(fault, at, says)
        if UNKNOWN in with_ | without or with_ & without:
            return None
        own = int(self._own[at])
        return own in with_ if own in with_ | without else None

    def _groups(self, fault: str) -> tuple[np.ndarray, np.ndarray]:
        """(listings,): those with a fault, and those without."""
        return self._has[fault], ~self._has[fault]

    def _classes(self, fault: str, at: int, alive: np.ndarray) -> tuple[set[int], set[int]]:
        """What the listings that are left give for a probe, those with a fault and those without."""
        column, has = self._table[:, at], self._has[fault]
        return set(column[alive & has].tolist()), set(column[alive & ~has].tolist())

    def _odd(self, alive: np.ndarray) -> set[str]:
        """The faults whose own probes give what no listing that is left gives, and no error but `UNSURE`.

        Of one fault, that is this fault in other words; of several, nobody knows which of them.
        """
        made = (at for at in np.flatnonzero(self._heard).tolist() if self._about[at])
        unsure = {at for at in np.flatnonzero(self._own == NEW).tolist() if self._errors[at] == UNSURE}
        return {self._about[at] for at in made if at in unsure or self._is_odd(at, alive)}

    def raising(self) -> set[str]:
        """The faults whose own probes raise where no listing does: what is returned has another form."""
        places = np.flatnonzero(self._heard & (self._own == NEW)).tolist()
        errors = ("", UNSURE)
        return {self._about[at] for at in places if self._about[at] and self._errors[at] not in errors}

    def _is_odd(self, at: int, alive: np.ndarray) -> bool:
        """What the right listing gives speaks for no fault, whatever the listings that are left give."""
        own = int(self._own[at])
        return not self._errors[at] and own != self._right[at] and own not in self._table[alive, at]

    def _undecided(self, fault: str, among: np.ndarray) -> str:
        """The two nearest listings with and without a fault, and a probe between them."""
        differing, has = self._differing(), self._has[fault]
        nearest = [np.flatnonzero(group & among) for group in (has, ~has)]
        if not all(places.size for places in nearest):
            return "no listing that is left differs in it"
        one, other = (int(places[np.argmin(differing[places])]) for places in nearest)
        between = np.flatnonzero(self._table[one] != self._table[other])
        probe = f"they differ in {self._search.probes[between[0]]}" if between.size else "no probe differs"
        return f"nearest: {self._words(one)}, and {self._words(other)}; {probe}"

    def _new(self) -> str:
        differing = self._differing()
        nearest = int(np.argmin(differing))
        probes = self._search.probes
        other = [probes[at] for at in np.flatnonzero((self._table[nearest] != self._own) & self._known)]
        raised: dict[str, list[str]] = {}
        for probe, error in zip(probes, self._errors, strict=True):
            if error:
                raised.setdefault(error, []).append(probe)
        told = [
            f"raises {error} in {'all probes' if len(some) == len(probes) else ', '.join(some)}"
            for error, some in raised.items()
        ]
        nearest_is = f"nearest is {self._words(nearest)}, not in {', '.join(other)}"
        return "; ".join(["computes what no listing computes", nearest_is, *told])

    def _words(self, place: int) -> str:
        return in_words(self._subsets[place], self._faults)


def in_words(subset: Subset, faults: tuple[str, ...]) -> str:
    """A listing by its faults."""
    names = " + ".join(fault for fault in faults if fault in subset)
    return f"the listing with {names}" if names else "the right listing"
