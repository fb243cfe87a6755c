"""``python -m tests.redteam.crowd``: forty honest students, alone and among twenty attackers.

The honest students must earn the same points for every item. No attacker may cost the class more than its own
time limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from unittest import mock

from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.course import counting_attempts
from autograder.grading import batch
from autograder.sandbox.pool import Pool
from autograder.store.gradebook import Gradebook
from tests.redteam import budgets
from tests.redteam.attack import ATTACKS
from tests.redteam.budgets import Meter
from tests.redteam.controls import CONTROLS
from tests.redteam.exam import LIMITS, NAME, Exam
from tests.redteam.strained import paper, points
from tests.redteam.world import opened

HONEST, STRAINED, HOSTILE = 40, 10, 20
SHARE = 1.5
"""Factor of its limit that an attacker may take, and add to the time of its class."""
KINDS = ("quotas", "neighbours", "endings", "blame", "costs")


class Sitting(Struct, frozen=True):
    """One grading of a class."""

    marks: Mapping[str, Mapping[str, Decimal]]
    """By student and item."""
    graded: Mapping[str, GradingResult]
    seconds: float
    meter: Meter


def main() -> int:
    """Grade both classes and compare.

    Returns:
        0 if everything held, otherwise 1.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.redteam.crowd", description=__doc__)
    parser.add_argument("--honest", type=int, default=HONEST)
    parser.add_argument("--attackers", type=int, default=HOSTILE)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        exam = Exam.made(Path(folder, "course"))
        with opened(Path(folder, "world")) as world, Pool() as pool:
            honest = _hand_in_honest(exam, chosen.honest)
            alone = _sit(exam, pool, honest)
            targets = {**world.targets(), "files": world.paths()}
            attackers = _hand_in_attacks(exam, chosen.attackers, targets)
            beside = _sit(exam, pool, _mixed(honest, list(attackers)))
    faults = list(_faults(alone, beside, attackers))
    for student, name in attackers.items():
        stay = beside.meter.stays[student]
        sys.stdout.write(
            f"{name:<75.75} {stay.end - stay.begin:>6.1f} s  {stay.processor_seconds:>5.1f} s of ours  "
            f"{stay.memory_mb:>5.0f} MB\n"
        )
    most = _most(len(attackers), alone)
    sys.stdout.write(
        f"\n{len(honest)} honest: {alone.seconds:.0f} s alone, {beside.seconds:.0f} s with {len(attackers)} "
        f"attackers (at most {most:.0f})\n"
    )
    sys.stdout.write("".join(f"!! {fault}\n" for fault in faults) or "everything held\n")
    return int(bool(faults))


def _hand_in(exam: Exam, student: str, data: bytes) -> None:
    folder = exam.course.root / "submitted" / student / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_bytes(data)


def _hand_in_honest(exam: Exam, count: int) -> list[str]:
    """Submit for classmates with little slack, then for the controls, then answer keys."""
    papers = [paper(exam)] * min(STRAINED, count)
    papers += [control.paper(exam) for control in CONTROLS[: count - len(papers)]]
    papers += [exam.key] * (count - len(papers))
    students = [f"h{number:02}" for number in range(count)]
    for student, data in zip(students, papers, strict=True):
        _hand_in(exam, student, data)
    return students


def _hand_in_attacks(exam: Exam, count: int, targets: Mapping[str, object]) -> dict[str, str]:
    """Submit attacks of these kinds in turn, by student."""
    lists = [[one for one in ATTACKS.values() if one.kind == kind] for kind in KINDS]
    longest = max(map(len, lists))
    attacks = [some[place] for place in range(longest) for some in lists if place < len(some)][:count]
    for number, attack in enumerate(attacks):
        _hand_in(exam, f"x{number:02}", exam.attacking(attack, targets))
    return {f"x{number:02}": attack.name for number, attack in enumerate(attacks)}


def _mixed(honest: Sequence[str], hostile: Sequence[str]) -> list[str]:
    """Distribute attackers evenly among the others."""
    places = {student: (number + 0.5) / len(honest) for number, student in enumerate(honest)}
    places |= {student: number / len(hostile) for number, student in enumerate(hostile)}
    return sorted(places, key=places.__getitem__)


def _sit(exam: Exam, pool: Pool, students: Sequence[str]) -> Sitting:
    """Grade these students in this order, ignoring earlier results."""
    course, meter = exam.course, Meter()
    known = {
        one.student: one
        for one in counting_attempts.find_counting_attempts(course, exam.assignment.rubric).handins
    }
    handins = [known[student] for student in students]
    started = time.monotonic()
    with (
        Gradebook(course.gradebook) as gradebook,
        mock.patch.object(batch, "Grader", budgets.measured(meter)),
        meter.sampling(),
    ):
        outcomes = batch.grade_class(exam.assignment, handins, gradebook, pool, again=True)
        graded_now = {outcome.student for outcome in outcomes}
        kept = gradebook.load_results(exam.assignment.name)
        graded = {student: one for student, one in kept.items() if student in graded_now}
    marks = {student: points(one) for student, one in graded.items()}
    return Sitting(marks, graded, time.monotonic() - started, meter)


def _most(attackers: int, alone: Sitting) -> float:
    """Return the time limit of the class with attackers: each adds its own limit, divided by the workers."""
    return alone.seconds * SHARE + attackers * SHARE * LIMITS.submission_seconds / (os.cpu_count() or 1)


def _faults(alone: Sitting, beside: Sitting, attackers: Mapping[str, str]) -> list[str]:
    """Return the violations in words."""
    faults = []
    for student, before in alone.marks.items():
        now = beside.marks.get(student, {})
        lost = [item for item, earned in before.items() if now.get(item) != earned]
        if lost:
            near = beside.meter.beside(beside.meter.stays[student])
            doors = ", ".join(attackers[one] for one in near if one in attackers)
            faults.append(f"{student} has other points in {', '.join(lost)}; beside it: {doors}")
    for student, name in attackers.items():
        stay = beside.meter.stays[student]
        if stay.end - stay.begin > SHARE * LIMITS.submission_seconds:
            faults.append(f"{name}: took {stay.end - stay.begin:.0f} s of {LIMITS.submission_seconds:.0f}")
        if stay.processor_seconds > budgets.MOST_PROCESSOR_SECONDS:
            faults.append(f"{name}: {stay.processor_seconds:.0f} s of the grader's processor")
        if stay.memory_mb > budgets.MOST_MEMORY_MB:
            faults.append(f"{name}: the grader had {stay.memory_mb:.0f} MB meanwhile")
    if beside.seconds > _most(len(attackers), alone):
        faults.append(f"the class took {beside.seconds:.0f} s")
    return faults


if __name__ == "__main__":
    sys.exit(main())
