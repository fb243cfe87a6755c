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
_DOUBT = 15.0
"""So much is added to what the smaller work has: a little that is the same is no evidence. Its unit is a digest
that just two have."""
_COMMON = 5
"""What more than one of so many have counts for nothing; in small classes, one of the root of their number."""
_AT_ONCE = 4096
"""Digests in one product of matrices."""
_MOST_WORDS = 12
_SHARED_BY = 0.02
"""Of a class; words that so few, or two, have are told."""


class PartAlike(Struct, frozen=True):
    """How far one part of two works is alike."""

    name: str
    """``"code"``, ``"text"``, ``"all"``, or the place of a piece."""
    share: float
    """Of what is special about the smaller one, between 0 and 1."""


class AlikePair(Struct, frozen=True):
    """Two students whose works are alike."""

    students: tuple[str, str]
    share: float
    """The most of its parts."""
    parts: tuple[PartAlike, ...]
    """Those that are alike, the most alike first."""
    words: tuple[str, ...]
    """Names and comments that hardly anybody else uses."""


class Weights(Struct, frozen=True):
    """How much a digest tells, by the number of students who have it."""

    students: int
    by_number: Mapping[int, float]
    numbers: Mapping[Digest, int]

    def of(self, digest: Digest) -> float:
        """1 for what two have, less for what more have, 0 for what many have."""
        return self.by_number.get(self.numbers.get(digest, 1), 0.0)


def weights(works: Sequence[ComparedWork]) -> Weights:
    """What is common in a class counts little: inverse frequency in documents, as in searching."""
    students = len(works)
    numbers = Counter(
        digest
        for work in works
        for digest in set().union(*(one.features for one in work.pieces))
    )
    base = math.log(min(_COMMON, math.sqrt(max(1, students))))
    most = math.log((students + 1) / 2) - base
    by_number = {
        number: min(1.0, max(0.0, (math.log((students + 1) / number) - base) / most)) if most > 0 else 1.0
        for number in range(1, students + 1)
    }
    return Weights(students, by_number, numbers)


def alike_pairs(
    works: Sequence[ComparedWork], most: int = 30, weighed: Weights | None = None
) -> tuple[AlikePair, ...]:
    """The pairs that are most alike, the most alike one first.

    Two works are compared as a whole, by their code, by their text, and piece by piece: what counts is the
    most. Of a part it is the weight of what both have, divided by that of the smaller one and `_DOUBT`.

    Args:
        works: of a class.
        most: pairs that are returned.
        weighed: `weights` of the same works.
    """
    if len(works) < 2:
        return ()
    known = weighed or weights(works)
    tables = _Tables(works, known)
    best = np.zeros((len(works), len(works)), np.float32)
    for name in tables.names:
        np.maximum(best, tables.shares(name), out=best)
    rows, columns = np.triu_indices(len(works), 1)
    found = best[rows, columns]
    order = np.argsort(-found, kind="stable")[: min(most, MOST_PAIRS)]
    chosen = [(int(rows[at]), int(columns[at])) for at in order if found[at] > 0]
    parts: dict[tuple[int, int], list[PartAlike]] = {one: [] for one in chosen}
    for name in tables.names:
        shares = tables.shares(name)
        for one, told in parts.items():
            if shares[one] > 0:
                told.append(PartAlike(name, float(shares[one])))
    rare = _rare_words(works)
    return tuple(
        AlikePair(
            (works[one].student, works[other].student),
            float(best[one, other]),
            tuple(sorted(parts[one, other], key=lambda part: -part.share)),
            tuple(sorted(works[one].words & works[other].words & rare)[:_MOST_WORDS]),
        )
        for one, other in chosen
    )


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

    def shares(self, name: str) -> np.ndarray:
        """(students, students): how far one part of any two is alike."""
        digests = [self._digests(work, name) for work in self._works]
        shared, whole = self._shared(digests)
        smaller = np.minimum(whole[:, None], whole[None, :])
        return shared / (smaller + np.float32(_DOUBT))

    def _shared(self, digests: Sequence[Iterable[Digest]]) -> tuple[np.ndarray, np.ndarray]:
        """What any two share by weight, and what everybody has."""
        count = len(self._works)
        holders: dict[Digest, list[int]] = {}
        whole = np.zeros(count, np.float32)
        for at, own in enumerate(digests):
            for digest in own:
                weight = self._known.of(digest)
                if weight > 0:
                    whole[at] += weight
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
