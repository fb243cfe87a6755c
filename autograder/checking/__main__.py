"""Run checks without a sandbox, so that ``breakpoint()`` works.

``python -m autograder.checking reference/checks/FILE.py [ANSWER.py]``
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.checking.check_parser import CheckFileError, load_check_file, name_part
from autograder.checking.fault_sets import describe_misled, find_misled, list_subsets
from autograder.checking.loader import DefinedNames
from autograder.checking.objects import Objects, install_objects
from autograder.checking.outcome_tables import (
    AnswerRow,
    format_answer,
    format_matrix,
    is_as_declared,
    list_answers,
)
from autograder.checking.runner import CheckOutcome, CheckProgram


def main(arguments: Sequence[str] | None = None) -> int:
    """Print which checks an answer passes; without one, grade the solution, mutants and planted answers.

    Returns:
        0 if everything is as it should be: an answer passes everything; mutants and planted answers lose
        what they should.
    """
    parser = argparse.ArgumentParser(prog="python -m autograder.checking", description=main.__doc__)
    parser.add_argument("checks", type=Path, help="such as reference/checks/attention.py")
    parser.add_argument("answer", type=Path, nargs="?", help="a Python file with an answer")
    parser.add_argument("--listing", action="store_true", help="print the listing with all faults, and stop")
    parser.add_argument("--seed", default="try", help="draws other inputs (any text)")
    parser.add_argument("--values", action="store_true", help="print what was drawn and compared")
    options = parser.parse_args(arguments)
    folder = options.checks.resolve().parent.parent
    try:
        file = load_check_file(folder, options.checks.name)
    except CheckFileError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    if options.listing:
        _print_lines([file.make_listing([fault.id for fault in file.faults]).strip("\n")])
        return 0
    sys.path.insert(0, str(folder.parent))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the sandbox, so that numbers are the same
    program = CheckProgram(file, str(folder.parent))
    try:
        if options.answer is not None:
            source = options.answer.read_text("utf-8")
            path = str(options.answer.resolve())
            outcomes = _run_checks(
                program, source, path, options.seed, name_mistakes=True, show_values=options.values
            )
            _print_lines(format_answer(outcomes))
            return int(any(outcome.status != "passed" for outcome in outcomes.values()))
        rows = [
            AnswerRow(
                answer,
                _run_checks(
                    program,
                    answer.source,
                    f"<{answer.name}>",
                    options.seed,
                    name_mistakes=bool(answer.mutant),
                    show_values=options.values,
                ),
            )
            for answer in list_answers(file)
        ]
        _print_lines(format_matrix(file, rows))
        return _print_misled(program, options.seed) or int(not all(is_as_declared(file, row) for row in rows))
    finally:
        program.close()


def _print_lines(lines: Sequence[str]) -> None:
    """Print lines to standard output."""
    for line in lines:
        print(line)  # noqa: T201 - a command


def _print_misled(program: CheckProgram, seed: str) -> int:
    """Print the properties that are wrong about a set of faults; return 1 if there is one."""
    if not program.file.faults:
        return 0
    seeds = (seed, f"{seed}, again")
    count = len(list(list_subsets([fault.id for fault in program.file.faults])))
    _print_lines(["", f"{count} sets of faults, with {len(seeds)} draws of inputs:"])
    misled = find_misled(
        program.file, lambda source, draw_seed: _run_checks(program, source, "<listing>", draw_seed), seeds
    )
    lines = describe_misled(misled)
    solution = program.load_answer(program.file.solution, "<solution>")
    for probe in program.file.probes:
        outcome = program.run(probe.id, "", solution, program.file.derive_seed(seed.encode(), probe, ""))
        if outcome.status != "passed":
            lines.append(
                f"probe {probe.id}: the solution should pass it: {outcome.status}, {outcome.message}"
            )
    _print_lines(lines or ["every property is right about all of them"])
    return int(bool(lines))


def _run_checks(
    program: CheckProgram,
    source: str,
    file: str,
    seed: str,
    *,
    name_mistakes: bool = False,
    show_values: bool = False,
) -> dict[str, CheckOutcome]:
    """Return the outcome of each part of each check."""
    undo = install_objects(Objects([file]))
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
                name = name_part(check.id, part.name)
                outcomes[name] = failure
                if student is not None:
                    outcomes[name] = program.run(
                        check.id,
                        part.name,
                        student,
                        own_seed,
                        name_mistakes=name_mistakes,
                        show_values=show_values,
                    )
        return outcomes
    finally:
        undo()


if __name__ == "__main__":
    sys.exit(main())
