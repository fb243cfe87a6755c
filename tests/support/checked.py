"""The shipped files of checks, run on answers in this process without a sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from autograder.checking.check_parser import CheckFile, load_check_file
from autograder.checking.hidden_inputs import derive_seed
from autograder.checking.objects import Objects, install_objects
from autograder.checking.runner import CheckOutcome, CheckProgram

ROOT = Path(__file__).parents[2]
FILE = "<answer>"


class CheckedAnswer(Struct, frozen=True):
    """The outcome of an answer."""

    points: dict[str, Decimal]
    """Check → points."""
    lost: frozenset[str]
    """Checks without full points."""
    unclear: frozenset[str]
    outcomes: dict[tuple[str, str], CheckOutcome]
    """Check and part → outcome."""


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
    """Run the checks without parts, and the probes, with the random inputs of a grading run."""
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


def read_file(name: str) -> CheckFile:
    """Return a file of the folder ``reference/checks``."""
    return load_check_file(ROOT / "reference", f"{name}.py")


@contextmanager
def open_program(name: str) -> Iterator[CheckProgram]:
    """Load a file of checks; afterwards restore the previously imported modules of the reference."""
    import torch  # takes seconds, and most callers do not need it

    program, threads = CheckProgram(read_file(name), str(ROOT)), torch.get_num_threads()
    torch.set_num_threads(1)  # the matrices are tiny
    try:
        yield program
    finally:
        program.close()
        torch.set_num_threads(threads)


def list_answers(name: str) -> dict[str, tuple[str, tuple[str, ...] | None, str]]:
    """Return the answers in a file of checks: answer → source, lost checks, and the mutant that names it.

    None as the checks means at least one.
    """
    file = read_file(name)
    mutants = {one.name: (one.source, one.loses, one.name if one.title else "") for one in file.mutants}
    planted = {one.name: (one.source, one.loses, "") for one in file.planted}
    return {"the solution": (file.solution, (), ""), **mutants, **planted}
