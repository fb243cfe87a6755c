"""Run checks without a sandbox, so that ``breakpoint()`` works.

``python -m autograder.checking reference/checks/FILE.py [ANSWER.py]``
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.checking.loading import DefinedNames
from autograder.checking.objects import Objects, install
from autograder.checking.reading import CheckFile, CheckFileError, load_check_file
from autograder.checking.repairing import describe_misled, find_misled, list_subsets
from autograder.checking.running import CheckOutcome, CheckProgram

_MARKS = {
    "passed": "✓",
    "wrong": "✗",
    "raised": "✗ raised",
    "missing": "✗ missing",
    "unreadable": "✗ file",
    "unclear": "? review",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print which checks an answer passes, or without one, what the solution, mutants and planted answers do.

    Returns:
        0 if all is as it should be: an answer passes everything; mutants and planted answers lose what they
        should.
    """
    parser = argparse.ArgumentParser(prog="python -m autograder.checking", description=main.__doc__)
    parser.add_argument("checks", type=Path, help="such as reference/checks/attention.py")
    parser.add_argument("answer", type=Path, nargs="?", help="a Python file with an answer")
    parser.add_argument("--seed", default="try", help="draws other inputs (any text)")
    options = parser.parse_args(arguments)
    folder = options.checks.resolve().parent.parent
    try:
        file = load_check_file(folder, options.checks.name)
    except CheckFileError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    sys.path.insert(0, str(folder.parent))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the sandbox, so that numbers are the same
    program = CheckProgram(file, str(folder.parent))
    try:
        if options.answer is not None:
            source = options.answer.read_text("utf-8")
            path = str(options.answer.resolve())
            outcomes = _run_all(program, source, path, options.seed, name_mistakes=True)
            _print_answer(outcomes)
            return int(any(outcome.status != "passed" for outcome in outcomes.values()))
        matrix = _print_matrix(program, options.seed)
        return _print_misled(program, options.seed) or matrix
    finally:
        program.close()


def _print_misled(program: CheckProgram, seed: str) -> int:
    """Print the properties that are wrong about a set of faults; return 1 if there is one."""
    if not program.file.faults:
        return 0
    seeds = (seed, f"{seed}, again")
    count = len(list(list_subsets([fault.id for fault in program.file.faults])))
    print(f"\n{count} sets of faults, with {len(seeds)} draws of inputs:")  # noqa: T201
    misled = find_misled(
        program.file,
        lambda source, own: _run_all(program, source, "<listing>", own, name_mistakes=False),
        seeds,
    )
    lines = describe_misled(misled)
    solution = program.load_answer(program.file.solution, "<solution>")
    for probe in program.file.probes:
        outcome = program.run(probe.id, "", solution, program.file.derive_seed(seed.encode(), probe, ""))
        if outcome.status != "passed":
            lines.append(
                f"probe {probe.id}: the solution should pass it: {outcome.status}, {outcome.message}"
            )
    for line in lines or ["every property is right about all of them"]:
        print(line)  # noqa: T201
    return int(bool(lines))


def _run_all(
    program: CheckProgram, source: str, file: str, seed: str, *, name_mistakes: bool
) -> dict[str, CheckOutcome]:
    """Return the outcome of each part of each check."""
    undo = install(Objects([file]))
    try:
        student: DefinedNames | None = None
        failure = CheckOutcome("raised")
        try:
            student = program.load_answer(source, file)
        except Exception as error:  # noqa: BLE001 - an answer may do anything
            failure = CheckOutcome("raised", f"the answer raised {type(error).__name__}: {error}")
        outcomes = {}
        for check in program.file.checks:
            for part in check.parts:
                own_seed = program.file.derive_seed(seed.encode(), check, part.name)
                name = f"{check.id} [{part.name}]" if part.name else check.id
                outcomes[name] = failure
                if student is not None:
                    outcomes[name] = program.run(
                        check.id, part.name, student, own_seed, name_mistakes=name_mistakes
                    )
        return outcomes
    finally:
        undo()


def _print_answer(outcomes: dict[str, CheckOutcome]) -> None:
    width = max(map(len, outcomes))
    for name, outcome in outcomes.items():
        mistakes = f"  = {', '.join(outcome.mistakes)}" if outcome.mistakes else ""
        said = ": ".join(filter(None, (outcome.error, outcome.message)))
        print(f"{name:{width}}  {_MARKS[outcome.status]:9}  {said}{mistakes}".rstrip())  # noqa: T201


def _print_matrix(program: CheckProgram, seed: str) -> int:
    """Print a row for the solution, each mutant and each planted answer; return 1 if one is not as stated."""
    file = program.file
    rows: list[tuple[str, str, tuple[str, ...] | None]] = []
    if file.solution:
        rows.append(("solution", file.solution, ()))
    rows += [(f"mutant {mutant.name}", mutant.source, mutant.loses) for mutant in file.mutants]
    rows += [(f"planted {planted.name}", planted.source, planted.loses) for planted in file.planted]
    width = max((len(name) for name, _, _ in rows), default=0)
    print(" " * width, *(check.id for check in file.checks), sep="  ")  # noqa: T201
    wrong = 0
    for name, source, loses in rows:
        outcomes = _run_all(program, source, f"<{name}>", seed, name_mistakes=False)
        lost = _lost_checks(file, outcomes)
        marks = [f"{'✗' if check.id in lost else '✓':{len(check.id)}}" for check in file.checks]
        is_expected = bool(lost) if loses is None else lost == set(loses)
        remark = "" if is_expected else f"expected to lose {', '.join(loses or ()) or _some(loses)}"
        said = next((outcome.message for outcome in outcomes.values() if outcome.status == "unclear"), "")
        wrong += not is_expected
        print(f"{name:{width}}", *marks, remark, said, sep="  ")  # noqa: T201
    return int(wrong > 0)


def _some(loses: tuple[str, ...] | None) -> str:
    return "at least one" if loses is None else "nothing"


def _lost_checks(file: CheckFile, outcomes: dict[str, CheckOutcome]) -> set[str]:
    """Return the checks that are not passed, with those that need them."""
    lost = {
        check.id
        for check in file.checks
        for part in check.parts
        if outcomes[f"{check.id} [{part.name}]" if part.name else check.id].status != "passed"
    }
    for check in file.checks:
        if lost & set(check.needs):
            lost.add(check.id)
    return lost


if __name__ == "__main__":
    sys.exit(main())
