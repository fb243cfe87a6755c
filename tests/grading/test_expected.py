"""The cache of expected values: used when it is whole, and computed again whatever is the matter with it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from autograder import assignment as assignments
from autograder import atomic
from autograder.assignment import Assignment
from autograder.grading import expected
from autograder.grading.expected import Expected, expected_values
from autograder.sandbox.pool import Pool
from tests.grading.test_batch import NAME, make_course

pytestmark = pytest.mark.sandbox
SECRET = bytes(range(32))


class Counted:
    """An assignment whose reference is asked; how often is counted."""

    def __init__(self, root: Path, pool: Pool) -> None:
        self.assignment: Assignment = assignments.load(make_course(root), NAME)
        self.pool = pool
        self.computed = 0

    def values(self) -> Expected:
        """What is expected of the assignment."""
        original = expected._compute

        def counted(*arguments: object) -> object:
            self.computed += 1
            return original(*arguments)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(expected, "_compute", counted)
            (found,) = expected_values(self.assignment, SECRET, self.pool)
        return found

    @property
    def file(self) -> Path:
        """The only file of the cache."""
        (found,) = (self.assignment.course.private / "expected").iterdir()
        return found


@pytest.fixture
def counted(tmp_path: Path, pool: Pool) -> Counted:
    """A course nothing is known of yet."""
    return Counted(tmp_path / "course", pool)


def same(one: Expected, other: Expected) -> bool:
    """Whether every observation is the same, number by number."""
    pairs = [(one[name], other[name]) for name in {*one, *other}]
    flat = [
        (first, second)
        for mine, yours in pairs
        for left, right in zip(mine, yours, strict=True)
        for first, second in zip(left, right, strict=True)
    ]
    return bool(flat) and all(np.array_equal(np.asarray(a.value), np.asarray(b.value)) for a, b in flat)


def test_known_values_are_not_computed_again(counted: Counted) -> None:
    """The second time the file answers, with the same numbers."""
    assert same(counted.values(), counted.values())
    assert 1 == counted.computed
    assert 0o600 == counted.file.stat().st_mode & 0o777


def test_a_file_cut_at_any_length_is_not_believed(counted: Counted) -> None:
    """From the empty file to one that lacks its last byte, none is read, and none raises."""
    counted.values()
    whole = counted.file.read_bytes()
    plans: dict[str, expected._ReferencePlan] = {}
    expected._plans(counted.assignment, counted.assignment, plans)
    assert expected._load(counted.file, plans) is not None
    for length in range(len(whole)):
        counted.file.write_bytes(whole[:length])
        assert expected._load(counted.file, plans) is None, length


def test_a_changed_byte_anywhere_is_not_believed(counted: Counted) -> None:
    """Also among the numbers, where a wrong one would read as the right result."""
    counted.values()
    whole = counted.file.read_bytes()
    plans: dict[str, expected._ReferencePlan] = {}
    expected._plans(counted.assignment, counted.assignment, plans)
    chance = random.Random(1)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        counted.file.write_bytes(damaged)
        assert expected._load(counted.file, plans) is None, place


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "directory"])
def test_damage_is_made_good(damage: str, counted: Counted) -> None:
    """The values are computed again, and kept again where they can be."""
    first, path = counted.values(), counted.file
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:7])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("nothing of ours")
    else:
        path.unlink()
        path.mkdir()
    assert same(first, counted.values())
    assert 2 == counted.computed
    counted.values()
    assert (3 if damage == "directory" else 2) == counted.computed


def test_a_full_disk_costs_the_next_run_a_moment(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept is computed again next time; the class is graded all the same."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write", full)
        first = counted.values()
    assert same(first, counted.values())
    assert 2 == counted.computed


def test_what_is_asked_otherwise_is_computed_anew(counted: Counted) -> None:
    """Values of other inputs never pass for those of these: what is asked is part of the name."""
    plans: dict[str, expected._ReferencePlan] = {}
    expected._plans(counted.assignment, counted.assignment, plans)
    other = {name: expected.replace(plan, asked="0" * 64) for name, plan in plans.items()}
    assert expected._key(counted.assignment, SECRET, plans) != expected._key(
        counted.assignment, SECRET, other
    )


@pytest.mark.slow
def test_a_busy_machine_stops_no_class(counted: Counted) -> None:
    """A reference that needs longer than a student may is waited for: its time bounds faults, not answers."""
    assert counted.assignment.rubric.assignment.limits.call_seconds == 2
    slow = "import time\ndef scores():\n    time.sleep(2.5)\n    return (2, 8, 128, 128)\n"
    (counted.assignment.course.reference / "arithmetic.py").write_text(slow, encoding="utf-8")
    assert ["shape"] == list(counted.values())
