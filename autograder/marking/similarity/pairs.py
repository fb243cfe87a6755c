"""Find the pairs of works in a class that are more similar than others, and the parts responsible."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from autograder.marking.similarity.code_features import Digest
from autograder.marking.similarity.works import ComparedPiece, ComparedWork

MOST_PAIRS = 200
_DOUBT, _DOUBT_OF_PIECE = 15.0, 60.0
"""Added to the weight of the smaller work, or piece: small overlaps are no evidence, and with many pieces two
may agree by chance. The unit is a digest that only two students have."""
_COMMON = 4
"""Features of more than one in this many students have the least weight; in small classes, one in the square
root of their number."""
_LEAST_WEIGHT = 0.25
_NEIGHBOURS, _NEIGHBOURS_SHARE = 3, 0.05
"""This number of other students, or this share of the class, may be as close to a work without
significance."""
_AT_ONCE = 4096
"""Digests in one matrix product, which bounds memory."""
_LEAST = 1e-6
_SAME = 1 - 1e-4
"""Shares above this count as 1: they are sums in single precision, and a share that lacks one digest is
smaller."""
_MOST_WORDS = 12
_SHARED_BY = 0.02
"""Share of a class; only words shared by at most this share, or by two students, are reported."""


class PartAlike(Struct, frozen=True):
    """Similarity of one part of two works."""

    name: str
    """``"code"``, ``"text"``, ``"all"``, or the place of a piece."""
    share: float
    """Of the smaller one, by weight, between 0 and 1: 1 if the other contains all of it."""
    stands_out: float
    """Position of their share between the usual share of the two and 1; above 0."""


class AlikePair(Struct, frozen=True):
    """Two students with similar works."""

    students: tuple[str, str]
    parts: tuple[PartAlike, ...]
    """The conspicuous parts, the most conspicuous first."""
    words: tuple[str, ...]
    """Names and comments that hardly any other student uses."""

    @property
    def percents(self) -> tuple[int, int]:
        """`stands_out` and the share, in percent."""
        return to_percent(self.stands_out), to_percent(self.share)

    @property
    def stands_out(self) -> float:
        """The value of its most conspicuous part, by which pairs are sorted."""
        return self.parts[0].stands_out

    @property
    def share(self) -> float:
        """The share of the most conspicuous part."""
        return self.parts[0].share


class Weights(Struct, frozen=True):
    """Weights of digests by the number of students who have them."""

    students: int
    by_number: Mapping[int, float]
    numbers: Mapping[Digest, int]

    def get_weight(self, digest: Digest) -> float:
        """Return 1 for digests of two students, less for more, and the least weight for common ones."""
        return self.by_number.get(self.numbers.get(digest, 1), _LEAST_WEIGHT)

    def is_common(self, digest: Digest) -> bool:
        """Decide whether many students have it."""
        return self.get_weight(digest) <= _LEAST_WEIGHT


def to_percent(share: float) -> int:
    """Return a share in whole percent; only identical works have 100."""
    return 100 if share > _SAME else min(99, round(100 * share))


def compute_weights(works: Sequence[ComparedWork]) -> Weights:
    """Compute weights by inverse document frequency, as in search: common features have little weight."""
    students = len(works)
    numbers = Counter(
        digest for work in works for digest in set().union(*(piece.features for piece in work.pieces))
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


def find_similar_pairs(
    works: Sequence[ComparedWork], most: int = 30, weighed: Weights | None = None
) -> tuple[AlikePair, ...]:
    """Return the most conspicuous pairs, in descending order.

    Two works are compared as a whole, by their code, by their text, and piece by piece; the largest value
    counts. The share of a part is the weight of the common digests, divided by that of the smaller work. For
    the value that decides the order, a doubt is added to the divisor, and the share is related to the usual
    one of both students: works that are close to many others, because they follow the course material, are
    not conspicuous for that reason.

    Args:
        works: of a class.
        most: maximum number of pairs.
        weighed: `compute_weights` of the same works.
    """
    if len(works) < 2:
        return ()
    tables = _Tables(works, weighed or compute_weights(works))
    best = np.zeros((len(works), len(works)), np.float32)
    for name in tables.names:
        np.maximum(best, _compute_standing_out(tables.compute_shares(name, doubted=True)), out=best)
    rows, columns = np.triu_indices(len(works), 1)
    values = best[rows, columns]
    # Stable, so that pairs with equal values keep the order of students.
    order = np.argsort(-values, kind="stable")[: min(most, MOST_PAIRS)]
    chosen = [(int(rows[index]), int(columns[index])) for index in order if values[index] > _LEAST]
    parts: dict[tuple[int, int], list[PartAlike]] = {pair: [] for pair in chosen}
    for name in tables.names:
        shares = tables.compute_shares(name, doubted=False)
        apart = _compute_standing_out(tables.compute_shares(name, doubted=True))
        for pair, pair_parts in parts.items():
            if apart[pair] > _LEAST:
                pair_parts.append(PartAlike(name, float(shares[pair]), float(apart[pair])))
    rare = _find_rare_words(works)
    return tuple(
        AlikePair(
            (works[pair].student, works[second].student),
            tuple(sorted(parts[pair, second], key=lambda part: -part.stands_out)),
            tuple(sorted(works[pair].words & works[second].words & rare)[:_MOST_WORDS]),
        )
        for pair, second in chosen
    )


def _compute_standing_out(shares: np.ndarray) -> np.ndarray:
    """(students, students): how far the share of each pair is from the usual one toward 1.

    The usual share of a student is that with the closest other student after the `_NEIGHBOURS` closest are
    left out.
    """
    count = len(shares)
    near = min(max(_NEIGHBOURS, int(_NEIGHBOURS_SHARE * count)), count - 2)
    without_self = shares.copy()
    np.fill_diagonal(without_self, 0)
    # partition finds the k-th largest value of each row without sorting it.
    usual = -np.partition(-without_self, near, axis=1)[:, near] if near > 0 else np.zeros(count, shares.dtype)
    # The larger of both: a pair must be unusual for both students.
    both = np.maximum(usual[:, None], usual[None, :])
    return np.asarray((shares - both) / (1 - both))


class _Tables:
    """The digests of a class, part by part."""

    def __init__(self, works: Sequence[ComparedWork], class_weights: Weights) -> None:
        self._works, self._known = works, class_weights
        choose: dict[str, Callable[[ComparedPiece], bool]] = {
            "all": lambda _: True,
            "code": lambda piece: piece.piece.is_code,
            "text": lambda piece: not piece.piece.is_code,
        }
        self._choose = choose
        places = {piece.piece.place for work in works for piece in work.pieces if piece.piece.place}
        self.names = (*choose, *sorted(places))

    def _collect_digests(self, work: ComparedWork, name: str) -> set[Digest]:
        chosen = self._choose.get(name) or (lambda piece: piece.piece.place == name)
        return set().union(*(piece.features for piece in work.pieces if chosen(piece)))

    def compute_shares(self, name: str, *, doubted: bool) -> np.ndarray:
        """(students, students): similarity of one part of each pair.

        Args:
            name: of the part.
            doubted: add the doubt to the divisor, as for the order of pairs.
        """
        digests = [self._collect_digests(work, name) for work in self._works]
        shared, whole = self._compute_shared_weights(digests)
        smaller = np.minimum(whole[:, None], whole[None, :])
        if not doubted:  # float32 sums are slightly inexact
            return np.asarray(np.minimum(shared / np.maximum(smaller, np.float32(_LEAST)), 1))
        doubt = _DOUBT if name in self._choose else _DOUBT_OF_PIECE
        return np.asarray(shared / (smaller + np.float32(doubt)))

    def _compute_shared_weights(self, digests: Sequence[Iterable[Digest]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the shared weight of each pair, and the total weight of each work."""
        count = len(self._works)
        holders: dict[Digest, list[int]] = {}
        whole = np.zeros(count, np.float32)
        for index, work_digests in enumerate(digests):
            for digest in work_digests:
                whole[index] += self._known.get_weight(digest)
                if self._known.numbers[digest] > 1:
                    holders.setdefault(digest, []).append(index)
        several = [(digest, held) for digest, held in holders.items() if len(held) > 1]
        shared = np.zeros((count, count), np.float32)
        for start in range(0, len(several), _AT_ONCE):
            some = several[start : start + _AT_ONCE]
            table = np.zeros((count, len(some)), np.float32)
            for column, (digest, held) in enumerate(some):
                # The product of the table with its transpose then sums the weights of shared digests.
                table[held, column] = math.sqrt(self._known.get_weight(digest))
            shared += table @ table.T
        return shared, whole


def _find_rare_words(works: Sequence[ComparedWork]) -> frozenset[str]:
    most = max(2, int(_SHARED_BY * len(works)))
    numbers = Counter(word for work in works for word in work.words)
    return frozenset(word for word, number in numbers.items() if 1 < number <= most)
