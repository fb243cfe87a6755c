"""Boxes opened ahead: the right kind, as many as asked for, none left open."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from autograder.core.errors import SandboxFault
from autograder.core.records import Limits
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import PreforkPool


class Opened:
    """Stands for a box."""

    def __init__(self, kind: tuple[Limits, int]) -> None:
        self.kind = kind
        self.living = True
        self.closed = False

    def is_alive(self) -> bool:
        """As long as nobody ended it."""
        return self.living

    def close(self) -> None:
        """Remembered."""
        self.closed = True


class Opener:
    """Opens such boxes, or fails."""

    def __init__(self) -> None:
        self.boxes: list[Opened] = []
        self.failing = False
        self._lock = threading.Lock()

    def __call__(self, limits: Limits, seed: int) -> NamespaceBox:
        """A box of a kind."""
        if self.failing:
            raise SandboxFault("no box today")
        with self._lock:
            self.boxes.append(Opened((limits, seed)))
            return cast("NamespaceBox", self.boxes[-1])


LIMITS, OTHER = Limits(), Limits(memory_mb=64)


def taken(spares: PreforkPool, limits: Limits, seed: int) -> Opened:
    """The next box."""
    return cast("Opened", spares.take_box(limits, seed))


@pytest.mark.parametrize("most", [1, 3])
def test_boxes_are_ready_once_a_kind_is_asked_for_again(most: int) -> None:
    """The first is opened on the spot, and so is the second, with which the reserve begins."""
    opener = Opener()
    spares = PreforkPool(opener, most)
    handed = [taken(spares, LIMITS, 1) for _ in range(4)]
    spares.close()
    assert 4 == len({id(box) for box in handed})
    assert 4 + most == len(opener.boxes)
    assert [box for box in opener.boxes if box not in handed] == [box for box in opener.boxes if box.closed]


def test_another_kind_is_never_handed_out() -> None:
    """Other limits or another seed: what was opened ahead is closed."""
    opener = Opener()
    spares = PreforkPool(opener, 2)
    for kind in ((LIMITS, 1), (LIMITS, 1), (LIMITS, 2), (OTHER, 2), (OTHER, 2), (LIMITS, 1)):
        assert kind == taken(spares, *kind).kind
    spares.close()
    assert len(opener.boxes) - 6 == sum(box.closed for box in opener.boxes)


def test_a_box_that_died_in_reserve_is_replaced() -> None:
    """Whoever asks gets a living one."""
    opener = Opener()
    spares = PreforkPool(opener, 1)
    first = [taken(spares, LIMITS, 1) for _ in range(2)]
    while len(opener.boxes) < 3:
        threading.Event().wait(0.001)
    (ahead,) = [box for box in opener.boxes if box not in first]
    ahead.living = False
    assert taken(spares, LIMITS, 1).living
    assert ahead.closed
    spares.close()


def test_whoever_needs_a_box_is_told_why_there_is_none() -> None:
    """A failure ahead is tried again, and only then raised."""
    opener = Opener()
    spares = PreforkPool(opener, 1)
    taken(spares, LIMITS, 1)
    opener.failing = True
    with pytest.raises(SandboxFault, match="no box today"):
        spares.take_box(LIMITS, 1)
    opener.failing = False
    assert taken(spares, LIMITS, 1).living
    spares.close()


def test_nothing_is_opened_ahead_after_the_end() -> None:
    """Closing closes the reserve; a later box is the asker's own."""
    opener = Opener()
    spares = PreforkPool(opener, 2)
    spares.close()
    for _ in range(3):
        taken(spares, LIMITS, 1)
    assert 3 == len(opener.boxes)


def test_two_kinds_in_turn_are_both_ready() -> None:
    """A submission with test cells takes a box for itself and one for the tests."""
    opener = Opener()
    spares = PreforkPool(opener, 1)
    for seed in (1, 2, 1, 2, 1, 2):
        assert taken(spares, LIMITS, seed).kind == (LIMITS, seed)
    spares.close()
    assert len(opener.boxes) == 6 + 2
