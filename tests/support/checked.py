"""Runs files of checks on answers in this process, without a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.checking.drawing import derive_seed
from autograder.checking.objects import Objects, install_objects
from autograder.checking.running import CheckOutcome, CheckProgram

FILE = "<answer>"


class CheckedAnswer(Struct, frozen=True):
    """What came of an answer."""

    points: dict[str, Decimal]
    """Check → what it earns."""
    lost: frozenset[str]
    """Checks that do not earn everything."""
    unclear: frozenset[str]
    outcomes: dict[tuple[str, str], CheckOutcome]
    """Check and part → its outcome."""


def run_checks(program: CheckProgram, source: str, *, name_mistakes: bool = False) -> CheckedAnswer:
    """Run all checks of a file on an answer."""
    undo = install_objects(Objects([FILE]))
    outcomes: dict[tuple[str, str], CheckOutcome] = {}
    try:
        try:
            student = program.load_answer(source, FILE)
        except Exception as error:  # noqa: BLE001 - a cell that raises defines nothing
            failure = CheckOutcome("missing", f"{type(error).__name__}: {error}")
            outcomes = {(one.id, part.name): failure for one in program.file.checks for part in one.parts}
        else:
            for one in program.file.checks:
                for part in one.parts:
                    seed = derive_seed(b"tests", one.id, part.name)
                    outcomes[one.id, part.name] = program.run(
                        one.id, part.name, student, seed, name_mistakes=name_mistakes
                    )
    finally:
        undo()
    return _summarise(program, outcomes)


def run_properties(program: CheckProgram, source: str, seed: str) -> Mapping[str, CheckOutcome]:
    """Run the checks without parts, and the probes, with the inputs that a grading run would draw."""
    file, undo = program.file, install_objects(Objects([FILE]))
    try:
        student = program.load_answer(source, FILE)
        return {
            check.id: program.run(check.id, "", student, file.derive_seed(seed.encode(), check, ""))
            for check in (*file.checks, *file.probes)
        }
    finally:
        undo()


def _summarise(program: CheckProgram, outcomes: dict[tuple[str, str], CheckOutcome]) -> CheckedAnswer:
    points, unclear = {}, set()
    for one in program.file.checks:
        own = [outcomes[one.id, part.name] for part in one.parts]
        shares = [1.0 if outcome.status == "passed" else outcome.share for outcome in own]
        points[one.id] = one.points * Decimal(str(sum(shares))) / len(own)
        if any(outcome.status == "unclear" for outcome in own):
            unclear.add(one.id)
    lost = frozenset(one.id for one in program.file.checks if points[one.id] < one.points)
    return CheckedAnswer(points, lost - unclear, frozenset(unclear), outcomes)
