"""Remembers which cells and calls of a submission ran out of time, so that no endless loop runs again.

A time-out is named by everything that decides it: installed software, the notebook's cells, files and limits,
and what had been asked of the box before. Whatever else has changed, such as points or accepted answers, the
same code would only use up the same time again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

from autograder.records import Scenario
from autograder.sandbox.exchange import values, wire


class Timeouts:
    """The time-outs of one notebook of a submission: those of earlier runs, and those met in this one.

    Attributes:
        met: the names of those that this run met or was spared, each with the number of calls of its scenario
            that were answered before.
    """

    def __init__(self, basis: Callable[[], bytes] = bytes, known: Mapping[str, int] | None = None) -> None:
        """Start with what is known.

        Args:
            basis: returns a digest of all that decides what the code does, except what it is asked. Called at
                most once, when it is needed.
            known: as `met` of earlier runs; what belongs to other code matches nothing.
        """
        self._basis = basis
        self._digest = b""
        self._known = dict(known or {})
        self._digests: dict[Scenario, bytes] = {}
        self.met: dict[str, int] = {}

    def remember_cell(self, number: int, skipped: Collection[int]) -> None:
        """Remember that a cell ran out of time in a box in which the skipped ones did not run."""
        self.met[self._name_cell(number, skipped)] = 0

    def remember_call(self, asked: Sequence[Scenario], skipped: Collection[int], answered: int) -> None:
        """Remember that the last of these scenarios ran out of time, after the others in the same box.

        Args:
            asked: the scenarios.
            skipped: the cells that did not run there.
            answered: how many calls of the last one were answered before.
        """
        self.met[self._name_call(asked, skipped)] = answered

    def recall_cell(self, number: int, skipped: Collection[int]) -> bool:
        """Return whether a cell is known to run out of time."""
        return bool(self._known) and self._recall(self._name_cell(number, skipped)) is not None

    def recall_call(self, asked: Sequence[Scenario], skipped: Collection[int]) -> int | None:
        """Return how many calls of the last scenario are answered before it runs out of time.

        None if it is not known to do so.
        """
        return self._recall(self._name_call(asked, skipped)) if self._known else None

    def _recall(self, name: str) -> int | None:
        if name in self._known:  # it stays known for the run after this one
            self.met[name] = self._known[name]
        return self._known.get(name)

    def _name_cell(self, number: int, skipped: Collection[int]) -> str:
        return self._name([str([sorted(skipped), number]).encode()])

    def _name_call(self, asked: Sequence[Scenario], skipped: Collection[int]) -> str:
        return self._name([str(sorted(skipped)).encode(), *map(self._digest_scenario, asked)])

    def _name(self, parts: Sequence[bytes]) -> str:
        self._digest = self._digest or self._basis()
        lengths = str([len(part) for part in parts]).encode()
        return hashlib.sha256(b"".join((self._digest, lengths, *parts))).hexdigest()[:32]

    def _digest_scenario(self, scenario: Scenario) -> bytes:
        if scenario not in self._digests:
            encoder = values.TrustedEncoder()
            calls = [values.call_tree(call, encoder) for call in scenario.calls]
            told = wire.pack({"calls": calls}, encoder.arrays)
            self._digests[scenario] = hashlib.sha256(b"".join(told)).digest()
        return self._digests[scenario]
