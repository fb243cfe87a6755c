"""Which two works of a class are more alike than others, and by which of their parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from autograder.marking.similarity.code import Digest
from autograder.marking.similarity.works import ComparedPiece, ComparedWork

MOST_PAIRS = 200
_DOUBT, _DOUBT_OF_PIECE = 15.0, 60.0
"""So much is added to what the smaller work, or piece, has: a little that is the same is no evidence, and
there are many pieces in which two may agree by chance. The unit is a digest that just two have."""
_COMMON = 4
"""What more than one of so many have counts least; in small classes, one of the root of their number."""
_LEAST_WEIGHT = 0.25
_NEIGHBOURS, _NEIGHBOURS_SHARE = 3, 0.05
"""So many others, or such a share of the class, may be as near to a work without that meaning anything."""
_AT_ONCE = 4096
"""Digests in one product of matrices."""
_LEAST = 1e-6
_SAME = 1 - 1e-4
"""Shares above are 1: they are sums in single precision, and one that lacks a digest is farther off."""
_MOST_WORDS = 12
_SHARED_BY = 0.02
"""Of a class; words that so few, or two, have are told."""


class PartAlike(Struct, frozen=True):
    """How far one part of two works is alike."""

    name: str
    """``"code"``, ``"text"``, ``"all"``, or the place of a piece."""
    share: float
    """Of the smaller one, by weight, between 0 and 1: 1 if all of it stands in the other."""
    stands_out: float
    """How much of the way from what is usual for these two to 1 their share goes; above 0."""


class AlikePair(Struct, frozen=True):
    """Two students whose works are alike."""

    students: tuple[str, str]
    parts: tuple[PartAlike, ...]
    """Those that stand out, the most first."""
    words: tuple[str, ...]
    """Names and comments that hardly anybody else uses."""

    @property
    def percents(self) -> tuple[int, int]:
        """How far the pair stands out, and the share, in percent."""
        return to_percent(self.stands_out), to_percent(self.share)

    @property
    def stands_out(self) -> float:
        """The most of its parts: what pairs are ordered by."""
        return self.parts[0].stands_out

    @property
    def share(self) -> float:
        """Of the part that stands out most."""
        return self.parts[0].share


class Weights(Struct, frozen=True):
    """How much a digest tells, by the number of students who have it."""

    students: int
    by_number: Mapping[int, float]
    numbers: Mapping[Digest, int]

    def of(self, digest: Digest) -> float:
        """1 for what two have, less for what more have, least for what many have."""
        return self.by_number.get(self.numbers.get(digest, 1), _LEAST_WEIGHT)

    def is_common(self, digest: Digest) -> bool:
        """Whether many have it."""
        return self.of(digest) <= _LEAST_WEIGHT


def to_percent(share: float) -> int:
    """Return a share in whole percent; 100 is said of the same alone."""
    return 100 if share > _SAME else min(99, round(100 * share))


def weights(works: Sequence[ComparedWork]) -> Weights:
    """What is common in a class counts little: inverse frequency in documents, as in searching."""
    students = len(works)
    numbers = Counter(
        digest for work in works for digest in set().union(*(one.features for one in work.pieces))
    )
    base = math.log(min(_COMMON, math.sqrt(max(1, students))))
    most = math.log((students + 1) / 2) - base
    by_number = {
        number: min(1.0, max(_LEAST_WEIGHT, (math.log((students + 1) / number) - base) / most))
        if most > 0
        else 1.0
        for number in range(1, students + 1)
    }
    return Weights(students, by_number, numbers)


def alike_pairs(
    works: Sequence[ComparedWork], most: int = 30, weighed: Weights | None = None
) -> tuple[AlikePair, ...]:
    """The pairs that stand out most, the most first.

    Two works are compared as a whole, by their code, by their text, and piece by piece: what counts is the
    most. Of a part, their share is the weight of what both have, divided by that of the smaller one. For how
    far it stands out a doubt is added to the latter, and it follows from what is usual for the two: works
    that are near to many others, since they go by the book, do not stand out by that.

    Args:
        works: of a class.
        most: pairs that are returned.
        weighed: `weights` of the same works.
    """
    if len(works) < 2:
        return ()
    tables = _Tables(works, weighed or weights(works))
    best = np.zeros((len(works), len(works)), np.float32)
    for name in tables.names:
        np.maximum(best, _standing_out(tables.shares(name, doubted=True)), out=best)
    rows, columns = np.triu_indices(len(works), 1)
    found = best[rows, columns]
    order = np.argsort(-found, kind="stable")[: min(most, MOST_PAIRS)]
    chosen = [(int(rows[at]), int(columns[at])) for at in order if found[at] > _LEAST]
    parts: dict[tuple[int, int], list[PartAlike]] = {one: [] for one in chosen}
    for name in tables.names:
        shares = tables.shares(name, doubted=False)
        apart = _standing_out(tables.shares(name, doubted=True))
        for one, told in parts.items():
            if apart[one] > _LEAST:
                told.append(PartAlike(name, float(shares[one]), float(apart[one])))
    rare = _rare_words(works)
    return tuple(
        AlikePair(
            (works[one].student, works[other].student),
            tuple(sorted(parts[one, other], key=lambda part: -part.stands_out)),
            tuple(sorted(works[one].words & works[other].words & rare)[:_MOST_WORDS]),
        )
        for one, other in chosen
    )


def _standing_out(shares: np.ndarray) -> np.ndarray:
    """(students, students): how much of the way from what is usual to 1 the share of any two goes.

    Usual for a student is the share with the nearest of the others, when `_NEIGHBOURS` of them are left out.
    """
    count = len(shares)
    near = min(max(_NEIGHBOURS, int(_NEIGHBOURS_SHARE * count)), count - 2)
    others = shares.copy()
    np.fill_diagonal(others, 0)
    usual = -np.partition(-others, near, axis=1)[:, near] if near > 0 else np.zeros(count, shares.dtype)
    both = np.maximum(usual[:, None], usual[None, :])
    return np.asarray((shares - both) / (1 - both))


class _Tables:
    """The digests of a class, part by part."""

    def __init__(self, works: Sequence[ComparedWork], known: Weights) -> None:
        self._works, self._known = works, known
        choose: dict[str, Callable[[ComparedPiece], bool]] = {
            "all": lambda _: True,
            "code": lambda one: one.piece.is_code,
            "text": lambda one: not one.piece.is_code,
        }
        self._choose = choose
        places = {one.piece.place for work in works for one in work.pieces if one.piece.place}
        self.names = (*choose, *sorted(places))

    def _digests(self, work: ComparedWork, name: str) -> set[Digest]:
        chosen = self._choose.get(name) or (lambda one: one.piece.place == name)
        return set().union(*(one.features for one in work.pieces if chosen(one)))

    def shares(self, name: str, *, doubted: bool) -> np.ndarray:
        """(students, students): how far one part of any two is alike.

        Args:
            name: of the part.
            doubted: little that is the same is no evidence, as it counts for the order of pairs.
        """
        digests = [self._digests(work, name) for work in self._works]
        shared, whole = self._shared(digests)
        smaller = np.minimum(whole[:, None], whole[None, :])
        if not doubted:  # sums of many weights in single precision are a little off
            return np.asarray(np.minimum(shared / np.maximum(smaller, np.float32(_LEAST)), 1))
        doubt = _DOUBT if name in self._choose else _DOUBT_OF_PIECE
        return np.asarray(shared / (smaller + np.float32(doubt)))

    def _shared(self, digests: Sequence[Iterable[Digest]]) -> tuple[np.ndarray, np.ndarray]:
        """What any two share by weight, and what everybody has."""
        count = len(self._works)
        holders: dict[Digest, list[int]] = {}
        whole = np.zeros(count, np.float32)
        for at, own in enumerate(digests):
            for digest in own:
                whole[at] += self._known.of(digest)
                if self._known.numbers[digest] > 1:
                    holders.setdefault(digest, []).append(at)
        several = [(digest, held) for digest, held in holders.items() if len(held) > 1]
        shared = np.zeros((count, count), np.float32)
        for start in range(0, len(several), _AT_ONCE):
            some = several[start : start + _AT_ONCE]
            table = np.zeros((count, len(some)), np.float32)
            for column, (digest, held) in enumerate(some):
                table[held, column] = math.sqrt(self._known.of(digest))
            shared += table @ table.T
        return shared, whole


def _rare_words(works: Sequence[ComparedWork]) -> frozenset[str]:
    most = max(2, int(_SHARED_BY * len(works)))
    numbers = Counter(word for work in works for word in work.words)
    return frozenset(word for word, number in numbers.items() if 1 < number <= most)
